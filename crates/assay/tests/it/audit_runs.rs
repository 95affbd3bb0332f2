//! `assay audit corpus` on a run of `assay run`.

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};

const BODY: &str = "Round every amount half even before any totals are summed up.\n\
    Name each export after the closing month of its fiscal year.\n\
    Sign every finished export with the treasury signing script.";

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Two tasks; where the skill is offered it is read, and its words are written down. One task is passed without it, one is not.
fn lab() -> Fixture {
    let copy = "printf 'sign every finished export with the treasury signing script' > note.md; echo right > answer.txt";
    let read = json!({"condition": "curated", "turn": 0, "run": ["cat /skills/ledger/SKILL.md"]});
    let rules = [
        read,
        json!({"condition": "curated", "turn": 1, "run": [copy]}),
        json!({"condition": "none", "task": "easy", "turn": 0, "run": ["echo right > answer.txt"]}),
        json!({"condition": "none", "task": "hard", "turn": 0, "run": ["ls"]}),
    ];
    Fixture::new()
        .task("easy", |task| task)
        .task("hard", |task| task)
        .skill("ledger", "Ledger exports.", BODY)
        .script(&rules)
        .experiment(|e| {
            e.conditions(&["none", "curated"])
                .repetitions(2)
                .pair("easy", &["ledger"])
                .pair("hard", &["ledger"])
        })
}

#[test]
fn a_run_is_audited_with_its_outcomes() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    // What the skill says now is nothing to a run of before.
    lab.write("skills/ledger/SKILL.md", "---\nname: ledger\ndescription: d\n---\nOther words.\n");
    let args = ["audit", "corpus", "lab", "--strict"];
    let found = lines(&lab.assay(&[&args[..], &["--format", "json"]].concat()).ok().stdout);
    let traces: Vec<&Value> = found.iter().filter(|line| line["kind"] == "trace").collect();
    assert_eq!(traces.len(), 8);
    for trace in &traces {
        let with = trace["condition"] == "with";
        assert_eq!(
            (&trace["exposure"]["opened"], trace["arm"].as_str().unwrap()),
            (&json!(with), "loop scripted:turns.jsonl, curated")
        );
        assert!(lab.path(".assay").join(trace["trace"].as_str().unwrap()).is_file(), "{trace}");
    }
    let pairs: Vec<&Value> = found.iter().filter(|line| line["mode"] == "treatment").collect();
    assert!(!pairs.is_empty() && pairs.iter().all(|pair| pair["exposure"]["plus"]["opened"] == true));
    let arm = &found.last().unwrap()["arms"][0];
    assert_eq!((&arm["tasks"], &arm["exposure"]["contaminated"]), (&json!(2), &json!(0)));
    let buckets: Vec<(&Value, &Value)> = arm["buckets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| (&bucket["bucket"], &bucket["tasks"]))
        .collect();
    assert_eq!(buckets, [(&json!("ceiling"), &json!(1)), (&json!("floor"), &json!(1))]);
    let span = &arm["readers"][0]["spans"][0];
    assert_eq!(span["skill_text"], BODY.lines().nth(2).unwrap());
    let shown = lab.assay(&args).ok().stdout;
    // People are told of task, condition and repetition; the id leads on.
    let name = shown.lines().find(|line| line.contains("condition curated, repetition 1 (trial ")).unwrap();
    let (_, id) = name.trim().trim_end_matches(')').rsplit_once(' ').unwrap();
    assert!(name.trim().starts_with("task easy, ") && !shown.contains("trajectory.json"), "{shown}");
    let control =
        traces.iter().find(|trace| trace["condition"] == "without").unwrap()["trace"].as_str().unwrap();
    let without = control.split('/').nth(2).unwrap();
    let pair = lab.assay(&["audit", "show", "--with", id, "--without", &without[..12]]).ok().stdout;
    assert!(
        pair.contains("◆ the skill was opened here") && pair.contains("treasury signing script"),
        "{pair}"
    );
    let swapped = lab.assay(&["audit", "show", "--with", &without[..12], "--without", id]).ended(2);
    assert!(swapped.stderr.contains("had no skill"), "{}", swapped.stderr);
    let unknown = lab.assay(&["audit", "show", "--with", "0000000000", "--without", id]).ended(2);
    assert!(unknown.stderr.contains("no trial id in this store begins with"), "{}", unknown.stderr);
    let file = lab.path(".assay").join(control).display().to_string();
    let unnamed = lab.assay(&["audit", "show", "--with", &file, "--without", id]).ended(2);
    assert!(unnamed.stderr.contains("`--skill FILE` is missing"), "{}", unnamed.stderr);
    assert!(
        shown.contains("baseline ceiling: 1 tasks") && shown.contains("baseline floor: 1 tasks"),
        "{shown}"
    );
}

#[test]
fn what_of_a_run_cannot_be_audited_is_told() {
    needs_bubblewrap!();
    let lab = lab();
    let refused = |args: &[&str], why: &str| {
        let ran = lab.assay(&[&["audit", "corpus"], args].concat()).ended(2);
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
    };
    refused(&["lab"], "as `assay show` lists it");
    lab.run(&["--no-checks"]);
    refused(&["other"], "no run \"other\"");
    // A store of before, in which no skill was kept.
    std::fs::remove_dir_all(lab.path(".assay/skills")).unwrap();
    refused(&["lab"], "the store has no SKILL.md of ledger");
    lab.run(&["--no-checks"]);
    // A trajectory that is gone is told, and the others are audited.
    let record = lab.records().into_iter().find(|record| record["condition"] == "curated").unwrap();
    std::fs::remove_file(crate::fixture::attempt(&record, "trajectory.json")).unwrap();
    let ran = lab.assay(&["audit", "corpus", "lab"]).ok();
    assert_eq!(ran.stderr.matches("excluded").count(), 1, "{}", ran.stderr);
    lab.assay(&["audit", "corpus", "lab", "--strict"]).ended(1);
}
