//! Keys in a package.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::paths::regex;
use super::rule::declare_rules;
use super::site::{Scan, Site};

declare_rules! {
    SECRET_KEY = "secret-key", Secret, Error, "The package contains a key in a known format.",
        Secret ["akia", "asia", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-",
            "xoxs-", "sk-ant-", "sk-proj-", "sk_live_", "rk_live_", "aiza", "ya29.", "-----begin", "npm_", "pypi-", "hf_",
            "sg.", "dckr_pat_", "shpat_", "dop_v1_", "lin_api_", "eyj", "sk-", "key-"];
    SECRET_ASSIGNED = "secret-assigned", Secret, Warning, "A variable named like a secret has a random-looking value.",
        Secret ["secret", "passw", "token", "api_key", "apikey", "api-key"];
}

/// Formats that their issuers document, so that a match is a key or an imitation of one.
static FORMATS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", "an AWS access key"),
        (r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b", "a GitHub token"),
        (r"\bglpat-[A-Za-z0-9_-]{20,}\b", "a GitLab token"),
        (r"\bxox[abps]-[0-9]{8,}-[0-9A-Za-z-]{16,}\b", "a Slack token"),
        (r"\bsk-ant-(?:api|admin)\d\d-[A-Za-z0-9_-]{80,}", "an Anthropic key"),
        (r"\bsk-proj-[A-Za-z0-9_-]{40,}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b", "an OpenAI key"),
        (r"\b[rs]k_live_[A-Za-z0-9]{24,}\b", "a live Stripe key"),
        (r"\bAIza[A-Za-z0-9_-]{35}\b", "a Google key"),
        (r"\bnpm_[A-Za-z0-9]{36}\b", "an npm token"),
        (r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}", "a PyPI token"),
        (r"\bhf_[A-Za-z0-9]{34}\b", "a Hugging Face token"),
        (r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b", "a SendGrid key"),
        (r"\bdckr_pat_[A-Za-z0-9_-]{27}\b", "a Docker Hub token"),
        (r"\bdop_v1_[a-f0-9]{64}\b", "a DigitalOcean token"),
        (r"-----BEGIN (?:RSA |EC |OPENSSH |DSA |ENCRYPTED )?PRIVATE KEY-----\s+(?:[A-Za-z0-9+/=]{40,}\s+){2,}", "a private key"),
    ]
    .into_iter()
    .map(|(pattern, what)| (regex(pattern), what))
    .collect()
});

static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)\b[\w-]*(?:secret|token|passw(?:or)?d|api[_-]?key|access[_-]?key)[\w-]*["']?\s*(?:=|:|=>)\s*["']([A-Za-z0-9+/_=.-]{24,200})["']"#,
    )
});

/// Searches for keys.
pub(crate) fn scan(scan: &mut Scan, site: &Site<'_>, text: &str) {
    for (format, what) in FORMATS.iter() {
        for found in format.find_iter(text).take(10) {
            if !placeholder(found.as_str()) && !exemplary(text, found.start()) {
                scan.report(
                    site,
                    &SECRET_KEY,
                    found.range(),
                    format!(
                        "{what} that starts with `{}`",
                        found.as_str().chars().take(8).collect::<String>()
                    ),
                );
            }
        }
    }
    for found in ASSIGNED.captures_iter(text).take(50) {
        if let Some(value) = found.get(1)
            && random(value.as_str())
            && !placeholder(value.as_str())
        {
            scan.report(
                site,
                &SECRET_ASSIGNED,
                value.range(),
                format!("a value of {} random-looking characters", value.len()),
            );
        }
    }
}

/// Whether a key is an obvious placeholder, or counts up.
fn placeholder(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let says = [
        "example",
        "xxxx",
        "your",
        "placeholder",
        "dummy",
        "fake",
        "sample",
        "redacted",
        "test",
        "changeme",
        "replace",
        "insert",
        "1234567",
        "abcdef",
        "0000000",
        "deadbeef",
        "process.env",
        "secret",
        "todo",
        "demo",
        "mock",
    ];
    says.iter().any(|word| lower.contains(word)) || entropy(key) < 2.8
}

/// Whether the words before a key on its line call it an example.
fn exemplary(text: &str, at: usize) -> bool {
    static EXAMPLE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(?:examples?|e\.g\.|sample|placeholder|format|looks? like|dummy|fake|such as)\b[^\n]{0,30}$",
        )
    });
    let from = super::unicode::floor(text, at.saturating_sub(80));
    EXAMPLE.is_match(&text[from..at])
}

/// Letters and digits without order: Shannon's entropy per character of at least 3.8 bit, digits
/// and both cases.
fn random(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(&test);
    let words = value
        .split(['-', '_', '.', '/'])
        .filter(|part| part.len() > 3 && part.bytes().all(|b| b.is_ascii_alphabetic()))
        .count();
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && entropy(value) >= 3.8
        && words < 2
}

/// Shannon's entropy of the characters, in bit.
fn entropy(text: &str) -> f64 {
    let mut counts: BTreeMap<u8, u32> = BTreeMap::new();
    for b in text.bytes() {
        *counts.entry(b).or_default() += 1;
    }
    let n = text.len() as f64;
    counts.values().map(|&count| f64::from(count) / n).map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_distinguished_from_placeholders() {
        let check = |text: &str, expected: &[&str]| {
            let mut found = Scan::new(&crate::SCANNERS);
            scan(&mut found, &Site::of("x"), text);
            let codes: Vec<_> = found.findings.iter().map(|finding| finding.rule.code).collect();
            assert_eq!(codes, expected, "{text:?}");
        };
        check("AKIAQ3XWZ7LJ5VNM2RTK", &["secret-key"]);
        check("AKIAIOSFODNN7EXAMPLE", &[]);
        check("For example: AKIAQ3XWZ7LJ5VNM2RTK", &[]);
        check("token = \"q8Zr2LmX0vT5bKd9WcYh3JfA7s\"", &["secret-assigned"]);
        check("token = \"YOUR_ACCESS_TOKEN_GOES_HERE_1\"", &[]);
        check("api_key: \"${OPENAI_API_KEY}\"", &[]);
    }

    #[test]
    fn entropy_is_shannons() {
        assert!((entropy("aabb") - 1.0).abs() < 1e-12);
        assert!((entropy("abcd") - 2.0).abs() < 1e-12);
        assert!(entropy("aaaa").abs() < 1e-12);
    }
}
