//! Tests of the crate's public surface.

#![expect(clippy::unwrap_used, reason = "a panic fails the test at its line")]

mod trial_ids;
