//! `assay judge`: the errors of judges, and rates corrected for them.

mod calibrate;
pub(in crate::commands) mod calibration;
mod check;
mod correct;
mod diagnose;
mod export;
mod items;
mod labels;
mod pairs;
mod panel;
mod regrade;
mod sheet;

use crate::args::judge::{JudgeArgs, JudgeWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &JudgeArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        JudgeWhat::Calibrate(args) => calibrate::run(args, ui),
        JudgeWhat::Items(args) => items::run(args, settings, ui),
        JudgeWhat::Pairs(args) => pairs::run(args, settings, ui),
        JudgeWhat::Check(args) => check::run(args, ui),
        JudgeWhat::Export(args) => export::run(args, settings, ui),
        JudgeWhat::Diagnose(args) => diagnose::run(args, settings, ui),
        JudgeWhat::Regrade(args) => regrade::run(args, settings, ui),
        JudgeWhat::Correct(args) => correct::run(args, ui),
        JudgeWhat::Sheet(args) => sheet::run(args, settings, ui),
        JudgeWhat::Labels(args) => labels::run(args, settings, ui),
    }
}
