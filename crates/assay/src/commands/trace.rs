//! `assay trace`: transcripts of agents, in one format, as text, and in figures.

mod convert;
mod input;
mod show;
mod stats;

pub(super) use stats::package;

use crate::args::trace::{TraceArgs, TraceWhat};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &TraceArgs, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        TraceWhat::Convert(args) => convert::run(args, ui),
        TraceWhat::Show(args) => show::run(args, ui),
        TraceWhat::Stats(args) => stats::run(args, ui),
    }
}
