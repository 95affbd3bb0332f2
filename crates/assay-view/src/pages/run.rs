//! A run: its report with links to the trials behind each figure, and its progress.

use std::collections::BTreeMap;

use askama::Template;
use assay_report::clean;
use assay_store::{Outcome, TrialId};

use super::layout::Layout;
use crate::data::RunData;
use crate::error::PageError;
use crate::live::Progress;
use crate::site::Site;
use crate::urls;

/// Trials named for each cause.
const NAMED: usize = 8;

/// Skills that are named.
const SKILLS: usize = 200;

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage<'a> {
    page: Layout,
    progress: Option<Progress>,
    report: &'a str,
    errors: Vec<ErrorRow<'a>>,
    trials: String,
    skills: Vec<(String, String)>,
}

struct ErrorRow<'a> {
    run: &'a str,
    cause: String,
    trials: Vec<&'a TrialId>,
}

impl ErrorRow<'_> {
    fn shown(&self) -> Vec<(String, String)> {
        let trials = self.trials.iter().take(NAMED);
        trials.map(|trial| (trial.short().to_owned(), urls::trial(self.run, trial))).collect()
    }
}

pub(super) fn page(site: &Site, data: &RunData) -> Result<String, PageError> {
    let run = &data.plan.run;
    let mut causes: BTreeMap<String, Vec<&TrialId>> = BTreeMap::new();
    for row in &data.rows {
        let Some(result) = row.result.as_ref().filter(|result| result.outcome == Outcome::Infrastructure)
        else {
            continue;
        };
        let cause = result.cause.map_or_else(|| "unknown".to_owned(), |cause| cause.word().replace('_', " "));
        causes.entry(cause).or_default().push(&row.trial);
    }
    let errors = causes.into_iter().map(|(cause, trials)| ErrorRow { run, cause, trials }).collect();
    let skills = data
        .report
        .provenance
        .skills
        .iter()
        .take(SKILLS)
        .map(|skill| (clean(&skill.name), urls::skill(run, &skill.digest)))
        .collect();
    let progress = Progress::of(site, data).filter(|progress| progress.finished < progress.planned);
    let live = progress.is_some() && !site.is_export;
    let page = Layout {
        trail: vec![("Runs".to_owned(), Some("/".to_owned())), (run.clone(), None)],
        searched: Some(urls::segment(run)),
        events: live.then(|| format!("{}events", urls::run(run))),
        ..Layout::new(site, run)
    };
    let report = &data.html;
    Ok(RunPage { page, progress, report, errors, trials: urls::trials(run), skills }.render()?)
}
