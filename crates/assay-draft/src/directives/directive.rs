//! A directive of a skill, as a draft uses it.

use serde::{Deserialize, Serialize};

use super::DirectiveLines;

/// Something that a skill makes an agent do, avoid, name, order or compute.
///
/// Rules find lines, quote and text. The other parts need a reader, and are absent without one: a model, or a person
/// who edits the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftDirective {
    /// Its name in the draft: `d01`.
    pub id: String,
    /// The folder of its skill.
    pub skill: String,
    /// The file within that folder: `SKILL.md`, `references/limits.md`.
    pub file: String,
    /// Where in the file it is.
    pub lines: DirectiveLines,
    /// Words of these lines, unchanged.
    pub quote: String,
    /// What it says, in a sentence.
    pub text: String,
    /// The circumstance in which a result differs; absent if it is unknown.
    #[serde(default)]
    pub relevant_when: Option<String>,
    /// How somebody who never saw it is asked what they would do, without the answer; absent if nobody wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What an agent that follows it writes or does: the name, limit, marker, order or formula.
    #[serde(default)]
    pub answer: Option<String>,
    /// What a competent agent that never saw it writes or does instead. It is written before the class.
    #[serde(default)]
    pub default: Option<String>,
    /// What kind of directive it is.
    #[serde(default)]
    pub class: Option<DirectiveClass>,
    /// Of ten competent agents without the skill, how many do `answer`.
    #[serde(default)]
    pub known: Option<u8>,
    /// What shows whether it was followed.
    #[serde(default)]
    pub seen_in: Option<DirectiveEvidence>,
    /// Its readings, if it can be understood in two ways.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<String>,
    /// What must exist for it: a command, a script that is not in the package, a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires: Option<String>,
    /// For a doubtful directive, what it contradicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Who found it.
    pub by: DirectiveSource,
}

/// What kind of directive it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirectiveClass {
    /// It can neither be known nor be worked out from what is given, and its owner would call a result without it wrong.
    Knowledge,
    /// It can be done in several ways, and the skill chooses.
    Convention,
    /// A competent agent does it anyway.
    Reminder,
    /// It contradicts what is known, or another line of the skill.
    Doubtful,
    /// It serves the author of the skill and not the user: fees, advertising, telemetry.
    Against,
    /// It ends the work where something is missing.
    Stops,
}

impl DirectiveClass {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 6] =
        [Self::Knowledge, Self::Convention, Self::Reminder, Self::Doubtful, Self::Against, Self::Stops];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Knowledge => "knowledge",
            Self::Convention => "convention",
            Self::Reminder => "reminder",
            Self::Doubtful => "doubtful",
            Self::Against => "against",
            Self::Stops => "stops",
        }
    }
}

/// What shows whether a directive was followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirectiveEvidence {
    /// The files that the agent leaves.
    Result,
    /// The programs and tools that it called.
    Calls,
    /// What it said to the user.
    Conversation,
    /// Nothing.
    Nowhere,
}

impl DirectiveEvidence {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Calls => "calls",
            Self::Conversation => "conversation",
            Self::Nowhere => "nowhere",
        }
    }
}

/// Who found a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirectiveSource {
    /// Rules alone: its class, answer and default are unknown.
    Rules,
    /// A model, on lines that have the quote.
    Model,
    /// A person who edited the file.
    Person,
}

/// The most of ten agents that may know the answer of a directive that shows what a skill is worth.
const KNOWN_AT_MOST: u8 = 3;

impl DraftDirective {
    /// A directive of which only the place and the words are known.
    pub(crate) fn of_words(
        skill: &str,
        file: &str,
        lines: DirectiveLines,
        quote: String,
        text: String,
    ) -> Self {
        Self {
            id: String::new(),
            skill: skill.to_owned(),
            file: file.to_owned(),
            lines,
            quote,
            text,
            relevant_when: None,
            question: None,
            answer: None,
            default: None,
            class: None,
            known: None,
            seen_in: None,
            readings: Vec::new(),
            requires: None,
            doubt: None,
            by: DirectiveSource::Rules,
        }
    }

    /// Whether an item of a task can show that the skill adds it: knowledge or a convention that at most three of ten
    /// agents follow anyway, that can be understood in one way, and that the result shows.
    pub fn is_measurable(&self) -> bool {
        matches!(self.class, Some(DirectiveClass::Knowledge | DirectiveClass::Convention))
            && self.known.is_some_and(|known| known <= KNOWN_AT_MOST)
            && self.seen_in == Some(DirectiveEvidence::Result)
            && self.readings.len() < 2
    }

    /// Whether it can serve as a control: something that an agent does anyway.
    pub fn is_control(&self) -> bool {
        self.class == Some(DirectiveClass::Reminder)
    }

    /// The place of the directive for people: `SKILL.md:12`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.lines)
    }
}
