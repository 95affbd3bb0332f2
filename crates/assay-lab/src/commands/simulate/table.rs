//! What the grids share: threads, and tables as Markdown.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::args::simulate::SimulateArgs;

pub(super) fn thread_count(jobs: Option<u16>) -> NonZeroUsize {
    let requested = jobs.and_then(|jobs| NonZeroUsize::new(usize::from(jobs)));
    requested.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// The figures of every cell, on several threads.
pub(super) fn simulate_cells<C: Sync, F: Clone + Default + Send>(
    cells: &[C],
    args: &SimulateArgs,
    simulate: impl Fn(&C) -> F + Sync,
) -> Vec<F> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![F::default(); cells.len()]);
    thread::scope(|scope| {
        for _ in 0..thread_count(args.jobs).get() {
            scope.spawn(|| {
                while let Some(cell) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, cells.get(at)?)))
                {
                    let figures = simulate(cell.1);
                    found.lock().unwrap_or_else(PoisonError::into_inner)[cell.0] = figures;
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

pub(in super::super) fn markdown<const N: usize>(heads: [&str; N], lines: &[[String; N]]) -> String {
    let widths: Vec<usize> = (0..N)
        .map(|at| {
            lines
                .iter()
                .map(|line| line[at].chars().count())
                .chain([heads[at].chars().count()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |texts: &[String]| {
        let padded = texts.iter().zip(&widths).enumerate().map(|(at, (text, &width))| {
            if at == 0 { format!(" {text:width$} ") } else { format!(" {text:>width$} ") }
        });
        format!("|{}|\n", padded.collect::<Vec<_>>().join("|"))
    };
    let rule = widths
        .iter()
        .enumerate()
        .map(|(at, width)| format!("{}{}", "-".repeat(width + 1), if at == 0 { "-" } else { ":" }));
    let mut text = line(&heads.map(str::to_owned));
    text.push_str(&format!("|{}|\n", rule.collect::<Vec<_>>().join("|")));
    for texts in lines {
        text.push_str(&line(texts));
    }
    text
}
