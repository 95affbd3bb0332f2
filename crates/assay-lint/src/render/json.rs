//! JSON.

use serde::Serialize;

use crate::diagnostic::Diagnostic;
use crate::outcome::{LintedSkill, Outcome, Summary};

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    skills: &'a [LintedSkill],
    diagnostics: &'a [Diagnostic],
    summary: &'a Summary,
}

/// The outcome as a JSON document: `skills`, `diagnostics` (of the search), `summary`.
pub fn json(outcome: &Outcome) -> impl Serialize + '_ {
    Document {
        schema: "assay.lint/1",
        skills: &outcome.skills,
        diagnostics: &outcome.diagnostics,
        summary: &outcome.summary,
    }
}
