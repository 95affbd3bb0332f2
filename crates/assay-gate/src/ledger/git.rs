//! A ledger in a Git reference: its files in the tree of its newest commit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::entry::CAP;
use crate::git::{Git, GitError};

/// How long a command may take that only reads and writes files.
const LOCAL: Duration = Duration::from_mins(1);

/// How long a fetch or a push may take.
const REMOTE: Duration = Duration::from_mins(2);

/// Why Git did not read or write a ledger.
#[derive(Debug, thiserror::Error)]
pub(super) enum LedgerGitError {
    /// A command failed.
    #[error("git {command}: {source}")]
    Git {
        /// Which.
        command: String,
        /// Why.
        source: GitError,
    },
    /// Objects are not as Git writes them.
    #[error("git cat-file: cannot read its output")]
    Objects,
}

/// Files with their content, by name.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// A repository.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    directory: PathBuf,
    git: Git,
}

/// The files of a commit, and everything that its tree has.
#[derive(Debug, Clone, Default)]
pub(super) struct Snapshot {
    pub(super) commit: Option<String>,
    pub(super) files: Files,
    /// Entries of the tree by name, as `git mktree` takes them.
    tree: BTreeMap<String, String>,
}

/// How an attempt to move a reference ended.
pub(super) enum Moved {
    Done,
    /// Another process moved it meanwhile, or it cannot be moved.
    Refused(LedgerGitError),
}

impl Repository {
    pub(super) fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), git: Git::of_ledger(directory) }
    }

    /// Whether a name is that of a remote of the repository.
    pub(super) fn has_remote(&self, name: &str) -> bool {
        self.text(&["remote"], None).is_ok_and(|names| names.lines().any(|known| known == name))
    }

    /// The URL of a remote, with what the configuration replaces in it.
    pub(super) fn remote_url(&self, name: &str) -> String {
        self.text(&["remote", "get-url", name], None).unwrap_or_else(|_| name.to_owned())
    }

    /// The folder that all work trees of the repository share.
    pub(super) fn common_folder(&self) -> Option<PathBuf> {
        let folder = self.text(&["rev-parse", "--git-common-dir"], None).ok()?;
        std::fs::canonicalize(self.directory.join(folder)).ok()
    }

    /// The first commits of the history that a commit has here.
    pub(super) fn roots(&self) -> String {
        self.text(&["rev-list", "--max-parents=0", "HEAD"], None).unwrap_or_default()
    }

    /// What a reference of this repository has; nothing if there is none.
    pub(super) fn read_local(&self, name: &str) -> Result<Snapshot, LedgerGitError> {
        match self.text(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")], None) {
            Ok(commit) => self.snapshot(&commit),
            Err(_) => Ok(Snapshot::default()),
        }
    }

    /// What a reference of a remote has; nothing if there is none.
    pub(super) fn read_remote(&self, remote: &str, name: &str) -> Result<Snapshot, LedgerGitError> {
        let Some(commit) = self.remote_commit(remote, name)? else { return Ok(Snapshot::default()) };
        let exists = ["cat-file", "-e", &format!("{commit}^{{commit}}")];
        if self.run(&exists, None, LOCAL).is_err() {
            let fetch = [
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-recurse-submodules",
                "--no-auto-maintenance",
                "--refmap=",
                "--",
                remote,
                name,
            ];
            self.run(&fetch, None, REMOTE)?;
        }
        self.snapshot(&commit)
    }

    fn remote_commit(&self, remote: &str, name: &str) -> Result<Option<String>, LedgerGitError> {
        let listed = self.run(&["ls-remote", "--", remote, name], None, REMOTE)?;
        let listed = String::from_utf8_lossy(&listed);
        let mut lines = listed.lines().filter_map(|line| line.split_once('\t'));
        Ok(lines.find(|(_, found)| *found == name).map(|(commit, _)| commit.to_owned()))
    }

    fn snapshot(&self, commit: &str) -> Result<Snapshot, LedgerGitError> {
        let listed = self.run(&["ls-tree", "-z", commit], None, LOCAL)?;
        let listed = String::from_utf8_lossy(&listed);
        let mut snapshot = Snapshot { commit: Some(commit.to_owned()), ..Snapshot::default() };
        let mut blobs = Vec::new();
        for line in listed.split('\0') {
            let Some((about, name)) = line.split_once('\t') else { continue };
            snapshot.tree.insert(name.to_owned(), line.to_owned());
            let mut words = about.split(' ').skip(1);
            if let (Some("blob"), Some(blob)) = (words.next(), words.next()) {
                blobs.push((name.to_owned(), blob.to_owned()));
            }
        }
        let input: String = blobs.iter().map(|(_, blob)| format!("{blob}\n")).collect();
        let output = self.run(&["cat-file", "--batch"], Some(input.as_bytes()), REMOTE)?;
        let mut rest = output.as_slice();
        for (name, _) in blobs {
            let content = next_object(&mut rest).ok_or(LedgerGitError::Objects)?;
            snapshot.files.insert(name, content);
        }
        Ok(snapshot)
    }

    /// A commit on top of a snapshot, with further files.
    pub(super) fn commit(
        &self,
        before: &Snapshot,
        files: &Files,
        message: &str,
    ) -> Result<String, LedgerGitError> {
        let mut tree = before.tree.clone();
        for (name, content) in files {
            let blob = self.text(&["hash-object", "-w", "--stdin"], Some(content))?;
            tree.insert(name.clone(), format!("100644 blob {blob}\t{name}"));
        }
        let lines: String = tree.values().map(|line| format!("{line}\0")).collect();
        let tree = self.text(&["mktree", "-z"], Some(lines.as_bytes()))?;
        let mut commit = vec!["commit-tree", &tree, "-m", message];
        if let Some(before) = &before.commit {
            commit.extend(["-p", before]);
        }
        self.text(&commit, None)
    }

    /// Moves a reference of this repository, if it still is where it was.
    pub(super) fn move_local(&self, name: &str, to: &str, from: Option<&str>) -> Moved {
        let zero = "0".repeat(to.len());
        match self.text(&["update-ref", name, to, from.unwrap_or(&zero)], None) {
            Ok(_) => Moved::Done,
            Err(error) => Moved::Refused(error),
        }
    }

    /// Pushes a commit to a reference of a remote. Nothing is forced: a reference that another process moved refuses it.
    pub(super) fn push(&self, remote: &str, name: &str, commit: &str) -> Moved {
        let refspec = format!("{commit}:{name}");
        let push = ["push", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed"];
        let push = [&push[..], &["--recurse-submodules=no", "--", remote, &refspec]].concat();
        match self.run(&push, None, REMOTE) {
            Ok(_) => Moved::Done,
            Err(error) => Moved::Refused(error),
        }
    }

    /// The trailers `key` of the newest commits in the history of first parents that have one, newest first.
    pub(super) fn trailers(&self, commit: &str, key: &str) -> Vec<String> {
        let grep = format!("--grep=^{key}:");
        let format = format!("--format=%(trailers:key={key},valueonly=true,unfold=true)");
        let log = ["log", "--first-parent", "--max-count=20", &grep, &format, commit, "--"];
        let found = self.text(&log, None).unwrap_or_default();
        found.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// The output as text, without the last line break.
    fn text(&self, args: &[&str], input: Option<&[u8]>) -> Result<String, LedgerGitError> {
        let output = self.run(args, input, LOCAL)?;
        Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
    }

    fn run(&self, args: &[&str], input: Option<&[u8]>, limit: Duration) -> Result<Vec<u8>, LedgerGitError> {
        let command = args.first().map_or_else(String::new, |name| (*name).to_owned());
        self.git.run(args, input, limit).map_err(|source| LedgerGitError::Git { command, source })
    }
}

/// The next object in the output of `git cat-file --batch`. One that is too long for a look is cut.
fn next_object(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(rest.get(..end)?).ok()?;
    *rest = rest.get(end + 1..)?;
    if head.ends_with(" missing") {
        return Some(Vec::new());
    }
    let length: usize = head.rsplit(' ').next()?.parse().ok()?;
    let content = rest.get(..length)?;
    *rest = rest.get(length + 1..)?;
    Some(content.get(..length.min(CAP + 1))?.to_vec())
}
