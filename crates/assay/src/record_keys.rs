//! The keys of this process that sign and verify records: `ASSAY_RECORD_KEY`, else a file in the user's state folder.

use std::path::PathBuf;

use assay_store::{KeyError, RECORD_KEY_VARIABLE, RecordKey, RecordKeys};

use crate::environment::env;
use crate::failure::Failure;

/// Keys for reading records. Nothing is created.
///
/// # Errors
/// A key that cannot be used, for example one that others can read.
pub(crate) fn load_verifying() -> Result<RecordKeys, Failure> {
    if let Some(keys) = read_variable()? {
        return Ok(RecordKeys::verifying(keys));
    }
    let Some(path) = key_file() else { return Ok(RecordKeys::default()) };
    match RecordKey::read(&path) {
        Ok(key) => Ok(RecordKeys::verifying(key.into_iter().collect())),
        // A file that cannot be reached is as good as none.
        Err(KeyError::Io { .. }) => Ok(RecordKeys::default()),
        Err(error) => Err(failure(&error)),
    }
}

/// Keys for accepting trials. The user's file is created at the first need. Where that is impossible, records get no
/// signature: [`explain_unsigned`] says why.
///
/// # Errors
/// As [`load_verifying`].
pub(crate) fn load_signing() -> Result<RecordKeys, Failure> {
    if let Some(keys) = read_variable()? {
        return Ok(RecordKeys::signing(keys));
    }
    match key_file().map(|path| RecordKey::read_or_create(&path)) {
        Some(Ok(key)) => Ok(RecordKeys::signing(vec![key])),
        None | Some(Err(KeyError::Io { .. })) => Ok(RecordKeys::default()),
        Some(Err(error)) => Err(failure(&error)),
    }
}

/// Why this process does not sign records, if it does not.
pub(crate) fn explain_unsigned() -> Option<String> {
    if read_variable().is_ok_and(|keys| keys.is_some()) {
        return None;
    }
    match key_file() {
        None => Some("neither HOME nor XDG_STATE_HOME is set".to_owned()),
        Some(path) => RecordKey::read_or_create(&path).err().map(|error| assay_diagnostic::chain(&error)),
    }
}

/// The keys in the environment.
fn read_variable() -> Result<Option<Vec<RecordKey>>, Failure> {
    let Some(text) = std::env::var_os(RECORD_KEY_VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    RecordKeys::parse(&text.to_string_lossy()).map(Some).map_err(|error| {
        Failure::bad_input(format!("{RECORD_KEY_VARIABLE}: {error}"))
            .hint("`openssl rand -hex 32` makes a key; several are separated by commas, and the first signs")
    })
}

/// Whether the environment has a key, rather than this user's state folder.
///
/// # Errors
/// As [`load_verifying`].
pub(crate) fn is_given() -> Result<bool, Failure> {
    Ok(read_variable()?.is_some())
}

/// The file with the user's key.
fn key_file() -> Option<PathBuf> {
    state_folder().map(|state| state.join("record.key"))
}

/// The folder for what assay remembers of this user.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let state = env("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    state.or_else(home).map(|state| state.join("assay"))
}

fn failure(error: &KeyError) -> Failure {
    Failure::bad_input(assay_diagnostic::chain(error))
}
