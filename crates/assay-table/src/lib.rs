//! Tables in files: CSV, JSON Lines and Parquet, the first two also compressed with Zstandard.
//!
//! A table has named [`Column`]s of one [`Kind`] each, and rows of [`Value`]s. Rows are read and
//! written one by one, so that the size of a table does not affect memory.

mod documents;
#[cfg(test)]
mod fuzz;
mod read;
mod value;
mod write;

pub use documents::{Document, Documents, read_all_documents, read_documents};
pub use read::{ReadError, Row, TableReader};
pub use value::{Column, Kind, Value};
pub use write::{TableWriter, WriteError, WriteFormat};
