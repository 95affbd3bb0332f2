//! What a user asked for in a session: the first message.

use assay_trace::{Source, Trajectory};

/// Most characters of a message that counts as a request.
const LONGEST: usize = 4_000;

/// Removes secrets from a text.
pub type Redact<'a> = &'a dyn Fn(&str) -> String;

/// The first message of the user before the agent's first turn, with secrets redacted.
pub(crate) fn first_message(trajectory: &Trajectory, redact: Redact<'_>) -> Option<String> {
    let before = trajectory.steps.iter().take_while(|step| step.source != Source::Agent);
    let texts = before.filter(|step| step.source == Source::User).map(|step| step.message.trim());
    let text = texts.filter(|text| !text.is_empty()).find(|text| !is_context(text))?;
    (text.chars().count() <= LONGEST).then(|| redact(text))
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
