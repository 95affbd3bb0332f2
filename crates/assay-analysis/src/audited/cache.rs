//! Results of audits that are kept in the store, in files that a digest of all that they depend on names.
//!
//! A trace cannot change the result of another one: what is in it changes the digest, and with it the name of its own
//! result only. A file that is damaged, too long or of another form counts as missing, and is written again.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use assay_fs::{Digest, replace_file};
use assay_store::Store;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The form of the files.
const SCHEMA: &str = "assay.audit-result/1";

/// Longest file that is read or written, in bytes.
const LONGEST: u64 = 32 << 20;

/// Most files that are kept; then the oldest quarter is removed.
const MOST: usize = 4_096;

/// Results in the folder `audits` of a store.
#[derive(Debug, Clone)]
pub struct AuditCache {
    folder: PathBuf,
}

/// The first line of a file; the second has the result.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    schema: String,
    /// What it is the result of.
    key: Digest,
    /// Of the second line.
    digest: Digest,
}

impl AuditCache {
    /// The results in a store.
    pub fn of_store(store: &Store) -> Self {
        Self { folder: store.root().join("audits") }
    }

    fn path(&self, key: &Digest) -> PathBuf {
        self.folder.join(format!("{}.jsonl", key.hex()))
    }

    /// The result with a key; `None` if there is none that is whole.
    pub(super) fn load_runs<R: DeserializeOwned>(&self, key: &Digest) -> Option<Vec<R>> {
        let text = read_text(&self.path(key)).ok()?;
        let (header, result) = text.split_once('\n')?;
        let header: Header = serde_json::from_str(header).ok()?;
        let expected = Header { schema: SCHEMA.to_owned(), key: *key, digest: Digest::of(result.as_bytes()) };
        (header == expected).then(|| serde_json::from_str(result).ok())?
    }

    /// Keeps a result. One that cannot be kept is computed again.
    pub(super) fn save_runs<R: Serialize>(&self, key: &Digest, runs: &[R]) {
        self.write_runs(key, runs).unwrap_or_default();
    }

    fn write_runs<R: Serialize>(&self, key: &Digest, runs: &[R]) -> io::Result<()> {
        let result = serde_json::to_string(runs)?;
        let header = Header { schema: SCHEMA.to_owned(), key: *key, digest: Digest::of(result.as_bytes()) };
        let text = format!("{}\n{result}", serde_json::to_string(&header)?);
        if text.len() as u64 > LONGEST {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)?;
        self.make_room()?;
        replace_file(&self.path(key), text.as_bytes())
    }

    /// Removes the oldest quarter of the files if there are as many as may be.
    fn make_room(&self) -> io::Result<()> {
        let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
        if files.len() < MOST {
            return Ok(());
        }
        files.sort();
        files.iter().take(MOST / 4).try_for_each(|(_, path)| fs::remove_file(path))
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if read as u64 > LONGEST { Err(io::Error::other("too long")) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(adoption: Option<f64>) -> (Option<f64>, String) {
        (adoption, "followed".to_owned())
    }

    fn load(cache: &AuditCache, key: &Digest) -> Option<Vec<(Option<f64>, String)>> {
        cache.load_runs(key)
    }

    #[test]
    fn a_result_is_kept_and_a_damaged_one_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = AuditCache { folder: folder.path().join("audits") };
        let (key, other) = (Digest::of(b"one"), Digest::of(b"other"));
        let runs = vec![run(Some(0.1 + 0.2)), run(None)];
        assert_eq!(load(&cache, &key), None);
        cache.save_runs(&key, &runs);
        assert_eq!(load(&cache, &key), Some(runs.clone()));
        assert_eq!(load(&cache, &other), None);
        let kept = fs::read_to_string(cache.path(&key)).unwrap();
        for damaged in [
            String::new(),
            kept[..kept.len() - 1].to_owned(),
            kept.replacen("followed", "violated", 1),
            kept.replacen("assay.audit-result/1", "assay.audit-result/0", 1),
            "\u{0}".repeat(100),
        ] {
            fs::write(cache.path(&key), &damaged).unwrap();
            assert_eq!(load(&cache, &key), None, "{damaged}");
        }
        // A result of something else is none of this.
        fs::write(cache.path(&other), &kept).unwrap();
        assert_eq!(load(&cache, &other), None);
        cache.save_runs(&key, &runs);
        assert_eq!(load(&cache, &key), Some(runs));
    }

    #[test]
    fn the_number_of_files_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let cache = AuditCache { folder: folder.path().to_owned() };
        for at in 0..MOST {
            fs::write(folder.path().join(format!("{at}.jsonl")), "").unwrap();
        }
        cache.save_runs(&Digest::of(b"one"), &[run(None)]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), MOST - MOST / 4 + 1);
    }
}
