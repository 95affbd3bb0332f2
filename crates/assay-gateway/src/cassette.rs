//! Recorded replies, for replaying a trial without a provider.
//!
//! A cassette belongs to one trial. It is JSON Lines: the trial, then one line per request with its
//! reply and a digest of each of its parts. What agents vary by themselves is removed before the
//! digest.
//!
//! A replay follows the order of requests. If a request differs from its recording, a later
//! identical one is used; if there is none, the digests show where the two first differ. A live
//! trial never reads a cassette.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use assay_model::wire::Secret;
use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::error::GatewayError;
use crate::protocol::Protocol;
use crate::varying::Part;

/// Maximum bytes of a line: a reply is at most 64 MiB, and JSON escapes it.
const LONGEST: u64 = 256 << 20;
/// Maximum bytes of a recorded normal form.
const TEXT: usize = 256 << 10;

/// Whether replies are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cassette {
    /// They are not.
    Off,
    /// They are recorded in a new file.
    Record(PathBuf),
    /// They are read from a file, and no provider is called.
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
pub(crate) struct Recording {
    pub(crate) ordinal: usize,
    pub(crate) protocol: Protocol,
    pub(crate) path: String,
    /// The parts of the request, each with the beginning of the BLAKE3 digest of its normal form.
    pub(crate) parts: Vec<(String, String)>,
    /// Normal forms by digest, each on the line where it first occurs, to show what differs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) texts: BTreeMap<String, String>,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: String,
    /// Whether the reply was interrupted after this.
    pub(crate) broke: bool,
}

/// Why a line was not recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CassetteError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("cannot write the file: {0}")]
    Write(#[from] std::io::Error),
}

/// Writes a cassette.
#[derive(Debug)]
pub(crate) struct Recorder {
    file: File,
    /// Digests of the normal forms that were written.
    written: BTreeSet<String>,
}

impl Recorder {
    pub(crate) fn create(path: &Path, trial: &str, attempt: u32) -> Result<Self, GatewayError> {
        let wrong = |message: String| GatewayError::Cassette { path: path.to_path_buf(), message };
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = file.map_err(|error| wrong(format!("cannot create the file: {error}")))?;
        let mut recorder = Self { file, written: BTreeSet::new() };
        let label = Label { schema: SCHEMA.to_owned(), trial: trial.to_owned(), attempt };
        recorder.write_line(&label).map_err(|error| wrong(error.to_string()))?;
        Ok(recorder)
    }

    /// Records the reply to a request with these parts.
    pub(crate) fn write_recording(
        &mut self,
        mut recording: Recording,
        parts: Vec<Part>,
        key: Option<&Secret>,
    ) -> Result<(), CassetteError> {
        for Part { name, digest, text } in parts {
            if text.len() <= TEXT && self.written.insert(digest.clone()) {
                recording.texts.insert(digest.clone(), scrubbed(&text, key));
            }
            recording.parts.push((name, digest));
        }
        self.write_line(&recording)
    }

    fn write_line(&mut self, value: &impl Serialize) -> Result<(), CassetteError> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        Ok(self.file.write_all(&line)?)
    }
}

/// Reads a cassette.
pub(crate) fn read(
    path: &Path,
    trial: &str,
    attempt: u32,
) -> Result<BTreeMap<usize, Recording>, GatewayError> {
    let wrong = |message: String| GatewayError::Cassette { path: path.to_path_buf(), message };
    let at = |number: usize, what: &str| wrong(format!("line {number}: {what}: record it again"));
    if !path.is_file() {
        return Err(wrong("no such file: record it first".to_owned()));
    }
    let file = File::open(path).map_err(|error| wrong(format!("cannot read the file: {error}")))?;
    let mut reader = BufReader::new(file);
    let (mut recordings, mut line) = (BTreeMap::new(), Vec::new());
    for number in 1.. {
        line.clear();
        let count = std::io::Read::take(&mut reader, LONGEST).read_until(b'\n', &mut line);
        if count.map_err(|error| at(number, &error.to_string()))? == 0 {
            break;
        }
        if number == 1 {
            let label: Label = serde_json::from_slice(&line).map_err(|_| at(1, "not a cassette"))?;
            if label.schema != SCHEMA {
                return Err(at(1, "another format"));
            }
            // `assay gateway --record` wrote this before "interactive".
            let recorded = if label.trial == "by hand" { "interactive" } else { &label.trial };
            if recorded != trial || label.attempt != attempt {
                return Err(at(1, "recorded for another trial"));
            }
            continue;
        }
        let recording: Recording =
            serde_json::from_slice(&line).map_err(|error| at(number, &error.to_string()))?;
        recordings.insert(recording.ordinal, recording);
    }
    Ok(recordings)
}

/// A reply's text without the key, and without identifiers of accounts, organizations and projects.
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

    #[test]
    fn accounts_are_dropped() {
        let check = |text: &str, expected: &str| assert_eq!(scrubbed(text, None), expected, "{text}");
        check("limit for org-AbCdEfGh12 reached", "limit for [dropped] reached");
        check(r#"{"organization": "acme", "text": "ok"}"#, r#"{"organization":"[dropped]", "text": "ok"}"#);
        check("an org-wide rule", "an org-wide rule");
    }
}
