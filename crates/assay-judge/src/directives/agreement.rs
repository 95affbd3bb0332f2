//! What a judge said beside what the rules say.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_audit::SCHEMA;
use assay_audit::adherence::{Location, Status};
use assay_audit::calibrated::RunName;
use assay_audit::directive::Modality;
use assay_diagnostic::{clean, clean_start, counted};
use assay_stats::judge::{Figure, clustered_kappa, proportion};
use serde::Serialize;
use serde_json::{Value, json};

use crate::ask::Undecided;
use crate::figures::{figure_cell, figure_ends, figure_value};

/// The statuses in the order of the table, with their names in JSON and in text.
const STATUSES: [(Status, &str, &str); 4] = [
    (Status::Followed, "followed", "followed"),
    (Status::Violated, "violated", "violated"),
    (Status::NotApplicable, "not-applicable", "not applicable"),
    (Status::Unknown, "unknown", "cannot tell"),
];

/// Disagreements that are shown without `--details`.
const SHOWN: usize = 12;

/// Most characters of a quoted text.
const CHARS: usize = 120;

/// What the judge and the rules say of a directive in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DirectiveVerdict {
    /// The task.
    pub task: String,
    /// The skill.
    pub skill: String,
    /// Condition, repetition and trial, which the judge was not told.
    #[serde(flatten)]
    pub name: RunName,
    /// The trace.
    pub trace: String,
    /// The file of the skill.
    pub file: String,
    /// The line in it, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// The part of the line that is checked.
    pub subject: String,
    /// Whether it demands or forbids.
    pub modality: Modality,
    /// What the rules say.
    pub rules: Status,
    /// What shows it.
    pub rules_location: Option<Location>,
    /// What the judge says, after its quotation was looked up.
    pub judge: Status,
    /// Why the judge's own answer does not count.
    pub undecided: Option<Undecided>,
    /// The step that it names.
    pub step: Option<usize>,
    /// Its quotation.
    pub quote: Option<String>,
    /// Its reason, in its words.
    pub reason: String,
}

impl DirectiveVerdict {
    /// Both decide, and differently.
    fn is_disagreement(&self) -> bool {
        let is_decided = |status: Status| status != Status::Unknown;
        is_decided(self.rules) && is_decided(self.judge) && self.rules != self.judge
    }
}

/// Requests, by what came of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct JudgeCounts {
    pub(super) requests: usize,
    pub(super) answered: usize,
    pub(super) cached: usize,
    pub(super) unreadable: usize,
    pub(super) capped: usize,
    pub(super) without_reply: usize,
    /// Directives of requests without an answer.
    pub(super) unanswered: usize,
}

/// What a judge said of all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectiveJudgement {
    pub(super) model: String,
    pub(super) seed: u64,
    pub(super) runs: usize,
    pub(super) verdicts: Vec<DirectiveVerdict>,
    pub(super) counts: JudgeCounts,
    pub(super) cost_usd: Option<f64>,
}

impl DirectiveJudgement {
    fn count(&self, rules: Status, judge: Status) -> usize {
        self.verdicts.iter().filter(|one| one.rules == rules && one.judge == judge).count()
    }

    /// Answers that do not count, by the reason.
    fn undecided(&self) -> BTreeMap<&'static str, usize> {
        let mut undecided = BTreeMap::new();
        for why in self.verdicts.iter().filter_map(|one| one.undecided) {
            *undecided.entry(why.name()).or_default() += 1;
        }
        undecided
    }

    /// The share of equal answers and Cohen's kappa, of what both decide: neither says that it cannot tell. Directives of a
    /// task are not independent.
    fn agreement(&self) -> (usize, Option<Figure>, Option<Figure>) {
        let mut tasks: Vec<&str> = self.verdicts.iter().map(|one| one.task.as_str()).collect();
        tasks.sort_unstable();
        tasks.dedup();
        let place =
            |status: Status| STATUSES.iter().position(|(own, _, _)| *own == status).unwrap_or_default();
        let is_decided =
            |one: &&DirectiveVerdict| one.rules != Status::Unknown && one.judge != Status::Unknown;
        let pairs: Vec<((usize, usize), Option<usize>)> = self
            .verdicts
            .iter()
            .filter(is_decided)
            .map(|one| ((place(one.rules), place(one.judge)), tasks.binary_search(&one.task.as_str()).ok()))
            .collect();
        let equal: Vec<(bool, Option<usize>)> =
            pairs.iter().map(|(pair, task)| (pair.0 == pair.1, *task)).collect();
        (pairs.len(), proportion(&equal), clustered_kappa(&pairs))
    }

    /// Lines of `assay.audit/2`: one for each directive of each run that was judged, and the comparison last.
    pub fn to_lines(&self) -> Vec<Value> {
        let line = |one: &DirectiveVerdict| {
            let mut value = json!(one);
            if let Value::Object(fields) = &mut value {
                fields.insert("schema".to_owned(), json!(SCHEMA));
                fields.insert("kind".to_owned(), json!("judgement"));
            }
            value
        };
        let mut lines: Vec<Value> = self.verdicts.iter().map(line).collect();
        lines.push(self.to_json());
        lines
    }

    /// The comparison, as the line `judge` of `assay.audit/2`.
    pub fn to_json(&self) -> Value {
        let table: BTreeMap<&str, BTreeMap<&str, usize>> = STATUSES
            .iter()
            .map(|(rules, name, _)| {
                let row = STATUSES.iter().map(|(judge, name, _)| (*name, self.count(*rules, *judge)));
                (*name, row.collect())
            })
            .collect();
        let (decided, agreement, kappa) = self.agreement();
        let counts = self.counts;
        json!({
            "schema": SCHEMA, "kind": "judge", "model": self.model, "seed": self.seed, "runs": self.runs,
            "judged": self.verdicts.len(), "not_judged": counts.unanswered, "table": table,
            "decided_by_both": decided,
            "agreement": {"value": figure_value(agreement), "ci95": figure_ends(agreement)},
            "kappa": {"value": figure_value(kappa), "ci95": figure_ends(kappa)},
            "disagreements": self.disagreements().len(), "undecided": self.undecided(),
            "requests": {
                "all": counts.requests, "answered": counts.answered, "cached": counts.cached,
                "unreadable": counts.unreadable, "capped": counts.capped,
                "without_reply": counts.without_reply,
            },
            "cost_usd": self.cost_usd,
        })
    }

    /// All that was judged, as one document for a pair of runs.
    pub fn to_document(&self) -> Value {
        json!({ "comparison": self.to_json(), "judgements": self.verdicts })
    }

    fn disagreements(&self) -> Vec<&DirectiveVerdict> {
        self.verdicts.iter().filter(|one| one.is_disagreement()).collect()
    }

    /// The comparison and the directives on which both disagree, for people.
    pub fn to_text(&self, details: bool) -> String {
        let mut text = format!(
            "\nJudge {}: {} in {}, beside the rules, whose figures are those above\n",
            clean(&self.model),
            counted(self.verdicts.len(), "directive judged", "directives judged"),
            counted(self.runs, "run", "runs"),
        );
        text.push_str(&format!("  {:<18}", "rules \\ judge"));
        for (_, _, name) in &STATUSES {
            let _ = write!(text, "  {name:>14}");
        }
        text.push('\n');
        for (rules, _, name) in STATUSES {
            text.push_str(&format!("  {name:<18}"));
            for (judge, _, _) in STATUSES {
                text.push_str(&format!("  {:>14}", self.count(rules, judge)));
            }
            text.push('\n');
        }
        let (decided, agreement, kappa) = self.agreement();
        if decided == 0 {
            text.push_str("  decided by both: none, so there is no agreement to state\n");
        } else {
            text.push_str(&format!(
                "  decided by both: {decided}; equal {}; Cohen's kappa {}\n",
                figure_cell(agreement),
                kappa.map_or_else(
                    || "undefined (one answer only)".to_owned(),
                    |kappa| figure_cell(Some(kappa))
                )
            ));
        }
        let undecided: Vec<String> = self
            .undecided()
            .into_iter()
            .map(|(why, count)| format!("{} {count}", why.replace('-', " ").replace("no part", "no step")))
            .collect();
        if !undecided.is_empty() {
            text.push_str(&format!(
                "  answers of the judge that count as cannot tell: {}\n",
                undecided.join(", ")
            ));
        }
        let counts = self.counts;
        let cost = self.cost_usd.map_or_else(String::new, |usd| format!(", ${usd:.4}"));
        text.push_str(&format!(
            "  {} ({} cached{cost})\n",
            counted(counts.requests, "request", "requests"),
            counts.cached
        ));
        text.push_str(&self.disagreement_text(details));
        text
    }

    fn disagreement_text(&self, details: bool) -> String {
        let found = self.disagreements();
        if found.is_empty() {
            return String::new();
        }
        let mut text = format!("  The judge and the rules disagree ({}):\n", found.len());
        let shown = if details { found.len() } else { SHOWN };
        for one in found.iter().take(shown) {
            let name = |status: Status| {
                STATUSES.iter().find(|(own, _, _)| *own == status).map_or("", |(_, _, name)| *name)
            };
            let file = if one.file == "SKILL.md" { String::new() } else { format!("{} ", clean(&one.file)) };
            text.push_str(&format!(
                "    task {}, {}: {file}line {}, {}\n",
                clean(&one.task),
                clean(&one.name.describe()),
                one.line,
                clean_start(&one.subject, CHARS)
            ));
            let rules = one.rules_location.as_ref().map_or_else(String::new, |place| {
                format!(" ({}: {})", step_name(place.step), clean_start(&place.text, CHARS))
            });
            text.push_str(&format!("      rules: {}{rules}\n", name(one.rules)));
            let quote = one.quote.as_ref().map_or_else(String::new, |quote| {
                let step = one.step.map_or_else(String::new, |step| format!("{}: ", step_name(step)));
                format!(" ({step}{})", clean_start(quote, CHARS))
            });
            let reason = if one.reason.trim().is_empty() {
                String::new()
            } else {
                format!("; {}", clean_start(&one.reason, 2 * CHARS))
            };
            text.push_str(&format!("      judge: {}{quote}{reason}\n", name(one.judge)));
        }
        if found.len() > shown {
            text.push_str(&format!("    and {} more (JSON has all)\n", found.len() - shown));
        }
        text
    }

    /// What was not judged, and why.
    pub fn warnings(&self) -> Vec<String> {
        let counts = self.counts;
        let requests = |count: usize| counted(count, "request", "requests");
        let mut warnings = Vec::new();
        if counts.unreadable > 0 {
            warnings.push(format!(
                "{}: no reply to {} can be read, also when asked again",
                self.model,
                requests(counts.unreadable)
            ));
        }
        if counts.capped > 0 {
            warnings.push(format!(
                "--max-usd: {} not sent to {}; the replies so far are kept, and a higher cap asks for the rest",
                requests(counts.capped),
                self.model
            ));
        }
        if counts.without_reply > 0 {
            warnings.push(format!(
                "{}: no reply to {}; run the command again, which uses the replies so far",
                self.model,
                requests(counts.without_reply)
            ));
        }
        if counts.unanswered > 0 {
            warnings.push(format!(
                "{} not judged: neither followed nor violated by the judge",
                counted(counts.unanswered, "directive of a run is", "directives of runs are")
            ));
        }
        warnings
    }
}

fn step_name(step: usize) -> String {
    if step == 0 { "at the end".to_owned() } else { format!("step {step}") }
}
