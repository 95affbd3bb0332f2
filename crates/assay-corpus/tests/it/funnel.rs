//! The funnel against the stages that the corpus's makers wrote into its records, and which the funnel cannot see.

use assay_corpus::compare::compare;
use assay_corpus::funnel::{self, Order, Rules};
use assay_corpus::input::Input;

use crate::shared;

#[test]
fn the_corpus_goes_through_as_its_makers_had_it() {
    let Some(path) = shared("skills/corpus_raw.jsonl.zst") else { return };
    let mut input = Input::open(&path).unwrap();
    let outcome =
        funnel::run(&mut input, &Rules::default(), Order::Paper, &mut |bad| panic!("{bad:?}")).unwrap();
    assert_eq!(outcome.records, 35_243);
    let expected = [20_usize, 1_281, 9_023, 5_000, 605];
    for (stage, expected) in outcome.stages.iter().zip(expected) {
        let apart = stage.removed.abs_diff(expected) as f64 / expected as f64;
        assert!(apart <= 0.01, "{}: {} for {expected}", stage.stage.name(), stage.removed);
    }
    assert!(outcome.kept().abs_diff(19_314) <= 193, "{}", outcome.kept());

    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("ledger.jsonl");
    outcome.write_ledger(&mut std::fs::File::create(&ledger).unwrap()).unwrap();
    let compared = compare(&path, &ledger).unwrap();
    assert_eq!(compared.records, 35_243);
    let share = compared.same_stage as f64 / 35_243.0;
    assert!(share >= 0.99, "{} records in the same stage", compared.same_stage);
    assert_eq!(compared.differences.len(), compared.records - compared.same_stage);
    // The first three stages have no twins to choose from: there nothing differs at all.
    let alone = |stage: &str| matches!(stage, "description" | "language" | "license");
    let apart = compared.differences.iter().find(|found| alone(&found.ours) || alone(&found.theirs));
    assert_eq!(apart, None);
}
