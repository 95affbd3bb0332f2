//! `assay draft`: from a skill to its own evaluation.

pub mod ask;
mod folder;
mod forecast;
mod headroom;
mod inputs;
mod intents;
mod needs;
mod requests;
mod run;
mod skill;
mod solvers;
mod status;
mod subject;
mod tasks;
mod validate;

use crate::args::draft::{DraftArgs, DraftWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &DraftArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        DraftWhat::Needs(args) => needs::run(args, ui),
        DraftWhat::Run(args) => run::run(args, settings, ui),
        DraftWhat::Status(args) => status::run(args, ui),
        DraftWhat::Headroom(args) => headroom::run(args, settings, ui),
        DraftWhat::Requests(args) => requests::run(args, settings, ui),
        DraftWhat::Skill(args) => skill::run(args, settings, ui),
    }
}
