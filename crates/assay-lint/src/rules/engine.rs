//! The engine's own rules: on clients that reject a skill, nested skills, and suppression comments.

use crate::client::Client;
use crate::diagnostic::{Severities, Severity};
use crate::rule::Rule;

/// The rules of the engine itself.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        code: "refused",
        severities: Severities::all(Severity::Error),
        about: "a client rejects or skips the skill for a reason that no other rule covers",
        fix: "Correct the problem that the message describes.",
        source: "skills-ref, quick_validate, the agents' sources",
        numbers: &[],
    },
    Rule {
        code: "suppression-safety",
        severities: Severities::all(Severity::Warning),
        about: "a comment in a skill tries to suppress a safety rule, which has no effect",
        fix: "Accept the finding in your own `assay.toml` with [[lint.allow]], or set `suppression-comments = \"all\"` there if you trust what you scan.",
        source: "assay",
        numbers: &[],
    },
    Rule {
        code: "skill-nested",
        severities: Severities::none().with(Severity::Info, &SHALLOW),
        about: "a skill nested in another skill's folder, which some clients do not load",
        fix: "Move the folder next to the other skill. If it is not a separate skill, rename its SKILL.md.",
        source: "Codex, OpenCode, Claude Code, Gemini CLI",
        numbers: &[],
    },
    Rule {
        code: "suppression-unreasoned",
        severities: Severities::all(Severity::Warning),
        about: "a suppression comment without a reason, which has no effect",
        fix: "Write `<!-- assay: allow CODE: the reason -->`.",
        source: "assay",
        numbers: &[],
    },
    Rule {
        code: "suppression-unused",
        severities: Severities::all(Severity::Info),
        about: "a comment suppresses a rule that has no findings here, or that does not exist",
        fix: "Remove the comment.",
        source: "assay",
        numbers: &[],
    },
];

/// The agents that do not load a skill within another one's folder.
pub(crate) const SHALLOW: [Client; 2] = [Client::ClaudeCode, Client::GeminiCli];
