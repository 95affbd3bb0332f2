//! Diagnostics: what rules report.

use std::ops::Range;
use std::path::PathBuf;

pub(crate) use assay_diagnostic::{Severity, Span};
use serde::Serialize;

use crate::client::{CLIENTS, Client};

/// A severity for each client; `None` if a finding does not concern it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Severities([Option<Severity>; CLIENTS.len()]);

impl Severities {
    /// Concerns no client.
    pub const fn none() -> Self {
        Self([None; CLIENTS.len()])
    }

    /// The same for every client.
    pub const fn all(severity: Severity) -> Self {
        Self([Some(severity); CLIENTS.len()])
    }

    /// Sets the severity for some clients.
    #[must_use]
    pub const fn with(mut self, severity: Severity, clients: &[Client]) -> Self {
        let mut at = 0;
        while at < clients.len() {
            self.0[clients[at] as usize] = Some(severity);
            at += 1;
        }
        self
    }

    /// Removes the severity for some clients.
    #[must_use]
    pub const fn without(mut self, clients: &[Client]) -> Self {
        let mut at = 0;
        while at < clients.len() {
            self.0[clients[at] as usize] = None;
            at += 1;
        }
        self
    }

    /// The severity for one client.
    pub const fn of(&self, client: Client) -> Option<Severity> {
        self.0[client as usize]
    }

    /// The highest severity among some clients.
    pub fn max_severity(&self, clients: &[Client]) -> Option<Severity> {
        clients.iter().filter_map(|&client| self.of(client)).max()
    }

    /// The clients for which the severity is at least this.
    pub fn at_least(&self, severity: Severity) -> impl Iterator<Item = Client> {
        let copy = *self;
        CLIENTS.into_iter().filter(move |&client| copy.of(client).is_some_and(|own| own >= severity))
    }
}

impl Serialize for Severities {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(CLIENTS.into_iter().filter_map(|client| Some((client.name(), self.of(client)?))))
    }
}

/// A change of one range of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// The bytes to replace, in the file as it was read: UTF-8 without a byte-order mark.
    pub range: Range<usize>,
    /// The replacement.
    pub text: String,
}

/// A safe fix of a finding: it changes nothing else that a client reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// What it does, as an imperative.
    pub title: String,
    /// The changes, of the finding's file.
    pub edits: Vec<Edit>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The rule's name, in kebab case.
    pub code: &'static str,
    /// The highest severity among the selected clients.
    pub severity: Severity,
    /// The problem, with the measured value and the limit: a lower-case fragment. It may quote the
    /// input: escape it.
    pub message: String,
    /// The file.
    pub file: PathBuf,
    /// The position in the file.
    #[serde(flatten)]
    pub span: MaybeSpan,
    /// What to do about it.
    pub hint: Option<String>,
    /// The change that `--fix` makes.
    pub fix: Option<Fix>,
    /// The severity for each client.
    pub clients: Severities,
    /// Identifies the finding even if its line moves; empty for diagnostics of the search.
    pub fingerprint: String,
    /// The digest of the line, without its indentation, if it has a line of a skill's text file.
    #[serde(skip)]
    pub line_digest: Option<String>,
    /// Whether a client documents what validators reject here. Then it is an error only if clients
    /// are selected explicitly, and a warning otherwise.
    #[serde(skip)]
    pub documented: bool,
}

/// An optional span, serialized as keys of the finding itself, `null` if absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MaybeSpan(pub Option<Span>);

impl Serialize for MaybeSpan {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = |pick: fn(&Span) -> usize| self.0.as_ref().map(pick);
        serializer.collect_map([
            ("line", value(|span| span.line)),
            ("column", value(|span| span.column)),
            ("end_line", value(|span| span.end_line)),
            ("end_column", value(|span| span.end_column)),
        ])
    }
}
