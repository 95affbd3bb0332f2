//! `[retry]`: how often a trial is tried again after an infrastructure error.

use assay_store::{Cause, Outcome, Record};
use serde::{Deserialize, Serialize};

/// Retries of a trial within a run, by the cause of its infrastructure error. A missing key of an
/// agent or a spent budget is never retried: the next attempt would end in the same way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retries {
    /// After an error of any cause without a number of its own.
    #[serde(default)]
    pub infrastructure: u32,
    /// After an error of the image.
    pub image: Option<u32>,
    /// After an error of the sandbox.
    pub sandbox: Option<u32>,
    /// After an error of the model provider.
    pub model_provider: Option<u32>,
    /// After an error of the verifier.
    pub verifier: Option<u32>,
    /// After an error of a judge: its answer only, without another trial.
    pub judge: Option<u32>,
    /// After an error of assay itself or of the disk.
    pub harness: Option<u32>,
}

impl Retries {
    /// The same number for each cause.
    pub fn of(infrastructure: u32) -> Self {
        Self { infrastructure, ..Self::default() }
    }

    /// The most retries of a trial whose last error had this cause.
    pub fn after(&self, cause: Option<Cause>) -> u32 {
        let own = match cause {
            Some(Cause::AgentSetup | Cause::Budget | Cause::Environment) => Some(0),
            Some(Cause::Image) => self.image,
            Some(Cause::Sandbox) => self.sandbox,
            Some(Cause::ModelProvider) => self.model_provider,
            Some(Cause::Verifier) => self.verifier,
            Some(Cause::Judge) => self.judge,
            Some(Cause::Harness) => self.harness,
            None => None,
        };
        own.unwrap_or(self.infrastructure)
    }
}

/// How far a trial has used up its retries.
#[derive(Debug, Clone, Copy, Default)]
pub struct RetriesLeft {
    /// The retries of the run.
    pub retries: Retries,
    /// Of them, those that the trial has had.
    pub used: u32,
}

impl RetriesLeft {
    /// What is left after an attempt with this record; none unless it is an infrastructure error.
    pub fn after(&self, record: &Record) -> u32 {
        match record.outcome {
            Outcome::Infrastructure => self.retries.after(record.cause).saturating_sub(self.used),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_without_a_number_has_that_of_all() {
        let retries: Retries =
            toml::from_str("infrastructure = 1\nmodel_provider = 4\nverifier = 0\n").unwrap();
        let check =
            |cause: Option<Cause>, expected: u32| assert_eq!(retries.after(cause), expected, "{cause:?}");
        check(Some(Cause::ModelProvider), 4);
        check(Some(Cause::Verifier), 0);
        check(Some(Cause::Sandbox), 1);
        check(None, 1);
        for never in [Cause::AgentSetup, Cause::Budget, Cause::Environment] {
            check(Some(never), 0);
        }
        assert!(toml::from_str::<Retries>("agent_setup = 1\n").is_err());
    }
}
