//! Encoders against other implementations, and bad folders.
//!
//! `scripts/encoder-reference` made the expected values. What needs all-MiniLM-L6-v2 looks for it
//! where `scripts/fetch-minilm` puts it; without it these tests say that they were skipped, and
//! with `ASSAY_REQUIRE_MINILM=1` they fail.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so where it stands")]

mod bad;
mod chunks;
mod support;
mod tokens;
mod vectors;
