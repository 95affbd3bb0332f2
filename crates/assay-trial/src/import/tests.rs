use std::fs;
use std::path::PathBuf;

use assay_agent::Ended;
use assay_store::{Cause, Outcome, OutcomeRule, RunOutcomes};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// A store, and a folder for jobs beside it.
struct Fixture {
    folder: TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store")).unwrap();
        fs::create_dir(folder.path().join("jobs")).unwrap();
        Self { folder, store }
    }

    fn jobs(&self) -> PathBuf {
        self.folder.path().join("jobs")
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.jobs().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// A trial's folder with its result.
    fn trial(&self, path: &str, change: impl FnOnce(&mut Value)) {
        let mut result = result(path);
        change(&mut result);
        self.write(&format!("{path}/result.json"), result.to_string());
        self.write(&format!("{path}/trial.log"), "");
    }

    fn import(&self) -> Imported {
        self.import_with(&[], None).unwrap()
    }

    fn import_with(
        &self,
        conditions: &[(&str, &str)],
        baseline: Option<&str>,
    ) -> Result<Imported, ImportError> {
        let conditions = conditions.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let analysis =
            AnalysisOptions { baseline: baseline.map(str::to_owned), ..AnalysisOptions::default() };
        let options = ImportOptions { name: "run".into(), conditions, analysis };
        harbor(&self.store, &[self.jobs()], &options)
    }

    fn records(&self, run: &str) -> Vec<Record> {
        let run = self.store.run(run).unwrap();
        run.cells.iter().map(|cell| self.store.record(&cell.trial).unwrap().unwrap()).collect()
    }

    /// The record of the only trial.
    fn only(&self) -> Record {
        let mut records = self.records(&self.import().run);
        assert_eq!(records.len(), 1);
        records.remove(0)
    }
}

/// A new Harbor's result of a trial that passed.
fn result(id: &str) -> Value {
    json!({
        "id": id, "task_name": "hello", "trial_name": "hello__1234567", "task_id": { "path": "tasks/hello" },
        "source": null, "task_checksum": "00", "config": { "agent": { "name": "claude-code", "skills": [] } },
        "agent_info": { "name": "claude-code", "version": "2.0", "model_info": { "name": "opus", "provider": "anthropic" } },
        "agent_result": { "n_input_tokens": 100, "n_cache_tokens": 40, "n_output_tokens": 7, "cost_usd": 0.5 },
        "verifier_result": { "rewards": { "reward": 1.0 } }, "exception_info": null,
        "started_at": "2026-01-15T10:00:00Z", "finished_at": "2026-01-15T10:01:00Z",
        "agent_execution": { "started_at": "2026-01-15T10:00:10Z", "finished_at": "2026-01-15T10:00:40Z" },
        "verifier": { "started_at": "2026-01-15T10:00:40Z", "finished_at": "2026-01-15T10:00:50Z" },
    })
}

fn failing(result: &mut Value, class: &str) {
    result["exception_info"] =
        json!({ "exception_type": class, "exception_message": "it said so\nand more" });
}

/// An agent whose command failed, with its last output.
fn set_failed_command(result: &mut Value, code: i32, printed: &str) {
    result["exception_info"] = json!({
        "exception_type": "NonZeroAgentExitCodeError",
        "exception_message": format!("Command failed (exit {code}): agent 'a task'\nstdout: {printed}\n\nstderr: None"),
    });
}

#[test]
fn new_and_old_jobs_pair_by_task_name() {
    let fixture = Fixture::new();
    fixture.write("new/config.json", r#"{"job_name": "claude-with-skills"}"#);
    fixture.write("new/result.json", r#"{"id": "x", "stats": {}, "n_total_trials": 1}"#);
    fixture.trial("new/hello__aaaaaaa", |_| {});
    // Old: all of the configuration, naive times, one reward, a path and checksum of its own, no
    // skills key.
    fixture.write("old-no-skills/job.log", "");
    fixture.trial("old-no-skills/hello__bbbbbbb", |result| {
        result["config"] =
            json!({ "agent": { "name": "claude-code" }, "environment": { "type": "daytona" } });
        result["task_id"] = json!({ "git_url": "x", "path": "elsewhere/hello" });
        result["task_checksum"] = "ff".into();
        result["started_at"] = "2026-01-14T10:00:00.123456".into();
        result["finished_at"] = "2026-01-14T10:00:30.123456".into();
        result["verifier_result"] = json!({ "reward": 0.0 });
        result["agent_result"] = Value::Null;
    });
    let imported = fixture.import();
    assert_eq!(imported.imported, 2);
    assert_eq!(imported.by_condition, [("curated".to_owned(), 1), ("none".to_owned(), 1)].into());
    assert_eq!(imported.unusable, BTreeMap::new());
    let run = fixture.store.run("run").unwrap();
    assert_eq!((run.conditions, run.tasks.len()), (vec!["none".to_owned(), "curated".to_owned()], 1));
    let records = fixture.records("run");
    let (new, old) = (&records[0], &records[1]);
    assert_eq!((new.condition.as_str(), new.outcome), ("curated", Outcome::Passed));
    assert_eq!((old.condition.as_str(), old.outcome), ("none", Outcome::Failed));
    assert_eq!(
        new.agent,
        AgentLabel {
            name: "claude-code".into(),
            version: "2.0".into(),
            model: Some("anthropic:opus".into())
        }
    );
    let usage = new.usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (60, 40, 7));
    assert_eq!((old.usage, old.cost_usd, new.cost_usd), (None, None, Some(0.5)));
    assert_eq!((new.sandbox.as_str(), old.sandbox.as_str()), ("harbor-docker", "harbor-daytona"));
    assert_eq!(old.started_at.as_deref(), Some("2026-01-14T10:00:00.123456Z"));
    assert!((new.seconds.agent, old.seconds.total) == (Some(30.0), Some(30.0)));
    assert!(imported.notes.iter().any(|note| note.contains("without a zone")), "{:?}", imported.notes);
}

#[test]
fn missing_counts_are_unknown_not_zero() {
    let check = |agent: Value, expected: Option<(u64, u64, u64)>| {
        let fixture = Fixture::new();
        fixture.trial("job/t__1", |result| result["agent_result"] = agent.clone());
        let usage = fixture.only().usage.map(|usage| (usage.input, usage.cache_read, usage.output));
        assert_eq!(usage, expected, "{agent}");
    };
    check(json!({ "n_input_tokens": 5, "n_cache_tokens": null, "n_output_tokens": 2 }), Some((5, 0, 2)));
    check(json!({ "n_input_tokens": 5, "n_cache_tokens": 9, "n_output_tokens": 2 }), Some((0, 5, 2)));
    check(json!({ "n_input_tokens": null, "n_output_tokens": 2 }), None);
    check(json!({ "n_input_tokens": 5 }), None);
    check(json!({ "n_input_tokens": -5, "n_output_tokens": "2" }), None);
    check(Value::Null, None);
}

#[test]
fn outcome_is_derived_from_exception_and_reward() {
    type Expected<'a> = (Outcome, Option<Cause>, Option<&'a str>);
    let check = |change: fn(&mut Value), files: &[(&str, &str)], expected: Expected<'_>| {
        let fixture = Fixture::new();
        fixture.trial("job/t__1", change);
        for (name, text) in files {
            fixture.write(&format!("job/t__1/verifier/{name}"), text);
        }
        let record = fixture.only();
        assert_eq!((record.outcome, record.cause), (expected.0, expected.1), "{record:?}");
        match (record.reason, expected.2) {
            (None, None) => {}
            (Some(found), Some(part)) if found.contains(part) => {}
            (found, part) => panic!("{found:?} is not {part:?}"),
        }
    };
    let lost = |cause| (Outcome::Infrastructure, Some(cause));
    let with = |(outcome, cause): (Outcome, Option<Cause>), reason| (outcome, cause, Some(reason));
    check(|_| {}, &[("reward.txt", "1")], (Outcome::Passed, None, None));
    check(
        |r| r["verifier_result"]["rewards"] = json!({ "a": 1, "b": 0.5 }),
        &[],
        (Outcome::Failed, None, None),
    );
    // Only the files have it.
    check(|r| r["verifier_result"] = Value::Null, &[("reward.txt", "1")], (Outcome::Passed, None, None));
    check(|r| r["verifier_result"] = Value::Null, &[], with(lost(Cause::Verifier), "no reward"));
    // The agent's time was over, and the reward came later.
    check(
        |r| failing(r, "AgentTimeoutError"),
        &[],
        (Outcome::TimedOut, None, Some("graded after its deadline")),
    );
    check(
        |r| {
            failing(r, "AgentTimeoutError");
            r["verifier_environment_mode"] = "separate".into();
        },
        &[],
        (Outcome::TimedOut, None, Some("AgentTimeoutError: it said so")),
    );
    check(
        |r| {
            failing(r, "AgentTimeoutError");
            r["verifier_result"] = json!({ "rewards": { "reward": 0 } });
        },
        &[],
        (Outcome::TimedOut, None, Some("AgentTimeoutError")),
    );
    // A broken trial has no result, whatever the reward: choosing those that passed or failed would
    // bias the sample.
    check(
        |r| failing(r, "ApiUsageLimitError"),
        &[],
        with(lost(Cause::ModelProvider), "ApiUsageLimitError: it said so"),
    );
    check(|r| failing(r, "SomethingNew"), &[], with(lost(Cause::Harness), "SomethingNew"));
    check(|r| failing(r, "ContextWindowExceededError"), &[], (Outcome::Passed, None, Some("Context")));
    // The class only says that the agent's command failed; its output decides.
    check(
        |r| set_failed_command(r, 1, "Error: the prompt is too long: 9 tokens > 8 maximum"),
        &[],
        (
            Outcome::Passed,
            None,
            Some("NonZeroAgentExitCodeError: exit code 1: Error: the prompt is too long"),
        ),
    );
    check(|r| set_failed_command(r, 137, "x"), &[], (Outcome::Passed, None, Some("out of memory")));
    check(
        |r| set_failed_command(r, 1, "Error: HTTP 503"),
        &[],
        with(lost(Cause::ModelProvider), "exit code 1: Error: HTTP 503"),
    );
    check(
        |r| set_failed_command(r, 1, "Traceback"),
        &[],
        with(lost(Cause::AgentSetup), "exit code 1: Traceback"),
    );
    // Two reward files that contradict each other.
    check(
        |_| {},
        &[("reward.json", r#"{"reward": 1}"#), ("reward.txt", "0")],
        (Outcome::Tampered, None, Some("reward.txt contains 0")),
    );
    check(
        |_| {},
        &[("reward.json", r#"{"reward": 1, "speed": 0.1}"#), ("reward.txt", "1")],
        (Outcome::Passed, None, None),
    );
    // An exception in a step is the trial's.
    check(
        |r| r["step_results"] = json!([{ "exception_info": { "exception_type": "RewardFileEmptyError" } }]),
        &[],
        with(lost(Cause::Verifier), "RewardFileEmptyError"),
    );
}

/// A trial in steps, each with a reward and perhaps an exception; what comes of it.
#[test]
fn steps_have_exceptions_of_their_own() {
    let step = |name: &str, reward: f64, class: Option<&str>| {
        let exception = class.map(|class| {
            json!({ "exception_type": class, "exception_message": "it said so",
                "policy": { "should_retry": false, "should_grade": true, "has_valid_reward": true } })
        });
        json!({ "step_name": name, "verifier_result": { "rewards": { "reward": reward } }, "exception_info": exception,
            "agent_result": { "n_input_tokens": 5, "n_cache_tokens": 0, "n_output_tokens": 1, "cost_usd": 0.1 } })
    };
    let check = |rewards: f64, steps: &[Value], expected: (Outcome, Option<f64>, bool), reason: &str| {
        let fixture = Fixture::new();
        fixture.trial("job/t__1", |result| {
            result["verifier_result"] = json!({ "rewards": { "reward": rewards } });
            result["step_results"] = json!(steps);
        });
        let record = fixture.only();
        let found = record.reason.clone().unwrap_or_default();
        assert_eq!((record.outcome, record.score(), record.late), expected, "{found}");
        assert!(found.starts_with(reason), "{found:?}");
        assert_eq!(record.steps.len(), steps.len());
        record
    };
    let late = Some("AgentTimeoutError");
    // The last step counts: `final`.
    let record = check(
        1.0,
        &[step("a", 0.0, late), step("b", 1.0, None)],
        (Outcome::Passed, Some(1.0), false),
        "step a: AgentTimeoutError",
    );
    let steps: Vec<_> =
        record.steps.iter().map(|step| (step.name.as_str(), step.outcome, step.score)).collect();
    assert_eq!(steps, [("a", Some(Outcome::TimedOut), Some(0.0)), ("b", Some(Outcome::Passed), Some(1.0))]);
    assert_eq!(record.ended, Some(Ended::Finished));
    check(0.5, &[step("a", 0.0, late), step("b", 1.0, None)], (Outcome::Failed, Some(0.5), false), "step a");
    // Each step that counts ran out of time: the last of `final`, and all of the mean.
    let timed_out = (Outcome::TimedOut, Some(0.0), true);
    check(1.0, &[step("a", 0.0, None), step("b", 1.0, late)], timed_out, "graded after its deadline");
    check(0.5, &[step("a", 0.0, late), step("b", 1.0, late)], timed_out, "graded after its deadline");
    // An infrastructure error is the trial's, wherever it happened.
    let lost = (Outcome::Infrastructure, None, false);
    check(
        0.5,
        &[step("a", 1.0, Some("ApiOverloadedError")), step("b", 0.0, None)],
        lost,
        "step a: ApiOverloadedError",
    );
    check(
        0.5,
        &[step("a", 1.0, Some("OddError")), step("b", 0.0, None)],
        (Outcome::Failed, Some(0.5), false),
        "step a: OddError",
    );
    // A step without a verdict because of the agent leaves the others'.
    let mut refused = step("b", 0.0, Some("AgentSafetyRefusalError"));
    refused["verifier_result"] = Value::Null;
    check(
        1.0,
        &[step("a", 1.0, None), refused],
        (Outcome::Passed, Some(1.0), false),
        "step b: AgentSafetyRefusalError",
    );
}

#[test]
fn contradicting_reward_files_of_a_step_are_found() {
    let fixture = Fixture::new();
    fixture.trial("job/t__1", |result| {
        result["step_results"] = json!([
            { "step_name": "a", "verifier_result": { "rewards": { "reward": 1 } }, "exception_info": null },
            { "step_name": "../a", "verifier_result": { "rewards": { "reward": 1 } }, "exception_info": null },
        ]);
    });
    fixture.write("job/t__1/steps/a/verifier/reward.txt", "0");
    assert_eq!(fixture.only().outcome, Outcome::Tampered);
}

#[test]
fn policies_decide_about_unknown_exceptions() {
    let check = |change: fn(&mut Value), expected: Outcome| {
        let fixture = Fixture::new();
        fixture.trial("job/t__1", |result| {
            failing(result, "OddError");
            change(result);
        });
        assert_eq!(fixture.only().outcome, expected);
    };
    check(|_| {}, Outcome::Infrastructure);
    check(|result| result["reward_valid"] = true.into(), Outcome::Passed);
    check(|result| result["reward_valid"] = false.into(), Outcome::Infrastructure);
    check(|result| result["exception_info"]["policy"] = json!({ "has_valid_reward": true }), Outcome::Passed);
    check(
        |result| {
            failing(result, "AgentSafetyRefusalError");
            result["exception_info"]["policy"] = json!({ "has_valid_reward": false });
        },
        Outcome::Infrastructure,
    );
}

#[test]
fn the_outcome_of_an_import_is_sealed() {
    let fixture = Fixture::new();
    fixture.trial("job/t__1", |r| r["verifier_result"]["rewards"] = json!({ "a": 1, "b": 0.5 }));
    let import = |outcome: Option<OutcomeRule>| {
        let analysis = AnalysisOptions { outcome, ..AnalysisOptions::default() };
        let options = ImportOptions { name: "run".into(), conditions: Vec::new(), analysis };
        let run =
            fixture.store.run(&harbor(&fixture.store, &[fixture.jobs()], &options).unwrap().run).unwrap();
        let record = fixture.store.record(&run.cells[0].trial).unwrap().unwrap();
        let value = RunOutcomes::read(&fixture.store, &run).unwrap().value(&record);
        (run.run, run.outcome, value, run.relabels)
    };
    assert_eq!(import(None), ("run".into(), Some(OutcomeRule::Auto), Some(0.0), None));
    let relabeled =
        |name: &str, rule, value, of: &str| (name.into(), Some(rule), Some(value), Some(of.into()));
    assert_eq!(import(Some(OutcomeRule::Score)), relabeled("run-2", OutcomeRule::Score, 0.75, "run"));
    assert_eq!(import(Some(OutcomeRule::Pass)), relabeled("run-3", OutcomeRule::Pass, 0.0, "run-2"));
    assert_eq!(import(Some(OutcomeRule::Score)), relabeled("run-2", OutcomeRule::Score, 0.75, "run"));
}

#[test]
fn unusable_trials_are_counted_by_reason() {
    let check = |make: fn(&Fixture), reason: &str| {
        let fixture = Fixture::new();
        fixture.trial("job/good__1", |_| {});
        make(&fixture);
        let imported = fixture.import();
        assert_eq!(imported.imported, 1, "{reason}");
        assert_eq!(imported.unusable, [(reason.to_owned(), 1)].into(), "{reason}");
    };
    check(|p| p.write("job/t__2/trial.log", ""), "no result.json: the trial did not finish");
    check(
        |p| {
            p.trial("job/t__2", |_| {});
            p.write("job/t__2/result.json", "");
        },
        "result.json is empty",
    );
    check(
        |p| {
            p.trial("job/t__2", |_| {});
            p.write("job/t__2/result.json", &result("x").to_string()[..200]);
        },
        "result.json is cut off",
    );
    check(
        |p| {
            p.trial("job/t__2", |_| {});
            p.write("job/t__2/result.json", b"{\"task_name\": \"\xff\"}");
        },
        "result.json is not UTF-8",
    );
    check(
        |p| {
            p.trial("job/t__2", |_| {});
            p.write("job/t__2/result.json", "{\"task_name\": NaN}");
        },
        "result.json is not JSON",
    );
    check(
        |p| {
            p.trial("job/t__2", |_| {});
            p.write("job/t__2/result.json", "[".repeat(100_000));
        },
        "result.json is not JSON",
    );
    check(
        |p| {
            p.trial("job/t__2", |_| {});
            p.write("job/t__2/result.json", "[1]");
        },
        "result.json is not a trial result",
    );
    check(|p| p.write("other/result.json", "{}"), "result.json is neither a job result nor a trial result");
    check(|p| p.write("job/notes.txt", "x"), "file not written by Harbor");
    check(|p| fs::create_dir(p.jobs().join("job/empty")).unwrap(), "folder without a trial");
    check(
        |p| std::os::unix::fs::symlink("/", p.jobs().join("job/root")).unwrap(),
        "symbolic link (not followed)",
    );
    check(
        |p| {
            p.write("job/t__2/trial.log", "");
            std::os::unix::fs::symlink("../good__1/result.json", p.jobs().join("job/t__2/result.json"))
                .unwrap();
        },
        "result.json is a link or no file",
    );
    check(|p| p.trial("job/t__2", |r| failing(r, "CancelledError")), "cancelled (CancelledError)");
    check(
        |p| {
            p.write("job/t__2/result.json", fs::read(p.jobs().join("job/good__1/result.json")).unwrap());
            p.write("job/t__2/trial.log", "");
        },
        "duplicate trial",
    );
    check(
        |p| {
            p.trial("job/t__2", |r| {
                r["task_name"] = Value::Null;
                r["task_id"] = Value::Null;
            });
        },
        "no task name",
    );
    check(
        |p| p.trial("job/t__2", |r| r["verifier_result"]["rewards"]["reward"] = "1".into()),
        "its rewards are not numbers",
    );
    check(
        |p| {
            p.trial("job/t__2", |r| {
                r["verifier_result"] = Value::Null;
                r["finished_at"] = Value::Null;
            });
        },
        "the trial did not finish",
    );
}

#[test]
fn cancelled_trial_is_excluded_with_its_reason() {
    let fixture = Fixture::new();
    fixture.trial("with-skills/a__1", |_| {});
    fixture.trial("with-skills/a__2", |result| failing(result, "CancelledError"));
    fixture.import();
    let excluded = fixture.store.run("run").unwrap().excluded;
    assert_eq!(
        excluded,
        [Exclusion {
            task: "hello".into(),
            condition: Some("curated".into()),
            reason: "cancelled (CancelledError)".into()
        }]
    );
}

#[test]
fn second_import_adds_nothing() {
    let fixture = Fixture::new();
    fixture.trial("with-skills/a__1", |_| {});
    fixture.trial("no-skills/a__2", |_| {});
    let first = fixture.import();
    let trials = fixture.store.trials();
    let second = fixture.import();
    assert_eq!(first, second);
    assert_eq!(fixture.store.trials(), trials);
    assert_eq!(fixture.store.run_names(), ["run"]);
    assert!(trials.iter().all(|(_, folder)| !folder.join("attempts/2").exists()));
    // A different result is another attempt at the same trial.
    fixture.trial("with-skills/a__1", |result| result["verifier_result"]["rewards"]["reward"] = 0.into());
    fixture.import();
    assert_eq!(fixture.store.run_names(), ["run"]);
    assert_eq!(fixture.records("run")[0].outcome, Outcome::Failed);
    assert_eq!(fixture.records("run")[0].attempt, 2);
}

#[test]
fn repetitions_are_numbered_by_time_within_task_agent_and_condition() {
    let fixture = Fixture::new();
    for (name, hour) in [("a__1", 12), ("a__2", 9), ("a__3", 10)] {
        fixture.trial(&format!("with-skills/{name}"), |result| {
            result["started_at"] = format!("2026-01-15T{hour:02}:00:00Z").into();
        });
    }
    fixture.trial("no-skills/a__4", |_| {});
    fixture.import();
    let found: Vec<(String, u32, String)> = fixture
        .records("run")
        .into_iter()
        .map(|record| {
            (record.condition, record.repetition, record.started_at.unwrap_or_default()[11..13].to_owned())
        })
        .collect();
    let expected = [("curated", 1, "09"), ("curated", 2, "10"), ("curated", 3, "12"), ("none", 1, "10")];
    assert_eq!(found, expected.map(|(condition, n, hour)| (condition.to_owned(), n, hour.to_owned())));
}

#[test]
fn conditions_are_inferred_from_names_skills_and_options() {
    type Expected<'a> = Result<&'a [(&'a str, usize)], &'a str>;
    let check = |conditions: &[(&str, &str)], baseline: Option<&str>, expected: Expected<'_>| {
        let fixture = Fixture::new();
        // One agent twice in one job, once with skills; and a job nothing is known of.
        fixture.trial("both/a__1", |result| result["config"]["agent"]["skills"] = json!(["skills/one"]));
        fixture.trial("both/a__2", |_| {});
        fixture.trial("other/a__3", |result| result["config"]["agent"] = json!({ "name": "codex" }));
        match (fixture.import_with(conditions, baseline), expected) {
            (Ok(imported), Ok(expected)) => {
                let expected = expected.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
                assert_eq!(imported.by_condition, expected);
                let first = fixture.store.run("run").unwrap().conditions[0].clone();
                assert_eq!(first, baseline.unwrap_or("none"));
            }
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (found, _) => panic!("{found:?}"),
        }
    };
    check(&[], None, Ok(&[("curated", 1), ("none", 1)]));
    check(&[("other", "none")], None, Ok(&[("curated", 1), ("none", 2)]));
    check(&[("other/*", "mine")], Some("mine"), Ok(&[("curated", 1), ("mine", 1), ("none", 1)]));
    check(&[("*__3/claude*", "none")], Some("curated"), Ok(&[("curated", 1), ("none", 2)]));
    check(
        &[],
        Some("missing"),
        Err("no trial ran under the baseline \"missing\"; conditions found: none, curated"),
    );
    check(&[("[", "none")], None, Err("invalid pattern"));
    check(&[("*", "no spaces")], None, Err("invalid condition name"));
}

#[test]
fn unknown_condition_is_an_arm_only_if_its_agent_has_no_other() {
    let fixture = Fixture::new();
    fixture.trial("with-skills/a__1", |_| {});
    fixture.trial("other/a__2", |_| {});
    fixture.trial("other/a__3", |result| result["agent_info"]["name"] = "codex".into());
    let imported = fixture.import();
    assert_eq!(imported.by_condition, [("curated".to_owned(), 1), ("unknown".to_owned(), 1)].into());
    let reason = "its condition is unknown, and its agent has trials with known conditions".to_owned();
    assert_eq!(imported.unusable, [(reason.clone(), 1)].into());
    let run = fixture.store.run("run").unwrap();
    assert_eq!((run.excluded.len(), &run.excluded[0].reason), (1, &reason));
}

#[test]
fn trajectory_tests_and_output_are_kept() {
    let fixture = Fixture::new();
    fixture.trial("job/t__1", |_| {});
    fixture.write(
        "job/t__1/agent/trajectory.json",
        json!({ "schema_version": "ATIF-v1.2", "agent": { "name": "x", "version": "1" }, "steps": [
            { "step_id": 1, "source": "user", "message": "do" },
            { "step_id": 2, "source": "agent", "message": [{ "type": "text", "text": "done" }] },
        ]})
        .to_string(),
    );
    let extra = json!({ "set": "if", "item": "d1", "class": "knowledge", "canary": true });
    let tests = json!([{ "name": "one", "status": "failed", "extra": extra }]);
    fixture.write("job/t__1/verifier/ctrf.json", json!({ "results": { "tests": tests } }).to_string());
    fixture.write("job/t__1/verifier/test-stdout.txt", "said");
    let record = fixture.only();
    let label = record.checks().remove(0).label.unwrap();
    assert_eq!((label.item.as_deref(), label.canary), (Some("d1"), true));
    assert_eq!((record.turns, &record.ctrf.unwrap()["tests"]), (Some(1), &tests));
    let attempt = fixture.store.trial_folder(&record.trial).join("attempts/1");
    let kept: assay_trace::Trajectory =
        serde_json::from_slice(&fs::read(attempt.join("trajectory.json")).unwrap()).unwrap();
    assert_eq!(kept.steps[1].message, "done");
    assert_eq!(fs::read(attempt.join("verifier/test-stdout.txt")).unwrap(), b"said");
}

#[test]
fn step_tests_have_the_step_name() {
    let fixture = Fixture::new();
    fixture.trial("job/t__1", |_| {});
    for step in ["a", "b"] {
        let tests = json!([{ "name": "same", "status": "passed", "extra": { "set": "gc" } }]);
        let report = json!({ "results": { "tests": tests } });
        fixture.write(&format!("job/t__1/steps/{step}/verifier/ctrf.json"), report.to_string());
    }
    let record = fixture.only();
    assert!(record.checks().iter().all(|check| check.label.is_some()));
    let ctrf = record.ctrf.unwrap();
    assert_eq!(
        (&ctrf["tests"][0]["name"], &ctrf["tests"][1]["name"]),
        (&json!("a: same"), &json!("b: same"))
    );
}

#[test]
fn trials_are_found_in_the_folder_or_as_the_folder() {
    let check = |trial: &str, root: &str| {
        let fixture = Fixture::new();
        fixture.trial(trial, |_| {});
        let options = ImportOptions { name: "run".into(), ..ImportOptions::default() };
        let imported = harbor(&fixture.store, &[fixture.folder.path().join(root)], &options).unwrap();
        assert_eq!(imported.by_condition, [("curated".to_owned(), 1)].into(), "{trial} in {root}");
    };
    check("with-skills/t__1", "jobs");
    check("with-skills/t__1", "jobs/with-skills");
    check("with-skills/t__1", "jobs/with-skills/t__1");
    check("2026/with-skills/t__1", "jobs");
    check("with-skills/run-1/t__1", "jobs");
}

#[test]
fn folder_without_trials_is_an_error_listing_its_content() {
    let fixture = Fixture::new();
    fixture.write("job/t__1/trial.log", "");
    match fixture.import_with(&[], None) {
        Err(ImportError::Nothing { unusable, .. }) => {
            assert_eq!(unusable, [("no result.json: the trial did not finish".to_owned(), 1)].into());
        }
        other => panic!("{other:?}"),
    }
    let missing = [fixture.jobs().join("missing")];
    let options = ImportOptions { name: "run".into(), ..ImportOptions::default() };
    assert!(matches!(harbor(&fixture.store, &missing, &options), Err(ImportError::NotAFolder(_))));
    let options = ImportOptions { name: "../run".into(), ..ImportOptions::default() };
    assert!(matches!(harbor(&fixture.store, &[fixture.jobs()], &options), Err(ImportError::Name { .. })));
}

#[test]
fn cause_of_death_is_read_from_agent_logs() {
    let fixture = Fixture::new();
    fixture.trial("job/t__1", |result| set_failed_command(result, 1, ""));
    fixture.write("job/t__1/agent/agent.txt", "at work\nAPIConnectionError: no route\n");
    let record = fixture.only();
    assert_eq!((record.outcome, record.cause), (Outcome::Infrastructure, Some(Cause::ModelProvider)));
}

#[test]
fn imported_skills_job_beside_noskills_job_is_the_treatment() {
    let fixture = Fixture::new();
    for (folder, word) in [("skills", "skills"), ("noskills", "noskills")] {
        for task in ["a", "b"] {
            fixture.trial(&format!("flash/{folder}/flash-{word}-{task}-7/{task}__1"), |_| {});
        }
    }
    let imported = fixture.import();
    assert_eq!(imported.by_condition, [("curated".to_owned(), 2), ("none".to_owned(), 2)].into());
    assert!(imported.notes.iter().any(|note| note.contains("`skills`")), "{:?}", imported.notes);
    // Alone the name means nothing: agents without skills have such folders too.
    let fixture = Fixture::new();
    fixture.trial("flash/skills/a__1", |_| {});
    assert_eq!(fixture.import().by_condition, [("unknown".to_owned(), 1)].into());
}

/// What BenchFlow writes of a rollout that passed.
fn rollout(mode: &str) -> Value {
    json!({
        "task_name": "hello", "rollout_name": "hello__1", "rewards": { "reward": 1.0 }, "agent": "openhands",
        "agent_name": "OpenHands CLI", "model": "deepseek/v4", "skill_mode": mode,
        "effective_skills_dir": if mode == "with-skill" { json!("/skills") } else { Value::Null },
        "agent_result": {
            "n_input_tokens": 100, "n_output_tokens": 7, "n_cache_read_tokens": 40, "n_cache_creation_tokens": 10,
            "total_tokens": 107, "cost_usd": 0.5,
        },
        "usage_tracking": { "environment": "docker" }, "error": null, "error_category": null, "verifier_error": null,
        "started_at": "2026-07-07 16:10:31.5", "finished_at": "2026-07-07 16:15:30.5", "task_digest": "sha256:00",
        "timing": { "environment_setup": 1.5, "agent_setup": 12.5, "agent_execution": 120.0, "verifier": 29.5, "total": 299.0 },
    })
}

#[test]
fn benchflow_results_are_recognized() {
    let fixture = Fixture::new();
    for (at, mode) in ["no-skill", "with-skill", "self-gen"].into_iter().enumerate() {
        fixture.write(&format!("run/r{at}/result.json"), rollout(mode).to_string());
    }
    let imported = fixture.import();
    let expected = [("curated", 1), ("none", 1), ("self-generated", 1)].map(|(name, n)| (name.to_owned(), n));
    assert_eq!(imported.by_condition, expected.into());
    assert_eq!(imported.by_outcome, [("passed".to_owned(), 3)].into());
    assert_eq!(fixture.store.run("run").unwrap().imported.as_deref(), Some("benchflow"));
    let record = &fixture.records("run")[0];
    assert_eq!(
        (record.agent.name.as_str(), record.agent.model.as_deref(), record.sandbox.as_str()),
        ("openhands", Some("deepseek:v4"), "benchflow-docker")
    );
    let usage = record.usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.cache_write, usage.output), (50, 40, 10, 7));
    let seconds = record.seconds;
    assert!((seconds.prepare, seconds.total) == (Some(14.0), Some(299.0)), "{seconds:?}");
    assert!(record.measures_a_model);
}

#[test]
fn benchflow_errors_are_classified_like_harbor_errors() {
    let check = |change: &dyn Fn(&mut Value), expected: (Outcome, Option<Cause>)| {
        let fixture = Fixture::new();
        let mut result = rollout("no-skill");
        change(&mut result);
        fixture.write("run/r/result.json", result.to_string());
        let record = fixture.only();
        assert_eq!((record.outcome, record.cause), expected, "{record:?}");
    };
    let failing = |category: &str, message: &str| {
        let (category, message) = (category.to_owned(), message.to_owned());
        move |result: &mut Value| {
            result["error"] = message.clone().into();
            result["error_category"] = category.clone().into();
        }
    };
    let lost = |cause| (Outcome::Infrastructure, Some(cause));
    check(&|result| result["rewards"]["reward"] = 0.into(), (Outcome::Failed, None));
    check(&|result| result["rewards"] = Value::Null, lost(Cause::Verifier));
    check(&failing("timeout", "over its wall-clock budget"), (Outcome::TimedOut, None));
    check(&failing("api_error", "all requests failed"), lost(Cause::ModelProvider));
    check(&failing("provider_auth", "not let in"), lost(Cause::AgentSetup));
    check(&failing("sandbox_setup", "no container"), lost(Cause::Sandbox));
    check(&failing("acp_error", "ACP error: status 503"), lost(Cause::ModelProvider));
    check(&failing("provider_rejected", "the prompt is too long"), (Outcome::Passed, None));
    check(&failing("something_new", "?"), lost(Cause::Harness));
    check(&|result| result["verifier_error"] = "it crashed".into(), lost(Cause::Verifier));
}

/// A folder of the archive of real jobs, unpacked.
fn unpacked() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut unpack = std::process::Command::new("tar");
    unpack
        .arg("--use-compress-program=zstd -d")
        .arg("-xf")
        .arg(assay_test::shared("harbor/real-jobs.tar.zst"));
    assert!(unpack.arg("-C").arg(folder.path()).status().unwrap().success());
    folder
}

#[test]
#[ignore = "needs shared data"]
fn real_jobs_import_with_known_outcomes() {
    let real = unpacked();
    let import = |folder: &str| {
        let fixture = Fixture::new();
        let options = ImportOptions { name: "run".into(), ..ImportOptions::default() };
        let imported = harbor(&fixture.store, &[real.path().join(folder)], &options).unwrap();
        let records = fixture.records("run");
        (imported, records)
    };
    // Trials of a public dataset with and without skills, in its own tree.
    let (imported, records) = import("jobs-sb");
    assert_eq!(
        (imported.imported, &imported.by_condition["none"], &imported.by_condition["curated"]),
        (9, &4, &5)
    );
    assert_eq!(records.len(), 9);
    // 72 trials of one agent, four of which died: two of a full context, one of its provider, one
    // of its memory.
    let (imported, records) = import("jobs");
    assert_eq!((imported.imported, records.len()), (72, 72));
    let died: Vec<(Outcome, Option<Cause>, Option<Ended>)> = records
        .iter()
        .filter(|record| record.reason.is_some())
        .map(|record| (record.outcome, record.cause, record.ended.clone()))
        .collect();
    let full = (Outcome::Failed, None, Some(Ended::ContextLimit));
    let memory = (Outcome::Failed, None, Some(Ended::ResourceLimit { limit: "memory".to_owned() }));
    let provider = (Outcome::Infrastructure, Some(Cause::ModelProvider), None);
    for (expected, times) in [(full, 2), (memory, 1), (provider, 1)] {
        assert_eq!(died.iter().filter(|found| **found == expected).count(), times, "{died:?}");
    }
    assert_eq!(died.len(), 4, "{died:?}");
    assert_eq!(records.iter().filter(|record| record.outcome == Outcome::Infrastructure).count(), 1);
    // One trial each.
    let (_, records) = import("repro/ctx");
    assert_eq!((records[0].outcome, &records[0].ended), (Outcome::Failed, &Some(Ended::ContextLimit)));
    let (imported, records) = import("repro/bf");
    assert_eq!(imported.by_condition, [("none".to_owned(), 1)].into());
    assert_eq!((records[0].agent.name.as_str(), records[0].outcome), ("openhands", Outcome::Failed));
}

/// What Harbor itself wrote.
#[test]
#[ignore = "needs shared data"]
fn harbor_jobs_are_read() {
    let jobs = assay_test::shared("harbor/jobs");
    let fixture = Fixture::new();
    let options = ImportOptions { name: "run".into(), ..ImportOptions::default() };
    let imported = harbor(&fixture.store, &[jobs], &options).unwrap();
    assert_eq!(imported.unusable, BTreeMap::new());
    assert_eq!(imported.imported, 24);
    let records = fixture.records("run");
    let of = |task: &str| records.iter().find(|record| record.task == task).unwrap();
    let late = of("t-late");
    assert_eq!((late.outcome, late.reward), (Outcome::TimedOut, Some(1.0)));
    assert!(late.late && late.reason.as_ref().unwrap().starts_with("graded after its deadline"), "{late:?}");
    assert_eq!(records.iter().filter(|record| record.late).count(), 1);
    let seed = of("t-seed");
    assert_eq!((seed.outcome, seed.reward), (Outcome::Tampered, Some(1.0)));
    let count = |agent: &str, outcome: Outcome| {
        records
            .iter()
            .filter(|r| r.task == "t-hello" && r.agent.name == agent && r.outcome == outcome)
            .count()
    };
    assert_eq!((count("oracle", Outcome::Passed), count("nop", Outcome::Failed)), (6, 16));
    assert!(records.iter().all(|record| record.usage.is_none() && !record.measures_a_model));
}

#[test]
fn two_results_of_one_trial_are_refused_with_their_places() {
    let fixture = Fixture::new();
    fixture.trial("job/a__1", |_| {});
    fixture.trial("other/b__1", |r| {
        r["id"] = "job/a__1".into();
        r["verifier_result"]["rewards"]["reward"] = 0.into();
    });
    let error = fixture.import_with(&[], None).unwrap_err().to_string();
    let expected = "job/a__1 (hint: remove one of the folders)";
    assert!(error.contains("other/b__1: the trial \"job/a__1\" has another result in "), "{error}");
    assert!(error.ends_with(expected), "{error}");
    assert!(fixture.store.run("run").is_err());
}

#[test]
fn a_table_keeps_difficulty_and_category_of_tasks() {
    let fixture = Fixture::new();
    let rows = "task,condition,score,difficulty,category\n\
        a,none,0,hard,data\na,curated,1,hard,data\n\
        b,none,0,easy,data\nb,curated,1,hard,\n";
    fixture.write("t.csv", rows);
    let options = TableOptions {
        name: "t".to_owned(),
        columns: TableColumns::default(),
        filters: Vec::new(),
        ignored: Vec::new(),
        analysis: AnalysisOptions::default(),
        range: (0.0, 1.0),
    };
    let imported = table(&fixture.store, &fixture.jobs().join("t.csv"), &options).unwrap();
    let run = fixture.store.run(&imported.run).unwrap();
    let labels: Vec<_> =
        run.tasks.iter().map(|task| (task.difficulty.as_deref(), task.category.as_deref())).collect();
    assert_eq!(labels, [(Some("hard"), Some("data")), (None, Some("data"))]);
    assert!(imported.notes.iter().any(|note| note.contains("1 task has several values of `difficulty`")));
}
