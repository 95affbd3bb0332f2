use assay_analysis::{Note, Report, RunComparison};
use serde::Serialize;

use crate::next_steps::next_step;
use crate::notes::note;
use crate::{Renderer, Style};

/// Findings as the JSON document that scripts rely on: with their notes as sentences.
#[derive(Debug, Serialize)]
pub struct WithNotes<'a, T> {
    #[serde(flatten)]
    findings: &'a T,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_steps: Option<Vec<String>>,
}

impl<'a, T> WithNotes<'a, T> {
    fn new(findings: &'a T, notes: &[Note]) -> Self {
        Self { findings, notes: notes.iter().map(note).collect(), next_steps: None }
    }
}

impl<'a> From<&'a Report> for WithNotes<'a, Report> {
    fn from(report: &'a Report) -> Self {
        let steps =
            report.next_steps.iter().map(|step| next_step(step, report.experiment.as_deref())).collect();
        Self { next_steps: Some(steps), ..Self::new(report, &report.notes) }
    }
}

impl<'a> From<&'a RunComparison> for WithNotes<'a, RunComparison> {
    fn from(comparison: &'a RunComparison) -> Self {
        Self::new(comparison, &comparison.notes)
    }
}

/// One JSON document, as scripts rely on it.
pub(crate) struct Json;

impl Renderer for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn render(&self, report: &Report, _style: Style<'_>) -> String {
        let text = serde_json::to_string_pretty(&WithNotes::from(report))
            .expect("reports have no values that JSON lacks");
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use crate::terminal::tests::whole;

    use super::*;

    #[test]
    fn json_report_round_trips_with_its_schema_first() {
        let mut report = whole();
        report.run = "\u{1b}[31m\"<b>\u{202e}\n".to_owned();
        let text = Json.render(&report, Style { color: true, ..Style::default() });
        assert!(text.starts_with("{\n  \"schema\": \"assay.report/2\",") && text.ends_with("}\n"), "{text}");
        // It contains no control characters for a terminal, and is read back unchanged.
        assert!(!text.contains('\u{1b}'), "{text}");
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["run"], report.run);
        assert_eq!(read["arms"].as_array().map(Vec::len), Some(5));
        assert!(read["arms"][4]["cost_usd"].is_null(), "unknown is null");
        assert_eq!(read["comparisons"][1]["lift"], -0.05);
    }
}
