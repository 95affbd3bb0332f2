//! Tokens of language models, and what they cost.
//!
//! [`Usage`] has the four fields that providers charge apart, and [`Price`] has a price for each. All sums saturate: the
//! figures come from outside.

mod price;
mod usage;

pub use price::Price;
pub use usage::Usage;
