//! Which files are read: those of a folder, and with each session of Claude Code's the logs of its
//! sub-agents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufReader, Cursor, Read as _};
use std::path::{Path, PathBuf};

use assay_fs::InputLine;
use assay_syntax::json::{JsonError, parse_json};
use serde::Deserialize;
use serde_json::Value;

use super::database::{Opened, is_database};
use super::error::DOCUMENT_CAP;
use super::input::open;
use super::stream::begins_document;
use super::unsupported::{unsupported_database, unsupported_document, unsupported_format};
use super::{HEAD, LINE_CAP, claims_of, claims_of_tables, harbor, sniff};

/// A transcript, with the logs that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// A file, `-`, or a trial's folder as Harbor leaves it.
    pub path: PathBuf,
    /// Logs of sub-agents.
    pub beside: Vec<PathBuf>,
}

/// The transcripts to read.
#[derive(Debug, Default)]
pub struct Sources {
    /// In the order in which they were named, those of a folder sorted.
    pub list: Vec<Source>,
    /// Files in folders that are not transcripts.
    pub skipped: usize,
    /// Folders without a transcript.
    pub empty: Vec<PathBuf>,
    /// Folders that were not searched completely: they are too deep or have too many files.
    pub unsearched: Vec<PathBuf>,
}

/// Folders are searched to this depth, and more files than these are left out.
const DEPTH: usize = 16;
const FILES: usize = 100_000;

/// How many records of a sub-agent's log are searched for its session.
const NAMED: usize = 50;

impl Source {
    /// A path, with the logs of sub-agents beside it.
    pub fn of(path: &Path) -> Self {
        let beside = if path.is_file() { Neighbours::default().of(path) } else { Vec::new() };
        Self { path: path.to_path_buf(), beside }
    }
}

/// The transcripts at paths: files, standard input, Harbor trials and jobs, and folders of
/// sessions, which are searched. The log of a sub-agent whose session is read is not read again by
/// itself.
pub fn sources(paths: &[PathBuf]) -> Sources {
    let mut found = Sources::default();
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() || harbor::is_trial(path) {
            files.push(path.clone());
            continue;
        }
        let mut inside = Vec::new();
        if !search(path, DEPTH, &mut inside, &mut found.skipped) {
            found.unsearched.push(path.clone());
        }
        if inside.is_empty() {
            found.empty.push(path.clone());
        }
        files.append(&mut inside);
    }
    let mut seen = BTreeSet::new();
    files.retain(|path| seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
    let mut neighbours = Neighbours::default();
    let mut taken = BTreeSet::new();
    for path in files {
        let beside = if path.is_file() { neighbours.of(&path) } else { Vec::new() };
        taken.extend(beside.iter().filter_map(|path| fs::canonicalize(path).ok()));
        found.list.push(Source { path, beside });
    }
    found.list.retain(|one| fs::canonicalize(&one.path).map_or(true, |path| !taken.contains(&path)));
    found
}

/// The transcripts below a folder; returns whether the search was complete. Links are not followed.
fn search(folder: &Path, depth: usize, found: &mut Vec<PathBuf>, skipped: &mut usize) -> bool {
    let mut is_whole = true;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<_> =
        entries.filter_map(|entry| Some((entry.path(), entry.file_type().ok()?))).collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, kind) in entries {
        if found.len() >= FILES {
            return false;
        }
        if kind.is_dir() {
            let name = path.file_name().unwrap_or_default();
            if harbor::is_trial(&path) {
                found.push(path);
            } else if name != ".git" && name != "node_modules" {
                is_whole &= depth > 0 && search(&path, depth - 1, found, skipped);
            }
        } else if kind.is_file()
            && matches!(ending(&path), "json" | "jsonl" | "ndjson" | "traj" | "log" | "txt" | "db")
        {
            if is_transcript(&path) {
                found.push(path);
            } else {
                *skipped += 1;
            }
        }
    }
    is_whole
}

/// A file's ending, without that of its compression.
fn ending(path: &Path) -> &str {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = [".gz", ".zst"].iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(name);
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// Whether a file of a folder is to be read: it is in a known format, or it is a document whose end
/// is missing.
fn is_transcript(path: &Path) -> bool {
    let Ok(mut input) = open(path) else { return true };
    let mut start = Vec::new();
    if (&mut input).take(HEAD as u64).read_to_end(&mut start).is_err() {
        return true;
    }
    if is_database(&start) {
        return is_database_of_transcripts(path, Cursor::new(start).chain(input));
    }
    // Reading it says why it cannot be read.
    if !sniff(&start).is_empty() || unsupported_format(&start).is_some() {
        return true;
    }
    if !begins_document(&start) || matches!(ending(path), "log" | "txt") {
        return false;
    }
    if input.take(DOCUMENT_CAP as u64).read_to_end(&mut start).is_err() {
        return true;
    }
    match parse_json::<Value>(&start) {
        Ok(document) => !claims_of(&document).is_empty() || unsupported_document(&document).is_some(),
        Err(JsonError::Invalid(error)) => error.is_eof(),
        // Reading it says why it cannot be read.
        Err(JsonError::TooLarge(_)) => true,
    }
}

/// Whether a database of a folder is to be read, or refused by its name. Most databases are of other
/// programs.
fn is_database_of_transcripts(path: &Path, input: impl io::Read) -> bool {
    // Reading it says why it cannot be read.
    Opened::of_input(Some(path), input).map_or(true, |opened| {
        !claims_of_tables(&opened.tables).is_empty() || unsupported_database(&opened.tables).is_some()
    })
}

/// Finds the logs of sub-agents, and reads the names in a folder once.
#[derive(Default)]
struct Neighbours {
    /// In each folder, the logs of sub-agents by their session.
    folders: BTreeMap<PathBuf, BTreeMap<String, Vec<PathBuf>>>,
}

impl Neighbours {
    /// Claude Code puts the logs of a session's sub-agents into a folder of the session's name;
    /// older versions put them beside the session.
    fn of(&mut self, path: &Path) -> Vec<PathBuf> {
        if !matches!(ending(path), "jsonl") || is_of_sub_agent(path) {
            return Vec::new();
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let stem = name.split_once(".jsonl").map_or(name, |(stem, _)| stem);
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut found = logs_below(&folder.join(stem).join("subagents"));
        let index = self.folders.entry(folder.to_path_buf()).or_insert_with(|| index(folder));
        let names = if index.is_empty() { BTreeSet::new() } else { sessions(path) };
        // Logs were moved from beside the session into its folder; sub-agents of two sessions can
        // have the same name.
        let mut known: BTreeSet<_> = found.iter().map(|log| (stem, log.file_name())).collect();
        let mut more = Vec::new();
        for (name, log) in names
            .iter()
            .filter_map(|name| Some((name, index.get(name)?)))
            .flat_map(|(name, logs)| logs.iter().map(move |log| (name, log)))
        {
            if known.insert((name, log.file_name())) {
                more.push(log.clone());
            }
        }
        found.extend(more);
        found
    }
}

/// The logs of sub-agents in a folder by their session: logs that name it, and logs in folders of a
/// session's name.
fn index(folder: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut index: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(here).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let inner = logs_below(&folder.join(entry.file_name()).join("subagents"));
        if let (Ok(session), false) = (entry.file_name().into_string(), inner.is_empty()) {
            index.entry(session).or_default().extend(inner);
        }
    }
    for log in logs(here).into_iter().filter(|path| is_of_sub_agent(path)) {
        if let Some(session) = session_of_sub_agent(&log) {
            index.entry(session).or_default().push(log);
        }
    }
    index
}

fn is_of_sub_agent(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("agent-"))
}

/// The logs in a folder, sorted.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut found: Vec<PathBuf> =
        files.map(|entry| entry.path()).filter(|path| ending(path) == "jsonl").collect();
    found.sort();
    found
}

/// The logs in a folder and in those below it, where the agents of workflows and the sub-agents of
/// sub-agents are. Below, files that are no transcripts are left out. Links are not followed.
fn logs_below(folder: &Path) -> Vec<PathBuf> {
    fn search(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
        folders.sort();
        for folder in folders {
            found.extend(logs(&folder).into_iter().filter(|path| is_transcript(path)));
            if depth > 0 && found.len() < FILES {
                search(&folder, depth - 1, found);
            }
        }
    }
    let mut found = logs(folder);
    search(folder, DEPTH, &mut found);
    found
}

/// The fields of Claude Code's records that say where they belong.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RecordOrigin {
    session_id: Option<String>,
    is_sidechain: Option<bool>,
    agent_id: Option<String>,
}

/// Reads where the records of a log belong. Lines longer than any record are skipped.
fn places(path: &Path, mut each: impl FnMut(usize, RecordOrigin) -> bool) {
    let Ok(input) = open(path) else { return };
    let (mut input, mut buffer) = (BufReader::with_capacity(1 << 16, input), Vec::new());
    for number in 0.. {
        match assay_fs::next_line(&mut input, &mut buffer, LINE_CAP as u64) {
            Ok(InputLine::End) | Err(_) => return,
            Ok(InputLine::TooLong(_)) => {}
            Ok(InputLine::Whole(_)) => {
                let place = serde_json::from_slice(&buffer).unwrap_or_default();
                if !each(number, place) {
                    return;
                }
            }
        }
    }
}

/// The sessions that a log of Claude Code's has records of: several where logs were joined.
fn sessions(path: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    places(path, |_, place| {
        found.extend(place.session_id);
        true
    });
    found
}

/// The session to which a sub-agent's log belongs, if its records say that it is one.
fn session_of_sub_agent(path: &Path) -> Option<String> {
    let mut found = None;
    places(path, |number, place| {
        if place.is_sidechain == Some(true) || place.agent_id.is_some() {
            found = place.session_id;
        }
        found.is_none() && number < NAMED
    });
    found
}
