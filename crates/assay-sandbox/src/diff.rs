//! Differences between two folders, as text.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assay_diagnostic::escape_path;
use similar::TextDiff;

use assay_fs::{Change, ChangeKind, FsError, read_beneath};

/// Maximum size of files that are compared line by line.
const TEXT: u64 = 512 << 10;
/// Maximum number of pairs of differing lines that are compared. The time of a comparison is
/// proportional to it; beyond it, a file is shown as all old lines and then all new ones, so that
/// the result does not depend on timing.
const PAIRS: usize = 25_000_000;
/// Lines shown around a change, as in most tools.
const CONTEXT: usize = 3;
/// The number of bytes that git and others search for a NUL byte to detect binary files.
const SNIFF: usize = 8000;

/// A unified diff of the changed files of two folders, at most `cap_bytes` long.
///
/// Binary files, files above 512 KiB, links and other entries are only named. Links are not
/// followed. File contents are included unchanged: the caller has to escape them for display. What
/// does not fit is cut at a line, and a last line gives the number of omitted changes.
pub fn unified_diff(before: &Path, after: &Path, changes: &[Change], cap_bytes: usize) -> Vec<u8> {
    let mut diff = Vec::new();
    for (n, change) in changes.iter().enumerate() {
        let block = describe_change(before, after, change);
        if diff.len() + block.len() <= cap_bytes {
            diff.extend_from_slice(block.as_bytes());
            continue;
        }
        let left = changes.len() - n - 1;
        let last = format!("[cut at {cap_bytes} bytes; {left} more changes]\n");
        let room = cap_bytes.saturating_sub(diff.len() + last.len());
        let whole = block.as_bytes()[..room].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        diff.extend_from_slice(&block.as_bytes()[..whole]);
        if diff.len() + last.len() <= cap_bytes {
            diff.extend_from_slice(last.as_bytes());
        }
        break;
    }
    diff
}

/// Lines that a difference by [`unified_diff`] adds and removes; `None` if it was cut. Files that are
/// not text have no lines.
pub fn changed_lines(diff: &[u8]) -> Option<usize> {
    let mut changed = 0;
    // Lines of the current hunk that are still to come: of the old file and of the new one.
    let (mut old, mut new) = (0_usize, 0_usize);
    for line in diff.split(|&byte| byte == b'\n') {
        if old + new > 0 {
            match line.first() {
                Some(b'-') => (old, changed) = (old.checked_sub(1)?, changed + 1),
                Some(b'+') => (new, changed) = (new.checked_sub(1)?, changed + 1),
                // An empty line of a hunk may have lost its blank.
                Some(b' ') | None => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
                Some(b'\\') => {}
                Some(_) => return None,
            }
        } else if line.starts_with(b"@@ ") {
            (old, new) = hunk(line)?;
        } else if line.starts_with(b"[cut at ") {
            return None;
        }
    }
    (old + new == 0).then_some(changed)
}

/// The numbers of lines in the heading of a hunk, `@@ -1,3 +1,4 @@`.
fn hunk(line: &[u8]) -> Option<(usize, usize)> {
    let text = std::str::from_utf8(line).ok()?;
    let mut parts = text.split(' ').skip(1);
    let mut lines = |sign: char| {
        let range = parts.next()?.strip_prefix(sign)?;
        range.split_once(',').map_or(Some(1), |(_, lines)| lines.parse().ok())
    };
    Some((lines('-')?, lines('+')?))
}

/// One side of a change.
enum Side {
    Absent,
    Text(String),
    Binary,
    Link(String),
    Folder,
    Other(String),
}

impl Side {
    fn read(dir: &Path, path: &Path) -> Self {
        let full = dir.join(path);
        match read_beneath(dir, path, TEXT) {
            Ok(None) => Self::Absent,
            Ok(Some(bytes)) if bytes[..bytes.len().min(SNIFF)].contains(&0) => Self::Binary,
            Ok(Some(bytes)) => String::from_utf8(bytes).map_or(Self::Binary, Self::Text),
            Err(FsError::TooLarge { .. }) => Self::Other(format!("larger than {TEXT} bytes")),
            Err(FsError::NotAFile { kind: "a folder", .. }) => Self::Folder,
            Err(FsError::NotAFile { kind, .. }) => match fs::read_link(&full) {
                Ok(target) => Self::Link(escape_path(&target)),
                Err(_) => Self::Other(kind.to_owned()),
            },
            Err(_) => Self::Other("not readable".to_owned()),
        }
    }

    fn mode(dir: &Path, path: &Path) -> Option<u32> {
        fs::symlink_metadata(dir.join(path)).ok().map(|found| found.permissions().mode() & 0o7777)
    }

    fn describe(&self) -> String {
        match self {
            Self::Absent => "nothing".to_owned(),
            Self::Text(text) => format!("a text of {} bytes", text.len()),
            Self::Binary => "binary".to_owned(),
            Self::Link(target) => format!("a link to {target}"),
            Self::Folder => "a folder".to_owned(),
            Self::Other(what) => what.clone(),
        }
    }
}

fn describe_change(before: &Path, after: &Path, change: &Change) -> String {
    let name = escape_path(&change.path);
    let kind = match change.kind {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Modified => "modified",
    };
    let mut text = format!("{kind} {name}\n");
    let old = if change.kind == ChangeKind::Added { Side::Absent } else { Side::read(before, &change.path) };
    let new = if change.kind == ChangeKind::Removed { Side::Absent } else { Side::read(after, &change.path) };
    if let (Some(was), Some(is)) = (Side::mode(before, &change.path), Side::mode(after, &change.path))
        && was != is
        && change.kind == ChangeKind::Modified
    {
        text.push_str(&format!("mode {was:04o} to {is:04o}\n"));
    }
    let (a, b) = match (&old, &new) {
        (Side::Text(a), Side::Text(b)) => (a.as_str(), b.as_str()),
        (Side::Absent, Side::Text(b)) => ("", b.as_str()),
        (Side::Text(a), Side::Absent) => (a.as_str(), ""),
        (Side::Folder, Side::Folder) => return text,
        (old, new) => {
            text.push_str(&format!("{} to {}\n", old.describe(), new.describe()));
            return text;
        }
    };
    if a == b {
        return text;
    }
    let label = |side: &Side| if matches!(side, Side::Absent) { "/dev/null" } else { name.as_str() };
    if pairs(a, b) > PAIRS {
        text.push_str(&replaced(a, b, label(&old), label(&new)));
    } else {
        let diff = TextDiff::from_lines(a, b);
        let mut unified = diff.unified_diff();
        text.push_str(&unified.context_radius(CONTEXT).header(label(&old), label(&new)).to_string());
    }
    text
}

/// The number of line pairs, without the common beginning and end.
fn pairs(a: &str, b: &str) -> usize {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.lines().collect(), b.lines().collect());
    let start = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    (a.len() - end).saturating_mul(b.len() - end)
}

fn replaced(a: &str, b: &str, old: &str, new: &str) -> String {
    let mut text = format!("--- {old}\n+++ {new}\n@@ -1,{} +1,{} @@\n", a.lines().count(), b.lines().count());
    for (sign, side) in [('-', a), ('+', b)] {
        for line in side.lines() {
            text.push(sign);
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}
