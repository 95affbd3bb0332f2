//! Writes tables row by row.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::{Column, Value};

#[cfg(feature = "parquet")]
mod parquet;

/// The format of a written table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFormat {
    /// Comma-separated values with a header line, RFC 4180. Null and empty text are both empty.
    Csv,
    /// One JSON object per line. A float that is not finite is null.
    JsonLines,
    /// Apache Parquet, compressed with Zstandard; needs the feature `parquet`.
    Parquet,
}

impl WriteFormat {
    /// The extension of files in this format, without a dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
            Self::Parquet => "parquet",
        }
    }

    /// Checks that this build can write the format.
    ///
    /// # Errors
    /// [`WriteError::NoParquet`].
    pub fn require(self) -> Result<(), WriteError> {
        if self == Self::Parquet && !cfg!(feature = "parquet") { Err(WriteError::NoParquet) } else { Ok(()) }
    }
}

/// Why a table cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A file operation failed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// `create`, `write` or `rename`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The encoder failed.
    #[error("cannot write {}: {message}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The format is not part of this build.
    #[error("this build cannot write Parquet: it was compiled without the feature `parquet`")]
    NoParquet,
    /// A row that does not match the columns.
    #[error("{}: row {row} has {found} values for {expected} columns", path.display())]
    Width {
        /// The file.
        path: PathBuf,
        /// From 1.
        row: u64,
        /// Values in the row.
        found: usize,
        /// Columns of the table.
        expected: usize,
    },
}

/// Writes one table. Rows go to a temporary file beside `path`, which [`TableWriter::finish`] moves
/// into place: an interrupted export leaves no table that looks complete.
pub struct TableWriter {
    path: PathBuf,
    partial: PathBuf,
    columns: Vec<Column>,
    rows: u64,
    encoder: Encoder,
    finished: bool,
}

enum Encoder {
    Csv(Box<csv::Writer<BufWriter<File>>>),
    JsonLines {
        file: BufWriter<File>,
        keys: Vec<String>,
    },
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::Encoder>),
}

impl TableWriter {
    /// Begins a table. `path` itself is not touched before [`TableWriter::finish`].
    ///
    /// # Errors
    /// The file cannot be created, or the format is not part of this build.
    pub fn create(path: &Path, format: WriteFormat, columns: Vec<Column>) -> Result<Self, WriteError> {
        format.require()?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".partial");
        let partial = path.with_file_name(name);
        let file = File::create(&partial).map_err(|source| WriteError::Io {
            action: "create",
            path: partial.clone(),
            source,
        })?;
        let encoder = match format {
            WriteFormat::Csv => {
                let mut writer = csv::Writer::from_writer(BufWriter::new(file));
                writer
                    .write_record(columns.iter().map(|column| column.name.as_bytes()))
                    .map_err(|error| csv_error(path, error))?;
                Encoder::Csv(Box::new(writer))
            }
            WriteFormat::JsonLines => Encoder::JsonLines {
                file: BufWriter::new(file),
                keys: columns
                    .iter()
                    .map(|column| serde_json::Value::from(column.name.as_str()).to_string())
                    .collect(),
            },
            #[cfg(feature = "parquet")]
            WriteFormat::Parquet => Encoder::Parquet(Box::new(
                parquet::Encoder::new(file, &columns).map_err(|error| encode(path, error.to_string()))?,
            )),
            #[cfg(not(feature = "parquet"))]
            WriteFormat::Parquet => return Err(WriteError::NoParquet),
        };
        Ok(Self { path: path.to_owned(), partial, columns, rows: 0, encoder, finished: false })
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row, with a value for each column.
    ///
    /// # Errors
    /// The row has another number of values, a value has another type than its column (Parquet), or
    /// the file cannot be written.
    pub fn write(&mut self, row: &[Value]) -> Result<(), WriteError> {
        if row.len() != self.columns.len() {
            return Err(WriteError::Width {
                path: self.path.clone(),
                row: self.rows + 1,
                found: row.len(),
                expected: self.columns.len(),
            });
        }
        match &mut self.encoder {
            Encoder::Csv(writer) => {
                for value in row {
                    writer.write_field(csv_text(value)).map_err(|error| csv_error(&self.path, error))?;
                }
                writer.write_record(None::<&[u8]>).map_err(|error| csv_error(&self.path, error))?;
            }
            Encoder::JsonLines { file, keys } => {
                json_line(file, keys, row).map_err(|source| write_failed(&self.path, source))?;
            }
            #[cfg(feature = "parquet")]
            Encoder::Parquet(encoder) => {
                encoder.write(row).map_err(|error| encode(&self.path, error.to_string()))?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Completes the table and moves it into place. Returns the number of rows.
    ///
    /// # Errors
    /// The file cannot be written or renamed.
    pub fn finish(mut self) -> Result<u64, WriteError> {
        match &mut self.encoder {
            Encoder::Csv(writer) => writer.flush(),
            Encoder::JsonLines { file, .. } => file.flush(),
            #[cfg(feature = "parquet")]
            Encoder::Parquet(encoder) => {
                encoder.finish().map_err(|error| encode(&self.path, error.to_string()))?;
                Ok(())
            }
        }
        .map_err(|source| write_failed(&self.path, source))?;
        std::fs::rename(&self.partial, &self.path).map_err(|source| WriteError::Io {
            action: "rename",
            path: self.partial.clone(),
            source,
        })?;
        self.finished = true;
        Ok(self.rows)
    }
}

impl Drop for TableWriter {
    fn drop(&mut self) {
        if !self.finished {
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

fn write_failed(path: &Path, source: io::Error) -> WriteError {
    WriteError::Io { action: "write", path: path.to_owned(), source }
}

fn encode(path: &Path, message: String) -> WriteError {
    WriteError::Encode { path: path.to_owned(), message }
}

fn csv_error(path: &Path, error: csv::Error) -> WriteError {
    match error.into_kind() {
        csv::ErrorKind::Io(source) => write_failed(path, source),
        other => encode(path, format!("{other:?}")),
    }
}

/// A value as CSV has it. Floats have the fewest digits that read back as the same number.
fn csv_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(value) => value.clone(),
    }
}

fn json_line(file: &mut impl Write, keys: &[String], row: &[Value]) -> io::Result<()> {
    for (index, (key, value)) in keys.iter().zip(row).enumerate() {
        let value = match value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Integer(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(value) => value.as_str().into(),
        };
        write!(file, "{}{key}:{value}", if index == 0 { "{" } else { "," })?;
    }
    file.write_all(if keys.is_empty() { b"{}\n" } else { b"}\n" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn columns() -> Vec<Column> {
        vec![
            Column::new("name", Kind::Text),
            Column::new("score", Kind::Float),
            Column::new("tokens", Kind::Integer),
            Column::new("opened, \"really\"", Kind::Bool),
        ]
    }

    fn rows() -> Vec<Vec<Value>> {
        vec![
            vec![
                Value::Text("comma, \"quote\"\nand newline".into()),
                Value::Float(0.1 + 0.2),
                Value::Integer(i64::MAX),
                Value::Bool(true),
            ],
            vec![Value::Text("größer 🦀 \u{1}".into()), Value::Null, Value::Null, Value::Null],
            vec![Value::Null, Value::Float(1.0), Value::Integer(-1), Value::Bool(false)],
        ]
    }

    fn write(format: WriteFormat) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("t.{}", format.extension()));
        let mut writer = TableWriter::create(&path, format, columns()).unwrap();
        for row in rows() {
            writer.write(&row).unwrap();
        }
        assert!(!path.exists());
        assert_eq!(writer.finish().unwrap(), 3);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
        (folder, path)
    }

    #[test]
    fn csv_reads_back() {
        let (_folder, path) = write(WriteFormat::Csv);
        let mut reader = csv::Reader::from_path(path).unwrap();
        assert_eq!(reader.headers().unwrap().get(3), Some("opened, \"really\""));
        let found: Vec<Vec<String>> =
            reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
        let expected = [
            ["comma, \"quote\"\nand newline", "0.30000000000000004", "9223372036854775807", "true"],
            ["größer 🦀 \u{1}", "", "", ""],
            ["", "1", "-1", "false"],
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn json_lines_read_back() {
        let (_folder, path) = write(WriteFormat::JsonLines);
        let text = std::fs::read_to_string(path).unwrap();
        let found: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let key = "opened, \"really\"";
        let expected = [
            serde_json::json!({ "name": "comma, \"quote\"\nand newline", "score": 0.1 + 0.2, "tokens": i64::MAX, key: true }),
            serde_json::json!({ "name": "größer 🦀 \u{1}", "score": null, "tokens": null, key: null }),
            serde_json::json!({ "name": null, "score": 1.0, "tokens": -1, key: false }),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_unfinished_table_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let mut writer = TableWriter::create(&path, WriteFormat::Csv, columns()).unwrap();
        let error = writer.write(&[Value::Null]).unwrap_err().to_string();
        assert!(error.ends_with("t.csv: row 1 has 1 values for 4 columns"), "{error}");
        drop(writer);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(not(feature = "parquet"))]
    #[test]
    fn parquet_names_the_missing_feature() {
        let folder = tempfile::tempdir().unwrap();
        let error = TableWriter::create(&folder.path().join("t.parquet"), WriteFormat::Parquet, columns());
        assert!(error.err().unwrap().to_string().contains("feature `parquet`"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet_reads_back() {
        use ::parquet::file::reader::{FileReader, SerializedFileReader};
        let (_folder, path) = write(WriteFormat::Parquet);
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let found: Vec<serde_json::Value> =
            reader.get_row_iter(None).unwrap().map(|row| row_json(&row.unwrap())).collect();
        let key = "opened, \"really\"";
        let expected = [
            serde_json::json!({ "name": "comma, \"quote\"\nand newline", "score": 0.1 + 0.2, "tokens": i64::MAX, key: true }),
            serde_json::json!({ "name": "größer 🦀 \u{1}", "score": null, "tokens": null, key: null }),
            serde_json::json!({ "name": null, "score": 1.0, "tokens": -1, key: false }),
        ];
        assert_eq!(found, expected);
    }

    #[cfg(feature = "parquet")]
    fn row_json(row: &::parquet::record::Row) -> serde_json::Value {
        use ::parquet::record::Field;
        let value = |field: &Field| match field {
            Field::Bool(value) => (*value).into(),
            Field::Long(value) => (*value).into(),
            Field::Double(value) => (*value).into(),
            Field::Str(value) => value.as_str().into(),
            Field::Null => serde_json::Value::Null,
            other => panic!("{other:?}"),
        };
        row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
    }
}
