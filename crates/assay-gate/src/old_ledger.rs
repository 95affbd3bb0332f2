//! The ledger: every look at a version of a skill, in order, so that reruns until success can be seen.
//!
//! A line is a JSON document with the hash of the line before it. A line that was changed, or removed from the middle,
//! breaks the chain.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::policy::LedgerPlace;

/// The name of the file in the commits of a Git reference.
const FILE: &str = "ledger.jsonl";

/// A look of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// `assay.gate-ledger/1`.
    pub schema: String,
    /// When.
    pub at: String,
    /// The commit, if the policy is in a Git repository.
    pub commit: Option<String>,
    /// The hash of the policy and of everything that it names.
    pub policy_hash: String,
    /// The skills that were looked at.
    pub skills: Vec<SkillEntry>,
    /// The hash of the line before; empty in the first.
    pub previous: String,
}

/// A skill in a look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkillEntry {
    /// Its folder.
    pub skill: String,
    /// Its digest.
    pub digest: String,
    /// The hash of the trials and their outcomes: a look at the same results again is not a new one.
    pub evidence: String,
    /// From 1.
    pub look: u32,
    /// The p-value of its claim.
    pub p: Option<f64>,
    /// `pass` or `fail`.
    pub verdict: String,
}

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// It is not there.
    #[error("no ledger at {0}")]
    Missing(String),
    /// A line is not an entry, or does not follow the line before it.
    #[error("{place}:{line}: {message}")]
    Invalid {
        /// The file or reference.
        place: String,
        /// From 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// It cannot be read or written.
    #[error("cannot {what} {place}: {message}")]
    Access {
        /// `read` or `write`.
        what: &'static str,
        /// The file or reference.
        place: String,
        /// Why.
        message: String,
    },
}

/// A ledger, read and checked.
#[derive(Debug)]
pub struct Ledger {
    place: LedgerPlace,
    directory: PathBuf,
    text: String,
    /// Its entries, in order.
    pub entries: Vec<LedgerEntry>,
}

impl Ledger {
    /// Reads a ledger; paths are relative to `directory`, whose repository has the references.
    ///
    /// # Errors
    /// A missing, unreadable or changed ledger.
    pub fn read(place: &LedgerPlace, directory: &Path) -> Result<Self, LedgerError> {
        let text = match place {
            LedgerPlace::File(path) | LedgerPlace::Artifact(path) => {
                let path = directory.join(path);
                std::fs::read_to_string(&path).map_err(|error| match error.kind() {
                    std::io::ErrorKind::NotFound => LedgerError::Missing(path.display().to_string()),
                    _ => access("read", &path.display().to_string(), &error),
                })?
            }
            LedgerPlace::GitRef(name) => {
                if git(directory, &["rev-parse", "--verify", "--quiet", name], None).is_err() {
                    return Err(LedgerError::Missing(name.clone()));
                }
                git(directory, &["cat-file", "blob", &format!("{name}:{FILE}")], None)
                    .map_err(|message| LedgerError::Access { what: "read", place: name.clone(), message })?
            }
        };
        let entries = entries(&text, &describe(place, directory))?;
        Ok(Self { place: place.clone(), directory: directory.to_owned(), text, entries })
    }

    /// An empty ledger, which is written with the first entry.
    pub fn empty(place: &LedgerPlace, directory: &Path) -> Self {
        let (place, directory) = (place.clone(), directory.to_owned());
        Self { place, directory, text: String::new(), entries: Vec::new() }
    }

    /// The number of the look at a version of a skill that has this evidence: its own if it was looked at before, or
    /// the next.
    pub fn look_number(&self, skill: &str, digest: &str, evidence: &str) -> u32 {
        let mut seen: Vec<&str> = Vec::new();
        let skills = self.entries.iter().flat_map(|entry| &entry.skills);
        for entry in skills.filter(|entry| entry.skill == skill && entry.digest == digest) {
            if !seen.contains(&entry.evidence.as_str()) {
                seen.push(&entry.evidence);
            }
        }
        let at = seen.iter().position(|known| *known == evidence).unwrap_or(seen.len());
        u32::try_from(at).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Appends an entry, chained to the last line.
    ///
    /// # Errors
    /// A place that cannot be written, or that another process changed meanwhile.
    pub fn append(&mut self, mut entry: LedgerEntry) -> Result<(), LedgerError> {
        let place = describe(&self.place, &self.directory);
        entry.previous = self.text.lines().last().map_or(String::new(), hash);
        let line = serde_json::to_string(&entry).map_err(|error| access("write", &place, &error))?;
        let text = format!("{}{line}\n", self.text);
        match &self.place {
            LedgerPlace::File(path) | LedgerPlace::Artifact(path) => {
                let path = self.directory.join(path);
                if let Some(parent) = path.parent() {
                    std::fs::create_dir_all(parent).map_err(|error| access("write", &place, &error))?;
                }
                let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
                file.and_then(|mut file| {
                    file.write_all(format!("{line}\n").as_bytes())?;
                    file.sync_all()
                })
                .map_err(|error| access("write", &place, &error))?;
            }
            LedgerPlace::GitRef(name) => {
                write_ref(&self.directory, name, &text).map_err(|message| LedgerError::Access {
                    what: "write",
                    place,
                    message,
                })?;
            }
        }
        self.text = text;
        self.entries.push(entry);
        Ok(())
    }
}

/// A commit on top of a reference, or its first, with the ledger as its only file.
fn write_ref(directory: &Path, name: &str, text: &str) -> Result<(), String> {
    let run = |args: &[&str], input: Option<&str>| {
        git(directory, args, input).map(|output| output.trim().to_owned())
    };
    let before = run(&["rev-parse", "--verify", "--quiet", name], None).ok();
    let blob = run(&["hash-object", "-w", "--stdin"], Some(text))?;
    let tree = run(&["mktree"], Some(&format!("100644 blob {blob}\t{FILE}\n")))?;
    let mut commit = vec!["commit-tree", &tree, "-m", "Add a look of assay gate"];
    if let Some(before) = &before {
        commit.extend(["-p", before]);
    }
    let commit = run(&commit, None)?;
    // Fails if another process moved the reference meanwhile.
    let zero = "0".repeat(commit.len());
    run(&["update-ref", name, &commit, before.as_deref().unwrap_or(&zero)], None).map(|_| ())
}

/// The output of `git`, or its first line of errors.
fn git(directory: &Path, args: &[&str], input: Option<&str>) -> Result<String, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    for (name, value) in [("NAME", "assay gate"), ("EMAIL", "assay@localhost")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    let mut child = command.spawn().map_err(|error| format!("git cannot be started: {error}"))?;
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        stdin.write_all(input.as_bytes()).map_err(|error| error.to_string())?;
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(errors.lines().next().unwrap_or("git failed").to_owned())
}

fn entries(text: &str, place: &str) -> Result<Vec<LedgerEntry>, LedgerError> {
    let mut entries = Vec::new();
    let mut previous = String::new();
    for (number, line) in text.lines().enumerate() {
        let invalid =
            |message: String| LedgerError::Invalid { place: place.to_owned(), line: number + 1, message };
        let entry: LedgerEntry =
            serde_json::from_str(line).map_err(|error| invalid(format!("not an entry: {error}")))?;
        if entry.previous != previous {
            return Err(invalid("it does not follow the line before it: the ledger was changed".to_owned()));
        }
        previous = hash(line);
        entries.push(entry);
    }
    Ok(entries)
}

fn hash(line: &str) -> String {
    format!("blake3:{}", blake3::hash(line.as_bytes()).to_hex())
}

fn describe(place: &LedgerPlace, directory: &Path) -> String {
    match place {
        LedgerPlace::File(path) | LedgerPlace::Artifact(path) => directory.join(path).display().to_string(),
        LedgerPlace::GitRef(name) => name.clone(),
    }
}

fn access(what: &'static str, place: &str, error: &dyn std::fmt::Display) -> LedgerError {
    LedgerError::Access { what, place: place.to_owned(), message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(evidence: &str) -> LedgerEntry {
        LedgerEntry {
            schema: "assay.gate-ledger/1".to_owned(),
            at: "2026-01-01T00:00:00Z".to_owned(),
            commit: None,
            policy_hash: "blake3:0".to_owned(),
            skills: vec![SkillEntry {
                skill: "skills/a".to_owned(),
                digest: "blake3:a".to_owned(),
                evidence: evidence.to_owned(),
                look: 1,
                p: Some(0.2),
                verdict: "fail".to_owned(),
            }],
            previous: String::new(),
        }
    }

    fn check(place: &LedgerPlace, folder: &Path) {
        assert!(matches!(Ledger::read(place, folder), Err(LedgerError::Missing(_))));
        let mut ledger = Ledger::empty(place, folder);
        for evidence in ["one", "two", "one"] {
            ledger.append(entry(evidence)).unwrap();
        }
        let read = Ledger::read(place, folder).unwrap();
        assert_eq!(read.entries, ledger.entries);
        let look = |digest: &str, evidence: &str| read.look_number("skills/a", digest, evidence);
        // The same evidence is the same look; another version of the skill begins anew.
        assert_eq!(["one", "two", "three"].map(|evidence| look("blake3:a", evidence)), [1, 2, 3]);
        assert_eq!(look("blake3:b", "one"), 1);
    }

    #[test]
    fn looks_are_counted_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let place = LedgerPlace::File("gate/ledger.jsonl".into());
        check(&place, folder.path());
        let path = folder.path().join("gate/ledger.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        // A look that is taken out of the middle, or changed, is noticed.
        let lines: Vec<&str> = text.lines().collect();
        for changed in [[lines[0], lines[2]].join("\n"), text.replacen("fail", "pass", 1)] {
            std::fs::write(&path, changed).unwrap();
            let error = Ledger::read(&place, folder.path()).unwrap_err().to_string();
            assert!(error.contains("the ledger was changed") && error.contains(":2:"), "{error}");
        }
    }

    #[test]
    fn looks_are_counted_in_a_git_reference() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet"], None).unwrap();
        check(&LedgerPlace::GitRef("refs/assay/gate".to_owned()), folder.path());
        let log = git(folder.path(), &["log", "--format=%s", "refs/assay/gate"], None).unwrap();
        assert_eq!(log.lines().count(), 3);
    }
}
