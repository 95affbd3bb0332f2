//! Transcripts of real agents, and of the Counterfactual Trace Auditing release.
//!
//! They are outside the project. `ASSAY_SHARED` names the folder; without it these tests report
//! that they were skipped, and with `ASSAY_REQUIRE_SHARED=1` they fail.

#![expect(clippy::unwrap_used, reason = "a panic fails the test at its line")]

mod agents;
mod bounds;
mod claims;
mod databases;
mod forks;
mod formats;
mod fuzz;
mod golden;
mod labels;
mod odd;
mod run;
mod sessions;
