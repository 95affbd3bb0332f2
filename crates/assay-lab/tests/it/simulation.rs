//! Suites with a known truth, on fixed seeds.

use assay_lab::simulate::{simulate_all, simulate_suites, validity_grid};
use assay_stats::simulate::{Baseline, Design, Effect};
use assay_stats::{PairedTask, VerdictKind, verdict};

/// Three rows of the table in docs/STATISTICS.md, simulated again with its number of suites and its
/// seed.
#[test]
fn documented_table_matches_simulation() {
    let document = include_str!("../../../../docs/STATISTICS.md");
    assert!(document.contains("`assay lab simulate --grid validity --suites 4000 --seed 1`"));
    let rows: Vec<Vec<&str>> = document
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let threads = std::thread::available_parallelism().unwrap();
    for (truth, tasks, repetitions, arms) in
        [("null", 10, 1, 1), ("sparse", 10, 3, 1), ("edge", 30, 1, 1), ("bimodal", 10, 1, 1)]
    {
        let key = [truth.to_owned(), tasks.to_string(), repetitions.to_string(), arms.to_string()];
        let row = rows.iter().find(|row| row.len() == 11 && row[..4] == key).unwrap();
        let cell = validity_grid().into_iter().find(|cell| {
            let design = &cell.design;
            cell.truth == truth
                && (design.tasks, design.repetitions, design.arms) == (tasks, repetitions, arms)
        });
        let design = cell.unwrap().design;
        let got = simulate_all(&[design], 4000, 1, threads)[0];
        let shares = got.verdicts().unwrap();
        let got = got.cell(design.true_lift());
        let share =
            |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share));
        let expected = [
            share(got.coverage),
            format!("{:.3}", got.width.unwrap()),
            share(Some(shares[0])),
            share(Some(shares[1])),
            share(Some(shares[2])),
            share(Some(shares[3])),
            share(got.false_verdicts),
        ];
        let documented: Vec<&str> = row[4..].iter().map(|text| text.trim_start_matches('!')).collect();
        assert_eq!(documented, expected, "{truth}");
    }
}

/// The limits in docs/STATISTICS.md: equal tasks that pass half the time, and repetitions that do
/// not replace tasks.
#[test]
fn limits_match_the_documentation() {
    let null = validity_grid()[0].design;
    let alike = |tasks: usize, repetitions: usize, arms: usize| {
        let baseline = Baseline::beta(500.0, 500.0).unwrap();
        let design = Design { baseline, tasks, repetitions, base_repetitions: repetitions, arms, ..null };
        simulate_suites(&design, 0..2000, 3).cell(0.0).false_verdicts.unwrap()
    };
    for (tasks, repetitions, arms) in [(5, 2, 12), (6, 2, 1), (8, 1, 1), (10, 1, 1)] {
        let share = alike(tasks, repetitions, arms);
        // .054 and two standard errors of 2,000 suites.
        assert!(share < 0.064, "{tasks} × {repetitions}, {arms} arms: {share}");
    }
    let sparse = Effect::Sparse { lift: 0.8, share: 0.15 };
    let long = Design { effect: sparse, tasks: 10, repetitions: 50, base_repetitions: 50, ..null };
    let coverage = simulate_suites(&long, 0..1000, 3).cell(long.true_lift()).coverage.unwrap();
    assert!((0.75..0.83).contains(&coverage), "10 × 50: {coverage}");
}

/// The error rates of the two families of a run: without any effect, the primary comparison is
/// false in at most 5% of runs, any of three others in at most 5%, and one of either in at most
/// 10%.
#[test]
fn primary_and_other_families_each_keep_five_percent() {
    let null = validity_grid()[0].design;
    for (tasks, repetitions) in [(10, 3), (30, 3)] {
        let design = Design { tasks, repetitions, base_repetitions: repetitions, arms: 4, ..null };
        let mut wrong = [0; 3];
        for index in 0..2000 {
            let arms = design.suite(5, index).arms;
            let decided = |tasks: &[PairedTask], m: usize| {
                matches!(verdict(tasks, m, 0.1, None).kind, VerdictKind::Helps | VerdictKind::Harms)
            };
            let primary = decided(&arms[0], 1);
            let others = arms[1..].iter().any(|tasks| decided(tasks, 3));
            for (count, is) in wrong.iter_mut().zip([primary, others, primary || others]) {
                *count += usize::from(is);
            }
        }
        // With three standard errors of 2,000 suites.
        let [primary, others, any] = wrong.map(|count| f64::from(u32::try_from(count).unwrap()) / 2000.0);
        assert!(primary < 0.065 && others < 0.065 && any < 0.12, "{tasks}: {primary}, {others}, {any}");
        assert!(any > 0.0);
    }
}
