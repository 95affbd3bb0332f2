//! Comparisons that are decided after each complete round.

use assay_analysis::{Comparison, End, Reason, Rounds, VerdictKind};
use assay_store::{GeneratedSkill, Stopping};

use crate::suite::{Suite, close};

/// Twenty tasks, decided after each of at most six rounds.
fn suite(conditions: &[&str], words: &[&str]) -> Suite {
    Suite::uniform(conditions, words).plan(|run| run.stopping = Some(Stopping { rounds: 6, looks: None }))
}

fn stage(comparison: &Comparison) -> (u32, Option<End>, Option<VerdictKind>) {
    let Rounds { round, rounds, ended } = comparison.sequential.unwrap();
    assert_eq!(rounds, 6);
    (round, ended, comparison.verdict)
}

#[test]
fn a_comparison_stops_at_its_first_verdict() {
    let check = |base: &str, arm: &str, expected: (u32, Option<End>, Option<VerdictKind>)| {
        let found = suite(&["none", "curated"], &[base, arm]).compared();
        assert_eq!(stage(&found), expected, "{base} {arm}");
    };
    let (verdict, last) = (Some(End::Verdict), Some(End::LastRound));
    check("FFFFFF", "PPPPPP", (1, verdict, Some(VerdictKind::Helps)));
    check("PPPPPP", "FFFFFF", (1, verdict, Some(VerdictKind::Harms)));
    // Trials that other runs left do not count: the comparison had ended.
    check("FFFFFF", "PFFFFF", (1, verdict, Some(VerdictKind::Helps)));
    check("FFFFFF", "FPPPPP", (2, verdict, Some(VerdictKind::Helps)));
    // 20 tasks are too few for `negligible`.
    check("FFFFFF", "FFFFFF", (2, Some(End::Futility), Some(VerdictKind::Inconclusive)));
    // The second round is not complete.
    check("FP....", "F.PPPP", (1, None, None));
    // A lost trial was executed: its round is complete.
    check("iFFFFF", "iPPPPP", (2, verdict, Some(VerdictKind::Helps)));
    let half = suite(&["none", "curated"], &["PFPFPF", "FPFPFP"]).each(|record| {
        // Half of the tasks the other way round: no effect, much noise.
        if record.task.as_str() < "t10" {
            let swap = if record.condition == "none" { [2, 4, 6] } else { [1, 3, 5] };
            let passed = swap.contains(&record.repetition);
            record.outcome = if passed { assay_store::Outcome::Passed } else { assay_store::Outcome::Failed };
        }
    });
    let found = half.compared();
    assert_eq!(found.verdict, Some(VerdictKind::Inconclusive));
    assert!(matches!(found.sequential.unwrap().ended, Some(End::Futility)) || stage(&found).1 == last);
}

#[test]
fn decided_conditions_stop_and_the_baseline_goes_on() {
    let conditions = ["none", "early", "late"];
    let found = suite(&conditions, &["FFFFFF", "P.....", "FPP..."]).report();
    let stages: Vec<_> = found.comparisons.iter().map(stage).collect();
    assert_eq!(stages[0], (1, Some(End::Verdict), Some(VerdictKind::Helps)));
    assert_eq!((stages[1].1, stages[1].2), (Some(End::Verdict), Some(VerdictKind::Helps)));
    let last = stages[1].0 as usize;
    let trials: Vec<_> = found.arms.iter().map(|arm| (arm.trials, arm.planned, arm.unfinished)).collect();
    assert_eq!(trials, [(20 * last, 20 * last, 0), (20, 20, 0), (20 * last, 20 * last, 0)]);
    // What was not executed because a comparison ended is not missing.
    assert!(!found.notes.iter().any(|note| matches!(note, assay_analysis::Note::NotExecuted { .. })));
}

#[test]
fn trials_beyond_the_stop_change_nothing() {
    let conditions = ["none", "curated"];
    let executed = suite(&conditions, &["FF....", "FP...."]).report();
    for beyond in ["FPFFFF", "FPPPPP", "FPiiii"] {
        let found = suite(&conditions, &["FFPFPF", beyond]).report();
        assert_eq!(found, executed, "{beyond}");
    }
}

#[test]
fn one_round_is_the_fixed_verdict() {
    for (base, arm) in [("FFFFF", "PPFPP"), ("PFPFP", "PFPFF"), ("FFFFF", "FFFFF")] {
        let fixed = Suite::uniform(&["none", "curated"], &[base, arm]).compared();
        let one = Suite::uniform(&["none", "curated"], &[&base[..1], &arm[..1]]);
        let first = one.compared();
        let sequential = one.plan(|run| run.stopping = Some(Stopping { rounds: 1, looks: None })).compared();
        assert_eq!((sequential.verdict, sequential.family), (first.verdict, first.family));
        for (one, other) in sequential.ci95.unwrap().into_iter().zip(first.ci95.unwrap()) {
            close(one, other);
        }
        assert!(fixed.sequential.is_none() && fixed.p_interval.is_some());
        // Tests for one look are not valid after several.
        assert!(sequential.p_interval.is_none() && sequential.p.is_none());
    }
}

#[test]
fn lost_trials_can_keep_a_comparison_open() {
    // Every fifth task loses its first trial under the condition alone: unequal losses.
    let found = suite(&["none", "curated"], &["F.....", "P....."]).each(|record| {
        if record.condition == "curated" && record.task.ends_with('5') {
            record.outcome = assay_store::Outcome::Infrastructure;
        }
    });
    let found = found.compared();
    assert_eq!((stage(&found), found.reason), ((1, None, None), None));
}

/// A treatment that was not there ends no comparison with a verdict.
#[test]
fn an_undelivered_treatment_decides_nothing() {
    let check = |written: usize, (round, ended, verdict): (u32, End, VerdictKind), delivered: f64| {
        let expected = (round, Some(ended), Some(verdict));
        let conditions = ["none", "self-generated"];
        let found = suite(&conditions, &["FFFFFF", "PPPPPP"]).each(|record| {
            let skill = || GeneratedSkill { name: "s".into(), bytes: 9, opened: false };
            let number: usize = record.task[1..].parse().unwrap();
            let skills = (number < written).then(skill).into_iter().collect();
            record.generated = (record.condition == "self-generated").then_some(skills);
        });
        let found = found.compared();
        assert_eq!((stage(&found), found.delivered), (expected, Some(delivered)), "{written}");
        assert_eq!(found.reason == Some(Reason::NotDelivered), delivered < 0.5, "{written}");
    };
    check(0, (6, End::LastRound, VerdictKind::Inconclusive), 0.0);
    check(9, (6, End::LastRound, VerdictKind::Inconclusive), 0.45);
    check(10, (1, End::Verdict, VerdictKind::Helps), 0.5);
}
