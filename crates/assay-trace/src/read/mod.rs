//! Readers of agents' transcripts. Each format is one file here and one line in [`READERS`].
//!
//! Logs of lines are read line by line: what is kept is a line, the steps that may still grow, and what the [`Sink`] keeps.
//! Documents are read whole, up to a cap. Nothing a transcript holds is an error: what is odd becomes a [`Diagnostic`], and
//! the rest is read.

pub mod atif;
mod builder;
mod claude_code;
mod codex;
mod gemini;
pub mod harbor;
mod input;
mod lines;
mod mini;
mod opencode;
mod qwen;
mod text;

use std::io::{self, BufRead, BufReader, Cursor, Read as _};
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde_json::Value;

pub(crate) use self::builder::Builder;
pub use self::builder::{Head, Sink};
pub(crate) use self::claude_code::beside;
use self::lines::Line;
use crate::usage::Tally;
use crate::{Diagnostic, Trajectory};

/// Longer lines are passed over, in bytes. Claude Code's longest, with pictures in them, are a few MB.
pub const LINE_CAP: usize = 32 << 20;

/// Longer documents are refused, in bytes.
pub const DOCUMENT_CAP: usize = 256 << 20;

/// So much of a file is looked at to tell its format, in bytes.
const HEAD: usize = 4 << 20;

/// So many of its lines.
const HEAD_LINES: usize = 50;

/// Reads one format.
pub trait Reader: Sync {
    /// The name it has on the command line and in JSON.
    fn name(&self) -> &'static str;

    /// Whether a record is of this format, and of no other: a line, or the whole of a document.
    fn claims(&self, record: &Value) -> bool;

    /// Whether a file is one JSON document; else it is a log of lines.
    fn is_document(&self) -> bool {
        false
    }

    /// What reads one file.
    #[expect(private_interfaces, reason = "readers are written here; others choose among them")]
    fn decoder(&self) -> Box<dyn Decoder>;
}

/// Reads the records of one file, one after another.
pub(crate) trait Decoder {
    /// A record, which is well-formed JSON or is found not to be. Whatever is odd about it goes to the builder's notes.
    fn record(&mut self, json: &[u8], out: &mut Builder<'_>) -> Result<(), serde_json::Error>;

    /// After the last one.
    fn end(&mut self, _out: &mut Builder<'_>) {}
}

/// The formats there are, the more particular ones first.
pub const READERS: [&dyn Reader; 12] = [
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
    &mini::Document,
    &atif::Document,
];

/// A transcript that was read.
#[derive(Debug)]
pub struct Transcript {
    /// What the agent did.
    pub trajectory: Trajectory,
    /// The name of the format.
    pub format: &'static str,
    /// Its tokens.
    pub tally: Tally,
    /// The first and the last time in it.
    pub times: Option<(jiff::Timestamp, jiff::Timestamp)>,
    /// What was odd.
    pub diagnostics: Vec<Diagnostic>,
}

/// A transcript whose steps went to a sink.
#[derive(Debug)]
pub struct Streamed {
    /// The name of the format.
    pub format: &'static str,
    /// What is known of it besides the steps.
    pub head: Head,
    /// Its tokens.
    pub tally: Tally,
    /// What was odd.
    pub diagnostics: Vec<Diagnostic>,
}

/// Why a transcript could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("cannot open {path}", path = path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Reading broke off.
    #[error("cannot read {name}")]
    Read {
        /// What was read.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No reader knows it.
    #[error("{name} is no transcript that is known here")]
    Unknown {
        /// What was read.
        name: String,
    },
    /// There is no such format.
    #[error("there is no transcript format {0:?}")]
    NoFormat(String),
    /// One document, and a larger one than is read.
    #[error("{name} is larger than {DOCUMENT_CAP} bytes, and its format has to be read whole")]
    TooLarge {
        /// What was read.
        name: String,
    },
}

/// The reader of a name.
pub fn reader(name: &str) -> Result<&'static dyn Reader, TraceError> {
    let found = READERS.into_iter().find(|reader| reader.name() == name);
    found.ok_or_else(|| TraceError::NoFormat(name.to_owned()))
}

/// Reads a file, standard input where the path is `-`, or a trial's folder as Harbor leaves it. Files may be compressed with gzip or
/// zstd. Without a reader, the format is told from what stands in the file. Logs of sub-agents that Claude
/// Code keeps beside a session are read with it.
pub fn read(path: &Path, reader: Option<&'static dyn Reader>) -> Result<Transcript, TraceError> {
    if path.is_dir() {
        return harbor::read(path);
    }
    let mut transcript = read_file(path, reader)?;
    for beside in beside(path) {
        let Ok(one) = read_file(&beside, Some(&claude_code::Session)) else { continue };
        builder::attach(&mut transcript, one, &beside);
    }
    Ok(transcript)
}

fn read_file(path: &Path, reader: Option<&'static dyn Reader>) -> Result<Transcript, TraceError> {
    let input = open(path)?;
    read_from(input, &path.display().to_string(), reader)
}

/// Opens a file, or standard input where the path is `-`, and takes compression off.
pub fn open(path: &Path) -> Result<Box<dyn io::Read>, TraceError> {
    input::open(path).map_err(|source| TraceError::Open { path: path.to_path_buf(), source })
}

/// Reads a stream to its end. `name` is what diagnostics call it.
pub fn read_from(
    input: impl io::Read,
    name: &str,
    reader: Option<&'static dyn Reader>,
) -> Result<Transcript, TraceError> {
    let mut collector = builder::Collector::default();
    let streamed = stream(input, name, reader, &mut collector)?;
    let times = streamed.head.times;
    let trajectory = collector.trajectory(streamed.head, &streamed.tally);
    Ok(Transcript {
        trajectory,
        format: streamed.format,
        tally: streamed.tally,
        times,
        diagnostics: streamed.diagnostics,
    })
}

/// Reads a stream to its end, and hands each step over as it becomes whole.
pub fn stream(
    input: impl io::Read,
    name: &str,
    reader: Option<&'static dyn Reader>,
    sink: &mut dyn Sink,
) -> Result<Streamed, TraceError> {
    let broke = |source| TraceError::Read { name: name.to_owned(), source };
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut start = Vec::new();
    (&mut input).take(HEAD as u64).read_to_end(&mut start).map_err(broke)?;
    let mut out = Builder::new(sink);
    let blank = start.iter().all(u8::is_ascii_whitespace);
    let Some(reader) = reader.or_else(|| sniff(&start)).or(if blank { Some(READERS[0]) } else { None })
    else {
        return Err(TraceError::Unknown { name: name.to_owned() });
    };
    let mut decoder = reader.decoder();
    let mut rest = Cursor::new(start).chain(input);
    if reader.is_document() {
        let mut whole = Vec::new();
        (&mut rest).take(DOCUMENT_CAP as u64 + 1).read_to_end(&mut whole).map_err(broke)?;
        if whole.len() > DOCUMENT_CAP {
            return Err(TraceError::TooLarge { name: name.to_owned() });
        }
        take(decoder.as_mut(), &whole, true, &mut out);
    } else {
        read_lines(&mut rest, decoder.as_mut(), &mut out).map_err(broke)?;
    }
    decoder.end(&mut out);
    out.finish();
    if out.tally.messages == 0 && blank {
        out.line = None;
        out.note("empty-trace", "there is nothing in it");
    }
    let Builder { head, tally, notes, .. } = out;
    Ok(Streamed { format: reader.name(), head, tally, diagnostics: notes.told(name) })
}

fn read_lines(input: &mut dyn BufRead, decoder: &mut dyn Decoder, out: &mut Builder<'_>) -> io::Result<()> {
    let mut buffer = Vec::new();
    let mut at = 0;
    loop {
        at += 1;
        out.line = Some(at);
        match lines::next(input, &mut buffer, LINE_CAP)? {
            Line::End => return Ok(()),
            Line::TooLong(length) => {
                out.note(
                    "line-too-long",
                    format!("a line of {length} bytes is longer than {LINE_CAP}; it is passed over"),
                );
            }
            Line::Whole(ended) => {
                if !buffer.iter().all(u8::is_ascii_whitespace) {
                    take(decoder, &buffer, ended, out);
                }
            }
        }
    }
}

/// Hands a record to its decoder, mended where its text is not UTF-8.
fn take(decoder: &mut dyn Decoder, json: &[u8], ended: bool, out: &mut Builder<'_>) {
    out.bytes = json.len();
    let begins = json.iter().find(|byte| !byte.is_ascii_whitespace());
    let error = if begins != Some(&b'{') && serde_json::from_slice::<IgnoredAny>(json).is_ok() {
        return out.note("unexpected-shape", "a record has another shape than it should; it is passed over");
    } else if std::str::from_utf8(json).is_ok() {
        decoder.record(json, out).err()
    } else {
        out.note("invalid-utf8", "this is not UTF-8; what is not stands as a replacement character");
        decoder.record(String::from_utf8_lossy(json).as_bytes(), out).err()
    };
    match error {
        None => {}
        Some(error) if error.is_eof() && !ended => {
            out.note("truncated-line", "the last line is cut off; it is passed over");
        }
        Some(error) if error.is_data() => {
            out.note("unexpected-shape", "a record has another shape than it should; it is passed over");
        }
        Some(_) => out.note("invalid-json", "a line is not JSON; it is passed over"),
    }
}

/// The reader of what begins so.
fn sniff(start: &[u8]) -> Option<&'static dyn Reader> {
    let claimed = |value: &Value, documents: bool| {
        READERS.into_iter().find(|reader| reader.is_document() == documents && reader.claims(value))
    };
    let lines = start.split(|&byte| byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace));
    for line in lines.take(HEAD_LINES) {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            // A bad byte must not hide a format.
            let Ok(value) = serde_json::from_str::<Value>(&String::from_utf8_lossy(line)) else { continue };
            if let Some(reader) = claimed(&value, false) {
                return Some(reader);
            }
            continue;
        };
        if let Some(reader) = claimed(&value, false).or_else(|| claimed(&value, true)) {
            return Some(reader);
        }
    }
    document(start).and_then(|value| claimed(&value, true))
}

/// The document that `start` is, or the members of it that stand in the beginning.
fn document(start: &[u8]) -> Option<Value> {
    serde_json::from_slice(start).ok()
}
