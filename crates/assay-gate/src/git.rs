//! Git as a gate calls it: no hook, filter, file system monitor or configuration of the checkout takes part.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Variables that a hook of another repository may have set, or that change what a command reads.
const VARIABLES: [&str; 12] = [
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_EXTERNAL_DIFF",
    "GIT_ATTR_SOURCE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
];

/// Why Git gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// It cannot be started.
    #[error("cannot start git: {0}")]
    Start(String),
    /// It failed.
    #[error("{message}")]
    Failed {
        /// Its exit status.
        code: Option<i32>,
        /// The first line of its errors.
        message: String,
        /// What it wrote nevertheless.
        output: Vec<u8>,
    },
}

/// Runs Git in a folder.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    folder: PathBuf,
    variables: Vec<(&'static str, PathBuf)>,
    own: bool,
}

impl Git {
    /// Git in a folder of the user's repository, with the user's configuration: for questions that read no file of the
    /// working tree.
    pub(crate) fn of_user(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), variables: Vec::new(), own: false }
    }

    /// Git on a repository of the gate's own, without any other configuration.
    pub(crate) fn of_gate(directory: &Path) -> Self {
        let variables = vec![("GIT_DIR", directory.to_owned())];
        Self { folder: directory.to_owned(), variables, own: true }
    }

    /// The same with a working tree and an index.
    pub(crate) fn with_work_tree(&self, tree: &Path, index: &Path) -> Self {
        let mut git = self.clone();
        tree.clone_into(&mut git.folder);
        git.variables.extend([("GIT_WORK_TREE", tree.to_owned()), ("GIT_INDEX_FILE", index.to_owned())]);
        git
    }

    fn command(&self, args: &[&OsStr]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder);
        command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]).args(args);
        command.stdin(Stdio::null()).env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0");
        for name in VARIABLES {
            command.env_remove(name);
        }
        if self.own {
            for (name, _) in std::env::vars_os() {
                if name.as_bytes().starts_with(b"GIT_CONFIG") {
                    command.env_remove(name);
                }
            }
            command.envs([
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_ATTR_NOSYSTEM", "1"),
                ("GIT_NO_REPLACE_OBJECTS", "1"),
                ("GIT_NO_LAZY_FETCH", "1"),
                ("GIT_AUTHOR_NAME", "assay"),
                ("GIT_AUTHOR_EMAIL", "assay@localhost"),
                ("GIT_COMMITTER_NAME", "assay"),
                ("GIT_COMMITTER_EMAIL", "assay@localhost"),
            ]);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The standard output of a command.
    pub(crate) fn output<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<u8>, GitError> {
        let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        let output = self.command(&args).output().map_err(|error| GitError::Start(error.to_string()))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let message = errors.lines().next().unwrap_or("git failed").to_owned();
        Err(GitError::Failed { code: output.status.code(), message, output: output.stdout })
    }

    /// The same as text without the last line break.
    pub(crate) fn text<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.output(args)?).trim_end_matches('\n').to_owned())
    }

    /// The contents of blobs, in order, each passed to `each` with its number.
    pub(crate) fn blobs(
        &self,
        ids: &[String],
        mut each: impl FnMut(usize, Vec<u8>) -> std::io::Result<()>,
    ) -> Result<(), GitError> {
        let failed = |message: String| GitError::Failed { code: None, message, output: Vec::new() };
        let broken = |error: std::io::Error| failed(error.to_string());
        let args = ["cat-file", "--batch"].map(OsStr::new);
        let mut command = self.command(&args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| GitError::Start(error.to_string()))?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("git has no pipes".to_owned()));
        };
        let mut output = std::io::BufReader::new(output);
        let done = std::thread::scope(|scope| {
            // Both pipes are small: requests and answers take turns in two threads.
            scope.spawn(move || {
                for id in ids {
                    if input.write_all(format!("{id}\n").as_bytes()).is_err() {
                        return;
                    }
                }
            });
            for (number, id) in ids.iter().enumerate() {
                let bytes = read_blob(&mut output, id)?;
                each(number, bytes).map_err(broken)?;
            }
            Ok(())
        });
        if done.is_err() {
            // The rest of its answers has no reader.
            drop(child.kill());
        }
        drop(child.wait());
        done
    }
}

/// An answer of `git cat-file --batch`: `ID blob SIZE`, the bytes, a line break.
fn read_blob(output: &mut impl std::io::BufRead, id: &str) -> Result<Vec<u8>, GitError> {
    let failed = |message: String| GitError::Failed { code: None, message, output: Vec::new() };
    let mut head = String::new();
    output.read_line(&mut head).map_err(|error| failed(error.to_string()))?;
    let size = head.trim_end().rsplit_once(" blob ").or_else(|| head.trim_end().split_once(" blob "));
    let Some(size) = size.and_then(|(_, size)| size.parse::<usize>().ok()) else {
        return Err(failed(format!("object {id} is missing: a partial clone does not have every file")));
    };
    let mut bytes = vec![0; size + 1];
    output.read_exact(&mut bytes).map_err(|error| failed(error.to_string()))?;
    bytes.pop();
    Ok(bytes)
}
