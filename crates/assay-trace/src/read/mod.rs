//! Readers of agents' transcripts. Each format is one file here and one line in [`READERS`].
//!
//! Line logs are read line by line: memory contains a line, the steps that may still grow, and what
//! the [`Sink`] keeps. Documents are read completely, up to a cap. The content of a transcript
//! never causes an error: problems become a [`Diagnostic`](crate::Diagnostic), and the rest is
//! read.

pub mod atif;
mod builder;
mod claude_code;
mod codex;
mod error;
mod files;
mod gemini;
pub mod harbor;
mod input;
mod messages;
mod mini;
mod opencode;
mod openhands;
mod pi;
mod qwen;
mod reader;
mod session;
mod sources;
mod stream;
mod swe_agent;
mod text;
mod transcript;
mod trial;
mod unsupported;

use serde_json::Value;

pub use self::builder::{Head, Hidden, InheritedPrefix, LaneHead, Sink};
pub use self::error::{DOCUMENT_CAP, TraceError};
pub use self::files::{read, read_all};
pub use self::input::open;
pub use self::reader::Reader;
pub use self::sources::{Source as Input, Sources, sources};
pub use self::stream::{read_all_from, read_from, stream};
pub use self::transcript::{Streamed, Transcript};
pub use self::unsupported::UnsupportedFormat;

/// Longer lines are passed over, in bytes. Claude Code's longest, with pictures in them, are a few MB.
pub const LINE_CAP: usize = 32 << 20;

/// Most bytes of a file that are read to detect its format.
const HEAD: usize = 4 << 20;

/// Most of its lines that are read for that.
const HEAD_LINES: usize = 50;

/// The formats there are, the more particular ones first.
pub const READERS: [&dyn Reader; 16] = [
    &claude_code::Session,
    &claude_code::Stream,
    &codex::Rollout,
    &codex::Exec,
    &gemini::Session,
    &gemini::Document,
    &gemini::Stream,
    &qwen::Session,
    &opencode::Stream,
    &opencode::Document,
    &pi::Session,
    &mini::Document,
    &swe_agent::Document,
    &openhands::Document,
    &atif::Document,
    &messages::Document,
];

/// The reader of a name.
pub fn reader(name: &str) -> Result<&'static dyn Reader, TraceError> {
    let found = READERS.into_iter().find(|reader| reader.name() == name);
    found.ok_or_else(|| TraceError::NoFormat(name.to_owned()))
}

/// The reader that claims a record or a document.
fn claimed(value: &Value, documents: bool) -> Option<&'static dyn Reader> {
    READERS.into_iter().find(|reader| reader.is_document() == documents && reader.claims(value))
}

/// The reader of what begins so.
fn sniff(start: &[u8]) -> Option<&'static dyn Reader> {
    let lines =
        || start.split(|&byte| byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace));
    let count = lines().take(2).count();
    for line in lines().take(HEAD_LINES) {
        // A bad byte or a second record must not hide a format.
        let text = String::from_utf8_lossy(line);
        let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { continue };
        let rest = text[values.byte_offset()..].trim_start();
        if !rest.is_empty() && !rest.starts_with('{') {
            continue;
        }
        // A document is the complete file.
        let document = || claimed(&value, true).filter(|_| count == 1 && rest.is_empty());
        if let Some(reader) = claimed(&value, false).or_else(document) {
            return Some(reader);
        }
    }
    None
}
