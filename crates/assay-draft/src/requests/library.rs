//! The skills of folders and corpora.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_skill::corpus::{Record, gather};
use assay_skill::{Document, Severity};

use super::pool::Pool;
use super::skills::{Skill, Skills};
use crate::corpus::read_corpus;
use crate::error::{DraftError, InputFault};
use crate::event::{DraftEvent, DraftEvents};

/// The skills of a library, in the order of their ids, and what transcripts are compared with.
#[derive(Debug)]
pub struct RequestLibrary {
    pub(crate) skills: Skills,
    /// By place: the text after the front matter.
    pub(crate) bodies: Vec<String>,
    /// By place: the files of the package, if they are known.
    pub(crate) files: Vec<Vec<String>>,
}

impl RequestLibrary {
    /// Reads the skills of folders and corpora.
    ///
    /// # Errors
    /// A corpus cannot be read, or there is no skill.
    pub fn read_paths(paths: &[PathBuf], events: &dyn DraftEvents) -> Result<Self, DraftError> {
        let mut records = Vec::new();
        for path in paths {
            if path.is_dir() {
                let (found, diagnostics) = gather::folder(path);
                for told in diagnostics.iter().filter(|told| told.severity == Severity::Error) {
                    events.handle_event(&DraftEvent::Diagnostic(told));
                }
                records.extend(found);
            } else {
                let add = |record| {
                    records.push(record);
                    Ok(())
                };
                read_corpus(path, |record| record, add, events)?;
            }
        }
        records.retain(|record| !record.skill_md.trim().is_empty());
        // The order must not depend on that of folders: draws refer to places.
        records.sort_by_cached_key(Record::key);
        let mut seen = BTreeSet::new();
        let before = records.len();
        records.retain(|record| seen.insert(record.key()));
        if records.len() < before {
            events.handle_event(&DraftEvent::DuplicateIds(before - records.len()));
        }
        if records.is_empty() {
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            return Err(InputFault::NoLibrary(names.join(", ")).into());
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
    pub(crate) fn places_of(&self, pool: Option<Pool>, seed: u64) -> Vec<usize> {
        let all = self.skills.all().iter().enumerate();
        all.filter(|(_, skill)| pool.is_none_or(|pool| Pool::of(&skill.digest, seed) == pool))
            .map(|(place, _)| place)
            .collect()
    }
}
