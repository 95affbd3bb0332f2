//! JSON Lines from files, compressed files and standard input, many lines at a time.

use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use assay_syntax::json::{JsonError, parse_json};
use rayon::prelude::*;

use super::Record;

/// The longest line that is read, in bytes. The longest document that a package may have is 8 MiB,
/// and JSON may need six bytes for one.
pub const LINE_CAP: usize = 64 << 20;
/// Most bytes of a corpus, after decompression. It is read line by line, so this bounds time.
const UNPACKED: u64 = 1 << 40;
/// How many lines are parsed at once.
const BATCH: usize = 512;
/// Bytes after which a batch is closed, so that long lines do not add up.
const BATCH_BYTES: usize = 8 << 20;

/// Why a corpus cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The stream ended early, or does not match its first bytes.
    #[error("cannot read {} after line {line}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// The last line that was read.
        line: u64,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// An invalid line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// From 1.
    pub line: u64,
    /// The problem.
    pub message: String,
}

/// A line's number, from 1, and its bytes.
pub type Line = (u64, Vec<u8>);

/// Lines of records.
pub struct Input {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    line: u64,
}

impl Input {
    /// Opens a file, or standard input for `-`. Gzip and Zstandard are recognized by their first
    /// bytes, whatever the name; Zstandard may have a window of up to 2^27 bytes, as with `--long`.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        let open = |source| InputError::Open { path: path.to_path_buf(), source };
        let raw: Box<dyn Read + Send> = if path == Path::new("-") {
            Box::new(io::stdin())
        } else {
            let file = std::fs::File::open(path).map_err(open)?;
            if file.metadata().map_err(open)?.is_dir() {
                return Err(open(io::ErrorKind::IsADirectory.into()));
            }
            Box::new(file)
        };
        Self::of(path, raw).map_err(open)
    }

    /// Reads from a stream, which `path` names in messages.
    pub fn of(path: &Path, raw: Box<dyn Read + Send>) -> io::Result<Self> {
        Ok(Self { path: path.to_path_buf(), reader: assay_fs::unpack(raw, UNPACKED)?, line: 0 })
    }

    /// The next records, each converted by `work`, in order; `None` at the end. Blank lines are
    /// skipped.
    ///
    /// Records are parsed, and `work` runs, on all threads of the pool.
    pub fn batch<T: Send>(
        &mut self,
        work: impl Fn(Record) -> T + Sync,
    ) -> Result<Option<Vec<Result<T, BadLine>>>, InputError> {
        let Some(lines) = self.lines()? else { return Ok(None) };
        Ok(Some(
            lines
                .into_par_iter()
                .map(|(number, line)| match parse(&line) {
                    Ok(record) => Ok(work(record)),
                    Err(error) => Err(BadLine { line: number, message: error.to_string() }),
                })
                .collect(),
        ))
    }

    /// The next lines that are not blank, with their numbers from 1; `None` at the end. A line
    /// above [`LINE_CAP`] is cut to one byte more than that.
    pub fn lines(&mut self) -> Result<Option<Vec<Line>>, InputError> {
        let mut lines: Vec<Line> = Vec::with_capacity(BATCH);
        let mut bytes = 0;
        while lines.len() < BATCH && bytes < BATCH_BYTES {
            let mut line = Vec::new();
            let cap = LINE_CAP as u64 + 1;
            let read = (&mut self.reader).take(cap).read_until(b'\n', &mut line);
            let read = read.map_err(|source| self.broken(source))?;
            if read == 0 {
                break;
            }
            self.line += 1;
            if line.len() > LINE_CAP && line.last() != Some(&b'\n') {
                self.reader.skip_until(b'\n').map_err(|source| self.broken(source))?;
            }
            bytes += line.len();
            if !line.trim_ascii().is_empty() {
                lines.push((self.line, line));
            }
        }
        Ok((!lines.is_empty()).then_some(lines))
    }

    /// The name of the input.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn broken(&self, source: io::Error) -> InputError {
        InputError::Read { path: self.path.clone(), line: self.line, source }
    }
}

/// Why a line is not a valid record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is too long.
    #[error("a line is longer than {LINE_CAP} bytes")]
    TooLong,
    /// It ends in the middle.
    #[error("truncated: {}", short(.0))]
    CutOff(serde_json::Error),
    /// It is not the JSON of a record.
    #[error("not a record: {}", short(.0))]
    Json(serde_json::Error),
    /// It unfolds to more than fits into memory.
    #[error(transparent)]
    Memory(JsonError),
    /// It has nothing that identifies a record.
    #[error("not a record: none of `skill_md`, `id`, `name` and `path`")]
    Empty,
    /// Its id is too long.
    #[error("the id has {0} bytes")]
    LongId(usize),
}

/// Parses one line as a record.
pub fn parse(line: &[u8]) -> Result<Record, RecordError> {
    if line.len() > LINE_CAP {
        return Err(RecordError::TooLong);
    }
    // A byte-order mark is not part of the first line.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let record: Record = match parse_json(line) {
        Ok(record) => record,
        Err(JsonError::TooLarge(cap)) => return Err(RecordError::Memory(JsonError::TooLarge(cap))),
        Err(JsonError::Invalid(error)) if error.is_eof() => return Err(RecordError::CutOff(error)),
        Err(JsonError::Invalid(error)) => return Err(RecordError::Json(error)),
    };
    if record.skill_md.is_empty() && record.id.is_empty() && record.name.is_empty() && record.path.is_empty()
    {
        return Err(RecordError::Empty);
    }
    if record.id.len() > 4096 {
        return Err(RecordError::LongId(record.id.len()));
    }
    Ok(record)
}

/// The parser's words without the line, which is always the first here.
fn short(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: Vec<u8>) -> Vec<Result<String, u64>> {
        let mut input = Input::of(Path::new("x"), Box::new(io::Cursor::new(bytes))).unwrap();
        let mut all = Vec::new();
        while let Some(batch) = input.batch(|record| record.id).unwrap() {
            all.extend(batch.into_iter().map(|line| line.map_err(|bad| bad.line)));
        }
        all
    }

    #[test]
    fn invalid_lines_are_reported_and_skipped() {
        let text = "\u{feff}{\"id\":\"a\"}\n\n  \nnonsense\n{\"id\":\"b\",\"license\":null}\r\n[]\n{}\n{\"id\":\"c\"\n{\"id\":7}\n{\"id\":\"d\"}";
        let ok = |id: &str| Ok(id.to_owned());
        let expected = vec![ok("a"), Err(4), ok("b"), Err(6), Err(7), Err(8), Err(9), ok("d")];
        assert_eq!(read(text.into()), expected);
        let mut latin = b"{\"id\":\"caf\xe9\"}\n".to_vec();
        latin.extend(b"{\"id\":\"e\"}\n\n\n");
        assert_eq!(read(latin), vec![Err(1), ok("e")]);
    }

    #[test]
    fn compressed_streams_are_recognized_by_their_bytes() {
        let text = "{\"id\":\"a\"}\n".repeat(2000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let mut long = zstd::Encoder::new(Vec::new(), 1).unwrap();
        long.window_log(27).unwrap();
        long.write_all(text.as_bytes()).unwrap();
        for bytes in [text.clone().into_bytes(), gzip.finish().unwrap(), long.finish().unwrap()] {
            assert_eq!(read(bytes), vec![Ok("a".to_owned()); 2000]);
        }
    }

    #[test]
    fn a_broken_stream_is_an_error_with_a_line() {
        let mut bytes = zstd::encode_all("{\"id\":\"a\"}\n".repeat(5).as_bytes(), 1).unwrap();
        bytes.truncate(bytes.len() - 3);
        let mut input = Input::of(Path::new("x"), Box::new(io::Cursor::new(bytes))).unwrap();
        let error = loop {
            match input.batch(|record| record.id) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the break went unseen"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().starts_with("cannot read x after line "), "{error}");
    }
}
