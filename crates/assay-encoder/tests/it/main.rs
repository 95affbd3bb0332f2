//! Encoders against other implementations, and invalid folders.
//!
//! `scripts/encoder-reference` made the expected values. Tests that need all-MiniLM-L6-v2 use the
//! folder of `scripts/fetch-minilm`; without it they report that they were skipped, and with
//! `ASSAY_REQUIRE_MINILM=1` they fail.

#![expect(clippy::unwrap_used, reason = "a panic fails the test at its line")]

mod bad;
mod chunks;
mod support;
mod tokens;
mod vectors;
