use std::path::PathBuf;

use assay_fs::FsError;

/// Most bytes of all files: planning reads them for each task.
pub(super) const TOTAL_BYTES: u64 = 32 << 20;

/// Why there is no documentation for a task.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentsError {
    /// The default folder is missing.
    #[error(
        "no documentation: {} is not a folder (hint: create it, or name another with `documents:DIR` or `[tasks.\"{task}\"] documents = \"DIR\"`)",
        folder.display()
    )]
    NoFolder {
        /// The default folder.
        folder: PathBuf,
        /// The task's name.
        task: String,
    },
    /// A folder that does not exist.
    #[error("no documentation: {} is not a folder", folder.display())]
    NotAFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder without documentation.
    #[error("no documentation: {} contains no text in .md, .txt, .rst or .html files", folder.display())]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
    /// Documentation about something else.
    #[error("no passage in {} shares a word with the instruction", folder.display())]
    NoMatch {
        /// The folder.
        folder: PathBuf,
    },
    /// A skill too short for any passage.
    #[error("its curated skills have {budget} tokens of text, too few for a passage of documentation")]
    NoRoom {
        /// The tokens of the skills' text.
        budget: usize,
    },
    /// Too much to read.
    #[error("{} contains more than {} MiB of documentation: name a smaller folder", folder.display(), TOTAL_BYTES >> 20)]
    TooLarge {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder below it.
    #[error("cannot read {}: {error}", path.display())]
    Walk {
        /// The path at fault.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file.
    #[error(transparent)]
    Read(#[from] FsError),
}
