//! What agents vary by themselves, and where two requests differ otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use assay_model::wire::excerpt;
use regex::{Captures, Regex};
use serde_json::Value;

use crate::ledger::Mismatch;
use crate::protocol::Protocol;

/// What an agent varies by itself between runs of the same trial.
///
/// Random names, dates, times, durations and folders in `/tmp` vary in every agent's requests, and
/// need not be listed.
#[derive(Debug, Clone)]
pub struct Varying {
    fields: BTreeSet<String>,
    texts: Vec<(Regex, String)>,
}

/// What the known agents vary, all together.
const KNOWN_FIELDS: [&str; 6] =
    ["metadata", "prompt_cache_key", "client_metadata", "user", "safety_identifier", "session_id"];
const KNOWN_TEXTS: [(&str, &str); 2] = [
    // What Codex puts before a command's output.
    (r"\bChunk ID: [0-9a-f]+\b", "Chunk ID: <id>"),
    // What Gemini CLI and Qwen Code put after it.
    (r"\b(PGID|PIDs?): [0-9][0-9, ]*", "$1: <pid>"),
];

/// An invalid pattern.
#[derive(Debug, thiserror::Error)]
#[error("invalid pattern {pattern:?}: {error}")]
pub struct PatternError {
    pattern: String,
    error: regex::Error,
}

impl Varying {
    /// Fields of a request, by name, and patterns in its texts, each with its replacement.
    ///
    /// # Errors
    /// Fails with the first invalid pattern.
    pub fn new(fields: &[&str], texts: &[(&str, &str)]) -> Result<Self, PatternError> {
        let texts = texts.iter().map(|(pattern, form)| match Regex::new(pattern) {
            Ok(regex) => Ok((regex, (*form).to_owned())),
            Err(error) => Err(PatternError { pattern: (*pattern).to_owned(), error }),
        });
        let fields = fields.iter().map(|field| (*field).to_owned()).collect();
        Ok(Self { fields, texts: texts.collect::<Result<_, _>>()? })
    }
}

impl Default for Varying {
    /// What any of the known agents varies.
    fn default() -> Self {
        let fields = KNOWN_FIELDS.map(str::to_owned).into_iter().collect();
        let compile = |(pattern, form): (&str, &str)| Some((Regex::new(pattern).ok()?, form.to_owned()));
        Self { fields, texts: KNOWN_TEXTS.into_iter().filter_map(compile).collect() }
    }
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// `messages[3]`, `tools[0]`, `model`.
    pub(crate) name: String,
    /// The beginning of the BLAKE3 digest of its normal form.
    pub(crate) digest: String,
    /// Its normal form.
    pub(crate) text: String,
}

/// Fields of which each item is a separate part.
const LISTS: [&str; 4] = ["messages", "input", "contents", "tools"];

/// The parts of a request, without what varies.
pub(crate) fn parts(protocol: Protocol, path: &str, body: &Value, varying: &Varying) -> Vec<Part> {
    let part = |name: String, text: String| Part { name, digest: short(text.as_bytes()), text };
    let mut parts = vec![part("path".to_owned(), format!("{protocol} {path}"))];
    let of = |name: String, value: &Value| part(name, normal(value, varying).to_string());
    for (name, value) in body.as_object().into_iter().flatten() {
        if varying.fields.contains(name) {
            continue;
        }
        match value.as_array().filter(|_| LISTS.contains(&name.as_str())) {
            Some(items) => {
                let named = |(index, item)| of(format!("{name}[{index}]"), item);
                parts.extend(items.iter().enumerate().map(named));
            }
            None => parts.push(of(name.clone(), value)),
        }
    }
    parts
}

/// The first part in which two requests differ.
pub(crate) fn difference(kept: &[(String, String)], now: &[Part]) -> Option<String> {
    let kept_by_name: BTreeMap<&str, &str> =
        kept.iter().map(|(name, digest)| (name.as_str(), digest.as_str())).collect();
    let is_other = |part: &&Part| kept_by_name.get(part.name.as_str()) != Some(&part.digest.as_str());
    let changed = now.iter().find(is_other).map(|part| &part.name);
    let gone = || kept.iter().map(|(name, _)| name).find(|name| !now.iter().any(|part| part.name == **name));
    changed.or_else(gone).cloned()
}

/// Describes a mismatch: where in the part the two first differ, and the values there.
pub(crate) fn describe(ordinal: usize, part: String, kept: Option<&str>, now: Option<&str>) -> Mismatch {
    let parsed = |text: Option<&str>| text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let (at, kept, now) = match (parsed(kept), parsed(now)) {
        (Some(kept), Some(now)) => first(&kept, &now, String::new()),
        (kept, now) => (None, kept.map(|kept| shown(&kept, 0)), now.map(|now| shown(&now, 0))),
    };
    Mismatch { ordinal, part, at: at.filter(|at| !at.is_empty()), recorded: kept, now }
}

type Difference = (Option<String>, Option<String>, Option<String>);

/// The first place in which two values differ.
fn first(kept: &Value, now: &Value, at: String) -> Difference {
    let below = |name: &str, kept: Option<&Value>, now: Option<&Value>| match (kept, now) {
        (Some(kept), Some(now)) => first(kept, now, format!("{at}/{name}")),
        (kept, now) => {
            (Some(format!("{at}/{name}")), kept.map(|kept| shown(kept, 0)), now.map(|now| shown(now, 0)))
        }
    };
    match (kept, now) {
        (Value::Object(kept), Value::Object(now)) => {
            let names = kept.keys().chain(now.keys().filter(|name| !kept.contains_key(*name)));
            let mut other = names.filter(|name| kept.get(*name) != now.get(*name));
            other.next().map_or((None, None, None), |name| below(name, kept.get(name), now.get(name)))
        }
        (Value::Array(kept), Value::Array(now)) => {
            let mut other =
                (0..kept.len().max(now.len())).filter(|index| kept.get(*index) != now.get(*index));
            other.next().map_or((None, None, None), |index| {
                below(&index.to_string(), kept.get(index), now.get(index))
            })
        }
        (Value::String(kept_text), Value::String(now_text)) => {
            let same = kept_text.chars().zip(now_text.chars()).take_while(|(a, b)| a == b).count();
            (Some(at), Some(shown(kept, same)), Some(shown(now, same)))
        }
        _ => (Some(at), Some(shown(kept, 0)), Some(shown(now, 0))),
    }
}

/// An excerpt of a value around one of its characters, escaped.
fn shown(value: &Value, around: usize) -> String {
    const BEFORE: usize = 40;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let text: String = text.chars().skip(around.saturating_sub(BEFORE)).take(200).collect();
    excerpt(text.as_bytes())
}

fn short(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().as_str().get(..16).unwrap_or_default().to_owned()
}

/// A value with its varying texts normalized and its keys in order.
fn normal(value: &Value, varying: &Varying) -> Value {
    match value {
        Value::String(text) => Value::String(normalize_text(text, varying)),
        Value::Array(items) => items.iter().map(|item| normal(item, varying)).collect(),
        Value::Object(object) => {
            let sorted: BTreeMap<&String, &Value> = object.iter().collect();
            let of = |(name, value): (&String, &Value)| {
                let mut value = normal(value, varying);
                // The order has no meaning, and Gemini CLI lists skills here in that of the
                // catalogue.
                if let Value::Array(items) = &mut value
                    && name == "enum"
                {
                    items.sort_by_cached_key(Value::to_string);
                }
                (name.clone(), value)
            };
            sorted.into_iter().map(of).collect()
        }
        other => other.clone(),
    }
}

/// Normalizes names, dates, times and durations in a text.
fn normalize_text(text: &str, varying: &Varying) -> String {
    const PATTERNS: [(&str, &str); 7] = [
        (r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "<uuid>"),
        (r"\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", "<date>"),
        (
            r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thur?s?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?\b(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?) {1,2}\d{1,2}(?:,? 20\d\d)?\b",
            "<date>",
        ),
        (r"\b\d\d:\d\d(?::\d\d(?:\.\d+)?)?\b", "<time>"),
        (r"\b\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds?|milliseconds?)\b", "<duration>"),
        (r"\b1[0-9]{9}(?:[0-9]{3})?\b", "<epoch>"),
        (r"/tmp/[^\s/'\x22]+", "/tmp/<name>"),
    ];
    static COMPILED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let compile = |(pattern, form)| Regex::new(pattern).ok().map(|regex| (regex, form));
        PATTERNS.into_iter().filter_map(compile).collect()
    });
    let text = varying
        .texts
        .iter()
        .fold(text.to_owned(), |text, (regex, form)| regex.replace_all(&text, form).into_owned());
    let text = COMPILED.iter().fold(text, |text, (regex, form)| regex.replace_all(&text, *form).into_owned());
    catalogue_in_order(&text)
}

/// Sorts the entries of a skill catalogue (`<skill>…</skill>`) and of a listing of a skill's files
/// (`<skill_files>`): Gemini CLI and OpenCode list them in the order in which parallel reads
/// finish. OpenCode lists at most ten files, and a different ten each time if there are more, so
/// that their names are replaced.
fn catalogue_in_order(text: &str) -> String {
    /// Maximum number of files that OpenCode lists.
    const SAMPLE: usize = 10;
    static PATTERNS: LazyLock<Option<[Regex; 5]>> = LazyLock::new(|| {
        let compile = |pattern: &str| Regex::new(pattern).ok();
        Some([
            compile(r"(?s)<skill>.*?</skill>")?,
            compile(r"(?s)<skill_files>.*?</skill_files>")?,
            compile(r"(?s)<file>.*?</file>")?,
            compile(r"\(Available: [^()]*\)")?,
            compile(r"'[^']*'")?,
        ])
    });
    let Some([skill, listing, file, names, name]) = PATTERNS.as_ref() else { return text.to_owned() };
    let text = in_order(skill, text);
    let text = names.replace_all(&text, |found: &Captures<'_>| in_order(name, &found[0]));
    let listed = listing.replace_all(&text, |found: &Captures<'_>| {
        let listing = in_order(file, &found[0]);
        if file.find_iter(&listing).count() < SAMPLE {
            return listing;
        }
        file.replace_all(&listing, "<file>…</file>").into_owned()
    });
    listed.into_owned()
}

/// Sorts the matches of a pattern in a text, in place.
fn in_order(pattern: &Regex, text: &str) -> String {
    let mut entries: Vec<&str> = pattern.find_iter(text).map(|found| found.as_str()).collect();
    entries.sort_unstable();
    let mut entries = entries.into_iter();
    pattern.replace_all(text, |_: &Captures<'_>| entries.next().unwrap_or_default().to_owned()).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn catalogue_order_changes_no_digest() {
        let body = |skills: [&str; 3]| {
            let entry = |name: &str| format!("<skill>\n<name>{name}</name>\n</skill>");
            json!({ "system": format!("Skills:\n{}\nEnd.", skills.map(entry).join("\n")) })
        };
        let digests = |body: &Value| {
            let parts = parts(Protocol::default(), "/v1", body, &Varying::default());
            parts.into_iter().map(|part| part.digest).collect::<Vec<_>>()
        };
        let one = digests(&body(["a", "b", "c"]));
        assert_eq!(digests(&body(["c", "a", "b"])), one);
        assert_ne!(digests(&body(["a", "b", "d"])), one);
        assert_ne!(digests(&body(["a", "b", "b"])), one);
        // As Gemini CLI's tool for skills lists their names.
        let tool = |names: [&str; 2]| {
            let listed = names.map(|name| format!("'{name}'")).join(", ");
            let text = format!("Activates a skill by name (Available: {listed}). It isn't 'a' tool.");
            json!({ "tools": [{ "description": text, "parameters": { "name": { "enum": names } } }] })
        };
        assert_eq!(digests(&tool(["a", "b"])), digests(&tool(["b", "a"])));
        assert_ne!(digests(&tool(["a", "b"])), digests(&tool(["a", "c"])));
    }

    /// OpenCode's tool for skills returns files in the order in which its search found them.
    #[test]
    fn skill_file_order_changes_no_digest() {
        let digests = |files: &[String]| {
            let listed: String = files.iter().map(|file| format!("<file>{file}</file>\n")).collect();
            let content = format!("Note: file list is sampled.\n\n<skill_files>\n{listed}</skill_files>\n");
            let body = json!({ "messages": [{ "role": "tool", "content": content }] });
            let parts = parts(Protocol::default(), "/v1", &body, &Varying::default());
            parts.into_iter().map(|part| part.digest).collect::<Vec<_>>()
        };
        let files =
            |numbers: &[usize]| numbers.iter().map(|n| format!("/skills/a/{n}.md")).collect::<Vec<_>>();
        assert_eq!(digests(&files(&[3, 1, 2])), digests(&files(&[1, 2, 3])));
        assert_ne!(digests(&files(&[1, 2])), digests(&files(&[1, 2, 3])));
        assert_ne!(digests(&files(&[1, 2])), digests(&files(&[1, 3])));
        // Ten are a sample.
        let all: Vec<usize> = (0..20).collect();
        assert_eq!(digests(&files(&all[..10])), digests(&files(&all[10..])));
        // Elsewhere the order of files is the agent's choice.
        let body =
            |text: &str| parts(Protocol::default(), "/v1", &json!({ "input": text }), &Varying::default());
        let (one, two) = ("<file>a</file><file>b</file>", "<file>b</file><file>a</file>");
        assert_ne!(body(one)[1].digest, body(two)[1].digest);
    }

    #[test]
    fn varying_values_change_no_digest() {
        let body = |id: &str, date: &str, took: &str, said: &str| {
            json!({
                "model": "m", "metadata": {"user_id": id},
                "messages": [
                    {"role": "user", "content": format!("session {id} of {date}")},
                    {"role": "user", "content": format!("Wall time: {took} seconds\n{said}")},
                ],
            })
        };
        let first = body("6f1c1d1e-0b1a-4c53-9f51-3f9fb1f2a001", "2026-11-22", "0.1", "ok");
        let check = |other: Value, expected: Option<&str>| {
            let any = Varying::default();
            let of = |body| parts(Protocol::AnthropicMessages, "/v1/messages", body, &any);
            let kept: Vec<_> = of(&first).into_iter().map(|part| (part.name, part.digest)).collect();
            let found = difference(&kept, &of(&other));
            assert_eq!(found.as_deref(), expected, "{other}");
        };
        check(first.clone(), None);
        check(body("aaaaaaaa-0b1a-4c53-9f51-3f9fb1f2a001", "2027-01-02T03:04:05Z", "12.25", "ok"), None);
        check(body("6f1c1d1e-0b1a-4c53-9f51-3f9fb1f2a001", "2026-11-22", "0.1", "no"), Some("messages[1]"));
        check(json!({"model": "m", "messages": first["messages"].clone(), "tools": []}), None);
        check(json!({"model": "n", "messages": first["messages"].clone()}), Some("model"));
        check(json!({"model": "m", "messages": [first["messages"][0].clone()]}), Some("messages[1]"));
    }

    #[test]
    fn every_pattern_matches_its_example() {
        let check = |text: &str, expected: &str| {
            assert_eq!(normalize_text(text, &Varying::default()), expected, "{text}");
        };
        check("a 6f1c1d1e-0b1a-4c53-9f51-3f9fb1f2a001 b", "a <uuid> b");
        check("Today's date is Sunday, November 22, 2026.", "Today's date is <date>.");
        check("msg_6f1c1d1e-0b1a-4c53-9f51-3f9fb1f2a001", "msg_<uuid>");
        check("at 12:34:56", "at <time>");
        check("took 1.25 seconds, 30ms", "took <duration>, <duration>");
        check("Chunk ID: 3fa9c1\nWall time: 0.1 seconds", "Chunk ID: <id>\nWall time: <duration>");
        check("Process Group PGID: 4711", "Process Group PGID: <pid>");
        check("1763775600123", "<epoch>");
        check("/tmp/claude-1f/x", "/tmp/<name>/x");
        check("plain 42 text", "plain 42 text");
    }

    #[test]
    fn varying_fields_are_per_agent() {
        let ours = Varying::new(&["session"], &[(r"run-\d+", "run-<n>")]).unwrap();
        let digest = |body: Value, varying: &Varying| {
            let parts = parts(Protocol::OpenaiCompletions, "/v1", &body, varying);
            parts.into_iter().map(|part| part.digest).collect::<Vec<_>>()
        };
        let body = |session: &str, said: &str| json!({"session": session, "messages": [said]});
        assert_eq!(digest(body("a", "run-1"), &ours), digest(body("b", "run-2"), &ours));
        assert_ne!(
            digest(body("a", "run-1"), &Varying::default()),
            digest(body("a", "run-2"), &Varying::default())
        );
        // Another agent's fields are not this one's.
        let other = |key: &str| digest(json!({"prompt_cache_key": key}), &ours);
        assert_ne!(other("a"), other("b"));
        assert!(Varying::new(&[], &[("(", "")]).unwrap_err().to_string().contains("invalid pattern"));
    }

    #[test]
    fn first_difference_is_described() {
        let check = |kept: Value, now: Value, expected: (&str, &str, &str)| {
            let found =
                describe(3, "messages[1]".to_owned(), Some(&kept.to_string()), Some(&now.to_string()));
            let found = [found.at, found.recorded, found.now].map(Option::unwrap_or_default);
            assert_eq!(found, [expected.0, expected.1, expected.2].map(str::to_owned), "{kept} {now}");
        };
        check(json!({"a": "x one"}), json!({"a": "x two"}), ("/a", "x one", "x two"));
        check(json!({"a": [1, {"b": 2}]}), json!({"a": [1, {"b": 3}]}), ("/a/1/b", "2", "3"));
        check(json!({"a": [1]}), json!({"a": [1, 2]}), ("/a/1", "", "2"));
        check(json!({"a": 1, "b": 2}), json!({"a": 1}), ("/b", "2", ""));
        check(json!("gpt"), json!("opus"), ("", "gpt", "opus"));
        let long = "y".repeat(300);
        let found = describe(
            0,
            "p".to_owned(),
            Some(&json!(format!("{long}a")).to_string()),
            Some(&json!(format!("{long}b")).to_string()),
        );
        assert_eq!(found.recorded.unwrap(), format!("{}a", "y".repeat(40)));
        assert_eq!(found.now.unwrap(), format!("{}b", "y".repeat(40)));
    }
}
