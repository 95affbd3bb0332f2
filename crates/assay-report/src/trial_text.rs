//! One trial, and the trials of a run, as text.

use std::path::Path;

use assay_diagnostic::group_digits;
use assay_store::{Cell, Evidence, Record, RunFolder, TrialId};
use assay_trace::{Source, Trajectory};
use serde_json::Value;

use crate::text::{clean, clean_code, counted, seconds};

/// Most characters of one message or output on a terminal; the files hold all of it.
const SHOWN: usize = 4_000;

/// Most failed checks that are named.
const FAILED_CHECKS: usize = 10;

/// What an attempt left.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrialFiles<'a> {
    /// What was said and done.
    pub trajectory: Option<&'a Trajectory>,
    /// What changed in the work folder.
    pub diff: Option<&'a str>,
    /// What the verifier printed.
    pub verifier: Option<&'a str>,
}

/// The cells of a run with their records, a line each.
pub fn run_cells_text(run: &RunFolder, rows: &[(&Cell, Option<Record>)]) -> String {
    let width = run.tasks.iter().map(|task| task.name.chars().count()).max().unwrap_or_default();
    let condition = run.conditions.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for (cell, record) in rows {
        let outcome = record.as_ref().map_or("unfinished", |record| record.outcome.word());
        let reward = record.as_ref().and_then(|record| record.reward);
        let reward = reward
            .filter(|reward| ![0.0, 1.0].contains(reward))
            .map_or(String::new(), |reward| format!("  reward {reward}"));
        let reason = record
            .as_ref()
            .and_then(|record| record.reason.as_deref())
            .map_or(String::new(), |reason| format!("  {}", clean(reason)));
        text.push_str(&format!(
            "{}  {:width$}  {:condition$}  {:>3}  {outcome}{reward}{reason}\n",
            cell.trial.short(),
            clean(&cell.task),
            cell.condition,
            cell.repetition,
        ));
    }
    text
}

/// A trial with its steps, its changes and the output of its verifier. `attempt` is its folder.
pub fn trial_text(id: &TrialId, record: Option<&Record>, attempt: &Path, files: TrialFiles<'_>) -> String {
    let mut text = trial_heading(id, record, attempt);
    if let Some(trajectory) = files.trajectory {
        for step in &trajectory.steps {
            text.push_str(&steps(step));
        }
    }
    if let Some(diff) = files.diff {
        text.push_str(&format!("\n── changes ──\n{}\n", shorten(diff)));
    }
    if let Some(verifier) = files.verifier {
        text.push_str(&format!("\n── verifier ──\n{}\n", shorten(verifier)));
    }
    text
}

/// What a record says, in a few lines.
pub fn trial_heading(id: &TrialId, record: Option<&Record>, attempt: &Path) -> String {
    let Some(record) = record else {
        return format!("trial {id}\n  unfinished\n");
    };
    let model =
        record.agent.model.as_deref().map_or(String::new(), |model| format!(" with {}", clean(model)));
    let mut text = format!(
        "trial {id}\n  {} · {}{model} · {} · {} · repetition {}\n  {}",
        clean(&record.task),
        clean(&record.agent.name),
        record.condition,
        record.sandbox,
        record.repetition,
        record.outcome.word(),
    );
    if let Some(cause) = record.cause {
        text.push_str(&format!(" ({})", cause.word().replace('_', " ")));
    }
    if let Some(reason) = &record.reason {
        text.push_str(&format!(": {}", clean(reason)));
    }
    if let Some(reward) = record.reward {
        text.push_str(&format!(", reward {reward}"));
    }
    let time = record.seconds.total.map_or_else(|| "time unknown".to_owned(), seconds);
    let turns =
        record.turns.map_or_else(|| "turns unknown".to_owned(), |turns| counted(turns, "turn", "turns"));
    text.push_str(&format!(", {turns}, {time}\n"));
    if let Some(from) = &record.imported_from {
        text.push_str(&format!("  imported from {} ({})\n", clean(&from.file), clean(&from.format)));
    } else if let Some(signature) = &record.signature {
        text.push_str(&format!("  signed with the key {}\n", clean(&signature.key_id)));
    }
    if let Some(ended) = &record.ended {
        let ended = serde_json::to_value(ended).unwrap_or_default();
        let kind = ended.get("kind").and_then(Value::as_str).unwrap_or_default().replace('_', " ");
        text.push_str(&format!("  the agent ended: {kind}\n"));
    }
    if let Some(usage) = &record.usage {
        let cached = [usage.cache_read, usage.cache_write];
        let read = cached.into_iter().fold(usage.input, u64::saturating_add);
        let (read, output) = (counted(read, "token", "tokens"), group_digits(usage.output));
        text.push_str(&format!("  {read} read, {output} written"));
        if let Some(estimated) = &record.estimated {
            let (input, output) = (estimated.usage.input, estimated.usage.output);
            text.push_str(&format!("; estimated: {input} and {output} of them"));
        }
        text.push('\n');
    }
    for (model, replies) in &record.replied_models {
        text.push_str(&format!("  {} replied {}\n", clean(model), counted(*replies, "time", "times")));
    }
    if record.exposure.is_none() {
        text.push_str("  skills: unknown whether any was advertised or opened\n");
    }
    let checks = record.checks();
    if !checks.is_empty() {
        let passed = checks.iter().filter(|check| check.passed() == Some(true)).count();
        text.push_str(&format!("  checks: {passed} of {} passed", checks.len()));
        let failed: Vec<String> = checks
            .iter()
            .filter(|check| check.passed() == Some(false))
            .map(|check| clean(&check.name))
            .collect();
        if !failed.is_empty() {
            let more = failed.len().saturating_sub(FAILED_CHECKS);
            let named = failed.iter().take(FAILED_CHECKS).cloned().collect::<Vec<_>>().join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            text.push_str(&format!("; failed: {named}{more}"));
        }
        text.push('\n');
    }
    for skill in record.skills() {
        let at = |step: Option<usize>| step.map_or_else(|| "never".to_owned(), |step| format!("step {step}"));
        let executed = skill
            .executed
            .as_ref()
            .map_or_else(|| "never".to_owned(), |run| format!("step {} ({})", run.step, clean(&run.file)));
        text.push_str(&format!(
            "  skill {}: advertised {}, mentioned {}, opened {} ({} of {}), executed {executed}\n",
            clean(&skill.skill),
            at(skill.advertised),
            at(skill.mentioned),
            at(skill.opened),
            skill.body_lines_delivered,
            counted(skill.body_lines, "line", "lines"),
        ));
    }
    for (what, list) in [
        ("tampered", &record.tampered),
        ("contaminated", &record.contaminated),
        ("outside the work folder", &record.outside),
    ] {
        for item in list {
            text.push_str(&format!("  {what}: {}\n", clean(item)));
        }
    }
    text.push_str(&lost_evidence(record.evidence.as_ref()));
    text.push_str(&format!("  {}\n", attempt.display()));
    text
}

/// What of the attempt's evidence was not kept; nothing if all of it was.
fn lost_evidence(evidence: Option<&Evidence>) -> String {
    let Some(evidence) = evidence else {
        return "  evidence: unknown whether all of it was kept\n".to_owned();
    };
    let lost = evidence.lost.iter();
    let mut text: String = lost
        .map(|lost| format!("  evidence lost: {}: {}\n", clean(&lost.path), clean(&lost.reason)))
        .collect();
    if evidence.more > 0 {
        text.push_str(&format!("  evidence lost: {} more files\n", evidence.more));
    }
    text
}

fn steps(step: &assay_trace::Step) -> String {
    let who = match step.source {
        Source::System => "system",
        Source::User => "user",
        Source::Agent => "agent",
    };
    let mut text = format!("\n── {} {who} ──\n", step.step_id);
    if !step.message.is_empty() {
        text.push_str(&shorten(&step.message));
        text.push('\n');
    }
    for call in &step.tool_calls {
        let command = call.arguments.get("command").and_then(Value::as_str);
        let command = command.map_or_else(|| call.arguments.to_string(), str::to_owned);
        text.push_str(&format!("$ {}\n", shorten(&command)));
    }
    for result in step.observation.iter().flat_map(|observation| &observation.results) {
        text.push_str(&shorten(result.content.as_deref().unwrap_or_default()));
        text.push('\n');
    }
    text
}

/// Untrusted text for a terminal: line breaks are kept, other control characters are escaped, and long text is cut.
fn shorten(text: &str) -> String {
    let cut: String = text.trim_end().chars().take(SHOWN).collect();
    let more = text.trim_end().chars().count().saturating_sub(SHOWN);
    let mut lines: Vec<String> = cut.split('\n').map(clean_code).collect();
    if more > 0 {
        lines.push(format!("[… {more} characters more …]"));
    }
    lines.join("\n")
}
