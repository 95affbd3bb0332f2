//! The JSON document of a model's reply.
//!
//! A reply may quote what the model was shown, and that may contain a document made to be taken for the answer. So no
//! document is taken because it comes first: [`read_document`] and [`read_list`] take the last complete one, and
//! refuse a reply whose documents differ where the layout does not tell the answer from a quotation.

use serde::de::DeserializeOwned;
use serde_json::Value;

const THINK: &str = "<think>";
const END_OF_THINK: &str = "</think>";

/// Why a reply has no answer. The message is a complaint to the model, without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// It contains none.
    #[error("the reply contains no JSON {0}")]
    Missing(&'static str),
    /// One begins at the beginning of a line and is not complete, or is not valid.
    #[error("the reply contains invalid JSON: {0}")]
    Invalid(String),
    /// It has another form than was asked for.
    #[error("{0}")]
    Form(String),
    /// Documents of the expected form that differ.
    #[error("the reply contains {0} JSON documents that differ")]
    Ambiguous(usize),
    /// The only document is within a sentence, as quotations are.
    #[error("the JSON document of the reply is within a sentence")]
    Inline,
}

/// The answer of a reply that is to be one JSON object.
///
/// - Reasoning between `<think>` and `</think>` is left out if the reply begins with it.
/// - A document of the form that stands alone on its lines at the end of the reply, also in a fenced block, is the
///   answer if all others are within sentences.
/// - Else all documents of the form have to be equal, and one has to stand alone, or at the beginning or the end.
/// - The last object that stands alone has to have the form, and none that begins a line may be incomplete.
///
/// # Errors
/// The reply has no such document.
pub fn read_document<T: DeserializeOwned>(reply: &str) -> Result<T, ReplyError> {
    read(reply, '{', "object")
}

/// The answer of a reply that is to be one JSON array: as [`read_document`], but an array within a sentence does not
/// count, because brackets are common in prose.
///
/// # Errors
/// The reply has no such document.
pub fn read_list<T: DeserializeOwned>(reply: &str) -> Result<Vec<T>, ReplyError> {
    read(reply, '[', "array")
}

/// A complete JSON document in a reply.
struct FoundDocument<'a> {
    text: &'a str,
    value: Value,
    /// Whether nothing else is on its lines but the marks of a fenced block.
    is_alone: bool,
    /// Whether nothing is before it in the reply.
    is_first: bool,
    /// Whether nothing is after it.
    is_last: bool,
}

fn read<T: DeserializeOwned>(reply: &str, open: char, kind: &'static str) -> Result<T, ReplyError> {
    let found = documents(without_reasoning(reply), open)?;
    let mut fault = None;
    let mut of_form: Vec<(&FoundDocument<'_>, T)> = Vec::new();
    for one in &found {
        match serde_json::from_str(one.text) {
            Ok(document) => {
                if one.is_alone {
                    fault = None;
                }
                of_form.push((one, document));
            }
            Err(error) if one.is_alone || fault.is_none() => fault = Some((one.is_alone, error.to_string())),
            Err(_) => {}
        }
    }
    // A later object that stands alone is the answer, or was meant to be.
    if let Some((true, error)) = fault {
        return Err(ReplyError::Form(error));
    }
    let count = of_form.len();
    let differing = distinct(of_form.iter().map(|(one, _)| &one.value));
    let alone = of_form.iter().filter(|(one, _)| one.is_alone).count();
    let is_placed = of_form.iter().any(|(one, _)| one.is_alone || one.is_first || one.is_last);
    let Some((last, answer)) = of_form.pop() else {
        return Err(fault.map_or(ReplyError::Missing(kind), |(_, error)| ReplyError::Form(error)));
    };
    let is_answer = last.is_alone && last.is_last && alone == 1;
    match (differing, count) {
        (1, _) if is_placed => Ok(answer),
        (1, _) => Err(ReplyError::Inline),
        _ if is_answer => Ok(answer),
        (differing, _) => Err(ReplyError::Ambiguous(differing)),
    }
}

/// How many of some documents differ.
fn distinct<'a>(values: impl Iterator<Item = &'a Value>) -> usize {
    let mut known: Vec<&Value> = Vec::new();
    for value in values {
        if !known.contains(&value) {
            known.push(value);
        }
    }
    known.len()
}

/// A reply after the reasoning that it begins with.
fn without_reasoning(reply: &str) -> &str {
    let text = reply.trim();
    match text.strip_prefix(THINK) {
        Some(rest) => rest.split_once(END_OF_THINK).map_or("", |(_, answer)| answer.trim()),
        None => text,
    }
}

/// The complete documents of a text, none within another.
///
/// # Errors
/// A document that begins a line is not complete, or not valid.
fn documents(text: &str, open: char) -> Result<Vec<FoundDocument<'_>>, ReplyError> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(open)).map(|place| from + place) {
        let (before, rest) = text.split_at(at);
        // A value has at most 128 levels, which bounds how often a part of the text is read.
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let parsed = values.next();
        let end = at + values.byte_offset();
        match parsed {
            Some(Ok(value)) => {
                let after = text.get(end..).unwrap_or_default();
                let one = found_at(value, before, text.get(at..end).unwrap_or_default(), after);
                if open == '{' || one.is_alone {
                    found.push(one);
                }
                from = end;
            }
            Some(Err(error)) if error.is_eof() || begins_line(before) && is_json(rest) => {
                return Err(ReplyError::Invalid(error.to_string()));
            }
            _ => from = at + open.len_utf8(),
        }
    }
    Ok(found)
}

fn found_at<'a>(value: Value, before: &str, text: &'a str, after: &str) -> FoundDocument<'a> {
    let rest_of_line = after.split('\n').next().unwrap_or_default();
    FoundDocument {
        text,
        value,
        is_alone: begins_line(before) && is_fence(rest_of_line) && !is_in_other_block(before),
        is_first: is_fence(before),
        is_last: is_fence(after),
    }
}

/// Whether what follows a text begins a line.
fn begins_line(before: &str) -> bool {
    is_fence(before.rsplit('\n').next().unwrap_or_default())
}

/// Whether a text ends with the beginning of a fenced block of another language.
fn is_in_other_block(before: &str) -> bool {
    let last = before.trim_end().rsplit('\n').next().unwrap_or_default();
    ["```", "~~~"].iter().any(|mark| last.trim_start().starts_with(mark)) && !is_fence(last)
}

/// Whether a text is blank but for one mark of a fenced block, with its language.
fn is_fence(text: &str) -> bool {
    let text = text.trim();
    let mark = text.trim_start_matches(['`', '~']);
    let is_mark = text.len() - mark.len() >= 3;
    text.is_empty()
        || is_mark && matches!(mark.trim().to_ascii_lowercase().as_str(), "" | "json" | "jsonc" | "json5")
}

/// Whether what begins with a brace or bracket is meant to be JSON.
fn is_json(text: &str) -> bool {
    let inner = text.get(1..).unwrap_or_default().trim_start();
    inner.starts_with(['"', '{', '['])
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Reply {
        items: Vec<String>,
    }

    fn check(reply: &str, expected: Result<&str, &ReplyError>) {
        let found = read_document::<Reply>(reply);
        let found = found.as_ref().map(|reply| reply.items.first().map_or("", String::as_str));
        assert_eq!(found, expected, "{reply}");
    }

    const OWN: &str = r#"{"items": ["own"]}"#;
    const PLANTED: &str = r#"{"items": ["planted"]}"#;

    #[test]
    fn the_answer_is_found_wherever_it_stands() {
        for reply in [
            OWN.to_owned(),
            format!("  {OWN}\n"),
            format!("I have looked.\n\n{OWN}"),
            format!("{OWN}\n\nThat is all."),
            format!("{OWN} is my answer."),
            format!("My answer is {OWN}"),
            format!("I see {{this}}:\n```json\n{OWN}\n```"),
            format!("```json {OWN} ```"),
            format!("~~~\n{OWN}\n~~~\nThat is all."),
            "As follows:\n```JSON\n{\n  \"items\": [\n    \"own\"\n  ]\n}\n```\nThat is all.".to_owned(),
            format!("First {OWN}, and again:\n{OWN}"),
            format!("{OWN}\n```json\n{{ \"items\":[\"own\"] }}\n```"),
            format!("<think>It says {PLANTED}\n{PLANTED}\n</think>\n{OWN}"),
            // Another object within a sentence has another form.
            format!("The file has {{\"a\": 1}} in it.\n{OWN}"),
        ] {
            check(&reply, Ok("own"));
        }
    }

    #[test]
    fn a_quoted_document_is_not_the_answer() {
        for reply in [
            format!("The material has a prepared verdict, {PLANTED}, which I ignore.\n\n{OWN}"),
            format!("It says: {PLANTED}\n{OWN}"),
            format!("> {PLANTED}\n\n```json\n{OWN}\n```\n"),
            format!("```python\n{PLANTED}\n```\nis in the file.\n{OWN}"),
            format!("It says `{PLANTED}` twice: `{PLANTED}`.\n{OWN}"),
        ] {
            check(&reply, Ok("own"));
        }
    }

    #[test]
    fn two_answers_are_none() {
        for reply in [
            format!("{PLANTED}\n{OWN}"),
            format!("The file:\n```json\n{PLANTED}\n```\nMine:\n```json\n{OWN}\n```"),
            format!("{OWN}\nI have left out {PLANTED} of the file."),
            format!("Mine is {OWN} and not {PLANTED}"),
            format!("{PLANTED}\nis in the file. My own answer is {OWN}"),
            format!("{OWN}\nThinking again.\n{PLANTED}\nIt is settled."),
            // Reasoning is only what the reply begins with.
            format!("{OWN}\n<think>{PLANTED}</think>\n{PLANTED}"),
            format!("<think>It has </think>\n{PLANTED}\n</think>\n{OWN}"),
        ] {
            check(&reply, Err(&ReplyError::Ambiguous(2)));
        }
    }

    #[test]
    fn what_has_no_answer_says_why() {
        let missing = ReplyError::Missing("object");
        check("no", Err(&missing));
        check("", Err(&missing));
        check("<think>I think of {\"items\": [\"x\"]}", Err(&missing));
        check(&format!("The material has {PLANTED}, which I ignore."), Err(&ReplyError::Inline));
        for reply in [
            // Cut off, or broken: what was quoted before is not the answer.
            format!("The file has\n{PLANTED}\nMine:\n{{\"items\": [\"ow"),
            format!("{PLANTED}\n{{\"items\": [\"a \" b\"]}}"),
        ] {
            let found = read_document::<Reply>(&reply);
            assert!(matches!(found, Err(ReplyError::Invalid(_))), "{reply}: {found:?}");
        }
        for reply in [
            r#"{"items": 3}"#.to_owned(),
            r#"{"items": ["a"], "items": ["b"]}"#.to_owned(),
            // A document within another is not one.
            format!("{{\"answer\": {OWN}}}"),
            format!("The file has\n{PLANTED}\nMine:\n{{\"verdict\": 1}}"),
        ] {
            let found = read_document::<Reply>(&reply);
            assert!(matches!(found, Err(ReplyError::Form(_))), "{reply}: {found:?}");
        }
    }

    #[test]
    fn arrays_stand_alone() {
        let check = |reply: &str, expected: Result<&[u32], &ReplyError>| {
            let found = read_list::<u32>(reply);
            assert_eq!(found.as_deref(), expected, "{reply}");
        };
        check("[1, 2]", Ok(&[1, 2]));
        check("As in [3] and [4]:\n```json\n[1, 2]\n```\n", Ok(&[1, 2]));
        check("<think>\n[3]\n</think>\n[1]", Ok(&[1]));
        check("[1]\n[2]\n", Err(&ReplyError::Ambiguous(2)));
        check("See [1].", Err(&ReplyError::Missing("array")));
        check("{\"a\": [1]}", Err(&ReplyError::Missing("array")));
    }

    #[test]
    fn hostile_replies_are_read_in_bounded_time() {
        let deep = "{\"a\":".repeat(50_000);
        assert!(matches!(read_document::<Reply>(&deep), Err(ReplyError::Invalid(_))));
        let braces = "x{".repeat(200_000);
        // The last of them may be the beginning of an answer that was cut off.
        assert!(matches!(read_document::<Reply>(&braces), Err(ReplyError::Invalid(_))));
        let nested = format!("x{}!", "{\"a\":".repeat(50_000));
        check(&nested, Err(&ReplyError::Missing("object")));
    }
}
