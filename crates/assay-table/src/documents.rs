//! Reads JSON documents that follow each other in one file.

use std::fs::File;
use std::io;
use std::path::Path;

use assay_syntax::json::{JSON_MEMORY, check_json, parse_json};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::ReadError;
use crate::read::{decompressed, read_error};

/// Most bytes of a file, after decompression: it is in memory while its documents are read.
const CAP: u64 = 96 << 20;

/// One document of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// Its content, or why it is not JSON.
    pub value: Result<Value, String>,
}

/// The documents of a file, each parsed when it is its turn.
#[derive(Debug)]
pub struct Documents {
    bytes: Vec<u8>,
    at: usize,
    line: u64,
}

/// Reads the JSON documents of a file, one per line or over several lines each, in a file that may be
/// compressed with Zstandard (`.zst`). After an invalid document reading continues on the next line.
///
/// # Errors
/// The file cannot be read, or is larger than 96 MiB.
pub fn read_documents(path: &Path) -> Result<Documents, ReadError> {
    let io = |action| move |source: io::Error| ReadError::Io { action, path: path.to_owned(), source };
    let file = File::open(path).map_err(io("open"))?;
    let compressed = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zst"));
    let bytes = assay_fs::read_up_to(decompressed(file, compressed, path)?, CAP)
        .map_err(|source| read_error(path, source))?;
    Ok(Documents::new(bytes))
}

/// As [`read_documents`], for callers that keep all of them.
///
/// # Errors
/// Also if the values of all documents together take too much memory.
pub fn read_all_documents(path: &Path) -> Result<Vec<Document>, ReadError> {
    let documents = read_documents(path)?;
    check_json(&documents.bytes, JSON_MEMORY)
        .map_err(|error| ReadError::Invalid { path: path.to_owned(), message: error.to_string() })?;
    Ok(documents.collect())
}

impl Documents {
    fn new(bytes: Vec<u8>) -> Self {
        let at = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { bytes, at, line: 1 }
    }

    /// Moves on, past line breaks.
    fn skip(&mut self, count: usize) {
        let passed = self.bytes.get(self.at..).and_then(|rest| rest.get(..count)).unwrap_or_default();
        self.line += passed.split(|byte| *byte == b'\n').count() as u64 - 1;
        self.at += count;
    }
}

impl Iterator for Documents {
    type Item = Document;

    fn next(&mut self) -> Option<Document> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.skip(rest.len() - rest.trim_ascii_start().len());
        let (line, rest) = (self.line, self.bytes.get(self.at..).unwrap_or_default());
        // Where it ends is found without its values, which may not fit into memory.
        let mut stream = serde_json::Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
        let (value, length) = match stream.next()? {
            Ok(_) => {
                let length = stream.byte_offset();
                let value = parse_json(rest.get(..length).unwrap_or_default());
                (value.map_err(|error| error.to_string()), length)
            }
            Err(error) => {
                // An unfinished document extends to the end of the file.
                let end = rest.iter().position(|byte| *byte == b'\n').filter(|_| !error.is_eof());
                (Err(format!("not JSON: {error}")), end.map_or(rest.len(), |end| end + 1))
            }
        };
        self.skip(length);
        Some(Document { line, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read_with_their_lines() {
        let check = |text: &str, expected: &[&str]| {
            let shown = |document: Document| match document.value {
                Ok(value) => format!("{} {value}", document.line),
                Err(message) => format!("{} {message}", document.line),
            };
            let found: Vec<String> = Documents::new(text.as_bytes().to_vec()).map(shown).collect();
            assert_eq!(found, expected, "{text:?}");
        };
        check("", &[]);
        check(" \n\n", &[]);
        check("{\"a\":1}\n\n{\"a\":2}\n", &[r#"1 {"a":1}"#, r#"3 {"a":2}"#]);
        check("{\n \"a\": [\n1]\n}\n[2]", &[r#"1 {"a":[1]}"#, "5 [2]"]);
        check("{\"a\":}\n{\"b\":1}", &["1 not JSON: expected value at line 1 column 6", r#"2 {"b":1}"#]);
        check("1\n{\"a\":\n[", &["1 1", "2 not JSON: EOF while parsing a list at line 2 column 1"]);
    }

    #[test]
    fn files_may_be_compressed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json.zst");
        std::fs::write(&path, zstd::encode_all(&b"\xef\xbb\xbf[1]"[..], 3).unwrap()).unwrap();
        let read: Vec<Document> = read_documents(&path).unwrap().collect();
        assert_eq!(read, [Document { line: 1, value: Ok(serde_json::json!([1])) }]);
        let error = read_documents(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("cannot read "), "{error}");
        assert!(read_documents(&folder.path().join("none")).is_err());
    }
}
