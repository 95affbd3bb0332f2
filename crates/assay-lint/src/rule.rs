//! Rules, families of rules, and the collector of their findings.

use std::ops::Range;
use std::path::PathBuf;

use crate::client::{CLIENTS, Client};
use crate::diagnostic::{Diagnostic, Fix, MaybeSpan, Severities, Severity, Span};
use crate::skill::{Resource, Skill};

/// The static data of a rule.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its stable name, in kebab case.
    pub code: &'static str,
    /// The severity for each client.
    pub severities: Severities,
    /// What it finds, as a fragment.
    pub about: &'static str,
    /// How to fix what it finds.
    pub fix: &'static str,
    /// The sources of the rule: a specification, a validator, a client's code or documentation, or
    /// other lint tools.
    pub source: &'static str,
    /// The numbers of the rule list this covers (see docs/RULES.md).
    pub numbers: &'static [u16],
}

/// Declares a rule: code, severities, numbers, sources, what it finds, how to fix it.
macro_rules! rule {
    ($code:literal, $severities:expr, $numbers:expr, $source:literal, $about:literal, $fix:literal) => {
        $crate::Rule {
            code: $code,
            severities: $severities,
            about: $about,
            fix: $fix,
            source: $source,
            numbers: &$numbers,
        }
    };
}
pub(crate) use rule;

/// Related rules, in one file.
pub(crate) trait Family: Sync {
    /// The rules it may report.
    fn rules(&self) -> &'static [Rule];

    /// Checks one skill.
    fn check(&self, skill: &Skill, findings: &mut Findings);
}

/// The findings on one skill.
#[derive(Debug)]
pub(crate) struct Findings {
    rules: &'static [Rule],
    list: Vec<Diagnostic>,
}

impl Findings {
    /// No findings yet.
    pub(crate) fn new() -> Self {
        Self { rules: &[], list: Vec::new() }
    }

    /// Sets the rules that the next findings belong to.
    pub(crate) fn begin(&mut self, rules: &'static [Rule]) {
        self.rules = rules;
    }

    /// The findings, in the order they were made.
    pub(crate) fn into_list(self) -> Vec<Diagnostic> {
        self.list
    }

    /// Whether a finding so far is an error for a client.
    pub(crate) fn has_error(&self, client: Client) -> bool {
        self.list.iter().any(|found| found.clients.of(client) == Some(Severity::Error))
    }

    /// Adds a finding at a range of the skill's document.
    pub(crate) fn add(
        &mut self,
        code: &str,
        skill: &Skill,
        range: &Range<usize>,
        message: impl Into<String>,
    ) -> LastFinding<'_> {
        let span = Span::of(skill.text(), range);
        self.push(code, skill.file.clone(), Some(span), message.into())
    }

    /// Adds a finding at a range of another file of the skill.
    pub(crate) fn add_in(
        &mut self,
        code: &str,
        skill: &Skill,
        resource: &Resource,
        range: &Range<usize>,
        message: impl Into<String>,
    ) -> LastFinding<'_> {
        let span = Span::of(&resource.text, range);
        self.push(code, skill.root.join(&resource.path), Some(span), message.into())
    }

    /// Adds a finding about a whole file, or at a known span.
    pub(crate) fn add_at(
        &mut self,
        code: &str,
        file: impl Into<PathBuf>,
        span: Option<Span>,
        message: impl Into<String>,
    ) -> LastFinding<'_> {
        self.push(code, file.into(), span, message.into())
    }

    fn push(&mut self, code: &str, file: PathBuf, span: Option<Span>, message: String) -> LastFinding<'_> {
        // An undeclared code is a bug in the family; the pages in tests/rules would reveal it.
        let rule = self.rules.iter().find(|rule| rule.code == code).unwrap_or(&UNDECLARED);
        debug_assert!(rule.code != UNDECLARED.code, "undeclared rule {code}");
        let clients = rule.severities;
        let severity = clients.max_severity(&CLIENTS).unwrap_or(Severity::Info);
        let diagnostic = Diagnostic {
            code: rule.code,
            severity,
            message: clipped(message),
            file,
            span: MaybeSpan(span),
            hint: None,
            fix: None,
            clients,
            fingerprint: String::new(),
            line_digest: None,
            documented: false,
        };
        LastFinding(self.list.push_mut(diagnostic))
    }
}

/// The longest message, in characters. Measured values come before quoted input, or the quotation
/// is short.
const MESSAGE: usize = 500;

/// Truncates a message to the longest length.
pub(crate) fn clipped(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(MESSAGE) {
        message.truncate(end);
        message.push('…');
    }
    message
}

impl Default for Findings {
    fn default() -> Self {
        Self::new()
    }
}

const UNDECLARED: Rule = Rule {
    code: "undeclared",
    severities: Severities::all(Severity::Info),
    about: "",
    fix: "",
    source: "",
    numbers: &[],
};

/// The finding that was just added, for more detail.
#[derive(Debug)]
pub(crate) struct LastFinding<'a>(&'a mut Diagnostic);

impl LastFinding<'_> {
    /// Sets the hint: what to do about it.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the fix that `--fix` can apply.
    pub(crate) fn fix(self, fix: Option<Fix>) -> Self {
        self.0.fix = fix;
        self
    }

    /// Marks it as documented by a client, although validators reject it.
    pub(crate) fn documented(self) -> Self {
        self.0.documented = true;
        self
    }

    /// Overrides the rule's severities.
    pub(crate) fn severities(self, severities: Severities) -> Self {
        self.0.clients = severities;
        self.0.severity = severities.max_severity(&CLIENTS).unwrap_or(Severity::Info);
        self
    }
}
