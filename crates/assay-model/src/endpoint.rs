//! The address of a provider, and the key for it.

use std::net::IpAddr;

use ureq::Proxy;
use ureq::http::Uri;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::text::{Secret, escape};
use crate::{ModelError, ModelOptions};

/// What is known about a provider in advance.
#[derive(Debug)]
pub struct Service {
    /// Its own base URL.
    pub home: &'static str,
    /// The variable that overrides it.
    pub base_env: &'static str,
    /// The variables that may contain its key, in order.
    pub key_env: &'static [&'static str],
}

/// The address and credentials for requests.
#[derive(Debug)]
pub struct Endpoint {
    /// The base URL, without a trailing slash.
    pub base: String,
    /// The key, if one is to be sent.
    pub key: Option<Secret>,
    /// The HTTP proxy for requests.
    pub proxy: Option<Proxy>,
    /// Whether it is the provider's own address.
    pub is_home: bool,
    /// The accepted certificate authorities.
    pub tls: TlsConfig,
}

impl Endpoint {
    /// Determines address and key.
    ///
    /// The address is the option's, else the variable's, else the provider's own. The key is the
    /// value of the variable that the option names, else of the provider's own variable. An address
    /// from an experiment that is neither the provider's nor on this machine gets a key only if the
    /// experiment names its variable: an experiment may come from an untrusted source, which must
    /// not receive a key by default. Without a key, no header is sent for one, as Ollama, vLLM and
    /// llama.cpp expect.
    pub fn resolve(
        service: &Service,
        options: &ModelOptions,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        let set =
            |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let (base, origin) = declared(service, options.base_url.as_deref(), env);
        let base = base.trim_end_matches('/');
        let uri = address(base, origin)?;
        let host = uri.host().unwrap_or_default();
        let is_home = service.home.parse::<Uri>().is_ok_and(|home| home.host() == Some(host));
        let is_local = is_loopback(host);
        let trusted = is_home || is_local || options.base_url.is_none();

        let key = match &options.api_key_env {
            Some(name) => match set(name) {
                Some(key) => Some((name.as_str(), key)),
                None if !options.needs_key => None,
                None => {
                    return Err(ModelError::Spec(format!(
                        "{} is not set (api_key_env names it)",
                        escape(name)
                    )));
                }
            },
            None if trusted => service.key_env.iter().find_map(|name| Some((*name, set(name)?))),
            None => None,
        };
        if key.is_none() && is_home && options.needs_key {
            let names = service.key_env.join(" or ");
            return Err(ModelError::Spec(format!(
                "{names} is not set: set it, name another variable with api_key_env, or set base_url to a server that \
                 needs no key"
            )));
        }
        if let Some((name, key)) = &key
            && !key.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(ModelError::Spec(format!(
                "{} has a character that is not allowed in a key",
                escape(name)
            )));
        }
        let proxy = if is_local { None } else { proxy(&uri, &set)? };
        let tls =
            if uri.scheme_str() == Some("https") { root_certificates(&set)? } else { TlsConfig::default() };
        Ok(Self { base: base.to_owned(), key: key.map(|(_, key)| Secret::new(key)), proxy, is_home, tls })
    }
}

/// The base URL of a service and what declares it: the experiment, else the variable, else the service itself.
pub(crate) fn declared(
    service: &Service,
    base_url: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> (String, &'static str) {
    let from_env =
        || env(service.base_env).map(|value| value.trim().to_owned()).filter(|base| !base.is_empty());
    match base_url {
        Some(base) => (base.trim().to_owned(), "base_url"),
        None => from_env()
            .map_or_else(|| (service.home.to_owned(), "its own address"), |base| (base, service.base_env)),
    }
}

/// The certificate authorities of the file in `SSL_CERT_FILE`, in place of the built-in ones, as in
/// OpenSSL and programs that use it.
fn root_certificates(set: &dyn Fn(&str) -> Option<String>) -> Result<TlsConfig, ModelError> {
    let Some(path) = set("SSL_CERT_FILE") else { return Ok(TlsConfig::default()) };
    let wrong = |what: String| {
        ModelError::Spec(format!(
            "SSL_CERT_FILE, {}: {what}: set it to a file of PEM certificates, or unset it",
            escape(&path)
        ))
    };
    let pem = std::fs::read(&path).map_err(|error| wrong(error.to_string()))?;
    let mut found: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(&pem) {
        match item {
            Ok(PemItem::Certificate(certificate)) => found.push(certificate),
            Ok(_) => {}
            Err(error) => return Err(wrong(error.to_string())),
        }
    }
    if found.is_empty() {
        return Err(wrong("no certificates in it".to_owned()));
    }
    Ok(TlsConfig::builder().root_certs(RootCerts::new_with_certs(&found)).build())
}

/// Checks a base URL. Parts that may contain a secret (a user, a query) are rejected: keys belong
/// in variables.
pub(crate) fn address(base: &str, origin: &str) -> Result<Uri, ModelError> {
    let wrong = |what: &str| {
        ModelError::Spec(format!(
            "{origin} {what}: expected http:// or https://, a host, and optionally a path"
        ))
    };
    let uri: Uri = base.parse().map_err(|_| wrong("is not a URL"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong("does not begin with http:// or https://"));
    }
    if uri.host().is_none_or(str::is_empty) {
        return Err(wrong("has no host"));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(wrong("has credentials in it: use a variable for the key"));
    }
    if uri.query().is_some() || base.contains('#') {
        return Err(wrong("has a query"));
    }
    Ok(uri)
}

/// Whether a host is this machine.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The proxy from the variables for an address, unless `NO_PROXY` lists its host or a parent
/// domain.
fn proxy(uri: &Uri, set: &dyn Fn(&str) -> Option<String>) -> Result<Option<Proxy>, ModelError> {
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    let either = |name: &'static str| {
        let value = set(name).or_else(|| set(&name.to_ascii_lowercase()))?;
        Some((name, value))
    };
    let excepted = either("NO_PROXY").is_some_and(|(_, list)| {
        list.split(',').map(|entry| entry.trim().to_ascii_lowercase()).any(|entry| {
            let domain = entry.trim_start_matches('*').trim_start_matches('.');
            entry == "*" || host == domain || (!domain.is_empty() && host.ends_with(&format!(".{domain}")))
        })
    });
    if excepted {
        return Ok(None);
    }
    let by_scheme = if uri.scheme_str() == Some("https") { "HTTPS_PROXY" } else { "HTTP_PROXY" };
    let Some((name, value)) = either(by_scheme).or_else(|| either("ALL_PROXY")) else { return Ok(None) };
    // The value is not in the message, because a proxy's URL may contain a password.
    let supported = !value.contains("://") || value.starts_with("http://") || value.starts_with("https://");
    Proxy::new(&value).ok().filter(|_| supported).map(Some).ok_or_else(|| {
        ModelError::Spec(format!("{name} is not an HTTP proxy: set it to http://HOST:PORT, or unset it"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: Service = Service {
        home: "https://api.example.com/v1",
        base_env: "EXAMPLE_BASE_URL",
        key_env: &["EXAMPLE_API_KEY", "SECOND_API_KEY"],
    };

    fn resolve(
        base: Option<&str>,
        key_env: Option<&str>,
        vars: &[(&str, &str)],
    ) -> Result<Endpoint, ModelError> {
        let options = ModelOptions {
            base_url: base.map(str::to_owned),
            api_key_env: key_env.map(str::to_owned),
            ..ModelOptions::default()
        };
        let env =
            |name: &str| vars.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned());
        Endpoint::resolve(&SERVICE, &options, &env)
    }

    #[test]
    fn keys_are_sent_to_trusted_addresses_only() {
        let check = |base: Option<&str>,
                     key_env: Option<&str>,
                     vars: &[(&str, &str)],
                     expected: Option<&str>| {
            let endpoint = resolve(base, key_env, vars).unwrap();
            assert_eq!(endpoint.key.as_ref().map(Secret::expose), expected, "{base:?} {key_env:?} {vars:?}");
        };
        let key = &[("EXAMPLE_API_KEY", "own"), ("OTHER", "other")];
        check(None, None, key, Some("own"));
        check(None, None, &[("SECOND_API_KEY", " second\n")], Some("second"));
        check(None, Some("OTHER"), key, Some("other"));
        check(Some("https://api.example.com/v2"), None, key, Some("own"));
        check(Some("http://127.0.0.1:11434/v1"), None, &[], None);
        check(Some("http://127.0.0.1:11434/v1"), None, key, Some("own"));
        check(Some("http://[::1]:8000/v1"), None, key, Some("own"));
        // An unknown address gets no key by default; one that the user sets does.
        check(Some("https://elsewhere.example.net/v1"), None, key, None);
        check(Some("https://elsewhere.example.net/v1"), Some("EXAMPLE_API_KEY"), key, Some("own"));
        check(
            None,
            None,
            &[("EXAMPLE_BASE_URL", "https://mine.example.net"), ("EXAMPLE_API_KEY", "own")],
            Some("own"),
        );
    }

    #[test]
    fn addresses_are_resolved() {
        let check = |base: Option<&str>, vars: &[(&str, &str)], expected: &str, home: bool| {
            let mut all = vec![("EXAMPLE_API_KEY", "k")];
            all.extend(vars);
            let endpoint = resolve(base, None, &all).unwrap();
            assert_eq!((endpoint.base.as_str(), endpoint.is_home), (expected, home));
        };
        check(None, &[], "https://api.example.com/v1", true);
        check(None, &[("EXAMPLE_BASE_URL", "")], "https://api.example.com/v1", true);
        check(None, &[("EXAMPLE_BASE_URL", "http://h/x/")], "http://h/x", false);
        check(Some("http://g//"), &[("EXAMPLE_BASE_URL", "http://h/x")], "http://g", false);
    }

    #[test]
    fn configuration_errors_are_reported() {
        let check = |base: Option<&str>, key_env: Option<&str>, vars: &[(&str, &str)], expected: &str| {
            let error = resolve(base, key_env, vars).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        };
        check(None, None, &[], "EXAMPLE_API_KEY or SECOND_API_KEY is not set");
        check(None, Some("GONE"), &[], "GONE is not set (api_key_env");
        check(Some("http://127.0.0.1:1"), Some("GONE"), &[], "GONE is not set");
        check(None, None, &[("EXAMPLE_API_KEY", "s3cret\u{1b}")], "not allowed in a key");
        check(Some("localhost:11434"), None, &[], "base_url does not begin with http");
        check(Some(""), None, &[], "base_url is not a URL");
        check(Some("http://user:s3cret@host/"), None, &[], "has credentials in it");
        check(Some("http://host/?key=s3cret"), None, &[], "has a query");
        let proxied = &[("EXAMPLE_API_KEY", "k"), ("HTTPS_PROXY", "socks5://u:s3cret@p:1")];
        check(None, None, proxied, "HTTPS_PROXY is not an HTTP proxy");
    }

    #[test]
    fn authorities_come_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let check = |path: &str, expected: &str| {
            let vars = &[("EXAMPLE_API_KEY", "k"), ("SSL_CERT_FILE", path)];
            let error = resolve(None, None, vars).unwrap_err().to_string();
            assert!(error.contains("SSL_CERT_FILE") && error.contains(expected), "{error}");
            // An address without TLS does not need it.
            resolve(Some("http://127.0.0.1:1"), None, vars).unwrap();
        };
        check("/no/such/file", "No such file");
        check(&file("empty.pem", "nothing"), "no certificate");
    }

    #[test]
    fn proxies_come_from_variables() {
        let check = |base: &str, vars: &[(&str, &str)], expected: Option<&str>| {
            let endpoint = resolve(Some(base), None, vars).unwrap();
            assert_eq!(endpoint.proxy.as_ref().map(Proxy::host), expected, "{base} {vars:?}");
        };
        let both = &[("HTTPS_PROXY", "http://p:1"), ("ALL_PROXY", "http://q:2")];
        check("https://far.example.net", both, Some("p"));
        check("http://far.example.net", both, Some("q"));
        check("https://far.example.net", &[("https_proxy", "http://p:1")], Some("p"));
        check("http://127.0.0.1:1", both, None);
        for list in ["*", "x, .example.net", "*.example.net", "far.example.net", "example.net"] {
            check("https://far.example.net", &[("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", list)], None);
        }
        for list in ["", "ample.net", "near.example.net"] {
            check("https://far.example.net", &[("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", list)], Some("p"));
        }
    }
}
