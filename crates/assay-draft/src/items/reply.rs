//! Items as a model replies with them.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{ItemSet, MutantEdit, SolutionMutant, TaskItem, TaskItems, TaskMutants};
use crate::complaint::Complaint;
use crate::directives::DraftDirective;

/// Most items of a task.
const ITEMS: usize = 40;

/// Most characters of an id.
const ID_CHARS: usize = 40;

/// An item of a reply.
#[derive(Debug, Deserialize)]
pub(crate) struct ReplyItem {
    set: ItemSet,
    id: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    answer: Option<String>,
    #[serde(default)]
    default: Option<String>,
    #[serde(default)]
    marks: Vec<String>,
    #[serde(default)]
    mutant: Vec<MutantEdit>,
    #[serde(default)]
    readable: bool,
}

/// Makes items of a reply: those of directives get their lines, class, answer and default from the list, and not from the
/// model that writes the task.
///
/// # Errors
/// An id is not allowed, occurs twice or names no directive. The message is a complaint to the model.
pub(crate) fn read_items(
    reply: Vec<ReplyItem>,
    directives: &[DraftDirective],
) -> Result<(TaskItems, TaskMutants), Complaint> {
    if reply.len() > ITEMS {
        return Err(Complaint::new(format!("more than {ITEMS} items")));
    }
    let (mut items, mut mutants, mut ids) = (Vec::new(), Vec::new(), BTreeSet::new());
    for item in reply {
        check_id(&item.id, item.set)?;
        if !ids.insert(item.id.clone()) {
            return Err(Complaint::new(format!("two items have the id {}", item.id)));
        }
        if item.set == ItemSet::If && !item.mutant.is_empty() {
            mutants.push(SolutionMutant { item: item.id.clone(), edits: item.mutant.clone() });
        }
        items.push(read_item(item, directives)?);
    }
    Ok((TaskItems::new(items), TaskMutants::new(mutants)))
}

fn check_id(id: &str, set: ItemSet) -> Result<(), Complaint> {
    let is_word = id.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_'));
    if id.is_empty() || id.len() > ID_CHARS || !is_word {
        return Err(Complaint::new(format!("{id:?} is not an allowed id: use letters, digits, `-` and `_`")));
    }
    if (set == ItemSet::Gc) != id.starts_with("gc-") {
        return Err(Complaint::new(format!("{id}: ids of the set gc begin with `gc-`, and others do not")));
    }
    Ok(())
}

fn read_item(item: ReplyItem, directives: &[DraftDirective]) -> Result<TaskItem, Complaint> {
    let marks: Vec<String> =
        item.marks.iter().map(|mark| mark.trim().to_owned()).filter(|mark| !mark.is_empty()).collect();
    let mut made = TaskItem {
        id: item.id,
        set: item.set,
        text: item.text,
        file: None,
        line: None,
        lines: None,
        quote: None,
        class: None,
        answer: item.answer,
        default: item.default,
        marks,
        readable: item.readable,
        canary: false,
        replaced: false,
    };
    if made.set == ItemSet::Gc {
        return Ok(made);
    }
    let Some(directive) = directives.iter().find(|directive| directive.id == made.id) else {
        return Err(Complaint::new(format!("no directive has the id {}", made.id)));
    };
    made.file = Some(directive.file.clone());
    made.line = Some(directive.lines.first_line());
    made.lines = Some(directive.lines.clone());
    made.quote = Some(directive.quote.clone());
    made.class = directive.class;
    made.answer = directive.answer.clone().or(made.answer);
    made.default = directive.default.clone().or(made.default);
    // Nobody of ten agents knows it, and there are words by which it is recognized.
    made.canary = directive.known == Some(0) && !made.marks.is_empty() && !made.readable;
    Ok(made)
}
