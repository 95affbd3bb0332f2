//! Parquet, row by row.

use std::collections::BTreeMap;
use std::fs::File;

use parquet::file::reader::SerializedFileReader;
use parquet::record::Field;
use parquet::record::reader::RowIter;

use crate::Value;

/// The number of a row, from 1, and its values by column.
type Numbered = (u64, BTreeMap<String, Value>);

pub(super) struct Decoder {
    rows: RowIter<'static>,
    row: u64,
}

impl Decoder {
    pub(super) fn new(file: File) -> Result<Self, String> {
        let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
        Ok(Self { rows: RowIter::from_file_into(Box::new(reader)), row: 0 })
    }

    /// The number of the next row, and its values by column.
    pub(super) fn next(&mut self) -> Option<Result<Numbered, String>> {
        let row = self.rows.next()?;
        self.row += 1;
        let cells = row
            .map(|row| row.into_columns().into_iter().map(|(name, field)| (name, value(field))).collect())
            .map_err(|error| error.to_string());
        Some(cells.map(|cells| (self.row, cells)))
    }
}

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
        Field::Float(value) => Value::Float(value.into()),
        Field::Double(value) => Value::Float(value),
        Field::Str(value) => Value::Text(value),
        // Writers without logical types leave text as bytes.
        Field::Bytes(bytes) => String::from_utf8(bytes.data().to_vec()).map_or(Value::Null, Value::Text),
        // Times, decimals, groups and lists.
        other => Value::Text(other.to_string()),
    }
}
