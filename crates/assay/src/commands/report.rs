//! `assay report`: recomputes the report of a run from its records.

use std::path::Path;

use assay_analysis::{CloseOutcome, Progress, Report};
use assay_report::{Style, counted, redact};
use assay_store::{RunFolder, Selection, Store};

use super::judge::calibration::read_set;
use crate::args::Format;
use crate::args::report::ReportArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &ReportArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = machine::read_store(&settings.store)?;
    let mut run = store.run(&args.run)?;
    // One that the plan has under the same name is replaced.
    run.metrics.retain(|planned| args.metric.iter().all(|asked| asked.name != planned.name));
    run.metrics.extend(args.metric.iter().cloned());
    if args.close {
        close(&store, &run, ui)?;
    }
    let mut report = match &args.calibration {
        None => assay_analysis::report(&store, &run)?,
        Some(table) => {
            let set = read_set(table, &args.label, &args.verdict, args.labels_by)?;
            assay_analysis::report_calibrated(&store, &run, &Selection::default(), set)?
        }
    };
    assay_gate::find_registration(&mut report);
    shorten_experiment(&mut report);
    if args.calibration.is_some() && report.judged.is_none() {
        return Err(Failure::bad_input(format!(
            "no trial of {} was judged: there is nothing to correct",
            run.run
        )));
    }
    let asked = |name: &str| args.metric.iter().any(|asked| asked.name == name);
    if let Some(empty) =
        report.metrics.iter().find(|metric| metric.trials == [0, 0] && asked(&metric.metric.name))
    {
        let message = format!("no trial of {} has a value of the metric {:?}", run.run, empty.metric.name);
        let failure = Failure::bad_input(message);
        return Err(match empty.metric.name.as_str() {
            "passed" | "pass" | "pass_rate" => failure.hint(
                "whether a trial passed is an outcome and no metric: set `outcome = \"pass\"` in the experiment",
            ),
            _ => failure,
        });
    }
    if let Some(name) = &args.plot {
        return write_plot(&report, name, args, settings, ui);
    }
    let format = match args.out.as_deref().filter(|out| *out != Path::new("-")) {
        Some(out) => format_of(out, settings.format)?,
        None => settings.format,
    };
    if args.short && format != Format::Markdown {
        return Err(
            Failure::bad_input("only reports in Markdown have a short form").hint("add --format markdown")
        );
    }
    let shown = |style| Style { details: args.details, tests: args.tests, short: args.short, ..style };
    match args.out.as_deref().filter(|out| *out != Path::new("-")) {
        None => {
            let text = render_report(&report, settings.format, shown(ui.style()))?;
            if settings.format == Format::Terminal { ui.out(&text) } else { ui.raw(&text) }?;
        }
        Some(out) => {
            let text = render_report(&report, format, shown(Style::default()))?;
            assay_fs::replace_file(out, text.as_bytes())
                .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", out.display())))?;
            ui.note(&format!("wrote the report to {}", out.display()));
        }
    }
    Ok(Status::Done)
}

/// Closes a run that is not complete.
fn close(store: &Store, run: &RunFolder, ui: &Ui) -> Result<(), Failure> {
    let trials = |progress: Progress| {
        format!("{} of {}", progress.trials, counted(progress.planned, "trial", "trials"))
    };
    match assay_analysis::close(store, run, &jiff::Timestamp::now().to_string())? {
        CloseOutcome::Closed(closing) => {
            let planned = counted(closing.planned, "trial", "trials");
            ui.note(&format!("closed {} with {} of {planned}", run.run, closing.trials));
        }
        CloseOutcome::AlreadyClosed(closing) => {
            ui.note(&format!("{} was closed on {}: --final changes nothing", run.run, closing.at));
        }
        CloseOutcome::Complete(_) => {
            ui.note(&format!("{} is complete: --final changes nothing", run.run));
        }
        CloseOutcome::Continued(closing) => {
            return Err(Failure::bad_input(format!(
                "{} was closed on {} and continued since: a run is closed once",
                run.run, closing.at
            ))
            .hint("`assay run` on its experiment executes the rest; its report has a verdict then"));
        }
        CloseOutcome::Empty(progress) => {
            return Err(Failure::bad_input(format!(
                "{} has no result to judge: {} done",
                run.run,
                trials(progress)
            ))
            .hint("`assay run` on its experiment executes its trials"));
        }
    }
    Ok(())
}

/// Writes a plot of the report to a file, or to standard output for `-`.
fn write_plot(
    report: &Report,
    name: &str,
    args: &ReportArgs,
    settings: &Settings,
    ui: &Ui,
) -> Result<Status, Failure> {
    if settings.format != Format::Terminal {
        return Err(Failure::bad_input("a plot is SVG and has no other format").hint("leave --format out"));
    }
    let plots = assay_report::plots(report);
    let Some((_, svg)) = plots.iter().find(|(known, _)| known == name) else {
        let names: Vec<&str> = plots.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!("the report of {} has no plot {name:?}", report.run);
        let hint =
            if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
        return Err(Failure::bad_input(message).hint(&hint));
    };
    let svg = redact(svg, &machine::secrets());
    match args.out.as_deref().filter(|out| *out != Path::new("-")) {
        None => ui.raw(&svg)?,
        Some(out) => {
            assay_fs::replace_file(out, svg.as_bytes())
                .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", out.display())))?;
            ui.note(&format!("wrote the plot to {}", out.display()));
        }
    }
    Ok(Status::Done)
}

/// Names the experiment of a report as the user would: relative to the working folder, if it is beneath it.
pub(crate) fn shorten_experiment(report: &mut Report) {
    let Some(path) = &report.experiment else { return };
    let here = std::env::current_dir().ok();
    if let Some(own) = here.and_then(|here| path.strip_prefix(here).ok()) {
        report.experiment = Some(own.to_owned());
    }
}

/// Prints a report on standard output.
pub(crate) fn print(report: &Report, ui: &Ui) -> Result<(), Failure> {
    let format = if ui.json() { Format::Json } else { Format::Terminal };
    let text = render_report(report, format, ui.style())?;
    if ui.json() { ui.raw(&text) } else { ui.out(&text) }
}

/// The report as text, without secrets: reports are published.
fn render_report(report: &Report, format: Format, style: Style<'_>) -> Result<String, Failure> {
    let name = format.name();
    let renderer = assay_report::find_renderer(name)
        .ok_or_else(|| Failure::bad_input(format!("unknown format {name:?}")))?;
    Ok(redact(&renderer.render(report, style), &machine::secrets()))
}

/// The format of a report file: `--format` if given, otherwise by the extension of its name.
pub(crate) fn format_of(out: &Path, asked: Format) -> Result<Format, Failure> {
    match (asked, out.extension().and_then(|extension| extension.to_str())) {
        (Format::Terminal, Some("html")) => Ok(Format::Html),
        (Format::Terminal, Some("md")) => Ok(Format::Markdown),
        (Format::Terminal, Some("json")) => Ok(Format::Json),
        (Format::Terminal, Some("txt") | None) => Ok(Format::Terminal),
        (Format::Terminal, Some(other)) => {
            let message =
                format!("cannot infer the format of {}: unknown extension `.{other}`", out.display());
            Err(Failure::bad_input(message).hint("use .html, .md, .json or .txt, or set --format"))
        }
        _ => Ok(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_follows_the_extension_unless_it_is_set() {
        let check = |out: &str, asked: Format, expected: Option<Format>| {
            assert_eq!(format_of(Path::new(out), asked).ok(), expected, "{out}");
        };
        check("a.html", Format::Terminal, Some(Format::Html));
        check("b/a.md", Format::Terminal, Some(Format::Markdown));
        check("a.json", Format::Terminal, Some(Format::Json));
        check("a.txt", Format::Terminal, Some(Format::Terminal));
        check("html", Format::Terminal, Some(Format::Terminal));
        check("a.html", Format::Json, Some(Format::Json));
        check("a.csv", Format::Terminal, None);
        check("a.csv", Format::Json, Some(Format::Json));
    }
}
