//! What is asked about directives, without the skill, and how replies are compared.

use assay_judge::Request;
use serde_json::json;

use crate::directives::DraftDirective;
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
        let shown = format!("{relevant_when} {question}");
        (!gives_away(&shown, &answer)).then(|| Self {
            id: directive.id.clone(),
            relevant_when,
            question,
            answer,
        })
    }
}

/// Whether a question has the answer in it: four of its words in a row, all of a shorter answer, or all names and numbers
/// that it fixes.
fn gives_away(question: &str, answer: &str) -> bool {
    const RUN: usize = 4;
    let words = |text: &str| -> Vec<String> {
        let words = text
            .split_whitespace()
            .map(|word| word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase());
        words.filter(|word| !word.is_empty()).collect()
    };
    let (question, answer) = (words(question), words(answer));
    if answer.is_empty() {
        return true;
    }
    let run = RUN.min(answer.len());
    let shares = answer.windows(run).any(|run| question.windows(run.len()).any(|other| run == other));
    let fixes = |word: &&String| word.contains(|sign: char| !sign.is_alphabetic());
    let mut fixed = answer.iter().filter(fixes).peekable();
    shares || (fixed.peek().is_some() && fixed.all(|word| question.contains(word)))
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
                json!({"id": item.id, "when": item.relevant_when, "question": item.question}).to_string()
            })
            .collect();
        let questions = data("QUESTIONS", &lines.join("\n"), &[]);
        let text = PROBE.fill(&[("way", WORDINGS[way]), ("questions", &questions)]);
        Request { system: PROBE_SYSTEM.text.to_owned(), text }
    };
    items.chunks(QUESTIONS).map(request).collect()
}

/// A reply beside the answer: the id of the directive, the way of asking from 1, and both texts.
pub(super) struct ComparedPair<'a> {
    pub(super) id: String,
    pub(super) answer: &'a str,
    pub(super) reply: &'a str,
}

/// The requests that compare pairs. Neither class nor source of a directive is shown.
pub(super) fn request_comparisons(pairs: &[ComparedPair<'_>]) -> Vec<Request> {
    let request = |pairs: &[ComparedPair<'_>]| {
        let lines: Vec<String> = pairs
            .iter()
            .map(|pair| json!({"id": pair.id, "expected": pair.answer, "reply": pair.reply}).to_string())
            .collect();
        let text = PROBE_COMPARE.fill(&[("pairs", &data("PAIRS", &lines.join("\n"), &[]))]);
        Request { system: PROBE_COMPARE_SYSTEM.text.to_owned(), text }
    };
    pairs.chunks(PAIRS).map(request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_with_the_answer_in_it_is_not_asked() {
        let check = |question: &str, answer: &str, expected: bool| {
            assert_eq!(gives_away(question, answer), expected, "{question} {answer}");
        };
        check("To which cone is it fired?", "cone 6", false);
        check("Is it fired to cone 6?", "cone 6", true);
        check("How is the file called?", "kiln-YYYY.log", false);
        check("Is the file called `kiln-YYYY.log`?", "kiln-YYYY.log", true);
        check("What follows the weighing of pots?", "drying, then weighing again", false);
        check("Do you do drying, then weighing again?", "drying, then weighing again, for two weeks", true);
        check("What is it?", "", true);
        check("Is it red?", "red", true);
        check("How many of the 3 shelves are used?", "2 of 3", false);
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
