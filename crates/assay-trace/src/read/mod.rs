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
mod messages;
mod mini;
mod opencode;
mod openhands;
mod pi;
mod qwen;
mod sources;
mod swe_agent;
mod text;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufRead, BufReader, Cursor, Read as _};
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde_json::Value;

pub(crate) use self::builder::Builder;
pub use self::builder::{Head, Hidden, LaneHead, Sink};
use self::lines::Line;
pub use self::sources::{Source as Input, Sources, sources};
use crate::usage::{Tally, Usage};
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

    /// Whether a document can be read as this format where the caller says that it is one.
    fn accepts(&self, document: &Value) -> bool {
        self.claims(document)
    }

    /// What reads one session.
    #[expect(private_interfaces, reason = "readers are written here; others choose among them")]
    fn decoder(&self) -> Box<dyn Decoder>;
}

/// Reads the records of one session, one after another.
pub(crate) trait Decoder {
    /// A record, which is well-formed JSON or is found not to be. Whatever is odd about it goes to the builder's notes.
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error>;

    /// After the last one.
    fn end(&mut self, _out: &mut Builder) {}
}

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
    /// Its own sums leave something out.
    pub is_partial: bool,
    /// What each model used by its own account, where it has one.
    pub models: Option<BTreeMap<String, Usage>>,
    /// What its format does not show.
    pub hidden: Hidden,
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
    #[error("{name} is not a transcript in a known format")]
    Unknown {
        /// What was read.
        name: String,
    },
    /// There is nothing in it.
    #[error("{name} is empty")]
    Empty {
        /// What was read.
        name: String,
    },
    /// One document, and its end is missing.
    #[error(
        "{name} is a truncated JSON document: it ends at line {line}, column {column}, before it is complete"
    )]
    Truncated {
        /// What was read.
        name: String,
        /// Where it ends, from 1.
        line: usize,
        /// Where it ends, from 1.
        column: usize,
    },
    /// It is not in the format that it was said to be in.
    #[error("{name} is not in the {format} format{}", seems.map_or(String::new(), |seems| format!("; it looks like {seems}")))]
    NotOf {
        /// What was read.
        name: String,
        /// The format it was said to have.
        format: &'static str,
        /// The format it seems to have.
        seems: Option<&'static str>,
    },
    /// A folder without a transcript.
    #[error("{path} contains no transcript in a known format", path = path.display())]
    NoTranscript {
        /// The folder.
        path: PathBuf,
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
/// Code keeps beside a session are read with it. Several sessions in a file are read as one; [`read_all`] keeps them apart.
pub fn read(path: &Path, reader: Option<&'static dyn Reader>) -> Result<Transcript, TraceError> {
    let all = read_all(&Input::of(path), reader)?;
    builder::merged(all).ok_or_else(|| TraceError::Empty { name: path.display().to_string() })
}

/// Reads each session of a file, or a trial's folder as Harbor leaves it.
pub fn read_all(source: &Input, reader: Option<&'static dyn Reader>) -> Result<Vec<Transcript>, TraceError> {
    if source.path.is_dir() {
        return Ok(vec![harbor::read(&source.path)?]);
    }
    let mut all = read_file(&source.path, reader)?;
    for beside in &source.beside {
        let inner = match read_file(beside, Some(&claude_code::Session)) {
            Ok(inner) => inner,
            Err(error) => {
                if let Some(first) = all.first_mut() {
                    first.diagnostics.push(Diagnostic::of_unreadable(beside, &error));
                }
                continue;
            }
        };
        for one in inner {
            let session = &one.trajectory.session_id;
            let at = all.iter().position(|known| known.trajectory.session_id == *session).unwrap_or_default();
            if let Some(whole) = all.get_mut(at).filter(|whole| !holds(&whole.trajectory, &one.trajectory)) {
                builder::attach(whole, one, beside);
            }
        }
    }
    Ok(all)
}

/// Whether all named messages of a sub-agent's log stand in a trajectory already.
fn holds(whole: &Trajectory, one: &Trajectory) -> bool {
    let names = |one: &Trajectory| -> BTreeSet<String> {
        let inner = one.subagent_trajectories.iter().flat_map(|inner| &inner.steps);
        let steps = one.steps.iter().chain(inner);
        steps.filter_map(|step| step.message_id().map(str::to_owned)).collect()
    };
    let sought = names(one);
    !sought.is_empty() && sought.is_subset(&names(whole))
}

fn read_file(path: &Path, reader: Option<&'static dyn Reader>) -> Result<Vec<Transcript>, TraceError> {
    let input = open(path)?;
    read_all_from(input, &path.display().to_string(), reader)
}

/// Opens a file, or standard input where the path is `-`, and takes compression off.
pub fn open(path: &Path) -> Result<Box<dyn io::Read>, TraceError> {
    input::open(path).map_err(|source| TraceError::Open { path: path.to_path_buf(), source })
}

/// Reads a stream to its end, its sessions as one. `name` is what diagnostics call it.
pub fn read_from(
    input: impl io::Read,
    name: &str,
    reader: Option<&'static dyn Reader>,
) -> Result<Transcript, TraceError> {
    let all = read_all_from(input, name, reader)?;
    builder::merged(all).ok_or_else(|| TraceError::Empty { name: name.to_owned() })
}

/// Reads a stream to its end, each of its sessions apart.
pub fn read_all_from(
    input: impl io::Read,
    name: &str,
    reader: Option<&'static dyn Reader>,
) -> Result<Vec<Transcript>, TraceError> {
    let mut collector = builder::Collector::default();
    let streamed = stream(input, name, reader, &mut collector)?;
    let whole = |(number, one): (usize, Streamed)| {
        let mut head = one.head;
        let (times, is_partial, hidden) = (head.times, head.is_partial, head.hidden);
        let models = head.models.take();
        Transcript {
            trajectory: collector.trajectory(number, head, &one.tally),
            format: one.format,
            tally: one.tally,
            times,
            is_partial,
            models,
            hidden,
            diagnostics: one.diagnostics,
        }
    };
    Ok(streamed.into_iter().enumerate().map(whole).collect())
}

/// Reads a stream to its end, and hands each step over as it becomes whole. Gives what is known of each session besides its
/// steps, in the order in which they begin: one at least.
pub fn stream(
    input: impl io::Read,
    name: &str,
    reader: Option<&'static dyn Reader>,
    sink: &mut dyn Sink,
) -> Result<Vec<Streamed>, TraceError> {
    let broke = |source| TraceError::Read { name: name.to_owned(), source };
    let named = || name.to_owned();
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut start = Vec::new();
    (&mut input).take(HEAD as u64).read_to_end(&mut start).map_err(broke)?;
    if start.iter().all(u8::is_ascii_whitespace) {
        return Err(TraceError::Empty { name: named() });
    }
    let seems = sniff(&start);
    let mut rest = Cursor::new(start).chain(input);
    if let Some(found) = reader.or(seems)
        && !found.is_document()
    {
        let mut parts = Parts::new(found, sink);
        read_lines(&mut rest, &mut parts).map_err(broke)?;
        let is_other = seems.is_none_or(|seems| seems.name() != found.name());
        if is_other && reader.is_some() && parts.is_void() {
            return Err(TraceError::NotOf {
                name: named(),
                format: found.name(),
                seems: seems.map(Reader::name),
            });
        }
        return Ok(parts.finish(name));
    }
    let mut whole = Vec::new();
    (&mut rest).take(DOCUMENT_CAP as u64 + 1).read_to_end(&mut whole).map_err(broke)?;
    if whole.len() > DOCUMENT_CAP {
        return Err(TraceError::TooLarge { name: named() });
    }
    let document = match serde_json::from_str::<Value>(&String::from_utf8_lossy(&whole)) {
        Ok(document) => document,
        Err(error) if error.is_eof() && begins_document(&whole) => {
            let (line, column) = (error.line(), error.column());
            return Err(TraceError::Truncated { name: named(), line, column });
        }
        Err(_) => match reader {
            Some(reader) => {
                return Err(TraceError::NotOf { name: named(), format: reader.name(), seems: None });
            }
            None => return Err(TraceError::Unknown { name: named() }),
        },
    };
    let seems = claimed(&document, true);
    let Some(found) = reader.or(seems) else { return Err(TraceError::Unknown { name: named() }) };
    if !found.accepts(&document) {
        return Err(TraceError::NotOf {
            name: named(),
            format: found.name(),
            seems: seems.map(Reader::name),
        });
    }
    let mut parts = Parts::new(found, sink);
    parts.line = None;
    parts.take(&whole, true);
    Ok(parts.finish(name))
}

/// Whether a text is a document of which more may be missing, and no text of another kind.
fn begins_document(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let inner = text.get(1..).unwrap_or_default().trim_ascii_start();
    matches!((text.first(), inner.first()), (Some(b'{'), Some(b'"') | None) | (Some(b'['), Some(b'{') | None))
}

/// More sessions in a file than these are read with the last of them.
const SESSIONS: usize = 10_000;

/// The sessions of one file, each with what decodes it.
struct Parts<'s> {
    reader: &'static dyn Reader,
    sink: &'s mut dyn Sink,
    sessions: Vec<(Box<dyn Decoder>, Builder)>,
    known: HashMap<String, usize>,
    current: usize,
    line: Option<usize>,
    given: bool,
}

impl<'s> Parts<'s> {
    fn new(reader: &'static dyn Reader, sink: &'s mut dyn Sink) -> Self {
        let sessions = vec![(reader.decoder(), Builder::default())];
        Self { reader, sink, sessions, known: HashMap::new(), current: 0, line: None, given: false }
    }

    fn note(&mut self, code: &'static str, message: impl Into<String>) {
        let (_, out) = &mut self.sessions[self.current];
        out.line = self.line;
        out.note(code, message);
    }

    /// Hands a line to its session: a record, or several that somebody joined.
    fn take(&mut self, json: &[u8], ended: bool) {
        let text = String::from_utf8_lossy(json);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.note("invalid-utf8", "this is not UTF-8; what is not stands as a replacement character");
        }
        let json = text.as_bytes();
        let begins = json.iter().find(|byte| !byte.is_ascii_whitespace());
        if begins != Some(&b'{')
            && !self.reader.is_document()
            && serde_json::from_slice::<IgnoredAny>(json).is_ok()
        {
            return self.note("unexpected-shape", SHAPE);
        }
        let Err(error) = self.record(json) else { return };
        if error.is_eof() && !ended {
            return self.note("truncated-line", "the last line is cut off; it is passed over");
        }
        if error.is_data() {
            return self.note("unexpected-shape", SHAPE);
        }
        let (records, rest) = records(json);
        if records.is_empty() {
            return self.note("invalid-json", "a line is not JSON; it is passed over");
        }
        self.note("joined-records", "several records stand on one line; each is read");
        for record in records {
            if self.record(record).is_err() {
                self.note("unexpected-shape", SHAPE);
            }
        }
        if !rest.trim_ascii().is_empty() {
            let cut = !ended && serde_json::from_slice::<IgnoredAny>(rest).is_err_and(|error| error.is_eof());
            if cut {
                self.note("truncated-line", "the last line is cut off; it is passed over");
            } else {
                self.note("invalid-json", "a part of a line is not JSON; it is passed over");
            }
        }
    }

    fn record(&mut self, json: &[u8]) -> Result<(), serde_json::Error> {
        self.hand(json)?;
        if let Some(session) = self.sessions[self.current].1.elsewhere.take() {
            self.turn_to(session);
            self.hand(json)?;
            self.sessions[self.current].1.elsewhere = None;
        }
        Ok(())
    }

    /// Hands a record to the session that is being read.
    fn hand(&mut self, json: &[u8]) -> Result<(), serde_json::Error> {
        let (decoder, out) = &mut self.sessions[self.current];
        out.line = self.line;
        out.bytes = json.len();
        let came = decoder.record(json, out);
        self.pass_on();
        came
    }

    /// The session of this name is read from here on.
    fn turn_to(&mut self, session: String) {
        if let Some(own) = &self.sessions[self.current].1.session {
            self.known.insert(own.clone(), self.current);
        }
        if let Some(&at) = self.known.get(&session) {
            self.current = at;
        } else if self.sessions.len() < SESSIONS {
            self.current = self.sessions.len();
            self.known.insert(session, self.current);
            self.sessions.push((self.reader.decoder(), Builder::default()));
        } else {
            self.note(
                "too-many-sessions",
                format!("more than {SESSIONS} sessions; the rest is read with the last"),
            );
        }
    }

    /// Hands on the steps that are whole.
    fn pass_on(&mut self) {
        for (lane, step) in self.sessions[self.current].1.ready.drain(..) {
            self.given = true;
            self.sink.step(self.current, lane.as_deref(), step);
        }
    }

    /// Whether nothing at all came of what was read.
    fn is_void(&mut self) -> bool {
        self.given = self.given || self.sessions.iter().any(|(_, out)| !out.is_void());
        !self.given
    }

    fn finish(mut self, name: &str) -> Vec<Streamed> {
        for at in 0..self.sessions.len() {
            self.current = at;
            let (decoder, out) = &mut self.sessions[at];
            out.line = None;
            decoder.end(out);
            out.finish();
            self.pass_on();
        }
        let format = self.reader.name();
        let done = |(_, out): (Box<dyn Decoder>, Builder)| {
            let Builder { head, tally, notes, .. } = out;
            Streamed { format, head, tally, diagnostics: notes.told(name) }
        };
        self.sessions.into_iter().map(done).collect()
    }
}

/// What is said of a record that is JSON and not what it should be.
const SHAPE: &str = "a record has another shape than it should; it is passed over";

/// The whole records that a line begins with, and what is left of it.
fn records(line: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut stream = serde_json::Deserializer::from_slice(line).into_iter::<IgnoredAny>();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(Ok(_)) = stream.next() {
        let end = stream.byte_offset();
        found.push(&line[at..end]);
        at = end;
    }
    (found, &line[at..])
}

fn read_lines(input: &mut dyn BufRead, parts: &mut Parts<'_>) -> io::Result<()> {
    let mut buffer = Vec::new();
    let mut at = 0;
    loop {
        at += 1;
        parts.line = Some(at);
        match lines::next(input, &mut buffer, LINE_CAP)? {
            Line::End => return Ok(()),
            Line::TooLong(length) => {
                parts.note(
                    "line-too-long",
                    format!("a line of {length} bytes is longer than {LINE_CAP}; it is passed over"),
                );
            }
            Line::Whole(ended) => {
                if !buffer.iter().all(u8::is_ascii_whitespace) {
                    parts.take(&buffer, ended);
                }
            }
        }
    }
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
        // A document is the whole of its file.
        let document = || claimed(&value, true).filter(|_| count == 1 && rest.is_empty());
        if let Some(reader) = claimed(&value, false).or_else(document) {
            return Some(reader);
        }
    }
    None
}
