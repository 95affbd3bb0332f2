//! Skills as a text of the system tells of them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How skills are made known to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disclosure {
    /// They stand in its catalogue; it has to notice.
    #[default]
    Offered,
    /// It is told that they were installed for this task.
    Told,
    /// Their bodies stand in its context from the start.
    Eager,
}

impl Disclosure {
    /// The word in records and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Told => "told",
            Self::Eager => "eager",
        }
    }
}

/// Where an agent finds skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// In the folder where it looks by itself: its maker decides what it tells its model.
    #[default]
    Native,
    /// In a text of the system, added by the means that its maker documents: the same words for every agent.
    System,
}

impl Placement {
    /// The word in records and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::System => "system",
        }
    }
}

/// A skill as an agent's catalogue shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its SKILL.md, inside the sandbox.
    pub path: PathBuf,
    /// What its SKILL.md says below the frontmatter.
    pub body: String,
}

/// The text on some skills; empty where there are none.
pub(crate) fn catalogue(skills: &[CatalogueEntry], disclosure: Disclosure) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "Skills are folders of instructions, scripts and references for particular kinds of work. These are installed:\n",
    );
    for skill in skills {
        let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!("- {}: {description} (file: {})\n", skill.name, skill.path.display()));
    }
    if disclosure == Disclosure::Eager {
        text.push_str("This is what they say.\n\n");
        for skill in skills {
            text.push_str(&format!("<skill name=\"{}\">\n{}\n</skill>\n\n", skill.name, skill.body.trim()));
        }
    }
    text.push_str(match disclosure {
        Disclosure::Told => {
            "They were installed for this task: read the SKILL.md of each that applies before you start, and follow it."
        }
        Disclosure::Offered => {
            "If one fits the task, read its SKILL.md before you start, and follow it; otherwise leave them alone."
        }
        Disclosure::Eager => {
            "If one fits the task, follow it; otherwise leave them alone. What they refer to lies beside their SKILL.md."
        }
    });
    text
}
