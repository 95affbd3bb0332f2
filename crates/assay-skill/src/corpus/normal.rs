//! What of a document counts when documents are compared: its body without front matter, lower
//! case, and nothing but letters and digits.

/// The text in front of the body, between a first line `---` and the next such line, without the
/// lines; and the body. No front matter, or one that is never closed, leaves the whole text as the
/// body.
pub fn split(text: &str) -> (Option<&str>, &str) {
    let start = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = fence(start) else { return (None, text) };
    let mut at = 0;
    while at < rest.len() {
        if let Some(body) = fence(&rest[at..]) {
            return (Some(&rest[..at]), body);
        }
        at += rest[at..].find('\n').map_or(rest.len() - at, |line| line + 1);
    }
    (None, text)
}

/// What follows a line of three dashes and white space.
fn fence(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("---")?;
    let line = rest.split('\n').next().unwrap_or_default();
    let tail = rest.get(line.len() + 1..).unwrap_or_default();
    line.trim().is_empty().then_some(tail)
}

/// Calls `push` with the bytes of the text's letters and digits in lower case.
fn each(text: &str, mut push: impl FnMut(&[u8])) {
    let mut buffer = [0; 4];
    for c in text.chars() {
        if c.is_ascii() {
            if c.is_ascii_alphanumeric() {
                // An ASCII letter is one byte.
                push(c.to_ascii_lowercase().encode_utf8(&mut buffer).as_bytes());
            }
        } else if c.is_alphanumeric() {
            for lower in c.to_lowercase().filter(|c| c.is_alphanumeric()) {
                push(lower.encode_utf8(&mut buffer).as_bytes());
            }
        }
    }
}

/// The letters and digits of a text in lower case.
pub fn fold(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    each(text, |piece| bytes.extend_from_slice(piece));
    // Pieces are complete characters.
    String::from_utf8(bytes).unwrap_or_default()
}

/// 128 bits of the BLAKE3 hash of [`fold`]: any two of a billion texts share them with a
/// probability under 10^-20.
pub fn hash(text: &str) -> [u8; 16] {
    short(fold(text).as_bytes())
}

/// The same for a name and a description, which stay separate.
pub fn hash_pair(name: &str, description: &str) -> [u8; 16] {
    let mut joined = fold(name).into_bytes();
    joined.push(b'|');
    joined.extend_from_slice(fold(description).as_bytes());
    short(&joined)
}

fn short(bytes: &[u8]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    half
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn front_matter_is_split_off() {
        let check = |text: &str, front: Option<&str>, body: &str| {
            assert_eq!(split(text), (front, body), "{text:?}");
        };
        check("", None, "");
        check("---", None, "---");
        check("body", None, "body");
        check("---\na: b\n---\nbody", Some("a: b\n"), "body");
        check("---\n---\n", Some(""), "");
        check("---\r\na: b\r\n---\r\nbody", Some("a: b\r\n"), "body");
        check("\u{feff}---  \na: b\n---", Some("a: b\n"), "");
        check("---\na: b --- c\n--- x\n---\nbody", Some("a: b --- c\n--- x\n"), "body");
        check("---\na: b\n", None, "---\na: b\n");
        check("----\na: b\n----\n", None, "----\na: b\n----\n");
    }

    #[test]
    fn folding_keeps_letters_and_digits() {
        let check = |text: &str, expected: &str| assert_eq!(fold(text), expected);
        check("", "");
        check("# Export the LEDGER, v2.\n", "exporttheledgerv2");
        check("Größe 技能 İx", "größe技能ix");
    }

    proptest! {
        #[test]
        fn folding_is_idempotent_and_ignores_case_and_punctuation(text in "\\PC{0,80}") {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once.clone());
            prop_assert_eq!(fold(&text.replace([' ', '-', '.', '#'], "")), once.clone());
            prop_assert!(once.chars().all(char::is_alphanumeric));
        }

        #[test]
        fn splitting_removes_only_fences(text in "(---|\n|[a-z: ]|\r){0,30}") {
            let (front, body) = split(&text);
            match front {
                None => prop_assert_eq!(body, text.as_str()),
                Some(front) => {
                    prop_assert!(text.ends_with(body));
                    prop_assert!(text.contains(front));
                    prop_assert!(text.starts_with("---"));
                }
            }
        }
    }
}
