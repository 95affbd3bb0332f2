//! Reads JSON documents that follow each other in one file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use crate::ReadError;
use crate::read::decompressed;

/// Most bytes of a file, after decompression: its documents are read at once.
const CAP: u64 = 1 << 30;

/// One document of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// Its content, or why it is not JSON.
    pub value: Result<Value, String>,
}

/// Reads the JSON documents of a file, one per line or over several lines each, in a file that may be
/// compressed with Zstandard (`.zst`). After an invalid document reading continues on the next line.
///
/// # Errors
/// The file cannot be read, or is larger than 1 GiB.
pub fn read_documents(path: &Path) -> Result<Vec<Document>, ReadError> {
    let io = |action| move |source: io::Error| ReadError::Io { action, path: path.to_owned(), source };
    let file = File::open(path).map_err(io("open"))?;
    let compressed = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zst"));
    let mut bytes = Vec::new();
    decompressed(file, compressed, path)?.take(CAP + 1).read_to_end(&mut bytes).map_err(io("read"))?;
    if bytes.len() as u64 > CAP {
        let message = format!("larger than {} MiB", CAP >> 20);
        return Err(ReadError::Invalid { path: path.to_owned(), message });
    }
    Ok(documents(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)))
}

fn documents(mut rest: &[u8]) -> Vec<Document> {
    let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').count() as u64 - 1;
    let mut line = 1;
    let mut documents = Vec::new();
    loop {
        let blank = rest.len() - rest.trim_ascii_start().len();
        line += lines(&rest[..blank]);
        rest = &rest[blank..];
        let mut stream = serde_json::Deserializer::from_slice(rest).into_iter::<Value>();
        let read = match stream.next() {
            None => return documents,
            Some(Ok(value)) => {
                documents.push(Document { line, value: Ok(value) });
                stream.byte_offset()
            }
            Some(Err(error)) => {
                documents.push(Document { line, value: Err(format!("not JSON: {error}")) });
                // An unfinished document extends to the end of the file.
                let end = rest.iter().position(|byte| *byte == b'\n').filter(|_| !error.is_eof());
                end.map_or(rest.len(), |end| end + 1)
            }
        };
        line += lines(&rest[..read]);
        rest = &rest[read..];
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
            let found: Vec<String> = documents(text.as_bytes()).into_iter().map(shown).collect();
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
        let read = read_documents(&path).unwrap();
        assert_eq!(read, [Document { line: 1, value: Ok(serde_json::json!([1])) }]);
        let error = read_documents(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("cannot read "), "{error}");
        assert!(read_documents(&folder.path().join("none")).is_err());
    }
}
