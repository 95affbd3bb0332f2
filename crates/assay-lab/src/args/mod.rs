//! What `assay lab` takes: experiments on assay itself and on published methods.

pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod corpus;
pub(crate) mod cta;
pub(crate) mod draft;
pub(crate) mod health;
pub(crate) mod judge;
pub(crate) mod replay;
pub(crate) mod route;
pub(crate) mod scale;
pub(crate) mod search;
pub(crate) mod self_test;
pub(crate) mod simulate;
pub(crate) mod taxonomy;

use std::ffi::OsString;

use assay_cli::args::GlobalArgs;
use assay_cli::args::completions::CompletionsArgs;
use clap::{Args, FromArgMatches, Subcommand};

use self::audit::LabAuditArgs;
use self::bench::BenchArgs;
use self::corpus::CorpusArgs;
use self::cta::CtaArgs;
use self::draft::LabDraftArgs;
use self::health::HealthArgs;
use self::judge::LabJudgeArgs;
use self::replay::ReplayArgs;
use self::route::LabRouteArgs;
use self::scale::ScaleArgs;
use self::search::LabSearchArgs;
use self::self_test::SelfTestArgs;
use self::simulate::SimulateArgs;
use self::taxonomy::TaxonomyArgs;

/// Evaluate assay itself and reproduce published results
///
/// For developers of assay and researchers. No command here is needed to evaluate a skill. docs/lab
/// has the results.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab simulate --suites 4000
  assay lab search bench --corpus corpus.jsonl --queries queries.jsonl")]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) what: LabWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabWhat {
    Simulate(SimulateArgs),
    Replay(ReplayArgs),
    Draft(LabDraftArgs),
    Judge(LabJudgeArgs),
    Bench(BenchArgs),
    Search(LabSearchArgs),
    Route(LabRouteArgs),
    Corpus(CorpusArgs),
    Taxonomy(TaxonomyArgs),
    Audit(LabAuditArgs),
    Health(HealthArgs),
    #[command(name = "cta-2026")]
    Cta(CtaArgs),
    Scale(ScaleArgs),
    SelfTest(SelfTestArgs),
}

/// What this program is to do.
#[derive(Debug)]
pub(crate) enum Task {
    /// A command of the laboratory.
    Lab(LabArgs),
    /// `assay completions`, which the product hands over: this program knows the commands of both.
    Completions(CompletionsArgs),
}

/// The command line of the product, with the commands of the laboratory in it.
pub(crate) fn command() -> clap::Command {
    let command = assay_cli::args::command()
        .mut_subcommand("lab", |_| LabArgs::augment_args(clap::Command::new("lab")));
    // What is replaced goes to the end. The hidden command was there before.
    command.mut_subcommand("trial", |trial| trial)
}

/// Parses what follows `assay lab`, or `completions` and what follows it.
pub(crate) fn parse(arguments: &[OsString]) -> Result<(GlobalArgs, Task), clap::Error> {
    let hands_over = arguments.first().is_some_and(|first| first == "completions");
    let program: &[&str] = if hands_over { &["assay"] } else { &["assay", "lab"] };
    let whole: Vec<OsString> = program.iter().map(OsString::from).chain(arguments.iter().cloned()).collect();
    let matches = assay_cli::args::match_arguments(command(), &whole)?;
    let global = GlobalArgs::from_arg_matches(&matches)?;
    let task = match matches.subcommand() {
        Some(("completions", matches)) => Task::Completions(CompletionsArgs::from_arg_matches(matches)?),
        Some((_, matches)) => Task::Lab(LabArgs::from_arg_matches(matches)?),
        None => {
            return Err(command().error(clap::error::ErrorKind::MissingSubcommand, "a command is required"));
        }
    };
    Ok((global, task))
}
