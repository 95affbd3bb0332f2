//! What is said about the events of a draft.

use assay_draft::event_text::{describe_event, describe_progress};
use assay_draft::{DraftEvent, DraftEvents};

use crate::ui::Ui;

/// Prints events on standard error; progress is left out with `--quiet`.
pub(super) fn print_events(ui: &Ui) -> impl DraftEvents + use<> {
    let ui = ui.clone();
    move |event: &DraftEvent<'_>| match describe_progress(event) {
        Some(line) => ui.detail(&line),
        None => ui.note(&describe_event(event)),
    }
}
