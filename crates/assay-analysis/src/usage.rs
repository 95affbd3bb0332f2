//! Tokens.

use assay_model::Usage;

/// All four fields together.
pub(crate) fn total(usage: &Usage) -> u64 {
    let Usage { input, output, cache_read, cache_write } = *usage;
    [output, cache_read, cache_write].into_iter().fold(input, u64::saturating_add)
}
