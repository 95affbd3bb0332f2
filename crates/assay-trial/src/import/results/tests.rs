//! Planted variants of every format: errored, skipped, partial and missing runs, and files that are damaged.

use std::fs;
use std::path::Path;

use assay_store::{AttemptEnd, ToolResults};
use assay_test::store_members;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ResultColumns, ResultError, read_results};

fn read_bytes(name: &str, content: &[u8]) -> Result<ToolResults, ResultError> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    read_results(&path, &ResultColumns::default())
}

fn read_json(content: &Value) -> Result<ToolResults, ResultError> {
    read_bytes("results.json", content.to_string().as_bytes())
}

/// Arms, and how many attempts ended how: `with 3 (1 errored), without 2`, and what else a reader found.
fn summary(results: &ToolResults) -> String {
    let arms = results.arms.iter().enumerate().map(|(at, arm)| {
        let of = |end: fn(&AttemptEnd) -> bool| {
            results.attempts.iter().filter(|attempt| attempt.arm == at && end(&attempt.end)).count()
        };
        let (errored, skipped) = (
            of(|end| matches!(end, AttemptEnd::Errored(_))),
            of(|end| matches!(end, AttemptEnd::Skipped(_))),
        );
        let mut text = format!("{} {}", arm.name, of(|_| true));
        if errored > 0 {
            text.push_str(&format!(" {errored} errored"));
        }
        if skipped > 0 {
            text.push_str(&format!(" {skipped} skipped"));
        }
        text
    });
    let mut parts: Vec<String> = arms.collect();
    if let Some(why) = &results.partial {
        parts.push(format!("partial ({why})"));
    }
    if !results.absent_cases.is_empty() {
        parts.push(format!("absent {}", results.absent_cases.join(" ")));
    }
    parts.extend(results.remarks.iter().map(|remark| remark.code.to_owned()));
    parts.join(", ")
}

fn check(content: &Value, expected: &str) -> ToolResults {
    let results = read_json(content).unwrap_or_else(|error| panic!("{error}: {content}"));
    assert_eq!(summary(&results), expected, "{content}");
    results
}

/// Every damage of a document that its reader must refuse, or read without losing an attempt.
fn check_damaged(document: &Value) {
    let text = document.to_string();
    for (name, content) in [
        ("truncated", text.as_bytes()[..text.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("a list", format!("[{text}]").into_bytes()),
        ("another object", b"{\"a\": 1}".to_vec()),
        ("not text", vec![0xff, 0xfe, 0x00]),
    ] {
        let error = read_bytes("results.json", &content).expect_err(name).to_string();
        assert!(error.contains("results.json"), "{name}: {error}");
    }
}

fn refused(content: &Value, expected: &str) {
    let error = read_json(content).map(|results| summary(&results)).expect_err(expected).to_string();
    assert!(error.contains(expected), "{error}");
}

/// The document with another value at a pointer.
fn with(document: &Value, pointer: &str, value: Value) -> Value {
    let mut changed = document.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = changed.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}"));
    match parent {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
        other => other[key] = value,
    }
    changed
}

fn plugin_eval() -> Value {
    let run = |score: f64| {
        let passed = score > 0.99;
        json!({"score": score, "passed": passed, "costUsd": 0.02, "judgeCostUsd": 0.01, "error": null,
        "skippedPaidGraders": false, "graders": [
            {"name": "reads", "passed": passed, "explanation": "found"},
            {"name": "fires", "passed": false, "withOnly": true, "scored": false}]})
    };
    let case = |name: &str| {
        json!({"name": name, "dir": format!("evals/{name}"), "runsPerCase": 3,
        "graders": [{"name": "reads", "type": "llm"}, {"name": "fires", "type": "tool_used", "config": {"tool": "Skill"}}],
        "arms": {"with": [run(1.0), run(0.5)], "without": [run(0.0), run(0.5)]}})
    };
    json!({"schemaVersion": 1, "claudeVersion": "2.1.330", "partial": false,
        "suite": {"root": "plugin", "threshold": 1, "plugins": [{"name": "greet"}]},
        "cases": [case("one"), case("two")],
        "aggregates": {"casesTotal": 2, "casesPassed": 0, "meanDelta": 0.5}})
}

#[test]
fn claude_plugin_eval() {
    let whole = plugin_eval();
    let results = check(&whole, "with 4, without 4");
    assert_eq!(results.subject.as_deref(), Some("greet"));
    assert_eq!(results.published[0].delta, Some(0.5));
    assert!(results.attempts.iter().all(|attempt| attempt.opened == Some(false)));
    assert!(results.attempts[0].checks[0].judged && !results.attempts[0].checks[1].judged);
    assert!(results.arms.iter().all(|arm| arm.models.is_empty()));
    let run = "/cases/0/arms/with/0";
    let errored =
        check(&with(&whole, &format!("{run}/error"), json!("rate limited")), "with 4 1 errored, without 4");
    assert_eq!(errored.attempts[0].score, Some(1.0), "what the tool counts is kept");
    check(&with(&whole, &format!("{run}/skippedPaidGraders"), json!(true)), "with 4 1 skipped, without 4");
    let partial = with(&with(&whole, "/partial", json!(true)), "/partialReason", json!("cost_ceiling"));
    check(&partial, "with 4, without 4, partial (cost_ceiling)");
    check(&with(&whole, "/cases/0/arms/with", json!([])), "with 2, without 4");
    check(&with(&whole, "/cases/0/arms", json!({})), "with 2, without 2, absent one, empty-case");
    check(&with(&whole, "/cases/1/name", json!("one")), "with 4, without 4, duplicate-case");
    let named = check(&with(&whole, "/suite/modelOverride", json!("claude-haiku-4-5")), "with 4, without 4");
    assert!(named.arms.iter().all(|arm| arm.models.contains("claude-haiku-4-5")));
    refused(
        &with(&whole, &format!("{run}/score"), json!("high")),
        "cases[0]: arms.with[0]: `score` is not a number",
    );
    refused(&with(&whole, "/cases/0/name", json!(null)), "cases[0]: no `name`");
    refused(&with(&whole, "/schemaVersion", json!(2)), "`schemaVersion` is not 1");
    refused(&with(&whole, "/cases", json!([])), "it contains no result of a case");
    refused(&with(&whole, "/cases", json!(7)), "`cases` is not a list");
    check_damaged(&whole);
}

/// A case that cannot be loaded is missing from the file without a word: its folder shows it.
#[test]
fn cases_are_compared_with_the_folder_of_the_plugin() {
    let folder = TempDir::new().unwrap();
    for (case, file) in
        [("one", "prompt.md"), ("two", "case.yaml"), ("lost", "prompt.md"), ("notes", "README.md")]
    {
        let case = folder.path().join("plugin/evals").join(case);
        fs::create_dir_all(&case).unwrap();
        fs::write(case.join(file), "Greet Ada.").unwrap();
    }
    let path = folder.path().join("out.json");
    fs::write(&path, plugin_eval().to_string()).unwrap();
    let results = read_results(&path, &ResultColumns::default()).unwrap();
    assert_eq!(results.absent_cases, ["lost"]);
    // Several files of one suite are one evaluation.
    let results_folder = folder.path().join("results");
    fs::create_dir_all(&results_folder).unwrap();
    for name in ["a.json", "b.json"] {
        fs::write(results_folder.join(name), plugin_eval().to_string()).unwrap();
    }
    fs::write(results_folder.join("notes.txt"), "hello").unwrap();
    let merged = read_results(&results_folder, &ResultColumns::default()).unwrap();
    assert_eq!(summary(&merged), "with 8, without 8");
    assert_eq!(merged.published[0].delta, None, "what each file published is about itself");
    let other = with(&plugin_eval(), "/suite/plugins/0/name", json!("wave"));
    fs::write(results_folder.join("b.json"), other.to_string()).unwrap();
    let error = read_results(&results_folder, &ResultColumns::default()).unwrap_err().to_string();
    assert!(error.contains("two evaluations, greet and wave"), "{error}");
}

const OLD_REPORT: &str = "# Evaluation Report

## Evaluation Summary

- Skill: `pack`
- Dataset: 8 evaluation tasks
- Attempts per task: 2
- Overall verdict: PASS

## Results

| Dimension | Num | Claude Code (`a/opus`) | `codex` |
|---|---:|---:|---:|
| Security | 8 | 100% (+0%) | 100% (+0%) |
| Effectiveness | 8 | 86% (+63%) | 50% (-12%) |

## Tier 1: Static Validation Summary

## Publication Recommendation
";

#[test]
fn nvidia_reports() {
    let read = |text: &str| read_bytes("BENCHMARK.md", text.as_bytes());
    let figures = |text: &str| -> Vec<(String, f64, f64, f64, usize, Option<usize>)> {
        let results = read(text).unwrap();
        let rate = |one: &assay_store::PublishedComparison| {
            let rates = one.rates.unwrap();
            (one.label.clone(), rates.with, rates.without, one.delta.unwrap(), rates.tasks, rates.attempts)
        };
        results.published.iter().map(rate).collect()
    };
    let old = figures(OLD_REPORT);
    assert_eq!(old.len(), 2);
    assert_eq!(
        (old[0].0.as_str(), old[0].1, old[0].3, old[0].4, old[0].5),
        ("Claude Code (a/opus)", 0.86, 0.63, 8, Some(2))
    );
    assert!((old[0].2 - 0.23).abs() < 1e-9 && (old[1].2 - 0.62).abs() < 1e-9);
    let new = OLD_REPORT
        .replace("# Evaluation Report", "# Skill Benchmark: pack")
        .replace(
            "| Dimension | Num | Claude Code (`a/opus`) | `codex` |",
            "| Measure | Claude Code (Baseline → Skill Uplift) | Codex (Baseline → Skill Uplift) |",
        )
        .replace(
            "| Effectiveness | 8 | 86% (+63%) | 50% (-12%) |",
            "| Effectiveness | 23% → 86% (+63 points) | 50% → 50% (±0 points) |",
        )
        .replace("- Dataset: 8 evaluation tasks", "- Tasks: 8 evaluation tasks (6 positive, 2 negative)");
    let new = figures(&new);
    assert_eq!(new[0], ("Claude Code".to_owned(), 0.86, 0.23, 0.63, 8, Some(2)));
    assert!(new[1].3.abs() < 1e-9, "{:?}", new[1]);
    let unavailable = read(&OLD_REPORT.replace("50% (-12%)", "Not available")).unwrap();
    assert_eq!((unavailable.published.len(), summary(&unavailable)), (1, "no-rate".to_owned()));
    let check = |from: &str, to: &str, expected: &str| {
        let error =
            read(&OLD_REPORT.replace(from, to)).map(|results| summary(&results)).expect_err(to).to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("- Dataset: 8 evaluation tasks\n", "", "how many tasks");
    check("| Effectiveness |", "| Speed |", "no row Effectiveness");
    check(
        "| Dimension |",
        "| Column |",
        "no live evaluation of an agent, and its verdict PASS rests on none",
    );
    let damaged = read(&OLD_REPORT.replace("86% (+63%)", "NaN% (+63%)")).unwrap();
    assert_eq!((damaged.published.len(), summary(&damaged)), (1, "no-rate".to_owned()));
    check("## Publication Recommendation", "", "not a known format");
}

fn inspect() -> Value {
    let sample = |id: Value, epoch: u64, value: Value| {
        json!({"id": id, "epoch": epoch, "total_time": 0.5,
        "scores": {"includes": {"value": value, "explanation": "because"}}})
    };
    json!({"version": 2, "status": "success",
        "eval": {"task": "ledger", "model": "openai/gpt-5", "packages": {"inspect_ai": "0.3.285"},
            "dataset": {"sample_ids": ["a", 2]}, "config": {}},
        "plan": {"steps": []}, "results": {"scores": [{"name": "includes"}]},
        "samples": [sample(json!("a"), 1, json!("C")), sample(json!("a"), 2, json!("I")), sample(json!(2), 1, json!(0.25))]})
}

/// The log as an archive.
fn archived(log: &Value, finished: bool) -> Vec<u8> {
    let mut header = log.clone();
    let samples = header.as_object_mut().unwrap().remove("samples").unwrap();
    let (header, samples) = (header.to_string(), samples.to_string());
    let names = if finished {
        ["header.json", "summaries.json"]
    } else {
        ["_journal/start.json", "_journal/summaries/1.json"]
    };
    store_members(&[(names[0], header.as_bytes()), (names[1], samples.as_bytes())])
}

#[test]
fn inspect_logs() {
    let whole = inspect();
    let arm = "ledger, openai/gpt-5";
    let results = check(&whole, &format!("{arm} 3"));
    let scores: Vec<Option<f64>> = results.attempts.iter().map(|attempt| attempt.score).collect();
    assert_eq!(scores, [Some(1.0), Some(0.0), Some(0.25)]);
    let archive = archived(&whole, true);
    assert_eq!(summary(&read_bytes("a.eval", &archive).unwrap()), format!("{arm} 3"));
    let started = read_bytes("a.eval", &archived(&whole, false)).unwrap();
    assert_eq!(summary(&started), format!("{arm} 3, partial (the log's status is `started`)"));
    assert!(
        read_bytes("a.eval", &archive[..archive.len() - 30]).unwrap_err().to_string().contains("truncated")
    );
    let cancelled = with(&whole, "/status", json!("cancelled"));
    check(&cancelled, &format!("{arm} 3, partial (the log's status is `cancelled`)"));
    check(&with(&whole, "/samples/0/error", json!({"message": "boom"})), &format!("{arm} 3 1 errored"));
    check(&with(&whole, "/samples/0/scores", json!(null)), &format!("{arm} 3 1 skipped"));
    check(&with(&whole, "/eval/dataset/sample_ids", json!(["a", 2, "b"])), &format!("{arm} 3, absent b"));
    check(&with(&whole, "/samples/0/scores/includes/value", json!(null)), &format!("{arm} 3 1 skipped"));
    // Python's NaN in place of a value is no value.
    let text = whole.to_string().replace("\"C\"", "NaN");
    assert_eq!(summary(&read_bytes("a.json", text.as_bytes()).unwrap()), format!("{arm} 3 1 skipped"));
    refused(
        &with(&whole, "/samples/0/scores/includes/value", json!("maybe")),
        "samples[0]: scorer \"includes\"",
    );
    refused(&with(&whole, "/samples/0/scores/includes/value", json!({"a": 1})), "several values");
    refused(&with(&whole, "/samples/0/id", json!(null)), "samples[0]: no `id`");
    refused(&with(&whole, "/samples", json!([])), "no result of a case");
    refused(&with(&whole, "/samples", json!(null)), "no `samples`");
    check_damaged(&whole);
}

/// Two logs of one task are two arms, and the tool that opens skills says whether they were opened.
#[test]
fn several_inspect_logs_are_arms() {
    let folder = TempDir::new().unwrap();
    let call = json!([{"role": "assistant", "tool_calls": [{"function": "skill", "arguments": {"name": "ledger"}}]}]);
    let tools = json!([{"solver": "use_tools", "params": {"tools": [[{"type": "tool", "name": "skill"}]]}}]);
    let treated = with(&with(&inspect(), "/plan/steps", tools), "/samples/0/messages", call);
    for (name, log, skills) in [("a", &inspect(), false), ("b", &treated, true)] {
        let log =
            with(log, "/eval/task_args", json!({"arm": if skills { "with_skill" } else { "without_skill" }}));
        fs::write(folder.path().join(format!("{name}.json")), log.to_string()).unwrap();
    }
    let results = read_results(folder.path(), &ResultColumns::default()).unwrap();
    assert_eq!(summary(&results), "arm=without_skill 3, arm=with_skill 3");
    let roles: Vec<_> = results.arms.iter().map(|arm| arm.role).collect();
    assert_eq!(roles, [assay_store::ArmRole::Baseline, assay_store::ArmRole::Treatment]);
    let opened: Vec<Option<bool>> = results.attempts.iter().map(|attempt| attempt.opened).collect();
    assert_eq!(opened[3..], [Some(true), Some(false), Some(false)]);
    assert_eq!(opened[..3], [None; 3]);
}

fn promptfoo() -> Value {
    let label = |prompt: u64| if prompt == 0 { "plain" } else { "with skill" };
    let row = |test: u64, prompt: u64, success: bool| {
        json!({"promptIdx": prompt, "testIdx": test, "success": success, "score": 0.5,
        "failureReason": u8::from(!success), "latencyMs": 1500, "cost": 0.01, "provider": {"id": "openai:gpt-5", "label": ""}, "vars": {"n": test},
        "prompt": {"label": label(prompt)}, "error": null,
        "gradingResult": {"pass": success, "componentResults": [
            {"pass": success, "reason": "no", "assertion": {"type": "llm-rubric", "provider": "openai:gpt-5-mini"}}]}})
    };
    json!({"evalId": "e", "config": {"description": "notes"}, "metadata": {"promptfooVersion": "0.123.1"},
        "results": {"version": 3, "stats": {"successes": 3}, "prompts": [],
            "results": [row(0, 0, false), row(0, 1, true), row(1, 0, true), row(1, 1, true)]}})
}

#[test]
fn promptfoo_results() {
    let whole = promptfoo();
    let results = check(&whole, "plain 2, with skill 2");
    assert_eq!(results.attempts[0].score, Some(0.0));
    assert!(results.judges.contains("openai:gpt-5-mini") && results.attempts[0].checks[0].judged);
    let row = "/results/results/0";
    check(&with(&whole, &format!("{row}/failureReason"), json!(2)), "plain 2 1 errored, with skill 2");
    // Versions without `failureReason` have an error and no assertions.
    let old = with(
        &with(&whole, &format!("{row}/failureReason"), json!(null)),
        &format!("{row}/error"),
        json!("timeout"),
    );
    check(&old, "plain 2, with skill 2");
    check(&with(&old, &format!("{row}/gradingResult"), json!(null)), "plain 2 1 errored, with skill 2");
    // Version 2 has the rows at the top.
    check(
        &with(&whole, "/results", whole.pointer("/results/results").unwrap().clone()),
        "plain 2, with skill 2",
    );
    let check_type = format!("{row}/gradingResult/componentResults/0/assertion/type");
    let opened =
        check(&with(&whole, &check_type, json!("skill-used")), "plain 2, with skill 2").attempts[0].opened;
    assert_eq!(opened, Some(false));
    // A repetition has the index of its own and the variables of the others.
    let repeated = with(&whole, "/results/results/2/vars", json!({"n": 0}));
    let cases: std::collections::BTreeSet<String> =
        check(&repeated, "plain 2, with skill 2").attempts.into_iter().map(|attempt| attempt.case).collect();
    assert_eq!(cases.len(), 2, "{cases:?}");
    let providers = with(&whole, &format!("{row}/provider/id"), json!("anthropic:claude"));
    check(&providers, "anthropic:claude · plain 1, openai:gpt-5 · with skill 2, openai:gpt-5 · plain 1");
    refused(
        &with(&whole, &format!("{row}/success"), json!("yes")),
        "results[0]: `success` is not true or false",
    );
    refused(&with(&whole, "/results/results", json!([])), "no result of a case");
    check_damaged(&whole);
}

fn waza() -> Value {
    let run = |status: &str| {
        json!({"run_number": 1, "status": status, "duration_ms": 2000, "validations": {
        "quality": {"type": "prompt", "passed": status == "passed", "feedback": "fine"}}})
    };
    let tasks = json!([{"test_id": "a", "status": "passed", "runs": [run("passed"), run("failed")]},
        {"test_id": "b", "status": "failed", "runs": [run("failed"), run("failed")]}]);
    json!({"eval_id": "e", "skill": "deploy", "eval_name": "deploy", "config": {"model_id": "gpt-5", "judge_model": "gpt-5"},
        "summary": {"total_tests": 2, "succeeded": 1}, "tasks": tasks})
}

#[test]
fn waza_results() {
    let whole = waza();
    let results = check(&whole, "gpt-5 4");
    assert_eq!(results.published[0].verdict.as_deref(), Some("1 of 2 tests passed"));
    let mut paired = whole.clone();
    paired["baseline_outcome"] = whole.clone();
    paired["tasks"][0]["skill_impact"] = json!({"delta": 0.5});
    paired["tasks"][1]["skill_impact"] = json!({"delta": 0.0});
    let results = check(&paired, "with skill 4, baseline 4");
    assert_eq!(results.published[0].delta, Some(0.25));
    let run = "/tasks/0/runs/0";
    let errored = with(
        &with(&paired, &format!("{run}/status"), json!("error")),
        &format!("{run}/error_msg"),
        json!("no model"),
    );
    check(&errored, "with skill 4 1 errored, baseline 4");
    check(&with(&paired, &format!("{run}/status"), json!("skipped")), "with skill 4 1 skipped, baseline 4");
    check(&with(&paired, "/baseline_outcome/tasks/0/runs", json!([])), "with skill 4, baseline 3 1 skipped");
    check(&with(&paired, "/tasks/1/test_id", json!("a")), "with skill 4, baseline 4, duplicate-case");
    refused(
        &with(&whole, &format!("{run}/status"), json!("odd")),
        "tasks[0] of gpt-5: runs[0]: unknown status \"odd\"",
    );
    refused(&with(&whole, "/tasks", json!({})), "`tasks` of gpt-5 is not a list");
    refused(&with(&whole, "/tasks", json!([])), "no result of a case");
    check_damaged(&whole);
}

fn driftproof() -> Value {
    let case = |id: &str, mode: &str, score: f64| {
        json!({"id": id, "mode": mode, "outcome": "pass", "score": score,
        "samples": [score, score], "reason": "good", "judge": {"model_id": "claude-haiku-4-5"}})
    };
    json!({"schema_version": "0.2", "skill": {"name": "plans"}, "suite": {"case_count": 2}, "receipt_hash": "x",
        "run": {"model_id": "claude-sonnet-5", "runner_version": "0.2.0"}, "verification_level": "TESTED",
        "results": {"cases": [case("a", "with_skill", 0.9), case("a", "baseline", 0.6), case("b", "with_skill", 0.8), case("b", "baseline", 0.8)]},
        "comparison": {"delta": 0.15}})
}

#[test]
fn driftproof_receipts() {
    let whole = driftproof();
    let results = check(&whole, "with_skill 2, baseline 2");
    assert_eq!(results.published[0].delta, Some(0.15));
    assert!(results.judges.contains("claude-haiku-4-5"));
    let case = "/results/cases/0";
    check(&with(&whole, &format!("{case}/outcome"), json!("error")), "with_skill 2 1 errored, baseline 2");
    check(&with(&whole, &format!("{case}/score"), json!(null)), "with_skill 2 1 skipped, baseline 2");
    check(&with(&whole, "/suite/case_count", json!(3)), "with_skill 2, baseline 2, absent case 3 of 3");
    check(&with(&whole, "/results/cases/2/id", json!("a")), "with_skill 2, baseline 2, duplicate-case");
    refused(
        &with(&whole, &format!("{case}/mode"), json!("other")),
        "results.cases[0]: unknown mode \"other\"",
    );
    refused(
        &with(&whole, &format!("{case}/score"), json!("0.9")),
        "results.cases[0]: `score` is not a number",
    );
    refused(&with(&whole, "/results/cases", json!([])), "no result of a case");
    check_damaged(&whole);
}

fn write_run(root: &Path, path: &str, passed: &[bool]) {
    let folder = root.join(path);
    fs::create_dir_all(&folder).unwrap();
    let expectations: Vec<Value> = passed
        .iter()
        .map(|passed| json!({"text": "has a name", "passed": passed, "evidence": "line 3"}))
        .collect();
    fs::write(
        folder.join("grading.json"),
        json!({"expectations": expectations, "summary": {"pass_rate": 0.67}}).to_string(),
    )
    .unwrap();
    fs::write(folder.join("timing.json"), "{\"total_duration_seconds\": 20.5}").unwrap();
}

#[test]
fn skill_creator_workspaces() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    write_run(root, "iteration-2/eval-0/with_skill/run-1", &[true, true, false]);
    write_run(root, "iteration-2/eval-0/with_skill/run-2", &[true, true, true]);
    write_run(root, "iteration-2/eval-0/without_skill/run-1", &[false, false, false]);
    write_run(root, "iteration-2/form/with_skill", &[true]);
    fs::create_dir_all(root.join("iteration-2/form/without_skill/outputs")).unwrap();
    write_run(root, "iteration-1/eval-0/with_skill", &[true]);
    let read = || read_results(root, &ResultColumns::default());
    let results = read().unwrap();
    assert_eq!(summary(&results), "with_skill 3, without_skill 2 1 skipped");
    assert_eq!(results.attempts[0].score, Some(2.0 / 3.0), "of the expectations, not of the rounded rate");
    assert_eq!(results.attempts[0].seconds, Some(20.5));
    assert!(
        results.unused.iter().any(|unused| unused.contains("1 earlier iterations")),
        "{:?}",
        results.unused
    );
    fs::write(root.join("iteration-2/eval-0/with_skill/run-1/grading.json"), "{\"expectations\": [").unwrap();
    assert!(read().unwrap_err().to_string().contains("grading.json: not valid JSON"));

    let run = |configuration: &str, number: u64, rate: f64| {
        json!({"eval_id": 1, "eval_name": "form", "configuration": configuration,
        "run_number": number, "result": {"pass_rate": rate, "time_seconds": 3.5}, "expectations": []})
    };
    let benchmark = json!({"metadata": {"skill_name": "pdf", "executor_model": "claude-opus-5"},
        "runs": [run("with_skill", 1, 0.9), run("with_skill", 2, 0.8), run("without_skill", 1, 0.35)],
        "run_summary": {"delta": {"pass_rate": "+0.50"}}});
    let results = check(&benchmark, "with_skill 2, without_skill 1");
    assert_eq!((results.published[0].delta, results.published[0].rounding), (Some(0.5), 0.0051));
    assert!(results.arms[0].models.contains("claude-opus-5"));
    check(
        &with(&benchmark, "/runs/0/result/pass_rate", json!(null)),
        "with_skill 2 1 skipped, without_skill 1",
    );
    check(&with(&benchmark, "/runs/1/run_number", json!(1)), "with_skill 2, without_skill 1, duplicate-case");
    refused(
        &with(&benchmark, "/runs/0/result/pass_rate", json!("0.9")),
        "runs[0]: `result.pass_rate` is not a number",
    );
    refused(&with(&benchmark, "/runs", json!([])), "no result of a case");
    check_damaged(&benchmark);
}

#[test]
fn tables() {
    let check = |text: &str, expected: &str| {
        let results =
            read_bytes("results.csv", text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(summary(&results), expected, "{text}");
        results
    };
    let refused = |text: &str, expected: &str| {
        let error = read_bytes("results.csv", text.as_bytes())
            .map(|results| summary(&results))
            .expect_err(text)
            .to_string();
        assert!(error.contains(expected), "{error}");
    };
    let rows = "case,variant,passed,error,note\na,without,no,,x\na,with skill,yes,,x\nb,without,1,,x\nb,with skill,0,timeout,x\n";
    let results = check(rows, "without 2, with skill 2 1 errored");
    assert_eq!(results.unused, ["the columns note"]);
    check("task,condition,score\na,none,\na,curated,0.5\n", "none 1 1 skipped, curated 1");
    check("task,condition,score\na,none,x\na,curated,0.5\n", "curated 1, skipped-rows");
    check("task,condition,score,cluster\na,none,0,k\n", "none 1");
    refused("task,condition\na,none\n", "no column for the score");
    refused("", "no column for the task");
    refused("task,condition,score\n", "no result of a case");
    refused("task,condition,score\na,none,NaN\n", "no result of a case");
    let lines = read_bytes("a.jsonl", b"{\"task\": \"a\", \"condition\": \"none\", \"score\": true}\n{\"task\": \"a\", \"condition\": \"curated\", \"score\": 1e308}\n");
    assert_eq!(summary(&lines.unwrap()), "none 1, curated 1");
    let pair = |text: &str| ResultColumns::parse_pair(text).is_ok();
    assert!(pair("task=instance_id") && !pair("task=") && !pair("tusk=a") && !pair("task"));
}

/// Folders of Harbor are read as an import reads them; one that does not exist is an error.
#[test]
fn folders_without_results_are_refused() {
    let folder = TempDir::new().unwrap();
    let read = |path: &Path| read_results(path, &ResultColumns::default()).unwrap_err().to_string();
    assert!(read(folder.path()).contains("not a known format"));
    assert!(read(&folder.path().join("none.json")).contains("cannot read"));
    fs::write(folder.path().join("a.json"), waza().to_string()).unwrap();
    fs::write(folder.path().join("b.json"), driftproof().to_string()).unwrap();
    assert!(read(folder.path()).contains("results of two formats"));
}
