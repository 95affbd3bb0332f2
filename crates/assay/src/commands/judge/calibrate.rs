//! `assay judge calibrate`: verdicts against labels.

use std::collections::BTreeMap;

use assay_report::counted;
use assay_stats::judge::{Figure, clustered_alpha, clustered_kappa, proportion};
use serde_json::json;

use super::figures::{cell, ends};
use super::verdicts::{ClusterNumbers, VerdictColumns, VerdictRow, as_booleans, positive, read};
use crate::args::judge::{CalibrateArgs, LabelsBy};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// The figures of one group.
struct Agreement {
    by: String,
    n: usize,
    left_out: usize,
    /// Share of labels that are positive.
    base_rate: Option<f64>,
    accuracy: Option<Figure>,
    accuracy_second: Option<Figure>,
    sensitivity: Option<Figure>,
    specificity: Option<Figure>,
    kappa: Option<Figure>,
    alpha: Option<Figure>,
    order_consistency: Option<Figure>,
}

pub(super) fn run(args: &CalibrateArgs, ui: &Ui) -> Result<Status, Failure> {
    let columns = VerdictColumns {
        label: Some(&args.label),
        verdict: &args.verdict,
        second: args.second_order.as_deref(),
        by: args.by.iter().map(String::as_str).collect(),
        cluster: args.cluster.as_deref(),
        optional: Vec::new(),
    };
    let mut rows = read(&args.table, &columns, &mut ClusterNumbers::new())?;
    let categories = as_booleans(&mut rows);
    let positive = positive(&categories);
    let mut groups = BTreeMap::<String, Vec<&VerdictRow>>::new();
    for row in &rows {
        groups.entry(row.by.clone().unwrap_or_else(|| "all".to_owned())).or_default().push(row);
    }
    let found: Vec<Agreement> =
        groups.into_iter().map(|(by, rows)| Agreement::of(by, &rows, positive)).collect();
    if found.iter().all(|group| group.n == 0) {
        return Err(Failure::bad_input(format!(
            "{}: no row has both a label in `{}` and a verdict in `{}`",
            args.table.display(),
            args.label,
            args.verdict
        )));
    }
    let calibrated = args.labels_by == LabelsBy::People;
    if ui.json() {
        let groups: Vec<_> = found.iter().map(Agreement::json).collect();
        ui.document(&json!({
            "schema": "assay.judge-calibration/1", "labels_by": args.labels_by, "calibrated": calibrated,
            "positive": positive, "groups": groups,
        }))?;
    } else {
        ui.out(&found.iter().map(Agreement::text).collect::<String>())?;
    }
    if !calibrated {
        ui.note("not called calibrated: that needs labels of people, `--labels-by people`");
    }
    Ok(Status::Done)
}

impl Agreement {
    fn of(by: String, rows: &[&VerdictRow], positive: Option<&str>) -> Self {
        let rated: Vec<(&str, &str, Option<usize>)> = rows
            .iter()
            .filter_map(|row| Some((row.label.as_deref()?, row.verdict.as_deref()?, row.cluster)))
            .collect();
        let mut numbers = BTreeMap::<&str, usize>::new();
        let pairs: Vec<((usize, usize), Option<usize>)> = rated
            .iter()
            .map(|(label, verdict, cluster)| {
                let mut number = |word| {
                    let next = numbers.len();
                    *numbers.entry(word).or_insert(next)
                };
                ((number(*label), number(*verdict)), *cluster)
            })
            .collect();
        let right: Vec<_> =
            rated.iter().map(|(label, verdict, cluster)| (label == verdict, *cluster)).collect();
        let class = |is_positive: bool| {
            let positive = positive?;
            let of = rated.iter().filter(|(label, ..)| (*label == positive) == is_positive);
            proportion(&of.map(|(label, verdict, cluster)| (label == verdict, *cluster)).collect::<Vec<_>>())
        };
        let compared = |left: fn(&VerdictRow) -> Option<&str>| {
            let both =
                rows.iter().filter_map(|row| Some((left(row)? == row.second.as_deref()?, row.cluster)));
            proportion(&both.collect::<Vec<_>>())
        };
        let labels = rated.iter().filter(|(label, ..)| Some(*label) == positive).count();
        Self {
            by,
            n: rated.len(),
            left_out: rows.len() - rated.len(),
            base_rate: (positive.is_some() && !rated.is_empty()).then(|| labels as f64 / rated.len() as f64),
            accuracy: proportion(&right),
            accuracy_second: compared(|row| row.label.as_deref()),
            sensitivity: class(true),
            specificity: class(false),
            kappa: clustered_kappa(&pairs),
            alpha: clustered_alpha(&pairs),
            order_consistency: compared(|row| row.verdict.as_deref()),
        }
    }

    /// The figures by their names.
    fn figures(&self) -> [(&'static str, Option<Figure>); 7] {
        [
            ("accuracy", self.accuracy),
            ("sensitivity", self.sensitivity),
            ("specificity", self.specificity),
            ("kappa", self.kappa),
            ("alpha", self.alpha),
            ("order_consistency", self.order_consistency),
            ("accuracy_second_order", self.accuracy_second),
        ]
    }

    fn json(&self) -> serde_json::Value {
        let mut document = json!({
            "by": self.by, "n": self.n, "left_out": self.left_out, "base_rate": self.base_rate,
        });
        let mut intervals = json!({});
        for (name, figure) in self.figures() {
            document[name] = json!(figure.map(|figure| figure.value));
            intervals[name] = json!(figure.and_then(|figure| ends(figure.interval)));
        }
        document["ci95"] = intervals;
        document
    }

    fn text(&self) -> String {
        let left_out = match self.left_out {
            0 => String::new(),
            n => format!("; {} without a label or a verdict", counted(n, "row", "rows")),
        };
        let base = self.base_rate.map(|rate| format!("; base rate {rate:.3}")).unwrap_or_default();
        let mut text = format!("{}: {}{base}{left_out}\n", self.by, counted(self.n, "item", "items"));
        for (name, figure) in self.figures() {
            if figure.is_some() {
                text.push_str(&format!("  {:<22}{}\n", name.replace('_', " "), cell(figure)));
            }
        }
        text
    }
}
