//! Readers of agents' transcripts. Each format is one file here and one line in [`READERS`], with
//! the marks by which it is recognized.
//!
//! Line logs are read line by line: memory contains a line, the steps that may still grow, and what
//! the [`Sink`] keeps. Documents are read completely, up to a cap. The content of a transcript
//! never causes an error: problems become a [`Diagnostic`](crate::Diagnostic), and the rest is
//! read.

pub mod atif;
mod builder;
mod claude_code;
mod codex;
mod database;
mod error;
mod files;
mod gemini;
pub mod harbor;
mod input;
mod marks;
mod messages;
mod mini;
mod opencode;
mod opencode_database;
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

use self::marks::is_table_marked;

pub use self::builder::{Head, Hidden, InheritedPrefix, LaneHead, Sink};
pub use self::database::DatabaseProblem;
pub use self::error::{DOCUMENT_CAP, TraceError};
pub use self::files::{read, read_all};
pub use self::input::open;
pub use self::marks::{Mark, Need};
pub use self::reader::{Reader, Shape};
pub use self::sources::{Source as Input, Sources, sources};
pub use self::stream::{read_all_from, read_from, stream, stream_file};
pub use self::transcript::{Streamed, Transcript};
pub use self::unsupported::UnsupportedFormat;

/// Longer lines are passed over, in bytes. Claude Code's longest, with pictures in them, are a few MB.
pub const LINE_CAP: usize = 32 << 20;

/// Most bytes of a file that are read to detect its format.
const HEAD: usize = 4 << 20;

/// Most of its lines that are read for that.
const HEAD_LINES: usize = 50;

/// The formats there are. No two of them may claim a file.
pub const READERS: [&dyn Reader; 17] = [
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
    &opencode_database::Database,
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

/// The readers that claim a file.
#[derive(Default, Clone)]
struct Claims(Vec<&'static dyn Reader>);

impl Claims {
    fn add(&mut self, value: &Value, shape: Shape) {
        for reader in READERS {
            let is_new = self.0.iter().all(|known| known.name() != reader.name());
            if reader.shape() == shape && is_new && reader.claims(value) {
                self.0.push(reader);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The only reader, if there is one.
    fn one(&self, name: &str) -> Result<Option<&'static dyn Reader>, TraceError> {
        match self.0.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            several => Err(TraceError::Ambiguous {
                name: name.to_owned(),
                formats: several.iter().map(|reader| reader.name()).collect(),
            }),
        }
    }

    /// The first of them.
    fn first(&self) -> Option<&'static str> {
        self.0.first().map(|reader| reader.name())
    }
}

/// The readers of a complete document.
fn claims_of(document: &Value) -> Claims {
    let mut claims = Claims::default();
    claims.add(document, Shape::Document);
    claims
}

/// The readers of a database with these tables.
fn claims_of_tables(tables: &[String]) -> Claims {
    let is_claimed =
        |reader: &&dyn Reader| reader.shape() == Shape::Database && is_table_marked(reader.marks(), tables);
    Claims(READERS.into_iter().filter(is_claimed).collect())
}

/// The readers of what begins so.
fn sniff(start: &[u8]) -> Claims {
    let mut claims = Claims::default();
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
        claims.add(&value, Shape::Lines);
        // A document is the complete file.
        if count == 1 && rest.is_empty() {
            claims.add(&value, Shape::Document);
        }
    }
    claims
}
