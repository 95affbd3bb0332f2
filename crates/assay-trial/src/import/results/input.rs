//! A file or folder before its format is known.

use std::path::{Path, PathBuf};

use assay_fs::{CapExceeded, ZipArchive, read_up_to, size};
use serde_json::Value;

use super::error::ResultError;

/// Most bytes of a file with results.
const CAP: u64 = 256 << 20;

/// A file or folder with its content.
#[derive(Debug)]
pub struct ResultInput {
    /// Where it is.
    pub path: PathBuf,
    /// What it contains.
    pub content: ResultContent,
}

/// The content of a file or folder.
#[derive(Debug)]
pub enum ResultContent {
    /// A JSON document.
    Json(Value),
    /// A document that is neither JSON nor an archive.
    Text(String),
    /// A ZIP archive.
    Archive(ZipArchive),
    /// A folder.
    Folder,
    /// Bytes of no known kind, or an empty file.
    Other,
}

impl ResultInput {
    /// Reads a file; of a folder only that it is one.
    ///
    /// # Errors
    /// A file that cannot be read, is too large, or begins like JSON or an archive and is not one.
    pub fn open(path: &Path) -> Result<Self, ResultError> {
        let fail = |source| ResultError::Read { path: path.to_owned(), source };
        if path.is_dir() {
            return Ok(Self { path: path.to_owned(), content: ResultContent::Folder });
        }
        let bytes =
            std::fs::File::open(path).and_then(|file| read_up_to(file, CAP)).map_err(
                |source| match source.get_ref().and_then(|inner| inner.downcast_ref::<CapExceeded>()) {
                    Some(_) => ResultError::invalid(path, format!("more than {}", size(CAP))),
                    None => fail(source),
                },
            )?;
        Ok(Self { path: path.to_owned(), content: read_content(path, bytes)? })
    }

    /// The document, if it is JSON.
    pub fn json(&self) -> Option<&Value> {
        match &self.content {
            ResultContent::Json(value) => Some(value),
            _ => None,
        }
    }

    /// The text, if it is neither JSON nor an archive.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            ResultContent::Text(text) => Some(text),
            _ => None,
        }
    }
}

fn read_content(path: &Path, bytes: Vec<u8>) -> Result<ResultContent, ResultError> {
    if ZipArchive::is_zip(&bytes) {
        let archive =
            ZipArchive::open(bytes).map_err(|error| ResultError::invalid(path, error.to_string()))?;
        return Ok(ResultContent::Archive(archive));
    }
    let Ok(text) = String::from_utf8(bytes) else { return Ok(ResultContent::Other) };
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with(['{', '[']) {
        return match super::json::parse_json(start) {
            Ok(value) => Ok(ResultContent::Json(value)),
            Err(error) => Err(ResultError::invalid(path, format!("not valid JSON: {error}"))),
        };
    }
    Ok(if start.is_empty() { ResultContent::Other } else { ResultContent::Text(text) })
}
