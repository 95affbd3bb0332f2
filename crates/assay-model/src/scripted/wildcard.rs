//! Names with `*`.

/// Whether `pattern` matches the whole of `text`. `*` matches any sequence of characters, also an
/// empty one.
///
/// Greedy, with one position for backtracking: the time is at most the product of the lengths.
pub(crate) fn covers(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                back = Some((p + 1, t));
                p += 1;
            }
            Some(byte) if Some(byte) == text.get(t) => {
                p += 1;
                t += 1;
            }
            _ => match back {
                // The last star matches one more byte.
                Some((after, from)) => {
                    back = Some((after, from + 1));
                    p = after;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_any_sequence() {
        let check = |pattern: &str, text: &str, expected: bool| {
            assert_eq!(covers(pattern, text), expected, "{pattern} against {text}");
        };
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "x"),
            ("ledger", "ledger"),
            ("ledger-*", "ledger-export"),
            ("ledger-*", "ledger-"),
            ("*-export", "ledger-export"),
            ("a*b*c", "a-b-b-c"),
            ("**a**", "a"),
            ("*ab", "aab"),
            ("ä*", "äö"),
        ] {
            check(pattern, text, true);
        }
        for (pattern, text) in [
            ("", "x"),
            ("ledger", "ledger-export"),
            ("ledger-*", "ledger"),
            ("a*b*c", "a-c-b"),
            ("?", "x"),
            ("A", "a"),
        ] {
            check(pattern, text, false);
        }
        check(&"*a".repeat(2_000), &"a".repeat(1_999), false);
    }
}
