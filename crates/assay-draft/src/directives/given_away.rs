//! Questions about directives that give their answers away.

use std::collections::BTreeSet;

use super::DraftDirective;

/// Words in a row of an answer that give it away.
const RUN: usize = 4;

/// Fewest letters of a word that distinguishes an answer.
const WORD_CHARS: usize = 4;

/// Words of at least [`WORD_CHARS`] letters that distinguish nothing.
const COMMON: [&str; 44] = [
    "about", "after", "also", "always", "another", "before", "been", "being", "both", "each", "either",
    "every", "first", "from", "have", "into", "last", "more", "must", "never", "only", "other", "same",
    "should", "such", "than", "that", "their", "them", "then", "there", "these", "they", "this", "those",
    "what", "when", "where", "which", "whose", "will", "with", "without", "would",
];

/// Why the question about a directive gives its answer away, as a clause; `None` if it does not, or there is no question.
///
/// It has four words of the answer in a row, all of a shorter answer, all names and numbers of it, or at least two thirds
/// of the words that distinguish it. What the default has as well distinguishes nothing.
pub(crate) fn explain_given_away(directive: &DraftDirective) -> Option<String> {
    let (question, answer) = directive.question.as_ref().zip(directive.answer.as_ref())?;
    let when = directive.relevant_when.as_deref().unwrap_or_default();
    let shown = words_of(&format!("{when} {question}"));
    let answer = words_of(answer);
    let default: BTreeSet<String> =
        words_of(directive.default.as_deref().unwrap_or_default()).into_iter().collect();
    if answer.is_empty() {
        return Some("the answer has no words".to_owned());
    }
    let has = |words: &[&String]| words.iter().all(|word| shown.contains(*word));
    let quote = |words: &[&String]| {
        let words: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
        format!("it has {:?} of the answer", words.join(" "))
    };
    let run = RUN.min(answer.len());
    let repeated = answer.windows(run).find(|run| shown.windows(run.len()).any(|other| *run == other));
    if let Some(repeated) = repeated {
        return Some(quote(&repeated.iter().collect::<Vec<_>>()));
    }
    let own = || answer.iter().filter(|word| !default.contains(*word));
    let fixed: Vec<&String> = own().filter(|word| is_fixed(word)).collect();
    if !fixed.is_empty() && has(&fixed) {
        return Some(quote(&fixed));
    }
    let distinct: BTreeSet<&String> = own().filter(|word| is_distinct(word)).collect();
    let told: Vec<&String> = distinct.iter().copied().filter(|word| shown.contains(*word)).collect();
    (told.len() >= 2 && 3 * told.len() >= 2 * distinct.len()).then(|| quote(&told))
}

/// The words of a text in lower case, without the signs around them.
fn words_of(text: &str) -> Vec<String> {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase());
    words.filter(|word| !word.is_empty()).collect()
}

/// Whether a word is a number, or a name with signs or digits.
fn is_fixed(word: &str) -> bool {
    word.contains(|sign: char| !sign.is_alphabetic())
}

fn is_distinct(word: &str) -> bool {
    word.chars().count() >= WORD_CHARS && !COMMON.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directives::DirectiveLines;

    fn explain(question: &str, answer: &str, default: &str) -> Option<String> {
        let lines = DirectiveLines::single(3);
        let directive = DraftDirective {
            question: Some(question.to_owned()),
            answer: Some(answer.to_owned()),
            default: Some(default.to_owned()),
            ..DraftDirective::of_words("kiln", "SKILL.md", lines, "q".to_owned(), "t".to_owned())
        };
        explain_given_away(&directive)
    }

    #[test]
    fn a_question_with_the_answer_in_it_is_refused_with_the_words() {
        let check = |question: &str, answer: &str, default: &str, expected: Option<&str>| {
            assert_eq!(explain(question, answer, default).as_deref(), expected, "{question} {answer}");
        };
        check("To which cone is it fired?", "cone 6", "", None);
        check("Is it fired to cone 6?", "cone 6", "", Some("it has \"cone 6\" of the answer"));
        check("How is the file called?", "kiln-YYYY.log", "", None);
        check(
            "Is the file called `kiln-YYYY.log`?",
            "kiln-YYYY.log",
            "",
            Some("it has \"kiln-yyyy.log\" of the answer"),
        );
        check("What follows the weighing of pots?", "drying, then weighing again", "", None);
        check(
            "Do you do drying, then weighing again?",
            "drying, then weighing again, for two weeks",
            "",
            Some("it has \"drying then weighing again\" of the answer"),
        );
        check("What is it?", "", "", Some("the answer has no words"));
        check("Is it red?", "red", "", Some("it has \"red\" of the answer"));
        check("How many of the 3 shelves are used?", "2 of 3", "", None);
        // The words of an answer in another order.
        check(
            "Are pots sorted by descending height?",
            "height of the pots, descending",
            "in the order of the list",
            Some("it has \"descending height pots\" of the answer"),
        );
        // What the default has as well is the point, and not the answer.
        check(
            "How is the name of the potter written?",
            "the name of the potter in capitals",
            "potter, as given",
            Some("it has \"the name of the\" of the answer"),
        );
        check(
            "How is the potter's name written?",
            "potter's name in capitals",
            "the potter's name as given",
            None,
        );
        check("With how many of the 12 shelves?", "12 shelves, numbered", "12 shelves", None);
    }
}
