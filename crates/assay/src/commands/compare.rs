//! `assay compare`: compares the arms that two runs share.

use assay_analysis::RunComparison;
use assay_report::{clean, counted};

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
        ui.out(&render_comparison(&found))?;
    }
    Ok(Status::Done)
}

fn render_comparison(found: &RunComparison) -> String {
    let mut text = format!("{} against {}\n", clean(&found.second), clean(&found.first));
    if found.extended_after_look {
        text.push_str("! One of the runs extends an earlier run. If the earlier report prompted the extension, the error rates are higher than stated (optional stopping).\n");
    }
    if found.shared_trials > 0 {
        text.push_str(&format!(
            "! {} shared by both runs and cannot differ.\n",
            counted(found.shared_trials, "trial is", "trials are")
        ));
    }
    for note in &found.notes {
        text.push_str(&format!("! {}\n", clean(&assay_report::note(note))));
    }
    for skill in found.skills.iter().filter(|skill| skill.changed) {
        let short = |digest: &Option<String>| {
            digest
                .as_deref()
                .map_or_else(|| "–".to_owned(), |digest| digest.chars().skip(7).take(12).collect())
        };
        text.push_str(&format!(
            "  skill {}: {} → {}\n",
            clean(&skill.name),
            short(&skill.first),
            short(&skill.second)
        ));
    }
    for comparison in &found.comparisons {
        text.push_str(&format!("{}\n", assay_report::verdict_line(comparison, found.margin)));
    }
    for arm in &found.excluded {
        text.push_str(&format!(
            "  excluded: {}, {}: {}\n",
            clean(&arm.agent),
            clean(&arm.condition),
            clean(&arm.reason)
        ));
    }
    text
}
