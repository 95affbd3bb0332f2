//! `assay trace stats`: transcripts in figures.

use std::path::Path;

use assay_report::{TraceTotals, session_title, token_lines, trace_document, trace_stats_text};
use assay_skill::Package;
use assay_trace::{OfferedSkill, duplicate, fuller, partial_duplicate, repeated, stats_of};
use serde_json::json;

use super::input::Troubles;
use crate::args::trace::StatsArgs;
use crate::failure::{Failure, Status};
use crate::prices;
use crate::ui::Ui;

pub(super) fn run(args: &StatsArgs, ui: &Ui) -> Result<Status, Failure> {
    let reader = args.inputs.reader()?;
    let packages = args.skills.iter().map(|path| package(path)).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<Vec<String>> = packages.iter().map(files).collect();
    let skills: Vec<OfferedSkill<'_>> =
        packages.iter().zip(&files).map(|(package, files)| offered(package, files)).collect();
    let prices = args.prices.as_deref().map(prices::read).transpose()?;
    let mut troubles = Troubles::default();
    let mut all = Vec::new();
    for source in args.inputs.sources(&mut troubles, ui) {
        match stats_of(&source, reader, &skills) {
            Ok(stats) => all.extend(stats),
            Err(error) => troubles.unread(&error, ui),
        }
    }
    // Of several snapshots of a session the fullest counts, and it may be the last one.
    let fuller = fuller(&all);
    let repeated = repeated(&all, &fuller);
    let names: Vec<String> = all.iter().map(|stats| session_title(&stats.file, stats.part)).collect();
    // Where some cost is known, that of the others is said to be unknown.
    let is_priced = prices.is_some() || all.iter().any(|stats| stats.cost(None).usd.is_some());
    let mut total = TraceTotals::default();
    let mut traces = Vec::new();
    for (at, stats) in all.iter_mut().enumerate() {
        let cost = stats.cost(prices.as_ref());
        if let Some(other) = fuller[at] {
            stats.diagnostics.push(duplicate(&names[at], &names[other]));
        } else {
            let own = &repeated[at];
            total.add_session(&stats.tally_without(own), stats.cost_without(own, prices.as_ref()));
            let note = own.by.and_then(|other| partial_duplicate(&names[at], own, &names[other]));
            stats.diagnostics.extend(note);
        }
        troubles.report(&stats.diagnostics, ui);
        if ui.json() {
            let document = trace_document(stats, cost, fuller[at].is_some(), args.control, prices.as_ref());
            traces.push(
                document.map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?,
            );
        } else {
            ui.out(&trace_stats_text(stats, cost, args.control, is_priced))?;
        }
    }
    if ui.json() {
        let total = total.json_document(!all.is_empty());
        ui.document(&json!({ "schema": "assay.trace-stats/2", "traces": traces, "total": total }))?;
    } else if !all.is_empty() {
        let cost = total.cost_words().map_or(String::new(), |cost| format!(", {cost}"));
        ui.out(&format!("all sessions, each once{cost}\n{}", token_lines(total.tally())))?;
    }
    Ok(troubles.status(args.inputs.strict))
}

pub(in crate::commands) fn package(path: &Path) -> Result<Package, Failure> {
    let folder = if path.file_name().is_some_and(|name| name == "SKILL.md") {
        path.parent().unwrap_or(path)
    } else {
        path
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let loaded = Package::load(folder);
    loaded.package.ok_or_else(|| {
        Failure::bad_input(format!("{} is no skill", path.display()))
            .hint("a skill is a folder with a SKILL.md")
    })
}

fn files(package: &Package) -> Vec<String> {
    package.files.iter().map(|file| file.path.clone()).collect()
}

/// Where a skill lay when the transcript was made is in no transcript.
fn offered<'a>(package: &'a Package, files: &'a [String]) -> OfferedSkill<'a> {
    OfferedSkill {
        name: &package.name,
        description: &package.description,
        body: &package.body,
        mount: "",
        files,
    }
}
