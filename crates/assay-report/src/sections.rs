//! The sections of a report, and their content.

use std::collections::BTreeSet;

use assay_analysis::{AgentKey, Comparison, Provenance, Report};

use crate::doc::{Block, Document, Grid, Level, Section, Verdict};
use crate::labels::Labels;
use crate::links::Target;
use crate::next_steps::next_step;
use crate::sentences::{answer, groups, lost, outcome, replied, sentence, who};
use crate::text::{clean, count, counted};
use crate::{grids, judged, metrics, plot};

/// Arranges a report into sections.
pub(crate) fn document(report: &Report) -> Document {
    let labels = Labels::of(report);
    let sections = [
        verdicts(report, &labels),
        arms(report, &labels),
        judged::section(report, &labels),
        metrics::section(report, &labels),
        agents(report),
        controls(report),
        tasks(report, &labels),
        tests(report, &labels),
        residual(report, &labels),
        cost(report, &labels),
        variance(report, &labels),
        strata(report, &labels),
        exclusions(report),
        provenance(report),
        next_steps(report),
        reading(report, &labels),
    ];
    Document {
        run: clean(&report.run),
        outcome: outcome(report),
        demonstration: (!report.measures_a_model)
            .then_some("Demonstration: no model was measured. The figures only show what assay prints."),
        answer: answer(report),
        provenance: provenance_line(&report.provenance),
        facts: facts(report, &labels),
        notes: report.notes.iter().map(|note| clean(&crate::notes::note(note))).collect(),
        sections: sections.into_iter().filter(|section| !section.blocks.is_empty()).collect(),
    }
}

fn facts(report: &Report, labels: &Labels) -> String {
    let mut tasks: Vec<&str> = report.tasks.iter().map(|row| row.task.as_str()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let trials: usize = report.arms.iter().map(|arm| arm.trials).sum();
    let mut agents: Vec<&AgentKey> = report.arms.iter().map(|arm| &arm.who).collect();
    agents.dedup();
    // Several agents are named above their results.
    let mut facts = match agents.as_slice() {
        [agent] => labeled(agent),
        _ => Vec::new(),
    };
    let cells = report.tasks.iter().flat_map(|row| &row.arms);
    let repetitions: BTreeSet<usize> =
        cells.map(|arm| arm.trials + arm.infrastructure).filter(|executed| *executed > 0).collect();
    let baseline = report.comparisons.first().map(|comparison| clean(&comparison.baseline));
    let baseline = baseline.map_or_else(String::new, |name| format!(" (baseline: `{name}`)"));
    facts.extend([
        counted(tasks.len(), "task", "tasks"),
        if labels.several() {
            format!("{}{baseline}", counted(report.arms.len(), "arm", "arms"))
        } else {
            format!("{}{baseline}", counted(report.arms.len(), "condition", "conditions"))
        },
    ]);
    // Where all tasks have the same number.
    if let [repetitions] = repetitions.iter().copied().collect::<Vec<_>>()[..] {
        facts.push(counted(repetitions, "repetition", "repetitions"));
    }
    facts.push(counted(trials, "valid trial", "valid trials"));
    facts.extend(not_executed(report));
    facts.push(format!("equivalence margin ±{:.0} percentage points (pp)", 100.0 * report.margin));
    facts.extend(family(report));
    facts.join(" · ")
}

/// How much of the run was not executed.
fn not_executed(report: &Report) -> Option<String> {
    let controls = report.negative_controls.iter().flat_map(|controls| &controls.arms);
    let arms = || report.arms.iter().chain(controls.clone());
    let missing: usize = arms().map(|arm| arm.unfinished).sum();
    let planned: usize = arms().map(|arm| arm.planned).sum();
    (missing > 0)
        .then(|| format!("{} of {} not executed", count(missing as f64), counted(planned, "trial", "trials")))
}

/// Agent, model and sandbox, each with a label.
fn labeled(key: &AgentKey) -> Vec<String> {
    let model = key.model.as_ref().map(|model| format!("model: {}", clean(model)));
    let agent = format!("agent: {}", clean(&key.agent));
    let sandbox = format!("sandbox: {}", clean(&key.sandbox));
    [Some(agent), model, Some(sandbox)].into_iter().flatten().collect()
}

/// Which comparisons share an error rate of 5%.
fn family(report: &Report) -> Option<String> {
    let primary = report.comparisons.iter().filter(|comparison| comparison.primary).count();
    let others = report.comparisons.len() - primary;
    let level = |comparison: &Comparison| comparison.family.map_or(0.95, |family| family.level);
    let alone = report.comparisons.iter().all(|found| !found.primary || (level(found) - 0.95).abs() < 1e-9);
    match (&report.primary, primary, others) {
        (_, 0, 0 | 1) => None,
        (Some(name), 1, 0) => Some(format!("primary comparison: `{}` against the baseline", clean(name))),
        (Some(name), 1, others) if alone => Some(format!(
            "primary comparison: `{}` against the baseline, judged by its 95% CI · {}",
            clean(name),
            counted(others, "other comparison", "other comparisons, Bonferroni-adjusted")
        )),
        (Some(name), primary, others) if primary > 0 => Some(format!(
            "{} (`{}` against the baseline) and {}, Bonferroni-adjusted separately",
            counted(primary, "primary comparison", "primary comparisons"),
            clean(name),
            counted(others, "other", "others")
        )),
        _ => Some(format!("{}, Bonferroni-adjusted", counted(others, "comparison", "comparisons"))),
    }
}

fn verdicts(report: &Report, labels: &Labels) -> Section {
    Section {
        title: "Verdicts",
        level: Level::Summary,
        blocks: comparison_blocks(&report.comparisons, report.margin, labels),
    }
}

/// Comparisons as a plot, as verdicts and as a table.
fn comparison_blocks(comparisons: &[Comparison], margin: f64, labels: &Labels) -> Vec<Block> {
    let mut blocks: Vec<Block> =
        plot::forest(comparisons, margin, labels).map(Block::Plot).into_iter().collect();
    for (who, comparisons) in groups(comparisons, |item| who(&item.who)) {
        if labels.several() {
            blocks.push(Block::Who(who));
        }
        blocks.extend(comparisons.into_iter().map(|comparison| verdict(comparison, margin)));
    }
    if !comparisons.is_empty() {
        blocks.push(Block::Grid(grids::comparisons(comparisons, labels).into_folded()));
    }
    blocks
}

fn verdict(comparison: &Comparison, margin: f64) -> Block {
    Block::Verdict(Verdict {
        condition: clean(&comparison.condition),
        baseline: clean(&comparison.baseline),
        kind: comparison.verdict,
        sentence: sentence(comparison, margin),
        target: Some(Target::Comparison {
            who: comparison.who.clone(),
            condition: comparison.condition.clone(),
        }),
    })
}

fn controls(report: &Report) -> Section {
    let mut blocks = Vec::new();
    if let Some(controls) = &report.negative_controls {
        let labels = Labels::new(&controls.arms);
        blocks.push(Block::Text(
            "Tasks on which no skill should help; the expected verdict is `negligible`. They are excluded from all other \
             tables, and their comparisons are Bonferroni-adjusted separately."
                .to_owned(),
        ));
        let mut grids = vec![grids::arms(&controls.arms, &labels)];
        grids.extend(grids::tasks(&controls.tasks, &labels).into_iter().map(Grid::into_detail));
        blocks.extend(comparison_blocks(&controls.comparisons, report.margin, &labels).into_iter().map(
            |block| match block {
                Block::Grid(grid) => Block::Grid(grid.into_detail()),
                block => block,
            },
        ));
        blocks.extend(grids.into_iter().map(Block::Grid));
    }
    Section { title: "Negative controls", level: Level::Summary, blocks }
}

fn arms(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    if report.arms.is_empty() {
        let text = match report.negative_controls {
            None => "No results: none of the tasks could be run and graded on this machine.",
            Some(_) => {
                "No other results: only the negative controls could be run and graded on this machine."
            }
        };
        blocks.push(Block::Text(text.to_owned()));
    }
    if !report.arms.is_empty() {
        blocks.push(Block::Grid(grids::arms(&report.arms, labels)));
        for (who, arms) in groups(&report.arms, |arm| who(&arm.who)) {
            let first = arms.first();
            let models = first.and_then(|arm| replied(report, &arm.who));
            let lines: Vec<String> = models.into_iter().chain(lost(&arms, labels.fractional())).collect();
            if !lines.is_empty() {
                blocks.extend(labels.several().then_some(Block::Who(who)));
                blocks.push(Block::List(lines));
            }
        }
        blocks.extend(plot::exposure(&report.arms, labels).map(Block::Plot));
        blocks.extend(grids::exposure(&report.arms, labels).map(Grid::into_folded).map(Block::Grid));
        blocks.extend(grids::generated(&report.arms, labels).map(Block::Grid));
        if let Some(grid) = grids::activation(report, labels) {
            blocks.push(Block::Grid(grid));
            blocks.push(Block::Text(
                "The lift of the condition whose skills are announced is their utility; `lower` in this table says that \
                 agents lose some of it because they do not notice the skills."
                    .to_owned(),
            ));
        }
    }
    let title = if labels.several() { "Arms" } else { "Conditions" };
    Section { title, level: Level::Summary, blocks }
}

/// Agents side by side, and their contrasts.
fn agents(report: &Report) -> Section {
    let mut blocks: Vec<Block> = grids::models(report).map(Block::Grid).into_iter().collect();
    if let Some(grid) = grids::contrasts(report) {
        blocks.push(Block::Grid(grid));
        blocks.push(Block::Text(format!(
            "The verdict of a contrast is about the difference: `higher`, `lower`, `negligible` (within ±{:.0} pp) or \
             `inconclusive`. All contrasts are Bonferroni-adjusted together, separately from the comparisons with the baseline.",
            100.0 * report.margin
        )));
    }
    Section { title: "Agents", level: Level::Summary, blocks }
}

fn tasks(report: &Report, labels: &Labels) -> Section {
    let mut blocks: Vec<Block> =
        plot::extremes(&report.exploration.gains, &report.exploration.losses, labels)
            .map(Block::Plot)
            .into_iter()
            .collect();
    blocks.extend(
        grids::extremes(&report.exploration.gains, &report.exploration.losses, labels)
            .map(|grid| Block::Grid(grid.into_detail().into_folded())),
    );
    blocks.extend(grids::tasks(&report.tasks, labels).into_iter().map(Block::Grid));
    if !blocks.is_empty() {
        blocks.insert(
            0,
            Block::Text("For exploration only: a single task has too few trials for a verdict.".to_owned()),
        );
    }
    Section { title: "Results by task", level: Level::Summary, blocks }
}

/// Checks of the verifiers that changed against the baseline.
fn tests(report: &Report, labels: &Labels) -> Section {
    let reported = report.exploration.tests.len();
    let compared =
        report.exploration.tests.iter().flat_map(|row| &row.arms).filter(|arm| arm.lift.is_some()).count();
    let (grid, changed) = grids::tests(&report.exploration.tests, report, labels);
    let text = match (reported, changed) {
        (0, _) => None,
        (_, 0) => Some(format!(
            "No check has a different result under a condition than under the baseline (the verifiers report {}).",
            counted(reported, "check", "checks")
        )),
        (_, changed) => {
            let shown = grid.as_ref().map_or(0, |grid| grid.rows.len());
            let rest = match changed - shown {
                0 => String::new(),
                _ => format!(
                    " Only {} shown, those of controls last and the largest first; the report as JSON (`--format json`) lists all.",
                    counted(shown, "difference is", "differences are")
                ),
            };
            Some(format!(
                "For exploration only. The verifiers report {}. Each check is compared between each condition and the baseline, \
                 which gives {}. In {changed} of these comparisons, the check passed in at least half of the \
                 condition's trials but in fewer than half of the baseline's trials, or the reverse.{rest}",
                counted(reported, "check", "checks"),
                counted(compared, "comparison", "comparisons")
            ))
        }
    };
    let blocks = text.map(Block::Text).into_iter().chain(grid.map(Block::Grid)).collect();
    Section { title: "Checks whose result differs from the baseline", level: Level::Tests, blocks }
}

fn cost(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    blocks.extend(plot::frontier(&report.exploration.frontier, labels).map(Block::Plot));
    blocks.extend(
        grids::frontier(&report.exploration.frontier, labels).map(Grid::into_folded).map(Block::Grid),
    );
    if !report.exploration.frontier.unknown_cost.is_empty() {
        let arms: Vec<String> = report
            .exploration
            .frontier
            .unknown_cost
            .iter()
            .map(|arm| labels.arm(&arm.who, &arm.condition))
            .collect();
        blocks.push(Block::Text(format!(
            "The cost per trial is unknown for {}: {}.",
            if labels.several() {
                counted(arms.len(), "arm", "arms")
            } else {
                counted(arms.len(), "condition", "conditions")
            },
            clean(&arms.join(", "))
        )));
    }
    let title = if labels.fractional() { "Cost and score" } else { "Cost and pass rate" };
    Section { title, level: Level::Details, blocks }
}

fn variance(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    if !report.exploration.repetitions.is_empty() {
        blocks.push(Block::Text(
            "The measured lifts of the tasks differ for two reasons: the tasks' true lifts differ, and the results of trials vary by \
             chance. `share from trials` is the share of the variance of lifts that comes from chance in trials. If this share is \
             at most 50%, the number of repetitions is sufficient. Twice as many tasks would narrow the CI by 29%. Twice as many \
             repetitions would narrow the CI by 0 to 29%: the smaller the share from trials, the smaller this effect. Variances are computed from \
             numbers between 0 and 1 (50% is 0.5, and 10 pp is 0.1)."
                .to_owned(),
        ));
        blocks.push(Block::Grid(grids::repetitions(&report.exploration.repetitions, labels)));
    }
    if !report.exploration.variance.is_empty() {
        let rates = if labels.fractional() { "scores" } else { "pass rates" };
        blocks.push(Block::Text(format!(
            "The results of single trials also vary for two reasons. Within a task, results vary by chance. Between tasks, the true \
             {rates} differ. `share between tasks` is the share of the variance of single trials that comes from differences \
             between tasks. `share between tasks` and `share from trials` are not comparable: the first is a share of the \
             variance of single trials, and the second is a share of the variance of lifts, which are means over repetitions."
        )));
        blocks.push(Block::Grid(grids::variance(&report.exploration.variance, labels)));
    }
    Section { title: "Variance and number of repetitions", level: Level::Details, blocks }
}

fn strata(report: &Report, labels: &Labels) -> Section {
    let mut blocks: Vec<Block> =
        grids::strata(&report.exploration.strata, labels).into_iter().map(Block::Grid).collect();
    blocks.extend(grids::pooled(&report.exploration.pooled).map(Block::Grid));
    if !blocks.is_empty() {
        let text = "For exploration only: groups of tasks have no verdict. The 95% CIs of groups are not adjusted for the number of \
                    groups. A group with fewer than 5 tasks or clusters has no CI.";
        blocks.insert(0, Block::Text(text.to_owned()));
    }
    let pooled = !report.exploration.pooled.is_empty();
    let title = if pooled { "Groups of tasks, and all agents pooled" } else { "Groups of tasks" };
    Section { title, level: Level::Details, blocks }
}

/// Tasks that still fail under a condition; those that fail under controls are folded away.
fn residual(report: &Report, labels: &Labels) -> Section {
    let tasks = &report.exploration.failing_tasks;
    let text = |grid: Option<&Grid>, all: usize| {
        let shown = grid.map_or(0, |grid| grid.rows.len());
        if shown == all {
            return String::new();
        }
        format!(" Only the first {shown} of {all} are shown; the report as JSON (`--format json`) lists all.")
    };
    let (grid, all) = grids::failing(tasks, false, labels);
    let (controls, of_controls) = grids::failing(tasks, true, labels);
    let mut blocks = Vec::new();
    if let Some(grid) = grid {
        blocks.push(Block::Text(format!(
            "Valid trials that failed, by task and condition. The checks are those that fail most under the first condition.{}",
            text(Some(&grid), all)
        )));
        blocks.push(Block::Grid(grid));
    }
    if let Some(mut grid) = controls {
        let tasks = counted(of_controls, "task fails", "tasks fail");
        blocks.push(Block::Text(format!(
            "{tasks} under controls, which should not help.{}",
            text(Some(&grid), of_controls)
        )));
        "Failures under controls".clone_into(&mut grid.caption);
        blocks.push(Block::Grid(grid.into_detail().into_folded()));
    }
    Section { title: "Remaining failures", level: Level::Tests, blocks }
}

fn next_steps(report: &Report) -> Section {
    let steps: Vec<String> =
        report.next_steps.iter().map(|step| clean(&next_step(step, report.experiment.as_deref()))).collect();
    let blocks = if steps.is_empty() { Vec::new() } else { vec![Block::List(steps)] };
    Section { title: "Next steps", level: Level::Summary, blocks }
}

/// Most skills named in the line at the top.
const SKILLS: usize = 3;

/// Model, agent, date and skills in one line.
fn provenance_line(provenance: &Provenance) -> String {
    let agents = provenance.agents.iter().map(|agent| {
        let model = agent.model.as_ref().map_or(String::new(), |model| format!(" with {}", clean(model)));
        format!("{} {}{model}", clean(&agent.agent), clean(&agent.version))
    });
    let mut parts: Vec<String> = vec![agents.collect::<Vec<_>>().join(", ")];
    parts.extend(provenance.measured.as_ref().map(|[first, last]| {
        let day = |time: &str| time.chars().take(10).collect::<String>();
        let (first, last) = (day(first), day(last));
        if first == last {
            format!("measured on {first}")
        } else {
            format!("measured from {first} to {last}")
        }
    }));
    // A placebo has the name of the skill that it replaces.
    let measured: Vec<_> = provenance.skills.iter().filter(|skill| skill.measured).collect();
    let skills: Vec<String> = measured
        .iter()
        .take(SKILLS)
        .map(|skill| format!("{} ({})", clean(&skill.name), clean(&short_digest(&skill.digest))))
        .collect();
    if !skills.is_empty() {
        let rest = match measured.len() - skills.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        parts.push(format!("skills: {}{rest}", skills.join(", ")));
    }
    parts.extend(provenance.imported.as_ref().map(|program| format!("imported from {}", clean(program))));
    parts.push(format!("assay {}", provenance.assay_version));
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

/// The first characters of a digest.
fn short_digest(digest: &str) -> String {
    digest.rsplit(':').next().unwrap_or(digest).chars().take(8).collect()
}

/// Where the figures come from.
fn provenance(report: &Report) -> Section {
    let provenance = &report.provenance;
    let mut facts = vec![
        format!("Plan: {} · seed: {}", clean(&provenance.plan), provenance.seed),
        format!("Report computed by assay {}", provenance.assay_version),
    ];
    if let Some([first, last]) = &provenance.measured {
        facts.push(format!("First trial started: {first} · last trial ended: {last}"));
    }
    if !provenance.sandboxes.is_empty() {
        facts.push(format!("Sandbox: {}", clean(&provenance.sandboxes.join(", "))));
    }
    let mut blocks = vec![Block::List(facts), Block::Grid(grids::provenance_agents(provenance))];
    blocks.extend(grids::skills(provenance).map(Block::Grid));
    Section { title: "Provenance", level: Level::Details, blocks }
}

fn exclusions(report: &Report) -> Section {
    let blocks = grids::excluded(&report.excluded).map(Block::Grid).into_iter().collect();
    Section { title: "Excluded", level: Level::Summary, blocks }
}

/// Hake's gain of conditions that lost, for which the normalized gain is another quantity.
fn hake_gains(report: &Report) -> String {
    let of = |comparison: &Comparison| {
        let gain = comparison.hake_gain.filter(|gain| *gain < 0.0)?;
        let gain = format!("{gain:+.2}").replace('-', "−");
        Some(format!("{gain} for `{}`", clean(&comparison.condition)))
    };
    let gains: Vec<String> = report.comparisons.iter().filter_map(of).collect();
    if gains.is_empty() {
        return String::new();
    }
    format!(
        " Hake's gain, which divides a negative lift by the same as a positive one, is {}.",
        gains.join(", ")
    )
}

fn reading(report: &Report, labels: &Labels) -> Section {
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
            "Normalized gain: a positive lift divided by 1 minus the baseline's {rate}, or a negative lift divided by the \
             baseline's {rate}.{} The normalized gain does not affect the verdict. Tasks better/equal/worse: the number of tasks on \
             which the condition's {rate} is higher than the baseline's, equal to the baseline's, and lower.",
            hake_gains(report)
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
