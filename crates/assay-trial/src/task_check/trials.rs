//! What the oracle trials and the no-op check of a task came to.

use std::collections::BTreeMap;
use std::path::Path;

use assay_diagnostic::{Severity, clean};
use assay_store::{Cause, KeptBecause, Outcome, Record, VerifierEnvironment};
use assay_task::check::Finding;
use assay_task::{Task, VerifierMode};
use serde::Serialize;

use super::hints::{self, Who};

/// In which environment the work on a task is graded in Docker, as far as the checks show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GradingEnvironment {
    /// The image as it was, with the agent's work folders: the oracle passes that way.
    Restored,
    /// The agent's container: the oracle passes only there, or the task has no other.
    Kept,
    /// The verifier has an environment of its own.
    Separate,
    /// No oracle passes.
    Undecided,
}

impl GradingEnvironment {
    /// As it is printed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Kept => "kept",
            Self::Separate => "separate",
            Self::Undecided => "undecided",
        }
    }

    /// What the oracle and the no-op check of a task show.
    pub(super) fn of_trials(task: &Task, executed: &TaskTrials) -> Option<Self> {
        if executed.sandbox.as_deref() != Some("docker") {
            return None;
        }
        let passed = executed.oracle.as_ref().filter(|oracle| oracle.outcome == Outcome::Passed);
        let counts =
            |trial: &&TaskTrialSummary| trial.outcome.counts() || trial.cause == Some(Cause::Verifier);
        match passed.and_then(|oracle| oracle.verifier_environment) {
            Some(VerifierEnvironment::Restored) => Some(Self::Restored),
            Some(VerifierEnvironment::Kept) => Some(Self::Kept),
            None if task.config.verifier_mode == VerifierMode::Separate => Some(Self::Separate),
            // Nothing was graded where no container started.
            None => executed.oracle.iter().chain(&executed.nop).find(counts).map(|_| Self::Undecided),
        }
    }
}

/// What one trial came to.
#[derive(Debug, Clone, Serialize)]
pub struct TaskTrialSummary {
    /// The outcome.
    pub outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
    /// The reward, if there is one.
    pub reward: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// How long it took.
    pub seconds: Option<f64>,
    /// In which environment a container's work was graded.
    #[serde(skip_serializing_if = "Option::is_none")]
    verifier_environment: Option<VerifierEnvironment>,
    /// Why it is the agent's own container, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_because: Option<KeptBecause>,
    /// What was changed outside the work folder, where the work is graded in the agent's own container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outside: Vec<String>,
    /// The reward of each test, if the verifier wrote several.
    #[serde(skip)]
    pub rewards: BTreeMap<String, f64>,
    /// Names of several rewards of which none is `reward`; empty for other verifiers.
    pub several_rewards: Vec<String>,
    /// The end of what the solution printed.
    #[serde(skip)]
    pub(super) output: String,
    /// The end of what the verifier printed.
    #[serde(skip)]
    pub(super) verifier_output: String,
}

impl TaskTrialSummary {
    /// Why the work is graded in the agent's own container, with the files that make it so.
    fn kept_reason(&self) -> String {
        const SHOWN: usize = 5;
        match self.kept_because {
            // The files say why.
            Some(KeptBecause::Oracle) if !self.outside.is_empty() => {}
            Some(reason) => return format!(", because {}", reason.describe()),
            None => return String::new(),
        }
        let shown = self.outside.iter().take(SHOWN).map(|path| clean(path)).collect::<Vec<_>>().join(", ");
        let more = self.outside.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(", because the oracle changes {shown}{more}")
    }

    /// What to do about a trial that did not come out as it should, and the line that says why; the hint is the one given where nothing does.
    fn advice(&self, otherwise: &'static str) -> (&'static str, String) {
        let reason = self.reason.as_deref().unwrap_or_default();
        let found = match (self.outcome, self.cause) {
            (Outcome::TimedOut, _) => {
                let hint = "the solution needs more time: raise `timeout_sec` under `[agent]` in task.toml, or more processors";
                return (hint, String::new());
            }
            (Outcome::Tampered, _) => {
                let hint = "do not change verifier files or files that interpreters load automatically, or list them in `[metadata.assay] expected`";
                return (hint, String::new());
            }
            (_, Some(Cause::Verifier)) => hints::hint(Who::Verifier, reason)
                .map(|(hint, _)| (hint, String::new()))
                .or_else(|| hints::hint(Who::Verifier, &self.verifier_output)),
            _ => hints::hint(Who::Solution, &self.output)
                .or_else(|| hints::hint(Who::Verifier, &self.verifier_output)),
        };
        found.unwrap_or((otherwise, String::new()))
    }
}

/// What the three trials came to; `null` where one was not executed.
#[derive(Debug, Default, Serialize)]
pub struct TaskTrials {
    pub(super) oracle: Option<TaskTrialSummary>,
    pub(super) nop: Option<TaskTrialSummary>,
    pub(super) oracle_again: Option<TaskTrialSummary>,
    /// Oracle trials after the second.
    #[serde(skip)]
    pub(super) oracle_more: Vec<TaskTrialSummary>,
    /// In which kind of sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sandbox: Option<String>,
    /// In which environment the work is graded, in Docker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verifier_environment: Option<GradingEnvironment>,
    /// What could not be checked, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unchecked: Vec<String>,
}

impl TaskTrials {
    /// Whether something could not be checked.
    pub fn is_unchecked(&self) -> bool {
        !self.unchecked.is_empty()
    }

    /// What could not be checked, and why.
    pub fn unchecked_parts(&self) -> &[String] {
        &self.unchecked
    }

    /// The oracle trials and the no-op check, as far as they were executed, by name.
    pub fn named_trials(&self) -> Vec<(&'static str, &TaskTrialSummary)> {
        let oracle = self.oracle.iter().chain(&self.oracle_again).chain(&self.oracle_more);
        let oracle = oracle.map(|trial| ("oracle", trial));
        oracle.chain(self.nop.iter().map(|trial| ("no-op", trial))).collect()
    }

    /// In which kind of sandbox.
    pub fn sandbox_name(&self) -> Option<&str> {
        self.sandbox.as_deref()
    }

    /// In which environment the work is graded, in Docker.
    pub fn verifier_environment(&self) -> Option<GradingEnvironment> {
        self.verifier_environment
    }

    /// One line for people.
    pub fn describe_trials(&self) -> String {
        let word = |played: &Option<TaskTrialSummary>| {
            played.as_ref().map_or("not executed", |played| played.outcome.word()).replace('_', " ")
        };
        let mut text = String::new();
        if let Some(sandbox) = &self.sandbox {
            text.push_str(&format!(
                "  executed in {sandbox}: oracle {}, oracle again {}, no-op {}\n",
                word(&self.oracle),
                word(&self.oracle_again),
                word(&self.nop)
            ));
        }
        if let Some(environment) = self.verifier_environment {
            let reason = self.oracle.as_ref().filter(|_| environment == GradingEnvironment::Kept);
            let reason = reason.map(TaskTrialSummary::kept_reason).unwrap_or_default();
            text.push_str(&format!("  verifier environment: {}{reason}\n", environment.word()));
        }
        for reason in &self.unchecked {
            text.push_str(&format!("  unchecked: {}\n", clean(reason)));
        }
        text
    }

    /// Adds what the trials say against the task.
    pub fn add_findings(&self, task: &Task, findings: &mut Vec<Finding>) {
        let solve = task.root.join("solution/solve.sh");
        let tests = match task.layout {
            assay_task::Layout::Harbor => task.root.join("tests/test.sh"),
            assay_task::Layout::TaskMd => task.root.join("verify.sh"),
        };
        self.add_several_rewards(&tests, findings);
        let mut fail = |code: &str, file: &Path, message: String, hint: &str| {
            findings.push(Finding::new(Severity::Error, code, file, message, hint));
        };
        let because = |played: &TaskTrialSummary| {
            played.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"))
        };
        if let Some(oracle) = self.oracle.as_ref().filter(|played| played.outcome != Outcome::Passed)
            && (oracle.outcome.counts() || oracle.cause == Some(Cause::Verifier))
        {
            let word = oracle.outcome.word().replace('_', " ");
            let (hint, line) = oracle.advice("fix the solution or the tests");
            let line = if line.is_empty() { line } else { format!(": {line}") };
            let message = format!("the oracle does not pass ({word}{}{line})", because(oracle));
            fail("oracle-fails", &solve, message, hint);
        }
        if let Some(nop) = &self.nop {
            if nop.outcome == Outcome::Passed {
                let hint = "make the tests require the result of the work";
                fail(
                    "nop-passes",
                    &tests,
                    "the no-op check passes: the tests accept an untouched environment".to_owned(),
                    hint,
                );
            } else if nop.cause == Some(Cause::Verifier) {
                let (hint, line) = nop.advice("write reward 0 when files are missing, too");
                let line = if line.is_empty() { line } else { format!(": {line}") };
                let message = format!("its verifier breaks in the no-op check{}{line}", because(nop));
                fail("nop-breaks", &tests, message, hint);
            }
        }
        let Some(once) = self.oracle.as_ref().filter(|played| played.outcome.counts()) else { return };
        let again = self.oracle_again.iter().chain(&self.oracle_more);
        let differs = |other: &&TaskTrialSummary| {
            other.outcome.counts()
                && (once.outcome, once.reward, &once.rewards) != (other.outcome, other.reward, &other.rewards)
        };
        if let Some(other) = again.into_iter().find(differs) {
            let reward = |played: &TaskTrialSummary| {
                played.reward.map_or("no reward".to_owned(), |reward| reward.to_string())
            };
            let message = format!("the oracle got reward {}, then {}", reward(once), reward(other));
            fail(
                "oracle-unstable",
                &solve,
                message,
                "make solution and tests independent of time, randomness and order",
            );
        }
    }

    /// Adds that the verifier wrote several rewards and none of the name `reward`, unless its text shows it.
    fn add_several_rewards(&self, tests: &Path, findings: &mut Vec<Finding>) {
        let writer = self.oracle.iter().chain(&self.nop).find(|played| !played.several_rewards.is_empty());
        if let Some(played) = writer.filter(|_| !findings.iter().any(|known| known.code == "several-rewards"))
        {
            let all = &played.several_rewards;
            let names = all.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
            let more = if all.len() > 5 { ", …" } else { "" };
            findings.push(Finding::new(
                Severity::Warning,
                "several-rewards",
                tests,
                format!(
                    "the verifier writes {} rewards ({names}{more}) and no key `reward`: a trial passes only if all are 1 or more",
                    all.len()
                ),
                "write the key `reward` (1 if all tests passed), and the tests as a CTRF report",
            ));
        }
    }

    /// The end of what solution and verifier printed, in the first oracle trial and in the no-op check.
    pub fn printed_output(&self) -> String {
        let trials = [("the solution's trial", &self.oracle), ("the no-op check", &self.nop)];
        let mut text = String::new();
        for (name, trial) in trials {
            let Some(trial) = trial else { continue };
            let outcome = trial.outcome.word().replace('_', " ");
            let rewards: Vec<String> =
                trial.rewards.iter().map(|(test, reward)| format!("{test} {reward}")).collect();
            text.push_str(&format!("{name}: {outcome}; tests: {}\n", rewards.join(", ")));
            for (what, output) in [("solution", &trial.output), ("verifier", &trial.verifier_output)] {
                if !output.trim().is_empty() {
                    text.push_str(&format!("the {what} printed:\n{}\n", output.trim_end()));
                }
            }
        }
        text
    }
}

/// The rewards of a trial, or its checks with 1 for a passed and 0 for a failed one.
fn results(record: &Record) -> BTreeMap<String, f64> {
    let checks = record.checks();
    let decided = checks.into_iter().filter_map(|check| {
        let passed = check.passed()?;
        Some((check.name, if passed { 1.0 } else { 0.0 }))
    });
    let mut results: BTreeMap<String, f64> = decided.collect();
    results.extend(record.rewards.clone());
    results
}

pub(super) fn summarize_record(record: &Record) -> TaskTrialSummary {
    let seconds = &record.seconds;
    TaskTrialSummary {
        outcome: record.outcome,
        cause: record.cause,
        reward: record.reward,
        reason: record.reason.clone(),
        seconds: seconds.total,
        verifier_environment: record.verifier_environment,
        kept_because: record.kept_because,
        outside: match record.verifier_environment {
            Some(VerifierEnvironment::Kept) => record.outside.clone(),
            _ => Vec::new(),
        },
        rewards: results(record),
        several_rewards: record.rewards.keys().filter(|_| record.has_several_rewards()).cloned().collect(),
        output: String::new(),
        verifier_output: String::new(),
    }
}
