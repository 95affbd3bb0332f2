//! Verdicts of past runs over time, from the lines of a store's `history.jsonl`.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::VerdictKind;
use assay_store::{ConditionRole, Store, StoreError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::INTERIM;

/// A line of `history.jsonl`.
pub const HISTORY_SCHEMA: &str = "assay.history/2";

/// A line that an older version wrote.
const OLD_SCHEMA: &str = "assay.history/1";

/// The verdicts on an agent under a condition: one that is the same by its role, whatever its names.
pub struct Trend<'a> {
    /// The name of the agent.
    pub agent: String,
    /// Its model; empty without one.
    pub model: String,
    /// The arms, oldest first.
    pub points: Vec<TrendPoint<'a>>,
}

/// An arm in a line of the history.
pub struct TrendPoint<'a> {
    /// The line.
    pub line: &'a Value,
    /// Its name there.
    pub condition: String,
    /// What the condition is.
    pub role: ConditionRole,
    /// The lift, as a share; `None` if it is unknown.
    pub lift: Option<f64>,
    /// The verdict.
    pub verdict: String,
}

impl Trend<'_> {
    /// The name of the condition in the last line.
    pub fn condition(&self) -> &str {
        self.points.last().map_or("", |point| &point.condition)
    }

    /// The lifts, oldest first.
    pub fn lifts(&self) -> Vec<Option<f64>> {
        self.points.iter().map(|point| point.lift).collect()
    }

    /// The last known lift less the one before it; `None` with fewer than two.
    pub fn change(&self) -> Option<f64> {
        change(&self.lifts())
    }
}

/// The lines of the named runs, or all, oldest first, as `assay.history/2`: lines of earlier versions are translated.
///
/// # Errors
/// The store has no such run, or its history cannot be read.
pub fn read_history(store: &Store, runs: &[String]) -> Result<Vec<Value>, StoreError> {
    for name in runs {
        store.run(name)?;
    }
    let mut lines = store.history()?;
    if !runs.is_empty() {
        let is_named =
            |line: &Value| runs.iter().any(|name| line.get("run").and_then(Value::as_str) == Some(name));
        lines.retain(is_named);
    }
    for line in &mut lines {
        update_line(line);
        add_roles(line, store);
    }
    Ok(lines)
}

/// Translates a line of `assay.history/1` into the keys and verdicts of `assay.history/2`.
fn update_line(line: &mut Value) {
    let Some(line) = line.as_object_mut().filter(|line| line.get("schema") == Some(&json!(OLD_SCHEMA)))
    else {
        return;
    };
    line.insert("schema".to_owned(), json!(HISTORY_SCHEMA));
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

/// Adds the roles of conditions to a line that an earlier version wrote, by the plan of its run, else by their names.
fn add_roles(line: &mut Value, store: &Store) {
    let verdicts = |line: &Value| line.get("verdicts").and_then(Value::as_array).cloned().unwrap_or_default();
    if verdicts(line).iter().all(|verdict| verdict.get("role").is_some()) {
        return;
    }
    let run = line.get("run").and_then(Value::as_str).and_then(|name| store.run(name).ok());
    for verdict in line.get_mut("verdicts").and_then(Value::as_array_mut).into_iter().flatten() {
        let name = verdict.get("condition").and_then(Value::as_str).unwrap_or_default();
        let role = run.as_ref().map_or_else(|| ConditionRole::of(name), |run| run.role_of(name));
        if let Some(verdict) = verdict.as_object_mut() {
            verdict.entry("role").or_insert(json!(role));
        }
    }
}

/// What makes an arm the same in several lines: agent, model, role, and the name of the condition if that tells it apart.
type Arm = (String, String, ConditionRole, Option<String>);

/// Each arm's lines in order. A condition is the same by its role; by its name as well where a line has several of the
/// role, or where that is unknown.
pub fn find_trends(lines: &[Value]) -> Vec<Trend<'_>> {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let role = |verdict: &Value| ConditionRole::of(&text(verdict, "role"));
    let of = |line: &'_ Value| line.get("verdicts").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut several = BTreeSet::new();
    for line in lines {
        let mut seen: BTreeMap<(String, String, String, ConditionRole), String> = BTreeMap::new();
        for verdict in of(line) {
            let (agent, model, role) = (text(&verdict, "agent"), text(&verdict, "model"), role(&verdict));
            let key = (agent.clone(), model.clone(), text(&verdict, "sandbox"), role);
            let condition = text(&verdict, "condition");
            let known = seen.entry(key).or_insert_with(|| condition.clone());
            if *known != condition || role == ConditionRole::Other {
                several.insert((agent, model, role));
            }
        }
    }
    let mut trends: BTreeMap<Arm, Trend<'_>> = BTreeMap::new();
    for line in lines {
        for verdict in of(line) {
            let (agent, model, role) = (text(&verdict, "agent"), text(&verdict, "model"), role(&verdict));
            let condition = text(&verdict, "condition");
            let is_named = several.contains(&(agent.clone(), model.clone(), role));
            let name = is_named.then(|| condition.clone());
            let trend = trends.entry((agent.clone(), model.clone(), role, name)).or_insert_with(|| Trend {
                agent,
                model,
                points: Vec::new(),
            });
            let lift = verdict.get("lift").and_then(Value::as_f64);
            let verdict = match verdict.get("verdict") {
                Some(Value::Null) => INTERIM.to_owned(),
                _ => text(&verdict, "verdict"),
            };
            trend.points.push(TrendPoint { line, condition, role, lift, verdict });
        }
    }
    trends.into_values().collect()
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
        let trends = find_trends(&lines);
        let mut verdicts: Vec<&str> = trends.iter().map(|trend| trend.points[0].verdict.as_str()).collect();
        verdicts.sort_unstable();
        assert_eq!(verdicts, ["helps", "inconclusive", "negligible"]);
        let [mut again] = lines.clone();
        update_line(&mut again);
        assert_eq!(again, lines[0]);
    }

    #[test]
    fn a_condition_is_the_same_in_all_lines_by_its_role() {
        let line = |run: &str, verdicts: &[(&str, Option<&str>, f64)]| {
            let verdicts: Vec<Value> = verdicts
                .iter()
                .map(|(condition, role, lift)| {
                    json!({ "agent": "loop", "model": null, "condition": condition, "role": role, "lift": lift,
                        "verdict": "helps" })
                })
                .collect();
            json!({ "schema": HISTORY_SCHEMA, "run": run, "verdicts": verdicts })
        };
        let check = |lines: &[Value], expected: &[(&str, &[f64])]| {
            let found: BTreeMap<String, Vec<f64>> = find_trends(lines)
                .iter()
                .map(|trend| (trend.condition().to_owned(), trend.lifts().into_iter().flatten().collect()))
                .collect();
            let expected =
                expected.iter().map(|(name, lifts)| ((*name).to_owned(), lifts.to_vec())).collect();
            assert_eq!(found, expected, "{lines:?}");
        };
        let curated = Some("curated");
        check(
            &[line("a", &[("curated", curated, 0.1)]), line("b", &[("mine", curated, 0.2)])],
            &[("mine", &[0.1, 0.2])],
        );
        // The same name is another condition if it is something else.
        check(
            &[
                line("a", &[("x", curated, 0.1)]),
                line("b", &[("x", Some("placebo"), 0.2), ("y", curated, 0.3)]),
            ],
            &[("x", &[0.2]), ("y", &[0.1, 0.3])],
        );
        // Several of a role, and conditions without one, have their names.
        let two = line("a", &[("curated", curated, 0.1), ("told", curated, 0.2)]);
        check(&[two.clone(), two], &[("curated", &[0.1, 0.1]), ("told", &[0.2, 0.2])]);
        check(
            &[line("a", &[("on", None, 0.1)]), line("b", &[("off", None, 0.2)])],
            &[("off", &[0.2]), ("on", &[0.1])],
        );
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
