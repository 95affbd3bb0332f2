//! `assay task check`, executed.

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};

fn verdicts(document: &Value) -> Vec<(&str, &str)> {
    let tasks = document["tasks"].as_array().unwrap();
    tasks.iter().map(|task| (task["task"].as_str().unwrap(), task["verdict"].as_str().unwrap())).collect()
}

/// The codes of a task's findings that weigh as said.
fn codes<'d>(document: &'d Value, task: &str, severity: &str) -> Vec<&'d str> {
    let tasks = document["tasks"].as_array().unwrap();
    let task = tasks.iter().find(|found| found["task"] == task).unwrap();
    let findings = task["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["severity"] == severity)
        .map(|finding| finding["code"].as_str().unwrap())
        .collect()
}

const FEW: &str = "version = \"1.0\"\n[metadata.assay]\nfew_tests = \"one word\"\n";

#[test]
fn tasks_are_played_and_judged() {
    needs_bubblewrap!();
    let solve = "tr a-z a-z < /app/word > /app/answer.txt\n";
    let lab = Fixture::new();
    let sound = |lab: Fixture, name: &str| {
        lab.task(name, |task| {
            task.toml(FEW)
                .dockerfile("FROM debian:12-slim\nWORKDIR /app\nCOPY word .\n")
                .file("environment/word", "right")
                .solve_sh(solve)
        })
    };
    let lab = sound(lab, "sound");
    let lab = sound(lab, "given-away").task("given-away", |task| task.test_sh("reward 1\n"));
    let lab = sound(lab, "unsolved").task("unsolved", |task| task.solve_sh("tr a-z A-Z < /dev/null\n"));
    let lab = sound(lab, "needs-image")
        .task("needs-image", |task| task.dockerfile("FROM debian:12-slim\nRUN make things\nWORKDIR /app\n"));
    let check = |dirs: &[&str], code: i32| {
        let args = [&["task", "check", "--format", "json"], dirs].concat();
        lab.assay(&args).ended(code).json()
    };
    let document = check(&["tasks/sound"], 0);
    assert_eq!(document["schema"], "assay.task-check/2");
    assert_eq!(verdicts(&document), [("sound", "ok")], "{document:#}");
    let executed = &document["tasks"][0]["executed"];
    for (played, outcome, reward) in
        [("oracle", "passed", 1.0), ("oracle_again", "passed", 1.0), ("nop", "failed", 0.0)]
    {
        assert_eq!(
            (&executed[played]["outcome"], &executed[played]["reward"]),
            (&json!(outcome), &json!(reward))
        );
    }
    let kept = std::fs::read_dir(lab.path(".assay/debug")).unwrap().count();
    assert_eq!(kept, 0, "a check that is well leaves nothing");

    let document = check(&["tasks"], 1);
    let expected =
        [("given-away", "fail"), ("needs-image", "unchecked"), ("sound", "ok"), ("unsolved", "fail")];
    let found = verdicts(&document);
    let played: Vec<_> = found.iter().map(|(name, verdict)| (*name, *verdict)).collect();
    assert_eq!(played, expected, "{document:#}");
    assert_eq!(codes(&document, "given-away", "fail"), ["nop-passes"]);
    assert_eq!(codes(&document, "unsolved", "fail"), ["oracle-fails"]);

    let document = check(&["tasks/needs-image"], 3);
    let unchecked = document["tasks"][0]["executed"]["unchecked"][0].as_str().unwrap();
    assert!(unchecked.contains("must be built by Docker"), "{unchecked}");
    assert_eq!(document["tasks"][0]["executed"]["oracle"], Value::Null);
    check(&["--static", "tasks/needs-image"], 0);
}

#[test]
fn an_unsteady_solution_is_seen() {
    needs_bubblewrap!();
    // The nanoseconds of a clock are as good as a coin; ten of them are never all the same.
    let lab = Fixture::new().task("coin", |task| {
        task.toml(FEW)
            .solve_sh("date +%N > /app/answer.txt\n")
            .test_sh("[ -s /app/answer.txt ] || { reward 0; exit; }\nreward \"0.$(cat /app/answer.txt)\"\n")
    });
    let document = lab.assay(&["task", "check", "tasks/coin", "--format", "json"]).ended(1).json();
    assert!(codes(&document, "coin", "fail").contains(&"oracle-unstable"), "{document:#}");
}

#[test]
fn what_is_no_task_is_named() {
    let lab = Fixture::new()
        .task("sound", |task| task)
        .file("tasks/old/task.yaml", "instruction: x\n")
        .file("tasks/shared/helper.py", "x = 1\n")
        .file("tasks/broken/task.toml", "[task\n");
    let document = lab.assay(&["task", "check", "--static", "tasks", "--format", "json"]).ended(1).json();
    assert_eq!(codes(&document, "old", "fail"), ["foreign-dialect"]);
    assert_eq!(codes(&document, "broken", "fail"), ["task-unusable"]);
    assert_eq!(document["tasks"][0]["findings"][0]["line"], 1, "{document:#}");
    assert!(document["skipped"][0].as_str().unwrap().ends_with("tasks/shared"));
    let text = lab.assay(&["task", "check", "--static", "tasks"]).ended(1).stdout;
    assert!(text.contains("foreign-dialect") && text.contains("skipped: tasks/shared"), "{text}");
    lab.assay(&["task", "check", "--static", "tasks/old"]).ended(2);
    lab.assay(&["task", "check", "--static", "nowhere"]).ended(2);
}

#[test]
fn leaks_of_paired_skills_show_both_places() {
    let lab = Fixture::new()
        .skill("word-book", "Knows words.", "The agreed figure is 48291.")
        .task("figure", |task| task.toml(FEW).file("tests/more.py", "assert answer == 48291\n"))
        .experiment(|e| e.pair("figure", &["word-book"]));
    let args = ["task", "check", "--static", "tasks", "--experiment", "experiment.toml", "--format", "json"];
    let document = lab.assay(&args).ended(0).json();
    let findings = document["tasks"][0]["findings"].as_array().unwrap();
    let leak = findings.iter().find(|finding| finding["code"] == "leak-constants").unwrap();
    assert_eq!(leak["skill_span"]["line"], 6, "{leak:#}");
    assert_eq!((&leak["task_span"]["line"], &leak["severity"]), (&json!(1), &json!("warn")));
}

/// Numbers of tasks, with the table that has each.
const NUMBERS: [(&str, &str); 18] = [
    ("[agent]", "timeout_sec"),
    ("[verifier]", "timeout_sec"),
    ("[environment]", "build_timeout_sec"),
    ("[environment]", "cpus"),
    ("[environment]", "memory_mb"),
    ("[environment]", "memory"),
    ("[environment]", "storage_mb"),
    ("[environment]", "storage"),
    ("[environment]", "gpus"),
    ("[metadata.assay]", "pids"),
    ("[environment.healthcheck]\ncommand = \"true\"", "interval_sec"),
    ("[environment.healthcheck]\ncommand = \"true\"", "timeout_sec"),
    ("[environment.healthcheck]\ncommand = \"true\"", "retries"),
    ("[[verifier.collect]]\ncommand = \"true\"", "timeout_sec"),
    ("[verifier.environment]", "memory_mb"),
    ("[[steps]]\nname = \"one\"\n[steps.agent]", "timeout_sec"),
    ("[[steps]]\nname = \"one\"\n[steps.verifier]", "timeout_sec"),
    ("[[steps]]\nname = \"one\"", "min_reward"),
];

/// Values that no number of a task may have.
const BAD: [&str; 6] = ["1e300", "nan", "-1e300", "-inf", "99999999999999999", "\"99999999T\""];

/// A number out of bounds is an error of its task, with the place, and no other task notices.
#[test]
fn a_bad_number_stops_its_own_task_only() {
    needs_bubblewrap!();
    let mut lab = Fixture::new().task("sound", |task| task.toml(FEW));
    let mut expected = Vec::new();
    for (number, (table, key)) in NUMBERS.iter().enumerate() {
        for (kind, value) in BAD.iter().enumerate() {
            let name = format!("bad-{number}-{kind}");
            let head = format!("version = \"1.0\"\n{table}\n");
            let toml = format!("{head}{key} = {value}\n");
            lab = lab.task(&name, |task| task.toml(&toml).file("steps/one/instruction.md", "One.\n"));
            expected.push((name, *key, head.lines().count() + 1));
        }
    }
    let document = lab.assay(&["task", "check", "tasks", "--format", "json"]).ended(1).json();
    let tasks = document["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), expected.len() + 1);
    let find = |name: &str| tasks.iter().find(|task| task["task"] == name).unwrap();
    let sound = find("sound");
    assert_eq!(
        (&sound["verdict"], &sound["executed"]["oracle"]["outcome"]),
        (&json!("ok"), &json!("passed"))
    );
    for (name, key, line) in expected {
        let task = find(&name);
        let [finding] = &task["findings"].as_array().unwrap()[..] else { panic!("{name}: {task:#}") };
        assert_eq!(
            (&task["verdict"], &finding["code"]),
            (&json!("fail"), &json!("task-unusable")),
            "{task:#}"
        );
        assert_eq!(finding["line"], line, "{task:#}");
        assert!(finding["file"].as_str().unwrap().ends_with(&format!("{name}/task.toml")), "{task:#}");
        assert!(finding["message"].as_str().unwrap().contains(key), "{task:#}");
        assert!(!finding["hint"].as_str().unwrap_or_default().is_empty(), "{task:#}");
    }
    // A run excludes them, and executes the other.
    let lab = lab.script(&[json!({ "turn": 0, "run": "echo right > answer.txt" })]).experiment(|e| e);
    let (document, _) = lab.run(&["--no-checks"]);
    assert_eq!((&document["executed"], &lab.record("sound")["outcome"]), (&json!(1), &json!("passed")));
}
