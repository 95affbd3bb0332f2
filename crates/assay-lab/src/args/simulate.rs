//! What `assay lab simulate` takes.

use clap::ValueEnum;

/// Simulate suites with known effects and count verdicts
///
/// Use it to check the statistics: how often confidence intervals contain the true lift, and how
/// often verdicts are wrong. No agent runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab simulate --suites 4000 --seed 1
  assay lab simulate --grid metrics --suites 4000
  assay lab simulate --suites 100000 --jobs 16 --format json")]
pub(crate) struct SimulateArgs {
    /// Set of suites to simulate
    #[arg(long, value_name = "GRID", default_value = "validity")]
    pub(crate) grid: Grid,
    /// Number of simulated suites in every cell of the grid
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) suites: u64,
    /// Seed for the simulation
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Threads [default: one per processor]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// A set of suites with known effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Grid {
    /// The grid of docs/STATISTICS.md, with a limit for every cell
    Validity,
    /// Costs with log-normal and heavy tails, compared by ratios and by differences
    Metrics,
    /// Strata of tasks by the baseline's score, with and without separate halves of its trials
    Difficulty,
    /// Experiments that are looked at after each round, beside the fixed design
    Sequential,
    /// Experiments without effect that are looked at, or closed, before they are complete
    Looks,
    /// Experiments of few tasks: looks after every round, the looks of `[stopping]`, and one
    FewTasks,
    /// A skill without effect on tasks that a pilot of the baseline admitted
    Admission,
    /// A skill without effect on tasks and items that blind attempts failed
    NullDrafts,
    /// Versions of skills that a gate decides on, with what its rule promises
    Gate,
    /// Scores of 0 and 1 with partial credit in some trials
    Graded,
    /// Judges whose errors depend on the condition, corrected by labels of some of the items
    Judges,
    /// The spread of effects over tasks: its interval, prediction for a new task, share that moved
    Heterogeneity,
    /// Lifts of pass^3 and pass@3
    Reliability,
    /// One estimate over skills, with skills as units
    Skills,
    /// Sections of a skill that carry its lift: which are found, and which falsely
    Ablation,
    /// Candidates for a skill, accepted by assay's rule and by rules of other tools
    Accept,
}
