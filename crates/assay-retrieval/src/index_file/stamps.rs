//! Whether the sources of an index have changed since it was made.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Threads that check whether files have changed.
const THREADS: usize = 4;

/// A file or a folder when the index was made: enough to see, without reading it, that it has not
/// changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// Its path.
    pub path: String,
    /// Its size in bytes; of a folder, 0.
    pub size: u64,
    /// When it was last changed, in nanoseconds since 1970.
    pub modified: i64,
}

/// The path of the stamp of a corpus file.
const CORPUS: &str = "corpus";

impl Stamp {
    /// Of a file or folder in one of several libraries. Its path begins with the number of the library. `None` if it is in
    /// none of them or cannot be read.
    pub fn of_source(folders: &[PathBuf], path: &Path) -> Option<Self> {
        let (number, inner) = folders
            .iter()
            .enumerate()
            .find_map(|(number, folder)| Some((number, path.strip_prefix(folder).ok()?)))?;
        let name = format!("{number}/{}", inner.to_str()?);
        stamp_beneath(&name, path)
    }

    /// Of a corpus in one file. `None` if it cannot be read.
    pub fn of_corpus(path: &Path) -> Option<Self> {
        of_file(CORPUS.to_owned(), &fs::metadata(path).ok()?)
    }
}

fn of_file(path: String, data: &Metadata) -> Option<Stamp> {
    let modified = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Stamp { path, size: data.len(), modified: i64::try_from(modified.as_nanos()).ok()? })
}

/// Of a folder only the subfolders matter, where skills may appear, not its other files.
fn of_folder(path: String, folder: &Path) -> Option<Stamp> {
    let mut names: Vec<std::ffi::OsString> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let is_document = name.to_str().is_some_and(|name| name.eq_ignore_ascii_case("skill.md"));
            is_document || entry.file_type().is_ok_and(|kind| !kind.is_file())
        })
        .map(|entry| entry.file_name())
        .collect();
    names.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for name in &names {
        hasher.update(name.as_encoded_bytes());
        hasher.update(b"/");
    }
    let [b0, b1, b2, b3, b4, b5, b6, b7, ..] = *hasher.finalize().as_bytes();
    let sum = i64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
    Some(Stamp { path, size: names.len() as u64, modified: sum })
}

/// Whether the sources of an index are as they were, by names, sizes and times. An index without stamps is not current.
pub fn are_current(stamps: &[Stamp], folders: &[PathBuf], corpus: Option<&Path>) -> bool {
    let holds = |known: &Stamp| {
        let now = match corpus {
            Some(path) => Stamp::of_corpus(path),
            None => known.path.split_once('/').and_then(|(number, inner)| {
                let folder = folders.get(number.parse::<usize>().ok()?)?;
                stamp_beneath(
                    &known.path,
                    &if inner.is_empty() { folder.clone() } else { folder.join(inner) },
                )
            }),
        };
        now.as_ref() == Some(known)
    };
    if stamps.is_empty() {
        return false;
    }
    let share = stamps.len().div_ceil(THREADS);
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            stamps.chunks(share).map(|own| scope.spawn(move || own.iter().all(&holds))).collect();
        threads.into_iter().all(|thread| thread.join().unwrap_or(false))
    })
}

fn stamp_beneath(name: &str, path: &Path) -> Option<Stamp> {
    let data = fs::metadata(path).ok()?;
    if data.is_dir() { of_folder(name.to_owned(), path) } else { of_file(name.to_owned(), &data) }
}
