//! What the rules for tasks know besides the task: its experiment, its skills, this machine.

use std::path::{Path, PathBuf};

use assay_skill::{Library, Package};
use assay_task::Task;
use assay_task::check::Context;
use assay_trial::Experiment;

use crate::args::permission::ForeignFlags;
use crate::failure::Failure;

/// The experiment that a command names, and its skills, if the caller permits what it names.
pub(super) fn open_experiment(
    path: Option<&Path>,
    flags: ForeignFlags,
) -> Result<(Option<Experiment>, Library), Failure> {
    let Some(path) = path else { return Ok((None, Library::default())) };
    let experiment = Experiment::load(path)?;
    experiment.check_permissions(flags.permissions())?;
    let library = library(&experiment);
    Ok((Some(experiment), library))
}

/// The experiment's skills.
fn library(experiment: &Experiment) -> Library {
    let roots: Vec<PathBuf> = experiment
        .library
        .iter()
        .flat_map(|pattern| assay_task::folders(pattern, &experiment.directory))
        .collect();
    Library::load(&roots)
}

pub(super) fn context<'a>(
    task: &Task,
    experiment: Option<&Experiment>,
    library: &'a Library,
    all_rules: bool,
) -> Context<'a> {
    let pairing = experiment.and_then(|experiment| experiment.pairings.get(&task.name));
    let curated = pairing.and_then(|pairing| pairing.curated.clone()).unwrap_or_default();
    let skills = curated.iter().filter_map(|name| library.get(name).ok()).collect::<Vec<&Package>>();
    Context {
        skills,
        library: library.packages.iter().collect(),
        verifier_network: experiment.map(|experiment| experiment.verifier_network),
        all_rules,
        cpus: std::thread::available_parallelism().ok().map(|count| count.get() as f64),
        memory_bytes: memory(),
    }
}

/// The machine's memory, in bytes.
pub(in crate::commands) fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
