//! `assay lint`: what each client makes of skills, and what is worth mending.

use std::path::PathBuf;

use assay_lint::safety::self_test;
use assay_lint::{Allow, Baseline, Client, Options, Outcome, Severity, Stats, fix, render};
use clap::builder::PossibleValuesParser;

use crate::args::Format;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// What can be typed.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[command(after_help = "More formats: sarif, junit, github")]
pub(crate) struct LintArgs {
    /// Packages, libraries, repositories, or single documents
    #[arg(required_unless_present = "self_test", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The clients that count; may be given several times [default: all]
    #[arg(long = "client", value_name = "CLIENT", value_parser = PossibleValuesParser::new(assay_lint::client::CLIENTS.map(Client::name)))]
    pub(crate) clients: Vec<String>,
    /// Fix what is safe to fix, then report what is left
    #[arg(long)]
    pub(crate) fix: bool,
    /// Tell only what this file does not know; where it does not exist, write it
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write the baseline anew
    #[arg(long, requires = "baseline")]
    pub(crate) update_baseline: bool,
    /// Tell only these rules: a code, its beginning, or `safety`; may be given several times
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Count in how many packages each rule finds something, instead of telling what
    #[arg(long, conflicts_with = "self_test")]
    pub(crate) stats: bool,
    /// Measure the safety rules: attacks hidden in clean skills, those at PATH or assay's own, and look-alikes that are none
    #[arg(long, conflicts_with_all = ["fix", "baseline", "select", "clients"])]
    pub(crate) self_test: bool,
    /// Where the draws of --self-test begin
    #[arg(long, value_name = "N", default_value_t = 1, requires = "self_test")]
    pub(crate) seed: u64,
    /// How often --self-test plants each attack in each way
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1000), requires = "self_test")]
    pub(crate) repetitions: u16,
}

pub(crate) fn run(args: &LintArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if args.self_test {
        return self_test(args, settings, ui);
    }
    let mut options = Options {
        allow: settings.lint.allow.iter().map(Allow::from).collect(),
        base: std::env::current_dir().unwrap_or_default(),
        select: args.select.clone(),
        ..Options::default()
    };
    if !args.clients.is_empty() {
        options.clients = args.clients.iter().filter_map(|name| Client::find(name)).collect();
        options.clients.sort_unstable();
        options.clients.dedup();
    }
    let writes = args.baseline.as_ref().filter(|file| args.update_baseline || !file.exists());
    if let Some(file) = args.baseline.as_ref().filter(|_| writes.is_none()) {
        options.baseline = Some(Baseline::read(file)?);
    }
    let outcome = if args.fix {
        let (outcome, fixed) = fix::run(&args.paths, &options);
        tell_fixed(&fixed, ui);
        outcome
    } else {
        assay_lint::lint(&args.paths, &options)
    };
    if let Some(file) = writes {
        let all = outcome.skills.iter().flat_map(|skill| &skill.diagnostics);
        Baseline::of(all, &options.base).write(file)?;
        ui.note(&format!("{} holds what there is now", file.display()));
    }
    if args.stats {
        return count(&outcome, settings, ui);
    }
    lay_out(&outcome, &options, settings, ui)?;
    Ok(status(&outcome, writes.is_some()))
}

/// Prints how many packages each rule hits. What is wrong with packages is no failure of a count.
fn count(outcome: &Outcome, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let stats = Stats::of(outcome);
    match settings.format {
        Format::Json => ui.document(&stats)?,
        _ => ui.out(&stats.table())?,
    }
    let missing = outcome.diagnostics.iter().any(|found| found.code == "library-missing");
    Ok(if missing { Status::BadInput } else { Status::Done })
}

/// Plants attacks and look-alikes, and prints what was missed and what was a false alarm.
fn self_test(args: &LintArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let hosts = if args.paths.is_empty() { self_test::hosts() } else { self_test::hosts_at(&args.paths) };
    if hosts.is_empty() {
        ui.note("no skill was found to plant anything in");
        return Ok(Status::BadInput);
    }
    let options = self_test::Options { seed: args.seed, repetitions: usize::from(args.repetitions) };
    let report = self_test::run(&hosts, options);
    match settings.format {
        Format::Json => ui.document(&report)?,
        _ => ui.out(&self_test::table(&report))?,
    }
    Ok(Status::Done)
}

/// Reports what became of each file that had a fix.
fn tell_fixed(files: &[fix::Fixed], ui: &Ui) {
    for fixed in files {
        let file = fixed.file.display();
        if fixed.findings > 0 {
            ui.note(&format!("{file}: {} fixed", fixed.findings));
        }
        if let Some(error) = &fixed.error {
            ui.note(&format!("{file}: not fixed: {error}"));
        }
    }
}

fn lay_out(outcome: &Outcome, options: &Options, settings: &Settings, ui: &Ui) -> Result<(), Failure> {
    match settings.format {
        Format::Json => ui.document(&render::json(outcome)),
        Format::Sarif => ui.document(&render::sarif(outcome, &options.base)),
        Format::Junit => ui.out(&render::junit(outcome, &options.clients)),
        Format::Github => ui.out(&render::github(outcome, &options.base)),
        _ => ui.out(&render::human(outcome, &options.clients, settings.verbose, ui.style().color)),
    }
}

fn status(outcome: &Outcome, accepted: bool) -> Status {
    if outcome.diagnostics.iter().any(|found| found.code == "library-missing") {
        return Status::BadInput;
    }
    let errors = outcome.summary.errors > 0
        || outcome.diagnostics.iter().any(|found| found.severity == Severity::Error);
    if errors && !accepted { Status::DidNotHold } else { Status::Done }
}
