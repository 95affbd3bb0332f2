//! Which skills reached the model, read from requests.

use assay_gateway::WatchedSkill;
use serde_json::{Value, json};

use crate::client::post;
use crate::{open_proxy, script};

fn line(n: usize) -> String {
    format!("Amounts of kind {n} are in minor units, and never in floating point.")
}

fn body() -> String {
    (0..8).map(|n| line(n) + "\n").collect()
}

#[test]
fn bodies_and_names_are_found_in_every_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let read: String = (0..5).map(|n| line(n) + "\n").collect();
    let listing = "<available_skills>\n- ledger-export: exports ledgers\n</available_skills>";
    let check = |path: &str,
                 requests: [Value; 2],
                 advertised: Option<usize>,
                 opened: Option<usize>,
                 lines: usize| {
        let proxy = open_proxy(script(folder.path(), "{\"say\": \"ok\"}"), |session, _| {
            let skill = |name: &str, body: String| WatchedSkill {
                name: name.to_owned(),
                description: format!("What {name} is for."),
                body,
            };
            session.skills =
                vec![skill("ledger-export", body()), skill("other", body().replace("minor", "major"))];
        });
        for request in &requests {
            assert_eq!(post(&proxy, path, request).status, 200, "{path}");
        }
        let ledger = proxy.close();
        let found = &ledger.exposure[0];
        let expected = (advertised, opened, lines);
        assert_eq!(
            (found.advertised, found.opened, found.body_lines_delivered),
            expected,
            "{path} {requests:?}"
        );
        let other = &ledger.exposure[1];
        assert_eq!((other.advertised, other.opened, other.body_lines_delivered), (None, None, 0), "{path}");
    };
    let system = json!({"role": "system", "content": listing});
    let user = json!({"role": "user", "content": "go"});
    // Claude Code: listed in a system message; the body next to a result.
    let block = json!([
        {"type": "tool_result", "tool_use_id": "1", "content": "Launching skill: x"},
        {"type": "text", "text": format!("Base directory for this skill: /s\n\n{read}")},
    ]);
    let first = json!({"model": "m", "messages": [system, user]});
    let second = json!({"model": "m", "messages": [system, user, {"role": "user", "content": block}]});
    check("/v1/messages", [first.clone(), second], Some(0), Some(1), 5);
    // Codex: a developer message, and the output of a command, as a text or as JSON in one.
    let developer = json!({"role": "developer", "content": [{"type": "input_text", "text": listing}]});
    for output in [json!(read), json!(json!({"output": read, "metadata": {"exit_code": 0}}).to_string())] {
        let given = json!({"type": "function_call_output", "call_id": "1", "output": output});
        let requests =
            [json!({"model": "m", "input": [developer]}), json!({"model": "m", "input": [developer, given]})];
        check("/v1/responses", requests, Some(0), Some(1), 5);
    }
    // Gemini CLI: a name in a schema; the body in a response.
    let tools = json!([{"functionDeclarations": [{
        "name": "activate_skill",
        "parametersJsonSchema": {"properties": {"name": {"enum": ["ledger-export"]}}},
    }]}]);
    let ask = json!({"role": "user", "parts": [{"text": "go"}]});
    let response = json!({"functionResponse": {"name": "activate_skill", "response": {"output": read}}});
    let first = json!({"tools": tools, "contents": [ask]});
    let second = json!({"tools": tools, "contents": [ask, {"role": "user", "parts": [response]}]});
    check("/v1beta/models/m:generateContent", [first, second], Some(0), Some(1), 5);
    // Chat completions: what the model says itself proves nothing, and one line less than half of a
    // body is not enough.
    let said = json!({"role": "assistant", "content": format!("ledger-export\n{read}")});
    let some: String = (0..3).map(|n| line(n) + "\n").collect();
    let result = json!({"role": "tool", "tool_call_id": "1", "content": format!("ledger-export\n{some}")});
    let first = json!({"model": "m", "messages": [user, said]});
    let second = json!({"model": "m", "messages": [user, said, result]});
    check("/v1/chat/completions", [first, second], None, None, 3);
}

/// The instruction and other tools mention spreadsheets, but the skill of that name is not listed.
#[test]
fn file_type_in_the_instruction_advertises_no_skill() {
    let folder = tempfile::tempdir().unwrap();
    let check = |listing: Option<&str>, advertised: Option<usize>| {
        let proxy = open_proxy(script(folder.path(), "{\"say\": \"ok\"}"), |session, _| {
            session.skills = vec![WatchedSkill {
                name: "xlsx".to_owned(),
                description: "Work with spreadsheets: read, write and recalculate.".to_owned(),
                body: body(),
            }];
        });
        let system = format!("You are an agent.\n{}", listing.unwrap_or_default());
        let reader = json!({"type": "function", "function": {
            "name": "read", "description": "Reads pdf, xlsx and docx files.", "parameters": {"type": "object"},
        }});
        let request = json!({"model": "m", "tools": [reader], "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": "Write the plan to /app/plan.xlsx.\nFormats:\n- csv\n- xlsx"},
        ]});
        assert_eq!(post(&proxy, "/v1/chat/completions", &request).status, 200);
        assert_eq!(proxy.close().exposure[0].advertised, advertised, "{listing:?}");
    };
    check(None, None);
    check(Some("Skills:\n- xlsx: Work with spreadsheets: read, write…"), Some(0));
}
