//! `assay audit corpus`.

use std::path::Path;

use assay_audit::corpus::{Corpus, CorpusError};
use assay_store::{RunFolder, Store};

use super::ask::AuditModels;
use super::notices::Notices;
use super::{calibrated, runs};
use crate::args::audit::CorpusArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &CorpusArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let mut notices = Notices::new(ui);
    let mut models = AuditModels::new(Some(&args.directives), &args.judge, settings, ui)?;
    if let Some((store, run)) = run_of(&args.dir, settings)? {
        let audit = runs::of_run(&store, &run, &mut models, &mut notices)?;
        calibrated::print(&audit, models.finish()?.as_ref(), args.details, ui)?;
        return Ok(notices.status(args.strict));
    }
    let corpus = find(&args.dir)?;
    corpus.notices.iter().for_each(|notice| notices.report(notice));
    calibrated::of_corpus(args, &corpus, models, notices, ui)
}

/// The run that an argument names. A run takes precedence over a folder of its name, which `./NAME` means.
pub(super) fn run_of(named: &Path, settings: &Settings) -> Result<Option<(Store, RunFolder)>, Failure> {
    let Some(name) = named.to_str().filter(|_| settings.store.is_dir()) else {
        return Ok(None);
    };
    let store = machine::read_store(&settings.store)?;
    if named.exists() && !store.run_names().iter().any(|run| run == name) {
        return Ok(None);
    }
    let run = store.run(name)?;
    Ok(Some((store, run)))
}

/// The transcripts of a folder.
pub fn find(dir: &Path) -> Result<Corpus, Failure> {
    Corpus::find(dir).map_err(|error| {
        let message = error.to_string();
        match error {
            CorpusError::None { .. } => Failure::bad_input(message).hint(
                "a corpus is traces/<arm>/<task>/{with,without}/r<k>/*.jsonl beside skills/<task>/SKILL.md; a run is named as `assay show` lists it",
            ),
            CorpusError::List { source, .. } => {
                Failure::BadInput { message, hint: None, source: Some(source.into()), details: Vec::new() }
            }
        }
    })
}

/// A line of JSON.
pub fn print(line: &impl serde::Serialize, ui: &Ui) -> Result<(), Failure> {
    let text = serde_json::to_string(line)
        .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
    ui.raw(&(text + "\n"))
}
