//! The result of a campaign as text and JSON.

use std::path::Path;

use assay_skill::{Digest, Package};
use serde::Serialize;
use serde_json::{Value, json};

use super::campaign::{ShrinkError, ShrunkSkill};
use super::variant::write_copy;

/// The schema of the JSON.
pub const SHRINK_SCHEMA: &str = "assay.improve-shrink/1";

/// The state of a part that no trial delivered.
const NEVER_DELIVERED: &str = "never-delivered";

/// What `assay improve shrink` prints.
#[derive(Clone, Debug, Serialize)]
pub struct ShrinkDocument {
    schema: &'static str,
    skill: String,
    digest: Digest,
    decision: &'static str,
    sections: Vec<Value>,
    candidates: Vec<Value>,
    spent: usize,
    lost: usize,
    detectable: Option<f64>,
    tokens_saved: usize,
    runs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    #[serde(skip)]
    text: String,
}

impl ShrinkDocument {
    /// Writes the shorter skill, if there is one, to a new folder, and makes the document of the campaign.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn finish(skill: &Package, found: &ShrunkSkill, out: Option<&Path>) -> Result<Self, ShrinkError> {
        let mut shorter = None;
        if let Some((body, out)) = found.shorter.as_ref().zip(out) {
            write_copy(skill, body, out)?;
            shorter = Package::load(out).package.map(|skill| skill.digest);
        }
        Ok(Self::new(skill, found, shorter))
    }

    /// The document of a campaign. `shorter` is the digest of the shorter skill, if there is one.
    pub fn new(skill: &Package, found: &ShrunkSkill, shorter: Option<Digest>) -> Self {
        let outcome = &found.outcome;
        let ends = |interval: assay_stats::Interval| [interval.low, interval.high];
        let mut text = String::new();
        let sections = found
            .parts
            .iter()
            .zip(&found.numbers)
            .map(|(part, number)| {
                let shown = number.and_then(|number| outcome.parts.get(number));
                let state = match (number, shown) {
                    (None, _) => NEVER_DELIVERED,
                    (_, Some(shown)) => shown.state.word(),
                    (_, None) => "undecided",
                };
                let effect = shown.and_then(|shown| Some((shown.effect?, shown.ci95?)));
                let measured = effect.map_or_else(
                    || "no trial".to_owned(),
                    |(effect, ci95)| {
                        format!("{} ({} to {})", points(effect), points(ci95.low), points(ci95.high))
                    },
                );
                text.push_str(&format!(
                    "{state:<16} {measured:<22} {:>5} tokens  {}\n",
                    part.tokens, part.heading
                ));
                let needed: Vec<&String> = shown
                    .into_iter()
                    .flat_map(|shown| shown.tasks.iter().filter_map(|task| found.tasks.get(*task)))
                    .collect();
                json!({
                    "heading": part.heading, "effect": effect.map(|(effect, _)| effect),
                    "ci95": effect.map(|(_, ci95)| ends(ci95)), "state": state, "tokens": part.tokens,
                    "adjusted": shown.and_then(|shown| shown.adjusted).map(ends), "tasks": needed,
                    "beside": shown.and_then(|shown| shown.beside).map(|(effect, ci95)| json!({
                        "effect": effect, "ci95": ci95.map(ends),
                    })),
                })
            })
            .collect();
        let change = outcome.change.map(|(change, interval)| {
            format!(", {} ({} to {})", points(change), points(interval.low), points(interval.high))
        });
        let source = if outcome.confirmed { "confirmed" } else { "not confirmed" };
        let decision = match &found.shorter {
            Some(_) => format!(
                "{}: without these sections{}, {source}; {} tokens less per session",
                outcome.decision.word(),
                change.as_deref().unwrap_or_default(),
                found.saved
            ),
            None => format!("{}: no section is left out", outcome.decision.word()),
        };
        let lost = if outcome.too_many_lost {
            format!("; {} lost, too many for a decision", outcome.lost)
        } else {
            String::new()
        };
        text.push_str(&format!("\n{decision}\n{} trials{lost}\n", outcome.spent));
        let diff = found.shorter.as_ref().map(|body| {
            let diff = similar::TextDiff::from_lines(skill.body.as_str(), body.as_str());
            diff.unified_diff().header("SKILL.md", "SKILL.md (shorter)").to_string()
        });
        if let Some(diff) = &diff {
            text.push_str(&format!("\n{diff}"));
        }
        let candidates = shorter.map(|digest| {
            json!({
                "digest": digest, "decision": outcome.decision.word(), "confirmed": outcome.confirmed,
                "change": outcome.change.map(|(change, _)| change),
                "interval": outcome.change.map(|(_, interval)| ends(interval)),
            })
        });
        Self {
            schema: SHRINK_SCHEMA,
            skill: skill.name.clone(),
            digest: skill.digest,
            decision: outcome.decision.word(),
            sections,
            candidates: candidates.into_iter().collect(),
            spent: outcome.spent,
            lost: outcome.lost,
            detectable: found.detectable,
            tokens_saved: found.saved,
            runs: found.runs.clone(),
            diff,
            text,
        }
    }

    /// The section map and the decision as text.
    pub fn to_text(&self) -> &str {
        &self.text
    }
}

/// A share as percentage points.
fn points(share: f64) -> String {
    let points = 100.0 * share;
    if points < 0.0 { format!("−{:.0}", -points) } else { format!("+{points:.0}") }
}
