//! The files of an attempt. They come out of a sandbox: they are read beneath its folder, without following
//! links, up to caps.

use std::path::{Path, PathBuf};

use assay_fs::{FileKind, read_beneath_up_to, tree};
use assay_store::{Store, TrialId};
use assay_trace::Trajectory;
use assay_trace::read::{self, TraceError};

/// Most bytes of a text that a page is made from.
const TEXT_CAP: u64 = 4 << 20;

/// Most bytes of a file that is sent.
const FILE_CAP: u64 = 64 << 20;

/// Most files that a page lists.
const MOST_FILES: usize = 500;

/// An attempt at a trial.
pub(crate) struct Attempt {
    folder: PathBuf,
}

/// A file of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttemptFile {
    /// Relative to the attempt's folder.
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

impl Attempt {
    pub(crate) fn new(store: &Store, trial: &TrialId, number: u32) -> Self {
        Self { folder: store.trial_folder(trial).join("attempts").join(number.to_string()) }
    }

    /// The numbers of a trial's attempts, in order.
    pub(crate) fn numbers(store: &Store, trial: &TrialId) -> Vec<u32> {
        let entries = std::fs::read_dir(store.trial_folder(trial).join("attempts"));
        let mut numbers: Vec<u32> = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        numbers.sort_unstable();
        numbers
    }

    /// The steps of the agent; `Ok(None)` without a trajectory.
    pub(crate) fn trajectory(&self) -> Result<Option<Trajectory>, TraceError> {
        let path = self.folder.join("trajectory.json");
        if !path.exists() {
            return Ok(None);
        }
        Ok(Some(read::read(&path, None)?.trajectory))
    }

    /// A text file; `None` if it is missing. The second value says whether it is longer than what is read.
    pub(crate) fn text(&self, path: &str) -> Option<(String, bool)> {
        let content = read_beneath_up_to(&self.folder, Path::new(path), TEXT_CAP).ok()??;
        Some((String::from_utf8_lossy(&content.bytes).into_owned(), content.truncated))
    }

    /// A file's bytes; `None` if it is missing or longer than what is sent.
    pub(crate) fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let content = read_beneath_up_to(&self.folder, path, FILE_CAP).ok()??;
        (!content.truncated).then_some(content.bytes)
    }

    /// The files, in order of path.
    pub(crate) fn files(&self) -> Vec<AttemptFile> {
        let nodes = tree::walk(&self.folder).nodes.into_iter();
        let files = nodes.filter(|node| node.kind == FileKind::File).take(MOST_FILES);
        let mut files: Vec<AttemptFile> = files
            .map(|node| {
                let metadata = std::fs::symlink_metadata(self.folder.join(&node.path));
                AttemptFile { bytes: metadata.map_or(0, |metadata| metadata.len()), path: node.path }
            })
            .collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files
    }
}
