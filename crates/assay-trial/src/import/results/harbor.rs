//! Job folders of Harbor and of BenchFlow, read as `assay import harbor` reads them.

use assay_store::{ArmRole, AttemptEnd, ConditionRole, Outcome, ResultAttempt, ResultSource, ToolResults};

use super::error::ResultError;
use super::format::ResultFormat;
use super::input::{ResultContent, ResultInput};
use crate::import::ImportFact;
use crate::import::condition::Overrides;
use crate::import::trial::{ForeignOutcome, ForeignTrial, Origin};
use crate::import::walk::Walk;
use crate::import::{conditions, find_tasks, read_all};

/// The layout of Harbor and BenchFlow.
pub(super) struct HarborJobs;

impl ResultFormat for HarborJobs {
    fn name(&self) -> &'static str {
        "Harbor or BenchFlow jobs"
    }

    fn facts(&self) -> &'static [ImportFact] {
        &ImportFact::ALL
    }

    fn recognizes(&self, input: &ResultInput) -> bool {
        if !matches!(input.content, ResultContent::Folder) {
            return false;
        }
        let mut walk = Walk::default();
        walk.folder(&input.path);
        !walk.trials.is_empty()
    }

    fn read(&self, input: &ResultInput) -> Result<ToolResults, ResultError> {
        let mut walk = Walk::default();
        walk.folder(&input.path);
        let mut read = read_all(&mut walk)?;
        find_tasks(&mut read);
        let mut notes = Vec::new();
        let conditions = conditions(&read, &Overrides::new(&[])?, &mut notes);
        let benchflow = read.iter().all(|(_, trial)| trial.by == Origin::BenchFlow);
        let mut results = ToolResults {
            source: ResultSource {
                format: self.name().to_owned(),
                tool: if benchflow { "BenchFlow" } else { "Harbor" }.to_owned(),
                version: None,
                files: vec![input.path.clone()],
            },
            scores_failures: true,
            unused: vec!["trajectories, token counts and output of verifiers".to_owned()],
            ..ToolResults::default()
        };
        for (reason, count) in &walk.unusable {
            results.unused.push(format!("{count} × {reason}"));
        }
        for note in notes {
            // The option of the import that has one.
            let note = note.replace("`--condition", "`import harbor --condition");
            results.remark("unknown-condition", note);
        }
        for ((_, trial), condition) in read.iter().zip(conditions) {
            let role = match ConditionRole::of(&condition) {
                ConditionRole::None => ArmRole::Baseline,
                ConditionRole::Curated => ArmRole::Treatment,
                _ => ArmRole::Unnamed,
            };
            let arm = results.arm_index(&condition, role);
            let label = &trial.agent;
            results.arms[arm].models.insert(match &label.model {
                Some(model) => format!("{} with {model}", label.name),
                None => label.name.clone(),
            });
            let (facts, known) = (&trial.beside.facts, trial.known_skills(ConditionRole::of(&condition)));
            if let Some(attempt) = read_attempt(trial, arm) {
                results.attempts.push(ResultAttempt {
                    cluster: facts.cluster.clone(),
                    category: facts.category.clone(),
                    difficulty: facts.difficulty.clone(),
                    skills: known.number,
                    skill_tokens: known.body_tokens,
                    ..attempt
                });
            } else {
                results.unused.push(format!("a cancelled trial of {}", trial.task));
            }
        }
        Ok(results)
    }
}

fn read_attempt(trial: &ForeignTrial, arm: usize) -> Option<ResultAttempt> {
    let ForeignOutcome::Of(outcome, cause, reason) = &trial.outcome else { return None };
    let reward = trial.reward.as_ref().map(|reward| reward.value.clamp(0.0, 1.0));
    let (end, score) = match outcome {
        Outcome::Passed => (AttemptEnd::Graded, Some(1.0)),
        Outcome::Failed => (AttemptEnd::Graded, Some(reward.unwrap_or(0.0))),
        Outcome::TimedOut | Outcome::Tampered => (AttemptEnd::Graded, Some(0.0)),
        Outcome::Infrastructure => {
            let cause = cause.map(|cause| format!("{cause:?}").to_lowercase());
            // Harbor's means count a trial without a reward as 0.
            (
                AttemptEnd::Errored(reason.clone().or(cause).unwrap_or_else(|| "an error".to_owned())),
                Some(0.0),
            )
        }
    };
    Some(ResultAttempt {
        arm,
        case: trial.task.clone(),
        end,
        score,
        cost_usd: trial.cost_usd,
        seconds: trial.seconds.agent,
        ..ResultAttempt::default()
    })
}
