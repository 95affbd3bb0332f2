//! What a draft still asks for, and what that costs at most.

use assay_diagnostic::counted;
use serde::Serialize;

use crate::author::DraftAuthor;
use crate::directives::{DIRECTIVES_FILE, requests_of};
use crate::error::DraftError;
use crate::evidence::BLIND_REPLIES;
use crate::folder::{DraftFolder, DraftIdeas};
use crate::prompts;
use crate::stages::DraftStage;
use crate::subject::DraftSubject;
use crate::tasks::request_task;
use crate::validation::MOST_REPAIRS;

/// What a draft still asks for, as a document of JSON.
#[derive(Debug, Serialize)]
pub struct DraftForecast {
    schema: &'static str,
    /// Requests that are certain.
    requests: usize,
    /// Most repairs.
    repairs: usize,
    /// Requests that are answered by what is stored.
    cached: usize,
    /// What all of it costs at most, if there is a price.
    max_usd: Option<f64>,
    /// What was spent so far.
    spent_usd: Option<f64>,
}

impl DraftForecast {
    /// The forecast for people.
    pub fn to_text(&self) -> String {
        let cost = self.max_usd.map_or_else(String::new, |usd| format!(", at most ${usd:.2}"));
        format!(
            "{} and at most {} ({} cached){cost}\n",
            counted(self.requests, "request", "requests"),
            counted(self.repairs, "repair", "repairs"),
            self.cached,
        )
    }
}

/// Finds what remains to be asked up to a stage. `tasks` are to be proposed where there are no ideas.
pub(crate) fn forecast_draft(
    folder: &DraftFolder,
    subject: &DraftSubject,
    model: &DraftAuthor,
    tasks: usize,
    stop_after: DraftStage,
) -> Result<DraftForecast, DraftError> {
    let (mut requests, mut cached, mut usd) = (0, 0, 0.0);
    let mut count = |request: &assay_judge::Request| {
        if model.is_stored(request)? {
            cached += 1;
        } else {
            requests += 1;
            usd += model.max_cost(request);
        }
        Ok::<_, DraftError>(())
    };
    let has_list = folder.path_of(DIRECTIVES_FILE).symlink_metadata().is_ok();
    let has_ideas = folder.path_of("ideas.json").symlink_metadata().is_ok();
    if !has_list && !has_ideas && stop_after >= DraftStage::Directives {
        requests_of(&subject.packages)?.iter().try_for_each(&mut count)?;
    }
    let ideas: Option<DraftIdeas> = folder.read_json("ideas.json")?;
    if ideas.is_none() && stop_after >= DraftStage::Ideas {
        if subject.is_blind {
            count(&prompts::request_blind_ideas(&subject.text, tasks, &[]))?;
            // The choice of directives is of unknown length: at most the skill and the ideas.
            count(&prompts::request_choice(&subject.text, &[]))?;
        } else {
            count(&prompts::request_ideas(&subject.text, tasks))?;
        }
    }
    let (known, unknown) = match &ideas {
        Some(ideas) => (&ideas.ideas[..], 0),
        None => (&[][..], tasks),
    };
    let mut open = 0;
    for idea in known {
        if folder.read_proposal(&idea.name)?.is_none() {
            open += 1;
            if stop_after >= DraftStage::Tasks {
                count(&request_task(subject, idea, known))?;
            }
        }
    }
    // The files of an idea that is not known yet, and repairs, are requests of unknown length: at most that of the skill, and
    // a reply of full length.
    let longest = prompts::request_ideas(&subject.text, tasks);
    let tokens = u64::try_from(assay_model::tokens(&longest.text)).unwrap_or(u64::MAX).saturating_add(4_000);
    if stop_after >= DraftStage::Tasks {
        requests += unknown;
        usd += unknown as f64 * model.max_cost_of(tokens);
    }
    let validates = stop_after >= DraftStage::Validation;
    // A task is done without the skill again after a repair.
    let work = if validates { BLIND_REPLIES * (open + unknown) } else { 0 };
    requests += work;
    usd += (work * (1 + MOST_REPAIRS)) as f64 * model.max_cost_of(tokens);
    let repairs = if validates { MOST_REPAIRS * (open + unknown) } else { 0 };
    usd += repairs as f64 * model.max_cost_of(tokens.saturating_add(model.reply_tokens()));
    Ok(DraftForecast {
        schema: "assay.draft-forecast/1",
        requests,
        repairs,
        cached,
        max_usd: model.cap().priced(usd),
        spent_usd: model.sum_cost(),
    })
}
