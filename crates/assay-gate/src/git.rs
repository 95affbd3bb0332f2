//! Git as a gate calls it: no hook, filter, file system monitor or configuration of the checkout takes part.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a command may take whose work depends on the size of the repository.
const LONGEST: Duration = Duration::from_mins(30);

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
    /// It did not end in time.
    #[error("no answer within {} seconds", limit.as_secs())]
    TimedOut {
        /// How long it had.
        limit: Duration,
    },
}

impl GitError {
    fn failed(message: &str) -> Self {
        Self::Failed { code: None, message: message.to_owned(), output: Vec::new() }
    }
}

/// Whose configuration counts, and what a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Questions to the user's repository.
    Ask,
    /// Trees, without any configuration but that of the gate's own repository.
    Evaluate,
    /// The ledger: objects and references of the user's repository, and its remotes.
    Record,
}

/// Runs Git in a folder.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    folder: PathBuf,
    variables: Vec<(&'static str, PathBuf)>,
    purpose: Purpose,
}

impl Git {
    /// Git in a folder of the user's repository, with the user's configuration: for questions that read no file of the
    /// working tree.
    pub(crate) fn of_user(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), variables: Vec::new(), purpose: Purpose::Ask }
    }

    /// Git on a repository of the gate's own, without any other configuration.
    pub(crate) fn of_gate(directory: &Path) -> Self {
        let variables = vec![("GIT_DIR", directory.to_owned())];
        Self { folder: directory.to_owned(), variables, purpose: Purpose::Evaluate }
    }

    /// Git in a folder of the user's repository that writes objects, and fetches and pushes with the user's configuration. Nobody
    /// is asked for a password.
    pub(crate) fn of_ledger(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), variables: Vec::new(), purpose: Purpose::Record }
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
        command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
        command.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"]).args(args);
        command.stdin(Stdio::null()).env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0");
        command.env("GIT_TERMINAL_PROMPT", "0").env("SSH_ASKPASS_REQUIRE", "never");
        for name in VARIABLES {
            command.env_remove(name);
        }
        if self.purpose == Purpose::Evaluate {
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
            ]);
        }
        for (name, value) in [("NAME", "assay gate"), ("EMAIL", "assay@localhost")] {
            command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The standard output of a command.
    pub(crate) fn output<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<u8>, GitError> {
        self.run(args, None, LONGEST)
    }

    /// The standard output of a command with an input, which has so much time.
    pub(crate) fn run<A: AsRef<OsStr>>(
        &self,
        args: &[A],
        input: Option<&[u8]>,
        limit: Duration,
    ) -> Result<Vec<u8>, GitError> {
        let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        let mut command = self.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let child = command.spawn().map_err(|error| GitError::Start(error.to_string()))?;
        finish(child, input, limit)
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
        let broken = |error: std::io::Error| GitError::failed(&error.to_string());
        let args = ["cat-file", "--batch"].map(OsStr::new);
        let mut command = self.command(&args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| GitError::Start(error.to_string()))?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(GitError::failed("git has no pipes"));
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

/// Waits for a process within a time limit.
fn finish(mut child: Child, input: Option<&[u8]>, limit: Duration) -> Result<Vec<u8>, GitError> {
    let (sender, receiver) = mpsc::channel();
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input.map(<[u8]>::to_vec)) {
        // A process that ends early closes its input: its status says why.
        std::thread::spawn(move || stdin.write_all(&input));
    }
    let pipes: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| -> Box<dyn Read + Send> { Box::new(pipe) }),
        child.stderr.take().map(|pipe| -> Box<dyn Read + Send> { Box::new(pipe) }),
    ];
    for (number, pipe) in pipes.into_iter().enumerate() {
        let Some(mut pipe) = pipe else { continue };
        let sender = sender.clone();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.read_to_end(&mut bytes).map(|_| bytes);
            sender.send((number, read))
        });
    }
    let until = Instant::now() + limit;
    let mut outputs = [Vec::new(), Vec::new()];
    for _ in 0..outputs.len() {
        let left = until.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok((number, Ok(bytes))) => {
                if let Some(output) = outputs.get_mut(number) {
                    *output = bytes;
                }
            }
            Ok((_, Err(error))) => return Err(GitError::failed(&error.to_string())),
            Err(_) => {
                // Whatever it started ends with its input and output.
                drop(child.kill());
                drop(child.wait());
                return Err(GitError::TimedOut { limit });
            }
        }
    }
    let status = child.wait().map_err(|error| GitError::failed(&error.to_string()))?;
    let [output, errors] = outputs;
    if status.success() {
        return Ok(output);
    }
    Err(GitError::Failed { code: status.code(), message: reason(&errors), output })
}

/// The line of Git's errors that says why: that of a refused reference, or of an error.
fn reason(errors: &[u8]) -> String {
    let errors = String::from_utf8_lossy(errors);
    let lines = || errors.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| ["fatal:", "error:"].iter().any(|word| line.starts_with(word));
    let chosen = lines().find(|line| line.starts_with('!')).or_else(|| lines().find(is_error));
    chosen.or_else(|| lines().next()).unwrap_or("it failed without a message").to_owned()
}

/// An answer of `git cat-file --batch`: `ID blob SIZE`, the bytes, a line break.
fn read_blob(output: &mut impl std::io::BufRead, id: &str) -> Result<Vec<u8>, GitError> {
    let failed = |message: String| GitError::failed(&message);
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
