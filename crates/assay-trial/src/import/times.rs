//! Harbor's two ways to write a time.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A time, and whether it has no zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) at: Timestamp,
    pub(super) naive: bool,
}

/// Reads `2026-01-15T10:00:00.123456` (local time of an unknown machine; taken as UTC) or the same
/// with `Z` or an offset.
pub(super) fn parse(text: &str) -> Option<Time> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(Time { at, naive: false });
    }
    let at = text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some(Time { at, naive: true })
}

/// Seconds from one time to another; `None` if one is unknown or the second is not later.
pub(super) fn between(start: Option<Time>, end: Option<Time>) -> Option<f64> {
    match (start, end) {
        (Some(start), Some(end)) if start.naive == end.naive => {
            Some(start.at.duration_until(end.at).as_secs_f64()).filter(|seconds| *seconds > 0.0)
        }
        _ => None,
    }
}

/// The sum of the durations that are known; `None` if none is.
pub(super) fn added<const N: usize>(durations: [Option<f64>; N]) -> Option<f64> {
    durations.into_iter().flatten().reduce(|sum, seconds| sum + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_time_formats_are_read_and_others_rejected() {
        let check = |text: &str, expected: Option<(&str, bool)>| {
            let found = parse(text).map(|time| (time.at.to_string(), time.naive));
            assert_eq!(found, expected.map(|(at, naive)| (at.to_owned(), naive)), "{text}");
        };
        check("2026-01-15T10:00:00.5Z", Some(("2026-01-15T10:00:00.5Z", false)));
        check("2026-01-15T10:00:00+02:00", Some(("2026-01-15T08:00:00Z", false)));
        check("2026-01-15T10:00:00.123456", Some(("2026-01-15T10:00:00.123456Z", true)));
        check("2026-01-15 10:00:00", Some(("2026-01-15T10:00:00Z", true)));
        for bad in ["", "now", "2026-13-01T00:00:00", "1700000000", "2026-01-15T10:00:00.5Zz"] {
            check(bad, None);
        }
    }

    #[test]
    fn spans_are_never_negative_or_across_clocks() {
        let check = |start: &str, end: &str, expected: Option<f64>| {
            assert_eq!(between(parse(start), parse(end)), expected, "{start} {end}");
        };
        check("2026-01-15T10:00:00Z", "2026-01-15T10:00:02.5Z", Some(2.5));
        check("2026-01-15T10:00:00", "2026-01-15T10:00:02.5", Some(2.5));
        check("2026-01-15T10:00:02Z", "2026-01-15T10:00:00Z", None);
        check("2026-01-15T10:00:00", "2026-01-15T10:00:02Z", None);
        check("", "2026-01-15T10:00:02Z", None);
    }
}
