//! `assay corpus`: what can be said of skills by the thousand.

pub(crate) mod bench;
mod build;
mod compare;
mod funnel;
mod near;
mod page;
mod stats;
mod unpack;

use std::path::Path;

use assay_corpus::input::{BadLine, InputError};

use crate::args::corpus::{CorpusArgs, CorpusWhat};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &CorpusArgs, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        CorpusWhat::Funnel(args) => funnel::run(args, ui),
        CorpusWhat::Build(args) => build::run(args, ui),
        CorpusWhat::Compare(args) => compare::run(args, ui),
        CorpusWhat::Near(args) => near::run(args, ui),
        CorpusWhat::Stats(args) => stats::run(args, ui),
        CorpusWhat::Unpack(args) => unpack::run(args, ui),
    }
}

/// Tells of lines that hold no record: the first hundred, for the rest a count is enough.
struct Told<'a> {
    ui: &'a Ui,
    path: &'a Path,
    lines: usize,
}

impl<'a> Told<'a> {
    const MOST: usize = 100;

    fn new(ui: &'a Ui, path: &'a Path) -> Self {
        Self { ui, path, lines: 0 }
    }

    fn bad(&mut self, bad: &BadLine) {
        self.lines += 1;
        if self.lines <= Self::MOST {
            self.ui.note(&format!("{}:{}: {}; passed over", self.path.display(), bad.line, bad.message));
        }
    }

    fn end(&self) {
        if self.lines > Self::MOST {
            self.ui.note(&format!("{} lines of {} hold no record", self.lines, self.path.display()));
        }
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        let message = error.to_string();
        let (InputError::Open { source, .. } | InputError::Read { source, .. }) = error;
        let hint = "name a file of JSON Lines, plain, .gz or .zst, or `-`";
        Self::BadInput {
            message,
            hint: Some(hint.to_owned()),
            source: Some(source.into()),
            details: Vec::new(),
        }
    }
}

/// Writes a file, or standard output for `-`.
fn written(
    path: &Path,
    write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    use std::io::Write;
    let result = if path == Path::new("-") {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        write(&mut out).and_then(|()| out.flush())
    } else {
        std::fs::File::create(path).and_then(|file| {
            let mut out = std::io::BufWriter::new(file);
            write(&mut out).and_then(|()| out.flush())
        })
    };
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Failure::BrokenPipe),
        other => other.map_err(|error| Failure::BadInput {
            message: format!("cannot write {}", path.display()),
            hint: Some("name a file in a folder that exists".to_owned()),
            source: Some(error.into()),
            details: Vec::new(),
        }),
    }
}
