//! What `assay completions` takes.

use std::path::PathBuf;

use clap::ValueEnum;

/// Write shell completions or man pages
///
/// Completions go to standard output, for a file that your shell loads. `man` writes one page for each command into a
/// folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay completions bash > ~/.local/share/bash-completion/completions/assay
  assay completions man --out ~/.local/share/man/man1")]
pub(crate) struct CompletionsArgs {
    /// The shell, or `man` for man pages
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
