//! The clients, and what becomes of a skill in each.
//!
//! A client is one file here and one line in [`Client`] and in `fate.rs`. Two of them are validators, of which every verdict is
//! reproduced (`skills_ref`, `upload`); one is the specification's text; the others are agents, as far as their sources or their
//! documentation tell.

mod agents;
mod fate;

pub(crate) use agents::{CLAUDE_LISTING, is_slug as agents_slug};
pub(crate) use fate::fate;
pub(crate) mod skills_ref;
pub(crate) mod upload;

use assay_syntax::yaml::Scalar;
use serde::{Deserialize, Serialize};

/// Who reads a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// The specification, by its wording.
    Spec,
    /// The reference validator, PyPI's `skills-ref`.
    SkillsRef,
    /// The check before an upload: `quick_validate` of Anthropic's skill-creator, and the platform's own limits.
    Upload,
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    GeminiCli,
    /// OpenCode.
    #[serde(rename = "opencode")]
    OpenCode,
    /// A client that follows the implementation guide of the specification.
    Lenient,
}

/// Every client, in the order of reports.
pub const CLIENTS: [Client; 8] = [
    Client::Spec,
    Client::SkillsRef,
    Client::Upload,
    Client::ClaudeCode,
    Client::Codex,
    Client::GeminiCli,
    Client::OpenCode,
    Client::Lenient,
];

/// Those that check a skill and do not run it.
pub const VALIDATORS: [Client; 3] = [Client::Spec, Client::SkillsRef, Client::Upload];

/// Those that run it.
pub const AGENTS: [Client; 5] =
    [Client::ClaudeCode, Client::Codex, Client::GeminiCli, Client::OpenCode, Client::Lenient];

impl Client {
    /// The name it has in reports and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::SkillsRef => "skills-ref",
            Self::Upload => "upload",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::OpenCode => "opencode",
            Self::Lenient => "lenient",
        }
    }

    /// The client of a name.
    pub fn find(name: &str) -> Option<Self> {
        CLIENTS.into_iter().find(|client| client.name() == name)
    }

    /// Whether it only checks.
    pub fn validates(self) -> bool {
        VALIDATORS.contains(&self)
    }
}

/// What becomes of a skill in a client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "four independent answers, as the JSON has them")]
pub struct Fate {
    /// Whether the client finds no fault that it calls an error.
    pub valid: bool,
    /// Whether the skill can be used there at all.
    pub loads: bool,
    /// The name it goes by; `None` when it does not load.
    pub name: Option<String>,
    /// The description that is shown to the model; `None` when it does not load.
    pub description: Option<String>,
    /// Whether the model is told of it.
    pub listed: bool,
    /// Whether the description is cut where it is shown.
    pub truncated: bool,
    /// Why it does not load, or is not listed.
    pub reason: Option<String>,
}

impl Fate {
    /// Loaded and listed as it is.
    pub(crate) fn loaded(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            valid: true,
            loads: true,
            name: Some(name.into()),
            description: Some(description.into()),
            listed: true,
            truncated: false,
            reason: None,
        }
    }

    /// Not loaded.
    pub(crate) fn dropped(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::default() }
    }
}

/// Why a client cannot use a field of the front matter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FieldError {
    /// There is none.
    #[error("no `{0}`")]
    Missing(String),
    /// It is something else than a text.
    #[error("`{0}` is not a text")]
    NotText(String),
    /// It is a value of another type.
    #[error("`{0}` is {kind}", kind = .1.word())]
    Scalar(String, Scalar),
    /// It has parts.
    #[error("`{0}` is a list or a map")]
    Nested(String),
}
