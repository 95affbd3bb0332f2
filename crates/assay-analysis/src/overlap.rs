//! Whether two conditions were measured at the same time.
//!
//! A provider, a model behind a name and a machine change from week to week. Conditions that a run
//! interleaves share all of that; those of two imported jobs, or of two runs, may not.

/// One trial in this many, at either end, does not extend a condition's period: a trial that was
/// run again a month later is not a second measurement.
const ENDS: usize = 10;

/// When two conditions were measured.
pub(crate) struct Times {
    /// The smaller of the two shares of trials that ran within the other's period.
    pub(crate) overlap: f64,
    /// First start and last end of the baseline, and of the condition, in UTC.
    pub(crate) measured: [[String; 2]; 2],
}

impl Times {
    /// From the starts and ends of the trials of both, in seconds, and the planned repetitions of
    /// both; `None` if one has no known times.
    pub(crate) fn of(base: &[[f64; 2]], arm: &[[f64; 2]], repetitions: [usize; 2]) -> Option<Self> {
        let measured = [span(base)?, span(arm)?];
        let slack = median(base.iter().chain(arm).map(|[from, to]| to - from).collect());
        let [base_period, arm_period] =
            [(base, repetitions[0]), (arm, repetitions[1])].map(|(trials, own)| {
                let found = period(trials, slack);
                if repetitions[0] == repetitions[1] { found } else { widened(found, own) }
            });
        let overlap = within(base, arm_period).min(within(arm, base_period));
        let [base, arm] = measured.map(|[from, to]| [time(from), time(to)]);
        Some(Self { overlap, measured: [base, arm] })
    }
}

/// The share of trials that ran, at least in part, within a period.
fn within(trials: &[[f64; 2]], [from, to]: [f64; 2]) -> f64 {
    let inside = trials.iter().filter(|[start, end]| *end >= from && *start <= to).count();
    inside as f64 / trials.len() as f64
}

/// From the tenth percentile of the starts to the ninetieth of the ends, extended at both ends by
/// the length of a trial, because the order of two adjacent trials is random.
fn period(trials: &[[f64; 2]], slack: f64) -> [f64; 2] {
    let sorted = |at: usize| {
        let mut times: Vec<f64> = trials.iter().map(|trial| trial[at]).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let left_out = trials.len() / ENDS;
    let (starts, ends) = (sorted(0), sorted(1));
    let last = ends.len() - 1 - left_out;
    [starts[left_out] - slack, ends[last] + slack]
}

/// A period with half the time between two repetitions at both ends. A run spreads the repetitions of
/// each condition over its time, so that the first of three begins after the first of nine.
fn widened([from, to]: [f64; 2], repetitions: usize) -> [f64; 2] {
    let half = (to - from) / (2 * repetitions.saturating_sub(1).max(1)) as f64;
    [from - half, to + half]
}

/// The first start and the last end.
fn span(trials: &[[f64; 2]]) -> Option<[f64; 2]> {
    let ends = |[from, to]: [f64; 2], [start, end]: &[f64; 2]| [from.min(*start), to.max(*end)];
    (!trials.is_empty()).then(|| trials.iter().fold([f64::INFINITY, f64::NEG_INFINITY], ends))
}

fn median(mut lengths: Vec<f64>) -> f64 {
    lengths.sort_by(f64::total_cmp);
    lengths[lengths.len() / 2]
}

/// A time in UTC to the second.
fn time(seconds: f64) -> String {
    let since_epoch = jiff::SignedDuration::try_from_secs_f64(seconds.floor());
    let time = since_epoch.and_then(jiff::Timestamp::from_duration);
    time.map_or_else(|_| "?".to_owned(), |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trials of 60 seconds that start at these minutes.
    fn at(minutes: impl IntoIterator<Item = i32>) -> Vec<[f64; 2]> {
        minutes.into_iter().map(|minute| f64::from(60 * minute)).map(|start| [start, start + 60.0]).collect()
    }

    #[test]
    fn overlap_is_the_smaller_share_in_the_other_period() {
        let check = |base: Vec<[f64; 2]>, arm: Vec<[f64; 2]>, expected: f64| {
            for (one, other) in [(&base, &arm), (&arm, &base)] {
                let found = Times::of(one, other, [5, 5]).unwrap().overlap;
                assert!((found - expected).abs() < 1e-9, "{found} is not {expected}: {base:?} {arm:?}");
            }
        };
        // Interleaved, whichever comes first.
        check(at((0..10).map(|n| 2 * n)), at((0..10).map(|n| 2 * n + 1)), 0.9);
        // One after the other: the two trials beside the border count as beside each other.
        check(at(0..5), at(5..10), 0.4);
        check(at(0..50), at(10_000..10_050), 0.0);
        // Half of one was resumed a week later, and a quarter.
        check(at(0..20), at((0..10).chain(10_000..10_010)), 0.5);
        check(at(0..20), at((0..15).chain(10_000..10_005)), 0.75);
        // A trial that was lost and run again later does not extend the period.
        check(at((0..19).chain([10_000])), at(10_000..10_020), 0.0);
        assert!(Times::of(&[], &at(0..5), [5, 5]).is_none());
        // Nine rounds of ten trials, and three of the other condition in between.
        let (many, few) = (at(0..90), at((0..3).flat_map(|round| (0..10).map(move |n| 10 + 30 * round + n))));
        let overlap = |repetitions| Times::of(&many, &few, repetitions).unwrap().overlap;
        assert!((overlap([9, 3]) - 1.0).abs() < 1e-9, "{}", overlap([9, 3]));
        assert!(overlap([3, 3]) < 0.8, "{}", overlap([3, 3]));
    }

    #[test]
    fn times_are_formatted_in_utc() {
        let times = Times::of(&[[0.0, 60.0]], &[[86_400.0, 86_460.5]], [1, 1]).unwrap();
        assert_eq!(times.measured[0], ["1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z"]);
        assert_eq!(times.measured[1], ["1970-01-02T00:00:00Z", "1970-01-02T00:01:00Z"]);
    }
}
