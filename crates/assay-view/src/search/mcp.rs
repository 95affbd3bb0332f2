//! The Model Context Protocol on standard input and output: one tool, `search_skills`.
//!
//! JSON-RPC 2.0, one message a line. Source: modelcontextprotocol.io, specification 2025-11-25,
//! "Base protocol" and "Tools". Malformed messages get an error, and the next line is read. Wrong
//! arguments are results with `isError`, which a model can read and correct; wrong messages and
//! unknown tools are errors of the protocol.

use std::io::{self, BufRead, Read, Write};

use assay_report::counted;
use serde_json::{Map, Value, json};

use super::clip_line;
use super::service::{SearchHit, SearchResponse, SearchService};

/// Supported protocol versions, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Longest message.
const LINE_CAP: u64 = 4 << 20;

/// Skills per answer, by default and at most.
const LIMITS: (u64, u64) = (5, 50);

/// The arguments of the tool.
const ARGUMENTS: [&str; 2] = ["request", "limit"];

/// Most characters of a description: an answer goes into the context of a model.
const DESCRIPTION: usize = 500;

const PARSE: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const UNKNOWN_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// Answers until the input ends or the output is closed.
///
/// # Errors
/// The input cannot be read or the output not written.
pub fn serve_search_mcp(
    service: &SearchService,
    mut input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut input).take(LINE_CAP).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let reply = if line.len() as u64 == LINE_CAP && line.last() != Some(&b'\n') {
            input.skip_until(b'\n')?;
            Some(error(&Value::Null, INVALID_REQUEST, "the message is longer than 4 MiB"))
        } else if line.trim_ascii().is_empty() {
            None
        } else {
            replies(service, &line)
        };
        let Some(reply) = reply else { continue };
        match writeln!(output, "{reply}").and_then(|()| output.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
}

/// The reply to a line. Older versions of the protocol send several messages in one.
fn replies(service: &SearchService, line: &[u8]) -> Option<Value> {
    match serde_json::from_slice(line) {
        Err(cause) => Some(error(&Value::Null, PARSE, &format!("invalid JSON: {cause}"))),
        Ok(Value::Array(messages)) if !messages.is_empty() => {
            let replies: Vec<Value> = messages.iter().filter_map(|message| reply(service, message)).collect();
            (!replies.is_empty()).then_some(Value::Array(replies))
        }
        Ok(message) => reply(service, &message),
    }
}

fn reply(service: &SearchService, message: &Value) -> Option<Value> {
    let id = message.get("id");
    let known = id.filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default();
    let method = message.get("method").and_then(Value::as_str);
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Some(error(&known, INVALID_REQUEST, "not a JSON-RPC 2.0 message"));
    }
    let Some(method) = method else {
        // Unexpected responses are ignored.
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        return (!is_answer).then(|| error(&known, INVALID_REQUEST, "the message has no method"));
    };
    // A message without an id is a notification, which gets no response.
    let id = id?;
    if !id.is_string() && !id.is_number() {
        return Some(error(&Value::Null, INVALID_REQUEST, "an id must be a string or a number"));
    }
    let empty = Value::Null;
    let params = message.get("params").unwrap_or(&empty);
    Some(match method {
        "initialize" => result(id, &initialize(params)),
        "ping" => result(id, &json!({})),
        "tools/list" => result(id, &json!({ "tools": [tool(service)] })),
        "tools/call" => call(service, id, params),
        _ => error(
            id,
            UNKNOWN_METHOD,
            "unknown method; supported: initialize, ping, tools/list and tools/call",
        ),
    })
}

fn initialize(params: &Value) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.into_iter().find(|version| Some(*version) == asked).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": { "listChanged": false } },
        "serverInfo": { "name": "assay", "title": "assay search", "version": env!("CARGO_PKG_VERSION") },
    })
}

fn tool(service: &SearchService) -> Value {
    let (usual, most) = LIMITS;
    json!({
        "name": "search_skills",
        "title": "Search skills",
        "description": format!(
            "Find agent skills for a task, among {}. Each hit has the skill's name, its description and how likely it is the right one (0 to 1). \
             There are no hits when no skill fits.", service.skills()
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "request": { "type": "string", "description": "The task, in plain words" },
                "limit": { "type": "integer", "minimum": 1, "maximum": most, "default": usual, "description": "Skills to return at most" },
            },
            "required": ["request"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false },
    })
}

fn call(service: &SearchService, id: &Value, params: &Value) -> Value {
    if params.get("name").and_then(Value::as_str) != Some("search_skills") {
        return error(id, INVALID_PARAMS, "unknown tool; expected search_skills");
    }
    let empty = Map::new();
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => &empty,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return error(id, INVALID_PARAMS, "`arguments` must be an object"),
    };
    let text = |text: String| json!([{ "type": "text", "text": text }]);
    let found = read_arguments(arguments)
        .and_then(|(request, limit)| service.answer(request, limit).map_err(|cause| cause.to_string()));
    match found {
        Ok(response) => {
            let answer = format_answer(&response);
            // The specification requires the same JSON as text, for clients without structured
            // content.
            result(
                id,
                &json!({ "content": text(answer.to_string()), "structuredContent": answer, "isError": false }),
            )
        }
        Err(message) => result(id, &json!({ "content": text(message), "isError": true })),
    }
}

/// The request and the limit, or why the arguments are invalid.
fn read_arguments(arguments: &Map<String, Value>) -> Result<(&str, usize), String> {
    if let Some(unknown) = arguments.keys().find(|key| !ARGUMENTS.contains(&key.as_str())) {
        let start: String = unknown.chars().take(40).collect();
        return Err(format!("unknown argument `{start}`: search_skills accepts `request` and `limit`"));
    }
    let request = arguments.get("request").and_then(Value::as_str).map(str::trim);
    let request = request.filter(|request| !request.is_empty());
    let request = request.ok_or("`request` must be a non-empty string")?;
    let limit = match arguments.get("limit") {
        None | Some(Value::Null) => Some(LIMITS.0),
        Some(limit) => limit.as_u64().filter(|limit| (1..=LIMITS.1).contains(limit)),
    };
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    Ok((request, limit.ok_or("`limit` must be an integer from 1 to 50")?))
}

/// The answer for a model: the skills that fit, with their names, descriptions and confidences. A
/// skill's id is included only if another hit has the same name.
fn format_answer(response: &SearchResponse) -> Value {
    let fitting: Vec<&SearchHit> = response.hits.iter().filter(|hit| hit.fits).collect();
    let hit = |hit: &&SearchHit| {
        let mut fields = Map::new();
        fields.insert("name".to_owned(), json!(hit.name));
        if fitting.iter().any(|other| other.name == hit.name && other.id != hit.id) {
            fields.insert("id".to_owned(), json!(hit.id));
        }
        fields.insert("description".to_owned(), json!(clip_line(&hit.description, DESCRIPTION)));
        // Two digits: confidences are not more precise than that.
        let key = if response.threshold.is_some() { "confidence" } else { "score" };
        fields.insert(key.to_owned(), json!((f64::from(hit.confidence) * 100.0).round() / 100.0));
        Value::Object(fields)
    };
    let hits: Vec<Value> = fitting.iter().map(hit).collect();
    if hits.is_empty() {
        return json!({ "fits": false, "message": format!("None of {} fits this request.", counted(response.skills, "skill", "skills")), "hits": [] });
    }
    json!({ "fits": true, "hits": hits })
}

fn result(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
