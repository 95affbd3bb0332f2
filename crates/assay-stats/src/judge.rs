//! How good a judge is against labels, and rates corrected for its errors.
//!
//! A judge gives each item a verdict, met or not; a label says what is true of the item. Items of
//! one task share a cluster, and clusters are then the units of every variance:
//! V = k/(k − 1)·Σ(Σᵢ(yᵢ − p))²/n² over k clusters, with Student's t at k − 1 degrees of freedom.
//! Without clusters V = p(1 − p)/n, with the normal quantile.
//!
//! With sensitivity s₁, specificity s₀ and J = s₁ + s₀ − 1, a rate θ has the verdict rate
//! p = (1 − s₀) + θJ, so that θ = (p + s₀ − 1)/J (Rogan & Gladen 1978). The interval contains each
//! θ with (p + s₀ − 1 − θJ)² ≤ t²·(V(p) + θ²V(s₁) + (1 − θ)²V(s₀)), which is the variance of Lee et
//! al. (arXiv 2511.21140, section 3) inverted as by Fieller (1954) instead of linearised, so that it
//! stays valid where J is small. Two groups share the calibration, so their difference δ has
//! (p_a − p_b − δJ)² ≤ t²·(V(p_a − p_b) + δ²V(J)), where 1 − s₀ has cancelled.

use std::collections::{BTreeMap, BTreeSet};

use crate::estimate::clopper_pearson;
use crate::interval::Interval;
use crate::quantile::{normal_tail, student_tail};
use crate::random::{Purpose, index, stream};

/// The fewest labels of a group that a corrected figure is based on. Intervals from fewer are mostly too wide to decide
/// anything: ±.2 at 25 in the simulations of docs/JUDGING.md.
pub const FEWEST_LABELS: usize = 30;

/// Permutations of the test for equal error rates.
const PERMUTATIONS: usize = 2000;

/// A verdict with the cluster of its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// Whether the item is met, according to the judge.
    pub verdict: bool,
    /// The task of the item, if items of a task are not independent.
    pub cluster: Option<usize>,
}

/// A verdict with a label of the same item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labelled {
    /// Whether the item is met, according to the label.
    pub label: bool,
    /// The judge's verdict.
    pub judged: Judged,
}

/// A figure and its 95% interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The estimate.
    pub value: f64,
    /// `None` if there is one cluster only.
    pub interval: Option<Interval>,
}

/// Why no corrected rate can be given.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum CorrectionError {
    /// The calibration set lacks a class.
    #[error("the calibration set has no {} items", if *.label { "positive" } else { "negative" })]
    NoLabels {
        /// The class that is missing.
        label: bool,
    },
    /// Verdicts hardly depend on labels.
    #[error(
        "sensitivity {sensitivity:.2} + specificity {specificity:.2} is not distinguishable from 1: the \
         verdicts of this judge carry too little information"
    )]
    Uninformative {
        /// Share of positive items that the judge calls met.
        sensitivity: f64,
        /// Share of negative items that the judge calls not met.
        specificity: f64,
    },
    /// Too few labels of the items themselves.
    #[error(
        "{labels} of its items have a label and {} are needed: {} are missing",
        FEWEST_LABELS,
        FEWEST_LABELS.saturating_sub(*.labels)
    )]
    FewLabels {
        /// The labels.
        labels: usize,
    },
    /// Too few clusters.
    #[error("at least 2 clusters are needed in the calibration set and in each group")]
    FewClusters,
}

/// A proportion of items with its variance.
#[derive(Debug, Clone, Copy)]
struct Share {
    value: f64,
    variance: f64,
    /// Clusters, or `None` if items are independent.
    clusters: Option<usize>,
}

/// The share of `items` that are true.
///
/// The interval is Wilson's (1927) with n = p(1 − p)/V; where all items are equal, it is Clopper and
/// Pearson's over the clusters. `None` without an item.
pub fn proportion(items: &[(bool, Option<usize>)]) -> Option<Figure> {
    let share = Share::of(items)?;
    let units = share.clusters.unwrap_or(items.len());
    if units < 2 && share.clusters.is_some() {
        return Some(Figure { value: share.value, interval: None });
    }
    let raw = share.value * (1.0 - share.value);
    if raw <= 0.0 {
        let passed = if share.value > 0.5 { units } else { 0 };
        let interval = clopper_pearson(passed as u64, units as u64, 0.95);
        return Some(Figure { value: share.value, interval: Some(interval) });
    }
    // Clusters never count for more than their items would.
    let plain = raw_variance(items).max(raw / items.len() as f64);
    let interval = quantile(share.clusters.into_iter()).map(|t| wilson(share.value, plain, t));
    Some(Figure { value: share.value, interval })
}

/// Wilson's interval (1927) of a mean `p` strictly between 0 and 1 with its variance: that of n = p(1 − p)/V
/// items, at a quantile `t`.
pub(crate) fn wilson(p: f64, variance: f64, t: f64) -> Interval {
    let raw = p * (1.0 - p);
    let n = raw / variance;
    let square = t * t / n;
    let middle = (p + square / 2.0) / (1.0 + square);
    let half = t * ((raw + square / 4.0) / n).sqrt() / (1.0 + square);
    Interval { low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
}

/// Cohen's kappa (Cohen 1960) of pairs of categories, and a delete-one-cluster jackknife interval
/// (Efron 1982) with Student's t. `None` if both only ever name one category.
pub fn clustered_kappa(pairs: &[((usize, usize), Option<usize>)]) -> Option<Figure> {
    jackknife(pairs, |pairs| {
        let rated: Vec<(usize, usize)> = pairs.iter().map(|(pair, _)| *pair).collect();
        crate::agreement::kappa(&rated.iter().collect::<Vec<_>>())
    })
}

/// Krippendorff's alpha for nominal data with two raters; the interval as in [`clustered_kappa`].
pub fn clustered_alpha(pairs: &[((usize, usize), Option<usize>)]) -> Option<Figure> {
    jackknife(pairs, |pairs| {
        let rated: Vec<Vec<usize>> = pairs.iter().map(|((a, b), _)| vec![*a, *b]).collect();
        crate::agreement::alpha(&rated.iter().collect::<Vec<_>>())
    })
}

/// Krippendorff's alpha for nominal data with two raters or more of each item; the interval as in
/// [`clustered_kappa`].
pub fn clustered_alpha_of_raters(items: &[(&Vec<usize>, Option<usize>)]) -> Option<Figure> {
    jackknife(items, |items| {
        crate::agreement::alpha(&items.iter().map(|(ratings, _)| *ratings).collect::<Vec<_>>())
    })
}

fn jackknife<T: Copy>(
    items: &[(T, Option<usize>)],
    statistic: impl Fn(&[(T, Option<usize>)]) -> Option<f64>,
) -> Option<Figure> {
    let value = statistic(items)?;
    let unit = |(at, item): (usize, &(T, Option<usize>))| item.1.unwrap_or(at);
    let units: BTreeSet<usize> = items.iter().enumerate().map(unit).collect();
    let left_out = |out: usize| {
        let kept = items.iter().enumerate().filter(|(at, item)| unit((*at, item)) != out);
        statistic(&kept.map(|(_, item)| *item).collect::<Vec<_>>())
    };
    let values: Vec<f64> = units.iter().filter_map(|out| left_out(*out)).collect();
    let k = values.len() as f64;
    let mean = values.iter().sum::<f64>() / k;
    let variance = (k - 1.0) / k * values.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
    let interval = (values.len() == units.len()).then(|| student_tail(k - 1.0, 0.025)).flatten().map(|t| {
        let half = t * variance.sqrt();
        Interval { low: (value - half).max(-1.0), high: (value + half).min(1.0) }
    });
    Some(Figure { value, interval })
}

impl Share {
    /// With the variance of a proportion moved away from 0 by one item of each kind (Agresti &
    /// Coull 1998), which a clustered one never goes below.
    fn of(items: &[(bool, Option<usize>)]) -> Option<Self> {
        if items.is_empty() {
            return None;
        }
        let n = items.len() as f64;
        let hits = items.iter().filter(|(hit, _)| *hit).count() as f64;
        let moved = (hits + 1.0) / (n + 2.0);
        let floor = moved * (1.0 - moved) / (n + 2.0);
        let clusters = clusters(items.iter().map(|(_, cluster)| *cluster));
        let variance = raw_variance(items);
        let variance = if clusters.is_some() { variance.max(floor) } else { floor };
        Some(Self { value: hits / n, variance, clusters })
    }
}

/// How many clusters there are; `None` if an item has none.
pub(crate) fn clusters(items: impl Iterator<Item = Option<usize>>) -> Option<usize> {
    items.collect::<Option<BTreeSet<usize>>>().map(|clusters| clusters.len())
}

fn raw_variance(items: &[(bool, Option<usize>)]) -> f64 {
    let n = items.len() as f64;
    let p = items.iter().filter(|(hit, _)| *hit).count() as f64 / n;
    match clusters(items.iter().map(|(_, cluster)| *cluster)) {
        None => p * (1.0 - p) / n,
        Some(_) => {
            cluster_variance(items.iter().map(|(hit, cluster)| (f64::from(u8::from(*hit)) - p, *cluster)))
                / (n * n)
        }
    }
}

/// k/(k − 1) times the sum over clusters of squared sums of residuals.
pub(crate) fn cluster_variance(residuals: impl Iterator<Item = (f64, Option<usize>)>) -> f64 {
    let mut sums = BTreeMap::<Option<usize>, f64>::new();
    for (residual, cluster) in residuals {
        *sums.entry(cluster).or_default() += residual;
    }
    let k = sums.len() as f64;
    if sums.len() < 2 { 0.0 } else { k / (k - 1.0) * sums.values().map(|sum| sum * sum).sum::<f64>() }
}

/// The quantile for 95%: Student's with the fewest clusters less 1, or the normal one.
pub(crate) fn quantile(clusters: impl Iterator<Item = usize>) -> Option<f64> {
    match clusters.min() {
        Some(k) => student_tail(k as f64 - 1.0, 0.025),
        None => normal_tail(0.025),
    }
}

/// The error rates of a judge with what is known of them.
#[derive(Debug, Clone, Copy)]
pub struct Calibration {
    sensitivity: Share,
    specificity: Share,
    /// Variance of sensitivity + specificity, with their covariance within clusters.
    sum_variance: f64,
}

/// A rate before and after correction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corrected {
    /// The judge's rate, or difference of rates.
    pub raw: Figure,
    /// The corrected one.
    pub corrected: Figure,
}

impl Calibration {
    /// The error rates on labelled items.
    ///
    /// # Errors
    ///
    /// [`CorrectionError::NoLabels`] if a class is missing, [`CorrectionError::FewClusters`] with
    /// one cluster.
    pub fn new(items: &[Labelled]) -> Result<Self, CorrectionError> {
        let class = |label: bool| {
            let of = items.iter().filter(|item| item.label == label);
            let right = |item: &Labelled| (item.judged.verdict == label, item.judged.cluster);
            Share::of(&of.map(right).collect::<Vec<_>>()).ok_or(CorrectionError::NoLabels { label })
        };
        let (sensitivity, specificity) = (class(true)?, class(false)?);
        let clusters = clusters(items.iter().map(|item| item.judged.cluster));
        if clusters.is_some_and(|k| k < 2) {
            return Err(CorrectionError::FewClusters);
        }
        let both = sensitivity.variance + specificity.variance;
        let sum_variance = if clusters.is_none() {
            both
        } else {
            let positive = items.iter().filter(|item| item.label).count() as f64;
            let negative = items.len() as f64 - positive;
            let residual = |item: &Labelled| {
                let right = f64::from(u8::from(item.judged.verdict == item.label));
                let (mean, n) =
                    if item.label { (sensitivity.value, positive) } else { (specificity.value, negative) };
                ((right - mean) / n, item.judged.cluster)
            };
            cluster_variance(items.iter().map(residual)).max(both / 2.0)
        };
        Ok(Self { sensitivity, specificity, sum_variance })
    }

    /// Error rates that are known exactly.
    pub fn known(sensitivity: f64, specificity: f64) -> Self {
        let exact = |value| Share { value, variance: 0.0, clusters: None };
        Self { sensitivity: exact(sensitivity), specificity: exact(specificity), sum_variance: 0.0 }
    }

    /// Share of positive items that the judge calls met.
    pub fn sensitivity(&self) -> f64 {
        self.sensitivity.value
    }

    /// Share of negative items that the judge calls not met.
    pub fn specificity(&self) -> f64 {
        self.specificity.value
    }

    fn youden(&self) -> f64 {
        self.sensitivity.value + self.specificity.value - 1.0
    }

    /// By how much a corrected difference changes if the judge's errors in its first group are not those of the
    /// calibration set: [(1 − θ)/J, θ/J] for the true rate θ of the first group, per unit by which the specificity there is
    /// lower, and per unit by which the sensitivity is higher. Each moves the verdict rate p = (1 − s₀)(1 − θ) + s₁θ by
    /// its share of the items, which the correction divides by J.
    pub fn bias_if_unequal(&self, rate: f64) -> [f64; 2] {
        let theta = rate.clamp(0.0, 1.0);
        [(1.0 - theta) / self.youden(), theta / self.youden()]
    }

    /// The true rate of a verdict rate, in [0, 1].
    pub fn corrected_rate(&self, verdict_rate: f64) -> f64 {
        ((verdict_rate + self.specificity.value - 1.0) / self.youden()).clamp(0.0, 1.0)
    }

    fn clusters(&self) -> impl Iterator<Item = usize> {
        [self.sensitivity.clusters, self.specificity.clusters].into_iter().flatten()
    }

    /// The rate of items that are met, corrected.
    ///
    /// # Errors
    ///
    /// [`CorrectionError::Uninformative`] if the interval would have no ends,
    /// [`CorrectionError::FewClusters`] with fewer than two clusters, or without an item.
    pub fn rate(&self, items: &[Judged]) -> Result<Corrected, CorrectionError> {
        let pairs: Vec<_> = items.iter().map(|item| (item.verdict, item.cluster)).collect();
        let share = Share::of(&pairs).ok_or(CorrectionError::FewClusters)?;
        let t = quantile(self.clusters().chain(share.clusters)).ok_or(CorrectionError::FewClusters)?;
        let (square, j) = (t * t, self.youden());
        let (s1, s0) = (self.sensitivity.variance, self.specificity.variance);
        let above = share.value + self.specificity.value - 1.0;
        let interval = solve(
            j * j - square * (s1 + s0),
            -2.0 * above * j + 2.0 * square * s0,
            above * above - square * (share.variance + s0),
        );
        let interval = interval.filter(|_| j > 0.0).ok_or_else(|| self.uninformative())?;
        let clip = |value: f64| value.clamp(0.0, 1.0);
        Ok(Corrected {
            raw: proportion(&pairs).unwrap_or(Figure { value: share.value, interval: None }),
            corrected: Figure {
                value: clip(above / j),
                interval: Some(Interval { low: clip(interval.low), high: clip(interval.high) }),
            },
        })
    }

    /// The rate of `a` less that of `b`, corrected. Items of one task in both groups share its
    /// cluster, which makes the difference a paired one.
    ///
    /// # Errors
    ///
    /// As [`Calibration::rate`].
    pub fn difference(&self, a: &[Judged], b: &[Judged]) -> Result<Corrected, CorrectionError> {
        let share = |items: &[Judged]| {
            let pairs: Vec<_> = items.iter().map(|item| (item.verdict, item.cluster)).collect();
            Share::of(&pairs).ok_or(CorrectionError::FewClusters)
        };
        let (of_a, of_b) = (share(a)?, share(b)?);
        let common = clusters(a.iter().chain(b).map(|item| item.cluster));
        let variance = if common.is_none() {
            of_a.variance + of_b.variance
        } else {
            let signed = |items: &[Judged], mean: f64, sign: f64| {
                let n = items.len() as f64;
                let residual =
                    |item: &Judged| (sign * (f64::from(u8::from(item.verdict)) - mean) / n, item.cluster);
                items.iter().map(residual).collect::<Vec<_>>()
            };
            let all = [signed(a, of_a.value, 1.0), signed(b, of_b.value, -1.0)].concat();
            // Two discordant items more, so that equal verdicts do not give an interval of no width.
            let n = a.len().min(b.len()) as f64;
            cluster_variance(all.into_iter()).max(2.0 / (n + 2.0).powi(2))
        };
        let counted = self.clusters().chain(common);
        let t = quantile(counted).ok_or(CorrectionError::FewClusters)?;
        let (square, j) = (t * t, self.youden());
        let raw = of_a.value - of_b.value;
        let interval =
            solve(j * j - square * self.sum_variance, -2.0 * raw * j, raw * raw - square * variance);
        let interval = interval.filter(|_| j > 0.0).ok_or_else(|| self.uninformative())?;
        let clip = |value: f64| value.clamp(-1.0, 1.0);
        let plain = quantile(common.into_iter()).map(|t| {
            let half = t * variance.sqrt();
            Interval { low: clip(raw - half), high: clip(raw + half) }
        });
        Ok(Corrected {
            raw: Figure { value: raw, interval: plain },
            corrected: Figure {
                value: clip(raw / j),
                interval: Some(Interval { low: clip(interval.low), high: clip(interval.high) }),
            },
        })
    }

    /// A difference of mean scores, corrected. Scores are means of binary items, weighted or not, so that a score has
    /// the expectation 1 − s₀ + Jθ like a single item.
    ///
    /// `raw` is the difference as judged with its 95% interval over `units` tasks or clusters. The variance is read
    /// off the interval: V = (h/t)² for the half width h, with Student's t at units − 1 degrees of freedom.
    ///
    /// # Errors
    ///
    /// [`CorrectionError::FewClusters`] without an interval or with fewer than two units,
    /// [`CorrectionError::Uninformative`] as for [`Calibration::rate`].
    pub fn score_difference(&self, raw: Figure, units: usize) -> Result<Corrected, CorrectionError> {
        let interval = raw.interval.filter(|_| units > 1).ok_or(CorrectionError::FewClusters)?;
        let own = student_tail(units as f64 - 1.0, 0.025).ok_or(CorrectionError::FewClusters)?;
        let t = quantile(self.clusters().chain([units])).ok_or(CorrectionError::FewClusters)?;
        // An end beyond ±1 was cut off.
        let half = (raw.value - interval.low).max(interval.high - raw.value);
        let (square, j, variance) = (t * t, self.youden(), (half / own).powi(2));
        let solved = solve(
            j * j - square * self.sum_variance,
            -2.0 * raw.value * j,
            raw.value * raw.value - square * variance,
        );
        let solved = solved.filter(|_| j > 0.0).ok_or_else(|| self.uninformative())?;
        let clip = |value: f64| value.clamp(-1.0, 1.0);
        let corrected = Figure {
            value: clip(raw.value / j),
            interval: Some(Interval { low: clip(solved.low), high: clip(solved.high) }),
        };
        Ok(Corrected { raw, corrected })
    }

    fn uninformative(&self) -> CorrectionError {
        CorrectionError::Uninformative {
            sensitivity: self.sensitivity.value,
            specificity: self.specificity.value,
        }
    }
}

/// The difference of two rates that were corrected by separate calibration sets: the interval is
/// that of Zou & Donner (2008), from the distances of each rate to its ends.
pub fn separate_difference(a: Figure, b: Figure) -> Figure {
    let value = a.value - b.value;
    let interval = a.interval.zip(b.interval).map(|(of_a, of_b)| {
        let low = (a.value - of_a.low).hypot(of_b.high - b.value);
        let high = (of_a.high - a.value).hypot(b.value - of_b.low);
        Interval { low: (value - low).max(-1.0), high: (value + high).min(1.0) }
    });
    Figure { value, interval }
}

/// Where a·x² + b·x + c ≤ 0, if that is an interval.
fn solve(a: f64, b: f64, c: f64) -> Option<Interval> {
    let root = (b * b - 4.0 * a * c).max(0.0).sqrt();
    (a > 0.0).then(|| Interval { low: (-b - root) / (2.0 * a), high: (-b + root) / (2.0 * a) })
}

/// The p-value of equal sensitivity and equal specificity in all groups: a permutation test.
///
/// `groups` has the labelled items of each group. The statistic is the sum over groups and labels of
/// n·(s_g − s)²/(s(1 − s)). Groups change places within each cluster if clusters are in several
/// groups, else clusters (or items without one) are dealt to groups anew. `None` if no
/// permutation is another one.
pub fn equal_errors(groups: &[Vec<Labelled>], seed: u64) -> Option<f64> {
    // Blocks: the items of one group in one cluster stay together.
    let mut blocks: Vec<(usize, Option<usize>, Vec<Labelled>)> = Vec::new();
    for (group, items) in groups.iter().enumerate() {
        let mut by_cluster = BTreeMap::<usize, Vec<Labelled>>::new();
        for item in items {
            match item.judged.cluster {
                Some(cluster) => by_cluster.entry(cluster).or_default().push(*item),
                None => blocks.push((group, None, vec![*item])),
            }
        }
        blocks.extend(by_cluster.into_iter().map(|(cluster, items)| (group, Some(cluster), items)));
    }
    let mut members = BTreeMap::<Option<usize>, Vec<usize>>::new();
    for (at, (_, cluster, _)) in blocks.iter().enumerate() {
        members.entry(*cluster).or_default().push(at);
    }
    let crossed = members.iter().any(|(cluster, blocks)| cluster.is_some() && blocks.len() > 1);
    let sets: Vec<Vec<usize>> =
        if crossed { members.into_values().collect() } else { vec![(0..blocks.len()).collect()] };
    let mut places: Vec<usize> = blocks.iter().map(|(group, _, _)| *group).collect();
    if sets.iter().all(|set| set.iter().all(|at| places[*at] == places[set[0]])) {
        return None;
    }
    let heterogeneity = |places: &[usize]| {
        // Right and all, by label and group.
        let mut counts = vec![[(0.0, 0.0); 2]; groups.len()];
        for (place, (_, _, items)) in places.iter().zip(&blocks) {
            for item in items {
                let cell = &mut counts[*place][usize::from(item.label)];
                cell.0 += f64::from(u8::from(item.judged.verdict == item.label));
                cell.1 += 1.0;
            }
        }
        (0..2)
            .map(|label| {
                let right: f64 = counts.iter().map(|cells| cells[label].0).sum();
                let all: f64 = counts.iter().map(|cells| cells[label].1).sum();
                let s = right / all.max(1.0);
                let spread = counts.iter().map(|cells| cells[label]).filter(|(_, n)| *n > 0.0);
                let spread: f64 = spread.map(|(right, n)| n * (right / n - s).powi(2)).sum();
                if s > 0.0 && s < 1.0 { spread / (s * (1.0 - s)) } else { 0.0 }
            })
            .sum::<f64>()
    };
    let observed = heterogeneity(&places);
    let mut random = stream(seed, Purpose::JudgeErrors, 0);
    let mut extreme = 1_usize;
    for _ in 0..PERMUTATIONS {
        for set in &sets {
            for last in (1..set.len()).rev() {
                places.swap(set[last], set[index(&mut random, last + 1)]);
            }
        }
        extreme += usize::from(heterogeneity(&places) >= observed - 1e-9);
    }
    Some(extreme as f64 / (PERMUTATIONS + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::uniform;

    fn items(hits: usize, all: usize) -> Vec<Judged> {
        (0..all).map(|at| Judged { verdict: at < hits, cluster: None }).collect()
    }

    fn labelled(true_met: usize, positive: usize, false_unmet: usize, negative: usize) -> Vec<Labelled> {
        let of = |label: bool, right: usize, all: usize| {
            (0..all).map(move |at| Labelled {
                label,
                judged: Judged { verdict: (at < right) == label, cluster: None },
            })
        };
        of(true, true_met, positive).chain(of(false, false_unmet, negative)).collect()
    }

    #[test]
    fn rates_are_those_of_rogan_and_gladen() {
        // Sensitivity .9, specificity .7, verdict rate .6: (.6 + .7 - 1) / .6 = .5.
        let calibration = Calibration::new(&labelled(90, 100, 70, 100)).expect("calibrates");
        let found = calibration.rate(&items(120, 200)).expect("corrects");
        assert!((found.corrected.value - 0.5).abs() < 1e-12);
        assert!((found.raw.value - 0.6).abs() < 1e-12);
        let interval = found.corrected.interval.expect("has an interval");
        // By the formula of Lee et al. without its shift: sqrt(.24/200 + .25(.09/100 + .21/100))/.6 * 1.96 = .144.
        assert!((interval.width() / 2.0 - 0.144).abs() < 0.008, "{interval:?}");
        // Equal verdicts of the same items: no difference, but not for certain.
        let same: Vec<Judged> = (0..40).map(|at| Judged { verdict: at < 20, cluster: Some(at) }).collect();
        let ends =
            calibration.difference(&same, &same).expect("corrects").corrected.interval.expect("has ends");
        assert!(ends.low < -0.05 && ends.high > 0.05, "{ends:?}");
        // .6 - .4 over J = .6.
        let found = calibration.difference(&items(120, 200), &items(80, 200)).expect("corrects");
        assert!((found.corrected.value - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_perfect_judge_is_left_alone() {
        let calibration = Calibration::new(&labelled(50, 50, 50, 50)).expect("calibrates");
        let found = calibration.rate(&items(30, 100)).expect("corrects");
        assert!((found.corrected.value - 0.3).abs() < 1e-12);
        let (raw, corrected) =
            (found.raw.interval.expect("raw"), found.corrected.interval.expect("corrected"));
        assert!(corrected.width() > raw.width(), "the calibration set is finite");
    }

    #[test]
    fn uninformative_judges_are_refused() {
        let calibration = Calibration::new(&labelled(30, 50, 22, 50)).expect("calibrates");
        assert!(matches!(calibration.rate(&items(50, 100)), Err(CorrectionError::Uninformative { .. })));
        assert!(matches!(
            calibration.difference(&items(50, 100), &items(60, 100)),
            Err(CorrectionError::Uninformative { .. })
        ));
        assert_eq!(
            Calibration::new(&labelled(5, 5, 0, 0)).err(),
            Some(CorrectionError::NoLabels { label: false })
        );
    }

    #[test]
    fn one_item_a_cluster_is_no_cluster_but_for_the_quantile() {
        let hits =
            |cluster: bool| -> Vec<_> { (0..40).map(|at| (at % 4 == 0, cluster.then_some(at))).collect() };
        let (plain, own) = (proportion(&hits(false)).expect("plain"), proportion(&hits(true)).expect("own"));
        let (plain, own) = (plain.interval.expect("plain"), own.interval.expect("own"));
        // Wilson 1927 for 10 of 40: .1419 to .4019.
        assert!((plain.low - 0.1419).abs() < 5e-4 && (plain.high - 0.4019).abs() < 5e-4, "{plain:?}");
        assert!((own.width() / plain.width() - 1.0).abs() < 0.05);
        // Whole clusters: four items of each of ten tasks agree, so that ten are left.
        let whole: Vec<_> = (0..40).map(|at| (at / 4 % 4 == 0, Some(at / 4))).collect();
        assert!(proportion(&whole).expect("whole").interval.expect("whole").width() > 1.6 * plain.width());
    }

    #[test]
    fn kappa_equals_the_hand_computed_one() {
        // 20 both met, 15 both not, 5 and 10 not: .7 observed, .5 expected, as in Cohen's example.
        let cells = [((1, 1), 20), ((1, 0), 5), ((0, 1), 10), ((0, 0), 15)];
        let pairs: Vec<_> = cells.iter().flat_map(|(pair, n)| vec![(*pair, None); *n]).collect();
        let kappa = clustered_kappa(&pairs).expect("defined");
        assert!((kappa.value - 0.4).abs() < 1e-12);
        // The asymptotic standard error is .1280 (Fleiss, Cohen & Everitt 1969).
        let half = kappa.interval.expect("has one").width() / 2.0;
        assert!((half / 2.01 - 0.128).abs() < 0.006, "{half}");
    }

    #[test]
    fn alpha_of_two_raters_is_a_case_of_alpha_of_several() {
        let pairs: Vec<((usize, usize), Option<usize>)> =
            [(0, 0), (1, 1), (0, 1), (1, 1), (2, 2), (0, 2)].into_iter().map(|pair| (pair, None)).collect();
        let lists: Vec<Vec<usize>> = pairs.iter().map(|((a, b), _)| vec![*a, *b]).collect();
        let items: Vec<(&Vec<usize>, Option<usize>)> = lists.iter().map(|list| (list, None)).collect();
        assert_eq!(clustered_alpha_of_raters(&items), clustered_alpha(&pairs));
        // Three raters who all agree.
        let same = [vec![0, 0, 0], vec![1, 1, 1], vec![0, 0, 0]];
        let items: Vec<(&Vec<usize>, Option<usize>)> = same.iter().map(|list| (list, None)).collect();
        assert_eq!(clustered_alpha_of_raters(&items).map(|alpha| alpha.value), Some(1.0));
    }

    #[test]
    fn differences_of_scores_by_hand() {
        // J = 0.9 + 0.8 - 1 = 0.7: 0.35 as judged is 0.5, and the ends of an interval without doubt of J scale likewise.
        let raw = Figure { value: 0.35, interval: Some(Interval { low: 0.14, high: 0.56 }) };
        let found = Calibration::known(0.9, 0.8).score_difference(raw, 12).expect("corrected").corrected;
        let interval = found.interval.expect("has one");
        assert!((found.value - 0.5).abs() < 1e-12);
        assert!((interval.low - 0.2).abs() < 1e-9 && (interval.high - 0.8).abs() < 1e-9, "{interval:?}");
        // A perfect judge changes nothing.
        let same = Calibration::known(1.0, 1.0).score_difference(raw, 12).expect("corrected").corrected;
        assert!((same.value - 0.35).abs() < 1e-12);
        let ends = same.interval.expect("has one");
        assert!((ends.low - 0.14).abs() < 1e-9 && (ends.high - 0.56).abs() < 1e-9);
        // One that guesses is refused.
        assert!(Calibration::known(0.5, 0.5).score_difference(raw, 12).is_err());
        assert!(
            Calibration::known(0.9, 0.8).score_difference(Figure { value: 0.1, interval: None }, 12).is_err()
        );
    }

    #[test]
    fn unequal_errors_are_found_and_equal_ones_are_not() {
        let (mut low, mut found) = (0, 0);
        for seed in 0..100 {
            let mut random = stream(seed, Purpose::JudgeErrors, 1);
            let mut group = |sensitivity: f64| -> Vec<Labelled> {
                (0..120)
                    .map(|at| {
                        let label = at % 2 == 0;
                        let right = uniform(&mut random) < if label { sensitivity } else { 0.8 };
                        Labelled { label, judged: Judged { verdict: right == label, cluster: Some(at / 6) } }
                    })
                    .collect()
            };
            let equal = [group(0.8), group(0.8)];
            low += usize::from(equal_errors(&equal, seed).expect("crossed") < 0.05);
            let unequal = [group(0.9), group(0.6)];
            found += usize::from(equal_errors(&unequal, seed).expect("crossed") < 0.05);
        }
        assert!(low <= 12, "{low}");
        assert!(found >= 75, "{found}");
        assert_eq!(equal_errors(&[labelled(1, 2, 1, 2)], 1), None);
    }
}
