//! Judges with errors that may depend on the condition, and lifts corrected by labels of some of the items.

use rand_chacha::ChaCha8Rng;

use assay_stats::judge::{Calibration, Judged, Labelled};
use assay_stats::prediction_powered::{PoweredItem, PredictionPowered, SampledLabel, allocate_labels};
use assay_stats::random::{Purpose, index, stream, uniform};

/// Tasks, items of each task under each condition, as in runs with a rubric.
const TASKS: usize = 20;
const ITEMS: usize = 15;

/// The rates of met items of the tasks without the skill: uniform between these.
const RATES: [f64; 2] = [0.2, 0.6];

/// Student's quantile at .975 with 19 degrees of freedom, for 20 tasks.
const STUDENT: f64 = 2.093_024_054_408_263;

/// The labels that people were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Of a simple random sample.
    Random,
    /// Of a sample by condition and verdict, as `assay judge export --sample` draws it.
    Stratified,
}

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeLabelsCell {
    /// What the judge is like, in words.
    pub judge: &'static str,
    /// Sensitivity and specificity without the skill, and with it.
    pub errors: [[f64; 2]; 2],
    /// The true difference of the rates of met items.
    pub lift: f64,
    /// Half of the tasks are helped by so much more than the others are helped less.
    pub spread: f64,
    /// Labels of both conditions together.
    pub labels: usize,
    /// How their items were drawn.
    pub sampling: Sampling,
}

/// Shares of intervals that contain the true lift, and mean widths.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JudgeLabelsFigures {
    /// Coverage as judged.
    pub judged: f64,
    /// Coverage of Rogan and Gladen's correction with the labels of both conditions pooled.
    pub rogan_gladen: f64,
    /// Coverage of the prediction-powered difference.
    pub powered: f64,
    /// Mean width of its interval.
    pub width: f64,
    /// Mean width with λ = 1 and the variances of verdicts and labels added.
    pub plain_width: f64,
    /// Mean λ.
    pub lambda: f64,
    /// Share of runs with fewer than 30 labels of a condition, which are in no other figure.
    pub refused: f64,
}

/// The grid: judges with equal and with unequal errors, lifts of 0 and 20 points, with labels of some of 600 items.
pub fn judge_labels_grid() -> Vec<JudgeLabelsCell> {
    let judges = [
        ("equal errors", [[0.9, 0.85], [0.9, 0.85]]),
        ("specificity .85 → .70", [[0.9, 0.85], [0.9, 0.7]]),
        ("sensitivity .85 → .95, specificity .85 → .70", [[0.85, 0.85], [0.95, 0.7]]),
    ];
    let mut cells = Vec::new();
    for (judge, errors) in judges {
        for (lift, spread) in [(0.0, 0.0), (0.2, 0.0), (0.0, 0.2), (0.2, 0.2)] {
            for (labels, sampling) in [
                (60, Sampling::Stratified),
                (100, Sampling::Random),
                (100, Sampling::Stratified),
                (200, Sampling::Random),
                (200, Sampling::Stratified),
            ] {
                cells.push(JudgeLabelsCell { judge, errors, lift, spread, labels, sampling });
            }
        }
    }
    cells
}

/// An item as it is.
#[derive(Clone, Copy)]
struct TrueItem {
    group: usize,
    task: usize,
    met: bool,
    verdict: bool,
}

impl JudgeLabelsCell {
    /// Judges `runs` runs, each with its own random stream.
    pub fn simulate(&self, runs: u64, seed: u64) -> JudgeLabelsFigures {
        let mut sums = JudgeLabelsFigures::default();
        let mut counted = 0.0_f64;
        for number in 0..runs {
            let mut random = stream(seed, Purpose::JudgeLabels, number);
            let items = self.items(&mut random);
            let labels = self.draw_labels(&items, &mut random);
            let covers = |low: f64, high: f64| f64::from(u8::from(low <= self.lift && self.lift <= high));
            let powered = PredictionPowered::new(&powered_items(&items, &labels), 2);
            let Some(found) = powered.difference(1, 0).ok().and_then(|figure| figure.interval) else {
                sums.refused += 1.0;
                continue;
            };
            counted += 1.0;
            sums.powered += covers(found.low, found.high);
            sums.width += found.width();
            sums.lambda += powered.lambda(&[0, 1]).unwrap_or(1.0);
            sums.plain_width += plain_width(&items, &labels);
            let (raw, corrected) = pooled(&items, &labels);
            sums.judged += raw.map_or(0.0, |ends| covers(ends[0], ends[1]));
            // An interval without ends contains everything.
            sums.rogan_gladen += corrected.map_or(1.0, |ends| covers(ends[0], ends[1]));
        }
        sums.refused /= runs.max(1) as f64;
        for sum in [
            &mut sums.judged,
            &mut sums.rogan_gladen,
            &mut sums.powered,
            &mut sums.width,
            &mut sums.plain_width,
            &mut sums.lambda,
        ] {
            *sum /= counted.max(1.0);
        }
        sums
    }

    fn items(&self, random: &mut ChaCha8Rng) -> Vec<TrueItem> {
        let mut items = Vec::new();
        for task in 0..TASKS {
            let base = RATES[0] + (RATES[1] - RATES[0]) * uniform(random);
            let more = if uniform(random) < 0.5 { self.spread } else { -self.spread };
            for (group, rate) in [base, base + self.lift + more].into_iter().enumerate() {
                for _ in 0..ITEMS {
                    let met = uniform(random) < rate;
                    let is_right = uniform(random) < self.errors[group][usize::from(!met)];
                    items.push(TrueItem { group, task, met, verdict: is_right == met });
                }
            }
        }
        items
    }

    /// The items with labels, with the number of items that each counts for.
    fn draw_labels(&self, items: &[TrueItem], random: &mut ChaCha8Rng) -> Vec<Option<f64>> {
        let mut weights = vec![None; items.len()];
        let mut order: Vec<usize> = (0..items.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, index(random, last + 1));
        }
        if self.sampling == Sampling::Random {
            order.iter().take(self.labels).for_each(|at| weights[*at] = Some(1.0));
            return weights;
        }
        let strata = [false, true].map(|group| {
            [false, true].map(|verdict| -> Vec<usize> {
                let is_in = |item: &TrueItem| item.group == usize::from(group) && item.verdict == verdict;
                order.iter().copied().filter(|at| is_in(&items[*at])).collect()
            })
        });
        let sizes: Vec<Vec<usize>> =
            strata.iter().map(|verdicts| verdicts.iter().map(Vec::len).collect()).collect();
        for (verdicts, numbers) in strata.iter().zip(allocate_labels(self.labels, &sizes)) {
            for (stratum, n) in verdicts.iter().zip(numbers) {
                for at in stratum.iter().take(n) {
                    weights[*at] = Some(stratum.len() as f64 / n as f64);
                }
            }
        }
        weights
    }
}

fn powered_items(items: &[TrueItem], labels: &[Option<f64>]) -> Vec<PoweredItem> {
    let of = |(item, weight): (&TrueItem, &Option<f64>)| PoweredItem {
        group: item.group,
        verdict: item.verdict,
        share: 1.0,
        cluster: Some(item.task),
        label: weight.map(|weight| SampledLabel { met: item.met, weight }),
    };
    items.iter().zip(labels).map(of).collect()
}

/// The intervals as judged, and by Rogan and Gladen with one sensitivity and one specificity; `None` without ends.
fn pooled(items: &[TrueItem], labels: &[Option<f64>]) -> (Option<[f64; 2]>, Option<[f64; 2]>) {
    let judged = |item: &TrueItem| Judged { verdict: item.verdict, cluster: Some(item.task) };
    let group = |group: usize| -> Vec<Judged> {
        items.iter().filter(|item| item.group == group).map(judged).collect()
    };
    let labelled: Vec<Labelled> = { items.iter().zip(labels) }
        .filter(|(_, weight)| weight.is_some())
        .map(|(item, _)| Labelled { label: item.met, judged: judged(item) })
        .collect();
    let ends = |figure: assay_stats::judge::Figure| figure.interval.map(|found| [found.low, found.high]);
    let (with, without) = (group(1), group(0));
    let raw = Calibration::known(1.0, 1.0).difference(&with, &without).ok();
    let corrected = Calibration::new(&labelled).and_then(|rates| rates.difference(&with, &without)).ok();
    (raw.and_then(|found| ends(found.raw)), corrected.and_then(|found| ends(found.corrected)))
}

/// The width with λ = 1 and the variances over tasks of the verdicts and of the labels' differences from them added, as
/// if they were independent.
fn plain_width(items: &[TrueItem], labels: &[Option<f64>]) -> f64 {
    let number = |value: bool| f64::from(u8::from(value));
    let sum_of_squares = |value: &dyn Fn(&TrueItem) -> f64, weight: &dyn Fn(usize) -> f64| {
        let mut sums = [0.0; TASKS];
        for (group, sign) in [(0, -1.0), (1, 1.0)] {
            let own = || items.iter().enumerate().filter(|(_, item)| item.group == group);
            let all: f64 = own().map(|(at, _)| weight(at)).sum();
            let mean = own().map(|(at, item)| weight(at) * value(item)).sum::<f64>() / all;
            for (at, item) in own() {
                sums[item.task] += sign * weight(at) * (value(item) - mean) / all;
            }
        }
        TASKS as f64 / (TASKS as f64 - 1.0) * sums.iter().map(|sum| sum * sum).sum::<f64>()
    };
    let verdicts = sum_of_squares(&|item| number(item.verdict), &|_| 1.0);
    let rectifiers =
        sum_of_squares(&|item| number(item.met) - number(item.verdict), &|at| labels[at].unwrap_or(0.0));
    2.0 * STUDENT * (verdicts + rectifiers).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows with unequal errors: what was published for the correction by pooled error rates is 15 to 60%.
    #[test]
    fn labels_of_the_run_correct_a_judge_that_errs_with_the_skill() {
        let runs = 600;
        // Two standard errors below .935.
        let least = 0.935 - 2.0 * (0.935 * 0.065 / runs as f64).sqrt();
        for cell in judge_labels_grid().into_iter().filter(|cell| cell.labels == 100 || cell.lift > 0.0) {
            let found = cell.simulate(runs, 3);
            assert!(found.powered >= least, "{cell:?} {found:?}");
            assert!(found.width <= 1.1 * found.plain_width, "{cell:?} {found:?}");
            assert!(found.refused < 0.01, "{cell:?} {found:?}");
            if cell.judge != "equal errors" && cell.labels == 200 {
                assert!(found.rogan_gladen < 0.9, "{cell:?} {found:?}");
            }
        }
    }

    #[test]
    fn too_few_labels_are_refused() {
        let cell = JudgeLabelsCell { labels: 50, ..judge_labels_grid()[0] };
        assert!(cell.simulate(20, 1).refused > 0.99);
    }
}
