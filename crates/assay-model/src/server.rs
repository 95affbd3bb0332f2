//! The server behind a model, as an experiment declares it: part of what a trial is.
//!
//! The same model name means another model at another server: a mock, another quantization, another vendor. A
//! server is identified by a name that the experiment gives it, else by its address in a normal form.

use std::net::Ipv6Addr;

use ureq::http::Uri;

use crate::endpoint::{Service, address, declared};
use crate::{ModelError, anthropic, gemini, openai};

/// Most characters of a server's name.
const NAME_CAP: usize = 80;

/// The address of a model's server in its normal form: that of the experiment, else of the provider's variable,
/// else the provider's own. `None` for scripts.
///
/// # Errors
/// An address that is none, or contains credentials or a query.
pub fn server(
    model: &str,
    base_url: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, ModelError> {
    let service: &Service = match model.split_once(':').map(|(provider, _)| provider) {
        Some("openai") => &openai::SERVICE,
        Some("anthropic") => &anthropic::SERVICE,
        Some("gemini") => &gemini::SERVICE,
        _ => return Ok(None),
    };
    let (base, origin) = declared(service, base_url, env);
    normalize_address(&base, origin).map(Some)
}

/// A server as a user writes it: a name as it is, an address in its normal form.
///
/// # Errors
/// Neither a name nor an address without credentials and query.
pub fn normalize_server(text: &str) -> Result<String, ModelError> {
    let text = text.trim();
    if is_server_name(text) { Ok(text.to_owned()) } else { normalize_address(text, "the server") }
}

/// Whether a text can be the name of a server: letters, digits, `-`, `_` and `.`, at most 80. No address is one.
pub fn is_server_name(text: &str) -> bool {
    text.len() <= NAME_CAP
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Scheme and host in lower case, no port that the scheme implies, no final slashes (RFC 3986, section 6.2).
/// `localhost` is 127.0.0.1.
fn normalize_address(base: &str, origin: &str) -> Result<String, ModelError> {
    let uri: Uri = address(base.trim().trim_end_matches('/'), origin)?;
    let scheme = uri.scheme_str().unwrap_or_default().to_ascii_lowercase();
    let host = uri.host().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let host = match bare.parse::<Ipv6Addr>() {
        Ok(ip) => format!("[{ip}]"),
        Err(_) if host == "localhost" => "127.0.0.1".to_owned(),
        Err(_) => host,
    };
    let implied = if scheme == "https" { 443 } else { 80 };
    let port =
        uri.port_u16().filter(|port| *port != implied).map_or(String::new(), |port| format!(":{port}"));
    Ok(format!("{scheme}://{host}{port}{}", uri.path().trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_server_are_equal() {
        let check = |spellings: &[&str], expected: &str| {
            for text in spellings {
                assert_eq!(normalize_server(text).unwrap(), expected, "{text}");
                let declared = server("openai:m", Some(text), &|_| None).unwrap();
                assert_eq!(declared.as_deref(), Some(expected), "{text}");
            }
        };
        check(
            &[
                "http://127.0.0.1:8000/v1",
                "HTTP://127.0.0.1:8000/v1/",
                "http://localhost:8000/v1",
                "http://LocalHost:8000/v1//",
                " http://localhost.:8000/v1 ",
            ],
            "http://127.0.0.1:8000/v1",
        );
        check(
            &["https://API.Example.com", "https://api.example.com:443/", "https://api.example.com."],
            "https://api.example.com",
        );
        check(&["http://h:80/x", "http://h/x/"], "http://h/x");
        check(&["http://h:443"], "http://h:443");
        check(&["http://[::1]:11434/v1", "http://[0:0:0:0:0:0:0:1]:11434/v1/"], "http://[::1]:11434/v1");
        check(&["http://h/V1"], "http://h/V1");
        let own = |model: &str| server(model, None, &|_| None).unwrap();
        assert_eq!(
            own("openai:m"),
            server("openai:m", Some("https://API.openai.com:443/v1/"), &|_| None).unwrap()
        );
        assert_eq!(own("anthropic:m").as_deref(), Some("https://api.anthropic.com"));
        assert_eq!(own("gemini:m").as_deref(), Some("https://generativelanguage.googleapis.com"));
        assert_eq!((own("scripted:x.jsonl"), own("nothing")), (None, None));
        // A variable declares an address as well, and the experiment's own comes first.
        let env = |name: &str| (name == "OPENAI_BASE_URL").then(|| "http://Mine:8000/v1/".to_owned());
        assert_eq!(server("openai:m", None, &env).unwrap().as_deref(), Some("http://mine:8000/v1"));
        assert_eq!(server("openai:m", Some("http://x"), &env).unwrap().as_deref(), Some("http://x"));
    }

    #[test]
    fn names_are_no_addresses_and_secrets_are_refused() {
        for name in ["lab", "vllm-a100", "a.b_c-1"] {
            assert!(is_server_name(name) && normalize_server(name).unwrap() == name, "{name}");
        }
        for (text, expected) in [
            ("http://user:s3cret@h/v1", "has credentials in it"),
            ("https://s3cret@h", "has credentials in it"),
            ("http://h/v1?key=s3cret", "has a query"),
            ("ftp://h", "does not begin with http:// or https://"),
            ("a b", "is not a URL"),
            ("", "is not a URL"),
        ] {
            for error in
                [normalize_server(text).unwrap_err(), server("openai:m", Some(text), &|_| None).unwrap_err()]
            {
                let error = error.to_string();
                assert!(error.contains(expected) && !error.contains("s3cret"), "{text}: {error}");
            }
        }
    }
}
