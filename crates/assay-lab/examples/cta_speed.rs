//! Prints the CPU time that `cta-2026` takes for all pairs of each arm, reading included:
//! `docs/lab/PERFORMANCE.md`.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::convert::Infallible;
use std::path::Path;

use assay_audit::corpus::Corpus;
use assay_lab::cta;

/// CPU-seconds a pair of the published Python program.
const PUBLISHED: f64 = 0.24;

/// How often an arm is audited; the first time warms the disk's cache.
const TIMES: u32 = 20;

fn main() {
    let root = std::env::args().nth(1).expect("the folder of a corpus");
    let corpus = Corpus::find(Path::new(&root)).expect("a corpus");
    let arms: Vec<String> = corpus.arms().keys().map(|arm| (*arm).to_owned()).collect();
    for arm in arms {
        let groups = corpus.groups.iter().filter(|group| group.arm == arm).cloned().collect();
        let one = Corpus { groups, notices: Vec::new() };
        let audit = || {
            let mut pairs = 0_u32;
            let mut count = |_| {
                pairs += 1;
                Ok::<(), Infallible>(())
            };
            let Ok(()) = cta::audit(&one, false, &mut count, &mut |_| ());
            pairs
        };
        let pairs = audit();
        let before = cpu_seconds();
        for _ in 0..TIMES {
            audit();
        }
        let each = (cpu_seconds() - before) / f64::from(TIMES) / f64::from(pairs.max(1));
        println!(
            "{arm}: {pairs} pairs, {:.3} ms CPU a pair, {:.0} times faster",
            1e3 * each,
            PUBLISHED / each
        );
    }
}

/// What this process has had of a processor, by the kernel's schedstat.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds: f64 = text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN);
    nanoseconds / 1e9
}
