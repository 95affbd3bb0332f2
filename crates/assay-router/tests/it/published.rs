//! Values of the published benchmark, from the shared data.

use std::fs;
use std::path::Path;

use assay_router::{order, seed32};
use assay_stats::cluster_bootstrap;
use assay_test::shared;
use serde_json::Value;

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
#[ignore = "needs shared data"]
fn orders_match_the_published_ones() {
    let path = shared("router/reference_router_shuffle.json");
    let reference = json(&path);
    let names: Vec<&str> =
        reference["input_order"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let vectors = reference["vectors"].as_array().unwrap();
    assert!(!vectors.is_empty());
    for vector in vectors {
        let key: Vec<&str> = vector["key"].as_str().unwrap().split('|').collect();
        let seed = seed32(key[0], key[1], key[2].parse().unwrap(), key[3].parse().unwrap());
        assert_eq!(Some(u64::from(seed)), vector["seed32"].as_u64(), "{key:?}");
        let shown: Vec<&str> = order(names.len(), seed).into_iter().map(|place| names[place]).collect();
        let expected: Vec<&str> =
            vector["order"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(shown, expected, "{key:?}");
    }
}

/// Both published intervals of the pooled top 1: answers taken as independent, and requests drawn.
/// They were made with another generator, and one request more or less among 50 moves an end by
/// .0033.
#[test]
#[ignore = "needs shared data"]
fn intervals_match_the_published_ones() {
    let path = shared("router/reference_cluster_ci.json");
    let reference = json(&path);
    let mut hits: Vec<u64> = Vec::new();
    for (name, count) in reference["per_prompt_top1_hits_of_12"].as_object().unwrap() {
        let times = if name == "other_41" { 41 } else { 1 };
        hits.extend(std::iter::repeat_n(count.as_u64().unwrap(), times));
    }
    assert_eq!((hits.len(), hits.iter().sum::<u64>()), (50, reference["hits"].as_u64().unwrap()));
    let clusters: Vec<Vec<f64>> =
        hits.iter().map(|hits| (0..12).map(|n| f64::from(u8::from(n < *hits))).collect()).collect();
    let alone: Vec<Vec<f64>> = clusters.iter().flatten().map(|score| vec![*score]).collect();
    let check = |clusters: &[Vec<f64>], key: &str| {
        let found = cluster_bootstrap(clusters, 0.95, 1).unwrap();
        let ends = [found.low, found.high];
        for (found, expected) in ends.iter().zip(reference[key].as_array().unwrap()) {
            let expected = expected.as_f64().unwrap();
            assert!((found - expected).abs() < 0.0034, "{key}: {ends:?} is not {expected}");
        }
    };
    check(&alone, "iid_bootstrap_95");
    check(&clusters, "prompt_cluster_bootstrap_95");
}
