//! `assay judge pairs`: which of two results a judge prefers.

use assay_judge::{BatchKind, PairColumns, check_absent, check_families, read_pairs, read_recorded_pairs};
use assay_report::counted;
use serde_json::Value;

use super::panel::{open_panel, print_forecast};
use crate::args::judge::PairsArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(super) fn run(args: &PairsArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let columns = PairColumns {
        a: &args.a,
        b: &args.b,
        instruction: &args.instruction,
        criteria: args.criteria.as_deref(),
        conditions: [args.condition_a.as_deref(), args.condition_b.as_deref()],
        candidates: [args.candidate_a.as_deref(), args.candidate_b.as_deref()],
        cluster: args.cluster.as_deref(),
        by: args.by.as_deref(),
    };
    if let (Some(winner), Some(swapped)) = (&args.winner, &args.winner_swapped) {
        let found = read_recorded_pairs(&args.table, &columns, [winner, swapped])?;
        return print(ui, || found.to_json(), || found.to_text());
    }
    let table = read_pairs(&args.table, &columns)?;
    let unknown = check_families(&args.judge, table.candidates())?;
    if unknown > 0 {
        let results = counted(unknown, "result", "results");
        ui.note(&format!(
            "warning: {results} without a candidate's model (--candidate-a, --candidate-b); whether a judge is of its \
             family is unknown"
        ));
    }
    if let Some(out) = args.out.as_ref().filter(|_| !args.panel.dry_run) {
        check_absent(out)?;
    }
    let panel = open_panel(&args.judge, &args.panel, settings, ui)?;
    let forecast = table.forecast_cost(&panel)?;
    if args.panel.dry_run {
        return print_forecast(&forecast, BatchKind::Pairs, table.count_pairs(), ui);
    }
    panel.check_cap(&forecast)?;
    let choices = table.judge_pairs(&panel)?;
    if let Some(out) = &args.out {
        choices.write_file(out)?;
    }
    print(ui, || choices.to_json(), || choices.to_text())
}

fn print(ui: &Ui, json: impl Fn() -> Value, text: impl Fn() -> String) -> Result<Status, Failure> {
    if ui.json() {
        ui.document(&json())?;
    } else {
        ui.out(&text())?;
    }
    Ok(Status::Done)
}
