//! Preferences between two results: by hand, against statsmodels, and by simulation.

use assay_stats::pairwise::{
    LengthControlError, Pair, Preference, length_control, mean_share, win_rate, win_rate_ties_to_shorter,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::close;

fn pair(preference: Preference, difference: f64, cluster: Option<usize>) -> Pair {
    Pair { preference, length_difference: Some(difference), cluster }
}

/// So many pairs of each preference and length difference.
fn pairs(cells: &[(Preference, f64, usize)]) -> Vec<Pair> {
    let of = |&(preference, difference, count): &(Preference, f64, usize)| {
        vec![pair(preference, difference, None); count]
    };
    cells.iter().flat_map(of).collect()
}

use Preference::{A, B, Tie};

#[test]
fn win_rates_by_hand() {
    // 5 wins, 3 losses and 4 ties, of which 3 have a shorter `a` and one results of equal length.
    let rows = pairs(&[(A, 10.0, 5), (B, 10.0, 3), (Tie, -1.0, 3), (Tie, 0.0, 1)]);
    close(win_rate(&rows).unwrap().value, 7.0 / 12.0, 1e-12, "ties as halves");
    close(win_rate_ties_to_shorter(&rows).unwrap().value, 8.5 / 12.0, 1e-12, "ties to the shorter");
    // V = (5·(5/12)² + 3·(7/12)² + 4·(1/12)²)/144 = .013406; n = (35/144)/V = 18.13. Wilson's interval
    // for 18.13 rows: .3627 to .7753.
    let interval = win_rate(&rows).unwrap().interval.unwrap();
    close(interval.low, 0.3627, 5e-4, "low");
    close(interval.high, 0.7753, 5e-4, "high");
    // Without ties it is a proportion: 10 of 40, .1419 to .4019.
    let interval = win_rate(&pairs(&[(A, 0.0, 10), (B, 0.0, 30)])).unwrap().interval.unwrap();
    close(interval.low, 0.1419, 5e-4, "low without ties");
    close(interval.high, 0.4019, 5e-4, "high without ties");
    // A tie of unknown length cannot be broken; a win needs no length.
    let unknown = |preference| Pair { preference, length_difference: None, cluster: None };
    assert_eq!(win_rate_ties_to_shorter(&[unknown(Tie)]), None);
    close(win_rate_ties_to_shorter(&[unknown(A)]).unwrap().value, 1.0, 0.0, "no tie");
    assert_eq!(win_rate(&[]), None);
}

#[test]
fn ties_only_do_not_give_an_interval_without_width() {
    let interval = win_rate(&pairs(&[(Tie, 0.0, 20)])).unwrap().interval.unwrap();
    assert!(interval.low < 0.45 && interval.high > 0.55, "{interval:?}");
    // Rows of a cluster that agree count as one.
    let of = |size: usize| -> f64 {
        let rows: Vec<_> = (0..60).map(|at| ([0.0, 0.5, 1.0][at / size % 3], Some(at / size))).collect();
        mean_share(&rows).unwrap().interval.unwrap().width()
    };
    assert!(of(4) > 1.8 * of(1), "{} {}", of(4), of(1));
    let one = mean_share(&[(0.5, Some(1)), (1.0, Some(1))]).unwrap();
    assert_eq!((one.value, one.interval), (0.75, None));
    assert_eq!(mean_share(&[(f64::NAN, None)]), None);
}

#[test]
fn length_control_by_hand() {
    // Differences of ±1 only, 20 of each: s = √(40/39) and x = ±tanh(1/s). Of the longer `a` 15 are
    // preferred, of the shorter 8: the model is saturated, so the log odds are those of 15:5 and 8:12.
    let rows = pairs(&[(A, 1.0, 15), (B, 1.0, 5), (A, -1.0, 8), (B, -1.0, 12)]);
    let found = length_control(&rows).unwrap();
    let (above, below) = (3_f64.ln(), (8.0_f64 / 12.0).ln());
    let alpha = f64::midpoint(above, below);
    close(found.win_rate.value, 1.0 / (1.0 + (-alpha).exp()), 1e-9, "at equal length");
    let x = (39.0_f64 / 40.0).sqrt().tanh();
    close(found.coefficient.value, (above - below) / (2.0 * x), 1e-9, "coefficient");
    // Swapped results: one less the rate, and the same coefficient.
    let swapped: Vec<Pair> = rows
        .iter()
        .map(|row| {
            let preference = if row.preference == A { B } else { A };
            pair(preference, -row.length_difference.unwrap(), None)
        })
        .collect();
    let other = length_control(&swapped).unwrap();
    close(other.win_rate.value, 1.0 - found.win_rate.value, 1e-9, "swapped");
    close(other.coefficient.value, found.coefficient.value, 1e-9, "coefficient of swapped");
}

#[test]
fn length_control_agrees_with_statsmodels() {
    let all: Value = serde_json::from_str(include_str!("../reference/pairwise.json")).unwrap();
    let cases = all["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 40);
    for case in cases {
        let rows: Vec<Pair> = case["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let share = row[1].as_f64().unwrap();
                let preference = if share > 0.75 {
                    A
                } else if share < 0.25 {
                    B
                } else {
                    Tie
                };
                let cluster = row[2].as_u64().map(|cluster| usize::try_from(cluster).unwrap());
                pair(preference, row[0].as_f64().unwrap(), cluster)
            })
            .collect();
        let found = length_control(&rows).unwrap();
        for (name, figure) in [("win_rate", found.win_rate), ("coefficient", found.coefficient)] {
            let expected = [0, 1, 2].map(|at| case[name][at].as_f64().unwrap());
            let interval = figure.interval.unwrap();
            for (got, expected) in [figure.value, interval.low, interval.high].into_iter().zip(expected) {
                close(got, expected, 1e-7 * (1.0 + expected.abs()), &format!("{name} of {case}"));
            }
        }
    }
}

#[test]
fn what_length_cannot_explain_is_refused() {
    let check = |rows: &[Pair], expected: &str| {
        let error = length_control(rows).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(&pairs(&[(A, 1.0, 20), (B, -1.0, 20)]), "separates wins from losses");
    check(&pairs(&[(A, -2.0, 20), (B, -1.0, 20), (A, -1.0, 1)]), "separates wins from losses");
    check(&pairs(&[(A, 1.0, 20), (B, 1.0, 20)]), "the same in all pairs");
    check(&pairs(&[(A, 1.0, 20), (A, 3.0, 9), (B, 2.0, 4)]), "4 losses");
    check(&pairs(&[(A, 1.0, 4), (B, 2.0, 5), (Tie, 3.0, 90)]), "9 pairs without a tie");
    let one_task: Vec<Pair> =
        (0..40_u32).map(|at| pair(if at % 3 == 0 { A } else { B }, f64::from(at % 7), Some(1))).collect();
    check(&one_task, "1 clusters");
    let unknown = Pair { preference: A, length_difference: None, cluster: None };
    assert_eq!(length_control(&[unknown]), Err(LengthControlError::NoLengths(1)));
}

/// One simulated table: a judge whose log odds of `a` rise by `slope`·tanh of the length difference in
/// its standard deviations, and which prefers `a` at equal length with probability `rate`. A share
/// `common` of the randomness is that of the cluster, and a share `ties` of the rows is tied whatever
/// the results.
struct Judge {
    rate: f64,
    slope: f64,
    shift: f64,
    ties: f64,
    clusters: usize,
    size: usize,
    common: f64,
}

impl Judge {
    /// The win rate at equal length.
    fn truth(&self) -> f64 {
        self.ties / 2.0 + (1.0 - self.ties) * self.rate
    }

    fn rows(&self, random: &mut ChaCha8Rng) -> Vec<Pair> {
        let alpha = (self.rate / (1.0 - self.rate)).ln();
        let mut rows = Vec::new();
        for cluster in 0..self.clusters {
            let (task_length, task_draw) = (normal(random), random.random::<f64>());
            for _ in 0..self.size {
                // Half of the variance of the length difference is that of the task.
                let z = (task_length + normal(random)) * 0.5_f64.sqrt() + self.shift;
                let p = 1.0 / (1.0 + (-alpha - self.slope * z.tanh()).exp());
                let is_common = random.random::<f64>() < self.common;
                let draw = if is_common { task_draw } else { random.random() };
                let tied = random.random::<f64>() < self.ties;
                let preference = if tied {
                    Tie
                } else if draw < p {
                    A
                } else {
                    B
                };
                rows.push(pair(preference, (300.0 * z).round(), (self.size > 1).then_some(cluster)));
            }
        }
        rows
    }
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

/// A judge that prefers longer results: its win rate at equal length is covered in at least 93.5% of
/// tables, and the plain win rate is another one.
#[test]
fn the_rate_at_equal_length_is_covered() {
    const TABLES: usize = 2000;
    let judges = [
        Judge { rate: 0.5, slope: 1.0, shift: 0.5, ties: 0.0, clusters: 60, size: 1, common: 0.0 },
        Judge { rate: 0.5, slope: 1.5, shift: 1.0, ties: 0.0, clusters: 200, size: 1, common: 0.0 },
        Judge { rate: 0.7, slope: 1.0, shift: -0.5, ties: 0.0, clusters: 100, size: 1, common: 0.0 },
        Judge { rate: 0.3, slope: 0.5, shift: 0.5, ties: 0.0, clusters: 30, size: 1, common: 0.0 },
        Judge { rate: 0.6, slope: 1.0, shift: 0.5, ties: 0.0, clusters: 20, size: 5, common: 0.3 },
        Judge { rate: 0.5, slope: 1.5, shift: 0.5, ties: 0.0, clusters: 30, size: 4, common: 0.5 },
        Judge { rate: 0.6, slope: 1.0, shift: 0.5, ties: 0.3, clusters: 100, size: 1, common: 0.0 },
        Judge { rate: 0.4, slope: 0.0, shift: 0.0, ties: 0.0, clusters: 12, size: 10, common: 0.2 },
    ];
    for (seed, judge) in judges.iter().enumerate() {
        let mut random = ChaCha8Rng::seed_from_u64(seed as u64);
        let (mut covered, mut plain, mut estimated) = (0, 0, 0);
        for _ in 0..TABLES {
            let rows = judge.rows(&mut random);
            let Ok(found) = length_control(&rows) else { continue };
            let contains = |figure: assay_stats::judge::Figure| {
                let interval = figure.interval.unwrap();
                interval.low <= judge.truth() && judge.truth() <= interval.high
            };
            estimated += 1;
            covered += usize::from(contains(found.win_rate));
            plain += usize::from(contains(win_rate(&rows).unwrap()));
        }
        let share = |count: usize| count as f64 / estimated as f64;
        assert!(estimated > TABLES * 9 / 10, "judge {seed}: {estimated} estimates");
        assert!(share(covered) >= 0.935, "judge {seed}: {}", share(covered));
        if seed == 1 {
            assert!(share(plain) < 0.01, "the plain win rate: {}", share(plain));
        }
    }
}

/// Win rates with ties are covered, too.
#[test]
fn the_win_rate_with_ties_is_covered() {
    const TABLES: usize = 2000;
    let judge = |ties, clusters, size, common| Judge {
        rate: 0.6,
        slope: 0.0,
        shift: 0.0,
        ties,
        clusters,
        size,
        common,
    };
    let judges =
        [judge(0.3, 40, 1, 0.0), judge(0.8, 40, 1, 0.0), judge(0.4, 20, 4, 0.3), judge(0.95, 100, 1, 0.0)];
    for (seed, judge) in judges.iter().enumerate() {
        let mut random = ChaCha8Rng::seed_from_u64(100 + seed as u64);
        let truth = judge.truth();
        let covered = (0..TABLES).filter(|_| {
            let interval = win_rate(&judge.rows(&mut random)).unwrap().interval.unwrap();
            interval.low <= truth && truth <= interval.high
        });
        let share = covered.count() as f64 / TABLES as f64;
        assert!(share >= 0.935, "judge {seed}: {share}");
    }
}
