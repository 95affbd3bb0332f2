//! The published auditor's counts as tables.

use std::collections::BTreeMap;

use assay_audit::SCHEMA;

use crate::cta::{Row, Sip, Tables};
use assay_report::clean;
use serde_json::{Value, json};

use assay_report::align_columns;

/// The counts, one line per arm and mode.
pub(super) fn summary(tables: &Tables) -> String {
    let mut rows = vec![words(&["arm", "mode", "tasks", "pairs", "divergences", "patterns", "destructive"])];
    for ((arm, mode), row) in &tables.modes {
        rows.push(vec![
            clean(arm),
            mode.name().to_owned(),
            row.tasks.to_string(),
            row.pairs.to_string(),
            each(row.divergences.total, row),
            each(row.sips.total, row),
            share(row.destructive()),
        ]);
    }
    format!(
        "Counterfactual Trace Auditor (2026), per pair\n\n{}\nPairs without a difference (null-minus: no skill on either side) are the null: only counts above \
         them can be\nattributed to the skill. The unit is the task, not the pair.\n",
        align_columns(&rows)
    )
}

/// The paper's tables: divergences, patterns, patterns by pass rate without the skill.
pub(super) fn three(tables: &Tables) -> String {
    let kinds = ["target_mismatch", "content_mismatch", "outcome_mismatch", "unilateral_action"];
    let phases = ["orientation", "implementation", "validation", "debugging", "finalization"];
    let mut first = vec![words(&["arm", "mode", "pairs", "all"])];
    first[0]
        .extend(kinds.iter().chain(&phases).map(|name| name.replace("_mismatch", "").replace("_action", "")));
    let mut second = vec![words(&["arm", "mode", "pairs", "all"])];
    second[0].extend(Sip::ALL.iter().map(|sip| sip.name().replace('_', " ")));
    second[0].push("destructive".to_owned());
    for ((arm, mode), row) in &tables.modes {
        let begin =
            |all: usize| vec![clean(arm), mode.name().to_owned(), row.pairs.to_string(), all.to_string()];
        let mut cells = begin(row.divergences.total);
        cells.extend(kinds.iter().map(|name| count(&row.divergences.by_type, name)));
        cells.extend(phases.iter().map(|name| count(&row.divergences.by_phase, name)));
        first.push(cells);
        let mut cells = begin(row.sips.total);
        cells.extend(Sip::ALL.iter().map(|&sip| row.sip(sip).to_string()));
        cells.push(share(row.destructive()));
        second.push(cells);
    }
    let mut third = vec![words(&["arm", "baseline", "tasks", "pairs", "all"])];
    third[0].extend(Sip::ALL.iter().map(|sip| sip.name().replace('_', " ")));
    third[0].push("most frequent".to_owned());
    for ((arm, bucket), row) in &tables.buckets {
        let mut cells =
            vec![clean(arm), bucket.name().to_owned(), row.tasks.to_string(), row.pairs.to_string()];
        cells.push(row.sips.total.to_string());
        cells.extend(Sip::ALL.iter().map(|&sip| row.sip(sip).to_string()));
        cells.push(commonest(row).map_or_else(|| "–".to_owned(), |sip| sip.name().replace('_', " ")));
        third.push(cells);
    }
    format!(
        "Divergences by kind and phase\n\n{}\nInfluence patterns\n\n{}\nInfluence patterns of treatment pairs, by pass rate without the skill (ceiling ≥ .90, mid ≥ .50, floor)\n\n{}",
        align_columns(&first),
        align_columns(&second),
        align_columns(&third)
    )
}

/// The tables as one document.
pub(super) fn document(tables: &Tables) -> Value {
    let modes: Vec<Value> = tables
        .modes
        .iter()
        .map(|((arm, mode), row)| json!({"arm": arm, "mode": mode, "counts": row, "destructive": row.destructive()}))
        .collect();
    let buckets: Vec<Value> = tables
        .buckets
        .iter()
        .map(|((arm, bucket), row)| {
            json!({"arm": arm, "baseline": bucket, "counts": row, "commonest": commonest(row).map(Sip::name)})
        })
        .collect();
    json!({"schema": SCHEMA, "kind": "tables", "modes": modes, "buckets": buckets})
}

/// The pattern that fires most often; the first of equals.
fn commonest(row: &Row) -> Option<Sip> {
    Sip::ALL.into_iter().rev().max_by_key(|&sip| row.sip(sip)).filter(|&sip| row.sip(sip) > 0)
}

fn words(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn count(counts: &BTreeMap<&'static str, usize>, name: &str) -> String {
    counts.get(name).copied().unwrap_or(0).to_string()
}

fn each(total: usize, row: &Row) -> String {
    if row.pairs == 0 { "–".to_owned() } else { format!("{:.2}", total as f64 / row.pairs as f64) }
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.1}%", 100.0 * share))
}
