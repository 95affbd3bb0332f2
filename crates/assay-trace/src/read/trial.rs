//! The transcript of a Harbor trial.
//!
//! Harbor keeps what an agent left in `agent/`, and for most agents an ATIF trajectory that it made
//! of it. The trajectory is preferred, then the agent's own log on disk, then its printed output.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::builder::Hidden;
use super::error::TraceError;
use super::harbor::result;
use super::session::read_logs;
use super::sources::Source as Input;
use super::transcript::{Transcript, merged};
use crate::diagnostic::Notes;
use crate::usage::Tally;
use crate::{AgentInfo, Trajectory};

/// The format name of transcripts that were found in a trial's folder and have no steps.
const NAME: &str = "harbor";

/// How deep logs are searched for, and how many files are tried.
const DEPTH: usize = 8;
const FILES: usize = 200;

/// Ranks formats by the endings of their names: an agent's output has less than the log it keeps.
fn rank(format: &str) -> usize {
    match format {
        "atif" => 0,
        _ if format.ends_with("-stream") || format.ends_with("-exec") => 2,
        _ => 1,
    }
}

/// A trial's transcript.
pub(super) fn read(folder: &Path) -> Result<Transcript, TraceError> {
    let Some(result) = result(folder) else {
        return Err(TraceError::Unknown { name: folder.display().to_string() });
    };
    let mut files = Vec::new();
    logs(&folder.join("agent"), DEPTH, &mut files);
    let mut best: Option<((usize, usize), Transcript)> = None;
    let inputs: Vec<Input> = files.iter().map(|path| Input::of(path)).collect();
    let taken: BTreeSet<&PathBuf> = inputs.iter().flat_map(|input| &input.beside).collect();
    for input in inputs.iter().filter(|input| !taken.contains(&input.path)) {
        let Some(transcript) = read_logs(input, None).ok().and_then(merged) else { continue };
        if transcript.trajectory.steps.is_empty() {
            continue;
        }
        let worth = (rank(transcript.format), usize::MAX - transcript.trajectory.steps.len());
        if best.as_ref().is_none_or(|(known, _)| worth < *known) {
            best = Some((worth, transcript));
        }
    }
    let mut transcript = best.map_or_else(|| empty(folder, &result), |(_, transcript)| transcript);
    for key in ["task_name", "trial_name"] {
        if let Some(value) = result.get(key).filter(|value| value.is_string()) {
            transcript.trajectory.extra.insert(key.to_owned(), value.clone());
        }
    }
    Ok(transcript)
}

/// The transcript of a trial whose agent left no logs.
fn empty(folder: &Path, result: &Value) -> Transcript {
    let word = |path: &str| result.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let agent = AgentInfo {
        name: word("/agent_info/name").or_else(|| word("/config/agent/name")).unwrap_or_default(),
        version: word("/agent_info/version").unwrap_or_default(),
        ..AgentInfo::default()
    };
    let mut notes = Notes::default();
    notes.add("no-transcript", None, "the trial has no transcript in a known format");
    Transcript {
        trajectory: Trajectory::new(agent),
        format: NAME,
        tally: Tally::default(),
        times: None,
        is_partial: false,
        models: None,
        hidden: Hidden { listing: true, results: true, failures: false },
        diagnostics: notes.into_sorted(&folder.display().to_string()),
    }
}

/// Files that may be logs, sorted within each folder. Links are not followed.
fn logs(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<_> =
        entries.filter_map(|entry| Some((entry.path(), entry.file_type().ok()?))).collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, kind) in entries {
        if found.len() >= FILES {
            return;
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if kind.is_dir() && depth > 0 {
            logs(&path, depth - 1, found);
        } else if kind.is_file() && matches!(ending, "json" | "jsonl" | "txt" | "log") {
            found.push(path);
        }
    }
}
