//! `assay appraise`: a second opinion on results of another tool.

use std::path::Path;

use assay_analysis::appraise::{Appraisal, AppraisalOptions, appraise_results};
use assay_report::{Style, appraisal_badge, appraisal_html, appraisal_markdown, appraisal_text, redact};
use assay_trial::import::parse_range;
use assay_trial::import::results::{ResultColumns, read_results};

use super::report::format_of;
use crate::args::Format;
use crate::args::appraise::AppraiseArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &AppraiseArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if !(args.margin > 0.0 && args.margin < 1.0) {
        return Err(Failure::bad_input(format!(
            "--margin {}: expected a number between 0 and 1",
            args.margin
        )));
    }
    let options = AppraisalOptions {
        baseline: args.baseline.clone(),
        arm: args.arm.clone(),
        margin: args.margin,
        range: parse_range(&args.range)?,
        ..AppraisalOptions::default()
    };
    let results = read_results(&args.path, &parse_columns(&args.columns)?)?;
    let appraisal = appraise_results(&results, &options)?;
    if let Some(badge) = &args.badge {
        write_file(badge, &appraisal_badge(&appraisal), ui)?;
    }
    if let Some(out) = args.out.as_deref().filter(|out| *out != Path::new("-")) {
        let text = render(&appraisal, format_of(out, settings.format)?, Style::default())?;
        write_file(out, &text, ui)?;
    } else {
        let text = render(&appraisal, settings.format, ui.style())?;
        if settings.format == Format::Terminal { ui.out(&text) } else { ui.raw(&text) }?;
    }
    Ok(Status::Done)
}

/// The names of columns that the options give.
pub(super) fn parse_columns(columns: &[String]) -> Result<ResultColumns, Failure> {
    let named = columns.iter().map(|text| ResultColumns::parse_pair(text));
    let named = named.collect::<Result<_, _>>().map_err(|error| Failure::bad_input(error.to_string()))?;
    Ok(ResultColumns { named })
}

fn write_file(path: &Path, text: &str, ui: &Ui) -> Result<(), Failure> {
    assay_fs::replace_file(path, text.as_bytes())
        .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))?;
    ui.note(&format!("wrote {}", path.display()));
    Ok(())
}

/// The appraisal as text, without secrets: it is published.
fn render(appraisal: &Appraisal, format: Format, style: Style<'_>) -> Result<String, Failure> {
    let text = match format {
        Format::Markdown => appraisal_markdown(appraisal),
        Format::Html => appraisal_html(appraisal),
        Format::Json => {
            let text = serde_json::to_string_pretty(appraisal);
            text.map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))? + "\n"
        }
        _ => appraisal_text(appraisal, style),
    };
    Ok(redact(&text, &machine::secrets()))
}
