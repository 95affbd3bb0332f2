//! What `assay import` takes.

use std::path::PathBuf;

use assay_store::OutcomeRule;
use clap::{Subcommand, ValueEnum};

/// Import trials that another harness executed
///
/// Use it to analyze existing results: the trials become a run in the store, which `assay report`
/// and `assay audit` read like any other run.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay import harbor jobs/
  assay import harbor jobs/2026-05-01 --condition '*-skills=curated'
  assay import table results.csv --baseline without-skill")]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) what: ImportWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImportWhat {
    Harbor(ImportHarborArgs),
    Table(Box<ImportTableArgs>),
    #[command(name = "jsonl-swe-skills-bench")]
    SweSkillsBench(ImportSweSkillsBenchArgs),
    #[command(name = "jsonl-skillsbench")]
    SkillsBench(ImportSkillsBenchArgs),
    #[command(name = "jsonl-benchflow")]
    BenchFlow(ImportBenchFlowArgs),
    Results(ImportResultsArgs),
    Rubric(ImportRubricArgs),
    Run(ImportRunArgs),
}

/// The value of a trial that an import compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutcomeOption {
    /// The score; whether the trial passed, of tasks with several rewards and none named `reward`
    Auto,
    /// The score: the reward `reward`, else the mean of the rewards
    Score,
    /// 1 if the trial passed, else 0
    Pass,
}

impl OutcomeOption {
    pub(crate) fn rule(self) -> OutcomeRule {
        match self {
            Self::Auto => OutcomeRule::Auto,
            Self::Score => OutcomeRule::Score,
            Self::Pass => OutcomeRule::Pass,
        }
    }
}

/// A file with the results of a benchmark.
#[derive(Debug, clap::Args)]
pub(crate) struct ResultFile {
    /// JSON documents, one per line or one after another; may be compressed (.zst)
    pub(crate) file: PathBuf,
    /// Name of the run [default: name of the file]
    #[arg(long, visible_alias = "run", value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,
}

/// Which conditions are compared, what they are, and by which value of their trials.
#[derive(Debug, clap::Args)]
pub(crate) struct AnalysisArgs {
    /// Value of a trial that is compared [default: auto]
    ///
    /// It is sealed in the plan. The same trials with another outcome are a run of their own. Without this option a
    /// table of `assay export data` keeps the outcome of its run.
    #[arg(long, value_name = "OUTCOME")]
    pub(crate) outcome: Option<OutcomeOption>,
    /// Condition that the others are compared with [default: the one that is `none`]
    #[arg(long, value_name = "CONDITION", help_heading = "Conditions")]
    pub(crate) baseline: Option<String>,
    /// Condition whose comparison is tested at the full level [default: the one that is `curated`]
    ///
    /// The others are then a family of their own. Without a primary condition all comparisons are one family, and each
    /// is tested at an adjusted level.
    #[arg(long, value_name = "CONDITION", help_heading = "Conditions", conflicts_with = "no_primary")]
    pub(crate) primary: Option<String>,
    /// Test all comparisons as one family
    #[arg(long, help_heading = "Conditions")]
    pub(crate) no_primary: bool,
    /// What a condition is, such as with-skill=curated; repeatable
    ///
    /// ROLE is a condition of experiments: none, curated, placebo, negative, full, self-generated and others. A
    /// condition with such a name is that condition unless this option says otherwise.
    #[arg(long = "role", value_name = "CONDITION=ROLE", help_heading = "Conditions")]
    pub(crate) roles: Vec<String>,
}

/// Import evaluation reports of SWE-Skills-Bench
///
/// Reads the reports of its eval.py (eval_report_….json), joined into one file. The score of a trial is the
/// share of unit tests that passed. Reports that cannot be used are listed, and the exit status is then 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay import jsonl-swe-skills-bench reports.jsonl
  assay import jsonl-swe-skills-bench reports.jsonl.zst --name swe")]
pub(crate) struct ImportSweSkillsBenchArgs {
    #[command(flatten)]
    pub(crate) file: ResultFile,
}

/// Import results of the SkillsBench leaderboard
///
/// Reads the files of its folder results/, joined into one file. Trials that are not eligible for a score
/// become infrastructure errors. Results that cannot be used are listed, and the exit status is then 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay import jsonl-skillsbench results.jsonl
  assay import jsonl-skillsbench results.jsonl --name leaderboard")]
pub(crate) struct ImportSkillsBenchArgs {
    #[command(flatten)]
    pub(crate) file: ResultFile,
}

/// Import results of BenchFlow that are joined into one file
///
/// Reads the result.json of rollouts, one after another. `assay import harbor` reads BenchFlow's folders,
/// with trajectories and verifier output. Results that cannot be used are listed, and the exit status is
/// then 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay import jsonl-benchflow rollouts.jsonl
  assay import jsonl-benchflow rollouts.jsonl.zst --baseline curated")]
pub(crate) struct ImportBenchFlowArgs {
    #[command(flatten)]
    pub(crate) file: ResultFile,
}

/// Import results that `appraise` reads
///
/// Use it for the full report on results that `assay appraise` gives a first opinion on. Errored and skipped runs become
/// infrastructure errors, whatever the tool made of them. Results that cannot be used are listed, and the exit status is
/// then 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay import results aggregate-result.json
  assay import results promptfoo.json --name prompts --baseline plain")]
pub(crate) struct ImportResultsArgs {
    /// File with the results of one evaluation
    pub(crate) file: PathBuf,
    /// Name of the run [default: name of the file]
    #[arg(long, visible_alias = "run", value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,
    /// Column of a table with a meaning, such as task=instance_id; repeatable
    #[arg(long = "column", value_name = "MEANING=NAME")]
    pub(crate) columns: Vec<String>,
}

/// Import a run from a file that `assay export run` wrote
///
/// The whole file is checked first; if anything is wrong, nothing is imported. A run that the store
/// has is accepted if it is the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay import run my-suite.run.tar.zst
  assay import run my-suite.run.tar.zst --name their-suite
  assay import run my-suite.run.tar.zst --outcome pass")]
pub(crate) struct ImportRunArgs {
    /// The file
    pub(crate) file: PathBuf,
    /// Name of the run [default: the name that it was exported with]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Value of a trial that is compared [default: that of the run's plan]
    ///
    /// With another outcome than in its plan, the run is one of its own, and names the run with the plan as it was if
    /// the store has that.
    #[arg(long, value_name = "OUTCOME")]
    pub(crate) outcome: Option<OutcomeOption>,
}

/// Import rubrics as tasks
///
/// Reads scenarios of Tessl (task.md with criteria.json), evals.json of skill-creator, eval.yaml of waza and of
/// dotnet/skills, promptfooconfig.yaml with llm-rubric, judge.toml of Harbor's rewardkit, and tasks of DevAI. Each
/// becomes a task whose verifier is tests/rubric.json; `assay judge check` looks for defects in it. Rubrics
/// without an instruction, such as the trees of PaperBench, become NAME.rubric.json. What cannot be used is
/// listed, and the exit status is then 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay import rubric skills/notes/evals --out tasks
  assay import rubric skills/notes --goal-completion --experiment experiment.toml
  assay import rubric scenarios --dry-run")]
pub(crate) struct ImportRubricArgs {
    /// Folder to search, or a file
    #[arg(value_name = "DIR")]
    pub(crate) path: PathBuf,
    /// Folder for the tasks; created if missing
    #[arg(long, value_name = "DIR", default_value = "tasks")]
    pub(crate) out: PathBuf,
    /// Image of the tasks' environments
    #[arg(long, value_name = "IMAGE", default_value = "python:3.12-slim-bookworm")]
    pub(crate) image: String,
    /// Judge as well whether the result does what the instruction asks
    ///
    /// Rubrics made from a skill reward that its instructions are followed. With this option their set is named
    /// `instruction following`, and a second set of 100 points, `goal completion`, has three items that a judge decides
    /// by the instruction alone.
    #[arg(long)]
    pub(crate) goal_completion: bool,
    /// Write an experiment with these tasks, and with the skills beside them, to a new file
    ///
    /// Its agent and its judge are placeholders.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) experiment: Option<PathBuf>,
    /// Write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Import job folders of Harbor
///
/// Reads results, trajectories and verifier output of old and new versions of Harbor. Conditions are
/// inferred from names and from the skills that agents were given, unless --condition assigns them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay import harbor jobs/ --name spring
  assay import harbor jobs/ --condition '*-skills=curated' --condition '*=none' --baseline none")]
pub(crate) struct ImportHarborArgs {
    /// Folders of jobs or trials, or folders that contain them
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Name of the run [default: harbor-<first folder>]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Assign a condition to trials that match PATTERN; repeatable, the first match counts
    ///
    /// PATTERN may contain * and is matched against the names of job, trial and agent, and against
    /// job/trial/agent.
    #[arg(long, value_name = "PATTERN=CONDITION")]
    pub(crate) condition: Vec<String>,
    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,
}

/// Import a table with a row for each trial
///
/// Reads CSV (.csv) and JSON Lines (.jsonl, .ndjson), each also compressed with Zstandard (.zst), and
/// Parquet (.parquet). The columns `task`, `condition` and `score` are required; `repetition`, `cluster`,
/// `agent`, `model` and `started` are used where they exist. The columns of `assay export data` are read
/// as they were written, those of the run's plan included, and all other columns of numbers become numbers of the trials. Invalid rows are
/// listed and skipped, and the exit status is then 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay import table results.csv --baseline without-skill --primary with-skill
  assay import table all.jsonl.zst --where suite=web --where split=test --name web
  assay import table models.csv --condition model --baseline small-model --score rating --range 0..10")]
pub(crate) struct ImportTableArgs {
    /// The table
    pub(crate) file: PathBuf,
    /// Name of the run [default: table-<name of the file>]
    #[arg(long, visible_alias = "run", value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) analysis: AnalysisArgs,
    /// Import only rows with this value in a column; repeatable, all must hold
    #[arg(long = "where", value_name = "COLUMN=VALUE")]
    pub(crate) filters: Vec<String>,
    /// Treat a column as absent; repeatable
    #[arg(long, value_name = "COLUMN")]
    pub(crate) ignore: Vec<String>,
    /// Lowest and highest possible score
    #[arg(long, value_name = "LOW..HIGH", default_value = "0..1", allow_hyphen_values = true)]
    pub(crate) range: String,
    /// Column of the task [default: task]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) task: Option<String>,
    /// Column of the condition [default: condition]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) condition: Option<String>,
    /// Column of the score [default: score]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) score: Option<String>,
    /// Column of the repetition [default: repetition]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) repetition: Option<String>,
    /// Column of the cluster: tasks of a cluster are not independent [default: cluster]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) cluster: Option<String>,
    /// Column of the agent, with or without its version [default: agent]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) agent: Option<String>,
    /// Column of the model [default: model]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) model: Option<String>,
    /// Column of the time at which the trial began [default: started]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) started: Option<String>,
}
