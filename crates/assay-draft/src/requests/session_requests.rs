//! Requests of real sessions: the first message of the user in each transcript.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_trace::read::{self, Input};
use assay_trace::{OfferedSkill, Trajectory, exposure};
use serde_json::{Value, json};

use super::check::facts;
use super::library::RequestLibrary;
use super::output::request_id;
use crate::event::{DraftEvent, DraftEvents};
use crate::first_message::{Redact, first_message};

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct SessionRequests {
    pub(crate) lines: Vec<Value>,
    pub(crate) labelled: usize,
    /// SessionRequests without a message of the user, or with one that is too long.
    pub(crate) skipped: usize,
    /// RequestFiles that could not be read.
    pub(crate) unread: usize,
}

/// A request and the places of the skills that were opened for it.
struct FirstMessage {
    text: String,
    gold: Vec<usize>,
    sessions: Vec<String>,
}

/// Reads transcripts. SessionRequests with the same first message are one request.
pub(crate) fn read_sessions(
    paths: &[PathBuf],
    library: &RequestLibrary,
    redact: Redact<'_>,
    events: &dyn DraftEvents,
) -> SessionRequests {
    let mut sessions = SessionRequests::default();
    let sources = read::sources(paths);
    for path in sources.empty {
        events.handle_event(&DraftEvent::NoTranscript(&path));
        sessions.unread += 1;
    }
    let mut messages: BTreeMap<String, FirstMessage> = BTreeMap::new();
    for source in sources.list {
        let transcripts = match read::read_all(&source, None) {
            Ok(transcripts) => transcripts,
            Err(error) => {
                events.handle_event(&DraftEvent::UnreadableTranscript(&error));
                sessions.unread += 1;
                continue;
            }
        };
        for transcript in transcripts {
            let trajectory = &transcript.trajectory;
            let Some(text) = first_message(trajectory, redact) else {
                sessions.skipped += 1;
                continue;
            };
            let gold = opened(trajectory, library);
            let message = messages.entry(text.clone()).or_insert_with(|| FirstMessage {
                text,
                gold: Vec::new(),
                sessions: Vec::new(),
            });
            message.gold.extend(gold);
            // The output and the log of one session are two transcripts.
            let id = session_id(trajectory, &source);
            if !message.sessions.contains(&id) {
                message.sessions.push(id);
            }
        }
    }
    for mut message in messages.into_values() {
        message.gold.sort_unstable();
        message.gold.dedup();
        sessions.labelled += usize::from(!message.gold.is_empty());
        sessions.lines.push(line(&message, library));
    }
    sessions
}

/// The places of the skills whose text reached the model.
fn opened(trajectory: &Trajectory, library: &RequestLibrary) -> Vec<usize> {
    let skills = library.skills.all().iter();
    let skills: Vec<OfferedSkill<'_>> = skills
        .zip(library.bodies.iter().zip(&library.files))
        .map(|(skill, (body, files))| OfferedSkill {
            name: &skill.name,
            description: &skill.description,
            body,
            mount: "",
            files,
        })
        .collect();
    let found = exposure(trajectory, &skills).into_iter().enumerate();
    found.filter(|(_, exposure)| exposure.opened.is_some()).map(|(place, _)| place).collect()
}

/// The session's own id, or the name of its file.
fn session_id(trajectory: &Trajectory, source: &Input) -> String {
    let stem = || source.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    trajectory.session_id.clone().unwrap_or_else(stem)
}

fn line(message: &FirstMessage, library: &RequestLibrary) -> Value {
    let gold: Vec<_> = message.gold.iter().map(|place| library.skills.get(*place)).collect();
    let ids: Vec<&str> = gold.iter().map(|skill| skill.id.as_str()).collect();
    let names: Vec<&str> = gold.iter().map(|skill| skill.name.as_str()).collect();
    let facts = facts(&message.text, gold.iter().copied());
    // Without a skill nothing can be copied or named: the overlap is unknown, and not 0.
    let known = |value: Value| if gold.is_empty() { Value::Null } else { value };
    json!({
        "schema": "assay.request/1", "qid": request_id("trace", &message.text, &ids), "source": "trace",
        "query": message.text, "gold_ids": ids, "gold_names": names, "acceptable_ids": [], "neardup_ids": [],
        "negatives": [], "k": gold.len(), "words": facts.words, "names_skill": known(json!(facts.names_skill)),
        "overlap3": known(json!(facts.overlap3)), "sessions": message.sessions,
    })
}
