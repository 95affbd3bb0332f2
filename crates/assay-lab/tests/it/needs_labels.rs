//! Labelled skills.

use std::collections::BTreeMap;
use std::fs;

use assay_draft::needs::{Category, find_in_text};
use assay_lab::needs_labels::{Agreement, Counts, DISCARDED, Frequencies, Labelled};
use serde_json::{Value, json};

fn labels(yes: &[&str]) -> Value {
    Category::ALL
        .iter()
        .map(|category| (category.name(), json!(u8::from(yes.contains(&category.name())))))
        .collect()
}

#[test]
fn labels_are_parsed_and_compared() {
    let line = json!({"id": "x", "a": labels(&["mcp", "auth"]), "b": labels(&["mcp"]), "why_a": {}});
    let labelled = Labelled::parse(&line.to_string()).unwrap();
    assert_eq!(labelled.agreed(Category::Mcp), Some(true));
    assert_eq!(labelled.agreed(Category::Auth), None);
    assert_eq!(labelled.agreed(Category::Network), Some(false));
    let mut agreement = Agreement::default();
    agreement.add(&labelled, &find_in_text("Ask one question at a time."));
    let all = agreement.pooled(&Category::ALL);
    assert_eq!((all.true_positives, all.false_positives, all.false_negatives), (0, 1, 1));
    assert_eq!(all.labels(), 15);
    let short = json!({"id": "x", "a": {"mcp": 1}, "b": labels(&[])}).to_string();
    assert_eq!(Labelled::parse(&short).unwrap_err().to_string(), "the labels of `x` lack `tool_cli`");
    assert!(Labelled::parse("{}").is_err());
}

#[test]
fn figures_without_a_basis_are_absent() {
    let counts = Counts::default();
    assert_eq!((counts.precision(), counts.recall(), counts.f1()), (None, None, None));
    let counts = Counts { true_positives: 3, false_positives: 1, false_negatives: 1, true_negatives: 0 };
    assert_eq!((counts.precision(), counts.recall(), counts.f1()), (Some(0.75), Some(0.75), Some(0.75)));
    let mut frequencies = Frequencies::default();
    assert_eq!(frequencies.share(Category::Mcp), None);
    frequencies.add(&[Category::Mcp]);
    frequencies.add(&[]);
    assert_eq!((frequencies.skills, frequencies.share(Category::Mcp)), (2, Some(0.5)));
}

#[test]
#[ignore = "needs shared data"]
fn labelled_skills_are_matched() {
    let labelled: Vec<Labelled> = fs::read_to_string(assay_test::shared("needs/labels.jsonl"))
        .unwrap()
        .lines()
        .map(|line| Labelled::parse(line).unwrap())
        .collect();
    let ids: Vec<String> = labelled.iter().map(|labelled| labelled.id.clone()).collect();
    let mut texts = BTreeMap::new();
    for line in assay_test::find_shared_skills(&ids) {
        let record: Value = serde_json::from_str(&line).unwrap();
        texts.insert(
            record["id"].as_str().unwrap().to_owned(),
            record["skill_md"].as_str().unwrap().to_owned(),
        );
    }
    let mut agreement = Agreement::default();
    for labelled in &labelled {
        agreement.add(labelled, &find_in_text(&texts[&labelled.id]));
    }
    let f1 = agreement.pooled(&Category::ALL).f1().unwrap();
    assert!(f1 >= 0.75, "micro-F1 {f1}");
    for category in DISCARDED {
        let recall = agreement.of(category).recall().unwrap();
        assert!(recall >= 0.8, "recall of {category:?}: {recall}");
    }
}
