//! `assay audit show`: two runs side by side.

use std::path::{Path, PathBuf};

use assay_analysis::audited::{known_skills, read_trial, skill_text};
use assay_audit::calibrated::{Run, audit_own};
use assay_audit::evidence::SkillText;
use assay_audit::view::{View, pair_runs, view_pair};
use assay_judge::DirectiveJudgement;
use assay_report::{Style, redact, view_html, view_text};
use assay_store::{Cell, Record, Store};
use assay_trace::Source;
use serde_json::json;

use super::ask::AuditModels;
use super::input;
use super::notices::Notices;
use crate::args::Format;
use crate::args::audit::ShowArgs;
use crate::commands::report::format_of;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// Columns if the terminal's width is unknown.
const COLUMNS: usize = 120;

pub(crate) fn run(args: &ShowArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let mut notices = Notices::new(ui);
    let (with, without) = (Chosen::of(&args.with, settings)?, Chosen::of(&args.without, settings)?);
    let mut models = AuditModels::new(None, &args.judge, settings, ui)?;
    let (skill, name, known, library) = match (&args.skill, &with) {
        (Some(path), _) => {
            let skill = input::skill(path)?;
            let name = input::task_name(path, &skill);
            (skill, name.clone(), name, Vec::new())
        }
        (None, Chosen::Trial { store, record }) => find_skill(store, record, &without)?,
        (None, Chosen::File(_)) => {
            return Err(Failure::bad_input("`--skill FILE` is missing")
                .hint("required unless --with is the id of a trial in the store"));
        }
    };
    let prompt = input::prompt(args.task.as_deref())?;
    let with = with.run(true, &known, &mut notices)?;
    let without = without.run(false, &known, &mut notices)?;
    let prompt = if args.task.is_some() { prompt } else { prompt_of(&without) };
    let runs = pair_runs(&name, &known, &prompt, &skill, [with, without]);
    let found = audit_own(&runs, &library);
    models.judge.iter_mut().for_each(|judge| judge.add_task(&runs, &found));
    let (shown, judged) = (view_pair(&runs, &found), models.finish()?);
    let judged = judged.as_ref();
    match args.out.as_deref().filter(|out| out.as_os_str() != "-") {
        None => {
            ui.raw(&render_view(
                &shown,
                judged,
                settings.format,
                ui.columns().unwrap_or(COLUMNS),
                ui.style(),
            )?)?;
        }
        Some(out) => {
            let format = format_of(out, settings.format)?;
            let text = render_view(&shown, judged, format, COLUMNS, Style::default())?;
            assay_fs::replace_file(out, text.as_bytes())
                .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", out.display())))?;
            ui.note(&format!("wrote {}", out.display()));
        }
    }
    Ok(notices.status(args.strict))
}

/// The value of `--with` or `--without`.
enum Chosen {
    File(PathBuf),
    Trial { store: Store, record: Box<Record> },
}

impl Chosen {
    /// The beginning of a trial's id, which a folder of that name does not hide; else a file. What is both is refused.
    fn of(named: &Path, settings: &Settings) -> Result<Self, Failure> {
        let is_id = |text: &str| text.len() >= 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = named.to_str().filter(|text| is_id(text) && settings.store.is_dir());
        let Some(id) = id else { return Ok(Self::File(named.to_owned())) };
        let store = machine::read_store(&settings.store)?;
        let id = match (store.find_trial(id), named.is_file()) {
            (Ok(_), true) => {
                let message = format!("{id} is both a file and the beginning of a trial's id");
                return Err(Failure::bad_input(message)
                    .hint(format!("./{id} is the file; more digits of the id are the trial")));
            }
            (Err(_), true) => return Ok(Self::File(named.to_owned())),
            (found, false) => found?,
        };
        let Some(record) = store.record(&id)? else {
            return Err(Failure::bad_input(format!("trial {} is not finished", id.short())));
        };
        Ok(Self::Trial { store, record: Box::new(record) })
    }

    /// The run; of a trial with its outcome, checks and files.
    fn run(&self, with: bool, skill: &str, notices: &mut Notices<'_>) -> Result<Run, Failure> {
        match self {
            Self::File(path) => input::run(path, with, notices),
            Self::Trial { store, record } => {
                let condition = record.condition.clone();
                let run = read_trial(store, Record::clone(record), &condition, skill, notices);
                run.ok_or_else(|| {
                    Failure::bad_input(format!(
                        "the trajectory of trial {} cannot be read",
                        record.trial.short()
                    ))
                })
            }
        }
    }
}

/// What the task says: what a run of a trial was told first. Transcripts of unknown origin may begin
/// with anything.
fn prompt_of(run: &Run) -> String {
    if run.name.trial.is_none() {
        return String::new();
    }
    let mut steps = run.trajectory.steps.iter();
    steps.find(|step| step.source == Source::User).map(|step| step.message.clone()).unwrap_or_default()
}

/// The skill that a trial was given, of several the first that it opened; the name of the task; the name of the skill;
/// and the skills whose text is no evidence. Of several runs with the trial, one that has the other trial, too.
fn find_skill(
    store: &Store,
    record: &Record,
    other: &Chosen,
) -> Result<(SkillText, String, String, Vec<SkillText>), Failure> {
    let id = &record.trial;
    let opened: Vec<&str> = record
        .skills()
        .iter()
        .filter(|exposure| exposure.opened.is_some())
        .map(|exposure| exposure.skill.as_str())
        .collect();
    let mut runs = store.run_names().iter().map(|name| store.run(name)).collect::<Result<Vec<_>, _>>()?;
    let is_other = |cell: &Cell| matches!(other, Chosen::Trial { record, .. } if record.trial == cell.trial);
    runs.sort_by_key(|run| !run.cells.iter().any(is_other));
    for run in runs {
        let Some(cell) = run.cells.iter().find(|cell| cell.trial == *id) else { continue };
        let mut provisions = run.provisions.iter();
        let provided = provisions.find(|own| own.task == cell.task && own.condition == cell.condition);
        let skills = provided.map_or(&[][..], |own| own.skills.as_slice());
        let chosen = skills.iter().find(|skill| opened.contains(&skill.name.as_str())).or(skills.first());
        if let Some(skill) = chosen {
            let text = skill_text(store, &run, skill)?;
            return Ok((text, cell.task.clone(), skill.name.clone(), known_skills(store, &run)));
        }
    }
    Err(Failure::bad_input(format!("trial {} had no skill", id.short()))
        .hint("pass the trial with the skill as `--with`, or name a skill with `--skill FILE`"))
}

/// The view as text, with this machine's secrets redacted: agents may print them.
fn render_view(
    view: &View,
    judged: Option<&DirectiveJudgement>,
    format: Format,
    columns: usize,
    style: Style<'_>,
) -> Result<String, Failure> {
    let text = match format {
        Format::Terminal => {
            let judged = judged.map_or_else(String::new, |judged| judged.to_text(true));
            view_text(view, columns, style) + &judged
        }
        Format::Html if judged.is_some() => {
            return Err(Failure::bad_input("audit show does not support --judge with --format html")
                .hint("use --format terminal or json"));
        }
        Format::Html => view_html(view),
        Format::Json => {
            let mut document = json!(view);
            if let (Some(fields), Some(judged)) = (document.as_object_mut(), judged) {
                fields.insert("judge".to_owned(), judged.to_document());
            }
            format!("{document:#}\n")
        }
        other => {
            let message = format!("audit show does not support --format {}", other.name());
            return Err(Failure::bad_input(message).hint("use --format terminal, html or json"));
        }
    };
    Ok(redact(&text, &machine::secrets()))
}
