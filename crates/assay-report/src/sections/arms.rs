//! Conditions, or arms where there are several agents.

use assay_analysis::{Arm, ContrastKind, ContrastVerdict, INTERIM, Report};

use crate::cells::{NONE, or_none};
use crate::doc::{Block, Cell, Grid, Level, Section};
use crate::labels::Labels;
use crate::plot;
use crate::sentences::{groups, lost, replied, who};
use crate::text::{clean, count, percent, percents, points, points_between, seconds, usd};

pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
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
        blocks.push(Block::Grid(arm_grid(&report.arms, labels)));
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
        blocks.extend(exposure_grid(&report.arms, labels).map(Grid::into_folded).map(Block::Grid));
        blocks.extend(generated_grid(&report.arms, labels).map(Block::Grid));
        if let Some(grid) = activation_grid(report, labels) {
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

pub(super) fn arm_grid(arms: &[Arm], labels: &Labels) -> Grid {
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

/// The skill exposure funnel of arms that offer skills.
fn exposure_grid(arms: &[Arm], labels: &Labels) -> Option<Grid> {
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

/// The skills that agents wrote in arms that ask for some.
fn generated_grid(arms: &[Arm], labels: &Labels) -> Option<Grid> {
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

/// What agents lose because they do not notice skills.
fn activation_grid(report: &Report, labels: &Labels) -> Option<Grid> {
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
