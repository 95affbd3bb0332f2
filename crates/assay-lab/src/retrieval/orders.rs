//! Whether another benchmark ranks the retrievers in the same order.

use assay_stats::Interval;
use serde::{Deserialize, Serialize};

use super::findings::Findings;
use super::pool::Pool;
use crate::ranks::{Figures, rank_agreement};

/// The compared measure.
const MEASURE: &str = "ndcg@10";

/// Of the intervals.
const LEVEL: f64 = 0.95;

/// Reports of this format are read too. Its pool `houses` is `repositories` now.
const PREVIOUS_SCHEMA: &str = "assay.search-bench/1";

fn is_previous_name(own: &Covariance, other: &Covariance) -> bool {
    own.pool == "repositories" && other.pool == "houses"
}

/// The retrievers of a pool with their mean NDCG@10, and the covariance of these means over gold
/// skills.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "fields are the keys of the document")]
pub(crate) struct Covariance {
    /// The pool.
    pub(crate) pool: String,
    /// The retrievers.
    pub(crate) retrievers: Vec<String>,
    /// Their means over queries.
    pub(crate) means: Vec<f64>,
    /// A row a retriever.
    pub(crate) covariance: Vec<Vec<f64>>,
}

/// Two orders of the same retrievers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Agreement {
    /// The other report.
    pub(crate) against: String,
    /// The measure that orders.
    pub(crate) measure: &'static str,
    /// The pool, in both.
    pub(crate) pool: String,
    /// The retrievers that both have.
    pub(crate) retrievers: Vec<Ordered>,
    /// Spearman's rank correlation.
    pub(crate) spearman: Correlation,
    /// Kendall's τ-b.
    pub(crate) kendall: Correlation,
}

/// One retriever in both benchmarks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Ordered {
    /// Its name.
    pub(crate) name: String,
    /// Its figure here.
    pub(crate) here: f64,
    /// Its figure in the other report.
    pub(crate) there: f64,
}

/// A correlation of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Correlation {
    /// From −1 to 1.
    pub(crate) value: f64,
    /// For other requests of the same kinds, and the same retrievers.
    pub(crate) ci95: Option<[f64; 2]>,
}

/// What of a report is compared with another.
#[derive(Deserialize)]
struct Report {
    schema: String,
    #[serde(default)]
    covariances: Vec<Covariance>,
}

/// Covariance of means over queries that come in clusters: the sum over clusters of the products of
/// what each cluster's queries differ from the mean, over the squared number of queries, times C/(C
/// − 1) (the linearised ratio estimator; Cochran 1977, §6.3).
pub(super) fn covariance(pool: &Pool<'_>, clusters: &[Vec<usize>], values: &[Vec<f64>]) -> Covariance {
    let count = clusters.iter().map(Vec::len).sum::<usize>().max(1) as f64;
    let mean = |own: &Vec<f64>| clusters.iter().flatten().map(|query| own[*query]).sum::<f64>() / count;
    let means: Vec<f64> = values.iter().map(mean).collect();
    let differ = |own: &Vec<usize>| -> Vec<f64> {
        let differ = |(values, mean): (&Vec<f64>, &f64)| own.iter().map(|query| values[*query] - mean).sum();
        values.iter().zip(&means).map(differ).collect()
    };
    let parts: Vec<Vec<f64>> = clusters.iter().map(differ).collect();
    let all = clusters.len() as f64;
    let scale = if all > 1.0 { all / (all - 1.0) / (count * count) } else { 0.0 };
    let cell = |one: usize, other: usize| scale * parts.iter().map(|own| own[one] * own[other]).sum::<f64>();
    let row = |one: usize| (0..means.len()).map(|other| cell(one, other)).collect();
    Covariance {
        pool: pool.name.to_owned(),
        retrievers: pool.runs.iter().map(|run| run.retriever.clone()).collect(),
        covariance: (0..means.len()).map(row).collect(),
        means,
    }
}

/// Why another report cannot be compared with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum AgreementError {
    /// It is not JSON, or lacks a field.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It is of another format.
    #[error("unsupported schema {found:?}, expected {due:?}")]
    Schema {
        /// Its schema.
        found: String,
        /// The schema of this benchmark.
        due: &'static str,
    },
    /// The two have no pool in common.
    #[error("no `covariances` for any pool of this benchmark")]
    NoPool,
    /// Its figures do not belong together.
    #[error("the numbers of means, covariances and retrievers differ")]
    Figures,
    /// There is nothing to compare.
    #[error("fewer than two common retrievers with different figures")]
    TooFew,
}

/// Compares the order of retrievers with that of another report, in the first pool that both have.
pub(crate) fn agreement(found: &Findings, name: &str, other: &str) -> Result<Agreement, AgreementError> {
    let other: Report = serde_json::from_str(other)?;
    if other.schema != found.schema && other.schema != PREVIOUS_SCHEMA {
        return Err(AgreementError::Schema { found: other.schema, due: found.schema });
    }
    let pair = found.covariances.iter().find_map(|own| {
        let is_same = |other: &&Covariance| other.pool == own.pool || is_previous_name(own, other);
        let theirs = other.covariances.iter().find(is_same)?;
        Some((own, theirs))
    });
    let (own, theirs) = pair.ok_or(AgreementError::NoPool)?;
    let place = |name: &String| theirs.retrievers.iter().position(|other| other == name);
    let both: Vec<(usize, usize)> =
        own.retrievers.iter().enumerate().filter_map(|(at, name)| Some((at, place(name)?))).collect();
    let (mine, others): (Vec<usize>, Vec<usize>) = both.iter().copied().unzip();
    let (mine, others) = figures(own, &mine).zip(figures(theirs, &others)).ok_or(AgreementError::Figures)?;
    let agreement = rank_agreement(&mine, &others, LEVEL, found.seed).ok_or(AgreementError::TooFew)?;
    let ordered = |((at, _), (here, there)): (&(usize, usize), (&f64, &f64))| Ordered {
        name: own.retrievers[*at].clone(),
        here: *here,
        there: *there,
    };
    let ci95 = |interval: Option<Interval>| interval.map(|own| [own.low, own.high]);
    Ok(Agreement {
        against: name.to_owned(),
        measure: MEASURE,
        pool: own.pool.clone(),
        retrievers: both.iter().zip(mine.means.iter().zip(&others.means)).map(ordered).collect(),
        spearman: Correlation { value: agreement.spearman, ci95: ci95(agreement.spearman_interval) },
        kendall: Correlation { value: agreement.kendall, ci95: ci95(agreement.kendall_interval) },
    })
}

/// The figures of some retrievers; `None` if the report is inconsistent.
fn figures(own: &Covariance, places: &[usize]) -> Option<Figures> {
    let means = places.iter().map(|at| own.means.get(*at).copied()).collect::<Option<_>>()?;
    let row = |at: &usize| -> Option<Vec<f64>> {
        let row = own.covariance.get(*at)?;
        places.iter().map(|at| row.get(*at).copied()).collect()
    };
    Some(Figures { means, covariance: places.iter().map(row).collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::super::{Query, Run, findings};
    use super::*;

    /// Reports of the previous format called the pool of gold repositories `houses`.
    #[test]
    fn reports_of_the_previous_format_are_compared() {
        let query = |number: usize| Query {
            id: number.to_string(),
            gold: [format!("s{number}")].into(),
            ..Query::default()
        };
        let queries: Vec<Query> = (0..4).map(query).collect();
        let run = |name: &str, found: usize| Run {
            retriever: name.to_owned(),
            options: serde_json::Value::Null,
            rankings: (0..4)
                .map(|number| if number < found { vec![(format!("s{number}"), 1.0)] } else { vec![] })
                .collect(),
            ceilings: vec![1.0; 4],
            negatives: Vec::new(),
            cost: None,
        };
        let runs = [run("a", 1), run("b", 3)];
        let pool =
            Pool { name: "repositories", documents: 4, queries: &queries, negatives: &[], runs: &runs };
        let found = findings(&[pool], 1);
        let previous = r#"{"schema":"assay.search-bench/1","covariances":[{"pool":"houses","retrievers":["a","b"],
            "means":[0.2,0.4],"covariance":[[0.01,0.0],[0.0,0.01]]}]}"#;
        let same = agreement(&found, "previous.json", previous).unwrap();
        assert_eq!((same.pool.as_str(), same.retrievers.len()), ("repositories", 2));
        assert!((same.spearman.value - 1.0).abs() < 1e-12, "{same:?}");
        let other = previous.replace("bench/1", "bench/0");
        assert!(matches!(agreement(&found, "o", &other), Err(AgreementError::Schema { .. })));
    }
}
