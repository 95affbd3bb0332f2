//! `assay bench harness --sandbox docker`: trials in Docker, and the floor beside them.
//!
//! The floor is the same container, made, started, given as many commands, killed, started again for the grader and removed,
//! straight through the daemon's API, in the same run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_sandbox::docker::{
    Container, ContainerSpec, Docker, DockerOptions, Image, ImageSource, Owner, commands_started,
};
use assay_sandbox::{Caps, Exec, Exit, SandboxError, Session, Sink, remove_tree};
use serde::Serialize;

use super::{TICKS, io, peak_memory, processor_time};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// How long a command may take.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    processors: usize,
    image: String,
    /// The daemon's version.
    docker: String,
    rows: Vec<Row>,
    /// Most memory this process held, in MB.
    peak_memory_mb: f64,
}

#[derive(Serialize)]
struct Row {
    concurrency: usize,
    trials: u32,
    /// Commands started in containers for one trial, and for one life of the floor.
    commands_each: u32,
    trial: Cost,
    floor: Cost,
    /// CPU of both sides, in multiples of the floor's.
    cpu_ratio: f64,
    /// Trials a minute, in parts of the floor's.
    pace_ratio: f64,
}

#[derive(Serialize)]
struct Cost {
    per_minute: f64,
    /// Of this process.
    own_cpu_seconds: f64,
    /// Of the daemon and its containerd, and of what they have waited for.
    daemon_cpu_seconds: f64,
}

pub(super) fn run(trials: u32, concurrency: &[usize], image: &str, ui: &Ui) -> Result<Status, Failure> {
    let folder = tempfile::tempdir().map_err(|error| io("create a folder", &error))?;
    let docker =
        Docker::connect(DockerOptions::new("bench", std::process::id().to_string())).map_err(|error| {
            Failure::infrastructure(error.to_string()).hint("`assay doctor` tells what to do")
        })?;
    let source = ImageSource::Prebuilt { name: image.to_owned() };
    let found = docker
        .image(&source, &AtomicBool::new(false))
        .map_err(|error| Failure::infrastructure(error.to_string()))?;
    let mut rows = Vec::new();
    task(folder.path())?;
    for &at_once in concurrency {
        ui.note(&format!("{trials} trials in Docker, {at_once} at once"));
        let before = commands_started();
        let trial = measure(trials, || {
            many(at_once, trials, &|number| life(&docker, &found, folder.path(), number))
        })?;
        let commands_each =
            u32::try_from((commands_started() - before) / u64::from(trials.max(1))).unwrap_or(u32::MAX);
        // The last command is the grader's.
        let (first, last) = (commands_each.saturating_sub(1), commands_each.min(1));
        let spec = ContainerSpec::new(found.clone(), "floor");
        let floor = measure(trials, || {
            many(at_once, trials, &|_| docker.bare_life(&spec, first, last).map_err(broke))
        })?;
        rows.push(Row {
            concurrency: at_once,
            trials,
            commands_each,
            cpu_ratio: (trial.own_cpu_seconds + trial.daemon_cpu_seconds)
                / (floor.own_cpu_seconds + floor.daemon_cpu_seconds),
            pace_ratio: trial.per_minute / floor.per_minute,
            trial,
            floor,
        });
    }
    let figures = Figures {
        schema: "assay.bench-docker/1",
        processors: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        image: image.to_owned(),
        docker: docker.probe().version.clone(),
        rows,
        peak_memory_mb: peak_memory(),
    };
    if ui.json() {
        ui.document(&figures)?;
    } else {
        ui.out(&table(&figures))?;
    }
    Ok(Status::Done)
}

fn table(figures: &Figures) -> String {
    let mut text = format!(
        "lives of a container as a trial leads them, in Docker {}, {} processors\n\n\
         | at once | commands | trials a minute | CPU-s a trial: own | daemon | floor: a minute | own | daemon | CPU ÷ floor | pace ÷ floor |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        figures.docker, figures.processors
    );
    for row in &figures.rows {
        text.push_str(&format!(
            "| {} | {} | {:.0} | {:.4} | {:.3} | {:.0} | {:.4} | {:.3} | {:.2} | {:.2} |\n",
            row.concurrency,
            row.commands_each,
            row.trial.per_minute,
            row.trial.own_cpu_seconds,
            row.trial.daemon_cpu_seconds,
            row.floor.per_minute,
            row.floor.own_cpu_seconds,
            row.floor.daemon_cpu_seconds,
            row.cpu_ratio,
            row.pace_ratio
        ));
    }
    text.push_str(&format!("\nown peak memory: {:.0} MB\n", figures.peak_memory_mb));
    text
}

fn measure(trials: u32, work: impl FnOnce() -> Result<(), Failure>) -> Result<Cost, Failure> {
    let (clock, own, daemon) = (Instant::now(), processor_time(), daemon_time());
    work()?;
    let each = f64::from(trials.max(1));
    Ok(Cost {
        per_minute: f64::from(trials) / clock.elapsed().as_secs_f64() * 60.0,
        own_cpu_seconds: (processor_time() - own) / each,
        daemon_cpu_seconds: (daemon_time() - daemon) / each,
    })
}

/// Does it so many times, so many of them at once.
fn many(
    at_once: usize,
    trials: u32,
    work: &(dyn Fn(u32) -> Result<(), Failure> + Sync),
) -> Result<(), Failure> {
    let left = AtomicU32::new(trials);
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                let take =
                    || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
                while let Ok(number) = take() {
                    if let Err(error) = work(number) {
                        *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        return;
                    }
                }
            });
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// What a trial does at the daemon: the solution put in and run, everything killed, what changed looked at, the work folder
/// taken out, the tests put in, the container started again, the tests run, the reward read.
fn life(docker: &Docker, image: &Image, folder: &Path, number: u32) -> Result<(), Failure> {
    let mut spec = ContainerSpec::new(image.clone(), "bench");
    spec.workdir = Some(PathBuf::from("/app"));
    let mut container = docker.create(&spec).map_err(broke)?;
    let caps = Caps::default();
    let owner = Owner::default();
    let run = |container: &mut Container, argv: &[&str]| {
        let command = Exec {
            argv: argv.iter().map(ToString::to_string).collect(),
            env: Vec::new(),
            cwd: None,
            deadline: Some(Instant::now() + PATIENCE),
            stdout: Sink { keep: 4 << 10, ..Sink::default() },
            stderr: None,
        };
        let outcome = container.exec(&command, &AtomicBool::new(false)).map_err(broke)?;
        if outcome.exit == Exit::Code(0) {
            return Ok(());
        }
        Err(Failure::infrastructure(format!("{argv:?}: {:?} {}", outcome.exit, outcome.stdout.text())))
    };
    run(&mut container, &["mkdir", "-p", "/logs/agent", "/logs/verifier"])?;
    container.put(&folder.join("solution"), Path::new("/solution"), owner, &caps).map_err(broke)?;
    run(&mut container, &["bash", "/solution/solve.sh"])?;
    container.halt().map_err(broke)?;
    let changes = container.changes().map_err(broke)?;
    let taken = folder.join(format!("taken-{number}"));
    container.fetch(Path::new("/app"), &taken, &caps).map_err(broke)?;
    container.put(&folder.join("tests"), Path::new("/tests"), owner, &caps).map_err(broke)?;
    container.restart().map_err(broke)?;
    run(&mut container, &["bash", "/tests/test.sh"])?;
    let reward = container.read(Path::new("/logs/verifier/reward.txt"), 1 << 10).map_err(broke)?;
    container.remove().map_err(broke)?;
    let word = fs::read(taken.join("word")).unwrap_or_default();
    remove_tree(&taken).map_err(|error| Failure::infrastructure(error.to_string()))?;
    if reward.as_deref() != Some(b"1\n") || word != b"done\n" || changes.is_empty() {
        return Err(Failure::infrastructure("a trial did not do what it was to do".to_owned()));
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` has it")]
fn broke(error: SandboxError) -> Failure {
    Failure::infrastructure(error.to_string())
}

/// User and system time of `dockerd` and `containerd`, in seconds, with that of the processes they have waited for. What
/// runs beside each container is not their child, and not counted, on either side.
fn daemon_time() -> f64 {
    let Ok(processes) = fs::read_dir("/proc") else { return 0.0 };
    processes
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .filter_map(|stat| {
            let (head, rest) = stat.rsplit_once(')')?;
            let name = head.split_once('(')?.1;
            let counted = matches!(name, "dockerd" | "containerd");
            let ticks =
                rest.split_whitespace().skip(11).take(4).filter_map(|field| field.parse::<f64>().ok());
            counted.then(|| ticks.sum::<f64>() / TICKS)
        })
        .sum()
}

/// A solution and a grader that each write one word.
fn task(base: &Path) -> Result<(), Failure> {
    let write = |path: &str, text: &str| -> Result<(), Failure> {
        let path = base.join(path);
        fs::create_dir_all(path.parent().unwrap_or(base)).map_err(|error| io("write a task", &error))?;
        fs::write(path, text).map_err(|error| io("write a task", &error))
    };
    write("solution/solve.sh", "echo done > /app/word\n")?;
    write(
        "tests/test.sh",
        "read -r word < /app/word; [ \"$word\" = done ] && echo 1 > /logs/verifier/reward.txt\n",
    )
}
