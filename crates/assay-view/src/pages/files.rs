//! Styles, the script, and files of attempts. What came out of a sandbox is only ever sent as a download,
//! or as an image whose bytes begin as those of its type.

use std::path::Path;

use assay_report::{PAIR_STYLE, report_style};
use assay_store::TrialId;

use crate::attempt::Attempt;
use crate::reply::Content;
use crate::site::Site;

/// The style of navigation, lists and trials.
const VIEW: &str = include_str!("../../static/view.css");

const SCRIPT: &str = include_str!("../../static/view.js");

/// Two bars: without and with.
const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><path fill=\"#57606a\" d=\"M2 9h5v6H2z\"/>\
                    <path fill=\"#1f5aa0\" d=\"M9 1h5v14H9z\"/></svg>";

/// Largest image on a page, in bytes.
const IMAGE_CAP: usize = 10 << 20;

/// A file of the pages themselves.
pub(super) fn asset(name: &str) -> Option<Content> {
    match name {
        "view.css" => Some(Content::Static("text/css; charset=utf-8", format!("{}\n{VIEW}", report_style()))),
        "pair.css" => Some(Content::Static("text/css; charset=utf-8", format!("{PAIR_STYLE}\n{VIEW}"))),
        "icon.svg" => Some(Content::Static("image/svg+xml", ICON.to_owned())),
        "view.js" => Some(Content::Static("text/javascript; charset=utf-8", SCRIPT.to_owned())),
        _ => None,
    }
}

/// The number of an attempt.
pub(super) fn attempt(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

/// A file of an attempt, by its number in the list of files.
pub(super) fn file(site: &Site, trial: &TrialId, attempt: u32, at: usize, is_image: bool) -> Option<Content> {
    let attempt = Attempt::new(&site.store, trial, attempt);
    let file = attempt.files().into_iter().nth(at)?;
    let bytes = attempt.bytes(&file.path)?;
    if is_image {
        return image_type(&bytes).map(|kind| Content::Image(kind, bytes));
    }
    // Texts are redacted like pages.
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => site.redact(&text).into_bytes(),
        Err(error) => error.into_bytes(),
    };
    Some(Content::Attachment(download_name(&file.path), bytes))
}

/// The type of an image that browsers show without running anything.
pub(super) fn image_type(bytes: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &'static str); 4] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
    ];
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let found = kinds.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind);
    found.or(is_webp.then_some("image/webp")).filter(|_| bytes.len() <= IMAGE_CAP)
}

/// The name of a download: nothing that a browser or a shell would interpret.
fn download_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    let name: String = name.trim_start_matches('.').chars().map(plain).take(80).collect();
    if name.is_empty() { "file".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_their_bytes() {
        let check = |bytes: &[u8], expected| assert_eq!(image_type(bytes), expected, "{bytes:?}");
        check(b"\x89PNG\r\n\x1a\nrest", Some("image/png"));
        check(b"\xff\xd8\xff\xe0", Some("image/jpeg"));
        check(b"RIFF0000WEBPVP8 ", Some("image/webp"));
        check(b"GIF89a", Some("image/gif"));
        check(b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>", None);
        check(b"%PDF-1.7", None);
        check(b"", None);
    }

    #[test]
    fn downloads_have_harmless_names() {
        let check = |path: &str, expected: &str| assert_eq!(download_name(Path::new(path)), expected);
        check("verifier/test-stdout.txt", "test-stdout.txt");
        check("a/.bashrc", "bashrc");
        check("a/\"; rm -rf\r\n.html", "___rm_-rf__.html");
        check("..", "file");
    }
}
