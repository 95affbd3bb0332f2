//! What is asked about directives, without the skill, and how replies are compared.

use assay_judge::Request;
use serde_json::json;

use crate::directives::{DraftDirective, explain_given_away};
use crate::prompts::{PROBE, PROBE_COMPARE, PROBE_COMPARE_SYSTEM, PROBE_SYSTEM, data};

/// Most questions of a request.
const QUESTIONS: usize = 30;

/// Most pairs of a request.
const PAIRS: usize = 60;

/// Ways of asking: a single wording would measure the wording.
pub(super) const WORDINGS: [&str; 3] = [
    "Answer each question below with what you would do by default, if nobody told you anything else.",
    "You do the work below for people who have a usual way to do it, which they have not told you and cannot be asked for. Answer \
     each question with what you think their way is.",
    "Imagine each piece of work below as finished by a careful specialist. Answer each question with what the result contains.",
];

/// A directive that can be asked about: its id, its circumstance, the question and the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProbeItem {
    pub(crate) id: String,
    pub(crate) relevant_when: String,
    pub(crate) question: String,
    pub(crate) answer: String,
}

impl ProbeItem {
    /// The item of a directive; `None` if it has no question or answer, or its question gives the answer away.
    pub(crate) fn of_directive(directive: &DraftDirective) -> Option<Self> {
        let (question, answer) = directive.question.clone().zip(directive.answer.clone())?;
        let relevant_when = directive.relevant_when.clone().unwrap_or_default();
        let is_asked = explain_given_away(directive).is_none();
        is_asked.then(|| Self { id: directive.id.clone(), relevant_when, question, answer })
    }

    /// Most words of an answer: so many for each part of the question.
    fn most_words(&self) -> usize {
        WORDS_OF_PART * count_parts(&self.question)
    }
}

/// Most words of the answer to a question of one part.
const WORDS_OF_PART: usize = 40;

/// Most parts of a question that give it more words.
const MOST_PARTS: usize = 4;

/// How many parts a question has, by its words: it may have several sentences, and what it asks for may be a list.
fn count_parts(question: &str) -> usize {
    let words: Vec<String> = question.split_whitespace().map(str::to_lowercase).collect();
    let joined = words.iter().filter(|word| matches!(word.as_str(), "and" | "or")).count();
    let listed = question.matches([',', ';']).count();
    let asked = question.matches('?').count().saturating_sub(1);
    (1 + joined + listed + asked).min(MOST_PARTS)
}

/// The requests of a way of asking. The order of the questions differs from way to way.
pub(super) fn request_answers(items: &[ProbeItem], way: usize) -> Vec<Request> {
    let mut items: Vec<&ProbeItem> = items.iter().collect();
    let turn = items.len() * way / WORDINGS.len();
    items.rotate_left(turn);
    let request = |items: &[&ProbeItem]| {
        let lines: Vec<String> = items
            .iter()
            .map(|item| {
                json!({
                    "id": item.id, "when": item.relevant_when, "question": item.question, "words": item.most_words(),
                })
                .to_string()
            })
            .collect();
        let questions = data("QUESTIONS", &lines.join("\n"), &[]);
        let first = items.first().map_or("id", |item| &item.id);
        let text = PROBE.fill(&[("way", WORDINGS[way]), ("questions", &questions), ("id", first)]);
        Request { system: PROBE_SYSTEM.text.to_owned(), text }
    };
    items.chunks(QUESTIONS).map(request).collect()
}

/// A reply beside the answer, with what was asked. The id is that of the directive and the way of asking, from 1.
pub(super) struct ComparedPair<'a> {
    pub(super) id: String,
    pub(super) item: &'a ProbeItem,
    pub(super) reply: &'a str,
}

/// The requests that compare pairs. Neither class nor source of a directive is shown.
pub(super) fn request_comparisons(pairs: &[ComparedPair<'_>]) -> Vec<Request> {
    let request = |pairs: &[ComparedPair<'_>]| {
        let lines: Vec<String> = pairs
            .iter()
            .map(|pair| {
                let ProbeItem { relevant_when, question, answer, .. } = pair.item;
                json!({
                    "id": pair.id, "when": relevant_when, "question": question, "expected": answer,
                    "reply": pair.reply,
                })
                .to_string()
            })
            .collect();
        let first = pairs.first().map_or("id", |pair| &pair.id);
        let pairs = data("PAIRS", &lines.join("\n"), &[]);
        let text = PROBE_COMPARE.fill(&[("pairs", &pairs), ("id", first)]);
        Request { system: PROBE_COMPARE_SYSTEM.text.to_owned(), text }
    };
    pairs.chunks(PAIRS).map(request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_of_several_parts_gets_more_words() {
        let check = |question: &str, expected: usize| {
            assert_eq!(count_parts(question), expected, "{question}");
        };
        check("To which cone is it fired?", 1);
        check("To which cone is it fired, and for how long?", 3);
        check("Which name and which ending has the file?", 2);
        check("What is the name? What is the ending?", 2);
        check("", 1);
        check("Which color, size, weight, order, form and name?", 4);
    }

    #[test]
    fn each_way_asks_all_questions_in_another_order() {
        let item = |at: usize| ProbeItem {
            id: format!("d{at:02}"),
            relevant_when: "always".to_owned(),
            question: format!("What at {at}?"),
            answer: "secret".to_owned(),
        };
        let items: Vec<ProbeItem> = (1..=31).map(item).collect();
        let mut firsts = Vec::new();
        for way in 0..WORDINGS.len() {
            let requests = request_answers(&items, way);
            assert_eq!(requests.len(), 2);
            let text: String = requests.iter().map(|request| request.text.as_str()).collect();
            assert!(
                items.iter().all(|item| text.contains(&item.question)) && !text.contains("secret"),
                "{text}"
            );
            assert!(!text.contains("{{"), "{text}");
            firsts.push(text[text.find("\"d").unwrap()..][..5].to_owned());
        }
        assert_eq!(firsts, ["\"d01\"", "\"d11\"", "\"d21\""]);
    }
}
