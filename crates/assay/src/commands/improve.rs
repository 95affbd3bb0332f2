//! `assay improve`: which parts of a skill carry its lift.

use assay_improve::shrink::ShrinkDocument;
use assay_improve::shrink::campaign::{ShrinkError, ShrinkMachine, ShrinkRequest, shrink_skill};
use assay_skill::Package;
use assay_trial::{Event, Experiment, MachineContext};

use crate::args::improve::{ImproveArgs, ImproveWhat, ShrinkArgs};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::progress::Progress;
use crate::ui::Ui;
use crate::{machine, prices};

pub(crate) fn run(args: &ImproveArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let ImproveWhat::Shrink(args) = &args.what;
    shrink(args, settings, ui)
}

fn shrink(args: &ShrinkArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if let Some(out) = args.out.as_ref().filter(|out| out.exists()) {
        return Err(Failure::bad_input(format!("{} exists already", out.display())));
    }
    let no_skill = || Failure::bad_input(format!("{} contains no skill", args.skill.display()));
    let skill = Package::load(&args.skill).package.ok_or_else(no_skill)?;
    let mut experiment = Experiment::load(&args.experiment)?;
    prices::fill(&mut experiment, None, settings)?;
    let store = machine::open_store(&settings.store)?;
    let cancel = machine::interrupted()?;
    let sandboxes = machine::sandboxes_for(settings)?;
    let context =
        MachineContext { permissions: args.permissions.permissions(), ..machine::context(&sandboxes, None) };
    let request = ShrinkRequest {
        skill,
        experiment,
        budget: args.max_trials,
        margin: args.margin,
        jobs: args.jobs.map(usize::from),
    };
    let mut progress = Progress::new(ui);
    let mut on_event = |event: Event<'_>| progress.report(&event);
    let machine = ShrinkMachine { store: &store, context: &context, cancel: &cancel };
    let found = shrink_skill(&request, &machine, &mut on_event).map_err(failure_of);
    progress.finish();
    let found = found?;
    let document = ShrinkDocument::finish(&request.skill, &found, args.out.as_deref()).map_err(failure_of)?;
    if ui.json() {
        ui.document(&document)?;
    } else {
        ui.out(document.to_text())?;
    }
    Ok(Status::Done)
}

fn failure_of(error: ShrinkError) -> Failure {
    let message = error.to_string();
    match error {
        ShrinkError::Plan(error) => error.into(),
        ShrinkError::Run(error) => error.into(),
        ShrinkError::Store(error) => error.into(),
        ShrinkError::Unrecorded { .. } => {
            Failure::bad_input(message).hint("`assay run` on the experiment executes them first")
        }
        ShrinkError::Unfinished { .. } | ShrinkError::Stuck => Failure::infrastructure(message),
        _ => Failure::bad_input(message),
    }
}
