//! What a draft still asks for, and what that costs at most.

use assay_draft::author::DraftAuthor;
use assay_draft::prompts;
use assay_report::counted;
use serde_json::json;

use super::folder::{DraftFolder, Ideas, State};
use super::subject::Subject;
use super::tasks;
use super::validate::MOST_REPAIRS;
use crate::args::draft::{DraftRunArgs, DraftStage};
use crate::failure::Failure;
use crate::ui::Ui;

/// Prints what remains to be asked, and what it costs at most.
pub(super) fn forecast(
    args: &DraftRunArgs,
    folder: &DraftFolder,
    state: &State,
    subject: &Subject,
    model: &DraftAuthor,
    ui: &Ui,
) -> Result<(), Failure> {
    let (mut requests, mut cached, mut usd) = (0, 0, 0.0);
    let mut count = |request: &assay_judge::Request| {
        if model.is_stored(request)? {
            cached += 1;
        } else {
            requests += 1;
            usd += model.max_cost(request);
        }
        Ok::<_, Failure>(())
    };
    let ideas: Option<Ideas> = folder.read("ideas.json")?;
    if ideas.is_none() && args.stop_after >= DraftStage::Ideas {
        count(&prompts::request_ideas(&subject.text, state.tasks))?;
    }
    let (known, unknown) = match &ideas {
        Some(ideas) => (&ideas.ideas[..], 0),
        None => (&[][..], state.tasks),
    };
    let mut open = 0;
    for idea in known {
        if folder.proposal(&idea.name)?.is_none() {
            open += 1;
            if args.stop_after >= DraftStage::Tasks {
                count(&tasks::request(subject, idea, known))?;
            }
        }
    }
    // The files of an idea that is not known yet, and repairs, are requests of unknown length: at most that of the skill, and
    // a reply of full length.
    let longest = prompts::request_ideas(&subject.text, state.tasks);
    let tokens = u64::try_from(assay_model::tokens(&longest.text)).unwrap_or(u64::MAX).saturating_add(4_000);
    if args.stop_after >= DraftStage::Tasks {
        requests += unknown;
        usd += unknown as f64 * model.max_cost_of(tokens);
    }
    let validates = args.stop_after >= DraftStage::Validation;
    let repairs = if validates { MOST_REPAIRS * (open + unknown) } else { 0 };
    usd += repairs as f64 * model.max_cost_of(tokens.saturating_add(model.reply_tokens()));
    let max_usd = model.cap().priced(usd);
    if ui.json() {
        return ui.document(&json!({
            "schema": "assay.draft-forecast/1", "requests": requests, "repairs": repairs, "cached": cached,
            "max_usd": max_usd, "spent_usd": model.cap().cost_usd(),
        }));
    }
    let cost = max_usd.map_or_else(String::new, |usd| format!(", at most ${usd:.2}"));
    ui.out(&format!(
        "{} and at most {} ({cached} cached){cost}\n",
        counted(requests, "request", "requests"),
        counted(repairs, "repair", "repairs"),
    ))
}
