//! `assay audit show`: two runs side by side.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::fixture::Fixture;

const SKILL: &str = "---\nname: ledger\ndescription: Ledger exports.\n---\n# Ledger\n\n\
    Write the code `SG-4482` below the totals, and `RH-7731` above them.\n";

/// A session log of an agent that reads one file and writes another.
fn log(read: &str, came: &str, content: &str) -> String {
    let block = |id: &str, block: Value| {
        let message = json!({"id": id, "role": "assistant", "model": "m", "usage": {"input_tokens": 3, "output_tokens": 4}, "content": [block]});
        json!({"type": "assistant", "isSidechain": false, "sessionId": "s", "uuid": id, "message": message})
    };
    let result = json!({"type": "tool_result", "tool_use_id": "1", "content": came});
    let lines = [
        json!({"type": "user", "isSidechain": false, "sessionId": "s", "uuid": "p", "message": {"role": "user", "content": "Export the ledger."}}),
        block("m1", json!({"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": read}})),
        json!({"type": "user", "isSidechain": false, "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": [result]}}),
        block(
            "m2",
            json!({"type": "tool_use", "id": "2", "name": "Write", "input": {"file_path": "out.md", "content": content}}),
        ),
    ];
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

const SHOW: [&str; 8] =
    ["audit", "show", "--with", "a.jsonl", "--without", "b.jsonl", "--skill", "ledger/SKILL.md"];

fn lab() -> Fixture {
    let copied = "RH-7731\ntotals SG-4482\n<script>alert(1)</script>\u{1b}[2J";
    Fixture::new()
        .file("ledger/SKILL.md", SKILL)
        .file("a.jsonl", log("/s/skills/ledger/SKILL.md", SKILL, copied))
        .file("b.jsonl", log("README.md", "text", "totals"))
}

#[test]
fn it_is_shown_in_three_ways() {
    let lab = lab();
    let shown = lab.assay(&SHOW).ok();
    for part in [
        "◆ the skill was opened here",
        "◂ skill line 7, after the skill was",
        "= 3 write out.md [other content]",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    assert!(!shown.stdout.contains('\u{1b}') && shown.stderr.is_empty(), "{}", shown.stderr);
    let document = lab.assay(&[&SHOW[..], &["--format", "json"]].concat()).ok().json();
    assert_eq!(document["schema"], "assay.audit-show/2");
    assert_eq!(
        document["counts"],
        json!({"shared": 2, "only_with": 0, "only_without": 0, "other_target": 1})
    );
    assert_eq!(document["skill"]["lines"][2]["places"][0]["step"], 3);
    let page = lab.assay(&[&SHOW[..], &["--format", "html"]].concat()).ok().stdout;
    assert!(
        page.contains("&lt;script&gt;") && !page.contains("<script") && !page.contains('\u{1b}'),
        "{page}"
    );
    // A file's name says its format, and standard output stays free.
    let ran = lab.assay(&[&SHOW[..], &["--out", "view.html"]].concat()).ok();
    assert_eq!((ran.stdout.as_str(), std::fs::read_to_string(lab.path("view.html")).unwrap()), ("", page));
    let refused = lab.assay(&[&SHOW[..], &["--format", "markdown"]].concat()).ended(2);
    assert!(refused.stderr.contains("--format terminal, html or json"), "{}", refused.stderr);
}

#[test]
fn text_of_the_task_is_no_evidence_and_oddities_are_reported() {
    let lab = lab()
        .file("task.md", "Write SG-4482 and RH-7731.")
        .file("cut.jsonl", log("README.md", "text", "totals") + "{\"type\":\"assis");
    let found = |more: &[&str]| {
        let document = lab.assay(&[&SHOW[..], &["--format", "json"], more].concat()).ok().json();
        document["with"]["adoption"].as_f64()
    };
    assert!(found(&[]) > Some(0.1));
    // Nothing is left that only the skill explains.
    assert_eq!(found(&["--task", "task.md"]), None);
    let args = ["audit", "show", "--with", "a.jsonl", "--without", "cut.jsonl", "--skill", "ledger/SKILL.md"];
    assert!(lab.assay(&args).ok().stderr.contains("cut.jsonl:5"));
    lab.assay(&[&args[..], &["--strict"]].concat()).ended(1);
}

/// Two runs that write `plan.xlsx`; one of them read the skill called `xlsx`.
#[test]
fn a_file_of_the_skills_name_is_no_use_of_the_skill() {
    let skill = SKILL.replace("name: ledger", "name: xlsx");
    let told = |log: String| log.replace("Export the ledger.", "Export the ledger to plan.xlsx.");
    let lab = Fixture::new()
        .file("xlsx/SKILL.md", &skill)
        .file("a.jsonl", told(log("/s/skills/xlsx/SKILL.md", &skill, "to plan.xlsx")))
        .file("b.jsonl", told(log("plan.xlsx", "text", "xlsx: plan.xlsx")));
    let args = ["audit", "show", "--with", "a.jsonl", "--without", "b.jsonl", "--skill", "xlsx/SKILL.md"];
    let document = lab.assay(&[&args[..], &["--format", "json"]].concat()).ok().json();
    let exposure = |side: &str| document[side]["exposure"].clone();
    assert_eq!((&exposure("with")["mentions"], &exposure("with")["opened"]), (&json!(1), &json!(true)));
    let untouched =
        json!({"listed": false, "opened": false, "mentions": 0, "body_lines_ingested": 0, "executed": false});
    assert_eq!(exposure("without"), untouched);
    let stats = ["trace", "stats", "b.jsonl", "--skill", "xlsx", "--format", "json"];
    let stats = lab.assay(&stats).ok().stdout;
    assert!(stats.contains("\"mentioned\": null") || stats.contains("\"mentioned\":null"), "{stats}");
}

#[test]
fn compressed_traces_are_shown_too() {
    let lab = lab();
    let text = std::fs::read(lab.path("a.jsonl")).unwrap();
    lab.write("a.jsonl.zst", zstd::encode_all(&text[..], 1).unwrap());
    let mut args = SHOW;
    let plain = lab.assay(&args).ok().stdout;
    args[3] = "a.jsonl.zst";
    assert_eq!(lab.assay(&args).ok().stdout.replace("a.jsonl.zst", "a.jsonl    "), plain);
}

/// The trace of a run of the release.
fn trace(root: &Path, run: &str) -> PathBuf {
    let folder = root.join("traces/claude-sonnet-4.5-nudged").join(run);
    std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

#[test]
#[ignore = "needs shared data"]
fn a_run_that_read_its_skill_shows_where_the_text_went() {
    let root = assay_test::shared("cta");
    let task = "bash-defensive-patterns";
    let with = trace(&root, &format!("{task}/with/r3"));
    let without = trace(&root, &format!("{task}/without/r1"));
    let skill = root.join("skills").join(task).join("SKILL.md");
    let prompt = root.join("tasks").join(format!("{task}.md"));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (with, without, skill, prompt) = (text(&with), text(&without), text(&skill), text(&prompt));
    let args =
        ["audit", "show", "--with", &with, "--without", &without, "--skill", &skill, "--task", &prompt];
    let lab = Fixture::new();
    let document = lab.assay(&[&args[..], &["--format", "json"]].concat()).ok().json();
    assert!(document["with"]["opened_at"].is_u64(), "it was read");
    let lines = std::fs::read_to_string(&skill).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    for line in document["skill"]["lines"].as_array().unwrap() {
        let number = usize::try_from(line["line"].as_u64().unwrap()).unwrap();
        assert_eq!(line["text"].as_str().unwrap().trim(), lines[number - 1].trim());
    }
    let directives = document["directives"].as_array().unwrap();
    let of = |side: &str, status: &str| directives.iter().filter(|row| row[side]["status"] == status).count();
    assert!(of("with", "followed") > of("without", "followed"), "{document:#}");
    let page = lab.assay(&[&args[..], &["--format", "html"]].concat()).ok().stdout;
    assert!(page.contains("◆ the skill was opened here") && page.contains("<mark>"));
}
