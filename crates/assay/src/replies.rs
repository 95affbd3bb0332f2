//! Files of cached replies of models.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use assay_diagnostic::Io;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// A cached reply; `None` if there is none.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Failure> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(unusable(&Io { action: "read", path: path.to_owned(), source })),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| invalid(path, &error.to_string()))
}

/// Stores a reply atomically.
pub(crate) fn write<T: Serialize>(path: &Path, stored: &T) -> Result<(), Failure> {
    let failed = |action: &'static str| move |source| unusable(&Io { action, path: path.to_owned(), source });
    let text = serde_json::to_vec_pretty(stored)
        .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed("create the folder of"))?;
    let mut draft = tempfile::NamedTempFile::new_in(folder).map_err(failed("create a file beside"))?;
    draft.write_all(&text).and_then(|()| draft.as_file().sync_all()).map_err(failed("write"))?;
    draft.persist(path).map_err(|error| failed("write")(error.error))?;
    Ok(())
}

fn unusable(error: &Io) -> Failure {
    Failure::infrastructure(error.to_string()).hint("check that the store is writable and has free space")
}

/// A file that is no cached reply.
pub(crate) fn invalid(path: &Path, what: &str) -> Failure {
    Failure::bad_input(format!("{} is not a cached reply: {what}", path.display()))
        .hint("remove the file; the model is then asked again")
}
