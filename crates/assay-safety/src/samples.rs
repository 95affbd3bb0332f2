//! Archives of which tests and the self-test of `assay-lab` make packages.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};

/// A gzip stream.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing into memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// A zip archive of one stored member.
pub(crate) fn zip(name: &str, content: &[u8]) -> Vec<u8> {
    let size = u32::try_from(content.len()).unwrap_or(0).to_le_bytes();
    let length = u16::try_from(name.len()).unwrap_or(0).to_le_bytes();
    let mut out = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    out.extend([size, size].concat());
    out.extend(length);
    out.extend([0, 0]);
    out.extend(name.as_bytes());
    out.extend(content);
    let start = u32::try_from(out.len()).unwrap_or(0);
    out.extend(b"PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\0\0\0\0\0\0");
    out.extend([size, size].concat());
    out.extend(length);
    out.extend([0; 16]);
    out.extend(name.as_bytes());
    let end = u32::try_from(out.len()).unwrap_or(0);
    out.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    out.extend((end - start).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}
