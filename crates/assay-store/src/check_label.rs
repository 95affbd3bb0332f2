//! What a check of a task with two sets tests: goal completion, or a directive of a skill.
//!
//! A verifier says it in the `extra` of a test of its CTRF report (docs/FORMATS.md, "Two sets of checks").
//! What it does not say, or says in another way, is unknown, and the check then counts as any other.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most characters of an id, a file and an answer.
const TEXT: usize = 200;

/// The two sets of a task's checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckSet {
    /// Goal completion: what the instruction demands, in any form.
    Gc,
    /// Instruction following: an item for each directive of the skill that the task tests.
    If,
}

impl CheckSet {
    /// Its name in files and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Gc => "gc",
            Self::If => "if",
        }
    }
}

/// What an agent without the skill lacks to meet a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckClass {
    /// It cannot know or work out what the directive says.
    Knowledge,
    /// It could do the same in several ways, of which the directive chooses one.
    Convention,
    /// Nothing: a competent agent does it anyway. A control, with an expected gain of 0.
    Reminder,
}

impl CheckClass {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 3] = [Self::Knowledge, Self::Convention, Self::Reminder];

    /// Its name in files and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Knowledge => "knowledge",
            Self::Convention => "convention",
            Self::Reminder => "reminder",
        }
    }
}

/// What a check tests, as its verifier says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckLabel {
    /// The set that it belongs to.
    pub set: CheckSet,
    /// The id of the directive; `null` if there is none.
    pub item: Option<String>,
    /// The file of the skill that has the directive.
    pub file: Option<String>,
    /// Its line, from 1.
    pub line: Option<u64>,
    /// What an agent without the skill lacks; `null` for goal completion and if the verifier does not say it.
    pub class: Option<CheckClass>,
    /// What an agent that follows the directive writes or does.
    pub answer: Option<String>,
    /// Whether nobody can guess the answer: an agent that gives it without the skill knows the skill.
    pub canary: bool,
}

impl CheckLabel {
    /// The label in the `extra` of a test; `None` if it names no set.
    pub(crate) fn of_extra(extra: &Value) -> Option<Self> {
        let text = |key: &str| {
            let text: String = extra.get(key)?.as_str()?.trim().chars().take(TEXT).collect();
            (!text.is_empty()).then_some(text)
        };
        let set = match extra.get("set")?.as_str()? {
            "gc" => CheckSet::Gc,
            "if" => CheckSet::If,
            _ => return None,
        };
        let class = extra.get("class").and_then(Value::as_str);
        let is_if = set == CheckSet::If;
        Some(Self {
            set,
            item: text("item"),
            file: text("file"),
            line: extra.get("line").and_then(Value::as_u64).filter(|line| *line > 0),
            class: CheckClass::ALL.into_iter().find(|one| is_if && class == Some(one.word())),
            answer: text("answer"),
            canary: is_if && extra.get("canary").and_then(Value::as_bool).unwrap_or(false),
        })
    }

    /// Set and class: `IF, knowledge`.
    pub fn describe_set(&self) -> String {
        let set = match self.set {
            CheckSet::Gc => "GC",
            CheckSet::If => "IF",
        };
        self.class.map_or_else(|| set.to_owned(), |class| format!("{set}, {}", class.word()))
    }

    /// All that it says of the directive, but its answer: `IF, knowledge, canary, SKILL.md:12`.
    pub fn describe_label(&self) -> String {
        let canary = self.canary.then(|| "canary".to_owned());
        let parts = [Some(self.describe_set()), canary, self.place()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Where the directive is, as `SKILL.md:12`; `None` if unknown.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_deref().or(self.line.map(|_| "SKILL.md"))?;
        Some(self.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_are_read_as_far_as_they_are_known() {
        let full = json!({ "set": "if", "item": "d3", "file": "SKILL.md", "line": 12, "class": "knowledge",
            "answer": "--category evals", "canary": true });
        let label = CheckLabel::of_extra(&full).unwrap();
        assert_eq!((label.set, label.class, label.canary), (CheckSet::If, Some(CheckClass::Knowledge), true));
        assert_eq!((label.item.as_deref(), label.place().as_deref()), (Some("d3"), Some("SKILL.md:12")));
        assert_eq!(label.answer.as_deref(), Some("--category evals"));
        assert_eq!(label.describe_label(), "IF, knowledge, canary, SKILL.md:12");
        let check = |extra: Value, expected: Option<(CheckSet, Option<CheckClass>, bool, Option<&str>)>| {
            let found = CheckLabel::of_extra(&extra);
            let found = found.as_ref().map(|one| (one.set, one.class, one.canary, one.place()));
            let expected =
                expected.map(|(set, class, canary, place)| (set, class, canary, place.map(str::to_owned)));
            assert_eq!(found, expected, "{extra}");
        };
        check(json!({ "set": "gc" }), Some((CheckSet::Gc, None, false, None)));
        // Goal completion has neither classes nor canaries.
        check(
            json!({ "set": "gc", "class": "reminder", "canary": true }),
            Some((CheckSet::Gc, None, false, None)),
        );
        check(json!({ "set": "if", "class": "secret", "line": 0 }), Some((CheckSet::If, None, false, None)));
        check(json!({ "set": "if", "line": 7 }), Some((CheckSet::If, None, false, Some("SKILL.md:7"))));
        check(json!({ "set": "if", "line": "7", "file": " " }), Some((CheckSet::If, None, false, None)));
        for extra in
            [json!({}), json!({ "set": "IF" }), json!({ "set": 1 }), json!([]), json!("if"), json!(null)]
        {
            check(extra, None);
        }
        let long = json!({ "set": "if", "answer": "x".repeat(10_000) });
        assert_eq!(CheckLabel::of_extra(&long).unwrap().answer.unwrap().len(), TEXT);
    }
}
