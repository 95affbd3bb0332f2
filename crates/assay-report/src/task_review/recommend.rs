//! The recommendation, by rules. docs/TASKS.md lists them.

use assay_analysis::{TaskArmResults, TaskResults};
use assay_diagnostic::Severity;
use assay_task::check::Finding;
use serde::Serialize;

use super::oracle::OracleResults;

/// Trials from which a share of 0 or 1 counts.
const TRIALS: u64 = 3;

/// The share of trials that infrastructure errors may take.
const MOST_ERRORS: f64 = 0.1;

/// A recommendation. The order is that of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewChoice {
    /// Results on it would be meaningless or wrong.
    Reject,
    /// It has a fault that can be corrected.
    Revise,
    /// Nothing is known against it, but a part was not measured.
    NotMeasured,
    /// Nothing is known against it.
    Accept,
}

impl ReviewChoice {
    /// As it is printed.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Revise => "revise",
            Self::NotMeasured => "not measured",
            Self::Accept => "accept",
        }
    }
}

/// A recommendation with its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recommendation {
    /// The recommendation.
    pub choice: ReviewChoice,
    /// What speaks for it; empty for `accept`.
    pub reasons: Vec<ReviewReason>,
}

/// A reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewReason {
    /// What it speaks for.
    pub choice: ReviewChoice,
    /// A code of `task check`, of drafting, or of this module.
    pub code: String,
    /// A fragment.
    pub message: String,
}

/// The recommendation for a task, by what rules found, by its own trials and by those of agents.
pub(super) fn recommend_choice(
    findings: &[Finding],
    oracle: &OracleResults,
    results: &[TaskResults],
) -> Recommendation {
    let mut reasons = Vec::new();
    let mut add = |choice: ReviewChoice, code: &str, message: String| {
        reasons.push(ReviewReason { choice, code: code.to_owned(), message });
    };
    for finding in findings {
        match finding.severity {
            Severity::Error => add(ReviewChoice::Reject, &finding.code, finding.message.clone()),
            Severity::Warning => add(ReviewChoice::Revise, &finding.code, finding.message.clone()),
            Severity::Info => {}
        }
    }
    for run in results {
        of_run(run, &mut add);
    }
    if let Some(reason) = oracle.not_executed() {
        add(ReviewChoice::NotMeasured, "oracle-not-executed", reason);
    }
    let measured = |has_skills: bool| {
        results.iter().flat_map(|run| &run.arms).any(|arm| arm.has_skills == has_skills && arm.trials > 0)
    };
    match (measured(false), measured(true)) {
        (true, true) => {}
        (false, true) => add(ReviewChoice::NotMeasured, "no-baseline", "no trial without skills".to_owned()),
        (true, false) => add(ReviewChoice::NotMeasured, "no-skill-trials", "no trial with skills".to_owned()),
        (false, false) => add(ReviewChoice::NotMeasured, "no-trials", "no trial of an agent".to_owned()),
    }
    if !results.is_empty() && !results.iter().any(|run| run.measures_a_model) {
        add(ReviewChoice::NotMeasured, "demonstration", "no run measures a model".to_owned());
    }
    reasons.sort_by_key(|reason| reason.choice);
    let choice = reasons.first().map_or(ReviewChoice::Accept, |reason| reason.choice);
    Recommendation { choice, reasons }
}

/// What a run says against a task.
fn of_run(run: &TaskResults, add: &mut impl FnMut(ReviewChoice, &str, String)) {
    let name = &run.run;
    let sum = |value: &dyn Fn(&TaskArmResults) -> u64, wanted: &dyn Fn(&TaskArmResults) -> bool| -> u64 {
        run.arms.iter().filter(|arm| wanted(arm)).map(value).sum()
    };
    let all = |_: &TaskArmResults| true;
    let (trials, passed) = (sum(&|arm| arm.trials, &all), sum(&|arm| arm.passed, &all));
    let bare = |arm: &TaskArmResults| arm.condition == run.baseline && !arm.has_skills;
    let (bare_trials, bare_passed) = (sum(&|arm| arm.trials, &bare), sum(&|arm| arm.passed, &bare));
    if bare_trials >= TRIALS && bare_passed == bare_trials {
        let message = format!("{name}: all {bare_trials} trials without skills passed, so no skill can help");
        add(ReviewChoice::Revise, "no-headroom", message);
    }
    if trials >= TRIALS && passed == 0 {
        add(ReviewChoice::Revise, "never-passed", format!("{name}: none of {trials} trials passed"));
    }
    if passed > 0 || trials >= TRIALS {
        let never = run.tests.iter().filter(|test| matches!(test.total(), (0, of) if of >= TRIALS));
        for test in never.take(20) {
            let message = format!("{name}: the test {} failed in all {} trials", test.name, test.total().1);
            add(ReviewChoice::Revise, "test-never-passed", message);
        }
    }
    let errors = sum(&|arm| arm.infrastructure, &all);
    if errors > 0 && errors as f64 > MOST_ERRORS * (errors + trials) as f64 {
        let message = format!("{name}: {errors} of {} trials had infrastructure errors", errors + trials);
        add(ReviewChoice::Revise, "unreliable", message);
    }
    let suspicious = run.failures.iter().filter(|trial| !trial.signs.is_empty()).count();
    if suspicious > 0 {
        let message = format!("{name}: the records of {suspicious} trials have something against them");
        add(ReviewChoice::Revise, "signs", message);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_analysis::TestResults;

    use super::*;

    /// `condition`, with skills or without, trials, passed.
    fn run(arms: &[(&str, bool, u64, u64)]) -> TaskResults {
        let arm = |(condition, has_skills, trials, passed): &(&str, bool, u64, u64)| TaskArmResults {
            who: assay_analysis::AgentKey::default(),
            condition: (*condition).to_owned(),
            has_skills: *has_skills,
            trials: *trials,
            passed: *passed,
            pass_rate: None,
            ci95: None,
            difference: None,
            reward: None,
            tokens: None,
            cost_usd: None,
            seconds: None,
            opened: Some(0),
            timed_out: 0,
            infrastructure: 0,
            unfinished: 0,
        };
        TaskResults {
            run: "r".to_owned(),
            measures_a_model: true,
            baseline: "none".to_owned(),
            arms: arms.iter().map(arm).collect(),
            tests: Vec::new(),
            failures: Vec::new(),
            passed_unopened: Vec::new(),
        }
    }

    #[test]
    fn rules_decide_and_the_most_severe_wins() {
        let executed = OracleResults::executed_for_test();
        let check = |findings: &[Severity], results: Vec<TaskResults>, expected: (ReviewChoice, &[&str])| {
            let findings: Vec<Finding> = findings
                .iter()
                .map(|severity| Finding::new(*severity, "code", "file", "message".to_owned(), "hint"))
                .collect();
            let found = recommend_choice(&findings, &executed, &results);
            let codes: Vec<&str> = found.reasons.iter().map(|reason| reason.code.as_str()).collect();
            assert_eq!((found.choice, &codes[..]), expected, "{results:?}");
        };
        let good = || run(&[("none", false, 3, 1), ("curated", true, 3, 3)]);
        check(&[], vec![good()], (ReviewChoice::Accept, &[]));
        check(&[Severity::Info], vec![good()], (ReviewChoice::Accept, &[]));
        check(&[Severity::Warning], vec![good()], (ReviewChoice::Revise, &["code"]));
        check(&[Severity::Warning, Severity::Error], vec![good()], (ReviewChoice::Reject, &["code", "code"]));
        check(&[], vec![], (ReviewChoice::NotMeasured, &["no-trials"]));
        check(&[Severity::Error], vec![], (ReviewChoice::Reject, &["code", "no-trials"]));
        check(&[], vec![run(&[("none", false, 3, 1)])], (ReviewChoice::NotMeasured, &["no-skill-trials"]));
        check(&[], vec![run(&[("curated", true, 3, 1)])], (ReviewChoice::NotMeasured, &["no-baseline"]));
        let mut scripted = good();
        scripted.measures_a_model = false;
        check(&[], vec![scripted], (ReviewChoice::NotMeasured, &["demonstration"]));
        let easy = run(&[("none", false, 3, 3), ("curated", true, 3, 2)]);
        check(&[], vec![easy], (ReviewChoice::Revise, &["no-headroom"]));
        // Two trials are too few to say so.
        check(&[], vec![run(&[("none", false, 2, 2), ("curated", true, 3, 2)])], (ReviewChoice::Accept, &[]));
        check(
            &[],
            vec![run(&[("none", false, 3, 0), ("curated", true, 3, 0)])],
            (ReviewChoice::Revise, &["never-passed"]),
        );
        let mut broken = good();
        broken.arms[0].infrastructure = 1;
        check(&[], vec![broken], (ReviewChoice::Revise, &["unreliable"]));
        let mut odd = good();
        let counts = |passed| BTreeMap::from([("none".to_owned(), (passed, 3))]);
        odd.tests = vec![
            TestResults { name: "a".to_owned(), conditions: counts(0) },
            TestResults { name: "b".to_owned(), conditions: counts(1) },
        ];
        check(&[], vec![odd], (ReviewChoice::Revise, &["test-never-passed"]));
    }

    #[test]
    fn what_was_not_executed_is_not_accepted() {
        let found = recommend_choice(
            &[],
            &OracleResults::default(),
            &[run(&[("none", false, 3, 1), ("a", true, 3, 1)])],
        );
        assert_eq!(found.choice, ReviewChoice::NotMeasured);
        assert_eq!(found.reasons[0].code, "oracle-not-executed");
    }
}
