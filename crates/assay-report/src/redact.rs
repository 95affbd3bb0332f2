//! Removes secrets from published text.

/// The replacement of a secret.
const MARK: &str = "[redacted]";

/// How keys of known providers begin, and how long they are at the least.
const PREFIXES: [(&str, usize); 16] = [
    ("sk-", 20),
    ("sk_live_", 20),
    ("rk_live_", 20),
    ("ghp_", 36),
    ("gho_", 36),
    ("ghu_", 36),
    ("ghs_", 36),
    ("ghr_", 36),
    ("github_pat_", 40),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AKIA", 20),
    ("AIza", 35),
    ("hf_", 30),
    ("npm_", 36),
];

/// Takes the known values out, and what looks like a key of a known provider or a signed token.
pub fn redact(text: &str, known: &[String]) -> String {
    let mut text = text.to_owned();
    for value in known.iter().filter(|value| value.len() >= 8) {
        text = text.replace(value.as_str(), MARK);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        clean.push_str(if is_secret(word) { MARK } else { word });
        let next = after.chars().next().map_or(0, char::len_utf8);
        clean.push_str(&after[..next]);
        rest = &after[next..];
    }
    clean
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn is_secret(word: &str) -> bool {
    let keyed = PREFIXES.iter().any(|(prefix, least)| {
        word.len() >= *least
            && word.starts_with(prefix)
            && word[prefix.len()..].chars().any(|c| c.is_ascii_digit())
    });
    let signed = word.len() > 40 && word.starts_with("eyJ") && word.matches('.').count() == 2;
    keyed || signed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_redacted_and_words_kept() {
        let check =
            |text: &str, expected: &str| assert_eq!(redact(text, &["hunter2hunter2".to_owned()]), expected);
        check("key sk-abcdefghij0123456789, then", "key [redacted], then");
        check("ghp_0123456789abcdefghij0123456789abcdef", "[redacted]");
        check("AKIA0123456789ABCDEF", "[redacted]");
        check("pass=hunter2hunter2;", "pass=[redacted];");
        check("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", "[redacted]");
        // Neither short nor ordinary words are keys.
        check(
            "sk-learn, task sk-short1, and desk-top-publishing-2",
            "sk-learn, task sk-short1, and desk-top-publishing-2",
        );
        check("sk-a-long-name-without-any-number", "sk-a-long-name-without-any-number");
        check("blake3:1f2e Größe 技能", "blake3:1f2e Größe 技能");
    }
}
