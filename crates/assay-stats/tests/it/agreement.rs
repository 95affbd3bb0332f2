//! Agreement of raters, by hand and against scikit-learn and krippendorff.

use assay_stats::agreement;
use serde_json::Value;

fn items(value: &Value) -> Vec<Vec<Option<usize>>> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn kappa_and_alpha_match_reference_implementations() {
    let all: Value = serde_json::from_str(include_str!("../reference/agreement.json")).unwrap();
    let cases = all["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 60);
    for case in cases {
        let found = agreement(&items(&case["items"]), 0, 1);
        let same = |got: Option<f64>, expected: &Value| match (got, expected.as_f64()) {
            (Some(got), Some(expected)) => (got - expected).abs() < 1e-12,
            (got, expected) => got == expected,
        };
        let kappas = case["kappas"].as_array().unwrap();
        assert_eq!(found.pairs.len(), kappas.len());
        for (pair, expected) in found.pairs.iter().zip(kappas) {
            assert!(same(pair.kappa.value, expected), "{:?} for {expected} in {case}", pair.kappa);
        }
        assert!(same(found.alpha.value, &case["alpha"]), "{:?} in {case}", found.alpha);
    }
}

#[test]
fn a_table_by_hand() {
    // Both yes 20, both no 15, 5 and 10 apart: pₒ = 35/50; pₑ = (25·30 + 25·20)/2500 = 1/2; kappa =
    // .2/.5.
    let mut rated = Vec::new();
    for (a, b, n) in [(1, 1, 20), (0, 0, 15), (1, 0, 5), (0, 1, 10)] {
        rated.extend((0..n).map(|_| vec![Some(a), Some(b)]));
    }
    let found = agreement(&rated, 2000, 7);
    let pair = &found.pairs[0];
    assert_eq!((found.items, pair.items), (50, 50));
    assert!((pair.agreement.value.unwrap() - 0.7).abs() < 1e-12);
    assert!((pair.kappa.value.unwrap() - 0.4).abs() < 1e-12);
    // Dₒ = 30/100; Dₑ = 2·45·55/(100·99) = 1/2.
    assert!((found.alpha.value.unwrap() - 0.4).abs() < 1e-12);
    // The share's interval is near the normal one, .7 ± 1.96·√(.21/50) = ± .127.
    let interval = pair.agreement.interval.unwrap();
    assert!((interval.low - 0.573).abs() < 0.03 && (interval.high - 0.827).abs() < 0.03, "{interval:?}");
    let interval = pair.kappa.interval.unwrap();
    assert!(interval.low < 0.4 && interval.high > 0.4, "{interval:?}");
    assert_eq!(found, agreement(&rated, 2000, 7), "seeded");
}

#[test]
fn undefined_agreement_is_none() {
    for rated in [vec![], vec![vec![Some(1)]], vec![vec![Some(1), None], vec![None, Some(1)]]] {
        let found = agreement(&rated, 10, 1);
        assert_eq!(found.alpha.value, None, "{rated:?}");
        assert!(found.pairs.iter().all(|pair| pair.items == 0 && pair.agreement.value.is_none()));
    }
    // One category only: they agree, and could not have done otherwise.
    let found = agreement(&vec![vec![Some(3), Some(3)]; 5], 10, 1);
    assert_eq!(found.pairs[0].agreement.value, Some(1.0));
    assert_eq!((found.pairs[0].kappa.value, found.alpha.value), (None, None));
}
