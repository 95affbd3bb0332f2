//! Campaigns on skills whose truth is known.

use assay_stats::ablation::PartSet;
use assay_stats::random::{Purpose, stream, uniform};

use super::*;

/// The pass rate of a task with some parts.
type Rate<'a> = &'a dyn Fn(usize, PartSet) -> f64;

/// Plays a campaign to its end; `rate` is drawn from, or its value taken as the score where it is 0 or 1.
fn play(design: &ShrinkDesign, tasks: usize, rate: Rate<'_>) -> ShrinkOutcome {
    let random = &mut stream(design.seed, Purpose::Suite, 0);
    let mut draw = |task: usize, kept: PartSet| f64::from(u8::from(uniform(random) < rate(task, kept)));
    let all = PartSet::all(design.parts);
    let reference: Vec<ReferenceTrials> = (0..tasks)
        .map(|task| ReferenceTrials {
            whole: (0..3).map(|_| draw(task, all)).collect(),
            none: (0..3).map(|_| draw(task, PartSet::EMPTY)).collect(),
            cluster: None,
        })
        .collect();
    let mut scores = ShrinkScores::new();
    for _ in 0..10 {
        match next_step(design, &reference, &scores) {
            ShrinkStep::Done(outcome) => {
                assert!(outcome.spent <= design.budget, "{outcome:?}");
                return outcome;
            }
            ShrinkStep::Run(wanted) => {
                for WantedTrials { cell, repetitions } in wanted {
                    let trials = scores.entry(cell).or_default();
                    while trials.len() < repetitions {
                        trials.scores.push(draw(cell.task, cell.kept));
                    }
                }
            }
        }
    }
    panic!("a campaign has at most four stages");
}

fn design(parts: usize, tasks: usize, each: usize) -> ShrinkDesign {
    ShrinkDesign { parts, budget: tasks * each, margin: 0.1, seed: 1, rule: ScreeningRule::Assay }
}

fn states(outcome: &ShrinkOutcome) -> String {
    outcome.parts.iter().map(|part| part.state.word()).collect::<Vec<_>>().join(" ")
}

/// 1 and 0 as a rate.
fn holds(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

#[test]
fn the_part_that_carries_all_is_kept_and_the_rest_is_left_out() {
    let outcome = play(&design(4, 24, 24), 24, &|_, kept| holds(kept.has(1)));
    assert_eq!(states(&outcome), "dead carries dead dead");
    assert_eq!(outcome.kept, PartSet::of([1]));
    assert_eq!((outcome.decision, outcome.confirmed), (ShrinkDecision::Shorter, true));
    assert_eq!(outcome.spent, 24 * 24);
    assert_eq!(outcome.parts[1].effect, Some(1.0));
    // Without trials for a confirmation it is a candidate.
    let outcome = play(&design(4, 24, 12), 24, &|_, kept| holds(kept.has(1)));
    assert_eq!(outcome.kept, PartSet::of([1]));
    assert_eq!((outcome.decision, outcome.confirmed), (ShrinkDecision::Undecided, false));
    assert!(outcome.spent == 24 * 12 && outcome.change.is_some());
}

#[test]
fn a_part_that_harms_is_left_out() {
    let rate = |task: usize, kept: PartSet| holds(kept.has(0) && !(task.is_multiple_of(2) && kept.has(2)));
    let outcome = play(&design(3, 30, 24), 30, &rate);
    assert_eq!(states(&outcome), "carries dead harms");
    assert_eq!((outcome.kept, outcome.decision), (PartSet::of([0]), ShrinkDecision::Shorter));
    assert!(outcome.change.unwrap().0 > 0.3, "{outcome:?}");
}

#[test]
fn parts_that_need_each_other_are_left_out_one_at_a_time() {
    let together = |_: usize, kept: PartSet| holds((0..4).all(|part| kept.has(part)));
    let outcome = play(&design(6, 24, 24), 24, &together);
    assert_eq!(outcome.stage, ShrinkStage::LeaveOneOut);
    assert_eq!(states(&outcome), "carries carries carries carries dead dead");
    // A budget for one screening alone does not show it, and nothing is left out.
    let outcome = play(&design(6, 24, 12), 24, &together);
    assert_eq!((outcome.stage, outcome.decision), (ShrinkStage::Screening, ShrinkDecision::Undecided));
    assert_eq!(outcome.kept.len() + outcome.parts.iter().filter(|part| part.state.is_removed()).count(), 6);
}

/// Two parts of which either will do: both are found, because halves often have neither.
#[test]
fn parts_that_replace_each_other_are_found_and_said_to() {
    let outcome = play(&design(4, 40, 36), 40, &|_, kept| holds(kept.has(0) || kept.has(1)));
    assert_eq!(states(&outcome), "carries carries dead dead");
    assert_eq!(outcome.kept, PartSet::of([0, 1]));
    // In the shorter skill neither of them has an effect.
    assert!(outcome.parts[..2].iter().all(|part| part.beside.is_none()), "12 trials are too few for that");
    let outcome = play(&design(4, 40, 48), 40, &|_, kept| holds(kept.has(0) || kept.has(1)));
    assert!(outcome.parts[..2].iter().all(|part| part.beside.unwrap().0 == 0.0), "{outcome:?}");
}

#[test]
fn a_task_that_needs_a_part_keeps_it() {
    // Part 0 carries most tasks; task 5 passes with part 3 only.
    let rate = |task: usize, kept: PartSet| holds(kept.has(if task == 5 { 3 } else { 0 }));
    for each in [12, 24] {
        let outcome = play(&design(4, 60, each), 60, &rate);
        assert_eq!(states(&outcome), "carries dead dead needed-by-tasks", "{each}");
        assert_eq!(outcome.parts[3].tasks, [5], "{each}");
        assert!(outcome.kept.has(3), "{each}");
    }
}

#[test]
fn lost_trials_keep_a_campaign_from_a_decision() {
    let design = design(2, 20, 12);
    let reference = vec![ReferenceTrials { whole: vec![1.0; 3], none: vec![0.0; 3], cluster: None }; 20];
    let mut scores = ShrinkScores::new();
    loop {
        match next_step(&design, &reference, &scores) {
            ShrinkStep::Run(wanted) => {
                for WantedTrials { cell, repetitions } in wanted {
                    let kept = vec![holds(cell.kept.has(0)); repetitions - 1];
                    scores.insert(cell, CellTrials { scores: kept, lost: 1 });
                }
            }
            ShrinkStep::Done(outcome) => {
                assert!(outcome.too_many_lost && outcome.lost > 0);
                assert_eq!(outcome.decision, ShrinkDecision::Undecided);
                return;
            }
        }
    }
}

#[test]
fn designs_that_show_nothing_are_refused() {
    let reference = |tasks: usize, whole: f64| {
        let passed = |at: usize| holds((at as f64) < whole * tasks as f64);
        (0..tasks)
            .map(|at| ReferenceTrials { whole: vec![passed(at); 3], none: vec![0.0; 3], cluster: None })
            .collect::<Vec<_>>()
    };
    let check = |design: ShrinkDesign, tasks: usize, whole: f64, expected: Result<(), &str>| {
        let found = design.check(&reference(tasks, whole)).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{design:?} {tasks} {whole}");
    };
    check(design(8, 30, 12), 30, 0.5, Ok(()));
    check(design(8, 20, 24), 20, 1.0, Ok(()));
    check(
        design(8, 19, 50),
        19,
        1.0,
        Err("19 tasks: at least 20 are needed to tell the parts of a skill apart"),
    );
    check(design(1, 30, 12), 30, 0.5, Err("a skill of one part cannot be shortened by leaving out parts"));
    check(design(12, 30, 12), 30, 0.5, Err("12 parts: at most 11 can be told apart"));
    check(
        ShrinkDesign { budget: 359, ..design(8, 30, 12) },
        30,
        0.5,
        Err("359 trials are not enough: 30 tasks of 12 variants take 360"),
    );
    check(design(8, 30, 12), 30, 0.0, Err("the skill has no lift to carry: +0.00 in the recorded trials"));
    // Trials that vary, and a lift of a sixth: one more of three trials in every other task.
    let varying: Vec<ReferenceTrials> = (0..30)
        .map(|at| ReferenceTrials {
            whole: vec![1.0, f64::from(at % 2), 0.0],
            none: vec![1.0, 0.0, 0.0],
            cluster: None,
        })
        .collect();
    let found = design(8, 30, 12).check(&varying).unwrap_err().to_string();
    let expected =
        "these trials find no effect of a part below 0.32, and the lift of the whole skill is +0.17";
    assert_eq!(found, expected);
    let narrow = ShrinkDesign { margin: 0.001, ..design(8, 30, 12) };
    assert!(matches!(narrow.check(&reference(30, 0.5)), Err(Refusal::Margin { .. })));
}

/// The budget bounds all stages, whatever is found.
#[test]
fn no_campaign_spends_more_than_its_budget() {
    for shift in 0..40_usize {
        let seed = shift as u64;
        let rate = |task: usize, kept: PartSet| {
            let own = PartSet::of([task % 5, (shift + task) % 3]);
            if own.parts().all(|part| kept.has(part)) { 0.9 } else { 0.3 }
        };
        for each in [12, 13, 17, 24, 31, 36, 60] {
            let design = ShrinkDesign { seed, budget: 21 * each + 5, ..design(5, 21, each) };
            let outcome = play(&design, 21, &rate);
            assert!(outcome.spent <= design.budget && outcome.spent >= 21 * 12, "{seed} {each}");
        }
    }
}
