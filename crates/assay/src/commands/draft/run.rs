//! `assay draft run`: the stages in their order.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use assay_diagnostic::Severity;
use assay_draft::needs;
use assay_draft::prompts::{SkillText, describe_needs, versions};
use assay_draft::{experiment, prompts};
use assay_fs::{Caps, copy_tree};
use assay_report::{clean, counted};
use assay_safety::Bundle;
use assay_skill::{FileKind, Package};
use serde_json::{Value, json};

use super::ask::DraftModel;
use super::folder::{DraftFolder, Ideas, State, make_folder};
use super::needs::Line;
use super::{status, tasks, validate};
use crate::args::draft::{DraftRunArgs, DraftStage};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// Most bytes of a text of the package that tasks are compared with, and of a package that is copied.
const EXAMPLE_BYTES: u64 = 64 << 10;

/// Most repairs of a task.
pub(super) const MOST_REPAIRS: usize = 2;

/// A skill whose evaluation is drafted.
pub(super) struct Subject {
    pub(super) package: Package,
    pub(super) text: SkillText,
    /// Texts of the package that tasks must not resemble, by path.
    pub(super) examples: Vec<(String, String)>,
}

pub(super) fn run(args: &DraftRunArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let package = open_skill(&args.skill, ui)?;
    let root = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("draft-{}", package.directory)));
    let folder = DraftFolder { root };
    let mut state = open_state(args, &folder, &package, ui)?;
    let needs_now = describe_package(&package)?;
    let cancel = machine::interrupted()?;
    let model = DraftModel::open(args, &state.model, folder.path("replies"), cancel.clone())?;
    if !args.dry_run {
        if !args.resume {
            if args.stop_after > DraftStage::Needs {
                model.check_cap()?;
            }
            begin(&folder, &state, &package, ui)?;
        }
        if folder.path("needs.json").symlink_metadata().is_err() {
            folder.write("needs.json", &needs_now)?;
        }
    }
    let needs = folder.read("needs.json")?.unwrap_or(needs_now);
    refuse_discarded(&needs, &folder)?;
    let subject = subject(package, &needs);
    if args.dry_run {
        forecast(args, &folder, &state, &subject, &model, ui)?;
        return Ok(Status::Done);
    }
    let result = stages(args, settings, &folder, &mut state, &subject, &model, ui);
    if cancel.load(Ordering::Relaxed) {
        ui.note("interrupted; `--resume` continues the draft");
        return Ok(Status::Interrupted);
    }
    let accepted = result?;
    status::print(&folder, Some(&model), ui)?;
    print_next(&folder, &state, &subject.package, ui);
    Ok(if accepted { Status::Done } else { Status::DidNotHold })
}

/// Executes the stages. Returns whether there is something to measure, as far as it is known.
fn stages(
    args: &DraftRunArgs,
    settings: &Settings,
    folder: &DraftFolder,
    state: &mut State,
    subject: &Subject,
    model: &DraftModel<'_>,
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
    validate::run(folder, subject, model, settings, ui)?;
    let names = folder.tasks();
    if names.is_empty() {
        complete(DraftStage::Validation)?;
        return Ok(false);
    }
    let has_rubrics = names.iter().any(|name| folder.task(name).join("tests/rubric.json").is_file());
    let name = &subject.package.directory;
    write_new(folder, "pilot.toml", &experiment::pilot(&run_name(name), has_rubrics))?;
    if complete(DraftStage::Validation)? {
        return Ok(true);
    }
    write_new(folder, "experiment.toml", &experiment::experiment(&run_name(name), has_rubrics))?;
    complete(DraftStage::Experiment)?;
    if folder.path("headroom.json").symlink_metadata().is_err() {
        ui.note("headroom has not been measured: tasks that always pass without the skill cannot show that it helps");
    }
    if !ui.json() {
        let forecast = crate::commands::plan::forecast_of(&folder.path("experiment.toml"), settings)?;
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

/// Reads a skill, and refuses one with a safety error.
fn open_skill(path: &Path, ui: &Ui) -> Result<Package, Failure> {
    let root = path
        .canonicalize()
        .map(|path| folder_of(&path))
        .map_err(|error| Failure::bad_input(format!("cannot open the skill {}: {error}", path.display())))?;
    let loaded = Package::load(&root);
    let Some(package) = loaded.package else {
        for diagnostic in &loaded.diagnostics {
            ui.note(&diagnostic.to_string());
        }
        return Err(Failure::bad_input(format!("{} contains no readable SKILL.md", path.display())));
    };
    let found = assay_safety::scan(&Bundle::read(&package));
    let errors: Vec<_> = found.iter().filter(|finding| finding.severity == Severity::Error).collect();
    if errors.is_empty() {
        return Ok(package);
    }
    for finding in &errors {
        ui.note(&format!("{}: {}: {}", clean(&finding.path), finding.rule.code, clean(&finding.message)));
    }
    Err(Failure::bad_input(format!(
        "the skill {} has {}, so nothing is drafted for it",
        clean(&package.name),
        counted(errors.len(), "safety error", "safety errors")
    ))
    .hint("`assay lint` explains them"))
}

/// The folder that a path to a skill means: the folder itself, or that of its document.
fn folder_of(path: &Path) -> PathBuf {
    let parent = path.parent().unwrap_or(Path::new("."));
    if path.is_dir() { path.to_owned() } else { parent.to_owned() }
}

/// The state of a new draft, or of the one in the folder.
fn open_state(
    args: &DraftRunArgs,
    folder: &DraftFolder,
    package: &Package,
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
        return Ok(State::new(package.name.clone(), package.digest.to_string(), model, tasks));
    }
    let mut state = folder.state()?;
    if state.digest != package.digest.to_string() {
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

/// The document of `assay draft needs` for a package.
fn describe_package(package: &Package) -> Result<Value, Failure> {
    let loaded = needs::load(&package.root);
    let Some(skill) = loaded.skill else {
        return Err(Failure::bad_input(format!("{} contains no readable SKILL.md", package.root.display())));
    };
    let found = needs::find(&skill.document, &skill.scripts);
    let line = Line::new(skill.name, "SKILL.md".to_owned(), found, &machine::programs());
    serde_json::to_value(line).map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))
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

fn subject(package: Package, needs: &Value) -> Subject {
    let files: Vec<String> = package
        .files
        .iter()
        .filter(|file| file.kind == FileKind::File && file.path != "SKILL.md")
        .map(|file| file.path.clone())
        .take(200)
        .collect();
    let examples = files
        .iter()
        .filter_map(|path| {
            let content = assay_fs::read_within(&package.root, Path::new(path), EXAMPLE_BYTES).ok()?;
            Some((path.clone(), String::from_utf8(content.bytes).ok()?))
        })
        .collect();
    let text = SkillText {
        name: package.name.clone(),
        document: package.document.clone(),
        files,
        needs: describe_needs(needs),
        doubles: needs["unmet"]
            .as_array()
            .is_some_and(|unmet| unmet.iter().any(|one| !one["double"].is_null())),
    };
    Subject { package, text, examples }
}

/// Makes the folder, with a copy of the skill.
fn begin(folder: &DraftFolder, state: &State, package: &Package, ui: &Ui) -> Result<(), Failure> {
    let copy = folder.path("skills").join(&package.directory);
    make_folder(&folder.path("skills"))?;
    let caps = Caps::default();
    let report = copy_tree(&package.root, &copy, &caps)
        .map_err(|error| Failure::infrastructure(format!("cannot copy the skill: {error}")))?;
    for left_out in &report.left_out {
        ui.note(&format!("not copied: {}: {}", left_out.path.display(), left_out.reason));
    }
    folder.write("draft.json", state)
}

/// Prints what remains to be asked, and what it costs at most.
fn forecast(
    args: &DraftRunArgs,
    folder: &DraftFolder,
    state: &State,
    subject: &Subject,
    model: &DraftModel<'_>,
    ui: &Ui,
) -> Result<(), Failure> {
    let (mut requests, mut cached, mut usd) = (0, 0, 0.0);
    let mut count = |request: &assay_judge::Request| {
        if model.is_stored(request) {
            cached += 1;
        } else {
            requests += 1;
            usd += model.budget().max_cost(request);
        }
    };
    let ideas: Option<Ideas> = folder.read("ideas.json")?;
    if ideas.is_none() && args.stop_after >= DraftStage::Ideas {
        count(&prompts::request_ideas(&subject.text, state.tasks));
    }
    let (known, unknown) = match &ideas {
        Some(ideas) => (&ideas.ideas[..], 0),
        None => (&[][..], state.tasks),
    };
    let mut open = 0;
    for idea in known {
        if folder.proposal(&idea.name)?.is_none() {
            open += 1;
            if args.stop_after >= DraftStage::Tasks {
                count(&tasks::request(subject, idea, known));
            }
        }
    }
    // The files of an idea that is not known yet, and repairs, are requests of unknown length: at most that of the skill, and
    // a reply of full length.
    let longest = prompts::request_ideas(&subject.text, state.tasks);
    let tokens = assay_model::tokens(&longest.text) + 4_000;
    let reply = usize::try_from(assay_trial::judging::REPLY_TOKENS).unwrap_or(usize::MAX);
    if args.stop_after >= DraftStage::Tasks {
        requests += unknown;
        usd += unknown as f64 * model.budget().max_cost_of(tokens);
    }
    let validates = args.stop_after >= DraftStage::Validation;
    let repairs = if validates { MOST_REPAIRS * (open + unknown) } else { 0 };
    usd += repairs as f64 * model.budget().max_cost_of(tokens + reply);
    let max_usd = model.budget().priced(usd);
    if ui.json() {
        return ui.document(&json!({
            "schema": "assay.draft-forecast/1", "requests": requests, "repairs": repairs, "cached": cached,
            "max_usd": max_usd, "spent_usd": model.budget().cost_usd(),
        }));
    }
    let cost = max_usd.map_or_else(String::new, |usd| format!(", at most ${usd:.2}"));
    ui.out(&format!(
        "{} and at most {} ({cached} cached){cost}\n",
        counted(requests, "request", "requests"),
        counted(repairs, "repair", "repairs"),
    ))
}

fn print_next(folder: &DraftFolder, state: &State, package: &Package, ui: &Ui) {
    let root = folder.root.display();
    let run = run_name(&package.directory);
    let next = match state.stage {
        Some(DraftStage::Experiment) => format!(
            "set the model in {root}/experiment.toml and pilot.toml, then `assay run {root}/pilot.toml` and `assay draft \
             headroom {root} --run {run}-pilot`, then `assay run {root}/experiment.toml`"
        ),
        Some(DraftStage::Validation) if !folder.tasks().is_empty() => format!(
            "set the model in {root}/pilot.toml, then `assay run {root}/pilot.toml` and `assay draft headroom {root} --run \
             {run}-pilot`; --resume writes the experiment"
        ),
        Some(DraftStage::Validation) => format!("see {root}/infeasible.json for the reasons"),
        _ => format!("review the files in {root}, then run the command again with --resume"),
    };
    ui.note(&format!("next: {next}"));
}
