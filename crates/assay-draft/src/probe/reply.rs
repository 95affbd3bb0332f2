//! Replies to a probe, and to comparisons.

use std::collections::BTreeMap;

use assay_syntax::reply::read_document;
use serde::Deserialize;

use crate::complaint::Complaint;

/// Longest answer that is kept, in characters.
const ANSWER_CAP: usize = 1_200;

#[derive(Deserialize)]
struct AnswersReply {
    answers: Vec<AnswerItem>,
}

#[derive(Deserialize)]
struct AnswerItem {
    id: String,
    answer: String,
}

#[derive(Deserialize)]
struct PairsReply {
    pairs: Vec<PairItem>,
}

#[derive(Deserialize)]
struct PairItem {
    id: String,
    same: bool,
}

/// The answers of a reply, by id. Empty ones, others than the first of an id, and unknown ids are left out.
///
/// # Errors
/// The reply contains no JSON of the form.
pub(super) fn read_answers(reply: &str) -> Result<BTreeMap<String, String>, Complaint> {
    let AnswersReply { answers } = read_document(reply)?;
    let mut found = BTreeMap::new();
    for AnswerItem { id, answer } in answers {
        let answer: String = answer.trim().chars().take(ANSWER_CAP).collect();
        if !answer.is_empty() {
            found.entry(id).or_insert(answer);
        }
    }
    Ok(found)
}

/// The comparisons of a reply, by id. A pair that is judged in both ways is left out.
///
/// # Errors
/// The reply contains no JSON of the form.
pub(super) fn read_comparisons(reply: &str) -> Result<BTreeMap<String, bool>, Complaint> {
    let PairsReply { pairs } = read_document(reply)?;
    let mut found: BTreeMap<String, Option<bool>> = BTreeMap::new();
    for PairItem { id, same } in pairs {
        let judged = found.entry(id).or_insert(Some(same));
        *judged = judged.filter(|before| *before == same);
    }
    Ok(found.into_iter().filter_map(|(id, same)| Some((id, same?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_contradictory_or_empty_is_left_out() {
        let answers = r#"{"answers": [{"id": "d01", "answer": " a "}, {"id": "d01", "answer": "b"}, {"id": "d02", "answer": " "}]}"#;
        assert_eq!(read_answers(answers).unwrap(), BTreeMap::from([("d01".to_owned(), "a".to_owned())]));
        let pairs = r#"{"pairs": [{"id": "a", "same": true}, {"id": "b", "same": true}, {"id": "b", "same": false}]}"#;
        assert_eq!(read_comparisons(pairs).unwrap(), BTreeMap::from([("a".to_owned(), true)]));
        for reply in ["", "yes", "{}", "{\"answers\": 1, \"pairs\": 1}"] {
            read_answers(reply).unwrap_err();
            read_comparisons(reply).unwrap_err();
        }
    }
}
