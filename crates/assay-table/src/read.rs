//! Reads tables row by row.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use assay_fs::{CapExceeded, InputLine, Metered, Quota};
use assay_syntax::json::{JsonError, parse_json};

use crate::Value;

#[cfg(feature = "parquet")]
mod parquet;
mod row;

pub use self::row::Row;
use self::row::{LONGEST_LINE, UNPACKED};

/// The longest row of CSV that is read, in bytes. It may have a value for each of its bytes, unlike a line of JSON
/// Lines, which may be longer.
const LONGEST_ROW: u64 = 8 << 20;

/// Most columns, and most rows.
const MOST_COLUMNS: usize = 10_000;
const MOST_ROWS: u64 = 1_000_000;

/// What the reader of CSV reads ahead.
const READ_AHEAD: u64 = 64 << 10;

/// What is read of a table, after decompression.
type Input = Box<dyn BufRead + Send>;

/// A reader of CSV, with the quota of its next row.
type CsvReader = csv::Reader<Metered<Input>>;

/// Why a table, or a row of it, cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A file operation failed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// `open` or `read`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The name does not say the format.
    #[error(
        "{}: unknown table format: the name must end in .csv, .jsonl, .ndjson (each also with .zst) or .parquet",
        path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// The format is not part of this build.
    #[error("{}: this build cannot read Parquet: it was compiled without the feature `parquet`", path.display())]
    NoParquet {
        /// The file.
        path: PathBuf,
    },
    /// The header, or the file as a whole, is invalid.
    #[error("{}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// One row is invalid; the rows after it can be read.
    #[error("{}:{line}: {message}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, or the row of a Parquet file, from 1.
        line: u64,
        /// Why.
        message: String,
    },
}

/// Reads one table. Each row is a `Result`: after [`ReadError::Row`] the next row can be read, after
/// any other error the table has ended.
pub struct TableReader {
    path: PathBuf,
    columns: Vec<String>,
    decoder: Decoder,
    rows: u64,
    ended: bool,
}

enum Decoder {
    Csv(Box<CsvReader>),
    JsonLines {
        file: Input,
        line: u64,
        known: HashMap<String, usize>,
    },
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::Decoder>),
}

impl TableReader {
    /// Opens a table. The extension says the format: `csv`, `jsonl` or `ndjson`, each also with `.zst`,
    /// or `parquet`.
    ///
    /// # Errors
    /// The file cannot be opened, or its header is invalid.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let (name, compressed) =
            name.strip_suffix(".zst").map_or((name.as_str(), false), |name| (name, true));
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let unknown = || ReadError::Unknown { path: path.to_owned() };
        if !matches!(extension, "csv" | "jsonl" | "ndjson") && (extension != "parquet" || compressed) {
            return Err(unknown());
        }
        let io = |action| move |source| ReadError::Io { action, path: path.to_owned(), source };
        let file = File::open(path).map_err(io("open"))?;
        let (columns, decoder) = match extension {
            "csv" => {
                let inner = decompressed(file, compressed, path)?;
                let (quota, cap) = (Quota::new(LONGEST_ROW), CapExceeded::Record(LONGEST_ROW));
                let mut reader = csv::ReaderBuilder::new().from_reader(Metered { inner, quota, cap });
                let headers = reader.headers().map_err(|error| csv_error(path, error))?;
                check_columns(headers.len(), path)?;
                let columns: Vec<String> = headers.iter().map(|name| name.trim().to_owned()).collect();
                let mut seen = HashSet::new();
                if let Some(twice) = columns.iter().find(|name| !seen.insert(name.as_str())) {
                    let message = format!("duplicate column {twice:?}");
                    return Err(ReadError::Invalid { path: path.to_owned(), message });
                }
                (columns, Decoder::Csv(Box::new(reader)))
            }
            "parquet" => open_parquet(file, path)?,
            _ => {
                let file = decompressed(file, compressed, path)?;
                (Vec::new(), Decoder::JsonLines { file, line: 0, known: HashMap::new() })
            }
        };
        Ok(Self { path: path.to_owned(), columns, decoder, rows: 0, ended: false })
    }

    /// The names of the columns. Those of JSON Lines are the keys that were read so far.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }
}

#[cfg(feature = "parquet")]
fn open_parquet(file: File, path: &Path) -> Result<(Vec<String>, Decoder), ReadError> {
    let decoder = parquet::Decoder::new(file)
        .map_err(|error| ReadError::Invalid { path: path.to_owned(), message: error.to_string() })?;
    check_columns(decoder.columns().len(), path)?;
    Ok((decoder.columns().to_vec(), Decoder::Parquet(Box::new(decoder))))
}

#[cfg(not(feature = "parquet"))]
fn open_parquet(_: File, path: &Path) -> Result<(Vec<String>, Decoder), ReadError> {
    Err(ReadError::NoParquet { path: path.to_owned() })
}

impl Iterator for TableReader {
    type Item = Result<Row, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let row = match &mut self.decoder {
            _ if self.rows > MOST_ROWS => {
                let message = format!("it has more than {MOST_ROWS} rows");
                Some(Err(ReadError::Invalid { path: self.path.clone(), message }))
            }
            Decoder::Csv(reader) => csv_row(reader, &self.path),
            Decoder::JsonLines { file, line, known } => {
                json_row(file, line, known, &mut self.columns, &self.path)
            }
            #[cfg(feature = "parquet")]
            Decoder::Parquet(decoder) => decoder.next_row().map(|row| {
                // A damaged page spoils every row after it.
                row.map_err(|(line, error)| ReadError::Invalid {
                    path: self.path.clone(),
                    message: format!("row {line}: {error}"),
                })
            }),
        };
        self.rows += 1;
        self.ended = !matches!(row, Some(Ok(_) | Err(ReadError::Row { .. })));
        row
    }
}

/// The content of a file, which must be compressed with Zstandard if its name says so.
pub(crate) fn decompressed(file: File, compressed: bool, path: &Path) -> Result<Input, ReadError> {
    let open = || {
        let mut file = BufReader::new(file);
        if compressed && !file.fill_buf()?.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not compressed with Zstandard"));
        }
        assay_fs::unpack(file, UNPACKED)
    };
    open().map_err(|source| ReadError::Io { action: "read", path: path.to_owned(), source })
}

/// A failed read, or an input beyond a bound.
pub(crate) fn read_error(path: &Path, source: io::Error) -> ReadError {
    match source.get_ref().and_then(|error| error.downcast_ref::<CapExceeded>()) {
        Some(cap) => ReadError::Invalid { path: path.to_owned(), message: cap.to_string() },
        None => ReadError::Io { action: "read", path: path.to_owned(), source },
    }
}

fn check_columns(count: usize, path: &Path) -> Result<(), ReadError> {
    if count <= MOST_COLUMNS {
        return Ok(());
    }
    let message = format!("it has more than {MOST_COLUMNS} columns");
    Err(ReadError::Invalid { path: path.to_owned(), message })
}

fn csv_error(path: &Path, error: csv::Error) -> ReadError {
    let line = error.position().map(csv::Position::line);
    let message = match error.into_kind() {
        csv::ErrorKind::Io(source) => return read_error(path, source),
        csv::ErrorKind::Utf8 { .. } => "not valid UTF-8".to_owned(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} values for {expected_len} columns")
        }
        other => format!("{other:?}"),
    };
    match line {
        Some(line) => ReadError::Row { path: path.to_owned(), line, message },
        None => ReadError::Invalid { path: path.to_owned(), message },
    }
}

fn csv_row(reader: &mut CsvReader, path: &Path) -> Option<Result<Row, ReadError>> {
    let mut record = csv::StringRecord::new();
    reader.get_ref().quota.renew(LONGEST_ROW + READ_AHEAD);
    match reader.read_record(&mut record) {
        Ok(false) => None,
        Ok(true) => {
            let line = record.position().map_or(0, csv::Position::line);
            Some(Ok(Row { line, values: record.iter().map(csv_value).collect() }))
        }
        Err(error) => Some(Err(csv_error(path, error))),
    }
}

/// Empty is null; whatever reads as a number is one; the rest is text.
fn csv_value(text: &str) -> Value {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        Value::Null
    } else if let Ok(number) = trimmed.parse() {
        Value::Integer(number)
    } else if let Some(number) = trimmed.parse().ok().filter(|number: &f64| number.is_finite()) {
        Value::Float(number)
    } else {
        match trimmed {
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            _ => Value::Text(text.to_owned()),
        }
    }
}

fn json_row(
    file: &mut dyn BufRead,
    line: &mut u64,
    known: &mut HashMap<String, usize>,
    columns: &mut Vec<String>,
    path: &Path,
) -> Option<Result<Row, ReadError>> {
    loop {
        let mut bytes = Vec::new();
        match assay_fs::next_line(file, &mut bytes, LONGEST_LINE) {
            Ok(InputLine::End) => return None,
            Ok(InputLine::Whole(_)) => *line += 1,
            Ok(InputLine::TooLong(_)) => {
                let longest = assay_fs::size(LONGEST_LINE);
                let message = format!("line {} is longer than {longest}", *line + 1);
                return Some(Err(ReadError::Invalid { path: path.to_owned(), message }));
            }
            Err(source) => {
                return Some(Err(read_error(path, source)));
            }
        }
        let text = bytes.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let object: serde_json::Map<String, serde_json::Value> = match parse_json(text) {
            Ok(object) => object,
            Err(error) => {
                let path = path.to_owned();
                return Some(Err(match error {
                    JsonError::TooLarge(_) => {
                        ReadError::Invalid { path, message: format!("line {line}: {error}") }
                    }
                    JsonError::Invalid(error) => {
                        ReadError::Row { path, line: *line, message: format!("not a JSON object: {error}") }
                    }
                }));
            }
        };
        let mut values = vec![Value::Null; columns.len()];
        for (key, value) in object {
            let value = json_value(value);
            if let Some(&column) = known.get(&key) {
                values[column] = value;
            } else {
                if let Err(error) = check_columns(columns.len() + 1, path) {
                    return Some(Err(error));
                }
                known.insert(key.clone(), columns.len());
                columns.push(key);
                values.push(value);
            }
        }
        return Some(Ok(Row { line: *line, values }));
    }
}

/// Lists and objects become their JSON text.
fn json_value(value: serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(value),
        serde_json::Value::String(text) => Value::Text(text),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Value::Integer(number),
            (None, Some(number)) => Value::Float(number),
            (None, None) => Value::Null,
        },
        nested => Value::Text(nested.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a file of this name and content gives: the columns, and each row as text or its error.
    fn read(name: &str, content: &[u8]) -> Result<(Vec<String>, Vec<String>), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let short = |error: ReadError| {
            let text = match &error {
                ReadError::Io { source, .. } => format!("{error}: {source}"),
                _ => error.to_string(),
            };
            text.replace(&path.display().to_string(), "t")
        };
        let mut reader = TableReader::open(&path).map_err(short)?;
        let mut rows = Vec::new();
        for row in reader.by_ref() {
            rows.push(match row {
                Ok(row) => format!("{} {:?}", row.line, row.values),
                Err(error) => short(error),
            });
        }
        Ok((reader.columns().to_vec(), rows))
    }

    fn check(name: &str, content: &[u8], columns: &[&str], expected: &[&str]) {
        let (found, rows) = read(name, content).unwrap();
        assert_eq!(
            (found, rows),
            (columns.iter().map(|&c| c.into()).collect(), expected.iter().map(|&r| r.into()).collect())
        );
    }

    #[test]
    fn csv_cells_are_numbers_booleans_text_or_null() {
        check(
            "t.csv",
            b"a, b ,c\n1,0.5,x y\n\"\",true,\"two\nlines\"\nnan,inf,1e3\n",
            &["a", "b", "c"],
            &[
                "2 [Integer(1), Float(0.5), Text(\"x y\")]",
                "3 [Null, Bool(true), Text(\"two\\nlines\")]",
                "5 [Text(\"nan\"), Text(\"inf\"), Float(1000.0)]",
            ],
        );
    }

    #[test]
    fn an_invalid_row_does_not_end_the_table() {
        check(
            "t.csv",
            b"a,b\n1\n\xff,2\n3,4\n",
            &["a", "b"],
            &["t:2: 1 values for 2 columns", "t:3: not valid UTF-8", "4 [Integer(3), Integer(4)]"],
        );
        check(
            "t.jsonl",
            b"{\"a\":1}\nnope\n\n[1]\n{\"b\":\"x\",\"a\":2.5,\"c\":[1,{}]}\n{\"c\":null}",
            &["a", "b", "c"],
            &[
                "1 [Integer(1)]",
                "t:2: not a JSON object: expected ident at line 1 column 2",
                "t:4: not a JSON object: invalid type: sequence, expected a map at line 1 column 0",
                "5 [Float(2.5), Text(\"x\"), Text(\"[1,{}]\")]",
                "6 [Null, Null, Null]",
            ],
        );
    }

    #[test]
    fn compressed_tables_are_read_and_truncated_ones_end_with_an_error() {
        let text = b"a\n1\n2\n";
        let packed = zstd::encode_all(&text[..], 3).unwrap();
        check("T.CSV.ZST", &packed, &["a"], &["2 [Integer(1)]", "3 [Integer(2)]"]);
        let (_, rows) = read("t.jsonl.zst", &packed[..packed.len() - 3]).unwrap();
        assert!(rows.last().unwrap().starts_with("cannot read t: "), "{rows:?}");
        let error = read("t.jsonl.zst", b"no zstd").unwrap_err();
        assert_eq!(error, "cannot read t: not compressed with Zstandard");
    }

    #[test]
    fn rows_and_columns_are_bounded() {
        let check = |name: &str, content: Vec<u8>, expected: &str| {
            let found = match read(name, &content) {
                Ok((_, rows)) => rows.last().cloned().unwrap_or_default(),
                Err(error) => error,
            };
            assert_eq!(found, expected, "{name}");
        };
        let long = |bytes: u64| "x".repeat(usize::try_from(bytes).unwrap());
        let row = "t: a line or row has more than 8 MiB";
        check("t.csv", format!("a\n{}\n", long(LONGEST_ROW + (1 << 18))).into_bytes(), row);
        check("t.csv", long(LONGEST_ROW + (1 << 18)).into_bytes(), row);
        // In quotes, a row may have many lines.
        check("t.csv", format!("a\n\"{}", "x\n".repeat(5 << 20)).into_bytes(), row);
        let line = format!("{{\"a\":1}}\n{{\"a\":\"{}\"}}\n", long(LONGEST_LINE));
        check("t.jsonl", line.clone().into_bytes(), "t: line 2 is longer than 32 MiB");
        let packed = zstd::encode_all(line.as_bytes(), 1).unwrap();
        check("t.jsonl.zst", packed, "t: line 2 is longer than 32 MiB");
        let columns = "t: it has more than 10000 columns";
        check("t.csv", "x,".repeat(10_000).into_bytes(), columns);
        let keys: Vec<String> = (0..=10_000).map(|key| format!("\"{key}\":1")).collect();
        check("t.jsonl", format!("{{{}}}", keys.join(",")).into_bytes(), columns);
        let nested = format!("{{\"a\":[{}0]}}", "[],".repeat(1 << 20));
        check("t.jsonl", nested.into_bytes(), "t: line 1: its values would take more than 192 MiB of memory");
    }

    #[test]
    fn files_that_are_no_tables_are_rejected() {
        let rejected = |name: &str, content: &[u8], expected: &str| {
            let error = read(name, content).unwrap_err();
            assert!(error.starts_with(expected), "{name}: {error}");
        };
        rejected("t.txt", b"", "t: unknown table format: the name must end in .csv, .jsonl");
        rejected("t.parquet.zst", b"", "t: unknown table format");
        rejected("t.csv", b"a,b,a\n", "t: duplicate column \"a\"");
        #[cfg(feature = "parquet")]
        rejected("t.parquet", b"PAR1 and nothing else", "t: ");
        #[cfg(not(feature = "parquet"))]
        rejected("t.parquet", b"", "t: this build cannot read Parquet");
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet_reads_back_what_was_written() {
        use crate::{Column, Kind, TableWriter, WriteFormat};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let kinds = [("a", Kind::Text), ("b", Kind::Float), ("c", Kind::Integer), ("d", Kind::Bool)];
        let columns = kinds.map(|(name, kind)| Column::new(name, kind)).to_vec();
        let rows = [
            vec![Value::Text("ä".into()), Value::Float(0.25), Value::Integer(-7), Value::Bool(true)],
            vec![Value::Null, Value::Null, Value::Null, Value::Null],
        ];
        let mut writer = TableWriter::create(&path, WriteFormat::Parquet, columns).unwrap();
        for row in &rows {
            writer.write(row).unwrap();
        }
        writer.finish().unwrap();
        let mut reader = TableReader::open(&path).unwrap();
        assert_eq!(reader.columns(), ["a", "b", "c", "d"]);
        let found: Vec<Row> = reader.by_ref().map(Result::unwrap).collect();
        let expected = rows.into_iter().zip(1..).map(|(values, line)| Row { line, values });
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}
