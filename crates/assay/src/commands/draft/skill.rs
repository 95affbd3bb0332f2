//! `assay draft skill`.

use std::path::Path;

use assay_draft::skill_sources::{read_document_sources, read_run_sources, read_task_sources};
use assay_draft::skill_writer::{SkillWriter, check_new_folder};
use assay_draft::{DraftEvent, DraftEvents};
use assay_report::redact;
use assay_skill::generated::SkillOrigin;

use super::ask::open_without_spending;
use super::events::print_events;
use super::print::print_result;
use crate::args::draft::{SkillArgs, SkillWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(super) fn run(args: &SkillArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let (origin, model) = match &args.what {
        SkillWhat::Task(args) => (SkillOrigin::Task, &args.model),
        SkillWhat::Docs(args) => (SkillOrigin::Docs, &args.model),
        SkillWhat::Runs(args) => (SkillOrigin::Runs, &args.model),
    };
    let out = model.out.clone().unwrap_or_else(|| Path::new("generated").join(origin.name()));
    check_new_folder(&out)?;
    let events = print_events(ui);
    let sources = match &args.what {
        SkillWhat::Task(args) => read_task_sources(&args.tasks)?,
        SkillWhat::Docs(args) => read_document_sources(&args.paths)?,
        SkillWhat::Runs(args) => {
            let store = machine::read_store(&settings.store)?;
            let secrets = machine::secrets();
            read_run_sources(&args.runs, &args.tasks, &store, &|text| redact(text, &secrets), &events)?
        }
    };
    if sources.material.is_cut() {
        events.handle_event(&DraftEvent::MaterialCut);
    }
    let replies = settings.store.join("generated");
    let cancel = machine::interrupted()?;
    let author = open_without_spending(&model.flags, &model.model, replies, cancel, ui)?;
    let writer = SkillWriter { origin, sources, author: &author, count: usize::from(model.skills) };
    if model.dry_run {
        let forecast = writer.forecast_request()?;
        print_result(ui, &forecast, || forecast.to_text())?;
        return Ok(Status::Done);
    }
    let written = writer.write_skills(&out, &events)?;
    print_result(ui, &written, || written.to_text())?;
    if !ui.json() {
        ui.note(&format!(
            "next: add the condition \"generated-from-{}:DIR\" to an experiment whose tasks are not among the sources",
            origin.name()
        ));
    }
    Ok(Status::Done)
}
