//! `assay judge`: the errors of judges, and rates corrected for them.

mod calibrate;
mod check;
mod correct;
mod feedback;
mod items;
mod labels;
mod sheet;
pub(in crate::commands) mod verdicts;

use assay_stats::Interval;
use assay_stats::judge::Figure;

use crate::args::judge::{JudgeArgs, JudgeWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &JudgeArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        JudgeWhat::Calibrate(args) => calibrate::run(args, ui),
        JudgeWhat::Items(args) => items::run(args, settings, ui),
        JudgeWhat::Check(args) => check::run(args, ui),
        JudgeWhat::Correct(args) => correct::run(args, ui),
        JudgeWhat::Sheet(args) => sheet::run(args, settings, ui),
        JudgeWhat::Labels(args) => labels::run(args, settings, ui),
    }
}

/// An interval in JSON.
fn ends(interval: Option<Interval>) -> Option<[f64; 2]> {
    interval.map(|interval| [interval.low, interval.high])
}

/// A figure and its interval in a table: `.81 (.74 to .87)`.
fn cell(figure: Option<Figure>) -> String {
    let Some(figure) = figure else { return "-".to_owned() };
    match figure.interval {
        Some(interval) => {
            format!("{:.3} ({:.3} to {:.3})", figure.value, interval.low, interval.high)
        }
        None => format!("{:.3}", figure.value),
    }
}
