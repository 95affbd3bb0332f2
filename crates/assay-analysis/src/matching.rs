//! Which conditions of two runs are the same: those with the same role, whatever their names.

use std::collections::BTreeSet;

use assay_store::{ConditionRole, RunFolder};
use serde::Serialize;

/// A condition of one run, and the one of another run that it is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatchedCondition {
    /// Its name in the first run.
    pub first: String,
    /// Its name in the second run.
    pub second: String,
    /// What both are; `null` if that is unknown in either run, so that they have only the name in common.
    pub role: ConditionRole,
}

/// The conditions that two runs have in common, in the order of the second one.
///
/// A role that one condition of each run has makes them the same. Of several conditions with a role those with the same
/// name are, then those with the same argument and disclosure, if no other of the role has these. A condition whose role is unknown
/// is the one with the same name.
pub fn match_conditions(first: &RunFolder, second: &RunFolder) -> Vec<MatchedCondition> {
    let mut matched = Vec::new();
    for role in ConditionRole::ALL {
        matched.extend(of_role(role, first, second));
    }
    let is_free = |name: &String, taken: fn(&MatchedCondition) -> &String| {
        !matched.iter().any(|pair: &MatchedCondition| taken(pair) == name)
    };
    let of_name = second.conditions.iter().filter(|name| {
        let is_unknown = [first.role_of(name), second.role_of(name)].contains(&ConditionRole::Other);
        is_unknown
            && first.conditions.contains(name)
            && is_free(name, |pair| &pair.first)
            && is_free(name, |pair| &pair.second)
    });
    let of_name: Vec<MatchedCondition> = of_name
        .map(|name| MatchedCondition {
            first: name.clone(),
            second: name.clone(),
            role: ConditionRole::Other,
        })
        .collect();
    matched.extend(of_name);
    matched.sort_by_key(|pair| second.conditions.iter().position(|name| *name == pair.second));
    matched
}

/// The pairs of conditions with a role.
fn of_role(role: ConditionRole, first: &RunFolder, second: &RunFolder) -> Vec<MatchedCondition> {
    let names = |run: &RunFolder| -> Vec<String> {
        run.conditions.iter().filter(|name| run.role_of(name) == role).cloned().collect()
    };
    let (mut olds, mut news) = (names(first), names(second));
    let mut matched = Vec::new();
    let mut pair = |first: &String, second: &String| {
        matched.push(MatchedCondition { first: first.clone(), second: second.clone(), role });
    };
    if let ([old], [new]) = (olds.as_slice(), news.as_slice()) {
        pair(old, new);
        return matched;
    }
    let same: BTreeSet<String> = news.iter().filter(|name| olds.contains(name)).cloned().collect();
    for name in &same {
        pair(name, name);
    }
    for names in [&mut olds, &mut news] {
        names.retain(|name| !same.contains(name));
    }
    let settings_of = |run: &RunFolder, name: &String| {
        // With its argument, such as `version:v1`. How often it was repeated says nothing about what it is.
        (run.condition_of(name).to_owned(), run.disclosure_of(name).to_owned())
    };
    for old in &olds {
        let own = settings_of(first, old);
        let mut alike = news.iter().filter(|new| settings_of(second, new) == own);
        let is_unique = olds.iter().filter(|other| settings_of(first, other) == own).count() == 1;
        if let (Some(new), None, true) = (alike.next(), alike.next(), is_unique) {
            pair(old, new);
        }
    }
    matched
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(conditions: &[(&str, Value)]) -> RunFolder {
        let names: Vec<&str> = conditions.iter().map(|(name, _)| *name).collect();
        let settings: serde_json::Map<String, Value> = conditions
            .iter()
            .filter(|(_, settings)| !settings.is_null())
            .map(|(name, settings)| ((*name).to_owned(), settings.clone()))
            .collect();
        serde_json::from_value(json!({
            "schema": RunFolder::SCHEMA, "run": "lab", "plan": "", "margin": 0.1, "seed": 1, "repetitions": 1,
            "conditions": names, "disclosure": "offered", "agents": [], "tasks": [], "cells": [], "excluded": [],
            "equal_conditions": [], "settings": settings,
        }))
        .unwrap()
    }

    #[test]
    fn conditions_are_matched_by_role_and_then_by_name_or_settings() {
        let is = |role: &str| json!({ "is": role });
        let with = |role: &str, disclosure: &str| json!({ "is": role, "disclosure": disclosure });
        let check = |first: &[(&str, Value)], second: &[(&str, Value)], expected: &[(&str, &str)]| {
            let found = match_conditions(&run(first), &run(second));
            let pairs: Vec<(&str, &str)> =
                found.iter().map(|pair| (pair.first.as_str(), pair.second.as_str())).collect();
            assert_eq!(pairs, expected, "{first:?} {second:?}");
            let back: BTreeSet<(String, String)> = match_conditions(&run(second), &run(first))
                .into_iter()
                .map(|pair| (pair.second, pair.first))
                .collect();
            assert_eq!(back.len(), found.len(), "{first:?} {second:?}");
            assert!(found.iter().all(|pair| back.contains(&(pair.first.clone(), pair.second.clone()))));
        };
        let null = || Value::Null;
        let usual = [("none", null()), ("curated", null()), ("placebo", null())];
        let renamed = [("sham", is("placebo")), ("bare", is("none")), ("mine", is("curated"))];
        check(&usual, &usual, &[("none", "none"), ("curated", "curated"), ("placebo", "placebo")]);
        check(&usual, &renamed, &[("placebo", "sham"), ("none", "bare"), ("curated", "mine")]);
        // A name is not a role: what is called alike is another treatment.
        check(&[("a", is("curated"))], &[("a", is("placebo"))], &[]);
        check(
            &[("a", is("curated")), ("b", is("placebo"))],
            &[("b", is("curated")), ("a", is("placebo"))],
            &[("a", "b"), ("b", "a")],
        );
        // Another version of the skill is the same role.
        check(&[("version:v1", null())], &[("version:v2", null())], &[("version:v1", "version:v2")]);
        // Several of a role are told apart by their names, else by their settings.
        let two =
            |one: &'static str, other: &'static str| [(one, is("curated")), (other, with("curated", "told"))];
        check(&two("x", "y"), &two("x", "y"), &[("x", "x"), ("y", "y")]);
        check(&two("x", "y"), &two("y", "x"), &[("y", "y"), ("x", "x")]);
        check(&two("x", "y"), &two("x", "z"), &[("x", "x"), ("y", "z")]);
        check(&two("x", "y"), &two("v", "w"), &[("x", "v"), ("y", "w")]);
        let versions =
            |one: &'static str, other: &'static str| [(one, is("version:v1")), (other, is("version:v2"))];
        check(
            &versions("a", "b"),
            &[("version:v2", null()), ("version:v1", null())],
            &[("b", "version:v2"), ("a", "version:v1")],
        );
        // Nothing tells which is which.
        check(
            &[("x", is("curated")), ("y", is("curated"))],
            &[("v", is("curated")), ("w", is("curated"))],
            &[],
        );
        check(&two("x", "y"), &[("v", with("curated", "eager"))], &[]);
        let more =
            [("v", json!({ "is": "curated", "disclosure": "told", "repetitions": 9 })), ("w", is("curated"))];
        check(&two("x", "y"), &more, &[("y", "v"), ("x", "w")]);
        check(&[("curated", null())], &two("curated", "told"), &[("curated", "curated")]);
        // Conditions of imports without a role have their names.
        check(
            &[("off", null()), ("on", null())],
            &[("on", null()), ("off", null())],
            &[("on", "on"), ("off", "off")],
        );
        check(
            &[("off", null()), ("on", null())],
            &[("none", null()), ("on", is("curated"))],
            &[("on", "on")],
        );
        check(&[("on", null()), ("mine", is("curated"))], &[("on", is("curated"))], &[("mine", "on")]);
    }
}
