//! The stage of a draft that asks the model that is to be measured, without the skill.

use std::collections::BTreeMap;

use super::reply::{read_answers, read_comparisons};
use super::request::{ComparedPair, ProbeItem, WORDINGS, request_answers, request_comparisons};
use super::{ProbeRecord, ProbeVerdict, ProbedDirective};
use crate::author::DraftAuthor;
use crate::directives::{DraftDirective, explain_given_away};
use crate::error::DraftError;
use crate::event::{DraftEvent, DraftEvents};
use crate::folder::DraftFolder;
use crate::prompts::{PROBE, PROBE_COMPARE};

/// The probe in the folder if it is of this model and these directives, or that which the model answers. Without a model, that
/// in the folder, if there is one.
pub(crate) fn probe_directives(
    folder: &DraftFolder,
    directives: &[DraftDirective],
    measured: Option<&DraftAuthor>,
    author: &DraftAuthor,
    events: &dyn DraftEvents,
) -> Result<Option<ProbeRecord>, DraftError> {
    let stored = ProbeRecord::read_from(folder)?;
    let Some(measured) = measured else {
        if stored.is_none() {
            events.handle_event(&DraftEvent::NoProbe);
        }
        return Ok(stored);
    };
    let items: Vec<ProbeItem> = directives.iter().filter_map(ProbeItem::of_directive).collect();
    if let Some(stored) = stored.filter(|stored| stored.model == measured.name()) {
        let is_probed = |directive: &DraftDirective| stored.find_replies(directive).is_some();
        let asked = directives.iter().filter(|directive| ProbeItem::of_directive(directive).is_some());
        if asked.clone().all(is_probed) {
            return Ok(Some(stored));
        }
    }
    let not_asked = directives.iter().filter_map(|one| Some((one.id.clone(), explain_given_away(one)?)));
    let not_asked: BTreeMap<String, String> = not_asked.collect();
    for (directive, reason) in &not_asked {
        events.handle_event(&DraftEvent::NotAsked { directive, reason });
    }
    let replies = ask_answers(&items, measured)?;
    let matches = compare_answers(&items, &replies, author)?;
    let mut record = ProbeRecord::new(measured.name(), author.name());
    record.not_asked = not_asked;
    for ((item, replies), matches) in items.into_iter().zip(replies).zip(matches) {
        record.directives.insert(item.id, ProbedDirective::new(item.question, item.answer, replies, matches));
    }
    record.write_to(folder)?;
    let count = |verdict| record.count_verdicts(directives, verdict);
    events.handle_event(&DraftEvent::Probed {
        known: count(ProbeVerdict::Known),
        unknown: count(ProbeVerdict::Unknown),
    });
    Ok(Some(record))
}

/// For each item, a reply for each way of asking.
fn ask_answers(items: &[ProbeItem], measured: &DraftAuthor) -> Result<Vec<Vec<Option<String>>>, DraftError> {
    let mut replies: Vec<Vec<Option<String>>> = vec![Vec::new(); items.len()];
    for way in 0..WORDINGS.len() {
        let mut answers = BTreeMap::new();
        for request in request_answers(items, way) {
            let read = |reply: &str| read_answers(reply).map_err(|error| error.to_string());
            // A model that does not keep to the form has not answered: that is no error of the draft.
            answers.extend(measured.answer_request(PROBE, &request, &read)?.unwrap_or_default());
        }
        for (item, replies) in items.iter().zip(&mut replies) {
            replies.push(answers.get(&item.id).cloned());
        }
    }
    Ok(replies)
}

/// For each item, whether each reply meets the answer.
fn compare_answers(
    items: &[ProbeItem],
    replies: &[Vec<Option<String>>],
    author: &DraftAuthor,
) -> Result<Vec<Vec<Option<bool>>>, DraftError> {
    let name = |item: &ProbeItem, way: usize| format!("{}.{}", item.id, way + 1);
    let mut pairs = Vec::new();
    for (item, replies) in items.iter().zip(replies) {
        let given = replies.iter().enumerate().filter_map(|(way, reply)| Some((way, reply.as_ref()?)));
        let open = given.filter(|(_, reply)| !is_equal(&item.answer, reply));
        pairs.extend(open.map(|(way, reply)| ComparedPair { id: name(item, way), item, reply }));
    }
    let mut compared = BTreeMap::new();
    for request in request_comparisons(&pairs) {
        let read = |reply: &str| read_comparisons(reply).map_err(|error| error.to_string());
        let found = author
            .answer_request(PROBE_COMPARE, &request, &read)?
            .map_err(|fault| DraftError::Reply { what: "comparisons", fault })?;
        compared.extend(found);
    }
    let matches = items.iter().zip(replies).map(|(item, replies)| {
        let matches = replies.iter().enumerate().map(|(way, reply)| match reply {
            None => None,
            Some(reply) if is_equal(&item.answer, reply) => Some(true),
            Some(_) => compared.get(&name(item, way)).copied(),
        });
        matches.collect()
    });
    Ok(matches.collect())
}

/// Whether two texts have the same words.
fn is_equal(answer: &str, reply: &str) -> bool {
    let words = |text: &str| {
        let words =
            text.split_whitespace().map(|word| word.trim_matches(['.', ',', '"', '`', '\'']).to_lowercase());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>()
    };
    words(answer) == words(reply)
}
