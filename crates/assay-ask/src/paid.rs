//! Whether somebody bills for a model.

use std::net::IpAddr;

use assay_model::Price;

/// Whether somebody bills for a model, which may be reached at another address. Every remote one is taken to cost money,
/// and at an address of this machine one that the user gives a price: there may be a tunnel or a proxy behind it. `env`
/// looks up the variables with the providers' addresses.
pub fn is_paid(
    model: &str,
    base_url: Option<&str>,
    price: Option<Price>,
    env: &dyn Fn(&str) -> Option<String>,
) -> bool {
    let variable = match model.split_once(':').map(|(provider, _)| provider) {
        Some("openai") => "OPENAI_BASE_URL",
        Some("anthropic") => "ANTHROPIC_BASE_URL",
        Some("gemini") => "GOOGLE_GEMINI_BASE_URL",
        _ => return false,
    };
    let address = base_url.map(str::to_owned).or_else(|| env(variable)).unwrap_or_default();
    !is_local(&address) || price.is_some_and(|price| price.input > 0.0 || price.output > 0.0)
}

/// Whether an address names this machine.
fn is_local(address: &str) -> bool {
    let rest = address.split("://").nth(1).unwrap_or_default();
    let host = match rest.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => rest.split([':', '/']).next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use assay_model::Price;

    use super::{is_local, is_paid};

    #[test]
    fn a_model_with_a_price_is_paid_at_any_address() {
        let priced = Some(Price::new(2.0, 8.0, None, None));
        let free = Some(Price::new(0.0, 0.0, None, None));
        let (here, there) = (Some("http://127.0.0.1:8000/v1"), Some("https://api.example.net/v1"));
        for (model, address, price, expected) in [
            ("openai:a", here, None, false),
            ("openai:a", here, free, false),
            ("openai:a", here, priced, true),
            ("openai:a", there, None, true),
            ("openai:a", there, free, true),
            ("scripted:turns.jsonl", None, priced, false),
        ] {
            assert_eq!(
                is_paid(model, address, price, &|_| None),
                expected,
                "{model} at {address:?}, {price:?}"
            );
        }
        let local = |name: &str| (name == "OPENAI_BASE_URL").then(|| "http://localhost:1/v1".to_owned());
        assert!(!is_paid("openai:a", None, None, &local));
        assert!(is_paid("gemini:a", None, None, &local));
    }

    #[test]
    fn only_this_machine_is_local() {
        for (address, expected) in [
            ("http://127.0.0.1:11434/v1", true),
            ("http://127.8.0.1", true),
            ("http://localhost/v1", true),
            ("http://[::1]:8080", true),
            ("https://localhost.example.net/v1", false),
            ("https://127.example.net", false),
            ("http://10.0.0.1:8000", false),
            ("https://api.example.net", false),
            ("", false),
        ] {
            assert_eq!(is_local(address), expected, "{address}");
        }
    }
}
