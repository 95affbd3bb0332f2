//! The verifiers' tests that a condition turned, in a short table.

use assay_analysis::{Report, TestArm, TestRow};
use comfy_table::{CellAlignment, Table, presets};

use crate::sentences::who;
use crate::text::clean;

/// Most rows; the JSON holds all.
const ROWS: usize = 40;

/// Names are cut here.
const NAME: usize = 60;

/// The tests that a condition turned from failed to passed or back, those that moved most first.
pub fn changed_tests(report: &Report) -> String {
    let mut changed: Vec<(&TestRow, &TestArm)> = report
        .tests
        .iter()
        .flat_map(|row| row.arms.iter().map(move |arm| (row, arm)))
        .filter(|(_, arm)| arm.change.is_some())
        .collect();
    if report.tests.is_empty() {
        return "\nNo verifier of this run told its tests (a CTRF report).\n".to_owned();
    }
    if changed.is_empty() {
        return format!("\nTests: no condition turned any of {}.\n", report.tests.len());
    }
    let moved = |arm: &TestArm| arm.lift.unwrap_or_default().abs();
    // Stable, so that equal moves stay in order of task and name.
    changed.sort_by(|(_, one), (_, other)| moved(other).total_cmp(&moved(one)));
    let several = changed.iter().any(|(row, _)| key(row) != key(changed[0].0));
    let mut table = Table::new();
    let mut header = vec!["task", "test", "condition", "turned", "baseline passed", "here passed"];
    if several {
        header.push("by");
    }
    table.load_style(presets::NOTHING).set_header(header);
    for (row, arm) in changed.iter().take(ROWS) {
        let base = row.arms.iter().find(|base| base.lift.is_none());
        let turned =
            if arm.change == Some("failed_to_passed") { "failed → passed" } else { "passed → failed" };
        let mut cells = vec![
            short(&row.task),
            short(&row.test),
            short(&arm.condition),
            turned.to_owned(),
            base.map_or_else(|| "–".to_owned(), share),
            share(arm),
        ];
        if several {
            cells.push(who(&row.agent, row.model.as_deref(), &row.sandbox));
        }
        table.add_row(cells);
    }
    for column in [4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let more = changed.len().saturating_sub(ROWS);
    let more = if more > 0 { format!("\n… and {more} more; --format json has all") } else { String::new() };
    format!("\nTests that a condition turned (exploratory)\n{}{more}\n", lines.join("\n"))
}

fn key(row: &TestRow) -> (&str, Option<&str>, &str) {
    (&row.agent, row.model.as_deref(), &row.sandbox)
}

fn share(arm: &TestArm) -> String {
    format!("{}/{}", arm.passed, arm.passed + arm.failed)
}

fn short(name: &str) -> String {
    let name = clean(name);
    if name.chars().count() <= NAME {
        return name;
    }
    name.chars().take(NAME - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use assay_analysis::{Gathered, find};
    use assay_trial::RunFolder;
    use serde_json::json;

    use super::*;

    fn arm(condition: &str, passed: usize, lift: Option<f64>, change: Option<&'static str>) -> TestArm {
        TestArm { condition: condition.into(), passed, failed: 4 - passed, lift, change }
    }

    fn row(test: &str, arms: Vec<TestArm>) -> TestRow {
        let (task, agent) = ("ledger".into(), "loop".into());
        TestRow { task, agent, model: None, sandbox: "none".into(), test: test.into(), arms }
    }

    fn text(tests: Vec<TestRow>) -> String {
        let run: RunFolder = serde_json::from_value(json!({
            "schema": "assay.plan/1", "run": "r", "plan": "", "margin": 0.1, "seed": 1, "repetitions": 1,
            "conditions": [], "disclosure": "offered", "agents": [], "tasks": [], "cells": [], "excluded": [],
            "equal_conditions": [],
        }))
        .unwrap();
        let found = find(&run, &Gathered::lay(&run, &[], |_| Ok(None)).unwrap());
        changed_tests(&Report { tests, ..found })
    }

    #[test]
    fn the_turned_ones_stand_in_order_and_names_are_harmless() {
        let base = || arm("none", 1, None, None);
        let found = text(vec![
            row("kept", vec![base(), arm("curated", 1, Some(0.0), None)]),
            row("some", vec![base(), arm("curated", 3, Some(0.5), Some("failed_to_passed"))]),
            row("all\u{1b}[31m", vec![base(), arm("curated", 4, Some(0.75), Some("failed_to_passed"))]),
            row(
                "lost",
                vec![arm("none", 4, None, None), arm("placebo", 0, Some(-1.0), Some("passed_to_failed"))],
            ),
        ]);
        let order: Vec<usize> =
            ["lost", "all", "some"].iter().map(|test| found.find(test).unwrap()).collect();
        assert!(order.is_sorted(), "{found}");
        assert!(!found.contains("kept") && !found.contains('\u{1b}'), "{found}");
        assert!(
            found.contains("passed → failed") && found.contains("4/4") && found.contains("0/4"),
            "{found}"
        );
        assert!(text(vec![row("kept", vec![base()])]).contains("no condition turned any of 1"));
        assert!(text(Vec::new()).contains("No verifier of this run told its tests"));
        let many = (0..50)
            .map(|n| row(&n.to_string(), vec![base(), arm("c", 4, Some(0.75), Some("failed_to_passed"))]));
        assert!(text(many.collect()).contains("and 10 more"));
    }
}
