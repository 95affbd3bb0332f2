//! The clients, and how each loads a skill.
//!
//! A client is one file here and one line in [`Client`] and in `load_result.rs`. Two are validators
//! whose verdicts are reproduced exactly (`skills_ref`, `upload`); one is the text of the
//! specification; the others are agents, according to their source code or documentation.

mod agents;
mod load_result;

pub(crate) use agents::{CLAUDE_LISTING, is_slug as agents_slug};
pub(crate) use load_result::load_result;
pub(crate) mod skills_ref;
pub(crate) mod upload;

use assay_syntax::yaml::Scalar;
use serde::{Deserialize, Serialize};

/// A program that reads skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// The text of the specification.
    Spec,
    /// The reference validator, PyPI's `skills-ref`.
    SkillsRef,
    /// The check before an upload: `quick_validate` of Anthropic's skill-creator, and the
    /// platform's own limits.
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
    /// A client that follows the specification's client implementation guide.
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

/// Clients that only validate skills.
pub const VALIDATORS: [Client; 3] = [Client::Spec, Client::SkillsRef, Client::Upload];

/// Clients that load skills.
pub const AGENTS: [Client; 5] =
    [Client::ClaudeCode, Client::Codex, Client::GeminiCli, Client::OpenCode, Client::Lenient];

impl Client {
    /// Its name in reports and on the command line.
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

    /// Finds a client by name.
    pub fn find(name: &str) -> Option<Self> {
        CLIENTS.into_iter().find(|client| client.name() == name)
    }

    /// Whether it only validates.
    pub fn validates(self) -> bool {
        VALIDATORS.contains(&self)
    }
}

/// How a client loads a skill.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "four independent answers, as the JSON has them")]
pub struct LoadResult {
    /// Whether the client reports no error.
    pub valid: bool,
    /// Whether the client loads the skill.
    pub loads: bool,
    /// Its name there; `None` if it does not load.
    pub name: Option<String>,
    /// The description shown to the model; `None` if it does not load.
    pub description: Option<String>,
    /// Whether it is listed to the model.
    pub listed: bool,
    /// Whether the description is truncated.
    pub truncated: bool,
    /// Why it does not load, or is not listed.
    pub reason: Option<String>,
}

impl LoadResult {
    /// Loaded and listed unchanged.
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
    /// It is missing.
    #[error("missing `{0}`")]
    Missing(String),
    /// It is not a string.
    #[error("`{0}` is not a string")]
    NotText(String),
    /// It is a value of another type.
    #[error("`{0}` is {kind}", kind = .1.word())]
    Scalar(String, Scalar),
    /// It is a list or a mapping.
    #[error("`{0}` is a list or a mapping")]
    Nested(String),
}
