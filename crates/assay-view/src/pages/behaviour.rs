//! What an audit of a run finds, by skill.

use std::collections::BTreeMap;

use assay_analysis::audited::{skill_texts, visit_run};
use assay_audit::calibrated::audit;
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
    pub(crate) followed: usize,
    pub(crate) violated: usize,
    pub(crate) total: usize,
}

impl Behaviour {
    pub(crate) fn of(store: &Store, data: &RunData) -> Self {
        let mut found = Self::default();
        let texts = skill_texts(store, &data.plan, &mut ());
        let visited = visit_run(store, &data.plan, &texts, &mut (), |task, library| {
            let digest = texts.iter().find(|(_, text)| std::ptr::eq(*text, task.skill));
            let Some((digest, _)) = digest else { return };
            let traces = found.skills.entry(digest.clone()).or_default();
            for run in audit(task, library).runs.iter().filter(|run| run.with) {
                let Some(trial) = run.name.trial.as_ref().and_then(|id| id.parse::<TrialId>().ok()) else {
                    continue;
                };
                if traces.iter().any(|known| known.trial == trial) {
                    continue;
                }
                let counts = run.adherence.counts();
                traces.push(Trace {
                    trial,
                    opened_at: run.opened_at,
                    adoption: run.adoption,
                    followed: counts.followed,
                    violated: counts.violated,
                    total: counts.total,
                });
            }
        });
        if let Err(error) = visited {
            found.refusal = Some(assay_diagnostic::chain(&error));
        }
        found
    }
}
