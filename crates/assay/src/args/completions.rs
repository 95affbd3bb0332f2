//! What `assay completions` takes.

use std::path::PathBuf;

use clap::ValueEnum;

/// Write shell completions or man pages
///
/// Completions for a shell go to standard output; save them in a file that the shell loads. `man`
/// writes a page for each command to the folder of --out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay completions bash > ~/.local/share/bash-completion/completions/assay
  assay completions man --out ~/.local/share/man/man1")]
pub struct CompletionsArgs {
    /// Shell, or `man` for man pages
    #[arg(value_name = "SHELL")]
    pub(crate) target: Target,
    /// Folder for the man pages; created if missing
    #[arg(long, value_name = "DIR", required_if_eq("target", "man"))]
    pub(crate) out: Option<PathBuf>,
}

/// What is generated from the definitions of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    Bash,
    Elvish,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
    /// Man pages, in roff
    Man,
}
