//! `assay judge regrade`: judges the trials of a run again, without running them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use assay_analysis::Report;
use assay_gateway::{Budget, Caps};
use assay_judge::Rubric;
use assay_report::counted;
use assay_stats::judge::{clustered_kappa, proportion};
use assay_store::{Claim, JudgeModel, JudgeSpec, Outcome, Record, RunFolder, Store, TrialId};
use assay_trial::RetriesLeft;
use assay_trial::judging::{Judging, Panel, is_kept, judge_again, rubric_digest};
use serde_json::{Value, json};

use crate::args::judge::RegradeArgs;
use crate::asking::price_of;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;
use crate::{commands, machine};
use assay_judge::{figure_cell as cell, interval_ends as ends};

/// A trial that is judged again.
struct Work {
    earlier: Record,
    id: TrialId,
    specification: Value,
}

/// What happened to the trials.
#[derive(Default)]
struct Outcomes {
    judged: usize,
    cached: usize,
    failed: Vec<String>,
}

pub(super) fn run(args: &RegradeArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = machine::open_store(&settings.store)?;
    let run = store.run(&args.run)?;
    let Some(planned) = &run.judge else {
        return Err(Failure::bad_input(format!("no trial of {} is judged: its plan has no judge", run.run))
            .hint(
                "only runs of tasks with a rubric, and with `[judge]` in the experiment, can be judged again",
            ));
    };
    let rubrics = rubrics(args)?;
    let mut spec = spec(args, planned)?;
    let candidates: Vec<&str> = run.agents.iter().filter_map(|agent| agent.label.model.as_deref()).collect();
    Panel::check_family(&spec, &candidates)
        .map_err(|error| Failure::bad_input(error.to_string()).hint("use a judge of another vendor"))?;
    check_cap(args, &spec)?;
    // The first judgement of its kind that this store does not have.
    spec.pass = if args.judge.is_empty() { planned.pass + 1 } else { spec.pass };
    let sandboxes = machine::sandboxes_for(settings)?;
    let context = machine::context(&sandboxes, None);
    let is_scripted = spec.models.iter().any(|model| model.model.starts_with("scripted:"));
    let open = |spec: &JudgeSpec| {
        Panel::open(spec, &args.scripts, &context).map_err(|error| {
            let failure = Failure::bad_input(error.to_string());
            if is_scripted {
                failure.hint("--scripts DIR names the folder of the judge's script")
            } else {
                failure
            }
        })
    };
    let panel = open(&spec)?;
    let (work, cells) = plan(&store, &run, &panel, &rubrics)?;
    let cancel = machine::interrupted()?;
    let budget = Budget::new(Caps { usd: args.flags.access.max_usd, ..Caps::default() });
    let judged = judge_all(&store, &work, &panel, &rubrics, &budget, &cancel, args.concurrency as usize)?;
    store.clear_scratch();
    if cancel.load(Ordering::Relaxed) {
        return Ok(Status::Interrupted);
    }
    for failed in judged.failed.iter().take(5) {
        ui.note(&format!("warning: {failed}"));
    }
    let folder = new_run(&store, &run, spec, cells, args)?;
    let report = assay_analysis::report(&store, &folder)?;
    let agreement = agreement(&store, &work)?;
    print(&folder, &judged, &agreement, &report, ui)?;
    let is_broken = !judged.failed.is_empty() || report.judged.as_ref().is_some_and(|found| found.blocked);
    Ok(if is_broken { Status::Infrastructure } else { Status::Done })
}

/// The judges: those of the run, with what the command line replaces.
fn spec(args: &RegradeArgs, planned: &JudgeSpec) -> Result<JudgeSpec, Failure> {
    let mut spec = planned.clone();
    let price = price_of(&args.flags.access.price)?;
    if !args.judge.is_empty() {
        let entry = |model: &String| JudgeModel {
            model: model.clone(),
            base_url: args.flags.access.base_url.clone(),
            server: None,
            api_key_env: args.flags.access.api_key_env.clone(),
            price,
        };
        spec.models = args.judge.iter().map(entry).collect();
        spec.pass = 0;
    } else if let Some(price) = price {
        for model in &mut spec.models {
            model.price = Some(price);
        }
    }
    spec.repeats = args.repeats.unwrap_or(spec.repeats);
    spec.mode = args.mode.map_or(spec.mode, Into::into);
    if !args.material.is_empty() {
        spec.material = args.material.iter().map(|material| (*material).into()).collect();
    }
    Ok(spec)
}

/// Rubrics that replace those that were kept, by task.
fn rubrics(args: &RegradeArgs) -> Result<BTreeMap<String, Rubric>, Failure> {
    let mut rubrics = BTreeMap::new();
    for folder in &args.tasks {
        let tasks: Vec<PathBuf> = if folder.join(assay_judge::RUBRIC).is_file() {
            vec![folder.clone()]
        } else {
            let entries = std::fs::read_dir(folder)
                .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", folder.display())))?;
            entries
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.join(assay_judge::RUBRIC).is_file())
                .collect()
        };
        for task in tasks {
            let path = task.join(assay_judge::RUBRIC);
            let text = assay_fs::read_text(&path, assay_fs::DOCUMENT_CAP)
                .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))?;
            let rubric = Rubric::parse(&text)
                .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
            let name = task.file_name().unwrap_or_default().to_string_lossy().into_owned();
            rubrics.insert(name, rubric);
        }
    }
    if !args.tasks.is_empty() && rubrics.is_empty() {
        return Err(Failure::bad_input("no task with a tests/rubric.json in the folders of --tasks"));
    }
    Ok(rubrics)
}

fn check_cap(args: &RegradeArgs, spec: &JudgeSpec) -> Result<(), Failure> {
    if args.flags.access.max_usd.is_some() && spec.models.iter().any(|model| model.price.is_none()) {
        return Err(Failure::bad_input("--max-usd needs the prices of all judges").hint("--price IN,OUT"));
    }
    let paid = spec
        .models
        .iter()
        .find(|model| machine::is_paid(&model.model, model.base_url.as_deref(), model.price));
    match paid.filter(|_| args.flags.access.max_usd.is_none() && !args.flags.no_cap) {
        Some(judge) => {
            Err(Failure::bad_input(format!("{} is a paid model, and this command has no cap", judge.model))
                .hint("--max-usd USD with --price, or --no-cap"))
        }
        None => Ok(()),
    }
}

/// The trials to judge, and the cells of the run with their new ids. Trials without a judgement keep theirs.
fn plan(
    store: &Store,
    run: &RunFolder,
    panel: &Panel,
    rubrics: &BTreeMap<String, Rubric>,
) -> Result<(Vec<Work>, Vec<assay_store::Cell>), Failure> {
    let mut work: BTreeMap<TrialId, Work> = BTreeMap::new();
    let mut cells = run.cells.clone();
    for cell in &mut cells {
        let Some(record) = store.record(&cell.trial)? else { continue };
        if !is_kept(store, &record) {
            continue;
        }
        let Some(mut specification) = store.specification(&cell.trial)? else { continue };
        // Trials of earlier versions name a rubric only where it replaces that of their task.
        let rubric = rubrics.get(&cell.task).map(|rubric| json!(rubric_digest(rubric)));
        let rubric = rubric.or_else(|| specification["judge"].get("rubric").cloned());
        specification["judge"] = panel.identity();
        if let Some(rubric) = rubric {
            specification["judge"]["rubric"] = rubric;
        }
        let id = TrialId::of(&specification);
        cell.trial = id.clone();
        work.entry(id.clone()).or_insert(Work { earlier: record, id, specification });
    }
    if work.is_empty() {
        return Err(Failure::bad_input(format!("no trial of {} has kept what a judge needs", run.run)).hint(
            "trials that ended before their work could be judged, and those of imported runs, have nothing to judge",
        ));
    }
    Ok((work.into_values().collect(), cells))
}

fn judge_all(
    store: &Store,
    work: &[Work],
    panel: &Panel,
    rubrics: &BTreeMap<String, Rubric>,
    budget: &Budget,
    cancel: &AtomicBool,
    concurrency: usize,
) -> Result<Outcomes, Failure> {
    let next = AtomicUsize::new(0);
    let judged = Mutex::new(Outcomes::default());
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..concurrency.min(work.len()) {
            scope.spawn(|| {
                while !cancel.load(Ordering::Relaxed) {
                    let Some(one) = work.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    match judge_one(store, one, panel, rubrics, budget, cancel) {
                        Ok(outcome) => {
                            let mut judged = judged.lock().unwrap_or_else(PoisonError::into_inner);
                            match outcome {
                                One::Cached => judged.cached += 1,
                                One::Judged => judged.judged += 1,
                                One::Failed(reason) => judged.failed.push(reason),
                                One::Interrupted => return,
                            }
                        }
                        Err(error) => {
                            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                            return;
                        }
                    }
                }
            });
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failure) => Err(failure),
        None => Ok(judged.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

enum One {
    Cached,
    Judged,
    Failed(String),
    Interrupted,
}

fn judge_one(
    store: &Store,
    one: &Work,
    panel: &Panel,
    rubrics: &BTreeMap<String, Rubric>,
    budget: &Budget,
    cancel: &AtomicBool,
) -> Result<One, Failure> {
    if store.record(&one.id)?.is_some_and(|record| record.outcome.counts()) {
        return Ok(One::Cached);
    }
    let trial = one.earlier.trial.short();
    let lease = match store.claim(&one.id)? {
        Claim::Mine(lease) => lease,
        Claim::Held(_) => return Ok(One::Failed(format!("{trial}: another process judges it"))),
    };
    let rubric = rubrics.get(&one.earlier.task);
    let retries = RetriesLeft::default();
    let judging = Judging { store, panel, rubric, budget, cancel, retries };
    let judged = judge_again(&judging, &one.earlier, &one.id, &one.specification, &lease);
    Ok(match judged {
        Ok(None) => One::Interrupted,
        Ok(Some(record)) if record.outcome.counts() => One::Judged,
        Ok(Some(record)) => One::Failed(format!("{trial}: {}", record.reason.unwrap_or_default())),
        Err(error) => One::Failed(format!("{trial}: {error}")),
    })
}

/// The run of the new judgements.
fn new_run(
    store: &Store,
    run: &RunFolder,
    spec: JudgeSpec,
    cells: Vec<assay_store::Cell>,
    args: &RegradeArgs,
) -> Result<RunFolder, Failure> {
    let mut folder = RunFolder {
        cells,
        judge: Some(spec),
        extends: None,
        relabels: None,
        reused: Vec::new(),
        ..run.clone()
    };
    folder.seal();
    let name = args.name.clone().unwrap_or_else(|| format!("{}-regraded", run.run));
    if !assay_store::is_run_name(&name) {
        return Err(Failure::bad_input(format!("{name:?} is not a name of a run"))
            .hint("use letters, digits, `-`, `_` and `.`, at most 80"));
    }
    let source = std::fs::read(store.run_folder(&run.run).join("experiment.toml")).unwrap_or_default();
    let folder = store.begin_run(folder, &name, ("experiment.toml", &source))?;
    store.save_failed_checks(&folder.run, &store.failed_checks(&run.run)?)?;
    if let Some(calibration) = store.calibration(&run.run)? {
        store.save_calibration(&folder.run, &calibration)?;
    }
    Ok(folder)
}

/// How far two judgements of the same items agree.
struct Agreement {
    items: usize,
    same: Option<assay_stats::judge::Figure>,
    kappa: Option<assay_stats::judge::Figure>,
}

fn agreement(store: &Store, work: &[Work]) -> Result<Agreement, Failure> {
    let mut pairs = Vec::new();
    for (cluster, one) in work.iter().enumerate() {
        let Some(new) = store.record(&one.id)?.filter(|record| record.outcome != Outcome::Infrastructure)
        else {
            continue;
        };
        let Some((before, after)) = one.earlier.judgement.as_ref().zip(new.judgement.as_ref()) else {
            continue;
        };
        for item in after.items.iter().filter(|item| !item.checked) {
            let Some(other) = before.items.iter().find(|other| other.id == item.id) else { continue };
            pairs.push(((category(&other.verdict), category(&item.verdict)), Some(cluster)));
        }
    }
    let same: Vec<(bool, Option<usize>)> = pairs.iter().map(|((a, b), cluster)| (a == b, *cluster)).collect();
    Ok(Agreement { items: pairs.len(), same: proportion(&same), kappa: clustered_kappa(&pairs) })
}

fn category(verdict: &str) -> usize {
    ["met", "not-met", "cannot-tell"].iter().position(|known| *known == verdict).unwrap_or(3)
}

fn print(
    folder: &RunFolder,
    judged: &Outcomes,
    agreement: &Agreement,
    report: &Report,
    ui: &Ui,
) -> Result<(), Failure> {
    if ui.json() {
        let figure = |figure: Option<assay_stats::judge::Figure>| json!({ "value": figure.map(|figure| figure.value), "ci95": ends(figure.and_then(|figure| figure.interval)) });
        return ui.document(&json!({
            "schema": "assay.judge-regrade/1", "run": folder.run, "judged": judged.judged, "cached": judged.cached,
            "failed": judged.failed, "items": agreement.items, "same_verdict": figure(agreement.same),
            "kappa": figure(agreement.kappa), "judged_report": report.judged, "comparisons": report.comparisons,
        }));
    }
    commands::report::print(report, ui)?;
    ui.out(&format!(
        "\n{}: {} judged, {} cached, {} without an answer\nItems with the same verdict as before: {} (kappa {}), {}\n",
        folder.run,
        counted(judged.judged, "trial", "trials"),
        judged.cached,
        judged.failed.len(),
        cell(agreement.same),
        cell(agreement.kappa),
        counted(agreement.items, "item", "items"),
    ))
}
