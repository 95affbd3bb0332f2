//! Tokens: four fields apart, counted once a message.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{FinalMetrics, Metrics, Step};

/// Tokens of a message or of many, the four fields apart as providers charge them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read, and neither from a cache nor into one.
    pub input: u64,
    /// Written, reasoning included.
    pub output: u64,
    /// Read from a cache.
    pub cache_read: u64,
    /// Read, and written into a cache.
    pub cache_write: u64,
}

impl Usage {
    /// All four together.
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// All that was read, cached or not.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// `input` and `output` alone, which is what the published auditor adds up.
    pub fn uncached(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Adds another's tokens.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }

    /// In ATIF's fields, with the provider's own figures beside them.
    pub(crate) fn metrics(&self, raw: Option<&Value>) -> Metrics {
        let mut metrics = Metrics {
            prompt_tokens: Some(self.prompt()),
            completion_tokens: Some(self.output),
            cached_tokens: Some(self.cache_read),
            ..Metrics::default()
        };
        if self.cache_write > 0 {
            metrics.extra.insert(CACHE_WRITE.to_owned(), self.cache_write.into());
        }
        if let Some(raw) = raw {
            metrics.extra.insert("usage".to_owned(), raw.clone());
        }
        metrics
    }
}

/// The key that Harbor's adapters use for what ATIF has no field for.
pub(crate) const CACHE_WRITE: &str = "cache_creation_input_tokens";

impl Step {
    /// The tokens of the step's message, or `None` where the log has none.
    pub fn usage(&self) -> Option<Usage> {
        let metrics = self.metrics.as_ref()?;
        if metrics.prompt_tokens.is_none() && metrics.completion_tokens.is_none() {
            return None;
        }
        let cache_read = metrics.cached_tokens.unwrap_or_default();
        let written = |key: &str| metrics.extra.get(key).and_then(Value::as_u64);
        let own = || metrics.extra.get("usage")?.get(CACHE_WRITE)?.as_u64();
        let cache_write = written(CACHE_WRITE).or_else(own).unwrap_or_default();
        let prompt = metrics.prompt_tokens.unwrap_or_default();
        Some(Usage {
            input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            output: metrics.completion_tokens.unwrap_or_default(),
            cache_read,
            cache_write,
        })
    }
}

impl FinalMetrics {
    /// The sums, or `None` where there are none.
    pub fn usage(&self) -> Option<Usage> {
        let prompt = self.total_prompt_tokens?;
        let cache_read = self.total_cached_tokens.unwrap_or_default();
        let own = || self.extra.get("usage")?.get(CACHE_WRITE)?.as_u64();
        let written = self.extra.get(CACHE_WRITE).and_then(Value::as_u64).or_else(own);
        let cache_write = written.unwrap_or_default();
        Some(Usage {
            input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            output: self.total_completion_tokens.unwrap_or_default(),
            cache_read,
            cache_write,
        })
    }
}

/// A transcript's tokens, by three ways of counting. The first is right; the others are here to be compared with what was published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Messages that carry usage, each once.
    pub messages: u64,
    /// Their tokens.
    pub usage: Usage,
    /// Records of the log that carry usage. Claude Code writes one for each block of a message, and repeats the message's usage
    /// on each.
    pub records: u64,
    /// Tokens added up over records, which counts most messages several times.
    pub per_record: Usage,
}

/// A way of counting tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// All four fields, once a message.
    PerMessage,
    /// `input` and `output` added up over records: the way of the paper on Counterfactual Trace Auditing.
    PaperInputOutput,
    /// All four fields added up over records: the way of its authors' correction.
    PerRecordAllFields,
}

impl Counting {
    /// The ways there are.
    pub const ALL: [Self; 3] = [Self::PerMessage, Self::PaperInputOutput, Self::PerRecordAllFields];

    /// The name it has on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::PerMessage => "per-message",
            Self::PaperInputOutput => "paper-input-output",
            Self::PerRecordAllFields => "per-record-all-fields",
        }
    }
}

impl Tally {
    /// Tokens by one way of counting.
    pub fn tokens(&self, counting: Counting) -> u64 {
        match counting {
            Counting::PerMessage => self.usage.total(),
            Counting::PaperInputOutput => self.per_record.uncached(),
            Counting::PerRecordAllFields => self.per_record.total(),
        }
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.usage.add(&other.usage);
        self.records += other.records;
        self.per_record.add(&other.per_record);
    }
}
