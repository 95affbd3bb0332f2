//! The experiment of a skill as a gate executes it.

use assay_store::{ConditionRole, MetricDirection, MetricScale, MetricSource, MetricSpec};
use assay_trial::Experiment;

use super::{GateTrials, Versions};
use crate::gate_error::GateError;
use crate::measured::{CONDITION, COST};
use crate::policy::Requirement;
use crate::terms::SkillTerms;

impl GateTrials<'_> {
    /// The experiment of a skill: its tasks, the baseline and the skill.
    pub(super) fn write_experiment(
        &self,
        name: &str,
        terms: &SkillTerms,
        versions: &Versions,
    ) -> Result<Experiment, GateError> {
        let mut experiment = terms.experiment.clone().ok_or(GateError::NoExperiment)?;
        self.host.fill_prices(&mut experiment)?;
        let first = experiment.conditions.first().cloned().unwrap_or_default();
        let baseline = match (terms.rule.require, &versions.base) {
            (Requirement::NonInferior, Some(commit)) => format!("{}:{commit}", ConditionRole::Version),
            // Settings are removed below, a name that `is` another condition among them.
            _ => experiment.condition_of(terms.rule.baseline.as_ref().unwrap_or(&first)).to_owned(),
        };
        experiment.name = run_name(name);
        let folders = terms.tasks.values().map(|task| {
            std::path::absolute(&task.folder).unwrap_or_else(|_| task.folder.clone()).display().to_string()
        });
        experiment.suite = folders.map(|folder| escape_pattern(&folder)).collect();
        experiment.pairings.retain(|task, _| terms.tasks.contains_key(task));
        experiment.conditions = vec![baseline, CONDITION.name().to_owned()];
        if let Some(reference) = versions.reference.as_ref().filter(|found| terms.is_measured_against(found))
        {
            let reference = reference.condition();
            if !experiment.conditions.contains(&reference) {
                experiment.conditions.push(reference);
            }
        }
        experiment.settings.clear();
        experiment.primary = None;
        // Claims of all skills share the error budget by p-values of one look.
        experiment.stopping = None;
        if let Some(ratio) = terms.rule.guards.cost_ratio {
            experiment.metrics = vec![MetricSpec {
                name: COST.to_owned(),
                source: MetricSource::CostUsd,
                unit: Some("USD".to_owned()),
                direction: MetricDirection::Lower,
                scale: MetricScale::Log,
                margin: None,
                guard: Some(ratio),
            }];
        }
        if let (None, Some(package)) = (self.reuse, &terms.package) {
            experiment.seed = seed_of(experiment.seed, &package.digest.to_string());
        }
        Ok(experiment)
    }
}

/// A seed for one version of a skill: its trials, and those of the baseline beside them, are executed together.
pub(super) fn seed_of(seed: u64, of: &str) -> u64 {
    let hash = blake3::hash(format!("{seed} {of}").as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_bytes()[..8]);
    // TOML and JSON have signed numbers.
    u64::from_le_bytes(bytes) >> 1
}

/// The run of a skill.
pub(super) fn run_name(skill: &str) -> String {
    let name: String = skill
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '-' })
        .collect();
    let name = name.trim_start_matches("gate-").trim_matches('-');
    format!("gate-{}", name.chars().take(60).collect::<String>())
}

/// A path as a pattern that matches nothing else.
pub(super) fn escape_pattern(path: &str) -> String {
    let mut pattern = String::new();
    for c in path.chars() {
        match c {
            '*' | '?' | '[' | ']' | '{' | '}' => pattern.extend(['[', c, ']']),
            c => pattern.push(c),
        }
    }
    pattern
}
