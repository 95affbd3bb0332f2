//! Simulated experiments that are looked at after each round: error rates, coverage, power and trials, beside the
//! fixed design on the same suites.

use super::truth::Design;
use crate::paired_task::PairedTask;
use crate::sequential::{Look, SequentialPlan, StagedEnd, first_rounds, rounds_to_look_at};
use crate::verdict::{VerdictKind, verdict};

/// What the suites of a cell gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SequentialFigures {
    /// The true lift.
    pub lift: f64,
    /// Share of suites with a false `helps` or `harms`.
    pub false_verdicts: f64,
    /// The same of the fixed design.
    pub fixed_false_verdicts: f64,
    /// Share of the intervals at the stop that contain the true lift.
    pub coverage: f64,
    /// Share of comparisons with the right `helps`; 0 without an effect.
    pub power: f64,
    /// The same of the fixed design.
    pub fixed_power: f64,
    /// Trials executed, as a share of the fixed design's.
    pub share: f64,
}

/// Simulates a design whose repetitions are rounds, beside the fixed design with `repetitions` of them, at a true
/// lift of `lift`. Its arms are the family.
pub fn simulate_rounds(
    design: &Design,
    lift: f64,
    repetitions: usize,
    suites: u64,
    seed: u64,
) -> SequentialFigures {
    let conditions = design.arms;
    let Some(plan) = SequentialPlan::new(design.repetitions, conditions, design.margin) else {
        return SequentialFigures::default();
    };
    let plan = plan.looking_after(&rounds_to_look_at(design.repetitions, design.tasks));
    let mut sums = SequentialFigures { lift, ..SequentialFigures::default() };
    let mut intervals = 0.0;
    let is = |yes: bool| f64::from(u8::from(yes));
    let wrong = |kind: VerdictKind| match kind {
        VerdictKind::Helps => lift <= 0.0,
        VerdictKind::Harms => lift >= 0.0,
        VerdictKind::Negligible | VerdictKind::Inconclusive => false,
    };
    let right = |kind: VerdictKind| lift > 0.0 && kind == VerdictKind::Helps;
    for index in 0..suites {
        let suite = design.suite(seed, index);
        let (ends, trials) = stop(&plan, &suite.arms);
        let fixed: Vec<VerdictKind> = suite
            .arms
            .iter()
            .map(|tasks| verdict(&first_rounds(tasks, repetitions), conditions, design.margin, None).kind)
            .collect();
        sums.false_verdicts += is(ends.iter().any(|look| wrong(look.verdict.kind)));
        sums.fixed_false_verdicts += is(fixed.iter().any(|kind| wrong(*kind)));
        let arms = conditions as f64;
        sums.power += ends.iter().map(|look| is(right(look.verdict.kind))).sum::<f64>() / arms;
        sums.fixed_power += fixed.iter().map(|kind| is(right(*kind))).sum::<f64>() / arms;
        sums.share += trials as f64 / ((conditions + 1) * repetitions) as f64;
        for interval in ends.iter().filter_map(|look| look.verdict.interval) {
            intervals += 1.0;
            sums.coverage += is(interval.low <= lift && lift <= interval.high);
        }
    }
    let suites = suites.max(1) as f64;
    for sum in [
        &mut sums.false_verdicts,
        &mut sums.fixed_false_verdicts,
        &mut sums.power,
        &mut sums.fixed_power,
        &mut sums.share,
    ] {
        *sum /= suites;
    }
    sums.coverage /= f64::max(intervals, 1.0);
    sums
}

/// Simulated figures of designs with tasks after the rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StagedFigures {
    /// Share of comparisons with `helps`.
    pub helps: f64,
    /// Share of experiments of which a comparison goes on with the tasks after the rounds.
    pub goes_on: f64,
    /// Trials, as a share of those of the fixed design with all tasks.
    pub share: f64,
}

/// Simulates a design whose repetitions are rounds of all but `more` tasks; these come after the rounds, with `repetitions`
/// trials each, where the rounds leave a comparison open. Its arms are the family.
pub fn simulate_stages(
    design: &Design,
    more: usize,
    repetitions: usize,
    suites: u64,
    seed: u64,
) -> StagedFigures {
    let first = design.tasks.saturating_sub(more);
    let Some(plan) = SequentialPlan::new(design.repetitions, design.arms, design.margin) else {
        return StagedFigures::default();
    };
    let plan = plan.looking_after(&rounds_to_look_at(design.repetitions, first)).with_more_tasks(first, more);
    let mut sums = StagedFigures::default();
    let arms = design.arms.max(1) as f64;
    let fixed = (design.tasks * repetitions) as f64 * (arms + 1.0);
    for index in 0..suites {
        let suite = design.suite(seed, index);
        let ends: Vec<StagedEnd> = suite
            .arms
            .iter()
            .filter_map(|tasks| {
                let (first, more) = tasks.split_at(first);
                plan.end_in_stages(first, &first_rounds(more, repetitions))
            })
            .collect();
        let helps = ends.iter().filter(|end| end.kind == VerdictKind::Helps).count();
        let on = ends.iter().filter(|end| end.goes_on).count();
        let rounds = ends.iter().map(|end| end.round).sum::<usize>()
            + ends.iter().map(|end| end.round).max().unwrap_or_default();
        let trials = first * rounds + if on > 0 { more * repetitions * (on + 1) } else { 0 };
        sums.helps += helps as f64 / arms;
        sums.goes_on += f64::from(u8::from(on > 0));
        sums.share += trials as f64 / fixed.max(1.0);
    }
    let suites = suites.max(1) as f64;
    StagedFigures { helps: sums.helps / suites, goes_on: sums.goes_on / suites, share: sums.share / suites }
}

/// The looks at which the comparisons of a suite end, and the trials of each task until then. Conditions that are
/// decided stop; the baseline goes on for the others.
fn stop(plan: &SequentialPlan, arms: &[Vec<PairedTask>]) -> (Vec<Look>, usize) {
    let stops: Vec<(usize, Look)> = arms.iter().filter_map(|tasks| plan.stop(tasks)).collect();
    let base = stops.iter().map(|(round, _)| *round).max().unwrap_or_default();
    let trials = base + stops.iter().map(|(round, _)| *round).sum::<usize>();
    (stops.into_iter().map(|(_, look)| look).collect(), trials)
}

#[cfg(test)]
mod tests {
    use super::super::truth::Effect;
    use super::*;

    #[test]
    fn more_tasks_add_power_and_cost_nothing_where_the_rounds_decide() {
        let stages = |lift: f64| {
            let design = Design::skewed(Effect::Uniform { lift, spread: 0.2 }, 24, 6);
            simulate_stages(&design, 12, 5, 300, 1)
        };
        let (large, medium) = (stages(0.6), stages(0.25));
        // Twelve tasks of 24 in the rounds: at most 60% of the fixed design.
        assert!(large.goes_on < 0.2 && large.helps > 0.95 && large.share < 0.6, "{large:?}");
        assert!(medium.goes_on > 0.3 && medium.share <= 1.1, "{medium:?}");
        let alone = Design::skewed(Effect::Uniform { lift: 0.25, spread: 0.2 }, 12, 6);
        let alone = simulate_rounds(&alone, 0.25, 5, 300, 1);
        assert!(medium.helps > alone.power + 0.1, "{medium:?} {alone:?}");
    }
}
