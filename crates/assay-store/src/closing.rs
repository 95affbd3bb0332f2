//! The closing of a run that is not complete: a decision to judge what there is, once.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::StoreError;
use crate::files::{pretty, read_json, write_new};
use crate::store::Store;

/// `final.json`: a run was closed before all its planned trials were done, and judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// `assay.final/1`.
    pub schema: String,
    /// When, RFC 3339, UTC.
    pub at: String,
    /// Planned trials that were done: valid, or lost.
    pub trials: usize,
    /// Of them, valid ones.
    pub valid: usize,
    /// Trials planned.
    pub planned: usize,
    /// `trials` / `planned`.
    pub share: f64,
    /// The error rate of the verdicts, shared by each family of comparisons. Of a run that is decided round by round
    /// it is that of all its looks.
    pub level: f64,
    /// What the report said of each comparison.
    pub verdicts: Vec<ClosingVerdict>,
}

/// A comparison of a run when it was closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClosingVerdict {
    /// The harness.
    pub agent: String,
    /// `provider:model`.
    pub model: Option<String>,
    /// The sandbox.
    pub sandbox: String,
    /// The condition.
    pub condition: String,
    /// The lift.
    pub lift: Option<f64>,
    /// `helps`, `harms`, `negligible` or `inconclusive`.
    pub verdict: String,
}

impl Closing {
    /// The format of `final.json`.
    pub const SCHEMA: &str = "assay.final/1";
}

impl Store {
    /// Records that a run was closed. False, with nothing written, if it was closed before.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save_closing(&self, run: &str, closing: &Closing) -> Result<bool, StoreError> {
        let path = self.run_folder(run).join("final.json");
        write_new(&path, &pretty(closing, &path)?)
    }

    /// The closing of a run; `None` if it was never closed.
    ///
    /// # Errors
    /// The file is there and cannot be read, or is of another version.
    pub fn closing(&self, run: &str) -> Result<Option<Closing>, StoreError> {
        let path = self.run_folder(run).join("final.json");
        if !path.exists() {
            return Ok(None);
        }
        let value: Value = read_json(&path)?;
        match value.get("schema").and_then(Value::as_str) {
            Some(schema) if schema != Closing::SCHEMA => {
                Err(StoreError::Version { path, found: schema.to_owned(), reads: Closing::SCHEMA })
            }
            _ => read_json(&path).map(Some),
        }
    }
}
