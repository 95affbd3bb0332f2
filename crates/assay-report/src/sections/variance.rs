//! Variance of lifts and of trials.

use assay_analysis::explore::{NextTrials, Repetitions, Variance};
use assay_analysis::{Comparison, Report};

use super::skills::{spread, spreads};
use crate::cells::or_none;
use crate::doc::{Block, Grid, Level, Section};
use crate::labels::Labels;
use crate::text::{percent, points, points_between};

pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    if report.comparisons.iter().any(|comparison| comparison.tau.is_some()) {
        blocks.push(Block::Text(
            "τ is the standard deviation of the tasks' true lifts, without the chance in trials. The prediction interval is for \
             the true lift on one new task of this kind; the CI of the lift is for their mean. `moved` is the share of tasks \
             whose results differ by more than chance, in either direction: an estimate that is on average too low, because few \
             trials do not show small differences."
                .to_owned(),
        ));
        blocks.push(Block::Grid(spread_grid(&report.comparisons, labels)));
    }
    if !report.exploration.repetitions.is_empty() {
        blocks.push(Block::Text(
            "The measured lifts of the tasks differ for two reasons: the tasks' true lifts differ, and the results of trials vary by \
             chance. `share from trials` is the share of the variance of lifts that comes from chance in trials. If this share is \
             at most 50%, the number of repetitions is sufficient, and what narrows the CI is more tasks. Twice as many tasks would narrow the CI by 29%. Twice as many \
             repetitions would narrow the CI by 0 to 29%: the smaller the share from trials, the smaller this effect. Variances are computed from \
             numbers between 0 and 1 (50% is 0.5, and 10 pp is 0.1)."
                .to_owned(),
        ));
        blocks.push(Block::Grid(repetition_grid(&report.exploration.repetitions, labels)));
    }
    if !report.exploration.variance.is_empty() {
        let rates = if labels.fractional() { "scores" } else { "pass rates" };
        blocks.push(Block::Text(format!(
            "The results of single trials also vary for two reasons. Within a task, results vary by chance. Between tasks, the true \
             {rates} differ. `share between tasks` is the share of the variance of single trials that comes from differences \
             between tasks. `share between tasks` and `share from trials` are not comparable: the first is a share of the \
             variance of single trials, and the second is a share of the variance of lifts, which are means over repetitions."
        )));
        blocks.push(Block::Grid(variance_grid(&report.exploration.variance, labels)));
    }
    Section { title: "Variance and number of repetitions", level: Level::Details, blocks }
}

fn spread_grid(comparisons: &[Comparison], labels: &Labels) -> Grid {
    let figures = ["tasks", "lift", "τ", "τ 95% CI", "new task 95%", "moved"];
    let mut grid = labels.grid("Spread of the true lifts over tasks (in pp)", &[], &figures);
    for comparison in comparisons {
        let mut row = labels.cells(&comparison.who, &comparison.condition);
        row.extend([
            comparison.tasks.into(),
            or_none(comparison.lift, points),
            or_none(comparison.tau, spread),
            or_none(comparison.tau_ci95, spreads),
            points_between(comparison.prediction95).into(),
            or_none(comparison.moved, percent),
        ]);
        grid.rows.push(row);
    }
    grid
}

fn repetition_grid(comparisons: &[Repetitions], labels: &Labels) -> Grid {
    let figures = [
        "tasks",
        "variance of lifts",
        "share from trials",
        "2 × repetitions",
        "2 × tasks",
        "repetitions sufficient",
        "add next",
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
            or_none(item.next, |next| next_trials(next).to_owned()),
        ]);
        grid.rows.push(row);
    }
    grid
}

fn variance_grid(variances: &[Variance], labels: &Labels) -> Grid {
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

fn next_trials(next: NextTrials) -> &'static str {
    match next {
        NextTrials::Tasks => "tasks",
        NextTrials::Repetitions => "repetitions",
    }
}

fn narrower(share: f64) -> String {
    let percent = (100.0 * share).round();
    if percent > 0.0 { format!("−{percent:.0}%") } else { "0%".to_owned() }
}
