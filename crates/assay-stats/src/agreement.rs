//! Agreement of raters who put items into categories.

use crate::interval::Interval;
use crate::quantile::sample_quantile;
use crate::random::{Purpose, index, stream};

/// A measure, and its 95% percentile bootstrap interval over items.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measure {
    /// `None` if it is undefined: too few items, or only one category, so that no disagreement is
    /// possible.
    pub value: Option<f64>,
    /// `None` too if it is undefined for half of the resamples.
    pub interval: Option<Interval>,
}

/// Two raters on the items that both have rated.
#[derive(Debug, Clone, PartialEq)]
pub struct RaterPair {
    /// The two, by their places.
    pub raters: (usize, usize),
    /// How many items.
    pub items: usize,
    /// The share of items on which they agree.
    pub agreement: Measure,
    /// Cohen's kappa (Cohen 1960): (pₒ − pₑ) / (1 − pₑ), with pₑ from each rater's own shares.
    pub kappa: Measure,
}

/// How far raters agree.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// Items that at least two have rated.
    pub items: usize,
    /// Each two raters.
    pub pairs: Vec<RaterPair>,
    /// Krippendorff's alpha for nominal data (Krippendorff 2011, "Computing Krippendorff's
    /// alpha-reliability", section C): 1 − Dₒ/Dₑ over the coincidences of all raters. Missing
    /// ratings are allowed for.
    pub alpha: Measure,
}

/// Agreement of raters. Each item has an entry per rater: its category, or `None` if that rater has
/// not rated it. Items may have fewer entries than there are raters.
///
/// Intervals treat items as a sample: `resamples` times as many are drawn with replacement.
pub fn agreement(items: &[Vec<Option<usize>>], resamples: usize, seed: u64) -> Agreement {
    let raters = items.iter().map(Vec::len).max().unwrap_or(0);
    let mut pairs = Vec::new();
    for a in 0..raters {
        for b in a + 1..raters {
            let both = |item: &Vec<Option<usize>>| Some(((*item.get(a)?)?, (*item.get(b)?)?));
            let rated: Vec<(usize, usize)> = items.iter().filter_map(both).collect();
            let stream = (pairs.len() as u64 + 1, seed);
            pairs.push(RaterPair {
                raters: (a, b),
                items: rated.len(),
                agreement: measure(&rated, percent, resamples, (stream.0 * 2, seed)),
                kappa: measure(&rated, kappa, resamples, (stream.0 * 2 + 1, seed)),
            });
        }
    }
    let rated: Vec<Vec<usize>> = items
        .iter()
        .map(|item| item.iter().flatten().copied().collect::<Vec<usize>>())
        .filter(|item| item.len() >= 2)
        .collect();
    Agreement { items: rated.len(), pairs, alpha: measure(&rated, alpha, resamples, (0, seed)) }
}

/// A statistic of items, and its interval.
fn measure<T>(
    items: &[T],
    statistic: impl Fn(&[&T]) -> Option<f64>,
    resamples: usize,
    (number, seed): (u64, u64),
) -> Measure {
    let all: Vec<&T> = items.iter().collect();
    let Some(value) = statistic(&all) else { return Measure::default() };
    let mut random = stream(seed, Purpose::Agreement, number);
    let mut drawn: Vec<&T> = Vec::with_capacity(items.len());
    let mut values = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        drawn.clear();
        drawn.extend((0..items.len()).map(|_| &items[index(&mut random, items.len())]));
        values.extend(statistic(&drawn));
    }
    values.sort_by(f64::total_cmp);
    let interval = (2 * values.len() >= resamples.max(1)).then_some(());
    let interval = interval.and_then(|()| {
        Some(Interval { low: sample_quantile(&values, 0.025)?, high: sample_quantile(&values, 0.975)? })
    });
    Measure { value: Some(value), interval }
}

fn percent(items: &[&(usize, usize)]) -> Option<f64> {
    let agreed = items.iter().filter(|(a, b)| a == b).count();
    (!items.is_empty()).then(|| agreed as f64 / items.len() as f64)
}

pub(crate) fn kappa(items: &[&(usize, usize)]) -> Option<f64> {
    let observed = percent(items)?;
    let mut counts = std::collections::BTreeMap::<usize, (usize, usize)>::new();
    for (a, b) in items {
        counts.entry(*a).or_default().0 += 1;
        counts.entry(*b).or_default().1 += 1;
    }
    let products: usize = counts.values().map(|(a, b)| a * b).sum();
    let all = items.len() * items.len();
    (products < all).then(|| {
        let expected = products as f64 / all as f64;
        (observed - expected) / (1.0 - expected)
    })
}

pub(crate) fn alpha(items: &[&Vec<usize>]) -> Option<f64> {
    let mut totals = std::collections::BTreeMap::<usize, usize>::new();
    let mut disagreed = 0.0;
    for item in items {
        let mut counts = std::collections::BTreeMap::<usize, usize>::new();
        for category in *item {
            *counts.entry(*category).or_default() += 1;
            *totals.entry(*category).or_default() += 1;
        }
        // Ordered pairs of unequal ratings, each weighing 1 / (m − 1).
        let m = item.len();
        let equal: usize = counts.values().map(|n| n * (n - 1)).sum();
        disagreed += (m * (m - 1) - equal) as f64 / (m - 1) as f64;
    }
    let n: usize = totals.values().sum();
    let equal: usize = totals.values().map(|count| count * (count - 1)).sum();
    let unequal = (n * n.saturating_sub(1)).checked_sub(equal).filter(|unequal| *unequal > 0)?;
    // Dₒ/Dₑ = (disagreed / n) / (unequal / (n (n − 1))).
    Some(1.0 - disagreed * (n - 1) as f64 / unequal as f64)
}
