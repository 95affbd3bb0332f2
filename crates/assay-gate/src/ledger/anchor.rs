//! What must be in a ledger: the look that the target's newest merge names, and what this machine saw last.

use std::path::{Path, PathBuf};

use super::git::Repository;
use super::{Ledger, LedgerError, entry};

/// The trailer of a merge commit that names a look.
const TRAILER: &str = "Assay-Gate";

/// The value of the trailer with which a maintainer begins a new ledger.
const RESET: &str = "reset";

/// The look that the newest merge of the target names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Its id.
    pub id: String,
}

impl Anchor {
    /// The look named by the newest commit in the first-parent history of `target` that has the trailer; `None` if there is none,
    /// or if it says that a new ledger begins.
    pub fn of(repository: &Path, target: &str) -> Option<Self> {
        let trailers = Repository::at(repository).trailers(target, TRAILER);
        // What cannot be an id names nothing.
        let newest = trailers.into_iter().find(|value| value == RESET || entry::is_id(value))?;
        (newest != RESET).then_some(Self { id: newest })
    }

    /// The line for the message of a merge commit.
    pub fn trailer(id: &str) -> String {
        format!("{TRAILER}: {id}")
    }
}

impl Ledger {
    /// Checks that a look is there.
    ///
    /// # Errors
    /// It is not.
    pub fn require(&self, anchor: &Anchor) -> Result<(), LedgerError> {
        if self.find(&anchor.id).is_some() {
            return Ok(());
        }
        Err(LedgerError::Incomplete {
            place: self.home.describe(),
            id: anchor.id.clone(),
            known: "the history of the target names".to_owned(),
            hint: format!(
                "restore it from another clone, check that ASSAY_RECORD_KEY is the key that signed it, or begin a new ledger with a commit on the target whose message ends with `{TRAILER}: {RESET}`"
            ),
        })
    }
}

/// The newest looks of each ledger, as this machine saw them last.
#[derive(Debug, Clone)]
pub struct KnownHeads {
    folder: PathBuf,
}

impl KnownHeads {
    /// Those in a folder, which is created at the first need.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    fn file(&self, ledger: &Ledger) -> PathBuf {
        // Another key sees other looks.
        let key = ledger.keys.signer().map(assay_store::RecordKey::id).unwrap_or_default();
        let hash = blake3::hash(format!("{key} {}", ledger.home.identity()).as_bytes());
        let name: String = hash.to_hex().chars().take(32).collect();
        self.folder.join(name)
    }

    /// Checks that all of them are still there.
    ///
    /// # Errors
    /// One is missing.
    pub fn check(&self, ledger: &Ledger) -> Result<(), LedgerError> {
        let path = self.file(ledger);
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        let mut known = known.lines().map(str::trim).filter(|id| entry::is_id(id));
        match known.find(|id| ledger.find(id).is_none()) {
            None => Ok(()),
            Some(id) => Err(LedgerError::Incomplete {
                place: ledger.home.describe(),
                id: id.to_owned(),
                known: "this machine saw before".to_owned(),
                hint: format!(
                    "restore it from another clone, or, to accept that it is gone, remove {}",
                    path.display()
                ),
            }),
        }
    }

    /// Remembers the newest looks. Where that is impossible, the check has less to compare with.
    pub fn remember(&self, ledger: &Ledger) {
        let heads = ledger.heads();
        if heads.is_empty() || std::fs::create_dir_all(&self.folder).is_err() {
            return;
        }
        let text: String = heads.iter().map(|id| format!("{id}\n")).collect();
        let _ = assay_fs::replace_file(&self.file(ledger), text.as_bytes());
    }
}
