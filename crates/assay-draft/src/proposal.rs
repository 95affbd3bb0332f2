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
use assay_judge::format::slug;
use assay_judge::{Item, Rubric};
use assay_syntax::reply::read_document;
use serde::{Deserialize, Serialize};

use crate::complaint::Complaint;
use crate::sources::{InputFile, Intent};

/// Most characters of a task's name.
pub const NAME_CHARS: usize = 40;

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

/// The rubric's file.
const RUBRIC: &str = "tests/rubric.json";

/// Files that every task has.
const REQUIRED: [&str; 3] = ["instruction.md", "tests/test.sh", "solution/solve.sh"];

/// An idea of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idea {
    /// The name of the task: lower-case letters, digits and hyphens.
    pub name: String,
    /// A title.
    #[serde(default)]
    pub title: String,
    /// The kind of work.
    #[serde(default)]
    pub category: String,
    /// `easy`, `medium` or `hard`.
    #[serde(default)]
    pub difficulty: String,
    /// What is given and what has to be delivered.
    pub summary: String,
    /// What tests check.
    #[serde(default)]
    pub checks: Vec<String>,
    /// What only a reader can decide.
    #[serde(default)]
    pub judged: Vec<String>,
    /// What test doubles replace.
    #[serde(default)]
    pub doubles: Vec<String>,
    /// The ids of the intents that it serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intents: Vec<String>,
}

/// An intent that no idea serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedIntent {
    /// Its id.
    pub id: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

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
struct IdeasReply {
    ideas: Vec<Idea>,
    #[serde(default)]
    unused: Vec<UnusedIntent>,
}

/// Reads ideas: at most `count`, with unique names of the right form, and the intents that none of them serves.
///
/// # Errors
/// The reply contains no JSON of the form, no idea, or an id that none of `intents` has. The message is a complaint to the
/// model.
pub fn read_ideas(
    reply: &str,
    count: usize,
    intents: &[Intent],
) -> Result<(Vec<Idea>, Vec<UnusedIntent>), Complaint> {
    let IdeasReply { mut ideas, mut unused } = read_document(reply)?;
    let is_known = |id: &String| intents.iter().any(|intent| &intent.id == id);
    let named = ideas.iter().flat_map(|idea| &idea.intents).chain(unused.iter().map(|unused| &unused.id));
    if let Some(id) = named.into_iter().find(|id| !is_known(id)) {
        return Err(Complaint::new(format!("no intent has the id {id:?}")));
    }
    ideas.truncate(count);
    if ideas.is_empty() {
        return Err(Complaint::new("`ideas` is empty"));
    }
    let mut names = BTreeSet::new();
    for idea in &mut ideas {
        if idea.summary.trim().is_empty() {
            return Err(Complaint::new(format!("the idea {:?} has no summary", idea.name)));
        }
        let ascii: String = idea.name.chars().filter(char::is_ascii).take(NAME_CHARS).collect();
        let name = slug(&ascii);
        let name = if name.is_empty() { "task".to_owned() } else { name };
        let free = (1..).map(|number| if number == 1 { name.clone() } else { format!("{name}-{number}") });
        idea.name = free.into_iter().find(|name| names.insert(name.clone())).unwrap_or(name);
        if !["easy", "medium", "hard"].contains(&idea.difficulty.as_str()) {
            "medium".clone_into(&mut idea.difficulty);
        }
    }
    let is_served = |id: &String| ideas.iter().any(|idea| idea.intents.contains(id));
    unused.retain(|unused| !is_served(&unused.id));
    for intent in intents.iter().filter(|intent| !is_served(&intent.id)) {
        if !unused.iter().any(|unused| unused.id == intent.id) {
            unused
                .push(UnusedIntent { id: intent.id.clone(), reason: "the model gives no reason".to_owned() });
        }
    }
    Ok((ideas, unused))
}

#[derive(Deserialize)]
struct FilesReply {
    files: Vec<ReplyFile>,
    #[serde(default)]
    delete: Vec<String>,
    #[serde(default)]
    rubric: Option<Vec<ReplyItem>>,
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

#[derive(Deserialize)]
struct ReplyItem {
    text: String,
    #[serde(default = "one")]
    points: f64,
}

fn one() -> f64 {
    1.0
}

/// Reads the files of a new task.
///
/// # Errors
/// The reply contains no JSON of the form, a path or size is not allowed, or a required file is missing. The message is a
/// complaint to the model.
pub fn read_files(reply: &str, inputs: &[InputFile]) -> Result<Proposal, Complaint> {
    let proposal = read_changes(reply, inputs)?;
    let missing = |name: &&&str| !proposal.files.iter().any(|file| file.path == **name);
    match REQUIRED.iter().find(missing) {
        Some(name) => Err(Complaint::new(format!("{name} is missing"))),
        None => Ok(proposal),
    }
}

/// Reads changes to the files of a task.
///
/// # Errors
/// As [`read_files`], but no file is required.
pub fn read_changes(reply: &str, inputs: &[InputFile]) -> Result<Proposal, Complaint> {
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
        Some(items) if items.is_empty() => delete.push(RUBRIC.to_owned()),
        Some(items) => files.push(TaskFile { path: RUBRIC.to_owned(), text: rubric(&items)? }),
        None => {}
    }
    check_files(&files)?;
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

fn rubric(items: &[ReplyItem]) -> Result<String, Complaint> {
    let items = items.iter().enumerate();
    let items = items.map(|(at, item)| Item::new(format!("item-{}", at + 1), item.text.clone(), item.points));
    let rubric = Rubric::of_items("quality", items.collect());
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
    write_dockerfile(folder)
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
