//! Tasks as cases of `claude plugin eval`, where its graders can express them.
//!
//! A case has a prompt, files of its work folder, and graders that read the agent's text and files. A task is one if
//! a rubric alone grades it and its environment is no more than files; everything else is listed with the reason. A
//! task that was made of a case is that case again. The client grants tools and runs scaffold scripts only if its user says so: [`ExportedCases::needs_scaffold`].

mod error;
mod graders;
mod mocks;
mod refusal;
#[cfg(test)]
mod tests;
mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use assay_fs::{Caps, DOCUMENT_CAP, FileKind, LeftOut, copy_tree, read_text, tree};
use assay_task::plugin_eval::EvalCase;
use assay_task::{PLUGIN_EVAL_FOLDER, Task};
use serde_json::{Value, json};

use crate::rubric_of;
pub use error::PluginExportError;
use graders::{CaseGrader, graders};
use mocks::mocks;
pub use refusal::CaseRefusal;
use workspace::{Workspace, check_environment, lay_out, relative_instruction, work_folder};

/// Most seconds of a run that the client accepts (Claude Code 2.1.330).
const MOST_SECONDS: f64 = 3_600.0;

/// The folder of a case with the files of its work folder.
const WORKSPACE: &str = "workspace";

/// The folder of mocks, of a suite or a case.
const MOCKS: &str = "mocks";

/// The script that fills the work folder of a run.
const SCAFFOLD: &str = "scaffold.sh";

/// How cases are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseOptions {
    /// Most turns of a run; the client accepts 1 to 200.
    pub max_turns: u32,
    /// Runs in each arm; the client accepts 1 to 50.
    pub runs: u32,
    /// What judges read: `last_message`, `trace`, `files`, or the path of a file of the work folder.
    pub focus: String,
    /// Tools that cases ask for.
    pub tools: Vec<String>,
}

/// Tools that read, and those that write files: what cases ask for by default.
pub const CASE_TOOLS: [&str; 6] = ["Read", "Glob", "Grep", "Skill", "Write", "Edit"];

/// Tools that the client grants without `--allow-tools` (Claude Code 2.1.330).
const UNGATED: [&str; 4] = ["Read", "Glob", "Grep", "Skill"];

/// What was written.
#[derive(Debug, Default)]
pub struct ExportedCases {
    /// The cases, by the names of their tasks.
    pub cases: Vec<String>,
    /// The files, without those of work folders.
    pub files: Vec<PathBuf>,
    /// Tasks that cannot be expressed, with the first reason.
    pub left_out: Vec<(String, CaseRefusal)>,
    /// What of a case differs from its task.
    pub notes: Vec<String>,
    /// Whether a case has a scaffold script, which the client runs only with `--scaffold`.
    pub needs_scaffold: bool,
}

impl ExportedCases {
    /// The client's command that runs these cases in the folder `out`, with what they need.
    pub fn client_command(&self, tools: &[String], out: &Path) -> String {
        let plugin = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut words = vec!["claude plugin eval".to_owned(), plugin.display().to_string()];
        let name = out.file_name().unwrap_or_default().to_string_lossy();
        if !name.is_empty() && name != "evals" {
            words.push(format!("--eval-dir {name}"));
        }
        if self.needs_scaffold {
            words.push("--scaffold".to_owned());
        }
        let gated: Vec<&str> =
            tools.iter().map(String::as_str).filter(|tool| !UNGATED.contains(tool)).collect();
        if !gated.is_empty() {
            words.push(format!("--allow-tools {}", gated.join(" ")));
        }
        words.join(" ")
    }
}

/// Writes the tasks that can be expressed as cases below the folder `into`, a folder for each.
///
/// # Errors
/// Two tasks have one name, a case exists already, or a file cannot be read or written. Names and existing cases are
/// found before the first file is written.
pub fn export_plugin_cases(
    tasks: &[Task],
    options: &CaseOptions,
    into: &Path,
) -> Result<ExportedCases, PluginExportError> {
    let mut names = BTreeSet::new();
    for task in tasks {
        if !names.insert(&task.name) {
            return Err(PluginExportError::Name(task.name.clone()));
        }
        let folder = into.join(&task.name);
        if folder.symlink_metadata().is_ok() {
            return Err(PluginExportError::Exists(folder));
        }
    }
    let write = |path: &Path, source| PluginExportError::Write { path: path.to_path_buf(), source };
    fs::create_dir_all(into).map_err(|source| write(into, source))?;
    let mut exported = ExportedCases::default();
    for task in tasks {
        let case = match case_of(task, options, into)? {
            Ok(case) => case,
            Err(reason) => {
                exported.left_out.push((task.name.clone(), reason));
                continue;
            }
        };
        let folder = into.join(&task.name);
        for (name, text) in &case.files {
            let path = folder.join(name);
            let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
            parent.and_then(|()| fs::write(&path, text)).map_err(|source| write(&path, source))?;
            exported.files.push(path);
        }
        for (from, to) in case.folders() {
            let report = copy_tree(from, &folder.join(to), &Caps::default())?;
            let note = |left: &LeftOut| {
                format!("{}: {} is left out: {}", task.name, left.path.display(), left.reason)
            };
            exported.notes.extend(report.left_out.iter().map(note));
        }
        exported.needs_scaffold |= case.has_scaffold;
        exported.notes.extend(case.notes.into_iter().map(|note| format!("{}: {note}", task.name)));
        exported.cases.push(task.name.clone());
    }
    Ok(exported)
}

/// A case that is to be written.
#[derive(Default)]
struct CaseFolder {
    files: BTreeMap<PathBuf, String>,
    workspace: Option<Workspace>,
    /// Folders that are copied as they are, and where to below the case's folder.
    copied: Vec<(PathBuf, &'static str)>,
    has_scaffold: bool,
    notes: Vec<String>,
}

impl CaseFolder {
    /// What is copied, and where to below the case's folder.
    fn folders(&self) -> impl Iterator<Item = (&Path, &str)> {
        let copied = self.copied.iter().map(|(from, to)| (from.as_path(), *to));
        copied.chain(self.workspace.iter().map(|workspace| (workspace.folder.as_path(), WORKSPACE)))
    }

    /// The case that a task was made of, with the mocks of its suite, which those of the case replace.
    fn of_case(case: &EvalCase, root: &Path) -> Result<Self, PluginExportError> {
        let mut files = BTreeMap::new();
        let shared = root.join(PLUGIN_EVAL_FOLDER).join("evals").join(MOCKS);
        let nodes = if shared.is_dir() { tree::walk(&shared).nodes } else { Vec::new() };
        for node in nodes.iter().filter(|node| node.kind == FileKind::File) {
            let path = Path::new(MOCKS).join(&node.path);
            if !case.dir.join(&path).exists() {
                let text = read_text(&shared.join(&node.path), DOCUMENT_CAP);
                let text =
                    text.map_err(|source| PluginExportError::Read { path: shared.join(&node.path), source })?;
                files.insert(path, text);
            }
        }
        let copied = vec![(case.dir.clone(), "")];
        Ok(Self { files, copied, has_scaffold: case.scaffold.is_some(), ..Self::default() })
    }
}

fn case_of(
    task: &Task,
    options: &CaseOptions,
    scratch: &Path,
) -> Result<Result<CaseFolder, CaseRefusal>, PluginExportError> {
    if let Some(case) = &task.eval_case {
        return Ok(Ok(CaseFolder::of_case(case, &task.root)?));
    }
    let mut parts = match parts_of(task, options) {
        Ok(parts) => parts,
        Err(reason) => return Ok(Err(reason)),
    };
    let workspace = match lay_out(task, scratch)? {
        Ok(workspace) => workspace,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut notes = Vec::new();
    if let Some(image) = &task.environment.image {
        notes.push(format!(
            "a run has the programs of its machine, not those of {}",
            assay_diagnostic::escape(image)
        ));
    }
    let (seconds, note) = seconds(task);
    notes.extend(note);
    let mut files = std::mem::take(&mut parts.mocks);
    let CaseOptions { max_turns, runs, tools, .. } = options;
    let front = format!(
        "max_turns: {max_turns}\ntimeout_seconds: {seconds}\nruns: {runs}\nallowed_tools: {}\n",
        json!(tools)
    );
    files.insert("prompt.md".into(), format!("---\n{front}---\n\n{}\n", parts.prompt.trim()));
    for grader in &parts.graders {
        files.insert(Path::new("graders").join(format!("{}.md", grader.name)), grader.text());
    }
    if let Some(case) = case_yaml(task, &parts, workspace.is_some()) {
        files.insert("case.yaml".into(), case);
    }
    if workspace.is_some() {
        let script = format!(
            "#!/bin/bash\n# Copies the files of the work folder.\nset -e\ncp -R \"$(dirname \"${{BASH_SOURCE[0]}}\")/{WORKSPACE}/.\" .\n"
        );
        files.insert(SCAFFOLD.into(), script);
    }
    let has_scaffold = workspace.is_some();
    Ok(Ok(CaseFolder { files, workspace, has_scaffold, notes, ..CaseFolder::default() }))
}

/// The texts of a case.
struct CaseParts {
    prompt: String,
    graders: Vec<CaseGrader>,
    mocks: BTreeMap<PathBuf, String>,
    title: Option<String>,
    context: Option<String>,
}

fn parts_of(task: &Task, options: &CaseOptions) -> Result<CaseParts, CaseRefusal> {
    if !task.steps.is_empty() || task.has_unlisted_steps {
        return Err(CaseRefusal::Steps);
    }
    if task.graded_by.has_tests() {
        let file = if task.layout == assay_task::Layout::TaskMd { "verify.sh" } else { "tests/test.sh" };
        return Err(CaseRefusal::Tests(file));
    }
    check_environment(task)?;
    let rubric = rubric_of(task)?;
    Ok(CaseParts {
        prompt: relative_instruction(&task.instruction, &work_folder(task))?,
        graders: graders(&rubric, &options.focus)?,
        mocks: task.doubles.as_deref().map_or_else(|| Ok(BTreeMap::new()), mocks)?,
        title: rubric.title,
        context: rubric.context,
    })
}

/// What only `case.yaml` has a key for. JSON is YAML.
fn case_yaml(task: &Task, parts: &CaseParts, has_files: bool) -> Option<String> {
    let mut case = json!({ "schema_version": "1.0", "name": task.name });
    let own = case.as_object_mut()?;
    let mut add = |key: &str, value: Value| own.insert(key.to_owned(), value);
    if let Some(title) = &parts.title {
        add("description", json!(title));
    }
    if let Some(context) = &parts.context {
        add("expected_outcome", json!(context));
    }
    if task.negative_control {
        add("tags", json!(["negative-control"]));
    }
    if has_files {
        add("context", json!({ "scaffold_script": SCAFFOLD }));
    }
    (own.len() > 2).then(|| format!("{case:#}\n"))
}

/// The seconds of a run, rounded up, and what is said if they are fewer than the task's.
fn seconds(task: &Task) -> (f64, Option<String>) {
    match task.config.agent_timeout {
        Some(own) if own <= MOST_SECONDS => (own.ceil().max(1.0), None),
        own => {
            let of = own.map_or_else(|| "no limit".to_owned(), |own| format!("{own} s"));
            let note = format!(
                "a run ends after {MOST_SECONDS} s, the most that the client allows; the task has {of}"
            );
            (MOST_SECONDS, Some(note))
        }
    }
}
