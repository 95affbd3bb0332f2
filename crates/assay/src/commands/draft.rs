//! `assay draft`: from a skill to its own evaluation.

pub mod ask;
mod directives;
mod events;
mod host;
mod print;
mod requests;
mod run;
mod skill;

use assay_draft::folder::DraftFolder;
use assay_draft::headroom::{FEWEST_TASKS, remove_easy_tasks};
use assay_draft::needs_line::NeedsReader;
use assay_draft::status::read_status;

use self::events::print_events;
use self::print::{print_result, too_few};
use crate::args::draft::{DraftArgs, DraftWhat, HeadroomArgs, NeedsArgs};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &DraftArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        DraftWhat::Needs(args) => list_needs(args, ui),
        DraftWhat::Directives(args) => directives::run(args, settings, ui),
        DraftWhat::Run(args) => run::run(args, settings, ui),
        DraftWhat::Status(args) => {
            let status = read_status(&DraftFolder::at_path(args.dir.clone()), None)?;
            print_result(ui, &status.to_document(), || status.to_text())?;
            Ok(Status::Done)
        }
        DraftWhat::Headroom(args) => remove_tasks(args, settings, ui),
        DraftWhat::Requests(args) => requests::run(args, settings, ui),
        DraftWhat::Skill(args) => skill::run(args, settings, ui),
    }
}

/// `assay draft needs`.
fn list_needs(args: &NeedsArgs, ui: &Ui) -> Result<Status, Failure> {
    let programs = machine::programs();
    let mut status = Status::Done;
    let events = print_events(ui);
    let mut reader = NeedsReader {
        has_program: &|name| programs.has(name),
        print: &mut |line| {
            let printed = if ui.json() { ui.json_line(line) } else { ui.out(&line.to_text()) };
            Ok(printed?)
        },
        events: &events,
    };
    for path in &args.paths {
        if !reader.read_path(path)? {
            status = Status::BadInput;
        }
    }
    Ok(status)
}

/// `assay draft headroom`.
fn remove_tasks(args: &HeadroomArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let folder = DraftFolder::at_path(args.dir.clone());
    folder.check_draft()?;
    let store = machine::read_store(&settings.store)?;
    let report = remove_easy_tasks(&folder, &store, &args.run, args.dry_run)?;
    print_result(ui, &report, || report.to_text())?;
    let is_enough = report.remaining >= FEWEST_TASKS;
    if !is_enough {
        ui.note(&too_few(&folder, &format!("{} with headroom", report.remaining)));
    }
    Ok(if report.unmeasured.is_empty() && is_enough { Status::Done } else { Status::DidNotHold })
}
