//! `assay audit`, on traces made for it and on the release's.

use serde_json::{Value, json};

use crate::fixture::Fixture;

const SKILL: &str =
    "---\nname: ledger\n---\n# Ledger\n\nAlways write `config/ledger-export.yaml` with LEDGER_MODE.\n";

/// A log in which an agent says something, then writes a file.
fn log(session: &str, file: &str, content: &str) -> String {
    let block = |block: Value| json!({"type": "assistant", "sessionId": session, "message": {"id": session, "usage": {"input_tokens": 3, "output_tokens": 4}, "content": [block]}});
    let lines = [
        block(json!({"type": "text", "text": "Let me read the ledger export first."})),
        block(json!({"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": "README.md"}})),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "1", "content": "text"}]}}),
        block(json!({"type": "text", "text": "Now I write the ledger export file."})),
        block(
            json!({"type": "tool_use", "id": "2", "name": "Write", "input": {"file_path": file, "content": content}}),
        ),
    ];
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

fn name(skill: bool, time: u32) -> String {
    format!("claude_ledger_use-agent-true_use-skill-{skill}_20260101_{time:06}_r1.jsonl")
}

/// One arm, one task: a run with the skill, two without.
fn lab() -> Fixture {
    let at = "data/traces/arm/ledger";
    Fixture::new()
        .file("data/skills/ledger/SKILL.md", SKILL)
        .file(
            &format!("{at}/with/r1/{}", name(true, 1)),
            log("a", "config/ledger-export.yaml", "LEDGER_MODE: 1"),
        )
        .file(&format!("{at}/without/r1/{}", name(false, 3)), log("b", "out.txt", "one"))
        .file(&format!("{at}/without/r2/{}", name(false, 2)), log("c", "out.txt", "two"))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_corpus_gives_a_line_a_pair_in_order() {
    let lab = lab();
    let args = ["lab", "cta-2026", "corpus", "data", "--format", "json"];
    let ran = lab.assay(&[&args[..], &["--strict"]].concat()).ok();
    assert_eq!(ran.stderr, "");
    let found = lines(&ran.stdout);
    let modes: Vec<&str> = found.iter().map(|line| line["mode"].as_str().unwrap()).collect();
    assert_eq!(modes, ["treatment", "treatment", "null-minus"]);
    // The earlier of the two plays the one with the skill.
    let below = |condition: &str, run: u32, time: u32| {
        format!("arm/ledger/{condition}/r{run}/{}", name(condition == "with", time))
    };
    assert_eq!(found[2]["with_trace"], below("without", 2, 2));
    assert_eq!(found[2]["without_trace"], below("without", 1, 3));
    for line in &found {
        assert_eq!((&line["schema"], &line["kind"]), (&json!("assay.audit/2"), &json!("pair")));
    }
    // Both intents are matched, and both windows write elsewhere than the control: the skill's path and constant are there.
    assert_eq!(found[0]["divergences"]["by_type"], json!({"target_mismatch": 2}), "{:#}", found[0]);
    assert_eq!(found[0]["phases"]["plus"], json!([["orientation", 0, 0], ["implementation", 1, 1]]));
    assert_eq!(found[0]["tokens"]["plus"]["paper_input_output"], 28);
    assert_eq!(found[0]["tokens"]["plus"]["dedup_input_output"], 7);
    // Nulls differ in contents only.
    assert_eq!(found[2]["divergences"]["by_type"], json!({"content_mismatch": 2}));
    let tables = lines(&lab.assay(&[&args[..], &["--tables"]].concat()).ok().stdout).pop().unwrap();
    assert_eq!((&tables["kind"], &tables["modes"][0]["counts"]["pairs"]), (&json!("tables"), &json!(2)));
    assert_eq!(tables["buckets"][0]["baseline"], "unknown");
}

#[test]
fn people_see_counts_and_tables() {
    let lab = lab().file("data/task_metadata.json", r#"{"ledger": {"baseline_pass_rate": 0.95}}"#);
    let args = ["lab", "cta-2026", "corpus", "data"];
    let shown = lab.assay(&args).ok().stdout;
    assert!(shown.contains("arm  treatment   ") && shown.contains("are the null"), "{shown}");
    let shown = lab.assay(&[&args[..], &["--tables"]].concat()).ok().stdout;
    assert!(shown.contains("Divergences by kind and phase") && shown.contains("ceiling"), "{shown}");
}

#[test]
fn what_is_odd_is_told_and_the_rest_is_audited() {
    let at = "data/traces/arm/ledger/with";
    let lab = lab()
        .file(&format!("{at}/r2/{}", name(true, 5)), log("a", "x", "y") + "{\"type\":\"assis")
        .file(&format!("{at}/r3/{}", name(true, 6)), "\u{1b}[31m\n")
        .file(&format!("{at}/r4/{}", name(true, 7).replace("ledger", "other")), log("d", "x", "y"))
        .file("data/traces/arm/bare/with/r1/any.jsonl", log("e", "x", "y"));
    let args = ["lab", "cta-2026", "corpus", "data", "--format", "json"];
    let ran = lab.assay(&args).ok();
    assert_eq!(lines(&ran.stdout).len(), 3 * 2 + 1 + 3);
    for part in [
        "any.jsonl: no SKILL.md for the task bare",
        "000005_r1.jsonl:6: ends in the middle of a record",
        "same session as arm/ledger/with/r1/",
        "000006_r1.jsonl:1: not JSON",
        "000006_r1.jsonl: no call of a tool: an empty trace",
        "its name is of another task, other; excluded",
    ] {
        assert_eq!(ran.stderr.matches(part).count(), 1, "{part} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains('\u{1b}'));
    lab.assay(&[&args[..], &["--strict"]].concat()).ended(1);
    let refused = lab.assay(&["lab", "cta-2026", "corpus", "data/skills"]).ended(2);
    assert!(refused.stderr.contains("contains no traces/"), "{}", refused.stderr);
}

#[test]
fn a_pair_is_audited_with_its_nulls() {
    let lab = lab().file("a.jsonl", log("a", "x.py", "try: pass")).file("b.jsonl", log("b", "y.py", ""));
    let base = ["lab", "cta-2026", "pairs", "--with", "a.jsonl", "--without", "b.jsonl", "--null", "b.jsonl"];
    let args = [&base[..], &["--skill", "data/skills/ledger/SKILL.md"]].concat();
    let found = lines(&lab.assay(&[&args[..], &["--format", "json", "--records"]].concat()).ok().stdout);
    assert_eq!(found.len(), 2);
    assert_eq!((&found[0]["mode"], &found[0]["with_trace"]), (&json!("treatment"), &json!("a.jsonl")));
    assert_eq!(found[0]["records"][0]["intent_plus"], "Let me read the ledger export first");
    assert_eq!(found[1]["mode"], "null-minus");
    let shown = lab.assay(&[&args[..], &["--records"]].concat()).ok().stdout;
    assert!(shown.contains("1 target mismatch in orientation"), "{shown}");
}

#[test]
fn labels_on_a_sheet_are_compared() {
    let lab = lab();
    let draw = ["lab", "cta-2026", "sheet", "data", "--seed", "3", "--key", "key.jsonl"];
    let sheet = lab.assay(&draw).ok().stdout;
    let rows = sheet.matches("\r\n").count();
    let keys = std::fs::read_to_string(lab.path("key.jsonl")).unwrap();
    assert!(rows > 1 && keys.lines().count() == rows - 1, "{sheet}\n{keys}");
    assert!(!sheet.contains("treatment") && keys.contains("treatment"), "raters do not see the mode");
    assert_eq!(lab.assay(&draw).ok().stdout, sheet);
    let json = lab.assay(&[&draw[..], &["--format", "json"]].concat()).ok().stdout;
    assert_eq!(lines(&json)[0]["label_1"], "");
    // Nobody has labelled it yet.
    lab.write("sheet.csv", &sheet);
    assert!(
        lab.assay(&["audit", "agreement", "sheet.csv"]).ended(2).stderr.contains("no rater has labelled")
    );
    // Both yes twice, both no once, apart once: 3 of 4; kappa .5.
    lab.write("labels.csv", "item,label_1,label_2\n1,yes,Yes\n2,yes,yes\n3,no,no\n4,yes,no\n");
    let found = lab.assay(&["audit", "agreement", "labels.csv", "--format", "json"]).ok().json();
    assert_eq!(found["schema"], "assay.audit-agreement/1");
    assert_eq!(found["pairs"][0]["agreement"]["value"], 0.75);
    assert_eq!(found["pairs"][0]["kappa"]["value"], 0.5);
    let shown = lab.assay(&["audit", "agreement", "labels.csv"]).ok().stdout;
    assert!(shown.contains("labels.csv label_1, labels.csv label_2") && shown.contains("0.500"), "{shown}");
}
