//! Parquet, row by row.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;

use super::Row;
use crate::Value;

/// Most bytes of a group of rows, after decompression: pages of all its columns are in memory at once.
const MOST_GROUP: i64 = 192 << 20;

pub(super) struct Decoder {
    columns: Vec<String>,
    rows: RowIter<'static>,
    row: u64,
}

impl Decoder {
    pub(super) fn new(file: File) -> Result<Self, String> {
        let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
        let groups = reader.metadata().row_groups();
        if groups.iter().any(|group| !(0..=MOST_GROUP).contains(&group.total_byte_size())) {
            return Err(format!("a group of rows has more than {} MiB", MOST_GROUP >> 20));
        }
        let schema = reader.metadata().file_metadata().schema();
        let columns = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
        Ok(Self { columns, rows: RowIter::from_file_into(Box::new(reader)), row: 0 })
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The next row, or the number of one that cannot be read, with the reason.
    pub(super) fn next_row(&mut self) -> Option<Result<Row, (u64, String)>> {
        self.row += 1;
        // The decoder panics on some damaged pages. It is not used again after that.
        let Ok(row) = catch_unwind(AssertUnwindSafe(|| self.rows.next())) else {
            return Some(Err((self.row, "damaged".to_owned())));
        };
        Some(match row? {
            Ok(row) => {
                let values = row.into_columns().into_iter().map(|(_, field)| value(field)).collect();
                Ok(Row { line: self.row, values })
            }
            Err(error) => Err((self.row, error.to_string())),
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
