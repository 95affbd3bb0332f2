//! A count out of some, with its interval.

use assay_stats::{Interval, clopper_pearson};
use serde::Serialize;

use crate::sheet::Labels;

/// A count out of some, with the exact 95 % interval of Clopper & Pearson (1934), which takes them
/// as independent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// How many.
    pub count: usize,
    /// Out of how many.
    pub of: usize,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Rate {
    /// A count out of a total.
    pub fn new(count: usize, of: usize) -> Self {
        let Interval { low, high } = clopper_pearson(count as u64, of as u64, 0.95);
        Self { count, of, low, high }
    }

    /// The values that are true, out of all.
    pub fn counted(values: impl IntoIterator<Item = bool>) -> Self {
        let (mut count, mut of) = (0, 0);
        for value in values {
            count += usize::from(value);
            of += 1;
        }
        Self::new(count, of)
    }
}

/// How many items each rater gives each label; and after the raters of a label, as `all raters`, how many get it from all of
/// those that every rater has labeled.
pub fn count_labels(labels: &Labels) -> Vec<(String, String, Rate)> {
    let mut found = Vec::new();
    for (at, label) in labels.categories.iter().enumerate() {
        for (rater, name) in labels.raters.iter().enumerate() {
            let given = labels.items.iter().filter_map(|item| item[rater]);
            let count = given.clone().filter(|given| *given == at).count();
            found.push((name.clone(), label.clone(), Rate::new(count, given.count())));
        }
        let complete = labels.items.iter().filter(|item| item.iter().all(Option::is_some));
        let all = complete.clone().filter(|item| item.iter().all(|given| *given == Some(at))).count();
        found.push(("all raters".to_owned(), label.clone(), Rate::new(all, complete.count())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_carries_its_exact_interval() {
        // scipy.stats.binomtest(1, 66).proportion_ci(method="exact"), SciPy 1.17.1.
        let rate = Rate::new(1, 66);
        assert!(
            (rate.low - 0.000_383_529_585).abs() < 1e-9 && (rate.high - 0.081_552_321_09).abs() < 1e-9,
            "{rate:?}"
        );
        assert_eq!(Rate::counted([]).of, 0);
    }
}
