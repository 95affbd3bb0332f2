//! The funnel against the stages that the corpus's authors wrote into its records, and which the
//! funnel does not read.

use std::collections::BTreeSet;

use assay_corpus::compare::{Reason, compare};
use assay_corpus::funnel::{self, Order, Rules};
use assay_skill::corpus::input::Input;
use assay_skill::corpus::normal::split;

use assay_test::shared;

#[test]
#[ignore = "needs shared data"]
fn funnel_reproduces_the_recorded_stages() {
    let path = shared("skills/corpus_raw.jsonl.zst");
    let mut input = Input::open(&path).unwrap();
    let outcome =
        funnel::run(&mut input, &Rules::default(), Order::Paper, &mut |bad| panic!("{bad:?}")).unwrap();
    assert_eq!(outcome.records, 35_243);
    let expected = [20_usize, 1_281, 9_023, 5_000, 605];
    for (stage, expected) in outcome.stages.iter().zip(expected) {
        let apart = stage.removed.abs_diff(expected) as f64 / expected as f64;
        assert!(apart <= 0.01, "{}: {} for {expected}", stage.filter_stage.name(), stage.removed);
    }
    assert!(outcome.kept().abs_diff(19_314) <= 193, "{}", outcome.kept());

    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("ledger.jsonl");
    outcome.write_ledger(&mut std::fs::File::create(&ledger).unwrap()).unwrap();
    let compared = compare(&path, &ledger, &BTreeSet::new()).unwrap();
    assert_eq!(compared.records, 35_243);
    let share = compared.same_stage as f64 / 35_243.0;
    assert!(share >= 0.99, "{} records in the same stage", compared.same_stage);
    assert_eq!(compared.differences.len(), compared.records - compared.same_stage);
    // The first three stages have no twins to choose from: there nothing differs at all.
    let alone = |stage: &str| matches!(stage, "description" | "language" | "license");
    let apart = compared.differences.iter().find(|found| alone(&found.ours) || alone(&found.theirs));
    assert_eq!(apart, None);
    // Each of the other differences has an explanation.
    let queries = shared("retrieval/dev_queries.jsonl");
    let queries = std::fs::read_to_string(queries).unwrap();
    let named = |line| serde_json::from_str::<serde_json::Value>(line).unwrap()["gold_ids"].clone();
    let gold = queries
        .lines()
        .flat_map(|line| serde_json::from_value::<Vec<String>>(named(line)).unwrap())
        .collect();
    let compared = compare(&path, &ledger, &gold).unwrap();
    let count = |reason| compared.differences.iter().filter(|found| found.reason == reason).count();
    let counts = [Reason::Gold, Reason::Letters, Reason::Twins, Reason::Unknown].map(count);
    assert_eq!(counts, [10, 2, 68, 0]);
}

/// The statement of docs/lab/CORPUS.md about the language rule: the authors' description and their
/// decisions differ.
#[test]
#[ignore = "needs shared data"]
fn the_language_stage_counts_characters_and_not_letters() {
    let path = shared("skills/corpus_raw.jsonl.zst");
    let mut input = Input::open(&path).unwrap();
    let (mut by_characters, mut more) = (0, 0);
    while let Some(batch) = input
        .batch(|record| {
            let body = split(&record.skill_md).1;
            let letters = body.chars().filter(|c| c.is_alphabetic()).count();
            let foreign = body.chars().filter(|&c| c > '\u{24f}' && c.is_alphabetic()).count();
            (foreign * 100 > 3 * body.chars().count(), foreign * 100 > 3 * letters)
        })
        .unwrap()
    {
        for (characters, letters) in batch.into_iter().map(Result::unwrap) {
            by_characters += usize::from(characters);
            more += usize::from(letters && !characters);
        }
    }
    // Two of them stay by name.
    assert_eq!((by_characters, more), (1_281 + 2, 52));
}
