//! Agreement with labelled skills, and the share of skills with each need.

use std::collections::BTreeMap;

use assay_draft::needs::{Category, Needs};
use serde::{Deserialize, Serialize};

/// Those for which Tessl's autonomous mode discards a skill.
pub const DISCARDED: [Category; 7] = [
    Category::Mcp,
    Category::MultiTurn,
    Category::ExistingRepo,
    Category::GitState,
    Category::Database,
    Category::LocalServices,
    Category::ExternalState,
];

/// The share of Tessl's 500 skills of known companies that need it, in percent (Tessl, 2026, Table 3); `None` for
/// those of which it only says that each is at most 4.4%.
pub fn published_share(category: Category) -> Option<f64> {
    match category {
        Category::ToolCli => Some(70.4),
        Category::Auth => Some(66.0),
        Category::Runtime => Some(65.2),
        Category::Network => Some(42.0),
        Category::ExistingRepo => Some(19.3),
        Category::Mcp => Some(16.2),
        Category::MultiTurn => Some(7.0),
        _ => None,
    }
}

/// A skill with the labels of two readers: 1 if it needs a category, else 0.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Labelled {
    /// The skill's id in its corpus.
    pub id: String,
    a: BTreeMap<String, u8>,
    b: BTreeMap<String, u8>,
}

/// Why a line is not a labelled skill.
#[derive(Debug, thiserror::Error)]
pub enum LabelError {
    /// It is not the JSON of one.
    #[error("not a labelled skill: {0}")]
    Json(#[from] serde_json::Error),
    /// A reader did not label a category.
    #[error("the labels of `{id}` lack `{}`", category.name())]
    Missing {
        /// The skill.
        id: String,
        /// The category.
        category: Category,
    },
}

impl Labelled {
    /// Parses a line: `{"id": …, "a": {"tool_cli": 1, …}, "b": {…}}`.
    pub fn parse(line: &str) -> Result<Self, LabelError> {
        let labelled: Self = serde_json::from_str(line)?;
        for category in Category::ALL {
            for labels in [&labelled.a, &labelled.b] {
                if !labels.contains_key(category.name()) {
                    return Err(LabelError::Missing { id: labelled.id, category });
                }
            }
        }
        Ok(labelled)
    }

    /// Whether both readers say that the skill needs a category; `None` where they differ.
    pub fn agreed(&self, category: Category) -> Option<bool> {
        let label =
            |labels: &BTreeMap<String, u8>| labels.get(category.name()).is_some_and(|label| *label != 0);
        let (a, b) = (label(&self.a), label(&self.b));
        (a == b).then_some(a)
    }
}

/// Right and wrong answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Needed, and found.
    pub true_positives: usize,
    /// Not needed, but found.
    pub false_positives: usize,
    /// Needed, but not found.
    pub false_negatives: usize,
    /// Not needed, and not found.
    pub true_negatives: usize,
}

impl Counts {
    /// Adds an answer.
    pub fn add(&mut self, needed: bool, found: bool) {
        *match (needed, found) {
            (true, true) => &mut self.true_positives,
            (false, true) => &mut self.false_positives,
            (true, false) => &mut self.false_negatives,
            (false, false) => &mut self.true_negatives,
        } += 1;
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            true_positives: self.true_positives + other.true_positives,
            false_positives: self.false_positives + other.false_positives,
            false_negatives: self.false_negatives + other.false_negatives,
            true_negatives: self.true_negatives + other.true_negatives,
        }
    }

    /// How many labels the readers agree on.
    pub fn labels(self) -> usize {
        self.needed() + self.false_positives + self.true_negatives
    }

    /// How many of them say that the category is needed.
    pub fn needed(self) -> usize {
        self.true_positives + self.false_negatives
    }

    /// The share of what was found that is needed; `None` if nothing was found.
    pub fn precision(self) -> Option<f64> {
        ratio(self.true_positives, self.true_positives + self.false_positives)
    }

    /// The share of what is needed that was found; `None` if nothing is needed.
    pub fn recall(self) -> Option<f64> {
        ratio(self.true_positives, self.needed())
    }

    /// The harmonic mean of precision and recall; `None` if nothing is needed and nothing was found.
    pub fn f1(self) -> Option<f64> {
        ratio(2 * self.true_positives, 2 * self.true_positives + self.false_positives + self.false_negatives)
    }
}

fn ratio(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Agreement with the labels, by category.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreement {
    counts: BTreeMap<Category, Counts>,
}

impl Agreement {
    /// Compares what was found in a skill with its labels, where the readers agree.
    pub fn add(&mut self, labelled: &Labelled, needs: &Needs) {
        for category in Category::ALL {
            if let Some(needed) = labelled.agreed(category) {
                self.counts.entry(category).or_default().add(needed, needs.has(category));
            }
        }
    }

    /// The counts of a category.
    pub fn of(&self, category: Category) -> Counts {
        self.counts.get(&category).copied().unwrap_or_default()
    }

    /// The counts of some categories together, for micro-averages.
    pub fn pooled(&self, categories: &[Category]) -> Counts {
        categories.iter().fold(Counts::default(), |sum, category| sum.plus(self.of(*category)))
    }
}

/// How many skills need each category.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frequencies {
    /// All skills.
    pub skills: usize,
    counts: BTreeMap<Category, usize>,
}

impl Frequencies {
    /// Counts a skill's categories.
    pub fn add(&mut self, categories: &[Category]) {
        self.skills += 1;
        for category in categories {
            *self.counts.entry(*category).or_default() += 1;
        }
    }

    /// How many skills need a category.
    pub fn count(&self, category: Category) -> usize {
        self.counts.get(&category).copied().unwrap_or_default()
    }

    /// Their share of all skills; `None` without skills.
    pub fn share(&self, category: Category) -> Option<f64> {
        ratio(self.count(category), self.skills)
    }
}
