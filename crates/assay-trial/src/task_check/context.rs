//! What the rules for tasks know besides the task: its experiment, its skills, this machine.

use std::collections::BTreeSet;
use std::path::PathBuf;

use assay_skill::{Library, Package};
use assay_task::Task;
use assay_task::check::Context;

use crate::experiment::Experiment;

/// The experiment's skills.
pub fn load_library(experiment: &Experiment) -> Library {
    let roots: Vec<PathBuf> = experiment
        .library
        .iter()
        .flat_map(|pattern| assay_task::folders(pattern, &experiment.directory))
        .collect();
    Library::load(&roots)
}

/// The skills that belong to a task: its own, those that it requires, and those that an experiment pairs it with.
pub fn skills_of_task(task: &Task, experiment: Option<&Experiment>, library: &Library) -> Vec<Package> {
    let pairing = experiment.and_then(|experiment| experiment.pairings.get(&task.name));
    let paired = pairing.and_then(|pairing| pairing.curated.as_ref());
    let names = paired.into_iter().flatten().chain(&task.required_skills);
    let mut skills = task.skills.clone();
    skills.extend(names.filter_map(|name| library.get(name).ok()).cloned());
    let mut seen = BTreeSet::new();
    skills.retain(|skill| seen.insert(skill.digest));
    skills
}

/// What the rules know about a task besides it.
pub fn check_context<'a>(
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
        memory_bytes: read_memory_size(),
    }
}

/// The machine's memory, in bytes.
pub fn read_memory_size() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
