//! Why a store cannot be used.

use std::path::PathBuf;

use crate::identity::TrialId;
use crate::origin::SignatureMismatch;

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file operation failed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// `read`, `write`, …
        action: &'static str,
        /// What.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file of the store that cannot be parsed.
    #[error("{} is damaged or was written by another version of assay: {message}", path.display())]
    Format {
        /// Which.
        path: PathBuf,
        /// How.
        message: String,
    },
    /// A record, or a file that it rests on, that does not match the record's signature.
    #[error("{} does not match its signature: {mismatch}", path.display())]
    Changed {
        /// The record.
        path: PathBuf,
        /// What was changed.
        mismatch: SignatureMismatch,
    },
    /// A file of another version.
    #[error("{} has the unsupported schema {found:?}: this version of assay reads {reads:?}", path.display())]
    Version {
        /// Which.
        path: PathBuf,
        /// Its schema.
        found: String,
        /// The schema that is read.
        reads: &'static str,
    },
    /// A plan whose content does not have its digest.
    #[error(
        "the plan of run {run:?} was changed after it was sealed: {} does not have the digest that it states",
        path.display()
    )]
    PlanChanged {
        /// The run.
        run: String,
        /// Its plan.
        path: PathBuf,
    },
    /// A result that is discarded: while this process was stopped or cut off, its lease ended.
    #[error("the result of trial {} is discarded: another process has taken the trial over", trial.short())]
    LeaseLost {
        /// The trial.
        trial: TrialId,
    },
    /// An unknown name or id.
    #[error("{0}")]
    NotFound(String),
}
