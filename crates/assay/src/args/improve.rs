//! What `assay improve` takes.

use std::path::PathBuf;

use super::permission::PermissionFlags;

/// Improve a skill, with evidence
///
/// Trials decide what is left of a skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay improve shrink skills/ledger --experiment experiment.toml --max-trials 720
  assay improve shrink skills/ledger --experiment experiment.toml --max-trials 480 --margin 0.2")]
pub(crate) struct ImproveArgs {
    #[command(subcommand)]
    pub(crate) what: ImproveWhat,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ImproveWhat {
    Shrink(ShrinkArgs),
}

/// Find the sections of a skill that carry its lift
///
/// Executes variants of the skill in which sections are replaced by a placebo of the same length, and shows for each section
/// whether it carries the lift, is dead, or harms. The skill without dead and harmful sections is then compared with the
/// skill. The experiment's own trials must be recorded (`assay run`), on 20 tasks or more. Started again, the command goes on
/// with the trials that it has. docs/IMPROVE.md has the design.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay improve shrink skills/ledger --experiment experiment.toml --max-trials 720
  assay improve shrink skills/ledger --experiment experiment.toml --max-trials 720 --out shorter/ledger")]
pub(crate) struct ShrinkArgs {
    /// The skill's folder
    pub(crate) skill: PathBuf,
    /// The experiment: a file, or a folder with an experiment.toml
    #[arg(long, value_name = "EXPERIMENT")]
    pub(crate) experiment: PathBuf,
    /// Execute at most N trials in all stages together
    #[arg(long, value_name = "N")]
    pub(crate) max_trials: usize,
    /// How much worse the shorter skill may be, as a fraction
    #[arg(long, value_name = "MARGIN", default_value_t = 0.10)]
    pub(crate) margin: f64,
    /// Write the shorter skill to this new folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Concurrent trials [default: as in the experiment]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    #[command(flatten)]
    pub(crate) permissions: PermissionFlags,
}
