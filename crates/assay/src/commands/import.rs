//! `assay import`: trials that were executed elsewhere, as a run.

use std::path::PathBuf;

use assay_store::Store;
use assay_trial::import::{ImportOptions, Imported, harbor};

use crate::args::import::{ImportArgs, ImportHarborArgs, ImportWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status, lines};
use crate::ui::Ui;

pub(crate) fn run(args: &ImportArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        ImportWhat::Harbor(args) => from_harbor(args, settings, ui),
    }
}

fn from_harbor(args: &ImportHarborArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let options = ImportOptions {
        name: args.name.clone().unwrap_or_else(|| name_of(&args.dirs)),
        conditions: args.condition.iter().map(|text| pattern(text)).collect::<Result<_, _>>()?,
        baseline: args.baseline.clone(),
    };
    let store = Store::open(&settings.store)?;
    let imported = harbor(&store, &args.dirs, &options)?;
    if ui.json() {
        ui.document(&imported)?;
    } else {
        ui.out(&summary_text(&imported))?;
    }
    for note in &imported.notes {
        ui.note(note);
    }
    ui.note(&format!("`assay report {}` shows the report", imported.run));
    Ok(Status::Done)
}

/// The run's name where none is given: that of the first folder, with what a name cannot hold replaced.
fn name_of(dirs: &[PathBuf]) -> String {
    let first = dirs.first().and_then(|dir| dir.canonicalize().ok()).unwrap_or_default();
    let name = first.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    format!("harbor-{}", name.chars().map(plain).take(60).collect::<String>())
}

/// `PATTERN=CONDITION`; the pattern may hold `=`.
fn pattern(text: &str) -> Result<(String, String), Failure> {
    match text.rsplit_once('=') {
        Some((pattern, condition)) if !pattern.is_empty() && !condition.is_empty() => {
            Ok((pattern.to_owned(), condition.to_owned()))
        }
        _ => Err(Failure::bad_input(format!("{text:?} is not PATTERN=CONDITION")).hint(
            "for example --condition 'job-7/*=none'; a pattern matches JOB/TRIAL/AGENT or one of the three",
        )),
    }
}

fn summary_text(imported: &Imported) -> String {
    let trials = assay_report::counted(imported.imported, "trial", "trials");
    let mut text = format!("{}: {trials}\n", imported.run);
    for (heading, counts) in [
        ("condition", &imported.by_condition),
        ("outcome", &imported.by_outcome),
        ("unusable", &imported.unusable),
    ] {
        for line in lines(counts) {
            text.push_str(&format!("  {heading:9}  {line}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_ends_at_the_last_sign() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let found = pattern(text).ok();
            assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())), "{text}");
        };
        check("job/*=none", Some(("job/*", "none")));
        check("a=b/*=curated", Some(("a=b/*", "curated")));
        for bad in ["", "none", "=none", "job="] {
            check(bad, None);
        }
    }

    #[test]
    fn a_name_comes_of_the_first_folder() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("my jobs (old)");
        std::fs::create_dir(&odd).unwrap();
        assert_eq!(name_of(&[odd]), "harbor-my-jobs--old-");
    }
}
