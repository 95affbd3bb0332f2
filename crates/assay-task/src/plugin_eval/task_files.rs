//! A case as a task in Harbor's layout.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assay_diagnostic::Io;
use assay_fs::{FileKind, read_within, tree};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::case::EvalCase;
use super::grader::{EvalGrader, GraderCheck};
use super::suite::EvalSuite;
use crate::task::{PLUGIN_EVAL_FOLDER, RUBRIC_FILE};

/// Where the work folder of a case is.
const WORKDIR: &str = "/app";

/// Most bytes of a file of a case.
const FILE_CAP: u64 = 64 << 20;

/// Why a case has no task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Inexpressible {
    /// It continues a conversation.
    #[error("it continues a transcript (`history_file`), which assay's agents cannot do")]
    History,
    /// It changes the system prompt.
    #[error("it adds to the system prompt (`append_system_prompt`), which assay's agents do not support")]
    SystemPrompt,
    /// Its name cannot be that of a folder.
    #[error("its name {0:?} is not a valid folder name")]
    Name(String),
}

#[derive(Serialize)]
struct CaseTaskToml<'a> {
    version: &'a str,
    metadata: CaseMetadata<'a>,
    agent: CaseSeconds,
    verifier: CaseSeconds,
    environment: CaseEnvironment<'a>,
}

#[derive(Serialize)]
struct CaseMetadata<'a> {
    title: &'a str,
    source_format: &'a str,
    tags: &'a [String],
    required_skills: &'a [String],
    assay: CaseLabels<'a>,
}

#[derive(Serialize)]
struct CaseLabels<'a> {
    few_tests: &'a str,
}

#[derive(Serialize)]
struct CaseSeconds {
    timeout_sec: f64,
}

#[derive(Serialize)]
struct CaseEnvironment<'a> {
    cpus: u32,
    memory_mb: u32,
    allow_internet: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: &'a BTreeMap<String, String>,
}

impl EvalCase {
    /// Whether it can be a task.
    ///
    /// # Errors
    /// What of it no task has.
    pub fn check_expressible(&self) -> Result<(), Inexpressible> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_plain = self.name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && self.name.len() <= 80
            && self.name.chars().all(is_name);
        if !is_plain {
            return Err(Inexpressible::Name(self.name.clone()));
        }
        if self.history.is_some() {
            return Err(Inexpressible::History);
        }
        if self.append_system_prompt.is_some() {
            return Err(Inexpressible::SystemPrompt);
        }
        Ok(())
    }

    /// The graders that count in a comparison with an arm without the plugin.
    pub fn counted(&self) -> impl Iterator<Item = &EvalGrader> {
        let has_mocks = self.mocks_only_its_plugin();
        let are_all = self.graders.iter().all(|grader| grader.is_with_only(has_mocks));
        self.graders.iter().filter(move |grader| are_all || !grader.is_with_only(has_mocks))
    }

    /// Whether judges decide a part of its score.
    pub fn is_judged(&self) -> bool {
        self.counted().any(EvalGrader::is_judged)
    }

    /// The rubric of the graders that judges decide, if any of them counts.
    fn rubric(&self) -> Option<String> {
        let judged: Vec<&EvalGrader> = self.counted().filter(|grader| grader.is_judged()).collect();
        let others: f64 =
            self.counted().filter(|grader| !grader.is_judged()).map(|grader| grader.weight).sum();
        let item = |grader: &&EvalGrader| {
            let text = match &grader.check {
                GraderCheck::Llm { criteria, .. } | GraderCheck::Baseline { criteria, .. } => criteria.trim(),
                _ => "",
            };
            json!({ "id": grader.name, "text": text, "points": grader.weight })
        };
        let items: Vec<_> = judged.iter().map(item).collect();
        let rubric = json!({
            "schema": "assay.rubric/1", "tests_weight": others, "sets": [{ "name": "graders", "items": items }],
        });
        (!judged.is_empty()).then(|| format!("{rubric:#}\n"))
    }
}

impl EvalSuite {
    /// The files of the task that a case is, by their paths in its folder. `skills` are the names of the plugin's skills.
    ///
    /// The case is in it as it is: `tests/plugin-eval/` is a plugin with this one case and no skills.
    ///
    /// # Errors
    /// A file of the case cannot be read.
    pub fn task_files(
        &self,
        case: &EvalCase,
        skills: &[String],
        image: &str,
    ) -> Result<Vec<(PathBuf, Vec<u8>)>, Io> {
        let inner = Path::new(PLUGIN_EVAL_FOLDER);
        let copy = if case.add_dirs.is_empty() { "" } else { "COPY files /app\n" };
        // Only their names matter: by them a mock is known as one of the plugin's own servers.
        let servers: Map<String, Value> =
            self.plugin.servers.iter().map(|name| (name.clone(), json!({ "command": "false" }))).collect();
        let manifest = json!({ "name": self.plugin.name, "version": "0", "mcpServers": servers });
        let mut files: Vec<(PathBuf, Vec<u8>)> = vec![
            ("task.toml".into(), task_toml(case, skills).into_bytes()),
            ("instruction.md".into(), format!("{}\n", case.prompt.trim_end()).into_bytes()),
            (
                "environment/Dockerfile".into(),
                format!("FROM {image}\nWORKDIR {WORKDIR}\n{copy}").into_bytes(),
            ),
            (inner.join(".claude-plugin/plugin.json"), format!("{manifest:#}\n").into_bytes()),
        ];
        if let Some(rubric) = case.rubric() {
            files.push((RUBRIC_FILE.into(), rubric.into_bytes()));
        }
        let evals = inner.join("evals");
        let own = case.dir.strip_prefix(&self.dir).unwrap_or(&case.dir);
        add_folder(&case.dir, &evals.join(own), &mut files)?;
        add_folder(&self.dir.join("mocks"), &evals.join("mocks"), &mut files)?;
        for folder in &case.add_dirs {
            add_folder(&case.dir.join(folder), &Path::new("environment/files").join(folder), &mut files)?;
        }
        Ok(files)
    }
}

fn add_folder(from: &Path, to: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) -> Result<(), Io> {
    if !from.is_dir() {
        return Ok(());
    }
    for node in tree::walk(from).nodes.into_iter().filter(|node| node.kind == FileKind::File) {
        let content =
            read_within(from, &node.path, FILE_CAP).map_err(Io::new("read", from.join(&node.path)))?;
        files.push((to.join(&node.path), content.bytes));
    }
    Ok(())
}

fn task_toml(case: &EvalCase, skills: &[String]) -> String {
    let file = CaseTaskToml {
        version: "1.0",
        metadata: CaseMetadata {
            title: &case.name,
            source_format: "claude plugin eval",
            tags: &case.tags,
            required_skills: skills,
            assay: CaseLabels { few_tests: "the graders of the plugin's case decide" },
        },
        agent: CaseSeconds { timeout_sec: f64::from(case.timeout_seconds) },
        verifier: CaseSeconds { timeout_sec: 60.0 },
        environment: CaseEnvironment { cpus: 1, memory_mb: 1024, allow_internet: false, env: &case.env },
    };
    toml::to_string(&file).unwrap_or_default()
}

/// Writes files below a folder that is not there yet. Nothing is left behind if it fails.
///
/// # Errors
/// The folder exists, or a file cannot be written.
pub fn write_new_folder(into: &Path, files: &[(PathBuf, Vec<u8>)]) -> Result<(), Io> {
    if into.symlink_metadata().is_ok() {
        return Err(Io::new("create", into)(std::io::Error::from(std::io::ErrorKind::AlreadyExists)));
    }
    let written = files.iter().try_for_each(|(path, bytes)| {
        let path = into.join(path);
        let folder = path.parent().unwrap_or(into);
        fs::create_dir_all(folder).map_err(Io::new("create", folder))?;
        fs::write(&path, bytes).map_err(Io::new("write", &path))
    });
    if written.is_err() {
        // What is left of it is no task.
        let _ = fs::remove_dir_all(into);
    }
    written
}
