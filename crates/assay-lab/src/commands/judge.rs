//! `assay lab judge`: simulated judges on labelled items.

use std::collections::BTreeMap;

use assay_judge::{ClusterNumbers, VerdictColumns, read_verdicts, use_booleans};
use serde_json::json;

use super::simulate::table::markdown;
use crate::args::judge::LabJudgeArgs;
use crate::simulate::{JudgeCoverage, TrueItem, simulate_judges};
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// The judges.
const SENSITIVITIES: [f64; 4] = [0.7, 0.8, 0.9, 0.95];
const SPECIFICITIES: [f64; 5] = [0.6, 0.7, 0.8, 0.9, 0.95];

pub(super) fn run(args: &LabJudgeArgs, ui: &Ui) -> Result<Status, Failure> {
    let columns = VerdictColumns {
        verdict: &args.label,
        by: vec![&args.by],
        cluster: Some(&args.cluster),
        ..VerdictColumns::default()
    };
    let mut rows = read_verdicts(&args.table, &columns, &mut ClusterNumbers::new())?;
    use_booleans(&mut rows);
    let mut groups = BTreeMap::<String, usize>::new();
    let mut items = Vec::new();
    for row in rows {
        let (Some(label), Some(by), Some(cluster)) = (row.verdict, row.by, row.cluster) else { continue };
        let label = label.parse().map_err(|_| {
            Failure::bad_input(format!("{}: label `{label}` is not true or false", args.table.display()))
        })?;
        let next = groups.len();
        items.push(TrueItem { label, group: *groups.entry(by).or_insert(next), cluster });
    }
    let mut lines = Vec::new();
    let mut cells = Vec::new();
    for sensitivity in SENSITIVITIES {
        for specificity in SPECIFICITIES {
            let rates = (sensitivity, specificity);
            let cell = simulate_judges(&items, rates, !args.items, args.repetitions, args.seed);
            let figures =
                |of: JudgeCoverage| [of.raw, of.corrected, of.width].map(|value| format!("{value:.3}"));
            let ([raw, corrected, width], [raw_d, corrected_d, width_d]) =
                (figures(cell.rates), figures(cell.differences));
            let refused = format!("{:.3}", cell.rates.refused);
            lines.push([
                sensitivity.to_string(),
                specificity.to_string(),
                raw,
                corrected,
                width,
                raw_d,
                corrected_d,
                width_d,
                refused,
            ]);
            let document = |of: JudgeCoverage| json!({"raw": of.raw, "corrected": of.corrected, "width": of.width, "refused": of.refused});
            cells.push(json!({
                "sensitivity": sensitivity, "specificity": specificity,
                "rates": document(cell.rates), "differences": document(cell.differences),
            }));
        }
    }
    if ui.json() {
        ui.document(&json!({
            "schema": "assay.judge-simulation/1", "items": items.len(), "repetitions": args.repetitions,
            "seed": args.seed, "clustered": !args.items, "cells": cells,
        }))?;
        return Ok(Status::Done);
    }
    let heads = [
        "sensitivity",
        "specificity",
        "rates as judged",
        "corrected",
        "width",
        "differences as judged",
        "corrected",
        "width",
        "refused",
    ];
    ui.out(&markdown(heads, &lines))?;
    Ok(Status::Done)
}
