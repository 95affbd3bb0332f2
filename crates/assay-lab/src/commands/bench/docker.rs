//! `assay lab bench harness --sandbox docker`: trials in Docker, and the floor beside them.
//!
//! Oracle trials, planned and executed as by `assay run`; each row includes one build and scan of
//! the image. The floor uses the daemon's API in the same run: it creates and starts a container,
//! runs as many commands, kills it, restarts it for the verifier and removes it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use assay_sandbox::SandboxError;
use assay_sandbox::docker::{ContainerSpec, Docker, ImageSource};
use assay_trial::{SandboxChoice, SandboxKind, SandboxUnavailable, Sandboxes};
use serde::Serialize;

use super::process::{io, peak_memory};
use super::{BASE, TICKS, execute, processor_time};
use assay_cli::failure::{Failure, Status};
use assay_cli::machine::docker_options;
use assay_cli::ui::Ui;

/// Commands that the floor starts in its container, as many as an oracle's trial should: before it
/// is killed, and after.
const SOLUTION: u32 = 1;
const VERIFIER: u32 = 1;

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    processors: usize,
    image: String,
    /// The daemon's version.
    docker: String,
    /// Whether the daemon's CPU is that of its control groups, which include the runtime and the
    /// shim of each container.
    whole_daemon: bool,
    rows: Vec<Row>,
    /// Peak memory of this process, in MB.
    peak_memory_mb: f64,
}

#[derive(Serialize)]
struct Row {
    concurrency: usize,
    trials: u32,
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
    /// Of the daemon and its containerd.
    daemon_cpu_seconds: f64,
}

pub(super) fn run(trials: u32, concurrency: &[usize], image: &str, ui: &Ui) -> Result<Status, Failure> {
    let folder = tempfile::tempdir().map_err(|error| io("create a folder", &error))?;
    let options = docker_options("bench", &std::process::id().to_string())
        .map_err(|error| Failure::infrastructure(error.to_string()))?;
    let docker = Docker::connect(options.clone())
        .map_err(|error| Failure::infrastructure(error.to_string()).hint("run `assay doctor`"))?;
    let source = ImageSource::Prebuilt { name: image.to_owned() };
    let found = docker
        .image(&source, &AtomicBool::new(false))
        .map_err(|error| Failure::infrastructure(error.to_string()))?;
    let images = BTreeMap::from([(BASE.to_owned(), image.to_owned())]);
    let sandbox = SandboxChoice { kind: SandboxKind::Docker, images, ..SandboxChoice::default() };
    let sandboxes =
        Sandboxes::new(Err(SandboxUnavailable::NotOffered("only Docker is measured")), Ok(options));
    let daemon = Daemon::find();
    let mut rows = Vec::new();
    for &at_once in concurrency {
        ui.note(&format!("{trials} trials in Docker, concurrency {at_once}"));
        let base = folder.path().join(format!("at-{at_once}"));
        let trial = measure(trials, &daemon, || execute(&base, at_once, trials, &sandbox, &sandboxes))?;
        let spec = ContainerSpec::new(found.clone(), "floor");
        let floor = measure(trials, &daemon, || {
            many(at_once, trials, &|_| docker.run_minimal(&spec, SOLUTION, VERIFIER).map_err(broke))
        })?;
        rows.push(Row {
            concurrency: at_once,
            trials,
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
        whole_daemon: matches!(daemon, Daemon::Groups(_)),
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
        "trivial oracle trials in Docker {}, {} processors; the floor starts {} commands in each container\n\n\
         | at once | trials a minute | CPU-s a trial: own | daemon | floor: a minute | own | daemon | CPU ÷ floor | pace ÷ floor |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        figures.docker,
        figures.processors,
        SOLUTION + VERIFIER
    );
    for row in &figures.rows {
        text.push_str(&format!(
            "| {} | {:.0} | {:.4} | {:.3} | {:.0} | {:.4} | {:.3} | {:.2} | {:.2} |\n",
            row.concurrency,
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
    text.push_str(&format!("\npeak memory of assay: {:.0} MB\n", figures.peak_memory_mb));
    text.push_str(if figures.whole_daemon {
        "daemon: its control groups, with the runtime and the shim of each container\n"
    } else {
        "daemon: dockerd and containerd only, because they have no control groups of their own\n"
    });
    text
}

fn measure(
    trials: u32,
    daemon: &Daemon,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Result<Cost, Failure> {
    let (clock, own, served) = (Instant::now(), processor_time(), daemon.seconds());
    work()?;
    let each = f64::from(trials.max(1));
    Ok(Cost {
        per_minute: f64::from(trials) / clock.elapsed().as_secs_f64() * 60.0,
        own_cpu_seconds: (processor_time() - own) / each,
        daemon_cpu_seconds: (daemon.seconds() - served) / each,
    })
}

/// Repeats an action with some concurrency.
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

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` has it")]
fn broke(error: SandboxError) -> Failure {
    Failure::infrastructure(error.to_string())
}

/// The source of the daemon's processor time.
enum Daemon {
    /// Control groups with only the daemon and its children.
    Groups(Vec<PathBuf>),
    /// Its processes and those that they have waited for. Shims of containers are not included.
    Processes,
}

impl Daemon {
    fn find() -> Self {
        let group = |pid: &str| -> Option<PathBuf> {
            let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
            let has = |controllers: &str| controllers.split(',').any(|name| name == "cpuacct");
            let mut lines = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
            let (controllers, path) = lines
                .clone()
                .find(|(controllers, _)| has(controllers))
                .or_else(|| lines.find(|(controllers, _)| controllers.is_empty()))?;
            let file = if controllers.is_empty() { "cpu.stat" } else { "cpuacct.usage" };
            let base = PathBuf::from("/sys/fs/cgroup").join(controllers);
            (path != "/").then(|| base.join(path.trim_start_matches('/')).join(file))
        };
        let own = group("self");
        let mut groups: Vec<Option<PathBuf>> = processes().map(|(pid, _)| group(&pid)).collect();
        groups.sort();
        groups.dedup();
        match groups.into_iter().collect::<Option<Vec<_>>>() {
            Some(groups) if !groups.is_empty() && groups.iter().all(|group| own.as_ref() != Some(group)) => {
                Self::Groups(groups)
            }
            _ => Self::Processes,
        }
    }

    /// The time used, in seconds.
    fn seconds(&self) -> f64 {
        match self {
            Self::Groups(files) => files.iter().filter_map(|file| counted(file)).sum(),
            Self::Processes => processes().map(|(_, seconds)| seconds).sum(),
        }
    }
}

/// Seconds of a control group: microseconds in version 2, nanoseconds in version 1.
fn counted(file: &Path) -> Option<f64> {
    let text = fs::read_to_string(file).ok()?;
    match text.lines().find_map(|line| line.strip_prefix("usage_usec ")) {
        Some(micros) => Some(micros.trim().parse::<f64>().ok()? / 1e6),
        None => Some(text.trim().parse::<f64>().ok()? / 1e9),
    }
}

/// `dockerd` and `containerd`, with their user and system time in seconds and that of the processes
/// they have waited for.
fn processes() -> impl Iterator<Item = (String, f64)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (head, rest) = stat.rsplit_once(')')?;
        let name = head.split_once('(')?.1;
        let ticks = rest.split_whitespace().skip(11).take(4).filter_map(|field| field.parse::<f64>().ok());
        let seconds = ticks.sum::<f64>() / TICKS;
        matches!(name, "dockerd" | "containerd")
            .then(|| (entry.file_name().to_string_lossy().into_owned(), seconds))
    })
}
