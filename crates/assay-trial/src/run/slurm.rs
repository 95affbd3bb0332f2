//! Slurm: an array of workers for the batches of a run, kept at its size while trials are open.
//!
//! The array's tasks are found by their name, so another process can follow them. Nothing about them is stored.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assay_store::{RECORD_KEY_VARIABLE, Store};
use serde::Deserialize;
use serde_json::Value;

use crate::experiment::foreign::Permissions;

/// Between two looks at the queue.
const INTERVAL: Duration = Duration::from_secs(5);
/// For one of Slurm's commands: they wait for a controller that is away.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How long a worker waits for the next batch of its run.
const IDLE_SECONDS: u32 = 60;
/// Submissions in a row whose workers fail before a trial ends; then the run stops.
const FRUITLESS: u32 = 3;

/// How trials are submitted to Slurm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmOptions {
    /// The assay program, under the path that it has on the nodes.
    pub program: PathBuf,
    /// Further options of sbatch(1).
    pub sbatch: Vec<String>,
    /// Whether an interrupt cancels the jobs as well.
    pub cancel_on_interrupt: bool,
    /// What the caller permits, which the workers are told.
    pub permissions: Permissions,
}

/// Why the workers of a run cannot be executed by Slurm.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SlurmError {
    /// A command is not installed here.
    #[error("cannot find {0} on the PATH")]
    NotInstalled(&'static str),
    /// A command could not be started.
    #[error("cannot start {command}: {source}")]
    Start {
        /// Which: `sbatch`, `squeue` or `scancel`.
        command: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// A command failed.
    #[error("{command} failed: {message}")]
    Failed {
        /// Which.
        command: &'static str,
        /// What it printed.
        message: String,
    },
    /// Output that is not what the command documents.
    #[error("cannot read the output of {command}: {message}")]
    Output {
        /// Which.
        command: &'static str,
        /// What is wrong.
        message: String,
    },
    /// Workers fail again and again.
    #[error("workers failed after {FRUITLESS} submissions without a finished trial: {0}")]
    Fruitless(String),
    /// Somebody cancelled them.
    #[error("the Slurm jobs were cancelled")]
    Cancelled,
}

/// The array of a run.
pub(crate) struct Slurm {
    options: SlurmOptions,
    /// Of every job of the run; the store's label makes it unique.
    name: String,
    /// What each worker executes.
    worker: Vec<String>,
    /// Where workers log.
    logs: PathBuf,
    jobs: usize,
    user: User,
    state: RefCell<State>,
}

/// Who submits jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct User {
    id: u64,
    /// `None` if it is unknown.
    name: Option<String>,
}

impl User {
    fn current() -> Self {
        let output = Command::new("id").arg("-un").stdin(Stdio::null()).stderr(Stdio::null()).output().ok();
        let name = output
            .filter(|output| output.status.success())
            .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        Self { id: rustix::process::geteuid().as_raw().into(), name: name.filter(|name| !name.is_empty()) }
    }

    /// Whether a job of the queue is this user's. Anybody may give a job any name.
    fn owns(&self, job: &Value) -> bool {
        let name = job.get("user_name").and_then(Value::as_str).filter(|name| !name.is_empty());
        match (number(job, "user_id"), name) {
            (Some(id), _) => id == self.id,
            (None, Some(name)) => self.name.as_deref() == Some(name),
            // Every version of Slurm has one of them.
            (None, None) => true,
        }
    }
}

/// A number of a job, which is an object in later versions.
fn number(job: &Value, key: &str) -> Option<u64> {
    let value = job.get(key)?;
    value.as_u64().or_else(|| value.get("number")?.as_u64())
}

/// Looks for the commands that submit jobs and read the queue, before anything is executed.
///
/// # Errors
/// One of them is not on the PATH.
pub fn find_slurm() -> Result<(), SlurmError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |command: &str| {
        std::env::split_paths(&path).any(|folder| {
            let file = fs::metadata(folder.join(command));
            file.is_ok_and(|file| file.is_file() && std::os::unix::fs::MetadataExt::mode(&file) & 0o111 != 0)
        })
    };
    match ["sbatch", "squeue"].into_iter().find(|command| !is_there(command)) {
        Some(command) => Err(SlurmError::NotInstalled(command)),
        None => Ok(()),
    }
}

#[derive(Default)]
struct State {
    looked: Option<Instant>,
    /// Whether squeue failed when it was last started.
    is_unknown: bool,
    /// Arrays that were pending or running at some time.
    known: BTreeSet<u64>,
    /// Tasks that have ended, by job ID, as far as they were looked at.
    ended: BTreeSet<u64>,
    /// Nodes whose workers failed.
    broken: BTreeSet<String>,
    submissions: u32,
    /// Submissions in a row that replaced failed workers.
    fruitless: u32,
}

/// A line of the queue: one task, or several that are pending.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    job: u64,
    array: u64,
    tasks: usize,
    state: String,
    reason: String,
    node: String,
}

impl Entry {
    /// Whether it has ended. Slurm's other states become one of these or `RUNNING` (squeue(1), JOB STATE CODES).
    fn is_over(&self) -> bool {
        const OVER: [&str; 10] = [
            "BOOT_FAIL",
            "CANCELLED",
            "COMPLETED",
            "DEADLINE",
            "FAILED",
            "NODE_FAIL",
            "OUT_OF_MEMORY",
            "PREEMPTED",
            "REVOKED",
            "TIMEOUT",
        ];
        OVER.contains(&self.state.as_str())
    }
}

impl Slurm {
    /// For a run's batches, with at most `jobs` workers.
    pub(crate) fn new(store: &Store, run: &str, jobs: usize, options: &SlurmOptions) -> Self {
        let root = fs::canonicalize(store.root()).unwrap_or_else(|_| store.root().to_owned());
        let words = ["--store", &root.to_string_lossy(), "worker", "--run", run, "--idle-exit"];
        let mut worker = vec![options.program.to_string_lossy().into_owned()];
        worker.extend(words.map(str::to_owned));
        worker.push(IDLE_SECONDS.to_string());
        worker.extend(options.permissions.worker_options().into_iter().map(str::to_owned));
        Self {
            options: options.clone(),
            name: format!("assay-{run}-{}", store.label()),
            worker,
            logs: root.join("runs").join(run).join("slurm"),
            jobs,
            user: User::current(),
            state: RefCell::default(),
        }
    }

    /// Submits as many workers as are missing, now and then. `open` is the number of trials without a result, and
    /// `progressed` whether one has ended since the last call. Returns what the user should know.
    pub(crate) fn replace_lost(&self, open: usize, progressed: bool) -> Result<Vec<String>, SlurmError> {
        let mut state = self.state.borrow_mut();
        if progressed {
            state.fruitless = 0;
        }
        if state.looked.is_some_and(|at| at.elapsed() < INTERVAL) {
            return Ok(Vec::new());
        }
        state.looked = Some(Instant::now());
        let entries = match self.queue() {
            Ok(entries) => entries,
            // Slurm's controller may be away for a while; the workers go on.
            Err(error) if state.submissions > 0 || !state.known.is_empty() => {
                let is_first = !std::mem::replace(&mut state.is_unknown, true);
                let note = format!(
                    "{error}; the workers go on, and the queue is read again every {} s",
                    INTERVAL.as_secs()
                );
                return Ok(Vec::from_iter(is_first.then_some(note)));
            }
            Err(error) => return Err(error),
        };
        state.is_unknown = false;
        let mut notes = Vec::new();
        let live: usize = entries.iter().filter(|entry| !entry.is_over()).map(|entry| entry.tasks).sum();
        if state.submissions == 0 && live > 0 {
            notes.push(format!("following {live} workers that Slurm has already"));
        }
        state.known.extend(entries.iter().filter(|entry| !entry.is_over()).map(|entry| entry.array));
        let ended: Vec<&Entry> = entries
            .iter()
            .filter(|entry| entry.is_over() && state.known.contains(&entry.array))
            .filter(|entry| !state.ended.contains(&entry.job))
            .collect();
        state.ended.extend(ended.iter().map(|entry| entry.job));
        if live == 0 && ended.iter().any(|entry| entry.state == "CANCELLED") {
            return Err(SlurmError::Cancelled);
        }
        let mut failed: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in ended.iter().filter(|entry| entry.state != "COMPLETED") {
            *failed.entry(entry.state.as_str()).or_default() += 1;
            if entry.state == "FAILED" && !entry.node.is_empty() {
                state.broken.insert(entry.node.clone());
            }
        }
        let wanted = self.jobs.min(open);
        if live >= wanted {
            return Ok(notes);
        }
        // Workers that have ended by themselves found nothing to do. Others may have left the queue unseen.
        if state.submissions > 0 && (!failed.is_empty() || ended.is_empty()) {
            state.fruitless += 1;
        }
        if state.fruitless >= FRUITLESS {
            return Err(SlurmError::Fruitless(self.last_words()));
        }
        let missing = wanted - live;
        let array = match self.submit(missing, &state.broken) {
            Ok(array) => array,
            Err(error) if state.submissions > 0 => {
                notes.push(format!("{error}; trying again"));
                return Ok(notes);
            }
            Err(error) => return Err(error),
        };
        state.known.insert(array);
        let is_first = state.submissions == 0 && live == 0;
        state.submissions += 1;
        let workers = if missing == 1 { "1 worker".to_owned() } else { format!("{missing} workers") };
        notes.push(if is_first {
            format!("submitted {workers} to Slurm: job {array}; logs in {}", self.logs.display())
        } else {
            let lost: Vec<String> = failed.iter().map(|(word, number)| format!("{number} {word}")).collect();
            let lost = if lost.is_empty() { String::new() } else { format!(" (lost: {})", lost.join(", ")) };
            let avoided: Vec<&str> = state.broken.iter().map(String::as_str).collect();
            let avoided =
                if avoided.is_empty() { String::new() } else { format!(", not on {}", avoided.join(",")) };
            format!("submitted {workers} more to Slurm: job {array}{avoided}{lost}")
        });
        Ok(notes)
    }

    /// What the queue says of the run, where no trial ends.
    pub(crate) fn summary(&self) -> Option<String> {
        let entries = self.queue().ok()?;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| !entry.is_over()) {
            let reason = Some(entry.reason.as_str()).filter(|reason| !matches!(*reason, "" | "None"));
            let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
            *counts.entry(format!("{}{reason}", entry.state.to_ascii_lowercase())).or_default() +=
                entry.tasks;
        }
        let parts: Vec<String> = counts.iter().map(|(state, number)| format!("{number} {state}")).collect();
        let parts = if parts.is_empty() { "none in the queue".to_owned() } else { parts.join(", ") };
        Some(format!("workers in Slurm: {parts}"))
    }

    /// After the last batch, or an interrupt: the workers that are left are cancelled or, if trials are open, named.
    pub(crate) fn close(&self, interrupted: bool) -> Option<String> {
        let live: BTreeSet<u64> = match self.queue() {
            Ok(entries) => entries.iter().filter(|entry| !entry.is_over()).map(|entry| entry.array).collect(),
            // They end by themselves.
            Err(_) => return None,
        };
        if live.is_empty() {
            return None;
        }
        let ids: Vec<String> = live.iter().map(u64::to_string).collect();
        if interrupted && !self.options.cancel_on_interrupt {
            return Some(format!(
                "the Slurm jobs go on: start this again to follow them, or cancel them with `scancel {}`",
                ids.join(" ")
            ));
        }
        let cancelled = run("scancel", ids.iter().map(String::as_str));
        match cancelled {
            Err(error) => Some(format!("{error}; the workers end by themselves")),
            Ok(_) if interrupted => Some(format!("cancelled the Slurm jobs {}", ids.join(" "))),
            Ok(_) => None,
        }
    }

    fn queue(&self) -> Result<Vec<Entry>, SlurmError> {
        let text = run("squeue", ["--json", "--states=all"])?;
        let entries = parse_queue(&text, &self.name, &self.user);
        entries.map_err(|message| SlurmError::Output { command: "squeue", message })
    }

    fn submit(&self, workers: usize, broken: &BTreeSet<String>) -> Result<u64, SlurmError> {
        let script = self.script()?;
        let _ = fs::create_dir_all(&self.logs);
        // In a name of sbatch, `%` begins a placeholder.
        let logs = self.logs.to_string_lossy().replace('%', "%%");
        let mut args = vec![
            "--parsable".to_owned(),
            format!("--job-name={}", self.name),
            format!("--array=0-{}", workers - 1),
            "--requeue".to_owned(),
            "--open-mode=append".to_owned(),
            format!("--output={logs}/%A_%a.log"),
        ];
        args.extend(self.options.sbatch.iter().cloned());
        let excludes =
            |word: &String| word.starts_with("-x") || word == "--exclude" || word.starts_with("--exclude=");
        if !broken.is_empty() && !self.options.sbatch.iter().any(excludes) {
            let nodes: Vec<&str> = broken.iter().map(String::as_str).collect();
            args.push(format!("--exclude={}", nodes.join(",")));
        }
        args.push(format!("--wrap={script}"));
        let text = run("sbatch", args)?;
        // `ID` or `ID;CLUSTER`, after what site plugins print.
        let id = text.lines().rev().find_map(|line| line.trim().split(';').next()?.parse().ok());
        id.ok_or_else(|| SlurmError::Output { command: "sbatch", message: format!("{text:?} has no job ID") })
    }

    /// The batch script: the worker takes the place of its shell, so that it gets Slurm's signals.
    fn script(&self) -> Result<String, SlurmError> {
        let words = shlex::try_join(self.worker.iter().map(String::as_str));
        let words =
            words.map_err(|error| SlurmError::Failed { command: "sbatch", message: error.to_string() })?;
        Ok(format!("exec {words}"))
    }

    /// The last line of the newest log.
    fn last_words(&self) -> String {
        let files = fs::read_dir(&self.logs).into_iter().flatten().flatten();
        let newest =
            files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))).max();
        let Some((_, path)) = newest else {
            return format!("no log in {}", self.logs.display());
        };
        let text = tail(&path).unwrap_or_default();
        let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it is empty");
        format!("{}: {line}", path.display())
    }
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(4096)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs one of Slurm's commands.
fn run(
    command: &'static str,
    args: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<String, SlurmError> {
    let wrong = |source| SlurmError::Start { command, source };
    // Files, so that output of any size blocks nobody.
    let (mut stdout, mut stderr) =
        (tempfile::tempfile().map_err(wrong)?, tempfile::tempfile().map_err(wrong)?);
    let mut child = Command::new(command)
        .args(args)
        // Jobs inherit the environment. Their records are signed where they are accepted.
        .env_remove(RECORD_KEY_VARIABLE)
        .stdin(Stdio::null())
        .stdout(stdout.try_clone().map_err(wrong)?)
        .stderr(stderr.try_clone().map_err(wrong)?)
        .spawn()
        .map_err(wrong)?;
    let until = Instant::now() + TIMEOUT;
    let status = loop {
        match child.try_wait().map_err(wrong)? {
            Some(status) => break status,
            None if Instant::now() >= until => {
                let _ = child.kill();
                let _ = child.wait();
                let message = format!("no answer within {} s", TIMEOUT.as_secs());
                return Err(SlurmError::Failed { command, message });
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let output = if status.success() { &mut stdout } else { &mut stderr };
    let mut bytes = Vec::new();
    output.rewind().and_then(|()| output.read_to_end(&mut bytes)).map_err(wrong)?;
    let text = String::from_utf8_lossy(&bytes);
    if !status.success() {
        let message = text.trim().lines().last().unwrap_or("it printed nothing").to_owned();
        return Err(SlurmError::Failed { command, message });
    }
    Ok(text.into_owned())
}

/// The tasks of a user's jobs of a name. Filters of squeue do not hold for `--json` in every version (22.05 ignores them), and
/// fields have changed between versions: numbers may be objects with a `number`, and the state a list.
fn parse_queue(text: &str, name: &str, user: &User) -> Result<Vec<Entry>, String> {
    #[derive(Deserialize)]
    struct Queue {
        jobs: Vec<Value>,
    }
    let queue: Queue = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let is_named = |job: &&Value| job.get("name").and_then(Value::as_str) == Some(name);
    let jobs = queue.jobs.iter().filter(is_named).filter(|job| user.owns(job));
    jobs.map(entry).collect()
}

fn entry(job: &Value) -> Result<Entry, String> {
    let text = |key: &str| job.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let states: Vec<&str> = match job.get("job_state") {
        Some(Value::String(state)) => vec![state],
        Some(Value::Array(states)) => states.iter().filter_map(Value::as_str).collect(),
        _ => return Err("a job has no `job_state`".to_owned()),
    };
    let id = number(job, "job_id").ok_or("a job has no `job_id`")?;
    let tasks = text("array_task_string");
    Ok(Entry {
        job: id,
        array: number(job, "array_job_id").filter(|array| *array > 0).unwrap_or(id),
        tasks: if tasks.is_empty() { 1 } else { count_tasks(&tasks)? },
        state: states.first().copied().unwrap_or_default().to_owned(),
        reason: text("state_reason"),
        node: text("nodes"),
    })
}

/// The number of tasks in an array expression such as `0,4-7,10-20:2%3` (sbatch(1), `--array`).
fn count_tasks(expression: &str) -> Result<usize, String> {
    let bad = || format!("cannot read the array {expression:?}");
    let ranges = expression.split('%').next().unwrap_or_default();
    let mut sum = 0;
    for range in ranges.split(',').filter(|range| *range != "...") {
        let (range, step) = range.split_once(':').unwrap_or((range, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let parse = |text: &str| text.trim().parse::<usize>().map_err(|_| bad());
        let (first, last, step) = (parse(first)?, parse(last)?, parse(step)?.max(1));
        sum += last.checked_sub(first).ok_or_else(bad)? / step + 1;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::{Entry, User, count_tasks, parse_queue};

    fn user() -> User {
        User { id: 1000, name: Some("ann".to_owned()) }
    }

    #[test]
    fn jobs_of_other_users_are_not_ours() {
        let check = |owner: &str, expected: usize| {
            let job = format!(r#"{{"job_id": 2, "name": "a", {owner} "job_state": "RUNNING"}}"#);
            let found = parse_queue(&format!(r#"{{"jobs": [{job}]}}"#), "a", &user()).unwrap();
            assert_eq!(found.len(), expected, "{owner}");
        };
        check(r#""user_id": 1000, "user_name": "ann","#, 1);
        check(r#""user_id": {"set": true, "number": 1000},"#, 1);
        check(r#""user_name": "ann","#, 1);
        check(r#""user_id": 1001, "user_name": "ann","#, 0);
        check(r#""user_id": 1001,"#, 0);
        check(r#""user_name": "mallory","#, 0);
    }

    #[test]
    fn tasks_of_an_array_are_counted() {
        for (expression, expected) in
            [("24-29", 6), ("3", 1), ("0,4-7,10-20:2%3", 11), ("0-1%1", 2), ("1-3,...", 3)]
        {
            assert_eq!(count_tasks(expression), Ok(expected), "{expression}");
        }
        for bad in ["", "x", "7-3", "1-"] {
            assert!(count_tasks(bad).is_err(), "{bad}");
        }
    }

    /// As 22.05 and 24.05 write it.
    #[test]
    fn queues_of_several_versions_are_read() {
        let task = |job: u64, tasks, state: &str, node: &str| Entry {
            job,
            array: 1,
            tasks,
            state: state.to_owned(),
            reason: "None".to_owned(),
            node: node.to_owned(),
        };
        let old = r#"{"meta": {}, "errors": [], "jobs": [
            {"job_id": 2, "array_job_id": 1, "array_task_id": 0, "array_task_string": "", "name": "a",
             "job_state": "RUNNING", "state_reason": "None", "nodes": "n1"},
            {"job_id": 1, "array_job_id": 1, "array_task_id": null, "array_task_string": "24-29", "name": "a",
             "job_state": "PENDING", "state_reason": "None", "nodes": ""},
            {"job_id": 9, "array_job_id": 9, "name": "other", "job_state": "RUNNING"}]}"#;
        let expected = vec![task(2, 1, "RUNNING", "n1"), task(1, 6, "PENDING", "")];
        assert_eq!(parse_queue(old, "a", &user()), Ok(expected));
        let new = r#"{"jobs": [
            {"job_id": 2, "array_job_id": {"set": true, "infinite": false, "number": 1},
             "array_task_id": {"set": true, "infinite": false, "number": 0}, "array_task_string": "", "name": "a",
             "job_state": ["FAILED", "COMPLETING"], "state_reason": "None", "nodes": "n1"},
            {"job_id": 7, "array_job_id": {"set": true, "infinite": false, "number": 0}, "name": "a",
             "job_state": ["RUNNING"], "state_reason": "None", "nodes": "n2"}]}"#;
        let alone = Entry { array: 7, ..task(7, 1, "RUNNING", "n2") };
        assert_eq!(parse_queue(new, "a", &user()), Ok(vec![task(2, 1, "FAILED", "n1"), alone]));
        assert_eq!(parse_queue(new, "b", &user()), Ok(Vec::new()));
        for bad in ["", "{}", r#"{"jobs": [{"name": "a", "job_id": 1}]}"#] {
            assert!(parse_queue(bad, "a", &user()).is_err(), "{bad}");
        }
    }
}
