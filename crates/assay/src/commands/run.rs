//! `assay run`: an experiment, from its file to its report.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use assay_analysis::{DecidedRun, End, Report, Rounds};
use assay_diagnostic::group_digits;
use assay_model::ModelError;
use assay_report::{WithNotes, counted};
use assay_skill::Severity;
use assay_store::{ExclusionGroup, RunFolder, Selection, Store, StoreError};
use assay_trial::{
    Event, ExecutorKind, Experiment, MachineContext, NextRound, Plan, PreflightError, PreflightEvent,
    RoundArms, RunCaps, RunOptions, RunOutcome, SlurmOptions, parse_selection,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::judge::calibration::read_set;
use crate::args::judge::LabelsBy;
use crate::args::run::{ExecutorFlag, RunArgs};
use crate::asking::describe_preflight;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::progress::Progress;
use crate::ui::Ui;
use crate::{machine, prices, record_keys};

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    run: &'a str,
    planned: usize,
    executed: usize,
    cached: usize,
    /// Of `cached`, imported results.
    imported: usize,
    infrastructure: usize,
    unfinished: usize,
    checks_executed: usize,
    interrupted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    capped: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'a str>,
    /// Tasks of the suite that could not be read.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unreadable: &'a [String],
    report: WithNotes<'a, Report>,
}

pub(crate) fn run(args: &RunArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let only = parse_selection(&args.only)?;
    let mut experiment = Experiment::load(&args.experiment)?;
    prices::fill(&mut experiment, args.prices.as_deref(), settings)?;
    experiment.same_server = same_servers(&args.same_server)?;
    let store = machine::open_store(&settings.store)?;
    let cancel = machine::interrupted()?;
    assay_trial::clean_up(&store);
    machine::remove_stale_containers(&store);
    let sandboxes = machine::sandboxes_for(settings)?;
    let here = MachineContext {
        dry: args.dry_run,
        permissions: args.permissions.permissions(),
        ..machine::context(&sandboxes, args.replay.as_deref())
    };
    let mut plan = Plan::build(experiment, &store, &here)?;
    plan.require_trials()?;
    plan.check_selection(&only)?;
    use_imports(&mut plan, &store, args, ui);
    if plan.experiment.stopping.is_some() && !args.only.is_empty() {
        return Err(Failure::bad_input(
            "`--only` cannot be combined with `[stopping]`: a round is complete with all its trials",
        )
        .hint("`assay run` on a copy of the experiment without `[stopping]` takes `--only`"));
    }
    print_notes(&plan, ui);
    if args.dry_run {
        return preview(&plan, &only, &store, ui);
    }
    if plan.cells.is_empty() {
        return Err(Failure::infrastructure(plan.describe_nothing())
            .hint("`assay doctor` shows what works on this machine"));
    }
    if plan.cells.iter().any(|cell| cell.sandbox == "none") {
        ui.note(
            "warning: sandbox `none` provides no isolation: agents run with your permissions on your files",
        );
    }
    plan.check_caps(&caps(args), &only, &machine::is_paid)?;
    check_spending(&plan, args, &only, &store, ui)?;
    let resolver = plan.resolver(&store, &here);
    let options = RunOptions {
        max_trials: args.max_trials,
        max_usd: args.max_usd,
        max_tokens: args.max_tokens,
        only: only.clone(),
        retry_broken: !args.no_retry,
        checks: !args.no_checks,
        executor: executor(args)?,
        ..RunOptions::new(args.jobs.map_or(plan.experiment.concurrency, usize::from))
    };
    if let Some(reason) = record_keys::explain_unsigned() {
        ui.note(&format!("warning: records get no signature, because there is no key: {reason}"));
    }
    super::dependencies::warn(&plan, &resolver, ui);
    // Preflight first: it is quick, and nothing works without a model.
    if args.replay.is_none() && !args.no_preflight && !run_preflight(&plan, &store, &options, &cancel, ui)? {
        return Ok(Status::Interrupted);
    }
    if !args.no_checks && args.replay.is_none() {
        super::agent::doctor::check_planned_agents(&plan, &only, &store, ui)?;
    }
    let calibration = match &plan.experiment.calibration {
        None => None,
        Some(table) => Some(read_set(table, "label", "verdict", LabelsBy::Unknown)?),
    };
    let folder = begin_run(&plan, &store, ui)?;
    if let Some(calibration) = calibration {
        store.save_calibration(&folder.run, &json!(calibration))?;
    }
    let mut progress = Progress::new(ui);
    let mut decided = BTreeSet::new();
    let mut next = |round: u32| next_round(&store, &folder, round, &mut decided);
    let next: Option<&mut NextRound<'_>> =
        if plan.experiment.stopping.is_some() { Some(&mut next) } else { None };
    let mut on_event = |event: Event<'_>| progress.report(&event);
    let result = assay_trial::run_rounds(
        &plan,
        &folder.run,
        &store,
        &resolver,
        &options,
        &cancel,
        next,
        &mut on_event,
    );
    progress.finish();
    store.clear_scratch();
    let outcome = result?;
    let mut report = assay_analysis::report_selected(&store, &folder, &only)?;
    assay_gate::find_registration(&mut report);
    super::report::shorten_experiment(&mut report);
    store.append_history(&history_line(&plan, &folder.run, &args.only, &outcome, &report))?;
    print(&folder.run, &outcome, &report, &plan, ui)?;
    if report.judged.as_ref().is_some_and(|judged| judged.blocked) {
        ui.note("warning: the judge gave wrong answers to planted items, so no verdict counts; use another judge with `assay judge regrade`");
        return Ok(Status::Infrastructure);
    }
    Ok(status(&outcome, &plan, &report))
}

fn caps(args: &RunArgs) -> RunCaps {
    RunCaps {
        max_usd: args.max_usd,
        max_tokens: args.max_tokens,
        max_trials: args.max_trials,
        no_cap: args.no_cap,
        is_replay: args.replay.is_some(),
    }
}

/// Begins the run of a plan, unless that adds trials to a run that was decided.
fn begin_run(plan: &Plan, store: &Store, ui: &Ui) -> Result<RunFolder, Failure> {
    if let Some(earlier) = assay_analysis::decided_before(store, &plan.run_folder())? {
        return Err(decided_before(&earlier));
    }
    let folder = plan.begin_run(store)?;
    if let Some(earlier) = &folder.relabels {
        let differences = folder.describe_relabeled(&store.run(earlier)?);
        ui.note(&format!(
            "`{earlier}` has the same trials with {differences}: it stays as it was, and this is the run `{}`",
            folder.run
        ));
    }
    Ok(folder)
}

/// Why a run that adds trials to a decided one is not begun.
fn decided_before(earlier: &DecidedRun) -> Failure {
    let DecidedRun { run, ended, comparisons } = earlier;
    let all = counted(*comparisons, "comparison", "comparisons");
    let which = if ended == comparisons { all } else { format!("{ended} of {all}") };
    Failure::bad_input(format!(
        "the run {run} was decided after its rounds ({which}), and this experiment adds trials to it: the rule has spent its \
         error rate, so no verdict of the longer run would hold"
    ))
    .hint(format!(
        "`assay report {run}` shows what was decided; a new experiment needs tasks that {run} does not have"
    ))
}

/// Who takes part in a round, with the verdicts of comparisons that were decided since the round before.
fn next_round(
    store: &Store,
    run: &RunFolder,
    round: u32,
    decided: &mut BTreeSet<String>,
) -> Result<RoundArms, StoreError> {
    let state = assay_analysis::round_state(store, run, round)?;
    let mut notes = Vec::new();
    for comparison in &state.comparisons {
        let is_ended = comparison.sequential.is_some_and(|rounds| rounds.ended.is_some());
        let line = assay_report::verdict_line(comparison, run.margin);
        if is_ended && decided.insert(format!("{}\n{line}", comparison.who.short())) {
            notes.push(line);
        }
    }
    let rounds = run.stopping.map_or(round, |stopping| stopping.rounds);
    let count = |goes_on: bool| {
        let open = state
            .comparisons
            .iter()
            .filter_map(|found| found.sequential)
            .filter(|rounds| rounds.ended.is_none() && rounds.left_open().is_some() == goes_on);
        counted(open.count(), "comparison", "comparisons")
    };
    if !state.arms.is_empty() && round <= rounds {
        let open = if round == 1 { String::new() } else { format!(": {} not decided", count(false)) };
        notes.push(format!("round {round} of at most {rounds}{open}"));
    }
    if state.arms.is_empty()
        && !state.more.is_empty()
        && let Some(tasks) = run.stopping.and_then(|stopping| stopping.more_tasks)
    {
        let tasks = counted(tasks as usize, "more task", "more tasks");
        notes.push(format!("the rounds are over: {} not decided, {tasks} as planned", count(true)));
    }
    Ok(RoundArms { arms: state.arms, more: state.more, notes })
}

/// Uses the results that were imported, or says that they are not used.
fn use_imports(plan: &mut Plan, store: &Store, args: &RunArgs, ui: &Ui) {
    let imported = plan.imported_results(store);
    if imported.is_empty() {
        return;
    }
    let results = counted(imported.len(), "imported result", "imported results");
    if args.reuse_imported {
        plan.reuse_imports(&imported);
        ui.note(&format!(
            "{results} used: nothing here shows that the trials were executed as the report states"
        ));
    } else {
        ui.note(&format!("{results} of these trials not used: `--reuse-imported` uses imported results"));
    }
}

/// Sends the preflight requests. False if interrupted.
fn run_preflight(
    plan: &Plan,
    store: &Store,
    options: &RunOptions,
    cancel: &AtomicBool,
    ui: &Ui,
) -> Result<bool, Failure> {
    let mut on_event = |event: &PreflightEvent| ui.note(&describe_preflight(event));
    match assay_trial::preflight(plan, store, options, &machine::env, cancel, &mut on_event) {
        Ok(()) => Ok(true),
        Err(PreflightError { source: ModelError::Cancelled, .. }) => Ok(false),
        Err(error) => Err(unusable(&error)),
    }
}

/// What is wrong with a model, and what to do about it.
fn unusable(error: &PreflightError) -> Failure {
    let (failure, hint): (fn(String) -> Failure, String) = match &error.source {
        ModelError::Refused { status: 401 | 403, .. } => {
            let key = error.api_key_env.as_ref().map_or(String::new(), |name| format!(" in {name}"));
            (Failure::bad_input, format!("check the key{key} and its access to this model"))
        }
        ModelError::Refused { status: 404, .. } => (
            Failure::bad_input,
            "check the model's name, and `base_url` where the experiment has one".to_owned(),
        ),
        ModelError::Refused { .. } => (
            Failure::bad_input,
            "check the key, the model's name and its options in the experiment".to_owned(),
        ),
        ModelError::Spec(_) => {
            (Failure::bad_input, "check the [[agents]] table of the experiment".to_owned())
        }
        ModelError::Network { .. } => {
            (Failure::infrastructure, "start the server, or check its address and the network".to_owned())
        }
        _ => (Failure::infrastructure, "try again later, or check the server".to_owned()),
    };
    failure(error.to_string()).hint(format!("{hint}; no trial was run (--no-preflight skips this request)"))
}

fn status(outcome: &RunOutcome, plan: &Plan, report: &Report) -> Status {
    let has_ended = |rounds: Rounds| rounds.ended.is_some();
    // A run whose rule has ended plans no trial any more.
    let is_decided = report.comparisons.iter().any(|found| found.sequential.is_some_and(has_ended));
    let is_empty = outcome.planned == 0 && !is_decided;
    if outcome.interrupted {
        Status::Interrupted
    } else if outcome.infrastructure > 0 || is_empty || outcome.stopped.is_some() {
        Status::Infrastructure
    } else if plan.unreadable.is_empty() {
        Status::Done
    } else {
        Status::DidNotHold
    }
}

fn print(run: &str, outcome: &RunOutcome, report: &Report, plan: &Plan, ui: &Ui) -> Result<(), Failure> {
    if ui.json() {
        return ui.document(&Document {
            schema: "assay.run/2",
            run,
            planned: outcome.planned,
            executed: outcome.executed,
            cached: outcome.cached,
            imported: outcome.imported,
            infrastructure: outcome.infrastructure,
            unfinished: outcome.unfinished,
            checks_executed: outcome.checks_executed,
            interrupted: outcome.interrupted,
            capped: outcome.capped.as_deref(),
            stopped: outcome.stopped.as_deref(),
            unreadable: &plan.unreadable,
            report: report.into(),
        });
    }
    super::report::print(report, ui)?;
    let mut line = format!(
        "\n{} planned: {} executed, {} cached{}, {}",
        counted(outcome.planned, "trial", "trials"),
        group_digits(outcome.executed),
        group_digits(outcome.cached),
        if outcome.imported > 0 {
            format!(" ({} imported)", group_digits(outcome.imported))
        } else {
            String::new()
        },
        counted(outcome.infrastructure, "infrastructure error", "infrastructure errors")
    );
    if outcome.unfinished > 0 {
        line.push_str(&format!(", {} unfinished: run it again to continue", outcome.unfinished));
    }
    if let Some(capped) = &outcome.capped {
        line.push_str(&format!("; {capped}"));
    }
    if let Some(stopped) = &outcome.stopped {
        line.push_str(&format!("\nstopped: {stopped} (`stop_after` in the experiment sets how many)"));
    }
    ui.out(&(line + "\n" + &plan.describe_unreadable()))
}

/// What may be spent, before the first request: refuses a design without a possible verdict, and names the cost.
fn check_spending(
    plan: &Plan,
    args: &RunArgs,
    only: &Selection,
    store: &Store,
    ui: &Ui,
) -> Result<(), Failure> {
    let folder = plan.run_folder();
    let cost = assay_analysis::forecast_cost(&folder, &plan.trial_caps(), store, only, args.max_trials)?;
    check_design(&folder, cost.trials, args)?;
    if cost.trials > 0 && !cost.free {
        let cap = args.max_usd.map_or(String::new(), |usd| format!("; --max-usd stops at ${usd:.2}"));
        let judged = if plan.is_judged() { ", without judges" } else { "" };
        ui.note(&format!("estimated cost{judged}: {}{cap}", assay_report::cost_words(&cost)));
    }
    Ok(())
}

/// A design without a possible verdict is not paid for by mistake. A part of an experiment is executed as it is: its
/// user asked for a look, and has no verdict of it. So is one whose trials are all recorded.
fn check_design(plan: &RunFolder, missing: usize, args: &RunArgs) -> Result<(), Failure> {
    let is_part = !args.only.is_empty() || args.max_trials.is_some();
    if missing == 0 || is_part || args.allow_no_verdict {
        return Ok(());
    }
    assay_analysis::check_verdict_possible(plan).map_err(|error| {
        Failure::bad_input(error.to_string())
            .hint("add tasks; `--only` and `--max-trials` execute a part, and --allow-no-verdict all of it")
    })
}

/// What executes the trials. Some options hold for one of them only.
fn executor(args: &RunArgs) -> Result<ExecutorKind, Failure> {
    let is_slurm = args.executor == ExecutorFlag::Slurm;
    if !is_slurm && (args.sbatch.is_some() || args.cancel_on_interrupt) {
        return Err(Failure::bad_input("`--sbatch` and `--cancel-on-interrupt` need `--executor slurm`"));
    }
    match args.executor {
        ExecutorFlag::Local => Ok(ExecutorKind::Local),
        ExecutorFlag::Workers => Ok(ExecutorKind::Workers),
        ExecutorFlag::Slurm => Ok(ExecutorKind::Slurm(slurm_options(args)?)),
    }
}

fn slurm_options(args: &RunArgs) -> Result<SlurmOptions, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::infrastructure(format!("cannot find this program: {error}")))?;
    let sbatch = args.sbatch.as_deref().unwrap_or_default();
    let sbatch = shlex::split(sbatch).ok_or_else(|| {
        Failure::bad_input(format!("`--sbatch` has a quote without its end: {}", assay_report::clean(sbatch)))
    })?;
    // The executor decides on these.
    let own = ["--array", "-a", "--wrap", "--parsable", "--job-name", "-J", "--test-only"];
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    if let Some(word) = sbatch.iter().find(|word| own.contains(&name(word).as_str())) {
        let hint =
            if name(word) == "--array" { "`--jobs N` sets the number of workers" } else { "leave it out" };
        return Err(
            Failure::bad_input(format!("`--sbatch` cannot contain {}", assay_report::clean(word))).hint(hint)
        );
    }
    // Before the checks of tasks, which take a while.
    assay_trial::find_slurm().map_err(assay_trial::RunError::from)?;
    let permissions = args.permissions.permissions();
    Ok(SlurmOptions { program, sbatch, cancel_on_interrupt: args.cancel_on_interrupt, permissions })
}

/// The servers of `--same-server`, in their normal form.
pub(super) fn same_servers(given: &[String]) -> Result<Vec<String>, Failure> {
    let normal = given.iter().map(|server| {
        assay_model::normalize_server(server).map_err(|error| {
            Failure::bad_input(format!("`--same-server`: {error}"))
                .hint("give the address that `assay plan` prints, or the `server` name of the experiment")
        })
    });
    normal.collect()
}

/// What the plan has to say before anything runs.
fn print_notes(plan: &Plan, ui: &Ui) {
    for note in plan.describe_other_servers() {
        ui.note(&note);
    }
    for diagnostic in &plan.diagnostics {
        if diagnostic.severity == Severity::Info {
            ui.detail(&diagnostic.to_string());
        } else {
            ui.note(&diagnostic.to_string());
        }
    }
    for group in ExclusionGroup::all(&plan.excluded) {
        let condition = group.condition.map_or(String::new(), |name| format!(", {name}"));
        ui.note(&format!("{}{condition} excluded: {}", group.tasks_text(), group.reason));
    }
}

/// Says what would be executed.
fn preview(plan: &Plan, only: &Selection, store: &Store, ui: &Ui) -> Result<Status, Failure> {
    let preview = plan.preview_run(only, store);
    if ui.json() {
        ui.document(&preview.json_document())?;
    } else {
        ui.out(&preview.render_text())?;
    }
    Ok(if plan.unreadable.is_empty() { Status::Done } else { Status::DidNotHold })
}

/// A line for the store's history.
fn history_line(plan: &Plan, run: &str, only: &[String], outcome: &RunOutcome, report: &Report) -> Value {
    let verdicts: Vec<Value> = report
        .comparisons
        .iter()
        .map(|comparison| {
            json!({
                "agent": comparison.who.agent, "model": comparison.who.model, "sandbox": comparison.who.sandbox,
                "baseline": comparison.baseline, "condition": comparison.condition, "role": comparison.role,
                "tasks": comparison.tasks,
                "lift": comparison.lift, "verdict": comparison.verdict,
                "stopped": comparison.sequential.is_some_and(|rounds| {
                    rounds.ended.is_some_and(|end| end != End::SecondStage) && rounds.round < rounds.rounds
                }),
            })
        })
        .collect();
    let mut line = json!({
        "schema": assay_analysis::HISTORY_SCHEMA,
        "at": jiff::Timestamp::now().to_string(),
        "run": run,
        "revision": revision(&plan.experiment.directory),
        "executed": outcome.executed,
        "cached": outcome.cached,
        "infrastructure": outcome.infrastructure,
        "interim": report.interim,
        "skills": plan.library.packages.iter().map(|skill| json!([skill.name, skill.digest])).collect::<Vec<_>>(),
        "verdicts": verdicts,
    });
    if let (false, Some(line)) = (only.is_empty(), line.as_object_mut()) {
        line.insert("only".to_owned(), json!(only));
    }
    line
}

/// The git revision of a folder, where it has one.
fn revision(folder: &Path) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(["rev-parse", "HEAD"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
