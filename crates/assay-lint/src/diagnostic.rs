//! What a rule has to say.

use std::ops::Range;
use std::path::PathBuf;

pub(crate) use assay_diagnostic::{Severity, Span};
use serde::Serialize;

use crate::client::{CLIENTS, Client};

/// A severity for each client; `None` where a finding is nothing to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Severities([Option<Severity>; CLIENTS.len()]);

impl Severities {
    /// Nothing to anybody.
    pub const fn none() -> Self {
        Self([None; CLIENTS.len()])
    }

    /// The same for every client.
    pub const fn all(severity: Severity) -> Self {
        Self([Some(severity); CLIENTS.len()])
    }

    /// The same for some clients, in place of what they had.
    #[must_use]
    pub const fn with(mut self, severity: Severity, clients: &[Client]) -> Self {
        let mut at = 0;
        while at < clients.len() {
            self.0[clients[at] as usize] = Some(severity);
            at += 1;
        }
        self
    }

    /// Nothing to some clients.
    #[must_use]
    pub const fn without(mut self, clients: &[Client]) -> Self {
        let mut at = 0;
        while at < clients.len() {
            self.0[clients[at] as usize] = None;
            at += 1;
        }
        self
    }

    /// What it is to one client.
    pub const fn of(&self, client: Client) -> Option<Severity> {
        self.0[client as usize]
    }

    /// The gravest of some clients.
    pub fn gravest(&self, clients: &[Client]) -> Option<Severity> {
        clients.iter().filter_map(|&client| self.of(client)).max()
    }

    /// The clients to which it is at least so grave.
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

/// A change of one stretch of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// The bytes to be replaced, of the file as it was read: UTF-8 without a byte-order mark.
    pub range: Range<usize>,
    /// What stands there afterwards.
    pub text: String,
}

/// What mends a finding and changes nothing else that any client reads.
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
    /// The gravest of the clients asked about.
    pub severity: Severity,
    /// What is the matter, with the measured value and the limit: a lower-case fragment. It may quote the input: escape it.
    pub message: String,
    /// The file at fault.
    pub file: PathBuf,
    /// Where in it.
    #[serde(flatten)]
    pub span: Place,
    /// What to do about it.
    pub hint: Option<String>,
    /// What can safely be done about it by `--fix`.
    pub fix: Option<Fix>,
    /// What it is to each client.
    pub clients: Severities,
    /// What tells it from other findings, wherever its line moves to; empty for findings of the search.
    pub fingerprint: String,
    /// Whether a client documents what validators refuse here. Then it is an error only where particular clients were asked
    /// about, and a warning otherwise.
    #[serde(skip)]
    pub documented: bool,
}

/// A span whose keys stand in the finding itself, `null` when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place(pub Option<Span>);

impl Serialize for Place {
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
