//! The folder of a model: each file that is read is part of its digest.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::error::Error;

/// The largest JSON file that is read. Tokenizers of large vocabularies have some 20 MB.
const MAX_JSON: u64 = 256 << 20;

/// How much of a large file is hashed at a time: enough for threads to share.
const PART: usize = 16 << 20;

pub(crate) struct Folder {
    root: PathBuf,
    /// The files that were read, by name.
    digests: BTreeMap<String, blake3::Hash>,
}

impl Folder {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), digests: BTreeMap::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A file of JSON; `None` if there is no such file.
    pub(crate) fn json<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Error> {
        let path = self.path(name);
        if !path.try_exists().unwrap_or(true) {
            return Ok(None);
        }
        self.required(name).map(Some)
    }

    /// A file of JSON that has to be there.
    pub(crate) fn required<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Error> {
        let path = self.path(name);
        let failed = |source| Error::Read { path: path.clone(), source };
        let file = open(&path)?;
        let mut bytes = Vec::new();
        file.take(MAX_JSON + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_JSON {
            return Err(Error::setting(&path, format!("is larger than {} MiB", MAX_JSON >> 20)));
        }
        self.digests.insert(name.to_owned(), blake3::hash(&bytes));
        serde_json::from_slice(&bytes).map_err(|source| Error::Json { path, source })
    }

    /// A large file and its size; it is read through once, for the digest.
    pub(crate) fn large(&mut self, name: &str) -> Result<(File, u64), Error> {
        let path = self.path(name);
        let mut file = open(&path)?;
        let (mut hasher, mut size) = (blake3::Hasher::new(), 0);
        let mut part = Vec::with_capacity(PART);
        loop {
            part.clear();
            let read = (&mut file).take(PART as u64).read_to_end(&mut part);
            match read {
                Ok(0) => break,
                Ok(length) => size += length as u64,
                Err(source) => return Err(Error::Read { path, source }),
            }
            hasher.update_rayon(&part);
        }
        self.digests.insert(name.to_owned(), hasher.finalize());
        Ok((file, size))
    }

    /// The digest of all that was read: names and contents.
    pub(crate) fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (name, digest) in &self.digests {
            hasher.update(name.as_bytes()).update(&[0]).update(digest.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// Opens a regular file. A pipe or a device in its place would block, or never end.
fn open(path: &Path) -> Result<File, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(Error::setting(path, "is not a regular file"));
    }
    File::open(path).map_err(failed)
}
