//! The model of a draft, as the flags describe it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_draft::author::{DraftAuthor, stored_replies};

use crate::args::model::ModelFlags;
use crate::asking::{WAITING_INTERVAL, progress};
use crate::failure::Failure;
use crate::ui::Ui;

/// Opens the model. No request is sent yet. `folder` has the replies of this draft alone, so that its cap counts what they
/// cost.
pub(super) fn open_author(
    flags: &ModelFlags,
    spec: &str,
    folder: PathBuf,
    cancel: Arc<AtomicBool>,
    ui: &Ui,
) -> Result<DraftAuthor, Failure> {
    let (_, spent) = stored_replies(folder.clone())?;
    let cap = flags.cost_cap("this draft")?.after(spent);
    let model = flags.access.open_model("--model", spec)?;
    Ok(DraftAuthor::new(model, folder, cap, cancel).report_to(progress(ui), WAITING_INTERVAL))
}

/// Opens the model for a folder that commands share, so that the cap counts what this command sends.
pub fn open_without_spending(
    flags: &ModelFlags,
    spec: &str,
    folder: PathBuf,
    cancel: Arc<AtomicBool>,
    ui: &Ui,
) -> Result<DraftAuthor, Failure> {
    let cap = flags.cost_cap("this draft")?;
    let model = flags.access.open_model("--model", spec)?;
    Ok(DraftAuthor::new(model, folder, cap, cancel).report_to(progress(ui), WAITING_INTERVAL))
}
