//! `assay audit agreement`.

use std::path::PathBuf;

use assay_audit::calibrated::count_labels;
use assay_audit::sheet::{self, Labels};
use assay_report::{align_columns, clean};
use assay_stats::{Agreement, Measure};
use serde_json::{Value, json};

use super::input;
use crate::args::audit::AgreementArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// Longest sheet that is read, in bytes.
const LONGEST: u64 = 64 << 20;

pub(crate) fn run(args: &AgreementArgs, ui: &Ui) -> Result<Status, Failure> {
    let labels = read_labels(&args.sheets)?;
    if labels.raters.len() < 2 {
        let message = format!(
            "{} has labelled these sheets, but agreement needs two",
            if labels.raters.is_empty() { "no rater" } else { "one rater" }
        );
        return Err(
            Failure::bad_input(message).hint("fill in a second column label_2, or pass a second sheet")
        );
    }
    let found = assay_stats::agreement(&labels.items, args.resamples as usize, args.seed);
    if ui.json() {
        ui.document(&document(&labels, &found, args))?;
    } else {
        ui.out(&format_agreement(&labels, &found))?;
    }
    Ok(Status::Done)
}

fn document(labels: &Labels, found: &Agreement, args: &AgreementArgs) -> Value {
    let measure = |measure: &Measure| json!({"value": measure.value, "ci95": measure.interval.map(|interval| [interval.low, interval.high])});
    let pairs: Vec<Value> = found
        .pairs
        .iter()
        .map(|pair| {
            let raters = [&labels.raters[pair.raters.0], &labels.raters[pair.raters.1]];
            json!({"raters": raters, "items": pair.items, "agreement": measure(&pair.agreement), "kappa": measure(&pair.kappa)})
        })
        .collect();
    let counts: Vec<Value> = count_labels(labels)
        .into_iter()
        .map(|(rater, label, rate)| {
            json!({"rater": rater, "label": label, "count": rate.count, "of": rate.of, "ci95": [rate.low, rate.high]})
        })
        .collect();
    json!({
        "schema": "assay.audit-agreement/1", "counts": counts, "raters": labels.raters, "labels": labels.categories, "items": found.items,
        "pairs": pairs, "alpha": measure(&found.alpha), "resamples": args.resamples, "seed": args.seed,
    })
}

/// A line for each label of each rater.
pub fn format_counts(labels: &Labels) -> String {
    let mut rows = vec![["label", "rater", "items", "share"].map(str::to_owned).to_vec()];
    for (rater, label, rate) in count_labels(labels) {
        let share = rate.count as f64 / rate.of.max(1) as f64;
        rows.push(vec![
            clean(&label),
            clean(&rater),
            format!("{} of {}", rate.count, rate.of),
            format!("{share:.3} [{:.3}, {:.3}]", rate.low, rate.high),
        ]);
    }
    align_columns(&rows)
}

/// Reads labelled sheets.
pub fn read_labels(paths: &[PathBuf]) -> Result<Labels, Failure> {
    let mut sheets = Vec::new();
    for path in paths {
        sheets.push((path.display().to_string(), input::text(path, LONGEST)?));
    }
    sheet::labels(&sheets).map_err(|error| Failure::bad_input(error.to_string()))
}

fn format_agreement(labels: &Labels, found: &Agreement) -> String {
    let shown = |measure: &Measure| {
        let value =
            measure.value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}").replace('-', "−"));
        let interval = measure.interval.map(|i| format!(" [{:.3}, {:.3}]", i.low, i.high).replace('-', "−"));
        value + &interval.unwrap_or_default()
    };
    let mut rows = vec![["raters", "items", "agreement", "Cohen's kappa"].map(str::to_owned).to_vec()];
    for pair in &found.pairs {
        let raters = [&labels.raters[pair.raters.0], &labels.raters[pair.raters.1]].map(|name| clean(name));
        rows.push(vec![
            raters.join(", "),
            pair.items.to_string(),
            shown(&pair.agreement),
            shown(&pair.kappa),
        ]);
    }
    format!(
        "{}\n{}\n  Krippendorff's alpha (nominal), all raters, {} items: {}\n  In brackets: 95% CI; exact for shares, percentile bootstrap over items for measures.\n",
        format_counts(labels),
        align_columns(&rows),
        found.items,
        shown(&found.alpha)
    )
}
