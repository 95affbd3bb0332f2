//! The transcripts that a command reads, and what goes wrong with them.

use std::path::Path;

use assay_trace::Diagnostic;
use assay_trace::read::{self, Input, Reader, TraceError};

use crate::args::trace::Inputs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

impl Inputs {
    /// The transcripts, with those in folders, and with each session the logs of its sub-agents.
    pub(super) fn sources(&self, troubles: &mut Troubles, ui: &Ui) -> Vec<Input> {
        let sources = read::sources(&self.files);
        for path in sources.empty {
            troubles.unread(&TraceError::NoTranscript { path }, ui);
        }
        for path in sources.unsearched {
            ui.note(&format!(
                "{} was searched in part: 16 folders deep at most, 100,000 transcripts at most",
                path.display()
            ));
        }
        if sources.skipped > 0 {
            let count = sources.skipped;
            ui.note(&format!(
                "{count} {} skipped: not transcripts",
                if count == 1 { "file" } else { "files" }
            ));
        }
        sources.list
    }

    pub(super) fn reader(&self) -> Result<Option<&'static dyn Reader>, Failure> {
        self.from
            .as_deref()
            .map(|name| read::reader(name).map_err(|error| Failure::bad_input(error.to_string())))
            .transpose()
    }
}

/// What went wrong on the way, reported as it happens. A bad file does not affect the others.
#[derive(Default)]
pub(super) struct Troubles {
    odd: usize,
    unread: usize,
}

impl Troubles {
    pub(super) fn report(&mut self, diagnostics: &[Diagnostic], ui: &Ui) {
        for diagnostic in diagnostics {
            self.odd += 1;
            ui.note(&format!("warning: {diagnostic}"));
        }
    }

    /// A file of which nothing could be read.
    pub(super) fn unread(&mut self, error: &TraceError, ui: &Ui) {
        self.unread += 1;
        let cause = std::error::Error::source(error).map_or(String::new(), |cause| format!(": {cause}"));
        let failure = Failure::bad_input(format!("{error}{cause}"));
        ui.fail(&match error {
            TraceError::Unknown { .. } | TraceError::NoTranscript { .. } => {
                let known: Vec<&str> = read::READERS.into_iter().map(Reader::name).collect();
                failure.hint(format!("known formats: {}; --from NAME names one", known.join(", ")))
            }
            _ => failure,
        });
    }

    pub(super) fn status(&self, strict: bool) -> Status {
        match self {
            Self { unread: 1.., .. } => Status::BadInput,
            Self { odd: 1.., .. } if strict => Status::DidNotHold,
            _ => Status::Done,
        }
    }
}

/// What a path is called where one has to be.
pub(super) fn named(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}
