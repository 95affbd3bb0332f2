//! The tables of a report.

use assay_analysis::explore::{
    FailingCondition, FailingTask, Frontier, Pooled, Repetitions, Stratum, StratumKind, TestArm, TestChange,
    TestRow, TopTask, TopTasks, Variance,
};
use assay_analysis::{
    AgentKey, Arm, Comparison, ConditionRole, ContrastKind, ContrastVerdict, INTERIM, Provenance, Report,
    TaskRow, TrialId,
};

use crate::doc::{Cell, Column, Grid};
use crate::labels::Labels;
use crate::links::Target;
use crate::sentences::groups;
use crate::text::{clean, count, counted, p_value, percent, percents, points, points_between, seconds, usd};

const NONE: &str = "–";

fn or_none<T>(figure: Option<T>, words: impl FnOnce(T) -> String) -> Cell {
    figure.map_or_else(|| NONE.to_owned(), words).into()
}

/// The trials of a task under a condition.
fn in_cell(task: &str, who: &AgentKey, condition: &str) -> Target {
    Target::Cell { task: task.to_owned(), who: who.clone(), condition: condition.to_owned() }
}

/// Links a cell, counted from the end of a row.
fn link_last(cells: &mut [Cell], from_end: usize, target: Target) {
    if let Some(at) = cells.len().checked_sub(from_end) {
        cells[at] = cells[at].clone().link(target);
    }
}

/// The heading of scores. If all scores are 0 or 1, they are pass rates.
fn rate_name(labels: &Labels) -> &'static str {
    if labels.fractional() { "score" } else { "pass rate" }
}

fn plus_minus(figure: f64) -> String {
    format!("±{:.0}", 100.0 * figure)
}

pub(crate) fn arms(arms: &[Arm], labels: &Labels) -> Grid {
    let interval = if labels.sequential() { "95% CI (one look)" } else { "95% CI" };
    let rates: &[&str] =
        if labels.fractional() { &["score", interval, "pass rate"] } else { &["pass rate", interval] };
    let figures = ["tasks", "valid trials", "infra errors", "tokens", "cost", "time", "turns"];
    let caption = "Results, with mean tokens, cost and time per valid trial";
    let mut grid = labels.grid(caption, &[], &[rates, &figures].concat());
    grid.detail_columns(&["turns"]);
    for arm in arms {
        // A figure is marked where some of it is an estimate.
        let about = |figure: String| if arm.estimated.is_some() { format!("≈{figure}") } else { figure };
        // Without a valid trial there is nothing to know.
        let missing = if arm.trials > 0 { "unknown" } else { NONE };
        let known = |figure: Option<String>| Cell::from(figure.unwrap_or_else(|| missing.to_owned()));
        let mut row = labels.cells(&arm.who, &arm.condition);
        row.extend([or_none(arm.score, percent), percents(arm.score_ci95).into()]);
        row.extend(labels.fractional().then(|| or_none(arm.pass_rate, percent)));
        row.extend([
            arm.tasks.into(),
            arm.trials.into(),
            arm.infrastructure.into(),
            known(arm.tokens.map(|tokens| about(count(tokens)))),
            known(arm.cost_usd.map(|cost| about(usd(cost)))),
            known(arm.seconds.map(seconds)),
            known(arm.turns.map(|turns| format!("{turns:.1}"))),
        ]);
        grid.rows.push(row);
    }
    grid
}

/// The skills that agents wrote in arms that ask for some.
pub(crate) fn generated(arms: &[Arm], labels: &Labels) -> Option<Grid> {
    let heads = ["trials with a skill", "skills", "bytes each", "trials that read one later"];
    let mut grid = labels.grid("Skills that the agent wrote", &[], &heads);
    for arm in arms {
        let Some(written) = &arm.generated else { continue };
        let of_trials = |count: usize| format!("{count}/{}", written.trials);
        let mut row = labels.cells(&arm.who, &arm.condition);
        row.extend([
            of_trials(written.trials_with_skills).into(),
            written.skills.into(),
            or_none(written.bytes_each, count),
            or_none(written.opened, of_trials),
        ]);
        grid.rows.push(row);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

/// The skill exposure funnel of arms that offer skills.
pub(crate) fn exposure(arms: &[Arm], labels: &Labels) -> Option<Grid> {
    let stages = ["offered", "advertised", "mentioned", "opened", "executed"];
    let mut grid = labels.grid("Skill exposure funnel (share of valid trials)", &[], &stages);
    for arm in arms {
        let Some(shares) = arm.exposure.filter(|shares| shares.offered > 0.0) else { continue };
        let mut row = labels.cells(&arm.who, &arm.condition);
        row.extend(
            [shares.offered, shares.advertised, shares.mentioned, shares.opened, shares.executed]
                .map(|share| percent(share).into()),
        );
        grid.rows.push(row);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

pub(crate) fn comparisons(comparisons: &[Comparison], labels: &Labels) -> Grid {
    let passed: &[&str] = if labels.fractional() { &["pass rate lift"] } else { &[] };
    let mut grid = labels.grid(
        "Comparisons with the baseline (lift, CIs, run-to-run noise and MDE in pp)",
        &["verdict"],
        &[
            &["tasks", "lift"],
            passed,
            &[
                "adjusted CI",
                "95% CI",
                "fixed-tasks 95% CI",
                "normalized gain",
                "p (CI)",
                "adjusted p (CI)",
                "run-to-run noise",
                "MDE",
                "tasks better/equal/worse",
            ],
        ]
        .concat(),
    );
    // The sentences of the verdicts have these figures too.
    grid.detail_columns(&["verdict", "tasks", "adjusted CI"]);
    for comparison in comparisons {
        let mut row = labels.cells(&comparison.who, &comparison.condition);
        let [better, equal, worse] = comparison.better_equal_worse;
        let tasks = comparison
            .clusters
            .map_or_else(|| comparison.tasks.to_string(), |_| crate::sentences::units(comparison));
        row.extend([comparison.word().into(), tasks.into(), or_none(comparison.lift, points)]);
        row.extend(labels.fractional().then(|| or_none(comparison.pass_rate_lift, points)));
        row.extend([
            points_between(comparison.family.map(|family| [family.low, family.high])).into(),
            points_between(comparison.ci95).into(),
            points_between(comparison.fixed_tasks_ci95).into(),
            or_none(comparison.normalized_gain, |gain| format!("{gain:+.2}").replace('-', "−")),
            p_value(comparison.p_interval).into(),
            p_value(comparison.p_interval_adjusted).into(),
            or_none(comparison.run_to_run_noise, plus_minus),
            // No lift is larger than 100 pp.
            or_none(comparison.mde, |mde| if mde > 1.0 { ">100".to_owned() } else { plus_minus(mde) }),
            format!("{better}/{equal}/{worse}").into(),
        ]);
        grid.rows.push(row);
    }
    grid
}

/// One table for each agent in each sandbox.
pub(crate) fn tasks(rows: &[TaskRow], labels: &Labels) -> Vec<Grid> {
    let key = |row: &TaskRow| labels.group(&row.who).unwrap_or_default();
    let fractional = labels.fractional();
    groups(rows, key).into_iter().map(|(who, rows)| task_table(&who, &rows, fractional)).collect()
}

fn task_table(who: &str, rows: &[&TaskRow], fractional: bool) -> Grid {
    // A task need not have every condition.
    let mut conditions: Vec<&str> = Vec::new();
    for arm in rows.iter().flat_map(|row| &row.arms) {
        if !conditions.contains(&arm.condition.as_str()) {
            conditions.push(&arm.condition);
        }
    }
    let mut caption = if fractional {
        "Mean score, trials passed and, in brackets, the lift in pp".to_owned()
    } else {
        "Trials passed and, in brackets, the lift in pp".to_owned()
    };
    if !who.is_empty() {
        caption.replace_range(..1, &caption[..1].to_lowercase());
        caption = format!("{}: {caption}", clean(who));
    }
    let mut grid = Grid::new(&caption, &["task"], &[]);
    let column = |condition: &&str| Column::new(Cell::Name(clean(condition)), true);
    grid.columns.extend(conditions.iter().map(column));
    for row in rows {
        let mut cells = vec![Cell::Name(clean(&row.task))];
        for condition in &conditions {
            let arm = row.arms.iter().find(|arm| arm.condition == *condition);
            let text = or_none(arm, |arm| {
                let lift = arm.lift.map_or(String::new(), |lift| format!(" ({})", points(lift)));
                let lost = match arm.infrastructure {
                    0 => String::new(),
                    errors => format!(", {}", counted(errors, "infra error", "infra errors")),
                };
                let score = arm.score.filter(|_| fractional);
                let score = score.map_or(String::new(), |score| format!("{}, ", percent(score)));
                format!("{score}{}/{}{lift}{lost}", arm.passed, arm.trials)
            });
            let target = in_cell(&row.task, &row.who, condition);
            cells.push(match arm.map(|arm| (text.clone().link(target), arm.score)) {
                Some((cell, Some(score))) => Cell::Shaded(Box::new(cell), score),
                Some((cell, None)) => cell,
                None => text,
            });
        }
        grid.rows.push(cells);
    }
    grid
}

pub(crate) fn extremes(gains: &[TopTasks], losses: &[TopTasks], labels: &Labels) -> Option<Grid> {
    let baseline = if labels.fractional() { "baseline score" } else { "baseline pass rate" };
    let figures = [baseline, rate_name(labels), "lift (pp)"];
    let mut grid =
        labels.grid("Largest gains and losses (at most 5 of each per condition)", &["task"], &figures);
    for (gains, losses) in gains.iter().zip(losses) {
        let tasks: Vec<&TopTask> = gains.tasks.iter().chain(&losses.tasks).collect();
        for task in tasks {
            let mut row = labels.cells(&gains.who, &gains.condition);
            row.extend([
                Cell::Name(clean(&task.task)),
                percent(task.baseline_score).into(),
                percent(task.score).into(),
                points(task.lift).into(),
            ]);
            grid.rows.push(row);
        }
    }
    (!grid.rows.is_empty()).then_some(grid)
}

pub(crate) fn frontier(frontier: &Frontier, labels: &Labels) -> Option<Grid> {
    let mut grid =
        labels.grid("", &[], &["point", "cost per trial", rate_name(labels), "95% CI", "on frontier"]);
    for (number, point) in frontier.points.iter().enumerate() {
        let mut row = labels.cells(&point.who, &point.condition);
        row.extend([
            (number + 1).into(),
            usd(point.cost_usd).into(),
            percent(point.score).into(),
            percents(point.score_ci95).into(),
            if point.on_frontier { "yes" } else { "no" }.into(),
        ]);
        grid.rows.push(row);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

/// The most checks in a table; the JSON has all.
const TESTS: usize = 40;

/// The checks that changed between failed and passed, and their number. Those of the primary condition come first and
/// those of controls last, each with the largest change first: the table is cut.
pub(crate) fn tests(tests: &[TestRow], report: &Report, labels: &Labels) -> (Option<Grid>, usize) {
    let mut changed: Vec<(&TestRow, &TestArm)> = tests
        .iter()
        .flat_map(|row| row.arms.iter().map(move |arm| (row, arm)))
        .filter(|(_, arm)| arm.change.is_some())
        .collect();
    let moved = |arm: &TestArm| arm.lift.unwrap_or_default().abs();
    let rank = |arm: &TestArm| {
        let role = report.arms.iter().find(|known| known.condition == arm.condition).map(|known| known.role);
        match role {
            _ if report.primary.as_ref() == Some(&arm.condition) => 0,
            Some(ConditionRole::Placebo | ConditionRole::Negative) => 2,
            _ => 1,
        }
    };
    // Stable, so that equal moves stay in order of task and name.
    changed.sort_by(|(_, one), (_, other)| {
        rank(one).cmp(&rank(other)).then(moved(other).total_cmp(&moved(one)))
    });
    let share = |arm: &TestArm| format!("{}/{}", arm.passed, arm.passed + arm.failed);
    let words = ["task", "check", "most trials"];
    let mut grid = labels.grid("", &words, &["baseline passed", "passed"]);
    grid.grouped = false;
    for (row, arm) in changed.iter().take(TESTS) {
        let baseline = row.arms.iter().find(|other| other.lift.is_none());
        let to_passed = arm.change == Some(TestChange::FailedToPassed);
        let mut cells = labels.cells(&row.who, &arm.condition);
        cells.extend([
            Cell::Name(clean(&row.task)),
            match &row.first_failed {
                Some(trial) => Cell::Name(clean(&row.test))
                    .link(Target::Trial { trial: trial.clone(), check: Some(row.test.clone()) }),
                None => Cell::Name(clean(&row.test)),
            },
            if to_passed { "failed → passed" } else { "passed → failed" }.into(),
            or_none(baseline, share),
            share(arm).into(),
        ]);
        if let Some(baseline) = baseline {
            link_last(&mut cells, 2, in_cell(&row.task, &row.who, &baseline.condition));
        }
        link_last(&mut cells, 1, in_cell(&row.task, &row.who, &arm.condition));
        grid.rows.push(cells);
    }
    ((!grid.rows.is_empty()).then_some(grid), changed.len())
}

/// Trials that a row names; the JSON has all.
const TRIALS: usize = 3;

/// Checks that a row names; the JSON has all.
const CHECKS: usize = 3;

/// The tasks that fail under treatments, or under controls, and the number of all: a row for each, with the trials that
/// failed by condition.
pub(crate) fn failing(tasks: &[FailingTask], controls: bool, labels: &Labels) -> (Option<Grid>, usize) {
    let chosen = |task: &FailingTask| -> Vec<FailingCondition> {
        task.conditions.iter().filter(|condition| condition.control == controls).cloned().collect()
    };
    let rows: Vec<(&FailingTask, Vec<FailingCondition>)> = tasks
        .iter()
        .map(|task| (task, chosen(task)))
        .filter(|(_, conditions)| !conditions.is_empty())
        .collect();
    let shown = &rows[..rows.len().min(TESTS)];
    let mut names: Vec<&str> = Vec::new();
    for condition in shown.iter().flat_map(|(_, conditions)| conditions) {
        if !names.contains(&condition.condition.as_str()) {
            names.push(&condition.condition);
        }
    }
    let agent: &[&str] = if labels.several() { &["agent"] } else { &[] };
    let mut grid = Grid::new("", &[agent, &["task", "checks", "failed trials"]].concat(), &[]);
    grid.columns.extend(names.iter().map(|name| Column::new(Cell::Name(clean(name)), true)));
    for (task, conditions) in shown {
        let Some(first) = conditions.first() else { continue };
        let mut cells: Vec<Cell> =
            labels.group(&task.who).map(|who| Cell::Name(clean(&who))).into_iter().collect();
        cells.extend([Cell::Name(clean(&task.task)), checks(first), trials(first).into()]);
        cells.extend(names.iter().map(|name| {
            let found = conditions.iter().find(|condition| condition.condition == *name);
            found.map_or_else(
                || NONE.into(),
                |found| {
                    let target = in_cell(&task.task, &task.who, name);
                    Cell::from(format!("{}/{}", found.failed, found.trials)).link(target)
                },
            )
        }));
        grid.rows.push(cells);
    }
    ((!grid.rows.is_empty()).then_some(grid), rows.len())
}

/// The checks that fail most, with a link to the first trial in which they do.
fn checks(condition: &FailingCondition) -> Cell {
    let named: Vec<String> = condition.checks.iter().take(CHECKS).map(|check| clean(check)).collect();
    let text = match condition.checks.len() {
        0 => Cell::from("none reported"),
        all if all <= CHECKS => Cell::Name(named.join(", ")),
        all => Cell::Name(format!("{all} checks: {}, …", named.join(", "))),
    };
    match condition.failed_trials.first() {
        Some(trial) => {
            let check = condition.checks.first().cloned();
            text.link(Target::Trial { trial: trial.clone(), check })
        }
        None => text,
    }
}

/// The first trials that failed, and how many more.
fn trials(condition: &FailingCondition) -> String {
    let failed = &condition.failed_trials;
    let mut trials: Vec<&str> = failed.iter().take(TRIALS).map(TrialId::short).collect();
    let rest = format!("and {} more", failed.len() - trials.len());
    if failed.len() > trials.len() {
        trials.push(&rest);
    }
    trials.join(" ")
}

fn narrower(share: f64) -> String {
    let percent = (100.0 * share).round();
    if percent > 0.0 { format!("−{percent:.0}%") } else { "0%".to_owned() }
}

pub(crate) fn repetitions(comparisons: &[Repetitions], labels: &Labels) -> Grid {
    let figures = [
        "tasks",
        "variance of lifts",
        "share from trials",
        "2 × repetitions",
        "2 × tasks",
        "repetitions sufficient",
    ];
    let mut grid = labels.grid(
        "Variance of the tasks' lifts, and predicted change in the width of the lift's CI",
        &[],
        &figures,
    );
    for item in comparisons {
        let mut row = labels.cells(&item.who, &item.condition);
        let share = item.variance.zip(item.noise).filter(|(variance, _)| *variance > 0.0);
        row.extend([
            item.tasks.into(),
            or_none(item.variance, |variance| format!("{variance:.3}")),
            or_none(share, |(variance, noise)| percent((noise / variance).min(1.0))),
            or_none(item.narrower_by_repetitions, narrower),
            or_none(item.narrower_by_tasks, narrower),
            or_none(item.suffice, |suffice| if suffice { "yes" } else { "no" }.to_owned()),
        ]);
        grid.rows.push(row);
    }
    grid
}

pub(crate) fn variance(variances: &[Variance], labels: &Labels) -> Grid {
    let mut grid = labels.grid(
        if labels.fractional() {
            "Variance of single trials, and predicted change in the width of the score's CI"
        } else {
            "Variance of single trials, and predicted change in the width of the pass rate's CI"
        },
        &[],
        &[
            "tasks",
            "trials",
            "variance within tasks",
            "variance between tasks",
            "share between tasks",
            "2 × repetitions",
            "2 × tasks",
        ],
    );
    for arm in variances {
        let mut row = labels.cells(&arm.who, &arm.condition);
        row.extend([
            arm.tasks.into(),
            arm.trials.into(),
            or_none(arm.within, |variance| format!("{variance:.3}")),
            or_none(arm.between, |variance| format!("{variance:.3}")),
            or_none(arm.between_share, percent),
            or_none(arm.narrower_by_repetitions, narrower),
            or_none(arm.narrower_by_tasks, narrower),
        ]);
        grid.rows.push(row);
    }
    grid
}

/// Up to this many strata get a column each; more get a row each.
const BESIDE: usize = 6;

/// A table for each stratification with at least two strata.
pub(crate) fn strata(strata: &[Stratum], labels: &Labels) -> Vec<Grid> {
    groups(strata, |stratum| stratum.by)
        .into_iter()
        .filter_map(|(by, strata)| {
            let caption = match by {
                StratumKind::Domain => "By domain: lift in pp (95% CI) and number of tasks n",
                StratumKind::Difficulty => "By difficulty: lift in pp (95% CI) and number of tasks n",
                StratumKind::Skills => "By number of skills provided: lift in pp (95% CI) and number of tasks n",
                StratumKind::Length => {
                    "By length of the curated skills in tokens (compact <500, standard <1,500, detailed <4,000): lift in pp (95% CI) and \
                     number of tasks n"
                }
                StratumKind::Baseline => {
                    "By score of the baseline in the half of its trials that is not compared (hard below a third, easy above two thirds)"
                }
            };
            let mut parts: Vec<&str> = Vec::new();
            for stratum in &strata {
                if !parts.contains(&stratum.value.as_str()) {
                    parts.push(&stratum.value);
                }
            }
            match parts.len() {
                0 | 1 => None,
                _ if by == StratumKind::Baseline => Some(strata_by_baseline(caption, &strata, labels)),
                2..=BESIDE => Some(strata_as_columns(caption, &parts, &strata, labels)),
                _ => Some(strata_as_rows(caption, &strata, labels)),
            }
        })
        .collect()
}

/// A column for each stratum.
fn strata_as_columns(caption: &str, parts: &[&str], strata: &[&Stratum], labels: &Labels) -> Grid {
    let mut grid = labels.grid(caption, &[], &[]);
    let column = |part: &&str| Column::new(Cell::Name(clean(part)), true);
    grid.columns.extend(parts.iter().map(column));
    for ((who, condition), strata) in groups(strata, |stratum| (&stratum.who, &stratum.condition)) {
        let mut row = labels.cells(who, condition);
        for part in parts {
            let stratum = strata.iter().find(|stratum| stratum.value == *part);
            row.push(or_none(
                stratum.and_then(|stratum| Some((stratum, stratum.lift?))),
                |(stratum, lift)| {
                    let between = stratum
                        .ci95
                        .map_or(String::new(), |ci95| format!(" ({})", points_between(Some(ci95))));
                    format!("{}{between} n={}", points(lift), stratum.tasks)
                },
            ));
        }
        grid.rows.push(row);
    }
    grid
}

/// A row for each stratum.
fn strata_as_rows(caption: &str, strata: &[&Stratum], labels: &Labels) -> Grid {
    let mut grid = labels.grid(caption, &["stratum"], &["tasks", "lift (pp)", "95% CI"]);
    for stratum in strata {
        let mut row = labels.cells(&stratum.who, &stratum.condition);
        row.extend([
            Cell::Name(clean(&stratum.value)),
            stratum.tasks.into(),
            or_none(stratum.lift, points),
            points_between(stratum.ci95).into(),
        ]);
        grid.rows.push(row);
    }
    grid
}

fn strata_by_baseline(caption: &str, strata: &[&Stratum], labels: &Labels) -> Grid {
    let figures = ["tasks", "baseline", "lift (pp)", "95% CI", "tokens", "tokens 95% CI"];
    let mut grid = labels.grid(caption, &["stratum"], &figures);
    let ratio = |ratio: f64| format!("×{ratio:.2}");
    for stratum in strata {
        let mut row = labels.cells(&stratum.who, &stratum.condition);
        row.extend([
            Cell::Name(clean(&stratum.value)),
            stratum.tasks.into(),
            or_none(stratum.baseline_score, |score| format!("{:.0}%", 100.0 * score)),
            or_none(stratum.lift, points),
            points_between(stratum.ci95).into(),
            or_none(stratum.token_ratio, ratio),
            or_none(stratum.token_ratio_ci95, |[low, high]| format!("{} to {}", ratio(low), ratio(high))),
        ]);
        grid.rows.push(row);
    }
    grid
}

/// The models of a run side by side: without and with the skills, and at what cost.
///
/// The columns are those of Table 4 of Tessl's study of 500 skills; the costs are those of the
/// condition with skills.
pub(crate) fn models(report: &Report) -> Option<Grid> {
    let caption = "Without and with skills (lift in pp; time, cost and tokens: means with skills)";
    let figures = ["without", "with", "lift", "minutes", "cost", "tokens in", "tokens out"];
    let mut grid = Grid::new(caption, &["agent", "condition"], &figures);
    let labels = Labels::of(report);
    for comparison in &report.comparisons {
        let arm = |condition: &str| {
            report.arms.iter().find(|arm| arm.who == comparison.who && arm.condition == condition)
        };
        let (Some(base), Some(with)) = (arm(&comparison.baseline), arm(&comparison.condition)) else {
            continue;
        };
        let unknown = |figure: Option<String>| Cell::from(figure.unwrap_or_else(|| "unknown".to_owned()));
        let tokens = with.token_counts;
        grid.rows.push(vec![
            Cell::Name(clean(&labels.group(&comparison.who).unwrap_or_default())),
            Cell::Name(clean(&comparison.condition)),
            or_none(base.score, percent),
            or_none(with.score, percent),
            or_none(comparison.lift, points),
            unknown(with.seconds.map(|seconds| format!("{:.1}", seconds / 60.0))),
            unknown(with.cost_usd.map(usd)),
            unknown(tokens.map(|tokens| count(tokens.prompt()))),
            unknown(tokens.map(|tokens| count(tokens.output))),
        ]);
    }
    (labels.several() && !grid.rows.is_empty()).then_some(grid)
}

/// What agents lose because they do not notice skills.
pub(crate) fn activation(report: &Report, labels: &Labels) -> Option<Grid> {
    let caption = "Activation: skills offered minus the same skills announced (differences and CIs in pp)";
    let mut grid =
        labels.grid(caption, &["minus condition", "verdict"], &["tasks", "difference", "adjusted CI"]);
    for contrast in report.contrasts.iter().filter(|contrast| contrast.kind == ContrastKind::Activation) {
        let mut row = labels.cells(&contrast.first, &contrast.condition);
        row.extend([
            Cell::Name(clean(&contrast.baseline)),
            contrast.verdict.map_or(INTERIM, ContrastVerdict::word).into(),
            contrast.tasks.into(),
            or_none(contrast.difference, points),
            points_between(contrast.family.map(|family| [family.low, family.high])).into(),
        ]);
        grid.rows.push(row);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

/// Contrasts between agents.
pub(crate) fn contrasts(report: &Report) -> Option<Grid> {
    let caption = "Contrasts between agents (differences and CIs in pp)";
    let figures = ["tasks", "difference", "adjusted CI"];
    let mut grid = Grid::new(caption, &["contrast", "agent", "minus agent", "verdict"], &figures);
    let labels = Labels::of(report);
    for contrast in &report.contrasts {
        let name = |who| clean(&labels.group(who).unwrap_or_default());
        let (first, second) = (name(&contrast.first), name(&contrast.second));
        let (condition, baseline) = (clean(&contrast.condition), clean(&contrast.baseline));
        let what = match contrast.kind {
            ContrastKind::Lifts => format!("lift of {condition}"),
            ContrastKind::SkillForModel => format!("{condition} minus {baseline}"),
            ContrastKind::Activation => continue,
        };
        grid.rows.push(vec![
            Cell::Name(what),
            Cell::Name(first),
            Cell::Name(second),
            contrast.verdict.map_or(INTERIM, ContrastVerdict::word).into(),
            contrast.tasks.into(),
            or_none(contrast.difference, points),
            points_between(contrast.family.map(|family| [family.low, family.high])).into(),
        ]);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

pub(crate) fn pooled(pools: &[Pooled]) -> Option<Grid> {
    let mut grid =
        Grid::new("All agents pooled", &["condition"], &["agents", "tasks", "lift (pp)", "95% CI"]);
    for pool in pools {
        grid.rows.push(vec![
            Cell::Name(clean(&pool.condition)),
            pool.agents.into(),
            pool.tasks.into(),
            or_none(pool.lift, points),
            points_between(pool.ci95).into(),
        ]);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

pub(crate) fn excluded(excluded: &[assay_analysis::Exclusion]) -> Option<Grid> {
    let mut grid = Grid::new("", &["task", "condition", "reason"], &[]);
    for exclusion in excluded {
        let condition =
            exclusion.condition.as_deref().map_or(Cell::from("all"), |name| Cell::Name(clean(name)));
        grid.rows.push(vec![
            Cell::Name(clean(&exclusion.task)),
            condition,
            Cell::Text(clean(&exclusion.reason)),
        ]);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

/// The provided skills.
pub(crate) fn skills(provenance: &Provenance) -> Option<Grid> {
    let mut grid = Grid::new("Skills", &["skill", "digest", "conditions"], &["tasks", "body tokens"]);
    for skill in &provenance.skills {
        grid.rows.push(vec![
            Cell::Name(clean(&skill.name)).link(Target::Skill { digest: skill.digest.clone() }),
            Cell::Name(clean(&skill.digest)),
            Cell::Name(clean(&skill.conditions.join(", "))),
            skill.tasks.into(),
            count(skill.body_tokens as f64).into(),
        ]);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

/// The agents, with requested and responding models.
pub(crate) fn provenance_agents(provenance: &Provenance) -> Grid {
    let mut columns = vec!["agent", "version", "requested model", "responding model"];
    let has_servers = provenance.agents.iter().any(|agent| agent.server.is_some());
    if has_servers {
        columns.push("server");
    }
    let mut grid = Grid::new("Agents", &columns, &[]);
    for agent in &provenance.agents {
        let model = agent.model.as_ref().map_or_else(|| Cell::from(NONE), |model| Cell::Name(clean(model)));
        let replied = match agent.replied.as_slice() {
            [] => Cell::from(NONE),
            names => Cell::Name(clean(&names.join(", "))),
        };
        let mut row =
            vec![Cell::Name(clean(&agent.agent)), Cell::Name(clean(&agent.version)), model, replied];
        if has_servers {
            let server = agent.server.as_ref();
            row.push(server.map_or_else(|| Cell::from(NONE), |server| Cell::Name(clean(server))));
        }
        grid.rows.push(row);
    }
    grid
}
