//! A provider's server.

use std::io::{self, Read};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_model::wire::{ANTHROPIC_VERSION, Endpoint, Gate, Secret, escape};
use ureq::Agent;

use crate::protocol::{Operation, Protocol};
use crate::sync::lock;
use crate::upstream::{Stop, UpstreamError, UpstreamReply, UpstreamRequest};

/// Maximum number of idle connections.
const MAX_IDLE: usize = 64;
/// Timeout for connecting to a provider.
const CONNECT: Duration = Duration::from_secs(30);
/// Anthropic's betas that a trial must not have: files, remote tools, code and skills at the
/// provider.
const BETAS: [&str; 5] = ["files-api", "mcp-client", "code-execution", "skills-", "web-fetch"];

/// The protocols that a server supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerProtocols {
    Anthropic,
    Openai,
    Gemini,
    All,
}

/// A server, its key, and idle connections.
#[derive(Debug)]
pub(crate) struct Server {
    endpoint: Endpoint,
    protocols: ServerProtocols,
    pub(crate) gate: Arc<Gate>,
    config: ureq::config::Config,
    idle: Arc<Mutex<Vec<Agent>>>,
}

impl Server {
    pub(crate) fn new(endpoint: Endpoint, protocols: ServerProtocols) -> Self {
        let gate = Gate::shared(&endpoint.base, endpoint.key.as_ref());
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(endpoint.proxy.clone())
            .tls_config(endpoint.tls.clone())
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("assay/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .input_buffer_size(16 << 10)
            .output_buffer_size(16 << 10)
            .build();
        Self { endpoint, protocols, gate, config, idle: Arc::default() }
    }

    pub(crate) fn is_home(&self) -> bool {
        self.endpoint.is_home
    }

    pub(crate) fn key(&self) -> Option<&Secret> {
        self.endpoint.key.as_ref()
    }

    /// The URL of a request; `None` if the server does not support its protocol.
    fn url(&self, ask: &UpstreamRequest<'_>) -> Option<String> {
        let protocol = ask.route.protocol;
        let spoken = match self.protocols {
            ServerProtocols::Anthropic => protocol == Protocol::AnthropicMessages,
            ServerProtocols::Openai => {
                matches!(protocol, Protocol::OpenaiResponses | Protocol::OpenaiCompletions)
            }
            ServerProtocols::Gemini => protocol == Protocol::Gemini,
            ServerProtocols::All => true,
        };
        if !spoken {
            return None;
        }
        let base = &self.endpoint.base;
        // OpenAI's base URLs contain the version, as in its own library.
        let root = if self.protocols == ServerProtocols::Openai {
            base
        } else {
            base.strip_suffix("/v1").unwrap_or(base)
        };
        let version = if self.protocols == ServerProtocols::Openai { "" } else { "/v1" };
        let path = match (protocol, ask.route.operation) {
            (Protocol::AnthropicMessages, operation) => {
                let verb = if operation == Operation::CountTokens { "/count_tokens" } else { "" };
                format!("/v1/messages{verb}{}", if ask.beta { "?beta=true" } else { "" })
            }
            (Protocol::OpenaiResponses, _) => format!("{version}/responses"),
            (Protocol::OpenaiCompletions, _) => format!("{version}/chat/completions"),
            (Protocol::Gemini, operation) => {
                let verb = match operation {
                    Operation::CountTokens => "countTokens",
                    _ if ask.stream => "streamGenerateContent?alt=sse",
                    _ => "generateContent",
                };
                format!("/v1beta/models/{}:{verb}", ask.model)
            }
        };
        Some(format!("{root}{path}"))
    }

    pub(crate) fn send_request(&self, ask: &UpstreamRequest<'_>) -> Result<UpstreamReply, UpstreamError> {
        let Some(url) = self.url(ask) else {
            let message = format!("the provider does not support the {} protocol", ask.route.protocol);
            return Err(UpstreamError { message, may_cost: false, is_final: true });
        };
        let agent = lock(&self.idle).pop().unwrap_or_else(|| self.config.new_agent());
        ask.stop.watch(agent.clone());
        let mut request = agent
            .post(&url)
            .config()
            .timeout_per_read(Some(ask.idle))
            .timeout_per_write(Some(ask.idle))
            .build()
            .header("content-type", "application/json")
            .header("accept", if ask.stream { "text/event-stream" } else { "application/json" });
        if ask.route.protocol == Protocol::AnthropicMessages {
            let given =
                |name: &str| ask.headers.iter().find(|(given, _)| *given == name).map(|(_, value)| value);
            let version = given("anthropic-version").map_or(ANTHROPIC_VERSION, String::as_str);
            request = request.header("anthropic-version", version);
            if let Some(betas) =
                given("anthropic-beta").map(|betas| allowed_betas(betas)).filter(|b| !b.is_empty())
            {
                request = request.header("anthropic-beta", betas);
            }
        }
        if let Some(key) = self.key() {
            request = match ask.route.protocol {
                Protocol::AnthropicMessages => request.header("x-api-key", key.expose()),
                Protocol::Gemini => request.header("x-goog-api-key", key.expose()),
                _ => request.header("authorization", format!("Bearer {}", key.expose())),
            };
        }
        let response = match request.send(ask.body) {
            Ok(response) => response,
            Err(error) => {
                agent.shutdown();
                return Err(self.broken(&error));
            }
        };
        let (parts, body) = response.into_parts();
        let header = |name: &str| Some(parts.headers.get(name)?.to_str().ok()?.to_owned());
        if header("content-encoding").is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) {
            agent.shutdown();
            let message = "the provider sent an unsupported compressed reply".to_owned();
            return Err(UpstreamError { message, may_cost: true, is_final: true });
        }
        let names = ["retry-after", "retry-after-ms", "date", "x-should-retry"];
        let body = body.into_reader();
        Ok(UpstreamReply {
            status: parts.status.as_u16(),
            content_type: header("content-type").unwrap_or_else(|| "application/json".to_owned()),
            retry_after: header("retry-after"),
            headers: names.into_iter().filter_map(|name| Some((name, header(name)?))).collect(),
            body: Box::new(Reader {
                body,
                agent: Some(agent),
                idle: Arc::clone(&self.idle),
                stop: Arc::clone(ask.stop),
            }),
        })
    }

    fn broken(&self, error: &ureq::Error) -> UpstreamError {
        use ureq::Error;
        let text = error.to_string();
        let message = escape(&self.key().map_or_else(|| text.clone(), |key| key.scrub(&text)));
        let unsent = matches!(
            error,
            Error::HostNotFound
                | Error::ConnectionFailed
                | Error::BadUri(_)
                | Error::Tls(_)
                | Error::Rustls(_)
                | Error::InvalidProxyUrl
                | Error::ConnectProxyFailed(_)
                | Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve)
        ) || matches!(error, Error::Io(io) if io.kind() == io::ErrorKind::ConnectionRefused || is_certificate_rejected(io));
        // Certificate and address errors are permanent.
        let is_final = matches!(
            error,
            Error::Tls(_)
                | Error::Rustls(_)
                | Error::BadUri(_)
                | Error::InvalidProxyUrl
                | Error::Protocol(_)
                | Error::Http(_)
        ) || matches!(error, Error::Io(io) if io.kind() == io::ErrorKind::InvalidData);
        UpstreamError {
            message: format!("cannot reach the provider: {message}"),
            may_cost: !unsent,
            is_final,
        }
    }
}

/// Whether a certificate was rejected: then nothing was sent.
fn is_certificate_rejected(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

/// Betas without those that a trial must not have.
fn allowed_betas(betas: &str) -> String {
    let kept =
        betas.split(',').map(str::trim).filter(|beta| !BETAS.iter().any(|name| beta.starts_with(name)));
    kept.collect::<Vec<_>>().join(",")
}

/// A body that returns its connection for reuse when it is read to its end, and closes it
/// otherwise.
struct Reader {
    body: ureq::BodyReader<'static>,
    agent: Option<Agent>,
    idle: Arc<Mutex<Vec<Agent>>>,
    stop: Arc<Stop>,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.body.read(buffer)?;
        if count == 0
            && !buffer.is_empty()
            && let Some(agent) = self.agent.take()
        {
            let is_well = self.stop.release();
            let mut idle = lock(&self.idle);
            if is_well && idle.len() < MAX_IDLE {
                idle.push(agent);
            }
        }
        Ok(count)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.shutdown();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_betas_are_dropped() {
        let check = |given: &str, expected: &str| assert_eq!(allowed_betas(given), expected, "{given}");
        check("", "");
        check(
            "claude-code-20250219, interleaved-thinking-2025-05-14",
            "claude-code-20250219,interleaved-thinking-2025-05-14",
        );
        check("files-api-2025-04-14,x-1,skills-2025-10-02,mcp-client-2025-04-04", "x-1");
    }
}
