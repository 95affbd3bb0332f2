//! The score of the calibrated auditor.

use assay_audit::calibrated::corpus;
use assay_audit::corpus::Corpus;
use assay_lab::audit::check::check;
use assay_test::shared;

/// On the traces of the release, which are audited for this test alone.
#[test]
#[ignore = "needs shared data"]
fn the_score_tells_runs_that_read_the_skill_from_the_rest() {
    let root = shared("cta");
    let found = Corpus::find(&root).unwrap();
    let audit = corpus(&root, &found, |notice| panic!("{notice:?}"));
    let check = check(&audit.tasks);
    assert_eq!((check.opened, check.tasks), (6, 4));
    let auc = check.auc.as_ref().unwrap();
    assert!(auc.value >= 0.9 && auc.without_one_task >= 0.9, "{auc:?}");
    // Six readers against their controls, and against the other skills.
    assert!(auc.comparisons <= 66, "{auc:?}");
    let of_controls = check.auc_controls.as_ref().unwrap();
    assert!(of_controls.value >= 0.85, "{of_controls:?}");
    // Each run was offered one skill.
    assert_eq!(check.auc_runs.as_ref(), Some(of_controls));
    assert!(check.measured.count as f64 >= 0.6 * check.measured.of as f64, "{:?}", check.measured);
    let placebo = check.placebo_auc.as_ref().and_then(|auc| auc.interval).unwrap();
    assert!(placebo.0 < 0.5 && 0.5 < placebo.1, "{placebo:?}");
    let alarms = check.false_alarms;
    assert!(alarms.of >= 30 && alarms.count as f64 <= 0.05 * alarms.of as f64, "{alarms:?}");
}
