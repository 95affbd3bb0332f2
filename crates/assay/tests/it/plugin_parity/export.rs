//! `assay export plugin-eval`: tasks as cases, read back by assay and by the real client.

use assay_judge::Check;
use assay_task::plugin_eval::{EvalArm, EvalArms, EvalSuite, Evidence, grade_run};
use serde_json::{Value, json};

use super::cases::{PLUGIN, write_plugin};
use super::client::{SCRIPT, evaluate};
use crate::agents;
use crate::fixture::Fixture;

/// What an answer may contain to pass the item without a judge.
const TEXTS: [&str; 2] = ["7 (seven)", "SEVEN"];

/// A plugin, and two tasks: one that a rubric alone grades, and one with tests.
fn lab() -> Fixture {
    let lab = agents::lab();
    write_plugin(&lab);
    let rubric = json!({
        "schema": "assay.rubric/1", "title": "Counts the items of a report",
        "sets": [{ "name": "content", "items": [
            { "id": "count", "text": "The number is there.", "points": 2, "check": { "answer-contains": TEXTS } },
            { "id": "short", "text": "EXPORT-SHORT: the summary is one sentence.", "points": 1 },
        ] }],
    });
    let lab = lab.task("summary", |task| {
        task.instruction("Summarize /app/report.txt: CASE-summary.\n")
            .dockerfile("FROM debian:12-slim\nWORKDIR /app\nCOPY report.txt /app/\n")
            .file("environment/report.txt", "Seven items.\n")
            .file("tests/rubric.json", &rubric.to_string())
    });
    std::fs::remove_file(lab.path("tasks/summary/tests/test.sh")).unwrap();
    lab.task("tested", |task| task)
}

const EXPORT: [&str; 5] = ["export", "plugin-eval", "tasks/*", "--out", "house/evals"];

#[test]
fn tasks_are_exported_or_left_out_with_a_reason() {
    let lab = lab();
    let ran = lab.assay(&EXPORT).ended(1);
    assert_eq!(
        ran.stdout,
        "house/evals/summary\n\nNext: claude plugin eval house --scaffold --allow-tools Write Edit\n"
    );
    insta::assert_snapshot!(ran.stderr, @"
    summary: a run has the programs of its machine, not those of debian:12-slim
    summary: a run ends after 3600 s, the most that the client allows; the task has no limit
    left out: tested: its tests are a program (tests/test.sh): graders execute none
    ");
    let again = lab.assay(&EXPORT).ended(2);
    insta::assert_snapshot!(again.stderr, @"
    error: house/evals/summary exists
      hint: remove it, or choose another folder with `--out`
    ");
    let json = lab.assay(&[
        "export",
        "plugin-eval",
        "tasks/*",
        "--out",
        "other",
        "--focus",
        "a.md",
        "--format",
        "json",
    ]);
    let json = json.ended(1).json();
    assert_eq!(json["schema"], "assay.export-plugin-eval/1");
    assert_eq!((&json["cases"], &json["left_out"][0]["task"]), (&json!(["summary"]), &json!("tested")));
    assert_eq!(json["command"], "claude plugin eval . --eval-dir other --scaffold --allow-tools Write Edit");
    let grader = std::fs::read_to_string(lab.path("other/summary/graders/short.md")).unwrap();
    assert!(
        grader.contains("focus: {\"path\":\"a.md\",\"source\":\"file\"}\n")
            || grader.contains("focus: {\"source\":\"file\",\"path\":\"a.md\"}\n"),
        "{grader}"
    );
    lab.assay(&["export", "plugin-eval", "missing/*", "--out", "other"]).ended(2);
}

/// What is written is read as the same requirements: weights, texts and what passes.
#[test]
fn an_exported_case_is_read_back() {
    let lab = lab();
    lab.assay(&EXPORT).ended(1);
    let suite = EvalSuite::load(&lab.path(PLUGIN)).unwrap();
    assert!(suite.unread.is_empty() && suite.diagnostics.is_empty(), "{:#?}", suite.diagnostics);
    let [case] = suite.cases.as_slice() else { panic!("{:#?}", suite.cases) };
    assert_eq!(
        (case.name.as_str(), case.prompt.as_str()),
        ("summary", "Summarize report.txt: CASE-summary.")
    );
    assert_eq!((case.max_turns, case.runs, case.graders.len()), (40, 3, 2));
    assert!(case.scaffold.is_some(), "{case:#?}");
    let check = Check::AnswerContains(TEXTS.map(str::to_owned).to_vec());
    for answer in ["seven.", "It has 7 (SEVEN) items.", "7 seve n", "7 seven", "7", "", "7 (sevén)"] {
        for vote in ["PASS", "FAIL"] {
            let mut evidence = Evidence { last_message: answer.to_owned(), ..Evidence::default() };
            evidence.votes.insert("short".to_owned(), vec![vote.to_owned(); 3]);
            let grades = grade_run(case, &evidence, EvalArms::WithOnly, EvalArm::With);
            let points =
                f64::from(u8::from(check.is_met(answer))) * 2.0 + f64::from(u8::from(vote == "PASS"));
            assert!((grades.score - points / 3.0).abs() < 1e-12, "{answer:?} {vote}: {grades:#?}");
        }
    }
}

/// The real client accepts the case, and its graders give the score of the rubric.
#[test]
#[ignore = "needs agents"]
fn the_real_client_accepts_exported_cases() {
    let lab = lab();
    lab.assay(&EXPORT).ended(1);
    let rules = [
        json!({ "seen": "EXPORT-SHORT", "say": "PASS" }),
        json!({ "seen": ["CASE-summary", "in the house style"], "turn": 0,
            "call": { "tool": "Read", "arguments": { "file_path": "report.txt" } } }),
        json!({ "seen": ["CASE-summary", "in the house style", "Seven items"], "say": "It has seven items." }),
        json!({ "seen": "CASE-summary", "say": "It has some items." }),
    ];
    lab.write(SCRIPT, rules.map(|rule| rule.to_string()).join("\n"));
    let client = evaluate(&lab, &["--scaffold", "--allow-tools", "Write", "Edit", "--runs", "1"]);
    let cases = client.result["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 1, "{}", client.stderr);
    let numbers = |key: &str| cases[0]["aggregates"][key].as_f64();
    assert_eq!(
        (numbers("score"), numbers("scoreWithout")),
        (Some(1.0), Some(1.0 / 3.0)),
        "{:#}",
        client.result
    );
    assert_eq!(cases[0]["arms"]["with"][0]["error"], Value::Null);
    assert_eq!(cases[0]["advisories"], Value::Null, "{:#}", cases[0]);
}
