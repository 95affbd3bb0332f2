//! Mock servers of the Model Context Protocol, over streamable HTTP without sessions or streams.

use assay_gateway::{LocalReply, LocalRequest};
use assay_task::McpMock;
use serde_json::{Map, Value, json};

use super::answer::{Answers, ToolResult, described};

/// The path of a server, before its name.
pub(super) const PATH: &str = "/mcp/";

/// The version of the protocol if a client names none.
const PROTOCOL: &str = "2025-06-18";

/// Errors of JSON-RPC 2.0.
const NO_JSON: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// Answers a request to one of the servers.
pub(super) fn reply(answers: &Answers, request: &LocalRequest) -> LocalReply {
    let name = request.path.strip_prefix(PATH).unwrap_or_default();
    let Some(mock) = answers.mocks().iter().find(|mock| mock.name == name) else {
        return LocalReply::text(404, "no such MCP server\n");
    };
    if request.method != "POST" {
        return LocalReply::text(405, "this server has neither sessions nor streams\n");
    }
    let message: Value = match serde_json::from_slice(&request.body) {
        Ok(message) => message,
        Err(_) => return LocalReply::json(400, &failure(&Value::Null, NO_JSON, "not JSON")),
    };
    let Some(message) = message.as_object() else {
        return LocalReply::json(
            400,
            &failure(&Value::Null, INVALID_REQUEST, "expected one JSON-RPC message"),
        );
    };
    let (Some(id), Some(method)) = (message.get("id"), message.get("method").and_then(Value::as_str)) else {
        // A notification, or a reply to a request that this server never sends.
        return LocalReply { status: 202, ..LocalReply::default() };
    };
    let empty = Map::new();
    let params = message.get("params").and_then(Value::as_object).unwrap_or(&empty);
    let document = match result(answers, mock, method, params) {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, message)) => failure(id, code, &message),
    };
    LocalReply::json(200, &document)
}

fn failure(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn result(
    answers: &Answers,
    mock: &McpMock,
    method: &str,
    params: &Map<String, Value>,
) -> Result<Value, (i64, String)> {
    match method {
        "initialize" => Ok(json!({
            "protocolVersion": params.get("protocolVersion").and_then(Value::as_str).unwrap_or(PROTOCOL),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": mock.name, "version": "1" },
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": mock.tools.iter().map(described).collect::<Vec<_>>() })),
        "tools/call" => {
            let name = params.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| (INVALID_PARAMS, "`name` is missing".to_owned()))?;
            let empty = Map::new();
            let arguments = params.get("arguments").and_then(Value::as_object).unwrap_or(&empty);
            match answers.call_tool(mock, name, arguments) {
                ToolResult::Text(text, is_error) => {
                    Ok(json!({ "content": [{ "type": "text", "text": text }], "isError": is_error }))
                }
                ToolResult::NoTool(message) => Err((INVALID_PARAMS, message)),
            }
        }
        _ => Err((NO_METHOD, format!("method not found: {method}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const DOUBLES: &str = r#"schema = "assay.doubles/1"
[[mcp]]
name = "tracker"
[[mcp.tools]]
name = "get_issue"
description = "Returns an issue."
input_schema = { type = "object", properties = { number = { type = "integer" } } }
[[mcp.tools.results]]
arguments = { number = "7" }
text = "Issue 7"
[[mcp.tools.results]]
arguments = { number = "[89]" }
text = "It is private."
error = true
"#;

    #[test]
    fn requests_are_answered_as_the_protocol_says() {
        let fixture = crate::testing::Fixture::new();
        fixture.write("tasks/a/doubles.toml", DOUBLES);
        let doubles = fixture.load_task("a").doubles.unwrap();
        let log = fixture.path("doubles.jsonl");
        let answers = Answers::new(Arc::clone(&doubles), &log).unwrap();
        let send = |method: &str, path: &str, body: &str| {
            let body = body.as_bytes().to_vec();
            reply(
                &answers,
                &LocalRequest { method: method.into(), path: path.into(), body, ..LocalRequest::default() },
            )
        };
        let check = |method: &str, params: &Value, expected: &Value| {
            let body = json!({ "jsonrpc": "2.0", "id": 3, "method": method, "params": params });
            let found = send("POST", "/mcp/tracker", &body.to_string());
            let found: Value = serde_json::from_slice(&found.body).unwrap();
            let part = if found["error"].is_null() { &found["result"] } else { &found["error"] };
            assert_eq!((part, &found["id"]), (expected, &json!(3)), "{method} {params}");
        };
        let text = |text: &str, is_error: bool| json!({ "content": [{ "type": "text", "text": text }], "isError": is_error });
        check(
            "initialize",
            &json!({ "protocolVersion": "2025-03-26" }),
            &json!({
                "protocolVersion": "2025-03-26",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "tracker", "version": "1" },
            }),
        );
        check("ping", &json!({}), &json!({}));
        let schema = json!({ "type": "object", "properties": { "number": { "type": "integer" } } });
        let tool = json!({ "name": "get_issue", "description": "Returns an issue.", "inputSchema": schema });
        check("tools/list", &json!({}), &json!({ "tools": [tool] }));
        let call = |number: Value| json!({ "name": "get_issue", "arguments": { "number": number } });
        check("tools/call", &call(json!(7)), &text("Issue 7", false));
        check("tools/call", &call(json!("7")), &text("Issue 7", false));
        check("tools/call", &call(json!(8)), &text("It is private.", true));
        let unknown = "get_issue: no canned result for these arguments: {\"number\":77}";
        check("tools/call", &call(json!(77)), &text(unknown, true));
        let unknown = json!({ "code": -32602, "message": "the MCP server `tracker` has no tool `drop`" });
        check("tools/call", &json!({ "name": "drop" }), &unknown);
        check(
            "resources/list",
            &json!({}),
            &json!({ "code": -32601, "message": "method not found: resources/list" }),
        );
        let status = |method: &str, path: &str, body: &str, expected: u16| {
            assert_eq!(send(method, path, body).status, expected, "{method} {path} {body}");
        };
        status("POST", "/mcp/tracker", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, 202);
        status("POST", "/mcp/tracker", "{", 400);
        status("POST", "/mcp/tracker", "[]", 400);
        status("GET", "/mcp/tracker", "", 405);
        status("POST", "/mcp/other", "{}", 404);
        let counts = answers.calls().unwrap();
        assert_eq!((counts.calls, counts.unknown), (5, 2));
        assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 5);
    }
}
