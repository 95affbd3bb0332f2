//! What became of a skill: offered, advertised, mentioned, opened, executed.

use serde_json::{Value, json};

use crate::fixture::needs_bubblewrap;
use crate::suite;

#[test]
fn what_an_agent_does_with_its_skill_is_recorded() {
    needs_bubblewrap!();
    // By task: what the agent runs in its turns.
    let runs = [
        (
            "t1",
            vec![
                "true",
                "cat /skills/reports/SKILL.md",
                "cd /skills/reports && bash scripts/check.sh /app/answer.txt",
            ],
        ),
        ("t2", vec!["cat /skills/reports/SKILL.md"]),
        ("t3", vec!["head -3 /skills/reports/SKILL.md", "/skills/reports/scripts/check.sh /etc/os-release"]),
        ("t4", vec!["ls /"]),
    ];
    let rules: Vec<Value> = runs
        .iter()
        .flat_map(|(task, commands)| {
            let rule = |(turn, run)| json!({ "task": task, "turn": turn, "run": run });
            commands.iter().enumerate().map(rule).collect::<Vec<_>>()
        })
        .collect();
    let lab =
        suite::lab(4).script(&rules).experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 4));
    let (document, _) = lab.run(&["--no-checks"]);
    let none = Value::Null;
    // The system's message is step 1, the user's step 2, the model's first turn step 3.
    for (task, mentioned, opened, executed) in [
        (
            "t1",
            json!(4),
            json!(4),
            json!({ "step": 5, "file": "scripts/check.sh", "evidence": "command-text" }),
        ),
        ("t2", json!(3), json!(3), none.clone()),
        (
            "t3",
            json!(3),
            none.clone(),
            json!({ "step": 4, "file": "scripts/check.sh", "evidence": "command-text" }),
        ),
        ("t4", none.clone(), none.clone(), none.clone()),
    ] {
        let records = lab.records();
        let of = |condition: &str| {
            records.iter().find(|record| record["task"] == task && record["condition"] == condition).unwrap()
        };
        assert_eq!(of("none")["exposure"], json!([]), "{task}");
        let skills = of("curated")["exposure"].as_array().unwrap();
        assert_eq!(skills.len(), 1, "{task}");
        let skill = &skills[0];
        assert_eq!(
            (&skill["skill"], &skill["offered"], &skill["advertised"]),
            (&json!("reports"), &json!(true), &json!(1))
        );
        assert_eq!(
            (&skill["mentioned"], &skill["opened"], &skill["executed"]),
            (&mentioned, &opened, &executed),
            "{task}: {skill:#}"
        );
    }
    let shares = |arm: usize| document["report"]["arms"][arm]["exposure"].clone();
    let expected =
        json!({ "offered": 1.0, "advertised": 1.0, "mentioned": 0.75, "opened": 0.5, "executed": 0.5 });
    assert_eq!(shares(1), expected);
    assert_eq!(
        shares(0),
        json!({ "offered": 0.0, "advertised": 0.0, "mentioned": 0.0, "opened": 0.0, "executed": 0.0 })
    );
}

#[test]
fn a_placebo_that_nobody_opens_is_a_second_baseline_and_the_report_says_so() {
    needs_bubblewrap!();
    let lab = suite::lab(2)
        .script(&[json!({ "turn": 0, "condition": "curated", "run": "cat /skills/reports/SKILL.md" })])
        .experiment(|e| suite::paired(e.conditions(&["none", "curated", "placebo"]), 2));
    let (document, _) = lab.run(&["--no-checks"]);
    let opened: Vec<&Value> =
        document["report"]["arms"].as_array().unwrap().iter().map(|arm| &arm["exposure"]["opened"]).collect();
    assert_eq!(opened, [&json!(0.0), &json!(1.0), &json!(0.0)]);
    let notes = document["report"]["notes"].to_string();
    assert!(notes.contains("`placebo` was opened in only 0% of its trials"), "{notes}");
}

/// The whole library of one skill is the curated skill.
#[test]
fn conditions_that_provide_the_same_share_their_trials() {
    needs_bubblewrap!();
    let lab = suite::lab(2)
        .experiment(|e| suite::paired(e.conditions(&["none", "curated", "full"]).repetitions(2), 2));
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["planned"], &document["executed"]), (0, &json!(8), &json!(8)));
    let arms = document["report"]["arms"].as_array().unwrap();
    assert_eq!(arms.iter().map(|arm| arm["trials"].as_u64().unwrap()).sum::<u64>(), 12);
    assert_eq!(arms[1]["pass_rate"], arms[2]["pass_rate"]);
    let notes = document["report"]["notes"].to_string();
    assert!(
        notes.contains(
            "`curated` and `full` provide the same skills on 2 tasks and share their trials there."
        ),
        "{notes}"
    );
}
