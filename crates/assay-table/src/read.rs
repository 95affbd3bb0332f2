//! Reads tables row by row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::Value;

#[cfg(feature = "parquet")]
mod parquet;

/// Most bits of zstd's window, as written by `zstd --long=27`.
const WINDOW_BITS: u32 = 27;

/// Most bytes of a line of JSON, so that a file without line breaks does not fill the memory.
const LINE_CAP: u64 = 64 << 20;

/// The format of a table that is read, by the name of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFormat {
    /// Comma-separated values with a header line: `.csv` or `.csv.zst`.
    Csv,
    /// One JSON object per line: `.jsonl` or `.ndjson`, also with `.zst`.
    JsonLines,
    /// Apache Parquet: `.parquet`; needs the feature `parquet`.
    Parquet,
}

impl ReadFormat {
    /// The format of a file, and whether it is compressed with Zstandard.
    pub fn of(path: &Path) -> Option<(Self, bool)> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let (name, compressed) = match name.strip_suffix(".zst") {
            Some(name) => (name, true),
            None => (name.as_str(), false),
        };
        let format = match name.rsplit_once('.')?.1 {
            "csv" => Self::Csv,
            "jsonl" | "ndjson" => Self::JsonLines,
            // Parquet has compression of its own, and its reader needs to seek.
            "parquet" if !compressed => Self::Parquet,
            _ => return None,
        };
        Some((format, compressed))
    }
}

/// Why a table, or a row of it, cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The name of the file does not say what it contains.
    #[error("{}: unknown kind of table (known: .csv, .jsonl, .ndjson, each also with .zst, and .parquet)", .0.display())]
    Format(PathBuf),
    /// The format is not part of this build.
    #[error("{}: this build cannot read Parquet: it was compiled without the feature `parquet`", .0.display())]
    NoParquet(PathBuf),
    /// The table as a whole is damaged.
    #[error("cannot read {}: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// One row is damaged; the next ones can be read.
    #[error("{}:{line}: {message}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, or the number of the row in Parquet, from 1.
        line: u64,
        /// Why.
        message: String,
    },
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The line on which it begins, or the number of the row in Parquet, from 1.
    pub line: u64,
    /// Its values by column. A nested value is the text of its JSON. Cells of CSV are text, or null
    /// if empty.
    pub cells: BTreeMap<String, Value>,
}

/// Reads one table, row by row.
pub struct TableReader {
    path: PathBuf,
    format: ReadFormat,
    decoder: Decoder,
    /// Nothing follows a failure of the file itself.
    failed: bool,
}

enum Decoder {
    Csv {
        reader: Box<csv::Reader<Box<dyn Read>>>,
        header: Vec<String>,
        record: csv::ByteRecord,
    },
    JsonLines {
        reader: Box<dyn BufRead>,
        line: u64,
        buffer: Vec<u8>,
    },
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::Decoder>),
}

impl TableReader {
    /// Opens a table, whose format is that of its file name; see [`ReadFormat::of`].
    ///
    /// # Errors
    /// An unknown format, a file that cannot be read, a CSV header in which two columns have the
    /// same name.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let (format, compressed) = ReadFormat::of(path).ok_or_else(|| ReadError::Format(path.to_owned()))?;
        let unreadable = |source| ReadError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.is_dir() {
            return Err(unreadable(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let decoder = match format {
            ReadFormat::Csv => csv_decoder(path, decompress(file, compressed).map_err(unreadable)?)?,
            ReadFormat::JsonLines => Decoder::JsonLines {
                reader: Box::new(BufReader::new(decompress(file, compressed).map_err(unreadable)?)),
                line: 0,
                buffer: Vec::new(),
            },
            #[cfg(feature = "parquet")]
            ReadFormat::Parquet => Decoder::Parquet(Box::new(
                parquet::Decoder::new(file)
                    .map_err(|message| ReadError::Damaged { path: path.to_owned(), message })?,
            )),
            #[cfg(not(feature = "parquet"))]
            ReadFormat::Parquet => return Err(ReadError::NoParquet(path.to_owned())),
        };
        Ok(Self { path: path.to_owned(), format, decoder, failed: false })
    }

    /// The format of the table.
    pub fn format(&self) -> ReadFormat {
        self.format
    }

    fn bad_row(&self, line: u64, message: String) -> ReadError {
        ReadError::Row { path: self.path.clone(), line, message }
    }

    fn read(&mut self) -> Result<Option<Row>, ReadError> {
        let (line, cells) = match &mut self.decoder {
            Decoder::Csv { reader, header, record } => {
                match reader.read_byte_record(record) {
                    Ok(true) => {}
                    Ok(false) => return Ok(None),
                    Err(error) => return Err(csv_error(&self.path, error)),
                }
                let line = record.position().map_or(0, csv::Position::line);
                (line, csv_cells(header, record))
            }
            Decoder::JsonLines { reader, line, buffer } => loop {
                buffer.clear();
                let unreadable = |source| ReadError::Io { path: self.path.clone(), source };
                let read = reader.take(LINE_CAP + 1).read_until(b'\n', buffer).map_err(unreadable)?;
                if read == 0 {
                    return Ok(None);
                }
                *line += 1;
                if read as u64 > LINE_CAP {
                    return Err(ReadError::Damaged {
                        path: self.path.clone(),
                        message: format!("line {line} is longer than {} MiB", LINE_CAP >> 20),
                    });
                }
                let text = buffer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(buffer);
                if !text.trim_ascii().is_empty() {
                    break (*line, json_cells(text));
                }
            },
            #[cfg(feature = "parquet")]
            Decoder::Parquet(decoder) => match decoder.next() {
                None => return Ok(None),
                Some(Ok((line, cells))) => (line, Ok(cells)),
                Some(Err(message)) => return Err(ReadError::Damaged { path: self.path.clone(), message }),
            },
        };
        match cells {
            Ok(cells) => Ok(Some(Row { line, cells })),
            Err(message) => Err(self.bad_row(line, message)),
        }
    }
}

impl Iterator for TableReader {
    type Item = Result<Row, ReadError>;

    /// The next row. After [`ReadError::Row`] the following rows can still be read; any other error
    /// ends the table.
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = self.read().transpose();
        self.failed = matches!(&row, Some(Err(error)) if !matches!(error, ReadError::Row { .. }));
        row
    }
}

fn decompress(file: File, compressed: bool) -> io::Result<Box<dyn Read>> {
    if !compressed {
        return Ok(Box::new(file));
    }
    let mut decoder = zstd::Decoder::new(file)?;
    decoder.window_log_max(WINDOW_BITS)?;
    Ok(Box::new(decoder))
}

fn csv_decoder(path: &Path, source: Box<dyn Read>) -> Result<Decoder, ReadError> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(source);
    let header = reader.headers().map_err(|error| csv_error(path, error))?;
    let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    let mut seen = BTreeSet::new();
    if let Some(name) = header.iter().find(|name| !name.is_empty() && !seen.insert(name.as_str())) {
        let message = format!("two columns have the name {name:?}");
        return Err(ReadError::Row { path: path.to_owned(), line: 1, message });
    }
    Ok(Decoder::Csv { reader: Box::new(reader), header, record: csv::ByteRecord::new() })
}

fn csv_error(path: &Path, error: csv::Error) -> ReadError {
    let message = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(source) => ReadError::Io { path: path.to_owned(), source },
        _ => ReadError::Damaged { path: path.to_owned(), message },
    }
}

fn csv_cells(header: &[String], record: &csv::ByteRecord) -> Result<BTreeMap<String, Value>, String> {
    if record.len() != header.len() {
        return Err(format!("{} values for {} columns", record.len(), header.len()));
    }
    let cell = |(name, bytes): (&String, &[u8])| {
        let text = std::str::from_utf8(bytes).map_err(|_| format!("{name}: not UTF-8"))?;
        let value = if text.is_empty() { Value::Null } else { Value::Text(text.to_owned()) };
        Ok((name.clone(), value))
    };
    header.iter().zip(record).map(cell).collect()
}

fn json_cells(line: &[u8]) -> Result<BTreeMap<String, Value>, String> {
    let object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(line).map_err(|error| format!("not a JSON object: {error}"))?;
    Ok(object.into_iter().map(|(name, value)| (name, json_value(value))).collect())
}

fn json_value(value: serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Value::Integer(number),
            (None, Some(number)) => Value::Float(number),
            (None, None) => Value::Null,
        },
        serde_json::Value::String(text) => Value::Text(text),
        nested => Value::Text(nested.to_string()),
    }
}

#[cfg(test)]
mod tests;
