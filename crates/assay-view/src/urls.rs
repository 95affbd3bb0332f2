//! Addresses of pages. Every page has a path that ends with a slash and needs no query, so that the same
//! pages can be written to a folder.

use std::fmt::Write as _;

use assay_store::TrialId;

/// Characters of a check's name that identify it: reports have no more.
const CHECK_NAME: usize = 200;

/// A segment of a path, percent-encoded.
pub(crate) fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// The text of an encoded segment; `None` if it is not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let encoded = |rest: &mut std::str::Bytes<'_>| {
            let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            Some(16 * digit(rest.next()?)? + digit(rest.next()?)?)
        };
        bytes.push(match byte {
            b'%' => encoded(&mut rest)?,
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The value of a field of a query; `None` if it is missing or empty.
pub(crate) fn field(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    decode(value).filter(|value| !value.is_empty())
}

pub(crate) fn run(run: &str) -> String {
    format!("/runs/{}/", segment(run))
}

pub(crate) fn trials(run: &str) -> String {
    format!("/runs/{}/trials/", segment(run))
}

pub(crate) fn cell(run: &str, cell: usize) -> String {
    format!("/runs/{}/cells/{cell}/", segment(run))
}

pub(crate) fn comparison(run: &str, number: usize) -> String {
    format!("/runs/{}/comparisons/{number}/", segment(run))
}

pub(crate) fn trial(run: &str, trial: &TrialId) -> String {
    format!("/runs/{}/trials/{trial}/", segment(run))
}

pub(crate) fn pairs(run: &str) -> String {
    format!("/runs/{}/pairs/", segment(run))
}

pub(crate) fn pair(run: &str, first: &TrialId, second: &TrialId) -> String {
    format!("/runs/{}/pairs/{first}/{second}/", segment(run))
}

pub(crate) fn skill(run: &str, digest: &str) -> String {
    format!("/runs/{}/skills/{}/", segment(run), segment(digest))
}

pub(crate) fn compare(first: &str, second: &str) -> String {
    format!("/compare/{}/{}/", segment(first), segment(second))
}

/// The page of a sheet.
pub(crate) fn sheet(sheet: &str) -> String {
    format!("/review/{}/", segment(sheet))
}

/// An annotator's page of a sheet.
pub(crate) fn annotator(sheet: &str, annotator: &str) -> String {
    format!("/review/{}/{}/", segment(sheet), segment(annotator))
}

/// An item of a sheet, by its place from 1.
pub(crate) fn sheet_item(sheet: &str, annotator: &str, number: usize) -> String {
    format!("/review/{}/{}/{number}/", segment(sheet), segment(annotator))
}

/// The anchor of a check of the verifier: the same on every page, without its place among the checks
/// being known. FNV-1a (Fowler, Noll and Vo), 64 bits.
pub(crate) fn check_anchor(check: &str) -> String {
    let name: String = check.chars().take(CHECK_NAME).collect();
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("check-{:016x}", name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_round_trip() {
        let check = |text: &str, expected: &str| {
            assert_eq!(segment(text), expected);
            assert_eq!(decode(expected).as_deref(), Some(text));
        };
        check("a-b_c.d~1", "a-b_c.d~1");
        check("blake3:ab", "blake3%3Aab");
        check("<é> /", "%3C%C3%A9%3E%20%2F");
        assert_eq!(decode("%zz"), None);
        assert_eq!(decode("%f"), None);
        assert_eq!(decode("%ff"), None);
    }

    #[test]
    fn fields_are_found_by_name() {
        let check = |query: &str, expected: Option<&str>| assert_eq!(field(query, "q").as_deref(), expected);
        check("q=a+b&x=1", Some("a b"));
        check("x=1&q=%3C", Some("<"));
        check("q=", None);
        check("qq=1", None);
        check("", None);
    }

    #[test]
    fn anchors_are_those_of_fnv_1a() {
        // Test vectors of the authors' reference implementation.
        assert_eq!(check_anchor(""), "check-cbf29ce484222325");
        assert_eq!(check_anchor("foobar"), "check-85944171f73967e8");
    }
}
