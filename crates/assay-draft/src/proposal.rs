//! What a model proposes: ideas of tasks, and their files.
//!
//! A reply is hostile: its paths and sizes are checked before anything is written.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assay_fs::FileKind;
use assay_fs::tree;
use assay_judge::{Item, Rubric, Set};
use assay_syntax::reply::read_document;
use serde::{Deserialize, Serialize};

use crate::complaint::Complaint;
use crate::directives::DraftDirective;
use crate::ideas::Idea;
use crate::items::{
    ITEMS_FILE, ItemSet, MUTANTS_FILE, RUBRIC_FILE, RUNNER, ReplyItem, is_own_file, read_items,
};
use crate::sources::InputFile;

/// Most bytes of one file.
const FILE_BYTES: usize = 256 << 10;

/// Most bytes of all files of a task.
const TASK_BYTES: usize = 1 << 20;

/// Most files of a task.
const FILES: usize = 60;

/// Most characters of a path.
const PATH_CHARS: usize = 120;

/// Most bytes of the inputs of a task together.
pub const INPUT_BYTES: u64 = 20 << 20;

/// The image of every task: bubblewrap replaces it by this machine's `/usr`, so no image is built.
pub const IMAGE: &str = "python:3.11-slim-bookworm";

/// The points of a set of judged items, as in the published method (Tessl 2026, section 2).
const SET_POINTS: f64 = 100.0;

/// Files that every task has.
const REQUIRED: [&str; 3] = ["instruction.md", "tests/check.py", "solution/solve.sh"];

/// A copy of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputCopy {
    /// The input's path.
    pub input: String,
    /// The path in the task's folder, `/` between parts.
    pub path: String,
}

/// A text file of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFile {
    /// Relative to the task's folder, `/` between parts.
    pub path: String,
    /// The content.
    pub text: String,
}

/// Files of a task that a model wrote, or changes to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposal {
    /// Complete files.
    pub files: Vec<TaskFile>,
    /// Inputs to copy.
    pub copies: Vec<InputCopy>,
    /// Files to remove.
    pub delete: Vec<String>,
}

#[derive(Deserialize)]
struct FilesReply {
    files: Vec<ReplyFile>,
    #[serde(default)]
    delete: Vec<String>,
    #[serde(default)]
    items: Option<Vec<ReplyItem>>,
    #[serde(default)]
    rubric: Option<Vec<JudgedItem>>,
}

#[derive(Deserialize)]
struct ReplyFile {
    path: String,
    #[serde(default)]
    lines: Option<Vec<String>>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    copy: Option<String>,
}

/// A requirement that a reader decides.
#[derive(Deserialize)]
struct JudgedItem {
    text: String,
    #[serde(default = "one")]
    points: f64,
    #[serde(default)]
    directive: Option<String>,
}

fn one() -> f64 {
    1.0
}

/// Reads the files of a new task, whose items may be about `directives`.
///
/// # Errors
/// The reply contains no JSON of the form, a path, size or item is not allowed, or a required file or the items are missing.
/// The message is a complaint to the model.
pub fn read_files(
    reply: &str,
    inputs: &[InputFile],
    directives: &[DraftDirective],
) -> Result<Proposal, Complaint> {
    let proposal = read_changes(reply, inputs, directives)?;
    if !proposal.files.iter().any(|file| file.path == ITEMS_FILE) {
        return Err(Complaint::new("`items` is missing"));
    }
    let missing = |name: &&&str| !proposal.files.iter().any(|file| file.path == **name);
    match REQUIRED.iter().find(missing) {
        Some(name) => Err(Complaint::new(format!("{name} is missing"))),
        None => Ok(proposal),
    }
}

/// Reads changes to the files of a task.
///
/// # Errors
/// As [`read_files`], but nothing is required.
pub fn read_changes(
    reply: &str,
    inputs: &[InputFile],
    directives: &[DraftDirective],
) -> Result<Proposal, Complaint> {
    let reply: FilesReply = read_document(reply)?;
    let (mut files, mut copies) = (Vec::new(), Vec::new());
    for file in reply.files {
        if let Some(input) = file.copy {
            check_copy(&input, &file.path, inputs)?;
            copies.push(InputCopy { input, path: file.path });
            continue;
        }
        let text = match (file.lines, file.text) {
            (Some(lines), _) => lines.join("\n") + "\n",
            (None, Some(text)) => text,
            (None, None) => return Err(Complaint::new(format!("{} has no `lines`", file.path))),
        };
        files.push(TaskFile { path: file.path, text });
    }
    let mut delete = reply.delete;
    match reply.rubric {
        Some(items) if items.is_empty() => delete.push(RUBRIC_FILE.to_owned()),
        Some(items) => {
            files.push(TaskFile { path: RUBRIC_FILE.to_owned(), text: rubric(&items, directives)? });
        }
        None => {}
    }
    check_files(&files)?;
    if let Some(items) = reply.items {
        let (items, mutants) = read_items(items, directives)?;
        files.push(TaskFile { path: ITEMS_FILE.to_owned(), text: items.to_json() });
        files.push(TaskFile { path: MUTANTS_FILE.to_owned(), text: mutants.to_json() });
    }
    delete.retain(|path| check_path(path).is_ok() && !REQUIRED.contains(&path.as_str()));
    let bytes: u64 = copies
        .iter()
        .filter_map(|copy| inputs.iter().find(|input| input.path == copy.input))
        .map(|input| input.bytes)
        .sum();
    if bytes > INPUT_BYTES || copies.len() > FILES {
        return Err(Complaint::new(format!(
            "the copies have more than {INPUT_BYTES} bytes, or are more than {FILES}"
        )));
    }
    let twice =
        copies.iter().find(|copy| files.iter().any(|file| file.path.eq_ignore_ascii_case(&copy.path)));
    if let Some(copy) = twice {
        return Err(Complaint::new(format!("{} occurs twice", copy.path)));
    }
    Ok(Proposal { files, copies, delete })
}

/// Whether an input may be copied to a path.
fn check_copy(input: &str, path: &str, inputs: &[InputFile]) -> Result<(), Complaint> {
    check_path(path)?;
    if !path.starts_with("environment/files/") && !path.starts_with("tests/") {
        return Err(Complaint::new(format!("{path}: inputs are copied to environment/files/ or tests/")));
    }
    if inputs.iter().any(|one| one.path == input) {
        return Ok(());
    }
    Err(Complaint::new(format!("there is no input {input:?}")))
}

/// A rubric in two sets of equal weight, as the items are.
fn rubric(items: &[JudgedItem], directives: &[DraftDirective]) -> Result<String, Complaint> {
    let (mut goals, mut rules) = (Vec::new(), Vec::new());
    for (at, item) in items.iter().enumerate() {
        let id = format!("item-{}", at + 1);
        let Some(named) = item.directive.as_ref().filter(|named| !named.is_empty()) else {
            goals.push(Item::new(id, item.text.clone(), item.points));
            continue;
        };
        let Some(directive) = directives.iter().find(|directive| &directive.id == named) else {
            return Err(Complaint::new(format!("`rubric`: no directive has the id {named}")));
        };
        if directive.is_control() {
            return Err(Complaint::new(format!(
                "`rubric`: {named} is a reminder, and what everybody does is not judged"
            )));
        }
        let line = Some(directive.lines.first_line());
        // Two items may be about one directive.
        let is_first = rules.iter().all(|rule: &Item| &rule.id != named);
        let id = if is_first { named.clone() } else { id };
        rules.push(Item { line, ..Item::new(id, item.text.clone(), item.points) });
    }
    let sets = [(ItemSet::Gc, goals), (ItemSet::If, rules)].into_iter();
    let sets = sets.filter(|(_, items)| !items.is_empty()).map(|(set, items)| Set {
        name: set.name().to_owned(),
        weight: Some(SET_POINTS),
        items,
        ..Set::default()
    });
    let rubric = Rubric { sets: sets.collect(), ..Rubric::default() };
    rubric.check().map_err(|error| Complaint::new(format!("`rubric`: {error}")))?;
    Ok(rubric.to_json())
}

fn check_files(files: &[TaskFile]) -> Result<(), Complaint> {
    if files.len() > FILES {
        return Err(Complaint::new(format!("more than {FILES} files")));
    }
    let total: usize = files.iter().map(|file| file.text.len()).sum();
    if total > TASK_BYTES {
        return Err(Complaint::new(format!("the files have more than {TASK_BYTES} bytes")));
    }
    let mut paths = BTreeSet::new();
    for file in files {
        check_path(&file.path)?;
        if file.text.len() > FILE_BYTES {
            return Err(Complaint::new(format!("{} has more than {FILE_BYTES} bytes", file.path)));
        }
        if file.text.contains('\0') {
            return Err(Complaint::new(format!("{} is not a text", file.path)));
        }
        if !paths.insert(file.path.to_lowercase()) {
            return Err(Complaint::new(format!("{} occurs twice", file.path)));
        }
    }
    Ok(())
}

/// Whether a model may write a file at a path.
fn check_path(path: &str) -> Result<(), Complaint> {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.+ ".contains(letter))
    };
    if path.len() > PATH_CHARS || !path.split('/').all(is_part) {
        return Err(Complaint::new(format!(
            "{path:?} is not an allowed path: use letters, digits, `-`, `_`, `.` and `/`"
        )));
    }
    if is_own_file(path) {
        return Err(Complaint::new(format!("{path} is written by assay: leave it out")));
    }
    let inside = ["environment/files/", "tests/", "solution/", "doubles/"];
    if path == "instruction.md"
        || path == "doubles.toml"
        || inside.iter().any(|folder| path.starts_with(folder))
    {
        return Ok(());
    }
    Err(Complaint::new(format!(
        "{path} is not an allowed path: files are instruction.md, doubles.toml, or below environment/files/, tests/, \
         solution/ or doubles/"
    )))
}

/// Where a task comes from: written into its `task.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance<'a> {
    /// The names of the skills.
    pub skills: &'a [&'a str],
    /// The digest of the skill; several are joined by commas.
    pub digest: &'a str,
    /// The model, as `provider:model`.
    pub model: &'a str,
    /// The versions of the prompts.
    pub prompts: &'a str,
}

#[derive(Serialize)]
struct TaskToml<'a> {
    version: &'static str,
    metadata: Metadata<'a>,
    agent: Agent,
    verifier: Verifier,
    environment: Environment,
}

#[derive(Serialize)]
struct Metadata<'a> {
    title: &'a str,
    category: &'a str,
    difficulty: &'a str,
    required_skills: &'a [&'a str],
    draft: Draft<'a>,
}

#[derive(Serialize)]
struct Draft<'a> {
    skill_digest: &'a str,
    model: &'a str,
    prompts: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    intents: &'a [String],
}

#[derive(Serialize)]
struct Agent {
    timeout_sec: f64,
}

#[derive(Serialize)]
struct Verifier {
    timeout_sec: f64,
}

#[derive(Serialize)]
struct Environment {
    cpus: u32,
    memory_mb: u32,
    allow_internet: bool,
}

/// Writes a proposal as a new task folder in Harbor's layout: its files, a `task.toml` and a Dockerfile without anything to
/// build.
///
/// # Errors
/// A file cannot be written, or `into` exists.
pub fn write_task(
    into: &Path,
    idea: &Idea,
    proposal: &Proposal,
    provenance: &Provenance<'_>,
    inputs: &Path,
) -> io::Result<()> {
    if into.symlink_metadata().is_ok() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder exists"));
    }
    fs::create_dir_all(into)?;
    let toml = TaskToml {
        version: "1.0",
        metadata: Metadata {
            title: &idea.title,
            category: &idea.category,
            difficulty: &idea.difficulty,
            required_skills: provenance.skills,
            draft: Draft {
                skill_digest: provenance.digest,
                model: provenance.model,
                prompts: provenance.prompts,
                intents: &idea.intents,
            },
        },
        agent: Agent { timeout_sec: 600.0 },
        verifier: Verifier { timeout_sec: 60.0 },
        environment: Environment { cpus: 1, memory_mb: 1024, allow_internet: false },
    };
    let toml = toml::to_string(&toml).map_err(io::Error::other)?;
    fs::write(into.join("task.toml"), toml)?;
    apply(into, proposal, inputs)
}

/// Writes the files of a proposal into a task folder, copies its inputs from the folder `inputs`, and removes those that it deletes.
///
/// # Errors
/// A file cannot be written or removed.
pub fn apply(folder: &Path, proposal: &Proposal, inputs: &Path) -> io::Result<()> {
    for path in &proposal.delete {
        match fs::remove_file(folder.join(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    for file in &proposal.files {
        let path = folder.join(&file.path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, &file.text)?;
        if path.extension().is_some_and(|extension| extension == "sh") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    for copy in &proposal.copies {
        let path = folder.join(&copy.path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        let content = assay_fs::read_within(inputs, Path::new(&copy.input), INPUT_BYTES)?;
        fs::write(&path, content.bytes)?;
    }
    write_runner(folder)?;
    write_dockerfile(folder)
}

/// Writes what runs the checks of a task with items.
fn write_runner(folder: &Path) -> io::Result<()> {
    if !folder.join(ITEMS_FILE).is_file() {
        return Ok(());
    }
    for (path, text) in RUNNER {
        fs::write(folder.join(path), text)?;
    }
    fs::set_permissions(folder.join("tests/test.sh"), fs::Permissions::from_mode(0o755))
}

/// Writes the Dockerfile of a task: it copies the given files, if there are any.
///
/// # Errors
/// It cannot be written.
pub fn write_dockerfile(folder: &Path) -> io::Result<()> {
    let files = folder.join("environment/files");
    let copy = if files.is_dir() { "COPY files /app\n" } else { "" };
    fs::create_dir_all(folder.join("environment"))?;
    fs::write(folder.join("environment/Dockerfile"), format!("FROM {IMAGE}\nWORKDIR /app\n{copy}"))
}

/// The text files of a task folder that a model may write. Links, large files and what is no text are left out.
pub fn read_task(folder: &Path) -> Vec<TaskFile> {
    let nodes = tree::walk(folder).nodes;
    let files = nodes.iter().filter(|node| node.kind == FileKind::File);
    let texts = files.filter_map(|node| {
        let path = node.path.to_str().filter(|path| check_path(path).is_ok())?.to_owned();
        let content = assay_fs::read_within(folder, &node.path, FILE_BYTES as u64).ok()?;
        let text = String::from_utf8(content.bytes).ok().filter(|_| !content.truncated)?;
        Some(TaskFile { path, text })
    });
    texts.take(FILES).collect()
}
