//! Reads a stream, whose sessions are decoded apart.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Cursor, Read as _};
use std::path::Path;

use assay_fs::InputLine;
use assay_syntax::json::{JSON_MEMORY, check_json};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::builder::{Builder, Sink};
use super::database::{DatabaseProblem, Opened, is_database};
use super::error::{DOCUMENT_CAP, TraceError};
use super::input::open;
use super::opencode_database::{missing_tables, read_sessions};
use super::reader::{Decoder, Reader, Shape};
use super::transcript::{Collector, Streamed, Transcript, merged};
use super::unsupported::{unsupported_database, unsupported_document, unsupported_format};
use super::{HEAD, LINE_CAP, claims_of, claims_of_tables, sniff};

/// Reads a stream to its end, its sessions as one. `name` is what diagnostics call it.
pub fn read_from(
    input: impl io::Read,
    name: &str,
    reader: Option<&'static dyn Reader>,
) -> Result<Transcript, TraceError> {
    let all = read_all_from(input, name, reader)?;
    merged(all).ok_or_else(|| TraceError::Empty { name: name.to_owned() })
}

/// Reads a stream to its end, each of its sessions apart.
pub fn read_all_from(
    input: impl io::Read,
    name: &str,
    reader: Option<&'static dyn Reader>,
) -> Result<Vec<Transcript>, TraceError> {
    collect(name, |collector| stream(input, name, reader, collector))
}

/// Reads a file to its end, each of its sessions apart.
pub(super) fn read_all_of(
    path: &Path,
    reader: Option<&'static dyn Reader>,
) -> Result<Vec<Transcript>, TraceError> {
    collect(&path.display().to_string(), |collector| stream_file(path, reader, collector))
}

fn collect(
    name: &str,
    read: impl FnOnce(&mut Collector) -> Result<Vec<Streamed>, TraceError>,
) -> Result<Vec<Transcript>, TraceError> {
    let mut collector = Collector::default();
    let streamed = read(&mut collector)?;
    collector.check(name)?;
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

/// Reads a stream to its end and passes on each step when it is complete. Returns the data of each
/// session besides its steps, at least one, in the order in which they begin. A database is copied
/// to a temporary folder first.
pub fn stream(
    input: impl io::Read,
    name: &str,
    reader: Option<&'static dyn Reader>,
    sink: &mut dyn Sink,
) -> Result<Vec<Streamed>, TraceError> {
    stream_input(input, None, name, reader, sink)
}

/// Reads a file as [`stream`] does, or standard input if the path is `-`. Of a database, the changes
/// in the write-ahead log beside it are read too.
pub fn stream_file(
    path: &Path,
    reader: Option<&'static dyn Reader>,
    sink: &mut dyn Sink,
) -> Result<Vec<Streamed>, TraceError> {
    stream_input(open(path)?, Some(path), &path.display().to_string(), reader, sink)
}

fn stream_input(
    input: impl io::Read,
    path: Option<&Path>,
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
    if is_database(&start) {
        return stream_database(path, Cursor::new(start).chain(input), name, reader, sink);
    }
    if let Some(format) = unsupported_format(&start).filter(|_| reader.is_none()) {
        return Err(TraceError::Unsupported { name: named(), format });
    }
    let claims = sniff(&start);
    let mut rest = Cursor::new(start).chain(input);
    let seems = claims.first();
    let not_of = |reader: &dyn Reader, seems: Option<&'static str>| TraceError::NotOf {
        name: named(),
        format: reader.name(),
        seems,
    };
    if let Some(reader) = reader.filter(|reader| reader.shape() == Shape::Database) {
        return Err(not_of(reader, seems));
    }
    let sniffed = if reader.is_none() { claims.one(name)? } else { None };
    if let Some(found) = reader.or(sniffed)
        && found.shape() == Shape::Lines
    {
        let mut parts = Parts::new(found, sink);
        read_lines(&mut rest, &mut parts).map_err(broke)?;
        let is_other = seems.is_none_or(|seems| seems != found.name());
        if is_other && reader.is_some() && parts.is_void() {
            return Err(not_of(found, seems));
        }
        return Ok(parts.finish(name));
    }
    let mut whole = Vec::new();
    (&mut rest).take(DOCUMENT_CAP as u64 + 1).read_to_end(&mut whole).map_err(broke)?;
    if whole.len() > DOCUMENT_CAP {
        return Err(TraceError::TooLarge { name: named() });
    }
    if let Err(source) = check_json(&whole, JSON_MEMORY) {
        return Err(TraceError::Memory { name: named(), source });
    }
    let document = match serde_json::from_str::<Value>(&String::from_utf8_lossy(&whole)) {
        Ok(document) => document,
        Err(error) if error.is_eof() && begins_document(&whole) => {
            let (line, column) = (error.line(), error.column());
            return Err(TraceError::Truncated { name: named(), line, column });
        }
        Err(_) => match reader {
            Some(reader) => return Err(not_of(reader, None)),
            None => return Err(TraceError::Unknown { name: named() }),
        },
    };
    if let Some(format) = unsupported_document(&document).filter(|_| reader.is_none()) {
        return Err(TraceError::Unsupported { name: named(), format });
    }
    let claims = claims_of(&document);
    let claimed = if reader.is_none() { claims.one(name)? } else { None };
    let Some(found) = reader.or(claimed) else { return Err(TraceError::Unknown { name: named() }) };
    if !found.accepts(&document) {
        return Err(not_of(found, claims.first()));
    }
    drop(document);
    let mut parts = Parts::new(found, sink);
    parts.line = None;
    parts.read_line(&whole, true);
    Ok(parts.finish(name))
}

/// Reads the sessions of a database.
fn stream_database(
    path: Option<&Path>,
    input: impl io::Read,
    name: &str,
    reader: Option<&'static dyn Reader>,
    sink: &mut dyn Sink,
) -> Result<Vec<Streamed>, TraceError> {
    let failed = |problem| TraceError::Database { name: name.to_owned(), problem };
    let opened = Opened::of_input(path, input).map_err(failed)?;
    let claims = claims_of_tables(&opened.tables);
    match reader {
        Some(reader) if reader.shape() != Shape::Database => {
            let (format, seems) = (reader.name(), claims.first());
            return Err(TraceError::NotOf { name: name.to_owned(), format, seems });
        }
        Some(_) => {}
        None => {
            if claims.one(name)?.is_none() {
                if let Some(format) = unsupported_database(&opened.tables) {
                    return Err(TraceError::Unsupported { name: name.to_owned(), format });
                }
                return Err(failed(DatabaseProblem::Foreign { missing: missing_tables(&opened) }));
            }
        }
    }
    // One program's databases are read.
    read_sessions(&opened, name, sink).map_err(failed)
}

/// Whether a text is a document of which more may be missing, and no text of another kind.
pub(super) fn begins_document(text: &[u8]) -> bool {
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

    /// Passes a line to its session: a record, or several joined ones.
    fn read_line(&mut self, json: &[u8], ended: bool) {
        if let Err(error) = check_json(json, JSON_MEMORY) {
            return self.note("line-too-long", format!("a line is skipped: {error}"));
        }
        let text = String::from_utf8_lossy(json);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.note("invalid-utf8", "invalid UTF-8, shown as replacement characters");
        }
        let json = text.as_bytes();
        let begins = json.iter().find(|byte| !byte.is_ascii_whitespace());
        if begins != Some(&b'{')
            && self.reader.shape() != Shape::Document
            && serde_json::from_slice::<IgnoredAny>(json).is_ok()
        {
            return self.note("unexpected-shape", SHAPE);
        }
        let Err(error) = self.record(json) else { return };
        if error.is_eof() && !ended {
            return self.note("truncated-line", "the last line is truncated; skipped");
        }
        if error.is_data() {
            return self.note("unexpected-shape", SHAPE);
        }
        let (records, rest) = records(json);
        if records.is_empty() {
            return self.note("invalid-json", "a line is not JSON; skipped");
        }
        self.note("joined-records", "several records on one line; each is read");
        for record in records {
            if self.record(record).is_err() {
                self.note("unexpected-shape", SHAPE);
            }
        }
        if !rest.trim_ascii().is_empty() {
            let cut = !ended && serde_json::from_slice::<IgnoredAny>(rest).is_err_and(|error| error.is_eof());
            if cut {
                self.note("truncated-line", "the last line is truncated; skipped");
            } else {
                self.note("invalid-json", "a part of a line is not JSON; skipped");
            }
        }
    }

    fn record(&mut self, json: &[u8]) -> Result<(), serde_json::Error> {
        self.decode_record(json)?;
        if let Some(session) = self.sessions[self.current].1.elsewhere.take() {
            self.select_session(session);
            self.decode_record(json)?;
            self.sessions[self.current].1.elsewhere = None;
        }
        Ok(())
    }

    /// Hands a record to the session that is being read.
    fn decode_record(&mut self, json: &[u8]) -> Result<(), serde_json::Error> {
        let (decoder, out) = &mut self.sessions[self.current];
        out.line = self.line;
        out.bytes = json.len();
        let came = decoder.record(json, out);
        self.forward_steps();
        came
    }

    /// The session of this name is read from here on.
    fn select_session(&mut self, session: String) {
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
                format!("more than {SESSIONS} sessions; the rest is added to the last"),
            );
        }
    }

    /// Passes on the complete steps.
    fn forward_steps(&mut self) {
        for (lane, step) in self.sessions[self.current].1.ready.drain(..) {
            self.given = true;
            self.sink.step(self.current, lane.as_deref(), step);
        }
    }

    /// Whether nothing at all was read.
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
            self.forward_steps();
        }
        let format = self.reader.name();
        let done = |(_, out): (Box<dyn Decoder>, Builder)| {
            let Builder { head, tally, notes, .. } = out;
            Streamed { format, head, tally, diagnostics: notes.into_sorted(name) }
        };
        self.sessions.into_iter().map(done).collect()
    }
}

/// The message for a record that is JSON of the wrong shape.
const SHAPE: &str = "unexpected record structure; skipped";

/// The complete records at the beginning of a line, and the rest of it.
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
        match assay_fs::next_line(input, &mut buffer, LINE_CAP as u64)? {
            InputLine::End => return Ok(()),
            InputLine::TooLong(length) => {
                parts.note(
                    "line-too-long",
                    format!("a line of {length} bytes is longer than {LINE_CAP}; skipped"),
                );
            }
            InputLine::Whole(ended) => {
                if !buffer.iter().all(u8::is_ascii_whitespace) {
                    parts.read_line(&buffer, ended);
                }
            }
        }
    }
}
