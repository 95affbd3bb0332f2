//! A report as a comment of at most [`LINES`] lines, in Markdown.

use assay_analysis::explore::{FailingCondition, FailingTask};
use assay_analysis::{Comparison, Report, VerdictKind};

use crate::inline::{code, words};
use crate::next_steps::next_step;
use crate::sentences::{answer, outcome};
use crate::text::{clean, counted, level, points_between, pp, usd};

/// The most lines of a comment.
pub(crate) const LINES: usize = 15;

/// Comparisons in the table.
const ROWS: usize = 4;

/// Remaining failures that are named.
const FAILURES: usize = 3;

/// The answer, the verdicts, what was lost and spent, what still fails, and how to get the rest.
pub(crate) fn comment(report: &Report) -> String {
    let mut lines = vec![format!("**{}**", words(&answer(report)))];
    if !report.measures_a_model {
        lines.push("Demonstration: no model was measured.".to_owned());
    }
    if !report.comparisons.is_empty() {
        lines.push(String::new());
        lines.push("| condition | verdict | lift | CI | tasks |".to_owned());
        lines.push("| --- | --- | ---: | ---: | ---: |".to_owned());
        let several = report.comparisons.iter().any(|found| found.who != report.comparisons[0].who);
        lines.extend(report.comparisons.iter().take(ROWS).map(|found| row(found, several)));
        lines.push(String::new());
    }
    if let Some(more) = report.comparisons.len().checked_sub(ROWS).filter(|more| *more > 0) {
        lines.push(format!("{} more in the full report.", counted(more, "comparison", "comparisons")));
    }
    lines.push(facts(report));
    lines.extend(failures(report));
    lines.extend(
        report
            .next_steps
            .first()
            .map(|step| format!("Next: {}", words(&clean(&next_step(step, report.experiment.as_deref()))))),
    );
    lines.push(format!("Full report: `assay report {}`", clean(&report.run)));
    lines.truncate(LINES);
    lines.join("\n") + "\n"
}

fn row(found: &Comparison, several: bool) -> String {
    let who = if several { format!(" · {}", code(&clean(found.who.short()))) } else { String::new() };
    let sign = match found.verdict {
        Some(VerdictKind::Helps) => "▲",
        Some(VerdictKind::Harms) => "▼",
        Some(VerdictKind::Negligible) => "■",
        Some(VerdictKind::Inconclusive) => "○",
        None => "…",
    };
    let interval = found.family.map_or_else(
        || "–".to_owned(),
        |family| format!("{} ({})", points_between(Some([family.low, family.high])), level(family.level)),
    );
    let condition = format!("{}{who}", code(&clean(&found.condition))).replace('|', "\\|");
    let lift = found.lift.map_or_else(|| "–".to_owned(), pp);
    format!("| {condition} | {sign} {} | {lift} | {interval} | {} |", found.word(), found.tasks)
}

/// What was compared, trials, infrastructure errors and known cost.
fn facts(report: &Report) -> String {
    let sum = |of: fn(&assay_analysis::Arm) -> usize| report.arms.iter().map(of).sum::<usize>();
    let mut parts = vec![
        outcome(report),
        counted(sum(|arm| arm.trials), "valid trial", "valid trials"),
        counted(sum(|arm| arm.infrastructure), "infrastructure error", "infrastructure errors"),
    ];
    let unfinished = sum(|arm| arm.unfinished);
    if unfinished > 0 {
        parts.push(format!("{unfinished} not executed"));
    }
    let costs: Vec<f64> =
        report.arms.iter().filter_map(|arm| Some(arm.cost_usd? * arm.trials as f64)).collect();
    if !costs.is_empty() && costs.len() == report.arms.len() {
        parts.push(format!("{} in total", usd(costs.iter().sum())));
    }
    if let Some(agent) = report.provenance.agents.first() {
        let model =
            agent.model.as_ref().map_or(String::new(), |model| format!(" with {}", code(&clean(model))));
        let more = match report.provenance.agents.len() {
            1 => String::new(),
            all => format!(" and {} more", counted(all - 1, "agent", "agents")),
        };
        parts.push(format!("{}{model}{more}", code(&clean(&agent.agent))));
    }
    parts.extend(report.provenance.measured.as_ref().map(|[_, last]| last.chars().take(10).collect()));
    parts.join(" · ")
}

/// The tasks that fail most under the condition that the run is made for, in one line.
fn failures(report: &Report) -> Option<String> {
    let chief =
        report.primary.as_deref().or(report.comparisons.first().map(|found| found.condition.as_str()));
    let all: Vec<(&FailingTask, &FailingCondition)> = report
        .exploration
        .failing_tasks
        .iter()
        .filter_map(|task| {
            let own = task.conditions.iter().find(|found| chief.is_none_or(|chief| found.condition == chief));
            Some((task, own?))
        })
        .collect();
    let named: Vec<String> = all
        .iter()
        .take(FAILURES)
        .map(|(task, found)| {
            let check = match found.checks.as_slice() {
                [] => String::new(),
                [check] => format!("{} of ", code(&clean(check))),
                checks => format!("{} of ", counted(checks.len(), "check", "checks")),
            };
            let (task, condition) = (code(&clean(&task.task)), code(&clean(&found.condition)));
            format!("{check}{task} under {condition} ({}/{})", found.failed, found.trials)
        })
        .collect();
    let more = match all.len().checked_sub(FAILURES) {
        Some(more) if more > 0 => format!("; {}", counted(more, "more task", "more tasks")),
        _ => String::new(),
    };
    (!named.is_empty()).then(|| format!("Remaining failures: {}{more}", named.join("; ")))
}
