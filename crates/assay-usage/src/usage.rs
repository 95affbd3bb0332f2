//! Tokens: four fields apart.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// A prompt of more tokens than these is a long one: Anthropic ("Long context pricing") and Google ("prompts > 200k tokens")
/// charge all tokens of such a request at other prices, where they have tiers.
pub const LONG_PROMPT: u64 = 200_000;

/// Tokens of a message or of many, in four fields that do not overlap, as providers charge them.
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
    /// Those of `cache_write` that the cache keeps for an hour, which Anthropic charges more for. They are no fifth field:
    /// `cache_write` includes them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_1h: u64,
    /// Those of the other fields that are of requests with a long prompt.
    #[serde(default, skip_serializing_if = "LongUsage::is_empty")]
    pub long: LongUsage,
}

/// The part of [`Usage`] that is of requests with a prompt above [`LONG_PROMPT`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LongUsage {
    /// Read, and neither from a cache nor into one.
    pub input: u64,
    /// Written, reasoning included.
    pub output: u64,
    /// Read from a cache.
    pub cache_read: u64,
    /// Read, and written into a cache.
    pub cache_write: u64,
    /// Those of `cache_write` that the cache keeps for an hour.
    pub cache_write_1h: u64,
}

/// Most usage has no such tokens, and is written without the field.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl LongUsage {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn combine(&self, other: &Self, field: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: field(self.input, other.input),
            output: field(self.output, other.output),
            cache_read: field(self.cache_read, other.cache_read),
            cache_write: field(self.cache_write, other.cache_write),
            cache_write_1h: field(self.cache_write_1h, other.cache_write_1h),
        }
    }
}

impl Usage {
    /// The usage of one request, whose prompt may be a long one. Sums keep these apart.
    #[must_use]
    pub fn of_request(self) -> Self {
        let Self { input, output, cache_read, cache_write, cache_write_1h, .. } = self;
        let is_long = self.prompt() > LONG_PROMPT;
        let long = LongUsage { input, output, cache_read, cache_write, cache_write_1h };
        Self { long: if is_long { long } else { LongUsage::default() }, ..self }
    }

    /// All four together.
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// All that was read, cached or not.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// `input` and `output` alone, as the published auditor adds them up.
    pub fn uncached(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Takes another's tokens off.
    pub fn subtract(&mut self, other: &Self) {
        *self = self.combine(other, u64::saturating_sub);
    }

    /// The lesser of each field.
    #[must_use]
    pub fn least(&self, other: &Self) -> Self {
        self.combine(other, u64::min)
    }

    /// Whether each of the four fields is as large as another's.
    pub fn covers(&self, other: &Self) -> bool {
        self.input >= other.input
            && self.output >= other.output
            && self.cache_read >= other.cache_read
            && self.cache_write >= other.cache_write
    }

    /// The difference from another; `None` if that is larger in one of the four fields.
    pub fn minus(&self, other: &Self) -> Option<Self> {
        self.covers(other).then(|| self.combine(other, u64::saturating_sub))
    }

    /// The larger of two in each field.
    #[must_use]
    pub fn largest(&self, other: &Self) -> Self {
        self.combine(other, u64::max)
    }

    fn combine(&self, other: &Self, field: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: field(self.input, other.input),
            output: field(self.output, other.output),
            cache_read: field(self.cache_read, other.cache_read),
            cache_write: field(self.cache_write, other.cache_write),
            cache_write_1h: field(self.cache_write_1h, other.cache_write_1h),
            long: self.long.combine(&other.long, field),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = self.combine(&other, u64::saturating_add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_differences_saturate() {
        let usage = |input, output, cache_read, cache_write| Usage {
            input,
            output,
            cache_read,
            cache_write,
            ..Usage::default()
        };
        let mut sum = usage(1, 2, 3, u64::MAX);
        sum += usage(10, 20, 30, 40);
        assert_eq!(sum, usage(11, 22, 33, u64::MAX));
        assert_eq!((sum.total(), sum.prompt(), sum.uncached()), (u64::MAX, u64::MAX, 33));
        sum.subtract(&usage(1, 30, 3, u64::MAX));
        assert_eq!(sum, usage(10, 0, 30, 0));
        assert_eq!(sum.minus(&usage(1, 0, 0, 0)), Some(usage(9, 0, 30, 0)));
        assert_eq!(sum.minus(&usage(0, 1, 0, 0)), None);
        assert!(sum.covers(&usage(10, 0, 30, 0)) && !sum.covers(&usage(0, 1, 0, 0)));
    }

    #[test]
    fn sums_keep_hours_and_long_prompts_apart() {
        let request = |cache_read| {
            Usage { cache_read, cache_write: 10, cache_write_1h: 4, ..Usage::default() }.of_request()
        };
        let mut sum = request(LONG_PROMPT - 10);
        assert_eq!(sum.long, LongUsage::default());
        sum += request(LONG_PROMPT);
        assert_eq!((sum.cache_write, sum.cache_write_1h), (20, 8));
        assert_eq!(
            sum.long,
            LongUsage { cache_read: LONG_PROMPT, cache_write: 10, cache_write_1h: 4, ..LongUsage::default() }
        );
        // Usage without them is written as before.
        let plain = serde_json::to_string(&Usage { input: 1, ..Usage::default() }).unwrap();
        assert_eq!(plain, r#"{"input":1,"output":0,"cache_read":0,"cache_write":0}"#);
        let written = serde_json::to_string(&sum).unwrap();
        assert_eq!(serde_json::from_str::<Usage>(&written).unwrap(), sum);
    }
}
