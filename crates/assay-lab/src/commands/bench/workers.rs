//! `assay lab bench workers`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};

use super::process::{assay_program, io};
use crate::args::bench::WorkersBenchArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// Tasks, each under two conditions.
const TASKS: u32 = 5;

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    trials: u64,
    /// The longest command of a trial, in seconds.
    trial_seconds: f64,
    jobs: u16,
    /// Files and folders of a trial in the store.
    files_each: f64,
    /// Their disk space, in kB.
    kilobytes_each: f64,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    executor: String,
    wall_seconds: f64,
    /// To the wall time of this process alone.
    ratio: f64,
    /// Whether the comparisons of the report are the same, but for times.
    same_report: bool,
}

pub(super) fn run(args: &WorkersBenchArgs, ui: &Ui) -> Result<Status, Failure> {
    let folder = tempfile::tempdir_in(args.folder.as_deref().unwrap_or(&std::env::temp_dir()))
        .map_err(|error| io("create a temporary folder", &error))?;
    let repetitions = args.trials.div_ceil(2 * TASKS);
    let suite = Suite { base: folder.path().to_owned(), jobs: args.jobs };
    suite.write(repetitions, args.seconds)?;
    ui.note(&format!("one process, {} jobs", args.jobs));
    let (alone_seconds, alone) = suite.measure("local", &[], 0)?;
    let mut rows = vec![Row {
        executor: "local".to_owned(),
        wall_seconds: alone_seconds,
        ratio: 1.0,
        same_report: true,
    }];
    let mut add = |executor: String, (wall_seconds, document): (f64, Value)| {
        let ratio = wall_seconds / alone_seconds;
        rows.push(Row {
            executor,
            wall_seconds,
            ratio,
            same_report: comparisons(&document) == comparisons(&alone),
        });
    };
    ui.note(&format!("{} workers", args.workers));
    add(
        format!("{} workers", args.workers),
        suite.measure("workers", &["--executor", "workers"], args.workers)?,
    );
    if args.slurm {
        ui.note("workers in Slurm");
        add("slurm".to_owned(), suite.measure("slurm", &["--executor", "slurm"], 0)?);
    }
    let trials = alone["executed"].as_u64().unwrap_or_default();
    let (files, bytes) = size(&suite.base.join("store-local/trials"));
    let figures = Figures {
        schema: "assay.bench-workers/1",
        trials,
        files_each: files as f64 / trials.max(1) as f64,
        kilobytes_each: bytes as f64 / 1e3 / trials.max(1) as f64,
        trial_seconds: args.seconds,
        jobs: args.jobs,
        rows,
    };
    if ui.json() {
        ui.document(&figures)?;
    } else {
        ui.out(&table(&figures))?;
    }
    let is_same = figures.rows.iter().all(|row| row.same_report);
    Ok(if is_same { Status::Done } else { Status::DidNotHold })
}

fn table(figures: &Figures) -> String {
    let mut text = format!(
        "{} trials that wait {} s, {} at a time\n\n| executor | wall time | ratio | same report |\n|---|---:|---:|---|\n",
        figures.trials, figures.trial_seconds, figures.jobs
    );
    for row in &figures.rows {
        let same = if row.same_report { "yes" } else { "no" };
        text.push_str(&format!(
            "| {} | {:.1} s | {:.2} | {same} |\n",
            row.executor, row.wall_seconds, row.ratio
        ));
    }
    text.push_str(&format!(
        "\n{:.0} files and folders per trial, {:.0} kB on disk\n",
        figures.files_each, figures.kilobytes_each
    ));
    text
}

/// Files and folders below a folder, and the bytes that they take on disk (stat(2): blocks of 512 bytes).
fn size(folder: &Path) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        files += 1;
        bytes += 512 * metadata.blocks();
        if metadata.is_dir() {
            let (inner, sum) = size(&entry.path());
            files += inner;
            bytes += sum;
        }
    }
    (files, bytes)
}

/// The comparisons of a run's document, without what tells when trials were executed.
fn comparisons(document: &Value) -> Value {
    let mut comparisons = document["report"]["comparisons"].clone();
    for comparison in comparisons.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        comparison.remove("measured");
        comparison.remove("time_overlap");
    }
    comparisons
}

struct Suite {
    base: PathBuf,
    jobs: u16,
}

impl Suite {
    /// Tasks that need a skill, and an agent that follows it after a wait.
    fn write(&self, repetitions: u32, seconds: f64) -> Result<(), Failure> {
        let write = |path: &str, text: &str| -> Result<(), Failure> {
            let path = self.base.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&self.base))
                .map_err(|error| io("write a task", &error))?;
            fs::write(path, text).map_err(|error| io("write a task", &error))
        };
        let mut curated = String::new();
        for number in 0..TASKS {
            let task = format!("tasks/word-{number}");
            write(
                &format!("{task}/task.toml"),
                "version = \"1.0\"\n[environment]\nallow_internet = false\n",
            )?;
            write(
                &format!("{task}/instruction.md"),
                &format!("Write the word to /app/word. This is task {number}.\n"),
            )?;
            write(&format!("{task}/environment/Dockerfile"), "FROM debian:12-slim\nWORKDIR /app\n")?;
            write(&format!("{task}/solution/solve.sh"), "echo done > /app/word\n")?;
            write(
                &format!("{task}/tests/test.sh"),
                "if grep -qx done /app/word; then reward=1 status=passed; else reward=0 status=failed; fi\n\
                 echo \"{\\\"reward\\\": $reward}\" > /logs/verifier/reward.json\n\
                 echo '{\"results\": {\"tests\": [{\"name\": \"word\", \"status\": \"'$status'\"}]}}' > /logs/verifier/ctrf.json\n",
            )?;
            curated.push_str(&format!("[tasks.\"word-{number}\"]\ncurated = [\"word\"]\n"));
        }
        write(
            "skills/word/SKILL.md",
            "---\nname: word\ndescription: Tells the word that is to be written. Use it when a word is asked for.\n---\n\n\
             # The word\n\nThe word is `done`.\n",
        )?;
        let rules = [
            json!({ "turn": 0, "seen": "Skills are folders", "run": "cat /skills/word/SKILL.md" }),
            json!({ "turn": 1, "seen": "The word is `done`", "run": format!("sleep {seconds}; echo done > /app/word") }),
            json!({ "turn": 0, "run": format!("sleep {seconds}") }),
            json!({ "say": "done" }),
        ];
        write("turns.jsonl", &rules.map(|rule| rule.to_string() + "\n").concat())?;
        write(
            "experiment.toml",
            &format!(
                "schema = \"assay.experiment/1\"\nname = \"bench\"\nsuite = [\"tasks/*\"]\nlibrary = [\"skills/*\"]\n\
                 conditions = [\"none\", \"curated\"]\nrepetitions = {repetitions}\nsandbox = \"bubblewrap\"\n\
                 [[agents]]\nname = \"loop\"\nmodel = \"scripted:turns.jsonl\"\n{curated}"
            ),
        )
    }

    fn assay(&self, store: &str, args: &[&str]) -> Result<Command, Failure> {
        let program = assay_program()?;
        let mut command = Command::new(program);
        command.args(["--store", store]).args(args).current_dir(&self.base);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }

    /// Seconds of a run with a store of its own, and its document.
    fn measure(&self, name: &str, options: &[&str], workers: u16) -> Result<(f64, Value), Failure> {
        let store = self.base.join(format!("store-{name}"));
        let store = store.to_string_lossy();
        let jobs = self.jobs.to_string();
        let clock = Instant::now();
        let document = self.base.join(format!("{name}.json"));
        let out = fs::File::create(&document).map_err(|error| io("write a document", &error))?;
        let run = ["run", "experiment.toml", "--no-checks", "--jobs", &jobs, "--format", "json"];
        let mut run = self.assay(&store, &[run.as_slice(), options].concat())?;
        let said = self.base.join(format!("{name}.log"));
        let log = fs::File::create(&said).map_err(|error| io("write a log", &error))?;
        let mut run = Ended(run.stdout(out).stderr(log).spawn().map_err(|error| io("start a run", &error))?);
        let each = (self.jobs / workers.max(1)).max(1).to_string();
        let mut others = Vec::new();
        if workers > 0 {
            while !Path::new(store.as_ref()).join("runs/bench/batch.jsonl").exists() {
                if run.0.try_wait().is_ok_and(|status| status.is_some()) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
        for _ in 0..workers {
            let mut worker =
                self.assay(&store, &["worker", "--run", "bench", "--jobs", &each, "--idle-exit", "5"])?;
            let worker =
                worker.stdout(Stdio::null()).spawn().map_err(|error| io("start a worker", &error))?;
            others.push(Ended(worker));
        }
        let status = run.0.wait().map_err(|error| io("wait for a run", &error))?;
        let seconds = clock.elapsed().as_secs_f64();
        if !status.success() {
            let said = fs::read_to_string(said).unwrap_or_default();
            let last = said.lines().next_back().unwrap_or_default();
            return Err(Failure::infrastructure(format!("the run with {name} failed ({status}): {last}"))
                .hint("run `assay doctor`"));
        }
        let bytes = fs::read(&document).map_err(|error| io("read a document", &error))?;
        let document =
            serde_json::from_slice(&bytes).map_err(|error| io("read a document", &error.into()))?;
        Ok((seconds, document))
    }
}

/// A process that ends with this.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
