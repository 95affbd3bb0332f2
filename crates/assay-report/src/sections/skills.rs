//! The lift of each skill.

use assay_analysis::Report;
use assay_analysis::explore::{OverSkills, OverUnits, SkillEffect};

use crate::cells::or_none;
use crate::doc::{Block, Cell, Grid, Level, Section};
use crate::labels::Labels;
use crate::text::{clean, counted, points, points_between};

pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
    let exploration = &report.exploration;
    // With one skill its row repeats the comparison.
    let several = exploration.over_skills.iter().any(|over| over.skills + over.few_tasks > 1);
    let mut blocks = Vec::new();
    if several && !exploration.skills.is_empty() {
        blocks.push(Block::Text(
            "For exploration only: skills have no verdict, and their 95% CIs are not adjusted for the number of skills. The \
             largest of several observed lifts is on average too large: skills are in the order of their shrunk lifts."
                .to_owned(),
        ));
        blocks.push(Block::Grid(skill_grid(&exploration.skills, labels)));
        blocks.extend(over_grid(&exploration.over_skills, labels).map(Block::Grid));
        let left_out = exploration.over_skills.iter().filter_map(|over| left_out(over, labels));
        blocks.extend(left_out.map(Block::Text));
    }
    Section { title: "Results by skill", level: Level::Summary, blocks }
}

fn skill_grid(skills: &[SkillEffect], labels: &Labels) -> Grid {
    let figures =
        ["tasks", "lift", "95% CI", "shrunk lift", "tokens", "tokens 95% CI", "seconds", "seconds 95% CI"];
    let mut grid = labels.grid(
        "Skills with at least 5 tasks (lifts in pp; tokens and seconds as ratios to the baseline)",
        &["skill"],
        &figures,
    );
    grid.detail_columns(&["tokens 95% CI", "seconds 95% CI"]);
    for skill in skills {
        let mut row = labels.cells(&skill.who, &skill.condition);
        row.extend([
            Cell::Name(clean(&skill.name)),
            skill.tasks.into(),
            or_none(skill.lift, points),
            points_between(skill.ci95).into(),
            or_none(skill.shrunk_lift, points),
            or_none(skill.tokens_ratio, ratio),
            or_none(skill.tokens_ratio_ci95, ratios),
            or_none(skill.seconds_ratio, ratio),
            or_none(skill.seconds_ratio_ci95, ratios),
        ]);
        grid.rows.push(row);
    }
    grid
}

fn over_grid(pools: &[OverSkills], labels: &Labels) -> Option<Grid> {
    let mut grid = labels.grid(
        "One estimate over skills, with skills as the sample (in pp)",
        &[],
        &["skills", "lift", "95% CI", "τ", "τ 95% CI", "new skill 95%"],
    );
    for pool in pools.iter().filter(|pool| pool.estimate.lift.is_some()) {
        let mut row = labels.cells(&pool.who, &pool.condition);
        row.push(pool.skills.into());
        row.extend(over_cells(&pool.estimate));
        grid.rows.push(row);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

/// The figures of an estimate over units, after their number.
pub(super) fn over_cells(found: &OverUnits) -> [Cell; 5] {
    [
        or_none(found.lift, points),
        points_between(found.ci95).into(),
        or_none(found.tau, spread),
        or_none(found.tau_ci95, spreads),
        points_between(found.prediction95).into(),
    ]
}

/// A standard deviation in percentage points.
pub(super) fn spread(tau: f64) -> String {
    format!("{:.0}", 100.0 * tau)
}

/// An interval of one.
pub(super) fn spreads([low, high]: [f64; 2]) -> String {
    format!("{} to {}", spread(low), spread(high))
}

/// Why skills of a condition have no estimate.
fn left_out(over: &OverSkills, labels: &Labels) -> Option<String> {
    let mut parts = Vec::new();
    if over.few_tasks > 0 {
        let few = counted(over.few_tasks, "skill has", "skills have");
        parts.push(format!("{few} fewer than 5 tasks"));
    }
    if over.shared_tasks {
        parts.push("there is no estimate over skills, because some tasks have several of them".to_owned());
    }
    let arm = labels.arm(&over.who, &over.condition);
    (!parts.is_empty()).then(|| format!("`{}`: {}.", clean(&arm), parts.join("; ")))
}

fn ratio(ratio: f64) -> String {
    format!("×{ratio:.2}")
}

fn ratios([low, high]: [f64; 2]) -> String {
    format!("{} to {}", ratio(low), ratio(high))
}
