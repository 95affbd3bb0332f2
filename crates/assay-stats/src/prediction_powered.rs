//! Rates, and differences of rates, from the verdicts on all items and labels of some of them.
//!
//! Prediction-powered inference (Angelopoulos et al. 2023, *Science* 382, 669–674) with the tuning of PPI++ (Angelopoulos,
//! Duchi & Zrnic 2023, arXiv 2311.01453): with verdicts f and labels y, the mean of a group is estimated by
//!
//! > λ·mean(f) + mean over labelled items of (y − λf)
//!
//! which is unbiased whatever errors the judge makes, in this group or in others, as long as chance decided which items
//! were labelled. λ = Cov(y, f)/((1 + n/N)·Var f) makes it precise: n labels of N items, moments within groups. It is
//! pooled over the groups and cross-fitted: the λ of a task's items comes from the labels of all other tasks.
//!
//! The estimate is a sum over tasks, so its variance is k/(k − 1)·Σψ² with ψ the contribution of a task: that of its
//! verdicts and that of its labels together, because both share the task's effect. It is at least the variance that one
//! error more among the labels of each group would have, 1/(n + 2)², so that labels which all agree with the
//! judge do not make it certain. Quantiles are Student's over tasks, or normal ones for items without a task.

use std::collections::{BTreeMap, BTreeSet};

use crate::interval::Interval;
pub use crate::judge::FEWEST_LABELS;
use crate::judge::{CorrectionError, Figure, quantile};

/// A judged item, with a label or without.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoweredItem {
    /// Its group, from 0.
    pub group: usize,
    /// Whether it is met, according to the judge.
    pub verdict: bool,
    /// Its weight in the mean of its group, above 0; only ratios matter.
    pub share: f64,
    /// Its task, if items of a task are not independent.
    pub cluster: Option<usize>,
    /// Its label.
    pub label: Option<SampledLabel>,
}

/// The label of an item that was drawn at random.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledLabel {
    /// Whether the item is met, according to the label.
    pub met: bool,
    /// 1/the probability with which the item was drawn; only ratios within a group matter.
    pub weight: f64,
}

/// Judged items with labels of some, ready to estimate rates of groups and their differences.
#[derive(Debug, Clone)]
pub struct PredictionPowered {
    items: Vec<PoweredItem>,
    /// The unit of each item: its cluster, or itself.
    units: Vec<usize>,
    is_clustered: bool,
    /// The λ of the items of a unit, for units with labels.
    lambdas: BTreeMap<usize, f64>,
    groups: Vec<GroupMeans>,
}

/// Sums of a group.
#[derive(Debug, Clone, Copy, Default)]
struct GroupMeans {
    /// Sum of the shares of all items, and of those that are met according to the judge.
    shares: f64,
    met: f64,
    labels: usize,
    /// Sum of the weights of labels, and of their squares.
    weights: f64,
    squares: f64,
    /// Weighted sums of λ, and of y − λf, over labels.
    lambda: f64,
    rectifier: f64,
}

impl GroupMeans {
    fn rate(&self) -> f64 {
        self.met / self.shares
    }
}

/// Weighted sums over labels of 1, y, f and yf. f² is f.
#[derive(Debug, Clone, Copy, Default)]
struct Products {
    one: f64,
    label: f64,
    verdict: f64,
    both: f64,
}

impl Products {
    fn add(&mut self, weight: f64, label: f64, verdict: f64) {
        self.one += weight;
        self.label += weight * label;
        self.verdict += weight * verdict;
        self.both += weight * label * verdict;
    }

    fn less(self, other: Self) -> Self {
        Self {
            one: self.one - other.one,
            label: self.label - other.label,
            verdict: self.verdict - other.verdict,
            both: self.both - other.both,
        }
    }

    /// Sums of products and of squares around the mean, divided by the weights.
    fn moments(self) -> Option<(f64, f64)> {
        (self.one > 0.0).then(|| {
            let mean = self.verdict / self.one;
            (self.both - mean * self.label, self.verdict * (1.0 - mean))
        })
    }
}

fn number(value: bool) -> f64 {
    f64::from(u8::from(value))
}

/// The weight of an item's label: what the item counts, for itself and for those that were not drawn.
fn label_weight(item: &PoweredItem) -> Option<f64> {
    item.label.map(|label| label.weight * item.share)
}

impl PredictionPowered {
    /// Reads items of `groups` groups. Items whose share is not above 0 are left out, and so are labels with such a weight.
    pub fn new(items: &[PoweredItem], groups: usize) -> Self {
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        let mut kept: Vec<PoweredItem> =
            items.iter().copied().filter(|item| is_positive(item.share) && item.group < groups).collect();
        for item in &mut kept {
            item.label = item.label.filter(|label| is_positive(label.weight));
        }
        let is_clustered = kept.iter().all(|item| item.cluster.is_some());
        let unit = |(at, item): (usize, &PoweredItem)| item.cluster.filter(|_| is_clustered).unwrap_or(at);
        let units: Vec<usize> = kept.iter().enumerate().map(unit).collect();
        let lambdas = cross_fitted(&kept, &units, groups);
        let mut means = vec![GroupMeans::default(); groups];
        for (item, unit) in kept.iter().zip(&units) {
            let group = &mut means[item.group];
            group.shares += item.share;
            group.met += item.share * number(item.verdict);
            if let Some((label, weight)) = item.label.zip(label_weight(item)) {
                let lambda = lambdas.get(unit).copied().unwrap_or(1.0);
                group.labels += 1;
                group.weights += weight;
                group.squares += weight * weight;
                group.lambda += weight * lambda;
                group.rectifier += weight * (number(label.met) - lambda * number(item.verdict));
            }
        }
        Self { items: kept, units, is_clustered, lambdas, groups: means }
    }

    /// Labels of a group.
    pub fn labels(&self, group: usize) -> usize {
        self.groups.get(group).map_or(0, |group| group.labels)
    }

    /// The mean λ of the labels of these groups, in [0, 1]: how far the verdicts are relied upon. `None` without a label.
    pub fn lambda(&self, groups: &[usize]) -> Option<f64> {
        let of = groups.iter().filter_map(|group| self.groups.get(*group)).filter(|group| group.labels > 0);
        let (sum, labels) = of.fold((0.0, 0.0), |(sum, labels), group| {
            let n = group.labels as f64;
            (sum + n * group.lambda / group.weights, labels + n)
        });
        (labels > 0.0).then(|| sum / labels)
    }

    /// The rate of a group with its 95% interval.
    ///
    /// # Errors
    /// [`CorrectionError::FewLabels`] under [`FEWEST_LABELS`] labels, [`CorrectionError::FewClusters`] with one
    /// cluster.
    pub fn rate(&self, group: usize) -> Result<Figure, CorrectionError> {
        self.check(&[group])?;
        self.contrast(&[(group, 1.0)], (0.0, 1.0))
    }

    /// The rate of group `a` less that of group `b`, with its 95% interval.
    ///
    /// # Errors
    /// As for [`PredictionPowered::rate`].
    pub fn difference(&self, a: usize, b: usize) -> Result<Figure, CorrectionError> {
        self.check(&[a, b])?;
        self.contrast(&[(a, 1.0), (b, -1.0)], (-1.0, 1.0))
    }

    fn check(&self, groups: &[usize]) -> Result<(), CorrectionError> {
        match groups.iter().map(|group| self.labels(*group)).min() {
            Some(labels) if labels < FEWEST_LABELS => Err(CorrectionError::FewLabels { labels }),
            _ => Ok(()),
        }
    }

    /// A sum of rates with coefficients.
    fn contrast(&self, terms: &[(usize, f64)], range: (f64, f64)) -> Result<Figure, CorrectionError> {
        let (mut value, mut least) = (0.0, 0.0);
        for (at, coefficient) in terms {
            let group = self.groups.get(*at).filter(|group| group.labels > 0);
            let group = group.ok_or(CorrectionError::FewLabels { labels: 0 })?;
            value += coefficient * (group.lambda * group.rate() + group.rectifier) / group.weights;
            let effective = group.weights * group.weights / group.squares;
            least += (coefficient / (effective + 2.0)).powi(2);
        }
        let mut sums = BTreeMap::<usize, f64>::new();
        let mut labelled = BTreeSet::new();
        for (item, unit) in self.items.iter().zip(&self.units) {
            let Some((_, coefficient)) = terms.iter().find(|(group, _)| *group == item.group) else {
                continue;
            };
            let group = &self.groups[item.group];
            let verdict = number(item.verdict);
            let mut part =
                group.lambda / group.weights * item.share * (verdict - group.rate()) / group.shares;
            if let Some((label, weight)) = item.label.zip(label_weight(item)) {
                let lambda = self.lambdas.get(unit).copied().unwrap_or(1.0);
                let centre = group.rectifier / group.weights;
                part += weight * (number(label.met) - lambda * verdict - centre) / group.weights;
                labelled.insert(*unit);
            }
            *sums.entry(*unit).or_default() += coefficient * part;
        }
        let k = sums.len() as f64;
        if sums.len() < 2 || (self.is_clustered && labelled.len() < 2) {
            return Err(CorrectionError::FewClusters);
        }
        let variance = (k / (k - 1.0) * sums.values().map(|sum| sum * sum).sum::<f64>()).max(least);
        let counted = self.is_clustered.then_some(labelled.len());
        let half = quantile(counted.into_iter()).ok_or(CorrectionError::FewClusters)? * variance.sqrt();
        let clip = |value: f64| value.clamp(range.0, range.1);
        let interval = Interval { low: clip(value - half), high: clip(value + half) };
        Ok(Figure { value: clip(value), interval: Some(interval) })
    }
}

/// The least share of a group's labels that a verdict counts for in [`allocate_labels`]: few verdicts of one kind would
/// otherwise leave the errors among them unknown.
const LEAST_SHARE: f64 = 0.2;

/// How many of `total` labels items of each group and verdict get, of which there are `sizes`: as many in each group,
/// and there in proportion to a verdict's share of the group, which counts as a fifth if it is smaller. Never more than there
/// are; what is left over goes to the others.
pub fn allocate_labels(total: usize, sizes: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let groups: Vec<(usize, f64)> = sizes.iter().map(|of| (of.iter().sum(), 1.0)).collect();
    let shares = |of: &[usize], all: usize| -> Vec<(usize, f64)> {
        of.iter().map(|n| (*n, (*n as f64 / all as f64).max(LEAST_SHARE))).collect()
    };
    let own = allocate(total, &groups).into_iter().zip(sizes.iter().zip(&groups));
    own.map(|(own, (of, (all, _)))| allocate(own, &shares(of, *all))).collect()
}

/// `total` as whole parts of at most these sizes and in proportion to these weights, by the method of Webster: each next
/// one goes to the part with the least (given + ½)/weight.
fn allocate(total: usize, parts: &[(usize, f64)]) -> Vec<usize> {
    let mut given = vec![0; parts.len()];
    for _ in 0..total {
        let open = (0..parts.len()).filter(|part| given[*part] < parts[*part].0);
        let rank = |part: &usize| (given[*part] as f64 + 0.5) / parts[*part].1;
        let Some(next) = open.min_by(|one, other| rank(one).total_cmp(&rank(other))) else { break };
        given[next] += 1;
    }
    given
}

/// For each unit with a label, the λ of the labels of all other units; 1 where these do not vary. In [0, 1], as in PPI++.
fn cross_fitted(items: &[PoweredItem], units: &[usize], groups: usize) -> BTreeMap<usize, f64> {
    // Weights with a mean of 1 within each group.
    let mut scale = vec![(0.0, 0.0); groups];
    for item in items {
        if let Some(weight) = label_weight(item) {
            scale[item.group].0 += 1.0;
            scale[item.group].1 += weight;
        }
    }
    let labels: f64 = scale.iter().map(|(count, _)| count).sum();
    let shrink = 1.0 + labels / items.len().max(1) as f64;
    let mut all = vec![Products::default(); groups];
    let mut own = BTreeMap::<usize, Vec<Products>>::new();
    for (item, unit) in items.iter().zip(units) {
        let Some((label, weight)) = item.label.zip(label_weight(item)) else { continue };
        let (count, sum) = scale[item.group];
        let weight = weight * count / sum;
        let (label, verdict) = (number(label.met), number(item.verdict));
        all[item.group].add(weight, label, verdict);
        own.entry(*unit).or_insert_with(|| vec![Products::default(); groups])[item.group]
            .add(weight, label, verdict);
    }
    let of_others = |own: &Vec<Products>| {
        let (mut covariance, mut variance) = (0.0, 0.0);
        for (all, own) in all.iter().zip(own) {
            if let Some((both, square)) = all.less(*own).moments() {
                covariance += both;
                variance += square;
            }
        }
        if variance > 1e-9 { (covariance / variance / shrink).clamp(0.0, 1.0) } else { 1.0 }
    };
    own.iter().map(|(unit, own)| (*unit, of_others(own))).collect()
}

#[cfg(test)]
#[path = "prediction_powered/tests.rs"]
mod tests;
