//! All runs of a store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use askama::Template;
use assay_report::{answer, clean, usd};

use super::layout::Layout;
use crate::data::RunData;
use crate::error::PageError;
use crate::site::{RunState, Site};
use crate::urls;

/// How long the page waits for runs that are being loaded, altogether.
const WAIT: Duration = Duration::from_secs(1);

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    page: Layout,
    store: String,
    runs: Vec<Run>,
    names: Vec<String>,
    /// Runs side by side with the one before.
    pairs: Vec<(String, String)>,
    /// Whether a draft is shown.
    has_draft: bool,
    /// Whether there are items for people to label.
    has_sheets: bool,
}

struct Run {
    name: String,
    href: String,
    answer: String,
    agents: String,
    measured: String,
    trials: String,
    errors: String,
    cost: String,
}

pub(super) fn page(site: &Arc<Site>) -> Result<String, PageError> {
    let until = Instant::now() + if site.is_export { Duration::MAX / 4 } else { WAIT };
    let names = site.run_names();
    let mut runs = Vec::new();
    let mut is_loading = false;
    for name in &names {
        let left = until.saturating_duration_since(Instant::now());
        runs.push(match site.run(name, left) {
            Ok(RunState::Ready(data)) => line(name, &data),
            Ok(RunState::Loading(done)) => {
                is_loading = true;
                unknown(name, &format!("loading: {done} records read"))
            }
            Err(error) => unknown(name, &assay_diagnostic::chain(&error)),
        });
    }
    let pairs = names
        .windows(2)
        .map(|pair| (format!("{} against {}", pair[1], pair[0]), urls::compare(&pair[0], &pair[1])))
        .collect();
    let page = Layout {
        trail: vec![("Runs".to_owned(), None)],
        refresh: is_loading.then_some(2),
        ..Layout::new(site, "Runs")
    };
    let store = clean(&site.store.root().display().to_string());
    let has_sheets = !site.store.sheet_names().is_empty();
    Ok(RunsPage { page, store, runs, names, pairs, has_draft: site.draft().is_some(), has_sheets }
        .render()?)
}

fn line(name: &str, data: &RunData) -> Run {
    let provenance = &data.report.provenance;
    let agents: Vec<String> = provenance
        .agents
        .iter()
        .map(|agent| match &agent.model {
            Some(model) => format!("{} with {}", clean(&agent.agent), clean(model)),
            None => clean(&agent.agent),
        })
        .collect();
    let (finished, planned) = data.progress();
    let demonstration =
        if data.report.measures_a_model { "" } else { "Demonstration, no model was measured. " };
    Run {
        name: name.to_owned(),
        href: urls::run(name),
        answer: format!("{demonstration}{}", answer(&data.report).replace('`', "")),
        agents: agents.join(", "),
        measured: provenance
            .measured
            .as_ref()
            .map_or_else(|| "–".to_owned(), |[_, last]| last.chars().take(10).collect()),
        trials: if finished == planned { planned.to_string() } else { format!("{finished} of {planned}") },
        errors: data.report.arms.iter().map(|arm| arm.infrastructure).sum::<usize>().to_string(),
        cost: data.spent().map_or_else(|| "–".to_owned(), usd),
    }
}

fn unknown(name: &str, answer: &str) -> Run {
    let none = || "–".to_owned();
    Run {
        name: name.to_owned(),
        href: urls::run(name),
        answer: clean(answer),
        agents: none(),
        measured: none(),
        trials: none(),
        errors: none(),
        cost: none(),
    }
}
