//! The graders of a case, made of the items of a rubric.
//!
//! The score of a rubric whose sets and groups are means is the mean of its leaves, each weighted by its share of
//! the points; that of a case is the mean of its graders by weight. So both are equal if the same items are met.

use std::collections::BTreeSet;

use assay_judge::{Aggregation, Check, Item, Kind, Rubric, Unverifiable};
use serde_json::{Value, json};

use super::refusal::CaseRefusal;

/// A grader: its name, the keys of its front matter, and its body.
#[derive(Debug, PartialEq)]
pub(super) struct CaseGrader {
    pub(super) name: String,
    keys: Vec<(&'static str, Value)>,
    body: String,
}

impl CaseGrader {
    /// Its weight.
    #[cfg(test)]
    pub(super) fn weight(&self) -> f64 {
        let found = self.keys.iter().find(|(key, _)| *key == "weight");
        found.and_then(|(_, weight)| weight.as_f64()).unwrap_or_default()
    }

    /// The text of its file.
    pub(super) fn text(&self) -> String {
        let mut text = "---\n".to_owned();
        for (key, value) in &self.keys {
            // A JSON value is one of YAML.
            text.push_str(&format!("{key}: {value}\n"));
        }
        text.push_str("---\n");
        if !self.body.is_empty() {
            text.push_str(&format!("\n{}\n", self.body));
        }
        text
    }
}

/// What judges read, as the key `focus` of a grader says it.
pub(super) fn focus_value(focus: &str) -> Value {
    match focus {
        "last_message" | "trace" | "files" => json!(focus),
        path => json!({ "source": "file", "path": path }),
    }
}

/// The graders of a rubric. Items without points are left out: they count nowhere.
pub(super) fn graders(rubric: &Rubric, focus: &str) -> Result<Vec<CaseGrader>, CaseRefusal> {
    let mut made = Graders { rubric, focus: focus_value(focus), names: BTreeSet::new(), made: Vec::new() };
    for set in &rubric.sets {
        if set.aggregation != Aggregation::Mean {
            return Err(CaseRefusal::Set(set.name.clone()));
        }
        let sum: f64 = set.items.iter().map(|item| item.points).sum();
        // Without a weight of the set, points are weights as they are.
        let scale = set.weight.map_or(1.0, |weight| weight / sum);
        for item in &set.items {
            made.add(item, item.points * scale)?;
        }
    }
    if made.made.is_empty() { Err(CaseRefusal::NoItems) } else { Ok(made.made) }
}

struct Graders<'a> {
    rubric: &'a Rubric,
    focus: Value,
    names: BTreeSet<String>,
    made: Vec<CaseGrader>,
}

impl Graders<'_> {
    fn add(&mut self, item: &Item, weight: f64) -> Result<(), CaseRefusal> {
        let refuse = |reason| Err(CaseRefusal::Item { id: item.id.clone(), reason });
        if !(weight > 0.0 && weight.is_finite()) {
            return Ok(());
        }
        if !item.prerequisites.is_empty() {
            return refuse("it counts only if others are met, and each grader counts by itself");
        }
        if !item.items.is_empty() {
            let sum: f64 = item.items.iter().map(|below| below.points).sum();
            return item.items.iter().try_for_each(|below| self.add(below, weight * below.points / sum));
        }
        if item.kind != Kind::Binary {
            return refuse("it has a scale, and a grader passes or fails");
        }
        let name = self.unique_name(&item.id);
        let (mut keys, body) = if let Some(check) = &item.check {
            (check_keys(check, item.negated), String::new())
        } else {
            if self.rubric.rule(item) != Unverifiable::NotMet {
                return refuse("it does not fail if it cannot be told, and a judge's vote then fails");
            }
            let body = item.text.trim();
            if body.is_empty() {
                return refuse("it has no text");
            }
            let body = if item.negated { format!("This is not the case: {body}") } else { body.to_owned() };
            (vec![("type", json!("llm")), ("focus", self.focus.clone())], body)
        };
        keys.push(("weight", json!(weight)));
        self.made.push(CaseGrader { name, keys, body });
        Ok(())
    }

    fn unique_name(&mut self, id: &str) -> String {
        let plain: String = id
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' })
            .take(60)
            .collect();
        let base = match plain.trim_matches('-') {
            "" => "item",
            name => name,
        };
        let mut name = base.to_owned();
        let mut number = 1;
        // A file system may ignore case.
        while !self.names.insert(name.to_lowercase()) {
            number += 1;
            name = format!("{base}-{number}");
        }
        name
    }
}

fn check_keys(check: &Check, negated: bool) -> Vec<(&'static str, Value)> {
    let (texts, flags) = match check {
        Check::AnswerContains(texts) => (texts, "iu"),
        Check::AnswerContainsExact(texts) => (texts, "u"),
    };
    let pattern = texts.iter().map(|text| escape_pattern(text)).collect::<Vec<_>>().join("|");
    let rule = if negated { "not_contains" } else { "contains" };
    vec![
        ("type", json!("regex")),
        ("target", json!("last_message")),
        ("pattern", json!(pattern)),
        ("flags", json!(flags)),
        ("match", json!(rule)),
    ]
}

/// A text as a pattern of JavaScript with the flag `u`, which allows a backslash only before these (ECMAScript 2025,
/// `SyntaxCharacter`).
fn escape_pattern(text: &str) -> String {
    let mut pattern = String::new();
    for char in text.chars() {
        if "^$\\.*+?()[]{}|".contains(char) {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern
}
