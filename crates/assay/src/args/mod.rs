//! The definitions of the command line: the arguments of every command, in a file each. They import no command.

pub(crate) mod agent;
pub(crate) mod appraise;
pub mod audit;
pub(crate) mod compare;
pub mod completions;
pub(crate) mod doctor;
pub mod draft;
pub mod export;
pub mod gate;
pub(crate) mod gateway;
pub(crate) mod gc;
pub(crate) mod import;
pub(crate) mod improve;
pub(crate) mod init;
pub(crate) mod judge;
pub(crate) mod lab;
pub mod lint;
pub mod model;
pub(crate) mod moved;
pub(crate) mod permission;
pub(crate) mod plan;
pub(crate) mod report;
pub mod route;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod task;
pub(crate) mod trace;
pub(crate) mod trial;
pub(crate) mod view;
pub(crate) mod worker;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use self::agent::AgentArgs;
use self::appraise::AppraiseArgs;
use self::audit::{AuditArgs, AuditWhat};
use self::compare::CompareArgs;
use self::completions::CompletionsArgs;
use self::doctor::DoctorArgs;
use self::draft::DraftArgs;
use self::export::ExportArgs;
use self::gate::GateArgs;
use self::gateway::GatewayArgs;
use self::gc::GcArgs;
use self::import::ImportArgs;
use self::improve::ImproveArgs;
use self::init::InitArgs;
use self::judge::JudgeArgs;
use self::lab::LabArgs;
use self::lint::LintArgs;
use self::plan::PlanArgs;
use self::report::ReportArgs;
use self::route::RouteArgs;
use self::run::RunArgs;
use self::search::SearchArgs;
use self::show::ShowArgs;
use self::task::TaskArgs;
use self::trace::TraceArgs;
use self::trial::TrialArgs;
use self::view::ViewArgs;
use self::worker::WorkerArgs;

/// Lint agent skills and measure whether they help
///
/// assay lints skills, and measures their effect: it runs agents on tasks with and without a skill,
/// in a sandbox, and reports the difference in mean score with a confidence interval.
///
/// An experiment lists tasks, agents and conditions; a condition says which skills an agent gets.
/// One condition is the baseline, usually the one without skills. A trial is one execution of one
/// task by one agent under one condition; each repetition is a trial of its own. The trials of an
/// experiment form a run. Runs are kept in the store, a folder (.assay by default).
///
/// Start with `assay lint FOLDER`, or with `assay init experiment`.
#[derive(Debug, Parser)]
#[command(name = "assay", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The options that every command takes.
#[derive(Debug, clap::Args)]
pub struct GlobalArgs {
    /// Folder where trials and runs are stored [default: .assay]
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "ASSAY_STORE",
        hide_env_values = true,
        help_heading = GLOBAL
    )]
    pub(crate) store: Option<PathBuf>,
    /// Output format
    #[arg(long, global = true, value_name = "FORMAT", default_value = "terminal", help_heading = GLOBAL)]
    pub(crate) format: Format,
    /// When to use colors [default: auto]
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        env = "ASSAY_COLOR",
        hide_env_values = true,
        help_heading = GLOBAL
    )]
    pub(crate) color: Option<Color>,
    /// Print nothing but errors to standard error; standard output is not affected
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// Print more details
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = GLOBAL)]
    pub(crate) verbose: u8,
}

/// What scripts may rely on; docs/COMMANDS.md has it as well.
const AFTER_HELP: &str = "Exit status:
  0    success
  1    completed with a negative result, such as a lint error or a failed task
       check; see the help of each command
  2    invalid usage or invalid input
  3    infrastructure error: no sandbox, no network, or no reply from a model
  130  interrupted; finished trials are kept

Examples:
  assay lint skills
  assay run experiment.toml";

/// The heading of the options that every command takes.
const GLOBAL: &str = "Global options";

/// The commands in the order and under the headings in which `assay --help` lists them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Skills", &["lint", "search", "route"]),
    ("Experiments", &["init", "draft", "task", "plan", "run", "worker"]),
    ("Results", &["appraise", "show", "view", "report", "compare", "gate", "audit", "judge"]),
    ("Data", &["trace", "import", "export"]),
    ("Tools", &["agent", "gateway", "doctor", "gc", "help"]),
    ("Lab", &["lab"]),
];

/// The command line, with its commands in groups.
pub fn command() -> clap::Command {
    let mut command = Args::command();
    // Adds `help`, whose line the template needs.
    command.build();
    let template = template(&command);
    Args::command().help_template(template)
}

/// Parses arguments, the first of which is the name of the program.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Args, clap::Error> {
    Args::from_arg_matches(&match_arguments(command(), arguments)?)
}

/// Matches arguments, the first of which is the name of the program, with this command line or a larger one.
pub fn match_arguments(command: clap::Command, arguments: &[OsString]) -> Result<ArgMatches, clap::Error> {
    command.try_get_matches_from(arguments).map_err(suggest_command)
}

/// Adds the command that was probably meant to the error about an unknown one, where clap finds none: it compares by the
/// beginning of words, which misses swapped letters in short ones.
fn suggest_command(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand || error.get(ContextKind::SuggestedSubcommand).is_some() {
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let known = Args::command();
    let names: Vec<&str> = known.get_subcommands().map(clap::Command::get_name).collect();
    let mut near = assay_diagnostic::nearest(word, names);
    // A name that only contains the word, or is contained in it, is no misspelling.
    near.truncate(1);
    let near = if word == "version" { vec!["--version".to_owned()] } else { near };
    if !near.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
    }
    error
}

/// The template of `assay --help`. clap can only list all commands under one heading.
fn template(command: &clap::Command) -> StyledStr {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (heading, names) in GROUPS {
        text.push_str(&format!("\n{header}{heading}:{header:#}\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let gap = width - name.len() + 2;
            text.push_str(&format!("  {literal}{name}{literal:#}{:gap$}{about}\n", ""));
        }
    }
    text.push_str(&format!("\n{header}{GLOBAL}:{header:#}\n{{options}}{{after-help}}"));
    text.into()
}

/// How a result is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Human-readable text
    #[value(alias = "human")]
    Terminal,
    /// Markdown; `report` and `appraise`
    Markdown,
    /// One self-contained page; `report`, `appraise` and `audit show`
    Html,
    /// JSON; some commands print JSON Lines, and their help says so
    Json,
    /// SARIF 2.1.0; `lint` only
    Sarif,
    /// JUnit XML; `lint` only
    Junit,
    /// GitHub Actions annotations; `lint` only
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
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Lint(LintArgs),
    Search(SearchArgs),
    Route(RouteArgs),
    Init(InitArgs),
    Draft(DraftArgs),
    Task(TaskArgs),
    Plan(PlanArgs),
    Run(RunArgs),
    #[command(hide = true)]
    Improve(ImproveArgs),
    Worker(WorkerArgs),
    Show(ShowArgs),
    View(ViewArgs),
    Gate(Box<GateArgs>),
    Judge(JudgeArgs),
    Report(ReportArgs),
    Appraise(AppraiseArgs),
    Compare(CompareArgs),
    Audit(AuditArgs),
    Trace(TraceArgs),
    Import(ImportArgs),
    Export(ExportArgs),
    Agent(AgentArgs),
    Gateway(GatewayArgs),
    Doctor(DoctorArgs),
    Gc(GcArgs),
    #[command(hide = true)]
    Completions(CompletionsArgs),
    Lab(LabArgs),
    #[command(hide = true)]
    Trial(TrialArgs),
}

impl Command {
    /// Whether its result can be a page.
    pub(crate) fn makes_pages(&self) -> bool {
        matches!(
            self,
            Self::Appraise(_) | Self::Report(_) | Self::Audit(AuditArgs { what: AuditWhat::Show(_) })
        )
    }
}
