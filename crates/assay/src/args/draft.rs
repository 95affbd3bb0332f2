//! What `assay draft` takes.

mod directives;
mod measured;
mod requests;
mod skill;

use std::path::PathBuf;
use std::sync::LazyLock;

use assay_draft::DraftStage;
use clap::builder::PossibleValue;
use clap::{Subcommand, ValueEnum};

pub(crate) use self::directives::DraftDirectivesArgs;
pub(crate) use self::measured::MeasuredModel;
pub(crate) use self::requests::{PoolName, RequestsArgs};
pub(crate) use self::skill::{SkillArgs, SkillWhat};
use super::model::ModelFlags;
use super::permission::ForeignFlags;

/// Draft an evaluation from a skill
///
/// `needs` lists what a skill requires of an environment, and `directives` what it tells an agent to do. `run` asks a model for tasks, checks them in
/// the sandbox and writes an experiment; every stage writes files to read and edit. `headroom` removes
/// tasks that are too easy. `requests` writes requests that skills serve, for tests of search, routing
/// and triggering. `skill` writes skills from tasks, documentation or recorded runs, to compare with others.
/// docs/DRAFTING.md describes the method.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay draft needs skills
  assay draft run skills/xlsx --model openai:gpt-5 --price 1.25,10 --max-usd 5")]
pub(crate) struct DraftArgs {
    #[command(subcommand)]
    pub(crate) what: DraftWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DraftWhat {
    Needs(NeedsArgs),
    Directives(DraftDirectivesArgs),
    Run(Box<DraftRunArgs>),
    Status(StatusArgs),
    Headroom(HeadroomArgs),
    Requests(Box<RequestsArgs>),
    Skill(SkillArgs),
}

/// List what skills require of an environment
///
/// Finds needs of 16 categories in commands, code, front matter and text, and shows the lines that
/// contain them. No model is called. The verdict is `usable`, `double` if test doubles have to
/// replace what the skill needs, or `discard` if nothing can. With --format json, prints a line for
/// each skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay draft needs skills/xlsx
  assay draft needs corpus.jsonl.zst --format json")]
pub(crate) struct NeedsArgs {
    /// Folders with skills, SKILL.md files, or corpora: JSON Lines, plain, .gz or .zst
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// Draft tasks and an experiment for a skill
///
/// The stages are needs, directives, probe, ideas, tasks, validation, solvers, pilot and experiment. Each writes files into the folder of
/// the draft, and the next one reads them: stop after a stage, read and edit its files, and go on with
/// --resume. Replies of the model are kept there, so that nothing is asked twice. A skill with a safety
/// error is refused.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(after_help = "Examples:
  assay draft run skills/xlsx --model openai:gpt-5 --price 1.25,10 --max-usd 5 --stop-after ideas
  assay draft run skills/xlsx --resume --price 1.25,10 --max-usd 5")]
pub(crate) struct DraftRunArgs {
    /// Folder with the SKILL.md; with several, up to 3, each task needs all of them
    #[arg(required = true, num_args = 1..=3, value_name = "SKILL")]
    pub(crate) skills: Vec<PathBuf>,
    /// Model that writes tasks, as provider:name [with --resume: the model of the draft]
    #[arg(long, value_name = "PROVIDER:MODEL", required_unless_present = "resume")]
    pub(crate) model: Option<String>,
    /// Tasks to accept; what falls is replaced, and a verdict needs at least 5 [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=50), conflicts_with = "resume")]
    pub(crate) tasks: Option<u16>,
    /// Accept N tasks more than the draft was to have; give it once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=50), requires = "resume")]
    pub(crate) add: Option<u16>,
    /// Make tasks from what people asked for, and not only from the skill; repeatable
    ///
    /// An issue as a text, issues as `gh issue list --json number,title,body,url` writes them, JSON Lines
    /// with `text`, or transcripts of sessions, whose first message is used.
    #[arg(long, value_name = "PATH", conflicts_with = "resume")]
    pub(crate) intents: Vec<PathBuf>,
    /// Folder with files that tasks may be given, also binary ones
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) inputs: Option<PathBuf>,
    /// Also measure a copy of the skill with other names and numbers
    ///
    /// It cannot be known from memory, so it shows what reaches an agent from the skill even if the skill is famous.
    #[arg(long)]
    pub(crate) counterfactual: bool,
    /// Propose work from the skill's name and description only
    ///
    /// The work is then not chosen by what the skill says; its directives are chosen for it afterwards. Such a draft has a folder, an
    /// experiment and a verdict of its own, because its tasks say how much the skill adds to work that its description promises.
    #[arg(long, conflicts_with_all = ["resume", "intents"])]
    pub(crate) blind_ideas: bool,
    /// Folder of the draft [default: draft-NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Last stage to execute
    #[arg(long, value_name = "STAGE", default_value = "experiment")]
    pub(crate) stop_after: StageName,
    /// Continue the draft in the folder, with its files as they are now
    #[arg(long)]
    pub(crate) resume: bool,
    /// Print the number of requests and their maximum cost, and send none
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) flags: ModelFlags,
    /// Another model, which has to solve each task in up to four attempts
    ///
    /// Attempts alternate between none and the skill, and end with the first that passes. They count in no
    /// experiment. With --resume, the solver of the draft is used.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) solver: Option<String>,
    /// Price of the solver's input and output tokens, in USD per million
    #[arg(long, value_name = "IN,OUT", value_delimiter = ',', num_args = 1, requires = "solver")]
    pub(crate) solver_price: Vec<f64>,
    /// Send the solver's requests to this URL
    #[arg(long, value_name = "URL", requires = "solver")]
    pub(crate) solver_base_url: Option<String>,
    /// Environment variable with the solver's API key
    #[arg(long, value_name = "NAME", requires = "solver")]
    pub(crate) solver_api_key_env: Option<String>,
    #[command(flatten)]
    pub(crate) measured: MeasuredModel,
    /// Draft tasks even if there is nothing to measure
    ///
    /// A draft ends after its directives, with exit code 1, if fewer than four of them, or only conventions, could show what the
    /// skill is worth: an agent would not follow them anyway, and a result shows whether it did.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) permissions: ForeignFlags,
}

/// A stage of a draft.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StageName(DraftStage);

impl StageName {
    pub(crate) fn stage(self) -> DraftStage {
        self.0
    }
}

impl ValueEnum for StageName {
    fn value_variants<'a>() -> &'a [Self] {
        static STAGES: LazyLock<[StageName; DraftStage::ALL.len()]> =
            LazyLock::new(|| DraftStage::ALL.map(StageName));
        &*STAGES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.summary()))
    }
}

/// Show the state of a draft
///
/// Counts its directives, lists its tasks with the reason for each that was rejected, and what its requests used.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay draft status draft-xlsx
  assay draft status draft-xlsx --format json")]
pub(crate) struct StatusArgs {
    /// Folder of the draft
    pub(crate) dir: PathBuf,
}

/// Remove tasks that pass every time without the skill
///
/// Reads the run of the draft's pilot.toml. A task stays if at least one of its trials without the skill
/// failed. Only the baseline decides: choosing tasks by results with the skill would bias the verdict.
/// Tasks that are removed are moved to the folder too-easy of the draft.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay draft headroom draft-xlsx --run xlsx-pilot
  assay draft headroom draft-xlsx --run xlsx-pilot --dry-run")]
pub(crate) struct HeadroomArgs {
    /// Folder of the draft
    pub(crate) dir: PathBuf,
    /// Run of the pilot; `assay show` lists the names
    #[arg(long, value_name = "RUN")]
    pub(crate) run: String,
    /// Print what would be removed, and move nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
