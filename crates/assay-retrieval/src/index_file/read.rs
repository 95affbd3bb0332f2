//! Reads the parts of an index that a request needs.

use std::fs::File;
use std::io;
use std::path::Path;

use super::{
    Bytes, EARLIEST_VERSION, HEADER_CAP, Header, IndexError, IndexFile, MAGIC, Section, Stamp, VERSION,
    section,
};
use crate::analysis::is_stop_word;
use crate::corpus::Document;
use crate::files::read_exact_at;
use crate::index::{Counts, FIELDS, Index};
use crate::related::all_related;

/// Most bytes that one document or the stamps may unpack to.
const UNPACKED_CAP: usize = 256 << 20;

/// Most bytes that are read at once for one word, or for the lengths: a list of every document of
/// ten million.
const LIST_CAP: u64 = 1 << 30;

/// Most words of a request that are looked up.
const WORDS_CAP: usize = 4096;

impl IndexFile {
    /// Opens an index. Little of it is read.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        let failed = |source| IndexError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(IndexError::Foreign(path.to_owned()));
        }
        Self::read(path, Bytes::File(file))
    }

    pub(super) fn read(path: &Path, bytes: Bytes) -> Result<Self, IndexError> {
        let damaged = |what| IndexError::Damaged { path: path.to_owned(), what };
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::UnexpectedEof => damaged("it ends too early"),
            _ => IndexError::Read { path: path.to_owned(), source },
        };
        let size = bytes.size().map_err(failed)?;
        let mut start = [0; 16];
        if size < start.len() as u64 {
            return Err(IndexError::Foreign(path.to_owned()));
        }
        bytes.read_at(0, &mut start).map_err(failed)?;
        let [m0, m1, m2, m3, m4, m5, m6, m7, v0, v1, v2, v3, l0, l1, l2, l3] = start;
        if [m0, m1, m2, m3, m4, m5, m6, m7] != MAGIC {
            return Err(IndexError::Foreign(path.to_owned()));
        }
        let found = u32::from_le_bytes([v0, v1, v2, v3]);
        if !(EARLIEST_VERSION..=VERSION).contains(&found) {
            return Err(IndexError::Version { path: path.to_owned(), found });
        }
        let length = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
        if length > HEADER_CAP {
            return Err(damaged("its header is too long"));
        }
        let mut header = vec![0; usize::try_from(length).unwrap_or(0) + blake3::OUT_LEN];
        bytes.read_at(16, &mut header).map_err(failed)?;
        let (text, sum) = header.split_at(header.len() - blake3::OUT_LEN);
        if blake3::hash(text).as_bytes() != sum {
            return Err(damaged("header digest mismatch"));
        }
        let mut header: Header =
            serde_json::from_slice(text).map_err(|_| damaged("its header cannot be read"))?;
        let base = 16 + length + blake3::OUT_LEN as u64;
        for section in header.sections.values_mut() {
            section.start = section.start.saturating_add(base);
            if section.start.checked_add(section.bytes).is_none_or(|end| end > size) {
                return Err(damaged("it ends before its last section"));
            }
        }
        let mut index = Self { path: path.to_owned(), bytes, header, lengths: Vec::new() };
        let lengths = index.read_section(section::LENGTHS)?;
        let (numbers, rest) = lengths.as_chunks::<4>();
        let (lengths, left) = numbers.as_chunks::<FIELDS>();
        if !rest.is_empty() || !left.is_empty() || lengths.len() != index.header.documents as usize {
            return Err(index.damaged("the numbers of lengths and documents differ"));
        }
        index.lengths = lengths.iter().map(|own| own.map(u32::from_le_bytes)).collect();
        for (name, count) in [
            (section::WORD_STARTS, index.header.words),
            (section::ENTRY_STARTS, index.header.words),
            (section::TEXT_STARTS, index.header.documents),
        ] {
            if index.section(name)?.bytes != (u64::from(count) + 1) * 8 {
                return Err(index.damaged("a list of offsets has the wrong length"));
            }
        }
        Ok(index)
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether it has no documents.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The digest of its documents.
    pub fn digest(&self) -> &str {
        &self.header.digest
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.size().unwrap_or(0)
    }

    /// The documents' files as they were when the index was made.
    pub fn stamps(&self) -> Result<Vec<Stamp>, IndexError> {
        let packed = self.read_section(section::STAMPS)?;
        let stamps: Vec<(String, u64, i64)> = self.unpacked(&packed)?;
        Ok(stamps.into_iter().map(|(path, size, modified)| Stamp { path, size, modified }).collect())
    }

    /// A document, by its number.
    pub fn document(&self, number: u32) -> Result<Document, IndexError> {
        if number as usize >= self.len() {
            return Err(self.damaged("it refers to a missing document"));
        }
        let packed = self.item(section::TEXT_STARTS, section::TEXTS, number)?;
        let [id, name, description, document]: [String; 4] = self.unpacked(&packed)?;
        Ok(Document { id, name, description, document, ..Document::default() })
    }

    /// All documents, in order of their ids.
    pub fn documents(&self) -> Result<Vec<Document>, IndexError> {
        (0_u32..).take(self.len()).map(|number| self.document(number)).collect()
    }

    /// The part of the index that a request needs: it scores this request like the full index.
    pub fn restricted_to(&self, request: &str) -> Result<Index, IndexError> {
        let stemmer = self.header.stemmer;
        let mut words = Vec::new();
        let lower = request.to_lowercase();
        stemmer.each_word(&lower, |word| {
            if !is_stop_word(word) && words.len() < WORDS_CAP {
                words.push(stemmer.stem(word).to_owned());
            }
        });
        let related = all_related(&lower, stemmer).into_iter().take(WORDS_CAP);
        words.extend(related.map(|word| stemmer.stem(word).to_owned()));
        words.sort_unstable();
        words.dedup();
        let mut found = Vec::new();
        for word in words {
            if let Some(number) = self.find_word(&word)? {
                let entries = self.entries(&self.item(section::ENTRY_STARTS, section::ENTRIES, number)?)?;
                found.push((word, entries));
            }
        }
        Ok(Index::restricted_to(stemmer, self.lengths.clone(), found))
    }

    /// The number of a word, by halving.
    fn find_word(&self, word: &str) -> Result<Option<u32>, IndexError> {
        let (mut low, mut high) = (0, self.header.words);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.item(section::WORD_STARTS, section::WORDS, middle)?.as_slice().cmp(word.as_bytes()) {
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    fn entries(&self, bytes: &[u8]) -> Result<Vec<(u32, Counts)>, IndexError> {
        let short = || self.damaged("a word's documents end too early");
        let mut bytes = bytes.iter();
        let mut found: Vec<(u32, Counts)> = Vec::new();
        while !bytes.as_slice().is_empty() {
            let distance = leb128(&mut bytes).ok_or_else(short)?;
            let before = found.last().map_or(0, |(document, _)| *document);
            let document = before.checked_add(distance).filter(|number| (*number as usize) < self.len());
            let document = document.ok_or_else(|| self.damaged("a posting refers to an unknown document"))?;
            if distance == 0 && !found.is_empty() {
                return Err(self.damaged("a word's documents are not in order"));
            }
            let held = *bytes.next().ok_or_else(short)?;
            let mut counts: Counts = [0; FIELDS];
            for (field, count) in counts.iter_mut().enumerate() {
                if held & 1 << field != 0 {
                    *count = u16::try_from(leb128(&mut bytes).ok_or_else(short)?)
                        .map_err(|_| self.damaged("a word count is out of range"))?;
                }
            }
            found.push((document, counts));
        }
        Ok(found)
    }

    /// One of the things that a list of places leads to.
    fn item(&self, starts: &str, content: &str, number: u32) -> Result<Vec<u8>, IndexError> {
        let (starts, content) = (self.section(starts)?, self.section(content)?);
        let mut places = [0; 16];
        self.read_at(starts.start + u64::from(number) * 8, &mut places)?;
        let [start, end] = places.as_chunks::<8>().0 else { return Err(self.damaged("it has no offsets")) };
        let (start, end) = (u64::from_le_bytes(*start), u64::from_le_bytes(*end));
        if start > end || end > content.bytes || end - start > LIST_CAP {
            return Err(self.damaged("a list of offsets points outside its section"));
        }
        let mut bytes = vec![0; usize::try_from(end - start).unwrap_or(0)];
        self.read_at(content.start + start, &mut bytes)?;
        Ok(bytes)
    }

    fn read_section(&self, name: &str) -> Result<Vec<u8>, IndexError> {
        let section = self.section(name)?;
        if section.bytes > LIST_CAP {
            return Err(self.damaged("a section is too long"));
        }
        let mut bytes = vec![0; usize::try_from(section.bytes).unwrap_or(0)];
        self.read_at(section.start, &mut bytes)?;
        Ok(bytes)
    }

    fn unpacked<T: serde::de::DeserializeOwned>(&self, packed: &[u8]) -> Result<T, IndexError> {
        let unpack = || -> Option<T> {
            let plain = zstd::stream::Decoder::with_buffer(packed).ok()?;
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut io::Read::take(plain, UNPACKED_CAP as u64), &mut bytes).ok()?;
            serde_json::from_slice(&bytes).ok()
        };
        unpack().ok_or_else(|| self.damaged("a section cannot be decompressed"))
    }

    fn section(&self, name: &str) -> Result<Section, IndexError> {
        self.header.sections.get(name).copied().ok_or_else(|| self.damaged("a section is missing"))
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<(), IndexError> {
        self.bytes.read_at(at, into).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("it ends too early"),
            _ => IndexError::Read { path: self.path.clone(), source },
        })
    }

    fn damaged(&self, what: &'static str) -> IndexError {
        IndexError::Damaged { path: self.path.clone(), what }
    }
}

impl Bytes {
    fn size(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => file.metadata().map(|data| data.len()),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Self::File(file) => read_exact_at(file, into, at),
            Self::Memory(bytes) => {
                let start = usize::try_from(at).ok();
                let own = start.and_then(|start| bytes.get(start..start.checked_add(into.len())?));
                into.copy_from_slice(own.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }
}

fn leb128(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u32> {
    let mut value = 0_u32;
    for shift in [0, 7, 14, 21, 28] {
        let byte = *bytes.next()?;
        value |= u32::from(byte & 0x7f).checked_mul(1 << shift)?;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
