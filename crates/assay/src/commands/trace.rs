//! `assay trace`: transcripts of agents, in one format, as text, and in figures.

mod convert;
mod show;
mod stats;

pub(super) use stats::{package, prices};

use std::path::{Path, PathBuf};

use assay_trace::Diagnostic;
use assay_trace::read::{self, Reader, TraceError, harbor};
use clap::Subcommand;

use crate::failure::{Failure, Status};
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    what: TraceWhat,
}

#[derive(Debug, Subcommand)]
enum TraceWhat {
    /// Write transcripts as ATIF trajectories
    Convert(convert::ConvertArgs),
    /// Show what was said and done, step by step
    Show(show::ShowArgs),
    /// Count steps, calls and tokens, and tell which skills reached the agent
    Stats(stats::StatsArgs),
}

/// What is read, and how.
#[derive(Debug, clap::Args)]
struct Inputs {
    /// Transcripts: files, also compressed, `-`, and folders of trials or jobs as Harbor leaves them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The format [default: told from what stands in the file]
    #[arg(long, value_name = "NAME", value_parser = formats())]
    from: Option<String>,
    /// Exit with 1 if anything about a transcript was odd
    #[arg(long)]
    strict: bool,
}

fn formats() -> clap::builder::PossibleValuesParser {
    read::READERS.into_iter().map(Reader::name).collect::<Vec<_>>().into()
}

pub(crate) fn run(args: &TraceArgs, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        TraceWhat::Convert(args) => convert::run(args, ui),
        TraceWhat::Show(args) => show::run(args, ui),
        TraceWhat::Stats(args) => stats::run(args, ui),
    }
}

impl Inputs {
    /// The files, with jobs as their trials.
    fn paths(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for path in &self.files {
            let trials =
                if path.is_dir() && !harbor::is_trial(path) { harbor::trials(path) } else { Vec::new() };
            if trials.is_empty() { paths.push(path.clone()) } else { paths.extend(trials) }
        }
        paths
    }

    fn reader(&self) -> Result<Option<&'static dyn Reader>, Failure> {
        self.from
            .as_deref()
            .map(|name| read::reader(name).map_err(|error| Failure::bad_input(error.to_string())))
            .transpose()
    }
}

/// What went wrong on the way, told as it happens. One bad file spoils no other.
#[derive(Default)]
struct Troubles {
    odd: usize,
    unread: usize,
}

impl Troubles {
    fn tell(&mut self, diagnostics: &[Diagnostic], ui: &Ui) {
        for diagnostic in diagnostics {
            self.odd += 1;
            ui.note(&format!("warning: {diagnostic}"));
        }
    }

    /// A file of which nothing could be read.
    fn unread(&mut self, error: &TraceError, ui: &Ui) {
        self.unread += 1;
        let cause = std::error::Error::source(error).map_or(String::new(), |cause| format!(": {cause}"));
        let failure = Failure::bad_input(format!("{error}{cause}"));
        ui.fail(&match error {
            TraceError::Unknown { .. } => failure.hint("--from names its format"),
            _ => failure,
        });
    }

    fn status(&self, strict: bool) -> Status {
        match self {
            Self { unread: 1.., .. } => Status::BadInput,
            Self { odd: 1.., .. } if strict => Status::DidNotHold,
            _ => Status::Done,
        }
    }
}

/// What a path is called where one has to be.
fn named(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}
