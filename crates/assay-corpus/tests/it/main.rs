//! The crate on real data, which lie outside the project: `ASSAY_SHARED` names their folder.
//! Without it these tests say that they were skipped, and with `ASSAY_REQUIRE_SHARED=1` they fail.

mod funnel;
mod fuzz;
mod health;

use std::path::{Path, PathBuf};

/// A part of the shared data, or `None` after saying that the test is skipped.
pub(crate) fn shared(part: &str) -> Option<PathBuf> {
    let found = std::env::var_os("ASSAY_SHARED")
        .map(|root| Path::new(&root).join("data").join(part))
        .filter(|path| path.exists());
    if found.is_none() {
        let required = std::env::var_os("ASSAY_REQUIRE_SHARED").is_some_and(|value| value == "1");
        assert!(!required, "shared data {part} are required and missing");
        #[expect(clippy::print_stdout, reason = "a skip has to be seen")]
        {
            println!("skipped: no shared data {part} (ASSAY_SHARED)");
        }
    }
    found
}
