//! `BENCHMARK.md` of NVIDIA's Skill Evaluator, in its two layouts: a table of dimensions with uplifts in parentheses (called
//! NVSkills-Eval at first), and one of measures with `baseline → skill`.
//!
//! The report has rates and counts and no scores of tasks.

use std::path::Path;

use assay_store::{PublishedComparison, PublishedRates, ResultSource, ToolResults};

use super::error::ResultError;
use super::format::ResultFormat;
use super::input::ResultInput;
use super::json::shown;
use crate::import::ImportFact;

/// The format of NVIDIA's reports.
pub(super) struct NvidiaBenchmark;

/// The row that says whether the skill helped; the others are about safety, discovery and cost.
const MEASURE: &str = "Effectiveness";

impl ResultFormat for NvidiaBenchmark {
    fn name(&self) -> &'static str {
        "NVIDIA BENCHMARK.md"
    }

    fn facts(&self) -> &'static [ImportFact] {
        // Its rates cannot be imported.
        &[]
    }

    fn recognizes(&self, input: &ResultInput) -> bool {
        input.text().is_some_and(|text| {
            let first = text.trim_start().lines().next().unwrap_or_default();
            let titled = first.starts_with("# Evaluation Report") || first.starts_with("# Skill Benchmark:");
            titled && text.contains("## Publication Recommendation") && text.contains("Tier 1")
        })
    }

    fn read(&self, input: &ResultInput) -> Result<ToolResults, ResultError> {
        let Some(text) = input.text() else { return Err(ResultError::unreadable(&input.path)) };
        let report = Report { text, path: &input.path };
        let mut results = ToolResults {
            source: ResultSource {
                format: self.name().to_owned(),
                tool: if text.contains("NVSkills-Eval") { "NVSkills-Eval" } else { "Skill Evaluator" }
                    .to_owned(),
                version: report.field("Evaluator version"),
                files: vec![input.path.clone()],
            },
            subject: report.field("Skill"),
            own_tasks: true,
            unused: vec![
                "the dimensions Security, Correctness, Discoverability and Efficiency".to_owned(),
                "findings of the static tiers".to_owned(),
            ],
            ..ToolResults::default()
        };
        let verdict = report.verdict();
        let Some(cells) = report.agent_cells()? else {
            let verdict = verdict
                .map_or_else(String::new, |verdict| format!(", and its verdict {verdict} rests on none"));
            return Err(report.fail(&format!("the report has no live evaluation of an agent{verdict}")));
        };
        let tasks = report.tasks().ok_or_else(|| report.fail("it does not say how many tasks there were"))?;
        let attempts = report.field("Attempts per task").and_then(|text| text.parse().ok());
        if attempts.is_none() {
            results.remark("unknown-attempts", "the report does not say how many attempts each task had");
        }
        for (agent, cell) in &cells {
            let Some(rates) = read_cell(cell) else {
                results.remark("no-rate", format!("{agent} has no {MEASURE}: {cell:?}"));
                continue;
            };
            let (with, without, delta) = rates;
            results.published.push(PublishedComparison {
                label: agent.clone(),
                measure: MEASURE.to_owned(),
                delta: Some(delta),
                rounding: 0.005,
                verdict: verdict.clone(),
                rates: Some(PublishedRates { with, without, tasks, attempts }),
                ..PublishedComparison::default()
            });
        }
        Ok(results)
    }
}

struct Report<'a> {
    text: &'a str,
    path: &'a Path,
}

impl Report<'_> {
    fn fail(&self, reason: &str) -> ResultError {
        ResultError::invalid(self.path, reason)
    }

    /// The value of a line `- NAME: VALUE`, without backticks.
    fn field(&self, name: &str) -> Option<String> {
        let line = self
            .text
            .lines()
            .find_map(|line| line.strip_prefix("- ")?.strip_prefix(name)?.strip_prefix(':'))?;
        shown(line.trim().trim_matches('`'))
    }

    fn verdict(&self) -> Option<String> {
        let words = self.text.lines().find_map(|line| {
            line.trim_start_matches(['>', '-', ' ', '✅', '❌', '⚠', '\u{fe0f}', '*'])
                .strip_prefix("Overall verdict:")
        })?;
        shown(words.trim().trim_end_matches('*').split(" — ").next()?)
    }

    /// `4 evaluation tasks` of either layout.
    fn tasks(&self) -> Option<usize> {
        let line = self.field("Dataset").or_else(|| self.field("Tasks"))?;
        line.split_whitespace().next()?.parse().ok().filter(|tasks| *tasks > 0)
    }

    /// The agents, each with its cell of the row in question.
    fn agent_cells(&self) -> Result<Option<Vec<(String, String)>>, ResultError> {
        let rows: Vec<Vec<&str>> = self.text.lines().filter_map(cells).collect();
        let is_head = |row: &&Vec<&str>| {
            matches!(row.first(), Some(&("Dimension" | "Measure"))) && !row.contains(&"Question")
        };
        let Some(head) = rows.iter().find(is_head) else { return Ok(None) };
        let Some(row) = rows.iter().find(|row| row.first() == Some(&MEASURE) && row.len() == head.len())
        else {
            return Err(self.fail(&format!("its table has no row {MEASURE}")));
        };
        let first = if head.get(1) == Some(&"Num") { 2 } else { 1 };
        let agents = head.iter().skip(first).map(|agent| {
            let plain = agent.replace('`', "");
            plain.split(" (Baseline").next().unwrap_or_default().trim().to_owned()
        });
        let values = row.iter().skip(first).map(|cell| (*cell).to_owned());
        Ok(Some(agents.zip(values).collect()))
    }
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// The rates with the skill and without it and the uplift, of `86% (+63%)` or of `60% → 88% (+28 points)`.
fn read_cell(cell: &str) -> Option<(f64, f64, f64)> {
    let (rates, uplift) = cell.strip_suffix(')')?.split_once(" (")?;
    let number = |text: &str| {
        text.trim().trim_end_matches(" points").trim_end_matches('%').replace('±', "").parse::<f64>().ok()
    };
    let percent = |value: f64| (value.is_finite() && value.abs() <= 100.0).then_some(value / 100.0);
    let rate = |text: &str| number(text).and_then(percent).filter(|rate| *rate >= 0.0);
    let delta = number(uplift).and_then(percent)?;
    Some(match rates.split_once(" → ") {
        Some((without, with)) => (rate(with)?, rate(without)?, delta),
        None => (rate(rates)?, (rate(rates)? - delta).clamp(0.0, 1.0), delta),
    })
}
