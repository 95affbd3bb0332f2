//! Durations of numbers from files and requests.

use std::time::Duration;

/// Most seconds that any setting may have: a week.
pub const MOST_SECONDS: f64 = 604_800.0;

/// A duration of seconds, which `Duration::from_secs_f64` panics on if they are negative, too many or not a number. Those
/// are none here, and more than [`MOST_SECONDS`] is that many.
pub fn duration_of_seconds(seconds: f64) -> Duration {
    // `clamp` keeps what is not a number.
    Duration::try_from_secs_f64(seconds.clamp(0.0, MOST_SECONDS)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_panics() {
        let check = |seconds: f64, expected: Duration| {
            assert_eq!(duration_of_seconds(seconds), expected, "{seconds}");
        };
        check(1.5, Duration::from_millis(1_500));
        check(-1.0, Duration::ZERO);
        check(f64::NAN, Duration::ZERO);
        check(f64::NEG_INFINITY, Duration::ZERO);
        for many in [1e300, f64::INFINITY, 604_801.0] {
            check(many, Duration::from_hours(7 * 24));
        }
        // It can be added to the time.
        assert!(std::time::Instant::now().checked_add(duration_of_seconds(f64::MAX)).is_some());
    }
}
