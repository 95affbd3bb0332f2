//! JSON over HTTP, for programs on this machine.

use std::sync::Arc;

use serde_json::{Value, json};

use super::service::{MOST, SearchService};
use crate::server::{JsonRequest, ServeError, Serving, Stop, serve_json};

/// Longest body.
const BODY_CAP: usize = 1 << 20;

/// Answers until it is stopped.
///
/// # Errors
/// The server cannot listen.
pub fn serve_search_http(
    serving: Serving,
    service: Arc<SearchService>,
    stop: &Stop,
) -> Result<(), ServeError> {
    serve_json(serving, BODY_CAP, Arc::new(move |request: &JsonRequest<'_>| reply(&service, request)), stop)
}

fn reply(service: &SearchService, request: &JsonRequest<'_>) -> (u16, Value) {
    let bad = |message: &str| (400, json!({ "error": message }));
    match (request.method, request.path) {
        ("GET", "/health") => (200, json!({ "schema": "assay.search-health/1", "skills": service.skills() })),
        ("POST", "/search") => {
            let Ok(asked) = serde_json::from_slice::<Value>(request.body) else {
                return bad("the body must be JSON: {\"request\": \"…\", \"limit\": 5}");
            };
            let text = asked.get("request").and_then(Value::as_str).map(str::trim);
            let Some(text) = text.filter(|text| !text.is_empty()) else {
                return bad("`request` must be a non-empty string");
            };
            let limit = asked.get("limit").map_or(Some(5), Value::as_u64);
            let limit = limit.and_then(|limit| usize::try_from(limit).ok());
            let Some(limit) = limit.filter(|limit| (1..=MOST).contains(limit)) else {
                return bad("`limit` must be an integer from 1 to 1,000");
            };
            match service.answer(text, limit).map(|response| serde_json::to_value(&response)) {
                Ok(Ok(answer)) => (200, answer),
                Ok(Err(error)) => (500, json!({ "error": error.to_string() })),
                Err(error) => (500, json!({ "error": error.to_string() })),
            }
        }
        (_, "/health" | "/search") => (405, json!({ "error": "GET /health or POST /search" })),
        _ => (404, json!({ "error": "unknown path; use GET /health or POST /search" })),
    }
}
