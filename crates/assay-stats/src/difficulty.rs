//! Strata of tasks by their difficulty for the baseline, without regression to the mean.
//!
//! A task that failed in all trials of the baseline by chance seems hard, and would seem to improve
//! in any further trials. Therefore one half of the baseline's trials decides the stratum of a task,
//! and only the other half is compared; then the halves change roles (cross-fitting, as in
//! Chernozhukov et al. 2018, section 3). Given the deciding half, the other is as good as new.

/// How hard a task is for the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difficulty {
    /// A mean score below a third.
    Hard,
    /// A third to two thirds.
    Medium,
    /// Above two thirds.
    Easy,
}

impl Difficulty {
    /// All, from hard to easy.
    pub const ALL: [Self; 3] = [Self::Hard, Self::Medium, Self::Easy];

    /// The difficulty of a task with a mean score in [0, 1].
    pub fn of(score: f64) -> Self {
        // Slightly below two thirds, as two of three trials give it, counts as that.
        if score < 1.0 / 3.0 - 1e-9 {
            Self::Hard
        } else if score <= 2.0 / 3.0 + 1e-9 {
            Self::Medium
        } else {
            Self::Easy
        }
    }
}

/// One half of a task's baseline, in the stratum that the other half decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldOut {
    /// The task, by its position.
    pub task: usize,
    /// Its stratum.
    pub difficulty: Difficulty,
    /// The trials that may be compared, by their position: those that did not decide.
    pub trials: Vec<usize>,
}

/// The halves of each task's baseline. `scores` has the scores of each task in the order of the
/// repetitions; every other one makes a half. A task with fewer than two trials has none.
pub fn held_out(scores: &[Vec<f64>]) -> Vec<HeldOut> {
    let mut halves = Vec::new();
    for (task, scores) in scores.iter().enumerate().filter(|(_, scores)| scores.len() > 1) {
        for deciding in [0, 1] {
            let own: Vec<f64> = scores.iter().skip(deciding).step_by(2).copied().collect();
            halves.push(HeldOut {
                task,
                difficulty: Difficulty::of(own.iter().sum::<f64>() / own.len() as f64),
                trials: (1 - deciding..scores.len()).step_by(2).collect(),
            });
        }
    }
    halves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_half_is_compared_where_the_other_decides() {
        let found = held_out(&[vec![0.0, 1.0, 0.0], vec![1.0], vec![1.0, 1.0, 0.0, 1.0]]);
        let half = |task, difficulty, trials: &[usize]| HeldOut { task, difficulty, trials: trials.to_vec() };
        assert_eq!(
            found,
            [
                half(0, Difficulty::Hard, &[1]),
                half(0, Difficulty::Easy, &[0, 2]),
                half(2, Difficulty::Medium, &[1, 3]),
                half(2, Difficulty::Easy, &[0, 2]),
            ]
        );
    }

    #[test]
    fn thirds_are_medium() {
        let check = |score: f64, expected| assert_eq!(Difficulty::of(score), expected, "{score}");
        check(0.0, Difficulty::Hard);
        check(0.333, Difficulty::Hard);
        check(1.0 / 3.0, Difficulty::Medium);
        check((1.0 + 1.0) / 3.0, Difficulty::Medium);
        check(0.67, Difficulty::Easy);
    }
}
