//! Tasks and conditions where no skill should help.

use crate::suite::Suite;
use assay_analysis::VerdictKind;

#[test]
fn negative_controls_are_in_no_other_table() {
    let report = Suite::with_controls("curated", ["FFFFF", "PPPPP"], ["PPPPP", "PPPPP"]).report();
    assert_eq!((report.comparisons[0].tasks, report.comparisons[0].verdict), (6, Some(VerdictKind::Helps)));
    assert_eq!((report.arms[0].tasks, report.arms[0].planned, report.tasks.len()), (6, 30, 6));
    assert_eq!((report.exploration.heat[0].rows.len(), report.exploration.variance[0].tasks), (6, 6));
    let controls = report.negative_controls.unwrap();
    assert_eq!((controls.tasks.len(), controls.arms[1].tasks), (30, 30));
    assert_eq!(
        (controls.comparisons[0].tasks, controls.comparisons[0].verdict),
        (30, Some(VerdictKind::Negligible))
    );
    // They are a separate family.
    assert_eq!(controls.comparisons[0].family.map(|family| family.level), Some(0.95));
}

#[test]
fn run_without_controls_has_no_control_notes() {
    let report = Suite::uniform(&["none", "curated"], &["F", "P"]).report();
    assert_eq!((report.negative_controls, report.notes.len()), (None, 0));
}
