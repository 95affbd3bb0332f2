//! Tokens of language models, and their cost.
//!
//! [`Usage`] has the four fields that providers charge separately, and [`Price`] has a price for
//! each. All sums saturate, because the figures come from outside.

mod price;
mod usage;

pub use price::Price;
pub use usage::Usage;
