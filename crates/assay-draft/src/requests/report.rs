//! The figures of written requests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_diagnostic::counted;
use serde::Serialize;

use super::drafted::{DraftedRequests, SortedDraws};
use super::session_requests::SessionRequests;

/// The figures of written requests, as a document of JSON.
#[derive(Debug, Serialize)]
pub struct RequestReport {
    schema: &'static str,
    /// Skills of the pool.
    skills: usize,
    draws: usize,
    requests: usize,
    negatives: usize,
    /// Skills that an accepted request needs.
    covered: usize,
    approved_by_people: usize,
    for_people: usize,
    /// Dropped draws by reason.
    dropped: BTreeMap<&'static str, usize>,
    sessions: Option<SessionFigures>,
    calls: usize,
    cached: usize,
    cost_usd: Option<f64>,
    #[serde(skip)]
    has_model: bool,
    #[serde(skip)]
    dropped_draws: usize,
    #[serde(skip)]
    is_short: bool,
    #[serde(skip)]
    sheet: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct SessionFigures {
    requests: usize,
    labelled: usize,
    skipped: usize,
    unread: usize,
}

impl RequestReport {
    pub(crate) fn new(
        skills: usize,
        drafted: Option<&DraftedRequests>,
        sorted: &SortedDraws,
        sessions: Option<&SessionRequests>,
        is_short: bool,
        sheet: Option<PathBuf>,
    ) -> Self {
        Self {
            schema: "assay.requests/1",
            skills,
            draws: drafted.map_or(0, |drafted| drafted.draws.len()),
            requests: sorted.requests.len(),
            negatives: sorted.negatives.len(),
            covered: sorted.covered.len(),
            approved_by_people: sorted.by_people,
            for_people: sorted.sheet.len(),
            dropped: sorted.reasons.clone(),
            sessions: sessions.map(|sessions| SessionFigures {
                requests: sessions.lines.len(),
                labelled: sessions.labelled,
                skipped: sessions.skipped,
                unread: sessions.unread,
            }),
            calls: drafted.map_or(0, |drafted| drafted.calls),
            cached: drafted.map_or(0, |drafted| drafted.cached),
            cost_usd: drafted.and_then(|drafted| drafted.cost_usd),
            has_model: drafted.is_some(),
            dropped_draws: sorted.dropped.len(),
            is_short,
            sheet,
        }
    }

    /// Whether fewer requests were accepted than were to be.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    /// Whether a transcript could not be read.
    pub fn has_unread_sessions(&self) -> bool {
        self.sessions.as_ref().is_some_and(|sessions| sessions.unread > 0)
    }

    /// The sheet for people, if there is something for them to decide.
    pub fn sheet_path(&self) -> Option<&PathBuf> {
        self.sheet.as_ref()
    }

    /// The figures for people.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        if self.has_model {
            let reasons: Vec<String> =
                self.dropped.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
            let reasons =
                if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
            let cost = self.cost_usd.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
            text.push_str(&format!(
                "{}, {} from {}\nskills with a request: {} of {}\nfor people to decide: {}\ndropped: {}{reasons}\n{} \
                 ({} cached){cost}\n",
                counted(self.requests, "request", "requests"),
                counted(self.negatives, "negative", "negatives"),
                counted(self.draws, "draw", "draws"),
                self.covered,
                self.skills,
                self.for_people,
                self.dropped_draws,
                counted(self.calls, "model call", "model calls"),
                self.cached,
            ));
        }
        if let Some(sessions) = &self.sessions {
            text.push_str(&format!(
                "{} of sessions, {} with a skill that was opened, {} skipped\n",
                counted(sessions.requests, "request", "requests"),
                sessions.labelled,
                counted(sessions.skipped, "session", "sessions"),
            ));
        }
        text
    }
}
