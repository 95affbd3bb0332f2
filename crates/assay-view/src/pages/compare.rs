//! Two runs side by side.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use assay_analysis::{LEAST_TASKS, compare};
use assay_report::{clean, note, verdict_line};

use super::layout::Layout;
use crate::error::PageError;
use crate::site::Site;

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage {
    page: Layout,
    first: String,
    second: String,
    least: usize,
    rows: Vec<(String, String, String)>,
    excluded: Vec<String>,
    skills: Vec<(String, String, String, &'static str)>,
    notes: Vec<String>,
}

pub(super) fn page(site: &Arc<Site>, first: &str, second: &str) -> Result<String, PageError> {
    // Unknown names are reported before anything is read.
    for name in [first, second] {
        site.run(name, Duration::ZERO)?;
    }
    let (one, other) = (site.store.run(first)?, site.store.run(second)?);
    let found = compare(&site.store, &one, &other)?;
    let rows = found
        .comparisons
        .iter()
        .map(|comparison| {
            let who = &comparison.who;
            let model = who.model.as_ref().map_or(String::new(), |model| format!(" with {}", clean(model)));
            let sentence = verdict_line(comparison, found.margin).replace('`', "");
            (format!("{}{model}", clean(&who.agent)), clean(&comparison.condition), sentence)
        })
        .collect();
    let excluded = found
        .excluded
        .iter()
        .map(|arm| clean(&format!("{}, {}: {}", arm.agent, arm.condition, arm.reason)))
        .collect();
    let digest = |digest: &Option<String>| digest.as_ref().map_or_else(|| "–".to_owned(), |text| clean(text));
    let skills = found
        .skills
        .iter()
        .map(|skill| {
            let changed = if skill.changed { "yes" } else { "no" };
            (clean(&skill.name), digest(&skill.first), digest(&skill.second), changed)
        })
        .collect();
    let notes = found.notes.iter().map(|found| clean(&note(found).replace('`', ""))).collect();
    let title = format!("{} against {}", clean(second), clean(first));
    Ok(ComparePage {
        page: Layout::new(site, &title),
        first: clean(first),
        second: clean(second),
        least: LEAST_TASKS,
        rows,
        excluded,
        skills,
        notes,
    }
    .render()?)
}
