//! `assay lab corpus`: building, deduplicating and summarizing corpora of skills.

mod build;
mod compare;
mod funnel;
mod near;
mod output;
mod page;
mod sample;
mod stats;
mod suitability;
mod unpack;

pub(super) use self::output::write_to;
pub(super) use self::sample::read_categories;
use crate::args::corpus::{CorpusArgs, CorpusWhat};
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

pub(super) fn run(args: &CorpusArgs, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        CorpusWhat::Funnel(args) => funnel::run(args, ui),
        CorpusWhat::Build(args) => build::run(args, ui),
        CorpusWhat::Compare(args) => compare::run(args, ui),
        CorpusWhat::Near(args) => near::run(args, ui),
        CorpusWhat::Sample(args) => sample::run(args, ui),
        CorpusWhat::Stats(args) => stats::run(args, ui),
        CorpusWhat::Unpack(args) => unpack::run(args, ui),
    }
}
