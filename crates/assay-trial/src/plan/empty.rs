//! Conditions that no trial is left of.

use assay_store::ExclusionGroup;

use crate::plan::Plan;

/// Conditions of an experiment without any trial: the run would pay for the others and could not compare them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", describe(.0))]
pub struct EmptyConditions(pub Vec<EmptyCondition>);

/// A condition without a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmptyCondition {
    /// Its name.
    pub condition: String,
    /// Why it has nothing for the tasks, and for which: each reason once.
    pub reasons: Vec<(String, String)>,
}

fn describe(conditions: &[EmptyCondition]) -> String {
    let of = |empty: &EmptyCondition| {
        let reasons: Vec<String> =
            empty.reasons.iter().map(|(tasks, reason)| format!("{tasks}: {reason}")).collect();
        format!("the condition `{}` has no trial: {}", empty.condition, reasons.join("; "))
    };
    conditions.iter().map(of).collect::<Vec<_>>().join("\n")
}

impl Plan {
    /// Refuses a plan in which a condition has nothing for any task.
    ///
    /// # Errors
    /// The conditions, with the reasons.
    pub fn require_trials(&self) -> Result<(), EmptyConditions> {
        let groups = ExclusionGroup::all(&self.excluded);
        let empty = |name: &&String| self.cells.iter().all(|cell| cell.condition != **name);
        let conditions: Vec<EmptyCondition> = self
            .experiment
            .conditions
            .iter()
            .filter(empty)
            .map(|name| {
                let own = groups.iter().filter(|group| group.condition == Some(name.as_str()));
                EmptyCondition {
                    condition: name.clone(),
                    reasons: own.map(|group| (group.tasks_text(), group.reason.to_owned())).collect(),
                }
            })
            // Tasks that cannot be run at all are told of elsewhere.
            .filter(|empty| !empty.reasons.is_empty())
            .collect();
        if conditions.is_empty() { Ok(()) } else { Err(EmptyConditions(conditions)) }
    }
}
