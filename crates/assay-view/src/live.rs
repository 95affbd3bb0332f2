//! How far a run is: trials finished, spend and time left.

use std::fs;

use assay_report::{seconds, usd};
use serde_json::{Value, json};

use crate::data::RunData;
use crate::site::Site;

/// Bytes at the end of a run's events that are read.
const TAIL: u64 = 256 << 10;

/// Trials whose pace predicts the time left.
const RECENT: usize = 50;

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) finished: usize,
    pub(crate) planned: usize,
    /// Known cost of the trials with a record.
    pub(crate) spent: String,
    /// At the pace of the latest trials.
    pub(crate) left: String,
}

impl Progress {
    /// `None` for imported runs, which do not progress.
    pub(crate) fn of(site: &Site, data: &RunData) -> Option<Self> {
        if data.plan.imported.is_some() {
            return None;
        }
        let (finished, planned) = data.progress();
        let left = time_left(&events(site, &data.plan.run), planned - finished);
        Some(Self {
            finished,
            planned,
            spent: data.spent().map_or_else(|| "unknown".to_owned(), usd),
            left: left.map_or_else(|| "unknown".to_owned(), seconds),
        })
    }

    /// As the page's script reads it.
    pub(crate) fn json(&self) -> Value {
        json!({ "finished": self.finished, "planned": self.planned, "spent": self.spent, "left": self.left })
    }
}

/// The latest trials' times in seconds since 1970, in order.
fn events(site: &Site, run: &str) -> Vec<f64> {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> std::io::Result<String> {
        let mut file = fs::File::open(site.store.run_folder(run).join("events.jsonl"))?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let time = |line: &str| {
        let event: Value = serde_json::from_str(line).ok()?;
        let is_trial = event.get("kind").and_then(Value::as_str) == Some("trials");
        let at: jiff::Timestamp = event.get("at").and_then(Value::as_str)?.parse().ok()?;
        is_trial.then(|| at.as_duration().as_secs_f64())
    };
    text.lines().filter_map(time).collect()
}

/// Seconds until the remaining trials are finished, at the pace of the latest ones; `None` without a pace.
fn time_left(times: &[f64], remaining: usize) -> Option<f64> {
    let recent = &times[times.len().saturating_sub(RECENT)..];
    let (first, last) = (recent.first()?, recent.last()?);
    let pace = (last - first) / (recent.len() as f64 - 1.0);
    (recent.len() > 1 && pace.is_finite()).then_some(pace * remaining as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_latest_pace() {
        let check = |times: &[f64], remaining, expected: Option<f64>| {
            assert_eq!(time_left(times, remaining), expected, "{times:?}");
        };
        check(&[], 3, None);
        check(&[5.0], 3, None);
        check(&[5.0, 7.0], 3, Some(6.0));
        check(&[0.0, 1.0, 4.0], 10, Some(20.0));
        // Only the last 50 count: the pause before them does not.
        let times: Vec<f64> = (0..10).map(f64::from).chain((0..50).map(|n| 1_000.0 + f64::from(n))).collect();
        check(&times, 7, Some(7.0));
    }
}
