//! Parquet, a row group at a time.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::{Column, Kind, Value};

/// Rows of a group. They are buffered, so that memory does not grow with the table.
const ROWS: usize = 16_384;

/// Why a table cannot be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum EncodeError {
    /// The file, or what Parquet makes of the columns.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// A value of another kind than its column's.
    #[error("column {column:?} is {kind:?}, and a value is {value:?}")]
    Kind { column: String, kind: Kind, value: Value },
}

pub(super) struct Encoder {
    writer: SerializedFileWriter<File>,
    columns: Vec<Column>,
    /// The rows of the next group, by column.
    buffered: Vec<Vec<Value>>,
    rows: usize,
}

impl Encoder {
    pub(super) fn new(file: File, columns: &[Column]) -> Result<Self, EncodeError> {
        let fields = columns.iter().map(|column| {
            let (physical, logical) = match column.kind {
                Kind::Bool => (Physical::BOOLEAN, None),
                Kind::Integer => (Physical::INT64, None),
                Kind::Float => (Physical::DOUBLE, None),
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            Type::primitive_type_builder(&column.name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical)
                .build()
                .map(Arc::new)
        });
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("table").with_fields(fields).build()?;
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        Ok(Self { writer, columns: columns.to_vec(), buffered: vec![Vec::new(); columns.len()], rows: 0 })
    }

    pub(super) fn write(&mut self, row: &[Value]) -> Result<(), EncodeError> {
        for ((column, values), value) in self.columns.iter().zip(&mut self.buffered).zip(row) {
            let value = match (column.kind, value) {
                // A float column may get a whole number.
                (Kind::Float, Value::Integer(value)) => Value::Float(*value as f64),
                (Kind::Bool, Value::Bool(_))
                | (Kind::Integer, Value::Integer(_))
                | (Kind::Float, Value::Float(_))
                | (Kind::Text, Value::Text(_))
                | (_, Value::Null) => value.clone(),
                (kind, value) => {
                    return Err(EncodeError::Kind {
                        column: column.name.clone(),
                        kind,
                        value: value.clone(),
                    });
                }
            };
            values.push(value);
        }
        self.rows += 1;
        if self.rows == ROWS { self.write_group() } else { Ok(()) }
    }

    pub(super) fn finish(&mut self) -> Result<(), EncodeError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.finish()?;
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), EncodeError> {
        self.rows = 0;
        Ok(write_group(&mut self.writer, &self.columns, &mut self.buffered)?)
    }
}

fn write_group(
    writer: &mut SerializedFileWriter<File>,
    columns: &[Column],
    buffered: &mut [Vec<Value>],
) -> parquet::errors::Result<()> {
    let mut group = writer.next_row_group()?;
    for (column, values) in columns.iter().zip(buffered) {
        let Some(mut writer) = group.next_column()? else { break };
        // Values are written without nulls; the definition level of a null is 0.
        let levels: Vec<i16> = values.iter().map(|value| i16::from(*value != Value::Null)).collect();
        macro_rules! write {
            ($type:ty, $variant:ident, $convert:expr) => {{
                let convert = $convert;
                let present = values.drain(..).filter_map(|value| match value {
                    Value::$variant(value) => Some(convert(value)),
                    _ => None,
                });
                let present: Vec<_> = present.collect();
                writer.typed::<$type>().write_batch(&present, Some(&levels), None)?;
            }};
        }
        match column.kind {
            Kind::Bool => write!(BoolType, Bool, |value: bool| value),
            Kind::Integer => write!(Int64Type, Integer, |value: i64| value),
            Kind::Float => write!(DoubleType, Float, |value: f64| value),
            Kind::Text => write!(ByteArrayType, Text, |value: String| ByteArray::from(value.into_bytes())),
        }
        writer.close()?;
    }
    group.close()?;
    Ok(())
}
