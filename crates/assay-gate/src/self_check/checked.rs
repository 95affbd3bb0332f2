//! How often a gate decides where nothing changed, as a document.

use std::collections::BTreeMap;

use assay_report::counted;
use assay_stats::{PairedTask, SessionDrift, VerdictKind, p_above, p_below, verdict};
use serde::Serialize;

use super::scores::{ScoreGroups, ScoredArm, SelfCheckError};
use super::{NullSplits, null_splits};

/// Random orders of each arm's trials, beside the recorded one.
const ORDERS: u64 = 20;

/// The fewest tasks of a confidence interval.
const FEWEST: usize = 5;

/// The equivalence margin of the verdicts.
const MARGIN: f64 = 0.10;

/// How often a gate would decide where nothing changed.
#[derive(Debug, Default, Serialize)]
pub struct SelfCheck {
    schema: &'static str,
    /// Halves of the same arm, in the order of the trials.
    recorded: NullSplits,
    /// The same in random orders.
    shuffled: NullSplits,
    flip_rate: Option<f64>,
    /// Pairs of arms that all trials decide, and of these the ones that half of the trials decide alike.
    decided_pairs: usize,
    decided_by_half: usize,
    /// A gate that compares two means, on measurements of the same commit: pairs of measurements, and those with
    /// opposite decisions.
    naive_pairs: usize,
    naive_flips: usize,
    /// Skills with fewer than five tasks, for which the gate refuses to decide.
    too_few_tasks: Vec<String>,
}

impl SelfCheck {
    /// Divides the trials of every arm, and decides between the parts with a policy's error budget.
    ///
    /// # Errors
    /// No arm can be divided.
    pub fn of(groups: &ScoreGroups, error_budget: f64) -> Result<Self, SelfCheckError> {
        let mut checked = Self { schema: "assay.gate-self-check/1", ..Self::default() };
        for (group, arms) in &groups.0 {
            let tasks = arms.values().map(BTreeMap::len).max().unwrap_or(0);
            if tasks < FEWEST {
                checked.too_few_tasks.push(group.clone());
            }
            decide_naively(arms, &mut checked);
            let trials: BTreeMap<&String, BTreeMap<&String, Vec<f64>>> = arms
                .iter()
                .map(|(name, arm)| {
                    let joined =
                        arm.iter().map(|(task, cells)| (task, cells.values().flatten().copied().collect()));
                    (name, joined.collect())
                })
                .collect();
            let lists: Vec<Vec<Vec<f64>>> =
                trials.values().map(|arm| arm.values().cloned().collect()).collect();
            add(&mut checked.recorded, null_splits(&lists, 1, MARGIN));
            add(&mut checked.shuffled, null_splits(&lists, 1 + ORDERS, MARGIN));
            let arms: Vec<&BTreeMap<&String, Vec<f64>>> = trials.values().collect();
            for (number, base) in arms.iter().enumerate() {
                for arm in &arms[number + 1..] {
                    decide_pair(base, arm, error_budget, &mut checked);
                }
            }
        }
        checked.flip_rate = checked.recorded.rate();
        if checked.recorded.splits == 0 && checked.too_few_tasks.is_empty() {
            return Err(SelfCheckError::Nothing);
        }
        Ok(checked)
    }

    /// For a terminal.
    pub fn to_text(&self) -> String {
        let rate = |of: &NullSplits| {
            let rate = of.rate().map_or("–".to_owned(), |rate| format!("{:.1}%", 100.0 * rate));
            format!("{} of {} decided ({rate})", of.flips, counted(of.splits, "split", "splits"))
        };
        let mut text = format!(
            "Halves of the same trials, which differ by chance alone\n  in the order of the trials: {}\n  in random orders: {}\n",
            rate(&self.recorded),
            rate(&self.shuffled)
        );
        if self.decided_pairs > 0 {
            text.push_str(&format!(
                "Pairs of arms that all trials decide: {}, of which half of the trials decide {} alike ({:.1}%)\n",
                self.decided_pairs,
                self.decided_by_half,
                100.0 * self.decided_by_half as f64 / self.decided_pairs as f64
            ));
        }
        if self.naive_pairs > 0 {
            text.push_str(&format!(
                "A gate that compares two means, on measurements of the same commit: {} of {} of measurements have opposite decisions ({:.1}%)\n",
                self.naive_flips,
                counted(self.naive_pairs, "pair", "pairs"),
                100.0 * self.naive_flips as f64 / self.naive_pairs as f64
            ));
        }
        if !self.too_few_tasks.is_empty() {
            text.push_str(&format!(
                "Refused, fewer than {FEWEST} tasks: {} ({})\n",
                counted(self.too_few_tasks.len(), "skill", "skills"),
                self.too_few_tasks.join(", ")
            ));
        }
        text
    }
}

fn add(sum: &mut NullSplits, found: NullSplits) {
    sum.splits += found.splits;
    sum.flips += found.flips;
}

/// A pair that all trials decide, decided again by the first half of one arm and the second of the other.
fn decide_pair(
    base: &BTreeMap<&String, Vec<f64>>,
    arm: &BTreeMap<&String, Vec<f64>>,
    error_budget: f64,
    checked: &mut SelfCheck,
) {
    let pairs = |cut: &dyn Fn(&[f64], bool) -> Vec<f64>| -> Vec<PairedTask> {
        base.iter()
            .filter_map(|(task, base)| {
                let arm = arm.get(task)?;
                let (arm, base) = (cut(arm, true), cut(base, false));
                (!arm.is_empty() && !base.is_empty()).then_some(PairedTask { arm, base, cluster: None })
            })
            .collect()
    };
    // All data: the verdict. Half of them: the claim that a gate tests, in the direction of the verdict.
    let tasks = pairs(&|trials, _| trials.to_vec());
    let claim = match verdict(&tasks, 1, MARGIN, None).kind {
        VerdictKind::Helps => p_above,
        VerdictKind::Harms => p_below,
        VerdictKind::Negligible | VerdictKind::Inconclusive => return,
    };
    checked.decided_pairs += 1;
    let half = pairs(&|trials, second| {
        let half = trials.len() / 2;
        if second { trials[half..].to_vec() } else { trials[..half].to_vec() }
    });
    let is_shown = claim(&half, 0.0, SessionDrift::NONE).is_some_and(|p| 0.5 * p <= error_budget);
    checked.decided_by_half += usize::from(is_shown);
}

/// Decisions by means alone: for each measurement whether the second arm is better, and for how many pairs of
/// measurements that differs.
fn decide_naively(arms: &BTreeMap<String, ScoredArm>, checked: &mut SelfCheck) {
    let mut arms = arms.values();
    let (Some(one), Some(other)) = (arms.next(), arms.next()) else { return };
    let means = |arm: &ScoredArm| {
        let mut sums: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for cells in arm.values() {
            for (measurement, scores) in cells {
                sums.entry(measurement.clone()).or_default().extend(scores);
            }
        }
        sums.into_iter()
            .map(|(measurement, scores)| {
                (measurement, scores.iter().sum::<f64>() / scores.len().max(1) as f64)
            })
            .collect::<BTreeMap<_, _>>()
    };
    let (one, other) = (means(one), means(other));
    let decisions: Vec<(&str, bool)> = one
        .iter()
        .filter_map(|(measurement, mean)| {
            // A measurement is named COMMIT ENTRY; only those of one commit are compared.
            let commit = measurement.split_once(' ')?.0;
            Some((commit, other.get(measurement)? < mean))
        })
        .collect();
    for (number, (commit, better)) in decisions.iter().enumerate() {
        for (_, again) in decisions[number + 1..].iter().filter(|(other, _)| other == commit) {
            checked.naive_pairs += 1;
            checked.naive_flips += usize::from(better != again);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// A table of two arms: so many tasks with four trials each, of which `shown` decides every score.
    fn groups(tasks: usize, score: impl Fn(&str, usize, usize) -> u8) -> ScoreGroups {
        let mut text = "skill,model,task,score\n".to_owned();
        for (arm, task, trial) in
            ["a", "b"].iter().flat_map(|arm| (0..4 * tasks).map(move |at| (*arm, at / 4, at % 4)))
        {
            writeln!(text, "pdf,{arm},t{task},{}", score(arm, task, trial)).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trials.csv");
        std::fs::write(&path, text).unwrap();
        ScoreGroups::of_table(&path, "model", "0..1").unwrap()
    }

    #[test]
    fn halves_and_pairs_are_decided_and_counted() {
        // The second arm is better by all of its trials, and by half of them.
        let better =
            SelfCheck::of(&groups(10, |arm, task, _| u8::from(arm == "b" || task == 0)), 0.05).unwrap();
        assert_eq!((better.decided_pairs, better.decided_by_half), (1, 1));
        assert_eq!(better.recorded, NullSplits { splits: 2, flips: 0 });
        assert_eq!(better.flip_rate, Some(0.0));
        // Every second half is better: all splits in this order are decided.
        let drifting = SelfCheck::of(&groups(10, |_, _, trial| u8::from(trial > 1)), 0.05).unwrap();
        assert_eq!(drifting.recorded, NullSplits { splits: 2, flips: 2 });
        assert!(drifting.to_text().contains("in the order of the trials: 2 of 2 splits decided (100.0%)"));
    }

    #[test]
    fn what_cannot_be_divided_is_named() {
        let few = SelfCheck::of(&groups(4, |_, _, _| 1), 0.05).unwrap();
        assert_eq!(few.too_few_tasks, ["pdf"]);
        assert!(few.to_text().ends_with("Refused, fewer than 5 tasks: 1 skill (pdf)\n"), "{}", few.to_text());
        let nothing = SelfCheck::of(&ScoreGroups::default(), 0.05);
        assert!(matches!(nothing, Err(SelfCheckError::Nothing)));
    }
}
