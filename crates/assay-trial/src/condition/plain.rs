use assay_skill::Package;
use assay_store::ConditionRole;

use super::error::ConditionError;
use super::provision::{Condition, ConditionContext, Provision, curated};

/// The text of the curated skills in the prompt, and none of their files: is the package worth more
/// than its text?
///
/// No skill is offered, so a trial has no exposure to count: the text is part of the prompt.
pub(super) struct Plain;

impl Condition for Plain {
    fn role(&self) -> ConditionRole {
        ConditionRole::Plain
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        Ok(Provision { preface: text_of(&curated(context)?)?, ..Provision::default() })
    }
}

/// The bodies of skills, without names and descriptions: they belong to the package.
pub(super) fn text_of(skills: &[Package]) -> Result<String, ConditionError> {
    let bodies: Vec<&str> =
        skills.iter().map(|skill| skill.body.trim()).filter(|body| !body.is_empty()).collect();
    if bodies.is_empty() { Err(ConditionError::NoText) } else { Ok(bodies.join("\n\n")) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use assay_skill::Library;
    use assay_task::Task;

    use super::*;

    fn provide(skill: &str) -> Result<Provision, ConditionError> {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().join("task");
        for (path, text) in [
            ("task.toml", "version = \"1.0\"\n"),
            ("instruction.md", "Count the words.\n"),
            ("environment/Dockerfile", "FROM scratch\n"),
            ("tests/test.sh", "exit 0\n"),
            ("environment/skills/count/SKILL.md", skill),
            ("environment/skills/count/scripts/count.sh", "wc -w\n"),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let task = Task::load(&root).unwrap();
        Plain.provide(&ConditionContext {
            argument: None,
            directory: Path::new("."),
            task: &task,
            library: &Library::default(),
            pairing: None,
            seed: 1,
            made: temporary.path(),
        })
    }

    #[test]
    fn the_body_is_the_preface_and_no_skill_is_offered() {
        let provision = provide(
            "---\nname: count\ndescription: Counts words.\n---\n\n# Count\n\nUse `wc -w` in {skills}.\n",
        )
        .unwrap();
        assert_eq!(provision.preface, "# Count\n\nUse `wc -w` in {skills}.");
        assert!(provision.skills.is_empty() && !provision.writes_skills);
    }

    #[test]
    fn a_skill_without_a_body_excludes_the_task() {
        let error = provide("---\nname: count\ndescription: Counts words.\n---\n").unwrap_err();
        assert_eq!(error.to_string(), "its curated skills have no text besides their front matter");
    }
}
