//! What an audit of a run finds, by skill.

use std::collections::BTreeMap;

use assay_analysis::audited::{Notices, skill_texts, summarize_run};
use assay_audit::adherence::DirectiveCounts;
use assay_store::{Store, TrialId};

use crate::data::RunData;

/// The trials that an audit of a run examined, by the digest of the skill.
#[derive(Debug, Default)]
pub(crate) struct Behaviour {
    pub(crate) skills: BTreeMap<String, Vec<Trace>>,
    /// Why the run was not audited.
    pub(crate) refusal: Option<String>,
}

/// A trial with a skill.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) trial: TrialId,
    pub(crate) opened_at: Option<usize>,
    /// `None` where nothing of the skill can be adopted measurably.
    pub(crate) adoption: Option<f64>,
    pub(crate) counts: DirectiveCounts,
    /// Whether it ran and wrote what another trial of its task and condition did.
    pub(crate) is_copy: bool,
}

impl Behaviour {
    pub(crate) fn of(store: &Store, data: &RunData, notices: &mut dyn Notices) -> Self {
        let mut found = Self::default();
        let texts = skill_texts(store, &data.plan, notices);
        let visited = summarize_run(store, &data.plan, &texts, notices, |task, runs| {
            let digest = texts.iter().find(|(_, text)| std::ptr::eq(*text, task.skill));
            let Some((digest, _)) = digest else { return };
            let traces = found.skills.entry(digest.clone()).or_default();
            for (run, shown) in task.runs.iter().zip(runs).filter(|(run, _)| run.with) {
                let Some(trial) = run.name.trial.as_ref().and_then(|id| id.parse::<TrialId>().ok()) else {
                    continue;
                };
                if traces.iter().any(|known| known.trial == trial) {
                    continue;
                }
                traces.push(Trace {
                    trial,
                    opened_at: shown.opened_at,
                    adoption: shown.adoption,
                    counts: shown.counts(),
                    is_copy: shown.copy_of.is_some(),
                });
            }
        });
        if let Err(error) = visited {
            found.refusal = Some(assay_diagnostic::chain(&error));
        }
        found
    }
}
