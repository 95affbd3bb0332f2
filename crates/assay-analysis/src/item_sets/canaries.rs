//! Canaries: items whose answer nobody can guess, and what a baseline without the skill knows of them.

use std::collections::BTreeMap;

use assay_store::{CheckSet, ConditionRole, RunFolder, TrialId};
use serde::Serialize;

use super::seen::{Met, is_met};
use crate::gather::Gathered;
use crate::model::AgentKey;
use crate::table::Table;

/// The canaries that the baseline of an agent gives without the skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CanaryKnowledge {
    /// Agent, model and sandbox.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The baseline.
    pub baseline: String,
    /// Canaries that a trial of the baseline meets.
    pub known: usize,
    /// Canaries that a trial of the baseline was checked for.
    pub total: usize,
    /// Those that are known.
    pub items: Vec<KnownCanary>,
}

/// A canary that the baseline gives.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownCanary {
    /// The directive, else the check.
    pub item: String,
    /// The answer, if the verifier says it.
    pub answer: Option<String>,
    /// The task of the first trial that gives it.
    pub task: String,
    /// The trial.
    pub trial: TrialId,
}

/// What the baselines of a run know without the skill, agent by agent.
pub(crate) fn canary_knowledge(run: &RunFolder, gathered: &Gathered) -> Vec<CanaryKnowledge> {
    let Some(baseline) = run.conditions.first() else { return Vec::new() };
    if !is_without_skill(run.role_of(baseline)) {
        return Vec::new();
    }
    gathered.tables.iter().filter_map(|table| known_canaries(table, baseline)).collect()
}

/// Whether what an agent knows under a condition is not from the skill.
fn is_without_skill(role: ConditionRole) -> bool {
    matches!(role, ConditionRole::None | ConditionRole::Placebo | ConditionRole::Negative)
}

/// The canaries that an agent's baseline gives. Tasks that test one directive with one answer have one canary together.
///
/// One trial is enough: nobody guesses such an answer.
fn known_canaries(table: &Table, baseline: &str) -> Option<CanaryKnowledge> {
    let mut found: BTreeMap<(&str, Option<&str>), Option<KnownCanary>> = BTreeMap::new();
    for (task, slot) in table.cells.get(baseline)? {
        for result in slot.valid() {
            let canaries = result.set_checks.iter().filter(|check| check.label.canary);
            for check in canaries.filter(|check| check.label.set == CheckSet::If) {
                let known = found.entry((&check.key, check.label.answer.as_deref())).or_default();
                if known.is_none() && is_met(result, check) == Met::Yes {
                    *known = Some(KnownCanary {
                        item: check.key.clone(),
                        answer: check.label.answer.clone(),
                        task: task.clone(),
                        trial: result.trial.clone(),
                    });
                }
            }
        }
    }
    let total = found.len();
    let items: Vec<KnownCanary> = found.into_values().flatten().collect();
    (total > 0).then(|| CanaryKnowledge {
        who: table.who.clone(),
        baseline: baseline.to_owned(),
        known: items.len(),
        total,
        items,
    })
}
