//! The HTTP server of pages and of JSON services.
//!
//! Reads by this user on this machine need no token. Reads by other users or from elsewhere, and writes, do. The only writes are forms below
//! `/review/`, which add people's marks to the store, and below `/draft/`, which write people's decisions to the
//! draft's folder; no other page changes anything, but that results of audits are kept in the store.
//! A page of another site cannot read anything: the Host header must name this machine unless the request has
//! the token, an Origin header must be that of the server, and the content policy allows nothing foreign. Nor
//! can it write: a form must also come from a page of this server, as the browser says.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use ring::rand::SecureRandom;
use tokio::sync::{Notify, Semaphore};

use crate::live::Progress;
use crate::pages::{reply, reply_to_form};
use crate::peer::is_own_user;
use crate::reply::{Content, Reply};
use crate::requests::{is_foreign, is_form, is_from_own_page, names_this_machine, read_body};
use crate::site::{RunState, Site};
use crate::urls;

/// What pages may load: their own style, script, images and updates, and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                                 form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Pages below these addresses have forms that write.
const FORMS: [&str; 2] = ["/review/", "/draft/"];

/// The beginning of the name of the cookie that keeps the token. Its end is the port: browsers send cookies to every
/// port of a host.
const COOKIE: &str = "assay_token";

/// How long requests may take to end after the server was stopped.
const GRACE: Duration = Duration::from_secs(2);

/// Requests that are answered at once.
const AT_ONCE: usize = 64;

/// Longest form that is read, in bytes.
const LONGEST_FORM: usize = 64 << 10;

/// Time between two looks at a run that is in progress.
const POLL: Duration = Duration::from_secs(1);

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken, or not one of this machine.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The server ended, or could not start.
    #[error("the server ended")]
    Ended(#[source] io::Error),
}

/// A bound address.
pub struct Serving {
    listener: TcpListener,
    address: SocketAddr,
}

/// Ends a server, from any thread.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Notify>);

impl Stop {
    /// Ends the server: requests in progress have two seconds.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

impl Serving {
    /// Binds an address; port 0 chooses a free one.
    ///
    /// # Errors
    /// The address is taken, or not one of this machine.
    pub fn bind(address: SocketAddr) -> Result<Self, ServeError> {
        let fail = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        Ok(Self { listener, address })
    }

    /// The address, with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until it is stopped.
    fn run(self, app: Router, stop: &Stop) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(ServeError::Ended)?;
        let stop = stop.clone();
        let ended = runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let app = app.into_make_service_with_connect_info::<SocketAddr>();
            let stopped = Arc::new(Notify::new());
            let graceful = Arc::clone(&stopped);
            let serving =
                axum::serve(listener, app).with_graceful_shutdown(async move { graceful.notified().await });
            let mut serving = std::pin::pin!(serving.into_future());
            tokio::select! {
                ended = &mut serving => ended,
                () = stop.0.notified() => {
                    stopped.notify_one();
                    // Pages with live updates keep their connections.
                    tokio::time::timeout(GRACE, serving).await.unwrap_or(Ok(()))
                }
            }
        });
        runtime.shutdown_timeout(Duration::from_millis(100));
        ended.map_err(ServeError::Ended)
    }
}

/// Who may read.
#[derive(Debug, Clone)]
pub struct Access {
    token: String,
    /// The port of the server.
    port: u16,
}

impl Access {
    /// Reads by this user on this machine are free; others need the token.
    pub fn new(token: String) -> Self {
        Self { token, port: 0 }
    }

    /// The name of the cookie.
    fn cookie(&self) -> String {
        format!("{COOKIE}_{}", self.port)
    }

    fn is_token(&self, text: &str) -> bool {
        let digest = |text: &str| ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        // Digests are compared: how long that takes tells nothing about the token.
        digest(text).as_ref() == digest(&self.token).as_ref()
    }
}

/// A random token of 128 bits.
///
/// # Errors
/// The system has no random numbers.
pub fn new_token() -> Result<String, ServeError> {
    let mut bytes = [0_u8; 16];
    let filled = ring::rand::SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| ServeError::Ended(io::Error::other("no random numbers")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Serves the pages of a store until it is stopped.
///
/// # Errors
/// The server cannot start, or ended.
pub fn serve_site(
    serving: Serving,
    site: Arc<Site>,
    mut access: Access,
    stop: &Stop,
) -> Result<(), ServeError> {
    access.port = serving.address().port();
    let limit = Arc::new(Semaphore::new(AT_ONCE));
    let app = Router::new()
        .route("/runs/{run}/events", get(events))
        .fallback(page)
        .with_state((site, limit))
        .layer(middleware::from_fn_with_state(access, check));
    serving.run(app, stop)
}

/// A request to a JSON service.
pub struct JsonRequest<'a> {
    /// `GET`, `POST` and so on.
    pub method: &'a str,
    /// Without a query.
    pub path: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// A function that answers requests of a JSON service: a status and a document.
pub type JsonService = dyn Fn(&JsonRequest<'_>) -> (u16, serde_json::Value) + Send + Sync;

/// Serves JSON on loopback until it is stopped. The Host header must name this machine; bodies have at most
/// `body_cap` bytes.
///
/// # Errors
/// The server cannot start, or ended.
pub fn serve_json(
    serving: Serving,
    body_cap: usize,
    service: Arc<JsonService>,
    stop: &Stop,
) -> Result<(), ServeError> {
    let limit = Arc::new(Semaphore::new(AT_ONCE));
    let app = Router::new()
        .fallback(move |method: Method, uri: Uri, headers: HeaderMap, request: Request| {
            let (service, limit) = (Arc::clone(&service), Arc::clone(&limit));
            async move { answer_json(&method, &uri, &headers, request, body_cap, service, limit).await }
        })
        .layer(DefaultBodyLimit::disable());
    serving.run(app, stop)
}

async fn answer_json(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    request: Request,
    body_cap: usize,
    service: Arc<JsonService>,
    limit: Arc<Semaphore>,
) -> Response {
    let refuse = |status, error: String| json_response(status, &serde_json::json!({ "error": error }));
    if !names_this_machine(headers) {
        return refuse(403, "the Host header must name this machine".to_owned());
    }
    let Ok(_permit) = limit.try_acquire_owned() else {
        return refuse(503, "too many requests at once".to_owned());
    };
    let body = match read_body(request, body_cap).await {
        Some(body) if body.len() <= body_cap => body,
        Some(_) => return refuse(413, format!("the body is longer than {} MiB", body_cap >> 20)),
        None => return refuse(400, "the body cannot be read".to_owned()),
    };
    let (method, path) = (method.as_str().to_owned(), uri.path().to_owned());
    let answer = tokio::task::spawn_blocking(move || {
        service(&JsonRequest { method: &method, path: &path, body: &body })
    });
    match answer.await {
        Ok((status, document)) => json_response(status, &document),
        Err(_) => refuse(500, "the request could not be answered".to_owned()),
    }
}

fn json_response(status: u16, document: &serde_json::Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, "application/json")], document.to_string()).into_response()
}

/// The checks before any page.
async fn check(State(access): State<Access>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let uri = request.uri();
    let is_review = FORMS.iter().any(|path| uri.path().starts_with(path));
    let refuse =
        |status: StatusCode, message: &str| harden((status, message.to_owned()).into_response(), is_review);
    if is_foreign(headers) {
        return refuse(StatusCode::FORBIDDEN, "the request comes from a page of another site");
    }
    let given = urls::field(uri.query().unwrap_or_default(), "token");
    let by_link = given.as_deref().is_some_and(|token| access.is_token(token));
    let has_token = by_link || cookie(headers, &access.cookie()).is_some_and(|token| access.is_token(token));
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let local = peer.filter(|peer| peer.ip().to_canonical().is_loopback() && names_this_machine(headers));
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_own = match local {
        Some(peer) if is_read && !has_token => {
            let port = access.port;
            tokio::task::spawn_blocking(move || is_own_user(peer, port)).await.unwrap_or(false)
        }
        _ => false,
    };
    if !(has_token || is_own) {
        return refuse(
            StatusCode::FORBIDDEN,
            "open the address that `assay view` printed: it contains the token",
        );
    }
    if !is_read {
        if *request.method() != Method::POST || !is_review {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "the pages are read-only");
        }
        if !is_from_own_page(headers) {
            return refuse(StatusCode::FORBIDDEN, "the form is not from a page of this server");
        }
        if !is_form(headers) {
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is not that of a form");
        }
        return harden(next.run(request).await, is_review);
    }
    if by_link && let Some(token) = given {
        // The token must not stay in the address bar, in the history and in links that are passed on.
        let query: Vec<&str> = uri.query().unwrap_or_default().split('&').collect();
        let rest: Vec<&str> = query.into_iter().filter(|field| !field.starts_with("token=")).collect();
        let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        let cookie = format!("{}={token}; HttpOnly; SameSite=Strict; Path=/", access.cookie());
        // One slash only: `//name` would be another machine.
        let path = format!("/{}", uri.path().trim_start_matches(['/', '\\']));
        let headers = [(header::LOCATION, format!("{path}{query}")), (header::SET_COOKIE, cookie)];
        return harden((StatusCode::SEE_OTHER, headers).into_response(), is_review);
    }
    harden(next.run(request).await, is_review)
}

fn cookie<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let cookies = headers.get(header::COOKIE)?.to_str().ok()?.split(';');
    let mut pairs = cookies.filter_map(|cookie| cookie.trim().split_once('='));
    pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value)
}

/// Adds what every response has. With the policy `no-referrer` browsers send forms without their origin, so
/// pages with forms that write have another one, which tells other sites nothing either.
fn harden(mut response: Response, has_forms: bool) -> Response {
    let referrer = if has_forms { "same-origin" } else { "no-referrer" };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, referrer),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

type Shared = (Arc<Site>, Arc<Semaphore>);

async fn page(State((site, limit)): State<Shared>, request: Request) -> Response {
    let Ok(_permit) = limit.acquire_owned().await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let uri = request.uri();
    let (path, query) = (uri.path().to_owned(), uri.query().unwrap_or_default().to_owned());
    let form = if *request.method() == Method::POST {
        let body = match read_body(request, LONGEST_FORM).await {
            Some(body) if body.len() > LONGEST_FORM => {
                return (StatusCode::PAYLOAD_TOO_LARGE, "the form is too long").into_response();
            }
            body => body.and_then(|body| String::from_utf8(body).ok()),
        };
        let Some(form) = body else {
            return (StatusCode::BAD_REQUEST, "the form cannot be read").into_response();
        };
        Some(form)
    } else {
        None
    };
    let answer = tokio::task::spawn_blocking(move || match form {
        Some(form) => reply_to_form(&site, &path, &form),
        None => reply(&site, &path, &query),
    });
    match answer.await {
        Ok(found) => response(found),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "this page cannot be shown").into_response(),
    }
}

fn response(reply: Reply) -> Response {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // Nothing in a file of an attempt runs, whatever the browser takes it for.
    let sandbox = (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'");
    match reply.content {
        Content::Html(html) => {
            (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
        }
        Content::Static(kind, text) => (status, [(header::CONTENT_TYPE, kind)], text).into_response(),
        Content::Image(kind, bytes) => {
            (status, [(header::CONTENT_TYPE, kind), sandbox], Bytes::from(bytes)).into_response()
        }
        Content::Attachment(name, bytes) => {
            let disposition = format!("attachment; filename=\"{name}\"");
            let kind = (header::CONTENT_TYPE, "application/octet-stream");
            let mut response = (status, [kind, sandbox], Body::from(bytes)).into_response();
            if let Ok(value) = HeaderValue::from_str(&disposition) {
                response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
            }
            response
        }
        Content::Redirect(target) => (status, [(header::LOCATION, target)]).into_response(),
    }
}

/// How far a run is, each time that this changes.
async fn events(State((site, _)): State<Shared>, uri: Uri) -> Response {
    let name = uri.path().split('/').nth(2).and_then(urls::decode).unwrap_or_default();
    if !site.run_names().contains(&name) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let stream = futures_util::stream::unfold((site, name, None), |(site, name, sent)| async move {
        let mut sent: Option<Progress> = sent;
        loop {
            if sent.is_some() {
                tokio::time::sleep(POLL).await;
            }
            let (asked, run) = (Arc::clone(&site), name.clone());
            let look = move || match asked.run(&run, Duration::from_secs(1)) {
                Ok(RunState::Ready(data)) => Progress::of(&asked, &data),
                _ => None,
            };
            let now = tokio::task::spawn_blocking(look).await.ok().flatten();
            if let Some(now) = now
                && sent.as_ref() != Some(&now)
            {
                sent = Some(now.clone());
                let event = Event::default().event("progress").data(now.json().to_string());
                return Some((Ok::<_, Infallible>(event), (site, name, sent)));
            }
            if sent.is_none() {
                tokio::time::sleep(POLL).await;
            }
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::default()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_random_and_compared_whole() {
        let (one, other) = (new_token().unwrap(), new_token().unwrap());
        assert_eq!((one.len(), other.len()), (32, 32));
        assert_ne!(one, other);
        let access = Access::new(one.clone());
        assert!(access.is_token(&one));
        for wrong in ["", &one[..31], &other] {
            assert!(!access.is_token(wrong), "{wrong}");
        }
    }
}
