//! Findings from runs that are written down in letters.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod arms;
mod breakdown;
mod compare;
mod comparisons;
mod contrasts;
mod controls;
mod explore;
mod interim;
mod item_sets;
mod metrics;
mod plain;
mod rounds;
mod scores;
mod skills;
mod stored;
mod suite;
