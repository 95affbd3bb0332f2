//! Tokens of language models, and their cost.
//!
//! [`Usage`] has the four fields that providers charge separately, and [`Price`] has a price for
//! each, for cache writes that last an hour, and for long prompts. All sums saturate, because the figures come from outside.

mod price;
mod usage;

pub use price::{LongPrice, Price};
pub use usage::{LONG_PROMPT, LongUsage, Usage};
