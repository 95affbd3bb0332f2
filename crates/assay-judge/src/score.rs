//! Scores from the verdicts on a rubric's items.
//!
//! An item scores 0 or 1, or the place of its number on its scale. A group scores the mean of its items,
//! weighted by their points (PaperBench, arXiv 2504.01848, section 2.3). An item whose prerequisites are not met
//! scores 0 (DevAI's dependent requirements, arXiv 2410.10934, section 3). An item that cannot be told counts
//! by the rule of the rubric.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::rubric::{Aggregation, Item, Kind, Rubric, Unverifiable};

/// What was found about an item.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is met.
    Met,
    /// It is not met.
    NotMet,
    /// The material does not tell.
    CannotTell,
    /// The number that a scaled item got.
    Points(f64),
}

/// The scores of a rubric, each in [0, 1].
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Scores {
    /// Over all sets, weighted. `None` if every item was left out.
    pub overall: Option<f64>,
    /// By set, in order. `None` if every item of the set was left out.
    pub sets: Vec<(String, Option<f64>)>,
    /// By item, groups included. Items that were left out are absent.
    pub items: BTreeMap<String, f64>,
}

/// A verdict that does not fit its rubric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScoreError {
    /// An item has no verdict.
    #[error("item {0:?} has no verdict")]
    Missing(String),
    /// A number for a binary item, or met for a scaled one.
    #[error("item {0:?}: the verdict does not fit its kind")]
    Kind(String),
}

impl Rubric {
    /// The scores from the verdicts on [`Rubric::leaves`], by id. Others are ignored.
    ///
    /// # Errors
    /// A leaf has no verdict, or one of the wrong kind.
    pub fn scores(&self, verdicts: &BTreeMap<String, Verdict>) -> Result<Scores, ScoreError> {
        let mut own = BTreeMap::new();
        for leaf in self.leaves() {
            let verdict = verdicts.get(&leaf.id).ok_or_else(|| ScoreError::Missing(leaf.id.clone()))?;
            own.insert(leaf.id.as_str(), leaf_score(leaf, *verdict, self.rule(leaf))?);
        }
        let mut scoring = Scoring { rubric: self, own, unmet: BTreeMap::new(), items: BTreeMap::new() };
        let mut sets = Vec::new();
        let (mut sum, mut total) = (0.0, 0.0);
        for set in &self.sets {
            let scores: Vec<(f64, Option<f64>)> =
                set.items.iter().map(|item| (item.points, scoring.score(item, false))).collect();
            let score = aggregate(set.aggregation, &scores);
            if let Some(score) = score {
                let weight = set.weight.unwrap_or_else(|| set.items.iter().map(|item| item.points).sum());
                sum += weight * score;
                total += weight;
            }
            sets.push((set.name.clone(), score));
        }
        let overall = (total > 0.0).then(|| sum / total);
        Ok(Scores { overall, sets, items: scoring.items })
    }
}

/// The score of a leaf without regard to prerequisites. `None`: it is left out.
fn leaf_score(leaf: &Item, verdict: Verdict, rule: Unverifiable) -> Result<Option<f64>, ScoreError> {
    let is_met = match (verdict, &leaf.kind) {
        (Verdict::CannotTell, _) => {
            return Ok(match rule {
                Unverifiable::NotMet => Some(0.0),
                Unverifiable::Met => Some(1.0),
                Unverifiable::LeftOut => None,
            });
        }
        (Verdict::Met, Kind::Binary) => 1.0,
        (Verdict::NotMet, Kind::Binary) => 0.0,
        (Verdict::Points(points), Kind::Scaled { lowest, highest, .. }) if points.is_finite() => {
            ((points - lowest) / (highest - lowest)).clamp(0.0, 1.0)
        }
        _ => return Err(ScoreError::Kind(leaf.id.clone())),
    };
    Ok(Some(if leaf.negated { 1.0 - is_met } else { is_met }))
}

struct Scoring<'a> {
    rubric: &'a Rubric,
    /// The scores of leaves without regard to prerequisites.
    own: BTreeMap<&'a str, Option<f64>>,
    /// Whether the prerequisites of an item fail, once it is known.
    unmet: BTreeMap<&'a str, bool>,
    items: BTreeMap<String, f64>,
}

impl<'a> Scoring<'a> {
    /// The score of an item, which is 0 for leaves if a group above lacks a prerequisite.
    fn score(&mut self, item: &'a Item, is_blocked: bool) -> Option<f64> {
        let is_blocked = is_blocked || self.lacks_prerequisite(item);
        let score = if item.items.is_empty() {
            let own = self.own.get(item.id.as_str()).copied().flatten();
            if is_blocked { own.map(|_| 0.0) } else { own }
        } else {
            let scores: Vec<(f64, Option<f64>)> =
                item.items.iter().map(|below| (below.points, self.score(below, is_blocked))).collect();
            mean(&scores)
        };
        if let Some(score) = score {
            self.items.insert(item.id.clone(), score);
        }
        score
    }

    fn lacks_prerequisite(&mut self, item: &'a Item) -> bool {
        if let Some(known) = self.unmet.get(item.id.as_str()) {
            return *known;
        }
        let rubric = self.rubric;
        let needed: Vec<&Item> =
            rubric.all().filter(|other| item.prerequisites.contains(&other.id)).collect();
        let lacks = needed.into_iter().any(|needed| self.lacks_prerequisite(needed) || !self.is_full(needed));
        self.unmet.insert(item.id.as_str(), lacks);
        lacks
    }

    /// Whether every leaf of an item has its full score.
    fn is_full(&self, item: &Item) -> bool {
        if item.items.is_empty() {
            return self.own.get(item.id.as_str()).copied().flatten().is_some_and(|score| score >= 1.0);
        }
        item.items.iter().all(|below| self.is_full(below))
    }
}

fn aggregate(how: Aggregation, scores: &[(f64, Option<f64>)]) -> Option<f64> {
    let mean = mean(scores)?;
    let mut counted = scores.iter().filter_map(|(_, score)| *score);
    let holds = match how {
        Aggregation::Mean => return Some(mean),
        Aggregation::All => counted.all(|score| score >= 1.0),
        Aggregation::Any => counted.any(|score| score >= 1.0),
        Aggregation::Threshold(threshold) => mean >= threshold,
    };
    Some(f64::from(u8::from(holds)))
}

/// The mean of scores weighted by points, of those that are there.
fn mean(scores: &[(f64, Option<f64>)]) -> Option<f64> {
    let (mut sum, mut total) = (0.0, 0.0);
    for (points, score) in scores {
        if let Some(score) = score {
            sum += points * score;
            total += points;
        }
    }
    (total > 0.0).then(|| sum / total)
}

#[cfg(test)]
mod tests {
    use super::Verdict::{CannotTell, Met, NotMet, Points};
    use super::*;
    use crate::rubric::Set;

    fn verdicts(pairs: &[(&str, Verdict)]) -> BTreeMap<String, Verdict> {
        pairs.iter().map(|(id, verdict)| ((*id).to_owned(), *verdict)).collect()
    }

    #[test]
    fn scores_by_hand() {
        let items = vec![
            Item::new("a", "first", 10.0),
            Item { prerequisites: vec!["a".into()], ..Item::new("b", "second", 30.0) },
            Item {
                kind: Kind::Scaled { lowest: 1.0, highest: 5.0, levels: vec![] },
                ..Item::new("c", "third", 20.0)
            },
            Item { negated: true, ..Item::new("d", "fourth", 40.0) },
        ];
        let rubric = Rubric::of_items("criteria", items);
        let check = |a, b, c, d, expected: f64| {
            let scores = rubric.scores(&verdicts(&[("a", a), ("b", b), ("c", c), ("d", d)])).unwrap();
            assert!((scores.overall.unwrap() - expected).abs() < 1e-12, "{scores:?}");
        };
        // (10 + 30 + 20 × (4 − 1) / 4 + 40) / 100
        check(Met, Met, Points(4.0), NotMet, 0.95);
        // Without its prerequisite the second item is worth nothing.
        check(NotMet, Met, Points(1.0), NotMet, 0.4);
        check(CannotTell, Met, Points(1.0), Met, 0.0);
        // Numbers beyond the scale are at its ends.
        check(Met, NotMet, Points(9.0), Met, 0.3);
    }

    #[test]
    fn sets_are_weighted() {
        let set = |name: &str, points: f64, weight| Set {
            name: name.into(),
            weight,
            items: vec![Item::new(name, "text", points)],
            ..Set::default()
        };
        let rubric =
            Rubric { sets: vec![set("x", 100.0, None), set("y", 1.0, Some(300.0))], ..Rubric::default() };
        let found = rubric.scores(&verdicts(&[("x", Verdict::Met), ("y", Verdict::NotMet)])).unwrap();
        assert_eq!(found.overall, Some(0.25));
        assert_eq!(found.sets, [("x".to_owned(), Some(1.0)), ("y".to_owned(), Some(0.0))]);
    }

    #[test]
    fn what_is_left_out_counts_neither_way() {
        let items = vec![Item::new("a", "first", 1.0), Item::new("b", "second", 3.0)];
        let mut rubric = Rubric::of_items("criteria", items);
        rubric.unverifiable = Unverifiable::LeftOut;
        let found = |a, b| rubric.scores(&verdicts(&[("a", a), ("b", b)])).unwrap().overall;
        assert_eq!(found(Verdict::Met, Verdict::CannotTell), Some(1.0));
        assert_eq!(found(Verdict::CannotTell, Verdict::CannotTell), None);
        rubric.unverifiable = Unverifiable::Met;
        let found = |a, b| rubric.scores(&verdicts(&[("a", a), ("b", b)])).unwrap().overall;
        assert_eq!(found(Verdict::NotMet, Verdict::CannotTell), Some(0.75));
    }

    #[test]
    fn aggregations() {
        let check = |how, a, b, expected: f64| {
            let items = vec![Item::new("a", "first", 1.0), Item::new("b", "second", 3.0)];
            let mut rubric = Rubric::of_items("criteria", items);
            rubric.sets[0].aggregation = how;
            assert_eq!(rubric.scores(&verdicts(&[("a", a), ("b", b)])).unwrap().overall, Some(expected));
        };
        check(Aggregation::All, Met, Met, 1.0);
        check(Aggregation::All, NotMet, Met, 0.0);
        check(Aggregation::Any, NotMet, Met, 1.0);
        check(Aggregation::Threshold(0.7), NotMet, Met, 1.0);
        check(Aggregation::Threshold(0.7), Met, NotMet, 0.0);
    }

    #[test]
    fn verdicts_must_fit() {
        let rubric = Rubric::of_items("criteria", vec![Item::new("a", "first", 1.0)]);
        assert_eq!(rubric.scores(&verdicts(&[])), Err(ScoreError::Missing("a".into())));
        assert_eq!(
            rubric.scores(&verdicts(&[("a", Verdict::Points(1.0))])),
            Err(ScoreError::Kind("a".into()))
        );
    }
}
