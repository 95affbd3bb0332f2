//! A rubric as data, and its own file format.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What the field `schema` of a `rubric.json` contains.
pub const SCHEMA: &str = "assay.rubric/1";

/// Most levels of items below items.
pub const MAX_DEPTH: usize = 32;

/// What a result is judged by: sets of items, each with a score of its own.
///
/// Its file is JSON with `"schema": "assay.rubric/1"`. Unknown fields are errors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rubric {
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it tests, for those who read it or judge by it. The agent never sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What an item counts that the judged material neither shows nor rules out.
    #[serde(default)]
    pub unverifiable: Unverifiable,
    /// The weight of the task's own tests in the overall score, if it has any [default: as much as all sets together].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_weight: Option<f64>,
    /// The sets. Their names are unique.
    pub sets: Vec<Set>,
}

/// A set of items with a score of its own, such as "instruction following" and "goal completion".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Its name.
    pub name: String,
    /// Its weight in the overall score [default: the sum of its items' points].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// How the scores of its items make the score of the set.
    #[serde(default, skip_serializing_if = "is_default")]
    pub aggregation: Aggregation,
    /// The items.
    pub items: Vec<Item>,
}

/// How the scores of items make one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregation {
    /// The mean, weighted by points.
    #[default]
    Mean,
    /// 1 if every item has its full score, else 0.
    All,
    /// 1 if any item has its full score, else 0.
    Any,
    /// 1 if the weighted mean is at least this, else 0.
    Threshold(f64),
}

/// A requirement, or a group of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Unique in the rubric.
    pub id: String,
    /// Its author's short name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is required.
    pub text: String,
    /// Its weight among its siblings; not negative.
    pub points: f64,
    /// How it is answered.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: Kind,
    /// Whether "met" is bad: the score is 1 if the item is not met.
    #[serde(default, skip_serializing_if = "is_default")]
    pub negated: bool,
    /// How it is decided without a judge, if it can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// What it rewards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// The line of the skill that it tests, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What its author calls its subject, such as PaperBench's and DevAI's categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Items that must be met for this one to count, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prerequisites: Vec<String>,
    /// What it counts if it cannot be told [default: the rubric's rule].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unverifiable: Option<Unverifiable>,
    /// The items of a group. Only items without any are judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
}

/// How an item is answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Kind {
    /// Met, or not met.
    #[default]
    Binary,
    /// A number.
    Scaled {
        /// The number that scores 0.
        lowest: f64,
        /// The number that scores 1.
        highest: f64,
        /// What the whole numbers from `lowest` on mean, if the author says so.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        levels: Vec<String>,
    },
}

/// A requirement that needs no judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Check {
    /// The agent's last message contains one of these texts, without regard to case.
    AnswerContains(Vec<String>),
    /// The same in the case of the text.
    AnswerContainsExact(Vec<String>),
}

impl Check {
    /// Whether an agent's last message meets it.
    pub fn is_met(&self, answer: &str) -> bool {
        match self {
            Self::AnswerContains(texts) => {
                let answer = answer.to_lowercase();
                texts.iter().any(|text| answer.contains(&text.to_lowercase()))
            }
            Self::AnswerContainsExact(texts) => texts.iter().any(|text| answer.contains(text.as_str())),
        }
    }
}

/// What an item rewards. The classes are those of dotnet/skills' review of overfitted rubrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A property of the result that the person who asked for it would check.
    Outcome,
    /// The way to the result that the skill prescribes.
    Technique,
    /// The skill's own words and names.
    Vocabulary,
}

impl Class {
    /// Its name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outcome => "outcome",
            Self::Technique => "technique",
            Self::Vocabulary => "vocabulary",
        }
    }
}

/// What an item counts that the material neither shows nor rules out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unverifiable {
    /// As not met.
    #[default]
    NotMet,
    /// As met.
    Met,
    /// Nothing: its points count neither way.
    LeftOut,
}

/// Why a rubric cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RubricError {
    /// The text is not one of the format.
    #[error("not a rubric: {0}")]
    Json(#[from] serde_json::Error),
    /// The field `schema` is another.
    #[error("the field `schema` is {found:?}, expected {SCHEMA:?}")]
    Schema {
        /// What it contains.
        found: String,
    },
    /// A value that makes no sense.
    #[error("{place}: {what}")]
    Value {
        /// Where, such as `sets[0].items[2]`, or an item's id.
        place: String,
        /// What is wrong with it.
        what: String,
    },
}

#[derive(Deserialize)]
struct Tagged {
    schema: String,
}

#[derive(Serialize, Deserialize)]
struct File {
    schema: String,
    #[serde(flatten)]
    rubric: serde_json::Value,
}

impl Rubric {
    /// A rubric of one set.
    pub fn of_items(set: &str, items: Vec<Item>) -> Self {
        Self { sets: vec![Set { name: set.to_owned(), items, ..Set::default() }], ..Self::default() }
    }

    /// Reads a `rubric.json` and checks it.
    ///
    /// # Errors
    /// The text is not JSON of the format, or [`Rubric::check`] finds an error.
    pub fn parse(text: &str) -> Result<Self, RubricError> {
        let Tagged { schema } = serde_json::from_str(text)?;
        if schema != SCHEMA {
            return Err(RubricError::Schema { found: schema });
        }
        let File { rubric, .. } = serde_json::from_str(text)?;
        let rubric: Self = serde_json::from_value(rubric)?;
        rubric.check()?;
        Ok(rubric)
    }

    /// The text of a `rubric.json`.
    pub fn to_json(&self) -> String {
        let rubric = serde_json::to_value(self).unwrap_or_default();
        let file = File { schema: SCHEMA.to_owned(), rubric };
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Whether ids and names of sets are unique, points are numbers that are not negative, each group has points to
    /// give, and prerequisites exist without a cycle.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub fn check(&self) -> Result<(), RubricError> {
        let mut names = BTreeSet::new();
        let mut ids = BTreeSet::new();
        if self.sets.is_empty() {
            return Err(fault("sets", "there is none"));
        }
        if self.tests_weight.is_some_and(|weight| !is_weight(weight)) {
            return Err(fault("tests_weight", "not a number from 0 up"));
        }
        for (number, set) in self.sets.iter().enumerate() {
            let place = format!("sets[{number}]");
            if !names.insert(&set.name) {
                return Err(fault(&place, &format!("another set is named {:?}", set.name)));
            }
            if set.weight.is_some_and(|weight| !is_weight(weight)) {
                return Err(fault(&place, "the weight is not a number from 0 up"));
            }
            if let Aggregation::Threshold(threshold) = set.aggregation
                && !(0.0..=1.0).contains(&threshold)
            {
                return Err(fault(&place, "the threshold is not between 0 and 1"));
            }
            check_group(&set.items, &place, 0, &mut ids)?;
        }
        self.check_prerequisites()
    }

    fn check_prerequisites(&self) -> Result<(), RubricError> {
        let items: BTreeMap<&str, &Item> = self.all().map(|item| (item.id.as_str(), item)).collect();
        for item in items.values() {
            if let Some(missing) = item.prerequisites.iter().find(|id| !items.contains_key(id.as_str())) {
                return Err(fault(&item.id, &format!("the prerequisite {missing:?} is no item")));
            }
        }
        // Items whose prerequisites are all settled are settled in turn; what remains is a cycle.
        let mut settled = BTreeSet::new();
        while let Some(next) = items.values().find(|item| {
            !settled.contains(item.id.as_str())
                && item.prerequisites.iter().all(|id| settled.contains(id.as_str()))
        }) {
            settled.insert(next.id.as_str());
        }
        match items.keys().find(|id| !settled.contains(*id)) {
            Some(id) => Err(fault(id, "its prerequisites lead back to it")),
            None => Ok(()),
        }
    }

    /// Every item, groups included, in order.
    pub fn all(&self) -> impl Iterator<Item = &Item> {
        let mut found = Vec::new();
        for set in &self.sets {
            collect(&set.items, &mut found);
        }
        found.into_iter()
    }

    /// The items that are judged: those without items below them, in order.
    pub fn leaves(&self) -> impl Iterator<Item = &Item> {
        self.all().filter(|item| item.items.is_empty())
    }

    /// The rule for an item that cannot be told.
    pub fn rule(&self, item: &Item) -> Unverifiable {
        item.unverifiable.unwrap_or(self.unverifiable)
    }
}

impl Item {
    /// A binary item.
    pub fn new(id: impl Into<String>, text: impl Into<String>, points: f64) -> Self {
        Self { id: id.into(), text: text.into(), points, ..Self::default() }
    }
}

fn collect<'a>(items: &'a [Item], found: &mut Vec<&'a Item>) {
    for item in items {
        found.push(item);
        collect(&item.items, found);
    }
}

fn check_group(
    items: &[Item],
    place: &str,
    depth: usize,
    ids: &mut BTreeSet<String>,
) -> Result<(), RubricError> {
    if depth > MAX_DEPTH {
        return Err(fault(place, &format!("more than {MAX_DEPTH} levels of items")));
    }
    if items.is_empty() {
        return Err(fault(place, "there is no item"));
    }
    for (number, item) in items.iter().enumerate() {
        let place = format!("{place}.items[{number}]");
        if item.id.is_empty() {
            return Err(fault(&place, "the id is empty"));
        }
        if !ids.insert(item.id.clone()) {
            return Err(fault(&place, &format!("another item has the id {:?}", item.id)));
        }
        if item.text.trim().is_empty() {
            return Err(fault(&place, "the text is empty"));
        }
        if !is_weight(item.points) {
            return Err(fault(&place, "the points are not a number from 0 up"));
        }
        if let Kind::Scaled { lowest, highest, .. } = item.kind
            && !(lowest.is_finite() && highest.is_finite() && lowest < highest)
        {
            return Err(fault(&place, "`lowest` is not below `highest`"));
        }
        if !item.items.is_empty() {
            check_group(&item.items, &place, depth + 1, ids)?;
        }
    }
    if items.iter().map(|item| item.points).sum::<f64>() <= 0.0 {
        return Err(fault(place, "no item has points"));
    }
    Ok(())
}

fn is_weight(points: f64) -> bool {
    points.is_finite() && points >= 0.0
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn fault(place: &str, what: &str) -> RubricError {
    RubricError::Value { place: place.to_owned(), what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rubric(items: Vec<Item>) -> Rubric {
        Rubric::of_items("criteria", items)
    }

    #[test]
    fn faults_have_a_place() {
        let check = |items: Vec<Item>, expected: &str| {
            let error = rubric(items).check().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        let item = |id: &str| Item::new(id, "text", 1.0);
        check(vec![], "sets[0]: there is no item");
        check(vec![item("a"), item("a")], "sets[0].items[1]: another item has the id \"a\"");
        check(vec![Item { points: f64::NAN, ..item("a") }], "sets[0].items[0]: the points");
        check(vec![Item { points: 0.0, ..item("a") }], "no item has points");
        check(vec![Item { text: " ".into(), ..item("a") }], "the text is empty");
        check(
            vec![Item { prerequisites: vec!["b".into()], ..item("a") }],
            "the prerequisite \"b\" is no item",
        );
        let cycle = |id: &str, other: &str| Item { prerequisites: vec![other.into()], ..item(id) };
        check(vec![cycle("a", "b"), cycle("b", "a"), item("c")], "a: its prerequisites lead back to it");
        check(vec![Item { items: vec![item("a")], ..item("a") }], "sets[0].items[0].items[0]: another item");
        let scale = Kind::Scaled { lowest: 1.0, highest: 1.0, levels: vec![] };
        check(vec![Item { kind: scale, ..item("a") }], "`lowest` is not below `highest`");
        let deep = (0..40).fold(item("x"), |below, n| Item { items: vec![below], ..item(&n.to_string()) });
        check(vec![deep], "more than 32 levels");
    }

    #[test]
    fn checks_read_the_answer() {
        let check = Check::AnswerContains(vec!["await".into(), "Promise".into()]);
        assert!(check.is_met("It returns a promise."));
        assert!(!check.is_met("It returns a value."));
    }

    #[test]
    fn files_are_read_as_written() {
        let items = vec![
            Item { class: Some(Class::Outcome), line: Some(7), ..Item::new("a", "first", 60.0) },
            Item {
                kind: Kind::Scaled { lowest: 1.0, highest: 5.0, levels: vec![] },
                prerequisites: vec!["a".into()],
                unverifiable: Some(Unverifiable::LeftOut),
                negated: true,
                ..Item::new("b", "second", 40.0)
            },
        ];
        let written = Rubric { title: Some("Title".into()), ..rubric(items) };
        assert_eq!(Rubric::parse(&written.to_json()).unwrap(), written);
    }

    #[test]
    fn other_files_are_refused() {
        let check = |text: &str, expected: &str| {
            let error = Rubric::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("", "EOF");
        check("{}", "missing field `schema`");
        check(r#"{"schema": "other/1", "sets": []}"#, "expected \"assay.rubric/1\"");
        check(r#"{"schema": "assay.rubric/1", "sets": []}"#, "sets: there is none");
        check(r#"{"schema": "assay.rubric/1", "sets": [], "judge": 1}"#, "unknown field `judge`");
    }
}
