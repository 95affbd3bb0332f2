//! Corpora: skills by the thousand, as JSON Lines with a record for each.
//!
//! [`input`] reads such a file in parallel, [`gather`] makes the records of the packages in folders, and [`normal`] is the
//! text by which two records are compared.

pub mod gather;
pub mod input;
mod license;
pub mod normal;
mod record;

pub use record::{File, Record};
