//! Classifies an HTTP reply: an answer, a transient failure, or a refusal.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;
use ureq::http::HeaderMap;

use crate::ModelError;
use crate::backoff;
use crate::overflow::exceeds_context;
use crate::text::{Secret, excerpt};

/// A reply as received.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// The classification of a reply.
#[derive(Debug)]
pub(crate) enum ReplyClass {
    /// The provider's answer.
    Answer(Value),
    /// A failure that may be transient.
    Failed(Failure),
    /// A permanent error.
    Refused(ModelError),
}

/// A failed try.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The HTTP status, where there was one.
    pub(crate) status: Option<u16>,
    /// The message, safe to display.
    pub(crate) message: String,
    /// The wait that the provider requested.
    pub(crate) requested_wait: Option<Duration>,
    /// Whether the provider limits the rate or is overloaded.
    pub(crate) limits: bool,
    /// Whether retrying is pointless.
    pub(crate) is_final: bool,
}

impl Failure {
    /// Nothing was received, or the reply was interrupted.
    pub(crate) fn network(message: String) -> Self {
        Self { status: None, message, requested_wait: None, limits: false, is_final: false }
    }

    /// The error to return if there is no further try.
    pub(crate) fn end(self, tries: u32) -> ModelError {
        let message = self.message;
        match self.status {
            Some(status) if self.limits => ModelError::RateLimited { status, tries, message },
            Some(status) => ModelError::Server { status, tries, message },
            None => ModelError::Network { tries, message },
        }
    }
}

/// Classifies a reply.
pub(crate) fn classify_reply(reply: &Reply, key: Option<&Secret>) -> ReplyClass {
    let shown = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        excerpt(key.map_or_else(|| text.to_string(), |key| key.scrub(&text)).as_bytes())
    };
    let protocol = |message: String| ReplyClass::Refused(ModelError::Protocol { message });
    match reply.status {
        200..=299 => {
            let kept = key.map_or(Cow::Borrowed(reply.body.as_slice()), |key| key.scrub_kept(&reply.body));
            match serde_json::from_slice::<Value>(&kept) {
                // Gateways report a provider's error in a reply with a success status.
                Ok(body) if body.get("error").is_some_and(|error| error.is_object() || error.is_string()) => {
                    match inner_status(&body) {
                        Some(status) => failure(status, reply, key),
                        None => protocol(format!("an error instead of a reply: {}", shown(&reply.body))),
                    }
                }
                Ok(body) => ReplyClass::Answer(body),
                Err(error) if error.is_eof() => ReplyClass::Failed(Failure::network(format!(
                    "the reply was interrupted after {} bytes: {}",
                    reply.body.len(),
                    shown(&reply.body)
                ))),
                Err(_) => protocol(format!("not JSON: {}", shown(&reply.body))),
            }
        }
        300..=399 => {
            let location = reply.headers.get("location").map(|value| shown(value.as_bytes()));
            protocol(format!(
                "status {} is a redirect ({}): set base_url to the final address",
                reply.status,
                location.as_deref().unwrap_or("no location given")
            ))
        }
        status @ 400..=599 => failure(status, reply, key),
        status => protocol(format!("status {status}: {}", shown(&reply.body))),
    }
}

/// Classifies a reply that reports an error.
fn failure(status: u16, reply: &Reply, key: Option<&Secret>) -> ReplyClass {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let error = body.get("error");
    let said = [error.and_then(|error| error.get("message")), error, body.get("message"), body.get("detail")]
        .into_iter()
        .flatten()
        .find_map(Value::as_str)
        .map_or_else(|| String::from_utf8_lossy(&reply.body).into_owned(), str::to_owned);
    let mut message = excerpt(key.map_or_else(|| said.clone(), |key| key.scrub(&said)).as_bytes());
    if !matches!(status, 401 | 403 | 404 | 429) && exceeds_context(&String::from_utf8_lossy(&reply.body)) {
        return ReplyClass::Refused(ModelError::ContextExceeded { status, message });
    }

    let header = |name: &str| Some(reply.headers.get(name)?.to_str().ok()?.to_owned());
    let requested_wait = backoff::requested_wait(&header, &reply.body);
    let word =
        |name: &str| error.and_then(|error| error.get(name)).and_then(Value::as_str).unwrap_or_default();
    // Waiting does not help if the account has run out (OpenAI's code).
    let is_spent = [word("code"), word("type")].contains(&"insufficient_quota");
    let retried = matches!(status, 408 | 409 | 425 | 429 | 500..=599) && !matches!(status, 501 | 505);
    if status < 500 && (!retried || is_spent) {
        if status == 401 && key.is_none() {
            message.push_str("; no API key was sent (hint: set api_key_env to the variable with the key)");
        }
        return ReplyClass::Refused(ModelError::Refused { status, message });
    }
    let is_overload =
        status == 503 && (requested_wait.is_some() || message.to_ascii_lowercase().contains("overload"));
    ReplyClass::Failed(Failure {
        status: Some(status),
        message,
        requested_wait,
        limits: matches!(status, 429 | 529) || is_overload,
        // OpenAI and Anthropic set this header if retrying is pointless.
        is_final: !retried || header("x-should-retry").as_deref() == Some("false"),
    })
}

/// The status named by an error in a reply with a success status: `{"error": {"code": 429}}`.
fn inner_status(body: &Value) -> Option<u16> {
    let code = body.get("error")?.get("code")?;
    let status = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
    u16::try_from(status).ok().filter(|status| (400..=599).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ureq::http::{HeaderMap, HeaderName, HeaderValue};

    fn classified(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> String {
        let key = Secret::new("sk-0123456789abcdef".to_owned());
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let reply = Reply { status, headers, body: body.as_bytes().to_vec() };
        match classify_reply(&reply, Some(&key)) {
            ReplyClass::Answer(body) => format!("answer {body}"),
            ReplyClass::Refused(error) => format!("refused: {error}"),
            ReplyClass::Failed(failure) => {
                let after = failure.requested_wait.map_or(String::new(), |wait| format!(" after {wait:?}"));
                let permanently = if failure.is_final { "permanently " } else { "" };
                format!("{permanently}failed{after}: {}", failure.end(3))
            }
        }
    }

    #[test]
    fn replies_are_classified() {
        let check = |status, headers: &[(&'static str, &'static str)], body: &str, expected: &str| {
            let found = classified(status, headers, body);
            assert!(found.starts_with(expected), "{status} {body:?}\n found {found}\n expected {expected}");
        };
        let limited = "failed: rate limited by the provider";
        check(200, &[], r#"{"a":1}"#, r#"answer {"a":1}"#);
        check(200, &[], r#"{"a":1,"error":null}"#, "answer {");
        check(200, &[], r#"{"a":"sk-0123456789abcdef"}"#, r#"answer {"a":"[key]"}"#);
        check(200, &[], r#"{"error":{"code":429,"message":"slow"}}"#, limited);
        check(200, &[], r#"{"error":{"code":"502","message":"x"}}"#, "failed: provider error (status 502");
        check(200, &[], r#"{"error":"what"}"#, "refused: cannot read the provider's reply: an error instead");
        check(200, &[], "<html>", "refused: cannot read the provider's reply: not JSON: <html>");
        check(200, &[], "{\"a\":", "failed: cannot reach the provider (tries: 3): the reply was interrupted");
        check(200, &[], "", "failed: cannot reach the provider (tries: 3): the reply was interrupted");
        check(200, &[], &"[".repeat(5_000), "refused: cannot read the provider's reply: not JSON: [[[");
        check(
            302,
            &[("location", "https://login")],
            "",
            "refused: cannot read the provider's reply: status 302 is a redirect",
        );
        check(
            400,
            &[],
            r#"{"error":{"message":"no such\nmodel"}}"#,
            "refused: the provider refused the request (400): no such model",
        );
        check(
            401,
            &[],
            "bad key sk-0123456789abcdef",
            "refused: the provider refused the request (401): bad key [key]",
        );
        check(
            404,
            &[],
            r#"{"detail":"Not Found"}"#,
            "refused: the provider refused the request (404): Not Found",
        );
        let long = r#"{"error":{"message":"many words","code":"context_length_exceeded"}}"#;
        let exceeded = |status: u16| {
            format!("refused: the conversation exceeds the model's context ({status}): many words")
        };
        check(400, &[], long, &exceeded(400));
        check(500, &[], long, &exceeded(500));
        check(404, &[], long, "refused: the provider refused the request (404)");
        check(409, &[], "", "failed: provider error (status 409");
        check(429, &[("retry-after", "7")], "", "failed after 7s: rate limited by the provider (status 429");
        check(
            429,
            &[],
            r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#,
            "refused: the provider refused the request (429): pay",
        );
        check(500, &[], "oops", "failed: provider error (status 500, tries: 3): oops");
        check(500, &[("x-should-retry", "false")], "", "permanently failed");
        check(501, &[], "", "permanently failed: provider error (status 501");
        check(503, &[], "maintenance", "failed: provider error (status 503");
        check(503, &[], r#"{"error":{"message":"The model is overloaded."}}"#, limited);
        check(
            529,
            &[],
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            limited,
        );
        check(204, &[], "", "failed: cannot reach the provider");
        check(102, &[], "", "refused: cannot read the provider's reply: status 102");
    }
}
