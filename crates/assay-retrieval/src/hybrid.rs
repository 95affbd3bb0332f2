//! `hybrid`: two rankings become one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::retriever::{Hit, Retriever, RetrieverError, ranked};

/// Hits of each ranking that are fused.
const FUSED: usize = 1_000;

/// How two rankings become one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fusion {
    /// Reciprocal ranks, Σ 1/(k + rank) (Cormack, Clarke & Büttcher 2009, where k is 60).
    Ranks {
        /// The more, the less the first places count.
        k: f32,
    },
    /// A convex sum of scores, each ranking's rescaled to 0 to 1 over its hits (Bruch, Gai & Ingber
    /// 2023, §4).
    Scores {
        /// Of the vectors' scores, from 0 to 1; the words' have the rest.
        weight: f32,
    },
}

/// Ranks by words and by vectors.
pub struct Hybrid {
    name: String,
    lexical: Box<dyn Retriever>,
    dense: Box<dyn Retriever>,
    fusion: Fusion,
}

impl Hybrid {
    /// Of two retrievers over the same documents.
    pub fn new(name: &str, lexical: Box<dyn Retriever>, dense: Box<dyn Retriever>, fusion: Fusion) -> Self {
        Self { name: name.to_owned(), lexical, dense, fusion }
    }
}

/// A ranking's scores from 0, the last hit's, to 1, the first's.
fn rescaled(hits: &[Hit]) -> impl Iterator<Item = Hit> {
    let (high, low) = (hits.first().map_or(0.0, |hit| hit.1), hits.last().map_or(0.0, |hit| hit.1));
    hits.iter()
        .map(move |(number, score)| (*number, if high > low { (score - low) / (high - low) } else { 1.0 }))
}

fn fused(fusion: Fusion, lexical: &[Hit], dense: &[Hit]) -> BTreeMap<u32, f32> {
    let mut sums: BTreeMap<u32, f32> = BTreeMap::new();
    for (hits, is_dense) in [(lexical, false), (dense, true)] {
        match fusion {
            Fusion::Ranks { k } => {
                let mut rank = k;
                for (number, _) in hits {
                    rank += 1.0;
                    *sums.entry(*number).or_default() += 1.0 / rank;
                }
            }
            Fusion::Scores { weight } => {
                let weight = if is_dense { weight } else { 1.0 - weight };
                for (number, score) in rescaled(hits) {
                    *sums.entry(number).or_default() += weight * score;
                }
            }
        }
    }
    sums
}

impl Retriever for Hybrid {
    fn name(&self) -> &str {
        &self.name
    }

    fn options(&self) -> Value {
        let fusion = match self.fusion {
            Fusion::Ranks { k } => json!({ "method": "reciprocal ranks", "k": k }),
            Fusion::Scores { weight } => json!({ "method": "scores, min-max", "weight": weight }),
        };
        json!({
            "method": "fusion", "fusion": fusion, "hits": FUSED, "lexical": self.lexical.options(),
            "dense": self.dense.options(),
        })
    }

    fn search(&self, query: &str, most: usize) -> Result<Vec<Hit>, RetrieverError> {
        let lexical = self.lexical.search(query, FUSED)?;
        let dense = self.dense.search(query, FUSED)?;
        Ok(ranked(fused(self.fusion, &lexical, &dense).into_iter(), most))
    }

    fn ceiling(&self, _: &str) -> f32 {
        match self.fusion {
            Fusion::Ranks { k } => 2.0 / (k + 1.0),
            Fusion::Scores { .. } => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a fixed ranking.
    struct FixedRanking(Vec<Hit>);

    impl Retriever for FixedRanking {
        fn name(&self) -> &'static str {
            "fixed"
        }

        fn options(&self) -> Value {
            Value::Null
        }

        fn search(&self, query: &str, most: usize) -> Result<Vec<Hit>, RetrieverError> {
            if query == "broken" {
                return Err(RetrieverError::Unusable { what: "broken".to_owned() });
            }
            Ok(self.0.iter().copied().take(most).collect())
        }

        fn ceiling(&self, _: &str) -> f32 {
            1.0
        }
    }

    fn hybrid(fusion: Fusion) -> Hybrid {
        let lexical = FixedRanking(vec![(4, 9.0), (1, 6.0), (7, 3.0)]);
        let dense = FixedRanking(vec![(1, 0.8), (2, 0.6), (4, 0.4)]);
        Hybrid::new("hybrid", Box::new(lexical), Box::new(dense), fusion)
    }

    #[test]
    fn fused_rankings_match_hand_computation() {
        let check = |fusion: Fusion, expected: &[(u32, f32)]| {
            let hits = hybrid(fusion).search("x", 10).unwrap();
            let is_close = hits.len() == expected.len()
                && hits
                    .iter()
                    .zip(expected)
                    .all(|(one, other)| one.0 == other.0 && (one.1 - other.1).abs() < 1e-6);
            assert!(is_close, "{fusion:?}: {hits:?} is not {expected:?}");
            assert_eq!(hybrid(fusion).search("x", 2).unwrap(), hits[..2]);
            assert!(hits[0].1 <= hybrid(fusion).ceiling("x"));
        };
        let (first, second, third) = (1.0 / 61.0, 1.0 / 62.0, 1.0 / 63.0);
        let ranks = Fusion::Ranks { k: 60.0 };
        check(ranks, &[(1, first + second), (4, first + third), (2, second), (7, third)]);
        // Documents that are last in both have the score 0 and are not hits.
        check(Fusion::Scores { weight: 0.25 }, &[(4, 0.75), (1, 0.375 + 0.25), (2, 0.125)]);
        check(Fusion::Scores { weight: 1.0 }, &[(1, 1.0), (2, 0.5)]);
        let equal = Hybrid::new(
            "x",
            Box::new(FixedRanking(vec![(9, 2.0), (3, 2.0)])),
            Box::new(FixedRanking(Vec::new())),
            ranks,
        );
        assert_eq!(equal.search("x", 5).unwrap().iter().map(|hit| hit.0).collect::<Vec<_>>(), [9, 3]);
        assert!(hybrid(ranks).search("broken", 5).is_err());
    }
}
