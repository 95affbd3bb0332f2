//! What a report needs of a record: nothing of its paths, its evidence, and of its tests only whether they passed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_model::Usage;
use assay_trial::{Cause, LATE, Metered, Outcome, Record, Seconds, StoreError};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::tests_breakdown::verdicts;

/// One trial's result.
#[derive(Debug, Clone)]
pub(crate) struct TrialResult {
    pub(crate) outcome: Outcome,
    pub(crate) cause: Option<Cause>,
    /// Replies of the model.
    pub(crate) turns: usize,
    /// Tokens, where somebody counted them.
    pub(crate) usage: Option<Usage>,
    /// In USD, where a price is known.
    pub(crate) cost_usd: Option<f64>,
    /// The agent's own time, in seconds.
    pub(crate) seconds: f64,
    /// Which stages any skill reached: offered, advertised, touched, opened, executed.
    pub(crate) exposure: [bool; 5],
    /// Whether a skill of the experiment was there that had not been provided.
    pub(crate) contaminated: bool,
    /// Whether the reward was read after the agent's deadline, with nothing having ended the agent.
    pub(crate) late: bool,
    /// What the gateway counted.
    pub(crate) metered: Option<Metered>,
    /// The verifier's tests by name, and whether each passed.
    pub(crate) tests: BTreeMap<String, bool>,
}

impl TrialResult {
    /// Reads a record's text. The inner error is the schema of a record of another version.
    ///
    /// # Errors
    /// Text that is no record.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Result<Self, String>, serde_json::Error> {
        match serde_json::from_slice::<File>(bytes) {
            Ok(file) if file.schema != Record::SCHEMA => Ok(Err(file.schema)),
            Ok(file) => Ok(Ok(file.into())),
            // What cannot be understood may be so because it is of another version.
            Err(error) => match serde_json::from_slice::<Header>(bytes) {
                Ok(header) if header.schema != Record::SCHEMA => Ok(Err(header.schema)),
                _ => Err(error),
            },
        }
    }

    /// What is said of a record that another version of the program wrote.
    pub(crate) fn of_another_version(path: PathBuf, schema: &str) -> StoreError {
        let message = format!("it is {schema:?}, and this version reads {:?}", Record::SCHEMA);
        StoreError::Format { path, message }
    }
}

impl From<&Record> for TrialResult {
    fn from(record: &Record) -> Self {
        let any = |fact: fn(&assay_trace::Exposure) -> bool| record.exposure.iter().any(fact);
        Self {
            outcome: record.outcome,
            cause: record.cause,
            turns: record.turns,
            usage: record.usage,
            cost_usd: record.cost_usd,
            seconds: record.seconds.agent,
            exposure: [
                any(|skill| skill.offered),
                any(|skill| skill.advertised.is_some()),
                any(|skill| skill.touched.is_some()),
                any(|skill| skill.opened.is_some()),
                any(|skill| skill.executed.is_some()),
            ],
            contaminated: !record.contaminated.is_empty(),
            late: is_late(record.reason.as_deref()),
            metered: record.metered,
            tests: record.ctrf.as_ref().map(verdicts).unwrap_or_default(),
        }
    }
}

#[derive(Deserialize)]
struct Header {
    schema: String,
}

/// A record as it lies on disk; what is not named here is passed over unread.
#[derive(Deserialize)]
struct File {
    schema: String,
    outcome: Outcome,
    #[serde(default)]
    cause: Option<Cause>,
    turns: usize,
    usage: Option<Usage>,
    cost_usd: Option<f64>,
    seconds: Seconds,
    exposure: Vec<Skill>,
    #[serde(default)]
    contaminated: Vec<IgnoredAny>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    metered: Option<Metered>,
    #[serde(default)]
    ctrf: Option<Value>,
}

#[derive(Deserialize)]
struct Skill {
    offered: bool,
    advertised: Option<IgnoredAny>,
    touched: Option<IgnoredAny>,
    opened: Option<IgnoredAny>,
    executed: Option<IgnoredAny>,
}

impl From<File> for TrialResult {
    fn from(file: File) -> Self {
        let any = |fact: fn(&Skill) -> bool| file.exposure.iter().any(fact);
        Self {
            exposure: [
                any(|skill| skill.offered),
                any(|skill| skill.advertised.is_some()),
                any(|skill| skill.touched.is_some()),
                any(|skill| skill.opened.is_some()),
                any(|skill| skill.executed.is_some()),
            ],
            outcome: file.outcome,
            cause: file.cause,
            turns: file.turns,
            usage: file.usage,
            cost_usd: file.cost_usd,
            seconds: file.seconds.agent,
            contaminated: !file.contaminated.is_empty(),
            late: is_late(file.reason.as_deref()),
            metered: file.metered,
            tests: file.ctrf.as_ref().map(verdicts).unwrap_or_default(),
        }
    }
}

fn is_late(reason: Option<&str>) -> bool {
    reason.is_some_and(|reason| reason.starts_with(LATE))
}
