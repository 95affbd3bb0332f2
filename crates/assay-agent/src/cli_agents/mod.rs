//! Third-party CLI agents, started once per trial, without a terminal.
//!
//! The common part is [`CliAgent`]; what is particular to each agent is a [`Harness`]: one file,
//! and one line in [`HARNESSES`]. Agents reach their model through a port on the sandbox's own
//! loopback, with a token that is valid nowhere else.

mod claude_code;
mod cli_agent;
mod codex;
mod gemini_cli;
mod harness;
mod install;
mod mini_swe_agent;
mod opencode;
mod package;
mod qwen_code;

pub use self::cli_agent::{CliAgent, INSTALLED, Script, UnusableModel};
pub use self::harness::{Harness, Launch, VaryingContent};
pub use self::install::{InexactVersion, InstallError, Installation, named_version};
pub use self::package::{Package, Registry};

/// All supported CLI agents.
pub const HARNESSES: &[&dyn Harness] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini_cli::GeminiCli,
    &opencode::OpenCode,
    &qwen_code::QwenCode,
    &mini_swe_agent::MiniSweAgent,
];

/// Finds a harness by its name.
pub fn find(name: &str) -> Option<&'static dyn Harness> {
    HARNESSES.iter().copied().find(|harness| harness.name() == name)
}
