//! Formats without a transcript in the shared data, in files modelled on real ones. The expected
//! values were counted by hand.

use assay_trace::read::{self, Transcript};
use assay_trace::{KnownUsage, Source, Usage};
use serde_json::{Value, json};

use assay_test::shared;

fn read_as(text: &str, format: &str) -> Transcript {
    let transcript = read::read_from(text.as_bytes(), "it", None).unwrap();
    assert_eq!(transcript.format, format);
    assert_eq!(transcript.diagnostics, [], "{format}");
    let written = serde_json::to_vec(&transcript.trajectory).unwrap();
    let again = read::read_from(written.as_slice(), "it", None).unwrap();
    assert_eq!(again.trajectory, transcript.trajectory, "{format}");
    transcript
}

/// Names of tools, with their results and whether they failed.
fn calls(transcript: &Transcript) -> Vec<(String, String, Option<bool>)> {
    let steps = transcript.trajectory.steps.iter();
    steps
        .flat_map(|step| step.tool_calls.iter().map(move |call| (step, call)))
        .map(|(step, call)| {
            let result = step.result_of(&call.tool_call_id).unwrap();
            (call.function_name.clone(), result.content.clone().unwrap_or_default(), result.failed())
        })
        .collect()
}

fn call(name: &str, gave: &str, failed: Option<bool>) -> (String, String, Option<bool>) {
    (name.to_owned(), gave.to_owned(), failed)
}

fn sources(transcript: &Transcript) -> Vec<Source> {
    transcript.trajectory.steps.iter().map(|step| step.source).collect()
}

use Source::{Agent, System, User};

#[test]
fn swe_agent_steps_have_the_calls_of_their_messages() {
    let asked = |id: &str, name: &str, arguments: &Value| json!([{ "id": id, "type": "function", "function": { "name": name, "arguments": arguments.to_string() } }]);
    let said = |role: &str, text: &str| json!({ "role": role, "content": text, "agent": "main", "message_type": "x" });
    let mut shown = said("assistant", "a demonstration");
    shown["is_demo"] = true.into();
    let mut first = said("assistant", "Look.");
    first["action"] = "ls -a\n".into();
    first["tool_calls"] = asked("c1", "bash", &json!({ "command": "ls -a" }));
    let mut second = said("assistant", "Open.");
    second["action"] = "open a.py".into();
    second["tool_calls"] = asked("c2", "open", &json!({ "path": "a.py" }));
    let history = json!([
        said("system", "You are."),
        shown,
        said("user", "Fix it."),
        first,
        said("tool", "a.py"),
        said("assistant", "refused"),
        second,
        said("tool", "x = 1")
    ]);
    let document = json!({
        "environment": "swe_main",
        "trajectory": [
            { "action": "ls -a", "observation": "a.py", "response": "Look.", "thought": "Look.", "state": {} },
            { "action": "open a.py", "observation": "x = 1", "response": "Open.", "thought": "Open.", "state": {} },
            { "action": "", "observation": "", "response": "Done.", "thought": "Done.", "state": {} },
        ],
        "history": history,
        "info": { "exit_status": "submitted", "swe_agent_version": "1.1.0", "model_stats": { "instance_cost": 0.25,
            "tokens_sent": 1200, "tokens_received": 34, "api_calls": 3 } },
        "replay_config": json!({ "agent": { "model": { "name": "gpt-4" } } }).to_string(),
    });
    let found = read_as(&document.to_string(), "swe-agent");
    assert_eq!(calls(&found), [call("bash", "a.py", None), call("open", "x = 1", None)]);
    assert_eq!(sources(&found), [System, User, Agent, Agent, Agent]);
    let agent = &found.trajectory.agent;
    assert_eq!((agent.model_name.as_deref(), agent.version.as_str()), (Some("gpt-4"), "1.1.0"));
    // Caches are not mentioned, so they are unknown.
    let known = KnownUsage { input: Some(1200), output: Some(34), ..KnownUsage::default() };
    assert_eq!(found.tally.known(), known);
    assert_eq!(found.trajectory.final_metrics.unwrap().total_cost_usd, Some(0.25));
    // A demonstration has messages only, and a model that writes its commands as text has no calls
    // in them.
    let mut bare = json!({ "history": document["history"] });
    bare["history"][3].as_object_mut().unwrap().remove("tool_calls");
    let found = read_as(&bare.to_string(), "swe-agent");
    assert_eq!(calls(&found), [call("bash", "a.py", None), call("open", "x = 1", None)]);
    assert_eq!(found.tally.known(), KnownUsage::default());
}

#[test]
fn swe_agent_calls_without_a_function_keep_name_and_arguments() {
    let said = |role: &str, text: &str| json!({ "role": role, "content": text, "agent": "main" });
    let mut reply = said("assistant", "Open.");
    reply["action"] = "open a.py".into();
    reply["tool_calls"] = json!([
        { "id": "c1", "name": "open", "arguments": "{\"path\": \"a.py\"}" },
        { "id": "c2", "name": "goto", "arguments": { "line": 7 } },
        { "id": "c3", "function": { "name": "submit" }, "name": "other", "arguments": "{\"x\": 1}" },
    ]);
    let history = json!([said("user", "Fix it."), reply, said("tool", "x = 1")]);
    let steps = json!([{ "action": "open a.py", "observation": "x = 1", "response": "Open." }]);
    for document in [json!({ "history": history }), json!({ "history": history, "trajectory": steps })] {
        let found = read_as(&document.to_string(), "swe-agent");
        assert_eq!(calls(&found), ["open", "goto", "submit"].map(|name| call(name, "x = 1", None)));
        let calls = found.trajectory.steps.iter().flat_map(|step| &step.tool_calls);
        let arguments: Vec<_> = calls.map(|call| call.arguments.clone()).collect();
        assert_eq!(arguments, [json!({ "path": "a.py" }), json!({ "line": 7 }), json!({})]);
    }
}

#[test]
fn openhands_actions_become_calls_and_replies_count_once() {
    let response = |id: &str, text: &str, input: u64, output: u64| {
        json!({ "id": id, "model": "openai/m", "choices": [{ "message": { "role": "assistant", "content": text, "tool_calls": [
            { "id": "t", "type": "function", "function": { "name": "execute_bash", "arguments": "{\"command\": \"ls\"}" } }] } }],
            "usage": { "prompt_tokens": input, "completion_tokens": output } })
    };
    let from = |name: &str, id: &str, response: &Value| json!({ "function_name": name, "tool_call_id": id, "model_response": response, "total_calls_in_response": 1 });
    let (one, two) = (response("r1", "Look.", 100, 10), response("r2", "Think.", 200, 20));
    let used = |prompt: u64, output: u64| {
        json!({ "accumulated_cost": 0.5, "accumulated_token_usage": { "prompt_tokens": prompt, "completion_tokens": output,
            "cache_read_tokens": 30, "cache_write_tokens": 5 } })
    };
    let mut events = json!([
        { "id": 0, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {} },
        { "id": 1, "source": "agent", "action": "system", "args": { "content": "You are." } },
        { "id": 2, "source": "user", "action": "message", "args": { "content": "Fix it." } },
        { "id": 3, "source": "user", "action": "recall", "args": { "query": "Fix it." } },
        { "id": 4, "source": "environment", "observation": "recall", "cause": 3, "content": "",
            "extras": { "microagent_knowledge": [{ "name": "git", "trigger": "git", "content": "How to use git." }] } },
        { "id": 5, "source": "agent", "action": "run", "args": { "command": "ls" }, "timestamp": "2026-01-01T00:00:00.5",
            "tool_call_metadata": from("execute_bash", "t", &one), "llm_metrics": used(100, 10) },
        { "id": 6, "source": "agent", "observation": "run", "cause": 5, "content": "a.py",
            "extras": { "metadata": { "exit_code": 0 } }, "tool_call_metadata": from("execute_bash", "t", &one) },
        { "id": 7, "source": "agent", "action": "think", "args": { "thought": "Hm." }, "tool_call_metadata": from("think", "u", &two) },
        { "id": 8, "source": "agent", "action": "run", "args": { "command": "false" }, "tool_call_metadata": from("execute_bash", "t", &two),
            "llm_metrics": used(400, 40) },
        { "id": 9, "source": "agent", "observation": "think", "cause": 7, "content": "noted" },
        { "id": 10, "source": "agent", "observation": "run", "cause": 8, "content": "", "extras": { "metadata": { "exit_code": 1 } } },
        { "id": 11, "source": "agent", "action": "message", "args": { "content": "Done." } },
    ]);
    let found = read_as(&events.to_string(), "openhands");
    assert_eq!(
        calls(&found),
        [
            call("execute_bash", "a.py", Some(false)),
            call("think", "noted", None),
            call("execute_bash", "", Some(true))
        ]
    );
    assert_eq!(sources(&found), [System, User, System, Agent, Agent, Agent]);
    assert_eq!(found.trajectory.agent.model_name.as_deref(), Some("openai/m"));
    // The sums include a reply that is in no event.
    assert_eq!(
        found.tally.usage,
        Usage { input: 365, output: 40, cache_read: 30, cache_write: 5, ..Usage::default() }
    );
    assert_eq!(found.trajectory.final_metrics.as_ref().unwrap().total_cost_usd, Some(0.5));
    // A second process counts from nothing.
    let mut resumed = events.clone();
    resumed
        .as_array_mut()
        .unwrap()
        .push(json!({ "id": 12, "source": "agent", "action": "message", "args": { "content": "More." },
        "llm_metrics": used(50, 5) }));
    let found = read_as(&resumed.to_string(), "openhands");
    assert_eq!(
        found.tally.usage,
        Usage { input: 380, output: 45, cache_read: 60, cache_write: 10, ..Usage::default() }
    );
    assert_eq!(found.trajectory.final_metrics.as_ref().unwrap().total_cost_usd, Some(1.0));
    // Without them, the two replies add up; one of them made two calls.
    for event in events.as_array_mut().unwrap() {
        event.as_object_mut().unwrap().remove("llm_metrics");
    }
    let wrapped = json!({ "instance_id": "x", "history": events });
    let found = read_as(&wrapped.to_string(), "openhands");
    assert_eq!(found.tally.usage, Usage { input: 300, output: 30, ..Usage::default() });
}

#[test]
fn pi_branches_keep_model_and_cost_of_each_reply() {
    let time = "2026-01-01T00:00:00Z";
    let entry = |id: &str, message: Value| {
        json!({ "type": "message", "id": id, "parentId": null, "timestamp": time, "message": message })
            .to_string()
            + "\n"
    };
    let reply = |model: &str, output: u64, content: Value| {
        json!({ "role": "assistant", "provider": "p", "model": model, "content": content, "stopReason": "toolUse",
            "usage": { "input": 1, "output": output, "cacheRead": 100, "cacheWrite": 10, "totalTokens": 0, "cost": { "total": 0.25 } } })
    };
    let header = json!({ "type": "session", "version": 3, "id": "s", "timestamp": time, "cwd": "/w" })
        .to_string()
        + "\n";
    let given = |id: &str, text: &str, failed: bool| json!({ "role": "toolResult", "toolCallId": id, "toolName": "bash", "content": [{ "type": "text", "text": text }], "isError": failed });
    let asked =
        |id: &str| json!({ "type": "toolCall", "id": id, "name": "bash", "arguments": { "command": "ls" } });
    let log = [
        header.clone(),
        json!({ "type": "model_change", "id": "0", "timestamp": time, "provider": "p", "modelId": "big" })
            .to_string()
            + "\n",
        entry("1", json!({ "role": "user", "content": "Fix it." })),
        entry(
            "2",
            reply("big", 20, json!([{ "type": "thinking", "thinking": "Hm." }, asked("a"), asked("b")])),
        ),
        entry("3", given("a", "a.py", false)),
        entry("4", given("b", "no", true)),
        json!({ "type": "branch_summary", "id": "5", "timestamp": time, "summary": "Tried." }).to_string()
            + "\n",
        entry("6", reply("small", 30, json!([{ "type": "text", "text": "Done." }]))),
    ]
    .concat();
    let found = read_as(&log, "pi");
    assert_eq!(calls(&found), [call("bash", "a.py", Some(false)), call("bash", "no", Some(true))]);
    assert_eq!(sources(&found), [User, Agent, System, Agent]);
    assert_eq!(
        found.tally.usage,
        Usage { input: 2, output: 50, cache_read: 200, cache_write: 20, ..Usage::default() }
    );
    assert_eq!(found.trajectory.session_id.as_deref(), Some("s"));
    assert_eq!(found.trajectory.agent.model_name.as_deref(), Some("big"));
    assert_eq!(found.trajectory.steps[3].model_name.as_deref(), Some("small"));
    assert_eq!(found.trajectory.final_metrics.as_ref().unwrap().total_cost_usd, Some(0.5));
    // Version 1 has no names, and two logs in a file are two sessions.
    let old = log.replace(r#""id":"2","parentId":null,"#, "").replace(r#""id":"6","parentId":null,"#, "");
    let both = old.clone() + &old.replace(r#""id":"s""#, r#""id":"z""#);
    let all = read::read_all_from(both.as_bytes(), "it", None).unwrap();
    assert_eq!(all.iter().map(|one| one.tally.usage.output).collect::<Vec<_>>(), [50, 50]);
}

#[test]
fn messages_of_inspect_keep_names_and_arguments_of_calls() {
    let call = |id: &str, function: Value, more: Value| {
        let mut call = json!({ "id": id, "type": "function", "function": function });
        call.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        call
    };
    let document = json!({ "messages": [
        { "role": "user", "content": "Find it." },
        { "role": "assistant", "content": "", "tool_calls": [
            call("c1", "web_search".into(), json!({ "arguments": { "query": "kilns" } })),
            call("c2", "bash".into(), json!({ "arguments": "{\"cmd\": \"ls\"}" })),
        ] },
        { "role": "tool", "tool_call_id": "c1", "function": "web_search", "content": "two" },
        { "role": "tool", "tool_call_id": "c2", "function": "bash", "content": "a.py" },
    ] });
    let found = read_as(&document.to_string(), "messages");
    let named = |name: &str, gave: &str| (name.to_owned(), gave.to_owned(), None);
    assert_eq!(calls(&found), [named("web_search", "two"), named("bash", "a.py")]);
    let arguments: Vec<_> =
        found.trajectory.steps[1].tool_calls.iter().map(|call| call.arguments.clone()).collect();
    assert_eq!(arguments, [json!({ "query": "kilns" }), json!({ "cmd": "ls" })]);
}

#[test]
fn parts_and_failures_of_inspect_are_read() {
    let body = "The word that ends each report is given on this page, in small letters.\n\
                Nothing is written after it, and the report has no other last word.";
    let mut asked = json!([
        { "id": "c1", "type": "function", "function": "skill", "arguments": { "command": "agreed-word" } },
        { "id": "c2", "type": "function", "function": "bash", "arguments": {} },
        { "id": "c3", "type": "function", "function": "bash", "arguments": { "cmd": "ls" } },
    ]);
    asked[1]["parse_error"] = "not JSON: cmd=ls".into();
    let document = json!([
        { "id": "1", "role": "system", "source": "input", "content": "You are." },
        { "id": "2", "role": "user", "source": "input", "content": [{ "type": "text", "text": "Report." }] },
        { "id": "3", "role": "assistant", "source": "generate", "model": "p/m", "content": [
            { "type": "reasoning", "reasoning": "Read it first.", "redacted": false },
            { "type": "text", "text": "I read it." },
            { "type": "tool_use", "tool_type": "web_search", "id": "w1", "name": "web_search",
                "arguments": "{\"query\": \"kilns\"}", "result": "two", "error": null },
        ], "tool_calls": asked },
        { "id": "4", "role": "tool", "function": "skill", "tool_call_id": "c1", "content": body },
        { "id": "5", "role": "tool", "function": "bash", "tool_call_id": "c2", "content": "",
            "error": { "type": "parsing", "message": "Error parsing the arguments" } },
        { "id": "6", "role": "tool", "function": "bash", "tool_call_id": "c3", "error": null,
            "content": [{ "type": "text", "text": "a.py" }] },
    ]);
    let found = read_as(&document.to_string(), "messages");
    assert_eq!(
        calls(&found),
        [
            call("skill", body, None),
            call("bash", "Error parsing the arguments", Some(true)),
            call("bash", "a.py", None),
            call("web_search", "two", None),
        ]
    );
    let step = &found.trajectory.steps[2];
    assert_eq!(
        (step.message.as_str(), step.reasoning_content.as_deref()),
        ("I read it.", Some("Read it first."))
    );
    assert_eq!(step.tool_calls[1].extra["parse_error"], "not JSON: cmd=ls");
    assert_eq!(step.tool_calls[3].arguments, json!({ "query": "kilns" }));
    // The skill was opened, which the name and the arguments of the call show.
    let skill =
        assay_trace::OfferedSkill { name: "agreed-word", description: "", body, mount: "", files: &[] };
    let seen = assay_trace::exposure(&found.trajectory, &[skill]).remove(0);
    assert_eq!((seen.mentioned, seen.opened), (Some(3), Some(3)));
}

#[test]
fn calls_of_libraries_keep_arguments_and_failures() {
    // LangChain's.
    let document = json!([
        { "role": "user", "content": "do" },
        { "role": "assistant", "content": "", "tool_calls": [
            { "id": "a", "type": "tool_call", "name": "shell", "args": { "cmd": "ls" } },
            { "id": "b", "type": "tool_call", "name": "shell", "args": { "cmd": "false" } }] },
        { "role": "tool", "tool_call_id": "a", "status": "success", "content": "x" },
        { "role": "tool", "tool_call_id": "b", "status": "error", "content": "no" },
    ]);
    let found = read_as(&document.to_string(), "messages");
    assert_eq!(calls(&found), [call("shell", "x", Some(false)), call("shell", "no", Some(true))]);
    assert_eq!(found.trajectory.steps[1].tool_calls[0].arguments, json!({ "cmd": "ls" }));
    assert!(!found.hidden.failures);
    // The AI SDK's.
    let document = json!([
        { "role": "user", "content": [{ "type": "text", "text": "do" }] },
        { "role": "assistant", "content": [
            { "type": "reasoning", "text": "Hm." },
            { "type": "tool-call", "toolCallId": "a", "toolName": "shell", "input": { "cmd": "ls" } },
            { "type": "tool-call", "toolCallId": "b", "toolName": "shell", "args": { "cmd": "false" } }] },
        { "role": "tool", "content": [
            { "type": "tool-result", "toolCallId": "a", "output": { "type": "text", "value": "x" } },
            { "type": "tool-result", "toolCallId": "b", "output": { "type": "error-text", "value": "no" } }] },
    ]);
    let found = read_as(&document.to_string(), "messages");
    assert_eq!(calls(&found), [call("shell", "x", None), call("shell", "no", Some(true))]);
    assert_eq!(found.trajectory.steps[1].reasoning_content.as_deref(), Some("Hm."));
    assert!(found.hidden.failures);
}

#[test]
fn lists_of_messages_are_read_in_either_shape() {
    let openai = json!([
        { "role": "system", "content": "You are." },
        { "role": "user", "content": "Fix it." },
        { "role": "assistant", "content": null, "tool_calls": [{ "id": "a", "type": "function",
            "function": { "name": "shell", "arguments": "{\"command\": \"ls\"}" } }],
            "usage": { "prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": { "cached_tokens": 40 } } },
        { "role": "tool", "tool_call_id": "a", "content": "a.py" },
        { "role": "assistant", "content": "```bash\nls\n```", "usage": { "prompt_tokens": 200, "completion_tokens": 20 } },
        { "role": "user", "content": "thanks" },
    ]);
    let found = read_as(&openai.to_string(), "messages");
    // A block of code without an answer is not a call.
    assert_eq!(calls(&found), [call("shell", "a.py", None)]);
    assert_eq!(
        found.tally.usage,
        Usage { input: 260, output: 30, cache_read: 40, cache_write: 0, ..Usage::default() }
    );
    assert_eq!(found.tally.lower_bounds(), [""; 0]);
    let wrapped = json!({ "messages": openai }).to_string();
    assert_eq!(read_as(&wrapped, "messages").tally.usage, found.tally.usage);

    let anthropic = json!([
        { "role": "user", "content": "Fix it." },
        { "role": "assistant", "model": "m", "content": [{ "type": "text", "text": "Look." },
            { "type": "tool_use", "id": "a", "name": "shell", "input": { "command": "ls" } }],
            "usage": { "input_tokens": 5, "output_tokens": 6, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 8 } },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": true }] },
        { "role": "assistant", "content": "Done." },
    ]);
    let found = read_as(&anthropic.to_string(), "messages");
    assert_eq!(calls(&found), [call("shell", "no", Some(true))]);
    assert_eq!(found.trajectory.steps[1].message, "Look.");
    assert_eq!(
        found.tally.usage,
        Usage { input: 5, output: 6, cache_read: 7, cache_write: 8, ..Usage::default() }
    );
    // The second reply has no usage, so the sums are lower bounds.
    assert_eq!(found.tally.lower_bounds(), assay_trace::FIELDS);

    let mini = json!([
        { "role": "user", "content": "Fix it." },
        { "role": "assistant", "content": "Look.\n\n```bash\nls\n```" },
        { "role": "user", "content": "<returncode>2</returncode>\n<output>\nno\n</output>" },
        { "role": "assistant", "content": "```bash\ntrue\n```" },
        { "role": "user", "content": "" },
    ]);
    let found = read_as(&mini.to_string(), "messages");
    let status = "<returncode>2</returncode>\n<output>\nno\n</output>";
    assert_eq!(calls(&found), [call("bash", status, Some(true)), call("bash", "", None)]);
    assert_eq!(found.tally.known(), KnownUsage::default());
}

#[test]
#[ignore = "needs shared data"]
fn the_messages_of_real_runs_alone_give_the_same_calls_and_tokens() {
    let root = shared("agents");
    let text = std::fs::read_to_string(root.join("mini-swe-agent/without-skill/traj.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let messages = document["messages"].as_array().unwrap();
    let count = |pointer: &str| messages.iter().filter_map(|one| one.pointer(pointer)?.as_u64()).sum::<u64>();
    let asked: usize = messages.iter().filter_map(|one| Some(one.get("tool_calls")?.as_array()?.len())).sum();
    let found = read_as(&document["messages"].to_string(), "messages");
    assert_eq!(found.tally.usage.prompt(), count("/extra/response/usage/prompt_tokens"));
    assert_eq!(found.tally.usage.output, count("/extra/response/usage/completion_tokens"));
    assert_eq!(calls(&found).len(), asked);
}

#[test]
fn unmatched_actions_take_linear_time() {
    // With a search of all replies for each step this took 10^9 comparisons of texts.
    let count = 30_000;
    let steps: Vec<Value> = (0..count)
        .map(|number| json!({ "action": format!("a{number}"), "observation": "o", "response": "r" }))
        .collect();
    let history: Vec<Value> = (0..count)
        .map(|number| {
            let action = if number == count - 1 { "a7".to_owned() } else { format!("b{number}") };
            json!({ "role": "assistant", "agent": "p", "content": "x", "action": action, "tool_calls": [
                { "id": format!("c{number}"), "function": { "name": "edit", "arguments": "{}" } }] })
        })
        .collect();
    let text = json!({ "trajectory": steps, "history": history, "info": {} }).to_string();
    let found = read::read_from(text.as_bytes(), "it", None).unwrap();
    let tools: Vec<_> =
        found.trajectory.steps[6..9].iter().map(|step| step.tool_calls[0].function_name.as_str()).collect();
    assert_eq!((found.trajectory.steps.len(), tools), (count, vec!["bash", "edit", "bash"]));
}
