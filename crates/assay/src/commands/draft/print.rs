//! What several commands print.

use assay_draft::folder::DraftFolder;
use assay_draft::headroom::FEWEST_TASKS;
use assay_report::shell_word;
use serde::Serialize;

use crate::failure::Failure;
use crate::ui::Ui;

/// Prints a result: as JSON, or its text.
pub(super) fn print_result<T: Serialize>(
    ui: &Ui,
    result: &T,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    if ui.json() { ui.document(result) } else { ui.out(&text()) }
}

/// What to do about tasks that are too few for a verdict.
pub(super) fn too_few(folder: &DraftFolder, tasks: &str) -> String {
    format!(
        "too few tasks: {tasks}, and a verdict needs at least {FEWEST_TASKS}; add ideas to {}, then `assay draft run SKILL \
         --resume --out {}` drafts them",
        folder.path_of("ideas.json").display(),
        shell_word(&folder.root_path().display().to_string())
    )
}
