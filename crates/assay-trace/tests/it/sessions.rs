//! Several sessions in a file, several files of a session, several models in a session, and unknown
//! values.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assay_trace::read::{self, Input, Transcript};
use assay_trace::{Cost, DatedPrice, Price, Prices, Stats, Usage, fuller, repeated, stats, stats_of};
use serde_json::{Value, json};

use assay_test::shared;

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| record.to_string() + "\n").collect()
}

fn counted(log: &str) -> Vec<Stats> {
    stats(log.as_bytes(), "log", None, &[]).unwrap()
}

fn usage(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

/// A price list of `*`-patterns with the price of a million tokens of input, and ten times that for
/// output.
fn prices(of: &[(&str, f64)]) -> Prices {
    let price = |&(model, input): &(&str, f64)| DatedPrice {
        model: model.to_owned(),
        from: "2025-01-01".parse().unwrap(),
        price: Price { input, output: input * 10.0, ..Price::default() },
    };
    Prices { price: of.iter().map(price).collect() }
}

fn exactly(usd: f64) -> Cost {
    Cost { usd: Some(usd), is_at_least: false }
}

fn at_least(usd: f64) -> Cost {
    Cost { usd: Some(usd), is_at_least: true }
}

/// A run as `--output-format stream-json` prints it: its messages, and its result unless it was
/// killed.
fn run(session: &str, message: &str, result: Option<(u64, f64)>) -> String {
    let mut records = vec![
        json!({ "type": "system", "subtype": "init", "session_id": session, "uuid": format!("{message}-i"), "model": "opus" }),
        json!({ "type": "assistant", "session_id": session, "uuid": format!("{message}-a"), "message": { "id": message,
            "model": "opus", "content": [{ "type": "text", "text": message }], "stop_reason": null,
            "usage": { "input_tokens": 100, "output_tokens": 1 } } }),
    ];
    if let Some((output, cost)) = result {
        records.push(json!({ "type": "result", "session_id": session, "uuid": format!("{message}-r"),
            "usage": { "input_tokens": 100, "output_tokens": output }, "total_cost_usd": cost }));
    }
    lines(&records)
}

#[test]
fn stream_with_several_sessions_counts_each_result() {
    let log = run("a", "m1", Some((20, 0.5))) + &run("b", "m2", None) + &run("c", "m3", Some((30, 0.25)));
    let all = counted(&log);
    let found: Vec<_> =
        all.iter().map(|one| (one.session_id.as_deref(), one.part, one.tally.known().output)).collect();
    let expected = [
        (Some("a"), Some((1, 3)), Some(20)),
        (Some("b"), Some((2, 3)), None),
        (Some("c"), Some((3, 3)), Some(30)),
    ];
    assert_eq!(found, expected);
    assert_eq!(all.iter().map(|one| one.tally.usage.input).collect::<Vec<_>>(), [100, 100, 100]);
    assert_eq!(
        all.iter().map(|one| one.cost(None)).collect::<Vec<_>>(),
        [exactly(0.5), Cost::default(), exactly(0.25)]
    );
    // Runs that print at the same time.
    let (a, b) = (run("a", "m1", Some((20, 0.5))), run("b", "m2", Some((30, 0.25))));
    let woven: String = a.lines().zip(b.lines()).flat_map(|(a, b)| [a, "\n", b, "\n"]).collect();
    assert_eq!(counted(&woven).iter().map(|one| one.tally.usage.output).collect::<Vec<_>>(), [20, 30]);
    // A session that is resumed is one, and what its runs cost adds up.
    let resumed = counted(&(run("a", "m1", Some((20, 0.5))) + &run("a", "m2", Some((30, 0.25)))));
    assert_eq!((resumed.len(), resumed[0].tally.usage), (1, usage(200, 50)));
    assert_eq!(resumed[0].cost(None), exactly(0.75));
    // One of its runs was killed: the rest is a lower bound.
    let cut = counted(&(run("a", "m1", Some((20, 0.5))) + &run("a", "m2", None)));
    assert_eq!(
        (cut.len(), cut[0].tally.known().input, cut[0].tally.known().output),
        (1, Some(200), Some(20))
    );
    assert_eq!(cut[0].tally.lower_bounds(), ["output"]);
    assert_eq!(cut[0].cost(None), at_least(0.5));
    // Read as one, they add up.
    let whole = read::read_from(log.as_bytes(), "log", None).unwrap();
    assert_eq!((whole.trajectory.steps.len(), whole.tally.usage), (3, usage(300, 50)));
    assert_eq!(whole.tally.lower_bounds(), ["output"]);
}

#[test]
fn process_with_several_prompts_reports_cumulative_cost() {
    let result = |number: u64, output: u64, so_far: u64, cost: f64| {
        json!({ "type": "result", "session_id": "s", "uuid": format!("r{number}"), "total_cost_usd": cost,
            "usage": { "input_tokens": 0, "output_tokens": output },
            "modelUsage": { "opus": { "outputTokens": so_far, "costUSD": cost } } })
    };
    let init =
        json!({ "type": "system", "subtype": "init", "session_id": "s", "uuid": "i", "model": "opus" });
    let one = counted(&lines(&[init.clone(), result(1, 20, 20, 0.5), result(2, 30, 50, 1.25)]));
    assert_eq!((one[0].cost(None), one[0].tally.usage.output), (exactly(1.25), 50));
    let two = counted(&lines(&[init, result(1, 20, 20, 0.5), result(2, 30, 30, 0.75)]));
    assert_eq!((two[0].cost(None), two[0].tally.usage.output), (exactly(1.25), 50));
}

#[test]
fn several_sessions_are_split_in_other_formats() {
    let gemini = |session: &str, result: bool| {
        let mut records = vec![
            json!({ "type": "init", "session_id": session, "model": "g" }),
            json!({ "type": "message", "role": "assistant", "content": "x" }),
        ];
        if result {
            records.push(
                json!({ "type": "result", "stats": { "input_tokens": 7, "output_tokens": 3, "cached": 2 } }),
            );
        }
        lines(&records)
    };
    let codex = |thread: &str| {
        lines(&[
            json!({ "type": "thread.started", "thread_id": thread }),
            json!({ "type": "item.completed", "item": { "id": "item_0", "type": "agent_message", "text": "x" } }),
            json!({ "type": "turn.completed", "usage": { "input_tokens": 5, "output_tokens": 3 } }),
        ])
    };
    let opencode = |session: &str| {
        lines(&[
            json!({ "type": "step_finish", "sessionID": session, "part": { "type": "step-finish", "messageID": session,
            "tokens": { "input": 5, "output": 3 } } }),
        ])
    };
    let rollout = |session: &str, begun: &str| {
        lines(&[
            json!({ "type": "session_meta", "payload": { "id": session, "timestamp": begun } }),
            json!({ "type": "event_msg", "payload": { "type": "token_count", "info": {
                "total_token_usage": { "input_tokens": 5, "output_tokens": 3 },
                "last_token_usage": { "input_tokens": 5, "output_tokens": 3 } } } }),
        ])
    };
    let check = |log: String, expected: &[Option<u64>]| {
        let found: Vec<_> = counted(&log).iter().map(|one| one.tally.known().output).collect();
        assert_eq!(found, expected, "{log}");
    };
    check(gemini("a", false) + &gemini("b", true), &[None, Some(3)]);
    check(gemini("a", true) + &gemini("a", true), &[Some(6)]);
    // A run of the session was killed, and is in no sum.
    for log in [gemini("a", false) + &gemini("a", true), gemini("a", true) + &gemini("a", false)] {
        let all = counted(&log);
        assert_eq!((all.len(), all[0].tally.known().output), (1, Some(3)));
        assert_eq!(all[0].tally.lower_bounds(), assay_trace::FIELDS);
    }
    check(codex("a") + &codex("b"), &[Some(3), Some(3)]);
    check(opencode("a") + &opencode("b"), &[Some(3), Some(3)]);
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
    check(rollout("a", early) + &rollout("b", late), &[Some(3), Some(3)]);
    // A fork contains its origin, which is older; the origin's sum is in it again.
    check(rollout("b", late) + &rollout("a", early), &[Some(3)]);
}

/// A record of a session log. Each names the one before it.
fn entry(session: &str, number: usize, model: &str, output: u64) -> Value {
    let name = |number: usize| format!("{session}-{number}");
    let parent = if number == 0 { Value::Null } else { name(number - 1).into() };
    json!({ "type": "assistant", "uuid": name(number), "parentUuid": parent, "sessionId": session, "isSidechain": false,
        "version": "2", "timestamp": format!("2026-01-01T00:00:{number:02}Z"), "message": { "id": format!("msg_{session}{number}"),
            "model": model, "content": [{ "type": "text", "text": "x" }], "usage": { "input_tokens": 0, "output_tokens": output } } })
}

fn session(name: &str, length: usize) -> String {
    lines(&(0..length).map(|number| entry(name, number, "opus", 1)).collect::<Vec<_>>())
}

#[test]
fn joined_session_logs_are_split_and_deduplicated() {
    let both = counted(&(session("a", 3) + &session("b", 2)));
    assert_eq!(both.iter().map(|one| one.steps).collect::<Vec<_>>(), [3, 2]);
    let mut all = both;
    all.extend(counted(&session("b", 2)));
    all.extend(counted(&session("a", 3)));
    assert_eq!(fuller(&all), [None, None, Some(1), Some(0)]);
    // A resumed session contains earlier records under its old name; the chain of records
    // continues.
    let resumed = json!({ "type": "user", "uuid": "new", "parentUuid": "a-2", "sessionId": "c", "isSidechain": false,
        "message": { "content": "go on" } });
    assert_eq!(counted(&(session("a", 3) + &lines(std::slice::from_ref(&resumed)))).len(), 1);
    let mut compacted = resumed;
    compacted["logicalParentUuid"] = std::mem::take(&mut compacted["parentUuid"]);
    assert_eq!(counted(&(session("a", 3) + &lines(&[compacted]))).len(), 1);
}

#[test]
fn fullest_snapshot_of_a_session_counts() {
    let all: Vec<Stats> = [2, 5, 3].into_iter().flat_map(|length| counted(&session("a", length))).collect();
    assert_eq!(fuller(&all), [Some(1), None, Some(1)]);
    // Runs of one session that print apart have nothing in common, and count both.
    let parts: Vec<Stats> =
        ["m1", "m2"].into_iter().flat_map(|message| counted(&run("a", message, Some((1, 0.1))))).collect();
    assert_eq!(fuller(&parts), [None, None]);
}

fn sub_agent(session: &str, id: &str, output: u64) -> String {
    let mut record = entry(session, 50, "haiku", output);
    record["isSidechain"] = true.into();
    record["agentId"] = id.into();
    record["uuid"] = id.into();
    record["message"]["id"] = format!("msg_{id}").into();
    lines(&[record])
}

fn totals(paths: &[&Path]) -> Vec<(String, u64, usize)> {
    let paths: Vec<_> = paths.iter().map(|path| path.to_path_buf()).collect();
    let found = read::sources(&paths);
    let all = found.list.iter().flat_map(|source| stats_of(source, None, &[]).unwrap());
    let name = |file: &str| Path::new(file).file_name().unwrap().to_string_lossy().into_owned();
    all.map(|one| (name(&one.file), one.tally.usage.output, one.sub_agents)).collect()
}

#[test]
fn sub_agent_logs_are_read_once_with_their_session() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("new/subagents")).unwrap();
    fs::write(at("old.jsonl"), session("s-old", 2)).unwrap();
    fs::write(at("agent-1.jsonl"), sub_agent("s-old", "1", 100)).unwrap();
    fs::write(at("agent-2.jsonl"), sub_agent("s-other", "2", 1000)).unwrap();
    fs::write(at("new.jsonl"), session("s-new", 3)).unwrap();
    fs::write(at("new/subagents/agent-3.jsonl"), sub_agent("s-new", "3", 200)).unwrap();
    fs::write(at("sessions-index.json"), "{}").unwrap();
    let (old, new) = (("old.jsonl".to_owned(), 102, 1), ("new.jsonl".to_owned(), 203, 1));
    let alone = ("agent-2.jsonl".to_owned(), 1000, 1);
    assert_eq!(totals(&[&at("old.jsonl")]), vec![old.clone()]);
    assert_eq!(totals(&[&at("new.jsonl"), &at("new/subagents/agent-3.jsonl")]), vec![new.clone()]);
    assert_eq!(totals(&[&at("agent-1.jsonl"), &at("old.jsonl"), &at("old.jsonl")]), vec![old.clone()]);
    // A folder is searched, and files that are not transcripts are skipped.
    assert_eq!(totals(&[folder.path()]), [alone, new, old]);
    let found = read::sources(&[folder.path().to_path_buf()]);
    assert_eq!((found.skipped, found.empty.len()), (1, 0));
    fs::create_dir(at("void")).unwrap();
    assert_eq!(read::sources(&[at("void")]).empty, [at("void")]);
    // Callers of `read` get them merged into one trajectory.
    let transcript = read::read(&at("old.jsonl"), None).unwrap();
    assert_eq!(transcript.trajectory.subagent_trajectories.len(), 1);
}

#[test]
fn agents_of_workflows_belong_to_their_session() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for inner in ["main/subagents/workflows/run-1", "main/subagents/agent-1/subagents"] {
        fs::create_dir_all(at(inner)).unwrap();
    }
    fs::write(at("main.jsonl"), session("s", 2)).unwrap();
    fs::write(at("main/subagents/agent-1.jsonl"), sub_agent("s", "1", 100)).unwrap();
    fs::write(at("main/subagents/workflows/run-1/agent-2.jsonl"), sub_agent("s", "2", 1000)).unwrap();
    fs::write(at("main/subagents/workflows/run-1/journal.jsonl"), "{\"node\": 1}\n").unwrap();
    fs::write(at("main/subagents/agent-1/subagents/agent-3.jsonl"), sub_agent("s", "3", 10_000)).unwrap();
    let all = [("main.jsonl".to_owned(), 11_102, 3)];
    assert_eq!(totals(&[&at("main.jsonl")]), all);
    assert_eq!(totals(&[folder.path()]), all);
    let found = read::sources(&[folder.path().to_path_buf()]);
    assert_eq!((found.list.len(), found.skipped), (1, 1));
    assert!(stats_of(&found.list[0], None, &[]).unwrap()[0].diagnostics.is_empty());
    assert_eq!(read::read(&at("main.jsonl"), None).unwrap().trajectory.subagent_trajectories.len(), 3);
}

/// A message whose prompt was written to a cache, a part of it for an hour.
fn caching(message: &str, input: u64, written: u64, hour: u64) -> Value {
    let mut record = named("s", 0, message, input);
    record["uuid"] = message.into();
    record["message"]["usage"] = json!({ "input_tokens": input, "output_tokens": 0, "cache_creation_input_tokens": written,
        "cache_creation": { "ephemeral_5m_input_tokens": written - hour, "ephemeral_1h_input_tokens": hour } });
    record
}

#[test]
fn an_hour_in_the_cache_and_long_prompts_have_their_prices() {
    let price = Price::new(3.0, 15.0, Some(0.3), Some(3.75));
    let prices = |price: Price| Prices {
        price: vec![DatedPrice { model: "*".to_owned(), from: "2025-01-01".parse().unwrap(), price }],
    };
    let check = |records: &[Value], price: Price, expected: f64| {
        let log = lines(records);
        let all = counted(&log);
        let cost = all[0].cost(Some(&prices(price))).usd.unwrap();
        assert!((cost - expected).abs() < 1e-9, "{cost}, not {expected}");
        // A trajectory that was written keeps what it knows.
        let written =
            serde_json::to_vec(&read::read_from(log.as_bytes(), "log", None).unwrap().trajectory).unwrap();
        let again = stats(written.as_slice(), "log", None, &[]).unwrap().remove(0);
        assert_eq!(again.tally.usage, all[0].tally.usage);
    };
    let million = 1_000_000;
    check(&[caching("m1", 0, million, million)], price, 6.0);
    check(&[caching("m1", 0, million, million)], Price { cache_write_1h: Some(5.0), ..price }, 5.0);
    // By hand: 60,000 at 6 and 40,000 at 3.75 for a million, twice.
    check(&[caching("m1", 0, 100_000, 60_000), caching("m2", 0, 100_000, 60_000)], price, 1.02);
    // The first prompt is a long one, the second is not.
    let long = serde_json::from_value(json!({ "input": 6.0, "output": 22.5 })).unwrap();
    let tiered = Price { above_200k: Some(long), ..price };
    check(&[caching("m1", 300_000, 0, 0), caching("m2", 150_000, 0, 0)], tiered, 2.25);
    check(&[caching("m1", 300_000, 0, 0), caching("m2", 150_000, 0, 0)], price, 1.35);
}

#[test]
fn the_sums_of_a_stream_know_what_stays_for_an_hour() {
    let log = lines(&[
        json!({ "type": "system", "subtype": "init", "session_id": "s", "uuid": "i", "model": "opus" }),
        json!({ "type": "assistant", "session_id": "s", "uuid": "a", "message": { "id": "m", "model": "opus", "content": [],
            "usage": { "input_tokens": 0, "output_tokens": 1, "cache_creation_input_tokens": 1000,
                "cache_creation": { "ephemeral_1h_input_tokens": 1000 } } } }),
        json!({ "type": "result", "session_id": "s", "uuid": "r", "total_cost_usd": 1.0,
            "usage": { "input_tokens": 0, "output_tokens": 5, "cache_creation_input_tokens": 1000,
                "cache_creation": { "ephemeral_1h_input_tokens": 1000 } },
            "modelUsage": { "opus": { "outputTokens": 5, "cacheCreationInputTokens": 1000 } } }),
    ]);
    let found = counted(&log).remove(0);
    let used = Usage { output: 5, cache_write: 1000, cache_write_1h: 1000, ..Usage::default() };
    assert_eq!((found.tally.usage, found.models[0].usage), (used, used));
}

#[test]
fn each_model_is_charged_at_its_own_price() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // The prices of output are ten times these.
    let prices = prices(&[("opus", 100.0), ("haiku", 0.1)]);
    let cost = |source: &Input| stats_of(source, None, &[]).unwrap()[0].cost(Some(&prices));
    let close = |found: Cost, expected: f64| {
        let usd = found.usd.unwrap();
        assert!((usd - expected).abs() < 1e-9 && !found.is_at_least, "{found:?} for {expected}");
    };
    // By hand: 2 tokens at 1000 and 1500 at 1 per million.
    fs::write(at("sub.jsonl"), session("s", 2)).unwrap();
    fs::write(at("agent-1.jsonl"), sub_agent("s", "1", 1500)).unwrap();
    close(cost(&Input::of(&at("sub.jsonl"))), 0.002 + 0.0015);
    // The same session as one document.
    let written = |transcript: &Transcript| serde_json::to_string(&transcript.trajectory).unwrap();
    fs::write(at("sub.json"), written(&read::read(&at("sub.jsonl"), None).unwrap())).unwrap();
    close(cost(&Input::of(&at("sub.json"))), 0.002 + 0.0015);
    // The model was switched.
    let switched = lines(&[entry("t", 0, "opus", 10), entry("t", 1, "haiku", 1000)]);
    fs::write(at("switched.jsonl"), &switched).unwrap();
    close(cost(&Input::of(&at("switched.jsonl"))), 0.010 + 0.001);
    // Messages without a price make the rest a lower bound.
    let some = self::prices(&[("opus", 100.0)]);
    let found = counted(&switched)[0].cost(Some(&some));
    assert_eq!(found, at_least(0.010));
    assert_eq!(counted(&switched)[0].cost(Some(&self::prices(&[("gpt", 1.0)]))), Cost::default());
    // A stream ends with the usage by model.
    let result = json!({ "type": "result", "session_id": "s", "uuid": "r", "usage": { "input_tokens": 0, "output_tokens": 10 },
        "modelUsage": { "opus": { "outputTokens": 10 }, "haiku": { "outputTokens": 1000 } } });
    let stream = run("s", "m1", None) + &lines(&[result]);
    close(counted(&stream)[0].cost(Some(&prices)), 0.010 + 0.001);
}

#[test]
fn opencode_keeps_the_model_and_the_cost_of_each_message() {
    let message = |id: &str, model: &str, output: u64, cost: f64| {
        json!({ "info": { "id": id, "role": "assistant", "modelID": model, "providerID": "p", "time": { "created": 1_767_225_600_000_u64 } },
            "parts": [{ "type": "step-start" }, { "type": "text", "text": "x" },
                { "type": "step-finish", "tokens": { "input": 0, "output": output }, "cost": cost }] })
    };
    let export = json!({ "info": { "id": "s", "projectID": "j" }, "messages": [message("a", "big", 10, 0.5), message("b", "small", 1000, 0.25)] });
    let text = export.to_string();
    let one = &counted(&text)[0];
    assert_eq!(one.cost(None), exactly(0.75));
    let cost = one.cost(Some(&prices(&[("p/big", 100.0), ("p/small", 0.1)]))).usd.unwrap();
    assert!((cost - 0.011).abs() < 1e-9, "{cost}");
    let trajectory = read::read_from(text.as_bytes(), "it", None).unwrap().trajectory;
    assert_eq!(trajectory.agent.model_name.as_deref(), Some("p/big"));
    assert_eq!(
        trajectory.steps.iter().map(|step| step.model_name.as_deref()).collect::<Vec<_>>(),
        [None, Some("p/small")]
    );
    assert_eq!(trajectory.final_metrics.unwrap().total_cost_usd, Some(0.75));
}

#[test]
fn unknown_values_are_null_and_make_sums_lower_bounds() {
    let killed = counted(&run("b", "m2", None)).remove(0);
    assert_eq!(serde_json::to_value(killed.tally).unwrap()["usage"]["output"], Value::Null);
    assert_eq!(killed.tally.known().input, Some(100));
    let mut sum = killed.tally;
    sum.add(&counted(&run("a", "m1", Some((20, 0.5))))[0].tally);
    assert_eq!((sum.known().output, sum.lower_bounds()), (Some(20), vec!["output"]));
    // A log without usage.
    let silent = lines(&[
        json!({ "type": "init", "session_id": "s", "model": "g" }),
        json!({ "type": "message", "role": "assistant", "content": "x" }),
    ]);
    assert_eq!(counted(&silent)[0].tally.known(), assay_trace::KnownUsage::default());
    // A log in which the model did nothing used nothing.
    let idle = lines(&[
        json!({ "type": "user", "uuid": "u", "sessionId": "s", "isSidechain": false, "message": { "content": "x" } }),
    ]);
    assert_eq!(counted(&idle)[0].tally.known().output, Some(0));
}

#[test]
fn trajectory_round_trips() {
    let task = json!({ "type": "assistant", "session_id": "s", "uuid": "1", "message": { "id": "m", "model": "opus", "content": [
        { "type": "tool_use", "id": "t", "name": "Task", "input": { "prompt": "look" } }], "usage": { "input_tokens": 1 } } });
    let inner = json!({ "type": "assistant", "session_id": "s", "uuid": "2", "parent_tool_use_id": "t", "message": { "id": "n",
        "model": "haiku", "content": [{ "type": "text", "text": "seen" }], "usage": { "input_tokens": 1 } } });
    let result = json!({ "type": "user", "session_id": "s", "uuid": "3", "message": { "content": [
        { "type": "tool_result", "tool_use_id": "t", "content": "seen" }] } });
    let killed = run("s", "m0", None) + &lines(&[task, inner, result]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, session("s", 2)).unwrap();
    for (agent, output) in [("zed", 7), ("abe", 8)] {
        fs::write(folder.path().join(format!("agent-{agent}.jsonl")), sub_agent("s", agent, output)).unwrap();
    }
    let check = |first: Transcript| {
        let written = serde_json::to_vec(&first.trajectory).unwrap();
        let again = read::read_from(written.as_slice(), "it", None).unwrap();
        assert_eq!(again.trajectory, first.trajectory);
        assert_eq!(again.tally.known(), first.tally.known());
    };
    check(read::read_from(killed.as_bytes(), "it", None).unwrap());
    check(read::read(&path, None).unwrap());
}

/// The files below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
#[ignore = "needs shared data"]
fn real_logs_in_one_file_are_split_and_add_up() {
    let root = shared("cta/traces");
    let logs: Vec<PathBuf> = files(&root).into_iter().take(12).collect();
    let texts: Vec<String> = logs.iter().map(|log| fs::read_to_string(log).unwrap()).collect();
    let joined = counted(&texts.concat());
    let alone: Vec<Stats> = texts.iter().map(|text| counted(text).remove(0)).collect();
    let figures = |all: &[Stats]| {
        let figure = |one: &Stats| (one.session_id.clone(), one.steps, one.calls, one.tally.usage);
        all.iter().map(figure).collect::<Vec<_>>()
    };
    assert_eq!(figures(&joined), figures(&alone));
    // All of them again: each once.
    let all: Vec<Stats> = joined.into_iter().chain(alone).collect();
    assert_eq!(fuller(&all).iter().filter(|one| one.is_none()).count(), logs.len());
}

#[test]
#[ignore = "needs shared data"]
fn printed_log_matches_the_kept_session() {
    let root = shared("agents");
    for (agent, kept) in [
        ("codex", "rollout"),
        ("gemini-cli", "session"),
        ("qwen-code", "session"),
        ("claude-code", "session"),
    ] {
        let of = |name: &str| {
            let path = root.join(agent).join("with-skill").join(name);
            stats_of(&Input::of(&path), None, &[]).unwrap().remove(0)
        };
        let printed = if agent == "claude-code" { "stdout.stream.jsonl" } else { "stdout.jsonl" };
        let all = [of(printed), of(&format!("{kept}.jsonl"))];
        assert_eq!(fuller(&all), [Some(1), None], "{agent}");
    }
}

/// The tokens of transcripts with each message once, and how many of the transcripts count.
fn total(all: &[Stats]) -> (Usage, usize) {
    let kept = fuller(all);
    let mut sum = Usage::default();
    for ((one, fuller), repeated) in all.iter().zip(&kept).zip(repeated(all, &kept)) {
        if fuller.is_none() {
            sum += one.tally_without(&repeated).usage;
        }
    }
    (sum, kept.iter().filter(|one| one.is_none()).count())
}

/// A record of a session log, with the name of its message.
fn named(session: &str, number: usize, message: &str, input: u64) -> Value {
    let mut record = entry(session, number, "opus", 1);
    record["message"]["id"] = message.into();
    record["message"]["usage"]["input_tokens"] = input.into();
    record
}

#[test]
fn two_resumes_of_a_session_keep_all_messages() {
    let begin = [named("s", 0, "m1", 100), named("s", 1, "m2", 100)];
    let with = |more: &[Value]| counted(&lines(&[&begin, more].concat())).remove(0);
    let all = [
        with(&[]),
        with(&[named("s", 2, "m3", 1000), named("s", 3, "m4", 1000)]),
        with(&[named("s", 2, "m5", 5000)]),
    ];
    assert_eq!(fuller(&all), [Some(1), None, None]);
    assert_eq!(total(&all), (usage(7200, 5), 2));
    let again = repeated(&all, &fuller(&all));
    assert_eq!((again[2].messages, again[2].by), (2, Some(1)));
    // By hand, at 1 USD per million of input and 10 of output: 5000 and 1 are new.
    let cost = all[2].cost_without(&again[2], Some(&prices(&[("opus", 1.0)])));
    assert!((cost.usd.unwrap() - 0.005_01).abs() < 1e-9, "{cost:?}");
}

#[test]
fn printed_and_kept_logs_count_their_unique_messages() {
    let kept =
        counted(&lines(&[named("s", 0, "m1", 10), named("s", 1, "m2", 7000), named("s", 2, "m3", 7000)]));
    let said = |message: &str, caller: Option<&str>, input: u64| {
        json!({ "type": "assistant", "session_id": "s", "uuid": message, "parent_tool_use_id": caller, "message": {
            "id": message, "model": "opus", "content": [{ "type": "text", "text": message }],
            "usage": { "input_tokens": input, "output_tokens": 1 } } })
    };
    let mut records = vec![
        json!({ "type": "system", "subtype": "init", "session_id": "s", "uuid": "i", "model": "opus" }),
        said("m1", None, 10),
    ];
    records.extend((0..5).map(|number| said(&format!("h{number}"), Some("t"), 5)));
    let printed = counted(&lines(&records));
    let own = printed[0].tally.usage.input;
    let all: Vec<Stats> = kept.into_iter().chain(printed).collect();
    assert_eq!(fuller(&all), [None, None]);
    assert_eq!((own, total(&all).0.input), (35, 14_035));
    // A transcript with nothing more is the same session, in either order.
    let part = counted(&lines(&records[..2]));
    let all: Vec<Stats> = part.into_iter().chain(all).collect();
    assert_eq!((fuller(&all), total(&all).0.input), (vec![Some(1), None, None], 14_035));
}

#[test]
fn fork_counts_only_new_messages() {
    let begin = |session: &str| [named(session, 0, "m1", 100), named(session, 1, "m2", 100)];
    let origin = counted(&lines(&begin("s"))).remove(0);
    let fork = counted(&lines(&[&begin("f")[..], &[named("f", 2, "m9", 1)]].concat())).remove(0);
    assert_eq!(total(&[origin, fork]), (usage(201, 3), 2));
    // A short name that another session has as well is another message.
    let other = |session: &str, input: u64| counted(&lines(&[named(session, 0, "m1", input)])).remove(0);
    assert_eq!(total(&[other("a", 100), other("b", 101)]), (usage(201, 2), 2));
}

#[test]
fn copied_session_is_not_a_sub_agent() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("session.jsonl"), session("s", 2)).unwrap();
    fs::write(at("agent-copy.jsonl"), session("s", 2)).unwrap();
    assert_eq!(totals(&[&at("session.jsonl")]), [("session.jsonl".to_owned(), 2, 0)]);
    let found = read::sources(&[folder.path().to_path_buf()]);
    let all: Vec<Stats> = found.list.iter().flat_map(|source| stats_of(source, None, &[]).unwrap()).collect();
    assert_eq!(total(&all), (usage(0, 2), 1));
    // A copy of a sub-agent's log is the same sub-agent.
    fs::create_dir_all(at("session/subagents")).unwrap();
    for name in ["agent-1.jsonl", "agent-1-copy.jsonl"] {
        fs::write(at("session/subagents").join(name), sub_agent("s", "1", 100)).unwrap();
    }
    assert_eq!(totals(&[&at("session.jsonl")]), [("session.jsonl".to_owned(), 102, 1)]);
    assert_eq!(read::read(&at("session.jsonl"), None).unwrap().tally.usage.output, 102);
}

#[test]
fn unreadable_sub_agent_log_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("s/subagents")).unwrap();
    fs::write(at("s.jsonl"), session("s", 2)).unwrap();
    fs::write(at("s/subagents/agent-1.jsonl"), b"\x1f\x8b broken").unwrap();
    let input = Input::of(&at("s.jsonl"));
    let counted = stats_of(&input, None, &[]).unwrap().remove(0);
    let read = read::read_all(&input, None).unwrap().remove(0);
    assert_eq!((counted.tally.usage.output, read.tally.usage.output), (2, 2));
    for found in [counted.diagnostics, read.diagnostics] {
        assert_eq!(found.iter().map(|one| one.code).collect::<Vec<_>>(), ["unreadable-log"]);
        assert!(found[0].file.ends_with("agent-1.jsonl"), "{found:?}");
    }
}

#[test]
fn joined_file_finds_sub_agents_of_each_session() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("b/subagents")).unwrap();
    fs::write(at("joined.jsonl"), session("a", 2) + &session("b", 3)).unwrap();
    // A first record longer than 1 MiB, and one agent's name in both sessions.
    let long = json!({ "type": "summary", "summary": "x".repeat(2 << 20) });
    fs::write(at("agent-1.jsonl"), lines(&[long]) + &sub_agent("a", "1", 100)).unwrap();
    fs::write(at("b/subagents/agent-1.jsonl"), sub_agent("b", "2", 1000)).unwrap();
    let name = || "joined.jsonl".to_owned();
    assert_eq!(totals(&[&at("joined.jsonl")]), [(name(), 102, 1), (name(), 1003, 1)]);
}

#[test]
fn all_logs_of_many_sub_agents_count() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("s/subagents");
    fs::create_dir_all(&logs).unwrap();
    fs::write(folder.path().join("s.jsonl"), session("s", 2)).unwrap();
    for number in 0..1003 {
        let id = format!("n{number}");
        fs::write(logs.join(format!("agent-{id}.jsonl")), sub_agent("s", &id, 1)).unwrap();
    }
    assert_eq!(totals(&[&folder.path().join("s.jsonl")]), [("s.jsonl".to_owned(), 1005, 1003)]);
}

#[test]
fn sub_agents_of_a_trial_are_read_with_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("agent/projects/s/subagents")).unwrap();
    fs::write(at("result.json"), r#"{"trial_name":"t"}"#).unwrap();
    fs::write(at("agent/projects/s.jsonl"), session("s", 2)).unwrap();
    // More steps than the session has: it is not taken for the session.
    let inner: String = ["1", "2", "3"].map(|id| sub_agent("s", id, 100)).concat();
    fs::write(
        at("agent/projects/s/subagents/agent-1.jsonl"),
        inner
            .replace("\"agentId\":\"2\"", "\"agentId\":\"1\"")
            .replace("\"agentId\":\"3\"", "\"agentId\":\"1\""),
    )
    .unwrap();
    let found = read::read(folder.path(), None).unwrap();
    assert_eq!((found.trajectory.steps.len(), found.tally.usage.output), (2, 302));
    assert_eq!(found.trajectory.subagent_trajectories.len(), 1);
}

#[test]
fn document_lists_and_deep_folders_are_skipped_with_a_diagnostic() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().to_path_buf();
    fs::write(top.join("good.jsonl"), session("s", 2)).unwrap();
    let sample =
        json!({ "messages": [{ "role": "user", "content": "x" }, { "role": "assistant", "content": "y" }] });
    fs::write(top.join("train.jsonl"), lines(&[sample.clone(), sample.clone()])).unwrap();
    fs::write(top.join("one.json"), lines(&[sample])).unwrap();
    let found = read::sources(std::slice::from_ref(&top));
    let names: Vec<_> = found.list.iter().map(|one| one.path.clone()).collect();
    assert_eq!(names, [top.join("good.jsonl"), top.join("one.json")]);
    assert!(names.iter().all(|path| read::read(path, None).is_ok()));
    assert_eq!((found.skipped, found.unsearched.len()), (1, 0));
    fs::create_dir_all((0..20).fold(top.clone(), |path, _| path.join("d"))).unwrap();
    assert_eq!(read::sources(std::slice::from_ref(&top)).unsearched, [top]);
}

/// The usage of each message of a real log, counted here in another way: by session and name, the
/// record with the most output.
#[test]
#[ignore = "needs shared data"]
fn folder_of_real_sessions_counts_each_once() {
    let root = shared("cta/traces");
    let mut messages: BTreeMap<(String, String), [u64; 4]> = BTreeMap::new();
    for file in files(&root) {
        for line in fs::read_to_string(file).unwrap().lines() {
            let Ok(record) = serde_json::from_str::<Value>(line) else { continue };
            let usage = &record["message"]["usage"];
            if record["type"] != "assistant"
                || !usage.is_object()
                || record["message"]["model"] == "<synthetic>"
            {
                continue;
            }
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let used =
                ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
                    .map(|key| usage[key].as_u64().unwrap_or_default());
            let known =
                messages.entry((text(&record["sessionId"]), text(&record["message"]["id"]))).or_insert(used);
            if known[1] < used[1] {
                *known = used;
            }
        }
    }
    let found = read::sources(&[root]);
    let all: Vec<Stats> = found.list.iter().flat_map(|source| stats_of(source, None, &[]).unwrap()).collect();
    let kept = fuller(&all);
    let mut sum = Usage::default();
    for (stats, fuller) in all.iter().zip(&kept) {
        if fuller.is_none() {
            sum += stats.tally.usage;
        }
    }
    let expected = |at: usize| messages.values().map(|used| used[at]).sum::<u64>();
    assert_eq!([sum.input, sum.output, sum.cache_read, sum.cache_write], [0, 1, 2, 3].map(expected));
    // The controls of both arms are the same runs.
    assert_eq!((all.len(), kept.iter().flatten().count()), (99, 27));
}

#[test]
#[ignore = "needs shared data"]
fn real_trajectories_round_trip() {
    let (traces, agents) = (shared("cta/traces"), shared("agents"));
    let mut count = 0;
    for file in files(&traces).into_iter().step_by(4).chain(files(&agents)) {
        let Ok(first) = read::read(&file, None) else { continue };
        let written = serde_json::to_vec(&first.trajectory).unwrap();
        let again = read::read_from(written.as_slice(), "it", None).unwrap();
        assert!(again.trajectory == first.trajectory, "{}", file.display());
        assert_eq!(again.tally.known(), first.tally.known(), "{}", file.display());
        count += 1;
    }
    assert!(count >= 45, "{count}");
}
