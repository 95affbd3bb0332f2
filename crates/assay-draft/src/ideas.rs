//! Ideas of tasks, as a model replies with them.

use std::collections::BTreeSet;

use assay_judge::format::slug;
use assay_syntax::reply::read_document;
use serde::{Deserialize, Serialize};

use crate::complaint::Complaint;
use crate::directives::{DirectiveClass, DraftDirective, MeasurableDirectives};
use crate::items::{FEWEST_ITEMS, MOST_CONTROLS};
use crate::sources::Intent;

/// Most characters of a task's name.
pub const NAME_CHARS: usize = 40;

/// An idea of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idea {
    /// The name of the task: lower-case letters, digits and hyphens.
    pub name: String,
    /// A title.
    #[serde(default)]
    pub title: String,
    /// The kind of work.
    #[serde(default)]
    pub category: String,
    /// `easy`, `medium` or `hard`.
    #[serde(default)]
    pub difficulty: String,
    /// `produce` or `take-over`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// What is reached, without any directive, and how a program sees it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub goal: String,
    /// What is given and what has to be delivered.
    pub summary: String,
    /// The directives that it tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directives: Vec<ChosenDirective>,
    /// What only a reader can decide.
    #[serde(default)]
    pub judged: Vec<String>,
    /// What test doubles replace.
    #[serde(default)]
    pub doubles: Vec<String>,
    /// The ids of the intents that it serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intents: Vec<String>,
}

/// A directive that a task tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenDirective {
    /// Its id.
    pub id: String,
    /// What in the data makes a difference between following and not following it.
    #[serde(default)]
    pub trigger: String,
    /// A name on which several hang; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
}

/// An intent that no idea serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedIntent {
    /// Its id.
    pub id: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// An idea that cannot show what the skill adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedIdea {
    /// Its name.
    pub name: String,
    /// Why, in a sentence without its full stop.
    pub reason: String,
}

/// What a model proposes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProposedIdeas {
    /// Ideas, with unique names.
    pub ideas: Vec<Idea>,
    /// Intents that no idea serves.
    pub unused: Vec<UnusedIntent>,
    /// Ideas that were left out.
    pub dropped: Vec<DroppedIdea>,
}

#[derive(Deserialize)]
struct IdeasReply {
    ideas: Vec<Idea>,
    #[serde(default)]
    unused: Vec<UnusedIntent>,
}

/// Reads ideas: at most `count`, with unique names of the right form, and the intents that none of them serves. Ideas that
/// test too few of `directives` are left out.
///
/// # Errors
/// The reply contains no JSON of the form, no idea that can be used, or an id that none of `intents` has. The message is a
/// complaint to the model.
pub fn read_ideas(
    reply: &str,
    count: usize,
    intents: &[Intent],
    directives: &[DraftDirective],
) -> Result<ProposedIdeas, Complaint> {
    let IdeasReply { mut ideas, mut unused } = read_document(reply)?;
    let is_known = |id: &String| intents.iter().any(|intent| &intent.id == id);
    let named = ideas.iter().flat_map(|idea| &idea.intents).chain(unused.iter().map(|unused| &unused.id));
    if let Some(id) = named.into_iter().find(|id| !is_known(id)) {
        return Err(Complaint::new(format!("no intent has the id {id:?}")));
    }
    if ideas.is_empty() {
        return Err(Complaint::new("`ideas` is empty"));
    }
    name_ideas(&mut ideas)?;
    let mut dropped = Vec::new();
    ideas.retain_mut(|idea| match choose_directives(idea, directives) {
        Ok(()) => true,
        Err(reason) => {
            dropped.push(DroppedIdea { name: idea.name.clone(), reason });
            false
        }
    });
    ideas.truncate(count);
    if let (true, Some(first)) = (ideas.is_empty(), dropped.first()) {
        return Err(Complaint::new(format!("the idea {:?} {}", first.name, first.reason)));
    }
    list_unused(&mut unused, &ideas, intents);
    Ok(ProposedIdeas { ideas, unused, dropped })
}

/// Reads ideas whose author knows the name and the description of the skill only: at most `count`, with unique names of the
/// right form.
///
/// # Errors
/// The reply contains no JSON of the form, or no idea. The message is a complaint to the model.
pub(crate) fn read_blind_ideas(reply: &str, count: usize) -> Result<Vec<Idea>, Complaint> {
    let IdeasReply { mut ideas, .. } = read_document(reply)?;
    if ideas.is_empty() {
        return Err(Complaint::new("`ideas` is empty"));
    }
    name_ideas(&mut ideas)?;
    ideas.truncate(count);
    for idea in &mut ideas {
        // Nothing of the skill was shown, so what names parts of it was guessed.
        (idea.directives, idea.intents) = (Vec::new(), Vec::new());
    }
    Ok(ideas)
}

/// The directives that an idea tests, in the words of a model.
#[derive(Deserialize)]
struct ChoiceItem {
    name: String,
    #[serde(default)]
    directives: Vec<ChosenDirective>,
    #[serde(default)]
    judged: Vec<String>,
    #[serde(default)]
    doubles: Vec<String>,
}

#[derive(Deserialize)]
struct ChoiceReply {
    ideas: Vec<ChoiceItem>,
}

/// Adds to `ideas` the directives that a reply chooses for each. Nothing else of them changes. Ideas for which too few of
/// `directives` matter are left out.
///
/// # Errors
/// The reply contains no JSON of the form, or lacks an idea. The message is a complaint to the model.
pub(crate) fn read_choice(
    reply: &str,
    ideas: &[Idea],
    directives: &[DraftDirective],
) -> Result<ProposedIdeas, Complaint> {
    let ChoiceReply { ideas: chosen } = read_document(reply)?;
    let mut proposed = ProposedIdeas::default();
    for idea in ideas {
        let Some(choice) = chosen.iter().find(|choice| choice.name == idea.name) else {
            return Err(Complaint::new(format!("`ideas` lacks {}", idea.name)));
        };
        let mut idea = Idea {
            directives: choice.directives.clone(),
            judged: choice.judged.clone(),
            doubles: choice.doubles.clone(),
            ..idea.clone()
        };
        match choose_directives(&mut idea, directives) {
            Ok(()) => proposed.ideas.push(idea),
            Err(reason) => proposed.dropped.push(DroppedIdea { name: idea.name, reason }),
        }
    }
    Ok(proposed)
}

fn name_ideas(ideas: &mut [Idea]) -> Result<(), Complaint> {
    let mut names = BTreeSet::new();
    for idea in ideas {
        if idea.summary.trim().is_empty() {
            return Err(Complaint::new(format!("the idea {:?} has no summary", idea.name)));
        }
        let ascii: String = idea.name.chars().filter(char::is_ascii).take(NAME_CHARS).collect();
        let name = slug(&ascii);
        let name = if name.is_empty() { "task".to_owned() } else { name };
        let free = (1..).map(|number| if number == 1 { name.clone() } else { format!("{name}-{number}") });
        idea.name = free.into_iter().find(|name| names.insert(name.clone())).unwrap_or(name);
        if !["easy", "medium", "hard"].contains(&idea.difficulty.as_str()) {
            "medium".clone_into(&mut idea.difficulty);
        }
    }
    Ok(())
}

/// Keeps the directives of an idea that can be tested. The inner error says why they are too few.
fn choose_directives(idea: &mut Idea, directives: &[DraftDirective]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut controls = 0;
    idea.directives.retain(|chosen| {
        let Some(directive) = directives.iter().find(|directive| directive.id == chosen.id) else {
            return false;
        };
        controls += usize::from(directive.is_control());
        let fits = directive.is_measurable() || directive.is_control() && controls <= MOST_CONTROLS;
        fits && seen.insert(chosen.id.clone())
    });
    let of = |chosen: &ChosenDirective| directives.iter().find(|directive| directive.id == chosen.id);
    let measurable: Vec<_> =
        idea.directives.iter().filter_map(of).filter(|directive| directive.is_measurable()).collect();
    if measurable.len() < FEWEST_ITEMS {
        let count = measurable.len();
        return Err(format!(
            "tests {count} directives that can show what the skill adds, fewer than {FEWEST_ITEMS}"
        ));
    }
    // A skill of conventions alone is drafted only if somebody insists.
    let has_knowledge = MeasurableDirectives::count_in(directives).knowledge > 0;
    if has_knowledge && !measurable.iter().any(|directive| directive.class == Some(DirectiveClass::Knowledge))
    {
        return Err("tests no directive of the class knowledge".to_owned());
    }
    Ok(())
}

fn list_unused(unused: &mut Vec<UnusedIntent>, ideas: &[Idea], intents: &[Intent]) {
    let is_served = |id: &String| ideas.iter().any(|idea| idea.intents.contains(id));
    unused.retain(|unused| !is_served(&unused.id));
    for intent in intents.iter().filter(|intent| !is_served(&intent.id)) {
        if !unused.iter().any(|unused| unused.id == intent.id) {
            let reason = "the model gives no reason".to_owned();
            unused.push(UnusedIntent { id: intent.id.clone(), reason });
        }
    }
}
