//! A closed interval.

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether the interval is strictly between −`margin` and `margin`.
    pub fn within(self, margin: f64) -> bool {
        -margin < self.low && self.high < margin
    }

    /// Whether 0 is outside the interval.
    pub fn excludes_zero(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// Upper end less lower end.
    pub fn width(self) -> f64 {
        self.high - self.low
    }
}
