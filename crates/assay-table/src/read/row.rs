//! A row, and how much is read of one.

use crate::Value;

/// Most bytes of a table, after decompression.
pub(super) const UNPACKED: u64 = 8 << 30;

/// The longest line of JSON Lines that is read, in bytes.
pub(super) const LONGEST_LINE: u64 = 32 << 20;

/// A row, with a value for each column that the table has had so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The line at which it begins, or its number in a Parquet file; from 1.
    pub line: u64,
    /// In the order of [`crate::TableReader::columns`]. A row of JSON Lines has no values for keys that only
    /// later rows have.
    pub values: Vec<Value>,
}
