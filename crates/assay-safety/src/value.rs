//! Values in a script, without running it: the text, if it is certain, and the taint.

use std::io::Read;

use flate2::read::{GzDecoder, ZlibDecoder};

/// The taint of a value: the origin of its parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taint(u8);

impl Taint {
    /// It came over the network.
    pub(crate) const NETWORK: Self = Self(1);
    /// It was decoded from another form.
    pub(crate) const DECODED: Self = Self(2);
    /// It contains credentials.
    pub(crate) const CREDENTIAL: Self = Self(4);
    /// It is the complete environment.
    pub(crate) const ENVIRONMENT: Self = Self(8);
    /// It came from an unencrypted, numeric, shortened or paste-site URL.
    pub(crate) const UNTRUSTED: Self = Self(16);
    /// It is a complete file with a project's secrets.
    pub(crate) const DOTENV: Self = Self(32);
    /// It is the clipboard, the screen, or an archive of the home folder.
    pub(crate) const PRIVATE: Self = Self(64);
    /// It identifies the machine and its user.
    pub(crate) const MACHINE: Self = Self(128);
    /// It contains a secret: credentials or the environment.
    pub(crate) const SECRET: Self = Self(4 | 8);

    /// Both together.
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Without the flags of `other`.
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether something of `other` is in it.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A value: its text, if known, and its taint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) text: Option<String>,
    pub(crate) taint: Taint,
    /// The parts of a list that are known, for `["a", "b"]` and the like.
    pub(crate) items: Vec<Value>,
    /// The original name: `os.environ`, `process.env`.
    pub(crate) name: Option<String>,
}

/// The longest text that is tracked; longer values are unknown.
pub(crate) const TEXT_CAP: usize = 1 << 16;

impl AsRef<str> for Value {
    fn as_ref(&self) -> &str {
        self.str()
    }
}

impl Value {
    pub(crate) fn known(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { text: (text.len() <= TEXT_CAP).then_some(text), ..Self::default() }
    }

    pub(crate) fn tainted(taint: Taint) -> Self {
        Self { taint, ..Self::default() }
    }

    /// The text, or nothing.
    pub(crate) fn str(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Concatenates values. Unknown parts become a marker that no rule matches.
    pub(crate) fn append(&mut self, other: &Self) {
        self.taint = self.taint.with(other.taint);
        let Some(text) = &mut self.text else { return };
        text.push_str(other.text.as_deref().unwrap_or("\u{fffd}"));
        if text.len() > TEXT_CAP {
            self.text = None;
        }
    }

    /// The same with a decoded text.
    pub(crate) fn decoded(&self, text: Option<String>) -> Self {
        Self {
            text: text.filter(|text| text.len() <= TEXT_CAP),
            taint: self.taint.with(Taint::DECODED),
            ..Self::default()
        }
    }
}

/// Decodes bytes if they are text: UTF-8, or UTF-16 as in PowerShell's encoded commands; few
/// control characters.
fn text_of(bytes: Vec<u8>) -> Option<String> {
    let inflated = inflate(&bytes);
    let bytes = inflated.unwrap_or(bytes);
    let half = bytes.len() / 2;
    if half >= 2
        && bytes.len().is_multiple_of(2)
        && bytes.iter().skip(1).step_by(2).filter(|&&b| b == 0).count() == half
    {
        return Some(bytes.iter().step_by(2).map(|&b| char::from(b)).collect());
    }
    let text = String::from_utf8(bytes).ok()?;
    let odd = text.chars().filter(|c| c.is_control() && !c.is_whitespace()).count();
    (odd * 20 <= text.len()).then_some(text)
}

/// Inflates gzip or zlib data, up to the cap.
pub(crate) fn inflate(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let cap = TEXT_CAP as u64;
    match bytes {
        [0x1f, 0x8b, ..] => GzDecoder::new(bytes).take(cap).read_to_end(&mut out).ok()?,
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => {
            ZlibDecoder::new(bytes).take(cap).read_to_end(&mut out).ok()?
        }
        _ => return None,
    };
    Some(out)
}

/// Base64 (RFC 4648 §4 and §5, white space omitted, padding optional) that decodes to text.
pub(crate) fn base64(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut buffer, mut bits) = (0_u32, 0);
    for b in text.trim().trim_end_matches('=').bytes() {
        let six = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b' ' | b'\n' | b'\r' | b'\t' => continue,
            _ => return None,
        };
        buffer = (buffer << 6) | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((buffer >> bits) & 0xff).unwrap_or(0));
        }
    }
    text_of(bytes)
}

/// Hexadecimal digits, also as `\x..`, `0x..` or `%..`, white space and commas omitted, that spell
/// text.
pub(crate) fn hex(text: &str) -> Option<String> {
    let mut digits = Vec::with_capacity(text.len());
    let cleaned = text.replace("\\x", "").replace("0x", "");
    for b in cleaned.bytes() {
        match b {
            b' ' | b'\n' | b'\r' | b'\t' | b',' | b':' | b'%' => {}
            _ => digits.push(u8::try_from(char::from(b).to_digit(16)?).ok()?),
        }
    }
    if digits.len() < 2 || digits.len() % 2 == 1 {
        return None;
    }
    text_of(digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect())
}

/// Decodes rot13.
pub fn rot13(text: &str) -> String {
    let turn = |c: char, base: u8| char::from(base + (u8::try_from(c).unwrap_or(base) - base + 13) % 26);
    text.chars()
        .map(|c| match c {
            'a'..='z' => turn(c, b'a'),
            'A'..='Z' => turn(c, b'A'),
            _ => c,
        })
        .collect()
}

/// Percent encoding (RFC 3986 §2.1).
pub(crate) fn percent(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let pair = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        if let Some(byte) = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).ok()
}

/// Backslash escapes as C, Python, JavaScript, `printf` and `$'…'` share them: `\n`, `\t`, `\\`,
/// `\x41`, `\101`, `\u0041`, `\u{41}`.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = |text: &str, radix: u32, most: usize| {
            let end = text.bytes().take(most).take_while(|&b| char::from(b).is_digit(radix)).count();
            u32::from_str_radix(&text[..end], radix).ok().and_then(char::from_u32).map(|c| (c, end))
        };
        let mut chars = rest.chars();
        let (c, used) = match chars.next() {
            Some('n') => ('\n', 1),
            Some('t') => ('\t', 1),
            Some('r') => ('\r', 1),
            Some('e') => ('\u{1b}', 1),
            Some('\n') => {
                rest = &rest[1..];
                continue;
            }
            Some('x') => digits(&rest[1..], 16, 2).map_or(('x', 1), |(c, n)| (c, n + 1)),
            Some('u') if rest[1..].starts_with('{') => {
                digits(&rest[2..], 16, 6).map_or(('u', 1), |(c, n)| (c, (n + 3).min(rest.len())))
            }
            Some('u') => digits(&rest[1..], 16, 4).map_or(('u', 1), |(c, n)| (c, n + 1)),
            Some('U') => digits(&rest[1..], 16, 8).map_or(('U', 1), |(c, n)| (c, n + 1)),
            Some('0'..='7') => {
                let most = if rest.starts_with('0') { 4 } else { 3 };
                digits(rest, 8, most).unwrap_or(('\u{fffd}', 1))
            }
            Some(other) => (other, other.len_utf8()),
            None => ('\\', 0),
        };
        out.push(c);
        rest = rest.get(used..).unwrap_or_default();
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoders_agree_with_known_vectors() {
        // RFC 4648 §10.
        assert_eq!(base64("Zm9vYmFy").as_deref(), Some("foobar"));
        assert_eq!(base64("Zm9vYg==").as_deref(), Some("foob"));
        assert_eq!(base64("Zm9v*"), None);
        assert_eq!(hex("666f6f").as_deref(), Some("foo"));
        assert_eq!(hex("\\x66\\x6f").as_deref(), Some("fo"));
        assert_eq!(hex("66f"), None);
        assert_eq!(rot13("Hello, 1"), "Uryyb, 1");
        assert_eq!(percent("a%20b%2").as_deref(), Some("a b%2"));
        assert_eq!(unescape(r"\x41\102\n\u0043\u{44}\\\q"), "AB\nCD\\q");
        assert_eq!(unescape("\\"), "\\");
        assert_eq!(unescape("\\u{"), "u{");
    }
}
