//! `assay show --history`: verdicts of past runs over time.

use std::collections::BTreeMap;

use assay_analysis::INTERIM;
use assay_report::clean;
use assay_stats::VerdictKind;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// A line of `history.jsonl`.
pub(in crate::commands) const SCHEMA: &str = "assay.history/2";

/// A line that an older version wrote.
const OLD_SCHEMA: &str = "assay.history/1";

/// An arm: agent, model, condition.
type Arm = (String, String, String);

/// A line of the history, with an arm's lift and verdict in it.
type Point<'a> = (&'a Value, Option<f64>, String);

pub(super) fn run(names: &[String], settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = machine::read_store(&settings.store)?;
    for name in names {
        store.run(name)?;
    }
    let mut lines = store.history()?;
    if !names.is_empty() {
        let is_named =
            |line: &Value| names.iter().any(|name| line.get("run").and_then(Value::as_str) == Some(name));
        lines.retain(is_named);
    }
    lines.iter_mut().for_each(update_line);
    let trends = trends(&lines);
    if ui.json() {
        let trends: Vec<Value> = trends
            .iter()
            .map(|((agent, model, condition), points)| {
                let lifts: Vec<Option<f64>> = points.iter().map(|(_, lift, _)| *lift).collect();
                json!({ "agent": agent, "model": model, "condition": condition, "lifts": lifts, "change": change(&lifts) })
            })
            .collect();
        ui.document(&json!({ "schema": "assay.history-list/2", "lines": lines, "trends": trends }))?;
        return Ok(Status::Done);
    }
    if lines.is_empty() {
        ui.note("no runs yet: start one with `assay run EXPERIMENT`");
    }
    for ((agent, model, condition), points) in &trends {
        let model = if model.is_empty() { String::new() } else { format!(" with {}", clean(model)) };
        ui.out(&format!("{}{model}, {}\n", clean(agent), clean(condition)))?;
        for (line, lift, verdict) in points {
            let text = |key: &str| clean(line.get(key).and_then(Value::as_str).unwrap_or("–"));
            let revision: String = text("revision").chars().take(10).collect();
            let lift = lift.map_or_else(|| "   –".to_owned(), |lift| format!("{:+4.0}", 100.0 * lift));
            let at: String = text("at").chars().take(19).collect();
            ui.out(&format!("  {at}  {revision:10}  {lift} pp  {:13} {}\n", clean(verdict), text("run")))?;
        }
        let lifts: Vec<Option<f64>> = points.iter().map(|(_, lift, _)| *lift).collect();
        if let Some(change) = change(&lifts) {
            ui.out(&format!("  change between the last two: {:+.0} pp\n", 100.0 * change))?;
        }
    }
    Ok(Status::Done)
}

/// Translates a line of `assay.history/1` into the keys and verdicts of `assay.history/2`.
fn update_line(line: &mut Value) {
    let Some(line) = line.as_object_mut().filter(|line| line.get("schema") == Some(&json!(OLD_SCHEMA)))
    else {
        return;
    };
    line.insert("schema".to_owned(), json!(SCHEMA));
    if let Some(cached) = line.shift_remove("reused") {
        line.insert("cached".to_owned(), cached);
    }
    for verdict in line.get_mut("verdicts").and_then(Value::as_array_mut).into_iter().flatten() {
        let kind = verdict.get("verdict").and_then(|kind| VerdictKind::deserialize(kind).ok());
        if let (Some(kind), Some(verdict)) = (kind, verdict.as_object_mut()) {
            verdict.insert("verdict".to_owned(), json!(kind));
        }
    }
}

/// Each arm's lines in order, with lift and verdict.
fn trends(lines: &[Value]) -> BTreeMap<Arm, Vec<Point<'_>>> {
    let mut trends: BTreeMap<Arm, Vec<_>> = BTreeMap::new();
    for line in lines {
        for verdict in line.get("verdicts").and_then(Value::as_array).into_iter().flatten() {
            let text = |key: &str| verdict.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let arm = (text("agent"), text("model"), text("condition"));
            let lift = verdict.get("lift").and_then(Value::as_f64);
            let word = match verdict.get("verdict") {
                Some(Value::Null) => INTERIM.to_owned(),
                _ => text("verdict"),
            };
            trends.entry(arm).or_default().push((line, lift, word));
        }
    }
    trends
}

/// The last known lift less the one before it.
fn change(lifts: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = lifts.iter().copied().flatten().collect();
    let (last, before) = (known.last()?, known.len().checked_sub(2).map(|at| known[at])?);
    Some(last - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_first_schema_are_translated() {
        let mut line: Value = serde_json::from_str(include_str!("history/line-1.json")).unwrap();
        update_line(&mut line);
        assert_eq!((&line["schema"], &line["cached"]), (&json!("assay.history/2"), &json!(36)));
        assert!(line.get("reused").is_none());
        let lines = [line];
        let trends = trends(&lines);
        let verdicts: Vec<&str> = trends.values().map(|points| points[0].2.as_str()).collect();
        assert_eq!(verdicts, ["negligible", "helps", "inconclusive"]);
        let [mut again] = lines.clone();
        update_line(&mut again);
        assert_eq!(again, lines[0]);
    }

    #[test]
    fn the_change_is_between_the_last_two_known_lifts() {
        let check =
            |lifts: &[Option<f64>], expected: Option<f64>| assert_eq!(change(lifts), expected, "{lifts:?}");
        check(&[], None);
        check(&[Some(0.5)], None);
        check(&[Some(0.5), None, Some(0.75)], Some(0.25));
        check(&[Some(0.0), Some(0.5), Some(0.25)], Some(-0.25));
    }
}
