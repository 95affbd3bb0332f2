//! `assay lint`: what each client makes of skills, and what is worth fixing.

mod explain;
mod policy;

use std::path::PathBuf;

use assay_lint::{Baseline, Client, Options, Outcome, Severity, Stats, fix, render};
use assay_safety::self_test;
use clap::builder::PossibleValuesParser;

use crate::args::Format;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// What can be typed.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[command(
    after_help = "More formats: sarif, junit, github\n\n\
                  Exit status: 0 no errors, 1 errors (or warnings that --deny or --max-warnings does not accept), 2 bad usage",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct LintArgs {
    #[command(subcommand)]
    pub(crate) what: Option<LintWhat>,
    /// Packages, libraries, repositories, or single documents
    #[arg(required_unless_present = "self_test", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The clients that count; may be given several times [default: all]
    #[arg(long = "client", value_name = "CLIENT", value_parser = PossibleValuesParser::new(assay_lint::client::CLIENTS.map(Client::name)))]
    pub(crate) clients: Vec<String>,
    /// Report only these rules: a code, its beginning, `safety`, or `all`, rules that are off by default among them; may be given several times
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Do not report these rules; named as for --select
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Report what comments and [[lint.allow]] suppress, too
    #[arg(long)]
    pub(crate) ignore_suppressions: bool,
    /// Fail on warnings, too
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,
    /// Fail on more than N warnings
    #[arg(long, value_name = "N")]
    pub(crate) max_warnings: Option<usize>,
    /// Read the configuration from FILE, whichever assay.toml there is
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,
    /// Read no assay.toml for the rules
    #[arg(long)]
    pub(crate) no_config: bool,
    /// Exit with 0 where every skill is excluded, as when a hook passes changed files
    #[arg(long)]
    pub(crate) allow_excluded: bool,
    /// Fix what is safe to fix, then report what is left
    #[arg(long)]
    pub(crate) fix: bool,
    /// Report only findings that are not in FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write the findings of this run to the baseline, new or not, and accept them
    #[arg(long, requires = "baseline")]
    pub(crate) update_baseline: bool,
    /// Show every finding with its excerpt, however many there are
    #[arg(long)]
    pub(crate) full: bool,
    /// The model's context window, which clients' listings of skills depend on; 0: not known [default: 200000]
    #[arg(long, value_name = "TOKENS", value_parser = parse_window)]
    pub(crate) context_window: Option<usize>,
    /// Count the packages in which each rule finds something, instead of reporting findings
    #[arg(long, conflicts_with = "self_test")]
    pub(crate) stats: bool,
    /// Measure the safety rules: attacks hidden in clean skills, those at PATH or assay's own, and look-alikes that are none
    #[arg(long, conflicts_with_all = ["fix", "baseline", "select", "ignore", "clients"])]
    pub(crate) self_test: bool,
    /// Where the draws of --self-test begin
    #[arg(long, value_name = "N", default_value_t = 1, requires = "self_test")]
    pub(crate) seed: u64,
    /// How often --self-test plants each attack in each way
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1000), requires = "self_test")]
    pub(crate) repetitions: u16,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum LintWhat {
    /// Explain a rule: what it finds, for which clients, who says so, and how to fix it
    Explain(explain::ExplainArgs),
}

/// What fails beside errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Deny {
    /// Any warning
    Warnings,
}

pub(crate) fn run(args: &LintArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if let Some(LintWhat::Explain(args)) = &args.what {
        return explain::run(args, settings, ui);
    }
    if args.self_test {
        return self_test(args, settings, ui);
    }
    for path in &args.paths {
        check_path(path)?;
    }
    let (mut options, broken) = policy::options(args, ui)?;
    let writes = args.baseline.as_ref().filter(|_| args.update_baseline);
    if let Some(file) = args.baseline.as_ref().filter(|_| writes.is_none()) {
        // A mistyped path must not accept every finding.
        if !file.exists() {
            return Err(Failure::bad_input(format!("no baseline at {}", file.display()))
                .hint("--update-baseline writes one with the findings of this run"));
        }
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
        let baseline = Baseline::of(&outcome, file)?;
        baseline.write(file)?;
        ui.note(&format!("{} findings written to {}", baseline.len(), file.display()));
    }
    if args.stats {
        return count(&outcome, settings, ui);
    }
    lay_out(&outcome, &options, args, settings, ui)?;
    let all_excluded = outcome.summary.skills == 0 && outcome.summary.excluded > 0;
    if all_excluded && !args.allow_excluded {
        ui.fail(
            &Failure::bad_input("every skill is excluded: nothing was linted")
                .hint("change `exclude` in assay.toml, or pass --allow-excluded"),
        );
        return Ok(Status::BadInput);
    }
    let status = status(&outcome, args, writes.is_some());
    Ok(if broken { Status::BadInput } else { status })
}

/// A context window: 0 where it is not known, else one that a model could have.
fn parse_window(text: &str) -> Result<usize, String> {
    let least = assay_lint::Budgets::LEAST_WINDOW;
    let tokens = text.parse::<usize>().ok().filter(|tokens| *tokens == 0 || *tokens >= least);
    tokens.ok_or_else(|| format!("expected 0, or a whole number of tokens from {least}"))
}

/// Refuses a file that is no document: nothing would be looked at, and that must not pass for a clean result.
fn check_path(path: &PathBuf) -> Result<(), Failure> {
    let is_document = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    // What is not there, or is an empty folder, is a finding.
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir());
    if !is_file || is_document {
        return Ok(());
    }
    let package = path.ancestors().skip(1).find(|folder| folder.join("SKILL.md").is_file());
    let hint = match package {
        Some(package) if !package.as_os_str().is_empty() => {
            format!("name the package that it belongs to: {}", package.display())
        }
        _ => "name a SKILL.md, or a folder that holds skills".to_owned(),
    };
    Err(Failure::bad_input(format!("{} is neither a folder nor a SKILL.md", path.display())).hint(hint))
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

fn lay_out(
    outcome: &Outcome,
    options: &Options,
    args: &LintArgs,
    settings: &Settings,
    ui: &Ui,
) -> Result<(), Failure> {
    let clients = options.clients();
    if matches!(settings.format, Format::Sarif | Format::Junit | Format::Github) {
        // These formats have no summary.
        for line in render::omitted(&outcome.summary) {
            ui.note(&line);
        }
    }
    match settings.format {
        Format::Json => ui.document(&render::json(outcome)),
        Format::Sarif => ui.document(&render::sarif(outcome, &options.base)),
        Format::Junit => ui.raw(&render::junit(outcome, &clients)),
        Format::Github => ui.raw(&render::github(outcome, &options.base)),
        _ => {
            let view = render::View {
                advice: settings.verbose,
                full: args.full,
                color: ui.style().color,
                columns: ui.columns(),
            };
            ui.out(&render::human(outcome, &clients, view))
        }
    }
}

fn status(outcome: &Outcome, args: &LintArgs, accepted: bool) -> Status {
    if outcome.diagnostics.iter().any(|found| found.code == "library-missing") {
        return Status::BadInput;
    }
    let errors = outcome.summary.errors > 0
        || outcome.diagnostics.iter().any(|found| found.severity == Severity::Error);
    let most = match args.deny {
        Some(Deny::Warnings) => Some(0),
        None => args.max_warnings,
    };
    let warnings = most.is_some_and(|most| outcome.summary.warnings > most);
    if (errors || warnings) && !accepted { Status::DidNotHold } else { Status::Done }
}
