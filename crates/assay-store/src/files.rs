//! Files of a store, written atomically.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::access;
use crate::error::StoreError;

/// Writes a file atomically: it is complete or absent, also after a power cut.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let draft = draft(path, bytes)?;
    draft.persist(path).map_err(|error| failed("rename", path)(error.error))?;
    sync_folder(path)
}

/// The same for a file that does not exist yet; returns whether it was written.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<bool, StoreError> {
    match draft(path, bytes)?.persist_noclobber(path) {
        Ok(_) => sync_folder(path).map(|()| true),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed("rename", path)(error.error)),
    }
}

/// A complete file next to its final path.
fn draft(path: &Path, bytes: &[u8]) -> Result<tempfile::NamedTempFile, StoreError> {
    let mut draft = tempfile::NamedTempFile::new_in(folder_of(path))
        .map_err(failed("create a temporary file for", path))?;
    draft.write_all(bytes).map_err(failed("write", path))?;
    access::restrict_access(draft.path()).map_err(failed("change the rights of", path))?;
    draft.as_file().sync_all().map_err(failed("write", path))?;
    Ok(draft)
}

/// Syncs a file's directory entry, so that it survives a power cut. Windows opens no folders as
/// files and journals names by itself.
pub(crate) fn sync_folder(path: &Path) -> Result<(), StoreError> {
    if cfg!(unix) {
        let folder = fs::File::open(folder_of(path)).map_err(failed("open the parent folder of", path))?;
        folder.sync_all().map_err(failed("sync the parent folder of", path))?;
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    // The parent of a bare file name is the empty path, which cannot be opened.
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| StoreError::Io { action, path, source }
}

/// Adds one line of JSON to a file, in one write, so that two processes do not mix theirs.
pub(crate) fn append_line(path: &Path, line: &Value) -> Result<(), StoreError> {
    let io = |source| StoreError::Io { action: "write", path: path.to_owned(), source };
    let is_new = !path.exists();
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).map_err(io)?;
    if is_new {
        access::restrict_access(path).map_err(io)?;
    }
    file.write_all(format!("{line}\n").as_bytes()).map_err(io)
}

/// Reads a file without keeping its bytes: a plan of a million cells has 300 MB.
pub(crate) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let failed = |source| StoreError::Io { action: "read", path: path.to_owned(), source };
    let file = fs::File::open(path).map_err(failed)?;
    serde_json::from_reader(io::BufReader::new(file)).map_err(|error| {
        let message = error.to_string();
        match error.io_error_kind() {
            Some(_) => failed(error.into()),
            None => StoreError::Format { path: path.to_owned(), message },
        }
    })
}

/// A value as indented JSON with a final newline. `path` is for the error.
pub fn pretty<T: Serialize>(value: &T, path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| StoreError::Format { path: path.to_owned(), message: error.to_string() })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Writes a value as JSON, atomically.
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    write_atomically(path, &pretty(value, path)?)
}
