//! What a model writes skills from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_fs::{Digest, FileKind, tree};
use assay_skill::generated::{SourceFile, SourceTask};
use assay_store::{ConditionRole, Record, RunFolder, Store, pattern_matches};
use assay_syntax::parts::Part;
use assay_task::Task;
use assay_trace::{Source, Trajectory, read};

use crate::error::{DraftError, InputFault};
use crate::event::{DraftEvent, DraftEvents};
use crate::first_message::Redact;
use crate::generate::{MATERIAL_CHARS, SourceText, ends};

/// Most bytes of a file that is read.
const FILE_BYTES: u64 = 1 << 20;

/// Most characters of a given file of a task.
const GIVEN_CHARS: usize = 4_000;

/// Most characters of a trial.
const TRIAL_CHARS: usize = 16_000;

/// Most characters of one message, call or result in a trial.
const STEP_CHARS: usize = 1_200;

/// Files that count as documentation, as in the condition `documents`.
pub const DOCUMENTS: [&str; 7] = ["md", "markdown", "mdx", "txt", "rst", "html", "htm"];

/// The material of a request.
#[derive(Debug, Default)]
pub struct SkillSources {
    /// What the model reads.
    pub material: SourceText,
    /// The tasks that it comes from.
    pub tasks: Vec<SourceTask>,
    /// The files that it comes from.
    pub files: Vec<SourceFile>,
    /// The trials that it comes from.
    pub trials: Vec<String>,
}

impl SkillSources {
    fn of_groups(groups: &[Vec<Part>], most: usize) -> Self {
        Self { material: SourceText::of_groups(groups, most), ..Self::default() }
    }
}

/// The instructions of tasks with their given files.
///
/// # Errors
/// A task cannot be read.
pub fn read_task_sources(folders: &[PathBuf]) -> Result<SkillSources, DraftError> {
    let (mut groups, mut tasks) = (Vec::new(), BTreeSet::new());
    for folder in folders {
        let task = Task::load(folder)
            .map_err(|error| InputFault::Task { path: folder.clone(), message: error.to_string() })?;
        let mut group = vec![("task".to_owned(), task.instruction.trim().to_owned())];
        let given = given_files(&task).into_iter();
        group.extend(given.map(|(path, text)| (format!("given file {path}"), ends(&text, GIVEN_CHARS))));
        groups.push(group);
        tasks.insert(SourceTask { name: task.name.clone(), digest: task.digest.to_string() });
    }
    Ok(SkillSources {
        tasks: tasks.into_iter().collect(),
        ..SkillSources::of_groups(&groups, MATERIAL_CHARS)
    })
}

/// The text files of a task's environment that an agent is given. Skills that belong to the task are left out.
fn given_files(task: &Task) -> Vec<(String, String)> {
    let folder = task.root.join("environment");
    let skills: Vec<&Path> = task.skills.iter().map(|skill| skill.root.as_path()).collect();
    let nodes = tree::walk(&folder).nodes;
    let files = nodes.iter().filter(|node| node.kind == FileKind::File);
    let given = files.filter(|node| {
        let is_recipe = node.path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy().to_lowercase();
            name.contains("dockerfile") || name.starts_with("docker-compose") || name == "skill.md"
        });
        let path = folder.join(&node.path);
        !is_recipe && !skills.iter().any(|skill| path.starts_with(skill))
    });
    let texts = given.filter_map(|node| {
        let content = assay_fs::read_within(&folder, &node.path, FILE_BYTES).ok()?;
        let text = String::from_utf8(content.bytes).ok().filter(|text| !text.contains('\0'))?;
        Some((node.path.display().to_string(), text))
    });
    texts.take(20).collect()
}

/// Files of documentation.
///
/// # Errors
/// A file cannot be read or is part of a task, or there is none.
pub fn read_document_sources(paths: &[PathBuf]) -> Result<SkillSources, DraftError> {
    let (mut groups, mut files) = (Vec::new(), BTreeSet::new());
    for path in paths {
        let real = path.canonicalize().map_err(|error| DraftError::read(path, error))?;
        refuse_task(path, &real)?;
        let found: Vec<PathBuf> = if real.is_dir() {
            let nodes = tree::walk(&real).nodes;
            let files = nodes.into_iter().filter(|node| node.kind == FileKind::File);
            files.map(|node| node.path).filter(|path| is_document(path)).collect()
        } else {
            vec![PathBuf::new()]
        };
        for relative in found {
            let (file, shown) = if relative.as_os_str().is_empty() {
                (real.clone(), path.clone())
            } else {
                (real.join(&relative), path.join(&relative))
            };
            refuse_task(&shown, &file)?;
            let bytes = assay_fs::read_file(&file, FILE_BYTES)
                .map_err(|source| InputFault::Document { path: shown.clone(), source })?;
            let digest = Digest::of(&bytes);
            let text = String::from_utf8(bytes).map_err(|_| InputFault::Binary(shown.clone()))?;
            groups.push(vec![(format!("document {}", shown.display()), text.trim().to_owned())]);
            files.insert(SourceFile { path: shown.display().to_string(), digest });
        }
    }
    if groups.is_empty() {
        return Err(InputFault::NoDocuments.into());
    }
    Ok(SkillSources {
        files: files.into_iter().collect(),
        ..SkillSources::of_groups(&groups, MATERIAL_CHARS)
    })
}

/// Whether a file of a folder is documentation: neither hidden nor a skill.
fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_skill = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    let is_hidden = path.iter().any(|part| part.as_encoded_bytes().starts_with(b"."));
    DOCUMENTS.contains(&extension.to_ascii_lowercase().as_str()) && !is_skill && !is_hidden
}

/// Refuses what lies in a task: its tests and its solution are not documentation.
fn refuse_task(shown: &Path, real: &Path) -> Result<(), InputFault> {
    let is_task = |folder: &&Path| folder.join("task.toml").is_file() && folder.join("tests").is_dir();
    match real.ancestors().find(is_task) {
        Some(task) => Err(InputFault::InTask { path: shown.to_owned(), task: task.to_owned() }),
        None => Ok(()),
    }
}

/// The trials of runs in which the agent had no skill.
///
/// # Errors
/// The store cannot be read, or there is no such trial.
pub fn read_run_sources(
    runs: &[String],
    patterns: &[String],
    store: &Store,
    redact: Redact<'_>,
    events: &dyn DraftEvents,
) -> Result<SkillSources, DraftError> {
    let (mut groups, mut tasks, mut trials) = (Vec::new(), BTreeSet::new(), Vec::new());
    for name in runs {
        let run = store.run(name)?;
        for record in records_without_skills(store, &run, patterns)? {
            let path = store.trial_folder(&record.trial).join("attempts").join(record.attempt.to_string());
            let transcript = match read::read(&path.join("trajectory.json"), None) {
                Ok(transcript) => transcript,
                Err(error) => {
                    events.handle_event(&DraftEvent::UnreadableTrial(&error));
                    continue;
                }
            };
            let parts = describe_trial(&record, &transcript.trajectory).into_iter();
            groups.push(parts.map(|(name, text)| (name, redact(&text))).collect());
            trials.push(record.trial.to_string());
            let planned = run.tasks.iter().find(|task| task.name == record.task);
            tasks.extend(
                planned.map(|task| SourceTask { name: task.name.clone(), digest: task.digest.clone() }),
            );
        }
    }
    if groups.is_empty() {
        return Err(InputFault::NoTrials.into());
    }
    Ok(SkillSources {
        tasks: tasks.into_iter().collect(),
        trials,
        ..SkillSources::of_groups(&groups, TRIAL_CHARS)
    })
}

/// The records of trials whose condition provides no skill, in the order of the plan.
fn records_without_skills(
    store: &Store,
    run: &RunFolder,
    patterns: &[String],
) -> Result<Vec<Record>, DraftError> {
    let has_skills = |task: &str, condition: &str| {
        let mut provisions = run.provisions.iter();
        provisions.any(|provision| {
            provision.task == task && provision.condition == condition && !provision.skills.is_empty()
        })
    };
    let (mut records, mut seen) = (Vec::new(), BTreeSet::new());
    for cell in &run.cells {
        let is_named =
            patterns.is_empty() || patterns.iter().any(|pattern| pattern_matches(pattern, &cell.task));
        // A text before the instruction may hold what a skill says.
        let is_bare =
            run.role_of(&cell.condition) == ConditionRole::None && !has_skills(&cell.task, &cell.condition);
        if is_named && is_bare && seen.insert(&cell.trial) {
            records.extend(store.record(&cell.trial)?.filter(|record| record.outcome.counts()));
        }
    }
    Ok(records)
}

/// What an agent was told and did, and what came of it.
fn describe_trial(record: &Record, trajectory: &Trajectory) -> Vec<Part> {
    let mut steps = Vec::new();
    let mut add = |what: String, text: &str| steps.push((what, ends(text.trim(), STEP_CHARS)));
    for step in &trajectory.steps {
        let who = match step.source {
            Source::Agent => "agent",
            Source::User => "user",
            Source::System => continue,
        };
        if !step.message.trim().is_empty() {
            add(format!("message of the {who}"), &step.message);
        }
        for call in &step.tool_calls {
            add(format!("call of {}", call.function_name), &call.arguments.to_string());
        }
        let results = step.observation.iter().flat_map(|observation| &observation.results);
        for content in results.filter_map(|result| result.content.as_deref()) {
            add("result".to_owned(), content);
        }
    }
    let checks = record.checks();
    let failed: Vec<&str> = checks
        .iter()
        .filter(|check| check.passed() == Some(false))
        .map(|check| check.name.as_str())
        .collect();
    let failed =
        if failed.is_empty() { String::new() } else { format!("; failed tests: {}", failed.join(", ")) };
    let head = (format!("run: {}{failed}", record.outcome.word()), String::new());
    std::iter::once(head).chain(steps).collect()
}
