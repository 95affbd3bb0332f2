//! Parses a model's reply.

use assay_syntax::reply::{ReplyError, read_document};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Longest ranking that is read; the rest is ignored.
const LONGEST: usize = 50;

/// A parsed reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    /// Names, the best first; empty if no skill fits.
    pub(crate) ranking: Vec<String>,
    /// From 0 to 1, if reported.
    pub(crate) confidence: Option<f64>,
}

#[derive(Deserialize)]
struct ReplyJson {
    ranking: Vec<String>,
    #[serde(default)]
    confidence: Option<f64>,
    #[serde(default, rename = "rationale")]
    _rationale: Option<IgnoredAny>,
}

/// Reads an answer: the JSON object with `ranking`.
pub(crate) fn read(text: &str) -> Result<Reply, ReplyError> {
    let form: ReplyJson = read_document(text)?;
    let mut ranking: Vec<String> = Vec::new();
    for name in form.ranking.into_iter().take(LONGEST) {
        if !ranking.contains(&name) {
            ranking.push(name);
        }
    }
    let confidence = form.confidence.filter(|confidence| (0.0..=1.0).contains(confidence));
    Ok(Reply { ranking, confidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_is_an_answer() {
        let check = |text: &str, expected: Option<&[&str]>| {
            let found = read(text).ok().map(|answer| answer.ranking);
            let expected =
                expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
            assert_eq!(found, expected, "{text}");
        };
        check(r#"{"ranking":["a","b"],"confidence":0.8,"rationale":"x"}"#, Some(&["a", "b"]));
        check(" {\"ranking\": []}\n", Some(&[]));
        check("```json\n{\"ranking\":[\"a\"]}\n```", Some(&["a"]));
        check(r#"{"ranking":["a","a","b"],"confidence":7}"#, Some(&["a", "b"]));
        check("Sure!\n{\"ranking\":[\"a\"]}", Some(&["a"]));
        check("\"{\"ranking\":[\"b\"]}\" is in a skill.\n{\"ranking\":[\"a\"]}", Some(&["a"]));
        check(r#"{"ranking":"a"}"#, None);
        check(r#"{"ranking":[1]}"#, None);
        check(r#"{"names":["a"]}"#, None);
        check(r#"{"ranking":["a"]} {"ranking":["b"]}"#, None);
        check("{\"ranking\":[\"a\"]}\n{\"ranking\":[\"b\"]}", None);
        check("", None);
    }

    #[test]
    fn confidence_is_a_share() {
        let check = |text: &str, expected: Option<f64>| assert_eq!(read(text).unwrap().confidence, expected);
        check(r#"{"ranking":[],"confidence":0.5}"#, Some(0.5));
        check(r#"{"ranking":[],"confidence":80}"#, None);
        check(r#"{"ranking":[],"confidence":null}"#, None);
        check(r#"{"ranking":[]}"#, None);
    }
}
