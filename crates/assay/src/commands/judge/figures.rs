//! Figures with their intervals, as text and JSON.

use assay_stats::Interval;
use assay_stats::judge::Figure;

/// An interval in JSON.
pub(super) fn ends(interval: Option<Interval>) -> Option<[f64; 2]> {
    interval.map(|interval| [interval.low, interval.high])
}

/// A figure and its interval in a table: `.81 (.74 to .87)`.
pub(super) fn cell(figure: Option<Figure>) -> String {
    let Some(figure) = figure else { return "-".to_owned() };
    match figure.interval {
        Some(interval) => {
            format!("{:.3} ({:.3} to {:.3})", figure.value, interval.low, interval.high)
        }
        None => format!("{:.3}", figure.value),
    }
}
