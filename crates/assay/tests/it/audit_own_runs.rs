//! `assay audit corpus` on the audit's own runs: a language model's answers to eight tasks without
//! the skill, with it, with it and not following it, and with a skill of another subject.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::fixture::{Fixture, read_json};

/// Scores of runs with a skill, and whether each counts as adoption, by group.
type Groups = BTreeMap<&'static str, Vec<(String, f64, bool)>>;

fn archive() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../assay-audit/tests/data/own-runs/own-runs.tar.zst")
}

/// The group of a trial. The second repetition of `curated` opens the skill and does not follow it.
fn group(record: &Value) -> &'static str {
    match (record["condition"].as_str(), record["repetition"].as_u64()) {
        (Some("none"), _) => "none",
        (Some("negative"), _) => "irrelevant",
        (Some("curated"), Some(2)) => "not followed",
        (Some("curated"), _) => "followed",
        other => panic!("{other:?}"),
    }
}

fn opened(record: &Value) -> bool {
    record["exposure"].as_array().into_iter().flatten().any(|skill| !skill["opened"].is_null())
}

#[test]
fn adoption_is_found_where_the_skill_was_followed_and_nowhere_else() {
    let lab = Fixture::new();
    let packed = File::open(archive()).expect("the archive is in the repository");
    tar::Archive::new(zstd::Decoder::new(packed).expect("zstd")).unpack(lab.folder()).expect("a tar archive");
    let store = lab.path("store");
    let args = ["--store", "store", "audit", "corpus", "own-runs", "--format", "json"];
    let audited = lab.assay(&args).ok().stdout;
    let mut groups = Groups::new();
    let mut unopened = 0;
    for line in audited.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        if line["kind"] != "trace" {
            continue;
        }
        let trajectory = store.join(line["trace"].as_str().expect("a path"));
        let trial = trajectory.ancestors().nth(3).expect("a trial's folder");
        let record = read_json(&trial.join("record.json")).expect("a record");
        let group = group(&record);
        if group == "followed" && !opened(&record) {
            unopened += 1;
            continue;
        }
        assert!(group != "not followed" || opened(&record), "{record}");
        let adoption = &line["adoption"];
        let score = adoption["score"].as_f64().unwrap_or_else(|| panic!("no score: {line}"));
        let adopted = adoption["adopted"].as_bool().unwrap_or_else(|| panic!("no verdict: {line}"));
        let name = format!("{} {}", record["task"], record["condition"]);
        groups.entry(group).or_default().push((name, score, adopted));
    }
    let of = |group: &str| groups.get(group).map_or(&[][..], Vec::as_slice);
    assert!(unopened <= 1 && of("followed").len() + unopened == 8, "{groups:?}");
    assert_eq!((of("not followed").len(), of("irrelevant").len()), (4, 8));
    assert!(of("none").len() >= 8, "{groups:?}");
    for (group, runs) in &groups {
        for (name, score, adopted) in runs {
            assert_eq!(*adopted, *group == "followed", "{group}: {name} has {score:.3}");
        }
    }
}
