//! Transcripts with problems, which are reported once while the rest is read.

use assay_trace::Source;
use assay_trace::read::{self, LINE_CAP};
use serde_json::{Value, json};

const TIMES: [&str; 4] =
    ["2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z", "2026-01-01T00:00:30Z"];

/// A record of Claude Code's log.
fn record(kind: &str, number: usize, message: &Value) -> Value {
    json!({
        "type": kind, "uuid": format!("u{number}"), "sessionId": "s", "isSidechain": false, "version": "2",
        "timestamp": TIMES[number % 4], "message": message,
    })
}

fn message_record(number: usize, text: &str) -> String {
    record("user", number, &json!({ "role": "user", "content": text })).to_string()
}

fn replied(number: usize, text: &str) -> String {
    let message = json!({
        "id": format!("m{number}"), "model": "m", "content": [{ "type": "text", "text": text }],
        "usage": { "input_tokens": 1, "output_tokens": 2 },
    });
    record("assistant", number, &message).to_string()
}

/// Checks the diagnostics of a log, as code, line and count, and the messages that were read.
fn check(log: &[u8], expected: &[(&str, Option<usize>, usize)], messages: &[&str]) {
    let transcript = read::read_from(log, "log", None).unwrap();
    let found: Vec<_> = transcript.diagnostics.iter().map(|d| (d.code, d.line, d.count)).collect();
    let shown = String::from_utf8_lossy(&log[..log.len().min(500)]);
    assert_eq!(found, expected, "{shown}");
    let read: Vec<_> = transcript.trajectory.steps.iter().map(|step| step.message.as_str()).collect();
    assert_eq!(read, messages, "{shown}");
}

#[test]
fn each_problem_is_reported_once_and_the_rest_is_read() {
    let (do_it, done) = (message_record(0, "do"), replied(1, "done"));
    let log = |lines: &[&str]| lines.join("\n").into_bytes();
    check(&log(&[&do_it, &done]), &[], &["do", "done"]);
    // The last line is cut off.
    let half = &done[..done.len() / 2];
    check(&log(&[&do_it, half]), &[("truncated-line", Some(2), 1)], &["do"]);
    // Lines that are not JSON, among them one that would be a cut-off line at the end.
    check(&log(&[&do_it, "nonsense", half, "", &done]), &[("invalid-json", Some(2), 2)], &["do", "done"]);
    // Bytes that are not text.
    let mut bytes = log(&[&do_it, &message_record(1, "caf?")]);
    let at = bytes.iter().position(|&byte| byte == b'?').unwrap();
    bytes[at] = 0xe9;
    check(&bytes, &[("invalid-utf8", Some(2), 1)], &["do", "caf\u{fffd}"]);
    // Unknown kinds of records, each kind once.
    let strange = |kind: &str| json!({ "type": kind, "sessionId": "s" }).to_string();
    check(
        &log(&[&do_it, &strange("aura"), &strange("aura"), &strange("halo"), &done]),
        &[("unknown-record", Some(2), 2), ("unknown-record", Some(4), 1)],
        &["do", "done"],
    );
    // A record of another shape.
    check(&log(&[&do_it, "[1]", &done]), &[("unexpected-shape", Some(2), 1)], &["do", "done"]);
    // The same record twice.
    check(&log(&[&do_it, &do_it, &done]), &[("duplicate-record", Some(2), 1)], &["do", "done"]);
    // A clock that runs back, by more than the processes that write a log differ.
    check(
        &log(&[&message_record(2, "do"), &replied(1, "done")]),
        &[("clock-runs-back", Some(2), 1)],
        &["do", "done"],
    );
    // A result whose call is nowhere.
    let result = json!({ "content": [{ "type": "tool_result", "tool_use_id": "t", "content": "x" }] });
    check(
        &log(&[&do_it, &record("user", 1, &result).to_string()]),
        &[("result-without-call", Some(2), 1)],
        &["do", ""],
    );
    // Two records on one line are two records, and what follows them may be cut off.
    let joined = format!("{do_it}{done}");
    check(joined.as_bytes(), &[("joined-records", Some(1), 1)], &["do", "done"]);
    check(
        &log(&[&format!("{do_it}{half}")]),
        &[("joined-records", Some(1), 1), ("truncated-line", Some(1), 1)],
        &["do"],
    );
    check(
        &log(&[&format!("{do_it}nonsense"), &done]),
        &[("invalid-json", Some(1), 1), ("joined-records", Some(1), 1)],
        &["do", "done"],
    );
}

#[test]
fn log_without_sub_agent_marks_is_claude_code() {
    let log = [message_record(0, "do"), replied(1, "done")].join("\n");
    let bare = log.replace("\"isSidechain\":false,", "");
    assert!(!bare.contains("isSidechain"), "{bare}");
    check(bare.as_bytes(), &[], &["do", "done"]);
}

#[test]
fn hundred_megabyte_line_is_skipped() {
    let long = message_record(1, &"x".repeat(100 << 20));
    let log = [message_record(0, "do"), long, replied(2, "done")].join("\n");
    check(log.as_bytes(), &[("line-too-long", Some(2), 1)], &["do", "done"]);
    assert!(log.len() > LINE_CAP);
}

#[test]
fn non_transcript_is_rejected() {
    for text in
        ["hello\n", "{}\n", "[]", "{\"a\": 1}\n{\"a\": 2}\n", "\u{0}\u{1}\u{2}", "{\n  \"steps\": []\n}"]
    {
        let error = read::read_from(text.as_bytes(), "it", None).unwrap_err();
        assert_eq!(error.to_string(), "it is not a transcript in a known format", "{text:?}");
    }
    for text in ["", "\n \n"] {
        let error = read::read_from(text.as_bytes(), "it", None).unwrap_err();
        assert_eq!(error.to_string(), "it is empty", "{text:?}");
    }
    // A document whose end is missing, whether or not its format is named.
    let atif = read::reader("atif").ok();
    let cut = "{\n  \"schema_version\": \"ATIF-v1.7\",\n  \"steps\": [{";
    for reader in [None, atif] {
        let error = read::read_from(cut.as_bytes(), "it", reader).unwrap_err().to_string();
        assert!(error.starts_with("it is a truncated JSON document: it ends at line 3"), "{error}");
    }
    // A format that is named and is another.
    let check = |text: &str, format: &str, expected: &str| {
        let error = read::read_from(text.as_bytes(), "it", read::reader(format).ok()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text:?}");
    };
    let list = r#"[{"role": "user", "content": "do"}]"#;
    check(list, "atif", "it is not in the atif format; it looks like messages");
    check("{}", "atif", "it is not in the atif format");
    check("hello", "atif", "it is not in the atif format");
    check(&message_record(0, "do"), "codex", "it is not in the codex format; it looks like claude-code");
    check("hello", "codex", "it is not in the codex format");
    assert!(read::reader("morse").is_err());
}

#[test]
fn format_is_detected_after_invalid_first_lines() {
    let log = ["garbage".to_owned(), message_record(0, "do"), replied(1, "done")].join("\n");
    check(log.as_bytes(), &[("invalid-json", Some(1), 1)], &["do", "done"]);
}

#[test]
fn message_spread_over_records_is_one_step() {
    let block = |number: usize, block: Value| {
        let message = json!({
            "id": "m", "model": "m", "content": [block],
            "usage": { "input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 11,
                "cache_creation_input_tokens": 13 },
        });
        record("assistant", number, &message).to_string()
    };
    let result = |number: usize, call: &str| {
        let content =
            json!([{ "type": "tool_result", "tool_use_id": call, "content": call, "is_error": true }]);
        record("user", number, &json!({ "content": content })).to_string()
    };
    let log = [
        message_record(0, "do"),
        block(1, json!({ "type": "thinking", "thinking": "hm" })),
        block(2, json!({ "type": "tool_use", "id": "a", "name": "Bash", "input": { "command": "ls" } })),
        result(3, "a").replace("\"u3\"", "\"u3a\""),
        block(3, json!({ "type": "tool_use", "id": "b", "name": "Edit", "input": { "old_string": "x", "new_string": "y" } })),
        result(7, "b"),
        block(11, json!({ "type": "text", "text": "so" })),
    ]
    .join("\n");
    let transcript = read::read_from(log.as_bytes(), "log", None).unwrap();
    assert_eq!(transcript.diagnostics, []);
    let [_, step] = transcript.trajectory.steps.as_slice() else { panic!("two steps") };
    assert_eq!((step.reasoning_content.as_deref(), step.message.as_str()), (Some("hm"), "so"));
    assert_eq!(step.tool_calls[1].arguments["new_string"], "y");
    assert_eq!(step.result_of("b").unwrap().failed(), Some(true));
    assert_eq!(step.message_id(), Some("m"));
    let tally = transcript.tally;
    assert_eq!((tally.messages, tally.records), (1, 4));
    assert_eq!((tally.usage.total(), tally.per_record.total()), (36, 144));
    assert_eq!(step.usage(), Some(tally.usage));
}

#[test]
fn sub_agents_are_separate_and_linked_to_their_calls() {
    let with = |mut record: Value, agent: &str| {
        record["isSidechain"] = true.into();
        record["agentId"] = agent.into();
        record.to_string()
    };
    let call = json!({ "id": "m1", "model": "m", "content": [
        { "type": "tool_use", "id": "t", "name": "Task", "input": { "prompt": "look around" } }] });
    let inner = json!({ "id": "m2", "model": "m", "content": [{ "type": "text", "text": "seen" }],
        "usage": { "input_tokens": 3, "output_tokens": 4 } });
    let result = json!({ "content": [{ "type": "tool_result", "tool_use_id": "t", "content": "seen" }] });
    let log = [
        message_record(0, "do"),
        record("assistant", 1, &call).to_string(),
        with(record("user", 2, &json!({ "content": "look around" })), "a1"),
        with(record("assistant", 3, &inner), "a1"),
        record("user", 7, &result).to_string(),
    ]
    .join("\n");
    let trajectory = read::read_from(log.as_bytes(), "log", None).unwrap().trajectory;
    assert_eq!(trajectory.steps.len(), 2);
    let [inner] = trajectory.subagent_trajectories.as_slice() else { panic!("one sub-agent") };
    assert_eq!(inner.steps.iter().map(|step| step.source).collect::<Vec<_>>(), [Source::User, Source::Agent]);
    let tied = &trajectory.steps[1].result_of("t").unwrap().subagent_trajectory_ref;
    assert_eq!(tied[0].trajectory_id.as_deref(), Some("a1"));
    assert_eq!(inner.trajectory_id.as_deref(), Some("a1"));
}

#[test]
fn known_formats_without_a_reader_are_named() {
    let check = |text: &str, expected: &str| {
        let error = read::read_from(text.as_bytes(), "log", None).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("SQLite format 3\0...", "an SQLite database");
    let copilot = json!({ "type": "session.start", "data": { "sessionId": "s", "version": 1 }, "id": "e", "parentId": null });
    check(&copilot.to_string(), "GitHub Copilot CLI");
    // It resembles a stream of Claude Code.
    let begun = json!({ "type": "system", "subtype": "init", "apiKeySource": "login", "session_id": "s", "model": "m" });
    let said =
        json!({ "type": "assistant", "session_id": "s", "message": { "role": "assistant", "content": [] } });
    check(&format!("{begun}\n{said}\n"), "Cursor");
    let called = json!({ "type": "tool_call", "subtype": "started", "call_id": "c", "tool_call": {}, "session_id": "s" });
    check(&format!("{said}\n{called}\n"), "Cursor");
    // In a folder they are not skipped.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("events.jsonl"), copilot.to_string()).unwrap();
    let found = read::sources(&[folder.path().to_path_buf()]);
    assert_eq!((found.list.len(), found.skipped), (1, 0));
}
