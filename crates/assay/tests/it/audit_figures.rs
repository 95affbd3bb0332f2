//! `assay lab audit`, and the sheets of `assay audit`, on runs made for it.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::Fixture;

const SKILL: &str = "---\nname: kiln\ndescription: Firing of kilns.\n---\n# Kiln\n\n\
    - Write the firing code `KX-4417` on every line of the log.\n\
    - Never write the code `KX-0000`.\n\
    - Record the moisture in the column `moisture_net_w`.\n";

/// A log in which an agent reads a file, then writes one.
fn log(session: &str, read: &str, came: &str, content: &str) -> String {
    let block = |id: &str, block: Value| {
        let message = json!({"id": id, "role": "assistant", "model": "m", "usage": {"input_tokens": 3, "output_tokens": 4}, "content": [block]});
        json!({"type": "assistant", "isSidechain": false, "sessionId": session, "uuid": id, "message": message})
    };
    let result = json!({"type": "tool_result", "tool_use_id": "1", "content": came});
    let lines = [
        json!({"type": "user", "isSidechain": false, "sessionId": session, "uuid": "p", "message": {"role": "user", "content": "Log the firing."}}),
        block("m1", json!({"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": read}})),
        json!({"type": "user", "isSidechain": false, "sessionId": session, "uuid": "u", "message": {"role": "user", "content": [result]}}),
        block(
            "m2",
            json!({"type": "tool_use", "id": "2", "name": "Write", "input": {"file_path": "out.csv", "content": content}}),
        ),
    ];
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

/// One run that read the skill and followed it, two controls.
fn lab() -> Fixture {
    let at = "data/traces/arm/kiln";
    let followed = "line,moisture_net_w,code\n1,20,KX-4417\n";
    let mut lab = Fixture::new()
        .file("data/skills/kiln/SKILL.md", SKILL)
        .file("data/tasks/kiln.md", "Log the firing.")
        .file(&format!("{at}/with/r1/a.jsonl"), log("a", "/s/skills/kiln/SKILL.md", SKILL, followed));
    for (run, words) in ["line,wet\n1,20\n", "row;water\n1;20\n"].iter().enumerate() {
        lab = lab.file(
            &format!("{at}/without/r{run}/b.jsonl"),
            log(&format!("b{run}"), "README.md", "text", words),
        );
    }
    lab
}

#[test]
fn a_sheet_shows_the_instruction_and_what_was_done_and_no_score() {
    let lab = lab();
    let sheet = lab.assay(&["audit", "sheet", "data", "--format", "json", "--key", "key.jsonl"]).ok().stdout;
    let items: Vec<Value> = sheet.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let code = items.iter().find(|item| item["instruction"] == "KX-4417").expect("the code was written");
    assert_eq!(code["schema"], "assay.audit-sheet/2");
    assert_eq!(code["claim"], "The agent did what this instruction demands.");
    assert_eq!(code["task_text"], "Log the firing.");
    let text = |name: &str| code[name].as_str().unwrap().to_owned();
    assert!(text("document").contains(">    7  - Write the firing code"), "{}", text("document"));
    assert!(text("run").contains(">    2  1,20,KX-4417"), "{}", text("run"));
    assert!(!sheet.contains("score") && !sheet.contains("\"arm\""), "{sheet}");
    assert_eq!(fs::read_to_string(lab.path("key.jsonl")).unwrap().lines().count(), items.len());
    // Two readers fill it in.
    let labelled = |label: &str| sheet.replace("\"label_1\":\"\"", &format!("\"label_1\":\"{label}\""));
    lab.write("first.jsonl", labelled("true"));
    lab.write("second.jsonl", labelled("True"));
    let shown = lab.assay(&["audit", "agreement", "first.jsonl", "second.jsonl"]).ok().stdout;
    let all = format!("{} of {}", items.len(), items.len());
    assert!(shown.contains("all raters") && shown.contains(&all), "{shown}");
    let figures = lab
        .assay(&["lab", "audit", "figures", "data", "--unseen", "data", "--labels", "first.jsonl"])
        .ok()
        .stdout;
    for expected in [
        "data (not used in development)",
        "1.000 of 2",
        "arm, with the skill",
        "nothing",
        "Findings, by label",
    ] {
        assert!(figures.contains(expected), "{expected}: {figures}");
    }
}

#[test]
fn figures_of_the_same_data_are_the_same() {
    let lab = lab();
    let figures = || lab.assay(&["lab", "audit", "figures", "data", "--format", "json"]).ok().json();
    let found = figures();
    assert_eq!(found["schema"], "assay.audit-figures/1");
    let planted = found["development"][0]["planted"].as_array().unwrap();
    let row = planted.iter().find(|row| row["group"] == "literals" && row["dose"] == 1).unwrap();
    assert_eq!(row["found"]["of"], 2, "one in each control: {row}");
    assert_eq!(figures(), found);
}

#[test]
fn a_table_of_rarities_counts_families() {
    let lab = Fixture::new();
    let record = |id: u32, repo: &str, text: &str| {
        json!({"id": id.to_string(), "repo": repo, "path": "SKILL.md", "name": "a", "description": "b", "skill_md": text})
            .to_string()
            + "\n"
    };
    lab.write(
        "corpus.jsonl",
        &(record(1, "a/a", "Use qxv_gate.")
            + &record(2, "a/a", "Use qxv_gate.")
            + &record(3, "b/b", "qxv_gate")),
    );
    let built = lab
        .assay(&["lab", "audit", "rarity", "corpus.jsonl", "--out", "r.bin", "--format", "json"])
        .ok()
        .json();
    assert_eq!((&built["skills"], &built["families"]), (&json!(3), &json!(2)));
    assert!(fs::read(lab.path("r.bin")).unwrap().starts_with(b"assay.rarity/1\n"));
    let again = ["lab", "audit", "rarity", "corpus.jsonl", "--out", "again.bin"];
    lab.assay(&again).ok();
    assert_eq!(fs::read(lab.path("r.bin")).unwrap(), fs::read(lab.path("again.bin")).unwrap());
}
