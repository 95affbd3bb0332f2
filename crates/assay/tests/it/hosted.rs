//! Real requests to a server that speaks OpenAI's chat completions.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::fixture::{Fixture, attempt, needs_bubblewrap, observed};
use crate::server::{Answer, Request, Server};
use crate::suite;

/// One task, and an agent at this server.
fn lab(server: &Server, agent: &str) -> Fixture {
    suite::lab(1).experiment(|e| {
        let design = e.agent(agent).served("openai:test-1", &server.url());
        suite::paired(design.conditions(&["curated"]), 1)
    })
}

/// Reads the skill, follows it, and says so.
fn solve(_: usize, asked: &Request) -> Answer {
    match asked.turn() {
        0 => Answer::bash("cat /skills/reports/SKILL.md"),
        1 => Answer::bash("echo right > answer.txt && cat answer.txt"),
        _ => Answer::done("The report ends with the agreed word."),
    }
}

#[test]
fn a_dialogue_is_held() {
    needs_bubblewrap!();
    let server = Server::start(solve);
    let price = "timeout = 60\nprice = { input = 2.0, output = 50.0 }";
    let lab = lab(&server, price).env("OPENAI_API_KEY", "sk-loopback-0123456789");
    let (document, code) = lab.run(&["--no-checks", "--no-cap"]);
    assert_eq!((code, &document["report"]["measures_a_model"]), (0, &json!(true)), "{document:#}");
    let record = lab.record("t1");
    assert_eq!(record["outcome"], "passed", "{record:#}");
    assert_eq!(record["agent"]["model"], "openai:test-1");
    assert_eq!(record["turns"], 3);
    assert_eq!((&record["usage"]["input"], &record["usage"]["output"]), (&json!(3_000), &json!(30)));
    // 3,000 tokens at 2 USD and 30 at 50 USD a million.
    let cost = record["cost_usd"].as_f64().unwrap();
    assert!((cost - 0.0075).abs() < 1e-12, "{cost}");
    assert_eq!(document["report"]["arms"][0]["cost_usd"], record["cost_usd"]);
    assert_eq!(observed(&record)[1], "right\n[exit status 0]");
    assert_eq!(
        record["exposure"][0]["opened"], 3,
        "the system's step, the user's, and the first of the model's"
    );

    let asked = server.requests();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|asked| asked.path == "/v1/chat/completions"));
    assert_eq!(asked[0].authorization.as_deref(), Some("Bearer sk-loopback-0123456789"));
    let first = &asked[0].body;
    assert_eq!(first["model"], "test-1");
    assert_eq!(first["tools"][0]["function"]["name"], "bash");
    assert!(first["messages"][0]["content"].as_str().unwrap().contains("(file: /skills/reports/SKILL.md)"));
    assert_eq!(asked[2].body["messages"].as_array().unwrap().len(), 6);
}

/// A model that answers at random is not replayed: repetitions are not copies of each other.
#[test]
fn repetitions_differ() {
    needs_bubblewrap!();
    let server = Server::start(|number, asked| match asked.turn() {
        0 => Answer::bash(&format!("echo the server said {number}")),
        _ => Answer::done("Done."),
    });
    let lab = suite::lab(1).experiment(|e| e.repetitions(3).served("openai:test-1", &server.url()));
    let (document, _) = lab.run(&["--no-checks"]);
    assert_eq!(document["executed"], 3);
    let seen: BTreeSet<String> = lab.records().iter().map(|record| observed(record)[0].clone()).collect();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert_eq!(server.requests().len(), 6);
}

#[test]
fn a_limited_rate_is_waited_out() {
    needs_bubblewrap!();
    let server = Server::start(|number, asked| match number {
        0 => Answer::of(429, json!({ "error": { "message": "slow down" } })).with("retry-after", "1"),
        _ => solve(number, asked),
    });
    let lab = lab(&server, "timeout = 60");
    assert_eq!(lab.run(&["--no-checks"]).1, 0);
    let record = lab.record("t1");
    assert_eq!(record["outcome"], "passed");
    let waited = record["seconds"]["throttled"].as_f64().unwrap();
    assert!((1.0..10.0).contains(&waited), "{waited}");
    let trajectory = fs::read_to_string(attempt(&record, "trajectory.json")).unwrap();
    assert!(trajectory.contains("slow down"), "{trajectory}");
}

/// The loop is metered like the agents behind the gateway: a cap of the run stops it between two requests, and the trial is no result.
#[test]
fn a_cap_of_the_run_stops_the_loop_within_a_trial() {
    needs_bubblewrap!();
    for cap in [["--max-tokens", "1500"], ["--max-usd", "0.003"]] {
        let server = Server::start(solve);
        let lab = lab(&server, "timeout = 60\nprice = { input = 2.0, output = 50.0 }");
        let (document, code) = lab.run(&["--no-checks", cap[0], cap[1]]);
        assert_eq!((code, &document["unfinished"]), (0, &json!(1)), "{document:#}");
        assert!(document["capped"].as_str().unwrap().contains("the run's cap was reached"), "{document:#}");
        let record = lab.record("t1");
        assert_eq!((&record["cause"], &record["turns"]), (&json!("budget"), &json!(2)), "{record:#}");
        assert_eq!(server.requests().len(), 2);
        // Without a cap the next run makes it anew.
        assert_eq!(lab.run(&["--no-checks", "--no-cap"]).1, 0);
        assert_eq!(lab.record("t1")["outcome"], "passed");
    }
    // A trial's own cap is its agent's limit, and what it did until then is graded.
    let server = Server::start(solve);
    let lab = lab(&server, "timeout = 60\nmax_usd = 0.003\nprice = { input = 2.0, output = 50.0 }");
    assert_eq!(lab.run(&["--no-checks", "--no-cap"]).1, 0);
    let record = lab.record("t1");
    assert_eq!((&record["ended"]["kind"], &record["turns"]), (&json!("cost_limit"), &json!(2)), "{record:#}");
    assert_eq!(record["outcome"], "passed", "{record:#}");
}

/// A server that counts nothing: tokens are estimated, say so, and reach no cap.
#[test]
fn tokens_that_nobody_counted_are_estimated_and_marked() {
    needs_bubblewrap!();
    let server = Server::start(|number, asked| solve(number, asked).without_usage());
    let lab = lab(&server, "timeout = 60\nmax_tokens = 100\nprice = { input = 2.0, output = 50.0 }");
    let (document, _) = lab.run(&["--no-checks", "--max-usd", "0.0001"]);
    assert!(document["capped"].as_str().is_some_and(|why| why.contains("USD")), "{document:#}");
    fs::remove_dir_all(lab.path(".assay")).unwrap();
    let (document, code) = lab.run(&["--no-checks", "--max-tokens", "100", "--max-usd", "1"]);
    assert_eq!((code, &document["executed"]), (0, &json!(1)), "{document:#}");
    let record = lab.record("t1");
    assert_eq!(record["outcome"], "passed", "{record:#}");
    assert_eq!(record["estimated"]["requests"], 3, "{record:#}");
    assert_eq!(record["estimated"]["usage"], record["usage"], "{record:#}");
    assert_eq!(record["estimated"]["cost_usd"], record["cost_usd"], "{record:#}");
    assert!(record["usage"]["input"].as_u64().unwrap() > 300, "{record:#}");
    let arm = &document["report"]["arms"][0];
    assert_eq!(arm["estimated"], json!({ "trials": 1, "share": 1.0 }), "{arm:#}");
    let told = lab.assay(&["report", "lab", "--format", "markdown"]).ended(0).stdout;
    assert!(told.contains('≈') && told.contains("caps in tokens count no estimate"), "{told}");
    assert!(told.contains("openai:test-1 at http"), "{told}");
}

/// Another model than the one that was asked for is told in the record and in the report, and a dated name is none.
#[test]
fn the_model_that_replied_is_reported() {
    needs_bubblewrap!();
    let ran = |name: &'static str| {
        let server = Server::start(move |number, asked| solve(number, asked).by(name));
        let lab = lab(&server, "timeout = 60");
        let (document, code) = lab.run(&["--no-checks"]);
        assert_eq!(code, 0, "{document:#}");
        assert_eq!(lab.record("t1")["replied_models"], json!({ name: 3 }));
        let told = lab.assay(&["report", "lab"]).ended(0).stdout;
        assert!(told.contains(&format!("responding model: {name}")), "{told}");
        (
            document["report"]["model_mismatch"].clone(),
            told.contains("! Warning: loop requested openai:test-1"),
        )
    };
    assert_eq!(ran("test-1-2026-01-01"), (json!(false), false));
    assert_eq!(ran("test-1-mini"), (json!(true), true));
}

/// What the one record says of a run that ended with status 3.
#[track_caller]
fn lost(lab: &Fixture) -> Value {
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["infrastructure"]), (3, &json!(1)), "{document:#}");
    let arm = &document["report"]["arms"][0];
    assert_eq!(arm["infrastructure_causes"], json!({ "model_provider": 1 }));
    assert_eq!((&arm["trials"], &arm["pass_rate"]), (&json!(0), &Value::Null), "a lost trial is no failure");
    let record = lab.record("t1");
    assert_eq!((&record["outcome"], &record["cause"]), (&json!("infrastructure"), &json!("model_provider")));
    record
}

#[test]
fn a_provider_that_fails_costs_a_trial_until_the_next_run() {
    needs_bubblewrap!();
    let server = Server::start(|number, asked| {
        let broken = number == 0;
        if broken {
            Answer::of(500, json!({ "error": "down" })).with("x-should-retry", "false")
        } else {
            solve(number, asked)
        }
    });
    let lab = lab(&server, "timeout = 60");
    let record = lost(&lab);
    assert!(record["reason"].as_str().unwrap().contains("500"), "{record:#}");

    let (kept, code) = lab.run(&["--no-checks", "--no-retry"]);
    assert_eq!((code, &kept["executed"]), (3, &json!(0)));
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["executed"], &document["cached"]), (0, &json!(1), &json!(0)));
    let record = lab.record("t1");
    assert_eq!((&record["outcome"], &record["attempt"]), (&json!("passed"), &json!(2)));
}

#[test]
fn a_provider_that_always_fails_is_not_the_agents_fault() {
    needs_bubblewrap!();
    for status in [500, 429] {
        let answer =
            move |_: usize, _: &Request| Answer::of(status, json!({ "error": { "message": "later" } }));
        let server = Server::start(answer);
        let lab = lab(&server, "timeout = 2.5");
        let record = lost(&lab);
        assert_eq!(record["ended"]["kind"], "broken", "{record:#}");
        assert!(record["reason"].as_str().unwrap().contains(&status.to_string()), "{record:#}");
        assert!(server.requests().len() > 1, "{status} was not tried again");
    }
}

/// What takes all of the agent's time and is never answered is not the agent's time-out.
#[test]
fn a_provider_that_is_silent_is_not_the_agents_fault() {
    needs_bubblewrap!();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let server = Server::start(move |_, _| {
        let _ = held.lock().unwrap().recv();
        Answer::done("too late")
    });
    let lab = lab(&server, "timeout = 2");
    let record = lost(&lab);
    assert!(record["reason"].as_str().unwrap().contains("sent nothing for 2 s"), "{record:#}");
    drop(release);
}

/// A conversation that has grown too long is what the agent came to.
#[test]
fn a_full_context_is_the_agents_result() {
    needs_bubblewrap!();
    let server = Server::start(|number, asked| match number {
        0 => solve(number, asked),
        _ => Answer::of(400, json!({ "error": { "message": "prompt is too long: 9 tokens > 8 maximum" } })),
    });
    let lab = lab(&server, "timeout = 60");
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["infrastructure"]), (0, &json!(0)), "{document:#}");
    let record = lab.record("t1");
    let ended = (&record["outcome"], &record["ended"]["kind"]);
    assert_eq!(ended, (&json!("failed"), &json!("context_limit")), "{record:#}");
}

/// A provider that loses three trials in a row gets no fourth, and the next run goes on.
#[test]
fn a_run_stops_when_its_provider_is_down() {
    needs_bubblewrap!();
    let server = Server::start(|number, asked| match number {
        0..3 => Answer::of(401, json!({ "error": { "message": "no such key" } })),
        _ => solve(number, asked),
    });
    let lab = suite::lab(5).experiment(|e| {
        let design = e.agent("timeout = 60").served("openai:test-1", &server.url()).concurrency(1);
        suite::paired(design.conditions(&["curated"]), 5)
    });
    let ran = lab.assay(&["run", "experiment.toml", "--no-checks"]).ended(3);
    let why = format!(
        "3 consecutive trials had infrastructure errors from openai at {}: the provider refused",
        server.url()
    );
    assert!(ran.stderr.contains(&format!("stopping the run: {why}")), "{}", ran.stderr);
    assert!(ran.stdout.contains("3 infrastructure errors, 2 unfinished"), "{}", ran.stdout);
    assert!(ran.stdout.contains(&format!("stopped: {why}")), "{}", ran.stdout);
    assert_eq!(server.requests().len(), 3);
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["executed"], &document["stopped"]), (0, &json!(5), &Value::Null));
}

/// The agent is in the middle of its work when the limit comes, and its time ends while it waits.
#[test]
fn time_spent_waiting_is_not_the_agents() {
    needs_bubblewrap!();
    let server = Server::start(|number, asked| match number {
        0 => solve(number, asked),
        _ => Answer::of(429, json!({ "error": { "message": "later" } })).with("retry-after", "1"),
    });
    let record = lost(&lab(&server, "timeout = 4"));
    assert_eq!(record["turns"], 1);
}

#[test]
fn broken_runs_are_tried_again_where_the_plan_says_so() {
    needs_bubblewrap!();
    let server = Server::start(|number, asked| match number {
        0 | 1 => Answer::of(500, json!({})).with("x-should-retry", "false"),
        _ => solve(number, asked),
    });
    let lab = suite::lab(1).experiment(|e| {
        let design = e.served("openai:test-1", &server.url()).top("retry = { infrastructure = 2 }");
        suite::paired(design.conditions(&["curated"]), 1)
    });
    let ran = lab.assay(&["run", "experiment.toml", "--no-checks"]).ok();
    assert_eq!(ran.stderr.matches("; retrying").count(), 2, "{}", ran.stderr);
    let record = lab.record("t1");
    assert_eq!((&record["outcome"], &record["attempt"]), (&json!("passed"), &json!(3)));
    for earlier in ["1", "2"] {
        let kept = attempt(&record, "").with_file_name(earlier).join("trajectory.json");
        assert!(kept.exists(), "{}", kept.display());
    }
}
