//! `assay audit show`: two runs side by side.

use std::path::{Path, PathBuf};

use assay_analysis::audited::{read_trial, skill_text};
use assay_audit::calibrated::Run;
use assay_audit::evidence::SkillText;
use assay_audit::view::{View, view};
use assay_report::{Style, redact, view_html, view_text};
use assay_store::{Record, Store};
use assay_trace::Source;

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
    let (skill, name, known) = match (&args.skill, &with) {
        (Some(path), _) => {
            let skill = input::skill(path)?;
            let name = input::task_name(path, &skill);
            (skill, name.clone(), name)
        }
        (None, Chosen::Trial { store, record }) => find_skill(store, record)?,
        (None, Chosen::File(_)) => {
            return Err(Failure::bad_input("`--skill FILE` is missing")
                .hint("required unless --with is the id of a trial in the store"));
        }
    };
    let prompt = input::prompt(args.task.as_deref())?;
    let with = with.run(true, &known, &mut notices)?;
    let without = without.run(false, &known, &mut notices)?;
    let prompt = if args.task.is_some() { prompt } else { prompt_of(&without) };
    let shown = view(&name, &known, &prompt, &skill, with, without);
    match args.out.as_deref().filter(|out| out.as_os_str() != "-") {
        None => {
            ui.raw(&render_view(&shown, settings.format, ui.columns().unwrap_or(COLUMNS), ui.style())?)?;
        }
        Some(out) => {
            let format = format_of(out, settings.format)?;
            let text = render_view(&shown, format, COLUMNS, Style::default())?;
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
    /// A file of that name comes first; else it is the beginning of a trial's id.
    fn of(named: &Path, settings: &Settings) -> Result<Self, Failure> {
        let is_id = |text: &str| text.len() >= 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = named.to_str().filter(|text| is_id(text) && !named.exists() && settings.store.is_dir());
        let Some(id) = id else { return Ok(Self::File(named.to_owned())) };
        let store = machine::read_store(&settings.store)?;
        let id = store.find_trial(id)?;
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

/// The skill that a trial was given, of several the first that it opened; the name of the task; and
/// the name of the skill.
fn find_skill(store: &Store, record: &Record) -> Result<(SkillText, String, String), Failure> {
    let id = &record.trial;
    let opened: Vec<&str> = record
        .skills()
        .iter()
        .filter(|exposure| exposure.opened.is_some())
        .map(|exposure| exposure.skill.as_str())
        .collect();
    for name in store.run_names() {
        let run = store.run(&name)?;
        let Some(cell) = run.cells.iter().find(|cell| cell.trial == *id) else { continue };
        let mut provisions = run.provisions.iter();
        let provided = provisions.find(|own| own.task == cell.task && own.condition == cell.condition);
        let skills = provided.map_or(&[][..], |own| own.skills.as_slice());
        let chosen = skills.iter().find(|skill| opened.contains(&skill.name.as_str())).or(skills.first());
        if let Some(skill) = chosen {
            let text = skill_text(store, &run, skill)?;
            return Ok((text, cell.task.clone(), skill.name.clone()));
        }
    }
    Err(Failure::bad_input(format!("trial {} had no skill", id.short()))
        .hint("pass the trial with the skill as `--with`, or name a skill with `--skill FILE`"))
}

/// The view as text, with this machine's secrets redacted: agents may print them.
fn render_view(view: &View, format: Format, columns: usize, style: Style<'_>) -> Result<String, Failure> {
    let text = match format {
        Format::Terminal => view_text(view, columns, style),
        Format::Html => view_html(view),
        Format::Json => {
            let text = serde_json::to_string_pretty(view)
                .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
            text + "\n"
        }
        other => {
            let message = format!("audit show does not support --format {}", other.name());
            return Err(Failure::bad_input(message).hint("use --format terminal, html or json"));
        }
    };
    Ok(redact(&text, &machine::secrets()))
}
