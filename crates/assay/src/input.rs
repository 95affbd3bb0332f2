//! Files that may be compressed, and standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::failure::Failure;

/// Longest line that is read.
const LINE_CAP: u64 = 64 << 20;

/// Windows of Zstandard up to this power of two are read, as `zstd --long=27` makes them.
const WINDOW_LOG: u32 = 27;

/// Opens a file, or standard input for `-`. What is compressed is told by its first bytes.
pub(crate) fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    let failed = |error: io::Error| Failure::bad_input(format!("cannot read {}: {error}", path.display()));
    let raw: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(failed)?)
    };
    let mut raw = BufReader::with_capacity(1 << 16, raw);
    let head = raw.fill_buf().map_err(failed)?;
    if head.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(raw))));
    }
    if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut decoder = zstd::Decoder::with_buffer(raw).map_err(failed)?;
        decoder.window_log_max(WINDOW_LOG).map_err(failed)?;
        return Ok(Box::new(BufReader::new(decoder)));
    }
    Ok(Box::new(raw))
}

/// A whole text.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = open(path)?.read_to_end(&mut bytes);
    read.map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Calls `each` with every line that is not blank, and its number from 1. What is no UTF-8 is replaced; what is too long is
/// told to `bad` and passed over.
pub(crate) fn lines(
    path: &Path,
    mut each: impl FnMut(usize, &str),
    mut bad: impl FnMut(usize, &str),
) -> Result<(), Failure> {
    let mut reader = open(path)?;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = (&mut reader).take(LINE_CAP).read_until(b'\n', &mut line);
        let failed = |error| {
            Failure::bad_input(format!("cannot read {} after line {}: {error}", path.display(), number - 1))
        };
        if read.map_err(failed)? == 0 {
            break;
        }
        if line.len() as u64 == LINE_CAP && line.last() != Some(&b'\n') {
            bad(number, "the line is longer than 64 MiB");
            reader.skip_until(b'\n').map_err(failed)?;
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            each(number, text.trim_end());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: &[u8]) -> Vec<(usize, String)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut found = Vec::new();
        lines(file.path(), |number, line| found.push((number, line.to_owned())), |_, _| ()).unwrap();
        found
    }

    #[test]
    fn lines_are_the_same_however_packed() {
        let plain = b"one\n\n two\xff\r\nthree";
        let expected = [(1, "one".to_owned()), (3, " two\u{fffd}".to_owned()), (4, "three".to_owned())];
        assert_eq!(read(plain), expected);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(plain).unwrap();
        assert_eq!(read(&packed.finish().unwrap()), expected);
        assert_eq!(read(&zstd::encode_all(&plain[..], 1).unwrap()), expected);
        assert_eq!(read(b""), []);
    }

    #[test]
    fn invalid_input_is_reported() {
        let mut packed = zstd::encode_all(&b"one\ntwo\n"[..], 1).unwrap();
        packed.truncate(packed.len() - 3);
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&packed).unwrap();
        assert!(lines(file.path(), |_, _| (), |_, _| ()).is_err());
        assert!(open(Path::new("/nowhere/at/all")).is_err());
    }
}
