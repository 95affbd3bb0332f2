//! What the pages of a Parquet file claim, read before the decoder believes it.
//!
//! The decoder takes as much memory for a page as its header says, and a value for each entry that a
//! dictionary claims. A header has a few bytes, so a small file can claim gigabytes. Headers are Thrift
//! in its compact protocol, and are read here in the way of the decoder: where a header is malformed,
//! the decoder fails as well.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use parquet::basic::Type;
use parquet::file::metadata::RowGroupMetaData;

/// Most bytes of the pages of a group of rows, after decompression.
pub(super) const MOST_GROUP: u64 = 192 << 20;

/// Most entries of the dictionaries of a group, which are in memory at once.
const MOST_ENTRIES: u64 = 2 << 20;

/// Most values of the lists of a group, which one row may have all of.
const MOST_NESTED: u64 = 2 << 20;

/// Deepest structure of a header, as of the decoder.
const DEPTH: u8 = 64;

/// `DELTA_LENGTH_BYTE_ARRAY` and `DELTA_BYTE_ARRAY`: only the page itself says how many texts it has.
const DELTA_TEXTS: [i32; 2] = [6, 7];

/// What matters of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Column {
    /// Whether a row may have several values.
    is_nested: bool,
    /// Whether its values are texts.
    is_text: bool,
}

/// What the pages of a group claim together.
#[derive(Debug, Default, PartialEq, Eq)]
struct Claims {
    bytes: u64,
    entries: u64,
    nested: u64,
}

/// What a header claims. Negative numbers are refused by the decoder.
#[derive(Debug, Default, PartialEq, Eq)]
struct Header {
    uncompressed: i32,
    compressed: i32,
    /// Values and encoding of a data page.
    data: Option<(i32, i32)>,
    /// Values of a dictionary.
    dictionary: Option<i32>,
}

/// What the pages of a group of rows have that is not read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::read) enum PagesError {
    /// A column lies nowhere.
    #[error("a column has a negative offset or length")]
    Negative,
    /// They claim too many bytes.
    #[error("the pages of a group of rows have more than {} MiB", MOST_GROUP >> 20)]
    LargeGroup,
    /// Their dictionaries claim too many entries.
    #[error("the dictionaries of a group of rows have more than {MOST_ENTRIES} entries")]
    ManyEntries,
    /// Their lists claim too many values.
    #[error("the lists of a group of rows have more than {MOST_NESTED} values")]
    ManyNested,
    /// Their texts are encoded as differences.
    #[error("its texts have a delta encoding, which is not read: write them plain or with a dictionary")]
    DeltaTexts,
}

/// Checks the pages of a group of rows.
///
/// # Errors
/// They claim more than is read.
pub(super) fn check_group(file: &File, group: &RowGroupMetaData) -> Result<(), PagesError> {
    let mut input = BufReader::new(file);
    let mut claims = Claims::default();
    for chunk in group.columns() {
        let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
        let (Ok(start), Ok(length)) = (u64::try_from(start), u64::try_from(chunk.compressed_size())) else {
            return Err(PagesError::Negative);
        };
        let described = chunk.column_descr();
        let column = Column {
            is_nested: described.max_rep_level() > 0,
            is_text: matches!(described.physical_type(), Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY),
        };
        check_column(&mut input, start, length, column, &mut claims)?;
    }
    Ok(())
}

/// Checks the pages of one column. Pages after a malformed header are not reached by the decoder.
fn check_column(
    input: &mut (impl Read + Seek),
    start: u64,
    length: u64,
    column: Column,
    claims: &mut Claims,
) -> Result<(), PagesError> {
    let mut left = length;
    let mut at = start;
    while left > 0 {
        if input.seek(SeekFrom::Start(at)).is_err() {
            return Ok(());
        }
        let mut thrift = Thrift { input: Read::take(&mut *input, left), read: 0 };
        let Ok(header) = thrift.header() else { return Ok(()) };
        let size = thrift.read;
        check_header(&header, column, claims)?;
        let Ok(compressed) = u64::try_from(header.compressed) else { return Ok(()) };
        let Some(rest) = left.checked_sub(size + compressed) else { return Ok(()) };
        left = rest;
        at += size + compressed;
    }
    Ok(())
}

fn check_header(header: &Header, column: Column, claims: &mut Claims) -> Result<(), PagesError> {
    let number = |claimed: i32| u64::try_from(claimed).unwrap_or_default();
    claims.bytes += number(header.uncompressed);
    claims.entries += header.dictionary.map_or(0, number);
    let (values, encoding) = header.data.unwrap_or_default();
    claims.nested += if column.is_nested { number(values) } else { 0 };
    if claims.bytes > MOST_GROUP {
        return Err(PagesError::LargeGroup);
    }
    if claims.entries > MOST_ENTRIES {
        return Err(PagesError::ManyEntries);
    }
    if claims.nested > MOST_NESTED {
        return Err(PagesError::ManyNested);
    }
    if column.is_text && DELTA_TEXTS.contains(&encoding) {
        return Err(PagesError::DeltaTexts);
    }
    Ok(())
}

/// A reader of Thrift's compact protocol.
struct Thrift<R> {
    input: R,
    /// Bytes read so far.
    read: u64,
}

/// The type of a field that a byte ends with.
const STOP: u8 = 0;

impl<R: Read> Thrift<R> {
    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        self.read += 1;
        Ok(u8::from_le_bytes(byte))
    }

    fn varint(&mut self) -> io::Result<u64> {
        let (mut value, mut shift) = (0, 0_u32);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift = shift.wrapping_add(7);
        }
    }

    /// A number of 32 bits: of longer ones the decoder takes the last bits.
    fn int(&mut self) -> io::Result<i32> {
        let value = self.varint()?;
        let sign = (value & 1).wrapping_neg();
        let [a, b, c, d, ..] = ((value >> 1) ^ sign).to_le_bytes();
        Ok(i32::from_le_bytes([a, b, c, d]))
    }

    /// The type and the id of the next field; `None` at the end of the structure.
    fn field(&mut self, last: i16) -> io::Result<Option<(u8, i16)>> {
        let byte = self.byte()?;
        let (delta, kind) = (byte >> 4, byte & 0xf);
        match kind {
            STOP => return Ok(None),
            1..=13 => {}
            _ => return Err(malformed()),
        }
        let id = if delta == 0 {
            let [a, b, ..] = self.int()?.to_le_bytes();
            i16::from_le_bytes([a, b])
        } else {
            last.checked_add(i16::from(delta)).ok_or_else(malformed)?
        };
        Ok(Some((kind, id)))
    }

    fn pass(&mut self, bytes: u64) -> io::Result<()> {
        let passed = io::copy(&mut Read::take(&mut self.input, bytes), &mut io::sink())?;
        self.read += passed;
        if passed == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Passes over a value of a type.
    fn skip(&mut self, kind: u8, depth: u8) -> io::Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(malformed)?;
        match kind {
            1 | 2 => Ok(()),
            3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.pass(8),
            8 => {
                let length = self.varint()?;
                self.pass(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                self.skip_many(count, &[head & 0xf], depth)
            }
            11 => {
                let count = self.varint()?;
                if count == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                self.skip_many(count, &[kinds >> 4, kinds & 0xf], depth)
            }
            12 => {
                while let Some((kind, _)) = self.field(0)? {
                    self.skip(kind, depth)?;
                }
                Ok(())
            }
            13 => self.pass(16),
            _ => Err(malformed()),
        }
    }

    fn skip_many(&mut self, count: u64, kinds: &[u8], depth: u8) -> io::Result<()> {
        let count = i32::try_from(count).map_err(|_| malformed())?;
        // Without data, as the decoder reads them.
        if kinds.iter().all(|kind| matches!(kind, 1 | 2)) {
            return Ok(());
        }
        for _ in 0..count {
            for kind in kinds {
                self.skip(*kind, depth)?;
            }
        }
        Ok(())
    }

    /// The numbers of a structure with these ids; its other fields are passed over.
    fn numbers<const N: usize>(&mut self, ids: [i16; N]) -> io::Result<[i32; N]> {
        let mut found = [0; N];
        let mut last = 0;
        while let Some((kind, id)) = self.field(last)? {
            match ids.iter().position(|own| *own == id).and_then(|at| found.get_mut(at)) {
                Some(number) => *number = self.int()?,
                None => self.skip(kind, DEPTH)?,
            }
            last = id;
        }
        Ok(found)
    }

    /// The header of a page.
    fn header(&mut self) -> io::Result<Header> {
        let mut header = Header::default();
        let mut last = 0;
        while let Some((kind, id)) = self.field(last)? {
            match id {
                2 => header.uncompressed = self.int()?,
                3 => header.compressed = self.int()?,
                5 => {
                    let [values, encoding, _, _] = self.numbers([1, 2, 3, 4])?;
                    header.data = Some((values, encoding));
                }
                7 => {
                    let [values, _] = self.numbers([1, 2])?;
                    header.dictionary = Some(values);
                }
                8 => {
                    let [values, _, _, encoding, _, _] = self.numbers([1, 2, 3, 4, 5, 6])?;
                    header.data = Some((values, encoding));
                }
                1 | 4 => {
                    self.int()?;
                }
                _ => self.skip(kind, DEPTH)?,
            }
            last = id;
        }
        Ok(header)
    }
}

fn malformed() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
            value >>= 7;
        }
        bytes.push(u8::try_from(value).unwrap());
        bytes
    }

    /// A field with a number, one id after the last.
    fn int(value: i32) -> Vec<u8> {
        let zigzag = u64::from(u32::from_le_bytes(((value << 1) ^ (value >> 31)).to_le_bytes()));
        [vec![0x15], varint(zigzag)].concat()
    }

    /// A page: its kind, what it claims, and the structure of its kind, at a distance from the sizes.
    fn page(kind: i32, uncompressed: i32, skipped: u8, own: &[i32], content: &[u8]) -> Vec<u8> {
        let compressed = i32::try_from(content.len()).unwrap();
        let own: Vec<u8> = own.iter().flat_map(|value| int(*value)).collect();
        let head = [int(kind), int(uncompressed), int(compressed)].concat();
        [head, vec![skipped << 4 | 0xc], own, vec![0, 0], content.to_vec()].concat()
    }

    fn data(uncompressed: i32, values: i32, encoding: i32) -> Vec<u8> {
        page(0, uncompressed, 2, &[values, encoding, 3, 3], b"content")
    }

    fn data_v2(uncompressed: i32, values: i32, encoding: i32) -> Vec<u8> {
        page(3, uncompressed, 5, &[values, 0, values, encoding, 0, 0], b"content")
    }

    fn dictionary(uncompressed: i32, values: i32) -> Vec<u8> {
        page(2, uncompressed, 4, &[values, 0], b"")
    }

    #[test]
    fn what_pages_claim_is_bounded() {
        let check = |pages: &[Vec<u8>], is_nested: bool, expected: &str| {
            let bytes = [b"PAR1".to_vec(), pages.concat(), b"the rest".to_vec()].concat();
            let length = u64::try_from(bytes.len()).unwrap() - 12;
            let column = Column { is_nested, is_text: true };
            let found = check_column(&mut io::Cursor::new(bytes), 4, length, column, &mut Claims::default());
            assert_eq!(found.err().map(|error| error.to_string()).unwrap_or_default(), expected, "{pages:?}");
        };
        let large = "the pages of a group of rows have more than 192 MiB";
        check(&[data(1 << 20, 10, 0), data_v2(1 << 20, 10, 8)], false, "");
        check(&[data(i32::MAX, 1, 0)], false, large);
        check(&[data_v2(i32::MAX, 1, 0)], false, large);
        check(&[dictionary(200 << 20, 1)], false, large);
        check(&[data(100 << 20, 1, 0), data(100 << 20, 1, 0)], false, large);
        let entries = "the dictionaries of a group of rows have more than 2097152 entries";
        check(&[dictionary(1 << 20, 1 << 20)], false, "");
        check(&[dictionary(10, i32::MAX), data(10, 1, 8)], false, entries);
        let lists = "the lists of a group of rows have more than 2097152 values";
        check(&[data(10, i32::MAX, 8)], false, "");
        check(&[data(10, i32::MAX, 8)], true, lists);
        check(&[data_v2(10, 1 << 21, 8), data_v2(10, 1, 8)], true, lists);
        let delta =
            "its texts have a delta encoding, which is not read: write them plain or with a dictionary";
        check(&[data(10, 1, 6)], false, delta);
        check(&[data_v2(10, 1, 7)], false, delta);
        // What the decoder does not reach, or refuses itself.
        check(&[vec![0x1e, 0, 0, 0], data(i32::MAX, 1, 0)], false, "");
        check(&[data(-1, -1, 0)], true, "");
    }

    #[test]
    fn headers_are_read_as_the_decoder_does() {
        let read = |bytes: &[u8]| Thrift { input: bytes, read: 0 }.header().ok();
        let header = Header { uncompressed: 9, compressed: 7, data: Some((3, 8)), dictionary: None };
        assert_eq!(read(&data(9, 3, 8)), Some(header));
        // Ids in full, a list, a text and a nested structure of unknown fields, and a number twice.
        let odd = [
            vec![0x05, 4],
            varint(10),
            vec![0xf9, 0x25, 2, 4],
            vec![0x18, 3, 1, 2, 3],
            vec![0x1c, 0x15, 2, 0],
            vec![0x05, 4],
            varint(40),
            vec![0x41, 0],
        ]
        .concat();
        let header = Header { uncompressed: 20, ..Header::default() };
        assert_eq!(read(&odd), Some(header));
        let deep = [vec![0xfc], vec![0x1c; 100], vec![0; 110]].concat();
        for malformed in [&[0x15][..], &[0x1e, 0], &[0xf8, 0xff, 0xff, 3, 1], &deep, &[]] {
            assert_eq!(read(malformed), None, "{malformed:?}");
        }
    }
}
