//! A ledger in a Git reference: its files in the tree of its newest commit.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::entry::CAP;

/// How long a command may take that only reads and writes files.
const LOCAL: Duration = Duration::from_mins(1);

/// How long a fetch or a push may take.
const REMOTE: Duration = Duration::from_mins(2);

/// Files with their content, by name.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// A repository.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    directory: PathBuf,
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
    /// Another process moved it meanwhile, or it cannot be moved: Git's words.
    Refused(String),
}

impl Repository {
    pub(super) fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
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
    pub(super) fn read_local(&self, name: &str) -> Result<Snapshot, String> {
        match self.text(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")], None) {
            Ok(commit) => self.snapshot(&commit),
            Err(_) => Ok(Snapshot::default()),
        }
    }

    /// What a reference of a remote has; nothing if there is none.
    pub(super) fn read_remote(&self, remote: &str, name: &str) -> Result<Snapshot, String> {
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

    fn remote_commit(&self, remote: &str, name: &str) -> Result<Option<String>, String> {
        let listed = self.run(&["ls-remote", "--", remote, name], None, REMOTE)?;
        let listed = String::from_utf8_lossy(&listed);
        let mut lines = listed.lines().filter_map(|line| line.split_once('\t'));
        Ok(lines.find(|(_, found)| *found == name).map(|(commit, _)| commit.to_owned()))
    }

    fn snapshot(&self, commit: &str) -> Result<Snapshot, String> {
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
            let content = next_object(&mut rest).ok_or("git cat-file: cannot read its output")?;
            snapshot.files.insert(name, content);
        }
        Ok(snapshot)
    }

    /// A commit on top of a snapshot, with further files.
    pub(super) fn commit(&self, before: &Snapshot, files: &Files, message: &str) -> Result<String, String> {
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
            Err(message) => Moved::Refused(message),
        }
    }

    /// Pushes a commit to a reference of a remote. Nothing is forced: a reference that another process moved refuses it.
    pub(super) fn push(&self, remote: &str, name: &str, commit: &str) -> Moved {
        let refspec = format!("{commit}:{name}");
        let push = ["push", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed"];
        let push = [&push[..], &["--recurse-submodules=no", "--", remote, &refspec]].concat();
        match self.run(&push, None, REMOTE) {
            Ok(_) => Moved::Done,
            Err(message) => Moved::Refused(message),
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
    fn text(&self, args: &[&str], input: Option<&[u8]>) -> Result<String, String> {
        let output = self.run(args, input, LOCAL)?;
        Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
    }

    /// The output of Git, or what it says is wrong. Nothing of the repository is executed, and nobody is asked for a password.
    fn run(&self, args: &[&str], input: Option<&[u8]>, limit: Duration) -> Result<Vec<u8>, String> {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.directory);
        for setting in ["core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false"] {
            command.args(["-c", setting]);
        }
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        // A hook of another repository may have set them.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"] {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("SSH_ASKPASS_REQUIRE", "never");
        for (name, value) in [("NAME", "assay gate"), ("EMAIL", "assay@localhost")] {
            command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        let child = command.spawn().map_err(|error| format!("cannot start git: {error}"))?;
        finish(child, input, limit).map_err(|message| match args.first() {
            Some(name) => format!("git {name}: {message}"),
            None => message,
        })
    }
}

/// Waits for a process within a time limit.
fn finish(mut child: Child, input: Option<&[u8]>, limit: Duration) -> Result<Vec<u8>, String> {
    let (sender, receiver) = mpsc::channel();
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input.map(<[u8]>::to_vec)) {
        // A process that ends early closes its input: its status says why.
        std::thread::spawn(move || stdin.write_all(&input));
    }
    let mut pipe: Vec<Option<Box<dyn Read + Send>>> = vec![
        child.stdout.take().map(|pipe| -> Box<dyn Read + Send> { Box::new(pipe) }),
        child.stderr.take().map(|pipe| -> Box<dyn Read + Send> { Box::new(pipe) }),
    ];
    for (number, pipe) in pipe.iter_mut().enumerate() {
        let Some(mut pipe) = pipe.take() else { continue };
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
            Ok((_, Err(error))) => return Err(error.to_string()),
            Err(_) => {
                // Whatever it started ends with its input and output.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer within {} seconds", limit.as_secs()));
            }
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let [output, errors] = outputs;
    if status.success() {
        return Ok(output);
    }
    let errors = String::from_utf8_lossy(&errors);
    let lines = || errors.lines().map(str::trim).filter(|line| !line.is_empty());
    let chosen = lines().find(|line| ["fatal:", "error:", "!"].iter().any(|word| line.starts_with(word)));
    let chosen = lines().find(|line| line.starts_with('!')).or(chosen).or_else(|| lines().next());
    Err(chosen.unwrap_or("it failed without a message").to_owned())
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
