//! Tasks with rubrics in the formats of other tools.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::format::{Format, FormatError, Read, devai, skill_creator, slug, tessl, waza};
use crate::rubric::{Kind, Rubric};

/// A task to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// Its name.
    pub name: String,
    /// What the agent is told.
    pub instruction: String,
    /// Its rubric.
    pub rubric: Rubric,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A format that is only read.
    #[error("the format {0} is read, not written")]
    ReadOnly(&'static str),
    /// Two tasks of one name.
    #[error("two tasks are named {0:?}")]
    Name(String),
    /// A rubric that cannot be written.
    #[error("{task}: {reason}")]
    Rubric {
        /// The task.
        task: String,
        /// Why.
        reason: FormatError,
    },
    /// A file that exists.
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// A file that cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Writes tasks below a folder in a format; `skill` is the name for formats that state one. Returns the files, and
/// what the format cannot express.
///
/// # Errors
/// The format is only read, two tasks have one name, or a file exists or cannot be written. Whether
/// files exist is found before the first is written.
pub fn export(
    tasks: &[Exported],
    format: Format,
    skill: &str,
    into: &Path,
) -> Result<(Vec<PathBuf>, Vec<String>), ExportError> {
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for task in tasks {
        if !names.insert(slug(&task.name)) {
            return Err(ExportError::Name(task.name.clone()));
        }
    }
    match format {
        Format::Tessl | Format::TesslCriteria => {
            let dialect =
                if format == Format::Tessl { tessl::Dialect::Checklist } else { tessl::Dialect::Criteria };
            for task in tasks {
                let folder = Path::new("evals").join(slug(&task.name));
                files.push((folder.join("task.md"), task.instruction.clone()));
                files.push((folder.join("criteria.json"), tessl::write(&task.rubric, dialect)));
            }
        }
        Format::SkillCreator => {
            let eval = |(number, task): (usize, &Exported)| skill_creator::Eval {
                id: (number + 1).to_string(),
                name: Some(task.name.clone()),
                prompt: task.instruction.clone(),
                expected: task.rubric.context.clone(),
                files: Vec::new(),
                rubric: Ok(task.rubric.clone()),
            };
            let evals: Vec<_> = tasks.iter().enumerate().map(eval).collect();
            files.push(("evals/evals.json".into(), skill_creator::write(skill, &evals)));
        }
        Format::Waza => {
            files.push(("eval.yaml".into(), waza::write_evaluation(skill)));
            for task in tasks {
                let own = waza::Task {
                    id: slug(&task.name),
                    name: Some(task.name.clone()),
                    prompt: task.instruction.clone(),
                    files: Vec::new(),
                    rubric: Ok(task.rubric.clone()),
                    left_out: Vec::new(),
                    notes: Vec::new(),
                };
                let text = waza::write(&own, &task.rubric)
                    .map_err(|reason| ExportError::Rubric { task: task.name.clone(), reason })?;
                files.push((Path::new("tasks").join(format!("{}.yaml", own.id)), text));
            }
        }
        Format::DevAi => {
            for task in tasks {
                let own = devai::Task {
                    name: task.name.clone(),
                    query: task.instruction.clone(),
                    read: Read { rubric: task.rubric.clone(), notes: Vec::new() },
                };
                files.push((format!("{}.json", slug(&task.name)).into(), devai::write(&own)));
            }
        }
        Format::Dotnet | Format::PaperBench | Format::RewardKit | Format::Promptfoo | Format::Assay => {
            return Err(ExportError::ReadOnly(format.name()));
        }
    }
    let files: Vec<(PathBuf, String)> =
        files.into_iter().map(|(path, text)| (into.join(path), text)).collect();
    if let Some((path, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
        return Err(ExportError::Exists(path.clone()));
    }
    for (path, text) in &files {
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
        written.map_err(|source| ExportError::Write { path: path.clone(), source })?;
    }
    let notes = tasks.iter().flat_map(|task| lost(task, format)).collect();
    Ok((files.into_iter().map(|(path, _)| path).collect(), notes))
}

/// What a format cannot say of a rubric.
fn lost(task: &Exported, format: Format) -> Vec<String> {
    let has_points = matches!(format, Format::Tessl | Format::TesslCriteria | Format::Waza);
    let leaves: Vec<_> = task.rubric.leaves().collect();
    let first = leaves.first().map_or(1.0, |item| item.points);
    let found = [
        (!has_points && leaves.iter().any(|item| (item.points - first).abs() > 1e-9), "points"),
        (task.rubric.sets.len() > 1, "sets"),
        (task.rubric.all().any(|item| !item.items.is_empty()), "groups"),
        (leaves.iter().any(|item| item.kind != Kind::Binary), "scales"),
        (leaves.iter().any(|item| item.class.is_some()), "classes"),
        (
            format != Format::DevAi && leaves.iter().any(|item| !item.prerequisites.is_empty()),
            "prerequisites",
        ),
        (
            format != Format::Waza && leaves.iter().any(|item| item.negated),
            "negated items, now stated as they are",
        ),
    ];
    let lost: Vec<&str> = found.into_iter().filter_map(|(is_lost, name)| is_lost.then_some(name)).collect();
    if lost.is_empty() {
        return Vec::new();
    }
    vec![format!("{}: the format has no place for its {}", task.name, lost.join(", "))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use crate::rubric::Item;

    #[test]
    fn what_is_written_can_be_read() {
        let items = vec![Item::new("a", "The note has a date", 60.0), Item::new("b", "It has a title", 40.0)];
        let task = |name: &str| Exported {
            name: name.to_owned(),
            instruction: "Write a note\n".to_owned(),
            rubric: Rubric::of_items("criteria", items.clone()),
        };
        let tasks = [task("one"), task("two")];
        let check = |format: Format, expected: &[&str], notes: usize| {
            let folder = tempfile::tempdir().unwrap();
            let into = folder.path().join("notes");
            let (_, lost) = export(&tasks, format, "notes", &into).unwrap();
            assert_eq!(lost.len(), notes, "{lost:?}");
            let found = find(folder.path()).unwrap();
            assert!(found.refused.is_empty(), "{:?}", found.refused);
            let names: Vec<_> = found.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
            assert_eq!(names, expected);
            for scenario in &found.scenarios {
                assert_eq!(scenario.format, format);
                let texts: Vec<_> = scenario.rubric.leaves().map(|item| item.text.as_str()).collect();
                assert_eq!(texts, ["The note has a date", "It has a title"]);
            }
            let again = export(&tasks, format, "notes", &into).unwrap_err();
            assert!(matches!(again, ExportError::Exists(_)), "{again}");
        };
        check(Format::Tessl, &["notes-one", "notes-two"], 0);
        check(Format::TesslCriteria, &["notes-one", "notes-two"], 0);
        check(Format::SkillCreator, &["notes-one", "notes-two"], 2);
        check(Format::Waza, &["notes-one", "notes-two"], 0);
        check(Format::DevAi, &["one", "two"], 2);
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(
            export(&tasks, Format::Promptfoo, "", folder.path()),
            Err(ExportError::ReadOnly(_))
        ));
        assert!(matches!(
            export(&[task("a b"), task("A-b")], Format::Waza, "", folder.path()),
            Err(ExportError::Name(_))
        ));
    }
}
