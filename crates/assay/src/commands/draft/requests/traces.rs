//! Requests of real sessions: the first message of the user in each transcript.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_draft::requests::facts;
use assay_report::redact;
use assay_trace::read::{self, Input};
use assay_trace::{OfferedSkill, Source, Trajectory, exposure};
use serde_json::{Value, json};

use super::library::Library;
use super::output::request_id;
use crate::machine;
use crate::ui::Ui;

/// Most characters of a message that counts as a request.
const LONGEST: usize = 4_000;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    pub(super) lines: Vec<Value>,
    pub(super) labelled: usize,
    /// Sessions without a message of the user, or with one that is too long.
    pub(super) skipped: usize,
    /// Files that could not be read.
    pub(super) unread: usize,
}

/// A request and the places of the skills that were opened for it.
struct Message {
    text: String,
    gold: Vec<usize>,
    sessions: Vec<String>,
}

/// Reads transcripts. Sessions with the same first message are one request.
pub(super) fn read_sessions(paths: &[PathBuf], library: &Library, ui: &Ui) -> Sessions {
    let mut sessions = Sessions::default();
    let sources = read::sources(paths);
    for path in sources.empty {
        ui.note(&format!("{}: no transcript", path.display()));
        sessions.unread += 1;
    }
    let secrets = machine::secrets();
    let mut messages: BTreeMap<String, Message> = BTreeMap::new();
    for source in sources.list {
        let transcripts = match read::read_all(&source, None) {
            Ok(transcripts) => transcripts,
            Err(error) => {
                ui.note(&format!("warning: {}", assay_diagnostic::chain(&error)));
                sessions.unread += 1;
                continue;
            }
        };
        for transcript in transcripts {
            let trajectory = &transcript.trajectory;
            let Some(text) = first_message(trajectory, &secrets) else {
                sessions.skipped += 1;
                continue;
            };
            let gold = opened(trajectory, library);
            let message = messages.entry(text.clone()).or_insert_with(|| Message {
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

/// The first message of the user before the agent's first turn, with secrets redacted.
pub(in crate::commands::draft) fn first_message(
    trajectory: &Trajectory,
    secrets: &[String],
) -> Option<String> {
    let before = trajectory.steps.iter().take_while(|step| step.source != Source::Agent);
    let texts = before.filter(|step| step.source == Source::User).map(|step| step.message.trim());
    let text = texts.filter(|text| !text.is_empty()).find(|text| !is_context(text))?;
    (text.chars().count() <= LONGEST).then(|| redact(text, secrets))
}

/// Whether a client wrote the message: several send the date, the folder and the like as an element before the user's
/// own message.
fn is_context(text: &str) -> bool {
    let tag = text.strip_prefix('<').and_then(|rest| rest.split_once('>')).map(|(tag, _)| tag);
    tag.is_some_and(|tag| {
        let is_name = tag.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        !tag.is_empty() && is_name && text.ends_with(&format!("</{tag}>"))
    })
}

/// The places of the skills whose text reached the model.
fn opened(trajectory: &Trajectory, library: &Library) -> Vec<usize> {
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

fn line(message: &Message, library: &Library) -> Value {
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
