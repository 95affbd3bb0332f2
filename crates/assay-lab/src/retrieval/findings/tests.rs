use super::super::Negative;
use super::super::negatives::Threshold;
use super::*;

fn query(id: &str, repository: &str, gold: &str) -> Query {
    Query {
        id: id.to_owned(),
        text: "make a table".to_owned(),
        repository: repository.to_owned(),
        source: "tests".to_owned(),
        gold: BTreeSet::from([gold.to_owned()]),
        ..Query::default()
    }
}

/// A run that finds a query's relevant skill at a place, or not at all.
fn run(name: &str, queries: &[Query], places: &[Option<usize>]) -> Run {
    let ranking = |(query, place): (&Query, &Option<usize>)| -> Vec<(String, f32)> {
        let Some(place) = place else { return Vec::new() };
        let gold = query.gold.iter().next().cloned().unwrap_or_default();
        (1..=*place)
            .map(|n| if n == *place { gold.clone() } else { format!("no-{n}") })
            .zip([8.0, 6.0, 4.0, 2.0])
            .collect()
    };
    Run {
        retriever: name.to_owned(),
        options: serde_json::Value::Null,
        rankings: queries.iter().zip(places).map(ranking).collect(),
        ceilings: vec![10.0; queries.len()],
        negatives: Vec::new(),
        cost: None,
    }
}

#[test]
fn micro_averages_queries_and_macro_averages_repositories() {
    // A repository of 30 queries and 10 skills, all found first; two small ones that find nothing.
    let mut queries: Vec<Query> =
        (0..30).map(|n| query(&format!("a{n}"), "large", &format!("s{}", n % 10))).collect();
    queries.extend((0..5).map(|n| query(&format!("b{n}"), "small", "t")));
    queries.extend((0..5).map(|n| query(&format!("c{n}"), "smaller", "u")));
    let places: Vec<Option<usize>> = (0..40).map(|n| (n < 30).then_some(1)).collect();
    let runs = [run("bm25", &queries, &places)];
    let pool = Pool { name: "all", documents: 7, queries: &queries, negatives: &[], runs: &runs };
    let found = findings(&[pool], 1);
    let retriever = &found.retrievers[0];
    assert!((retriever.micro["ndcg@10"].mean - 0.75).abs() < 1e-12);
    assert!((retriever.macro_["ndcg@10"].mean - 0.5).abs() < 1e-12, "the small repositories are one");
    assert_eq!(retriever.macro_["ndcg@10"].ci95, Some([0.5, 0.5]), "within each, all clusters are alike");
    let [low, high] = retriever.micro["ndcg@10"].ci95.unwrap();
    assert!(low < 0.75 && high > 0.75, "{low} {high}");
    assert_eq!(retriever.repositories["small"], Part { queries: 5, ndcg: 0.0 });
    assert_eq!(retriever.parts["words"]["under 10"].queries, 40);
    assert!(found.comparisons.is_empty() && retriever.forbidden_top3.is_none());
}

#[test]
fn retrievers_are_compared_with_the_first() {
    let queries: Vec<Query> = (0..8).map(|n| query(&format!("q{n}"), "h", &format!("s{n}"))).collect();
    let base: Vec<Option<usize>> = vec![None; 8];
    let better: Vec<Option<usize>> = vec![Some(1); 8];
    let runs = [run("bm25", &queries, &base), run("best", &queries, &better), run("same", &queries, &base)];
    let pool = Pool { name: "all", documents: 8, queries: &queries, negatives: &[], runs: &runs };
    let found = findings(&[pool], 1);
    let [best, same] = &found.comparisons[..] else { panic!("{found:#?}") };
    assert_eq!((best.retriever.as_str(), best.micro.mean, best.macro_.mean), ("best", 1.0, 1.0));
    // Eight differences of one sign: 2 of 256 patterns; doubled by Holm.
    assert_eq!((best.p, best.p_adjusted), (Some(2.0 / 256.0), Some(4.0 / 256.0)));
    assert_eq!((same.p, same.micro.mean), (Some(1.0), 0.0));
}

#[test]
fn a_threshold_trades_triggers_for_recall() {
    let queries: Vec<Query> = (0..4).map(|n| query(&format!("q{n}"), "h", &format!("s{n}"))).collect();
    let mut own = run("bm25", &queries, &[Some(1), Some(2), Some(3), None]);
    let negatives = [
        Negative { text: String::new(), not: BTreeSet::from(["x".to_owned()]) },
        Negative { text: String::new(), not: BTreeSet::from(["y".to_owned()]) },
    ];
    own.negatives = vec![(vec![("x".to_owned(), 5.0)], 10.0), (vec![("other".to_owned(), 9.0)], 10.0)];
    let runs = [own];
    let pool = Pool { name: "all", documents: 4, queries: &queries, negatives: &negatives, runs: &runs };
    let found = findings(&[pool], 1).negatives.remove(0);
    let at = |threshold: f64| {
        *found.curve.iter().find(|point| (point.threshold - threshold).abs() < 1e-9).unwrap()
    };
    // Scores are 8, 6 and 4 of 10 at places 1, 2 and 3.
    let check = |threshold: f64, false_triggers: f64, recall_kept: f64, coverage: f64, risk: f64| {
        let point = at(threshold);
        let expected = Threshold { threshold: point.threshold, false_triggers, recall_kept, coverage, risk };
        for (found, expected) in [
            (point.false_triggers, expected.false_triggers),
            (point.recall_kept, expected.recall_kept),
            (point.coverage, expected.coverage),
            (point.risk, expected.risk),
        ] {
            assert!((found - expected).abs() < 1e-9, "{point:?} is not {expected:?}");
        }
    };
    check(0.0, 0.5, 1.0, 0.75, 2.0 / 3.0);
    check(0.44, 0.5, 2.0 / 3.0, 0.75, 2.0 / 3.0);
    check(0.52, 0.0, 2.0 / 3.0, 0.75, 2.0 / 3.0);
    check(0.7, 0.0, 1.0 / 3.0, 0.75, 2.0 / 3.0);
    check(0.82, 0.0, 0.0, 0.0, 0.0);
    assert!((found.default.unwrap().threshold - 0.4).abs() < 1e-9);
}

#[test]
fn forbidden_skills_are_counted_near_the_top_and_before_the_right_one() {
    let mut queries: Vec<Query> = (0..3).map(|n| query(&format!("q{n}"), "h", &format!("s{n}"))).collect();
    for query in &mut queries[..2] {
        query.forbidden = BTreeSet::from(["no-1".to_owned()]);
    }
    // `no-1` is first wherever the relevant skill is not.
    let runs = [run("bm25", &queries, &[Some(1), Some(3), Some(2)])];
    let pool = Pool { name: "all", documents: 4, queries: &queries, negatives: &[], runs: &runs };
    let found = findings(&[pool], 1).retrievers.remove(0);
    assert_eq!((found.forbidden_top3, found.forbidden_before_gold), (Some(0.5), Some(0.5)));
}
