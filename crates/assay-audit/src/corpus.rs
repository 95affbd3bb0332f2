//! Folders of traces, by arm, task and condition.
//!
//! `traces/<arm>/<task>/{with,without}/r<k>/*.jsonl` (also `.gz` and `.zst`), `skills/<task>.md` or
//! `skills/<task>/SKILL.md`, `tasks/<task>.md`. The folders say what a trace is; where its name
//! follows the release's grammar, it has to be of the same task.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How the names of logs end.
const ENDINGS: [&str; 3] = [".jsonl", ".jsonl.gz", ".jsonl.zst"];

/// With the skill or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Condition {
    /// The skill was there.
    With,
    /// It was not.
    Without,
}

impl Condition {
    /// The name in folders and documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::With => "with",
            Self::Without => "without",
        }
    }
}

/// One trace of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its path below `traces/`, with slashes.
    pub name: String,
    /// With the skill or without.
    pub condition: Condition,
    /// Date and time in its name, as `YYYYMMDD_HHMMSS`; empty where the name does not follow the
    /// release's grammar.
    pub stamp: String,
}

/// The traces of one task in one arm, in the order of their stamps, then names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// The arm's folder.
    pub arm: String,
    /// The task's folder.
    pub task: String,
    /// Runs with the skill.
    pub with: Vec<TraceFile>,
    /// Runs without.
    pub without: Vec<TraceFile>,
    /// The skill's document, where there is one.
    pub skill: Option<PathBuf>,
    /// The task's prompt, where there is one.
    pub prompt: Option<PathBuf>,
}

/// A warning about a corpus. The rest of it is audited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The file or folder.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is odd, and what was done about it.
    pub message: String,
}

/// A corpus: its groups by arm and task, both by name, and what was odd.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corpus {
    /// By arm, then task.
    pub groups: Vec<Group>,
    /// What was left out.
    pub notices: Vec<Notice>,
}

/// Why there is no corpus.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A folder could not be listed.
    #[error("cannot list {}", path.display())]
    List {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The folder is not a corpus.
    #[error("{} contains no traces/<arm>/<task>/with and without", path.display())]
    None {
        /// Which.
        path: PathBuf,
    },
}

/// A name by the release's grammar.
struct Named<'a> {
    task: &'a str,
    condition: Condition,
    stamp: &'a str,
}

impl Corpus {
    /// Finds the traces below a folder. Links are not followed.
    ///
    /// # Errors
    /// Where a folder cannot be listed, and where it holds no trace.
    pub fn find(root: &Path) -> Result<Self, CorpusError> {
        let traces = root.join("traces");
        let mut corpus = Self::default();
        if !traces.is_dir() {
            return Err(CorpusError::None { path: root.to_owned() });
        }
        for arm in folders(&traces)? {
            for task in folders(&traces.join(&arm))? {
                corpus.group(root, &arm, task)?;
            }
        }
        if corpus.groups.is_empty() {
            return Err(CorpusError::None { path: root.to_owned() });
        }
        Ok(corpus)
    }

    fn group(&mut self, root: &Path, arm: &str, task: String) -> Result<(), CorpusError> {
        let at = root.join("traces").join(arm).join(&task);
        let mut group = Group { arm: arm.to_owned(), ..Group::default() };
        let skills = root.join("skills");
        let choices = [skills.join(format!("{task}.md")), skills.join(&task).join("SKILL.md")];
        group.skill = choices.into_iter().find(|path| path.is_file());
        group.prompt = Some(root.join("tasks").join(format!("{task}.md"))).filter(|path| path.is_file());
        for condition in [Condition::With, Condition::Without] {
            let files = self.condition(&at.join(condition.name()), arm, &task, condition)?;
            match condition {
                Condition::With => group.with = files,
                Condition::Without => group.without = files,
            }
        }
        if group.with.is_empty() && group.without.is_empty() {
            return Ok(());
        }
        group.task = task;
        self.groups.push(group);
        Ok(())
    }

    fn condition(
        &mut self,
        at: &Path,
        arm: &str,
        task: &str,
        condition: Condition,
    ) -> Result<Vec<TraceFile>, CorpusError> {
        let mut files = Vec::new();
        if !at.is_dir() {
            return Ok(files);
        }
        for run in folders(at)? {
            for (file, kind) in entries(&at.join(&run))? {
                let is_log = ENDINGS.iter().any(|ending| file.ends_with(ending));
                if !kind.is_file() || !is_log {
                    continue;
                }
                let path = at.join(&run).join(&file);
                let named = by_name(&file);
                if let Some((message, left_out)) =
                    named.as_ref().and_then(|named| disagreement(named, task, condition))
                {
                    self.notices.push(Notice { path: path.clone(), line: None, message });
                    if left_out {
                        continue;
                    }
                }
                let name = [arm, task, condition.name(), &run, &file].join("/");
                let stamp = named.map_or_else(String::new, |named| named.stamp.to_owned());
                files.push(TraceFile { path, name, condition, stamp });
            }
        }
        files.sort_by(|a, b| (&a.stamp, &a.name).cmp(&(&b.stamp, &b.name)));
        Ok(files)
    }

    /// The groups of each arm.
    pub fn arms(&self) -> BTreeMap<&str, Vec<&Group>> {
        let mut arms: BTreeMap<&str, Vec<&Group>> = BTreeMap::new();
        for group in &self.groups {
            arms.entry(&group.arm).or_default().push(group);
        }
        arms
    }
}

/// What is wrong with a name, and whether the trace is of no use for it. The folder tells the
/// condition, so that a file may be moved without being renamed.
fn disagreement(named: &Named<'_>, task: &str, condition: Condition) -> Option<(String, bool)> {
    if named.task != task {
        return Some((format!("its name is of another task, {}; excluded", named.task), true));
    }
    let (folder, name) = (condition.name(), named.condition.name());
    (name != folder)
        .then(|| (format!("its name says {name} the skill; treated as {folder}, like its folder"), false))
}

/// `claude_<task>_use-agent-<true|false>_use-skill-<true|false>_<8 digits>_<6 digits>….jsonl`, the
/// task as short as can be.
fn by_name(file: &str) -> Option<Named<'_>> {
    let rest = file.strip_prefix("claude_")?;
    for (at, _) in rest.match_indices("_use-agent-") {
        let task = &rest[..at];
        let flags = &rest[at + "_use-agent-".len()..];
        let Some(flags) = flags.strip_prefix("true").or_else(|| flags.strip_prefix("false")) else {
            continue;
        };
        let Some(flags) = flags.strip_prefix("_use-skill-") else { continue };
        let (condition, stamp) = match (flags.strip_prefix("true_"), flags.strip_prefix("false_")) {
            (Some(stamp), _) => (Condition::With, stamp),
            (_, Some(stamp)) => (Condition::Without, stamp),
            _ => continue,
        };
        let digits = |text: Option<&str>| text.is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit()));
        if digits(stamp.get(..8)) && stamp.get(8..9) == Some("_") && digits(stamp.get(9..15)) {
            return Some(Named { task, condition, stamp: &stamp[..15] })
                .filter(|named| !named.task.is_empty());
        }
    }
    None
}

/// The folders in a folder, by name.
fn folders(at: &Path) -> Result<Vec<String>, CorpusError> {
    Ok(entries(at)?.into_iter().filter(|(_, kind)| kind.is_dir()).map(|(name, _)| name).collect())
}

/// The entries of a folder, by name. Names that are not UTF-8 are skipped.
fn entries(at: &Path) -> Result<Vec<(String, fs::FileType)>, CorpusError> {
    let fail = |source| CorpusError::List { path: at.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(at).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let kind = entry.file_type().map_err(fail)?;
        found.extend(entry.file_name().into_string().ok().map(|name| (name, kind)));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}
