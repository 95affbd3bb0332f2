//! A comparison of two runs as text.

use assay_analysis::RunComparison;

use crate::notes::note;
use crate::sentences::verdict_line;
use crate::text::{clean, counted};

/// What two runs share, as text.
pub fn comparison_text(found: &RunComparison) -> String {
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
    for found in &found.notes {
        text.push_str(&format!("! {}\n", clean(&note(found))));
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
        text.push_str(&format!("{}\n", verdict_line(comparison, found.margin)));
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
