//! Where a request comes from, and its body.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{self, HeaderName};
use futures_util::StreamExt as _;

/// A body that is too long is read up to this multiple of the cap.
const DRAINED: usize = 16;

/// A body, with one byte more than `cap` if it is longer; `None` if it cannot be read. A client that is
/// still sending does not read a reply: some of what is too long is read and dropped.
pub(crate) async fn read_body(request: Request, cap: usize) -> Option<Vec<u8>> {
    let mut stream = request.into_body().into_data_stream();
    let (mut body, mut total) = (Vec::new(), 0_usize);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.ok()?;
        total += chunk.len();
        let room = (cap + 1).saturating_sub(body.len());
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if total > DRAINED * cap {
            break;
        }
    }
    Some(body)
}

/// Whether the Host header names this machine. A page of another site can have its own name resolved to this
/// machine (DNS rebinding), but cannot change the header.
pub(crate) fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST) else { return true };
    host.to_str().is_ok_and(|value| {
        let name = value.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        let name = name.map_or(value, |(name, _)| name).trim_matches(['[', ']']);
        name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

/// Whether a request comes from a page of another site.
pub(crate) fn is_foreign(headers: &HeaderMap) -> bool {
    text(headers, header::ORIGIN).is_some_and(|origin| !is_own_origin(headers, origin))
}

/// Whether a request is known to come from a page of this server. Browsers say so in one of two headers,
/// which no page can change; a request without both of them is refused.
pub(crate) fn is_from_own_page(headers: &HeaderMap) -> bool {
    let site = text(headers, HeaderName::from_static("sec-fetch-site")).map(|site| site == "same-origin");
    let origin = text(headers, header::ORIGIN).map(|origin| is_own_origin(headers, origin));
    site != Some(false) && origin != Some(false) && (site, origin) != (None, None)
}

/// Whether a body is that of a form.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    let kind = text(headers, header::CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

fn is_own_origin(headers: &HeaderMap, origin: &str) -> bool {
    let host = text(headers, header::HOST);
    host.is_some_and(|host| {
        [format!("http://{host}"), format!("https://{host}")].iter().any(|own| own == origin)
    })
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_machine_are_known() {
        let check = |host: &str, expected| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            assert_eq!(names_this_machine(&headers), expected, "{host}");
        };
        check("localhost", true);
        check("localhost:80", true);
        check("127.0.0.1:1", true);
        check("[::1]:1", true);
        check("127.0.0.1.example.com", false);
        check("example.com:8000", false);
        check("10.0.0.1", false);
    }

    #[test]
    fn pages_of_other_sites_are_known() {
        let check = |origin: Option<&str>, site: Option<&str>, own: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, "localhost:80".parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            if let Some(site) = site {
                headers.insert("sec-fetch-site", site.parse().unwrap());
            }
            assert_eq!(is_from_own_page(&headers), own, "{origin:?} {site:?}");
        };
        check(Some("http://localhost:80"), None, true);
        check(Some("http://localhost:80"), Some("same-origin"), true);
        check(None, Some("same-origin"), true);
        check(None, None, false);
        check(Some("null"), None, false);
        check(Some("null"), Some("same-origin"), false);
        check(Some("http://localhost:81"), Some("same-site"), false);
        check(Some("http://localhost:80"), Some("cross-site"), false);
        check(None, Some("same-site"), false);
        check(None, Some("none"), false);
    }
}
