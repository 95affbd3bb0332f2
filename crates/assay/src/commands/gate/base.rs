//! The repository at the revision that a pull request is compared with.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assay_gate::{Policy, Terms};
use assay_skill::{Digest, Package};
use tempfile::TempDir;

use crate::failure::Failure;

/// A copy of the files at a revision.
pub(super) struct Base {
    /// The revision as a commit.
    pub(super) commit: String,
    files: TempDir,
    /// The policy's folder in the repository.
    prefix: PathBuf,
    policy: PathBuf,
}

impl Base {
    /// Writes the files of a revision into a temporary folder. Neither the working tree nor the index changes.
    pub(super) fn checkout(policy: &Policy, revision: &str) -> Result<Self, Failure> {
        let folder = &policy.directory;
        let wrong = |message: String| {
            Failure::bad_input(format!("`--changed-since {revision}`: {message}"))
                .hint("in CI, fetch the base branch first: git fetch origin main")
        };
        if revision.starts_with('-') {
            return Err(wrong("not a revision".to_owned()));
        }
        let top = git(folder, &["rev-parse", "--show-toplevel"], None).map_err(wrong)?;
        let prefix = git(folder, &["rev-parse", "--show-prefix"], None).map_err(wrong)?;
        let verify = ["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")];
        let commit = git(folder, &verify, None)
            .map_err(|_| wrong(format!("the repository {top} has no such revision")))?;
        let temporary = |error: std::io::Error| {
            Failure::infrastructure(format!("cannot create a temporary folder: {error}"))
        };
        let files = TempDir::new().map_err(temporary)?;
        let index = TempDir::new().map_err(temporary)?;
        let work_tree = format!("--work-tree={}", files.path().display());
        let checkout = [work_tree.as_str(), "checkout", "--quiet", "--force", &commit, "--", "."];
        git(Path::new(&top), &checkout, Some(&index.path().join("index"))).map_err(wrong)?;
        Ok(Self {
            commit,
            files,
            prefix: PathBuf::from(prefix),
            policy: policy.path.file_name().map_or_else(PathBuf::new, PathBuf::from),
        })
    }

    fn folder(&self) -> PathBuf {
        self.files.path().join(&self.prefix)
    }

    /// What the policy demanded; `None` if there was none, or none that can be read.
    pub(super) fn terms(&self) -> Option<Terms> {
        Policy::load(&self.folder().join(&self.policy)).ok().map(|policy| Terms::of(&policy))
    }

    /// The digest of a skill, by its folder relative to the policy.
    pub(super) fn digest(&self, skill: &str) -> Option<Digest> {
        Package::load(&self.folder().join(skill)).package.map(|package| package.digest)
    }
}

/// The commit of a folder's repository, with `+` if files differ from it.
pub(super) fn commit(folder: &Path) -> Option<String> {
    let commit = git(folder, &["rev-parse", "HEAD"], None).ok()?;
    let changed = git(folder, &["status", "--porcelain", "--untracked-files=no"], None).ok()?;
    Some(if changed.is_empty() { commit } else { format!("{commit}+") })
}

/// The output of `git` without the last line break, or its first line of errors.
fn git(folder: &Path, args: &[&str], index: Option<&Path>) -> Result<String, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args).stdin(Stdio::null()).env("LC_ALL", "C");
    // A hook of another repository may have set them.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    if let Some(index) = index {
        command.env("GIT_INDEX_FILE", index);
    }
    let output = command.output().map_err(|error| format!("cannot start git: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(errors.lines().next().unwrap_or("git failed").to_owned())
}
