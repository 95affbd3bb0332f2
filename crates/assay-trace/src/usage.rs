//! Tokens: four fields apart, counted once a message.

use serde::Serialize;
use serde::ser::SerializeStruct as _;
use serde_json::{Map, Value};

use crate::{FinalMetrics, Metrics, Step, Usage};

/// Tokens of which some may be unknown: a field that is not in the log is `None`, never 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct KnownUsage {
    /// Tokens read, not from a cache and not written to one.
    pub input: Option<u64>,
    /// Written, reasoning included.
    pub output: Option<u64>,
    /// Read from a cache.
    pub cache_read: Option<u64>,
    /// Read, and written into a cache.
    pub cache_write: Option<u64>,
    /// Those of `cache_write` that are known to be kept for an hour.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_1h: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<Usage> for KnownUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input: Some(usage.input),
            output: Some(usage.output),
            cache_read: Some(usage.cache_read),
            cache_write: Some(usage.cache_write),
            cache_write_1h: usage.cache_write_1h,
        }
    }
}

impl KnownUsage {
    /// The known fields, with 0 for the rest.
    pub fn at_least(&self) -> Usage {
        Usage {
            input: self.input.unwrap_or_default(),
            output: self.output.unwrap_or_default(),
            cache_read: self.cache_read.unwrap_or_default(),
            cache_write: self.cache_write.unwrap_or_default(),
            cache_write_1h: self.cache_write_1h.min(self.cache_write.unwrap_or_default()),
            ..Usage::default()
        }
    }

    /// The sum with another's; a field unknown in either is unknown.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        Self {
            input: add(self.input, other.input),
            output: add(self.output, other.output),
            cache_read: add(self.cache_read, other.cache_read),
            cache_write: add(self.cache_write, other.cache_write),
            cache_write_1h: self.cache_write_1h.saturating_add(other.cache_write_1h),
        }
    }

    /// The sum with another's, as far as either is known.
    pub(crate) fn plus_known(&self, other: &Self) -> Self {
        self.merged(other, u64::saturating_add)
    }

    /// The known fields, or a certain minimum if that is larger.
    pub(crate) fn or_more(&self, least: &Usage) -> Self {
        let hour = least.cache_write_1h;
        let least = Self::from(*least).fields().map(|field| field.filter(|count| *count > 0));
        self.merged(&Self::of_fields(least, hour), u64::max)
    }

    fn merged(&self, other: &Self, both: fn(u64, u64) -> u64) -> Self {
        let field = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(both(a, b)),
            (a, b) => a.or(b),
        };
        Self {
            input: field(self.input, other.input),
            output: field(self.output, other.output),
            cache_read: field(self.cache_read, other.cache_read),
            cache_write: field(self.cache_write, other.cache_write),
            cache_write_1h: both(self.cache_write_1h, other.cache_write_1h),
        }
    }

    /// The four fields in their order, and those that are kept for an hour.
    fn of_fields([input, output, cache_read, cache_write]: [Option<u64>; 4], cache_write_1h: u64) -> Self {
        Self { input, output, cache_read, cache_write, cache_write_1h }
    }

    /// Providers without a cache leave its fields out: if input and output are known, these are 0.
    pub(crate) fn without_cache(self) -> Self {
        let none = self.input.and(self.output).map(|_| 0);
        Self { cache_read: self.cache_read.or(none), cache_write: self.cache_write.or(none), ..self }
    }

    /// Whether each field is known.
    pub(crate) fn is_complete(&self) -> bool {
        self.fields().iter().all(Option::is_some)
    }

    /// In ATIF's fields, with the provider's own figures alongside.
    pub(crate) fn metrics(&self, raw: Option<&Value>) -> Metrics {
        let mut metrics = Metrics {
            prompt_tokens: self.input.map(|_| self.at_least().prompt()),
            completion_tokens: self.output,
            cached_tokens: self.cache_read,
            ..Metrics::default()
        };
        if let Some(written) = self.cache_write.filter(|written| *written > 0) {
            metrics.extra.insert(CACHE_WRITE.to_owned(), written.into());
        }
        if self.cache_write_1h > 0 {
            metrics.extra.insert(CACHE_WRITE_1H.to_owned(), self.cache_write_1h.into());
        }
        if let Some(raw) = raw {
            metrics.extra.insert("usage".to_owned(), raw.clone());
        }
        metrics
    }

    fn fields(&self) -> [Option<u64>; 4] {
        [self.input, self.output, self.cache_read, self.cache_write]
    }
}

/// The names of the four fields, in their order.
pub const FIELDS: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

/// Of how many messages or sums a field is known, and of how many it is not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FieldCounts {
    known: [u64; 4],
    unknown: [u64; 4],
}

impl FieldCounts {
    /// Takes note of a message or a sum.
    pub(crate) fn note(&mut self, fields: &KnownUsage) {
        for (at, field) in fields.fields().into_iter().enumerate() {
            *(if field.is_some() { &mut self.known[at] } else { &mut self.unknown[at] }) += 1;
        }
    }

    /// Records the fields that a message or a sum lacks.
    pub(crate) fn note_unknown(&mut self, fields: &KnownUsage) {
        for (at, field) in fields.fields().into_iter().enumerate() {
            self.unknown[at] += u64::from(field.is_none());
        }
    }

    /// Adds another's counts.
    pub(crate) fn add(&mut self, other: &Self) {
        for at in 0..FIELDS.len() {
            self.known[at] += other.known[at];
            self.unknown[at] += other.unknown[at];
        }
    }
}

/// The key for lower bounds beside a trajectory's sums, and the cost's name in it.
const AT_LEAST: &str = "at_least";
const COST: &str = "cost_usd";

/// The key that Harbor's adapters use for what ATIF has no field for.
pub(crate) const CACHE_WRITE: &str = "cache_creation_input_tokens";

/// The key for those of them that are kept for an hour.
pub(crate) const CACHE_WRITE_1H: &str = "cache_write_1h";

/// Where both are in Anthropic's own figures.
const RAW_CACHE_WRITE: &str = "/cache_creation_input_tokens";
pub(crate) const RAW_CACHE_WRITE_1H: &str = "/cache_creation/ephemeral_1h_input_tokens";

impl Step {
    /// The tokens of the step's message, or `None` if the log has none.
    pub fn usage(&self) -> Option<Usage> {
        let metrics = self.metrics.as_ref()?;
        if metrics.prompt_tokens.is_none() && metrics.completion_tokens.is_none() {
            return None;
        }
        let cache_read = metrics.cached_tokens.unwrap_or_default();
        let written = |key: &str| metrics.extra.get(key).and_then(Value::as_u64);
        let raw = |path: &str| metrics.extra.get("usage")?.pointer(path)?.as_u64();
        let cache_write = written(CACHE_WRITE).or_else(|| raw(RAW_CACHE_WRITE)).unwrap_or_default();
        let hour = written(CACHE_WRITE_1H).or_else(|| raw(RAW_CACHE_WRITE_1H)).unwrap_or_default();
        let prompt = metrics.prompt_tokens.unwrap_or_default();
        let usage = Usage {
            input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            output: metrics.completion_tokens.unwrap_or_default(),
            cache_read,
            cache_write,
            cache_write_1h: hour.min(cache_write),
            ..Usage::default()
        };
        Some(usage.of_request())
    }
}

impl Metrics {
    /// Which of the four fields the figures contain.
    pub(crate) fn known(&self) -> KnownUsage {
        let cached = self.cached_tokens.or(self.extra.get(CACHE_WRITE).and_then(Value::as_u64)).map(|_| 0);
        KnownUsage {
            input: self.prompt_tokens,
            output: self.completion_tokens,
            cache_read: self.cached_tokens,
            cache_write: cached,
            cache_write_1h: 0,
        }
    }
}

impl FinalMetrics {
    /// The sums, as far as they are there, lower bounds among them.
    pub(crate) fn known(&self) -> Option<KnownUsage> {
        let usage = self.usage();
        if usage.is_none() && !self.extra.contains_key(AT_LEAST) {
            return None;
        }
        let least = |name| self.at_least(name)?.as_u64();
        let cached = self.total_cached_tokens;
        let written = usage.filter(|_| cached.is_some()).map(|usage| usage.cache_write);
        Some(KnownUsage {
            input: usage.map(|usage| usage.input).or_else(|| least("input")),
            output: self.total_completion_tokens.or_else(|| least("output")),
            cache_read: cached.or_else(|| least("cache_read")),
            cache_write: written.or_else(|| least("cache_write")),
            cache_write_1h: usage.map_or(0, |usage| usage.cache_write_1h),
        })
    }

    fn at_least(&self, name: &str) -> Option<&Value> {
        self.extra.get(AT_LEAST)?.get(name)
    }

    /// A lower bound of the cost in USD, if no more is known.
    pub(crate) fn least_cost(&self) -> Option<f64> {
        self.at_least(COST)?.as_f64()
    }

    /// Fields that the sums lack: those for which they have only lower bounds are `None`.
    pub(crate) fn gap(&self) -> KnownUsage {
        KnownUsage::of_fields(
            FIELDS.map(|name| if self.at_least(name).is_some() { None } else { Some(0) }),
            0,
        )
    }

    /// Keeps lower bounds apart from the sums, which other programs take as exact: the named fields
    /// of `tally`, and the cost.
    pub(crate) fn set_lower_bounds(&mut self, tally: &Tally, is_cost_partial: bool) {
        let bounds = tally.lower_bounds();
        let mut kept = Map::new();
        let prompt = ["input", "cache_read", "cache_write"];
        let is_prompt_bound = prompt.iter().any(|name| bounds.contains(name));
        for (name, count) in FIELDS.into_iter().zip(tally.known().fields()) {
            let is_bound = bounds.contains(&name) || (is_prompt_bound && prompt.contains(&name));
            if let Some(count) = count.filter(|_| is_bound) {
                kept.insert(name.to_owned(), count.into());
            }
        }
        if is_prompt_bound {
            (self.total_prompt_tokens, self.total_cached_tokens) = (None, None);
        }
        if bounds.contains(&"output") {
            self.total_completion_tokens = None;
        }
        if let Some(cost) = self.total_cost_usd.take_if(|_| is_cost_partial) {
            kept.insert(COST.to_owned(), cost.into());
        }
        if !kept.is_empty() {
            self.extra.insert(AT_LEAST.to_owned(), kept.into());
        }
    }

    /// The sums, if there are any.
    pub fn usage(&self) -> Option<Usage> {
        let prompt = self.total_prompt_tokens?;
        let cache_read = self.total_cached_tokens.unwrap_or_default();
        let count = |key: &str| self.extra.get(key).and_then(Value::as_u64);
        let raw = |path: &str| self.extra.get("usage")?.pointer(path)?.as_u64();
        let cache_write = count(CACHE_WRITE).or_else(|| raw(RAW_CACHE_WRITE)).unwrap_or_default();
        let hour = count(CACHE_WRITE_1H).or_else(|| raw(RAW_CACHE_WRITE_1H)).unwrap_or_default();
        Some(Usage {
            input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            output: self.total_completion_tokens.unwrap_or_default(),
            cache_read,
            cache_write,
            cache_write_1h: hour.min(cache_write),
            ..Usage::default()
        })
    }
}

/// A transcript's tokens, by three ways of counting. The first is correct; the others are for
/// comparison with published figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages that carry usage, each once.
    pub messages: u64,
    /// Their tokens, with 0 for unknown fields; [`Tally::known`] distinguishes the two.
    pub usage: Usage,
    /// Records of the log that carry usage. Claude Code writes one for each block of a message, and
    /// repeats the message's usage on each.
    pub records: u64,
    /// Tokens added up over records, which counts most messages several times.
    pub per_record: Usage,
    /// How far the fields of `usage` are known.
    pub(crate) reported: FieldCounts,
}

/// In JSON an unknown field is `null`, and `at_least` names those that are lower bounds.
impl Serialize for Tally {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut made = serializer.serialize_struct("Tally", 5)?;
        made.serialize_field("messages", &self.messages)?;
        made.serialize_field("usage", &self.known())?;
        made.serialize_field("at_least", &self.lower_bounds())?;
        made.serialize_field("records", &self.records)?;
        made.serialize_field("per_record", &self.per_record)?;
        made.end()
    }
}

/// A way of counting tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// All four fields, once a message.
    PerMessage,
    /// `input` and `output` added up over records: as in the paper on Counterfactual Trace Auditing
    /// (docs/lab/CTA.md).
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

    /// The tokens, with `None` for each field that is unknown.
    pub fn known(&self) -> KnownUsage {
        let usage = KnownUsage::from(self.usage).fields();
        let field =
            |at: usize| usage[at].filter(|_| self.reported.known[at] > 0 || self.reported.unknown[at] == 0);
        KnownUsage::of_fields([field(0), field(1), field(2), field(3)], self.usage.cache_write_1h)
    }

    /// The fields that are lower bounds: known of some messages or sessions, and unknown of others.
    pub fn lower_bounds(&self) -> Vec<&'static str> {
        let is_bound = |at: &usize| self.reported.known[*at] > 0 && self.reported.unknown[*at] > 0;
        (0..FIELDS.len()).filter(is_bound).map(|at| FIELDS[at]).collect()
    }

    /// Whether each field is known of each message.
    pub fn is_complete(&self) -> bool {
        self.reported.unknown == [0; 4]
    }

    /// Whether any field is known, or there was nothing to count.
    pub fn is_known(&self) -> bool {
        self.reported.known != [0; 4] || self.is_complete()
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        self.reported.add(&other.reported);
        self.messages += other.messages;
        self.usage += other.usage;
        self.records += other.records;
        self.per_record += other.per_record;
    }
}
