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
    /// Its SKILL.md, whole.
    pub document: String,
    /// The repository it comes from. No score may depend on it; pools do.
    pub repo: String,
}

/// A line of a corpus file: the project's own, or SkillRet's.
#[derive(Deserialize)]
struct Line {
    #[serde(alias = "_id", alias = "skill_id")]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default, alias = "body", alias = "content")]
    skill_md: String,
    #[serde(default)]
    repo: String,
    #[serde(default)]
    filter_stage: Option<String>,
}

/// Reads one line. `None`: it is marked as removed from the corpus (`filter_stage` other than `kept`).
///
/// # Errors
/// What is wrong with the line.
pub fn read_document(line: &str) -> Result<Option<Document>, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if line.id.is_empty() {
        return Err("its id is empty".to_owned());
    }
    if line.filter_stage.is_some_and(|stage| stage != "kept") {
        return Ok(None);
    }
    let Line { id, name, description, skill_md: document, repo, .. } = line;
    Ok(Some(Document { id, name, description, document, repo }))
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
        check(r#"{"id":""}"#, Err(()));
        check(r#"{"name":"a"}"#, Err(()));
        check("nonsense", Err(()));
    }
}
