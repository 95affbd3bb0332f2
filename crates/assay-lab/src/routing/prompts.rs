//! Files of requests with the skills that serve them.

use std::collections::BTreeSet;
use std::path::Path;

use assay_router::Prompt;
use assay_skill::{Diagnostic, Severity, nearest};
use serde::Deserialize;
use serde_json::Value;

/// The keys of a line: those of `prompts.jsonl` in the router benchmark of
/// Agent-Skills-for-Context-Engineering, and `off_topic`.
pub const KEYS: [&str; 7] = [
    "prompt_id",
    "prompt",
    "expected_primary_skill",
    "acceptable_secondary_skills",
    "rejected_skills",
    "off_topic",
    "reason",
];

/// The code of a diagnostic about a key that is not one of [`KEYS`].
pub const UNKNOWN_KEY: &str = "prompt-unknown-key";

/// The key that tells a line of `assay draft requests` from one with [`KEYS`].
const REQUEST_KEY: &str = "qid";

/// A line of `assay draft requests`, which has other keys, too.
#[derive(Deserialize)]
struct RequestLine {
    qid: String,
    query: String,
    gold_names: Vec<String>,
    #[serde(default)]
    not_names: Vec<String>,
}

impl From<RequestLine> for Line {
    /// The first skill is expected; the others serve a part of the request.
    fn from(line: RequestLine) -> Self {
        let is_unlabelled = line.gold_names.is_empty();
        let mut names = line.gold_names.into_iter();
        Self {
            prompt_id: line.qid,
            prompt: line.query,
            expected_primary_skill: names.next(),
            acceptable_secondary_skills: names.collect(),
            rejected_skills: line.not_names,
            reason: String::new(),
            off_topic: false,
            is_unlabelled,
        }
    }
}

/// A line of the file.
#[derive(Deserialize)]
struct Line {
    prompt_id: String,
    prompt: String,
    #[serde(default)]
    expected_primary_skill: Option<String>,
    #[serde(default)]
    acceptable_secondary_skills: Vec<String>,
    #[serde(default)]
    rejected_skills: Vec<String>,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    off_topic: bool,
    /// Whether it is unknown which skill serves it.
    #[serde(skip)]
    is_unlabelled: bool,
}

/// Reads a prompts file: JSON Lines with `prompt_id`, `prompt`, `expected_primary_skill`,
/// `acceptable_secondary_skills` and `rejected_skills`, or requests with `qid`, `query`, `gold_names` and `not_names`.
///
/// A request is off topic if nothing is expected (`null`, an empty text or `none`), if `off_topic`
/// is set, or if `reason` begins with "Negative control": the published file forces a label on such
/// requests. Unusable lines are excluded with a diagnostic; `skills` are the names in the library.
/// A misspelled key would silently make a query off-topic, so a key that is not one of [`KEYS`] is
/// an error too ([`UNKNOWN_KEY`]).
pub fn read_prompts(text: &str, file: &Path, skills: &BTreeSet<&str>) -> (Vec<Prompt>, Vec<Diagnostic>) {
    let mut prompts: Vec<Prompt> = Vec::new();
    let mut diagnostics = Vec::new();
    let mut seen = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut report = |severity, code, message: String| {
            diagnostics.push(Diagnostic::new(severity, code, file, message).at_line(number));
        };
        if line.trim().is_empty() {
            continue;
        }
        let parsed = serde_json::from_str(line).and_then(|value: Value| {
            if value.get(REQUEST_KEY).is_some() {
                return serde_json::from_str::<RequestLine>(line).map(|line| Ok(line.into()));
            }
            let unknown = value.as_object().into_iter().flat_map(|keys| keys.keys());
            let unknown: Vec<String> = unknown.filter(|key| !KEYS.contains(&key.as_str())).cloned().collect();
            // From the text again: an error of a parsed value has no column.
            if unknown.is_empty() { serde_json::from_str(line).map(Ok) } else { Ok(Err(unknown)) }
        });
        let line: Line = match parsed {
            Ok(Ok(line)) => line,
            Ok(Err(unknown)) => {
                for key in unknown {
                    let near = nearest(&key, KEYS);
                    let hint = near.first().map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                    report(Severity::Error, UNKNOWN_KEY, format!("unknown key `{key}`{hint}"));
                }
                continue;
            }
            Err(error) => {
                report(Severity::Error, "prompt-malformed", format!("invalid prompt: {error}"));
                continue;
            }
        };
        if line.is_unlabelled {
            // Not the same as off-topic: nobody said that no skill serves it.
            let message =
                format!("`{}` has no `gold_names`: it is unknown which skill serves it", line.prompt_id);
            report(Severity::Warning, "prompt-unlabelled", message);
            continue;
        }
        if !seen.insert(line.prompt_id.clone()) {
            let message = format!("duplicate id `{}`; the first is used", line.prompt_id);
            report(Severity::Error, "prompt-twice", message);
            continue;
        }
        let expected = line.expected_primary_skill.filter(|name| !matches!(name.trim(), "" | "none"));
        let is_control = line.off_topic || line.reason.to_lowercase().starts_with("negative control");
        let expected = expected.filter(|_| !is_control);
        if let Some(name) = expected.as_ref().filter(|name| !skills.contains(name.as_str())) {
            let message = format!("`{}` expects `{name}`, which is not in the library", line.prompt_id);
            report(Severity::Error, "prompt-unknown-skill", message);
            continue;
        }
        for name in line.acceptable_secondary_skills.iter().chain(&line.rejected_skills) {
            if !skills.contains(name.as_str()) {
                let message = format!("`{}` names `{name}`, which is not in the library", line.prompt_id);
                report(Severity::Warning, "prompt-unknown-skill", message);
            }
        }
        prompts.push(Prompt {
            id: line.prompt_id,
            text: line.prompt,
            expected,
            acceptable: line.acceptable_secondary_skills,
            rejected: line.rejected_skills,
        });
    }
    (prompts, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_prompts_are_reported() {
        let text = r#"{"prompt_id":"p1","prompt":"x","expected_primary_skill":"a","rejected_skills":["b"]}
{"prompt_id":"p1","prompt":"again","expected_primary_skill":"a"}

{"prompt_id":"p2","prompt":"y","expected_primary_skill":"gone"}
{"prompt_id":"p3"
{"prompt_id":"p4","prompt":"z","expected_primary_skill":"a","reason":"Negative control: nothing fits."}
{"prompt_id":"p5","prompt":"z","expected_primary_skill":null,"acceptable_secondary_skills":["gone"]}
{"prompt_id":"p6","prompt":"z","expected_primary_skill":"none"}
"#;
        let (prompts, diagnostics) = read_prompts(text, Path::new("p.jsonl"), &BTreeSet::from(["a", "b"]));
        let ids: Vec<(&str, bool)> =
            prompts.iter().map(|prompt| (prompt.id.as_str(), prompt.is_off_topic())).collect();
        assert_eq!(ids, [("p1", false), ("p4", true), ("p5", true), ("p6", true)]);
        let diagnostics: Vec<(Option<usize>, &str)> =
            diagnostics.iter().map(|diagnostics| (diagnostics.line, diagnostics.code)).collect();
        let expected = [
            (Some(2), "prompt-twice"),
            (Some(4), "prompt-unknown-skill"),
            (Some(5), "prompt-malformed"),
            (Some(7), "prompt-unknown-skill"),
        ];
        assert_eq!(diagnostics, expected);
    }

    #[test]
    fn drafted_requests_are_prompts() {
        let text = r#"{"qid":"q1","query":"x","gold_ids":["1","2"],"gold_names":["a","b"],"style":"terse"}
{"qid":"q2","query":"y","gold_ids":["1"],"gold_names":["a"],"not_names":["b"]}
{"qid":"q3","query":"z","gold_ids":[],"gold_names":[]}
{"qid":"q4","query":"z"}
"#;
        let (prompts, diagnostics) = read_prompts(text, Path::new("r.jsonl"), &BTreeSet::from(["a", "b"]));
        let prompt = |id: &str, text: &str, acceptable: &[&str], rejected: &[&str]| Prompt {
            id: id.to_owned(),
            text: text.to_owned(),
            expected: Some("a".to_owned()),
            acceptable: acceptable.iter().map(|name| (*name).to_owned()).collect(),
            rejected: rejected.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert_eq!(prompts, [prompt("q1", "x", &["b"], &[]), prompt("q2", "y", &[], &["b"])]);
        let diagnostics: Vec<(Option<usize>, &str)> =
            diagnostics.iter().map(|diagnostics| (diagnostics.line, diagnostics.code)).collect();
        assert_eq!(diagnostics, [(Some(3), "prompt-unlabelled"), (Some(4), "prompt-malformed")]);
    }

    #[test]
    fn unknown_key_is_an_error_with_its_line() {
        let text = r#"{"prompt_id":"p1","prompt":"x","expected_primary_skill":"a","reason":"because","off_topic":false}
{"prompt_id":"p2","prompt":"y","expected_primary_skil":"a","x":1}
"#;
        let (prompts, diagnostics) = read_prompts(text, Path::new("p.jsonl"), &BTreeSet::from(["a"]));
        assert_eq!(prompts.len(), 1);
        let diagnostics: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        let expected = [
            "p.jsonl:2: error: unknown key `expected_primary_skil`; did you mean `expected_primary_skill`? [prompt-unknown-key]",
            "p.jsonl:2: error: unknown key `x` [prompt-unknown-key]",
        ];
        assert_eq!(diagnostics, expected);
    }
}
