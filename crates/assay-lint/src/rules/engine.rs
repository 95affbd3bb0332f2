//! The rules of the engine itself: on what clients refuse, skills within skills, and comments that suppress.

use crate::client::Client;
use crate::diagnostic::{Severities, Severity};
use crate::rule::Rule;

/// The rules of the engine itself.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        code: "refused",
        severities: Severities::all(Severity::Error),
        about: "a client refuses or drops the skill for a reason that no other rule names",
        source: "skills-ref, quick_validate, the agents' sources",
        numbers: &[],
    },
    Rule {
        code: "suppression-safety",
        severities: Severities::all(Severity::Warning),
        about: "a comment in a skill would suppress a safety rule, and does not",
        source: "assay",
        numbers: &[],
    },
    Rule {
        code: "skill-nested",
        severities: Severities::none().with(Severity::Info, &SHALLOW),
        about: "a skill is nested in another skill's folder, and some clients do not load it",
        source: "the sources of Codex and OpenCode; Claude Code, Gemini CLI",
        numbers: &[],
    },
    Rule {
        code: "suppression-unreasoned",
        severities: Severities::all(Severity::Warning),
        about: "a comment suppresses a rule without a reason, and so does not",
        source: "assay",
        numbers: &[],
    },
    Rule {
        code: "suppression-unused",
        severities: Severities::all(Severity::Info),
        about: "a comment suppresses a rule that finds nothing, or that does not exist",
        source: "assay",
        numbers: &[],
    },
];

/// The agents that find no skill within another one's folder.
pub(crate) const SHALLOW: [Client; 2] = [Client::ClaudeCode, Client::GeminiCli];
