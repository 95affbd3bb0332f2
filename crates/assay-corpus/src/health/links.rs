//! Checks external links one by one. Only this part of the crate uses the network, and only when it
//! is called.

use std::collections::BTreeSet;
use std::time::Duration;

use assay_skill::Package;
use rayon::prelude::*;
use serde::Serialize;

use crate::quality::outline;
use assay_skill::corpus::normal;

/// The result for an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkCheck {
    /// The address.
    pub url: String,
    /// The HTTP status; `None` without a response.
    pub status: Option<u16>,
    /// The error, if there was no response.
    pub error: Option<String>,
}

impl LinkCheck {
    /// Whether there was an answer, and it was not that nothing is there.
    pub fn alive(&self) -> bool {
        // Servers that reject programs, or limit their rate, exist.
        self.status.is_some_and(|status| status < 400 || matches!(status, 401 | 403 | 405 | 429))
    }
}

/// The addresses of a package's document that lead outside, each once.
pub fn addresses(package: &Package) -> BTreeSet<String> {
    let (_, body) = normal::split(&package.document);
    let http = |target: &String| target.starts_with("http://") || target.starts_with("https://");
    outline(body).links.into_iter().map(|link| link.target).filter(http).collect()
}

/// Requests each address with HEAD, eight at a time, with a `timeout` for each; after a 405 with
/// GET. Follows at most five redirects, reads no body, and sends nothing but the request.
pub fn check_links(addresses: &BTreeSet<String>, timeout: Duration) -> Vec<LinkCheck> {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(5)
        .user_agent("assay-health")
        .build();
    let agent = ureq::Agent::new_with_config(config);
    let one = |url: &String| {
        let answer = agent.head(url).call().map(|answer| answer.status().as_u16());
        let answer = match answer {
            Ok(405) => agent.get(url).call().map(|answer| answer.status().as_u16()),
            other => other,
        };
        match answer {
            Ok(status) => LinkCheck { url: url.clone(), status: Some(status), error: None },
            Err(error) => LinkCheck { url: url.clone(), status: None, error: Some(error.to_string()) },
        }
    };
    let all = || addresses.par_iter().map(one).collect();
    match rayon::ThreadPoolBuilder::new().num_threads(8).build() {
        Ok(pool) => pool.install(all),
        // No threads to be had: one after the other.
        Err(_) => addresses.iter().map(one).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_checked_on_loopback() {
        let address = assay_test::serve_http(|request| {
            let status = match (request.path.as_str(), request.method.as_str()) {
                ("/gone", _) => 404,
                ("/get-only", "HEAD") => 405,
                _ => 200,
            };
            assay_test::HttpReply { status, ..Default::default() }
        });
        let base = format!("http://{address}");
        // A port that was bound and released: nothing listens.
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut addresses: BTreeSet<String> =
            ["/here", "/gone", "/get-only"].iter().map(|path| format!("{base}{path}")).collect();
        addresses.insert(format!("http://{closed}/"));
        let checked = check_links(&addresses, Duration::from_secs(20));
        let found = |end: &str| checked.iter().find(|checked| checked.url.ends_with(end)).unwrap();
        assert_eq!((found("/here").status, found("/here").alive()), (Some(200), true));
        assert_eq!((found("/gone").status, found("/gone").alive()), (Some(404), false));
        assert_eq!((found("/get-only").status, found("/get-only").alive()), (Some(200), true));
        let silent = found(&format!("{closed}/"));
        assert!(silent.status.is_none() && !silent.alive() && silent.error.is_some());
    }
}
