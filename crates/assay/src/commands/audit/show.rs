//! `assay audit show`: two runs side by side.

use assay_audit::view::{View, view};
use assay_report::{Style, redact, view_html, view_text};

use super::args::ShowArgs;
use super::{Notices, input};
use crate::args::Format;
use crate::commands::report::format_of;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// Columns where nobody says how many there are.
const COLUMNS: usize = 120;

pub(crate) fn run(args: &ShowArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let mut notices = Notices::new(ui);
    let (skill, prompt) = (input::skill(&args.skill)?, input::prompt(args.task.as_deref())?);
    let with = input::run(&args.with, true, &mut notices)?;
    let without = input::run(&args.without, false, &mut notices)?;
    let shown = view(&input::task_name(&args.skill, &skill), &prompt, &skill, with, without);
    match args.out.as_deref().filter(|out| out.as_os_str() != "-") {
        None => ui.out(&laid_out(&shown, settings.format, ui.columns().unwrap_or(COLUMNS), ui.style())?)?,
        Some(out) => {
            let format = format_of(out, settings.format);
            let text = laid_out(&shown, format, COLUMNS, Style::default())?;
            std::fs::write(out, text)
                .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", out.display())))?;
            ui.note(&format!("{} shows the two runs", out.display()));
        }
    }
    Ok(notices.status(args.strict))
}

/// The view as text, without this machine's secrets: what agents print may hold them.
fn laid_out(view: &View, format: Format, columns: usize, style: Style) -> Result<String, Failure> {
    let text = match format {
        Format::Terminal => view_text(view, columns, style),
        Format::Html => view_html(view),
        Format::Json => {
            let text = serde_json::to_string_pretty(view)
                .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
            text + "\n"
        }
        other => {
            let message = format!("two runs are not shown as {}", other.name());
            return Err(Failure::bad_input(message).hint("--format terminal, html or json"));
        }
    };
    Ok(redact(&text, &machine::secrets()))
}
