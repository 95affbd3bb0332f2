//! What `assay lab health` takes.

use std::path::PathBuf;

use clap::ValueEnum;

/// Score the documents of a library by a published script
///
/// Reproduces the script of the context-engineering collection in three revisions. The score has
/// not been compared with what skills do for agents; use `assay lint` to improve skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab health skills
  assay lab health skills --revision eight-yaml --history health.jsonl --strict")]
pub(crate) struct HealthArgs {
    /// The library: a folder of skills, or one that contains it as `skills`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Folder with claims, mechanisms and activation cases of the library [default: DIR/researcher]
    #[arg(long, value_name = "DIR")]
    pub(crate) fixtures: Option<PathBuf>,
    /// Rules to score by
    #[arg(long, value_name = "NAME", default_value = "context-engineering")]
    pub(crate) profile: Profile,
    /// Revision of the script [default: detected, six-lines or eight-yaml]
    #[arg(long, value_name = "NAME")]
    pub(crate) revision: Option<ScriptRevision>,
    /// Exit with 1 if a skill is flagged
    #[arg(long)]
    pub(crate) strict: bool,
    /// Append the scores to FILE (JSON Lines) and show what changed
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// Request every external link; this does not change the score
    #[arg(long)]
    pub(crate) check_urls: bool,
    /// Timeout for each link, in seconds
    #[arg(long, value_name = "S", default_value_t = 10, requires = "check_urls")]
    pub(crate) url_timeout: u64,
}

/// The rules that documents are scored by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// The script of the context-engineering collection
    ContextEngineering,
    /// The same with `--revision six-lines`
    #[value(name = "context-engineering-6", hide = true)]
    Six,
    /// The same with `--revision eight-yaml`
    #[value(name = "context-engineering-8", hide = true)]
    Eight,
}

/// A revision of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScriptRevision {
    /// Release 2.3.0: six sections, front matter read line by line
    SixLines,
    /// After 2.3.0: eight sections, front matter read line by line
    EightLines,
    /// The latest: eight sections, front matter read as YAML
    EightYaml,
}
