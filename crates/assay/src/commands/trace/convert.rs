//! `assay trace convert`: any transcript as an ATIF trajectory.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assay_trace::read;

use super::input::{Troubles, named};
use crate::args::trace::ConvertArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(super) fn run(args: &ConvertArgs, ui: &Ui) -> Result<Status, Failure> {
    let reader = args.inputs.reader()?;
    let mut troubles = Troubles::default();
    let sources = args.inputs.sources(&mut troubles, ui);
    let several = || {
        Failure::bad_input("several transcripts make several documents")
            .hint("--out DIR names the folder to write them into")
    };
    if sources.len() > 1 && args.out.is_none() {
        return Err(several());
    }
    if let Some(folder) = &args.out {
        fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    }
    let mut taken = BTreeSet::new();
    for source in sources {
        let path = &source.path;
        let transcripts = match read::read_all(&source, reader) {
            Ok(transcripts) => transcripts,
            Err(error) => {
                troubles.unread(&error, ui);
                continue;
            }
        };
        if transcripts.len() > 1 && args.out.is_none() {
            return Err(several());
        }
        for transcript in transcripts {
            troubles.report(&transcript.diagnostics, ui);
            let Some(folder) = &args.out else {
                ui.document(&transcript.trajectory)?;
                continue;
            };
            let file = folder.join(free(path, &mut taken));
            let text = serde_json::to_string_pretty(&transcript.trajectory)
                .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
            assay_fs::replace_file(&file, (text + "\n").as_bytes())
                .map_err(|error| cannot_write(&file, &error))?;
            ui.note(&format!("{}: {} as {}", named(path), transcript.format, file.display()));
        }
    }
    Ok(troubles.status(args.inputs.strict))
}

/// A name that no other transcript of this call has.
fn free(path: &Path, taken: &mut BTreeSet<String>) -> String {
    let stem =
        path.file_name().map_or_else(|| "trace".to_owned(), |name| name.to_string_lossy().into_owned());
    let stem = [".zst", ".gz", ".jsonl", ".json", ".traj"]
        .iter()
        .fold(stem.as_str(), |stem, end| stem.strip_suffix(end).unwrap_or(stem));
    let stem = if stem == "-" { "stdin" } else { stem };
    let mut name = format!("{stem}.json");
    let mut number = 1;
    while !taken.insert(name.clone()) {
        number += 1;
        name = format!("{stem}-{number}.json");
    }
    name
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::infrastructure(format!("cannot write {}: {error}", path.display()))
}
