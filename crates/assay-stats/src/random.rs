//! Seeded streams of random numbers; public for `assay-lab`, whose simulations have streams of their own in the same list.
//!
//! Every use has its own ChaCha8 stream under one seed, so that the draws of one function never
//! affect another's, and work may be split over threads without changing a result.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The use of a stream.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Signs of the permutation test.
    SignFlip = 1,
    /// Splits of the baseline.
    NoiseFloor = 2,
    /// Resampled trials.
    Bootstrap = 3,
    /// Simulated suites, one stream each.
    Suite = 4,
    /// Suites simulated for a plan, one stream each.
    Plan = 5,
    /// Resampled clusters.
    ClusterBootstrap = 6,
    /// Resampled items of a sheet of ratings, one stream a measure.
    Agreement = 7,
    /// Figures of systems in two benchmarks.
    RankAgreement = 8,
    /// Suites drawn from real tasks.
    PowerCheck = 9,
    /// Simulated metrics, one stream a suite.
    Metric = 10,
    /// Simulated strata by difficulty, one stream a suite.
    Difficulty = 11,
    /// The order of recorded trials, one stream a cell.
    Replay = 12,
    /// Groups that change places in the test for equal errors of a judge, and simulated judges.
    JudgeErrors = 13,
    /// Simulated drafts, one stream each.
    Admission = 14,
    /// Recorded trials with labels that mean nothing, one stream a suite.
    Relabel = 15,
    /// Versions of a skill on one set of tasks, one stream a set.
    Versions = 16,
    /// Simulated drafts with two sets of checks, one stream each.
    NullDraft = 17,
    /// Simulated judges with labels of some items, one stream a run.
    JudgeLabels = 18,
    /// Simulated graded scores, one stream a suite.
    Graded = 19,
    /// Simulated spreads of effects over tasks, one stream a suite.
    Heterogeneity = 20,
    /// Simulated pass^k and pass@k, one stream a suite.
    Reliability = 21,
    /// Simulated skills with tasks of their own, one stream a suite.
    SkillUnits = 22,
    /// Screening designs, one stream a task.
    Screening = 24,
    /// Simulated skills of several parts, one stream a suite.
    Ablation = 25,
}

/// The stream of `seed` for one purpose, and for one of many things of that purpose. Indices repeat
/// after 2^56.
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(index << 8 | purpose as u64);
    random
}

/// A uniform index below `n`; 0 where `n` is 0.
///
/// The high half of a 64 by 64 bit product: its bias is below n / 2^64.
pub fn index(random: &mut ChaCha8Rng, n: usize) -> usize {
    let product = u128::from(random.next_u64()) * (n as u128);
    // The high half is below `n`, so it is a usize again.
    usize::try_from(product >> 64).unwrap_or(0)
}

/// A uniform number in (0, 1): the middle of one of 2^52 equal parts.
pub fn uniform(random: &mut ChaCha8Rng) -> f64 {
    ((random.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

/// A standard normal number, by Box & Muller (1958).
pub fn normal(random: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * uniform(random).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
}

/// A gamma number of a given shape and scale 1, by Marsaglia & Tsang (2000). It may round to 0 if
/// the shape is small.
pub fn gamma(random: &mut ChaCha8Rng, shape: f64) -> f64 {
    if shape < 1.0 {
        let power = uniform(random).powf(1.0 / shape);
        return gamma(random, shape + 1.0) * power;
    }
    let size = shape - 1.0 / 3.0;
    let slope = 1.0 / (9.0 * size).sqrt();
    // Over 95% are accepted in the first round; the bound is for the reader.
    for _ in 0..1000 {
        let x = normal(random);
        let cube = (1.0 + slope * x).powi(3);
        if cube > 0.0 && uniform(random).ln() < 0.5 * x * x + size * (1.0 - cube + cube.ln()) {
            return size * cube;
        }
    }
    size
}
