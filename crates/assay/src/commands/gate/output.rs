//! The files that a gate writes beside its output.

use std::path::Path;

use assay_gate::{GateDocument, refused_comment, refused_junit};

use crate::args::gate::GateArgs;
use crate::failure::Failure;
use crate::machine;

/// Writes the files of a gate that decided.
pub(super) fn write_decision(document: &GateDocument, args: &GateArgs) -> Result<(), Failure> {
    let junit = || document.to_junit().map_err(|error| Failure::infrastructure(error.to_string()));
    write_files(args, &document.to_comment(), junit)
}

/// Writes the files of a gate that was refused or could not go on: an older comment must not go on saying otherwise.
pub(super) fn write_failure(failure: &Failure, args: &GateArgs) -> Result<(), Failure> {
    let (word, hint) = match failure {
        Failure::BadInput { hint, .. } => ("refused", hint.as_deref()),
        Failure::Infrastructure { hint, .. } => ("blocked", hint.as_deref()),
        Failure::BrokenPipe => return Ok(()),
    };
    let message = assay_diagnostic::chain(failure);
    let junit = || refused_junit(&message).map_err(|error| Failure::infrastructure(error.to_string()));
    write_files(args, &refused_comment(word, &message, hint), junit)
}

/// Writes the files that were asked for, and the summary of a GitHub workflow step.
fn write_files(
    args: &GateArgs,
    comment: &str,
    junit: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    if let Some(path) = &args.junit {
        write(path, &junit()?, false)?;
    }
    if let Some(path) = &args.comment {
        write(path, comment, false)?;
    }
    if let Some(path) = machine::env("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
        write(Path::new(&path), comment, true)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str, append: bool) -> Result<(), Failure> {
    let written = std::fs::OpenOptions::new()
        .create(true)
        .write(true)
        .append(append)
        .truncate(!append)
        .open(path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    written.map_err(|error| Failure::infrastructure(format!("cannot write {}: {error}", path.display())))
}
