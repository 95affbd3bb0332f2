//! `assay draft skill`: skills that a model writes.

mod sources;

use std::fs;
use std::path::{Path, PathBuf};

use assay_diagnostic::Severity;
use assay_draft::generate::{prompt, read_skills, request, version, write_skill};
use assay_report::{clean, counted};
use assay_safety::Bundle;
use assay_skill::Package;
use assay_skill::generated::{FILE, GeneratedSkill, GeneratedSkills, SCHEMA, SkillOrigin};
use serde_json::json;

use self::sources::SkillSources;
use super::ask::open_without_spending;
use crate::args::draft::{SkillArgs, SkillModelArgs, SkillWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(super) fn run(args: &SkillArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let (origin, model) = match &args.what {
        SkillWhat::Task(args) => (SkillOrigin::Task, &args.model),
        SkillWhat::Docs(args) => (SkillOrigin::Docs, &args.model),
        SkillWhat::Runs(args) => (SkillOrigin::Runs, &args.model),
    };
    let out = model.out.clone().unwrap_or_else(|| Path::new("generated").join(origin.name()));
    if out.symlink_metadata().is_ok() {
        return Err(Failure::bad_input(format!("{} exists", out.display())).hint("--out names a new folder"));
    }
    let sources = match &args.what {
        SkillWhat::Task(args) => sources::of_tasks(&args.tasks)?,
        SkillWhat::Docs(args) => sources::of_docs(&args.paths)?,
        SkillWhat::Runs(args) => sources::of_runs(&args.runs, &args.tasks, settings, ui)?,
    };
    if sources.material.is_cut() {
        ui.note("warning: the material is longer than a request may be; its parts were cut");
    }
    generate(origin, sources, model, &out, settings, ui)
}

fn generate(
    origin: SkillOrigin,
    sources: SkillSources,
    args: &SkillModelArgs,
    out: &Path,
    settings: &Settings,
    ui: &Ui,
) -> Result<Status, Failure> {
    let replies = settings.store.join("generated");
    let cancel = machine::interrupted()?;
    let model = open_without_spending(&args.flags, &args.model, replies, cancel, ui)?;
    let count = usize::from(args.skills);
    let request = request(origin, &sources.material, count);
    if args.dry_run {
        let tokens = assay_model::tokens(&request.system) + assay_model::tokens(&request.text);
        let (cached, usd) = (model.is_stored(&request)?, model.cap().priced(model.max_cost(&request)));
        if ui.json() {
            ui.document(&json!({
                "schema": "assay.generated-forecast/1", "tokens": tokens, "cached": cached, "max_usd": usd,
            }))?;
        } else {
            let cost = usd.map_or_else(String::new, |usd| format!(", at most ${usd:.2}"));
            let cached = if cached { "; its reply is cached" } else { "" };
            ui.out(&format!("1 request of {}{cost}{cached}\n", counted(tokens, "token", "tokens")))?;
        }
        return Ok(Status::Done);
    }
    let skills = model
        .answer_request(prompt(origin), &request, &|reply| {
            read_skills(reply, count).map_err(|error| error.to_string())
        })?
        .map_err(|fault| Failure::infrastructure(format!("cannot read the model's reply: {fault}")))?;
    let beside = folder_beside(out)?;
    let failed = |error: &dyn std::fmt::Display| {
        Failure::infrastructure(format!("cannot write the skills to {}: {error}", out.display()))
            .hint("check that the path is writable and has free space")
    };
    let mut generated = GeneratedSkills {
        schema: SCHEMA.to_owned(),
        origin,
        model: args.model.clone(),
        prompt: version(origin),
        skills: Vec::new(),
        tasks: sources.tasks,
        files: sources.files,
        trials: sources.trials,
    };
    for skill in &skills {
        write_skill(beside.path(), skill).map_err(|error| failed(&error))?;
        let package = open_safe(&beside.path().join(&skill.name), ui)?;
        generated.skills.push(GeneratedSkill { directory: skill.name.clone(), digest: package.digest });
    }
    let text = serde_json::to_string_pretty(&generated).map_err(|error| failed(&error))?;
    fs::write(beside.path().join(FILE), text + "\n").map_err(|error| failed(&error))?;
    fs::rename(beside.path(), out).map_err(|error| failed(&error))?;
    if ui.json() {
        ui.document(&generated)?;
        return Ok(Status::Done);
    }
    for skill in &skills {
        ui.out(&format!("{}: {}\n", out.join(&skill.name).display(), clean(&skill.description)))?;
    }
    ui.note(&format!(
        "next: add the condition \"generated-from-{}:DIR\" to an experiment whose tasks are not among the sources",
        origin.name()
    ));
    Ok(Status::Done)
}

/// A folder that takes the place of `out` when it is complete.
fn folder_beside(out: &Path) -> Result<tempfile::TempDir, Failure> {
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent: PathBuf = parent.unwrap_or(Path::new(".")).to_owned();
    let failed = |error| {
        Failure::bad_input(format!("cannot write to {}: {error}", parent.display()))
            .hint("check that the path is writable and has free space")
    };
    fs::create_dir_all(&parent).map_err(failed)?;
    tempfile::Builder::new().prefix(".generated-").tempdir_in(&parent).map_err(failed)
}

/// A skill that was written, unless it has a safety error.
fn open_safe(folder: &Path, ui: &Ui) -> Result<Package, Failure> {
    let Some(package) = Package::load(folder).package else {
        return Err(Failure::infrastructure("the model's skill cannot be read as a package".to_owned()));
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
        "the model wrote a skill with {}, so nothing is kept",
        counted(errors.len(), "safety error", "safety errors")
    ))
    .hint("the material may contain instructions to the model; read it"))
}
