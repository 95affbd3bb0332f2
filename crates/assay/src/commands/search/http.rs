//! JSON over HTTP, for programs on this machine.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tiny_http::{Header, Method, Request, Response, Server};

use super::service::{MOST, Service};
use crate::failure::Failure;

/// The default address.
pub(super) const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8321);

/// Longest body.
const BODY_CAP: u64 = 1 << 20;

/// Requests that are answered at once.
const AT_ONCE: usize = 64;

/// Binds the address, which must be a loopback address: the server has no authentication.
pub(super) fn bind(address: SocketAddr) -> Result<Server, Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::bad_input(format!("{address} is reachable from other machines"))
            .hint("use a loopback address, such as 127.0.0.1:8321"));
    }
    Server::http(address)
        .map_err(|error| Failure::infrastructure(format!("cannot listen on {address}: {error}")))
}

/// Answers until the server is unblocked.
pub(super) fn serve(server: &Server, service: &Service) {
    let busy = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        while let Ok(mut request) = server.recv() {
            if busy.fetch_add(1, Ordering::Relaxed) >= AT_ONCE {
                busy.fetch_sub(1, Ordering::Relaxed);
                send(request, 503, &json!({ "error": "too many requests at once" }));
                continue;
            }
            scope.spawn(|| {
                let (status, body) = reply(service, &mut request);
                send(request, status, &body);
                busy.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
}

fn reply(service: &Service, request: &mut Request) -> (u16, Value) {
    let bad = |message: &str| (400, json!({ "error": message }));
    if !is_addressed_here(request) {
        // DNS rebinding: a web page can point its own host name at this machine, but cannot change
        // the Host header.
        return (403, json!({ "error": "the Host header must name this machine" }));
    }
    let path = request.url().split('?').next().unwrap_or("").to_owned();
    match (request.method(), path.as_str()) {
        (Method::Get, "/health") => {
            (200, json!({ "schema": "assay.search-health/1", "skills": service.skills() }))
        }
        (Method::Post, "/search") => {
            let mut body = Vec::new();
            if request.as_reader().take(BODY_CAP + 1).read_to_end(&mut body).is_err() {
                return bad("the body cannot be read");
            }
            if body.len() as u64 > BODY_CAP {
                return (413, json!({ "error": "the body is longer than 1 MiB" }));
            }
            let Ok(asked) = serde_json::from_slice::<Value>(&body) else {
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

/// Whether the Host header names this machine.
fn is_addressed_here(request: &Request) -> bool {
    let host = request.headers().iter().find(|header| header.field.equiv("Host"));
    host.is_none_or(|header| {
        let value = header.value.as_str();
        let name = value
            .rsplit_once(':')
            .filter(|(_, port)| port.parse::<u16>().is_ok())
            .map_or(value, |(name, _)| name);
        let name = name.trim_matches(['[', ']']);
        name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

fn send(request: Request, status: u16, body: &Value) {
    let response = Response::from_string(body.to_string()).with_status_code(status);
    let response = match Header::from_bytes("Content-Type", "application/json") {
        Ok(header) => response.with_header(header),
        Err(()) => response,
    };
    // The client may have disconnected.
    let _ = request.respond(response);
}
