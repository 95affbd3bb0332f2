//! `assay judge regrade`: judges the trials of a run again, without running them.

use assay_gateway::{Budget, Caps};
use assay_store::{JudgeModel, JudgeSpec, RunFolder};
use assay_trial::PreflightEvent;
use assay_trial::judging::{
    JudgeChanges, JudgePreflight, Panel, RegradedRun, RunRegrade, planned_judges, read_task_rubrics,
    regrade_run,
};
use serde_json::json;

use crate::args::judge::RegradeArgs;
use crate::asking::{describe_preflight, judge_progress, price_of};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;
use crate::{commands, machine};

pub(super) fn run(args: &RegradeArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = machine::open_store(&settings.store)?;
    let run = store.run(&args.run)?;
    let planned = planned_judges(&run)?;
    let rubrics = read_task_rubrics(&args.tasks)?;
    let spec = changes(args)?.apply_to(planned);
    check_judges(args, &spec, &run)?;
    let sandboxes = machine::sandboxes_for(settings)?;
    let panel = Panel::open(&spec, &args.scripts, &machine::context(&sandboxes, None)).map_err(|error| {
        let failure = Failure::bad_input(error.to_string());
        if spec.models.iter().any(|model| model.model.starts_with("scripted:")) {
            failure.hint("--scripts DIR names the folder of the judge's script")
        } else {
            failure
        }
    })?;
    let cancel = machine::interrupted()?;
    let regraded = regrade_run(&RunRegrade {
        store: &store,
        run: &run,
        panel: &panel,
        rubrics: &rubrics,
        name: args.name.as_deref(),
        budget: &Budget::new(Caps { usd: args.flags.access.max_usd, ..Caps::default() }),
        cancel: &cancel,
        concurrency: args.concurrency as usize,
        progress: &judge_progress(ui),
        preflight: JudgePreflight {
            directory: &args.scripts,
            env: &machine::env,
            on_event: &|event: &PreflightEvent| ui.note(&describe_preflight(event)),
        },
    })?;
    let Some(regraded) = regraded else { return Ok(Status::Interrupted) };
    for failed in regraded.failed.iter().take(5) {
        ui.note(&format!("warning: {failed}"));
    }
    let report = assay_analysis::report(&store, &regraded.run)?;
    print(&regraded, &report, ui)?;
    let is_broken = !regraded.failed.is_empty() || report.judged.as_ref().is_some_and(|found| found.blocked);
    Ok(if is_broken { Status::Infrastructure } else { Status::Done })
}

/// What the command line changes about the judges.
fn changes(args: &RegradeArgs) -> Result<JudgeChanges, Failure> {
    let price = price_of(&args.flags.access.price)?;
    let entry = |model: &String| JudgeModel {
        model: model.clone(),
        base_url: args.flags.access.base_url.clone(),
        server: None,
        api_key_env: args.flags.access.api_key_env.clone(),
        price,
    };
    Ok(JudgeChanges {
        models: args.judge.iter().map(entry).collect(),
        price,
        repeats: args.repeats,
        mode: args.mode.map(Into::into),
        material: args.material.iter().map(|material| (*material).into()).collect(),
    })
}

/// Refuses judges of a candidate's family, and paid ones without a cap.
fn check_judges(args: &RegradeArgs, spec: &JudgeSpec, run: &RunFolder) -> Result<(), Failure> {
    let candidates: Vec<&str> = run.agents.iter().filter_map(|agent| agent.label.model.as_deref()).collect();
    Panel::check_family(spec, &candidates)
        .map_err(|error| Failure::bad_input(error.to_string()).hint("use a judge of another vendor"))?;
    let max_usd = args.flags.access.max_usd;
    if max_usd.is_some() && spec.models.iter().any(|model| model.price.is_none()) {
        return Err(Failure::bad_input("--max-usd needs the prices of all judges").hint("--price IN,OUT"));
    }
    let paid = spec
        .models
        .iter()
        .find(|model| machine::is_paid(&model.model, model.base_url.as_deref(), model.price));
    match paid.filter(|_| max_usd.is_none() && !args.flags.no_cap) {
        Some(judge) => {
            Err(Failure::bad_input(format!("{} is a paid model, and this command has no cap", judge.model))
                .hint("--max-usd USD with --price, or --no-cap"))
        }
        None => Ok(()),
    }
}

fn print(regraded: &RegradedRun, report: &assay_analysis::Report, ui: &Ui) -> Result<(), Failure> {
    if ui.json() {
        let mut document = regraded.to_json();
        document["judged_report"] = json!(report.judged);
        document["comparisons"] = json!(report.comparisons);
        return ui.document(&document);
    }
    commands::report::print(report, ui)?;
    ui.out(&format!("\n{}", regraded.to_text()))
}
