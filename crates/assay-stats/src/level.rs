//! The error rate of a family, and of one comparison in it.

/// The error rate that a family of comparisons shares.
const ALPHA: f64 = 0.05;

/// The error rate of one comparison in a family of `m`.
pub fn alpha(m: usize) -> f64 {
    ALPHA / m.max(1) as f64
}
