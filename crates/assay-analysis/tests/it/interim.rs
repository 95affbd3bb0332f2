//! Runs that are not complete.

use assay_analysis::{Closing, End, NextStep, Note, Progress, analyze};
use assay_store::{Cause, Selection, Stopping};

use crate::suite::{Suite, close};

/// Twenty tasks on which the skill always helps; the last repetition of `missing` cells is without a record.
fn suite(words: [&str; 2]) -> Suite {
    Suite::uniform(&["none", "curated"], &words)
}

fn closing(trials: usize, valid: usize, planned: usize) -> Closing {
    let share = trials as f64 / planned as f64;
    Closing {
        schema: Closing::SCHEMA.to_owned(),
        at: "2026-01-01T00:00:00Z".to_owned(),
        trials,
        valid,
        planned,
        share,
        level: assay_stats::closing_level(1, share),
        verdicts: Vec::new(),
    }
}

#[test]
fn a_run_has_a_verdict_once_each_planned_trial_is_done() {
    let check = |words: [&str; 2], expected: Option<&str>, trials: usize| {
        let report = suite(words).report();
        let found = &report.comparisons[0];
        assert_eq!(found.verdict.map(assay_analysis::VerdictKind::word), expected, "{words:?}");
        assert_eq!(report.interim, expected.is_none(), "{words:?}");
        assert_eq!(report.progress.trials, trials, "{words:?}");
        assert_eq!(found.p_interval.is_none(), expected.is_none(), "{words:?}");
        // What is known so far is there in any case.
        assert!(found.lift.is_some() && found.family.is_some(), "{words:?}");
    };
    check(["FFF", "PPP"], Some("helps"), 120);
    check(["FFF", "PP."], None, 100);
    check(["F..", "PPP"], None, 80);
    check(["FF?", "PPP"], None, 100);
    // An infrastructure error is a record that `run` wrote after its last retry: the trial is lost for good.
    check(["FFi", "PPi"], Some("helps"), 120);
}

#[test]
fn a_trial_that_a_spent_budget_ended_is_not_lost() {
    let budget = suite(["FFi", "PPP"]).each(|record| {
        record.cause = record.cause.map(|_| Cause::Budget);
    });
    let report = budget.report();
    assert_eq!((report.interim, report.progress), (true, Progress { trials: 100, planned: 120 }));
}

#[test]
fn missing_trials_of_an_import_can_never_come() {
    let imported = suite(["FF.", "PPP"]).plan(|run| run.imported = Some("harbor".into())).report();
    assert!(!imported.interim && imported.comparisons[0].verdict.is_some());
    assert!(imported.notes.iter().any(|note| matches!(note, Note::NotExecuted { imported: true, .. })));
}

#[test]
fn a_part_has_a_verdict_if_the_whole_run_is_complete() {
    let only = Selection { repetitions: vec![1, 2], ..Selection::default() };
    let part = suite(["FF.", "PP."]).selected(&only);
    assert!(part.interim && part.comparisons[0].verdict.is_none());
    assert_eq!(part.progress, Progress { trials: 80, planned: 120 });
    let whole = suite(["FFF", "PPP"]).selected(&only);
    assert!(!whole.interim && whole.comparisons[0].verdict.is_some());
}

#[test]
fn nothing_speaks_of_a_verdict_before_there_is_one() {
    // A placebo that would help, negative controls that would be harmed, two agents, and a metric with a guard.
    let rows: Vec<(String, [&str; 3])> =
        (0..20).map(|n| (format!("t{n:02}"), ["FF.", "PP.", "PPP"])).collect();
    let rows: Vec<(&str, &[&str])> = rows.iter().map(|(name, words)| (name.as_str(), &words[..])).collect();
    let run = Suite::new(&["none", "curated", "placebo"], &rows).agent("openai:two", &rows).plan(|run| {
        run.metrics = vec!["turns,lower,guard=2".parse().unwrap()];
        run.tasks[10..].iter_mut().for_each(|task| task.negative_control = true);
    });
    let report = run.report();
    assert!(report.interim && !report.contrasts.is_empty() && !report.metrics.is_empty());
    let controls = report.negative_controls.unwrap();
    for comparison in report.comparisons.iter().chain(&controls.comparisons) {
        assert!(comparison.verdict.is_none() && comparison.reason.is_none(), "{comparison:?}");
        let known = [comparison.p, comparison.p_adjusted, comparison.p_interval, comparison.p_wilcoxon];
        assert_eq!((known, comparison.p_interval_adjusted), ([None; 4], None));
        assert!(comparison.tasks_needed.is_none() && comparison.tasks_to_confirm.is_none());
    }
    assert!(report.contrasts.iter().all(|contrast| contrast.verdict.is_none()));
    assert!(report.metrics.iter().all(|metric| metric.verdict.is_none() && metric.guard_verdict.is_none()));
    let speaks = |note: &Note| {
        matches!(note, Note::PlaceboHelps { .. } | Note::UnrelatedHelps { .. } | Note::Control(_))
    };
    assert!(!report.notes.iter().any(speaks), "{:?}", report.notes);
    assert!(matches!(report.next_steps[..], [NextStep::Finish { .. }]), "{:?}", report.next_steps);
}

#[test]
fn a_sequential_comparison_has_a_verdict_when_its_rule_has_ended() {
    let sequential = |words: [&str; 3]| {
        let names: Vec<String> = (0..20).map(|n| format!("t{n:02}")).collect();
        let rows: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &words[..])).collect();
        let suite = Suite::new(&["none", "curated", "other"], &rows);
        suite.plan(|run| (run.stopping, run.repetitions) = (Some(Stopping::new(6)), 5)).report()
    };
    // The skill is decided in the first round; the other has no effect in it, and its second round is not complete.
    let open = sequential(["FP....", "PP....", "F....."]);
    let words: Vec<_> =
        open.comparisons.iter().map(|found| found.verdict.map(assay_analysis::VerdictKind::word)).collect();
    assert_eq!((open.interim, words), (true, vec![Some("helps"), None]));
    let rounds = open.comparisons[1].sequential.unwrap();
    assert_eq!((rounds.round, rounds.ended), (1, None));
    // All ended: trials of later rounds are not missing.
    let ended = sequential(["FF....", "PP....", "PP...."]);
    assert!(!ended.interim && ended.comparisons.iter().all(|found| found.verdict.is_some()));
}

#[test]
fn a_closed_run_is_judged_once_at_the_level_of_its_share() {
    let half = suite(["FF..", "PP.."]);
    let judged = |closing: Closing| analyze(&half.run, &half.gathered().closed(&half.run, Some(closing)));
    let report = judged(closing(80, 80, 160));
    let found = &report.comparisons[0];
    assert!(!report.interim && !report.extended_after_look);
    assert_eq!((found.word(), found.p_interval, found.ci95), ("helps", None, None));
    // .05 (e² − 1)/(e⁴ − 1)
    let level = 0.05 * (2.0_f64.exp() - 1.0) / (4.0_f64.exp() - 1.0);
    close(found.family.map(|family| 1.0 - family.level), level);
    // Wider than that of the same trials as a complete run.
    let complete = suite(["FF", "PP"]).compared().family.unwrap();
    let family = found.family.unwrap();
    assert!(family.low < complete.low && family.low > 0.0, "{family:?} {complete:?}");
    assert!(report.notes.iter().any(|note| matches!(note, Note::Closed { rounds: None, .. })));
    // It went on: the closing has no say, and is not forgotten.
    let continued = judged(closing(40, 40, 160));
    assert!(continued.interim && continued.extended_after_look);
    assert!(continued.notes.iter().any(|note| matches!(note, Note::ContinuedAfterClosing(_))));
    let done = suite(["FFFF", "PPPP"]);
    let done = analyze(&done.run, &done.gathered().closed(&done.run, Some(closing(80, 80, 160))));
    assert!(!done.interim && done.extended_after_look && done.comparisons[0].word() == "helps");
    close(done.comparisons[0].family.map(|family| family.level), 0.95);
}

#[test]
fn a_closed_sequential_run_keeps_the_levels_of_its_looks() {
    let suite =
        suite(["FP....", "F....."]).plan(|run| (run.stopping, run.repetitions) = (Some(Stopping::new(6)), 5));
    let open = suite.report();
    let closed = analyze(&suite.run, &suite.gathered().closed(&suite.run, Some(closing(60, 60, 240))));
    let found = &closed.comparisons[0];
    assert_eq!((found.word(), found.sequential.unwrap().ended), ("inconclusive", Some(End::Closed)));
    assert_eq!(found.family, open.comparisons[0].family);
}
