//! What a skill requires of an environment, in 16 categories, with the lines that show it.
//!
//! Finders read one kind of text each: commands, code, front matter, and prose. Each reports [`Clue`]s with points;
//! a category is needed if its clues add up to [`THRESHOLD`]. The tables are general knowledge about programs,
//! languages, services and English phrases.

mod category;
mod clues;
mod code;
mod commands;
mod front_matter;
pub mod labels;
mod load;
mod page;
mod phrases;
mod programs;
mod prose;
mod services;
mod verdict;

use std::collections::BTreeMap;

use assay_skill::Document;
use serde::{Serialize, Serializer};

pub use self::category::{Category, UnknownCategory};
use self::clues::Clues;
pub use self::clues::{LINE_CAP, THRESHOLD};
pub use self::load::{Loaded, Skill, load};
use self::page::Page;
pub use self::verdict::{Assessment, Double, Unmet, Verdict, assess};

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
    /// The line's text, cut after [`LINE_CAP`] characters.
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

/// The needs of a skill, from its `SKILL.md` and its scripts.
pub fn find(document: &Document, scripts: &[Script]) -> Needs {
    let page = Page::read(document);
    let mut clues = Clues::default();
    front_matter::find(document, &mut clues);
    commands::find(&page, &mut clues);
    code::find(&page, &mut clues);
    prose::find(&page, &mut clues);
    services::find(&page, &mut clues);
    for script in scripts {
        commands::find_in_script(script, &mut clues);
        code::find_in_script(script, &mut clues);
    }
    clues.into_needs(document, scripts)
}

/// The needs that the text of a `SKILL.md` shows.
pub fn find_in_text(text: &str) -> Needs {
    let (document, _) = Document::parse(text.as_bytes(), std::path::Path::new("SKILL.md"));
    find(&document, &[])
}
