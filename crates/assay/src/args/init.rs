//! What `assay init` takes.

use std::path::PathBuf;

use clap::Subcommand;

/// Write a new experiment, task or CI workflow
///
/// Start here: write an experiment, copy skills into its folder `skills`, and write tasks. A
/// confidence interval needs at least five tasks.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay init experiment my-suite
  assay init task skills/xlsx")]
pub(crate) struct InitArgs {
    #[command(subcommand)]
    pub(crate) what: InitWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InitWhat {
    /// Write a new experiment.toml
    ///
    /// Creates the folders `skills` and `tasks` beside it. Existing files are not overwritten.
    ///
    /// With `--from-plugin` each case of the plugin's suite becomes a task that its graders decide, and its skills are
    /// copied. Cases that cannot be read are listed and left out; the exit status is then 1.
    #[command(after_help = "Examples:
  assay init experiment my-suite
  assay init experiment my-suite --from-plugin plugins/tracker")]
    Experiment {
        /// Folder of the experiment; created if missing
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// A plugin with a suite of `claude plugin eval`
        #[arg(long, value_name = "DIR")]
        from_plugin: Option<PathBuf>,
    },
    /// Write the files of a new task for a skill
    ///
    /// Fill in the instruction, the tests and the reference solution, then run `assay task check`.
    #[command(after_help = "Examples:
  assay init task skills/xlsx
  assay init task skills/xlsx --out tasks/pivot-table")]
    Task {
        /// The skill that the task is about: its folder or its SKILL.md
        skill: PathBuf,
        /// Folder for the task [default: tasks/<skill>]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Write a policy for `assay gate` and workflows that run it
    ///
    /// Writes gate.toml, .github/workflows/assay-gate.yml and assay-gate.gitlab-ci.yml. The policy covers the skills that
    /// the repository's experiment measures, with the margin that its tasks support. Existing files are not overwritten.
    ///
    /// The workflows build assay from the commit of this program.
    #[command(after_help = "Examples:
  assay init ci
  assay init ci --experiment evals/experiment.toml")]
    Ci {
        /// Root of the repository
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// The experiment that measures the skills [default: the only one of the repository]
        #[arg(long, value_name = "FILE")]
        experiment: Option<PathBuf>,
        /// The commit of assay that the workflows build [default: that of this program]
        #[arg(long, value_name = "COMMIT")]
        revision: Option<String>,
    },
}
