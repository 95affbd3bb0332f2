//! `assay lab`: experiments on assay itself and on published methods.

mod audit;
mod bad_lines;
mod bench;
mod corpus;
mod cta;
mod draft;
mod health;
mod judge;
mod replay;
mod route;
mod scale;
mod search;
mod self_test;
mod simulate;
mod taxonomy;

use crate::args::{LabArgs, LabWhat};
use assay_cli::config::Settings;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

pub(crate) fn run(args: &LabArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        LabWhat::Simulate(args) => simulate::run(args, ui),
        LabWhat::Replay(args) => replay::run(args, ui),
        LabWhat::Draft(args) => draft::run(args, ui),
        LabWhat::Judge(args) => judge::run(args, ui),
        LabWhat::Bench(args) => bench::run(args, ui),
        LabWhat::Search(args) => search::run(args, ui),
        LabWhat::Route(args) => route::run(args, settings, ui),
        LabWhat::Corpus(args) => corpus::run(args, ui),
        LabWhat::Taxonomy(args) => taxonomy::run(args, settings, ui),
        LabWhat::Audit(args) => audit::run(args, settings, ui),
        LabWhat::Health(args) => health::run(args, ui),
        LabWhat::Cta(args) => cta::run(args, ui),
        LabWhat::Scale(args) => scale::run(args, ui),
        LabWhat::SelfTest(args) => self_test::run(args, settings, ui),
    }
}
