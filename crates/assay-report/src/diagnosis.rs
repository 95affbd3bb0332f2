//! Items of rubrics beside the directives of the skill that they test.

use assay_analysis::judged::{Diagnosis, ItemDirective};

use crate::text::{clean, percent, pp};

/// Most characters of an item or a directive.
const CHARS: usize = 100;

/// The items in their order, each with its directives.
pub fn diagnosis_text(items: &[Diagnosis]) -> String {
    let mut text = String::from("Items by gain, with the directives of the skill that they test\n");
    for one in items {
        text.push_str(&item(one));
        if one.directives.is_empty() {
            text.push_str("    no directive of the skill is known to be tested\n");
        }
        let mut line = None;
        for found in &one.directives {
            // A line may have several directives.
            if line != Some((&found.skill, found.line)) {
                text.push_str(&skill_line(found));
            }
            line = Some((&found.skill, found.line));
            text.push_str(&directive(found));
        }
    }
    text
}

fn item(found: &Diagnosis) -> String {
    let item = &found.item;
    let share = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), percent);
    let gain = item.gain.map_or_else(|| "–".to_owned(), pp);
    format!(
        "\n{gain}  {} ({}, {}): {} without, {} with; with, skill opened: {}, not opened: {}\n",
        assay_diagnostic::clean_start(&item.text, CHARS),
        clean(&item.pair.condition),
        clean(&item.set),
        share(item.without),
        share(item.with),
        share(item.with_if_opened),
        share(item.with_if_not_opened),
    )
}

fn skill_line(found: &ItemDirective) -> String {
    let text = assay_diagnostic::clean_start(&found.text, CHARS);
    format!("    {}, line {}: {text}\n", clean(&found.skill), found.line)
}

fn directive(found: &ItemDirective) -> String {
    let subject = assay_diagnostic::clean_start(&found.subject, CHARS);
    let head = format!("      `{subject}`: received in {} of {} trials", found.delivered, found.trials);
    let with = counts(found.followed, found.violated, found.unknown, found.trials);
    let without = counts(
        found.baseline_followed,
        found.baseline_violated,
        found.baseline_unknown,
        found.baseline_trials,
    );
    let copies = match found.copies {
        0 => String::new(),
        copies => format!("; {copies} of the trials are copies of others"),
    };
    format!("{head}, {with}; without the skill {without}{copies}\n")
}

/// What so many trials show of a directive. Where trials do not show whether it was followed, a count of 0 would say too
/// much.
fn counts(followed: usize, violated: usize, unknown: usize, trials: usize) -> String {
    if trials == 0 {
        return "there is no trial".to_owned();
    }
    if unknown == trials {
        return format!("cannot tell in any of {trials}");
    }
    let mut parts = Vec::new();
    if followed > 0 || unknown == 0 {
        parts.push(format!("followed in {followed}"));
    }
    if violated > 0 || unknown == 0 {
        parts.push(format!("violated in {violated}"));
    }
    if unknown > 0 {
        parts.push(format!("cannot tell in {unknown}"));
    }
    let rest = trials - (followed + violated + unknown).min(trials);
    if rest > 0 {
        parts.push(format!("not applicable in {rest}"));
    }
    format!("{} of {trials}", parts.join(", "))
}
