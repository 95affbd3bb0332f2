use super::*;
use crate::random::{Purpose, stream, uniform};

/// Task, group, verdict, share, label (2 for none), weight of the label.
const ITEMS: [[usize; 6]; 20] = [
    [0, 0, 1, 1, 1, 1],
    [0, 0, 0, 1, 2, 1],
    [0, 1, 1, 2, 1, 3],
    [0, 1, 1, 2, 2, 1],
    [1, 0, 0, 1, 0, 2],
    [1, 0, 1, 1, 0, 1],
    [1, 1, 1, 1, 0, 3],
    [1, 1, 0, 1, 1, 1],
    [2, 0, 1, 1, 1, 1],
    [2, 0, 0, 2, 0, 2],
    [2, 1, 0, 1, 2, 1],
    [2, 1, 1, 1, 1, 3],
    [3, 0, 0, 1, 1, 2],
    [3, 0, 1, 1, 2, 1],
    [3, 1, 1, 1, 1, 3],
    [3, 1, 0, 2, 0, 1],
    [4, 0, 0, 1, 0, 2],
    [4, 0, 1, 1, 1, 1],
    [4, 1, 0, 1, 0, 1],
    [4, 1, 1, 1, 2, 1],
];

fn items() -> Vec<PoweredItem> {
    let read = |[task, group, verdict, share, label, weight]: [usize; 6]| PoweredItem {
        group,
        verdict: verdict == 1,
        share: share as f64,
        cluster: Some(task),
        label: (label < 2).then_some(SampledLabel { met: label == 1, weight: weight as f64 }),
    };
    ITEMS.into_iter().map(read).collect()
}

/// The expected numbers are those of a program in numpy with loops over items, which follows the formulas of the
/// module and not this code: λ for each task from the rows of the other tasks, by `np.average` with weights.
#[test]
fn estimates_agree_with_an_independent_program() {
    let found = PredictionPowered::new(&items(), 2);
    let close = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-10, "{value} {expected}");
    for (task, lambda) in
        [0.254_203_758_654_797_3, 0.487_847_795_007_148_37, 0.237_298_932_951_106_88].into_iter().enumerate()
    {
        close(found.lambdas[&task], lambda);
    }
    close(found.lambda(&[0, 1]).unwrap(), 0.316_882_218_891_878_45);
    let check = |terms: &[(usize, f64)], expected: [f64; 3]| {
        let figure = found.contrast(terms, (-1.0, 1.0)).unwrap();
        let interval = figure.interval.unwrap();
        close(figure.value, expected[0]);
        close(interval.low, expected[1]);
        close(interval.high, expected[2]);
    };
    check(&[(0, 1.0)], [0.410_375_305_779_915_1, -0.066_280_536_085_226_55, 0.887_031_147_645_056_8]);
    check(
        &[(1, 1.0), (0, -1.0)],
        [0.224_224_678_082_368_9, -0.401_759_618_880_732_75, 0.850_208_975_045_470_5],
    );
    // Too few for a figure that people see.
    assert_eq!(found.difference(1, 0).err(), Some(CorrectionError::FewLabels { labels: 7 }));
    let words = CorrectionError::FewLabels { labels: 22 }.to_string();
    assert_eq!(words, "22 of its items have a label and 30 are needed: 8 are missing");
}

#[test]
fn order_and_scale_do_not_count() {
    let one = PredictionPowered::new(&items(), 2).contrast(&[(1, 1.0), (0, -1.0)], (-1.0, 1.0)).unwrap();
    let mut turned = items();
    turned.reverse();
    for item in &mut turned {
        item.share *= 3.0;
        item.label = item.label.map(|label| SampledLabel { weight: label.weight * 7.0, ..label });
    }
    let other = PredictionPowered::new(&turned, 2).contrast(&[(1, 1.0), (0, -1.0)], (-1.0, 1.0)).unwrap();
    assert!((one.value - other.value).abs() < 1e-12, "{one:?} {other:?}");
    assert!((one.interval.unwrap().low - other.interval.unwrap().low).abs() < 1e-12);
}

/// `labels` labels of `all` items of each of two groups, all of which agree with the judge.
fn agreeing(labels: usize, all: usize, cluster: Option<usize>) -> Vec<PoweredItem> {
    let item = |at: usize| PoweredItem {
        group: at % 2,
        verdict: at % 4 < 2,
        share: 1.0,
        cluster: cluster.map(|clusters| at / 4 % clusters),
        label: (at < 2 * labels).then_some(SampledLabel { met: at % 4 < 2, weight: 1.0 }),
    };
    (0..2 * all).map(item).collect()
}

#[test]
fn labels_that_agree_leave_some_doubt_and_one_task_leaves_all() {
    let figure = PredictionPowered::new(&agreeing(40, 400, Some(20)), 2).difference(1, 0).unwrap();
    // Every task has the same share of met items: all that is left is one error more, 1.7291·√2/42.
    let half = 0.5 * figure.interval.unwrap().width();
    assert!((half - 2.093_024 * 2.0_f64.sqrt() / 42.0).abs() < 1e-6, "{half}");
    let one = PredictionPowered::new(&agreeing(40, 400, Some(1)), 2);
    assert_eq!(one.difference(1, 0).err(), Some(CorrectionError::FewClusters));
    let none = PredictionPowered::new(&[], 2);
    assert_eq!(none.difference(1, 0).err(), Some(CorrectionError::FewLabels { labels: 0 }));
    assert_eq!(none.lambda(&[0, 1]), None);
    // A judge that knows nothing is not relied upon.
    let mut guessed = agreeing(40, 400, None);
    guessed.iter_mut().enumerate().for_each(|(at, item)| item.verdict = at / 4 % 2 == 0);
    assert!(PredictionPowered::new(&guessed, 2).lambda(&[0, 1]).unwrap() < 0.1);
}

/// Labels of all met items and of every fifth other one, with their weights: without these the rate would be too high.
#[test]
fn weights_undo_a_stratified_sample() {
    let mut random = stream(4, Purpose::JudgeErrors, 7);
    let (mut sum, mut plain) = (0.0, 0.0);
    let repetitions = 200;
    for _ in 0..repetitions {
        let mut items: Vec<PoweredItem> = (0..300)
            .map(|at| {
                let met = uniform(&mut random) < 0.3;
                let verdict = if uniform(&mut random) < 0.8 { met } else { !met };
                let weight = if verdict { 1.0 } else { 5.0 };
                let drawn = uniform(&mut random) * weight < 1.0;
                let label = drawn.then_some(SampledLabel { met, weight });
                PoweredItem { group: 0, verdict, share: 1.0, cluster: Some(at % 30), label }
            })
            .collect();
        sum += PredictionPowered::new(&items, 1).rate(0).unwrap().value;
        for item in &mut items {
            item.label = item.label.map(|label| SampledLabel { weight: 1.0, ..label });
        }
        plain += PredictionPowered::new(&items, 1).rate(0).unwrap().value;
    }
    let [sum, plain] = [sum, plain].map(|total| total / f64::from(repetitions));
    // The standard error of the mean of 200 is about .003.
    assert!((sum - 0.3).abs() < 0.012, "{sum}");
    assert!((plain - 0.3).abs() > 0.03, "{plain}");
}
