//! `assay lab bench harness`: the overhead of assay.
//!
//! The floor is the minimum for any harness with bubblewrap: two bare sandboxes, one for the
//! solution and one for the verifier, without records.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_store::{ConditionRole, Outcome, Store, TrialId};
use assay_trial::{AgentSpec, Experiment, Plan, RunOptions, SandboxChoice, SandboxKind, Sandboxes};
use serde::Serialize;

use crate::args::bench::{BenchArgs, BenchSandbox, BenchWhat};
use assay_cli::failure::{Failure, Status};
use assay_cli::machine;
use assay_cli::ui::Ui;

use self::process::{assay_program, io, peak_memory};

mod corpus;
mod docker;
mod export;
mod gateway;
mod process;
mod report;
mod safety;
mod view;
mod workers;

/// Planned trials of the planning figures.
const PLANNED: usize = 10_000;

/// The base image of the tasks.
const BASE: &str = "debian:12-slim";

fn bubblewrap() -> SandboxChoice {
    SandboxChoice { kind: SandboxKind::Bubblewrap, ..SandboxChoice::default() }
}

/// Clock ticks a second, as `/proc` counts them on every Linux that Rust supports.
const TICKS: f64 = 100.0;

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    processors: usize,
    trials: Vec<Row>,
    floor: Vec<Row>,
    /// Seconds to plan 10,000 trials.
    plan_seconds: f64,
    /// Seconds to find that all of them have results.
    resume_seconds: f64,
    /// Median milliseconds of `assay --version`.
    startup_milliseconds: f64,
    /// Peak memory of this process, in MB.
    peak_memory_mb: f64,
}

#[derive(Serialize)]
struct Row {
    concurrency: usize,
    trials: u32,
    per_minute: f64,
    cpu_seconds_each: f64,
}

pub(super) fn run(args: &BenchArgs, ui: &Ui) -> Result<Status, Failure> {
    let (trials, concurrency, sandbox, image) = match &args.what {
        BenchWhat::Harness { trials, concurrency, sandbox, image } => (trials, concurrency, sandbox, image),
        BenchWhat::Corpus(args) => return corpus::run(args, ui),
        BenchWhat::Export(args) => return export::run(args, ui),
        BenchWhat::View(args) => return view::run(args, ui),
        BenchWhat::Report(args) => return report::run(args, ui),
        BenchWhat::Workers(args) => return workers::run(args, ui),
        BenchWhat::Safety { folder } => return safety::run(folder, ui),
        BenchWhat::Gateway { requests, streams, kilobytes } => {
            return gateway::run(*requests, usize::from(*streams), *kilobytes, ui);
        }
    };
    if *sandbox == BenchSandbox::Docker {
        return docker::run(*trials, concurrency, image, ui);
    }
    let sandboxes = machine::sandboxes();
    if let Err(reason) = &sandboxes.bubblewrap {
        return Err(Failure::infrastructure(reason.to_string()).hint("run `assay doctor`"));
    }
    let folder = tempfile::tempdir().map_err(|error| io("create a folder", &error))?;
    let mut rows = Vec::new();
    let mut floor = Vec::new();
    for &at_once in concurrency {
        ui.note(&format!("{trials} trials, concurrency {at_once}"));
        let base = folder.path().join(format!("at-{at_once}"));
        rows.push(measure(at_once, *trials, || execute(&base, at_once, *trials, &bubblewrap(), &sandboxes))?);
        floor.push(measure(at_once, *trials, || bare(at_once, *trials))?);
    }
    // Measured before the planning figures, which need memory for 10,000 trials.
    let peak_memory_mb = peak_memory();
    ui.note(&format!("{PLANNED} planned trials"));
    let (plan_seconds, resume_seconds) = planning(folder.path(), &sandboxes)?;
    let figures = Figures {
        schema: "assay.bench-harness/1",
        processors: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        trials: rows,
        floor,
        plan_seconds,
        resume_seconds,
        startup_milliseconds: startup()?,
        peak_memory_mb,
    };
    if ui.json() {
        ui.document(&figures)?;
    } else {
        ui.out(&table(&figures))?;
    }
    Ok(Status::Done)
}

fn table(figures: &Figures) -> String {
    let mut text = format!("trivial oracle trials in bubblewrap, {} processors\n\n", figures.processors);
    text.push_str(
        "| concurrency | trials/min | CPU-s per trial | floor: trials/min | floor: CPU-s | CPU ÷ floor |\n",
    );
    text.push_str("|---:|---:|---:|---:|---:|---:|\n");
    for (row, floor) in figures.trials.iter().zip(&figures.floor) {
        text.push_str(&format!(
            "| {} | {:.0} | {:.3} | {:.0} | {:.3} | {:.2} |\n",
            row.concurrency,
            row.per_minute,
            row.cpu_seconds_each,
            floor.per_minute,
            floor.cpu_seconds_each,
            row.cpu_seconds_each / floor.cpu_seconds_each
        ));
    }
    text.push_str(&format!(
        "\n| figure | measured |\n|---|---:|\n| plan of 10,000 trials | {:.2} s |\n| resume decision over 10,000 results | {:.2} s |\n\
         | `assay --version` | {:.1} ms |\n| own peak memory while executing | {:.0} MB |\n",
        figures.plan_seconds, figures.resume_seconds, figures.startup_milliseconds, figures.peak_memory_mb
    ));
    text
}

fn measure(
    concurrency: usize,
    trials: u32,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Result<Row, Failure> {
    let (clock, cpu) = (Instant::now(), processor_time());
    work()?;
    let (wall, cpu) = (clock.elapsed().as_secs_f64(), processor_time() - cpu);
    Ok(Row {
        concurrency,
        trials,
        per_minute: f64::from(trials) / wall * 60.0,
        cpu_seconds_each: cpu / f64::from(trials),
    })
}

/// Trials of a task whose solution and verifier each write one word.
fn execute(
    base: &Path,
    concurrency: usize,
    trials: u32,
    sandbox: &SandboxChoice,
    sandboxes: &Sandboxes,
) -> Result<(), Failure> {
    suite(base, 1)?;
    let store = Store::open(&base.join("store"))?;
    let plan = plan(base, &store, trials, sandbox, sandboxes)?;
    let run = plan.begin_run(&store)?;
    let options = RunOptions::new(concurrency);
    let here = machine::context(sandboxes, None);
    let resolver = plan.resolver(&store, &here);
    let outcome =
        assay_trial::run(&plan, &run.run, &store, &resolver, &options, &AtomicBool::new(false), &mut |_| {})?;
    store.clear_scratch();
    let records = plan.trials.keys().filter_map(|id| store.record(id).ok().flatten());
    let passed = records.filter(|record| record.outcome == Outcome::Passed).count();
    if outcome.executed != trials as usize || passed != outcome.executed {
        return Err(Failure::infrastructure(format!(
            "{} of {trials} trials were executed, {passed} passed",
            outcome.executed
        )));
    }
    Ok(())
}

/// The floor: the same two shells in two bare sandboxes.
fn bare(concurrency: usize, trials: u32) -> Result<(), Failure> {
    let left = Mutex::new(trials);
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..concurrency {
            scope.spawn(|| {
                loop {
                    {
                        let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
                        if *left == 0 {
                            return;
                        }
                        *left -= 1;
                    }
                    for _ in 0..2 {
                        if let Err(error) = bare_sandbox() {
                            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                            return;
                        }
                    }
                }
            });
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

fn bare_sandbox() -> Result<(), Failure> {
    let mut bwrap = Command::new("bwrap");
    bwrap.args([
        "--unshare-all",
        "--unshare-user",
        "--die-with-parent",
        "--ro-bind",
        "/usr",
        "/usr",
        "--proc",
        "/proc",
    ]);
    bwrap.args(["--dev", "/dev", "--tmpfs", "/tmp"]);
    for name in ["/bin", "/lib", "/lib64"] {
        match fs::read_link(name) {
            Ok(target) => bwrap.arg("--symlink").arg(target).arg(name),
            Err(_) => bwrap.args(["--ro-bind-try", name, name]),
        };
    }
    let status = bwrap
        .args(["bash", "-c", "echo 1 > /tmp/word"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map_err(|error| io("start bwrap", &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::infrastructure(format!("bwrap exited with {status}")))
    }
}

/// Seconds to plan, and seconds to find all results cached.
fn planning(folder: &Path, sandboxes: &Sandboxes) -> Result<(f64, f64), Failure> {
    let base = folder.join("planning");
    let tasks = 50;
    suite(&base, tasks)?;
    let store = Store::open(&base.join("store"))?;
    let clock = Instant::now();
    let repetitions = u32::try_from(PLANNED / tasks).unwrap_or(u32::MAX);
    let plan = plan(&base, &store, repetitions, &bubblewrap(), sandboxes)?;
    let plan_seconds = clock.elapsed().as_secs_f64();

    let pattern = folder.join("at-1/store");
    let model = Store::open(&pattern)?;
    let record =
        model.trials().into_iter().find_map(|(id, _)| model.record(&id).ok().flatten()).ok_or_else(|| {
            Failure::infrastructure("no record to fill the store with: include concurrency 1")
        })?;
    for id in plan.trials.keys() {
        fill(&store, id, &record)?;
    }
    let run = plan.begin_run(&store)?;
    let options = RunOptions::new(2);
    let here = machine::context(sandboxes, None);
    let resolver = plan.resolver(&store, &here);
    let clock = Instant::now();
    let outcome =
        assay_trial::run(&plan, &run.run, &store, &resolver, &options, &AtomicBool::new(false), &mut |_| {})?;
    let resume_seconds = clock.elapsed().as_secs_f64();
    store.clear_scratch();
    if outcome.cached != PLANNED {
        return Err(Failure::infrastructure(format!(
            "only {} of {PLANNED} results were found",
            outcome.cached
        )));
    }
    Ok((plan_seconds, resume_seconds))
}

fn fill(store: &Store, id: &TrialId, record: &assay_store::Record) -> Result<(), Failure> {
    let mut record = record.clone();
    record.trial = id.clone();
    let folder = store.trial_folder(id);
    fs::create_dir_all(&folder).map_err(|error| io("fill the store", &error))?;
    let bytes = serde_json::to_vec(&record).map_err(|error| io("fill the store", &error.into()))?;
    fs::write(folder.join("record.json"), bytes).map_err(|error| io("fill the store", &error))
}

/// Trivial tasks, and the experiment around them.
fn suite(base: &Path, tasks: usize) -> Result<(), Failure> {
    let write = |path: &str, text: &str| -> Result<(), Failure> {
        let path = base.join(path);
        fs::create_dir_all(path.parent().unwrap_or(base)).map_err(|error| io("write a task", &error))?;
        fs::write(path, text).map_err(|error| io("write a task", &error))
    };
    for number in 0..tasks {
        let task = format!("tasks/trivial-{number}");
        write(&format!("{task}/task.toml"), "version = \"1.0\"\n[environment]\nallow_internet = false\n")?;
        // Equal tasks would be one: a trial does not know its task's name.
        let instruction = format!("Write the word `done` to /app/word. This is task {number}.\n");
        write(&format!("{task}/instruction.md"), &instruction)?;
        write(&format!("{task}/environment/Dockerfile"), &format!("FROM {BASE}\nWORKDIR /app\n"))?;
        write(&format!("{task}/solution/solve.sh"), "echo done > /app/word\n")?;
        write(
            &format!("{task}/tests/test.sh"),
            "read -r word < /app/word; echo '{\"reward\": 1}' > /logs/verifier/reward.json\n\
             echo '{\"results\": {\"tests\": [{\"name\": \"word\", \"status\": \"passed\"}]}}' > /logs/verifier/ctrf.json\n",
        )?;
    }
    Ok(())
}

fn plan(
    base: &Path,
    store: &Store,
    repetitions: u32,
    sandbox: &SandboxChoice,
    sandboxes: &Sandboxes,
) -> Result<Plan, Failure> {
    let mut experiment = Experiment::new("bench", base);
    experiment.suite = vec!["tasks/*".to_owned()];
    experiment.conditions = vec![ConditionRole::None.name().to_owned()];
    experiment.repetitions = repetitions;
    experiment.sandbox = sandbox.clone();
    experiment.agents = vec![AgentSpec::named("oracle")];
    Ok(Plan::build(experiment, store, &machine::context(sandboxes, None))?)
}

fn startup() -> Result<f64, Failure> {
    let program = assay_program()?;
    let mut times = Vec::new();
    for _ in 0..21 {
        let clock = Instant::now();
        Command::new(&program)
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .map_err(|error| io("start this program", &error))?;
        times.push(clock.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2].max(Duration::ZERO).as_secs_f64() * 1000.0)
}

/// User and system time of this process and of all it has waited for, in seconds.
fn processor_time() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    // Fields 14 to 17 of the line; two are before the bracket.
    let ticks: f64 =
        fields.split_whitespace().skip(11).take(4).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / TICKS
}
