//! Tests of the crate's public surface.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so where it stands")]

mod trial_ids;
