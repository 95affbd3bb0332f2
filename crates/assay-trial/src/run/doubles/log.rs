//! The log of calls to doubles.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

use crate::run::broken::Broken;

/// Most bytes of a log. Further calls are only counted.
const LOG_CAP: u64 = 8 << 20;

/// Most characters of one text in a log.
const TEXT_CAP: usize = 4_000;

/// Calls to the doubles of an attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DoubleCalls {
    /// All calls.
    pub(crate) calls: u64,
    /// Those that no rule matches.
    pub(crate) unknown: u64,
}

/// What a double was asked and did.
#[derive(Debug, Serialize)]
pub(super) struct Call<'a> {
    /// `user`, `command`, `http` or `mcp`.
    pub(super) double: &'static str,
    /// Its name: the program, the port, or the server.
    pub(super) name: &'a str,
    /// The request.
    pub(super) request: Value,
    /// The line of the rule in `doubles.toml`, `otherwise`, or null.
    pub(super) rule: Value,
    /// Whether it is answered as the task declares.
    pub(super) known: bool,
    /// The status of the reply.
    pub(super) status: i64,
}

#[derive(Serialize)]
struct Line<'a> {
    number: u64,
    seconds: f64,
    #[serde(flatten)]
    call: Call<'a>,
}

/// A log of calls, written as they arrive.
#[derive(Debug)]
pub(super) struct CallLog {
    path: PathBuf,
    began: Instant,
    state: Mutex<LogState>,
}

#[derive(Debug)]
struct LogState {
    file: File,
    bytes: u64,
    counts: DoubleCalls,
    error: Option<std::io::Error>,
}

impl CallLog {
    pub(super) fn create(path: &Path) -> Result<Self, Broken> {
        let file = File::create(path)
            .map_err(|error| Broken::harness(format!("cannot write {}: {error}", path.display())))?;
        let state = LogState { file, bytes: 0, counts: DoubleCalls::default(), error: None };
        Ok(Self { path: path.to_path_buf(), began: Instant::now(), state: Mutex::new(state) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn add(&self, mut call: Call<'_>) {
        shorten(&mut call.request);
        let seconds = (self.began.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.counts.calls += 1;
        state.counts.unknown += u64::from(!call.known);
        let line = Line { number: state.counts.calls, seconds, call };
        let Ok(mut line) = serde_json::to_vec(&line) else { return };
        line.push(b'\n');
        if state.bytes + line.len() as u64 > LOG_CAP || state.error.is_some() {
            return;
        }
        state.bytes += line.len() as u64;
        if let Err(error) = state.file.write_all(&line) {
            state.error = Some(error);
        }
    }

    /// The number of calls, if all of them could be written.
    pub(super) fn counts(&self) -> Result<DoubleCalls, Broken> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.error.take() {
            Some(error) => Err(Broken::harness(format!("cannot write {}: {error}", self.path.display()))),
            None => Ok(state.counts),
        }
    }
}

/// Shortens long texts in a request.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(TEXT_CAP) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(items) => items.values_mut().for_each(shorten),
        _ => {}
    }
}
