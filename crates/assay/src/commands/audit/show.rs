//! `assay audit show`: two runs side by side.

use std::path::{Path, PathBuf};

use assay_audit::evidence::SkillText;
use assay_audit::view::{View, view};
use assay_report::{Style, redact, view_html, view_text};
use assay_store::{Store, TrialId};

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
    let (skill, name) = match (&args.skill, &with) {
        (Some(path), _) => {
            let skill = input::skill(path)?;
            let name = input::task_name(path, &skill);
            (skill, name)
        }
        (None, Chosen::Trial { store, id, .. }) => find_skill(store, id)?,
        (None, Chosen::File(_)) => {
            return Err(Failure::bad_input("`--skill FILE` is missing")
                .hint("required unless --with is the id of a trial in the store"));
        }
    };
    let prompt = input::prompt(args.task.as_deref())?;
    let with = input::run(with.path(), true, &mut notices)?;
    let without = input::run(without.path(), false, &mut notices)?;
    let shown = view(&name, &prompt, &skill, with, without);
    match args.out.as_deref().filter(|out| out.as_os_str() != "-") {
        None => {
            ui.raw(&render_view(&shown, settings.format, ui.columns().unwrap_or(COLUMNS), ui.style())?)?;
        }
        Some(out) => {
            let format = format_of(out, settings.format)?;
            let text = render_view(&shown, format, COLUMNS, Style::default())?;
            std::fs::write(out, text)
                .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", out.display())))?;
            ui.note(&format!("wrote {}", out.display()));
        }
    }
    Ok(notices.status(args.strict))
}

/// The value of `--with` or `--without`.
enum Chosen {
    File(PathBuf),
    Trial { store: Store, id: TrialId, path: PathBuf },
}

impl Chosen {
    /// A file of that name comes first; else it is the beginning of a trial's id.
    fn of(named: &Path, settings: &Settings) -> Result<Self, Failure> {
        let is_id = |text: &str| text.len() >= 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = named.to_str().filter(|text| is_id(text) && !named.exists() && settings.store.is_dir());
        let Some(id) = id else { return Ok(Self::File(named.to_owned())) };
        let store = Store::open(&settings.store)?;
        let id = store.find_trial(id)?;
        let Some(record) = store.record(&id)? else {
            return Err(Failure::bad_input(format!("trial {} is not finished", id.short())));
        };
        let attempt = store.trial_folder(&id).join("attempts").join(record.attempt.to_string());
        Ok(Self::Trial { store, id, path: attempt.join("trajectory.json") })
    }

    fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Trial { path, .. } => path,
        }
    }
}

/// The skill that a trial was given, of several the first that it opened, and the name of the task.
fn find_skill(store: &Store, id: &TrialId) -> Result<(SkillText, String), Failure> {
    let record = store.record(id)?;
    let opened: Vec<&str> = record
        .iter()
        .flat_map(|record| &record.exposure)
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
            return Ok((SkillText::parse(&store.skill(&skill.digest)?), cell.task.clone()));
        }
    }
    Err(Failure::bad_input(format!("trial {} had no skill", id.short()))
        .hint("pass the trial with the skill as `--with`, or name a skill with `--skill FILE`"))
}

/// The view as text, with this machine's secrets redacted: agents may print them.
fn render_view(view: &View, format: Format, columns: usize, style: Style) -> Result<String, Failure> {
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
