//! `assay trace show`: what was said and done, step by step.

use assay_report::{session_title, transcript_text};
use assay_trace::read;
use serde_json::json;

use super::input::Troubles;
use crate::args::trace::ShowArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// So many characters of a text are shown.
const SHOWN: usize = 2000;

pub(super) fn run(args: &ShowArgs, ui: &Ui) -> Result<Status, Failure> {
    let reader = args.inputs.reader()?;
    let mut troubles = Troubles::default();
    let mut documents = Vec::new();
    for source in args.inputs.sources(&mut troubles, ui) {
        let path = &source.path;
        let transcripts = match read::read_all(&source, reader) {
            Ok(transcripts) => transcripts,
            Err(error) => {
                troubles.unread(&error, ui);
                continue;
            }
        };
        let count = transcripts.len();
        for (number, transcript) in transcripts.into_iter().enumerate() {
            troubles.report(&transcript.diagnostics, ui);
            if ui.json() {
                documents.push(json!({
                    "file": path,
                    "format": transcript.format,
                    "trajectory": transcript.trajectory,
                    "tally": transcript.tally,
                    "diagnostics": transcript.diagnostics,
                }));
            } else {
                let cap = if args.full { usize::MAX } else { SHOWN };
                let part = (count > 1).then_some((number + 1, count));
                ui.out(&transcript_text(
                    &session_title(&path.display().to_string(), part),
                    &transcript,
                    cap,
                ))?;
            }
        }
    }
    if ui.json() {
        ui.document(&json!({ "schema": "assay.trace/1", "traces": documents }))?;
    }
    Ok(troubles.status(args.inputs.strict))
}
