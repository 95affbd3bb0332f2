//! Archives: the paths and kinds of the files that they would unpack. Zip by its central directory
//! (APPNOTE 6.3.10, §4.3.12), tar by its headers (POSIX.1-2017, pax, "ustar Interchange Format"),
//! gzip (RFC 1952). Nothing is written anywhere.

use std::io::Read;

use flate2::read::{DeflateDecoder, GzDecoder};

use super::rule::declare_rules;
use super::site::Scan;

declare_rules! {
    ARCHIVE_BOMB = "archive-bomb", Archive, Error, "An archive unpacks to far more than its packed size.";
    ARCHIVE_TRAVERSAL = "archive-traversal", Archive, Error, "An archive member is extracted outside the target folder.";
    ARCHIVE_OPAQUE = "archive-opaque", Archive, Warning, "An archive that cannot be inspected: damaged, encrypted, or of an unknown kind.";
}

/// Most bytes of a member that are checked.
const MEMBER: u64 = 1 << 20;
/// Most members that are checked.
const MEMBERS: usize = 2_000;
/// Most archives within archives.
const NESTED: u8 = 3;
/// A bomb unpacks to more than this, and to more than this many times its size.
const BOMB: (u64, u64) = (64 << 20, 100);

/// Scans an archive. `false` if the bytes are not one.
pub(crate) fn scan(scan: &mut Scan, path: &str, bytes: &[u8], depth: u8) -> bool {
    match bytes {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => zip(scan, path, bytes, depth),
        [0x1f, 0x8b, 8, ..] => gzip(scan, path, bytes, depth),
        _ if bytes.get(257..262) == Some(b"ustar") => tar(scan, path, bytes, depth),
        [b'7', b'z', 0xbc, 0xaf, ..]
        | [b'R', b'a', b'r', b'!', ..]
        | [0xfd, b'7', b'z', b'X', b'Z', ..]
        | [b'B', b'Z', b'h', b'1'..=b'9', 0x31, ..]
        | [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            scan.whole(path, &ARCHIVE_OPAQUE, "a packed file of a kind that is not inspected");
        }
        _ => return false,
    }
    true
}

/// Whether a member's name leaves the folder it is unpacked in.
fn leaves(name: &str) -> bool {
    name.starts_with(['/', '\\'])
        || name.as_bytes().get(1) == Some(&b':')
        || name.split(['/', '\\']).any(|part| part == "..")
}

fn member(scan: &mut Scan, path: &str, name: &str, content: &[u8], depth: u8) {
    if depth >= NESTED {
        scan.whole(path, &ARCHIVE_OPAQUE, "nested archives: the innermost were not scanned");
        return;
    }
    scan.file(&format!("{path}!{name}"), content, depth + 1);
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(width)?)?;
    Some(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

fn zip(scan: &mut Scan, path: &str, bytes: &[u8], depth: u8) {
    if read_zip(scan, path, bytes, depth).is_none() {
        scan.whole(path, &ARCHIVE_OPAQUE, "a damaged zip archive");
    }
}

fn read_zip(scan: &mut Scan, path: &str, bytes: &[u8], depth: u8) -> Option<()> {
    let from = bytes.len().saturating_sub(65_557);
    let end = from + bytes[from..].windows(4).rposition(|mark| mark == b"PK\x05\x06")?;
    let count = usize::try_from(number(bytes, end + 10, 2)?).ok()?;
    let mut at = usize::try_from(number(bytes, end + 16, 4)?).ok()?;
    let mut unpacked = 0_u64;
    for _ in 0..count.min(MEMBERS) {
        if bytes.get(at..at + 4)? != b"PK\x01\x02" {
            return None;
        }
        let field = |offset, width| number(bytes, at + offset, width);
        let (flags, method, packed, size) = (field(8, 2)?, field(10, 2)?, field(20, 4)?, field(24, 4)?);
        let (name, extra, comment) = (
            usize::try_from(field(28, 2)?).ok()?,
            usize::try_from(field(30, 2)?).ok()?,
            usize::try_from(field(32, 2)?).ok()?,
        );
        let mode = field(38, 4)? >> 16;
        let header = usize::try_from(field(42, 4)?).ok()?;
        let label = String::from_utf8_lossy(bytes.get(at + 46..at + 46 + name)?).into_owned();
        at += 46 + name + extra + comment;
        unpacked = unpacked.saturating_add(size);
        if leaves(&label) {
            scan.whole(
                path,
                &ARCHIVE_TRAVERSAL,
                format!("the member `{label}` is extracted outside the target folder"),
            );
        }
        if flags & 1 == 1 {
            scan.whole(path, &ARCHIVE_OPAQUE, "an encrypted archive");
            continue;
        }
        let data = header
            + 30
            + usize::try_from(number(bytes, header + 26, 2)? + number(bytes, header + 28, 2)?).ok()?;
        let stored = bytes.get(data..data.checked_add(usize::try_from(packed).ok()?)?.min(bytes.len()))?;
        let mut content = Vec::new();
        match method {
            0 => content.extend_from_slice(&stored[..stored.len().min(1 << 20)]),
            8 => {
                // A damaged member still shows its beginning.
                let _ = DeflateDecoder::new(stored).take(MEMBER).read_to_end(&mut content);
            }
            _ => {
                scan.whole(
                    path,
                    &ARCHIVE_OPAQUE,
                    format!("the member `{label}` uses an unsupported compression method"),
                );
                continue;
            }
        }
        if mode & 0o170_000 == 0o120_000 {
            link(scan, path, &label, &String::from_utf8_lossy(&content));
        } else if !label.ends_with('/') {
            member(scan, path, &label, &content, depth);
        }
    }
    bomb(scan, path, unpacked, bytes.len());
    Some(())
}

fn bomb(scan: &mut Scan, path: &str, unpacked: u64, packed: usize) {
    if unpacked > BOMB.0 && unpacked / (packed as u64).max(1) > BOMB.1 {
        scan.whole(path, &ARCHIVE_BOMB, format!("{packed} bytes unpack to at least {unpacked} bytes"));
    }
}

fn link(scan: &mut Scan, path: &str, name: &str, target: &str) {
    let depth = name.matches('/').count();
    let up = target.split('/').filter(|part| *part == "..").count();
    if target.starts_with('/') || up > depth {
        scan.whole(path, &ARCHIVE_TRAVERSAL, format!("the member `{name}` is a link to `{target}`"));
    }
}

fn gzip(scan: &mut Scan, path: &str, bytes: &[u8], depth: u8) {
    let mut content = Vec::new();
    let cap = BOMB.0 + 1;
    let mut decoder = GzDecoder::new(bytes).take(cap);
    if decoder.read_to_end(&mut content).is_err() && content.is_empty() {
        scan.whole(path, &ARCHIVE_OPAQUE, "a damaged gzip file");
        return;
    }
    bomb(scan, path, content.len() as u64, bytes.len());
    content.truncate(8 << 20);
    let name = path.rsplit('/').next().unwrap_or(path);
    let inner = name.strip_suffix(".gz").map_or_else(|| name.replace(".tgz", ".tar"), str::to_owned);
    member(scan, path, &inner, &content, depth);
}

fn tar(scan: &mut Scan, path: &str, bytes: &[u8], depth: u8) {
    let text = |field: &[u8]| {
        let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
        String::from_utf8_lossy(&field[..end]).into_owned()
    };
    let mut at = 0;
    let mut long: Option<String> = None;
    for _ in 0..MEMBERS {
        let Some(header) = bytes.get(at..at + 512) else { break };
        if header[0] == 0 {
            break;
        }
        let digits = text(&header[124..136]);
        let Ok(size) = usize::from_str_radix(digits.trim(), 8) else {
            scan.whole(path, &ARCHIVE_OPAQUE, "a damaged tar archive");
            return;
        };
        let start = at + 512;
        let content = bytes.get(start..start.saturating_add(size).min(bytes.len())).unwrap_or_default();
        at = start.saturating_add(size.div_ceil(512) * 512);
        let kind = header[156];
        if kind == b'L' {
            long = Some(text(content));
            continue;
        }
        let prefix = text(&header[345..500]);
        let own = text(&header[..100]);
        let name = long
            .take()
            .unwrap_or_else(|| if prefix.is_empty() { own.clone() } else { format!("{prefix}/{own}") });
        if leaves(&name) {
            scan.whole(
                path,
                &ARCHIVE_TRAVERSAL,
                format!("the member `{name}` is extracted outside the target folder"),
            );
        }
        match kind {
            b'1' | b'2' => link(scan, path, &name, &text(&header[157..257])),
            0 | b'0' | b'7' => member(scan, path, &name, &content[..content.len().min(1 << 20)], depth),
            _ => {}
        }
    }
}
