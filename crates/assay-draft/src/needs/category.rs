//! The categories.

use serde::Serialize;

/// What a skill may require of an environment (Tessl, 2026, Table 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// A program on the command line, other than a language's runtime.
    ToolCli,
    /// An MCP server.
    Mcp,
    /// Hosts on the network.
    Network,
    /// Credentials.
    Auth,
    /// Environment variables.
    EnvVars,
    /// The runtime of a programming language, and its packages.
    Runtime,
    /// A user who answers questions.
    MultiTurn,
    /// A repository or project to work on.
    ExistingRepo,
    /// Certain files in the workspace.
    ExistingFiles,
    /// A Git repository with history, branches or changes.
    GitState,
    /// A database with content.
    Database,
    /// A browser or another graphical interface.
    BrowserUi,
    /// Servers on this machine.
    LocalServices,
    /// A file that the user provides as input.
    InputFile,
    /// Data in a hosted service that exists already.
    ExternalState,
    /// Anything else: hardware, an operating system, an application, another skill.
    Other,
}

/// A name that is not one of the categories.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown category `{0}`")]
pub struct UnknownCategory(pub String);

impl Category {
    /// All of them, in the order of the labels.
    pub const ALL: [Self; 16] = [
        Self::ToolCli,
        Self::Mcp,
        Self::Network,
        Self::Auth,
        Self::EnvVars,
        Self::Runtime,
        Self::MultiTurn,
        Self::ExistingRepo,
        Self::ExistingFiles,
        Self::GitState,
        Self::Database,
        Self::BrowserUi,
        Self::LocalServices,
        Self::InputFile,
        Self::ExternalState,
        Self::Other,
    ];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::ToolCli => "tool_cli",
            Self::Mcp => "mcp",
            Self::Network => "network",
            Self::Auth => "auth",
            Self::EnvVars => "env_vars",
            Self::Runtime => "runtime",
            Self::MultiTurn => "multi_turn",
            Self::ExistingRepo => "existing_repo",
            Self::ExistingFiles => "existing_files",
            Self::GitState => "git_state",
            Self::Database => "database",
            Self::BrowserUi => "browser_ui",
            Self::LocalServices => "local_services",
            Self::InputFile => "input_file",
            Self::ExternalState => "external_state",
            Self::Other => "other",
        }
    }
}

impl std::str::FromStr for Category {
    type Err = UnknownCategory;

    fn from_str(name: &str) -> Result<Self, UnknownCategory> {
        Self::ALL
            .into_iter()
            .find(|category| category.name() == name)
            .ok_or_else(|| UnknownCategory(name.to_owned()))
    }
}
