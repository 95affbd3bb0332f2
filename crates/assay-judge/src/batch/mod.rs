//! Tables of items and pairs that language models judge: requests, stored replies, cost, and items with known answers.
//!
//! [`read_items`] and [`read_pairs`] read a table. A [`JudgePanel`] says what it costs, and judges it: each reply is stored
//! when it comes, so that a batch that was broken off asks only for what is missing.

mod candidates;
mod error;
mod item_requests;
mod item_rows;
mod items;
mod output;
mod pair_figures;
mod pair_requests;
mod pair_rows;
mod pairs;
mod panel;

pub use candidates::{SameFamilyError, check_families};
pub use error::{BatchJudgeError, BatchKind, BatchTableError};
pub use item_rows::ItemColumns;
pub use items::{ItemTable, ItemVerdicts, read_items};
pub use output::check_absent;

pub use pair_rows::PairColumns;
pub use pairs::{PairChoices, PairTable, RecordedChoices, read_pairs, read_recorded_pairs};
pub use panel::{BatchForecast, JudgePanel};

#[cfg(test)]
mod tests;
