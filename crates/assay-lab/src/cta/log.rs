//! Session logs of Claude Code, read as the released auditor reads them (M1).
//!
//! Its reader is part of the method, faults included: edits have no content, commands are cut at
//! 200 characters, reasoning before an unknown tool is lost, and only a command can fail. What it
//! drops silently is reported here.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::python::{head, is_space, str_of, strip};

/// The longest line that is read, in bytes. The released program has no limit.
const LONGEST: u64 = 64 << 20;

/// What an agent did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Reading a file.
    Read,
    /// Writing or editing one.
    Write,
    /// Running a command.
    Execute,
    /// Searching names or contents.
    Search,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Which kind of tool.
    pub kind: Kind,
    /// The path as it was given, the first 200 code points of the command, or the pattern.
    pub target: String,
    /// What was written (cut at 5000 code points; nothing for an edit), or what came back (READ
    /// 3000, EXECUTE 2000, SEARCH 1000).
    pub content: String,
    /// Whether a command failed by the released rule.
    pub failed: bool,
    /// What the agent thought and said since the call before.
    pub reasoning: String,
}

/// Tokens of a run in four ways of counting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tokens {
    /// Input and output of every record, which is the published way: each record of a message
    /// repeats the message's figures.
    pub paper_input_output: u64,
    /// Input, output, and cache written and read, of every record.
    pub all_four_fields: u64,
    /// Input and output once a message.
    pub dedup_input_output: u64,
    /// All four once a message.
    pub dedup_all_four: u64,
    /// How many messages there are.
    pub api_messages: usize,
}

/// A run as this method sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// Its calls, in order.
    pub events: Vec<Event>,
    /// Its tokens.
    pub tokens: Tokens,
    /// Its session, where the log says so.
    pub session: Option<String>,
}

/// A warning about a log. The log was used nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The first line it is about, from 1; `None` for the whole file.
    pub line: Option<usize>,
    /// What it is, with how often.
    pub message: String,
    /// Whether nothing is wrong: the method is like that.
    pub minor: bool,
}

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "type")]
    kind: Option<Value>,
    message: Option<Value>,
    timestamp: Option<Value>,
    #[serde(rename = "sessionId")]
    session: Option<Value>,
}

/// The result of a call, as far as any kind of event needs it.
struct Answer {
    head: String,
    failed: bool,
}

/// Reads a log. Lines that are not JSON are passed over, like records of other types; what was
/// skipped is reported.
///
/// # Errors
/// Where the reader itself fails.
pub fn read(reader: &mut dyn BufRead) -> io::Result<(Log, Vec<Remark>)> {
    let mut building = Building::default();
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        let taken = Read::take(&mut *reader, LONGEST).read_until(b'\n', &mut line)?;
        if taken == 0 {
            break;
        }
        number += 1;
        let ended = line.ends_with(b"\n");
        if taken as u64 == LONGEST && !ended {
            pass_line(reader)?;
            building.add_remark(number, "longer than 64 MiB, skipped");
            continue;
        }
        building.line(&line, number, ended);
    }
    Ok(building.finish())
}

/// Reads on to the end of a line without keeping it.
fn pass_line(reader: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let (used, ended) = match buffer.iter().position(|&b| b == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), false),
        };
        reader.consume(used);
        if ended {
            return Ok(());
        }
    }
}

#[derive(Default)]
struct Building {
    log: Log,
    /// Which call each event is, for its answer.
    calls: Vec<String>,
    answers: BTreeMap<String, Answer>,
    buffer: String,
    usage: BTreeMap<String, [u64; 2]>,
    remarks: BTreeMap<&'static str, (usize, usize)>,
    unknown: BTreeSet<String>,
    unknown_line: usize,
    latest: Option<String>,
}

impl Building {
    fn add_remark(&mut self, line: usize, what: &'static str) {
        self.remarks.entry(what).or_insert((line, 0)).1 += 1;
    }

    fn line(&mut self, bytes: &[u8], number: usize, ended: bool) {
        // Most lines are UTF-8, and a whole check is much faster than one that mends.
        let text = std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
        if matches!(text, Cow::Owned(_)) {
            self.add_remark(number, "not UTF-8, read with replacement characters");
        }
        let text = text.trim_matches(is_space);
        if text.is_empty() {
            return;
        }
        let record = serde_json::from_str::<Record>(text).or_else(|error| {
            without_lone_surrogates(text).map_or(Err(error), |mended| serde_json::from_str(&mended))
        });
        let record = match record {
            Ok(record) => record,
            Err(error) if error.is_data() => return self.add_remark(number, "not a JSON object, skipped"),
            Err(_) if !ended => {
                return self.add_remark(number, "ends in the middle of a record, skipped");
            }
            Err(_) => return self.add_remark(number, "not JSON, skipped"),
        };
        let kind = record.kind.as_ref().and_then(Value::as_str).unwrap_or_default();
        if !matches!(kind, "assistant" | "user") {
            // What the release's own logs hold beside the two is no news.
            if !matches!(kind, "last-prompt" | "attachment" | "queue-operation" | "system" | "summary") {
                self.add_remark(number, "of an unknown type, skipped");
            }
            return;
        }
        self.read_time(record.timestamp.as_ref(), number);
        if self.log.session.is_none() {
            self.log.session = record.session.as_ref().and_then(Value::as_str).map(str::to_owned);
        }
        let Some(Value::Object(message)) = record.message else { return };
        if kind == "user" { self.user(&message) } else { self.assistant(&message, number) }
    }

    /// Times are RFC 3339 in UTC and of one length, so that they sort as text. Nothing is made of
    /// them.
    fn read_time(&mut self, stamp: Option<&Value>, number: usize) {
        let Some(stamp) = stamp.and_then(Value::as_str) else { return };
        if self.latest.as_deref().is_some_and(|latest| latest.len() == stamp.len() && stamp < latest) {
            self.add_remark(number, "earlier than the record before it");
        } else {
            self.latest = Some(stamp.to_owned());
        }
    }

    fn user(&mut self, message: &Map<String, Value>) {
        let Some(Value::Array(blocks)) = message.get("content") else { return };
        for block in blocks {
            if block.get("type").and_then(Value::as_str) != Some("tool_result") {
                continue;
            }
            let call = block.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
            let text = flatten(block.get("content"));
            let answer = Answer { head: head(&text, 3000).to_owned(), failed: failed(&text) };
            self.answers.insert(call.to_owned(), answer);
        }
    }

    fn assistant(&mut self, message: &Map<String, Value>, number: usize) {
        self.count(message);
        let Some(Value::Array(blocks)) = message.get("content") else { return };
        for block in blocks {
            let said = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
            match said("type") {
                kind @ ("thinking" | "text") if !said(kind).is_empty() => {
                    self.buffer.push_str(said(kind));
                    self.buffer.push('\n');
                }
                "tool_use" => {
                    let reasoning = strip(&self.buffer).to_owned();
                    self.buffer.clear();
                    self.call(said("name"), said("id"), block.get("input"), reasoning, number);
                }
                _ => {}
            }
        }
    }

    fn call(&mut self, name: &str, id: &str, input: Option<&Value>, reasoning: String, number: usize) {
        let Some(kind) = kind(name) else {
            if self.unknown.is_empty() {
                self.unknown_line = number;
            }
            self.unknown.insert(head(name, 80).to_owned());
            return;
        };
        let given = |key: &str| input.and_then(|input| input.get(key));
        let text =
            |key: &str| given(key).map(|value| if value.is_null() { String::new() } else { str_of(value) });
        let target = match kind {
            Kind::Read | Kind::Write => text("file_path").unwrap_or_default(),
            Kind::Execute => head(&text("command").unwrap_or_default(), 200).to_owned(),
            Kind::Search => text("pattern").or_else(|| text("query")).unwrap_or_default(),
        };
        let content = match kind {
            Kind::Write => given("content").map_or_else(String::new, |v| head(&str_of(v), 5000).to_owned()),
            _ => String::new(),
        };
        self.log.events.push(Event { kind, target, content, failed: false, reasoning });
        self.calls.push(id.to_owned());
    }

    fn count(&mut self, message: &Map<String, Value>) {
        let usage = message.get("usage");
        let field = |name: &str| usage.and_then(|u| u.get(name)).and_then(Value::as_u64).unwrap_or(0);
        let two = field("input_tokens").saturating_add(field("output_tokens"));
        let cached = field("cache_creation_input_tokens").saturating_add(field("cache_read_input_tokens"));
        let four = two.saturating_add(cached);
        let tokens = &mut self.log.tokens;
        tokens.paper_input_output = tokens.paper_input_output.saturating_add(two);
        tokens.all_four_fields = tokens.all_four_fields.saturating_add(four);
        if let Some(id) = message.get("id").and_then(Value::as_str) {
            // A message's later record has its later figures, where they differ.
            self.usage.insert(id.to_owned(), [two, four]);
        } else {
            tokens.dedup_input_output = tokens.dedup_input_output.saturating_add(two);
            tokens.dedup_all_four = tokens.dedup_all_four.saturating_add(four);
        }
    }

    fn finish(mut self) -> (Log, Vec<Remark>) {
        for (event, call) in self.log.events.iter_mut().zip(&self.calls) {
            let answer = self.answers.get(call);
            let cut = |n| answer.map_or_else(String::new, |answer| head(&answer.head, n).to_owned());
            match event.kind {
                Kind::Write => {}
                Kind::Read => event.content = cut(3000),
                Kind::Execute => {
                    event.content = cut(2000);
                    event.failed = answer.is_some_and(|answer| answer.failed);
                }
                Kind::Search => event.content = cut(1000),
            }
        }
        let tokens = &mut self.log.tokens;
        for [two, four] in self.usage.values() {
            tokens.dedup_input_output = tokens.dedup_input_output.saturating_add(*two);
            tokens.dedup_all_four = tokens.dedup_all_four.saturating_add(*four);
        }
        tokens.api_messages = self.usage.len();
        let mut remarks: Vec<Remark> = self
            .remarks
            .into_iter()
            .map(|(what, (line, times))| Remark {
                line: Some(line),
                message: if times == 1 { what.to_owned() } else { format!("{what} ({times} lines)") },
                minor: false,
            })
            .collect();
        if !self.unknown.is_empty() {
            let names: Vec<&str> = self.unknown.iter().take(8).map(String::as_str).collect();
            let message =
                format!("calls of tools that the method does not know are excluded: {}", names.join(", "));
            remarks.push(Remark { line: Some(self.unknown_line), message, minor: true });
        }
        if self.log.events.is_empty() {
            remarks.push(Remark {
                line: None,
                message: "no call of a tool: an empty trace".to_owned(),
                minor: false,
            });
        }
        remarks.sort_by_key(|remark| remark.line);
        (self.log, remarks)
    }
}

fn kind(tool: &str) -> Option<Kind> {
    match super::python::lower(tool).as_str() {
        "bash" | "shell" => Some(Kind::Execute),
        "read" => Some(Kind::Read),
        "write" | "edit" | "multiedit" | "str_replace" | "strreplace" => Some(Kind::Write),
        "grep" | "glob" => Some(Kind::Search),
        _ => None,
    }
}

/// The text of a tool's result.
fn flatten(content: Option<&Value>) -> String {
    match content {
        None | Some(Value::Null) => String::new(),
        Some(Value::Array(items)) => {
            let items: Vec<String> =
                items.iter().map(|item| str_of(item.get("text").unwrap_or(item))).collect();
            items.join("\n")
        }
        Some(other) => str_of(other),
    }
}

/// Whether a command failed: an exit code other than zero, or the word error among the first 100
/// code points. The log's own flag is not asked.
fn failed(result: &str) -> bool {
    exit_code(result) || super::python::lower(head(result, 100)).contains("error")
}

/// Whether the first match of `exit_code["']?:\s*(\d+)` is a number other than zero.
fn exit_code(text: &str) -> bool {
    for (at, word) in text.match_indices("exit_code") {
        let rest = &text[at + word.len()..];
        let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
        let Some(rest) = rest.strip_prefix(':') else { continue };
        let digits = rest.trim_start_matches(is_space);
        if digits.starts_with(super::python::is_digit) {
            let zero = |c: char| c.is_ascii_digit() && c != '0';
            return digits.chars().take_while(|&c| super::python::is_digit(c)).any(zero);
        }
    }
    false
}

/// A line with its halves of surrogate pairs that have no other half replaced, where it has such:
/// Python reads them, serde does not. They come from results that were cut in the middle of a
/// character.
fn without_lone_surrogates(line: &str) -> Option<String> {
    let code = |at: usize| {
        let digits = line.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut out = String::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = line[at..].find('\\') {
        at += found;
        match code(at) {
            Some(0xd800..=0xdbff) if matches!(code(at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                out.push_str(&line[from..at]);
                out.push_str("\\ufffd");
                at += 6;
                from = at;
            }
            // The sign that is escaped may be a backslash itself, and is at most four bytes long.
            _ => at += 1 + line[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    (from > 0).then(|| out + &line[from..])
}

#[cfg(test)]
mod tests;
