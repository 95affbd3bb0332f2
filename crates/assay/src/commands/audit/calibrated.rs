//! The calibrated method.

use assay_audit::calibrated::{
    ArmFindings, Auc, Check, CorpusAudit, Excess, PatternFindings, Rate, Reader, TaskRuns, corpus, pairs,
};
use assay_audit::corpus::Corpus;
use assay_report::clean;

use super::grid::grid;
use super::input;
use super::notices::Notices;
use super::runs::Labels;
use crate::args::audit::{CorpusArgs, PairsArgs};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// Lines of a skill shown for a run; JSON has all.
const SPANS: usize = 6;

pub(super) fn of_corpus(
    args: &CorpusArgs,
    found: &Corpus,
    mut notices: Notices<'_>,
    ui: &Ui,
) -> Result<Status, Failure> {
    let audit = corpus(&args.dir, found, args.check, |notice| notices.report(&notice));
    print(&audit, &Labels::new(), ui)?;
    Ok(notices.status(args.strict))
}

pub(super) fn of_pairs(args: &PairsArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut notices = Notices::new(ui);
    let (skill, prompt) = (input::skill(&args.skill)?, input::prompt(args.task.as_deref())?);
    let mut runs =
        vec![input::run(&args.with, true, &mut notices)?, input::run(&args.without, false, &mut notices)?];
    let mut library = vec![skill.clone()];
    for path in &args.null {
        // A skill is Markdown; everything else is one more run without it.
        if path.extension().is_some_and(|end| end == "md") {
            library.push(input::skill(path)?);
        } else {
            runs.push(input::run(path, false, &mut notices)?);
        }
    }
    let name = input::task_name(&args.skill, &skill);
    let task = TaskRuns { task: name.clone(), skill_name: name, prompt, skill: &skill, runs, baseline: None };
    print(&pairs(&task, &library), &Labels::new(), ui)?;
    Ok(notices.status(args.strict))
}

pub(super) fn print(audit: &CorpusAudit, labels: &Labels, ui: &Ui) -> Result<(), Failure> {
    if ui.json() {
        let mut failed = Ok(());
        audit.lines(|line| {
            if failed.is_ok() {
                failed = ui.raw(&format!("{line}\n"));
            }
        });
        return failed;
    }
    let mut text: String = audit.arms.iter().map(|found| arm(found, labels)).collect::<Vec<_>>().join("\n");
    if let Some(found) = &audit.check {
        text.push_str(&format!("\n{}", check(found)));
    }
    ui.out(&text)
}

fn arm(arm: &ArmFindings, labels: &Labels) -> String {
    let mut text = format!(
        "{}: {} tasks, {} runs with the skill, {} without\n\n",
        clean(&arm.arm),
        arm.tasks,
        arm.runs_with,
        arm.runs_without
    );
    let exposure = &arm.exposure;
    text.push_str(&format!(
        "  exposure    listed in {} of {} runs, mentioned in {}, opened in {}, executed in {}; only listed: {}\n",
        exposure.listed, arm.runs_with, exposure.mentioned, exposure.opened, exposure.executed, exposure.only_listed
    ));
    if exposure.contaminated > 0 {
        text.push_str(&format!(
            "  contaminated: {} controls read the skill from their repository\n",
            exposure.contaminated
        ));
    }
    let adopted = &arm.adopted;
    text.push_str(&format!(
        "  adopted     {} of runs that read it, {} of runs that did not, {} of controls\n",
        rate(adopted.read),
        rate(adopted.unread),
        rate(adopted.controls)
    ));
    if let Some(excess) = &arm.adoption {
        text.push_str(&format!("  adoption    {}\n", sentence(excess)));
    }
    text.push_str(&format!("  verdict     {}\n\n", verdict(arm)));
    text.push_str(&patterns(&arm.patterns));
    if let Some(excess) = &arm.adoption {
        text.push_str(&per_task(excess));
    }
    text.push_str(&amount(arm));
    for reader in &arm.readers {
        text.push_str(&self::reader(reader, labels));
    }
    text
}

fn verdict(arm: &ArmFindings) -> &'static str {
    if arm.exposure.opened == 0 {
        "no run read the skill: nothing is attributed to it; an excess over the null is chance or an effect of the listing"
    } else if arm.beyond_chance {
        "beyond chance"
    } else {
        "nothing beyond chance"
    }
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
    let head = [
        "pattern, per pair",
        "effect",
        "null",
        "with",
        "null mean",
        "excess",
        "p",
        "p (Holm)",
        "detectable from",
        "leave one out",
        "null-plus",
        "attributed",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for pattern in patterns {
        let format_excess =
            |value: &dyn Fn(&Excess) -> String| pattern.excess.as_ref().map_or_else(|| "–".to_owned(), value);
        rows.push(vec![
            pattern.pattern.name().replace('_', " "),
            format!("{:?}", pattern.effect).to_lowercase(),
            if pattern.null.is_empty() { "none".to_owned() } else { pattern.null.clone() },
            format_excess(&|e| number(e.treatment)),
            format_excess(&|e| number(e.null)),
            format_excess(&|e| number(e.excess)),
            format_excess(&|e| p(e.p)),
            format_excess(&|e| p(e.p_holm)),
            format_excess(&|e| e.detectable_from.map_or_else(|| "–".to_owned(), number)),
            format_excess(&|e| {
                format!("{} to {}", number(e.without_one_task.0), number(e.without_one_task.1))
            }),
            pattern.null_plus.map_or_else(|| "–".to_owned(), number),
            pattern.attributed.to_string(),
        ]);
    }
    grid(&rows) + "\n"
}

fn per_task(excess: &Excess) -> String {
    let mut rows = vec![["adoption by task", "with", "without", "excess"].map(str::to_owned).to_vec()];
    for task in &excess.per_task {
        rows.push(vec![clean(&task.task), number(task.treatment), number(task.null), number(task.excess)]);
    }
    grid(&rows) + "\n"
}

fn amount(arm: &ArmFindings) -> String {
    let mut text = String::new();
    let thresholds: Vec<String> = arm
        .sensitivity
        .iter()
        .map(|at| format!("{:.2}: {}/{}/{}", at.threshold, at.read, at.unread, at.controls))
        .collect();
    text.push_str(&format!(
        "  at other thresholds (opened/not opened/controls)  {}\n",
        thresholds.join(", ")
    ));
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
            "  baseline {}: {} tasks, {} readers, {} adopted; findings: {}\n",
            bucket.bucket,
            bucket.tasks,
            bucket.opened,
            bucket.adopted,
            if findings.is_empty() { "none".to_owned() } else { findings.join(", ") }
        ));
    }
    for task in &arm.top_tasks {
        text.push_str(&format!(
            "  most findings: {} ({}, adoption {})\n",
            clean(&task.task),
            task.findings,
            number(task.adoption)
        ));
    }
    text
}

fn reader(reader: &Reader, labels: &Labels) -> String {
    let mut text = format!(
        "\n  {}\n  opened the skill in step {}; adoption {}{}\n",
        clean(labels.get(&reader.trace).unwrap_or(&reader.trace)),
        reader.opened_at.map_or_else(|| "?".to_owned(), |step| step.to_string()),
        number(reader.adoption),
        reader
            .best_placebo
            .map_or_else(String::new, |score| format!(", highest among other skills {}", number(score)))
    );
    let after = || reader.spans.iter().filter(|span| span.after_opening);
    for span in after().take(SPANS) {
        text.push_str(&format!(
            "    line {:<4} {}\n    step {:<4} {}: {}\n",
            span.skill_line,
            format_excerpt(&span.skill_text),
            span.step,
            span.manner,
            format_excerpt(&span.trace_text)
        ));
    }
    let (more, before) = (after().count().saturating_sub(SPANS), reader.spans.len() - after().count());
    if more + before > 0 {
        text.push_str(&format!("    … {more} more lines, and {before} from before the skill was read\n"));
    }
    for finding in &reader.findings {
        let name = finding.pattern.name().replace('_', " ");
        // A finding about the whole run has neither a line nor a step.
        if finding.step == 0 {
            text.push_str(&format!("    {name}: {}\n", format_excerpt(&finding.trace_text)));
            continue;
        }
        text.push_str(&format!(
            "    {name}\n      line {:<4} {}\n      step {:<4} {}\n",
            finding.skill_line,
            format_excerpt(&finding.skill_text),
            finding.step,
            format_excerpt(&finding.trace_text)
        ));
    }
    text
}

fn check(check: &Check) -> String {
    let mut text = format!(
        "Validation of the score on this corpus: {} runs read their skill, in {} tasks\n\n",
        check.opened, check.tasks
    );
    let mut row = |name: &str, value: String| text.push_str(&format!("  {name:<34} {value}\n"));
    row("AUC, controls and other skills", auc(check.auc.as_ref()));
    row("  against controls", auc(check.auc_controls.as_ref()));
    row("  against other skills", auc(check.auc_skills.as_ref()));
    row("  runs above all of both", rate(check.first));
    row("AUC with wrong skills", auc(check.placebo_auc.as_ref()));
    row(&format!("readers at or above {:.2}", check.threshold), rate(check.detected));
    row("controls and unread runs", rate(check.false_alarms));
    row("wrong skills", rate(check.placebo_alarms));
    let sum = |part: fn(&assay_audit::calibrated::LeftOut) -> usize| {
        check.threshold_by_others.iter().map(part).sum()
    };
    row("threshold from other tasks", {
        let thresholds: Vec<String> =
            check.threshold_by_others.iter().map(|left| format!("{:.2}", left.threshold)).collect();
        let detected = Rate::new(sum(|left| left.detected), sum(|left| left.opened));
        let alarms = Rate::new(sum(|left| left.false_alarms), sum(|left| left.unread));
        format!("readers {}, others {}; thresholds {}", rate(detected), rate(alarms), thresholds.join(" "))
    });
    for planted in &check.planted {
        row(&format!("{} planted lines found", planted.lines), rate(planted.detected));
    }
    text
}

fn auc(auc: Option<&Auc>) -> String {
    let Some(auc) = auc else { return "–".to_owned() };
    let interval = auc.interval.map_or_else(String::new, |(low, high)| {
        format!("; by task {:.3} [{low:.3}, {high:.3}]", auc.by_task)
    });
    format!(
        "{:.3} of {} comparisons{interval}; {:.3} without one task",
        auc.value, auc.comparisons, auc.without_one_task
    )
}

fn rate(rate: Rate) -> String {
    format!("{} of {} [{:.3}, {:.3}]", rate.count, rate.of, rate.low, rate.high)
}

fn number(value: f64) -> String {
    format!("{value:.3}").replace('-', "−")
}

fn p(p: f64) -> String {
    if p < 0.001 { format!("{p:.1e}").replace('-', "−") } else { format!("{p:.3}") }
}

fn format_excerpt(text: &str) -> String {
    let cut: String = text.chars().take(160).collect();
    clean(&cut)
}
