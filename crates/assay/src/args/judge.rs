//! What `assay judge` takes.

mod pairs;
mod people;

use std::path::PathBuf;

use assay_judge::LabelSource;
use assay_store::{JudgeInput, JudgeMode};
use clap::{Subcommand, ValueEnum};

use super::model::ModelFlags;

pub(crate) use self::pairs::PairsArgs;
pub(crate) use self::people::{LabelsArgs, SheetArgs};

/// Check rubrics, and measure the errors of judges
///
/// A rubric lists requirements; a judge is a model or a program that decides whether they are met. `check` reads
/// rubrics. `calibrate` and `correct` read tables of recorded verdicts: CSV, JSON Lines (also .zst) or Parquet.
/// `sheet` and `labels` are for labels of people. docs/JUDGING.md describes the method.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay judge calibrate labels.jsonl --label human --verdict judge --by model --cluster task
  assay judge correct verdicts.jsonl --calibration labels.jsonl")]
pub(crate) struct JudgeArgs {
    #[command(subcommand)]
    pub(crate) what: JudgeWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JudgeWhat {
    Calibrate(CalibrateArgs),
    Correct(CorrectArgs),
    Check(CheckArgs),
    Items(Box<ItemsArgs>),
    Regrade(Box<RegradeArgs>),
    Diagnose(DiagnoseArgs),
    Export(ExportArgs),
    Pairs(Box<PairsArgs>),
    Sheet(SheetArgs),
    Labels(LabelsArgs),
}

/// Judge items of a table with a language model
///
/// Each row has a requirement and the material that it is judged by. Rows with the same material are judged in
/// one request. A verdict counts only with a quotation that occurs in the material; a judge of the candidate's own
/// family is refused; items with known answers are planted, and two misses block the batch. Replies are
/// kept in the store, so that a repeated command sends only what is missing. The result is the table with the
/// columns `verdict` (true, false or null), `undecided`, `quote`, `reason` and `agreement`, which
/// `assay judge calibrate` and `assay judge correct` read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay judge items items.jsonl --judge openai:gpt-5 --price 1.25,10 --max-usd 2 --out verdicts.jsonl
  assay judge items items.csv --judge anthropic:claude --judge gemini:gemini-3-pro --no-cap --out verdicts.jsonl
  assay judge items items.jsonl --judge openai:gpt-5 --price 1.25,10 --dry-run")]
pub(crate) struct ItemsArgs {
    /// Table with a row for each item
    pub(crate) table: PathBuf,
    /// Model that judges, as provider:name; repeat it for a panel
    #[arg(long, required = true, value_name = "PROVIDER:MODEL")]
    pub(crate) judge: Vec<String>,
    /// File to write, as JSON Lines
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) panel: PanelArgs,
    /// Column with the requirement
    #[arg(long, value_name = "COLUMN", default_value = "criterion", help_heading = "Columns")]
    pub(crate) criterion: String,
    /// Column with material to judge by; repeatable
    #[arg(long, value_name = "COLUMN", default_value = "material", help_heading = "Columns")]
    pub(crate) material: Vec<String>,
    /// Column with what the candidate was told [default: instruction, if there is one]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) instruction: Option<String>,
    /// Column with the model that is judged [default: model, if there is one]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) candidate: Option<String>,
}

/// How judges are asked.
#[derive(Debug, clap::Args)]
pub(crate) struct PanelArgs {
    /// Requests for each item or pair and judge; the majority counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=25))]
    pub(crate) repeats: u32,
    /// Requests at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) concurrency: u32,
    /// Print the number of requests and their maximum cost, and send none
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) flags: ModelFlags,
}

/// Show which directives of a skill explain gains of items
///
/// Lists the items of the rubrics by gain. Beside each are the directives of the skill that it tests: those at the
/// line that the rubric names, or whose subject is in the text of the item. For each directive, the trials are
/// counted whose agent received it, followed it and violated it, and those that followed it without the skill
/// (docs/AUDIT.md describes the method). An item without gain whose directive was never received asks for
/// a better description; one whose directive was received and not followed, for a clearer skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay judge diagnose my-suite
  assay judge diagnose my-suite --format json")]
pub(crate) struct DiagnoseArgs {
    /// Name of the run; `assay show` lists the names
    pub(crate) run: String,
}

/// Write judged items or pairs of a run as a table
///
/// A table of items has a row for each item of each trial: the criterion, the material, and the judge's verdict. People
/// label it blind with `assay judge sheet`, and `assay report --calibration` corrects the run's lift by their labels. A
/// sample of items has as many of each condition, and some of each verdict. A table of pairs has the results of the baseline and of each other condition side by side, for `assay judge pairs`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay judge export my-suite --as items --sample 100 --out items.jsonl
  assay judge export my-suite --as pairs --out pairs.jsonl")]
pub(crate) struct ExportArgs {
    /// Name of the run; `assay show` lists the names
    pub(crate) run: String,
    /// What a row is
    #[arg(long = "as", value_name = "KIND")]
    pub(crate) kind: ExportKind,
    /// File to write, as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Write a random sample of so many rows
    #[arg(long, value_name = "N")]
    pub(crate) sample: Option<usize>,
    /// Seed of the sample
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// What a row of an export is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportKind {
    /// An item of a trial, with the judge's verdict
    Items,
    /// Two results of a task, under the baseline and under another condition
    Pairs,
}

/// Judge the trials of a run again, without running them
///
/// Everything that a judge needs was kept: the work of the agent, its messages and the rubric. The result is a
/// new run with the same trials and new judgements, which `assay report`, `assay compare` and `assay view` read. Also
/// printed is how often both judgements agree. Without options the judges of the run are asked again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay judge regrade my-suite
  assay judge regrade my-suite --judge anthropic:claude-opus-4-5 --price 5,25 --max-usd 3
  assay judge regrade my-suite --tasks tasks --name my-suite-new-rubric")]
pub(crate) struct RegradeArgs {
    /// Name of the run; `assay show` lists the names
    pub(crate) run: String,
    /// Model that judges, as provider:name; repeat it for a panel [default: the judges of the run]
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) judge: Vec<String>,
    /// How judges are asked [default: as in the run]
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ModeName>,
    /// What judges see; repeatable [default: as in the run]
    #[arg(long, value_name = "MATERIAL")]
    pub(crate) material: Vec<MaterialName>,
    /// Answers of each judge to each item [default: as in the run]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=25))]
    pub(crate) repeats: Option<u32>,
    /// Folder of tasks whose rubrics replace those that were kept; repeatable
    #[arg(long, value_name = "DIR")]
    pub(crate) tasks: Vec<PathBuf>,
    /// Name of the new run [default: the run's name and `-regraded`]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Trials judged at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) concurrency: u32,
    /// Folder that relative paths of scripts start from
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) scripts: PathBuf,
    #[command(flatten)]
    pub(crate) flags: ModelFlags,
}

/// How judges are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeName {
    /// One request with the material in it
    Call,
    /// As an agent with a shell, on a read-only copy
    Agent,
}

impl From<ModeName> for JudgeMode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Call => Self::Call,
            ModeName::Agent => Self::Agent,
        }
    }
}

/// What judges see of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MaterialName {
    /// The agent's last message
    Answer,
    /// The files in the work folder
    Workspace,
    /// The work folder before and after
    Diff,
    /// What the agent did and read
    Trajectory,
}

impl From<MaterialName> for JudgeInput {
    fn from(name: MaterialName) -> Self {
        match name {
            MaterialName::Answer => Self::Answer,
            MaterialName::Workspace => Self::Workspace,
            MaterialName::Diff => Self::Diff,
            MaterialName::Trajectory => Self::Trajectory,
        }
    }
}

/// Look for defects in rubrics
///
/// Reads tasks with tests/rubric.json, and scenarios in every format that `assay import rubric` reads. Reported
/// are points that do not add up, items that reward the skill's own words instead of a result, items that the
/// instruction states already, items that any result meets, and items that ask for the same. The exit status is 1
/// if there are any.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay judge check tasks
  assay judge check tasks/notes-1 --skill skills/notes")]
pub(crate) struct CheckArgs {
    /// Folders of tasks or scenarios, or folders that contain them
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Skill that the rubrics are about; repeatable [default: those beside the scenarios]
    #[arg(long, value_name = "DIR")]
    pub(crate) skill: Vec<PathBuf>,
}

/// Compare a judge's verdicts with labels
///
/// Prints accuracy, sensitivity, specificity, Cohen's kappa with the base rate, Krippendorff's alpha, and how
/// often the verdict stays the same in the other order. Verdicts and labels may be true and false (also yes
/// and no, met and not met, pass and fail, 1 and 0), 1 and 2, or any words; sensitivity and specificity are those of true
/// or 1. Rows without a label or a verdict are counted and left out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay judge calibrate labels.jsonl.zst --label human --verdict judge --cluster task
  assay judge calibrate pairs.csv --label label --verdict winner --second-order winner_swapped")]
pub(crate) struct CalibrateArgs {
    /// Table with a row for each judged item
    pub(crate) table: PathBuf,
    /// Column with the labels
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: String,
    /// Column with the verdicts
    #[arg(long, value_name = "COLUMN")]
    pub(crate) verdict: String,
    /// Column that names groups, such as judges; may be repeated
    #[arg(long, value_name = "COLUMN")]
    pub(crate) by: Vec<String>,
    /// Column whose items are not independent, such as the task
    #[arg(long, value_name = "COLUMN")]
    pub(crate) cluster: Option<String>,
    /// Column with the verdicts in the other order
    ///
    /// For judges that choose one of two answers and were asked twice. Both columns name the same answer by the
    /// same value.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) second_order: Option<String>,
    /// Who wrote the labels
    ///
    /// A judge counts as calibrated only with labels of people.
    #[arg(long, value_name = "WHO", default_value = "unknown")]
    pub(crate) labels_by: LabelsBy,
}

/// Correct rates for the errors of the judge
///
/// Prints the share of met items in each group and the differences of groups, as judged and corrected. Labels of
/// the table's own items, known by the column `item` of both tables, correct whatever errors the judge makes in
/// each group; 30 of each group are needed. Labels of other items tell error rates: the command then prints what
/// other errors would change, and refuses if the verdicts say too little about the labels, or if the labels
/// show that the judge errs differently in different groups.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay judge correct verdicts.jsonl --calibration labels.jsonl
  assay judge correct all.csv --calibration labels.csv --label human --verdict judge --by agent")]
pub(crate) struct CorrectArgs {
    /// Table with a row for each judged item
    pub(crate) table: PathBuf,
    /// Table with a row for each judged and labeled item
    #[arg(long, value_name = "TABLE")]
    pub(crate) calibration: PathBuf,
    /// Column of the calibration set with the labels
    #[arg(long, value_name = "COLUMN", default_value = "label")]
    pub(crate) label: String,
    /// Column of both tables with the verdicts
    #[arg(long, value_name = "COLUMN", default_value = "verdict")]
    pub(crate) verdict: String,
    /// Column with the groups [default: `condition`, if there is one]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) by: Option<String>,
    /// Column whose items are not independent [default: `task`, if there is one]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) cluster: Option<String>,
    /// Correct each group by its own error rates
    ///
    /// Use it where labels of other items show that the judge errs differently in different groups. There must
    /// be labels of every group, and intervals are wider.
    #[arg(long)]
    pub(crate) separate: bool,
}

/// Who wrote labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LabelsBy {
    /// People
    People,
    /// A language model
    Model,
    /// Not recorded
    Unknown,
}

impl From<LabelsBy> for LabelSource {
    fn from(by: LabelsBy) -> Self {
        match by {
            LabelsBy::People => Self::People,
            LabelsBy::Model => Self::Model,
            LabelsBy::Unknown => Self::Unknown,
        }
    }
}
