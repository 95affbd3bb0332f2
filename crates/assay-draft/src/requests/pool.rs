//! Skills for training and skills for evaluation.

use assay_fs::{Digest, Hasher};

/// One of two disjoint parts of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pool {
    /// For fitting retrievers and descriptions.
    Training,
    /// For measuring them.
    Evaluation,
}

impl Pool {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Evaluation => "evaluation",
        }
    }

    /// The part that a skill belongs to, by the digest of its text and the seed: half of all skills each. Copies of a
    /// text belong to the same part.
    pub fn of(text: &Digest, seed: u64) -> Self {
        let digest = Hasher::new("assay.requests.pool/1").number(seed).digest(text).finish();
        if digest.as_bytes()[0] < 128 { Self::Training } else { Self::Evaluation }
    }
}
