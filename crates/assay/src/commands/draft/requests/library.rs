//! The skills of folders and corpora.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_draft::requests::{Pool, Skill, Skills};
use assay_skill::corpus::input::Input;
use assay_skill::corpus::{Record, gather};
use assay_skill::{Document, Severity};

use crate::commands::bad_lines::BadLines;
use crate::failure::Failure;
use crate::ui::Ui;

/// The skills of a library, in the order of their ids, and what transcripts are compared with.
pub(super) struct Library {
    pub(super) skills: Skills,
    /// By place: the text after the front matter.
    pub(super) bodies: Vec<String>,
    /// By place: the files of the package, if they are known.
    pub(super) files: Vec<Vec<String>>,
}

impl Library {
    pub(super) fn read(paths: &[PathBuf], ui: &Ui) -> Result<Self, Failure> {
        let mut records = Vec::new();
        for path in paths {
            if path.is_dir() {
                let (found, diagnostics) = gather::folder(path);
                for told in diagnostics.iter().filter(|told| told.severity == Severity::Error) {
                    ui.note(&told.to_string());
                }
                records.extend(found);
            } else {
                of_corpus(path, &mut records, ui)?;
            }
        }
        records.retain(|record| !record.skill_md.trim().is_empty());
        // The order must not depend on that of folders: draws refer to places.
        records.sort_by_cached_key(Record::key);
        let mut seen = BTreeSet::new();
        let before = records.len();
        records.retain(|record| seen.insert(record.key()));
        if records.len() < before {
            ui.note(&format!("{} duplicate ids; the first of each is used", before - records.len()));
        }
        if records.is_empty() {
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            return Err(Failure::bad_input(format!("no skill in {}", names.join(", ")))
                .hint("pass a folder that contains SKILL.md files, or a corpus"));
        }
        let mut library = Self { skills: Skills::new(Vec::new()), bodies: Vec::new(), files: Vec::new() };
        let mut all = Vec::with_capacity(records.len());
        for record in records {
            let (document, _) = Document::parse(record.skill_md.as_bytes(), Path::new(&record.path));
            library.bodies.push(document.text[document.body_start..].to_owned());
            let files = record.files.iter().flatten().map(|file| file.path.clone()).collect();
            library.files.push(files);
            let id = record.key();
            all.push(Skill::new(id, record.name, record.description, record.skill_md));
        }
        library.skills = Skills::new(all);
        Ok(library)
    }

    /// The places of the skills of a pool; of all without one.
    pub(super) fn places(&self, pool: Option<Pool>, seed: u64) -> Vec<usize> {
        let all = self.skills.all().iter().enumerate();
        all.filter(|(_, skill)| pool.is_none_or(|pool| Pool::of(&skill.digest, seed) == pool))
            .map(|(place, _)| place)
            .collect()
    }
}

fn of_corpus(path: &Path, records: &mut Vec<Record>, ui: &Ui) -> Result<(), Failure> {
    let mut input = Input::open(path)?;
    let mut bad_lines = BadLines::new(ui, path);
    while let Some(batch) = input.batch(|record| record)? {
        for line in batch {
            match line {
                Ok(record) => records.push(record),
                Err(bad) => bad_lines.note(&bad),
            }
        }
    }
    bad_lines.summarize();
    Ok(())
}
