//! Replies that were kept, for playing a trial again without a provider.
//!
//! A cassette belongs to one trial. It is JSON Lines: the trial, then a line for each request, with its reply and a digest
//! for each part of it. A replay goes by the order of requests; where the next one differs, by a later
//! one that is the same; else the digests tell where it first differed. Before a request is digested, what agents vary by themselves is taken out. A live trial never reads one.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use assay_model::wire::Secret;
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::Protocol;
use crate::{GatewayError, TrialPass};

/// Most bytes of a line: a reply is at most 64 MiB, and JSON escapes it.
const LONGEST: u64 = 256 << 20;

/// Whether replies are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cassette {
    /// They are not.
    Off,
    /// They are kept in a new file.
    Record(PathBuf),
    /// They come from a file, and no provider is asked.
    Replay(PathBuf),
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Label {
    schema: String,
    trial: String,
    attempt: u32,
}

const SCHEMA: &str = "assay.cassette/1";

/// A request's digests, and its reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Take {
    pub(crate) ordinal: usize,
    pub(crate) protocol: Protocol,
    pub(crate) path: String,
    /// The parts of the request, each with the beginning of the BLAKE3 digest of its normal form.
    pub(crate) parts: Vec<(String, String)>,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: String,
    /// Whether the reply broke off after this.
    pub(crate) broke: bool,
}

/// Keeps replies.
#[derive(Debug)]
pub(crate) struct Recorder {
    file: File,
}

impl Recorder {
    pub(crate) fn create(path: &Path, pass: &TrialPass) -> Result<Self, GatewayError> {
        let wrong = |message: String| GatewayError::Cassette { path: path.to_path_buf(), message };
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let mut recorder = Self { file: file.map_err(|error| wrong(format!("it cannot be made: {error}")))? };
        let label = Label { schema: SCHEMA.to_owned(), trial: pass.trial.clone(), attempt: pass.attempt };
        recorder.line(&label).map_err(wrong)?;
        Ok(recorder)
    }

    pub(crate) fn keep(&mut self, take: &Take) -> Result<(), String> {
        self.line(take)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), String> {
        let mut line = serde_json::to_vec(value).map_err(|error| error.to_string())?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(|error| format!("it cannot be written: {error}"))
    }
}

/// Reads a cassette.
pub(crate) fn read(path: &Path, pass: &TrialPass) -> Result<BTreeMap<usize, Take>, GatewayError> {
    let wrong = |message: String| GatewayError::Cassette { path: path.to_path_buf(), message };
    let at = |number: usize, what: &str| wrong(format!("line {number}: {what}: record it again"));
    if !path.is_file() {
        return Err(wrong("it is not a file: record it first".to_owned()));
    }
    let file = File::open(path).map_err(|error| wrong(format!("it cannot be read: {error}")))?;
    let mut reader = BufReader::new(file);
    let (mut takes, mut line) = (BTreeMap::new(), Vec::new());
    for number in 1.. {
        line.clear();
        let count = std::io::Read::take(&mut reader, LONGEST).read_until(b'\n', &mut line);
        if count.map_err(|error| at(number, &error.to_string()))? == 0 {
            break;
        }
        if number == 1 {
            let label: Label = serde_json::from_slice(&line).map_err(|_| at(1, "it is no cassette"))?;
            if label.schema != SCHEMA {
                return Err(at(1, "another format"));
            }
            if label.trial != pass.trial || label.attempt != pass.attempt {
                return Err(at(1, "it belongs to another trial"));
            }
            continue;
        }
        let take: Take = serde_json::from_slice(&line).map_err(|error| at(number, &error.to_string()))?;
        takes.insert(take.ordinal, take);
    }
    Ok(takes)
}

/// Fields that agents vary by themselves: Claude Code's `metadata.user_id`, Codex's `prompt_cache_key` and
/// `client_metadata`, and what names a user. The model and limits are the pass's.
const VARYING: [&str; 6] =
    ["metadata", "prompt_cache_key", "client_metadata", "user", "safety_identifier", "session_id"];
/// Fields of which each item is a part of its own.
const LISTS: [&str; 4] = ["messages", "input", "contents", "tools"];

/// The parts of a request, each with a digest of its normal form.
pub(crate) fn parts(protocol: Protocol, path: &str, body: &Value) -> Vec<(String, String)> {
    let mut parts = vec![("path".to_owned(), short(format!("{protocol} {path}").as_bytes()))];
    let digest = |value: &Value| short(normal(value).to_string().as_bytes());
    for (name, value) in
        body.as_object().into_iter().flatten().filter(|(name, _)| !VARYING.contains(&name.as_str()))
    {
        match value.as_array().filter(|_| LISTS.contains(&name.as_str())) {
            Some(items) => {
                let named = |(index, item)| (format!("{name}[{index}]"), digest(item));
                parts.extend(items.iter().enumerate().map(named));
            }
            None => parts.push((name.clone(), digest(value))),
        }
    }
    parts
}

/// The first part in which two requests differ.
pub(crate) fn difference(kept: &[(String, String)], now: &[(String, String)]) -> Option<String> {
    let kept_by_name: BTreeMap<&str, &str> =
        kept.iter().map(|(name, digest)| (name.as_str(), digest.as_str())).collect();
    let changed = now.iter().find(|(name, digest)| kept_by_name.get(name.as_str()) != Some(&digest.as_str()));
    let gone = || kept.iter().find(|(name, _)| !now.iter().any(|(given, _)| given == name));
    changed.or_else(gone).map(|(name, _)| name.clone())
}

fn short(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().as_str().get(..16).unwrap_or_default().to_owned()
}

/// A value with what varies in its texts put into one form, and with its keys in order.
fn normal(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(settled(text)),
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Object(object) => {
            let sorted: BTreeMap<&String, &Value> = object.iter().collect();
            sorted.into_iter().map(|(name, value)| (name.clone(), normal(value))).collect()
        }
        other => other.clone(),
    }
}

/// Names, dates, times and durations in a text, each in one form.
fn settled(text: &str) -> String {
    const PATTERNS: [(&str, &str); 9] = [
        (r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "<uuid>"),
        (r"\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", "<date>"),
        (
            r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thur?s?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?\b(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?) {1,2}\d{1,2}(?:,? 20\d\d)?\b",
            "<date>",
        ),
        (r"\b\d\d:\d\d(?::\d\d(?:\.\d+)?)?\b", "<time>"),
        (r"\b\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds?|milliseconds?)\b", "<duration>"),
        // What Codex puts before a command's output.
        (r"\bChunk ID: [0-9a-f]+\b", "Chunk ID: <id>"),
        // What Gemini CLI and Qwen Code put after it.
        (r"\b(PGID|PIDs?): [0-9][0-9, ]*", "$1: <pid>"),
        (r"\b1[0-9]{9}(?:[0-9]{3})?\b", "<epoch>"),
        (r"/tmp/[^\s/'\x22]+", "/tmp/<name>"),
    ];
    static COMPILED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let compile = |(pattern, form)| Regex::new(pattern).ok().map(|regex| (regex, form));
        PATTERNS.into_iter().filter_map(compile).collect()
    });
    COMPILED.iter().fold(text.to_owned(), |text, (regex, form)| regex.replace_all(&text, *form).into_owned())
}

/// A reply's text without the key, and without the names that providers give to accounts, organisations and projects.
pub(crate) fn scrubbed(text: &str, key: Option<&Secret>) -> String {
    static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let named = r#""(?:organization|organization_id|org_id|account_id|account|user|user_id|safety_identifier|project_id)"\s*:\s*"[^"\\]*""#;
        Regex::new(&format!(r"\b(?:org|proj)[-_][A-Za-z0-9]{{8,}}|{named}")).ok()
    });
    let text = key.map_or_else(|| text.to_owned(), |key| key.scrub(text));
    let Some(names) = NAMES.as_ref() else { return text };
    let replace = |found: &regex::Captures<'_>| {
        let found = found.get(0).map_or("", |found| found.as_str());
        match found.split_once(':') {
            Some((name, _)) => format!("{name}:\"[dropped]\""),
            None => "[dropped]".to_owned(),
        }
    };
    names.replace_all(&text, replace).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_varies_by_itself_changes_no_digest() {
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
            let digests = |body| parts(Protocol::AnthropicMessages, "/v1/messages", body);
            let found = difference(&digests(&first), &digests(&other));
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
    fn every_pattern_compiles_and_finds_its_own() {
        let check = |text: &str, expected: &str| assert_eq!(settled(text), expected, "{text}");
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
    fn accounts_are_dropped() {
        let check = |text: &str, expected: &str| assert_eq!(scrubbed(text, None), expected, "{text}");
        check("limit for org-AbCdEfGh12 reached", "limit for [dropped] reached");
        check(r#"{"organization": "acme", "text": "ok"}"#, r#"{"organization":"[dropped]", "text": "ok"}"#);
        check("an org-wide rule", "an org-wide rule");
    }
}
