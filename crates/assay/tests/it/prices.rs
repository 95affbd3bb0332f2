//! Prices of models that an experiment does not price.

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};
use crate::suite;

const TABLE: &str = "[[price]]\nmodel = \"turns.*\"\nfrom = \"2025-06-01\"\ninput = 10\noutput = 100\n";

fn lab() -> Fixture {
    suite::lab(1)
        .experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 1))
        .file("prices.toml", TABLE)
}

/// Costs of the records, and the notes on prices.
fn run(lab: &Fixture, args: &[&str]) -> (Vec<Value>, Vec<String>) {
    let (document, _) = lab.run(&[&["--no-checks"], args].concat());
    let notes = document["report"]["notes"].as_array().unwrap().iter();
    let notes =
        notes.map(|note| note.as_str().unwrap().to_owned()).filter(|note| note.contains("list price"));
    (lab.records().iter().map(|record| record["cost_usd"].clone()).collect(), notes.collect())
}

#[test]
fn a_file_of_prices_gives_costs_to_models_without_a_price() {
    needs_bubblewrap!();
    let note = "Costs of scripted:turns.jsonl are computed with its list price of 2025-06-01. A `price` in the \
                experiment replaces it.";
    // Not among the list prices: unknown, and no cost of 0.
    assert_eq!(run(&lab(), &[]), (vec![Value::Null; 2], vec![]));
    let by_flag = lab();
    let (costs, notes) = run(&by_flag, &["--prices", "prices.toml"]);
    assert_eq!(notes, [note]);
    for (record, cost) in by_flag.records().iter().zip(costs) {
        let count = |key: &str| record["usage"][key].as_f64().unwrap();
        let expected = (10.0 * count("input") + 100.0 * count("output")) / 1e6;
        assert!((cost.as_f64().unwrap() - expected).abs() < 1e-12, "{record:#}");
    }
    let by_file = lab().file("assay.toml", "prices = \"prices.toml\"\n");
    let (costs, notes) = run(&by_file, &[]);
    assert_eq!((notes.len(), costs.iter().all(Value::is_number)), (1, true));

    // A price is no part of a trial: the same trials with other costs are cached.
    let ids = |lab: &Fixture| lab.records().iter().map(|record| record["trial"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&by_flag), ids(&lab_with_records()));
    let invalid = lab().file("prices.toml", "[[price]]\nmodel = \"x\"\nfrom = \"soon\"\n");
    let stderr = invalid.assay(&["plan", "experiment.toml", "--prices", "prices.toml"]).ended(2).stderr;
    assert!(stderr.contains("prices.toml:3: "), "{stderr}");
}

fn lab_with_records() -> Fixture {
    let lab = lab();
    assert_eq!(run(&lab, &[]).0, [json!(null), json!(null)]);
    lab
}
