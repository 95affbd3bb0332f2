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
        fix: "Correct what the reason names.",
        source: "skills-ref, quick_validate, the agents' sources",
        numbers: &[],
    },
    Rule {
        code: "suppression-safety",
        severities: Severities::all(Severity::Warning),
        about: "a comment in a skill would suppress a safety rule, and does not",
        fix: "Accept the finding in your own `assay.toml` with [[lint.allow]], or set `suppression-comments = \"all\"` there if you trust what you scan.",
        source: "assay",
        numbers: &[],
    },
    Rule {
        code: "skill-nested",
        severities: Severities::none().with(Severity::Info, &SHALLOW),
        about: "a skill is nested in another skill's folder, and some clients do not load it",
        fix: "Move the folder beside the other skill. If it is no skill of its own, give its document another name than SKILL.md.",
        source: "the sources of Codex and OpenCode; Claude Code, Gemini CLI",
        numbers: &[],
    },
    Rule {
        code: "suppression-unreasoned",
        severities: Severities::all(Severity::Warning),
        about: "a comment suppresses a rule without a reason, and so does not",
        fix: "Write `<!-- assay: allow CODE: the reason -->`.",
        source: "assay",
        numbers: &[],
    },
    Rule {
        code: "suppression-unused",
        severities: Severities::all(Severity::Info),
        about: "a comment suppresses a rule that finds nothing, or that does not exist",
        fix: "Remove the comment.",
        source: "assay",
        numbers: &[],
    },
];

/// The agents that find no skill within another one's folder.
pub(crate) const SHALLOW: [Client; 2] = [Client::ClaudeCode, Client::GeminiCli];
