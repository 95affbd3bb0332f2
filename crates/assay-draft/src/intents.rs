//! What people asked for: issues, lists, and first messages of sessions.

use std::path::{Path, PathBuf};

use assay_trace::read;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{DraftError, InputFault};
use crate::event::{DraftEvent, DraftEvents};
use crate::first_message::{Redact, first_message};
use crate::sources::Intent;

/// Most intents of a draft.
const MOST: usize = 50;

/// Most characters of an intent. The rest is cut.
const CHARS: usize = 8_000;

/// Most bytes of a file.
const FILE_BYTES: u64 = 16 << 20;

/// `intents.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DraftIntents {
    pub(crate) schema: String,
    pub(crate) intents: Vec<Intent>,
}

/// Reads intents.
pub(crate) fn read_intents(
    paths: &[PathBuf],
    redact: Redact<'_>,
    events: &dyn DraftEvents,
) -> Result<DraftIntents, DraftError> {
    let mut found: Vec<(String, String)> = Vec::new();
    for path in paths {
        let before = found.len();
        found.extend(of_path(path, redact, events)?);
        if found.len() == before {
            return Err(InputFault::NoIntent(path.clone()).into());
        }
    }
    let mut intents: Vec<Intent> = Vec::new();
    for (source, text) in found {
        let text = redact(text.trim());
        let cut: String = text.chars().take(CHARS).collect();
        if cut.len() < text.len() {
            events.handle_event(&DraftEvent::IntentCut { source: &source, characters: CHARS });
        }
        if !intents.iter().any(|known| known.text == cut) {
            let id = format!("intent-{}", intents.len() + 1);
            intents.push(Intent { id, source, text: cut });
        }
    }
    if intents.len() > MOST {
        return Err(InputFault::Intents { count: intents.len(), most: MOST }.into());
    }
    Ok(DraftIntents { schema: "assay.draft-intents/1".to_owned(), intents })
}

/// The intents of a path, each with its source.
fn of_path(
    path: &Path,
    redact: Redact<'_>,
    events: &dyn DraftEvents,
) -> Result<Vec<(String, String)>, DraftError> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "md" | "markdown" | "txt" => Ok(vec![(path.display().to_string(), read_text(path)?)]),
        "json" => {
            let text = read_text(path)?;
            let value: Value = serde_json::from_str(&text).map_err(|error| InputFault::Json {
                path: path.to_owned(),
                line: error.line(),
                message: error.to_string(),
            })?;
            match of_issues(&value, path) {
                Some(found) => Ok(found),
                None => of_sessions(path, redact, events),
            }
        }
        "jsonl" => match of_lines(path)? {
            Some(found) => Ok(found),
            None => of_sessions(path, redact, events),
        },
        _ => of_sessions(path, redact, events),
    }
}

fn read_text(path: &Path) -> Result<String, DraftError> {
    let bytes = assay_fs::read_file(path, FILE_BYTES).map_err(|error| DraftError::read(path, error))?;
    String::from_utf8(bytes).map_err(|_| DraftError::read(path, "it is not a text in UTF-8"))
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
fn of_lines(path: &Path) -> Result<Option<Vec<(String, String)>>, DraftError> {
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
                return Err(InputFault::NoText { path: path.to_owned(), line: at + 1 }.into());
            }
        }
    }
    Ok((!found.is_empty()).then_some(found))
}

/// First messages of the user in transcripts.
fn of_sessions(
    path: &Path,
    redact: Redact<'_>,
    events: &dyn DraftEvents,
) -> Result<Vec<(String, String)>, DraftError> {
    if path.symlink_metadata().is_err() {
        return Err(InputFault::Absent(path.to_owned()).into());
    }
    let mut found = Vec::new();
    for source in read::sources(&[path.to_path_buf()]).list {
        match read::read_all(&source, None) {
            Ok(transcripts) => {
                for transcript in transcripts {
                    let text = first_message(&transcript.trajectory, redact);
                    found.extend(text.map(|text| (source.path.display().to_string(), text)));
                }
            }
            Err(error) => events.handle_event(&DraftEvent::UnreadableTranscript(&error)),
        }
    }
    Ok(found)
}
