//! Data from outside the project.

use std::path::{Path, PathBuf};

/// A part of the shared data, or `None` after saying that the test is skipped.
pub(crate) fn shared(part: &str) -> Option<PathBuf> {
    let found = std::env::var_os("ASSAY_SHARED")
        .map(|root| Path::new(&root).join("data").join(part))
        .filter(|path| path.exists());
    if found.is_none() {
        assert!(
            std::env::var_os("ASSAY_REQUIRE_SHARED").is_none_or(|value| value != "1"),
            "shared data {part} is required and missing"
        );
        #[expect(clippy::print_stdout, reason = "a skip has to be seen")]
        {
            println!("skipped: no shared data {part} (ASSAY_SHARED)");
        }
    }
    found
}
