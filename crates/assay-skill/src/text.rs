//! Bytes that claim to be text.

/// How bytes had to be read to become text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Valid UTF-8.
    Utf8,
    /// UTF-16, known by its byte-order mark or by its zero bytes.
    Utf16,
    /// Not UTF-8 from this line (from 1) on: invalid bytes became U+FFFD.
    Invalid {
        /// The first line that contains something invalid.
        line: usize,
    },
}

/// Text, and how it was got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text, without a byte-order mark.
    pub text: String,
    /// How the bytes were read.
    pub encoding: Encoding,
    /// Whether a byte-order mark was removed.
    pub byte_order_mark: bool,
}

/// Decodes bytes: UTF-16 if a mark or the zero bytes indicate it, else UTF-8 with invalid sequences
/// replaced.
pub fn decode(bytes: &[u8]) -> Decoded {
    if let Some((rest, unit)) = utf16(bytes) {
        let units = rest.chunks(2).map(|pair| unit([pair[0], pair.get(1).copied().unwrap_or(0)]));
        let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        return Decoded { text, encoding: Encoding::Utf16, byte_order_mark: rest.len() != bytes.len() };
    }
    let rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let encoding = match std::str::from_utf8(rest) {
        Ok(_) => Encoding::Utf8,
        Err(error) => {
            Encoding::Invalid { line: rest[..error.valid_up_to()].split(|&byte| byte == b'\n').count() }
        }
    };
    let text = String::from_utf8_lossy(rest).into_owned();
    Decoded { text, encoding, byte_order_mark: rest.len() != bytes.len() }
}

type Unit = fn([u8; 2]) -> u16;

/// The bytes after a mark, and how two of them make a unit, if they look like UTF-16. Without a
/// mark: of the first 64 bytes, at least 9 of 10 at odd (or at even) positions are zero, and none
/// at the others.
fn utf16(bytes: &[u8]) -> Option<(&[u8], Unit)> {
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return Some((rest, u16::from_le_bytes));
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return Some((rest, u16::from_be_bytes));
    }
    let head = &bytes[..bytes.len().min(64)];
    let zeros = |from: usize| head.iter().skip(from).step_by(2).filter(|&&byte| byte == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), head.len() / 2);
    match (half >= 4, even, odd) {
        (true, 0, odd) if odd * 10 >= half * 9 => Some((bytes, u16::from_le_bytes)),
        (true, even, 0) if even * 10 >= half * 9 => Some((bytes, u16::from_be_bytes)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text() {
        let check = |bytes: &[u8], text: &str, encoding, mark| {
            let byte_order_mark = mark;
            assert_eq!(decode(bytes), Decoded { text: text.into(), encoding, byte_order_mark }, "{bytes:?}");
        };
        check(b"", "", Encoding::Utf8, false);
        check("é\r\n".as_bytes(), "é\r\n", Encoding::Utf8, false);
        check(b"\xef\xbb\xbf---", "---", Encoding::Utf8, true);
        check(b"a\nb\ncaf\xe9\n", "a\nb\ncaf\u{fffd}\n", Encoding::Invalid { line: 3 }, false);
        check(b"\xff\xfea\0b\0", "ab", Encoding::Utf16, true);
        check(b"\xfe\xff\0a\0b", "ab", Encoding::Utf16, true);
        check(b"-\0-\0-\0\n\0x\0", "---\nx", Encoding::Utf16, false);
        check(b"\0-\0-\0-\0\n\0x", "---\nx", Encoding::Utf16, false);
        check(b"\xff\xfea\0b", "ab", Encoding::Utf16, true);
        check(b"\xff\xfe\0\xd8", "\u{fffd}", Encoding::Utf16, true);
        check(b"a\0b", "a\0b", Encoding::Utf8, false);
    }
}
