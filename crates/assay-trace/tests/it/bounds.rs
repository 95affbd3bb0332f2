//! Streams of several processes and agents, and figures of which a part is unknown.

use assay_trace::read;
use assay_trace::{Cost, DatedPrice, KnownUsage, Price, Prices, Stats, Usage, stats};
use serde_json::{Value, json};

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| record.to_string() + "\n").collect()
}

fn counted(log: &str) -> Stats {
    stats(log.as_bytes(), "log", None, &[]).unwrap().remove(0)
}

fn usage(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

fn init() -> Value {
    json!({ "type": "system", "subtype": "init", "session_id": "s", "uuid": "i", "model": "opus" })
}

/// A message of a stream; with a parent, that of a sub-agent.
fn message(id: &str, model: &str, input: u64, parent: Option<&str>) -> Value {
    json!({ "type": "assistant", "session_id": "s", "uuid": id, "parent_tool_use_id": parent, "message": { "id": id, "model": model,
        "content": [{ "type": "text", "text": id }], "stop_reason": null, "usage": { "input_tokens": input, "output_tokens": 1 } } })
}

/// The last record of a run: the main agent's usage, the cost, and usage by model.
fn result(id: &str, main: (u64, u64), cost: f64, models: &[(&str, u64, u64)]) -> Value {
    let by_model = |&(model, input, output): &(&str, u64, u64)| {
        (model.to_owned(), json!({ "inputTokens": input, "outputTokens": output }))
    };
    json!({ "type": "result", "session_id": "s", "uuid": id, "usage": { "input_tokens": main.0, "output_tokens": main.1 },
        "total_cost_usd": cost, "modelUsage": Value::Object(models.iter().map(by_model).collect()) })
}

fn check_sums(log: &[Value], tokens: Usage, models: &[(&str, u64, u64)], usd: f64) {
    let found = counted(&lines(log));
    assert_eq!(found.tally.usage, tokens);
    assert!(found.tally.is_complete());
    let of_models: Vec<_> = found
        .models
        .iter()
        .map(|one| (one.model.as_deref().unwrap(), one.usage.input, one.usage.output))
        .collect();
    assert_eq!(of_models, models);
    let cost = found.cost(None);
    assert!((cost.usd.unwrap() - usd).abs() < 1e-9 && !cost.is_at_least, "{cost:?} for {usd}");
}

#[test]
fn stream_tokens_include_sub_agents() {
    let models = [("haiku", 1000, 500), ("opus", 10, 5)];
    let log =
        |result| [init(), message("a", "opus", 10, None), message("h", "haiku", 1000, Some("t")), result];
    check_sums(&log(result("r", (10, 5), 0.5, &models)), usage(1010, 505), &models, 0.5);
    // Without sums by model, the sub-agent's input is in its message, and its output is unknown.
    let found = counted(&lines(&log(result("r", (10, 5), 0.5, &[]))));
    assert_eq!((found.tally.usage, found.tally.lower_bounds()), (usage(1010, 5), vec!["output"]));
}

#[test]
fn sums_of_one_process_do_not_replace_another() {
    // The second process is given two prompts.
    let first =
        [init(), message("a", "opus", 1000, None), result("1", (1000, 50), 1.0, &[("opus", 1000, 50)])];
    let second = [
        init(),
        message("b", "opus", 10, None),
        result("2", (10, 5), 0.1, &[("opus", 10, 5)]),
        message("c", "opus", 20, None),
        result("3", (20, 5), 0.3, &[("opus", 30, 10)]),
    ];
    check_sums(&[&first[..], &second].concat(), usage(1030, 60), &[("opus", 1030, 60)], 1.3);
}

#[test]
fn new_process_is_distinguished_from_a_continued_one() {
    let first = [init(), message("a", "opus", 10, None), result("1", (10, 5), 0.5, &[("opus", 10, 5)])];
    let with = |cost, models: &[(&str, u64, u64)], since: Option<&[(&str, u64, u64)]>| {
        let mut last = result("2", (20, 5), cost, models);
        if let Some(since) = since {
            last["model_usage_since_last_result"] = result("", (0, 0), 0.0, since)["modelUsage"].clone();
        }
        [&first[..], &[init(), message("b", "opus", 20, None), last]].concat()
    };
    let fresh = [("haiku", 2000, 500), ("opus", 20, 5)];
    let both = [("haiku", 2000, 500), ("opus", 30, 10)];
    // It costs less than what came before.
    check_sums(&with(0.02, &fresh, None), usage(2030, 510), &both, 0.52);
    // It costs more, but the model's tokens leave no room for both.
    check_sums(&with(0.6, &fresh, None), usage(2030, 510), &both, 1.1);
    check_sums(&with(0.6, &both, None), usage(2030, 510), &both, 0.6);
    // Newer versions say what a result adds.
    check_sums(
        &with(0.6, &both, Some(&both)),
        usage(2040, 515),
        &[("haiku", 2000, 500), ("opus", 40, 15)],
        1.1,
    );
    check_sums(&with(0.6, &both, Some(&fresh)), usage(2030, 510), &both, 0.6);
}

/// A run that ended, and one that was killed.
fn killed() -> String {
    let end = result("r", (10, 25425), 0.5, &[("opus", 10, 25425)]);
    lines(&[init(), message("a", "opus", 10, None), end, init(), message("b", "opus", 7, None)])
}

#[test]
fn killed_run_makes_the_output_a_lower_bound() {
    let found = counted(&killed());
    assert_eq!((found.tally.known().input, found.tally.known().output), (Some(17), Some(25425)));
    assert_eq!(found.tally.lower_bounds(), ["output"]);
}

#[test]
fn converted_trajectory_marks_lower_bounds() {
    let first = read::read_from(killed().as_bytes(), "it", None).unwrap();
    let sums = first.trajectory.final_metrics.clone().unwrap();
    assert_eq!(
        (sums.total_prompt_tokens, sums.total_completion_tokens, sums.total_cost_usd),
        (Some(17), None, None)
    );
    assert_eq!(sums.extra["at_least"], json!({ "output": 25425, "cost_usd": 0.5 }));
    let written = serde_json::to_string(&first.trajectory).unwrap();
    let again = counted(&written);
    assert_eq!((again.tally.known(), again.tally.lower_bounds()), (first.tally.known(), vec!["output"]));
    assert_eq!(again.cost(None), Cost { usd: Some(0.5), is_at_least: true });
    assert_eq!(read::read_from(written.as_bytes(), "it", None).unwrap().trajectory, first.trajectory);
}

#[test]
fn user_prices_are_not_mixed_with_logged_costs() {
    let models = [("opus", 10, 5), ("haiku", 1000, 500)];
    let log = lines(&[init(), message("a", "opus", 10, None), result("r", (10, 5), 0.5, &models)]);
    let price = |model: &str| {
        let day = "2025-01-01".parse().unwrap();
        let price = Price { input: 1e6, output: 1e6, ..Price::default() };
        DatedPrice { model: model.to_owned(), from: day, price }
    };
    let cost =
        |of: &[&str]| counted(&log).cost(Some(&Prices { price: of.iter().map(|one| price(one)).collect() }));
    assert_eq!(cost(&["opus", "haiku"]), Cost { usd: Some(1515.0), is_at_least: false });
    assert_eq!(cost(&["opus"]), Cost { usd: Some(15.0), is_at_least: true });
    assert_eq!(cost(&["other"]), Cost::default());
}

#[test]
fn missing_message_fields_are_unknown() {
    let known = |input, output, cache| KnownUsage {
        input,
        output,
        cache_read: cache,
        cache_write: cache,
        ..KnownUsage::default()
    };
    let check = |log: &str, expected: KnownUsage, bounds: &[&str]| {
        let found = counted(log).tally;
        assert_eq!((found.known(), found.lower_bounds()), (expected, bounds.to_vec()), "{log}");
    };
    let claude = |replies: &[Value]| {
        let record = |(number, usage): (usize, &Value)| {
            let mut record = json!({ "type": "assistant", "uuid": number.to_string(), "sessionId": "s", "isSidechain": false,
                "message": { "id": format!("msg_{number}"), "model": "opus", "content": [{ "type": "text", "text": "x" }] } });
            if usage.is_object() {
                record["message"]["usage"] = usage.clone();
            }
            record
        };
        lines(&replies.iter().enumerate().map(record).collect::<Vec<_>>())
    };
    let whole = json!({ "input_tokens": 100, "output_tokens": 10 });
    check(&claude(&[json!({ "input_tokens": 5 })]), known(Some(5), None, None), &[]);
    // A provider without a cache leaves its fields out.
    check(&claude(std::slice::from_ref(&whole)), known(Some(100), Some(10), Some(0)), &[]);
    check(&claude(&[whole, Value::Null]), known(Some(100), Some(10), Some(0)), &assay_trace::FIELDS);
    let messages = |usage: &Value| {
        json!([{ "role": "user", "content": "q" }, { "role": "assistant", "content": "a", "usage": usage }])
            .to_string()
    };
    check(&messages(&json!({ "prompt_tokens": 100 })), known(Some(100), None, None), &[]);
    check(&messages(&json!({ "completion_tokens": 7 })), known(None, Some(7), None), &[]);
    let pi = |usages: &[Value]| {
        let header = json!({ "type": "session", "id": "s", "cwd": "/", "timestamp": "2026-01-01T00:00:00Z" });
        let reply = |(number, usage): (usize, &Value)| {
            json!({ "type": "message", "id": number.to_string(), "timestamp": "2026-01-01T00:00:00Z",
                "message": { "role": "assistant", "content": [], "usage": usage } })
        };
        lines(&[header]) + &lines(&usages.iter().enumerate().map(reply).collect::<Vec<_>>())
    };
    let half = json!({ "input": 5 });
    check(
        &pi(&[json!({ "input": 1, "output": 2 }), half]),
        known(Some(6), Some(2), Some(0)),
        &["output", "cache_read", "cache_write"],
    );
    let action = json!([{ "id": 1, "source": "agent", "action": "run", "args": { "command": "ls" }, "tool_call_metadata": {
        "tool_call_id": "c", "function_name": "bash", "model_response": { "id": "r", "usage": { "prompt_tokens": 9 } } } }]);
    check(&action.to_string(), known(Some(9), None, None), &[]);
}
