//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands::agent::AgentArgs;
use crate::commands::audit::{AuditArgs, AuditWhat};
use crate::commands::corpus::CorpusArgs;
use crate::commands::corpus::bench::CorpusBenchArgs;
use crate::commands::gateway::GatewayArgs;
use crate::commands::health::HealthArgs;
use crate::commands::lint::LintArgs;
use crate::commands::search::args::SearchArgs;
use crate::commands::simulate::SimulateArgs;
use crate::commands::trace::TraceArgs;

/// Measures agent skills: whether one helps, and how sure that is
#[derive(Debug, Parser)]
#[command(name = "assay", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Args {
    /// Where trials and runs are kept [default: .assay]
    #[arg(long, global = true, value_name = "DIR", env = "ASSAY_STORE", hide_env_values = true)]
    pub(crate) store: Option<PathBuf>,
    /// How the result is laid out
    #[arg(long, global = true, value_name = "F", default_value = "terminal")]
    pub(crate) format: Format,
    /// Whether to colour
    #[arg(long, global = true, value_name = "WHEN", env = "ASSAY_COLOR", hide_env_values = true)]
    pub(crate) color: Option<Color>,
    /// Say nothing on standard error but errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Say more on standard error
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How a result is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables and sentences
    #[value(alias = "human")]
    Terminal,
    /// Tables as GitHub renders them; reports only
    Markdown,
    /// One page that needs nothing beside it; reports, and `audit show`
    Html,
    /// One JSON document
    Json,
    /// SARIF 2.1.0; `lint` only
    #[value(hide = true)]
    Sarif,
    /// JUnit's XML; `lint` only
    #[value(hide = true)]
    Junit,
    /// Annotations of GitHub Actions; `lint` only
    #[value(hide = true)]
    Github,
}

impl Format {
    /// The name of the renderer.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Json => "json",
            Self::Sarif => "sarif",
            Self::Junit => "junit",
            Self::Github => "github",
        }
    }
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Color {
    /// On a terminal that has not said NO_COLOR
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write an experiment, or the skeleton of a task for a skill
    Init(InitArgs),
    /// Tell what an experiment will cost, and what it can and cannot find
    Plan(PlanArgs),
    /// Run an experiment: agents with and without skills, and how sure the difference is
    Run(RunArgs),
    /// List the runs of the store
    Runs,
    /// Show a run's trials, or one trial: prompt, steps, exposure, changes, grader
    Show(ShowArgs),
    /// Report on a run from its records
    Report(ReportArgs),
    /// Tell what a skill changed in what agents did, from their traces
    Audit(AuditArgs),
    /// Compare the arms that two runs share
    Compare(CompareArgs),
    /// List what runs came to, one after another
    History,
    /// Read trials that were executed elsewhere into the store, as a run
    Import(ImportArgs),
    /// Lint skills: per-client validity, safety and quality rules
    Lint(LintArgs),
    /// Work with tasks
    Task(TaskArgs),
    /// Work with single trials
    Trial(TrialArgs),
    /// Install agents as their makers ship them, and list them
    Agent(AgentArgs),
    /// Find skills, and measure how well they are found
    Search(SearchArgs),
    /// Measure which skill is chosen for a request
    Route(RouteArgs),
    /// Work with transcripts of agents
    Trace(TraceArgs),
    /// Stand between an agent and a model: meter, cap, record, and see which skills reach it
    Gateway(GatewayArgs),
    /// Take away what dead processes left, and what no run needs
    Gc(GcArgs),
    /// Tell what works on this machine, and what to do about the rest
    Doctor,
    /// Work with skills by the thousand: sift, compare, count
    Corpus(CorpusArgs),
    /// Score the documents of a library by a profile's rules
    Health(HealthArgs),
    /// Simulate suites with a known truth, and count how often the verdicts on them are right
    Simulate(SimulateArgs),
    /// Measure assay itself
    Bench(BenchArgs),
}

impl Command {
    /// Whether its result can be a page.
    pub(crate) fn makes_pages(&self) -> bool {
        matches!(self, Self::Report(_) | Self::Audit(AuditArgs { what: AuditWhat::Show(_) }))
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    #[command(subcommand)]
    pub(crate) what: InitWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InitWhat {
    /// Write experiment.toml into a folder
    Experiment {
        /// The folder; it is made where there is none
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Write the skeleton of a task that a skill should help with
    Task {
        /// The skill: its folder or its SKILL.md
        skill: PathBuf,
        /// The task's folder [default: tasks/<skill>]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// The experiment: a file, or a folder with an experiment.toml
    pub(crate) experiment: PathBuf,
    /// A true lift that is to be found, as a fraction: what it takes
    #[arg(long, value_name = "LIFT", allow_negative_numbers = true)]
    pub(crate) lift: Option<f64>,
    /// A margin within which no effect is to be shown, as a fraction: what it takes
    #[arg(long, value_name = "D")]
    pub(crate) no_effect_within: Option<f64>,
    /// A p value that a gate asks for, after Holm's correction: whether it can be met
    #[arg(long = "p", value_name = "P")]
    pub(crate) p: Option<f64>,
}

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct RunArgs {
    /// The experiment: a file, or a folder with an experiment.toml
    pub(crate) experiment: PathBuf,
    /// Only these cells: task=…, condition=…, agent=…, repetition=…; names may hold *
    #[arg(long, value_name = "KEY=VALUE,…", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Say what would be run, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Play trials again that went through the gateway, with the replies that are kept in another store
    #[arg(long, value_name = "STORE")]
    pub(crate) replay: Option<PathBuf>,
    /// Trials at once, instead of the experiment's number
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Execute at most so many trials; the next run goes on
    #[arg(long, value_name = "N")]
    pub(crate) max_trials: Option<usize>,
    /// Spend at most so much: begin no trial that would be likely to pass it, and stop agents before the next request where it is
    /// reached. Estimates of missing usage do not count
    #[arg(long, value_name = "USD")]
    pub(crate) max_usd: Option<f64>,
    /// Stop at so many tokens, read and written: agents are stopped before their next request. Estimates of missing usage do not
    /// count
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Run a paid model without a cap
    #[arg(long)]
    pub(crate) no_cap: bool,
    /// Leave trials that broke in an earlier run as they are
    #[arg(long)]
    pub(crate) no_retry: bool,
    /// Skip the preflight request to each model before the first trial
    #[arg(long)]
    pub(crate) no_preflight: bool,
    /// Do not play solution and nothing first; tasks that cannot be graded here then go unnoticed
    #[arg(long)]
    pub(crate) no_checks: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// A run's name, or the beginning of a trial's id
    pub(crate) what: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The run's name
    pub(crate) run: String,
    /// Write it to a file; one that ends in .html, .md or .json says its format itself
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Show the verifiers' tests that a condition turned from failed to passed or back
    #[arg(long)]
    pub(crate) tests: bool,
    /// Show cost against pass rate, variance, and the parts of the suite too, as the other formats do
    #[arg(long)]
    pub(crate) details: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) what: ImportWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImportWhat {
    /// Read job folders of Harbor, old and new
    Harbor(ImportHarborArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImportHarborArgs {
    /// Jobs, folders of jobs, or trials
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// The run's name [default: harbor-<the first folder>]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The condition of trials whose job/trial/agent, or one of the three, fits; names may hold *; the first that fits wins
    #[arg(long, value_name = "PATTERN=CONDITION")]
    pub(crate) condition: Vec<String>,
    /// The condition the others are compared with [default: none, where there is one]
    #[arg(long, value_name = "CONDITION")]
    pub(crate) baseline: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// The run compared with
    pub(crate) first: String,
    /// The run compared
    pub(crate) second: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TaskArgs {
    #[command(subcommand)]
    pub(crate) what: TaskWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskWhat {
    /// Tell whether tasks can be trusted: their text, leaks between skill and task, solution passes and nothing fails
    Check(TaskCheckArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct TaskCheckArgs {
    /// Tasks, or folders that hold tasks
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Look at the text only, and execute nothing
    #[arg(long = "static")]
    pub(crate) r#static: bool,
    /// Apply opt-in rules as well: they find more, and are often wrong (docs/TASKS.md has their precision)
    #[arg(long)]
    pub(crate) all_rules: bool,
    /// The experiment that says which skills belong to the tasks, and which sandbox they run in [default: bubblewrap
    /// with this machine's own /usr in place of every image]
    #[arg(long, value_name = "FILE")]
    pub(crate) experiment: Option<PathBuf>,
    /// Trials at once [default: 2]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RouteArgs {
    #[command(subcommand)]
    pub(crate) what: RouteWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RouteWhat {
    /// Evaluate how models choose a skill, on labelled requests
    ///
    /// Asks models which skill fits each request of a file, and compares the answers with routers that count words.
    #[command(after_long_help = PROMPT_FORMAT)]
    Bench(RouteBenchArgs),
}

/// The format of the prompt file, as `route bench --help` has it; docs/ROUTING.md has the same table.
const PROMPT_FORMAT: &str = r#"Prompt file: JSON Lines, one request a line. An unknown key is an error.
  prompt_id                    unique in the file (required)
  prompt                       the request (required)
  expected_primary_skill       name of the skill that serves it best; null, "" or "none": no skill does
  acceptable_secondary_skills  names of skills that serve it too
  rejected_skills              names of skills that must not be chosen
  off_topic                    true: no skill serves it
  reason                       why; "Negative control …" means off topic

Example:
  {"prompt_id":"p1","prompt":"make a pivot table","expected_primary_skill":"xlsx","rejected_skills":["pdf"]}
  {"prompt_id":"p2","prompt":"tell me a joke","expected_primary_skill":null}
"#;

#[derive(Debug, clap::Args)]
pub(crate) struct RouteBenchArgs {
    /// Labelled requests as JSON Lines in the format below (.gz and .zst too; - is standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) prompts: PathBuf,
    /// Folders of skills to choose from
    #[arg(long, required = true, value_name = "DIR", num_args = 1..)]
    pub(crate) library: Vec<PathBuf>,
    /// A model, as provider:name; without one only words are counted
    #[arg(long = "model", value_name = "MODEL")]
    pub(crate) models: Vec<String>,
    /// Where the models are reached, in place of their provider's own address
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The variable that holds the key, in place of the provider's own
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// What the models' tokens cost, read and written, in USD for a million
    #[arg(long, value_name = "IN,OUT", value_delimiter = ',', num_args = 1)]
    pub(crate) price: Vec<f64>,
    /// What is asked: a text with {{SKILL_BLOCK}}, {{USER_PROMPT}} and {{SKILL_COUNT}} [default: assay's own, which allows
    /// that no skill fits]
    #[arg(long, value_name = "FILE")]
    pub(crate) template: Option<PathBuf>,
    /// How often each request is asked, with the skills in another order each time
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repetitions: u32,
    /// Of the orders and the intervals
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Ask at most this many questions of each model now
    #[arg(long, value_name = "N")]
    pub(crate) max_runs: Option<usize>,
    /// Begin no question that could take the spending of a model past this
    #[arg(long, value_name = "USD")]
    pub(crate) max_usd: Option<f64>,
    /// Ask a model that costs money without a cap
    #[arg(long)]
    pub(crate) no_cap: bool,
    /// Print the size, the forecast and the first question, and ask nobody
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Questions at once
    #[arg(short = 'j', long = "jobs", value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TrialArgs {
    #[command(subcommand)]
    pub(crate) what: TrialWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrialWhat {
    /// Execute one cell of an experiment anew, to look at it; no run counts it
    Run(TrialRunArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct TrialRunArgs {
    /// The task's folder
    pub(crate) task: PathBuf,
    /// The condition
    #[arg(long, default_value = "none")]
    pub(crate) condition: String,
    /// The experiment that says agents, skills and sandbox [default: the next experiment.toml above the task]
    #[arg(long, value_name = "FILE")]
    pub(crate) experiment: Option<PathBuf>,
    /// Which agent, by name, instead of the experiment's first: loop, oracle, nop
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Which repetition
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repetition: u32,
    /// Leave the sandbox's folders for looking at
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GcArgs {
    /// Remove trials that no run refers to, too
    #[arg(long)]
    pub(crate) unreferenced: bool,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Remove images built for this store, least recently used first, until the rest takes no more than this many gigabytes
    #[arg(long, value_name = "GB")]
    pub(crate) image_budget: Option<f64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) what: BenchWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchWhat {
    /// The cost of a trial that does nothing, of planning, of resuming, of starting
    Harness {
        /// Trials to execute at each concurrency
        #[arg(long, value_name = "N", default_value_t = 200)]
        trials: u32,
        /// Trials at once; may be given several times
        #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 4, 16])]
        concurrency: Vec<usize>,
        /// Where the trials run
        #[arg(long, value_enum, default_value_t = BenchSandbox::Bubblewrap)]
        sandbox: BenchSandbox,
        /// The image that trials in Docker start from; it is not pulled
        #[arg(long, value_name = "NAME", default_value = "base:bookworm")]
        image: String,
    },
    /// The funnel over a synthetic corpus: time, and memory
    Corpus(CorpusBenchArgs),
    /// Measure the safety rules on sets of harmful and harmless packages
    #[command(
        after_help = "FOLDER holds a folder per set: gt-malicious, gt-benign, inject-obv, own. A set holds a folder per package.\nspans.json beside the sets tells where injected lines stand. Nothing is executed or fetched.\n\nExamples:\n  assay bench safety sets\n  assay bench safety sets --format json"
    )]
    Safety {
        /// Folder with the sets
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// What the gateway adds to a model's first byte, and the memory of many streams at once
    Gateway {
        /// Requests, direct and through the gateway each
        #[arg(long, value_name = "N", default_value_t = 1000)]
        requests: usize,
        /// Streams at once
        #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..=900))]
        streams: u16,
        /// Size of a request's system text, in kB
        #[arg(long, value_name = "N", default_value_t = 32)]
        kilobytes: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchSandbox {
    Bubblewrap,
    Docker,
}
