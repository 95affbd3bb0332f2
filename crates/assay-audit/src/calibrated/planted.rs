//! A truth of our own making: lines of a skill spliced into runs that never saw it.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::evidence::{Background, SkillText, TraceText, adoptions};

/// How many lines are spliced in.
pub(super) const RATES: [usize; 7] = [1, 2, 3, 5, 8, 12, 20];

/// A line of fewer words is not worth planting.
const WORDS: usize = 4;

/// The scores that trace `at` would have with some lines of the skill in it, for each of [`RATES`].
/// Lines are drawn by `seed` without replacement among those with at least four words and something
/// that was not advertised; a skill with fewer gives none for the larger rates.
pub(super) fn scores(
    traces: &[TraceText],
    at: usize,
    skill: &SkillText,
    background: &Background,
    seed: u64,
) -> Vec<(usize, f64)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let telling = |line: &&crate::evidence::SkillLine| {
        line.words >= WORDS && line.features.iter().any(|feature| !skill.advertised.contains(&feature.key))
    };
    let mut lines: Vec<&str> = skill.lines.iter().filter(telling).map(|line| line.text.as_str()).collect();
    for last in (1..lines.len()).rev() {
        let high = u128::from(random.next_u64()) * (last as u128 + 1);
        // The high half of the product is at most `last`.
        lines.swap(last, usize::try_from(high >> 64).unwrap_or_default());
    }
    let others: Vec<&TraceText> = traces.iter().filter(|other| !other.same(&traces[at])).collect();
    let planted = |rate: usize| {
        let trace = traces[at].with_lines(&lines[..rate]);
        let mut all = vec![&trace];
        all.extend(&others);
        (rate, adoptions(&all, skill, background).swap_remove(0).score)
    };
    RATES.into_iter().filter(|rate| *rate <= lines.len()).map(planted).collect()
}
