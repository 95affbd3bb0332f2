//! `assay init`: something to begin with.

mod ci;
mod files;

use std::fs;
use std::path::{Path, PathBuf};

use assay_diagnostic::{chain, counted};
use assay_fs::{Caps, copy_tree};
use assay_gate::scaffold::escape_toml;
use assay_report::shell_word;
use assay_skill::Package;
use assay_task::plugin_eval::write_new_folder;
use assay_trial::make_plugin_experiment;

use self::files::{ignore_store, write};
use crate::args::init::{InitArgs, InitWhat};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

const EXPERIMENT: &str = include_str!("../templates/experiment.toml");
const TASK: &str = include_str!("../templates/task.toml");
const INSTRUCTION: &str = include_str!("../templates/instruction.md");
const DOCKERFILE: &str = include_str!("../templates/Dockerfile");
const TEST: &str = include_str!("../templates/test.sh");
const SOLUTION: &str = include_str!("../templates/solve.sh");

pub(crate) fn run(args: InitArgs, ui: &Ui) -> Result<Status, Failure> {
    match args.what {
        InitWhat::Experiment { dir, from_plugin: Some(plugin) } => return experiment_of(&dir, &plugin, ui),
        InitWhat::Experiment { dir, from_plugin: None } => experiment(&dir, ui)?,
        InitWhat::Ci { dir, experiment, revision } => {
            ci::run(&dir, experiment.as_deref(), revision.as_deref(), ui)?;
        }
        InitWhat::Task { skill, out } => task(&skill, out, ui)?,
    }
    Ok(Status::Done)
}

fn experiment(dir: &Path, ui: &Ui) -> Result<(), Failure> {
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let name = run_name(&absolute.file_name().unwrap_or_default().to_string_lossy());
    write(&dir.join("experiment.toml"), &EXPERIMENT.replace("{name}", &name), false, ui)?;
    for name in ["skills", "tasks"] {
        let folder = dir.join(name);
        fs::create_dir_all(&folder).map_err(|error| {
            Failure::infrastructure(format!("cannot create {}: {error}", folder.display()))
        })?;
        ui.out(&format!("{}/\n", folder.display()))?;
    }
    ignore_store(dir, ui)?;
    let at = |path: &str| {
        let path = dir.join(path);
        shell_word(&path.strip_prefix(".").unwrap_or(&path).to_string_lossy())
    };
    ui.note(&format!(
        "next: copy a skill into {}, write tasks with `assay init task {} --out {}`, then `assay run {}`",
        at("skills"),
        at("skills/NAME"),
        at("tasks/NAME"),
        at("experiment.toml")
    ));
    Ok(())
}

/// Writes an experiment from the suite of a plugin.
fn experiment_of(dir: &Path, plugin: &Path, ui: &Ui) -> Result<Status, Failure> {
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let name = run_name(&absolute.file_name().unwrap_or_default().to_string_lossy());
    let bad = |error: &dyn std::error::Error| Failure::bad_input(chain(error));
    let made = make_plugin_experiment(&name, plugin).map_err(|error| bad(&error).hint(error.hint()))?;
    made.notes.iter().for_each(|note| ui.note(note));
    if made.tasks.is_empty() {
        return Err(Failure::bad_input("no case can be used").hint("correct the cases that are named above"));
    }
    let file = dir.join("experiment.toml");
    write(&file, &made.experiment, false, ui)?;
    fs::create_dir_all(dir.join("skills")).map_err(|error| bad(&error))?;
    for skill in &made.skills {
        let folder = dir.join("skills").join(&skill.folder);
        copy_tree(&skill.path, &folder, &Caps::default()).map_err(|error| bad(&error))?;
        ui.out(&format!("{}/\n", folder.display()))?;
    }
    for task in &made.tasks {
        let folder = dir.join("tasks").join(&task.name);
        write_new_folder(&folder, &task.files).map_err(|error| bad(&error))?;
        ui.out(&format!("{}/\n", folder.display()))?;
    }
    ignore_store(dir, ui)?;
    ui.note(&format!("{} written, {} left out", counted(made.tasks.len(), "case", "cases"), made.left_out));
    let file = file.strip_prefix(".").unwrap_or(&file).to_string_lossy();
    ui.note(&format!("next: set the model in {file}, then `assay run {}`", shell_word(&file)));
    Ok(if made.left_out > 0 { Status::DidNotHold } else { Status::Done })
}

fn task(skill: &Path, out: Option<PathBuf>, ui: &Ui) -> Result<(), Failure> {
    let folder =
        if skill.is_dir() { skill.to_owned() } else { skill.parent().unwrap_or(Path::new(".")).to_owned() };
    let folder = folder
        .canonicalize()
        .map_err(|error| Failure::bad_input(format!("cannot open the skill {}: {error}", skill.display())))?;
    let loaded = Package::load(&folder);
    for diagnostic in &loaded.diagnostics {
        ui.note(&diagnostic.to_string());
    }
    let package = loaded
        .package
        .ok_or_else(|| Failure::bad_input(format!("{} contains no readable SKILL.md", folder.display())))?;
    let out = out.unwrap_or_else(|| Path::new("tasks").join(&package.directory));
    let description = package.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let fill = |text: &str| {
        text.replace("{skill}", &escape_toml(&package.name))
            .replace("{description}", &description.replace("-->", "→"))
            .replace("{name}", &run_name(&package.directory))
    };
    for (path, text, executable) in [
        ("task.toml", TASK, false),
        ("instruction.md", INSTRUCTION, false),
        ("environment/Dockerfile", DOCKERFILE, false),
        ("tests/test.sh", TEST, true),
        ("solution/solve.sh", SOLUTION, true),
    ] {
        write(&out.join(path), &fill(text), executable, ui)?;
    }
    ui.note(&format!(
        "next: fill in the instruction, tests and solution, then run `assay task check {}`: the solution must pass",
        out.display()
    ));
    Ok(())
}

fn run_name(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .take(80)
        .collect();
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) { name } else { "experiment".to_owned() }
}
