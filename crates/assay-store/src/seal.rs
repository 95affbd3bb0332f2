//! The seal of a plan: a digest of everything that an analysis reads.
//!
//! A report is computed from a plan long after it was made. The digest shows whether it is still the plan
//! that was begun before the trials, and by it a run is recognized.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::error::StoreError;
use crate::identity::canonical;
use crate::outcome_rule::OutcomeRule;
use crate::run::{Cell, RunFolder};

/// What the seal does not cover: names, notes, and the seal itself.
const UNSEALED: [&str; 5] = ["run", "plan", "extends", "relabels", "warnings"];

/// The key of a plan with one element for each trial, which is hashed as a stream.
const CELLS: &str = "cells";

/// A plan as written: its cells, which may be a million, and all other keys, also those that this version
/// does not know.
struct Document {
    cells: Option<Vec<Cell>>,
    others: Map<String, Value>,
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a plan")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
                let mut document = Document { cells: None, others: Map::new() };
                while let Some(key) = map.next_key::<String>()? {
                    if key == CELLS {
                        document.cells = Some(map.next_value()?);
                    } else {
                        let value = map.next_value()?;
                        document.others.insert(key, value);
                    }
                }
                Ok(document)
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

impl RunFolder {
    /// Sets the digest by which the run is recognized.
    pub fn seal(&mut self) {
        self.plan = self.digest();
    }

    /// The digest of everything that an analysis reads.
    pub(crate) fn digest(&mut self) -> String {
        let cells = std::mem::take(&mut self.cells);
        let others = serde_json::to_value(&*self).unwrap_or_default();
        self.cells = cells;
        digest(others.as_object().cloned().unwrap_or_default(), &self.cells)
    }

    /// Reads a plan, and checks that it is as it was sealed.
    ///
    /// # Errors
    /// No plan; one of another schema; one that was changed after it was sealed.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, StoreError> {
        Self::read_with(path, serde_json::from_slice(bytes))
    }

    /// As [`RunFolder::parse`], from a file.
    ///
    /// # Errors
    /// Those of `parse`, and a file that cannot be read.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Io { action: "read", path: path.to_owned(), source };
        let file = fs::File::open(path).map_err(failed)?;
        Self::read_with(path, serde_json::from_reader(io::BufReader::new(file)))
    }

    fn read_with(path: &Path, read: Result<Document, serde_json::Error>) -> Result<Self, StoreError> {
        let format = |message: String| StoreError::Format { path: path.to_owned(), message };
        let document = read.map_err(|error| match error.io_error_kind() {
            Some(_) => StoreError::Io { action: "read", path: path.to_owned(), source: error.into() },
            None => format(error.to_string()),
        })?;
        let schema = document.others.get("schema").and_then(Value::as_str).unwrap_or_default();
        if schema != Self::SCHEMA && !schema.is_empty() {
            let found = schema.to_owned();
            return Err(StoreError::Version { path: path.to_owned(), found, reads: Self::SCHEMA });
        }
        let mut keys = document.others.clone();
        if document.cells.is_some() {
            keys.insert(CELLS.to_owned(), json!([]));
        }
        let mut plan: Self = parse_value(Value::Object(keys)).map_err(|error| format(error.to_string()))?;
        plan.cells = document.cells.unwrap_or_default();
        let is_sealed = plan.plan == digest(document.others.clone(), &plan.cells)
            || plan.plan == legacy_digest(&document.others, &plan.cells);
        if is_sealed {
            Ok(plan)
        } else {
            Err(StoreError::PlanChanged { run: plan.run, path: path.to_owned() })
        }
    }

    /// Whether this plan is another one with other labels of tasks or another rule of the outcome: all else that an
    /// analysis reads is the same.
    pub fn is_relabeling_of(&self, other: &Self) -> bool {
        // The cells first: comparing all else copies them.
        let is_same = self.tasks == other.tasks && self.outcome == other.outcome;
        if self.cells.is_empty() || self.cells != other.cells || is_same {
            return false;
        }
        let without_labels = |plan: &Self| {
            let mut plan = plan.clone();
            plan.outcome = None;
            for task in &mut plan.tasks {
                (task.cluster, task.difficulty, task.category) = (None, None, None);
                task.negative_control = false;
            }
            plan.digest()
        };
        without_labels(self) == without_labels(other)
    }

    /// How another plan with the same trials differs from this one, in words: `other labels (cluster)`.
    pub fn describe_relabeled(&self, other: &Self) -> String {
        let labels = self.changed_labels(other).join(", ");
        // Plans that name no rule compared the mean of all rewards.
        let rule = |plan: &Self| plan.outcome.map_or("mean", OutcomeRule::word);
        let mut changes = Vec::new();
        if !labels.is_empty() {
            changes.push(format!("other labels ({labels})"));
        }
        if self.outcome != other.outcome {
            changes.push(format!("another outcome ({}, here {})", rule(other), rule(self)));
        }
        changes.join(" and ")
    }

    /// The labels of tasks in which two plans with the same tasks differ, as keys.
    fn changed_labels(&self, other: &Self) -> Vec<&'static str> {
        let mut changed = Vec::new();
        let pairs = || self.tasks.iter().zip(&other.tasks);
        if pairs().any(|(one, other)| one.cluster != other.cluster) {
            changed.push("cluster");
        }
        if pairs().any(|(one, other)| one.difficulty != other.difficulty) {
            changed.push("difficulty");
        }
        if pairs().any(|(one, other)| one.category != other.category) {
            changed.push("category");
        }
        if pairs().any(|(one, other)| one.negative_control != other.negative_control) {
            changed.push("negative_control");
        }
        changed
    }
}

fn parse_value<T: DeserializeOwned>(value: Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(value)
}

/// The digest of the keys of a plan without its cells, and of its cells.
fn digest(mut others: Map<String, Value>, cells: &[Cell]) -> String {
    others.retain(|key, _| !UNSEALED.contains(&key.as_str()));
    // Prices change nothing that is measured.
    for agent in list(&mut others, &["agents"]) {
        agent.remove("list_price");
    }
    for model in list(&mut others, &["judge", "models"]) {
        model.remove("price");
    }
    let mut lines = blake3::Hasher::new();
    for cell in cells {
        write_line(&mut lines, cell);
    }
    others.insert(CELLS.to_owned(), json!(lines.finalize().to_hex().as_str()));
    format!("blake3:{}", blake3::hash(canonical(&Value::Object(others)).as_bytes()).to_hex())
}

/// One cell as a line of JSON, with its keys in the order of [`Cell`].
fn write_line(hasher: &mut blake3::Hasher, cell: &Cell) {
    let line = serde_json::to_vec(cell).unwrap_or_default();
    hasher.update(&line).update(b"\n");
}

/// The objects of a list at a path of keys.
fn list<'a>(
    map: &'a mut Map<String, Value>,
    path: &[&str],
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let (first, rest) = path.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
    let value = rest.iter().fold(map.get_mut(first), |value, key| value?.get_mut(*key));
    value.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// The digest of plans that were sealed before labels of tasks and other parts were covered (0.1.0): margin,
/// seed, conditions, cells, exclusions, and what else was set.
fn legacy_digest(others: &Map<String, Value>, cells: &[Cell]) -> String {
    let mut what = Map::new();
    for key in ["margin", "seed", "conditions", "excluded"] {
        what.insert(key.to_owned(), others.get(key).cloned().unwrap_or_default());
    }
    for key in ["primary", "settings", "metrics", "judge"] {
        let set = others.get(key).filter(|value| {
            let is_empty =
                value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty);
            !value.is_null() && !is_empty
        });
        if let Some(value) = set {
            what.insert(key.to_owned(), value.clone());
        }
    }
    for model in list(&mut what, &["judge", "models"]) {
        model.remove("price");
    }
    if let Some(stopping) = others.get("stopping").filter(|stopping| !stopping.is_null()) {
        let repetitions = others.get("repetitions").cloned().unwrap_or_default();
        what.insert(
            "stopping".to_owned(),
            json!({ "rounds": stopping["rounds"], "repetitions": repetitions }),
        );
    }
    // `cells` is the first of the sorted keys.
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"{\"cells\":[");
    for (number, cell) in cells.iter().enumerate() {
        hasher.update(if number == 0 { b"" } else { b"," });
        hasher.update(canonical(&json!(cell)).as_bytes());
    }
    hasher.update(b"],");
    hasher.update(canonical(&Value::Object(what)).trim_start_matches('{').as_bytes());
    format!("blake3:{}", hasher.finalize().to_hex())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> RunFolder {
        let cell = |task: &str, condition: &str| {
            json!({ "task": task, "agent": 0, "sandbox": "none", "condition": condition, "repetition": 1,
                "trial": crate::TrialId::of(&json!([task, condition])) })
        };
        let cells: Vec<Value> =
            ["a", "b"].iter().flat_map(|task| [cell(task, "none"), cell(task, "curated")]).collect();
        let label = json!({ "name": "loop", "version": "1", "model": "openai:one" });
        let mut plan: RunFolder = serde_json::from_value(json!({
            "schema": RunFolder::SCHEMA, "run": "lab", "plan": "", "margin": 0.1, "seed": 1, "repetitions": 1,
            "conditions": ["none", "curated"], "disclosure": "offered",
            "agents": [{ "label": label, "measures_a_model": true }],
            "tasks": [{ "name": "a", "digest": "x", "cluster": "c" }, { "name": "b", "digest": "y" }],
            "cells": cells, "excluded": [], "equal_conditions": [], "primary": "curated",
            "settings": { "told": { "is": "curated", "disclosure": "told" } }, "stopping": { "rounds": 6 },
            "judge": { "models": [{ "model": "openai:judge", "price": { "input": 1.0, "output": 2.0 } }],
                "mode": "call", "repeats": 1, "material": [], "max_turns": 20, "timeout": 60.0 },
        }))
        .unwrap();
        plan.seal();
        plan
    }

    fn parse(plan: &Value) -> Result<RunFolder, StoreError> {
        RunFolder::parse(plan.to_string().as_bytes(), Path::new("plan.json"))
    }

    #[test]
    fn a_plan_that_was_changed_after_it_was_sealed_is_refused() {
        let sealed = serde_json::to_value(plan()).unwrap();
        assert_eq!(parse(&sealed).unwrap(), plan());
        let check = |pointer: &str, value: Value, is_covered: bool| {
            let mut changed = sealed.clone();
            match changed.pointer_mut(pointer) {
                Some(old) => *old = value,
                None => _ = changed.as_object_mut().unwrap().insert(pointer[1..].to_owned(), value),
            }
            match parse(&changed) {
                Err(StoreError::PlanChanged { run, .. }) => assert!(is_covered && run == "lab", "{pointer}"),
                read => assert!(!is_covered && read.is_ok(), "{pointer}: {read:?}"),
            }
        };
        // Every key of the plan but those that are names, notes or prices.
        for key in
            sealed.as_object().unwrap().keys().filter(|key| !["schema", "judge"].contains(&key.as_str()))
        {
            let changed = match &sealed[key] {
                Value::Number(_) => json!(7),
                Value::String(_) => json!("other"),
                Value::Array(items) => json!(items.iter().skip(1).collect::<Vec<_>>()),
                _ => json!({}),
            };
            if changed != sealed[key] {
                let is_covered = key == "plan" || !UNSEALED.contains(&key.as_str());
                if key == "run" {
                    check("/run", json!("lab"), false);
                } else if key == "stopping" {
                    check("/stopping/rounds", json!(7), true);
                } else {
                    check(&format!("/{key}"), changed, is_covered);
                }
            }
        }
        check("/margin", json!(0.01), true);
        check("/tasks/0/cluster", json!("d"), true);
        check("/agents/0/label/model", json!("openai:two"), true);
        check("/cells/3/trial", json!("0".repeat(64)), true);
        check("/judge/models/0/model", json!("openai:two"), true);
        check("/judge/models/0/price", Value::Null, false);
        check("/warnings", json!(["a"]), false);
        check("/relabels", json!("lab"), false);
        check("/extends", json!("lab"), false);
        // A key of a later version is covered as well.
        check("/added", json!([1]), true);
    }

    #[test]
    fn keys_of_a_later_version_do_not_hide_a_plan() {
        let mut later = serde_json::to_value(plan()).unwrap();
        later["added"] = json!([1]);
        let mut others = later.as_object().unwrap().clone();
        others.remove(CELLS);
        later["plan"] = json!(digest(others, &plan().cells));
        assert_eq!(parse(&later).unwrap().cells, plan().cells);
    }

    #[test]
    fn plans_of_the_older_rule_are_verified_by_it() {
        // The rule of 0.1.0, as it was written there.
        let mut old = serde_json::to_value(plan()).unwrap();
        let mut judge = old["judge"].clone();
        judge["models"][0].as_object_mut().unwrap().remove("price");
        let what = json!({
            "margin": old["margin"], "seed": old["seed"], "conditions": old["conditions"], "cells": old["cells"],
            "excluded": old["excluded"], "primary": old["primary"], "settings": old["settings"], "judge": judge,
            "stopping": { "rounds": 6, "repetitions": 1 },
        });
        old["plan"] = json!(format!("blake3:{}", blake3::hash(canonical(&what).as_bytes()).to_hex()));
        assert_eq!(parse(&old).unwrap().cells, plan().cells);
        old["tasks"][0]["cluster"] = json!("d");
        assert!(parse(&old).is_ok(), "the older rule does not cover labels");
        old["margin"] = json!(0.01);
        assert!(matches!(parse(&old), Err(StoreError::PlanChanged { .. })));
    }

    #[test]
    fn only_other_labels_and_outcomes_relabel_a_run() {
        let check = |change: fn(&mut RunFolder), words: &str| {
            let mut changed = plan();
            change(&mut changed);
            changed.seal();
            assert_ne!(changed.plan, plan().plan, "{words}");
            assert!(changed.is_relabeling_of(&plan()), "{words}");
            assert_eq!(changed.describe_relabeled(&plan()), words);
        };
        assert!(!plan().is_relabeling_of(&plan()));
        check(|plan| plan.tasks[0].cluster = None, "other labels (cluster)");
        check(|plan| plan.tasks[1].negative_control = true, "other labels (negative_control)");
        check(|plan| plan.tasks[1].difficulty = Some("easy".into()), "other labels (difficulty)");
        check(|plan| plan.tasks[1].category = Some("data".into()), "other labels (category)");
        check(|plan| plan.outcome = Some(OutcomeRule::Pass), "another outcome (mean, here pass)");
        let both = |plan: &mut RunFolder| {
            plan.tasks[0].cluster = None;
            plan.outcome = Some(OutcomeRule::Auto);
        };
        check(both, "other labels (cluster) and another outcome (mean, here auto)");
        for change in [
            |plan: &mut RunFolder| plan.margin = 0.2,
            |plan: &mut RunFolder| plan.tasks[1].digest = "z".into(),
            |plan: &mut RunFolder| _ = plan.cells.pop(),
        ] {
            let mut changed = plan();
            change(&mut changed);
            changed.seal();
            assert!(!changed.is_relabeling_of(&plan()), "{changed:?}");
        }
    }
}
