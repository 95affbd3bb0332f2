//! The predictions of a plan against simulated suites.

use assay_stats::plan::{Impossible, MOVING, Plan, Requirement, SPREAD, smallest_p};
use assay_stats::simulate::Baseline;

use crate::close;

fn plan(tasks: usize, repetitions: usize) -> Plan {
    Plan {
        tasks,
        repetitions,
        base_repetitions: repetitions,
        family: 1,
        margin: 0.1,
        baseline: Baseline::beta(0.6, 0.9).unwrap(),
        spread: 0.2,
        moving: 1.0,
    }
}

/// At d = .1 and no true effect, no effect comes in no suite under 29 tasks, 35 % at 30 × 5 and 96
/// % at 84 × 5.
#[test]
fn negligible_needs_many_tasks() {
    for (tasks, repetitions, expected) in [(10, 3, 0.0), (28, 10, 0.0), (30, 5, 0.35), (84, 5, 0.96)] {
        let chances = plan(tasks, repetitions).chances(0.0, 3).unwrap();
        close(chances.negligible, expected, 0.04, &format!("{tasks} × {repetitions}"));
        let all = chances.helps + chances.harms + chances.negligible + chances.inconclusive;
        close(all, 1.0, 1e-12, "all verdicts");
        assert!(chances.helps + chances.harms < 0.05);
    }
}

#[test]
fn needed_tasks_are_just_enough() {
    let small = plan(7, 3);
    let needed = small.tasks_for_lift(0.25, 1).unwrap().unwrap();
    let mde = |tasks: usize| Plan { tasks, ..small }.forecast(1).unwrap().mde.unwrap();
    assert!(mde(needed) <= 0.25 + 1e-5, "{needed} tasks: {}", mde(needed));
    assert!(mde(needed - 2) > 0.25, "{needed} tasks: {}", mde(needed - 2));
    let more = small.tasks_for_lift(0.2, 1).unwrap().unwrap();
    let larger_family = Plan { family: 5, ..small }.tasks_for_lift(0.25, 1).unwrap().unwrap();
    assert!(more > needed && larger_family > needed, "{needed}, {more}, {larger_family}");
    // A loss is found like a gain.
    assert!(small.tasks_for_lift(-0.25, 1).unwrap().is_some());

    let needed = small.tasks_for_margin(0.3, 1).unwrap().unwrap();
    let margin = |tasks: usize| Plan { tasks, ..small }.forecast(1).unwrap().margin.unwrap();
    assert!(margin(needed) < 0.3 && margin(needed - 1) >= 0.3, "{needed} tasks: {}", margin(needed));
}

#[test]
fn pilot_changes_the_plan() {
    // Tasks that always or never pass have less noise than tasks at a half.
    let sure: Vec<Vec<f64>> = (0..20).map(|i| vec![f64::from(i % 2); 5]).collect();
    let unsure = vec![vec![0.0, 1.0, 0.0, 1.0]; 20];
    let margin = |pilot: &[Vec<f64>]| {
        let baseline = Baseline::pilot(pilot).unwrap();
        Plan { baseline, ..plan(20, 5) }.forecast(1).unwrap().margin.unwrap()
    };
    // The second pilot's tasks differ by less than their noise, so they get the default's spread.
    assert!(margin(&sure) < margin(&unsure));
}

/// The planning model on its own assumptions, with other shapes of the same trials.
#[test]
fn tasks_detect_more_than_repetitions_do() {
    let real = Plan { baseline: Baseline::default(), spread: SPREAD, moving: MOVING, ..plan(30, 3) };
    let needed = real.tasks_for_lift(0.25, 1).unwrap().unwrap();
    let chances = Plan { tasks: needed, ..real }.chances(0.25, 1).unwrap();
    assert!((0.79..0.83).contains(&chances.helps), "{needed} tasks: {chances:?}");

    let shapes = real.shapes(Some(0.2), 1);
    let sizes: Vec<(usize, usize)> = shapes.iter().map(|shape| (shape.tasks, shape.repetitions)).collect();
    assert_eq!(sizes, [(90, 1), (45, 2), (30, 3), (18, 5), (9, 10)]);
    // Tasks find more than repetitions do.
    let powers: Vec<f64> = shapes.iter().map(|shape| shape.power.unwrap()).collect();
    assert!(powers.windows(2).all(|pair| pair[0] > pair[1]), "{powers:?}");
    assert!(shapes[0].mde < shapes[2].mde && shapes[2].mde < shapes[3].mde);
    assert_eq!(Plan { base_repetitions: 4, ..real }.shapes(None, 1), []);
}

#[test]
fn same_seed_gives_the_same_plan() {
    let one = plan(12, 2).forecast(5).unwrap();
    assert_eq!(one, plan(12, 2).forecast(5).unwrap());
    assert_ne!(one, plan(12, 2).forecast(6).unwrap());
}

#[test]
fn design_without_power_is_reported() {
    // Five tasks × 1 in a family of 1,000: t(9, 1 − .05/2000) = 7.2 times s̃/√n ≥ √(1/6/5) = .18 is
    // above 1.
    let got = Plan { family: 1000, ..plan(5, 1) }.forecast(1).unwrap();
    assert_eq!((got.mde, got.margin), (None, None));
    assert_eq!(got.if_no_effect.inconclusive, 1.0);
    // Over a baseline of .96 there is no room.
    let high = Plan { baseline: Baseline::beta(9.6, 0.4).unwrap(), ..plan(5, 1) };
    assert_eq!(high.forecast(1).unwrap().mde, None);
}

#[test]
fn unattainable_requests_are_rejected_with_the_arithmetic() {
    let check = |plan: Plan, required: Requirement, expected: &[&str]| {
        let found: Vec<String> = plan.impossible(&required).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    };
    let lift = |lift: f64| Requirement { lift: Some(lift), ..Requirement::default() };
    let margin = |margin: f64| Requirement { margin: Some(margin), ..Requirement::default() };
    let p = |p: f64| Requirement { p: Some(p), ..Requirement::default() };
    check(plan(10, 3), lift(0.6), &[]);
    check(
        plan(10, 3),
        lift(0.65),
        &["a lift of +65 pp over a baseline pass rate of 40% means a pass rate of 105%, outside 0% to 100%"],
    );
    check(
        plan(10, 3),
        lift(-0.5),
        &["a lift of −50 pp over a baseline pass rate of 40% means a pass rate of −10%, outside 0% to 100%"],
    );
    check(plan(10, 3), lift(f64::NAN), &["invalid lift NaN"]);
    check(plan(6, 3), p(0.05), &[]);
    check(
        Plan { family: 4, ..plan(6, 3) },
        p(0.05),
        &[
            "p ≤ 0.05 is unattainable (tasks: 6, comparisons: 4): the smallest p of the sign-flip test is 3.12e-2, and \
           Holm's correction multiplies it by 4 to 1.25e-1",
        ],
    );
    // 1 − .05^(1/10) = .2589: with fewer tasks than ln 0.05/ln(1 − d) there is no `negligible`.
    check(plan(10, 3), margin(0.26), &[]);
    let narrow = |margin: &str, least: &str| {
        format!(
            "an equivalence margin of ±{margin} pp is below ±{least} pp, the smallest that this many tasks can show even if none of them \
             differs"
        )
    };
    check(plan(10, 3), margin(0.25), &[&narrow("25", "25.89")]);
    // In a family of 2, at d = .0719: v₀ = ½ + d(1 − d) = .5667, s̃² = 2 · .5667/51, t(51²/49 =
    // 53.1, .975) = 2.006: 2.006 · √(.02222/50) = .0423, and 1 − .025^(1/50) = .0711 is more. At 50
    // × 1 both count equally in a family of 9.
    check(Plan { family: 2, ..plan(50, 1) }, margin(0.07), &[&narrow("7", "7.11")]);
    check(
        plan(4, 3),
        Requirement::default(),
        &["a confidence interval needs at least 5 tasks; this design has 4"],
    );
    check(plan(5, 0), Requirement::default(), &["both conditions need at least one repetition"]);
    check(plan(5, 1), margin(1.0), &["an equivalence margin of 100 pp is not between 0 and 100 pp"]);
    // Several requests together.
    assert_eq!(
        Plan { family: 100, ..plan(5, 1) }
            .impossible(&Requirement { lift: Some(0.9), margin: Some(0.05), p: Some(0.01) })
            .len(),
        3
    );
}

#[test]
fn smallest_p_by_hand() {
    for (tasks, expected) in
        [(0, 1.0), (1, 1.0), (5, 0.0625), (10, 2.0 / 1024.0), (20, 2.0_f64.powi(-19)), (21, 1e-5)]
    {
        close(smallest_p(tasks), expected, 1e-18, &format!("{tasks} tasks"));
        // The same as the result of the test itself.
        if tasks > 0 {
            let smallest = assay_stats::sign_flip(&vec![0.5; tasks], 1).unwrap();
            close(smallest, expected, 1e-15, &format!("{tasks} tasks"));
        }
    }
    assert_eq!(smallest_p(usize::MAX), 1e-5);
}

#[test]
fn invalid_plans_are_rejected() {
    let check = |plan: Plan, expected: Impossible| {
        assert_eq!(plan.forecast(1), Err(expected));
        assert_eq!(plan.chances(0.1, 1), Err(expected));
    };
    for tasks in [0, 1, 4] {
        check(plan(tasks, 3), Impossible::Tasks { tasks });
    }
    check(plan(10, 0), Impossible::Repetitions);
    check(Plan { base_repetitions: 0, ..plan(10, 3) }, Impossible::Repetitions);
    for margin in [0.0, -1.0, 1.0] {
        check(Plan { margin, ..plan(10, 3) }, Impossible::Margin { margin });
    }
    assert!(matches!(Plan { margin: f64::NAN, ..plan(10, 3) }.forecast(1), Err(Impossible::Margin { .. })));
    check(Plan { spread: 1.5, ..plan(10, 3) }, Impossible::Spread { spread: 1.5 });
    check(Plan { moving: 0.0, ..plan(10, 3) }, Impossible::Moving { moving: 0.0 });
    check(plan(200_000, 1), Impossible::Size { tasks: 200_000, trials: 2 });
    check(plan(usize::MAX, usize::MAX), Impossible::Size { tasks: usize::MAX, trials: usize::MAX });
    let baseline = Baseline::beta(0.6, 0.9).unwrap().mean();
    let ceiling = Impossible::Ceiling { baseline, lift: 0.7 };
    assert_eq!(plan(10, 3).chances(0.7, 1), Err(ceiling));
    assert_eq!(plan(10, 3).tasks_for_lift(0.7, 1), Err(ceiling));
    let within = Impossible::WithinMargin { lift: 0.09, margin: 0.1 };
    assert_eq!(plan(10, 3).tasks_for_lift(0.09, 1), Err(within));
    // A lift of the margin's size can be shown, and needs hardly more tasks than one just above it.
    let needed = |lift: f64| plan(10, 3).tasks_for_lift(lift, 1).unwrap().unwrap();
    assert!(needed(0.1) >= needed(0.101) && needed(0.1) as f64 <= 1.1 * needed(0.101) as f64);
    assert!(plan(10, 3).tasks_for_lift(-0.1, 1).unwrap().is_some());
    assert!(plan(10, 3).tasks_for_margin(f64::NAN, 1).is_err());
    let size = Impossible::Size { tasks: 5, trials: 120_000 };
    assert_eq!(plan(10, 60_000).tasks_for_margin(0.1, 1), Err(size));
}
