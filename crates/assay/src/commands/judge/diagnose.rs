//! `assay judge diagnose`: items of rubrics beside the directives of the skill that they test.

use assay_analysis::judged::{Diagnosis, ItemDirective, diagnose};
use assay_report::{clean, percent};
use serde_json::json;

use crate::args::judge::DiagnoseArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// Most characters of an item or a directive.
const CHARS: usize = 100;

pub(super) fn run(args: &DiagnoseArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = machine::read_store(&settings.store)?;
    let run = store.run(&args.run)?;
    let report = assay_analysis::report(&store, &run)?;
    let Some(judged) = &report.judged else {
        return Err(Failure::bad_input(format!("no trial of {} was judged", run.run))
            .hint("tasks with tests/rubric.json are judged if the experiment has `[judge]`"));
    };
    let found = diagnose(&store, &run, judged)?;
    if ui.json() {
        ui.document(&json!({ "schema": "assay.judge-diagnosis/1", "run": run.run, "items": found }))?;
        return Ok(Status::Done);
    }
    let mut text = String::from("Items by gain, with the directives of the skill that they test\n");
    for one in &found {
        text.push_str(&item(one));
        if one.directives.is_empty() {
            text.push_str("    no directive of the skill is known to be tested\n");
        }
        let mut line = None;
        for found in &one.directives {
            // A line may have several directives.
            if line != Some((&found.skill, found.line)) {
                text.push_str(&place(found));
            }
            line = Some((&found.skill, found.line));
            text.push_str(&directive(found));
        }
    }
    ui.out(&text)?;
    Ok(Status::Done)
}

fn item(found: &Diagnosis) -> String {
    let item = &found.item;
    let share = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), percent);
    let gain = item.gain.map_or_else(|| "–".to_owned(), assay_report::pp);
    format!(
        "\n{gain}  {} ({}, {}): {} without, {} with; with, skill opened: {}, not opened: {}\n",
        assay_diagnostic::clean_start(&item.text, CHARS),
        clean(&item.pair.condition),
        clean(&item.set),
        share(item.without),
        share(item.with),
        share(item.with_if_opened),
        share(item.with_if_not_opened),
    )
}

fn place(found: &ItemDirective) -> String {
    let text = assay_diagnostic::clean_start(&found.text, CHARS);
    format!("    {}, line {}: {text}\n", clean(&found.skill), found.line)
}

fn directive(found: &ItemDirective) -> String {
    format!(
        "      `{}`: received in {} of {} trials, followed in {}, violated in {}; followed without the skill in {} of {}\n",
        assay_diagnostic::clean_start(&found.subject, CHARS),
        found.delivered,
        found.trials,
        found.followed,
        found.violated,
        found.baseline_followed,
        found.baseline_trials,
    )
}
