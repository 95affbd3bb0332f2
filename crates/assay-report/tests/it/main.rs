//! Complete reports, from records to pages.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod controls;
mod html;
mod item_sets;
mod markdown;
mod notes;
mod runs;
mod same;
mod scores;
mod sentences;
// A run in a few letters is written for both crates in the tests of the one below.
#[expect(dead_code, reason = "the tests below use more of it")]
#[path = "../../../assay-analysis/tests/it/suite.rs"]
mod suite;
mod times;
mod view;
