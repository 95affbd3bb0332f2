//! From documents to the bytes of an index.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rayon::prelude::*;

use super::{Bytes, Header, IndexError, IndexFile, MAGIC, Section, Stamp, VERSION, digest, section};
use crate::analysis::Stemmer;
use crate::corpus::Document;
use crate::files::write_whole;
use crate::index::{FIELDS, Index, ordered};

/// Of Zstandard: documents are written once and a few are read.
const LEVEL: i32 = 3;

impl IndexFile {
    /// Indexes documents in memory. Of several with one id the first stays.
    pub fn build(documents: Vec<Document>, stemmer: Stemmer, stamps: &[Stamp]) -> Result<Self, IndexError> {
        let path = Path::new("in memory");
        let failed = |source| IndexError::Write { path: path.to_owned(), source };
        let bytes = encode(documents, stemmer, stamps).map_err(failed)?;
        Self::read(path, Bytes::Memory(bytes))
    }

    /// Writes the index to a temporary file and renames it. An existing index stays until then.
    pub fn save(&self, path: &Path) -> Result<(), IndexError> {
        let Bytes::Memory(bytes) = &self.bytes else { return Ok(()) };
        write_whole(path, bytes).map_err(|source| IndexError::Write { path: path.to_owned(), source })
    }
}

fn encode(documents: Vec<Document>, stemmer: Stemmer, stamps: &[Stamp]) -> io::Result<Vec<u8>> {
    let documents = ordered(documents);
    let index = Index::of(&documents, stemmer);
    let (mut words, mut word_starts) = (Vec::new(), vec![0_u64]);
    let (mut entries, mut entry_starts) = (Vec::new(), vec![0_u64]);
    let vocabulary = index.vocabulary();
    for (word, number) in &vocabulary {
        words.extend_from_slice(word.as_bytes());
        word_starts.push(words.len() as u64);
        encode_entries(&index, *number, &mut entries);
        entry_starts.push(entries.len() as u64);
    }
    let packed: Vec<Vec<u8>> = documents.par_iter().map(compress_document).collect::<io::Result<_>>()?;
    let mut text_starts = vec![0_u64];
    for own in &packed {
        text_starts.push(text_starts[text_starts.len() - 1] + own.len() as u64);
    }
    let lengths: Vec<u8> = index.lengths().iter().flatten().flat_map(|length| length.to_le_bytes()).collect();
    let places =
        |starts: &[u64]| -> Vec<u8> { starts.iter().flat_map(|start| start.to_le_bytes()).collect() };
    let stamps: Vec<(&str, u64, i64)> =
        stamps.iter().map(|stamp| (stamp.path.as_str(), stamp.size, stamp.modified)).collect();
    let sections = [
        (section::LENGTHS, lengths),
        (section::WORD_STARTS, places(&word_starts)),
        (section::WORDS, words),
        (section::ENTRY_STARTS, places(&entry_starts)),
        (section::ENTRIES, entries),
        (section::TEXT_STARTS, places(&text_starts)),
        (section::TEXTS, packed.concat()),
        (section::STAMPS, zstd::bulk::compress(&serde_json::to_vec(&stamps)?, LEVEL)?),
    ];
    let count = |count: usize| u32::try_from(count).map_err(|_| io::Error::other("too many to be counted"));
    let mut header = Header {
        digest: digest(&documents),
        documents: count(documents.len())?,
        words: count(vocabulary.len())?,
        stemmer,
        sections: BTreeMap::new(),
    };
    let mut start = 0;
    for (name, content) in &sections {
        let bytes = content.len() as u64;
        header.sections.insert((*name).to_owned(), Section { start, bytes });
        start += bytes;
    }
    let header = serde_json::to_vec(&header)?;
    let mut all = Vec::with_capacity(header.len() + 64 + usize::try_from(start).unwrap_or(0));
    all.extend_from_slice(&MAGIC);
    all.extend_from_slice(&VERSION.to_le_bytes());
    all.extend_from_slice(&count(header.len())?.to_le_bytes());
    all.extend_from_slice(&header);
    all.extend_from_slice(blake3::hash(&header).as_bytes());
    for (_, content) in sections {
        all.extend_from_slice(&content);
    }
    Ok(all)
}

fn compress_document(document: &Document) -> io::Result<Vec<u8>> {
    let Document { id, name, description, document, .. } = document;
    zstd::bulk::compress(&serde_json::to_vec(&[id, name, description, document])?, LEVEL)
}

fn encode_entries(index: &Index, word: u32, into: &mut Vec<u8>) {
    let entries = index.entries(word);
    let mut before = 0;
    for (document, counts) in index.documents(entries.clone()).iter().zip(index.counts(entries)) {
        leb128(document - before, into);
        before = *document;
        let held = (0..FIELDS).filter(|field| counts[*field] > 0);
        into.push(held.clone().fold(0, |bits, field| bits | 1 << field));
        for field in held {
            leb128(u32::from(counts[field]), into);
        }
    }
}

/// Seven bits a byte, the lowest first, with the high bit set on all but the last.
fn leb128(mut value: u32, into: &mut Vec<u8>) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            into.push(low & 0x7f);
            return;
        }
        into.push(low | 0x80);
    }
}
