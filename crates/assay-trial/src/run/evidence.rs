//! What of an attempt's logs, artifacts and other evidence could not be kept.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use assay_diagnostic::{chain, clean_start, escape_path};
use assay_fs::{CopyReport, LeftOut};
use assay_store::{Evidence, LostEvidence};

/// Most entries of a record.
const LISTED: usize = 100;

/// Most characters of a reason.
const REASON_CHARS: usize = 300;

/// The account of an attempt, which its phases add to.
#[derive(Debug)]
pub(crate) struct EvidenceLog {
    /// The attempt's folder in the store.
    folder: PathBuf,
    found: Mutex<Evidence>,
}

impl EvidenceLog {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), found: Mutex::default() }
    }

    /// Something that should be at a path in the attempt's folder, and is not.
    pub(crate) fn lost(&self, path: &Path, reason: &str) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let path = escape_path(path.strip_prefix(&self.folder).unwrap_or(path));
        let lost = LostEvidence { path, reason: clean_start(reason, REASON_CHARS) };
        // A folder may be copied twice.
        if found.lost.contains(&lost) {
            return;
        }
        if found.lost.len() == LISTED {
            found.more = found.more.saturating_add(1);
        } else {
            found.lost.push(lost);
        }
    }

    /// What a copy to a folder in the attempt's folder has left out.
    pub(crate) fn left_out(&self, to: &Path, left_out: &[LeftOut]) {
        for left in left_out {
            self.lost(&to.join(&left.path), &left.reason);
        }
    }

    /// A copy to a folder in the attempt's folder.
    pub(crate) fn copied<E: Error>(&self, to: &Path, copied: Result<CopyReport, E>) {
        match copied {
            Ok(report) => self.left_out(to, &report.left_out),
            Err(error) => self.lost(to, &chain(&error)),
        }
    }

    /// A file that was written into the attempt's folder.
    pub(crate) fn written(&self, path: &Path, written: std::io::Result<()>) {
        if let Err(error) = written {
            self.lost(path, &error.to_string());
        }
    }

    /// For the record.
    pub(crate) fn into_evidence(self) -> Evidence {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_fs::{Caps, copy_tree};

    use super::*;

    #[test]
    fn what_is_not_copied_is_listed() {
        let attempt = tempfile::tempdir().unwrap();
        let logs = tempfile::tempdir().unwrap();
        fs::write(logs.path().join("small.txt"), "x").unwrap();
        fs::write(logs.path().join("large.txt"), "x".repeat(100)).unwrap();
        let log = EvidenceLog::new(attempt.path());
        let caps = Caps { file_bytes: 10, ..Caps::default() };
        let to = attempt.path().join("agent");
        log.copied(&to, copy_tree(logs.path(), &to, &caps));
        log.copied(&to, copy_tree(&logs.path().join("none"), &to, &caps));
        // A file is in the folder's place.
        fs::write(attempt.path().join("verifier"), "").unwrap();
        let taken = attempt.path().join("verifier");
        log.copied(&taken, copy_tree(logs.path(), &taken, &caps));
        log.written(&taken.join("x"), fs::write(taken.join("x"), ""));
        let found = log.into_evidence();
        let lines: Vec<String> =
            found.lost.iter().map(|lost| format!("{}: {}", lost.path, lost.reason)).collect();
        assert_eq!(lines[0], "agent/large.txt: larger than 10 bytes");
        assert!(lines[1].starts_with("agent: ") && lines[1].contains("No such file"), "{lines:?}");
        assert!(lines[2].starts_with("verifier: ") && lines[3].starts_with("verifier/x: "), "{lines:?}");
        assert_eq!((lines.len(), found.more, found.count()), (4, 0, 4));
    }

    #[test]
    fn a_long_list_is_counted() {
        let log = EvidenceLog::new(Path::new("/a"));
        (0..LISTED + 7).for_each(|number| log.lost(&Path::new("/a").join(number.to_string()), "gone"));
        let found = log.into_evidence();
        assert_eq!((found.lost.len(), found.more, found.count()), (LISTED, 7, 107));
    }
}
