//! Many designs on several threads.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::simulate::tally::{Tally, simulate_suites};
use assay_stats::simulate::Design;

/// Suites in one unit of work of a thread.
const CHUNK: u64 = 500;

/// Judges suites 0 to `suites` of every design, in the designs' order. The tallies do not depend on
/// `threads`.
pub fn simulate_all(designs: &[Design], suites: u64, seed: u64, threads: NonZeroUsize) -> Vec<Tally> {
    let chunks = suites.div_ceil(CHUNK);
    let jobs = chunks.saturating_mul(designs.len() as u64);
    let next = AtomicU64::new(0);
    let tallies = Mutex::new(vec![Tally::default(); designs.len()]);
    let work = || {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                break;
            }
            // Below the number of designs.
            let at = usize::try_from(job / chunks).unwrap_or(0);
            let first = job % chunks * CHUNK;
            let tally = simulate_suites(&designs[at], first..suites.min(first.saturating_add(CHUNK)), seed);
            // Counts are sums: a thread that panicked left them consistent.
            tallies.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[at] += tally;
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get() {
            scope.spawn(work);
        }
        work();
    });
    tallies.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::validity_grid;

    #[test]
    fn results_do_not_depend_on_threads() {
        let designs: Vec<Design> = validity_grid().iter().take(2).map(|c| c.design).collect();
        let on = |threads: usize| simulate_all(&designs, 1100, 3, NonZeroUsize::new(threads).unwrap());
        let one = on(1);
        assert_eq!(one, on(5));
        assert_eq!(one[1], simulate_suites(&designs[1], 0..1100, 3));
        assert_eq!(simulate_all(&[], 10, 3, NonZeroUsize::MIN), vec![]);
        assert_eq!(simulate_all(&designs, 0, 3, NonZeroUsize::MIN), vec![Tally::default(); 2]);
    }
}
