//! `assay compare`: compares the arms that two runs share.

use assay_report::comparison_text;

use crate::args::compare::CompareArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &CompareArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = machine::read_store(&settings.store)?;
    let (first, second) = (store.run(&args.first)?, store.run(&args.second)?);
    let found = assay_analysis::compare(&store, &first, &second)?;
    if found.comparisons.is_empty() && found.shared_trials == 0 {
        let reasons: Vec<String> = found
            .excluded
            .iter()
            .map(|arm| format!("{}, {}: {}", arm.agent, arm.condition, arm.reason))
            .collect();
        return Err(Failure::bad_input(format!(
            "cannot compare {} with {}: {}",
            found.first,
            found.second,
            reasons.join("; ")
        ))
        .hint("both runs need results of the same agent, condition and tasks"));
    }
    if ui.json() {
        ui.document(&assay_report::WithNotes::from(&found))?;
    } else {
        ui.out(&comparison_text(&found))?;
    }
    Ok(Status::Done)
}
