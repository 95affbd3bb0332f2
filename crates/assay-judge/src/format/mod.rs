//! The formats of rubrics in use, a module for each.

pub mod devai;
pub mod dotnet;
mod error;
pub mod paperbench;
pub mod promptfoo;
mod promptfoo_template;
pub mod rewardkit;
pub mod skill_creator;
pub(crate) mod source;
pub mod tessl;
pub mod waza;

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use self::error::FormatError;
use crate::rubric::{Item, Rubric};

/// A format of rubrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// `task.md` with a `criteria.json` of type `weighted_checklist`.
    Tessl,
    /// The same with `criteria: [{id, weight, description}]`, as Adobe's skills have it.
    TesslCriteria,
    /// `evals.json` of Anthropic's skill-creator.
    SkillCreator,
    /// `eval.yaml` and tasks of Microsoft's waza.
    Waza,
    /// `eval.yaml` with `scenarios`, of dotnet/skills.
    Dotnet,
    /// Tasks of DevAI.
    DevAi,
    /// Trees of PaperBench.
    PaperBench,
    /// `judge.toml` of Harbor's rewardkit.
    RewardKit,
    /// `promptfooconfig.yaml` with `llm-rubric`.
    Promptfoo,
    /// A task with `tests/rubric.json`.
    Assay,
}

impl Format {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tessl => "tessl",
            Self::TesslCriteria => "tessl-criteria",
            Self::SkillCreator => "skill-creator",
            Self::Waza => "waza",
            Self::Dotnet => "dotnet",
            Self::DevAi => "devai",
            Self::PaperBench => "paperbench",
            Self::RewardKit => "rewardkit",
            Self::Promptfoo => "promptfoo",
            Self::Assay => "assay",
        }
    }
}

/// What a reader made of a rubric's text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Read {
    /// The rubric, which was checked.
    pub rubric: Rubric,
    /// What is odd about it, for its author.
    pub notes: Vec<String>,
}

/// Items with ids made from names: lower-case words joined by hyphens, with a number where one is taken.
pub(crate) struct Ids(BTreeSet<String>);

impl Ids {
    pub(crate) const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// An id that no earlier call returned.
    pub(crate) fn unique(&mut self, name: &str) -> String {
        let slug = slug(name);
        let slug = if slug.is_empty() { "item".to_owned() } else { slug };
        let mut id = slug.clone();
        let mut number = 1;
        while !self.0.insert(id.clone()) {
            number += 1;
            id = format!("{slug}-{number}");
        }
        id
    }
}

/// Items of equal weight for plain sentences.
pub(crate) fn sentences<'a>(ids: &mut Ids, texts: impl IntoIterator<Item = &'a str>) -> Vec<Item> {
    texts.into_iter().map(|text| Item::new(ids.unique(&first_words(text)), text.trim(), 1.0)).collect()
}

/// The first words of a text, enough to recognize it by.
fn first_words(text: &str) -> String {
    text.split_whitespace().take(6).collect::<Vec<_>>().join(" ")
}

/// A text in lower case, its letters and digits joined by hyphens; at most 60 characters.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars().flat_map(char::to_lowercase) {
        if letter.is_alphanumeric() {
            slug.push(letter);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let cut: String = slug.chars().take(60).collect();
    cut.trim_matches('-').to_owned()
}

/// Reads JSON, with the place of an error.
pub(crate) fn json<T: DeserializeOwned>(text: &str) -> Result<T, FormatError> {
    serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| FormatError::Syntax(error.to_string()))
}

/// Reads YAML, with the place of an error.
pub(crate) fn yaml<T: DeserializeOwned>(text: &str) -> Result<T, FormatError> {
    serde_saphyr::from_str(text).map_err(|error| {
        let error = error.to_string();
        FormatError::Syntax(error.lines().next().unwrap_or_default().to_owned())
    })
}

/// The text of JSON in the usual layout.
pub(crate) fn pretty<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// A text, or a list of texts.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(crate) fn texts(&self) -> Vec<&str> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts.iter().map(String::as_str).collect(),
        }
    }
}

/// An id that is a number or a text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Id {
    Number(i64),
    Text(String),
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Id {
    /// The id of a text: a number if it is written as one.
    pub(crate) fn of(text: &str) -> Self {
        match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => Self::Number(number),
            _ => Self::Text(text.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        let check = |text: &str, expected: &str| assert_eq!(slug(text), expected, "{text}");
        check("Baseline documented", "baseline-documented");
        check("  `x` — y!  ", "x-y");
        check("Überprüft 2×", "überprüft-2");
        check("—", "");
        assert_eq!(slug(&"word ".repeat(40)).chars().count(), 59);
    }

    #[test]
    fn ids_are_unique() {
        let mut ids = Ids::new();
        let found: Vec<_> = ["a b", "A-B", "", "a b"].map(|name| ids.unique(name)).into();
        assert_eq!(found, ["a-b", "a-b-2", "item", "a-b-3"]);
    }
}
