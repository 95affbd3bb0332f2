//! What can be typed: the arguments of every command, in a file each. They import no command.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod corpus;
pub(crate) mod gateway;
pub(crate) mod gc;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod lint;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod route;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod simulate;
pub(crate) mod task;
pub(crate) mod trace;
pub(crate) mod trial;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use self::agent::AgentArgs;
use self::audit::{AuditArgs, AuditWhat};
use self::bench::BenchArgs;
use self::compare::CompareArgs;
use self::corpus::CorpusArgs;
use self::gateway::GatewayArgs;
use self::gc::GcArgs;
use self::health::HealthArgs;
use self::import::ImportArgs;
use self::init::InitArgs;
use self::lint::LintArgs;
use self::plan::PlanArgs;
use self::report::ReportArgs;
use self::route::RouteArgs;
use self::run::RunArgs;
use self::search::SearchArgs;
use self::show::ShowArgs;
use self::simulate::SimulateArgs;
use self::task::TaskArgs;
use self::trace::TraceArgs;
use self::trial::TrialArgs;

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
    /// Show verdicts of past runs over time
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
