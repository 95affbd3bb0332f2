//! Transcripts corrupted at random: whatever a file contains, reading it ends, and without a panic.
//!
//! `ASSAY_FUZZ_SECONDS` sets for how long (default 2). Each round has a number; the same number
//! corrupts the same file in the same way, and a failure prints it. The inputs are logs of every
//! format, and the real ones if the shared data is available.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use assay_trace::read::{self, READERS};
use assay_trace::{OfferedSkill, exposure};
use serde_json::{Value, json};

use crate::databases;

/// Real files above this size are left out: a round should be short.
const LARGEST: u64 = 300_000;

/// A small generator (Marsaglia's xorshift64, 2003), good enough to corrupt files.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap()
    }
}

/// One small file per format, so that all of them are corrupted even without the shared data.
pub(crate) fn written_transcripts() -> Vec<Vec<u8>> {
    let lines =
        |records: &[Value]| records.iter().map(|r| r.to_string() + "\n").collect::<String>().into_bytes();
    let time = "2026-01-01T00:00:00Z";
    vec![
        lines(&[
            json!({ "type": "user", "uuid": "a", "sessionId": "s", "isSidechain": false, "timestamp": time,
                "message": { "content": "do" } }),
            json!({ "type": "assistant", "uuid": "b", "sessionId": "s", "isSidechain": true, "timestamp": time, "message": {
                "id": "m", "model": "x", "usage": { "input_tokens": 1, "output_tokens": u64::MAX },
                "content": [{ "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "so" },
                    { "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "ls" } }] } }),
            json!({ "type": "user", "uuid": "c", "sessionId": "s", "isSidechain": true, "message": { "content": [
                { "type": "tool_result", "tool_use_id": "t", "is_error": true, "content": [{ "type": "text", "text": "x" }] }] } }),
            json!({ "type": "attachment", "uuid": "d", "sessionId": "s", "isSidechain": false,
                "attachment": { "type": "skill_listing", "content": "- a: b" }, "rendered": [{ "content": "x" }] }),
        ]),
        lines(&[
            json!({ "type": "system", "subtype": "init", "session_id": "s", "uuid": "a", "model": "x" }),
            json!({ "type": "result", "session_id": "s", "uuid": "b", "usage": { "input_tokens": 1 }, "total_cost_usd": 1e300 }),
        ]),
        lines(&[
            json!({ "type": "session_meta", "timestamp": time, "payload": { "id": "s", "cli_version": "1" } }),
            json!({ "type": "response_item", "payload": { "type": "function_call", "name": "exec", "arguments": "{\"cmd\":\"ls\"}", "call_id": "c" } }),
            json!({ "type": "response_item", "payload": { "type": "function_call_output", "call_id": "c",
                "output": "{\"output\":\"x\",\"metadata\":{\"exit_code\":1}}" } }),
            json!({ "type": "event_msg", "payload": { "type": "token_count", "info": {
                "total_token_usage": { "input_tokens": 3 }, "last_token_usage": { "input_tokens": 3 } } } }),
        ]),
        lines(&[
            json!({ "type": "thread.started", "thread_id": "s" }),
            json!({ "type": "item.completed", "item": { "id": "i", "type": "command_execution", "command": "ls", "exit_code": 0 } }),
            json!({ "type": "item.completed", "item": { "id": "j", "type": "mcp_tool_call", "tool": "x", "arguments": {}, "result": { "content": [] } } }),
        ]),
        lines(&[
            json!({ "sessionId": "s", "projectHash": "h" }),
            json!({ "id": "m", "type": "gemini", "content": "x", "thoughts": [{ "subject": "a" }], "tokens": { "input": u64::MAX, "tool": u64::MAX },
                "toolCalls": [{ "id": "c", "name": "n", "args": {}, "result": [{ "functionResponse": { "response": { "output": "x" } } }] }] }),
            json!({ "$set": { "messages": [{ "id": "u", "type": "user", "content": [{ "text": "x" }] }] } }),
        ]),
        lines(&[
            json!({ "type": "init", "session_id": "s", "model": "g", "timestamp": time }),
            json!({ "type": "tool_use", "tool_name": "n", "tool_id": "c", "parameters": {} }),
            json!({ "type": "tool_result", "tool_id": "c", "status": "error", "error": { "message": "x" } }),
        ]),
        lines(&[json!({ "uuid": "a", "sessionId": "s", "type": "assistant", "message": { "parts": [{ "text": "x", "thought": true },
            { "functionCall": { "id": "c", "name": "n", "args": {} } }] }, "usageMetadata": { "promptTokenCount": 1 } })]),
        lines(&[json!({ "type": "tool_use", "sessionID": "s", "timestamp": i64::MAX, "part": { "type": "tool", "messageID": "m",
            "callID": "c", "state": { "status": "completed", "input": {}, "output": "x" } } })]),
        json!({ "info": { "id": "s", "projectID": "p" }, "messages": [{ "info": { "id": "m", "role": "assistant" },
            "parts": [{ "type": "text", "text": "x" }] }] }).to_string().into_bytes(),
        json!({ "trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": [
            { "role": "assistant", "content": "```bash\nls\n```", "extra": { "timestamp": 1e300 } },
            { "role": "user", "content": "x" }] }).to_string().into_bytes(),
        json!({ "info": { "model_stats": { "tokens_sent": u64::MAX, "tokens_received": 1, "instance_cost": 1e300 } }, "trajectory": [
            { "action": "ls", "observation": "x", "response": "so" }], "history": [{ "role": "system", "content": "x", "agent": "main" },
            { "role": "assistant", "content": "so", "action": "ls", "tool_calls": [{ "id": "c", "function": { "name": "n", "arguments": "{}" } }] }]
        }).to_string().into_bytes(),
        json!([{ "id": 1, "source": "agent", "action": "run", "args": { "command": "ls" }, "timestamp": "2026-01-01T00:00:00",
            "tool_call_metadata": { "tool_call_id": "c", "function_name": "n", "model_response": { "id": "r", "usage": { "prompt_tokens": 1 } } },
            "llm_metrics": { "accumulated_cost": 1.0, "accumulated_token_usage": { "prompt_tokens": u64::MAX } } },
            { "id": 2, "source": "agent", "observation": "run", "cause": 1, "content": "x", "extras": { "exit_code": 1 } }])
        .to_string().into_bytes(),
        lines(&[
            json!({ "type": "session", "id": "s", "cwd": "/", "timestamp": time }),
            json!({ "type": "message", "id": "a", "timestamp": time, "message": { "role": "assistant", "model": "m", "content": [
                { "type": "toolCall", "id": "c", "name": "bash", "arguments": {} }], "usage": { "input": u64::MAX, "output": 1, "cost": { "total": 1e300 } } } }),
            json!({ "type": "message", "id": "b", "timestamp": time, "message": { "role": "toolResult", "toolCallId": "c", "content": [] } }),
        ]),
        json!([{ "role": "user", "content": "do" }, { "role": "assistant", "content": [{ "type": "tool_use", "id": "c", "name": "n", "input": {} }],
            "usage": { "input_tokens": u64::MAX } }]).to_string().into_bytes(),
        json!({ "schema_version": "ATIF-v1.5", "agent": { "name": "x" }, "steps": [{ "step_id": 1, "source": "agent", "message": "x",
            "tool_calls": [{ "tool_call_id": "c", "function_name": "n", "arguments": {} }],
            "observation": { "results": [{ "source_call_id": "c", "content": "x" }] },
            "metrics": { "prompt_tokens": 1, "cached_tokens": 9 } }], "subagent_trajectories": [] }).to_string().into_bytes(),
        databases::file(
            &[("s", None, 1), ("sub", Some("s"), 2)],
            &[
                ("m", "s", json!({ "role": "assistant", "time": { "created": 3 } }), vec![("p", json!({ "type": "text", "text": "x" }))]),
                ("n", "sub", json!({ "role": "user", "time": { "created": 4 } }), vec![("q", json!({ "type": "text", "text": "x" }))]),
            ],
        ),
    ]
}

/// The real files, if they are available.
fn real(folder: &Path, found: &mut Vec<Vec<u8>>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            real(&path, found);
        } else if path.metadata().unwrap().len() <= LARGEST {
            found.push(fs::read(path).unwrap());
        }
    }
}

/// Corrupts bytes: some changed, some removed, some doubled, a line moved, or the end cut off.
fn corrupt_bytes(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = dice.below(bytes.len());
        let end = (at + 1 + dice.below(40)).min(bytes.len());
        match dice.below(6) {
            0 => bytes[at] = u8::try_from(dice.below(256)).unwrap(),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let twice = bytes[at..end].to_vec();
                bytes.splice(at..at, twice);
            }
            3 => bytes.truncate(at),
            4 => bytes.insert(at, b"{}[]\",:\n\\\x00\xff"[dice.below(11)]),
            _ => {
                let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
                let (a, b) = (dice.below(lines.len()), dice.below(lines.len()));
                lines.swap(a, b);
                *bytes = lines.join(&b'\n');
            }
        }
    }
}

/// Replaces one value of a record with one of another kind; the record stays JSON.
fn corrupt_value(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if serde_json::from_str::<Value>(&text).is_ok() {
        lines = vec![text];
    }
    let at = dice.below(lines.len());
    let Some(Ok(mut record)) = lines.get(at).map(|line| serde_json::from_str::<Value>(line)) else { return };
    for _ in 0..=dice.below(3) {
        let depth = dice.below(9);
        replace(&mut record, depth, dice);
    }
    lines[at] = record.to_string();
    *bytes = lines.join("\n").into_bytes();
}

/// Replaces a value at the given depth, or at the greatest depth there is.
fn replace(node: &mut Value, depth: usize, dice: &mut Dice) {
    match node {
        Value::Array(items) if depth > 0 && !items.is_empty() => {
            let at = dice.below(items.len());
            return replace(&mut items[at], depth - 1, dice);
        }
        Value::Object(map) if depth > 0 && !map.is_empty() => {
            let at = dice.below(map.len());
            return replace(map.values_mut().nth(at).unwrap(), depth - 1, dice);
        }
        _ => {}
    }
    *node = match dice.below(9) {
        0 => Value::Null,
        1 => json!(-1),
        2 => json!(u64::MAX),
        3 => json!(1e308),
        4 => json!([]),
        5 => json!({}),
        6 => json!(""),
        7 => json!([[{ "type": "text" }], null, "x"]),
        _ => json!(true),
    };
}

fn read_bytes(bytes: &[u8], round: u64) {
    let body = "A line of a body that has forty characters and some more.";
    let skill = OfferedSkill { name: "x", description: "d", body, mount: "", files: &[] };
    let reader = usize::try_from(round).unwrap() % (READERS.len() + 3);
    let Ok(transcript) = read::read_from(bytes, "corrupted", READERS.get(reader).copied()) else { return };
    for (at, step) in transcript.trajectory.steps.iter().enumerate() {
        assert_eq!(step.step_id, at + 1);
    }
    exposure(&transcript.trajectory, &[skill]);
    // The result is a valid trajectory.
    let written = serde_json::to_vec(&transcript.trajectory).unwrap();
    assert!(read::atif::parse(&written).is_some());
}

#[test]
fn corrupted_transcripts_never_panic() {
    let seconds = std::env::var("ASSAY_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let mut files = written_transcripts();
    if let Some(root) = assay_test::shared_if_present("agents") {
        real(&root, &mut files);
    }
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut round: u64 = 0;
    while round < 100 || Instant::now() < until {
        round += 1;
        let mut dice = Dice(round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = files[dice.below(files.len())].clone();
        if dice.below(2) == 0 {
            corrupt_bytes(&mut bytes, &mut dice);
        } else {
            corrupt_value(&mut bytes, &mut dice);
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| read_bytes(&bytes, round)));
        assert!(
            outcome.is_ok(),
            "round {round}: {}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(2000)])
        );
    }
    println!("{round} transcripts corrupted and read");
}
