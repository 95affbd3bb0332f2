//! Other questions in the place of those that give their answers away.

use std::collections::BTreeMap;

use assay_judge::Request;
use assay_syntax::reply::read_document;
use serde::Deserialize;
use serde_json::json;

use super::reply::shorten;
use super::{DraftDirective, explain_given_away};
use crate::author::DraftAuthor;
use crate::complaint::Complaint;
use crate::error::DraftError;
use crate::prompts::{DIRECTIVES_SYSTEM, QUESTIONS, data};

#[derive(Deserialize)]
struct QuestionsReply {
    questions: Vec<QuestionItem>,
}

#[derive(Deserialize)]
struct QuestionItem {
    id: String,
    question: String,
}

/// Has the author replace the questions that give their answers away, once, with the reason of each. One that still does
/// stays, and the probe does not ask it.
///
/// # Errors
/// The author does not answer.
pub(super) fn replace_questions(
    directives: &mut [DraftDirective],
    author: &DraftAuthor,
) -> Result<(), DraftError> {
    let Some(request) = request_questions(directives) else { return Ok(()) };
    let read = |reply: &str| read_questions(reply).map_err(|error| error.to_string());
    // An author who writes no others has told nothing that can be used.
    let questions = author.answer_request(QUESTIONS, &request, &read)?.unwrap_or_default();
    for directive in directives.iter_mut().filter(|directive| explain_given_away(directive).is_some()) {
        let Some(question) = questions.get(&directive.id) else { continue };
        let other = DraftDirective { question: Some(question.clone()), ..directive.clone() };
        if explain_given_away(&other).is_none() {
            *directive = other;
        }
    }
    Ok(())
}

/// Asks for other questions; `None` if no question gives its answer away.
fn request_questions(directives: &[DraftDirective]) -> Option<Request> {
    let refused: Vec<(&DraftDirective, String)> =
        directives.iter().filter_map(|one| Some((one, explain_given_away(one)?))).collect();
    let (first, _) = refused.first()?;
    let lines: Vec<String> = refused
        .iter()
        .map(|(directive, reason)| {
            json!({
                "id": directive.id, "text": directive.text, "when": directive.relevant_when,
                "question": directive.question, "answer": directive.answer, "default": directive.default,
                "reason": reason,
            })
            .to_string()
        })
        .collect();
    let questions = data("QUESTIONS", &lines.join("\n"), &[]);
    let text = QUESTIONS.fill(&[("questions", &questions), ("id", &first.id)]);
    Some(Request { system: DIRECTIVES_SYSTEM.text.to_owned(), text })
}

/// The questions of a reply, by id.
fn read_questions(reply: &str) -> Result<BTreeMap<String, String>, Complaint> {
    let QuestionsReply { questions } = read_document(reply)?;
    let questions = questions.into_iter().map(|item| (item.id, shorten(&item.question)));
    Ok(questions.filter(|(_, question)| !question.is_empty()).collect())
}
