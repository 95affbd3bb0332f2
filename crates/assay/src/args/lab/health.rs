//! What `assay lab health` takes.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
pub(crate) struct HealthArgs {
    /// The library: a folder of skills, or one that holds it as `skills`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Claims, mechanisms and activation cases of the library [default: DIR/researcher]
    #[arg(long, value_name = "DIR")]
    pub(crate) fixtures: Option<PathBuf>,
    /// The rules
    #[arg(long, value_name = "NAME", default_value = "context-engineering")]
    pub(crate) profile: Profile,
    /// The revision of the script [default: found from the library's text: six-lines or eight-yaml]
    #[arg(long, value_name = "NAME")]
    pub(crate) revision: Option<ScriptRevision>,
    /// Exit with 1 when a skill is flagged
    #[arg(long)]
    pub(crate) strict: bool,
    /// Add a line to this history (JSON Lines), and tell what changed since its last one
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// Ask every external link's server whether it is there; no part of the score
    #[arg(long)]
    pub(crate) check_urls: bool,
    /// Seconds to wait for each of them
    #[arg(long, value_name = "S", default_value_t = 10, requires = "check_urls")]
    pub(crate) url_timeout: u64,
}

/// The rules that health is measured by.
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
    /// After it: eight sections, front matter read line by line
    EightLines,
    /// The latest: eight sections, front matter read as YAML
    EightYaml,
}
