//! The parts of experiments and tasks that decide results. A pull request that changes one is found by it, in whichever
//! direction: which of two models or tests demands more is unknown.

use std::collections::BTreeMap;
use std::path::Path;

use assay_task::Task;
use assay_trial::{Experiment, Pairing};

/// The part that also has a count of its own.
pub(crate) const TESTS: &str = "tests";

/// Parts by their names, each with a text that differs where the part does.
pub(crate) type Parts = BTreeMap<&'static str, String>;

/// The parts of an experiment.
pub(crate) fn of_experiment(experiment: &Experiment) -> Parts {
    let agents = &experiment.agents;
    macro_rules! of_agents {
        ($($key:ident),+) => {
            format!("{:?}", agents.iter().map(|agent| ($(&agent.$key,)+)).collect::<Vec<_>>())
        };
    }
    let mut parts = Parts::from([
        ("agent", of_agents!(name, version, placement)),
        ("model", of_agents!(model)),
        ("price", of_agents!(price)),
        ("base_url", of_agents!(base_url, server)),
        ("api_key_env", of_agents!(api_key_env)),
        ("max_turns", of_agents!(max_turns)),
        ("temperature", of_agents!(temperature)),
        (
            "limits",
            of_agents!(max_tokens, max_usd, timeout, command_timeout, context_tokens, max_output_tokens),
        ),
    ]);
    let Experiment { memory_bytes, cpus, retries, stop_after, .. } = experiment;
    parts.extend([
        ("allow_env", format!("{:?}", experiment.allow_env)),
        ("sandbox", format!("{:?}", experiment.sandbox)),
        ("network", format!("{:?} {}", experiment.network, experiment.verifier_network)),
        ("disclosure", format!("{:?}", experiment.disclosure)),
        ("outcome", format!("{:?}", experiment.outcome)),
        ("baseline", format!("{:?}", experiment.conditions.first())),
        ("settings", format!("{:?}", experiment.settings)),
        ("judge", format!("{:?} {:?}", experiment.judge, experiment.calibration)),
        ("library", format!("{:?}", experiment.library)),
        ("metrics", format!("{:?}", experiment.metrics)),
        ("stopping", format!("{:?}", experiment.stopping)),
        ("resources", format!("{memory_bytes:?} {cpus:?} {retries:?} {stop_after}")),
    ]);
    without_folder(parts, &experiment.directory)
}

/// The same for every place where a repository lies.
fn without_folder(mut parts: Parts, folder: &Path) -> Parts {
    let folder = folder.display().to_string();
    for text in parts.values_mut() {
        *text = text.replace(&folder, "");
    }
    parts
}

/// What a task is given beside the skill that is measured.
pub(crate) fn of_pairing(pairing: Option<&Pairing>, own: &[String]) -> (Vec<String>, Option<String>) {
    let curated = pairing.and_then(|pairing| pairing.curated.as_ref()).into_iter().flatten();
    let others = curated.filter(|name| !own.contains(name)).cloned().collect();
    (others, pairing.and_then(|pairing| pairing.documents.clone()))
}

/// The parts of a task.
pub(crate) fn of_task(task: &Task) -> Parts {
    let config = &task.config;
    let networks = (&config.agent_network, &config.verifier_network);
    let users = (&config.agent_user, &config.verifier_user, &config.verifier_mode);
    let parts = Parts::from([
        (TESTS, task.tests_digest.to_string()),
        ("solution", format!("{:?} {:?}", task.solution_digest, config.solution_env)),
        ("image", format!("{} {:?}", task.environment_digest, config.verifier_environment)),
        ("environment", format!("{:?} {:?}", config.environment, config.verifier_env)),
        ("timeouts", format!("{:?} {}", config.agent_timeout, config.verifier_timeout)),
        ("network", format!("{networks:?}")),
        ("users", format!("{users:?}")),
        ("steps", format!("{:?} {:?}", config.steps, config.reward_strategy)),
        ("collected files", format!("{:?} {:?}", config.artifacts, config.collect)),
        ("rubric", format!("{:?} {:?}", task.graded_by, task.rubric)),
        ("test doubles", format!("{:?}", task.doubles)),
        ("files that it may change", format!("{:?} {:?} {:?}", task.expected, task.writable, task.keep)),
    ]);
    without_folder(parts, &task.root)
}

/// The names of parts, with whether they differ.
pub(crate) fn differ<'a>(before: &'a Parts, now: &'a Parts) -> impl Iterator<Item = (&'static str, bool)> {
    before.iter().map(|(name, part)| (*name, now.get(name) != Some(part)))
}
