//! How to read a report.

use std::collections::BTreeSet;

use assay_analysis::Report;

use crate::doc::{Block, Level, Section};
use crate::labels::Labels;
use crate::text::clean;

pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
    let margin = 100.0 * report.margin;
    let trial = "Trial: one execution of the agent on one task under one condition. Repetitions: the number of trials of each task \
                 under each condition. A trial is valid if it was executed and did not end with an infrastructure error.";
    let rates = if labels.fractional() {
        "A trial's score is its reward, between 0 and 1; it passes with a score of 1. A task's score is the mean over its valid \
         trials, and its pass rate is the share of these trials that passed. Scores, pass rates and lifts are means over tasks, equally \
         weighted. Lift: the condition's score minus the baseline's on the same tasks, in percentage points (pp)."
    } else {
        "A task's pass rate is the share of its valid trials that passed. Pass rates and lifts are means over tasks, equally \
         weighted. Lift: the condition's pass rate minus the baseline's on the same tasks, in percentage points (pp)."
    };
    let rate = if labels.fractional() { "score" } else { "pass rate" };
    let mut seen = BTreeSet::new();
    let arms = report.arms.iter().filter(|arm| seen.insert(&arm.condition));
    let conditions: Vec<String> = arms
        .filter_map(|arm| Some(format!("`{}`: {}.", clean(&arm.condition), arm.role.meaning()?)))
        .collect();
    let mut lines = vec![trial.to_owned()];
    if !conditions.is_empty() {
        lines.push(format!("Conditions. {}", conditions.join(" ")));
    }
    lines.extend([
        rates.to_owned(),
        format!(
            "Verdicts, in the order of decision. `negligible`: two one-sided tests show that the lift is within ±{margin:.0} pp. \
             `helps`: the adjusted CI is above 0. `harms`: the adjusted CI is below 0. `inconclusive`: none of these is shown."
        ),
        "Primary comparison: the comparison that the experiment is made for. Each agent has at most one. The adjusted CI and the two \
         tests are Bonferroni-adjusted: the verdicts of all primary comparisons together have an error rate of 5%, and the \
         verdicts of all other comparisons together also have an error rate of 5%."
            .to_owned(),
        "The adjusted CI and the unadjusted 95% CI treat the tasks as a sample of a larger population. The fixed-tasks 95% CI \
         takes the tasks as given: it shows how much the lift would vary if the same tasks were run again. The fixed-tasks CI \
         does not affect the verdict."
            .to_owned(),
        "MDE (minimum detectable effect): the smallest true lift that this comparison, with its number of tasks and its variance, \
         would detect with 80% power at the level of the adjusted CI. The MDE does not affect the verdict."
            .to_owned(),
        "Run-to-run noise: how large a lift can be by chance alone. The baseline's repetitions of each task are split into two \
         random halves, 1,000 times. The pass rates of the two halves differ by chance alone. Each difference is multiplied \
         by a factor, because a comparison has more trials than two halves. Run-to-run noise is the 95th percentile of the results. Conditions that are compared on the same tasks with equal numbers of trials \
         have the same run-to-run noise. Run-to-run noise does not affect the verdict."
            .to_owned(),
        format!(
            "Normalized change: a positive lift divided by 1 minus the baseline's {rate}, or a negative lift divided by the \
             baseline's {rate}. Hake's gain: the lift divided by 1 minus the baseline's {rate}, also if it is negative. Neither \
             affects the verdict. Tasks better/equal/worse: the number of tasks on \
             which the condition's {rate} is higher than the baseline's, equal to the baseline's, and lower."
        ),
        "p (CI): the p-value that belongs to the confidence interval, for the hypothesis that the true lift is 0; `p_interval` in \
         the report as JSON (`--format json`). Adjusted p (CI): the same times the number of comparisons that are adjusted \
         together, at most 1 (`p_interval_adjusted`). It is at most 0.05 exactly when the adjusted CI excludes 0. The JSON also has \
         the p-values of two other tests, which decide nothing: `p` (sign-flip permutation) and `p_wilcoxon`."
            .to_owned(),
        "Trials with an infrastructure error (`infra errors`) have no result. Such errors make a verdict `inconclusive` in two \
         cases. In the first case, the shares of trials with an infrastructure error differ by more than 5 pp between condition \
         and baseline. In the second case, the verdict depends on how these trials would have ended. assay computes the verdict \
         under two assumptions. First: in the condition, trials with errors would have passed 25 pp more often than valid trials, \
         and in the baseline 25 pp less often. Second: the reverse. If either verdict differs, the verdict is `inconclusive`."
            .to_owned(),
        "Skill exposure funnel: the share of valid trials in which at least one skill of the condition reached a stage. Offered: \
         the skill's files were in the sandbox. Advertised: the model was sent the skill's description, the path of a \
         file of the skill, or a list of skills with an entry for this skill. Mentioned: the model made a tool call with a path in the \
         skill's folder, or called the agent's own tool for loading skills. Opened: at least half of the distinctive lines of \
         the skill's `SKILL.md` reached the model. Executed: a file of the skill was run; a skill without files that can be run \
         counts as not executed."
            .to_owned(),
    ]);
    Section { title: "How to read this report", level: Level::Details, blocks: vec![Block::List(lines)] }
}
