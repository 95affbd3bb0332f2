use super::calibrated;
use crate::args::audit::PairsArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &PairsArgs, ui: &Ui) -> Result<Status, Failure> {
    calibrated::of_pairs(args, ui)
}
