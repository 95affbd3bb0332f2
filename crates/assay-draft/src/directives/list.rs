//! `directives.json`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{DirectiveLines, DraftDirective};
use crate::error::{DraftError, InputFault};
use crate::folder::DraftFolder;

/// The file with the directives of a draft.
pub const DIRECTIVES_FILE: &str = "directives.json";

const SCHEMA: &str = "assay.draft-directives/1";

/// The directives of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftDirectives {
    schema: String,
    /// The model that read the skill, as `provider:model`; absent where rules alone did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The documents of the skills, and whether they were read.
    #[serde(default)]
    pub files: Vec<DirectiveFile>,
    /// In the order of their skills, files and lines.
    pub directives: Vec<DraftDirective>,
    /// What rules took for a directive and the model did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dismissed: Vec<DismissedDirective>,
    /// What the model listed and cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedDirective>,
}

/// A document of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectiveFile {
    /// The folder of the skill.
    pub skill: String,
    /// The path within it.
    pub file: String,
    /// Its lines.
    pub lines: usize,
    /// The last line that was read; 0 if the file was left out for its length.
    pub read_to: usize,
}

/// Lines that rules took for a directive and a model for none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DismissedDirective {
    /// The folder of the skill.
    pub skill: String,
    /// The path within it.
    pub file: String,
    /// The lines.
    pub lines: DirectiveLines,
    /// Words of these lines.
    pub quote: String,
    /// Why it is none, in the words of the model.
    pub reason: String,
}

/// What a model listed as a directive and cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedDirective {
    /// What it lists, shortened.
    pub text: String,
    /// Why it cannot be used.
    pub reason: String,
}

impl DraftDirectives {
    /// A list without anything that a model adds.
    pub fn new(files: Vec<DirectiveFile>, directives: Vec<DraftDirective>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            model: None,
            files,
            directives,
            dismissed: Vec::new(),
            rejected: Vec::new(),
        }
    }

    /// Reads the directives of a draft; `None` if its folder has none.
    ///
    /// # Errors
    /// The file cannot be read, or two directives in it have one id.
    pub fn read_from(folder: &DraftFolder) -> Result<Option<Self>, DraftError> {
        let Some(list) = folder.read_json::<Self>(DIRECTIVES_FILE)? else { return Ok(None) };
        let mut ids = BTreeSet::new();
        let fault = list.directives.iter().find_map(|directive| match directive {
            DraftDirective { known: Some(known), id, .. } if *known > 10 => {
                Some(format!("known of {id} is {known}, and at most 10"))
            }
            DraftDirective { id, .. } if id.is_empty() => Some("a directive has no id".to_owned()),
            DraftDirective { id, .. } if !ids.insert(id) => Some(format!("two directives have the id {id}")),
            _ => None,
        });
        match fault {
            None => Ok(Some(list)),
            Some(message) => {
                let path = folder.path_of(DIRECTIVES_FILE);
                Err(InputFault::DraftFile { path, line: 1, message }.into())
            }
        }
    }

    /// Writes the directives into the folder of a draft.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_to(&self, folder: &DraftFolder) -> Result<(), DraftError> {
        folder.write_json(DIRECTIVES_FILE, self)
    }

    /// The directive of an id.
    pub fn find_by_id(&self, id: &str) -> Option<&DraftDirective> {
        self.directives.iter().find(|directive| directive.id == id)
    }

    /// Names the directives by their order: `d01`, `d02`.
    pub fn number_directives(&mut self) {
        for (at, directive) in self.directives.iter_mut().enumerate() {
            directive.id = format!("d{:02}", at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directives::{DirectiveClass, DirectiveEvidence, DirectiveSource};

    fn directive(id: &str) -> DraftDirective {
        let lines = DirectiveLines::between(12, 14);
        let (quote, text) = ("Fire at 1,040".to_owned(), "Fire at 1,040 degrees".to_owned());
        DraftDirective {
            id: id.to_owned(),
            answer: Some("1040".to_owned()),
            default: Some("980".to_owned()),
            class: Some(DirectiveClass::Knowledge),
            known: Some(1),
            seen_in: Some(DirectiveEvidence::Result),
            by: DirectiveSource::Model,
            ..DraftDirective::of_words("kiln", "SKILL.md", lines, quote, text)
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let root = tempfile::tempdir().unwrap();
        let folder = DraftFolder::at_path(root.path().to_owned());
        assert_eq!(DraftDirectives::read_from(&folder).unwrap(), None);
        let mut list = DraftDirectives::new(Vec::new(), vec![directive(""), directive("")]);
        list.number_directives();
        list.write_to(&folder).unwrap();
        assert_eq!(DraftDirectives::read_from(&folder).unwrap().unwrap(), list);
        assert_eq!(list.find_by_id("d02").unwrap().place(), "SKILL.md:12-14");
        let text = std::fs::read_to_string(folder.path_of(DIRECTIVES_FILE)).unwrap();
        assert!(text.starts_with("{\n  \"schema\": \"assay.draft-directives/1\""), "{text}");
        assert!(text.find("\"default\"") < text.find("\"class\""), "{text}");
    }

    #[test]
    fn a_list_that_was_edited_wrongly_is_refused() {
        let check = |edit: &dyn Fn(&mut DraftDirectives), expected: &str| {
            let root = tempfile::tempdir().unwrap();
            let folder = DraftFolder::at_path(root.path().to_owned());
            let mut list = DraftDirectives::new(Vec::new(), vec![directive("d01"), directive("d02")]);
            edit(&mut list);
            list.write_to(&folder).unwrap();
            let error = DraftDirectives::read_from(&folder).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(DIRECTIVES_FILE), "{error}");
        };
        check(&|list| list.directives[1].id = "d01".to_owned(), "two directives have the id d01");
        check(&|list| list.directives[0].id.clear(), "has no id");
        check(&|list| list.directives[0].known = Some(11), "known of d01 is 11");
    }

    #[test]
    fn what_shows_the_worth_of_a_skill_is_unknown_and_in_the_result() {
        let check = |edit: &dyn Fn(&mut DraftDirective), expected: bool| {
            let mut directive = directive("d01");
            edit(&mut directive);
            assert_eq!(directive.is_measurable(), expected, "{directive:?}");
        };
        check(&|_| {}, true);
        check(&|directive| directive.class = Some(DirectiveClass::Convention), true);
        check(&|directive| directive.known = Some(4), false);
        check(&|directive| directive.known = None, false);
        check(&|directive| directive.class = Some(DirectiveClass::Reminder), false);
        check(&|directive| directive.class = Some(DirectiveClass::Doubtful), false);
        check(&|directive| directive.class = None, false);
        check(&|directive| directive.seen_in = Some(DirectiveEvidence::Calls), false);
        check(&|directive| directive.readings = vec!["sample".to_owned(), "population".to_owned()], false);
    }
}
