//! Ideas in the place of tasks that fell: a draft of N tasks has N accepted ones, if the author finds them.

use assay_syntax::parts::Part;

use crate::author::DraftAuthor;
use crate::error::DraftError;
use crate::event::{DraftEvent, DraftEvents};
use crate::folder::{DraftFolder, DraftIdeas};
use crate::ideas::{Idea, ProposedIdeas, read_ideas};
use crate::prompts::{self, IDEAS};
use crate::subject::DraftSubject;
use crate::tasks::{ask_blind_ideas, free_name};

/// How often in a row ideas are asked for in the place of tasks that fell, without more accepted tasks than before. Chosen: what
/// falls three times over says more of the skill than of the ideas.
pub(crate) const MOST_REFILLS: usize = 2;

/// Most characters of the reason for which a task fell.
const REASON_CHARS: usize = 400;

/// Asks for ideas in the place of tasks that fell, tells why they fell, and adds the new ones to `ideas.json`. Returns all
/// ideas, or `None` if the author has no other.
pub(crate) fn refill_ideas(
    folder: &DraftFolder,
    subject: &DraftSubject,
    model: &DraftAuthor,
    missing: usize,
    events: &dyn DraftEvents,
) -> Result<Option<Vec<Idea>>, DraftError> {
    let Some(mut file) = folder.read_json::<DraftIdeas>("ideas.json")? else { return Ok(None) };
    let request = prompts::request_more_ideas(&subject.text, missing, &list_others(folder, &file)?);
    let text = &subject.text;
    let read = |reply: &str| {
        if assay_syntax::reply::read_document::<serde_json::Value>(reply).is_ok_and(|reply| is_empty(&reply))
        {
            return Ok(ProposedIdeas::default());
        }
        read_ideas(reply, missing, &text.intents, &text.directives).map_err(|error| error.to_string())
    };
    events.handle_event(&DraftEvent::Refilling { missing });
    // The reasons are of the skill, so an author who does not see it does not hear them.
    let answer = if subject.is_blind {
        ask_blind_ideas(subject, model, missing, &file.ideas)?
    } else {
        model.answer_request(IDEAS, &request, &read)?
    };
    // An author that replies with nothing that can be used has no other idea.
    let Ok(proposed) = answer else { return Ok(None) };
    for idea in &proposed.dropped {
        events.handle_event(&DraftEvent::IdeaDropped { idea: &idea.name, reason: &idea.reason });
    }
    if proposed.ideas.is_empty() {
        return Ok(None);
    }
    for mut idea in proposed.ideas {
        idea.name = free_name(&idea.name, &file.ideas);
        file.ideas.push(idea);
    }
    file.dropped.extend(proposed.dropped);
    folder.write_json("ideas.json", &file)?;
    Ok(Some(file.ideas))
}

fn is_empty(reply: &serde_json::Value) -> bool {
    reply["ideas"].as_array().is_some_and(Vec::is_empty)
}

/// Each task and idea so far, with its end.
fn list_others(folder: &DraftFolder, file: &DraftIdeas) -> Result<Vec<Part>, DraftError> {
    let infeasible = folder.read_infeasible()?;
    let ideas = file.ideas.iter().map(|idea| {
        let fate = infeasible.tasks.get(&idea.name).map_or_else(
            || "it is there already".to_owned(),
            |rejected| format!("it fell: {}", rejected.reason.chars().take(REASON_CHARS).collect::<String>()),
        );
        (idea.name.clone(), format!("{}\n{fate}", idea.summary))
    });
    let dropped = file.dropped.iter().map(|idea| (idea.name.clone(), format!("it fell: it {}", idea.reason)));
    Ok(ideas.chain(dropped).collect())
}
