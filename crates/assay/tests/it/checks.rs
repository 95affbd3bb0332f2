//! What is found out about a task before any arm runs, and what makes its arms say nothing.

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap, observed};
use crate::suite;

/// The reason for which a task was left out.
#[track_caller]
fn reason(document: &Value, task: &str) -> String {
    let excluded = document["report"]["excluded"].as_array().unwrap();
    let found: Vec<&Value> = excluded.iter().filter(|excluded| excluded["task"] == task).collect();
    assert_eq!(found.len(), 1, "{task}: {excluded:#?}");
    found[0]["reason"].as_str().unwrap().to_owned()
}

#[test]
fn tasks_that_cannot_be_graded_are_left_out() {
    needs_bubblewrap!();
    let lab = Fixture::new()
        .task("sound", |task| task)
        .task("unsolved", |task| task.solve_sh("echo wrong > /app/answer.txt\n"))
        .task("solution-fails", |task| task.solve_sh("echo right > /app/answer.txt; exit 1\n"))
        .task("given-away", |task| task.test_sh("reward 1\n"))
        .task("no-solution", |task| task)
        .task("breaks-on-nothing", |task| task.test_sh("cat /app/answer.txt && reward 1\n"))
        .task("needs-image", |task| {
            task.dockerfile("FROM debian:12-slim\nRUN apt-get install -y jq\nWORKDIR /app\n")
        })
        .task("sound-again", |task| {
            task.instruction("End the report sound: write the agreed word into answer.txt.\n")
        })
        .task("unlisted-steps", |task| task.file("steps/one/instruction.md", "Begin.\n"))
        .script(&[json!({ "turn": 0, "run": "echo right > answer.txt" })]);
    std::fs::remove_dir_all(lab.path("tasks/no-solution/solution")).unwrap();
    let lab = lab.experiment(|e| e.repetitions(2));
    let (document, code) = lab.run(&[]);
    assert_eq!(code, 0);
    // Whether the solution script itself ended well is not asked; what it left is.
    assert_eq!((&document["planned"], &document["executed"]), (&json!(4), &json!(4)));
    assert_eq!(document["report"]["arms"][0]["tasks"], 2);
    for (task, expected) in [
        ("unsolved", "the oracle does not pass here (failed)"),
        ("given-away", "the no-op check passes: the tests accept an untouched environment"),
        ("no-solution", "no solution/solve.sh: cannot verify"),
        ("breaks-on-nothing", "its verifier breaks in the no-op check: the verifier wrote no reward"),
        ("needs-image", "its Dockerfile must be built by Docker (line 2: RUN"),
        ("sound-again", "it is a copy of the task `sound`"),
        ("unlisted-steps", "it has a folder `steps/`, but no `[[steps]]`"),
    ] {
        let found = reason(&document, task);
        assert!(found.starts_with(expected), "{task}: {found}");
    }
    assert!(
        lab.records().iter().all(|record| record["task"] == "sound" || record["task"] == "solution-fails")
    );

    // The checks are kept like trials, but for the one that broke, and are made anew where the task was fixed.
    let (again, _) = lab.run(&[]);
    assert_eq!((&again["checks_executed"], &again["executed"]), (&json!(1), &json!(0)));
    lab.write("tasks/unsolved/solution/solve.sh", "#!/bin/bash\necho right > /app/answer.txt\n");
    let (fixed, _) = lab.run(&[]);
    assert_eq!(
        (&fixed["checks_executed"], &fixed["planned"], &fixed["executed"]),
        (&json!(2), &json!(6), &json!(2))
    );
}

#[test]
fn a_suite_of_which_nothing_can_be_run_is_no_result() {
    needs_bubblewrap!();
    let lab = Fixture::new().task("t1", |task| task.solve_sh("true\n")).script(&[]).experiment(|e| e);
    let (document, code) = lab.run(&[]);
    assert_eq!((code, &document["planned"]), (3, &json!(0)));
    let lab = Fixture::new()
        .task("t1", |task| task.dockerfile("FROM debian:12-slim\nRUN true\n"))
        .script(&[])
        .experiment(|e| e);
    let ran = lab.assay(&["run", "experiment.toml"]).ended(3);
    assert!(ran.stderr.contains("t1 excluded: its Dockerfile must be built by Docker"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: `assay doctor`"), "{}", ran.stderr);
}

#[test]
fn a_skill_in_the_baselines_sandbox_is_found() {
    needs_bubblewrap!();
    let lab = suite::lab(2).experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 2));
    let skill = std::fs::read_to_string(lab.path("skills/reports/SKILL.md")).unwrap();
    lab.write("tasks/t1/environment/notes.md", format!("Notes of last year.\n\n{skill}"));
    lab.write(
        "tasks/t1/environment/Dockerfile",
        "FROM debian:12-slim\nWORKDIR /app\nCOPY notes.md /app/notes.md\n",
    );
    let (document, _) = lab.run(&["--no-checks"]);
    let contaminated = |arm: usize| document["report"]["arms"][arm]["contaminated"].clone();
    assert_eq!((contaminated(0), contaminated(1)), (json!(1), json!(0)));
    let notes = document["report"]["notes"].to_string();
    assert!(notes.contains("of `none` had a skill of the experiment in"), "{notes}");
    for record in lab.records() {
        let expected = record["task"] == "t1" && record["condition"] == "none";
        assert_eq!(record["contaminated"] == json!(["reports in /app/notes.md"]), expected, "{record:#}");
    }
}

/// Skills that a Dockerfile copies for the format's own runner are the condition's business.
#[test]
fn baked_in_skills_are_left_out() {
    needs_bubblewrap!();
    let files = "cd /; find app root skills -type f | sort; cat /root/.claude/skills/*/SKILL.md";
    let lab = suite::lab(1)
        .script(&[json!({ "turn": 0, "run": files })])
        .experiment(|e| e.conditions(&["none", "curated"]));
    let skill = std::fs::read_to_string(lab.path("skills/reports/SKILL.md")).unwrap();
    lab.write("tasks/t1/environment/skills/reports/SKILL.md", skill);
    lab.write("tasks/t1/environment/data.csv", "a,b\n");
    let dockerfile =
        "FROM debian:12-slim\nWORKDIR /app\nCOPY data.csv /app/\nCOPY skills /root/.claude/skills\n";
    lab.write("tasks/t1/environment/Dockerfile", dockerfile);
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["report"]["arms"][0]["contaminated"]), (0, &json!(0)));
    for record in lab.records() {
        let found = &observed(&record)[0];
        let files: Vec<&str> =
            found.lines().filter(|line| line.contains('/') && !line.contains(' ')).collect();
        let expected: &[&str] = if record["condition"] == "none" {
            &["app/data.csv"]
        } else {
            &["app/data.csv", "skills/reports/SKILL.md"]
        };
        assert_eq!(files, expected, "{found}");
        assert!(!found.contains("agreed word"), "{found}");
    }
}

/// Reference solutions may use what the author's image had; agents get what their condition says.
#[test]
fn the_oracle_alone_has_the_tasks_own_skills() {
    needs_bubblewrap!();
    let look = "cd /; find root skills opt app -type f 2> /dev/null | sort";
    let lab = suite::lab(1)
        .script(&[json!({ "turn": 0, "run": look })])
        .experiment(|e| e.conditions(&["none", "curated"]));
    let skill = std::fs::read_to_string(lab.path("skills/reports/SKILL.md")).unwrap();
    lab.write("tasks/t1/environment/skills/reports/SKILL.md", skill);
    lab.write("tasks/t1/environment/skills/reports/scripts/word.sh", "echo right\n");
    lab.write(
        "tasks/t1/environment/Dockerfile",
        "FROM debian:12-slim\nWORKDIR /app\nCOPY skills /root/.claude/skills\nCOPY skills /app/skills\nCOPY skills/reports /opt/verifier/reports\n",
    );
    lab.write(
        "tasks/t1/solution/solve.sh",
        "#!/bin/bash\nset -e\ncd /app/skills/reports\nbash /root/.claude/skills/reports/scripts/word.sh > /app/answer.txt\n[ ! -e /opt/verifier/reports ]\n",
    );
    // The verifier has its own copy, and does not see what the oracle had.
    lab.write(
        "tasks/t1/tests/test.sh",
        "[ -e /opt/verifier/reports/SKILL.md ] || exit 1\n[ ! -e /root/.claude/skills/reports ] || exit 1\n[ ! -e /app/skills/reports ] || exit 1\n[ \"$(cat /app/answer.txt)\" = right ] && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n",
    );
    let (document, code) = lab.run(&[]);
    assert_eq!((code, document["report"]["excluded"].as_array().unwrap().len()), (0, 0), "{document:#}");
    for record in lab.records() {
        assert!(record["task_skills"].is_null(), "{record:#}");
        let seen = observed(&record)[0].clone();
        assert!(!seen.contains("root/.claude") && !seen.contains("opt/verifier"), "{seen}");
        assert_eq!(seen.contains("skills/reports"), record["condition"] == "curated", "{seen}");
    }
    let played = lab.assay(&[
        "task",
        "run",
        "tasks/t1",
        "--agent",
        "oracle",
        "--experiment",
        "experiment.toml",
        "--format",
        "json",
    ]);
    let document: Value = serde_json::from_str(&played.stdout).unwrap();
    let record = &document["record"];
    assert_eq!(record["outcome"], "passed", "{record:#}");
    assert_eq!(
        record["task_skills"],
        json!(["/app/skills/reports", "/root/.claude/skills/reports"]),
        "{record:#}"
    );
    // What was put there for it is no change of its own.
    assert!(record["outside"].is_null() && record["tampered"].is_null(), "{record:#}");
}
