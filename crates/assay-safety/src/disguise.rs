//! Disguised files: scripts and archives named as images or appended to them; modules that Python
//! loads at every start.

use super::rule::declare_rules;
use super::rules::PERSIST_PROFILE;
use super::site::Scan;

declare_rules! {
    ARCHIVE_DISGUISED = "archive-disguised", Archive, Warning, "A file's content does not match its name: a script or an archive disguised as, or appended to, an image.";
}

/// Extensions of files that are neither text nor archives.
const MEDIA: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "tif", "tiff", "pdf", "mp3", "mp4", "wav", "ogg",
    "webm", "ttf", "otf", "woff", "woff2",
];

/// Checks the start of a file, and data after the end of an image.
pub(crate) fn scan(scan: &mut Scan, path: &str, bytes: &[u8]) {
    let name = path.rsplit(['/', '!']).next().unwrap_or(path).to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if MEDIA.contains(&ending)
        && let Some(kind) = disguised(ending, bytes)
    {
        scan.whole(path, &ARCHIVE_DISGUISED, format!("a file named `.{ending}` {kind}"));
    }
    let loaded = matches!(name.as_str(), "sitecustomize.py" | "usercustomize.py")
        || ending == "pth"
            && bytes
                .split(|&b| b == b'\n')
                .any(|line| line.starts_with(b"import ") || line.starts_with(b"import\t"));
    if loaded {
        scan.whole(path, &PERSIST_PROFILE, "Python executes this file at every start once it is installed");
    }
}

fn disguised(ending: &str, bytes: &[u8]) -> Option<&'static str> {
    let head = &bytes[..bytes.len().min(512)];
    let lower = String::from_utf8_lossy(head).trim_start().to_ascii_lowercase();
    if lower.starts_with("#!") {
        return Some("is a script");
    }
    if [
        "<?php",
        "<script",
        "@echo off",
        "powershell",
        "import os",
        "import subprocess",
        "import base64",
        "eval(",
    ]
    .iter()
    .any(|mark| lower.starts_with(mark))
    {
        return Some("is a script");
    }
    match head {
        [b'P', b'K', 3, 4, ..]
        | [0x1f, 0x8b, 8, ..]
        | [b'7', b'z', 0xbc, 0xaf, ..]
        | [b'R', b'a', b'r', b'!', ..] => {
            return Some("is an archive");
        }
        [0x7f, b'E', b'L', b'F', ..] | [b'M', b'Z', ..] => return Some("is a program"),
        _ => {}
    }
    if matches!(ending, "ttf" | "otf" | "woff" | "woff2" | "mp3" | "mp4" | "wav" | "ogg" | "webm") {
        return None;
    }
    let tail = &bytes[bytes.len().saturating_sub(65_557)..];
    let has = |text: &[u8], mark: &[u8]| text.windows(mark.len()).any(|window| window == mark);
    if has(tail, b"PK\x05\x06") && has(bytes, b"PK\x03\x04") {
        return Some("has an archive appended");
    }
    // Marks long enough not to come about in packed data.
    if [
        &b"#!/bin/"[..],
        b"#!/usr/bin/",
        b"<?php ",
        b"<?php\n",
        b"\ncurl -",
        b"\nimport os",
        b"\nimport subprocess",
    ]
    .iter()
    .any(|mark| has(bytes, mark))
        && ending != "pdf"
    {
        return Some("has a script appended");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_contents_are_compared() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        let with = |more: &[u8]| [png.clone(), more.to_vec()].concat();
        let check = |path: &str, bytes: &[u8], expected: &[&str]| {
            let mut found = Scan::new(&crate::SCANNERS);
            scan(&mut found, path, bytes);
            let codes: Vec<_> = found.findings.iter().map(|finding| finding.rule.code).collect();
            assert_eq!(codes, expected, "{path}");
        };
        check("assets/a.png", &png, &[]);
        check("assets/a.png", b"#!/bin/sh\necho\n", &["archive-disguised"]);
        check("assets/a.jpg", b"PK\x03\x04....", &["archive-disguised"]);
        check(
            "assets/a.png",
            &with(b"....PK\x03\x04....PK\x05\x06...................."),
            &["archive-disguised"],
        );
        check("assets/a.png", &with(b"IEND\n#!/bin/sh\nls\n"), &["archive-disguised"]);
        check("assets/a.zip", b"PK\x03\x04....", &[]);
        check("assets/a.png", b"version https://git-lfs.github.com/spec/v1\n", &[]);
        check("lib/x.pth", b"import os; os.system('id')\n", &["persist-profile"]);
        check("lib/x.pth", b"../src\n", &[]);
    }
}
