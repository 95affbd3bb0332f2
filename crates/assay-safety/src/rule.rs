//! Rules: a code, a family, a severity, a summary, and the words that must occur in a text before
//! the rule is tried.

use std::fmt;

use assay_diagnostic::Severity;
use serde::Serialize;

/// The kind of harm that a rule detects. Error rates are given per family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Text that sets aside the agent's other instructions or its safeguards.
    Override,
    /// Text that hides something from the user, or is hidden itself.
    Concealment,
    /// Characters that a reader does not see, or takes for others.
    HiddenText,
    /// Commands or instructions that have to be decoded first.
    Encoded,
    /// Code from the network that runs unseen.
    RemoteCode,
    /// Downloads that may be something else tomorrow.
    Unpinned,
    /// Reading keys, passwords and sessions.
    Credentials,
    /// Gathering secrets and sending them out.
    Exfiltration,
    /// What stays after the work is done: scheduled jobs, profiles, services, hooks.
    Persistence,
    /// More rights than the work needs.
    Privilege,
    /// Writing the agent's own instructions and settings.
    AgentConfig,
    /// A description that claims every request.
    Trigger,
    /// Declared tools against used ones.
    Capability,
    /// Keys in the package.
    Secret,
    /// Paths and links that leave the package.
    Escape,
    /// Archives and executables in the package.
    Archive,
    /// Deleting or encrypting the user's files, or using their machine for mining.
    Destruction,
    /// Having the agent falsify its own work.
    Sabotage,
}

impl Family {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 18] = [
        Self::Override,
        Self::Concealment,
        Self::HiddenText,
        Self::Encoded,
        Self::RemoteCode,
        Self::Unpinned,
        Self::Credentials,
        Self::Exfiltration,
        Self::Persistence,
        Self::Privilege,
        Self::AgentConfig,
        Self::Trigger,
        Self::Capability,
        Self::Secret,
        Self::Escape,
        Self::Archive,
        Self::Destruction,
        Self::Sabotage,
    ];

    /// The name as tables and JSON have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Concealment => "concealment",
            Self::HiddenText => "hidden-text",
            Self::Encoded => "encoded",
            Self::RemoteCode => "remote-code",
            Self::Unpinned => "unpinned",
            Self::Credentials => "credentials",
            Self::Exfiltration => "exfiltration",
            Self::Persistence => "persistence",
            Self::Privilege => "privilege",
            Self::AgentConfig => "agent-config",
            Self::Trigger => "trigger",
            Self::Capability => "capability",
            Self::Secret => "secret",
            Self::Escape => "escape",
            Self::Archive => "archive",
            Self::Destruction => "destruction",
            Self::Sabotage => "sabotage",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One rule.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// A stable name in kebab case.
    pub code: &'static str,
    /// Its family.
    pub family: Family,
    /// How much a finding matters where nothing speaks for it. A passage that only describes an
    /// attack is `info`.
    pub severity: Severity,
    /// Its meaning, in a sentence.
    pub summary: &'static str,
    /// Words of which one has to occur, in any case, before the rule's search reads a text; empty
    /// for rules on characters, archives, links and the like, which are always searched for. The
    /// first pass over a file is made of them: see `needles`.
    #[serde(skip)]
    pub(crate) triggers: &'static [(Trigger, &'static [&'static str])],
}

/// The kind of content that a trigger word occurs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// Text.
    Prose,
    /// Commands and calls.
    Code,
    /// Keys, and their usual names.
    Secret,
    /// Comments, and elements that are not shown.
    Comment,
}

/// Declares the rules of a file: name, code, family, severity, summary, and trigger words. A
/// comment before a rule follows its summary.
macro_rules! declare_rules {
    ($($(#[$comment:meta])* $name:ident = $code:literal, $family:ident, $severity:ident, $summary:literal
        $(, $trigger:ident [$($word:literal),* $(,)?])*;)*) => {
        $(#[doc = $summary] $(#[doc = ""] #[$comment])* pub(crate) static $name: $crate::rule::Rule = $crate::rule::Rule {
            code: $code,
            family: $crate::rule::Family::$family,
            severity: assay_diagnostic::Severity::$severity,
            summary: $summary,
            triggers: &[$(($crate::rule::Trigger::$trigger, &[$($word),*])),*],
        };)*
        /// The rules that are declared in this file.
        pub(crate) static RULES: &[&$crate::rule::Rule] = &[$(&$name),*];
    };
}
pub(crate) use declare_rules;
