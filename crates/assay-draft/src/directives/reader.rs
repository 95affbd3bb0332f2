//! The directives of skills of folders, documents and corpora, one line for each skill.

use std::path::Path;

use assay_audit::directive::SkillPackage;
use assay_diagnostic::Severity;
use assay_skill::corpus::Record;

use super::model_list::ask_directives;
use super::{DirectivesLine, DraftDirectives, find_directives};
use crate::author::DraftAuthor;
use crate::corpus::read_corpus;
use crate::error::{DraftError, ErrorCause, InputFault};
use crate::event::{DraftEvent, DraftEvents};

/// Takes a line.
type Print<'a> = dyn FnMut(&DirectivesLine) -> Result<(), ErrorCause> + 'a;

/// Lists the directives of the skills of a path: a folder with skills, a document, or a corpus.
pub struct DirectivesReader<'a> {
    /// The model that reads the skills; without one, rules alone do.
    pub author: Option<&'a DraftAuthor>,
    /// Takes each line, as it is found.
    pub print: &'a mut Print<'a>,
    /// Hears what cannot be read.
    pub events: &'a dyn DraftEvents,
}

impl DirectivesReader<'_> {
    /// Reads the skills of a path. Returns whether all could be read, and there is one.
    ///
    /// # Errors
    /// The path cannot be read, a folder has no skill, the model does not answer, or `print` fails.
    pub fn read_path(&mut self, path: &Path) -> Result<bool, DraftError> {
        if path.is_dir() {
            return self.read_folder(path);
        }
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
            return self.read_document(path).map(|()| true);
        }
        self.read_corpus(path)
    }

    fn read_folder(&mut self, root: &Path) -> Result<bool, DraftError> {
        let (folders, diagnostics) = assay_skill::find(&[root.to_path_buf()]);
        let mut is_complete = true;
        for told in diagnostics.iter().filter(|told| told.severity == Severity::Error) {
            self.events.handle_event(&DraftEvent::Diagnostic(told));
            is_complete = false;
        }
        if folders.is_empty() {
            return Err(InputFault::NoSkill(root.to_owned()).into());
        }
        for folder in folders {
            match self.read_package(&folder) {
                Err(error @ DraftError::Read { .. }) => {
                    self.events.handle_event(&DraftEvent::UnreadableSkill(&error));
                    is_complete = false;
                }
                result => result?,
            }
        }
        Ok(is_complete)
    }

    fn read_package(&mut self, folder: &Path) -> Result<(), DraftError> {
        let package = SkillPackage::read(folder).map_err(|error| DraftError::read(folder, error))?;
        let document = package.files.first().map_or("SKILL.md", |file| file.path.as_str());
        let path = folder.join(document).display().to_string();
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.list(if package.name.is_empty() { &name } else { &package.name }, path, &package)
    }

    /// A document. A `SKILL.md` is read with the documents beside it.
    fn read_document(&mut self, path: &Path) -> Result<(), DraftError> {
        let is_main = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if is_main {
            return self.read_package(folder.unwrap_or(Path::new(".")));
        }
        let bytes = assay_fs::read_file(path, assay_fs::DOCUMENT_CAP)
            .map_err(|error| DraftError::read(path, error))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let package = SkillPackage::from_document(&bytes);
        let name = if package.name.is_empty() { &stem } else { &package.name };
        self.list(name, path.display().to_string(), &package)
    }

    /// The records of a corpus. Returns whether it has any.
    fn read_corpus(&mut self, path: &Path) -> Result<bool, DraftError> {
        let work = |record: Record| {
            (record.key(), record.path.clone(), SkillPackage::from_document(record.skill_md.as_bytes()))
        };
        let events = self.events;
        let records = read_corpus(path, work, |(id, path, package)| self.list(&id, path, &package), events)?;
        if records == 0 {
            events.handle_event(&DraftEvent::NoRecords(path));
        }
        Ok(records > 0)
    }

    fn list(&mut self, name: &str, path: String, package: &SkillPackage) -> Result<(), DraftError> {
        let list: DraftDirectives = match self.author {
            Some(author) => ask_directives(name, package, author)?,
            None => find_directives(name, package),
        };
        (self.print)(&DirectivesLine::new(name.to_owned(), path, list)).map_err(DraftError::Host)
    }
}
