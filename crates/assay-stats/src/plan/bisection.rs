//! The smallest number that meets a monotone condition.

/// Halvings of an interval of lifts: to less than 10⁻⁶.
const HALVINGS: u32 = 24;

/// The smallest number in [`low`, `high`] that meets a monotone condition, to within [`HALVINGS`].
pub(super) fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    if !holds(high) {
        return None;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}
