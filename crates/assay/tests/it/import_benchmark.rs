//! `assay import jsonl-…`: results of benchmarks in their own JSON.

use serde_json::{Value, json};

use crate::fixture::Fixture;

fn import(lab: &Fixture, layout: &str, file: &str, text: &str, status: i32) -> Value {
    lab.write(file, text);
    lab.assay(&["import", layout, file, "--format", "json"]).ended(status).json()
}

/// Each arm of a run as `AGENT MODEL CONDITION SCORE`, and the lifts.
fn figures(lab: &Fixture, run: &str) -> (Vec<String>, Vec<Value>) {
    let report = lab.assay(&["report", run, "--format", "json"]).ok().json();
    let arm = |arm: &Value| {
        let text = |key: &str| arm[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {} {}", text("agent"), text("model"), text("condition"), arm["score"])
    };
    let arms = report["arms"].as_array().unwrap().iter().map(arm).collect();
    let lifts = report["comparisons"].as_array().unwrap().iter().map(|found| found["lift"].clone());
    (arms, lifts.collect())
}

fn reasons(imported: &Value) -> Vec<String> {
    let row = |row: &Value| format!("{}: {}", row["line"], row["reason"].as_str().unwrap());
    imported["skipped"].as_array().unwrap().iter().map(row).collect()
}

/// A report in the layout of `eval.py`.
fn report(skill: &str, with_skill: bool, passed: u64, total: u64, hour: u64) -> String {
    json!({
        "skill_id": skill,
        "container_name": format!("benchmark_{skill}_use-skill-{with_skill}_use-agent-true_claude-haiku"),
        "success": true, "start_time": format!("2026-01-01T{hour:02}:00:00.250000"), "duration_sec": 61.5,
        "evaluation_scores": { "overall_score": 1.0, "details": [
            { "level": "L1", "method": "build", "status": "passed", "score": 1.0, "details": { "passed": 9, "total": 9 } },
            { "level": "L2", "method": "unit_test", "status": "failed", "score": 0.5,
              "details": { "passed": passed, "total": total } },
        ] },
        "logs": ["[2026-01-01 00:00:00] a log"], "error": null,
    })
    .to_string()
}

#[test]
fn reports_of_swe_skills_bench_become_trials() {
    let lab = Fixture::new();
    // One of them over several lines, as the benchmark writes it.
    let first: Value = serde_json::from_str(&report("tdd_use-skills", true, 3, 4, 10)).unwrap();
    let text = [
        serde_json::to_string_pretty(&first).unwrap(),
        report("tdd_use-skills", false, 1, 4, 11),
        report("xlsx", true, 5, 5, 12),
        report("xlsx", true, 5, 5, 13),
        report("xlsx", false, 0, 5, 14),
        report("xlsx", false, 0, 5, 14),
        report("mcp", true, 0, 0, 15),
        report("mcp", false, 1, 1, 15).replace("use-agent-true", "use-agent-false"),
        report("mcp", false, 1, 1, 15).replace("\"success\":true", "\"success\":false"),
        "{\"skill_id\": \"mcp\"}\n{\"skill_id\": ".to_owned(),
    ]
    .join("\n");
    let imported = import(&lab, "jsonl-swe-skills-bench", "swe.jsonl", &text, 1);
    assert_eq!((&imported["run"], &imported["imported"]), (&json!("swe"), &json!(6)));
    assert_eq!(imported["by_outcome"], json!({ "failed": 3, "infrastructure": 1, "passed": 2 }));
    let start = text.lines().position(|line| line == "}").unwrap() + 1;
    let expected = [
        (5, format!("duplicate of line {}: same task, condition, agent, model and repetition", start + 4)),
        (6, "no unit test ran".to_owned()),
        (7, "no agent worked on it".to_owned()),
        (9, "not a report of SWE-Skills-Bench: it has no `container_name`".to_owned()),
        (10, "not JSON: EOF while parsing a value at line 1 column 13".to_owned()),
    ];
    let expected: Vec<String> =
        expected.into_iter().map(|(line, reason)| format!("{}: {reason}", start + line)).collect();
    assert_eq!(reasons(&imported), expected);
    // By hand: with its skill (3/4 + 5/5) / 2, without (1/4 + 0/5) / 2. The third skill has no result.
    let (arms, lifts) = figures(&lab, "swe");
    assert_eq!(arms, ["claude-code claude-haiku none 0.125", "claude-code claude-haiku curated 0.875"]);
    assert_eq!(lifts, [json!(0.75)]);
}

#[test]
fn results_of_the_skillsbench_leaderboard_become_trials() {
    let lab = Fixture::new();
    let trial = |task: &str, condition: &str, id: u64, reward: f64| {
        json!({
            "task_id": task, "trial_id": format!("{task}__agentbeats__{id}"), "condition": condition,
            "score_eligible": true, "passed": reward >= 2.0, "reward": reward, "max_score": 2.0, "time_used": 58.5,
            "category": "c", "difficulty": "hard", "tags": [], "has_skills": true, "infra_failure_type": null,
        })
    };
    let mut lost = trial("b", "with_skills", 5, 0.0);
    lost["score_eligible"] = json!(false);
    let mut broken = trial("b", "with_skills", 6, 0.0);
    broken["infra_failure_type"] = json!("timeout");
    let inner = |results: Vec<Value>| json!({ "status": "completed", "participants": { "agent": "http://127.0.0.1/agent" }, "results": results });
    let submission = json!({
        "status": "completed", "participants": { "green": "g", "agent": "loop" },
        "results": [
            inner(vec![trial("a", "with_skills", 1, 2.0), trial("a", "with_skills", 2, 1.0)]),
            inner(vec![trial("a", "without_skills", 3, 0.0), trial("b", "with_skills", 4, 2.0), lost, broken]),
            inner(vec![trial("b", "without_skills", 7, 1.0), trial("b", "somehow", 8, 1.0)]),
        ],
    });
    let text = format!("{submission}\n{{\"results\": 1}}\n[]\n");
    let imported = import(&lab, "jsonl-skillsbench", "board.jsonl", &text, 1);
    assert_eq!(imported["by_condition"], json!({ "curated": 5, "none": 2 }));
    assert_eq!(imported["by_outcome"], json!({ "failed": 3, "infrastructure": 2, "passed": 2 }));
    let neither = "not a result of SkillsBench: neither `task_id` nor `results`";
    assert_eq!(
        reasons(&imported),
        ["1: unknown condition \"somehow\"".to_owned(), format!("2: {neither}"), format!("3: {neither}")]
    );
    // By hand: with skills ((1 + 1/2) / 2 + 1) / 2, without (0 + 1/2) / 2. The agent is the submission's.
    let (arms, lifts) = figures(&lab, "board");
    assert_eq!(arms, ["loop - none 0.25", "loop - curated 0.875"]);
    assert_eq!(lifts, [json!(0.625)]);
    let seconds: Vec<Value> = lab.records().iter().map(|record| record["seconds"]["agent"].clone()).collect();
    assert_eq!(seconds, vec![json!(58.5); 7]);
    // A document may also be one trial.
    let lines = [trial("a", "no_skills", 1, 2.0), trial("a", "with_skills", 1, 0.0)];
    import(&lab, "jsonl-skillsbench", "rows.jsonl", &format!("{}\n{}\n", lines[0], lines[1]), 0);
    assert_eq!(figures(&lab, "rows").1, [json!(-1.0)]);
}

/// A result in BenchFlow's layout.
fn rollout(name: &str, mode: &str, reward: f64) -> Value {
    json!({
        "task_name": "a", "rollout_name": name, "rewards": { "reward": reward }, "agent": "loop",
        "model": "deepseek/v4", "skill_mode": mode, "error": null, "verifier_error": null,
        "agent_result": { "n_input_tokens": 100, "n_output_tokens": 8, "n_cache_read_tokens": 60,
                          "n_cache_creation_tokens": 0, "total_tokens": 108, "cost_usd": 0.5 },
        "started_at": "2026-09-04 17:39:06.715853", "finished_at": "2026-09-04 17:48:24.985137",
        "timing": { "agent_execution": 331.25, "total": 558.5 },
    })
}

#[test]
fn results_of_benchflow_become_trials() {
    let lab = Fixture::new();
    let mut late = rollout("a__4", "with-skill", 1.0);
    (late["error"], late["error_category"]) = (json!("the time was over"), json!("timeout"));
    let mut lost = rollout("a__5", "with-skill", 0.0);
    (lost["error"], lost["error_category"]) = (json!("429"), json!("provider_rate_limit"));
    let rollouts = [
        rollout("a__1", "no-skill", 0.0),
        rollout("a__2", "no-skill", 0.5),
        rollout("a__3", "with-skill", 1.0),
        late,
        lost,
        rollout("a__3", "with-skill", 1.0),
        json!({ "rewards": 1 }),
    ];
    let text: Vec<String> = rollouts.iter().map(Value::to_string).collect();
    let imported = import(&lab, "jsonl-benchflow", "r.jsonl", &text.join("\n"), 1);
    assert_eq!(
        imported["by_outcome"],
        json!({ "failed": 2, "infrastructure": 1, "passed": 1, "timed_out": 1 })
    );
    let neither = "not a result of BenchFlow: neither `rollout_name` nor `skill_mode` and `agent`";
    let duplicate = "duplicate of line 3: same task, condition, agent, model and repetition";
    assert_eq!(reasons(&imported), [format!("6: {duplicate}"), format!("7: {neither}")]);
    // By hand: without (0 + .5) / 2, with (1 + 0) / 2, where the one that ran out of time counts as 0.
    let (arms, lifts) = figures(&lab, "r");
    assert_eq!(arms, ["loop deepseek:v4 none 0.25", "loop deepseek:v4 curated 0.5"]);
    assert_eq!(lifts, [json!(0.25)]);
    // Its own input tokens are 100, 60 of them from the cache.
    let record = &lab.records()[0];
    assert_eq!((&record["cost_usd"], &record["seconds"]["agent"]), (&json!(0.5), &json!(331.25)));
    assert_eq!((&record["usage"]["input"], &record["usage"]["output"]), (&json!(100), &json!(8)));
    assert_eq!(record["started_at"], json!("2026-09-04T17:39:06.715853Z"));
}

#[test]
fn files_without_a_usable_result_leave_no_run() {
    let lab = Fixture::new();
    for layout in ["jsonl-swe-skills-bench", "jsonl-skillsbench", "jsonl-benchflow"] {
        lab.write("r.jsonl", "");
        let ran = lab.assay(&["import", layout, "r.jsonl"]).ended(2);
        assert!(ran.stderr.contains("no row of r.jsonl can be imported"), "{}", ran.stderr);
        lab.write("r.jsonl", "{}");
        let ran = lab.assay(&["import", layout, "r.jsonl"]).ended(2);
        assert!(ran.stderr.contains("line 1: not a re"), "{}", ran.stderr);
        let ran = lab.assay(&["import", layout, "none.jsonl"]).ended(2);
        assert!(ran.stderr.contains("cannot open none.jsonl"), "{}", ran.stderr);
        assert!(!lab.path(".assay/runs/r").exists());
    }
}
