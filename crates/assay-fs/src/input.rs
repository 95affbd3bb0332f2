//! Inputs of unknown origin: compressed or not, within upper bounds. A few kilobytes can unpack to gigabytes, and one
//! line can be all of them, so what is read is bounded after decompression.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most bits of Zstandard's window, as of `zstd --long=27`: its decoder then takes 128 MiB.
const WINDOW_BITS: u32 = 27;

/// Bytes that are read ahead.
const BUFFER: usize = 1 << 16;

/// Most bytes of a document that is read whole, such as a configuration or a baseline: its values can
/// take forty times as much.
pub const DOCUMENT_CAP: u64 = 8 << 20;

/// What other compressed files begin with.
const OTHERS: [(&[u8], &str); 3] = [(b"\xfd7zXZ\0", "xz"), (b"BZh", "bzip2"), (b"PK\x03\x04", "zip")];

/// An input is larger than the bound that this names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CapExceeded {
    /// All of it, after decompression.
    #[error("it has more than {} after decompression", size(*.0))]
    Unpacked(u64),
    /// A whole document or text.
    #[error("it has more than {}", size(*.0))]
    Whole(u64),
    /// One record, such as a line or a row.
    #[error("a line or row has more than {}", size(*.0))]
    Record(u64),
}

impl From<CapExceeded> for io::Error {
    fn from(cap: CapExceeded) -> Self {
        Self::new(io::ErrorKind::InvalidData, cap)
    }
}

/// A number of bytes in words: `64 MiB`.
pub fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(bits, _)| bytes >= 1 << bits && bytes.is_multiple_of(1 << bits));
    unit.map_or_else(|| format!("{bytes} bytes"), |(bits, name)| format!("{} {name}", bytes >> bits))
}

/// Decompresses Zstandard and gzip, recognized by their first bytes: names can be wrong, and streams have none. After
/// `unpacked` bytes reading fails.
///
/// # Errors
/// The first bytes cannot be read, or are those of another compression.
pub fn unpack(input: impl Read + Send + 'static, unpacked: u64) -> io::Result<Box<dyn BufRead + Send>> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    let start = input.fill_buf()?;
    if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut decoder = zstd::Decoder::with_buffer(input)?;
        decoder.window_log_max(WINDOW_BITS)?;
        return Ok(bounded(decoder, unpacked));
    }
    if start.starts_with(&[0x1f, 0x8b]) {
        return Ok(bounded(flate2::bufread::MultiGzDecoder::new(input), unpacked));
    }
    for (sign, name) in OTHERS {
        if start.starts_with(sign) {
            let message = format!("compressed with {name}; only plain files, gzip and zstd are supported");
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
    }
    Ok(bounded(input, unpacked))
}

fn bounded(inner: impl Read + Send + 'static, unpacked: u64) -> Box<dyn BufRead + Send> {
    let quota = Quota::new(unpacked);
    Box::new(BufReader::with_capacity(BUFFER, Metered { inner, quota, cap: CapExceeded::Unpacked(unpacked) }))
}

/// Opens a file, or standard input for `-`, and unpacks it.
///
/// # Errors
/// The file cannot be opened, is a folder, or has another compression.
pub fn open_input(path: &Path, unpacked: u64) -> io::Result<Box<dyn BufRead + Send>> {
    if path == Path::new("-") {
        return unpack(io::stdin(), unpacked);
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    unpack(file, unpacked)
}

/// Reads to the end, at most so many bytes.
///
/// # Errors
/// As reading does, or [`CapExceeded::Whole`].
pub fn read_up_to(input: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        return Err(CapExceeded::Whole(most).into());
    }
    Ok(bytes)
}

/// Reads a file that is not compressed, at most so many bytes.
///
/// # Errors
/// The file cannot be read, or [`CapExceeded::Whole`].
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_up_to(File::open(path)?, most)
}

/// The text of a file that is not compressed, of at most so many bytes.
///
/// # Errors
/// The file cannot be read, is not UTF-8, or [`CapExceeded::Whole`].
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = read_file(path, most)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// What [`next_line`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputLine {
    /// A line; whether a line break ended it.
    Whole(bool),
    /// A line longer than the cap, which was passed over: its bytes.
    TooLong(u64),
    /// The end of the input.
    End,
}

/// Reads a line into `buffer`, without its break. A line longer than `cap` bytes is passed over.
///
/// # Errors
/// As reading does.
pub fn next_line(input: &mut dyn BufRead, buffer: &mut Vec<u8>, cap: u64) -> io::Result<InputLine> {
    buffer.clear();
    // What fits is read with the library's search for the break, which is the faster one.
    let taken = Read::take(&mut *input, cap.saturating_add(1)).read_until(b'\n', buffer)?;
    let taken = u64::try_from(taken).unwrap_or(u64::MAX);
    let mut ended = buffer.last() == Some(&b'\n');
    let mut length = taken - u64::from(ended);
    if ended {
        buffer.pop();
    }
    while !ended && taken > cap {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            break;
        }
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let taken = end.unwrap_or(chunk.len());
        length += u64::try_from(taken).unwrap_or(u64::MAX);
        ended = end.is_some();
        input.consume(taken + usize::from(ended));
    }
    if length > cap {
        // A part of a line that is too long is useless.
        *buffer = Vec::new();
        return Ok(InputLine::TooLong(length));
    }
    if length == 0 && !ended {
        return Ok(InputLine::End);
    }
    if buffer.last() == Some(&b'\r') {
        buffer.pop();
    }
    Ok(InputLine::Whole(ended))
}

/// Bytes that may still be read through a [`Metered`] reader.
#[derive(Debug, Clone)]
pub struct Quota(Arc<AtomicU64>);

impl Quota {
    /// A quota of so many bytes.
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    /// Sets it anew, for the next record.
    pub fn renew(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }
}

/// A reader that fails when its quota is used up.
#[derive(Debug)]
pub struct Metered<R> {
    /// What is read.
    pub inner: R,
    /// How much of it may still be read.
    pub quota: Quota,
    /// The error when it is used up.
    pub cap: CapExceeded,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.quota.0.load(Ordering::Relaxed);
        // One byte more shows whether the input ends here.
        let most = usize::try_from(left.saturating_add(1)).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.inner.read(buffer.get_mut(..most).unwrap_or_default())?;
        let rest = left.checked_sub(u64::try_from(read).unwrap_or(u64::MAX));
        let rest = rest.ok_or_else(|| io::Error::from(self.cap.clone()))?;
        self.quota.0.store(rest, Ordering::Relaxed);
        Ok(read)
    }
}

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
            let read = |most| {
                let mut found = String::new();
                unpack(io::Cursor::new(bytes.clone()), most)
                    .unwrap()
                    .read_to_string(&mut found)
                    .map(|_| found)
            };
            assert_eq!(read(13_000).unwrap(), text);
            let error = read(12_999).unwrap_err();
            assert_eq!(error.to_string(), "it has more than 12999 bytes after decompression");
        }
        let error = unpack(io::Cursor::new(b"\xfd7zXZ\0\0\0"), 9).err().unwrap();
        assert_eq!(error.to_string(), "compressed with xz; only plain files, gzip and zstd are supported");
    }

    #[test]
    fn long_lines_are_skipped() {
        let check = |text: &str, expected: &[(&str, InputLine)]| {
            let mut input = BufReader::with_capacity(3, text.as_bytes());
            let mut buffer = Vec::new();
            for (line, kind) in expected {
                assert_eq!(&next_line(&mut input, &mut buffer, 5).unwrap(), kind, "{text:?}");
                assert_eq!(buffer, line.as_bytes(), "{text:?}");
            }
            assert_eq!(next_line(&mut input, &mut buffer, 5).unwrap(), InputLine::End, "{text:?}");
        };
        let (whole, cut) = (InputLine::Whole(true), InputLine::Whole(false));
        check("", &[]);
        check("\n", &[("", whole)]);
        check("ab\r\ncd", &[("ab", whole), ("cd", cut)]);
        check("12345\n123456\nx\n", &[("12345", whole), ("", InputLine::TooLong(6)), ("x", whole)]);
        check("1234567890", &[("", InputLine::TooLong(10))]);
    }

    #[test]
    fn a_quota_is_renewed_for_each_record() {
        let quota = Quota::new(4);
        let mut reader =
            Metered { inner: &b"123456789"[..], quota: quota.clone(), cap: CapExceeded::Record(4) };
        let mut buffer = [0; 4];
        reader.read_exact(&mut buffer).unwrap();
        quota.renew(4);
        reader.read_exact(&mut buffer).unwrap();
        let error = reader.read(&mut buffer).unwrap_err();
        assert_eq!(error.to_string(), "a line or row has more than 4 bytes");
    }

    #[test]
    fn sizes_are_said_in_words() {
        for (bytes, expected) in
            [(7, "7 bytes"), (4096, "4 KiB"), (64 << 20, "64 MiB"), (3 << 30, "3 GiB"), (1025, "1025 bytes")]
        {
            assert_eq!(size(bytes), expected);
        }
    }
}
