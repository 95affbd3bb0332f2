//! Recorded trials with labels that mean nothing: how often a verdict is false on real outcomes.

use rand_chacha::ChaCha8Rng;

use super::method::Method;
use assay_stats::random::{Purpose, index, stream, uniform};
use assay_stats::sample::{Sample, paired};
use assay_stats::sequential::{SequentialPlan, first_rounds, rounds_to_look_at};
use assay_stats::{Interval, PairedTask, VerdictKind, lift, verdict};

/// The recorded scores of two arms on one task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedTask {
    /// Of one arm.
    pub one: Vec<f64>,
    /// Of the other.
    pub other: Vec<f64>,
}

/// How the labels of arms are taken from trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relabel {
    /// The trials of a task get the labels at random: no task has an effect.
    Permuted,
    /// The arms of a task change places with probability ½: tasks have the effects that were recorded, 0 on average.
    Swapped,
}

impl Relabel {
    /// The name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Permuted => "permuted within the task",
            Self::Swapped => "arms swapped task by task",
        }
    }
}

/// Shares of suites with `helps` or `harms`, all of which are false unless scores were shifted; and mean widths of the 95%
/// intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RelabeledFigures {
    /// Suites drawn.
    pub suites: u64,
    /// Decided once, with all repetitions.
    pub fixed: f64,
    /// Decided by Student's t over the tasks, for comparison.
    pub student: f64,
    /// Width of the interval.
    pub width: f64,
    /// Width with ¼ as the variance of a trial whatever the scores, the rule before graded scores had their own.
    pub quarter_width: f64,
    /// Width of Student's.
    pub student_width: f64,
    /// Looked at after rounds, as `[stopping]` does with so many tasks.
    pub sequential: f64,
    /// Mean share of the trials that were needed until the stop.
    pub trials: f64,
}

impl RelabeledFigures {
    /// The Monte-Carlo standard error of a share.
    pub fn error(&self, share: f64) -> f64 {
        (share * (1.0 - share) / self.suites.max(1) as f64).sqrt()
    }
}

/// Draws `suites` suites of `tasks` tasks with `rounds` trials in each arm from pairs of arms, each suite from one pair, and
/// adds `shift` to the scores of one arm, up to 1.
///
/// Tasks without so many trials in both arms are left out, then pairs without so many tasks. `None` if no pair is left,
/// or a plan cannot have so many rounds.
pub fn simulate_relabeled(
    pairs: &[Vec<RecordedTask>],
    relabel: Relabel,
    (tasks, rounds): (usize, usize),
    (margin, shift): (f64, f64),
    suites: u64,
    seed: u64,
) -> Option<RelabeledFigures> {
    let plan = SequentialPlan::new(rounds, 1, margin)?.looking_after(&rounds_to_look_at(rounds, tasks));
    let pairs: Vec<Vec<&RecordedTask>> =
        pairs.iter().filter_map(|pair| usable(pair, tasks, rounds)).collect();
    if pairs.is_empty() {
        return None;
    }
    let mut found = RelabeledFigures { suites, ..RelabeledFigures::default() };
    let is_false =
        |kind: VerdictKind| f64::from(u8::from(matches!(kind, VerdictKind::Helps | VerdictKind::Harms)));
    for number in 0..suites {
        let mut random = stream(seed, Purpose::Relabel, number);
        let mut pair = pairs[index(&mut random, pairs.len())].clone();
        let chosen = &shuffled(&mut pair, &mut random)[..tasks];
        let suite: Vec<PairedTask> =
            chosen.iter().map(|task| shifted(relabeled(task, relabel, rounds, &mut random), shift)).collect();
        if let Some(student) = Method::Student.interval(&suite, 0.95, seed) {
            found.student += f64::from(u8::from(student.excludes_zero()));
            found.student_width += student.width();
        }
        found.width += lift(&suite, 0.95).and_then(|lift| lift.interval).map_or(0.0, Interval::width);
        let quarter = Sample::of_paired(&paired(&suite), 0.25, 1.0).moments();
        found.quarter_width += quarter.interval(0.025, (-1.0, 1.0)).map_or(0.0, Interval::width);
        found.fixed += is_false(verdict(&suite, 1, margin, None).kind);
        if let Some((round, look)) = plan.stop(&suite) {
            found.sequential += is_false(look.verdict.kind);
            found.trials += round as f64 / rounds as f64;
        }
    }
    let count = suites.max(1) as f64;
    for sum in [
        &mut found.fixed,
        &mut found.student,
        &mut found.width,
        &mut found.quarter_width,
        &mut found.student_width,
        &mut found.sequential,
        &mut found.trials,
    ] {
        *sum /= count;
    }
    Some(found)
}

/// The task with so much more for each score of the arm, up to 1.
fn shifted(mut task: PairedTask, shift: f64) -> PairedTask {
    task.arm.iter_mut().for_each(|score| *score = (*score + shift).clamp(0.0, 1.0));
    task
}

/// The tasks of a pair that have so many trials in both arms, if there are enough of them.
fn usable(pair: &[RecordedTask], tasks: usize, rounds: usize) -> Option<Vec<&RecordedTask>> {
    let whole = |task: &&RecordedTask| task.one.len() >= rounds && task.other.len() >= rounds;
    let kept: Vec<&RecordedTask> = pair.iter().filter(whole).collect();
    (tasks > 0 && kept.len() >= tasks).then_some(kept)
}

fn relabeled(task: &RecordedTask, relabel: Relabel, rounds: usize, random: &mut ChaCha8Rng) -> PairedTask {
    let (mut one, mut other) = (task.one.clone(), task.other.clone());
    shuffled(&mut one, random);
    shuffled(&mut other, random);
    let (arm, base) = match relabel {
        Relabel::Swapped if uniform(random) < 0.5 => (other, one),
        Relabel::Swapped => (one, other),
        Relabel::Permuted => {
            // As many of each arm, so that the pool has the mean of both.
            let mut pool = [&one[..rounds], &other[..rounds]].concat();
            shuffled(&mut pool, random);
            let base = pool.split_off(rounds);
            (pool, base)
        }
    };
    let whole = PairedTask { arm, base, cluster: None };
    first_rounds(&[whole], rounds).pop().unwrap_or_default()
}

/// Puts items into a random order (Fisher & Yates).
fn shuffled<'a, T>(items: &'a mut [T], random: &mut ChaCha8Rng) -> &'a [T] {
    for last in (1..items.len()).rev() {
        items.swap(last, index(random, last + 1));
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(tasks: usize, trials: usize) -> Vec<RecordedTask> {
        let mut random = stream(3, Purpose::Relabel, 9);
        let mut draw = |rate: f64| -> Vec<f64> {
            (0..trials).map(|_| f64::from(u8::from(uniform(&mut random) < rate))).collect()
        };
        (0..tasks).map(|_| RecordedTask { one: draw(0.9), other: draw(0.3) }).collect()
    }

    #[test]
    fn labels_without_meaning_give_few_verdicts_and_true_ones_would_give_many() {
        let pairs = [pair(30, 5), pair(8, 5)];
        for relabel in [Relabel::Permuted, Relabel::Swapped] {
            let found = simulate_relabeled(&pairs, relabel, (20, 5), (0.1, 0.0), 400, 1).unwrap();
            // 5.5% and four standard errors.
            assert!(found.fixed <= 0.1 && found.sequential <= 0.1, "{relabel:?} {found:?}");
            assert!(found.trials > 0.2 && found.trials <= 1.0, "{found:?}");
        }
        let honest: Vec<PairedTask> = pairs[0]
            .iter()
            .map(|task| PairedTask { arm: task.one.clone(), base: task.other.clone(), cluster: None })
            .collect();
        assert_eq!(verdict(&honest, 1, 0.1, None).kind, VerdictKind::Helps);
    }

    /// Graded scores: eight tasks of three trials that differ by .1 hardly vary within a task, and the verdict finds nearly as
    /// many shifts as Student's t does. With ¼ as the variance of a trial it finds next to none.
    #[test]
    fn shifts_of_graded_scores_are_found_about_as_often_as_by_students_t() {
        let mut random = stream(3, Purpose::Relabel, 9);
        let mut task = || {
            let [one, other] =
                [0.5 + 0.3 * (uniform(&mut random) - 0.5), 0.5 + 0.3 * (uniform(&mut random) - 0.5)];
            let mut near = |mean: f64| -> Vec<f64> {
                (0..4).map(|_| mean + 0.1 * (uniform(&mut random) - 0.5)).collect()
            };
            RecordedTask { one: near(one), other: near(other) }
        };
        let pairs = [(0..40).map(|_| task()).collect::<Vec<_>>()];
        let figures =
            |shift: f64| simulate_relabeled(&pairs, Relabel::Permuted, (8, 3), (0.1, shift), 400, 1).unwrap();
        let (null, shift) = (figures(0.0), figures(0.1));
        // 5.5% and two standard errors.
        assert!(null.fixed <= 0.055 + 0.023, "{null:?}");
        assert!(shift.fixed >= 0.75 * shift.student && shift.student > 0.3, "{shift:?}");
        assert!(shift.width < 0.75 * shift.quarter_width, "{shift:?}");
    }

    #[test]
    fn permuted_trials_are_those_of_the_task_and_swapped_arms_stay_together() {
        let task = RecordedTask { one: vec![1.0; 3], other: vec![0.0; 3] };
        let mut random = stream(1, Purpose::Relabel, 0);
        for _ in 0..20 {
            let mixed = relabeled(&task, Relabel::Permuted, 3, &mut random);
            let sum: f64 = mixed.arm.iter().chain(&mixed.base).sum();
            assert!((sum - 3.0).abs() < 1e-9 && mixed.arm.len() == 3 && mixed.base.len() == 3);
            let swapped = relabeled(&task, Relabel::Swapped, 2, &mut random);
            assert!(
                swapped.arm == vec![1.0; 2] && swapped.base == vec![0.0; 2] || swapped.arm == vec![0.0; 2]
            );
        }
    }

    #[test]
    fn without_enough_tasks_or_trials_there_is_no_figure() {
        let pairs = [pair(8, 5)];
        for design in [(9, 5), (8, 6), (0, 5), (8, 0)] {
            assert_eq!(
                simulate_relabeled(&pairs, Relabel::Swapped, design, (0.1, 0.0), 10, 1),
                None,
                "{design:?}"
            );
        }
        assert_eq!(simulate_relabeled(&[], Relabel::Swapped, (5, 5), (0.1, 0.0), 10, 1), None);
    }
}
