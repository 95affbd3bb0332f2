//! The predictions of a plan against simulated suites.

use assay_lab::simulate::simulate_suites;
use assay_stats::plan::{Forecast, MOVING, Plan, SPREAD};
use assay_stats::simulate::{Baseline, Design, Effect};

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

#[track_caller]
fn close(got: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((got - expected).abs() <= tolerance, "{what}: {got}, expected {expected}");
}

/// At the lift that planning calls mde the right verdict comes in 77 to 83 % of suites; and at
/// the margin that it calls met, no effect in as many.
#[test]
fn planned_mde_is_detected_in_four_of_five_suites() {
    for plan in [plan(10, 3), Plan { family: 4, ..plan(20, 5) }, Plan { base_repetitions: 6, ..plan(30, 1) }]
    {
        let Forecast { mde, margin, .. } = plan.forecast(1).unwrap();
        let lifted = plan.design_of_lift(mde.unwrap()).unwrap();
        close(lifted.true_lift(), mde.unwrap(), 1e-5, "true lift");
        let suites = 4000 / plan.family as u64;
        let power = simulate_suites(&lifted, 0..suites, 2).cell(lifted.true_lift()).power.unwrap();
        assert!((0.77..=0.83).contains(&power), "{plan:?}: helps in {power}");
        let still = Design { effect: Effect::None, margin: margin.unwrap(), ..lifted };
        let none = simulate_suites(&still, 0..suites, 2).cell(0.0).negligible.unwrap();
        assert!((0.77..=0.83).contains(&none), "{plan:?}: no effect in {none}");
    }
}

#[test]
fn chances_match_simulated_suites() {
    let plan = Plan { family: 2, repetitions: 2, ..plan(20, 5) };
    for lift in [-0.2, 0.15, 0.4] {
        let planned = plan.chances(lift, 1).unwrap();
        let design = plan.design_of_lift(lift).unwrap();
        let judged = simulate_suites(&design, 0..1500, 2);
        let share = |count: u64| count as f64 / judged.comparisons as f64;
        close(planned.helps, share(judged.helps), 0.04, "helps");
        close(planned.harms, share(judged.harms), 0.04, "harms");
        close(planned.negligible, share(judged.negligible), 0.04, "no effect");
    }
}

/// The planning model on its own assumptions.
#[test]
fn power_is_as_predicted_if_half_of_the_tasks_move() {
    let real = Plan { baseline: Baseline::default(), spread: SPREAD, moving: MOVING, ..plan(30, 3) };
    for lift in [0.15, -0.15, 0.25, 0.5] {
        let design = real.design_of_lift(lift).unwrap();
        close(design.true_lift(), lift, 1e-5, "true lift");
        let Effect::Partial { share, .. } = design.effect else { panic!("{design:?}") };
        // More than half of the tasks move only where half of them cannot give the lift: ½ · .6 at
        // most.
        assert_eq!(share > 0.5, lift > 0.3, "{lift}: {share}");
        let planned = real.chances(lift, 1).unwrap();
        let judged = simulate_suites(&design, 0..2000, 2);
        close(planned.helps, judged.helps as f64 / 2000.0, 0.04, "helps");
        close(planned.harms, judged.harms as f64 / 2000.0, 0.04, "harms");
        close(planned.negligible, judged.negligible as f64 / 2000.0, 0.02, "no effect");
    }
}
