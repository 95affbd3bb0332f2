//! Parquet, row by row.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;

use self::pages::{MOST_GROUP, PagesError};
use super::row::{LONGEST_LINE, Row, UNPACKED};
use crate::Value;

mod pages;

/// Why a file, or a row of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum DecodeError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The file is not of the format.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// The decoder gave up.
    #[error("damaged")]
    Damaged,
    /// The pages claim more than is read.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// A group of rows claims more than is read.
    #[error("a group of rows has more than {} MiB", MOST_GROUP >> 20)]
    LargeGroup,
    /// A row is longer than is read.
    #[error("a row has more than {} MiB", LONGEST_LINE >> 20)]
    LongRow,
    /// All rows together are longer than is read.
    #[error("the rows have more than {} GiB", UNPACKED >> 30)]
    LongTable,
}

pub(super) struct Decoder {
    columns: Vec<String>,
    rows: RowIter<'static>,
    row: u64,
    /// Bytes of the values so far: a dictionary can repeat a long one for each row.
    bytes: u64,
}

thread_local! {
    /// Whether this thread is in the decoder.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// A hook that says nothing of panics in the decoder.
fn quiet(before: Hook) -> Hook {
    Box::new(move |info| {
        if !IS_QUIET.get() {
            before(info);
        }
    })
}

/// Runs a part of the decoder, which panics on some damaged files. Nothing is printed then.
fn decode<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| panic::set_hook(quiet(panic::take_hook())));
    let outer = IS_QUIET.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(outer);
    done.ok()
}

impl Decoder {
    pub(super) fn new(file: File) -> Result<Self, DecodeError> {
        let pages = file.try_clone()?;
        let reader = decode(|| SerializedFileReader::new(file)).ok_or(DecodeError::Damaged)??;
        for group in reader.metadata().row_groups() {
            let is_small = u64::try_from(group.total_byte_size()).is_ok_and(|bytes| bytes <= MOST_GROUP);
            if !is_small {
                return Err(DecodeError::LargeGroup);
            }
            pages::check_group(&pages, group)?;
        }
        let schema = reader.metadata().file_metadata().schema();
        let columns = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
        Ok(Self { columns, rows: RowIter::from_file_into(Box::new(reader)), row: 0, bytes: 0 })
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The next row, or the number of one that cannot be read, with the reason.
    pub(super) fn next_row(&mut self) -> Option<Result<Row, (u64, DecodeError)>> {
        self.row += 1;
        // It is not used again after a panic.
        let Some(row) = decode(|| self.rows.next()) else {
            return Some(Err((self.row, DecodeError::Damaged)));
        };
        Some(match row? {
            Ok(row) => {
                let mut bytes = 0_u64;
                let mut values = Vec::new();
                for (_, field) in row.into_columns() {
                    let value = value(field);
                    if let Value::Text(text) = &value {
                        bytes += u64::try_from(text.len()).unwrap_or(u64::MAX);
                    }
                    values.push(value);
                    if bytes > LONGEST_LINE {
                        return Some(Err((self.row, DecodeError::LongRow)));
                    }
                }
                self.bytes = self.bytes.saturating_add(bytes);
                if self.bytes > UNPACKED {
                    return Some(Err((self.row, DecodeError::LongTable)));
                }
                Ok(Row { line: self.row, values })
            }
            Err(error) => Err((self.row, error.into())),
        })
    }
}

/// Lists, maps and the like become text.
fn value(field: Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => Value::Bool(value),
        Field::Byte(value) => Value::Integer(value.into()),
        Field::Short(value) => Value::Integer(value.into()),
        Field::Int(value) => Value::Integer(value.into()),
        Field::Long(value) => Value::Integer(value),
        Field::UByte(value) => Value::Integer(value.into()),
        Field::UShort(value) => Value::Integer(value.into()),
        Field::UInt(value) => Value::Integer(value.into()),
        Field::ULong(value) => i64::try_from(value).map_or(Value::Float(value as f64), Value::Integer),
        Field::Float16(value) => Value::Float(value.to_f64()),
        Field::Float(value) => Value::Float(value.into()),
        Field::Double(value) => Value::Float(value),
        Field::Str(text) => Value::Text(text),
        Field::TimestampMillis(millis) => time(i128::from(millis) * 1_000),
        Field::TimestampMicros(micros) => time(micros.into()),
        other => Value::Text(other.to_string()),
    }
}

/// A time in microseconds since 1970, as RFC 3339.
fn time(micros: i128) -> Value {
    let nanos = micros * 1_000;
    jiff::Timestamp::from_nanosecond(nanos).map_or_else(|_| Value::Null, |time| Value::Text(time.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::{Column, Kind, TableReader, TableWriter, WriteFormat};

    #[test]
    fn panics_of_the_decoder_are_not_printed() {
        let printed = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&printed);
        let own = |info: &PanicHookInfo<'_>| info.payload_as_str() == Some("of this test");
        panic::set_hook(quiet(Box::new(move |info| {
            seen.fetch_add(usize::from(own(info)), Ordering::SeqCst);
        })));
        assert_eq!(decode(|| 1), Some(1));
        assert_eq!(decode(|| panic!("of this test")), None::<()>);
        assert_eq!(printed.load(Ordering::SeqCst), 0);
        assert!(catch_unwind(|| panic!("of this test")).is_err());
        assert_eq!(printed.load(Ordering::SeqCst), 1);
    }

    /// A text of 40 MiB, which a dictionary has once.
    #[test]
    fn long_rows_end_the_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let columns = vec![Column::new("a", Kind::Text)];
        let mut writer = TableWriter::create(&path, WriteFormat::Parquet, columns).unwrap();
        for text in ["short".to_owned(), "x".repeat(40 << 20), "short".to_owned()] {
            writer.write(&[Value::Text(text)]).unwrap();
        }
        writer.finish().unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20);
        let rows: Vec<_> =
            TableReader::open(&path).unwrap().map(|row| row.map_err(|e| e.to_string())).collect();
        assert_eq!(rows.len(), 2);
        assert!(rows[0].is_ok());
        assert!(rows[1].as_ref().is_err_and(|error| error.ends_with("row 2: a row has more than 32 MiB")));
    }

    /// A header that claims more than the decoder should believe.
    #[test]
    fn a_page_that_claims_gigabytes_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let columns = vec![Column::new("a", Kind::Text)];
        let mut writer = TableWriter::create(&path, WriteFormat::Parquet, columns).unwrap();
        writer.write(&[Value::Text("x".repeat(140 << 20))]).unwrap();
        writer.finish().unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        // The page's kind, and its size as a number of five bytes: the largest one.
        let at = bytes.windows(3).position(|part| part[0] == 0x15 && part[2] == 0x15).unwrap() + 3;
        assert!(bytes[at..at + 4].iter().all(|byte| byte & 0x80 != 0) && bytes[at + 4] & 0x80 == 0);
        bytes[at..at + 5].copy_from_slice(&[0xfe, 0xff, 0xff, 0xff, 0x0f]);
        std::fs::write(&path, bytes).unwrap();
        let error = TableReader::open(&path).err().unwrap().to_string();
        assert!(error.ends_with("the pages of a group of rows have more than 192 MiB"), "{error}");
    }
}
