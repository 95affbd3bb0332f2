//! Audits with the calibrated method, for a terminal.

mod adherence;
mod grid;

use assay_audit::calibrated::{
    ArmFindings, CorpusAudit, Excess, PatternFindings, Rate, Reader, adherence_report,
};

use self::adherence::paragraph;
use crate::text::clean;

pub use self::grid::align_columns;

/// Directives shown for a run; JSON has all.
const SPANS: usize = 6;

/// What an audit found, arm by arm, in lines of at most `width` columns. With `details` also each pattern, task and run
/// with the skill.
pub fn audit_text(audit: &CorpusAudit, details: bool, width: usize) -> String {
    let arms: Vec<String> = audit.arms.iter().map(|found| arm(audit, found, details, width)).collect();
    arms.join("\n")
}

fn arm(audit: &CorpusAudit, arm: &ArmFindings, details: bool, width: usize) -> String {
    let (all, with, without) = (arm.all_runs, arm.runs_with, arm.runs_without);
    let copies = if (all.with, all.without) == (with, without) {
        String::new()
    } else {
        format!("; identical ones counted once: {with} and {without}")
    };
    let head = format!(
        "{}: {} tasks, {} runs with the skill, {} without{copies}",
        clean(&arm.arm),
        arm.tasks,
        all.with,
        all.without
    );
    let mut text = paragraph(&head, 0, 2, width);
    text.push('\n');
    text.push_str(&adherence::headline(arm, width));
    text.push('\n');
    let mut row = |name: &str, value: &str| {
        text.push_str(&paragraph(&format!("{name} {value}"), 2, 12, width).replacen(
            name,
            &format!("{name:<9}"),
            1,
        ));
    };
    let exposure = &arm.exposure;
    row(
        "exposure",
        &format!(
            "listed in {} of {} runs, mentioned in {}, opened in {}, executed in {}; only listed: {}",
            exposure.listed,
            arm.runs_with,
            exposure.mentioned,
            exposure.opened,
            exposure.executed,
            exposure.only_listed
        ),
    );
    row(
        "adopted",
        &arm.adopted.as_ref().map_or_else(
            || "cannot be measured".to_owned(),
            |adopted| {
                format!(
                    "{} runs that opened it, {} that did not, {} without the skill",
                    share(adopted.read),
                    share(adopted.unread),
                    share(adopted.controls)
                )
            },
        ),
    );
    if let Some(excess) = &arm.adoption {
        row("adoption", &sentence(excess));
    }
    text.push_str(&adherence::report(&adherence_report(&arm.arm, &audit.tasks), details, width));
    text.push_str(&findings(arm, width));
    if details {
        text.push('\n');
        text.push_str(&patterns(&arm.patterns));
        if let Some(excess) = &arm.adoption {
            text.push_str(&per_task(excess));
        }
        text.push_str(&amount(arm));
        for reader in &arm.readers {
            text.push_str(&self::reader(reader, width));
        }
    }
    text
}

/// What was found in runs that read the skill and in no control.
fn findings(arm: &ArmFindings, width: usize) -> String {
    let found: Vec<_> = arm.readers.iter().flat_map(|reader| &reader.findings).collect();
    if found.is_empty() {
        return String::new();
    }
    let mut text = format!("\n  Patterns ({})\n", found.len());
    for one in found {
        let name = one.finding.pattern.name().replace('_', " ");
        let head = format!("task {}, {}: {name}", one.task, one.name.describe());
        text.push_str(&paragraph(&clean(&head), 4, 6, width));
        text.push_str(&paragraph(&clean(&one.finding.sentence), 6, 6, width));
    }
    text
}

fn share(rate: Rate) -> String {
    format!("{} of {}", rate.count, rate.of)
}

fn sentence(excess: &Excess) -> String {
    format!(
        "{} with, {} without: excess {}, p {} (smallest possible {}); detectable from {}; {} to {} and p ≤ {} leaving one task out",
        number(excess.treatment),
        number(excess.null),
        number(excess.excess),
        p(excess.p),
        p(excess.smallest_p),
        excess.detectable_from.map_or_else(|| "–".to_owned(), number),
        number(excess.without_one_task.0),
        number(excess.without_one_task.1),
        p(excess.p_without_one_task)
    )
}

fn patterns(patterns: &[PatternFindings]) -> String {
    let head = ["pattern, per pair", "effect", "with", "null", "excess", "p (Holm)", "attributed"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for pattern in patterns {
        let format_excess =
            |value: &dyn Fn(&Excess) -> String| pattern.excess.as_ref().map_or_else(|| "–".to_owned(), value);
        rows.push(vec![
            pattern.pattern.name().replace('_', " "),
            format!("{:?}", pattern.effect).to_lowercase(),
            format_excess(&|e| number(e.treatment)),
            format_excess(&|e| number(e.null)),
            format_excess(&|e| number(e.excess)),
            format_excess(&|e| p(e.p_holm)),
            pattern.attributed.to_string(),
        ]);
    }
    align_columns(&rows) + "\n"
}

fn per_task(excess: &Excess) -> String {
    let mut rows = vec![["adoption by task", "with", "without", "excess"].map(str::to_owned).to_vec()];
    for task in &excess.per_task {
        rows.push(vec![clean(&task.task), number(task.treatment), number(task.null), number(task.excess)]);
    }
    align_columns(&rows) + "\n"
}

fn amount(arm: &ArmFindings) -> String {
    let mut text = String::new();
    let thresholds: Vec<String> = arm
        .sensitivity
        .iter()
        .map(|at| format!("{:.2}: {}/{}/{}", at.threshold, at.read, at.unread, at.controls))
        .collect();
    if !thresholds.is_empty() {
        text.push_str(&format!(
            "  at other thresholds (opened/not opened/controls)  {}\n",
            thresholds.join(", ")
        ));
    }
    let steps = &arm.steps;
    if let (Some(constructive), Some(destructive)) = (steps.constructive_share, steps.destructive_share) {
        let range = |(low, high): (f64, f64)| format!("{:.0}% to {:.0}%", 100.0 * low, 100.0 * high);
        text.push_str(&format!(
            "  steps with a finding  {}: constructive {}, destructive {} ({} both)\n",
            steps.any,
            range(constructive),
            range(destructive),
            steps.both
        ));
    }
    if let Some(cost) = &arm.cost {
        text.push_str(&format!(
            "  tokens  {:.2}× with the skill (mean over {} tasks; median {:.2}×, fewer in {})\n",
            cost.mean_ratio, cost.tasks, cost.median_ratio, cost.cheaper
        ));
    }
    for bucket in &arm.buckets {
        let findings: Vec<String> =
            bucket.findings.iter().map(|(effect, n)| format!("{n} {effect}")).collect();
        text.push_str(&format!(
            "  baseline {}: {} tasks, {} readers, {}; findings: {}\n",
            bucket.bucket,
            bucket.tasks,
            bucket.opened,
            bucket
                .adopted
                .map_or_else(|| "adoption cannot be measured".to_owned(), |count| format!("{count} adopted")),
            if findings.is_empty() { "none".to_owned() } else { findings.join(", ") }
        ));
    }
    for task in &arm.top_tasks {
        text.push_str(&format!(
            "  most findings: {} ({}, adoption {})\n",
            clean(&task.task),
            task.findings,
            measured(task.adoption)
        ));
    }
    text
}

fn reader(reader: &Reader, width: usize) -> String {
    let mut text = format!(
        "\n{}{}",
        paragraph(&clean(&format!("task {}, {}", reader.task, reader.name.describe())), 2, 4, width),
        paragraph(
            &format!(
                "opened the skill in step {}; adoption {}{}",
                reader.opened_at.map_or_else(|| "?".to_owned(), |step| step.to_string()),
                measured(reader.adoption),
                reader.best_placebo.map_or_else(String::new, |score| {
                    format!(", highest among other skills {}", number(score))
                })
            ),
            2,
            4,
            width
        )
    );
    let after = || reader.spans.iter().filter(|span| span.after_opening);
    for span in after().take(SPANS) {
        text.push_str(&paragraph(
            &format!("line {:<4} {}", span.skill_line, adherence::quote(&span.skill_text)),
            4,
            6,
            width,
        ));
        let found = format!("step {} {}: {}", span.step, span.manner, adherence::quote(&span.trace_text));
        text.push_str(&paragraph(&found, 6, 8, width));
    }
    let (more, before) = (after().count().saturating_sub(SPANS), reader.spans.len() - after().count());
    if more + before > 0 {
        text.push_str(&format!(
            "    … {more} more directives, and {before} followed before the skill was read\n"
        ));
    }
    text
}

/// A score, or that there is none.
fn measured(score: Option<f64>) -> String {
    score.map_or_else(|| "cannot be measured".to_owned(), number)
}

fn number(value: f64) -> String {
    format!("{value:.3}").replace('-', "−")
}

fn p(p: f64) -> String {
    if p < 0.001 { format!("{p:.1e}").replace('-', "−") } else { format!("{p:.3}") }
}
