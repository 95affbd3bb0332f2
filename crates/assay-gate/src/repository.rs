//! The repository of a policy, read by a gate: trees are snapshots, merged, compared and written out without a change of
//! the user's repository. What a pull request can bring along takes no part: hooks, filters, attributes.
//!
//! A repository of the gate's own borrows the objects of the user's and keeps the new ones in a temporary folder.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::git::{Git, GitError};
use crate::lfs;

/// How long a change of the gate's own index may take.
const LIMIT: Duration = Duration::from_mins(1);

/// Why a repository cannot be gated.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// The policy is in no repository.
    #[error("{} is not in a Git work tree ({message})", folder.display())]
    None {
        /// The policy's folder.
        folder: PathBuf,
        /// Git's message.
        message: String,
    },
    /// No such revision.
    #[error("the repository {} has no revision {revision:?}", top.display())]
    NoRevision {
        /// The work tree.
        top: PathBuf,
        /// Which.
        revision: String,
    },
    /// The histories do not meet, as far as the clone has them.
    #[error("the clone is shallow: the history between {target} and HEAD is incomplete")]
    Shallow {
        /// The revision compared with.
        target: String,
    },
    /// The clone does not have all files.
    #[error("the clone is partial: files of {target} or of HEAD are missing")]
    Partial {
        /// The revision compared with.
        target: String,
    },
    /// The histories do not meet.
    #[error("{target} and HEAD have no common history")]
    Unrelated {
        /// The revision compared with.
        target: String,
    },
    /// A file of a tree that is not written.
    #[error("the tree contains {path:?}, which cannot be written: {message}")]
    Entry {
        /// Its path.
        path: String,
        /// Why.
        message: String,
    },
    /// A temporary file.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Git failed.
    #[error("git: {0}")]
    Git(#[from] GitError),
}

/// What a path of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A symbolic link.
    Link,
    /// Another repository.
    Submodule,
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    executable: bool,
    object: String,
}

/// The files of a tree by their paths, relative to the top of the repository.
pub type Listing = BTreeMap<PathBuf, Entry>;

/// A path that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// Where it is; where it was, if it was removed.
    pub path: PathBuf,
    /// Where it was, if it was renamed.
    pub from: Option<PathBuf>,
    /// Whether it is gone.
    pub removed: bool,
}

/// What a merge gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The tree; conflicts are marked in its files.
    pub tree: String,
    /// The paths with conflicts.
    pub conflicts: Vec<PathBuf>,
}

/// A repository as a gate reads it.
#[derive(Debug)]
pub struct Repository {
    /// The top of the work tree.
    pub top: PathBuf,
    /// The commit that is checked out.
    pub head: String,
    shallow: bool,
    /// Whether a remote has objects that the clone leaves out.
    is_partial: bool,
    user: Git,
    gate: Git,
    directory: PathBuf,
    index: PathBuf,
    scratch: TempDir,
}

impl Repository {
    /// The repository around a folder.
    ///
    /// # Errors
    /// There is none, or it has no commit.
    pub fn around(folder: &Path) -> Result<Self, RepositoryError> {
        let user = Git::of_user(folder);
        let top = user.output(&["rev-parse", "--show-toplevel"]).map_err(|error| match error {
            GitError::Failed { message, .. } => RepositoryError::None { folder: folder.to_owned(), message },
            other @ (GitError::Start(_) | GitError::TimedOut { .. }) => other.into(),
        })?;
        let top = path_of(&top);
        let user = Git::of_user(&top);
        let head = user
            .text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
            .map_err(|_| RepositoryError::NoRevision { top: top.clone(), revision: "HEAD".to_owned() })?;
        let git_path = |name: &str| -> Result<PathBuf, RepositoryError> {
            Ok(top.join(path_of(&user.output(&["rev-parse", "--git-path", name])?)))
        };
        let scratch = tempfile::Builder::new().prefix("assay-gate-").tempdir();
        let scratch = scratch.map_err(|source| write_error(&std::env::temp_dir(), source))?;
        // A folder that resolves links: paths of the gate are compared with each other.
        let home = scratch.path().join("git");
        make_folder(&home)?;
        let format = user.text(&["rev-parse", "--show-object-format"])?;
        let new = Git::of_user(scratch.path());
        new.output(&["init", "--quiet", "--template=", &format!("--object-format={format}"), "git"])?;
        let directory = home.join(".git");
        let mut borrowed = git_path("objects")?.into_os_string();
        borrowed.push("\n");
        write(&directory.join("objects/info/alternates"), borrowed.as_bytes())?;
        for name in ["shallow", "info/exclude"] {
            if let Ok(bytes) = std::fs::read(git_path(name)?) {
                write(&directory.join(name), &bytes)?;
            }
        }
        let index = scratch.path().join("index");
        copy_index(&git_path("index")?, &index)?;
        let gate = Git::of_gate(&directory);
        if let Ok(excludes) = user.text(&["config", "--get", "--type=path", "core.excludesFile"]) {
            gate.output(&["config", "core.excludesFile", &excludes])?;
        }
        let shallow = user.text(&["rev-parse", "--is-shallow-repository"]).is_ok_and(|text| text == "true");
        let is_partial =
            user.output(&["config", "--get-regexp", r"^remote\..*\.(promisor|partialclonefilter)$"]).is_ok();
        Ok(Self { top, head, shallow, is_partial, user, gate, directory, index, scratch })
    }

    /// What an error of Git means in this clone.
    pub(crate) fn explain(&self, error: RepositoryError, target: &str) -> RepositoryError {
        match error {
            RepositoryError::Git(GitError::Failed { .. }) if self.is_partial => {
                RepositoryError::Partial { target: target.to_owned() }
            }
            other => other,
        }
    }

    /// A path in the temporary folder as it is in the repository.
    pub(crate) fn shorten(&self, text: &str) -> String {
        let scratch = std::fs::canonicalize(self.scratch.path());
        let scratch = scratch.unwrap_or_else(|_| self.scratch.path().to_owned());
        let start = format!("{}/", scratch.display());
        let mut parts = text.split(&start);
        let mut found = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            // The first folder is that of a tree.
            found.push_str(part.split_once('/').map_or(part, |(_, path)| path));
        }
        found
    }

    /// A folder for files of the gate; it is removed with this value.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn folder(&self, name: &str) -> Result<PathBuf, RepositoryError> {
        let path = self.scratch.path().join(name);
        make_folder(&path)?;
        std::fs::canonicalize(&path).map_err(|source| write_error(&path, source))
    }

    /// The commit of a revision.
    ///
    /// # Errors
    /// There is none.
    pub fn commit(&self, revision: &str) -> Result<String, RepositoryError> {
        let name = format!("{revision}^{{commit}}");
        let unknown = || RepositoryError::NoRevision { top: self.top.clone(), revision: revision.to_owned() };
        self.user
            .text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name])
            .map_err(|_| unknown())
            .map(|text| text.lines().last().unwrap_or_default().to_owned())
    }

    /// The parents of a commit.
    ///
    /// # Errors
    /// Git fails.
    pub fn parents(&self, commit: &str) -> Result<Vec<String>, RepositoryError> {
        let text = self.gate.text(&["rev-list", "--parents", "--max-count=1", commit])?;
        Ok(text.split(' ').skip(1).map(str::to_owned).collect())
    }

    /// The tree of a commit.
    ///
    /// # Errors
    /// It is not there.
    pub fn tree(&self, commit: &str) -> Result<String, RepositoryError> {
        Ok(self.gate.text(&["rev-parse", "--verify", "--quiet", &format!("{commit}^{{tree}}")])?)
    }

    /// Whether a commit is another one, or in its history.
    pub fn is_ancestor(&self, commit: &str, of: &str) -> bool {
        self.gate.output(&["merge-base", "--is-ancestor", commit, of]).is_ok()
    }

    /// The commit where the histories of the target and of HEAD meet.
    ///
    /// # Errors
    /// They do not, as far as the clone goes.
    pub fn merge_base(&self, target: &str) -> Result<String, RepositoryError> {
        let found = self.gate.text(&["merge-base", target, &self.head]).ok();
        // In a shallow clone a nearer one may be missing, unless the target itself is in the history.
        let found = found.filter(|base| !self.shallow || base == target);
        found.ok_or_else(|| {
            let target = target.to_owned();
            if self.shallow {
                RepositoryError::Shallow { target }
            } else {
                RepositoryError::Unrelated { target }
            }
        })
    }

    /// The tree of the working tree: tracked files as they are, and untracked files that are not ignored. `left_out` are
    /// folders whose untracked files do not count.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn snapshot(&self, left_out: &[PathBuf]) -> Result<String, RepositoryError> {
        let git = self.gate.with_work_tree(&self.top, &self.index);
        let excludes = self.directory.join("info/exclude");
        let mut patterns = std::fs::read(&excludes).unwrap_or_default();
        for folder in left_out {
            patterns.extend_from_slice(b"\n/");
            for byte in folder.as_os_str().as_bytes() {
                if b"*?[]\\ !#".contains(byte) {
                    patterns.push(b'\\');
                }
                patterns.push(*byte);
            }
        }
        write(&excludes, &patterns)?;
        let args = ["add", "--all", "--", "."];
        if git.output(&args).is_err() {
            // An index in several files cannot be copied.
            std::fs::remove_file(&self.index).ok();
            git.output(&["read-tree", &self.head])?;
            git.output(&args)?;
        }
        self.keep_pointers(&git)?;
        Ok(git.text(&["write-tree"])?)
    }

    /// Takes files that a filter of Git LFS put in place of their pointers for unchanged: without the filter they look changed.
    fn keep_pointers(&self, git: &Git) -> Result<(), RepositoryError> {
        let args = ["diff-index", "--cached", "--no-renames", "--diff-filter=M", "-z", &self.head];
        let output = git.output(&args)?;
        let mut parts = output.split(|byte| *byte == 0);
        let mut lines = Vec::new();
        // :MODE MODE OBJECT OBJECT STATUS NUL PATH
        while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
            let about = String::from_utf8_lossy(about).into_owned();
            let mut words = about.trim_start_matches(':').split(' ');
            let (Some(mode), Some(object)) = (words.next(), words.nth(1)) else { continue };
            let file = self.top.join(OsStr::from_bytes(path));
            let Ok(found) = file.symlink_metadata() else { continue };
            let mut size = None;
            if found.is_file() && mode.starts_with("100") {
                self.gate.blobs(&[object.to_owned()], |_, bytes| {
                    size = lfs::pointed_size(&bytes);
                    Ok(())
                })?;
            }
            if size == Some(found.len()) {
                lines.extend_from_slice(format!("{mode} {object}\t").as_bytes());
                lines.extend_from_slice(path);
                lines.push(0);
            }
        }
        if !lines.is_empty() {
            git.run(&["update-index", "-z", "--index-info"], Some(&lines), LIMIT)?;
        }
        Ok(())
    }

    /// The merge of a tree on top of HEAD into the target.
    ///
    /// # Errors
    /// Git is older than 2.38, or fails.
    pub fn merge(&self, target: &str, tree: &str) -> Result<Merged, RepositoryError> {
        let commit = self.gate.text(&["commit-tree", tree, "-p", &self.head, "-m", "working tree"])?;
        self.merge_commits(target, &commit)
    }

    /// The merge of two commits.
    ///
    /// # Errors
    /// As [`Repository::merge`].
    pub fn merge_commits(&self, target: &str, commit: &str) -> Result<Merged, RepositoryError> {
        let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", target, commit];
        let output = match self.gate.output(&args) {
            Ok(output) => output,
            Err(GitError::Failed { code: Some(1), output, .. }) if !output.is_empty() => output,
            Err(error) => return Err(error.into()),
        };
        let mut parts = output.split(|byte| *byte == 0);
        let tree = parts.next().map(|id| String::from_utf8_lossy(id).trim().to_owned()).unwrap_or_default();
        let conflicts =
            parts.take_while(|part| !part.is_empty()).map(|part| PathBuf::from(OsStr::from_bytes(part)));
        Ok(Merged { tree, conflicts: conflicts.collect() })
    }

    /// The paths that differ between two trees.
    ///
    /// # Errors
    /// Git fails.
    pub fn changed(&self, from: &str, to: &str) -> Result<Vec<ChangedPath>, RepositoryError> {
        let args = ["diff-tree", "-r", "-z", "--name-status", "-M", "-l0", from, to];
        let output = self.gate.output(&args)?;
        let mut parts = output.split(|byte| *byte == 0).filter(|part| !part.is_empty());
        let path = |part: Option<&[u8]>| part.map(|part| PathBuf::from(OsStr::from_bytes(part)));
        let mut found = Vec::new();
        while let Some(status) = parts.next() {
            let Some(first) = path(parts.next()) else { break };
            if status.first() == Some(&b'R') {
                let Some(now) = path(parts.next()) else { break };
                found.push(ChangedPath { path: now, from: Some(first), removed: false });
            } else {
                found.push(ChangedPath { path: first, from: None, removed: status == b"D" });
            }
        }
        Ok(found)
    }

    /// The files of a tree.
    ///
    /// # Errors
    /// Git fails.
    pub fn list(&self, tree: &str) -> Result<Listing, RepositoryError> {
        let output = self.gate.output(&["ls-tree", "-r", "-z", tree])?;
        let mut listing = Listing::new();
        for line in output.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            // MODE SP TYPE SP OBJECT TAB PATH
            let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { continue };
            let (head, path) = (&line[..tab], &line[tab + 1..]);
            let head = String::from_utf8_lossy(head).into_owned();
            let mut words = head.split(' ');
            let (mode, object) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
            let kind = match mode {
                "120000" => EntryKind::Link,
                "160000" => EntryKind::Submodule,
                _ => EntryKind::File,
            };
            let entry = Entry { kind, executable: mode == "100755", object: object.to_owned() };
            listing.insert(PathBuf::from(OsStr::from_bytes(path)), entry);
        }
        Ok(listing)
    }

    /// Writes the files of a tree into an empty folder, byte for byte: nothing converts them. Submodules are empty folders.
    ///
    /// # Errors
    /// A path leads out of the folder, or a file cannot be written.
    pub fn checkout(&self, listing: &Listing, to: &Path) -> Result<(), RepositoryError> {
        let mut files: Vec<(&PathBuf, &Entry)> = Vec::new();
        for (path, entry) in listing {
            check_path(path)?;
            match entry.kind {
                EntryKind::Submodule => make_folder(&to.join(path))?,
                EntryKind::File | EntryKind::Link => files.push((path, entry)),
            }
        }
        // Links come last: nothing is written through them.
        files.sort_by_key(|(_, entry)| entry.kind == EntryKind::Link);
        let objects: Vec<String> = files.iter().map(|(_, entry)| entry.object.clone()).collect();
        self.gate.blobs(&objects, |number, bytes| {
            let Some((path, entry)) = files.get(number) else { return Ok(()) };
            write_entry(&to.join(path), entry, &bytes)
        })?;
        Ok(())
    }

    /// Makes a folder a work tree of the gate's repository, so that revisions are found in it.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn adopt(&self, folder: &Path) -> Result<(), RepositoryError> {
        let mut text = OsString::from("gitdir: ");
        text.push(&self.directory);
        text.push("\n");
        write(&folder.join(".git"), text.as_bytes())
    }

    /// The content of a file of a listing.
    ///
    /// # Errors
    /// It is not there.
    pub fn read(&self, entry: &Entry) -> Result<Vec<u8>, RepositoryError> {
        let mut found = Vec::new();
        self.gate.blobs(std::slice::from_ref(&entry.object), |_, bytes| {
            found = bytes;
            Ok(())
        })?;
        Ok(found)
    }
}

/// Copies an index with its time: Git reads a file again that is as new as the index, and takes an older one for unchanged by
/// its size and time alone.
fn copy_index(from: &Path, to: &Path) -> Result<(), RepositoryError> {
    let Ok(bytes) = std::fs::read(from) else { return Ok(()) };
    write(to, &bytes)?;
    let Ok(modified) = std::fs::metadata(from).and_then(|found| found.modified()) else { return Ok(()) };
    let file = std::fs::OpenOptions::new().append(true).open(to);
    file.and_then(|file| file.set_modified(modified)).map_err(|source| write_error(to, source))
}

/// Refuses paths that lead elsewhere, and those of Git itself.
fn check_path(path: &Path) -> Result<(), RepositoryError> {
    let is_own = |part: Component<'_>| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    };
    if path.components().all(is_own) {
        return Ok(());
    }
    let message = "a path of a tree names neither `..` nor `.git`".to_owned();
    Err(RepositoryError::Entry { path: path.display().to_string(), message })
}

fn write_entry(path: &Path, entry: &Entry, bytes: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    if entry.kind == EntryKind::Link {
        return symlink(OsStr::from_bytes(bytes), path);
    }
    std::fs::write(path, bytes)?;
    let mode = if entry.executable { 0o755 } else { 0o644 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

fn path_of(output: &[u8]) -> PathBuf {
    let line = output.strip_suffix(b"\n").unwrap_or(output);
    PathBuf::from(OsStr::from_bytes(line))
}

fn write_error(path: &Path, source: io::Error) -> RepositoryError {
    RepositoryError::Write { path: path.to_owned(), source }
}

fn make_folder(path: &Path) -> Result<(), RepositoryError> {
    std::fs::create_dir_all(path).map_err(|source| write_error(path, source))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), RepositoryError> {
    if let Some(parent) = path.parent() {
        make_folder(parent)?;
    }
    std::fs::write(path, bytes).map_err(|source| write_error(path, source))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Git compares times in seconds: a file that changed in the second of its commit, and kept its size, is found by the time of
    /// the index.
    #[test]
    fn a_change_in_the_second_of_a_commit_is_part_of_the_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command.arg("-C").arg(folder.path()).args(["-c", "user.name=t", "-c", "user.email=t@localhost"]);
            assert!(command.args(args).status().unwrap().success(), "{args:?}");
        };
        let document = folder.path().join("a");
        git(&["init", "--quiet"]);
        std::fs::write(&document, "wrong\n").unwrap();
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "one"]);
        std::fs::write(&document, "right\n").unwrap();
        std::thread::sleep(Duration::from_millis(1_100));
        let repository = Repository::around(folder.path()).unwrap();
        let found = repository.list(&repository.snapshot(&[]).unwrap()).unwrap();
        let entry = found.get(Path::new("a")).unwrap();
        assert_eq!(repository.read(entry).unwrap(), b"right\n");
    }
}
