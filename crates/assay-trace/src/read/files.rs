//! Reads files and folders.

use std::path::Path;

use super::error::TraceError;
use super::reader::Reader;
use super::session::read_logs;
use super::sources::Source as Input;
use super::transcript::{Transcript, merged};
use super::trial;

/// Reads a file, standard input if the path is `-`, or a Harbor trial folder. Files may be
/// compressed with gzip or zstd. Without a reader, the format is detected from the content. Logs of
/// sub-agents that Claude Code keeps beside a session are read with it. Several sessions in a file
/// are merged; [`read_all`] keeps them apart.
pub fn read(path: &Path, reader: Option<&'static dyn Reader>) -> Result<Transcript, TraceError> {
    let all = read_all(&Input::of(path), reader)?;
    merged(all).ok_or_else(|| TraceError::Empty { name: path.display().to_string() })
}

/// Reads each session of a file, or a trial's folder as Harbor leaves it.
pub fn read_all(source: &Input, reader: Option<&'static dyn Reader>) -> Result<Vec<Transcript>, TraceError> {
    if source.path.is_dir() { Ok(vec![trial::read(&source.path)?]) } else { read_logs(source, reader) }
}
