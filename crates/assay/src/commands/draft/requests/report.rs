//! The figures of a command.

use std::collections::{BTreeMap, BTreeSet};

use assay_report::counted;
use serde_json::{Value, json};

use super::Drafted;
use super::traces::Sessions;
use crate::failure::Failure;
use crate::ui::Ui;

/// Draws by the file that they are written to.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    pub(super) requests: Vec<Value>,
    pub(super) negatives: Vec<Value>,
    pub(super) sheet: Vec<Value>,
    pub(super) dropped: Vec<Value>,
    /// Dropped draws by reason.
    pub(super) reasons: BTreeMap<&'static str, usize>,
    /// Places of the skills that an accepted request needs.
    pub(super) covered: BTreeSet<usize>,
    /// Requests that a person approved.
    pub(super) by_people: usize,
}

/// What is printed.
pub(super) struct Report<'a> {
    /// Skills of the pool.
    pub(super) skills: usize,
    pub(super) has_model: bool,
    pub(super) drafted: &'a Drafted,
    pub(super) sorted: &'a Sorted,
    pub(super) sessions: Option<&'a Sessions>,
}

impl Report<'_> {
    pub(super) fn print(&self, ui: &Ui) -> Result<(), Failure> {
        if ui.json() { ui.document(&self.document()) } else { ui.out(&self.text()) }
    }

    fn document(&self) -> Value {
        let Self { drafted, sorted, .. } = self;
        let sessions = self.sessions.map(|sessions| {
            json!({
                "requests": sessions.lines.len(), "labelled": sessions.labelled, "skipped": sessions.skipped,
                "unread": sessions.unread,
            })
        });
        json!({
            "schema": "assay.requests/1", "skills": self.skills, "draws": drafted.draws.len(),
            "requests": sorted.requests.len(), "negatives": sorted.negatives.len(), "covered": sorted.covered.len(),
            "approved_by_people": sorted.by_people, "for_people": sorted.sheet.len(), "dropped": sorted.reasons,
            "sessions": sessions, "calls": drafted.calls, "cached": drafted.cached, "cost_usd": drafted.cost_usd,
        })
    }

    fn text(&self) -> String {
        let Self { drafted, sorted, .. } = self;
        let mut text = String::new();
        if self.has_model {
            let reasons: Vec<String> =
                sorted.reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
            let reasons =
                if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
            let cost = drafted.cost_usd.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
            text.push_str(&format!(
                "{}, {} from {}\nskills with a request: {} of {}\nfor people to decide: {}\ndropped: {}{reasons}\n{} \
                 ({} cached){cost}\n",
                counted(sorted.requests.len(), "request", "requests"),
                counted(sorted.negatives.len(), "negative", "negatives"),
                counted(drafted.draws.len(), "draw", "draws"),
                sorted.covered.len(),
                self.skills,
                sorted.sheet.len(),
                sorted.dropped.len(),
                counted(drafted.calls, "model call", "model calls"),
                drafted.cached,
            ));
        }
        if let Some(sessions) = self.sessions {
            text.push_str(&format!(
                "{} of sessions, {} with a skill that was opened, {} skipped\n",
                counted(sessions.lines.len(), "request", "requests"),
                sessions.labelled,
                counted(sessions.skipped, "session", "sessions"),
            ));
        }
        text
    }
}
