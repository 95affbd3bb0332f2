//! Drafts of evaluations.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::Fixture;

const SKILL: &str = "---\nname: ledger\ndescription: Closes a ledger.\n---\n\n# Ledger\n\n## Steps\n\nWait for the user's approval.\n\n```bash\nledgerctl close --month 3\nledgerctl close --month 4\n```\n";

fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn needs_of_folders_documents_and_records_are_a_line_each() {
    let lab = Fixture::new();
    let root = lab.path("skills/ledger");
    fs::create_dir_all(root.join("scripts")).unwrap();
    fs::write(root.join("SKILL.md"), SKILL).unwrap();
    fs::write(root.join("scripts/sum.py"), "import csv\n").unwrap();
    let record =
        json!({"id": "r1", "path": "a/SKILL.md", "name": "other", "skill_md": SKILL}).to_string() + "\n";
    fs::write(lab.path("corpus.jsonl"), &record).unwrap();
    let packed = zstd::encode_all(record.as_bytes(), 1).unwrap();
    fs::write(lab.path("corpus.jsonl.zst"), packed).unwrap();
    let paths = ["skills", "skills/ledger/SKILL.md", "corpus.jsonl", "corpus.jsonl.zst"];
    let found =
        lines(&lab.assay(&[&["draft", "needs"], &paths[..], &["--format", "json"]].concat()).ok().stdout);
    let of = |key: &str| found.iter().map(|line| line[key].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(of("skill"), ["ledger", "ledger", "r1", "r1"]);
    assert_eq!(of("path"), ["skills/ledger/SKILL.md", "skills/ledger/SKILL.md", "a/SKILL.md", "a/SKILL.md"]);
    assert_eq!(of("verdict"), ["double"; 4]);
    assert_eq!(of("schema"), ["assay.needs/1"; 4]);
    let needs = found[0]["needs"].as_object().unwrap();
    assert_eq!(needs.len(), 16);
    let user = json!({"line": 10, "text": "Wait for the user's approval.", "by": "question"});
    assert_eq!(needs["multi_turn"], json!([user]));
    assert_eq!(needs["runtime"][0]["file"], "scripts/sum.py");
    assert_eq!(found[2]["needs"]["runtime"], json!([]));
    let unmet = |category: &str| {
        let unmet = found[0]["unmet"].as_array().unwrap().clone();
        unmet.into_iter().find(|unmet| unmet["category"] == category).unwrap()
    };
    assert_eq!(unmet("tool_cli")["double"], "command_shim");
    assert_eq!(unmet("multi_turn")["double"], "scripted_user");

    let text = lab.assay(&["draft", "needs", "skills"]).ok().stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "ledger (skills/ledger/SKILL.md): double, 3 categories",
        "multi_turn 10 question Wait for the user's approval.",
        "tool_cli ledgerctl: a test double can replace it (command shim)",
    ] {
        assert!(words.contains(part), "{part}\n{text}");
    }
}

#[test]
fn directives_of_folders_documents_and_records_are_a_line_each() {
    let record =
        json!({"id": "r1", "path": "a/SKILL.md", "name": "other", "skill_md": SKILL}).to_string() + "\n";
    let lab = Fixture::new()
        .file("skills/ledger/SKILL.md", SKILL)
        .file("skills/ledger/references/months.md", "# Months\n\n## Rules\n\nNever close a month twice.\n")
        .file("corpus.jsonl", record);
    let paths = ["skills", "skills/ledger/SKILL.md", "skills/ledger/references/months.md", "corpus.jsonl"];
    let ran = lab.assay(&[&["draft", "directives"], &paths[..], &["--format", "json"]].concat()).ok();
    let found = lines(&ran.stdout);
    let skills: Vec<&str> = found.iter().map(|line| line["skill"].as_str().unwrap()).collect();
    assert_eq!(skills, ["ledger", "ledger", "months", "r1"]);
    let places = |line: &Value| {
        let directives = line["directives"].as_array().unwrap().iter();
        let place =
            |one: &Value| format!("{}:{}", one["file"].as_str().unwrap(), one["lines"].as_str().unwrap());
        directives.map(place).collect::<Vec<_>>()
    };
    let own = ["SKILL.md:10", "SKILL.md:13", "SKILL.md:14"];
    assert_eq!(places(&found[0]), [&own[..], &["references/months.md:5"]].concat(), "{:#}", found[0]);
    assert_eq!(places(&found[1]), places(&found[0]));
    assert_eq!(places(&found[3]), own);
    assert_eq!(found[0]["directives"][0]["quote"], "Wait for the user's approval.");
    assert!(found.iter().all(|line| line["schema"] == "assay.directives/1" && line["model"].is_null()));

    let text = lab.assay(&["draft", "directives", "skills"]).ok().stdout;
    assert!(text.starts_with("ledger (skills/ledger/SKILL.md): 4 directives\n"), "{text}");
    assert!(text.contains("  d02  SKILL.md:13             ledgerctl close --month 3\n"), "{text}");
    let refused = lab.assay(&["draft", "directives", "skills", "--max-usd", "1"]).ended(2);
    assert!(refused.stderr.contains("options of a model without --model"), "{}", refused.stderr);
    lab.assay(&["draft", "directives", "nowhere"]).ended(2);
    let paid = lab.assay(&["draft", "directives", "skills", "--model", "openai:m"]).ended(2);
    assert!(paid.stderr.contains("OPENAI_API_KEY is not set"), "{}", paid.stderr);
}

#[test]
fn what_has_no_skill_is_refused() {
    let lab = Fixture::new();
    fs::create_dir_all(lab.path("empty")).unwrap();
    fs::write(lab.path("none.jsonl"), "[]\n").unwrap();
    let check = |path: &str, message: &str| {
        let output = lab.assay(&["draft", "needs", path]);
        assert_eq!(output.code, 2, "{path}");
        assert!(output.stderr.contains(message), "{path}: {}", output.stderr);
    };
    check("empty", "no skill in empty");
    check("none.jsonl", "none.jsonl: no records");
    check("absent.jsonl", "cannot open absent.jsonl");
    check("absent.md", "cannot read absent.md");
}

#[test]
fn needs_are_compared_with_labels() {
    let lab = Fixture::new();
    let categories: Vec<String> = {
        let record = json!({"id": "r1", "skill_md": SKILL}).to_string() + "\n";
        fs::write(lab.path("corpus.jsonl"), record).unwrap();
        let found = lines(&lab.assay(&["draft", "needs", "corpus.jsonl", "--format", "json"]).ok().stdout);
        found[0]["needs"].as_object().unwrap().keys().cloned().collect()
    };
    let labels = |yes: &[&str]| -> Value {
        categories.iter().map(|name| (name.clone(), json!(u8::from(yes.contains(&name.as_str()))))).collect()
    };
    let label = json!({"id": "r1", "a": labels(&["multi_turn", "mcp"]), "b": labels(&["multi_turn"])});
    fs::write(lab.path("labels.jsonl"), format!("{label}\n")).unwrap();
    let args = ["lab", "draft", "needs", "labels.jsonl", "--corpus", "corpus.jsonl", "--frequencies"];
    let found = lab.assay(&[&args[..], &["--format", "json"]].concat()).ok().json();
    assert_eq!(found["categories"]["multi_turn"]["recall"], 1.0);
    assert_eq!(found["categories"]["mcp"]["labels"], 0);
    assert_eq!(found["micro"]["counts"]["false_positives"], 1);
    assert_eq!(found["frequencies"]["categories"]["tool_cli"]["share"], 1.0);
    let text = lab.assay(&[&args[..], &["--errors"]].concat()).ok().stdout;
    assert!(text.contains("1 labelled skill;") && text.contains("wrongly found tool_cli"), "{text}");
    fs::write(lab.path("labels.jsonl"), json!({"id": "r2", "a": labels(&[]), "b": labels(&[])}).to_string())
        .unwrap();
    let output = lab.assay(&args);
    assert_eq!(output.code, 2);
    assert!(output.stderr.contains("corpus.jsonl has no skill with the id r2"), "{}", output.stderr);
}
