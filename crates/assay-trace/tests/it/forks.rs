//! Forked and spawned sessions of Codex, in the forms in which versions of it repeat the records of
//! their origin. The totals were counted by hand.

use assay_trace::{OfferedSkill, Stats, Usage, stats};
use serde_json::{Value, json};

/// Ids whose time is that of `BEGUN`, and one from an hour before: UUIDs of version 7.
const ORIGIN: &str = "019b76da-a800-7000-8000-00000000000a";
const CHILD: &str = "019b7711-9680-7000-8000-00000000000c";
const OLD_TURN: &str = "019b76f6-1f40-7000-8000-000000000001";
const NEW_TURN: &str = "019b7711-9690-7000-8000-000000000002";
/// 2026-01-01T01:00:00Z is 0x019b77119680 milliseconds after 1970.
const BEGUN: &str = "2026-01-01T01:00:00.000Z";

fn record(time: &str, kind: &str, payload: Value) -> Value {
    let mut record = json!({ "timestamp": time, "type": kind });
    record["payload"] = payload;
    record
}

fn meta(time: &str, id: &str, more: Value) -> Value {
    let mut payload = json!({ "id": id, "timestamp": time, "cwd": "/w", "cli_version": "0.150.0" });
    if let Value::Object(more) = more {
        payload.as_object_mut().expect("an object").extend(more);
    }
    record(time, "session_meta", payload)
}

fn said(time: &str, role: &str, text: &str) -> Value {
    record(
        time,
        "response_item",
        json!({ "type": "message", "role": role, "content": [{ "type": "text", "text": text }] }),
    )
}

fn counted(time: &str, total: [u64; 2], last: [u64; 2]) -> Value {
    let of = |[input, output]: [u64; 2]| json!({ "input_tokens": input, "output_tokens": output });
    record(
        time,
        "event_msg",
        json!({ "type": "token_count", "info": { "total_token_usage": of(total), "last_token_usage": of(last) } }),
    )
}

fn turn(time: &str, id: Option<&str>, model: &str) -> Value {
    record(time, "turn_context", json!({ "turn_id": id, "model": model }))
}

fn shell(time: &str, command: &str) -> Value {
    let arguments = json!({ "cmd": command }).to_string();
    record(
        time,
        "response_item",
        json!({ "type": "function_call", "name": "exec_command", "call_id": command, "arguments": arguments }),
    )
}

fn output(time: &str, command: &str, text: &str) -> Value {
    record(
        time,
        "response_item",
        json!({ "type": "function_call_output", "call_id": command, "output": text }),
    )
}

fn read(records: &[Value]) -> Stats {
    let log: String = records.iter().map(|record| record.to_string() + "\n").collect();
    let skill = OfferedSkill {
        name: "tides",
        description: "Reads tables of tides.",
        body: "Never trust a table of tides that is older than two years.\nRead the harbor's own almanac before anything else.\n",
        mount: "",
        files: &[],
    };
    let mut all = stats(log.as_bytes(), "log", None, &[skill]).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn usage(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

/// What a session did before it was forked: a skill was opened, and 100 and 20 tokens were used.
fn origin(time: &str, turn_id: Option<&str>) -> Vec<Value> {
    vec![
        turn(time, turn_id, "large"),
        said(time, "user", "Plan the trip."),
        shell(time, "cat .agents/skills/tides/SKILL.md"),
        output(
            time,
            "cat .agents/skills/tides/SKILL.md",
            "Never trust a table of tides that is older than two years.",
        ),
        counted(time, [60, 10], [60, 10]),
        said(time, "assistant", "Planned."),
        counted(time, [100, 20], [40, 10]),
    ]
}

/// What the fork does: 7 and 3 tokens.
fn own(turn_id: Option<&str>) -> Vec<Value> {
    vec![
        turn("2026-01-01T01:00:00.020Z", turn_id, "small"),
        said("2026-01-01T01:00:00.030Z", "user", "Pack."),
        said("2026-01-01T01:00:04.000Z", "assistant", "Packed."),
        counted("2026-01-01T01:00:04.010Z", [107, 23], [7, 3]),
    ]
}

fn forked() -> Value {
    json!({ "forked_from_id": ORIGIN })
}

fn spawned() -> Value {
    json!({ "source": { "subagent": { "thread_spawn": { "parent_thread_id": ORIGIN, "depth": 1 } } } })
}

#[test]
fn repeated_records_count_in_the_origin() {
    let old = "2026-01-01T00:00:00.000Z";
    let copied = "2026-01-01T01:00:00.005Z";
    let check = |what: &str, records: &[Value], copies: usize| {
        let found = read(records);
        let prefix = found.inherited.as_ref();
        assert_eq!(found.tally.usage, usage(7, 3), "{what}");
        assert_eq!(
            prefix.map(|prefix| (prefix.session_id.as_str(), prefix.records)),
            Some((ORIGIN, copies)),
            "{what}"
        );
        assert_eq!((found.calls, found.session_id.as_deref()), (0, Some(CHILD)), "{what}");
        assert_eq!(found.skills[0].exposure.opened, None, "{what}");
        assert_eq!(found.agent.model_name.as_deref(), Some("small"), "{what}");
        assert_eq!(found.diagnostics, [], "{what}");
        // The mark of the copy, the prompt and the reply.
        assert_eq!((found.steps, found.turns), (3, 1), "{what}");
    };
    let log = |own_meta: Value, origin_meta: Option<Value>, origin: Vec<Value>, own: Vec<Value>| {
        [vec![meta(BEGUN, CHILD, own_meta)], origin_meta.into_iter().collect(), origin, own].concat()
    };
    let inner = |time: &str| Some(record(time, "session_meta", json!({ "id": ORIGIN, "timestamp": old })));
    check(
        "new times, turns with ids",
        &log(forked(), inner(copied), origin(copied, Some(OLD_TURN)), own(Some(NEW_TURN))),
        8,
    );
    check("new times, no ids of turns", &log(forked(), inner(copied), origin(copied, None), own(None)), 8);
    check("old times", &log(forked(), inner(old), origin(old, None), own(None)), 8);
    check(
        "spawned, without the record of the origin",
        &log(spawned(), None, origin(copied, None), own(None)),
        7,
    );
    check(
        "no mention of the origin but its record",
        &log(json!({}), inner(copied), origin(copied, None), own(None)),
        8,
    );
    // Only the counts keep their times.
    let mut mixed = origin(copied, None);
    mixed[4]["timestamp"] = old.into();
    mixed[6]["timestamp"] = old.into();
    check("counts with old times", &log(spawned(), inner(copied), mixed, own(None)), 8);
    // A fork of a fork has the records of both.
    let deeper = [
        inner(copied).unwrap(),
        record(copied, "session_meta", json!({ "id": "019b7600-0000-7000-8000-00000000000e" })),
    ];
    let deeper =
        [vec![meta(BEGUN, CHILD, forked())], deeper.to_vec(), origin(copied, None), own(None)].concat();
    check("a fork of a fork", &deeper, 9);
    // A sub-agent that has the session of its root, and a thread of its own.
    let mut of_root = forked();
    of_root["session_id"] = ORIGIN.into();
    check("the session of the root", &log(of_root, inner(copied), origin(copied, None), own(None)), 8);
}

#[test]
fn children_without_a_copy_keep_all_they_have() {
    let check = |records: &[Value]| {
        let found = read(records);
        assert_eq!((found.tally.usage, found.turns, found.steps), (usage(7, 3), 1, 2));
        assert_eq!(found.inherited, None);
    };
    let mut own = own(None);
    own[3] = counted("2026-01-01T01:00:04.010Z", [7, 3], [7, 3]);
    check(&[vec![meta(BEGUN, CHILD, spawned())], own.clone()].concat());
    // The reply comes at once, and the id of the turn says whose it is.
    own[0] = turn("2026-01-01T01:00:00.020Z", Some(NEW_TURN), "small");
    own[2]["timestamp"] = "2026-01-01T01:00:00.040Z".into();
    own[3]["timestamp"] = "2026-01-01T01:00:00.050Z".into();
    check(&[vec![meta(BEGUN, CHILD, spawned())], own.clone()].concat());
    // A session that is no fork.
    check(&[vec![meta(BEGUN, CHILD, json!({ "forked_from_id": null }))], own].concat());
}

/// Calls by name, with their exit codes.
fn calls(records: &[Value]) -> Vec<(String, Option<i64>, Option<bool>)> {
    let log: String = records.iter().map(|record| record.to_string() + "\n").collect();
    let found = assay_trace::read::read_from(log.as_bytes(), "log", None).unwrap();
    let steps = found.trajectory.steps.iter();
    steps
        .flat_map(|step| step.tool_calls.iter().map(move |call| (step, call)))
        .map(|(step, call)| {
            let result = step.result_of(&call.tool_call_id).unwrap();
            let status = result.extra.get("exit_code").and_then(Value::as_i64);
            (call.function_name.clone(), status, result.failed())
        })
        .collect()
}

#[test]
fn commands_of_programs_are_calls_and_outputs_have_exit_codes() {
    let time = "2026-01-01T01:00:04.000Z";
    let item = |id: &str, command: Value, status: i64| {
        let item = json!({ "type": "CommandExecution", "id": id, "command": command, "aggregated_output": "x", "exit_code": status });
        record(time, "event_msg", json!({ "type": "item_completed", "item": item }))
    };
    let records = [
        meta(BEGUN, CHILD, json!({})),
        record(
            time,
            "response_item",
            json!({ "type": "custom_tool_call", "name": "exec", "call_id": "p", "input": "run()" }),
        ),
        item("i1", json!(["/bin/bash", "-lc", "make test"]), 2),
        item("i2", json!(["ls"]), 0),
        record(
            time,
            "response_item",
            json!({ "type": "custom_tool_call_output", "call_id": "p", "output": "Exit code: 0\nWall time: 1\nOutput:\nExit code: 7" }),
        ),
        shell(time, "make"),
        item("make", json!(["make"]), 1),
        output(time, "make", "Chunk ID: 1\nProcess exited with code 1\nOutput:\nno"),
        shell(time, "cat log"),
        output(time, "cat log", "Output:\nExit code: 9"),
    ];
    let call = |name: &str, status: Option<i64>| (name.to_owned(), status, status.map(|status| status != 0));
    let expected = [
        call("exec", Some(0)),
        call("exec_command", Some(2)),
        call("exec_command", Some(0)),
        call("exec_command", Some(1)),
        call("exec_command", None),
    ];
    assert_eq!(calls(&records), expected);
}

#[test]
fn a_count_without_the_last_reply_is_the_difference() {
    let mut second = counted("2026-01-01T01:00:09.000Z", [30, 8], [0, 0]);
    second["payload"]["info"]["last_token_usage"] = Value::Null;
    let records = [
        meta(BEGUN, CHILD, json!({})),
        said("2026-01-01T01:00:04.000Z", "assistant", "one"),
        counted("2026-01-01T01:00:04.000Z", [20, 5], [20, 5]),
        said("2026-01-01T01:00:08.000Z", "user", "more"),
        said("2026-01-01T01:00:09.000Z", "assistant", "two"),
        second,
    ];
    assert_eq!(read(&records).tally.usage, usage(30, 8));
}
