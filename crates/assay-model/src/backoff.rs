//! How long to wait before the next try.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

/// The wait before the first retry. It doubles with each retry.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait if the provider requests none. Eight retries together wait about 124 seconds,
/// and at least 92: longer than a quota window of one minute.
const LONGEST: Duration = Duration::from_mins(1);
/// The longest wait that a provider may request; a longer one is shortened to this.
const MAX_REQUESTED_WAIT: Duration = Duration::from_mins(5);

/// The wait before retry number `retry` (from 0) if the provider requests none: exponential, with
/// random jitter of a quarter in both directions.
pub fn retry_wait(retry: u32) -> Duration {
    let nominal = FIRST.saturating_mul(2_u32.saturating_pow(retry.min(16))).min(LONGEST);
    nominal.mul_f64(0.75 + 0.5 * chance())
}

/// A random extra time for a wait that many threads share, so that they do not all retry at once:
/// at most a tenth of the wait, and at most a second.
pub fn spread_wait(wait: Duration) -> Duration {
    (wait / 10).min(Duration::from_secs(1)).mul_f64(chance())
}

/// A random number in [0, 1) without a seed: the standard library keys its hashers at random.
fn chance() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / 2_f64.powi(53)
}

/// The wait that a reply requests: `retry-after-ms`, else `retry-after` in seconds or as an HTTP
/// date (RFC 9110, 10.2.3; relative to the reply's own `date`), else Google's `RetryInfo` in the
/// body. `None` if there is none, or zero.
pub fn requested_wait(header: &dyn Fn(&str) -> Option<String>, body: &[u8]) -> Option<Duration> {
    let milliseconds = || seconds(&header("retry-after-ms")?).map(|ms| ms / 1_000.0);
    let after = || {
        let text = header("retry-after")?;
        seconds(&text).or_else(|| {
            let now = header("date").as_deref().and_then(http_date).unwrap_or_else(|| {
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
            });
            http_date(&text).map(|then| then.saturating_sub(now) as f64)
        })
    };
    let seconds = milliseconds().or_else(after).or_else(|| retry_info(body))?;
    let wait = assay_diagnostic::duration_of_seconds(seconds.min(MAX_REQUESTED_WAIT.as_secs_f64()));
    (!wait.is_zero()).then_some(wait)
}

/// A non-negative number.
fn seconds(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)
}

/// `error.details[].retryDelay` (`"18s"`), the JSON form of `google.rpc.RetryInfo`.
fn retry_info(body: &[u8]) -> Option<f64> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let details = body.get("error")?.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay"))?.as_str()?;
    seconds(delay.strip_suffix('s')?)
}

/// Seconds since 1970 of an IMF-fixdate, the only form that RFC 9110 (5.6.7) allows senders: `Sun,
/// 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, clock, "GMT"] = words.as_slice() else { return None };
    let day: u64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = MONTHS.iter().position(|name| name == month)? as u64;
    let year: u64 = year.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let parts: Vec<u64> = clock.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hour @ 0..=23, minute @ 0..=59, second @ 0..=60] = parts.as_slice() else { return None };

    // Days since 1 March of year 0, so that leap days end the years; 719,468 of them come before
    // 1970.
    let (shifted_year, shifted_month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let days = 365 * shifted_year + shifted_year / 4 - shifted_year / 100
        + shifted_year / 400
        + (153 * shifted_month + 2) / 5
        + (day - 1)
        - 719_468;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(http_date(text), expected, "{text}");
        // `date -d '…' +%s`
        check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777));
        check("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199));
        check("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200));
        check("Wed, 31 Dec 2098 12:00:00 GMT", Some(4_070_865_600));
        for text in ["", "soon", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            check(text, None);
        }
        check("Sun, 06 Nov 99999999999999999999 08:49:37 GMT", None);
    }

    #[test]
    fn requested_wait_is_read_from_headers_and_body() {
        let check = |headers: &[(&str, &str)], body: &str, expected: Option<u64>| {
            let header = |name: &str| {
                headers.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(
                requested_wait(&header, body.as_bytes()),
                expected.map(Duration::from_millis),
                "{headers:?} {body}"
            );
        };
        check(&[], "", None);
        check(&[("retry-after", "2")], "", Some(2_000));
        check(&[("retry-after", "0.25")], "", Some(250));
        check(&[("retry-after", "2"), ("retry-after-ms", "40")], "", Some(40));
        check(&[("retry-after", "0")], "", None);
        check(&[("retry-after", "-1")], "", None);
        check(&[("retry-after", "NaN")], "", None);
        check(&[("retry-after", "1e300")], "", Some(300_000));
        check(&[("retry-after", "86400")], "", Some(300_000));
        check(
            &[("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")],
            "",
            Some(10_000),
        );
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")], "", None);
        check(&[], r#"{"error":{"details":[{"@type":"x"},{"retryDelay":"18s"}]}}"#, Some(18_000));
        check(&[], r#"{"error":{"details":[{"retryDelay":"soon"}]}}"#, None);
    }

    #[test]
    fn own_waits_double_up_to_a_minute() {
        for (retry, nominal) in [(0, 500), (1, 1_000), (4, 8_000), (7, 60_000), (4_000_000_000, 60_000)] {
            for _ in 0..50 {
                let wait = retry_wait(retry).as_millis();
                assert!(wait >= nominal * 3 / 4 && wait <= nominal * 5 / 4, "retry {retry}: {wait} ms");
            }
        }
        let waits: std::collections::BTreeSet<_> = (0..20).map(|_| retry_wait(3)).collect();
        assert!(waits.len() > 10, "no jitter: {waits:?}");
    }

    #[test]
    fn spread_is_small() {
        for _ in 0..50 {
            assert!(spread_wait(Duration::from_millis(100)) <= Duration::from_millis(10));
            assert!(spread_wait(Duration::from_mins(5)) <= Duration::from_secs(1));
        }
    }
}
