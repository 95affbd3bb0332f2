use std::path::Path;

use assay_audit::corpus::{Corpus, CorpusError};
use assay_audit::cta::{self, PairLine, PassRates, Tables};

use super::args::{CorpusArgs, MethodArg};
use super::{Notices, calibrated, tables};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &CorpusArgs, ui: &Ui) -> Result<Status, Failure> {
    let corpus = find(&args.dir)?;
    let mut notices = Notices::new(ui);
    corpus.notices.iter().for_each(|notice| notices.tell(notice));
    if args.common.method == MethodArg::Calibrated {
        return calibrated::of_corpus(args, &corpus, notices, ui);
    }
    // Published pass rates; without them the third table has one row.
    let rates = std::fs::read_to_string(args.dir.join("task_metadata.json")).unwrap_or_default();
    let rates = PassRates::read(&rates);
    let mut counted = Tables::default();
    let mut line = |line: PairLine| {
        counted.add(&line, &rates);
        if ui.json() { print(&line, ui) } else { Ok(()) }
    };
    cta::audit(&corpus, args.records && ui.json(), &mut line, &mut |notice| notices.tell(&notice))?;
    match (ui.json(), args.tables) {
        (true, true) => print(&tables::document(&counted), ui)?,
        (true, false) => {}
        (false, true) => ui.out(&tables::three(&counted))?,
        (false, false) => ui.out(&tables::summary(&counted))?,
    }
    Ok(notices.status(args.common.strict))
}

pub(super) fn find(dir: &Path) -> Result<Corpus, Failure> {
    Corpus::find(dir).map_err(|error| {
        let message = error.to_string();
        match error {
            CorpusError::None { .. } => Failure::bad_input(message).hint(
                "a corpus is traces/<arm>/<task>/{with,without}/r<k>/*.jsonl beside skills/<task>/SKILL.md",
            ),
            CorpusError::List { source, .. } => {
                Failure::BadInput { message, hint: None, source: Some(source.into()), details: Vec::new() }
            }
        }
    })
}

/// A line of JSON.
pub(super) fn print(line: &impl serde::Serialize, ui: &Ui) -> Result<(), Failure> {
    let text = serde_json::to_string(line)
        .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
    ui.out(&(text + "\n"))
}
