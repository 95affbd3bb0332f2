//! The default interval, from the moments of its units (docs/STATISTICS.md, "The interval").

use crate::interval::Interval;
use crate::quantile::{normal_tail, student_tail};

/// Pseudo-tasks at the binomial's largest variance.
pub const PSEUDO: f64 = 2.0;

/// The sample moments of the default interval.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// Units, n; not a whole number if they are of unequal size.
    pub n: f64,
    /// Mean over tasks.
    pub mean: f64,
    /// Sum of squared deviations, (n − 1)s².
    pub squares: f64,
    /// Sum of cubed deviations, n·m₃.
    pub cubes: f64,
    /// v₀, the largest variance a unit's value can have from its trials alone, on average.
    pub noise: f64,
}

/// Student's quantiles of one tail for one number of units.
#[derive(Clone, Copy, Debug)]
pub struct Quantiles {
    /// t(n − 1), for s.
    pub plain: f64,
    /// t((n − 1 + p)²/(n − 1)), for s̃ with p pseudo-tasks.
    pub shrunk: f64,
    /// The pseudo-tasks of s̃.
    pub pseudo: f64,
}

impl Quantiles {
    /// The quantiles with probability `tail` above; `None` below two units or for an invalid tail.
    ///
    /// (n + 1)²/(n − 1) are the degrees of freedom that Satterthwaite (1946) gives (n − 1)s² + 2v₀
    /// if v₀ is known and of the size of s².
    pub fn of(units: f64, tail: f64) -> Option<Quantiles> {
        Self::with(units, tail, PSEUDO)
    }

    /// The same with z²/2 pseudo-tasks for the standard normal's quantile z, as many as Agresti & Coull (1998) add
    /// observations to each of two samples: 2 at a tail of .0228, more for smaller ones.
    pub fn of_bound(units: f64, tail: f64) -> Option<Quantiles> {
        Self::with(units, tail, 0.5 * normal_tail(tail)?.powi(2))
    }

    fn with(units: f64, tail: f64, pseudo: f64) -> Option<Quantiles> {
        let freedom = units - 1.0;
        let plain = student_tail(freedom, tail)?;
        let shrunk = student_tail((freedom + pseudo).powi(2) / freedom, tail)?;
        Some(Quantiles { plain, shrunk, pseudo })
    }
}

impl Moments {
    /// s², as observed.
    pub fn variance(&self) -> f64 {
        self.squares / (self.n - 1.0).max(1.0)
    }

    /// s̃² at `n` units: ((n − 1)s² + 2v₀)/(n + 1), two pseudo-tasks at the binomial's largest
    /// variance, in the spirit of Agresti & Caffo (2000). s² and v₀ are those observed.
    pub fn shrunk(&self, n: f64) -> f64 {
        self.shrunk_by(n, PSEUDO)
    }

    fn shrunk_by(&self, n: f64, pseudo: f64) -> f64 {
        ((n - 1.0) * self.variance() + pseudo * self.noise) / (n - 1.0 + pseudo)
    }

    /// max(t(n − 1)·s, t(f)·s̃)/√n at `n` units: the symmetric half-width.
    pub fn half(&self, n: f64, quantiles: Quantiles) -> f64 {
        let plain = quantiles.plain * (self.variance() / n).sqrt();
        plain.max(quantiles.shrunk * (self.shrunk_by(n, quantiles.pseudo) / n).sqrt())
    }

    /// The extension on the skewed side: half of Johnson's (1978) term, m₃/(12·max(s², s̃²)·n)·(1 +
    /// 2t²), with its sign.
    ///
    /// Johnson shifts both ends by twice as much. Shortening the other side would reduce coverage
    /// in small samples, so it is not changed; half is enough for coverage on the validity grid.
    pub fn skew(&self, quantiles: Quantiles) -> f64 {
        let n = self.n;
        let larger = self.variance().max(self.shrunk_by(n, quantiles.pseudo));
        if larger <= 0.0 {
            return 0.0;
        }
        self.cubes / n / (12.0 * larger * n) * (1.0 + 2.0 * quantiles.plain.powi(2))
    }

    /// The interval with probability `tail` outside each end, within `range`.
    pub fn interval(&self, tail: f64, range: (f64, f64)) -> Option<Interval> {
        Some(self.interval_of(Quantiles::of(self.n, tail)?, range))
    }

    /// The interval that decides on `negligible` within ±`margin`: its pseudo-tasks have d(1 − d)
    /// more variance.
    ///
    /// That is the variance of a task's difference if a share d of the tasks shifts from 0 to 1,
    /// the sparsest effect outside the margin. Small suites rarely contain such a task, so s² does
    /// not reflect it.
    pub fn equivalence(&self, quantiles: Quantiles, margin: f64) -> Interval {
        let sparse = if margin > 0.0 && margin < 1.0 { margin * (1.0 - margin) } else { 0.0 };
        Moments { noise: self.noise + sparse, ..*self }.interval_of(quantiles, (-1.0, 1.0))
    }

    /// The same with known quantiles.
    pub fn interval_of(&self, quantiles: Quantiles, range: (f64, f64)) -> Interval {
        let (half, skew) = (self.half(self.n, quantiles), self.skew(quantiles));
        Interval {
            low: (self.mean - half + skew.min(0.0)).max(range.0),
            high: (self.mean + half + skew.max(0.0)).min(range.1),
        }
    }
}
