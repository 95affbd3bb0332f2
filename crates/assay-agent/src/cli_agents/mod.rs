//! Command-line agents of other makers: started once for a trial, headless.
//!
//! What they share is in [`CliAgent`]; what makes each of them particular is a [`Harness`], one file and one line in
//! [`HARNESSES`]. They reach their model through a port of the sandbox's own loopback, with a token that is worth nothing elsewhere.

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

/// The agents there are.
pub const HARNESSES: &[&dyn Harness] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini_cli::GeminiCli,
    &opencode::OpenCode,
    &qwen_code::QwenCode,
    &mini_swe_agent::MiniSweAgent,
];

/// The harness of a name.
pub fn find(name: &str) -> Option<&'static dyn Harness> {
    HARNESSES.iter().copied().find(|harness| harness.name() == name)
}
