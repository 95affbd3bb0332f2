//! Rules, families of rules, and where they put their findings.

use std::ops::Range;
use std::path::PathBuf;

use crate::client::{CLIENTS, Client};
use crate::diagnostic::{Diagnostic, Fix, Place, Severities, Severity, Span};
use crate::skill::{Resource, Skill};

/// What is known of a rule before it is asked.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its stable name, in kebab case.
    pub code: &'static str,
    /// What it is to each client.
    pub severities: Severities,
    /// What it finds, in half a sentence.
    pub about: &'static str,
    /// How to fix what it finds.
    pub fix: &'static str,
    /// Who says so: a specification, a validator, a client's source or documentation, or the lint tools that agree on it.
    pub source: &'static str,
    /// The numbers of the rule list this covers (see docs/RULES.md).
    pub numbers: &'static [u16],
}

/// A rule on one line: code, severities, numbers, source, what it finds, how to fix that.
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

    /// Looks at one skill.
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

    /// Says whose findings come next.
    pub(crate) fn begin(&mut self, rules: &'static [Rule]) {
        self.rules = rules;
    }

    /// The findings, in the order they were made.
    pub(crate) fn into_list(self) -> Vec<Diagnostic> {
        self.list
    }

    /// Whether something found so far makes a client refuse the skill.
    pub(crate) fn has_error(&self, client: Client) -> bool {
        self.list.iter().any(|found| found.clients.of(client) == Some(Severity::Error))
    }

    /// A finding at a stretch of the skill's document.
    pub(crate) fn add(
        &mut self,
        code: &str,
        skill: &Skill,
        range: &Range<usize>,
        message: impl Into<String>,
    ) -> Last<'_> {
        let span = Span::of(skill.text(), range);
        self.push(code, skill.file.clone(), Some(span), message.into())
    }

    /// A finding at a stretch of another file of the skill.
    pub(crate) fn add_in(
        &mut self,
        code: &str,
        skill: &Skill,
        resource: &Resource,
        range: &Range<usize>,
        message: impl Into<String>,
    ) -> Last<'_> {
        let span = Span::of(&resource.text, range);
        self.push(code, skill.root.join(&resource.path), Some(span), message.into())
    }

    /// A finding about a file as a whole, or at a place that is known by its line.
    pub(crate) fn add_at(
        &mut self,
        code: &str,
        file: impl Into<PathBuf>,
        span: Option<Span>,
        message: impl Into<String>,
    ) -> Last<'_> {
        self.push(code, file.into(), span, message.into())
    }

    fn push(&mut self, code: &str, file: PathBuf, span: Option<Span>, message: String) -> Last<'_> {
        // A code that the family does not declare is a mistake of the family's; the pages in tests/rules would show it.
        let rule = self.rules.iter().find(|rule| rule.code == code).unwrap_or(&UNDECLARED);
        debug_assert!(rule.code != UNDECLARED.code, "undeclared rule {code}");
        let clients = rule.severities;
        let severity = clients.gravest(&CLIENTS).unwrap_or(Severity::Info);
        let diagnostic = Diagnostic {
            code: rule.code,
            severity,
            message: clipped(message),
            file,
            span: Place(span),
            hint: None,
            fix: None,
            clients,
            fingerprint: String::new(),
            documented: false,
        };
        Last(self.list.push_mut(diagnostic))
    }
}

/// The longest message, in characters. What is measured stands in front of what is quoted, or the quotation is short.
const MESSAGE: usize = 500;

/// A text as long as a message may be.
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

/// The last finding, to be explained.
#[derive(Debug)]
pub(crate) struct Last<'a>(&'a mut Diagnostic);

impl Last<'_> {
    /// Says what to do about it.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Says what can safely be done about it.
    pub(crate) fn fix(self, fix: Option<Fix>) -> Self {
        self.0.fix = fix;
        self
    }

    /// Says that a client documents it, whatever validators make of it.
    pub(crate) fn documented(self) -> Self {
        self.0.documented = true;
        self
    }

    /// Other severities than the rule's own.
    pub(crate) fn severities(self, severities: Severities) -> Self {
        self.0.clients = severities;
        self.0.severity = severities.gravest(&CLIENTS).unwrap_or(Severity::Info);
        self
    }
}
