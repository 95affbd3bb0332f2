//! Files that may be compressed, and standard input.

use std::io::BufRead;
use std::path::Path;

use assay_fs::InputLine;

use crate::failure::Failure;

/// Most bytes of an input that is read line by line, after decompression.
const UNPACKED: u64 = 64 << 30;

/// Longest line that is read.
const LINE_CAP: u64 = 64 << 20;

/// Longest text that is read whole.
const TEXT_CAP: u64 = 128 << 20;

/// Opens a file, or standard input for `-`. What is compressed is told by its first bytes.
pub fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    let opened = assay_fs::open_input(path, UNPACKED)
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))?;
    Ok(opened)
}

/// A whole text.
pub fn text(path: &Path) -> Result<String, Failure> {
    let bytes = assay_fs::read_up_to(open(path)?, TEXT_CAP)
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))?;
    // Without a copy where it is UTF-8, as it is almost always.
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Calls `each` with every line that is not blank, and its number from 1. What is no UTF-8 is replaced; what is too long is
/// told to `bad` and passed over.
pub fn lines(
    path: &Path,
    mut each: impl FnMut(usize, &str),
    mut bad: impl FnMut(usize, &str),
) -> Result<(), Failure> {
    let mut reader = open(path)?;
    let mut line = Vec::new();
    for number in 1.. {
        let read = assay_fs::next_line(&mut reader, &mut line, LINE_CAP).map_err(|error| {
            Failure::bad_input(format!("cannot read {} after line {}: {error}", path.display(), number - 1))
        })?;
        match read {
            InputLine::End => break,
            InputLine::TooLong(_) => {
                bad(number, &format!("the line is longer than {}", assay_fs::size(LINE_CAP)));
            }
            InputLine::Whole(_) => {
                let text = String::from_utf8_lossy(&line);
                if !text.trim().is_empty() {
                    each(number, text.trim_end());
                }
            }
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
