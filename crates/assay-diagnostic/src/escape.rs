//! Untrusted text, made safe to print.
//!
//! One list of unsafe characters, and three ways of showing them: [`escape`] writes their code
//! points, for messages; [`clean`] replaces them by U+FFFD, and tabs by an arrow, for tables, where
//! the number of characters must stay; [`escape_path`] quotes a path as git does.

use std::path::Path;

/// Whether a terminal may act on a character, or a reader not see it: controls, separators of lines
/// and paragraphs, marks that change the direction of text, zero-width and other invisible
/// characters, and tags. (Unicode 16.0 §23.2 and §23.3; UAX #9; Unicode's category Cf but for the
/// signs that some scripts write before numbers.)
pub const fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text on one line, with unsafe characters as `\u{…}`.
pub fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// The sign for a tab, which is part of what a text says where columns are separated by it.
const TAB: char = '\u{21e5}';

/// The text on one line, with U+FFFD for each unsafe character and an arrow for each tab: as many
/// characters as before.
pub fn clean(text: &str) -> String {
    clean_start(text, usize::MAX)
}

/// The first `most` characters of a text, as [`clean`] has them.
pub fn clean_start(text: &str, most: usize) -> String {
    let shown = |c: char| match c {
        '\t' => TAB,
        c if is_unsafe(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().take(most).map(shown).collect()
}

/// A line of code or of a file, as [`clean`] has it, with tabs as wide as four characters.
pub fn clean_code(line: &str) -> String {
    clean(&line.replace('\t', "\t   "))
}

/// A path as printable text of one line.
///
/// A path with unsafe characters, quotes, backslashes or bytes that are not UTF-8 is put in quotes
/// and escaped, as git does; others stay as they are.
pub fn escape_path(path: &Path) -> String {
    let mut text = String::new();
    let mut plain = true;
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            let escaped = match c {
                '"' => "\\\"".to_owned(),
                '\\' => "\\\\".to_owned(),
                '\n' => "\\n".to_owned(),
                '\t' => "\\t".to_owned(),
                '\r' => "\\r".to_owned(),
                c if is_unsafe(c) => octal(c.encode_utf8(&mut [0; 4]).as_bytes()),
                c => {
                    text.push(c);
                    continue;
                }
            };
            plain = false;
            text.push_str(&escaped);
        }
        plain &= chunk.invalid().is_empty();
        text.push_str(&octal(chunk.invalid()));
    }
    if plain { text } else { format!("\"{text}\"") }
}

fn octal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:03o}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters that must not reach a terminal, by kind.
    const HOSTILE: [(&str, &str); 8] = [
        ("escape sequence", "\u{1b}[2J"),
        ("C1 control", "\u{9b}31m"),
        ("bell, tab, line end, delete", "\u{7}\t\r\n\u{7f}\0"),
        ("bidi override and embedding", "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}"),
        ("bidi isolate and marks", "\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}"),
        ("zero width", "\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{180e}\u{ad}"),
        ("separators", "\u{2028}\u{2029}"),
        ("annotations and tags", "\u{fff9}\u{fffb}\u{e0001}\u{e0041}\u{e007f}"),
    ];

    #[test]
    fn all_forms_escape_hostile_text() {
        for (kind, text) in HOSTILE {
            let path = escape_path(Path::new(text));
            for shown in [escape(text), clean(text), clean_start(text, 3), path] {
                assert!(!shown.chars().any(|c| c.is_control() || is_unsafe(c)), "{kind}: {shown:?}");
            }
            assert_eq!(clean(text).chars().count(), text.chars().count(), "{kind}");
        }
        assert!((0..=0x9f_u32).filter_map(char::from_u32).all(|c| c.is_control() == is_unsafe(c)));
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in ["plain — 技能 👍", "naïve café", "עברית", "a\u{a0}b", ""] {
            assert_eq!((escape(text), clean(text)), (text.to_owned(), text.to_owned()));
            assert_eq!(escape_path(Path::new(text)), text);
        }
    }

    #[test]
    fn each_escape_has_its_form() {
        assert_eq!(escape("a\nb\t\u{1b}[31m"), "a\\u{a}b\\u{9}\\u{1b}[31m");
        assert_eq!(escape("\u{202e}\u{2066}\u{200b}\u{e0041}"), "\\u{202e}\\u{2066}\\u{200b}\\u{e0041}");
        assert_eq!(clean("safe\u{202e}txt\u{7}"), "safe\u{fffd}txt\u{fffd}");
        assert_eq!((clean("drift\t14"), clean_code("\tx")), ("drift⇥14".to_owned(), "⇥   x".to_owned()));
        assert_eq!(clean_start("abc\u{200b}def", 4), "abc\u{fffd}");
        assert_eq!(escape_path(Path::new("a \"b\"\n\u{202e}")), "\"a \\\"b\\\"\\n\\342\\200\\256\"");
    }

    #[test]
    fn invalid_utf8_is_escaped() {
        let bytes = b"a\xff\x1bb\xc3";
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(escape(&text), "a\u{fffd}\\u{1b}b\u{fffd}");
        assert_eq!(clean(&text), "a\u{fffd}\u{fffd}b\u{fffd}");
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            let path = Path::new(std::ffi::OsStr::from_bytes(bytes));
            assert_eq!(escape_path(path), "\"a\\377\\033b\\303\"");
        }
    }
}
