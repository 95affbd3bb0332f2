//! `assay plan`: cost, duration and statistical power of an experiment before it runs.

use std::path::Path;

use assay_analysis::{Execution, PlanRequest};
use assay_gate::register_plan;
use assay_report::{clean, forecast_text};
use assay_store::Store;
use assay_trial::{Experiment, MachineContext, Permissions, Plan};

use crate::args::plan::PlanArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;
use crate::{machine, prices};

pub(crate) fn run(args: &PlanArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    for (flag, value) in
        [("--lift", args.lift), ("--equivalence-margin", args.equivalence_margin), ("--p", args.p)]
    {
        if value.is_some_and(|value| !value.is_finite()) {
            return Err(Failure::bad_input(format!("`{flag}` must be a number, such as 0.1")));
        }
    }
    let mut experiment = Experiment::load(&args.experiment)?;
    prices::fill(&mut experiment, args.prices.as_deref(), settings)?;
    experiment.same_server = super::run::same_servers(&args.same_server)?;
    let store = machine::read_store(&settings.store)?;
    let sandboxes = machine::sandboxes_for(settings)?;
    let permissions = args.permissions.permissions();
    let here = MachineContext { dry: true, permissions, ..machine::context(&sandboxes, None) };
    let plan = Plan::build(experiment, &store, &here)?;
    plan.require_trials()?;
    if let Some(folder) = &args.specs {
        plan.write_specs(folder).map_err(|error| Failure::infrastructure(error.to_string()))?;
    }
    super::dependencies::warn(&plan, &plan.resolver(&store, &here), ui);
    let request = PlanRequest { lift: args.lift, equivalence_margin: args.equivalence_margin, p: args.p };
    let forecast = assay_analysis::forecast(&plan.run_folder(), &execution(&plan, &store)?, &store, request)?;
    if ui.json() {
        ui.document(&forecast)?;
    } else {
        ui.out(&forecast_text(&forecast))?;
    }
    for note in plan.describe_other_servers() {
        ui.note(&note);
    }
    for warning in &forecast.warnings {
        ui.note(&clean(warning));
    }
    if args.register {
        let folder = plan.run_folder();
        let registered = register_plan(&plan.experiment.directory, &folder.run, &folder.plan);
        ui.note(&registered.map_err(|error| Failure::bad_input(error.to_string()))?.sentence());
    }
    // An unattainable request or an unreadable task is an error before any money is spent.
    let attainable = forecast.impossible.is_empty() && plan.unreadable.is_empty();
    Ok(if attainable { Status::Done } else { Status::DidNotHold })
}

/// The forecast of an experiment, as text.
pub(super) fn forecast_of(
    path: &Path,
    permissions: Permissions,
    settings: &Settings,
) -> Result<String, Failure> {
    let mut experiment = Experiment::load(path)?;
    prices::fill(&mut experiment, None, settings)?;
    let store = machine::read_store(&settings.store)?;
    let sandboxes = machine::sandboxes_for(settings)?;
    let here = MachineContext { dry: true, permissions, ..machine::context(&sandboxes, None) };
    let plan = Plan::build(experiment, &store, &here)?;
    let execution = execution(&plan, &store)?;
    let forecast = assay_analysis::forecast(&plan.run_folder(), &execution, &store, PlanRequest::default())?;
    Ok(forecast_text(&forecast))
}

/// The parts of a plan's execution that a forecast depends on.
fn execution(plan: &Plan, store: &Store) -> Result<Execution, Failure> {
    Ok(Execution {
        concurrency: plan.experiment.concurrency,
        limits: plan.limits(),
        trial_caps: plan.trial_caps(),
        several_rewards: plan.several_rewards(store)?,
    })
}
