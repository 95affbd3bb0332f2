//! The parts of a report that a terminal shows only when asked.

use assay_analysis::Report;

use crate::Style;
use crate::columns::Columns;
use crate::doc::{Block, Cell, Grid, Section};
use crate::labels::Labels;
use crate::sections;
use crate::terminal::{short, wrapped};

/// Cost against pass rate, variance, the parts of the suite, and all agents together, for a terminal.
pub fn details(report: &Report, style: Style) -> String {
    sections::details(report).iter().map(|section| text(section, style)).collect()
}

/// The verifiers' tests that a condition turned from failed to passed or back, for a terminal.
pub fn changed_tests(report: &Report, style: Style) -> String {
    let section = sections::tests(report, &Labels::of(report));
    if section.blocks.is_empty() {
        return "\nNo verifier of this run told its tests (a CTRF report).\n".to_owned();
    }
    text(&section, style)
}

fn text(section: &Section, style: Style) -> String {
    let mut text = format!("\n{}\n", section.title);
    for block in &section.blocks {
        match block {
            Block::Who(words) | Block::Text(words) => sentences(&mut text, words, style),
            Block::List(lines) => lines.iter().for_each(|line| sentences(&mut text, line, style)),
            Block::Verdict(verdict) => sentences(&mut text, &verdict.sentence, style),
            Block::Grid(grid) => table(&mut text, grid, style),
            // Every plot has its table.
            Block::Plot(_) => {}
        }
    }
    text
}

fn sentences(text: &mut String, words: &str, style: Style) {
    for line in wrapped(words, style.sentence() - 1) {
        text.push_str(&format!(" {line}\n"));
    }
}

fn table(text: &mut String, grid: &Grid, style: Style) {
    if !grid.caption.is_empty() {
        sentences(text, &format!("{}:", grid.caption), style);
    }
    let cell = |cell: &Cell| match cell {
        Cell::Name(name) => short(name),
        Cell::Text(words) => words.clone(),
    };
    let mut table = Columns::aligned(grid.columns.iter().map(|column| (cell(&column.title), column.numbers)));
    for row in &grid.rows {
        table.add_row(row.iter().map(cell));
    }
    for line in table.lines(style.table()) {
        text.push_str(&line);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use assay_analysis::AgentKey;
    use assay_analysis::explore::{Exploration, TestArm, TestChange, TestRow};

    use super::*;
    use crate::terminal::tests::whole;

    fn arm(condition: &str, passed: usize, lift: Option<f64>, change: Option<TestChange>) -> TestArm {
        TestArm { condition: condition.into(), passed, failed: 4 - passed, lift, change }
    }

    fn row(test: &str, arms: Vec<TestArm>) -> TestRow {
        let who = AgentKey { agent: "loop".into(), model: None, sandbox: "none".into() };
        TestRow { task: "ledger".into(), who, test: test.into(), arms }
    }

    fn turned(tests: Vec<TestRow>) -> String {
        let exploration = Exploration { tests, ..whole().exploration };
        changed_tests(&Report { exploration, ..whole() }, Style::default())
    }

    #[test]
    fn the_turned_ones_stand_in_order_and_names_are_harmless() {
        let base = || arm("none", 1, None, None);
        let found = turned(vec![
            row("kept", vec![base(), arm("curated", 1, Some(0.0), None)]),
            row("some", vec![base(), arm("curated", 3, Some(0.5), Some(TestChange::FailedToPassed))]),
            row(
                "all\u{1b}[31m",
                vec![base(), arm("curated", 4, Some(0.75), Some(TestChange::FailedToPassed))],
            ),
            row(
                "lost",
                vec![
                    arm("none", 4, None, None),
                    arm("placebo", 0, Some(-1.0), Some(TestChange::PassedToFailed)),
                ],
            ),
        ]);
        let order: Vec<usize> =
            [" lost ", " all", " some "].iter().map(|test| found.find(test).unwrap()).collect();
        assert!(order.is_sorted(), "{found}");
        assert!(!found.contains("kept") && !found.contains('\u{1b}'), "{found}");
        assert!(
            found.contains("passed → failed") && found.contains("4/4") && found.contains("0/4"),
            "{found}"
        );
        assert!(turned(vec![row("kept", vec![base()])]).contains("any of the 1 tests"));
        assert!(turned(Vec::new()).contains("No verifier of this run told its tests"));
        let many = (0..50).map(|n| {
            row(&n.to_string(), vec![base(), arm("c", 4, Some(0.75), Some(TestChange::FailedToPassed))])
        });
        let found = turned(many.collect()).replace("\n ", " ");
        assert!(found.contains("other way round: 50. The 40 that moved most"), "{found}");
    }

    #[test]
    fn what_a_terminal_shows_when_asked() {
        insta::assert_snapshot!(details(&whole(), Style::default()));
    }
}
