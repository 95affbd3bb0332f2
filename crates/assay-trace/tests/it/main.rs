//! Transcripts of real agents, and of the Counterfactual Trace Auditing release.
//!
//! They lie outside the project. `ASSAY_SHARED` names the folder; without it these tests say that they were skipped, and with
//! `ASSAY_REQUIRE_SHARED=1` they fail.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so where it stands")]

mod agents;
mod bounds;
mod formats;
mod fuzz;
mod labels;
mod odd;
mod run;
mod sessions;

use std::path::{Path, PathBuf};

/// A part of the shared data, or `None` after saying that the test is skipped.
pub(crate) fn shared(part: &str) -> Option<PathBuf> {
    let found = std::env::var_os("ASSAY_SHARED")
        .map(|root| Path::new(&root).join("data").join(part))
        .filter(|p| p.exists());
    if found.is_none() {
        assert!(
            std::env::var_os("ASSAY_REQUIRE_SHARED").is_none_or(|v| v != "1"),
            "shared data {part} is required and missing"
        );
        #[expect(clippy::print_stdout, reason = "a skip has to be seen")]
        {
            println!("skipped: no shared data {part} (ASSAY_SHARED)");
        }
    }
    found
}
