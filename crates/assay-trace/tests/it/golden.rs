//! A small file of every format, with totals that were added up by hand: the sums are written beside
//! them. A format without a row fails the test.

use std::collections::BTreeSet;

use assay_trace::read::{self, READERS, Reader};
use assay_trace::{KnownUsage, stats};
use serde_json::{Value, json};

use crate::databases;

/// A file and its totals over all of its sessions.
struct Golden {
    format: &'static str,
    file: Vec<u8>,
    sessions: usize,
    steps: usize,
    calls: usize,
    /// `None` where the format does not show it, with those that are known.
    failed: (Option<usize>, Option<usize>),
    tokens: KnownUsage,
    cost: Option<f64>,
    sub_agents: usize,
}

const TIME: &str = "2026-01-01T00:00:00Z";

fn lines(records: &[Value]) -> Vec<u8> {
    records.iter().map(|record| record.to_string() + "\n").collect::<String>().into_bytes()
}

fn document(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// Tokens that are all known.
fn tokens(input: u64, output: u64, cache_read: u64, cache_write: u64) -> KnownUsage {
    KnownUsage {
        input: Some(input),
        output: Some(output),
        cache_read: Some(cache_read),
        cache_write: Some(cache_write),
        cache_write_1h: 0,
    }
}

fn claude_code() -> Golden {
    let of = |uuid: &str, kind: &str, message: Value| json!({ "type": kind, "uuid": uuid, "sessionId": "s", "isSidechain": false, "timestamp": TIME, "message": message });
    let reply = |id: &str, block: Value, usage: &Value| json!({ "id": id, "model": "m", "content": [block], "usage": usage });
    let call = |id: &str, name: &str| json!({ "type": "tool_use", "id": id, "name": name, "input": { "prompt": "look" } });
    let result = |id: &str, failed: bool| json!({ "content": [{ "type": "tool_result", "tool_use_id": id, "content": "x", "is_error": failed }] });
    let of_agent = |mut record: Value| {
        record["isSidechain"] = true.into();
        record["agentId"] = "a".into();
        record
    };
    let first = json!({ "input_tokens": 12, "output_tokens": 30, "cache_read_input_tokens": 400,
        "cache_creation_input_tokens": 50, "cache_creation": { "ephemeral_1h_input_tokens": 20 } });
    let last = json!({ "input_tokens": 5, "output_tokens": 6, "cache_read_input_tokens": 450, "cache_creation_input_tokens": 0 });
    let inner = json!({ "input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0 });
    let text = json!({ "type": "text", "text": "done" });
    let file = lines(&[
        of("1", "user", json!({ "content": "do" })),
        // Two records of one message, which count once.
        of("2", "assistant", reply("m1", call("c1", "Bash"), &first)),
        of("3", "assistant", reply("m1", call("c2", "Task"), &first)),
        of("4", "user", result("c1", true)),
        of_agent(of("5", "user", json!({ "content": "look" }))),
        of_agent(of("6", "assistant", reply("m2", text.clone(), &inner))),
        of("7", "user", result("c2", false)),
        of("8", "assistant", reply("m3", text, &last)),
    ]);
    Golden {
        format: "claude-code",
        file,
        sessions: 1,
        steps: 3, // the user's, m1, m3
        calls: 2, // c1, c2
        failed: (Some(1), None),
        // 12 + 5 + 3, 30 + 6 + 4, 400 + 450 + 0, 50 + 0 + 0, of which 20 for an hour
        tokens: KnownUsage { cache_write_1h: 20, ..tokens(20, 40, 850, 50) },
        cost: None,
        sub_agents: 1,
    }
}

fn claude_code_stream() -> Golden {
    let of = |uuid: &str, kind: &str, message: Value| json!({ "type": kind, "uuid": uuid, "session_id": "s", "message": message });
    // At the beginning of a message, when its output is not known.
    let usage = |input: u64, read: u64, write: u64| json!({ "input_tokens": input, "output_tokens": 1, "cache_read_input_tokens": read, "cache_creation_input_tokens": write });
    let call = json!({ "type": "tool_use", "id": "c", "name": "Bash", "input": { "command": "false" } });
    let file = lines(&[
        json!({ "type": "system", "subtype": "init", "uuid": "1", "session_id": "s", "model": "m", "tools": [] }),
        of(
            "2",
            "assistant",
            json!({ "id": "m1", "model": "m", "content": [call], "usage": usage(4, 30, 40) }),
        ),
        of(
            "3",
            "user",
            json!({ "content": [{ "type": "tool_result", "tool_use_id": "c", "content": "x", "is_error": true }] }),
        ),
        of(
            "4",
            "assistant",
            json!({ "id": "m2", "model": "m", "content": [{ "type": "text", "text": "done" }], "usage": usage(6, 70, 0) }),
        ),
        json!({ "type": "result", "uuid": "5", "session_id": "s", "total_cost_usd": 0.25, "usage": {
            "input_tokens": 10, "output_tokens": 25, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 40 } }),
    ]);
    Golden {
        format: "claude-code-stream",
        file,
        sessions: 1,
        steps: 2, // m1, m2
        calls: 1,
        failed: (Some(1), None),
        // 4 + 6, the result's output, 30 + 70, 40 + 0
        tokens: tokens(10, 25, 100, 40),
        cost: Some(0.25),
        sub_agents: 0,
    }
}

fn codex() -> Golden {
    let of = |kind: &str, payload: Value| json!({ "type": kind, "timestamp": TIME, "payload": payload });
    let call = |id: &str| {
        of(
            "response_item",
            json!({ "type": "function_call", "name": "shell", "call_id": id, "arguments": "{}" }),
        )
    };
    let gave = |id: &str, text: &str| {
        of("response_item", json!({ "type": "function_call_output", "call_id": id, "output": text }))
    };
    let count = |total: u64, input: u64, cached: u64, output: u64| {
        let last = json!({ "input_tokens": input, "cached_input_tokens": cached, "output_tokens": output });
        of(
            "event_msg",
            json!({ "type": "token_count", "info": { "total_token_usage": { "total_tokens": total }, "last_token_usage": last } }),
        )
    };
    let said = |role: &str, text: &str| {
        of(
            "response_item",
            json!({ "type": "message", "role": role, "content": [{ "type": "text", "text": text }] }),
        )
    };
    let file = lines(&[
        of("session_meta", json!({ "id": "s", "cli_version": "1", "timestamp": TIME })),
        of("turn_context", json!({ "model": "m" })),
        said("user", "do"),
        call("c1"),
        count(110, 100, 40, 10),
        gave("c1", "Exit code: 1\nOutput:\nno"),
        call("c2"),
        count(330, 200, 150, 20),
        // Sent again without a reply.
        count(330, 200, 150, 20),
        gave("c2", "Exit code: 0\nOutput:\nyes"),
        said("assistant", "done"),
        count(660, 300, 250, 30),
    ]);
    Golden {
        format: "codex",
        file,
        sessions: 1,
        steps: 4, // the user's and three replies
        calls: 2,
        failed: (Some(1), None),
        // (100 - 40) + (200 - 150) + (300 - 250), 10 + 20 + 30, 40 + 150 + 250
        tokens: tokens(160, 60, 440, 0),
        cost: None,
        sub_agents: 0,
    }
}

fn codex_exec() -> Golden {
    let file = lines(&[
        json!({ "type": "thread.started", "thread_id": "s" }),
        json!({ "type": "item.completed", "item": { "id": "i1", "type": "command_execution", "command": "false",
            "aggregated_output": "", "exit_code": 1, "status": "failed" } }),
        json!({ "type": "item.completed", "item": { "id": "i2", "type": "agent_message", "text": "done" } }),
        json!({ "type": "turn.completed", "usage": { "input_tokens": 120, "cached_input_tokens": 80, "output_tokens": 15 } }),
    ]);
    Golden {
        format: "codex-exec",
        file,
        sessions: 1,
        steps: 2, // the command and the message
        calls: 1,
        failed: (Some(1), None),
        // 120 - 80
        tokens: tokens(40, 15, 80, 0),
        cost: None,
        sub_agents: 0,
    }
}

fn gemini_call(id: &str, status: &str) -> Value {
    json!({ "id": id, "name": "shell", "args": {}, "status": status,
        "result": [{ "functionResponse": { "id": id, "response": { "output": "x" } } }] })
}

fn gemini_cli() -> Golden {
    let file = lines(&[
        json!({ "sessionId": "s", "projectHash": "h", "startTime": TIME }),
        json!({ "id": "u", "type": "user", "timestamp": TIME, "content": [{ "text": "do" }] }),
        json!({ "id": "m1", "type": "gemini", "timestamp": TIME, "model": "g", "content": "",
            "toolCalls": [gemini_call("c1", "success"), gemini_call("c2", "error")],
            "tokens": { "input": 100, "output": 10, "cached": 30, "thoughts": 5, "tool": 2 } }),
        json!({ "id": "m2", "type": "gemini", "timestamp": TIME, "model": "g", "content": "done",
            "tokens": { "input": 200, "output": 20, "cached": 150, "thoughts": 0, "tool": 0 } }),
    ]);
    Golden {
        format: "gemini-cli",
        file,
        sessions: 1,
        steps: 3,
        calls: 2,
        failed: (Some(1), None),
        // (100 + 2 - 30) + (200 - 150), (10 + 5) + 20, 30 + 150
        tokens: tokens(122, 35, 180, 0),
        cost: None,
        sub_agents: 0,
    }
}

fn gemini_cli_document() -> Golden {
    let file = document(&json!({ "sessionId": "s", "projectHash": "h", "startTime": TIME, "messages": [
        { "id": "u", "type": "user", "timestamp": TIME, "content": "do" },
        { "id": "m", "type": "gemini", "timestamp": TIME, "model": "g", "content": "done",
            "toolCalls": [gemini_call("c", "success")],
            "tokens": { "input": 50, "output": 7, "cached": 0, "thoughts": 3, "tool": 0 } },
    ] }));
    Golden {
        format: "gemini-cli-document",
        file,
        sessions: 1,
        steps: 2,
        calls: 1,
        failed: (Some(0), None),
        // 7 + 3
        tokens: tokens(50, 10, 0, 0),
        cost: None,
        sub_agents: 0,
    }
}

fn gemini_cli_stream() -> Golden {
    let file = lines(&[
        json!({ "type": "init", "session_id": "s", "model": "g", "timestamp": TIME }),
        json!({ "type": "message", "role": "user", "content": "do", "timestamp": TIME }),
        json!({ "type": "tool_use", "tool_name": "shell", "tool_id": "c", "parameters": {}, "timestamp": TIME }),
        json!({ "type": "tool_result", "tool_id": "c", "status": "error", "output": "no", "timestamp": TIME }),
        json!({ "type": "message", "role": "assistant", "content": "done", "delta": true, "timestamp": TIME }),
        json!({ "type": "result", "status": "success", "timestamp": TIME,
            "stats": { "input_tokens": 90, "cached": 60, "output_tokens": 12 } }),
    ]);
    Golden {
        format: "gemini-cli-stream",
        file,
        sessions: 1,
        steps: 3, // the user's, the call, the message
        calls: 1,
        failed: (Some(1), None),
        // 90 - 60
        tokens: tokens(30, 12, 60, 0),
        cost: None,
        sub_agents: 0,
    }
}

fn qwen_code() -> Golden {
    let of = |uuid: &str, kind: &str, parts: Value| json!({ "uuid": uuid, "sessionId": "s", "type": kind, "timestamp": TIME, "model": "q", "message": { "role": kind, "parts": parts } });
    let used = |mut record: Value, prompt: u64, cached: u64, candidates: u64, total: u64| {
        record["usageMetadata"] = json!({ "promptTokenCount": prompt, "cachedContentTokenCount": cached,
            "candidatesTokenCount": candidates, "totalTokenCount": total });
        record
    };
    let mut result = of(
        "3",
        "tool_result",
        json!([{ "functionResponse": { "id": "c", "response": { "output": "no" } } }]),
    );
    result["toolCallResult"] = json!({ "status": "error" });
    let call = json!([{ "functionCall": { "id": "c", "name": "shell", "args": {} } }]);
    let file = lines(&[
        of("1", "user", json!([{ "text": "do" }])),
        used(of("2", "assistant", call), 100, 20, 10, 115),
        result,
        used(of("4", "assistant", json!([{ "text": "done" }])), 150, 100, 8, 158),
    ]);
    Golden {
        format: "qwen-code",
        file,
        sessions: 1,
        steps: 3,
        calls: 1,
        failed: (Some(1), None),
        // (100 - 20) + (150 - 100), (115 - 100) + 8, 20 + 100
        tokens: tokens(130, 23, 120, 0),
        cost: None,
        sub_agents: 0,
    }
}

fn opencode_usage(input: u64, output: u64, reasoning: u64, read: u64, write: u64, cost: f64) -> Value {
    json!({ "type": "step-finish", "cost": cost, "tokens": { "input": input, "output": output,
        "reasoning": reasoning, "cache": { "read": read, "write": write } } })
}

fn opencode_stream() -> Golden {
    let of = |kind: &str, message: &str, mut part: Value| {
        part["messageID"] = message.into();
        json!({ "type": kind, "timestamp": 1_000, "sessionID": "s", "part": part })
    };
    let call = json!({ "type": "tool", "tool": "bash", "callID": "c",
        "state": { "status": "completed", "input": {}, "output": "no", "metadata": { "exit": 1 } } });
    let file = lines(&[
        of("tool_use", "m1", call),
        of("step_finish", "m1", opencode_usage(20, 5, 2, 300, 40, 0.125)),
        of("text", "m2", json!({ "type": "text", "text": "done" })),
        of("step_finish", "m2", opencode_usage(10, 6, 0, 300, 0, 0.25)),
    ]);
    Golden {
        format: "opencode-stream",
        file,
        sessions: 1,
        steps: 2,
        calls: 1,
        failed: (Some(1), None),
        // 20 + 10, (5 + 2) + 6, 300 + 300, 40 + 0
        tokens: tokens(30, 13, 600, 40),
        cost: Some(0.375), // 0.125 + 0.25
        sub_agents: 0,
    }
}

fn opencode() -> Golden {
    let call =
        |id: &str, state: Value| json!({ "type": "tool", "tool": "bash", "callID": id, "state": state });
    let file = document(&json!({ "info": { "id": "s", "projectID": "p", "version": "1" }, "messages": [
        { "info": { "id": "m1", "role": "user", "time": { "created": 1_000 } }, "parts": [{ "type": "text", "text": "do" }] },
        { "info": { "id": "m2", "role": "assistant", "modelID": "m", "providerID": "p", "time": { "created": 2_000 } }, "parts": [
            call("c1", json!({ "status": "completed", "input": {}, "output": "x", "metadata": { "exit": 0 } })),
            call("c2", json!({ "status": "error", "input": {}, "error": "no" })),
            opencode_usage(15, 4, 1, 100, 20, 0.5) ] },
    ] }));
    Golden {
        format: "opencode",
        file,
        sessions: 1,
        steps: 2,
        calls: 2,
        failed: (Some(1), None),
        // 4 + 1
        tokens: tokens(15, 5, 100, 20),
        cost: Some(0.5),
        sub_agents: 0,
    }
}

fn opencode_database() -> Golden {
    let task = json!({ "type": "tool", "tool": "task", "callID": "c", "state": { "status": "completed",
        "input": { "prompt": "look" }, "output": "seen", "metadata": {} } });
    let user = |created: i64| json!({ "role": "user", "time": { "created": created } });
    let reply = |created: i64| json!({ "role": "assistant", "modelID": "m", "providerID": "p", "time": { "created": created } });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let sessions = [("s1", None, 500), ("sub", Some("s1"), 2_050), ("s2", None, 5_000)];
    let messages = [
        ("m1", "s1", user(1_000), vec![("p1", text("do"))]),
        ("m2", "s1", reply(2_000), vec![("p2", task), ("p3", opencode_usage(10, 20, 3, 7, 2, 0.5))]),
        ("m3", "sub", user(2_100), vec![("p4", text("look"))]),
        (
            "m4",
            "sub",
            reply(2_200),
            vec![("p5", text("seen")), ("p6", opencode_usage(100, 30, 0, 8, 0, 0.25))],
        ),
        ("m5", "s2", user(6_000), vec![("p7", text("more"))]),
        ("m6", "s2", reply(7_000), vec![("p8", text("done")), ("p9", opencode_usage(5, 6, 1, 9, 4, 0.125))]),
    ];
    Golden {
        format: "opencode-database",
        file: databases::file(&sessions, &messages),
        sessions: 2,
        steps: 4, // m1, m2 and m5, m6
        calls: 1,
        failed: (Some(0), None),
        // 10 + 100 + 5, (20 + 3) + 30 + (6 + 1), 7 + 8 + 9, 2 + 0 + 4
        tokens: tokens(115, 60, 24, 6),
        cost: Some(0.875), // 0.5 + 0.25 + 0.125
        sub_agents: 1,
    }
}

fn pi() -> Golden {
    let of = |id: &str, message: Value| json!({ "type": "message", "id": id, "timestamp": TIME, "message": message });
    let usage = |input: u64, output: u64, read: u64, write: u64, hour: u64, cost: f64| json!({ "input": input, "output": output, "cacheRead": read, "cacheWrite": write, "cacheWrite1h": hour, "cost": { "total": cost } });
    let call = json!([{ "type": "toolCall", "id": "c", "name": "bash", "arguments": {} }]);
    let file = lines(&[
        json!({ "type": "session", "version": 3, "id": "s", "cwd": "/", "timestamp": TIME }),
        of("1", json!({ "role": "user", "content": "do" })),
        of(
            "2",
            json!({ "role": "assistant", "model": "m", "content": call, "usage": usage(9, 8, 70, 6, 4, 0.125) }),
        ),
        of(
            "3",
            json!({ "role": "toolResult", "toolCallId": "c", "isError": true, "content": [{ "type": "text", "text": "no" }] }),
        ),
        of(
            "4",
            json!({ "role": "assistant", "model": "m", "content": [{ "type": "text", "text": "done" }], "usage": usage(1, 2, 76, 0, 0, 0.25) }),
        ),
    ]);
    Golden {
        format: "pi",
        file,
        sessions: 1,
        steps: 3,
        calls: 1,
        failed: (Some(1), None),
        // 9 + 1, 8 + 2, 70 + 76, 6 + 0, of which 4 for an hour
        tokens: KnownUsage { cache_write_1h: 4, ..tokens(10, 10, 146, 6) },
        cost: Some(0.375), // 0.125 + 0.25
        sub_agents: 0,
    }
}

fn mini_swe_agent() -> Golden {
    let asked = json!([{ "id": "c", "type": "function", "function": { "name": "bash", "arguments": "{\"command\": \"false\"}" } }]);
    let first = json!({ "prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": { "cached_tokens": 30 } });
    let second = json!({ "prompt_tokens": 200, "completion_tokens": 20 });
    let file = document(&json!({ "trajectory_format": "mini-swe-agent-1.1",
        "info": { "mini_version": "2.0", "model_stats": { "instance_cost": 0.5, "api_calls": 2 } },
        "messages": [
            { "role": "system", "content": "You are." },
            { "role": "user", "content": "do" },
            { "role": "assistant", "content": "Look.", "tool_calls": asked, "extra": { "response": { "usage": first } } },
            { "role": "tool", "tool_call_id": "c", "content": "no", "extra": { "returncode": 2 } },
            { "role": "assistant", "content": "Done.", "extra": { "response": { "usage": second } } },
            { "role": "exit", "content": "submitted" },
        ] }));
    Golden {
        format: "mini-swe-agent",
        file,
        sessions: 1,
        steps: 4, // system, user, two replies
        calls: 1,
        failed: (Some(1), None),
        // (100 - 30) + 200, 10 + 20, 30 + 0
        tokens: tokens(270, 30, 30, 0),
        cost: Some(0.5),
        sub_agents: 0,
    }
}

fn swe_agent() -> Golden {
    let said = |role: &str, text: &str, action: Option<&str>| json!({ "role": role, "content": text, "agent": "main", "action": action });
    let file = document(&json!({
        "trajectory": [
            { "action": "ls", "observation": "a.py", "response": "Look." },
            { "action": "cat a.py", "observation": "x = 1", "response": "Open." },
        ],
        "history": [said("system", "You are.", None), said("user", "do", None), said("assistant", "Look.", Some("ls")),
            said("user", "a.py", None), said("assistant", "Open.", Some("cat a.py")), said("user", "x = 1", None)],
        "info": { "model_stats": { "instance_cost": 0.25, "tokens_sent": 1200, "tokens_received": 34, "api_calls": 2 } },
    }));
    Golden {
        format: "swe-agent",
        file,
        sessions: 1,
        steps: 4, // system, user, two replies
        calls: 2,
        // What a command gave is a text.
        failed: (None, None),
        tokens: KnownUsage { input: Some(1200), output: Some(34), ..KnownUsage::default() },
        cost: Some(0.25),
        sub_agents: 0,
    }
}

fn openhands() -> Golden {
    let used = json!({ "accumulated_cost": 0.5, "accumulated_token_usage": { "prompt_tokens": 400, "completion_tokens": 40,
        "cache_read_tokens": 30, "cache_write_tokens": 5 } });
    let file = document(&json!([
        { "id": 1, "source": "user", "action": "message", "args": { "content": "do" } },
        { "id": 2, "source": "agent", "action": "run", "args": { "command": "false" } },
        { "id": 3, "source": "agent", "observation": "run", "cause": 2, "content": "", "extras": { "metadata": { "exit_code": 1 } } },
        { "id": 4, "source": "agent", "action": "message", "args": { "content": "done" }, "llm_metrics": used },
    ]));
    Golden {
        format: "openhands",
        file,
        sessions: 1,
        steps: 3,
        calls: 1,
        failed: (Some(1), None),
        // 400 - 30 - 5
        tokens: tokens(365, 40, 30, 5),
        cost: Some(0.5),
        sub_agents: 0,
    }
}

fn atif() -> Golden {
    let metrics = |prompt: u64, output: u64, cached: u64| json!({ "prompt_tokens": prompt, "completion_tokens": output, "cached_tokens": cached, "cost_usd": 0.25 });
    let agent = json!({ "name": "x", "version": "1" });
    let inner = json!({ "schema_version": "ATIF-v1.7", "trajectory_id": "sub", "agent": agent, "steps": [
        { "step_id": 1, "source": "agent", "message": "seen", "metrics": metrics(7, 3, 0) }] });
    let file =
        document(&json!({ "schema_version": "ATIF-v1.7", "session_id": "s", "agent": agent, "steps": [
        { "step_id": 1, "source": "user", "message": "do" },
        { "step_id": 2, "source": "agent", "message": "", "metrics": metrics(100, 10, 40),
            "tool_calls": [{ "tool_call_id": "c", "function_name": "bash", "arguments": {} }],
            "observation": { "results": [{ "source_call_id": "c", "content": "x" }] } },
        { "step_id": 3, "source": "agent", "message": "done", "metrics": metrics(50, 5, 0) },
    ], "subagent_trajectories": [inner] }));
    Golden {
        format: "atif",
        file,
        sessions: 1,
        steps: 3,
        calls: 1,
        // The format has no field for it, and this file no other.
        failed: (None, None),
        // (100 - 40) + 50 + 7, 10 + 5 + 3, 40 + 0 + 0
        tokens: tokens(117, 18, 40, 0),
        cost: Some(0.75), // 0.25 + 0.25 + 0.25
        sub_agents: 1,
    }
}

fn messages() -> Golden {
    let asked =
        |id: &str| json!({ "id": id, "type": "function", "function": "bash", "arguments": { "cmd": "ls" } });
    let first = json!({ "prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": { "cached_tokens": 40 } });
    let second = json!({ "prompt_tokens": 200, "completion_tokens": 20 });
    let file = document(&json!({ "messages": [
        { "role": "system", "content": "You are." },
        { "role": "user", "content": "do" },
        { "role": "assistant", "content": "", "tool_calls": [asked("c1"), asked("c2")], "usage": first },
        { "role": "tool", "tool_call_id": "c1", "function": "bash", "content": "", "error": { "type": "timeout", "message": "too slow" } },
        { "role": "tool", "tool_call_id": "c2", "function": "bash", "content": "a.py" },
        { "role": "assistant", "content": "done", "usage": second },
    ] }));
    Golden {
        format: "messages",
        file,
        sessions: 1,
        steps: 4, // system, user, two replies
        calls: 2,
        // c1 failed; of c2 it is not known.
        failed: (None, Some(1)),
        // (100 - 40) + 200, 10 + 20, 40 + 0
        tokens: tokens(260, 30, 40, 0),
        cost: None,
        sub_agents: 0,
    }
}

fn rows() -> Vec<Golden> {
    vec![
        claude_code(),
        claude_code_stream(),
        codex(),
        codex_exec(),
        gemini_cli(),
        gemini_cli_document(),
        gemini_cli_stream(),
        qwen_code(),
        opencode_stream(),
        opencode(),
        opencode_database(),
        pi(),
        mini_swe_agent(),
        swe_agent(),
        openhands(),
        atif(),
        messages(),
    ]
}

/// The files, each with its format.
pub(crate) fn files() -> Vec<(&'static str, Vec<u8>)> {
    rows().into_iter().map(|row| (row.format, row.file)).collect()
}

#[test]
fn golden_totals() {
    let rows = rows();
    let have: BTreeSet<&str> = rows.iter().map(|row| row.format).collect();
    let all: BTreeSet<&str> = READERS.into_iter().map(Reader::name).collect();
    assert_eq!(have, all, "each format has a row");
    for row in rows {
        let format = row.format;
        let found = stats(row.file.as_slice(), "golden", None, &[]).unwrap();
        assert!(found.iter().all(|one| one.format == format), "{format}: {:?}", found[0].format);
        let problems: Vec<_> = found.iter().flat_map(|one| &one.diagnostics).collect();
        assert!(problems.is_empty(), "{format}: {problems:?}");
        let sum = |field: fn(&assay_trace::Stats) -> usize| found.iter().map(field).sum::<usize>();
        let counts = (found.len(), sum(|one| one.steps), sum(|one| one.calls), sum(|one| one.sub_agents));
        assert_eq!(counts, (row.sessions, row.steps, row.calls, row.sub_agents), "{format}");
        let failed: Option<usize> = found.iter().map(|one| one.failed_calls).sum();
        let least = found.iter().find_map(|one| one.failed_calls_at_least);
        assert_eq!((failed, least), row.failed, "{format}");
        let mut tally = assay_trace::Tally::default();
        for one in &found {
            tally.add(&one.tally);
        }
        assert_eq!(tally.known(), row.tokens, "{format}");
        assert_eq!(tally.lower_bounds(), [""; 0], "{format}");
        let costs: Vec<f64> = found.iter().filter_map(|one| one.cost(None).usd).collect();
        let cost = (!costs.is_empty()).then(|| costs.iter().sum::<f64>());
        assert_eq!(cost, row.cost, "{format}");
        // Kept in memory, it is the same.
        let kept = read::read_all_from(row.file.as_slice(), "golden", None).unwrap();
        let steps: usize = kept.iter().map(|one| one.trajectory.steps.len()).sum();
        let inner: usize = kept.iter().map(|one| one.trajectory.subagent_trajectories.len()).sum();
        assert_eq!((kept.len(), steps, inner), (row.sessions, row.steps, row.sub_agents), "{format}");
        let mut again = assay_trace::Tally::default();
        for one in &kept {
            again.add(&one.tally);
        }
        assert_eq!(again, tally, "{format}");
    }
}
