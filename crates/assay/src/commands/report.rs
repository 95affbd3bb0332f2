//! `assay report`: a run's findings, computed again from its records.

use std::path::Path;

use assay_analysis::Report;
use assay_report::{Style, redact};
use assay_trial::Store;

use crate::args::{Format, ReportArgs};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &ReportArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = Store::open(&settings.store)?;
    let report = assay_analysis::report(&store, &store.run(&args.run)?)?;
    match args.out.as_deref().filter(|out| *out != Path::new("-")) {
        None => {
            let mut text = laid_out(&report, settings.format, ui.style())?;
            if settings.format == Format::Terminal {
                let details = if args.details { assay_report::details(&report) } else { String::new() };
                let tests = if args.tests { assay_report::changed_tests(&report) } else { String::new() };
                text.push_str(&redact(&(details + &tests), &machine::secrets()));
            }
            ui.out(&text)?;
        }
        Some(out) => {
            let text = laid_out(&report, format_of(out, settings.format), Style::default())?;
            std::fs::write(out, text)
                .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", out.display())))?;
            ui.note(&format!("{} holds the report", out.display()));
        }
    }
    Ok(Status::Done)
}

/// Lays a report out on standard output.
pub(crate) fn print(report: &Report, ui: &Ui) -> Result<(), Failure> {
    let format = if ui.json() { Format::Json } else { Format::Terminal };
    ui.out(&laid_out(report, format, ui.style())?)
}

/// The report as text, without secrets: reports are published.
fn laid_out(report: &Report, format: Format, style: Style) -> Result<String, Failure> {
    let name = format.name();
    let renderer =
        assay_report::find(name).ok_or_else(|| Failure::bad_input(format!("there is no format {name:?}")))?;
    Ok(redact(&renderer.render(report, style), &machine::secrets()))
}

/// The format that a file's name asks for, where none was asked for otherwise.
pub(crate) fn format_of(out: &Path, asked: Format) -> Format {
    match (asked, out.extension().and_then(|extension| extension.to_str())) {
        (Format::Terminal, Some("html")) => Format::Html,
        (Format::Terminal, Some("md")) => Format::Markdown,
        (Format::Terminal, Some("json")) => Format::Json,
        _ => asked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_name_says_its_format_where_nothing_else_does() {
        let check = |out: &str, asked: Format, expected: Format| {
            assert_eq!(format_of(Path::new(out), asked), expected, "{out}");
        };
        check("a.html", Format::Terminal, Format::Html);
        check("b/a.md", Format::Terminal, Format::Markdown);
        check("a.json", Format::Terminal, Format::Json);
        check("a.txt", Format::Terminal, Format::Terminal);
        check("html", Format::Terminal, Format::Terminal);
        check("a.html", Format::Json, Format::Json);
    }
}
