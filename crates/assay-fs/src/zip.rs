//! Members of ZIP archives: the central directory, stored, deflated and Zstandard data, within upper bounds.
//!
//! Layout by the ZIP file format specification (PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16 and 4.5.3). Archives of
//! several disks and encrypted members are refused.

use crate::input::read_up_to;

/// Most members of an archive.
const MEMBERS: usize = 200_000;

/// Why an archive cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ZipError {
    /// The end of the central directory is missing.
    #[error(
        "not a complete ZIP archive: its directory is missing, so it is truncated or still being written"
    )]
    Incomplete,
    /// A field leads outside the archive.
    #[error("a damaged ZIP archive: {0}")]
    Damaged(&'static str),
    /// Too many members.
    #[error("a ZIP archive of more than {MEMBERS} members")]
    TooMany,
    /// A member that cannot be unpacked.
    #[error("cannot unpack {name} of the ZIP archive: {reason}")]
    Member {
        /// The member.
        name: String,
        /// Why.
        reason: String,
    },
}

/// An archive in memory.
#[derive(Debug, Clone)]
pub struct ZipArchive {
    bytes: Vec<u8>,
    members: Vec<ZipMember>,
}

/// A member of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZipMember {
    /// Its path in the archive.
    pub name: String,
    method: u16,
    encrypted: bool,
    packed: u64,
    offset: u64,
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let slice = bytes.get(at..at.checked_add(width)?)?;
    Some(slice.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn place(value: u64) -> Option<usize> {
    usize::try_from(value).ok()
}

impl ZipArchive {
    /// Whether a file begins like a ZIP archive.
    pub fn is_zip(start: &[u8]) -> bool {
        start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06")
    }

    /// Reads the directory of an archive.
    ///
    /// # Errors
    /// An archive without a directory, or with one that leads outside it.
    pub fn open(bytes: Vec<u8>) -> Result<Self, ZipError> {
        let (mut at, count) = directory(&bytes)?;
        if count > MEMBERS {
            return Err(ZipError::TooMany);
        }
        let mut members = Vec::new();
        for _ in 0..count {
            let (member, next) =
                member(&bytes, at).ok_or(ZipError::Damaged("an entry of its directory is cut off"))?;
            members.push(member);
            at = next;
        }
        Ok(Self { bytes, members })
    }

    /// The members, in the order of the directory.
    pub fn members(&self) -> &[ZipMember] {
        &self.members
    }

    /// A member by its path.
    pub fn find(&self, name: &str) -> Option<&ZipMember> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The content of a member, of at most so many bytes.
    ///
    /// # Errors
    /// An encrypted member, an unknown compression, damaged data, or more bytes than allowed.
    pub fn unpack_member(&self, member: &ZipMember, most: u64) -> Result<Vec<u8>, ZipError> {
        let fail = |reason: &str| ZipError::Member { name: member.name.clone(), reason: reason.to_owned() };
        if member.encrypted {
            return Err(fail("it is encrypted"));
        }
        let data = self.data(member).ok_or(ZipError::Damaged("a member lies outside it"))?;
        let read = match member.method {
            0 => read_up_to(data, most),
            8 => read_up_to(flate2::read::DeflateDecoder::new(data), most),
            93 => zstd::Decoder::new(data).and_then(|decoder| read_up_to(decoder, most)),
            other => return Err(fail(&format!("compression method {other} is not supported"))),
        };
        read.map_err(|error| fail(&error.to_string()))
    }

    fn data(&self, member: &ZipMember) -> Option<&[u8]> {
        let at = place(member.offset)?;
        if number(&self.bytes, at, 4)? != 0x0403_4b50 {
            return None;
        }
        let skip = place(number(&self.bytes, at + 26, 2)? + number(&self.bytes, at + 28, 2)?)?;
        let start = at.checked_add(30)?.checked_add(skip)?;
        self.bytes.get(start..start.checked_add(place(member.packed)?)?)
    }
}

/// The offset of the directory and its number of entries.
fn directory(bytes: &[u8]) -> Result<(usize, usize), ZipError> {
    // The record is 22 bytes, and a comment of up to 65,535 may follow it.
    let first = bytes.len().saturating_sub(22 + usize::from(u16::MAX));
    let end = (first..bytes.len().saturating_sub(21))
        .rev()
        .find(|at| bytes[*at..].starts_with(b"PK\x05\x06"))
        .ok_or(ZipError::Incomplete)?;
    let damaged = ZipError::Damaged("its directory lies outside it");
    let mut count = number(bytes, end + 10, 2).ok_or_else(|| damaged.clone())?;
    let mut offset = number(bytes, end + 16, 4).ok_or_else(|| damaged.clone())?;
    if count == u64::from(u16::MAX) || offset == u64::from(u32::MAX) {
        // The record of ZIP64, to which a locator of 20 bytes before the end leads.
        let wide = (|| {
            let at = place(number(bytes, end.checked_sub(20)? + 8, 8)?)?;
            bytes.get(at..)?.starts_with(b"PK\x06\x06").then_some(())?;
            Some((number(bytes, at + 32, 8)?, number(bytes, at + 48, 8)?))
        })();
        (count, offset) = wide.ok_or_else(|| damaged.clone())?;
    }
    Ok((place(offset).ok_or_else(|| damaged.clone())?, place(count).ok_or(damaged)?))
}

/// The entry of the directory at an offset, and the offset of the next one.
fn member(bytes: &[u8], at: usize) -> Option<(ZipMember, usize)> {
    if number(bytes, at, 4)? != 0x0201_4b50 {
        return None;
    }
    let field = |offset: usize, width: usize| number(bytes, at + offset, width);
    let (name_length, extra_length) = (place(field(28, 2)?)?, place(field(30, 2)?)?);
    let name_at = at + 46;
    let extra_at = name_at.checked_add(name_length)?;
    let next = extra_at.checked_add(extra_length)?.checked_add(place(field(32, 2)?)?)?;
    let name = String::from_utf8_lossy(bytes.get(name_at..extra_at)?).into_owned();
    let (mut packed, unpacked, mut offset) = (field(20, 4)?, field(24, 4)?, field(42, 4)?);
    // Sizes of ZIP64 come in an extra field of type 1, each only where the short one is full.
    let mut extra = extra_at;
    while extra + 4 <= extra_at + extra_length {
        let (kind, length) = (number(bytes, extra, 2)?, place(number(bytes, extra + 2, 2)?)?);
        if kind == 1 {
            let mut wide = extra + 4;
            if unpacked == u64::from(u32::MAX) {
                wide += 8;
            }
            if packed == u64::from(u32::MAX) {
                packed = number(bytes, wide, 8)?;
                wide += 8;
            }
            if offset == u64::from(u32::MAX) {
                offset = number(bytes, wide, 8)?;
            }
        }
        extra = extra + 4 + length;
    }
    let member = ZipMember {
        name,
        method: u16::try_from(field(10, 2)?).ok()?,
        encrypted: field(8, 2)? & 1 == 1,
        packed,
        offset,
    };
    Some((member, next))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use assay_test::store_members;

    use super::*;

    fn deflated(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// An archive with one member of a compression method.
    fn archive(method: u16, packed: &[u8]) -> Vec<u8> {
        let mut bytes = store_members(&[("a.json", packed)]);
        bytes[8..10].copy_from_slice(&method.to_le_bytes());
        let directory = 30 + 6 + packed.len();
        bytes[directory + 10..directory + 12].copy_from_slice(&method.to_le_bytes());
        bytes
    }

    #[test]
    fn members_are_unpacked_by_their_method() {
        let content = b"some text, some text, some text".repeat(20);
        let zst = zstd::encode_all(content.as_slice(), 3).unwrap();
        for (method, packed) in [(0, content.clone()), (8, deflated(&content)), (93, zst)] {
            let archive = ZipArchive::open(archive(method, &packed)).unwrap();
            let member = archive.find("a.json").unwrap();
            assert_eq!(archive.unpack_member(member, 1000).unwrap(), content, "{method}");
            assert!(archive.unpack_member(member, 10).is_err(), "{method}");
        }
        let unknown = ZipArchive::open(archive(12, b"x")).unwrap();
        assert!(unknown.unpack_member(&unknown.members()[0], 10).is_err());
    }

    #[test]
    fn damaged_archives_are_errors() {
        let bytes = store_members(&[("a", b"one"), ("b", b"two")]);
        assert_eq!(ZipArchive::open(Vec::new()).unwrap_err(), ZipError::Incomplete);
        for length in 0..bytes.len() {
            assert!(ZipArchive::open(bytes[..length].to_vec()).is_err(), "{length}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            if let Ok(archive) = ZipArchive::open(damaged) {
                for member in archive.members() {
                    assert!(archive.unpack_member(member, 100).map_or(true, |content| content.len() <= 100));
                }
            }
        }
    }
}
