//! Coverage of the default interval and of the alternatives, over the validity grid of
//! docs/STATISTICS.md, as a Markdown table.
//!
//! `cargo run --release -p assay-lab --example intervals [SUITES]`

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use assay_lab::simulate::{Cell, GridCell, Method, compare, validity_grid};

/// Seed of the suites.
const SEED: u64 = 1;

/// One cell with the results of each method.
type Row = (GridCell, Vec<Option<(f64, f64)>>);

fn main() {
    let suites = std::env::args().nth(1).and_then(|argument| argument.parse().ok()).unwrap_or(4000);
    let rows = rows(suites);
    println!("{suites} suites a cell. Lowest to highest coverage in per cent, over 16 sizes.\n");
    let names: Vec<&str> = Method::ALL.iter().map(|method| method.name()).collect();
    println!("| truth | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
    let mut truths: Vec<&str> = rows.iter().map(|(cell, _)| cell.truth).collect();
    truths.dedup();
    for truth in truths {
        let cells: Vec<&Row> = rows.iter().filter(|(cell, _)| cell.truth == truth).collect();
        let range = |at: usize| {
            let shares = cells.iter().filter_map(|(_, got)| Some(100.0 * got[at]?.0));
            let (low, high) =
                shares.fold((100.0_f64, 0.0_f64), |(low, high), share| (low.min(share), high.max(share)));
            format!("{low:.1} to {high:.1}")
        };
        println!("| {truth} | {} |", (0..names.len()).map(range).collect::<Vec<_>>().join(" | "));
    }
    let total =
        |value: &dyn Fn(&Row, usize) -> f64, at: usize| rows.iter().map(|row| value(row, at)).sum::<f64>();
    let all = |value: &dyn Fn(&Row, usize) -> f64, digits: usize, scale: f64| {
        let texts = (0..names.len()).map(|at| format!("{:.digits$}", total(value, at) * scale));
        texts.collect::<Vec<_>>().join(" | ")
    };
    println!("| cells below 93.5 | {} |", all(&|row, at| misses(row, at, 0.935), 0, 1.0));
    println!("| cells above 97.5 | {} |", all(&|row, at| misses(row, at, 0.975), 0, 1.0));
    let width = |row: &Row, at: usize| row.1[at].map_or(0.0, |got| got.1);
    println!("| mean width | {} |", all(&width, 3, 1.0 / rows.len() as f64));
}

/// 1 if the method misses the grid's limit for coverage in this cell.
fn misses((cell, got): &Row, at: usize, limit: f64) -> f64 {
    let only = Cell {
        coverage: got[at].map(|got| got.0),
        width: None,
        false_verdicts: None,
        power: None,
        negligible: None,
        wrong_sign: None,
    };
    let missed = |limit: f64| cell.misses(&only).iter().any(|miss| (miss.limit - limit).abs() < 1e-9);
    f64::from(u8::from(missed(limit)))
}

fn rows(suites: u64) -> Vec<Row> {
    let cells: Vec<GridCell> = validity_grid().into_iter().filter(|cell| cell.design.arms == 1).collect();
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let got = compare(&cell.design, &Method::ALL, 0..suites, SEED);
                    let place = cells.iter().position(|other| other == cell);
                    if let Ok(mut rows) = rows.lock() {
                        rows.push((place, (*cell, got)));
                    }
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap_or_default();
    rows.sort_by_key(|(place, _)| *place);
    rows.into_iter().map(|(_, row)| row).collect()
}
