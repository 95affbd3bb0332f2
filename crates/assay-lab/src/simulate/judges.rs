//! Simulated judges on labelled items.

use assay_stats::Interval;
use assay_stats::judge::{Calibration, Corrected, Judged, Labelled};
use assay_stats::random::{Purpose, index, stream, uniform};

/// A labelled item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrueItem {
    /// What is true of it.
    pub label: bool,
    /// Its group, below the number of groups.
    pub group: usize,
    /// Its cluster, below the number of clusters.
    pub cluster: usize,
}

/// How often intervals contain the true value, and how wide they are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct JudgeCoverage {
    /// Share of the intervals as judged that contain the true value.
    pub raw: f64,
    /// Share of the corrected ones.
    pub corrected: f64,
    /// Mean width of the corrected ones, as a multiple of those with error rates that are known
    /// exactly.
    pub width: f64,
    /// Share of corrections that were refused. Those are in no other figure.
    pub refused: f64,
}

/// Coverage for rates and for differences of two groups.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct JudgeCell {
    /// Rates of groups.
    pub rates: JudgeCoverage,
    /// Differences of every two groups.
    pub differences: JudgeCoverage,
}

/// Judges `items` with given error rates, independent of everything but the label.
///
/// In each of `repetitions`, a random half of the clusters is the calibration set, and the true
/// values are the shares of positive labels in the other half. With `clustered`, the intervals are
/// those over clusters.
pub fn simulate_judges(
    items: &[TrueItem],
    (sensitivity, specificity): (f64, f64),
    clustered: bool,
    repetitions: usize,
    seed: u64,
) -> JudgeCell {
    let groups = items.iter().map(|item| item.group + 1).max().unwrap_or(0);
    let clusters = items.iter().map(|item| item.cluster + 1).max().unwrap_or(0);
    let known = Calibration::known(sensitivity, specificity);
    let mut random = stream(seed, Purpose::JudgeErrors, 2);
    let (mut rates, mut differences) = (Counts::default(), Counts::default());
    for _ in 0..repetitions {
        let mut order: Vec<usize> = (0..clusters).collect();
        for last in (1..clusters).rev() {
            order.swap(last, index(&mut random, last + 1));
        }
        let mut calibrates = vec![false; clusters];
        order.iter().take(clusters / 2).for_each(|cluster| calibrates[*cluster] = true);
        let mut labelled = Vec::new();
        let mut judged = vec![Vec::new(); groups];
        let mut positive = vec![0.0; groups];
        for item in items {
            let right = uniform(&mut random) < if item.label { sensitivity } else { specificity };
            let one = Judged { verdict: right == item.label, cluster: clustered.then_some(item.cluster) };
            if calibrates[item.cluster] {
                labelled.push(Labelled { label: item.label, judged: one });
            } else {
                judged[item.group].push(one);
                positive[item.group] += f64::from(u8::from(item.label));
            }
        }
        let Ok(calibration) = Calibration::new(&labelled) else { continue };
        let truth = |group: usize| positive[group] / judged[group].len() as f64;
        for a in 0..groups {
            let found = calibration.rate(&judged[a]).ok();
            rates.add(found, known.rate(&judged[a]).ok(), truth(a));
            for b in a + 1..groups {
                let found = calibration.difference(&judged[a], &judged[b]).ok();
                let ideal = known.difference(&judged[a], &judged[b]).ok();
                differences.add(found, ideal, truth(a) - truth(b));
            }
        }
    }
    JudgeCell { rates: rates.coverage(), differences: differences.coverage() }
}

#[derive(Default)]
struct Counts {
    tried: f64,
    corrected: f64,
    covered: f64,
    raw_covered: f64,
    width: f64,
    ideal_width: f64,
}

impl Counts {
    fn add(&mut self, found: Option<Corrected>, ideal: Option<Corrected>, truth: f64) {
        self.tried += 1.0;
        let Some((found, ideal)) = found.zip(ideal) else { return };
        let contains = |interval: Option<Interval>| {
            let within = |of: Interval| of.low - 1e-12 <= truth && truth <= of.high + 1e-12;
            f64::from(u8::from(interval.is_some_and(within)))
        };
        self.corrected += 1.0;
        self.covered += contains(found.corrected.interval);
        self.raw_covered += contains(found.raw.interval);
        self.width += found.corrected.interval.map_or(0.0, Interval::width);
        self.ideal_width += ideal.corrected.interval.map_or(0.0, Interval::width);
    }

    fn coverage(&self) -> JudgeCoverage {
        if self.corrected <= 0.0 {
            return JudgeCoverage { refused: 1.0, ..JudgeCoverage::default() };
        }
        JudgeCoverage {
            raw: self.raw_covered / self.corrected,
            corrected: self.covered / self.corrected,
            width: self.width / self.ideal_width,
            refused: 1.0 - self.corrected / self.tried,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrected_intervals_cover_and_biased_ones_do_not() {
        // Three groups of 20 clusters of 6 items, a third of them positive.
        let items: Vec<TrueItem> = (0..360)
            .map(|at| TrueItem { label: at % 3 == 0, group: at / 120, cluster: at % 120 / 6 })
            .collect();
        for clustered in [false, true] {
            let cell = simulate_judges(&items, (0.9, 0.7), clustered, 300, 1);
            for found in [cell.rates, cell.differences] {
                assert!(found.corrected >= 0.94, "{cell:?}");
                assert!(found.width < 1.5, "{cell:?}");
            }
            assert!(cell.rates.raw < 0.7, "{cell:?}");
        }
        assert!(simulate_judges(&items, (0.5, 0.5), false, 100, 1).rates.refused > 0.8);
    }
}
