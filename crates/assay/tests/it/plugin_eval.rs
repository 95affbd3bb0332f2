//! Suites of `claude plugin eval`: from a plugin to a verdict.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::{Fixture, attempt, needs_bubblewrap, read_json};
use crate::server::{Answer, Server};

const NAMES: [&str; 6] = ["ada", "bob", "cem", "dora", "eva", "finn"];

const SKILL: &str = "---
name: greet
description: Greets people in the style of the harbor. Use when somebody is to be greeted.
---

The first word of a greeting in this harbor is always the word Moin.
It does not matter at all at which time of the day the people meet.
After that word comes a comma, a space, and the name of the person.
";

/// A plugin with six cases, whose agent greets as the skill says if it has read it.
fn plugin() -> Fixture {
    let lab = Fixture::new()
        .file("plug/.claude-plugin/plugin.json", r#"{"name":"harbor","version":"0.1.0"}"#)
        .file("plug/skills/greet/SKILL.md", SKILL)
        .script(&[
            json!({ "turn": 0, "seen": "/skills/greet", "run": ["cat /skills/greet/SKILL.md; cat seed.txt"] }),
            json!({ "turn": 1, "seen": "always the word Moin", "run": ["echo 'Moin, you' >greeting.txt; echo more >>seed.txt"] }),
            json!({ "seen": "always the word Moin", "say": "Moin, you" }),
            json!({ "turn": 0, "run": ["echo Hello >greeting.txt"] }),
            json!({ "say": "Hello" }),
        ]);
    for name in NAMES {
        let case = format!("plug/evals/{name}");
        lab.write(&format!("{case}/prompt.md"), format!("---\nmax_turns: 7\n---\nGreet {name}.\n"));
        lab.write(&format!("{case}/graders/says.md"), "---\ntype: regex\nweight: 3\n---\n^Moin\n");
        lab.write(&format!("{case}/graders/wrote.md"), "---\ntype: file_exists\npath: '*.txt'\n---\n");
        lab.write(
            &format!("{case}/graders/fired.md"),
            "---\ntype: tool_used\ntool: Skill\ninput_match: '\"skill\"\\s*:\\s*\"(?:[\\w-]+:)?greet\"'\n---\n",
        );
    }
    lab.write(
        "plug/evals/ada/case.yaml",
        "schema_version: \"1.1\"\nname: ada\ncontext:\n  scaffold_script: fix.sh\ngraders:\n  - name: seeded\n    type: regex\n    pattern: ^seed\n    target: { source: file, path: seed.txt }\n  - name: no-seed\n    type: file_exists\n    path: seed.txt\n    exists: false\n",
    );
    lab.write("plug/evals/ada/fix.sh", "cp \"$(dirname \"$0\")/res.txt\" seed.txt\n");
    lab.write("plug/evals/ada/res.txt", "seed\n");
    lab
}

fn with_model(lab: &Fixture) {
    let path = lab.path("suite/experiment.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("model = \"openai:gpt-5\""), "{text}");
    let text = text.replace("openai:gpt-5", "scripted:turns.jsonl");
    fs::copy(lab.path("turns.jsonl"), lab.path("suite/turns.jsonl")).unwrap();
    fs::write(path, text.replace("kind = \"auto\"", "kind = \"bubblewrap\"")).unwrap();
}

/// The checks of a record: each name with its status.
fn checks(record: &Value) -> Vec<(String, String)> {
    let tests = record["ctrf"]["tests"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    tests.iter().map(|test| (text(&test["name"]), text(&test["status"]))).collect()
}

fn named(checks: &[(String, String)]) -> Vec<(&str, &str)> {
    checks.iter().map(|(name, status)| (name.as_str(), status.as_str())).collect()
}

#[test]
fn a_suite_ends_in_a_verdict() {
    needs_bubblewrap!();
    let lab = plugin().needs_verdict();
    let init = lab.assay(&["init", "experiment", "suite", "--from-plugin", "plug"]);
    assert_eq!(init.code, 0, "{}", init.stderr);
    with_model(&lab);
    let ran = lab.assay(&["--store", ".assay", "run", "suite/experiment.toml", "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report = ran.json()["report"].clone();
    let comparison = |condition: &str| {
        let all = report["comparisons"].as_array().unwrap();
        all.iter().find(|one| one["condition"] == condition).unwrap().clone()
    };
    assert_eq!(comparison("curated")["verdict"], "helps", "{report:#}");
    assert_ne!(comparison("placebo")["verdict"], "helps");
    let records = lab.records();
    let of = |condition: &str, task: &str| {
        records.iter().find(|one| one["condition"] == condition && one["task"] == task).unwrap()
    };
    // Without the skill `says` fails (3 of 4); the indicator counts nowhere, and is in the arm with it only.
    assert_eq!(of("none", "bob")["reward"], 0.25);
    assert_eq!(named(&checks(of("none", "bob"))), [("says", "failed"), ("wrote", "passed")]);
    assert_eq!(of("curated", "bob")["reward"], 1.0);
    assert_eq!(
        named(&checks(of("curated", "bob"))),
        [("fired", "passed"), ("says", "passed"), ("wrote", "passed")]
    );
    // A scaffold's file is there, was changed by the agent, and is not one that it created.
    assert_eq!(
        named(&checks(of("curated", "ada"))),
        [
            ("seeded", "passed"),
            ("no-seed", "passed"),
            ("fired", "passed"),
            ("says", "passed"),
            ("wrote", "passed")
        ]
    );
    assert_eq!(of("curated", "ada")["outcome"], "passed");
    let kept = read_json(&attempt(of("curated", "bob"), "graders.json")).unwrap();
    let created = json!(["greeting.txt", "seed.txt"]);
    assert_eq!((&kept["schema"], &kept["created"]), (&json!("assay.graders/1"), &created));
    let seeded = read_json(&attempt(of("curated", "ada"), "graders.json")).unwrap();
    assert_eq!(seeded["created"], json!(["greeting.txt"]));
    assert_eq!(kept["graders"][0]["with_only"], true);
}

#[test]
fn judges_vote_on_graders() {
    needs_bubblewrap!();
    let judge = Server::start(|_, asked| {
        let text = asked.body.to_string();
        let is_met = text.contains("DATA") && text.contains("Moin, you");
        Answer::done(if is_met { "PASS" } else { "FAIL: it does not pass" })
    });
    let lab = plugin().env("OPENAI_API_KEY", "k");
    for name in NAMES {
        let case = format!("plug/evals/{name}/graders");
        lab.write(
            &format!("{case}/style.md"),
            "---\ntype: llm\nweight: 4\n---\nPASS if it greets as a harbor does.\n",
        );
        lab.write(
            &format!("{case}/file.md"),
            "---\ntype: llm\nweight: 2\nfocus: { source: file, path: none.txt }\n---\nPASS if it is there.\n",
        );
    }
    let init = lab.assay(&["init", "experiment", "suite", "--from-plugin", "plug"]);
    assert_eq!(init.code, 0, "{}", init.stderr);
    with_model(&lab);
    let path = lab.path("suite/experiment.toml");
    let text = fs::read_to_string(&path).unwrap();
    let server = format!("[\"openai:judge\"]\nbase_url = \"{}\"", judge.url());
    let text = text.replace("[\"anthropic:claude-haiku-4-5\"]", &server);
    fs::write(&path, text.replace("repetitions = 5", "repetitions = 1").replace("[stopping]", "# ")).unwrap();
    let ran = lab.assay(&["--store", ".assay", "run", "suite/experiment.toml", "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let records = lab.records();
    let of = |condition: &str| {
        let mut own = records.iter().filter(|one| one["condition"] == condition && one["task"] == "bob");
        own.find(|one| one["judgement"].is_object()).unwrap()
    };
    // Graders of weight 4 are decided by files and words, of weight 6 by votes, of which a missing file fails 2.
    assert_eq!((&of("curated")["reward"], &of("none")["reward"]), (&json!(0.8), &json!(0.1)));
    let items = of("curated")["judgement"]["items"].as_array().unwrap().clone();
    let reasons: Vec<(&str, &str)> =
        items.iter().map(|item| (item["id"].as_str().unwrap(), item["reason"].as_str().unwrap())).collect();
    assert_eq!(reasons, [("file", "none.txt does not exist"), ("style", "votes: PASS PASS PASS")]);
    assert_eq!(of("curated")["judgement"]["requests"], 3);
}

/// A suite whose cases cannot all be read is written without these, and says so.
#[test]
fn broken_cases_are_named_and_left_out() {
    let lab = plugin();
    lab.write("plug/evals/bob/graders/says.md", "---\ntype: regex\npattern: (?i)moin\n---\n");
    lab.write("plug/evals/cem/prompt.md", "---\nmaxturns: 7\n---\nGreet cem.\n");
    lab.write(
        "plug/evals/dora/case.yaml",
        "schema_version: \"1.1\"\nname: dora\ncontext: { history_file: h.jsonl }\n",
    );
    lab.write("plug/evals/dora/h.jsonl", "{}\n");
    lab.write("plug/evals/eva/graders/never.md", "just text\n");
    let init = lab.assay(&["init", "experiment", "suite", "--from-plugin", "plug"]);
    assert_eq!(init.code, 1, "{}", init.stderr);
    let said = init.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "plug/evals/bob/graders/says.md:3:10: error: invalid JavaScript pattern",
        "hint: write `flags: i` in place of `(?i)`",
        "plug/evals/cem/prompt.md:2:1: error: unknown key `maxturns` of prompt.md",
        "hint: did you mean `max_turns`?",
        "plug/evals/dora: the case dora is left out: it continues a transcript",
        "plug/evals/eva/graders/never.md:1:1: warning: no front matter: claude plugin eval ignores this file",
        "3 cases written, 3 left out",
    ] {
        assert!(said.contains(expected), "{expected}\n{}", init.stderr);
    }
    let written = "suite/experiment.toml\nsuite/skills/greet/\nsuite/tasks/ada/\nsuite/tasks/eva/\nsuite/tasks/finn/\nsuite/.gitignore\n";
    assert_eq!(init.stdout, written);
}

#[test]
fn what_is_no_suite_is_refused() {
    let check = |lab: &Fixture, expected: &str| {
        let init = lab.assay(&["init", "experiment", "suite", "--from-plugin", "plug"]);
        assert_eq!(init.code, 2, "{}", init.stderr);
        assert!(init.stderr.contains(expected), "{}", init.stderr);
        assert!(!lab.path("suite").exists());
    };
    check(&Fixture::new().file("plug/x", ""), "plug is not a plugin");
    let manifest = r#"{"name":"p"}"#;
    check(
        &Fixture::new().file("plug/plugin.json", manifest),
        "plug has no suite: plug/evals is not a folder",
    );
    let without_skill = Fixture::new()
        .file("plug/plugin.json", manifest)
        .file("plug/evals/a/prompt.md", "Hi")
        .file("plug/evals/a/graders/g.md", "---\ntype: regex\npattern: a\n---\n");
    check(&without_skill, "the plugin p has no skill");
    let without_case = Fixture::new()
        .file("plug/plugin.json", manifest)
        .file("plug/skills/greet/SKILL.md", SKILL)
        .file("plug/evals/a/prompt.md", "Hi");
    check(&without_case, "no case can be used");
}
