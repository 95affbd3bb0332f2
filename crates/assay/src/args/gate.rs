//! What `assay gate` takes.

use std::path::PathBuf;

use clap::ValueEnum;

use super::permission::PermissionFlags;

/// Decide whether changed skills meet a policy
///
/// For CI: finds the skills that changed, runs their experiments (only trials that are not in the store), and compares
/// the results with the requirements of the policy. All skills, and all reruns that the policy's ledger has counted, share
/// one error budget. A policy that no result can meet is refused before any trial. docs/guide/ci.md describes policies.
///
/// With --changed-since, rules (policy, experiments, tasks, assay.toml) are those of that revision, and skills those of its
/// merge with the working tree. Without it the rules of the working tree decide, and no look is counted.
///
/// Exit status: 0 pass or nothing to decide, 1 fail, 2 invalid or unattainable policy, 3 blocked: trials, the ledger or a
/// key are missing, or the rules were weakened, 4 undecided.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(after_help = "Examples:
  assay gate gate.toml --changed-since origin/main --max-usd 20
  assay gate gate.toml --changed-since origin/main --junit gate.xml --comment comment.md
  assay gate gate.toml --self-check --table results.jsonl.zst")]
pub(crate) struct GateArgs {
    /// The policy
    pub(crate) policy: PathBuf,
    /// Gate only skills that differ from this Git revision
    ///
    /// The tip of the branch that is merged into. Its policy, experiments and tasks apply.
    #[arg(long, value_name = "REF")]
    pub(crate) changed_since: Option<String>,
    /// Apply the pull request's changes of rules
    ///
    /// For a maintainer who has read them. SHA is the full name of the pull request's head commit: after the next push it
    /// no longer applies.
    #[arg(long, value_name = "SHA", requires = "changed_since")]
    pub(crate) trust_changes: Option<String>,
    /// Spend at most this many US dollars
    ///
    /// Trials that are missing then block the gate.
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) max_usd: Option<f64>,
    /// Run paid models without a cap
    #[arg(long, conflicts_with = "max_usd")]
    pub(crate) no_cap: bool,
    /// Concurrent trials [default: as in the experiments]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Without effect: a ledger that does not exist is empty
    #[arg(long, hide = true)]
    pub(crate) create_ledger: bool,
    #[command(flatten)]
    pub(crate) permissions: PermissionFlags,
    /// Write the decisions as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write a comment for the pull request
    ///
    /// Markdown that begins with a hidden mark, by which an older comment is found and replaced. It is written on
    /// every path, also if the policy is refused. Text of the pull request stands in code spans.
    #[arg(long, value_name = "FILE")]
    pub(crate) comment: Option<PathBuf>,
    /// Link the comment to this address of exported pages
    #[arg(long, value_name = "URL")]
    pub(crate) view_url: Option<String>,
    /// Explain the decision on one skill, without executing a trial
    ///
    /// Prints what is compared, which look it is at which level, earlier looks, and what would change the decision.
    #[arg(long, value_name = "SKILL", conflicts_with_all = ["self_check", "open_looks"])]
    pub(crate) explain: Option<String>,
    /// Open the looks in the ledger, and execute no trial
    ///
    /// For CI, where the job with the key of a model may not write the ledger: a job before it opens the looks. It needs
    /// no key of a model. The other job continues the looks whose files it finds in the folder `gate` of its store.
    #[arg(long, requires = "changed_since")]
    pub(crate) open_looks: bool,
    /// Print how often the gate decides where nothing changed
    ///
    /// Splits the repetitions of every task in halves and decides between them, for the runs of the store or for a
    /// table.
    #[arg(long)]
    pub(crate) self_check: bool,
    /// With --self-check: a table with a row for each trial, in place of the store
    #[arg(long, value_name = "FILE", requires = "self_check")]
    pub(crate) table: Option<PathBuf>,
    /// With --table: the column whose values are compared
    #[arg(long, value_name = "COLUMN", requires = "table", default_value = "model")]
    pub(crate) arms: Arms,
    /// With --table: lowest and highest possible score
    #[arg(
        long,
        value_name = "LOW..HIGH",
        requires = "table",
        default_value = "0..1",
        allow_hyphen_values = true
    )]
    pub(crate) range: String,
}

/// What the arms of a table of trials are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arms {
    /// Models, within a condition
    Model,
    /// Conditions, within a model
    Condition,
}

impl Arms {
    /// The column of a table that has them.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Condition => "condition",
        }
    }
}
