//! What is said about the events of a draft.

use assay_draft::event_text::{describe_event, describe_progress};
use assay_draft::heartbeat::{Heartbeat, INTERVAL};
use assay_draft::{DraftEvent, DraftEvents};

use crate::ui::Ui;

/// Prints events on standard error.
pub(super) fn print_events(ui: &Ui) -> impl DraftEvents + use<> {
    let ui = ui.clone();
    move |event: &DraftEvent<'_>| match describe_progress(event) {
        Some(line) => ui.detail(&line),
        None => ui.note(&describe_event(event)),
    }
}

/// Prints events and progress on standard error, and repeats the last of it while nothing else happens.
pub(super) fn print_progress(ui: &Ui) -> impl DraftEvents + use<> {
    let (ui, repeated) = (ui.clone(), ui.clone());
    let heartbeat = Heartbeat::start_repeating(INTERVAL, move |line| repeated.note(line));
    move |event: &DraftEvent<'_>| {
        let line = describe_progress(event).unwrap_or_else(|| describe_event(event));
        ui.note(&line);
        heartbeat.note_line(&line);
    }
}
