//! ZIP archives for tests of readers.

/// An archive of stored members. Checksums are left out.
pub fn store_members(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    let short = |value: usize| u16::try_from(value).unwrap_or(u16::MAX).to_le_bytes();
    let long = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
    for (name, content) in members {
        let mut common = Vec::new();
        common.extend([0; 8]);
        common.extend([0; 4]);
        common.extend(long(content.len()));
        common.extend(long(content.len()));
        common.extend(short(name.len()));
        common.extend(short(0));
        directory.extend(b"PK\x01\x02");
        directory.extend(short(20));
        directory.extend(short(20));
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(long(bytes.len()));
        directory.extend(name.as_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(short(20));
        bytes.extend(&common);
        bytes.extend(name.as_bytes());
        bytes.extend(*content);
    }
    let start = bytes.len();
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0; 4]);
    bytes.extend(short(members.len()));
    bytes.extend(short(members.len()));
    bytes.extend(long(directory.len()));
    bytes.extend(long(start));
    bytes.extend(short(0));
    bytes
}
