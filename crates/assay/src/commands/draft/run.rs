//! `assay draft run`: the stages in their order.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_draft::author::DraftAuthor;
use assay_draft::experiment;
use assay_draft::prompts::{Intent, versions};
use assay_fs::{Caps, copy_tree};
use assay_report::clean;
use assay_skill::Package;
use serde_json::Value;

use super::ask::open_author;
use super::folder::{DraftFolder, State, make_folder};
use super::forecast::forecast;
use super::headroom::{FEWEST_TASKS, too_few};
use super::inputs::{copy_inputs, list_inputs};
use super::intents::{Intents, read_intents};
use super::subject::{Subject, describe_packages, digest_of, folders_of, names_of, open_skill, subject};
use super::{solvers, status, tasks, validate};
use crate::args::draft::{DraftRunArgs, DraftStage};
use crate::commands::task::review;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(super) fn run(args: &DraftRunArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let packages = args.skills.iter().map(|skill| open_skill(skill, ui)).collect::<Result<Vec<_>, _>>()?;
    check_different(&packages)?;
    let root = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("draft-{}", folders_of(&packages))));
    let folder = DraftFolder { root };
    let mut state = open_state(args, &folder, &packages, ui)?;
    // A new folder is made by one command only.
    let mut lock = if args.resume && !args.dry_run { Some(folder.lock()?) } else { None };
    let needs_now = describe_packages(&packages)?;
    let intents = match folder.read::<Intents>("intents.json")? {
        Some(intents) => intents.intents,
        None if args.intents.is_empty() => Vec::new(),
        None => read_intents(&args.intents, ui)?.intents,
    };
    let cancel = machine::interrupted()?;
    solvers::check_model(args.solver.as_deref(), &state.model)?;
    let model = open_author(&args.flags, &state.model, folder.path("replies"), cancel.clone(), ui)?;
    if !args.dry_run {
        if !args.resume {
            if args.stop_after > DraftStage::Needs {
                model.check_cap()?;
            }
            begin(args, &folder, &state, &packages, &intents, ui)?;
            lock = Some(folder.lock()?);
        }
        if folder.path("needs.json").symlink_metadata().is_err() {
            folder.write("needs.json", &needs_now)?;
        }
    }
    let needs = folder.read("needs.json")?.unwrap_or(needs_now);
    refuse_discarded(&needs, &folder)?;
    let inputs = match &args.inputs {
        Some(inputs) if args.dry_run => list_inputs(inputs),
        _ => list_inputs(&folder.path("inputs")),
    };
    let subject = subject(packages, &needs, intents, inputs);
    if args.dry_run {
        forecast(args, &folder, &state, &subject, &model, ui)?;
        return Ok(Status::Done);
    }
    let result = stages(args, settings, &folder, &mut state, &subject, &model, &cancel, ui);
    if cancel.load(Ordering::Relaxed) {
        ui.note("interrupted; `--resume` continues the draft");
        return Ok(Status::Interrupted);
    }
    let accepted = result?;
    drop(lock);
    status::print(&folder, Some(&model), ui)?;
    print_next(&folder, &state, &folders_of(&subject.packages), ui);
    Ok(if accepted { Status::Done } else { Status::DidNotHold })
}

#[expect(clippy::too_many_arguments, reason = "each stage needs most of them")]
/// Executes the stages. Returns whether there is something to measure, as far as it is known.
fn stages(
    args: &DraftRunArgs,
    settings: &Settings,
    folder: &DraftFolder,
    state: &mut State,
    subject: &Subject,
    model: &DraftAuthor,
    cancel: &Arc<AtomicBool>,
    ui: &Ui,
) -> Result<bool, Failure> {
    let count = state.tasks;
    let mut complete = |stage: DraftStage| {
        state.stage = state.stage.max(Some(stage));
        folder.write("draft.json", state).map(|()| args.stop_after <= stage)
    };
    if complete(DraftStage::Needs)? {
        return Ok(true);
    }
    let ideas = tasks::ideas(folder, subject, model, count)?;
    if complete(DraftStage::Ideas)? {
        return Ok(true);
    }
    tasks::write(folder, subject, model, &ideas, ui)?;
    if complete(DraftStage::Tasks)? {
        return Ok(!folder.tasks().is_empty());
    }
    folder.apply_rejections()?;
    validate::run(folder, subject, model, settings, ui)?;
    let names = folder.tasks();
    if names.is_empty() {
        complete(DraftStage::Validation)?;
        return Ok(false);
    }
    let has_rubrics = names.iter().any(|name| folder.task(name).join("tests/rubric.json").is_file());
    let name = &folders_of(&subject.packages);
    write_new(folder, "pilot.toml", &experiment::pilot(&run_name(name), has_rubrics))?;
    if complete(DraftStage::Validation)? {
        return Ok(true);
    }
    solvers::run(args, folder, model, cancel, settings, ui)?;
    let names = folder.tasks();
    if complete(DraftStage::Solvers)? || names.is_empty() {
        return Ok(!names.is_empty());
    }
    write_new(folder, "experiment.toml", &experiment::experiment(&run_name(name), has_rubrics))?;
    let tasks: Vec<PathBuf> = names.iter().map(|name| folder.task(name)).collect();
    review::write_reviews(&tasks, &subject.packages, &folder.path("reviews"), settings, ui)?;
    complete(DraftStage::Experiment)?;
    if folder.path("headroom.json").symlink_metadata().is_err() {
        ui.note("headroom has not been measured: tasks that always pass without the skill cannot show that it helps");
    }
    if !ui.json() {
        let permissions = args.permissions.permissions();
        let path = folder.path("experiment.toml");
        let forecast = crate::commands::plan::forecast_of(&path, permissions, settings)?;
        ui.out(&forecast)?;
    }
    Ok(true)
}

/// Writes a file that does not exist: one that was edited stays.
fn write_new(folder: &DraftFolder, name: &str, text: &str) -> Result<(), Failure> {
    if folder.path(name).symlink_metadata().is_ok() {
        return Ok(());
    }
    folder.write_text(name, text)
}

/// A name for a run.
fn run_name(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|sign| if sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.') { sign } else { '-' })
        .take(70)
        .collect();
    if name.starts_with(|sign: char| sign.is_ascii_alphanumeric()) { name } else { format!("skill{name}") }
}

/// The state of a new draft, or of the one in the folder.
fn open_state(
    args: &DraftRunArgs,
    folder: &DraftFolder,
    packages: &[Package],
    ui: &Ui,
) -> Result<State, Failure> {
    let root = folder.root.display();
    if !args.resume {
        if folder.root.symlink_metadata().is_ok() {
            return Err(Failure::bad_input(format!("{root} exists"))
                .hint("--resume continues the draft; --out chooses another folder"));
        }
        let model = args.model.clone().unwrap_or_default();
        let tasks = usize::from(args.tasks.unwrap_or(8));
        return Ok(State::new(names_of(packages), digest_of(packages), model, tasks));
    }
    let mut state = folder.state()?;
    if state.digest != digest_of(packages) {
        return Err(Failure::bad_input(format!("the skill is not the one that {root} was drafted for"))
            .hint("begin a new draft, or restore the skill; skills/ in the draft has a copy"));
    }
    if let Some(model) = args.model.as_ref().filter(|model| **model != state.model) {
        ui.note(&format!(
            "the draft continues with {model} instead of {}; its replies are not used",
            state.model
        ));
        state.model.clone_from(model);
    }
    if state.prompts != versions() {
        ui.note(
            "this version of assay has other prompts than the draft began with; its replies are not used",
        );
        state.prompts = versions();
    }
    Ok(state)
}

/// Refuses a skill that cannot be evaluated.
fn refuse_discarded(needs: &Value, folder: &DraftFolder) -> Result<(), Failure> {
    if needs["verdict"].as_str() != Some("discard") {
        return Ok(());
    }
    let unmet = needs["unmet"].as_array().into_iter().flatten();
    let ruled_out: Vec<String> = unmet
        .filter(|unmet| unmet["rules_out"] == true && unmet["double"].is_null())
        .map(|unmet| clean(unmet["category"].as_str().unwrap_or_default()))
        .collect();
    Err(Failure::bad_input(format!(
        "the skill cannot be evaluated here: nothing replaces {}",
        ruled_out.join(", ")
    ))
    .hint(format!(
        "if that is wrong, set `verdict` in {} to `usable` and use --resume",
        folder.path("needs.json").display()
    )))
}

/// Makes the folder, with copies of skills and inputs.
fn begin(
    args: &DraftRunArgs,
    folder: &DraftFolder,
    state: &State,
    packages: &[Package],
    intents: &[Intent],
    ui: &Ui,
) -> Result<(), Failure> {
    make_folder(&folder.path("skills"))?;
    for package in packages {
        let copy = folder.path("skills").join(&package.directory);
        let report = copy_tree(&package.root, &copy, &Caps::default())
            .map_err(|error| Failure::infrastructure(format!("cannot copy the skill: {error}")))?;
        for left_out in &report.left_out {
            ui.note(&format!("not copied: {}: {}", left_out.path.display(), left_out.reason));
        }
    }
    if let Some(inputs) = &args.inputs {
        copy_inputs(inputs, &folder.path("inputs"))?;
    }
    if !intents.is_empty() {
        let schema = "assay.draft-intents/1".to_owned();
        folder.write("intents.json", &Intents { schema, intents: intents.to_vec() })?;
    }
    folder.write("draft.json", state)
}

/// Refuses a skill that is named twice: copies of both could not lie side by side.
fn check_different(packages: &[Package]) -> Result<(), Failure> {
    for (at, package) in packages.iter().enumerate() {
        if packages[..at]
            .iter()
            .any(|other| other.directory == package.directory || other.name == package.name)
        {
            return Err(Failure::bad_input(format!(
                "two of the skills are called {}",
                clean(&package.directory)
            )));
        }
    }
    Ok(())
}

/// What to do about files that still have the model that they were written with.
fn set_models(folder: &DraftFolder, files: &[&str]) -> String {
    let needs = |file: &&&str| {
        let text = std::fs::read_to_string(folder.path(file)).unwrap_or_default();
        assay_draft::experiment::needs_model(&text)
    };
    let unset: Vec<String> =
        files.iter().filter(needs).map(|file| folder.path(file).display().to_string()).collect();
    if unset.is_empty() { String::new() } else { format!("set the model in {}, then ", unset.join(" and ")) }
}

fn print_next(folder: &DraftFolder, state: &State, name: &str, ui: &Ui) {
    let root = folder.root.display();
    let run = run_name(name);
    let next = match state.stage {
        Some(DraftStage::Experiment) if folder.tasks().len() < FEWEST_TASKS => {
            ui.note(&too_few(folder, &folder.tasks().len().to_string()));
            return;
        }
        Some(DraftStage::Experiment) => format!(
            "{}`assay run {root}/pilot.toml` and `assay draft headroom {root} --run {run}-pilot`, then `assay run \
             {root}/experiment.toml`",
            set_models(folder, &["experiment.toml", "pilot.toml"])
        ),
        Some(DraftStage::Validation | DraftStage::Solvers) if !folder.tasks().is_empty() => format!(
            "{}`assay run {root}/pilot.toml` and `assay draft headroom {root} --run {run}-pilot`; --resume writes the \
             experiment",
            set_models(folder, &["pilot.toml"])
        ),
        Some(DraftStage::Validation | DraftStage::Solvers) => {
            format!("see {root}/infeasible.json for the reasons")
        }
        _ => format!("review the files in {root}, then run the command again with --resume"),
    };
    ui.note(&format!("next: {next}"));
}
