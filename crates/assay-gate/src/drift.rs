//! Baselines that were measured earlier: how much they drift between sessions, and how much of it a part that is
//! executed again can detect.

use std::collections::BTreeMap;

use assay_stats::PairedTask;

/// The fewest sessions that give an estimate.
pub const FEWEST_SESSIONS: usize = 6;

/// How much a baseline drifts between sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriftEstimate {
    /// The standard deviation of its mean score between sessions, beyond what trials vary by chance.
    pub sd: f64,
    /// The sessions that it was estimated from.
    pub sessions: usize,
}

/// Trials of the baseline on one task in one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The session, such as a date.
    pub session: String,
    /// The task.
    pub task: String,
    /// The scores.
    pub scores: Vec<f64>,
}

/// The standard deviation of the baseline's mean score between sessions, beyond what trials vary by chance; `None`
/// with fewer than six sessions.
///
/// Method of moments: the variance between sessions of the mean difference from each task's own mean, less the mean
/// variance of these means (p(1 − p)/n for each task), at least 0.
pub fn drift_sd(trials: &[Session]) -> Option<DriftEstimate> {
    let mut tasks: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for cell in trials {
        tasks.entry(&cell.task).or_default().extend(&cell.scores);
    }
    let own: BTreeMap<&str, f64> = tasks.iter().map(|(task, scores)| (*task, mean(scores))).collect();
    let mut sessions: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for cell in trials.iter().filter(|cell| !cell.scores.is_empty()) {
        let expected = own.get(cell.task.as_str()).copied().unwrap_or_default();
        let chance = expected * (1.0 - expected) / cell.scores.len() as f64;
        sessions.entry(&cell.session).or_default().push((mean(&cell.scores) - expected, chance));
    }
    if sessions.len() < FEWEST_SESSIONS {
        return None;
    }
    let shifts: Vec<f64> = sessions
        .values()
        .map(|cells| cells.iter().map(|(shift, _)| *shift).sum::<f64>() / cells.len() as f64)
        .collect();
    let chance = sessions
        .values()
        .map(|cells| cells.iter().map(|(_, chance)| *chance).sum::<f64>() / (cells.len() as f64).powi(2))
        .sum::<f64>()
        / sessions.len() as f64;
    let centre = mean(&shifts);
    let observed =
        shifts.iter().map(|shift| (shift - centre).powi(2)).sum::<f64>() / (shifts.len() as f64 - 1.0);
    Some(DriftEstimate { sd: (observed - chance).max(0.0).sqrt(), sessions: sessions.len() })
}

/// The drift that trials of some tasks, recorded and executed again, detect with 80% power at a two-sided level of 5%:
/// (z(.975) + z(.8))·s/√n, s being the standard deviation of the differences of the tasks' means. `None` with fewer than
/// two tasks.
pub fn detectable_drift(sentinel: &[PairedTask]) -> Option<f64> {
    const POWER: f64 = 1.959_963_984_540_054 + 0.841_621_233_572_914;
    let n = sentinel.len() as f64;
    if sentinel.len() < 2 {
        return None;
    }
    // By chance alone, p(1 − p) for each trial: differences that happen to be equal do not make drift visible.
    let chance = sentinel
        .iter()
        .map(|task| {
            let all: Vec<f64> = task.arm.iter().chain(&task.base).copied().collect();
            // One more success and failure, so that tasks that always pass are not taken for certain.
            let rate = (all.iter().sum::<f64>() + 1.0) / (all.len() as f64 + 2.0);
            let each = rate * (1.0 - rate);
            each / task.arm.len().max(1) as f64 + each / task.base.len().max(1) as f64
        })
        .sum::<f64>()
        / n;
    Some(POWER * (chance / n).sqrt())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / (values.len() as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(session: usize, task: usize, passed: usize, all: usize) -> Session {
        let scores = (0..all).map(|at| if at < passed { 1.0 } else { 0.0 }).collect();
        Session { session: session.to_string(), task: task.to_string(), scores }
    }

    #[test]
    fn drift_is_what_sessions_share() {
        // Every task passes in 50, 70, 30, 50, 70 and 30 of 100 trials: shifts of 0, ±.2, 0, ±.2, variance .16/5;
        // chance is .25/100/40.
        let passed = [50, 70, 30, 50, 70, 30];
        let sessions = |count: usize| -> Vec<Session> {
            (0..40)
                .flat_map(|task| (0..count).map(move |session| cell(session, task, passed[session], 100)))
                .collect()
        };
        let expected = (0.032_f64 - 0.25 / 100.0 / 40.0).sqrt();
        let found = drift_sd(&sessions(6)).unwrap();
        assert!((found.sd - expected).abs() < 1e-12 && found.sessions == 6, "{found:?}");
        assert_eq!(drift_sd(&sessions(5)), None);
    }

    #[test]
    fn noise_alone_is_no_drift() {
        // Shifts in opposite directions on two halves of the tasks.
        let cells: Vec<Session> = (0..40)
            .flat_map(|task| {
                let [up, down] = if task % 2 == 0 { [6, 4] } else { [4, 6] };
                [(0, 5), (1, up), (2, down), (3, 5), (4, up), (5, down)]
                    .map(|(session, passed)| cell(session, task, passed, 10))
            })
            .collect();
        assert_eq!(drift_sd(&cells), Some(DriftEstimate { sd: 0.0, sessions: 6 }));
    }

    #[test]
    fn a_small_sentinel_detects_large_drift_only() {
        // 13 tasks of 4 trials at 50%: 2.8016·√((.25/4 + .25/4)/13).
        let task =
            PairedTask { arm: vec![1.0, 0.0, 1.0, 0.0], base: vec![0.0, 1.0, 0.0, 1.0], cluster: None };
        let expected = 2.801_585_218_112_968 * (0.125_f64 / 13.0).sqrt();
        assert!((detectable_drift(&vec![task.clone(); 13]).unwrap() - expected).abs() < 1e-9);
        assert_eq!(detectable_drift(&[task]), None);
    }
}
