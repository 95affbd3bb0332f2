use std::path::Path;

use assay_audit::corpus::{Corpus, CorpusError};
use assay_audit::cta::{self, PairLine, PassRates, Tables};
use assay_store::{RunFolder, Store};

use super::notices::Notices;
use super::{calibrated, runs, tables};
use crate::args::audit::{CorpusArgs, MethodArg};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &CorpusArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let mut notices = Notices::new(ui);
    if let Some((store, run)) = run_of(&args.dir, settings)? {
        if args.common.method == MethodArg::Cta2026 {
            let message = "cta-2026 reads session logs of Claude Code, and a run's trajectories are none";
            return Err(Failure::bad_input(message).hint("leave --method out"));
        }
        let (audit, labels) = runs::of_run(&store, &run, args.check, &mut notices)?;
        calibrated::print(&audit, &labels, ui)?;
        return Ok(notices.status(args.common.strict));
    }
    let corpus = find(&args.dir)?;
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

/// The run that an argument names, unless there is a folder of that name.
fn run_of(named: &Path, settings: &Settings) -> Result<Option<(Store, RunFolder)>, Failure> {
    let Some(name) = named.to_str().filter(|_| !named.exists() && settings.store.is_dir()) else {
        return Ok(None);
    };
    let store = Store::open(&settings.store)?;
    let run = store.run(name)?;
    Ok(Some((store, run)))
}

pub(super) fn find(dir: &Path) -> Result<Corpus, Failure> {
    Corpus::find(dir).map_err(|error| {
        let message = error.to_string();
        match error {
            CorpusError::None { .. } => Failure::bad_input(message).hint(
                "a corpus is traces/<arm>/<task>/{with,without}/r<k>/*.jsonl beside skills/<task>/SKILL.md; a run is named as `assay runs` lists it",
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
    ui.raw(&(text + "\n"))
}
