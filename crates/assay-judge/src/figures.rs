//! Figures with their intervals, as text and JSON.

use assay_stats::Interval;
use assay_stats::judge::Figure;

/// The ends of an interval, as JSON has them.
pub fn interval_ends(interval: Option<Interval>) -> Option<[f64; 2]> {
    interval.map(|interval| [interval.low, interval.high])
}

/// A figure and its interval in a table: `.81 (.74 to .87)`.
pub fn figure_cell(figure: Option<Figure>) -> String {
    let Some(figure) = figure else { return "-".to_owned() };
    match figure.interval {
        Some(interval) => {
            format!("{:.3} ({:.3} to {:.3})", figure.value, interval.low, interval.high)
        }
        None => format!("{:.3}", figure.value),
    }
}

/// The value of a figure, as JSON has it.
pub(crate) fn figure_value(figure: Option<Figure>) -> Option<f64> {
    figure.map(|figure| figure.value)
}

/// The ends of a figure's interval, as JSON has them.
pub(crate) fn figure_ends(figure: Option<Figure>) -> Option<[f64; 2]> {
    figure.and_then(|figure| interval_ends(figure.interval))
}
