//! Needs, and the lines that show them.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::category::Category;

/// What shows a need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// A command, in a code block, a script or inline code.
    Command,
    /// A module that code imports.
    Import,
    /// Code that is neither a command nor an import.
    Code,
    /// A field of the front matter.
    FrontMatter,
    /// The name of an MCP tool or server.
    Mcp,
    /// The name of an environment variable.
    Variable,
    /// A URL.
    Url,
    /// The name of a hosted service, a database or a program.
    Name,
    /// The path of a file.
    Path,
    /// A phrase of the text.
    Phrase,
    /// A question to the user.
    Question,
    /// A language model's answer.
    Model,
}

impl Signal {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Import => "import",
            Self::Code => "code",
            Self::FrontMatter => "front_matter",
            Self::Mcp => "mcp",
            Self::Variable => "variable",
            Self::Url => "url",
            Self::Name => "name",
            Self::Path => "path",
            Self::Phrase => "phrase",
            Self::Question => "question",
            Self::Model => "model",
        }
    }
}

/// A line that shows a need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Need {
    /// The line, from 1, in `SKILL.md` or in [`Need::file`].
    pub line: usize,
    /// The line's text, cut after [`super::LINE_CAP`] characters.
    pub text: String,
    /// What shows it.
    pub by: Signal,
    /// What is needed, if it has a name: a program, a variable, a service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The script that contains the line, relative to the package; `None` for `SKILL.md`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// The needs of a skill: a list for each category, empty if the skill does not need it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs(BTreeMap<Category, Vec<Need>>);

impl Needs {
    /// The lines that show a category; empty if it is not needed.
    pub fn of(&self, category: Category) -> &[Need] {
        self.0.get(&category).map_or(&[], Vec::as_slice)
    }

    /// Whether a category is needed.
    pub fn has(&self, category: Category) -> bool {
        !self.of(category).is_empty()
    }

    /// The categories that are needed, in order.
    pub fn categories(&self) -> impl Iterator<Item = Category> {
        Category::ALL.into_iter().filter(|category| self.has(*category))
    }

    /// Adds a line, such as one that a language model named.
    pub fn add(&mut self, category: Category, need: Need) {
        self.0.entry(category).or_default().push(need);
    }
}

impl Serialize for Needs {
    /// A key for each category, in the order of [`Category::ALL`].
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Category::ALL.iter().map(|category| (category, self.of(*category))))
    }
}

/// A script of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Relative to the package.
    pub path: String,
    /// Its content.
    pub text: String,
}
