//! Comparisons that are decided after each complete round.

use assay_analysis::{Comparison, End, Reason, Rounds, VerdictKind};
use assay_store::{GeneratedSkill, Stopping};

use crate::suite::{Suite, close};

/// Twenty tasks, decided after each of at most six rounds.
fn suite(conditions: &[&str], words: &[&str]) -> Suite {
    Suite::uniform(conditions, words).plan(|run| run.stopping = Some(Stopping::new(6)))
}

fn stage(comparison: &Comparison) -> (u32, Option<End>, Option<VerdictKind>) {
    let Rounds { round, rounds, ended, .. } = comparison.sequential.unwrap();
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
        let sequential = one.plan(|run| run.stopping = Some(Stopping::new(1))).compared();
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

/// Twenty tasks of the rounds and twenty after them: a condition that helps everywhere, and one that helps with half of
/// the former, harms the other half, and has these words on the latter.
fn staged(late: &str, base: &str) -> Suite {
    let names: Vec<String> = (0..40).map(|number| format!("t{number:02}")).collect();
    let rows: Vec<(&str, [&str; 3])> = names
        .iter()
        .enumerate()
        .map(|(number, name)| match number {
            0..20 if number % 2 == 0 => (name.as_str(), ["FFFFFF", "PPPPPP", "PPPPPP"]),
            0..20 => (name.as_str(), ["PPPPPP", "PPPPPP", "FFFFFF"]),
            _ => (name.as_str(), [base, ".....", late]),
        })
        .collect();
    let rows: Vec<(&str, &[&str])> = rows.iter().map(|(name, words)| (*name, words.as_slice())).collect();
    Suite::new(&["none", "early", "late"], &rows).plan(|run| {
        let stopping = Stopping { first_tasks: Some(20), more_tasks: Some(20), ..Stopping::new(6) };
        run.stopping = Some(stopping);
        run.tasks.iter_mut().skip(20).for_each(|task| task.second_stage = true);
    })
}

#[test]
fn a_comparison_that_the_rounds_leave_open_is_decided_with_more_tasks() {
    let found = staged("PPPPP", "FFFFF").report();
    let [early, late] = [&found.comparisons[0], &found.comparisons[1]];
    assert_eq!((stage(early).1, early.verdict), (Some(End::Verdict), Some(VerdictKind::Helps)));
    assert_eq!((early.sequential.unwrap().left_open(), early.tasks), (None, 20));
    let (round, ended, verdict) = stage(late);
    assert_eq!((ended, verdict), (Some(End::SecondStage), Some(VerdictKind::Helps)));
    assert_eq!((late.sequential.unwrap().left_open(), late.tasks), (Some(End::Futility), 40));
    close(late.lift, 0.5);
    // The first stage has nearly all of the variance, so that Z is mostly of the second; the interval has the mean, too.
    let family = late.family.unwrap();
    assert!(family.low > 0.0 && family.low <= 0.5 && family.high > 0.9, "{family:?}");
    assert!(late.lift_unbiased.unwrap() > family.low && late.lift_unbiased.unwrap() < family.high);
    let trials: Vec<_> = found.arms.iter().map(|arm| (arm.planned, arm.unfinished)).collect();
    let (early, rounds) = (early.sequential.unwrap().round as usize, round as usize);
    assert_eq!(trials, [(20 * rounds + 100, 0), (20 * early, 0), (20 * rounds + 100, 0)]);
    assert!(!found.interim);

    // The weights of the plan hold, whatever the second stage shows.
    let against = staged("FFFFF", "PPPPP").report();
    let low = against.comparisons[1].family.unwrap();
    assert_eq!(against.comparisons[1].verdict, Some(VerdictKind::Harms));
    assert!((low.low + family.high).abs() < 1e-6, "{low:?} {family:?}");
    // Both are centered on 0, and the second has no variance: the two one-sided tests of both together.
    let nothing = staged("FFFFF", "FFFFF").report();
    assert_eq!(nothing.comparisons[1].verdict, Some(VerdictKind::Negligible));
    assert_eq!(nothing.comparisons[1].sequential.unwrap().ended, Some(End::SecondStage));
}

#[test]
fn a_second_stage_is_read_when_it_is_complete() {
    let part = staged("PPPP.", "FFFFF").report();
    let late = &part.comparisons[1];
    let stage = late.sequential.unwrap();
    assert_eq!((stage.ended, stage.left_open(), late.tasks), (None, Some(End::Futility), 20));
    assert_eq!(
        (late.verdict, part.interim, part.comparisons[0].verdict),
        (None, true, Some(VerdictKind::Helps))
    );
    close(late.lift, 0.0);
    // Without tasks after the rounds the rounds alone decide, at levels that spend the whole error rate.
    let alone = staged("PPPPP", "FFFFF").plan(|run| {
        run.stopping = Some(Stopping::new(6));
        run.tasks.iter_mut().for_each(|task| task.second_stage = false);
    });
    assert_eq!(alone.report().comparisons[1].sequential.unwrap().more_tasks, None);
}
