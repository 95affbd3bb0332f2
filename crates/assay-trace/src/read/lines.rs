//! Lines of a stream, each up to a cap.

use std::io::{self, BufRead, Read};

/// Longer lines are passed over, in bytes. Claude Code's longest, with pictures in them, are a few
/// MB.
pub const LINE_CAP: usize = 32 << 20;

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// There is one; whether a line break ended it.
    DocumentDecoder(bool),
    /// It was longer than the cap, and was passed over: its bytes.
    TooLong(u64),
    /// The end of the input.
    End,
}

/// Reads a line into `buffer`, without its break. A line longer than `cap` is read and discarded.
pub(super) fn next(input: &mut dyn BufRead, buffer: &mut Vec<u8>, cap: usize) -> io::Result<Line> {
    buffer.clear();
    // What fits is read with the library's search for the break, which is the faster one.
    let taken = Read::take(&mut *input, cap as u64 + 1).read_until(b'\n', buffer)? as u64;
    let mut ended = buffer.last() == Some(&b'\n');
    let mut length = taken - u64::from(ended);
    if ended {
        buffer.pop();
    }
    while !ended && taken > cap as u64 {
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
        length += taken as u64;
        ended = end.is_some();
        let used = taken + usize::from(ended);
        input.consume(used);
    }
    if length > cap as u64 {
        // A part of a line that is too long is useless.
        buffer.clear();
        return Ok(Line::TooLong(length));
    }
    if length == 0 && !ended {
        return Ok(Line::End);
    }
    if buffer.last() == Some(&b'\r') {
        buffer.pop();
    }
    Ok(Line::DocumentDecoder(ended))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_skipped() {
        let check = |text: &str, expected: &[(&str, Line)]| {
            let mut input = io::BufReader::with_capacity(3, text.as_bytes());
            let mut buffer = Vec::new();
            for (line, kind) in expected {
                assert_eq!(&next(&mut input, &mut buffer, 5).unwrap(), kind, "{text:?}");
                assert_eq!(buffer, line.as_bytes(), "{text:?}");
            }
            assert_eq!(next(&mut input, &mut buffer, 5).unwrap(), Line::End, "{text:?}");
        };
        check("", &[]);
        check("\n", &[("", Line::DocumentDecoder(true))]);
        check("ab\r\ncd", &[("ab", Line::DocumentDecoder(true)), ("cd", Line::DocumentDecoder(false))]);
        check(
            "12345\n123456\nx\n",
            &[
                ("12345", Line::DocumentDecoder(true)),
                ("", Line::TooLong(6)),
                ("x", Line::DocumentDecoder(true)),
            ],
        );
        check("1234567890", &[("", Line::TooLong(10))]);
    }
}
