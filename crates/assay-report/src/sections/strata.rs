//! Groups of tasks, and all agents pooled.

use assay_analysis::Report;
use assay_analysis::explore::{OverModels, Pooled, Stratum, StratumKind};

use super::skills::over_cells;
use crate::cells::or_none;
use crate::doc::{Block, Cell, Column, Grid, Level, Section};
use crate::labels::Labels;
use crate::sentences::groups;
use crate::text::{clean, points, points_between};

pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
    let mut blocks: Vec<Block> =
        strata_grids(&report.exploration.strata, labels).into_iter().map(Block::Grid).collect();
    blocks.extend(pooled_grid(&report.exploration.pooled).map(Block::Grid));
    blocks.extend(over_models_grid(&report.exploration.over_models).map(Block::Grid));
    if !blocks.is_empty() {
        let text = "For exploration only: groups of tasks have no verdict. The 95% CIs of groups are not adjusted for the number of \
                    groups. A group with fewer than 5 tasks or clusters has no CI.";
        blocks.insert(0, Block::Text(text.to_owned()));
    }
    let pooled = !report.exploration.pooled.is_empty();
    let title = if pooled { "Groups of tasks, and all agents pooled" } else { "Groups of tasks" };
    Section { title, level: Level::Details, blocks }
}

/// Up to this many strata get a column each; more get a row each.
const BESIDE: usize = 6;

/// A table for each stratification with at least two strata.
fn strata_grids(strata: &[Stratum], labels: &Labels) -> Vec<Grid> {
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

fn pooled_grid(pools: &[Pooled]) -> Option<Grid> {
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

fn over_models_grid(pools: &[OverModels]) -> Option<Grid> {
    let mut grid = Grid::new(
        "Agents as a sample of models, on exactly these tasks (in pp)",
        &["condition"],
        &["agents", "tasks", "lift", "95% CI", "τ", "τ 95% CI", "new model 95%"],
    );
    for pool in pools {
        let mut row = vec![Cell::Name(clean(&pool.condition)), pool.agents.into(), pool.tasks.into()];
        row.extend(over_cells(&pool.estimate));
        grid.rows.push(row);
    }
    (!grid.rows.is_empty()).then_some(grid)
}
