//! The front matter of a placebo, as YAML that any parser reads back.

use serde_json::{Map, Value};

/// Keys that change what a client does with a skill rather than its text. They are kept with their
/// values, so that the arms differ in the text only.
pub(super) const CLIENT_KEYS: [&str; 8] = [
    "allowed-tools",
    "disallowed-tools",
    "disable-model-invocation",
    "user-invocable",
    "model",
    "effort",
    "context",
    "agent",
];

/// The most characters of all kept values; longer ones are prose and are dropped.
const KEPT_LENGTH: usize = 1024;

/// Writes the front matter, its fences included.
pub(super) fn front_matter(name: &str, description: &str, original: &Map<String, Value>) -> String {
    let mut out = format!("---\nname: {}\ndescription: {}\n", scalar(name), scalar(description));
    for key in CLIENT_KEYS {
        match original.get(key) {
            Some(Value::String(text)) if text.len() <= KEPT_LENGTH => {
                out.push_str(&format!("{key}: {}\n", scalar(text)));
            }
            Some(Value::Bool(value)) => out.push_str(&format!("{key}: {value}\n")),
            Some(Value::Array(items)) => {
                let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
                if !items.is_empty() && items.iter().map(|item| item.len()).sum::<usize>() <= KEPT_LENGTH {
                    out.push_str(&format!("{key}:\n"));
                    for item in items {
                        out.push_str(&format!("  - {}\n", scalar(item)));
                    }
                }
            }
            _ => {}
        }
    }
    out.push_str("---\n");
    out
}

/// A text as a YAML scalar on one line: plain if that is safe, else in double quotes.
fn scalar(text: &str) -> String {
    // Words that some version of YAML reads as something other than a text.
    const RESERVED: [&str; 10] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n", "inf"];
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | ',' | '.' | '-' | '_'))
        && !text.ends_with(' ')
        && !text.contains("--")
        && text != "nan"
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str());
    if plain {
        return text.to_owned();
    }
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            // Three dashes in a row would end the front matter for simple parsers.
            '-' if out.ends_with("--") => out.push_str("\\x2d"),
            ' '..='~' => out.push(c),
            _ if c.is_alphanumeric() && u32::from(c) < 0x1_0000 => out.push(c),
            _ if u32::from(c) < 0x1_0000 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parse(front_matter: &str) -> Value {
        let yaml = front_matter.strip_prefix("---\n").unwrap().strip_suffix("---\n").unwrap();
        serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
    }

    #[test]
    fn scalars_are_plain_if_safe() {
        let check = |text, expected: &str| assert_eq!(scalar(text), expected);
        check("ledger-export", "ledger-export");
        check("Yes", "\"Yes\"");
        check("1e3", "\"1e3\"");
        check("a: b", "\"a: b\"");
        check("", "\"\"");
        check("a---b", "\"a--\\x2db\"");
        check("été\n😀", "\"été\\n\\U0001f600\"");
    }

    #[test]
    fn only_client_keys_are_kept() {
        let original = json!({
            "name": "x", "license": "MIT", "allowed-tools": ["Bash(git:*)", "Read"], "model": "small", "user-invocable": false,
            "metadata": {"author": "somebody"}, "context": "x".repeat(2000), "agent": {"a": 1},
        });
        let made = parse(&front_matter("ledger", "Musings.", original.as_object().unwrap()));
        let expected = json!({
            "name": "ledger", "description": "Musings.", "allowed-tools": ["Bash(git:*)", "Read"], "user-invocable": false, "model": "small",
        });
        assert_eq!(made, expected);
    }

    proptest! {
        #[test]
        fn any_name_is_read_back(name in "\\PC*|[-\\s\\x00-\\x7f\u{85}\u{2028}\u{feff}]{0,20}|(?s:.{0,20})") {
            let made = parse(&front_matter(&name, "Musings.", &Map::new()));
            prop_assert_eq!(&made["name"], &Value::String(name));
        }
    }
}
