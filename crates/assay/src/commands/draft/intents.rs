//! What people asked for: issues, lists, and first messages of sessions.

use std::path::{Path, PathBuf};

use assay_draft::prompts::Intent;
use assay_report::redact;
use assay_trace::read;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::requests::traces::first_message;
use crate::failure::Failure;
use crate::machine;
use crate::ui::Ui;

/// Most intents of a draft.
const MOST: usize = 50;

/// Most characters of an intent. The rest is cut.
const CHARS: usize = 8_000;

/// Most bytes of a file.
const FILE_BYTES: u64 = 16 << 20;

/// `intents.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Intents {
    pub(super) schema: String,
    pub(super) intents: Vec<Intent>,
}

/// Reads intents.
pub(super) fn read_intents(paths: &[PathBuf], ui: &Ui) -> Result<Intents, Failure> {
    let mut found: Vec<(String, String)> = Vec::new();
    for path in paths {
        let before = found.len();
        found.extend(of_path(path, ui)?);
        if found.len() == before {
            return Err(Failure::bad_input(format!("{} contains no intent", path.display())).hint(
                "use a text, JSON of `gh issue list --json number,title,body,url`, JSON Lines with `text`, or transcripts",
            ));
        }
    }
    let secrets = machine::secrets();
    let mut intents: Vec<Intent> = Vec::new();
    for (source, text) in found {
        let text = redact(text.trim(), &secrets);
        let cut: String = text.chars().take(CHARS).collect();
        if cut.len() < text.len() {
            ui.note(&format!("{source}: cut to {CHARS} characters"));
        }
        if !intents.iter().any(|known| known.text == cut) {
            let id = format!("intent-{}", intents.len() + 1);
            intents.push(Intent { id, source, text: cut });
        }
    }
    if intents.len() > MOST {
        return Err(Failure::bad_input(format!("{} intents, at most {MOST} are allowed", intents.len()))
            .hint("name fewer files"));
    }
    Ok(Intents { schema: "assay.draft-intents/1".to_owned(), intents })
}

/// The intents of a path, each with its source.
fn of_path(path: &Path, ui: &Ui) -> Result<Vec<(String, String)>, Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "md" | "markdown" | "txt" => Ok(vec![(path.display().to_string(), read_text(path)?)]),
        "json" => {
            let text = read_text(path)?;
            let value: Value = serde_json::from_str(&text).map_err(|error| {
                Failure::bad_input(format!("{}:{}: {error}", path.display(), error.line()))
            })?;
            match of_issues(&value, path) {
                Some(found) => Ok(found),
                None => of_sessions(path, ui),
            }
        }
        "jsonl" => match of_lines(path)? {
            Some(found) => Ok(found),
            None => of_sessions(path, ui),
        },
        _ => of_sessions(path, ui),
    }
}

fn read_text(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::bad_input(format!("cannot read {}: {error}", path.display()))
    };
    let bytes = assay_fs::read_file(path, FILE_BYTES).map_err(|error| unreadable(&error))?;
    String::from_utf8(bytes).map_err(|_| unreadable(&"it is not a text in UTF-8"))
}

/// An issue, or a list of issues, as `gh issue view` and `gh issue list` write them with `--json`.
fn of_issues(value: &Value, path: &Path) -> Option<Vec<(String, String)>> {
    let issues = match value {
        Value::Array(issues) => issues.iter().collect(),
        Value::Object(_) => vec![value],
        _ => return None,
    };
    let issues = issues.into_iter().map(|issue| {
        let text = |key: &str| issue[key].as_str().unwrap_or_default().trim();
        let text = [text("title"), text("body")].join("\n\n").trim().to_owned();
        let number = issue["number"].as_u64().map_or(String::new(), |number| format!("#{number}"));
        let source =
            issue["url"].as_str().map_or_else(|| format!("{}{number}", path.display()), str::to_owned);
        (!text.is_empty()).then_some((source, text))
    });
    issues.collect::<Option<Vec<_>>>().filter(|issues| !issues.is_empty())
}

/// JSON Lines with `text`; `None` if the first line has none.
fn of_lines(path: &Path) -> Result<Option<Vec<(String, String)>>, Failure> {
    let text = read_text(path)?;
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let value: Result<Value, _> = serde_json::from_str(line);
        let own =
            value.as_ref().ok().filter(|value| value.get("type").is_none() && value.get("role").is_none());
        match own.and_then(|value| value["text"].as_str()) {
            Some(text) => {
                let source = own.and_then(|value| value["source"].as_str());
                let source = source.map_or_else(|| format!("{}:{}", path.display(), at + 1), str::to_owned);
                found.push((source, text.to_owned()));
            }
            None if found.is_empty() => return Ok(None),
            None => {
                return Err(Failure::bad_input(format!("{}:{}: no `text`", path.display(), at + 1))
                    .hint("each line is an object with `text`, and `source` if there is one"));
            }
        }
    }
    Ok((!found.is_empty()).then_some(found))
}

/// First messages of the user in transcripts.
fn of_sessions(path: &Path, ui: &Ui) -> Result<Vec<(String, String)>, Failure> {
    if path.symlink_metadata().is_err() {
        return Err(Failure::bad_input(format!("cannot read {}: it does not exist", path.display())));
    }
    let secrets = machine::secrets();
    let mut found = Vec::new();
    for source in read::sources(&[path.to_path_buf()]).list {
        match read::read_all(&source, None) {
            Ok(transcripts) => {
                for transcript in transcripts {
                    let text = first_message(&transcript.trajectory, &secrets);
                    found.extend(text.map(|text| (source.path.display().to_string(), text)));
                }
            }
            Err(error) => ui.note(&format!("warning: {}", assay_diagnostic::chain(&error))),
        }
    }
    Ok(found)
}
