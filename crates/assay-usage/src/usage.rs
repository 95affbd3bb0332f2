//! Tokens: four fields apart.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

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

    /// `input` and `output` alone, as the published auditor adds them up.
    pub fn uncached(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Takes another's tokens off.
    pub fn subtract(&mut self, other: &Self) {
        self.input = self.input.saturating_sub(other.input);
        self.output = self.output.saturating_sub(other.output);
        self.cache_read = self.cache_read.saturating_sub(other.cache_read);
        self.cache_write = self.cache_write.saturating_sub(other.cache_write);
    }

    /// The lesser of each field.
    #[must_use]
    pub fn least(&self, other: &Self) -> Self {
        Self {
            input: self.input.min(other.input),
            output: self.output.min(other.output),
            cache_read: self.cache_read.min(other.cache_read),
            cache_write: self.cache_write.min(other.cache_write),
        }
    }

    /// Whether each field is as large as another's.
    pub fn covers(&self, other: &Self) -> bool {
        self.input >= other.input
            && self.output >= other.output
            && self.cache_read >= other.cache_read
            && self.cache_write >= other.cache_write
    }

    /// The difference from another; `None` if that is larger in a field.
    pub fn minus(&self, other: &Self) -> Option<Self> {
        Some(Self {
            input: self.input.checked_sub(other.input)?,
            output: self.output.checked_sub(other.output)?,
            cache_read: self.cache_read.checked_sub(other.cache_read)?,
            cache_write: self.cache_write.checked_sub(other.cache_write)?,
        })
    }

    /// The larger of two in each field.
    #[must_use]
    pub fn largest(&self, other: &Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_differences_saturate() {
        let usage = |input, output, cache_read, cache_write| Usage { input, output, cache_read, cache_write };
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
}
