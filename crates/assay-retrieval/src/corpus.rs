//! The skills that are searched.

use serde::Deserialize;

/// One skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Unique in the corpus.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its complete SKILL.md.
    pub document: String,
    /// The repository it comes from. No score may depend on it; pools do.
    pub repo: String,
    /// Its class in the corpus's own taxonomy (`category`, or SkillRet's `major`), if it has one.
    /// No score may depend on it.
    pub category: String,
}

/// A line of a corpus file: the project's own, or SkillRet's, which has both `body` and `skill_md`,
/// and `null` for missing values.
#[derive(Deserialize)]
struct Line {
    #[serde(alias = "_id", alias = "skill_id")]
    id: String,
    name: Option<String>,
    description: Option<String>,
    skill_md: Option<String>,
    body: Option<String>,
    content: Option<String>,
    repo: Option<String>,
    category: Option<String>,
    major: Option<String>,
    filter_stage: Option<String>,
}

/// Why a line of a corpus or of queries cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// It is not JSON, or lacks a field.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A document without an id.
    #[error("empty id")]
    NoId,
    /// `labels` is a text that is not JSON.
    #[error("`labels`: {0}")]
    LabelsText(serde_json::Error),
    /// `labels` is of another shape.
    #[error("`labels` has an element that is neither an id nor an object with `id`")]
    Labels,
}

/// Reads one line. `None`: it is marked as removed from the corpus (`filter_stage` other than
/// `kept`).
pub fn read_document(line: &str) -> Result<Option<Document>, LineError> {
    let line: Line = serde_json::from_str(line)?;
    if line.id.is_empty() {
        return Err(LineError::NoId);
    }
    if line.filter_stage.is_some_and(|stage| stage != "kept") {
        return Ok(None);
    }
    let first = |all: &mut dyn Iterator<Item = Option<String>>| {
        all.flatten().find(|text| !text.trim().is_empty()).unwrap_or_default()
    };
    Ok(Some(Document {
        id: line.id,
        name: line.name.unwrap_or_default(),
        description: line.description.unwrap_or_default(),
        document: first(&mut [line.skill_md, line.body, line.content].into_iter()),
        repo: line.repo.unwrap_or_default(),
        category: first(&mut [line.category, line.major].into_iter()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_layouts_are_read() {
        let check = |line: &str, expected: Result<Option<&str>, ()>| {
            let found = read_document(line).map(|read| read.map(|document| document.id)).map_err(|_| ());
            assert_eq!(found, expected.map(|id| id.map(str::to_owned)), "{line}");
        };
        check(
            r#"{"id":"a","name":"n","description":"d","skill_md":"x","filter_stage":"kept"}"#,
            Ok(Some("a")),
        );
        check(r#"{"id":"a","filter_stage":"license"}"#, Ok(None));
        check(r#"{"_id":"a","body":"x","stars":3}"#, Ok(Some("a")));
        check(r#"{"id":"a","name":null,"repo":null}"#, Ok(Some("a")));
        check(r#"{"id":""}"#, Err(()));
        check(r#"{"name":"a"}"#, Err(()));
        check("nonsense", Err(()));
    }

    #[test]
    fn first_valid_text_counts() {
        let check = |line: &str, document: &str, category: &str| {
            let read = read_document(line).unwrap().unwrap();
            assert_eq!((read.document.as_str(), read.category.as_str()), (document, category), "{line}");
        };
        check(r#"{"id":"a","body":"b","skill_md":"m","major":"AI Agents","sub":"x"}"#, "m", "AI Agents");
        check(r#"{"id":"a","body":"b","skill_md":" ","category":"Data","major":"AI"}"#, "b", "Data");
        check(r#"{"id":"a","skill_md":null,"content":"c"}"#, "c", "");
    }
}
