use std::path::Path;

use assay_fs::{Digest, FileKind, tree};
use assay_skill::Package;
use assay_skill::generated::{GeneratedSkills, SkillOrigin};
use assay_store::ConditionRole;
use assay_task::Task;

use super::error::{ConditionError, GeneratedSkillsError};
use super::provision::{Argument, Condition, ConditionContext, Provision};

/// Skills that a model wrote from other tasks: is knowledge of the work before it worth more than none?
pub(super) struct FromTask;

/// Skills that a model wrote from documentation.
pub(super) struct FromDocs;

/// Skills that a model wrote from recorded runs without skills.
pub(super) struct FromRuns;

impl Condition for FromTask {
    fn role(&self) -> ConditionRole {
        ConditionRole::GeneratedFromTask
    }

    fn argument(&self) -> Argument {
        Argument::Optional("DIR")
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        provide(SkillOrigin::Task, context)
    }
}

impl Condition for FromDocs {
    fn role(&self) -> ConditionRole {
        ConditionRole::GeneratedFromDocs
    }

    fn argument(&self) -> Argument {
        Argument::Optional("DIR")
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        provide(SkillOrigin::Docs, context)
    }
}

impl Condition for FromRuns {
    fn role(&self) -> ConditionRole {
        ConditionRole::GeneratedFromRuns
    }

    fn argument(&self) -> Argument {
        Argument::Optional("DIR")
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        provide(SkillOrigin::Runs, context)
    }
}

/// The skills of a folder, unless they were written from the task.
fn provide(origin: SkillOrigin, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
    let default = format!("generated/{}", origin.name());
    let folder = context.directory.join(context.argument.unwrap_or(&default));
    let generated = GeneratedSkills::read(&folder)
        .map_err(|error| GeneratedSkillsError::Origin { folder: folder.clone(), error })?;
    if generated.origin != origin {
        return Err(GeneratedSkillsError::OtherOrigin { folder, found: generated.origin.name() }.into());
    }
    check_disjoint(&generated, context.task)?;
    let mut skills = Vec::new();
    for skill in &generated.skills {
        let place = folder.join(&skill.directory);
        let package = is_name(&skill.directory).then(|| Package::load(&place).package).flatten();
        match package.filter(|package| package.digest == skill.digest) {
            Some(package) => skills.push(package),
            None => return Err(GeneratedSkillsError::Edited { folder: place }.into()),
        }
    }
    Ok(Provision { skills, ..Provision::default() })
}

/// Whether a text names a folder and no path.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('.') && !text.contains(['/', '\\'])
}

/// Skills that a model wrote with the task before it would be measured on what they were fitted to.
fn check_disjoint(generated: &GeneratedSkills, task: &Task) -> Result<(), GeneratedSkillsError> {
    let digest = task.digest.to_string();
    if generated.tasks.iter().any(|source| source.digest == digest || source.name == task.name) {
        return Err(GeneratedSkillsError::FromThisTask);
    }
    if generated.files.is_empty() {
        return Ok(());
    }
    let digests = file_digests(&task.root);
    match generated.files.iter().find(|file| digests.contains(&file.digest)) {
        Some(file) => Err(GeneratedSkillsError::FromItsFile { path: file.path.clone() }),
        None => Ok(()),
    }
}

/// The digests of the files of a folder that are not empty. Links are not followed, and what cannot be read is left out.
fn file_digests(folder: &Path) -> Vec<Digest> {
    let nodes = tree::walk(folder).nodes;
    let files = nodes.iter().filter(|node| node.kind == FileKind::File);
    let bytes = files.filter_map(|node| std::fs::read(folder.join(&node.path)).ok());
    bytes.filter(|bytes| !bytes.is_empty()).map(|bytes| Digest::of(&bytes)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_skill::Library;
    use assay_skill::generated::{FILE, GeneratedSkill, SCHEMA, SourceFile, SourceTask};
    use tempfile::TempDir;

    use super::*;
    use crate::condition::ConditionRef;

    struct Folder(TempDir);

    impl Folder {
        fn new() -> Self {
            let folder = Self(tempfile::tempdir().unwrap());
            for (path, text) in [
                ("task/task.toml", "version = \"1.0\"\n"),
                ("task/instruction.md", "Count the words.\n"),
                ("task/environment/Dockerfile", "FROM scratch\n"),
                ("task/tests/test.sh", "exit 0\n"),
                (
                    "generated/docs/words/SKILL.md",
                    "---\nname: words\ndescription: Counts words.\n---\nUse wc.\n",
                ),
            ] {
                let path = folder.0.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            folder
        }

        fn task(&self) -> Task {
            Task::load(&self.0.path().join("task")).unwrap()
        }

        /// An origin without sources.
        fn origin(&self) -> GeneratedSkills {
            let package = Package::load(&self.0.path().join("generated/docs/words")).package.unwrap();
            GeneratedSkills {
                schema: SCHEMA.to_owned(),
                origin: SkillOrigin::Docs,
                model: "scripted:replies.jsonl".to_owned(),
                prompt: "1".to_owned(),
                skills: vec![GeneratedSkill { directory: "words".to_owned(), digest: package.digest }],
                tasks: Vec::new(),
                files: Vec::new(),
                trials: Vec::new(),
            }
        }

        fn write(&self, origin: &GeneratedSkills) {
            let path = self.0.path().join("generated/docs").join(FILE);
            fs::write(path, serde_json::to_string(origin).unwrap()).unwrap();
        }

        /// The names of the provided skills, or why there are none.
        fn provide(&self, condition: &str) -> Result<Vec<String>, String> {
            let context = ConditionContext {
                argument: None,
                directory: self.0.path(),
                task: &self.task(),
                library: &Library::default(),
                pairing: None,
                seed: 1,
                made: &self.0.path().join("made"),
            };
            let provided = ConditionRef::parse(condition).unwrap().provide(&context);
            let root = self.0.path().display().to_string();
            provided
                .map(|provision| provision.skills.into_iter().map(|skill| skill.name).collect())
                .map_err(|error| error.to_string().replace(&root, "ROOT"))
        }
    }

    #[test]
    fn skills_are_provided_unless_they_know_the_task() {
        let folder = Folder::new();
        let check = |change: &dyn Fn(&mut GeneratedSkills), expected: Result<&str, &str>| {
            let mut origin = folder.origin();
            change(&mut origin);
            folder.write(&origin);
            let found = folder.provide("generated-from-docs").map(|names| names.join(", "));
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{origin:?}");
        };
        let task = |name: &str, digest: &str| SourceTask { name: name.to_owned(), digest: digest.to_owned() };
        let file = |text: &str| SourceFile { path: "a.md".to_owned(), digest: Digest::of(text.as_bytes()) };
        check(&|_| {}, Ok("words"));
        check(&|origin| origin.tasks.push(task("other", "0")), Ok("words"));
        check(
            &|origin| origin.tasks.push(task("task", "0")),
            Err("its skills were generated from this task"),
        );
        let digest = folder.task().digest.to_string();
        check(
            &|origin| origin.tasks.push(task("renamed", &digest)),
            Err("its skills were generated from this task"),
        );
        check(&|origin| origin.files.push(file("Count the lines.\n")), Ok("words"));
        check(
            &|origin| origin.files.push(file("Count the words.\n")),
            Err("its skills were generated from a file that the task contains: a.md"),
        );
        check(
            &|origin| origin.origin = SkillOrigin::Runs,
            Err("the skills in ROOT/generated/docs were written from another source: runs"),
        );
        let edited =
            "is missing or differs from what was generated: provide an edited skill under `curated` instead";
        check(
            &|origin| origin.skills[0].digest = Digest::of(b"edited"),
            Err(&format!("the skill ROOT/generated/docs/words {edited}")),
        );
        check(
            &|origin| origin.skills[0].directory = "../../task".to_owned(),
            Err(&format!("the skill ROOT/generated/docs/../../task {edited}")),
        );
    }

    #[test]
    fn a_folder_without_an_origin_is_no_source() {
        let folder = Folder::new();
        let check = |condition: &str, expected: &str| {
            let error = folder.provide(condition).unwrap_err();
            assert!(error.starts_with(expected), "{condition}: {error}");
        };
        check(
            "generated-from-task",
            "no generated skills in ROOT/generated/task: cannot read ROOT/generated/task/generated.json",
        );
        check("generated-from-docs:generated", "no generated skills in ROOT/generated: cannot read");
        fs::write(folder.0.path().join("generated/docs").join(FILE), "{}").unwrap();
        check(
            "generated-from-docs",
            "no generated skills in ROOT/generated/docs: ROOT/generated/docs/generated.json is not of the form assay.generated-skills/1: missing field `schema`",
        );
    }
}
