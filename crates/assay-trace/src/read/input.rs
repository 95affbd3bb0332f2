//! Inputs: files and standard input, compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::error::TraceError;

/// Most bits of zstd's window, as written by `zstd --long=27`.
const WINDOW_BITS: u32 = 27;

/// Opens a file, or standard input if the path is `-`, and decompresses it.
pub fn open(path: &Path) -> Result<Box<dyn Read>, TraceError> {
    open_plain(path).map_err(|source| TraceError::Open { path: path.to_path_buf(), source })
}

fn open_plain(path: &Path) -> io::Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return plain(io::stdin());
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    plain(file)
}

/// Decompresses gzip or zstd, recognized by their first bytes: names can be wrong, and streams have
/// none.
fn plain(input: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let start = input.fill_buf()?;
    if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut decoder = zstd::Decoder::with_buffer(input)?;
        decoder.window_log_max(WINDOW_BITS)?;
        return Ok(Box::new(decoder));
    }
    if start.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(flate2::bufread::MultiGzDecoder::new(input)));
    }
    for (sign, name) in OTHERS {
        if start.starts_with(sign) {
            let message = format!("compressed with {name}; only plain files, gzip and zstd are supported");
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
    }
    Ok(Box::new(input))
}

/// What other compressed files begin with.
const OTHERS: [(&[u8], &str); 3] = [(b"\xfd7zXZ\0", "xz"), (b"BZh", "bzip2"), (b"PK\x03\x04", "zip")];

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn compression_is_detected_from_bytes() {
        let text = "a transcript\n".repeat(1000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let mut long = zstd::Encoder::new(Vec::new(), 1).unwrap();
        long.window_log(WINDOW_BITS).unwrap();
        long.write_all(text.as_bytes()).unwrap();
        for bytes in [text.clone().into_bytes(), gzip.finish().unwrap(), long.finish().unwrap()] {
            let mut found = String::new();
            plain(io::Cursor::new(bytes)).unwrap().read_to_string(&mut found).unwrap();
            assert_eq!(found, text);
        }
        let error = plain(io::Cursor::new(b"\xfd7zXZ\0\0\0")).err().unwrap();
        assert_eq!(error.to_string(), "compressed with xz; only plain files, gzip and zstd are supported");
    }
}
