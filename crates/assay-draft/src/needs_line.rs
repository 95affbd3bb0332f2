//! The needs of skills of folders, documents and corpora, one line for each skill.

use std::path::Path;

use assay_diagnostic::{Severity, clean, counted};
use assay_skill::Document;
use assay_skill::corpus::Record;
use serde::Serialize;

use crate::corpus::read_corpus;
use crate::error::{DraftError, ErrorCause, InputFault};
use crate::event::{DraftEvent, DraftEvents};
use crate::needs::{self, Assessment, Needs, Unmet, Verdict};

/// The needs of a skill, as a line of JSON.
#[derive(Debug, Serialize)]
pub struct NeedsLine {
    schema: &'static str,
    skill: String,
    path: String,
    needs: Needs,
    unmet: Vec<Unmet>,
    verdict: Verdict,
}

impl NeedsLine {
    pub(crate) fn new(skill: String, path: String, needs: Needs, has_program: &dyn Fn(&str) -> bool) -> Self {
        let Assessment { unmet, verdict } = needs::assess(&needs, has_program);
        Self { schema: "assay.needs/1", skill, path, needs, unmet, verdict }
    }

    /// The line for people.
    pub fn to_text(&self) -> String {
        render(self)
    }
}

/// Takes a line.
type Print<'a> = dyn FnMut(&NeedsLine) -> Result<(), ErrorCause> + 'a;

/// Finds the needs of the skills of a path: a folder with skills, a document, or a corpus.
pub struct NeedsReader<'a> {
    /// Whether this machine has a program.
    pub has_program: &'a dyn Fn(&str) -> bool,
    /// Takes each line, as it is found.
    pub print: &'a mut Print<'a>,
    /// Hears what cannot be read.
    pub events: &'a dyn DraftEvents,
}

impl NeedsReader<'_> {
    /// Reads the skills of a path. Returns whether all could be read, and there is one.
    ///
    /// # Errors
    /// The path cannot be read, a folder has no skill, or `print` fails.
    pub fn read_path(&mut self, path: &Path) -> Result<bool, DraftError> {
        if path.is_dir() {
            self.read_folder(path)
        } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
            self.read_document(path).map(|()| true)
        } else {
            self.read_corpus(path)
        }
    }

    /// The skills below a folder. Returns whether all could be read.
    fn read_folder(&mut self, root: &Path) -> Result<bool, DraftError> {
        let (folders, diagnostics) = assay_skill::find(&[root.to_path_buf()]);
        let mut complete = true;
        for told in diagnostics.iter().filter(|told| told.severity == Severity::Error) {
            self.events.handle_event(&DraftEvent::Diagnostic(told));
            complete = false;
        }
        if folders.is_empty() {
            return Err(InputFault::NoSkill(root.to_owned()).into());
        }
        for folder in folders {
            complete &= self.read_package(&folder)?;
        }
        Ok(complete)
    }

    /// A package with its scripts. Returns whether it could be read.
    fn read_package(&mut self, folder: &Path) -> Result<bool, DraftError> {
        let loaded = needs::load(folder);
        let Some(skill) = loaded.skill else {
            for told in loaded.diagnostics.iter().filter(|told| told.severity == Severity::Error) {
                self.events.handle_event(&DraftEvent::Diagnostic(told));
            }
            return Ok(false);
        };
        let found = needs::find(&skill.document, &skill.scripts);
        self.print(skill.name, folder.join("SKILL.md").display().to_string(), found)?;
        Ok(true)
    }

    /// A document. A `SKILL.md` is read with the scripts beside it.
    fn read_document(&mut self, path: &Path) -> Result<(), DraftError> {
        if path.file_name().is_some_and(|name| name == "SKILL.md") {
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if self.read_package(folder)? {
                return Ok(());
            }
        }
        let bytes = assay_fs::read_file(path, assay_fs::DOCUMENT_CAP)
            .map_err(|error| DraftError::read(path, error))?;
        let (document, _) = Document::parse(&bytes, path);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = document.name.clone().unwrap_or(stem);
        let found = needs::find(&document, &[]);
        self.print(name, path.display().to_string(), found)
    }

    /// The records of a corpus. Returns whether it has any.
    fn read_corpus(&mut self, path: &Path) -> Result<bool, DraftError> {
        let work = |record: Record| {
            let found = needs::find_in_text(&record.skill_md);
            (record.key(), record.path, found)
        };
        let events = self.events;
        let records = read_corpus(path, work, |(id, path, found)| self.print(id, path, found), events)?;
        if records == 0 {
            events.handle_event(&DraftEvent::NoRecords(path));
        }
        Ok(records > 0)
    }

    fn print(&mut self, skill: String, path: String, needs: Needs) -> Result<(), DraftError> {
        (self.print)(&NeedsLine::new(skill, path, needs, self.has_program)).map_err(DraftError::Host)
    }
}

fn render(line: &NeedsLine) -> String {
    let categories: Vec<_> = line.needs.categories().collect();
    let mut text = format!(
        "{} ({}): {}, {}\n",
        clean(&line.skill),
        clean(&line.path),
        line.verdict.name(),
        counted(categories.len(), "category", "categories"),
    );
    for category in categories {
        for need in line.needs.of(category) {
            let place = match &need.file {
                Some(file) => format!("{}:{}", clean(file), need.line),
                None => need.line.to_string(),
            };
            text.push_str(&format!(
                "  {:<14}  {place:>6}  {:<12}  {}\n",
                category.name(),
                need.by.name(),
                clean(&need.text)
            ));
        }
    }
    if !line.unmet.is_empty() {
        text.push_str("  unmet here:\n");
    }
    for unmet in &line.unmet {
        let name = unmet.name.as_ref().map_or(String::new(), |name| format!(" {}", clean(name)));
        let remedy = match (unmet.double, unmet.rules_out) {
            (Some(double), _) => format!("a test double can replace it ({})", double.name()),
            (None, true) => "nothing replaces it".to_owned(),
            (None, false) => "install it into the task's environment".to_owned(),
        };
        text.push_str(&format!("    {}{name}: {remedy}\n", unmet.category.name()));
    }
    text.push('\n');
    text
}
