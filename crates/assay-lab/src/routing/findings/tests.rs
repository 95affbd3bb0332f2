use super::*;

fn prompt(id: &str, expected: Option<&str>) -> Prompt {
    Prompt {
        id: id.to_owned(),
        text: String::new(),
        expected: expected.map(str::to_owned),
        acceptable: vec!["near".to_owned()],
        rejected: vec!["far".to_owned()],
    }
}

fn routed(prompt: &str, repetition: u32, ranking: &[&str]) -> Routed {
    Routed {
        prompt: prompt.to_owned(),
        repetition,
        status: Status::Finished,
        ranking: ranking.iter().map(|name| (*name).to_owned()).collect(),
        confidence: None,
        replies: Vec::new(),
        message: None,
        usage: None,
        seconds: 1.0,
    }
}

fn router(name: &str, lexical: bool, answers: Vec<Routed>) -> Router {
    Router { name: name.to_owned(), lexical, answers, cost_usd: None }
}

fn compute_findings(prompts: &[Prompt], answers: Vec<Routed>) -> RouterFindings {
    findings(prompts, &[router("openai:m", false, answers)], 3, 1, true).routers.remove(0)
}

#[test]
fn requests_have_equal_weight() {
    let prompts = [prompt("p1", Some("a")), prompt("p2", Some("b")), prompt("p3", None)];
    let broken = Routed { status: Status::FormatFailure, ..routed("p2", 1, &[]) };
    let lost = Routed { status: Status::ModelUnavailable, ..routed("p2", 2, &[]) };
    let answers = vec![
        routed("p1", 0, &["a", "b"]),
        routed("p1", 1, &["near", "x", "a"]),
        routed("p1", 2, &[]),
        routed("p2", 0, &["far", "b"]),
        broken,
        lost,
        routed("p3", 0, &[]),
        routed("p3", 1, &["a"]),
    ];
    let found = compute_findings(&prompts, answers);
    let check = |share: Option<Share>, mean: f64, counts: (usize, usize)| {
        let share = share.unwrap();
        assert!((share.mean - mean).abs() < 1e-12, "{share:?} is not {mean}");
        assert_eq!((share.prompts, share.answers), counts);
    };
    // By hand: in strict top 1, p1 has 1 of 3 and p2 0 of 2, so (1/3 + 0)/2; in top 3, (2/3 +
    // 1/2)/2; and so on (a failed request has no result, an invalid reply counts as wrong).
    check(found.top1, 1.0 / 6.0, (2, 5));
    check(found.top3, 7.0 / 12.0, (2, 5));
    check(found.top1_acceptable, 1.0 / 3.0, (2, 5));
    check(found.abstention, 0.5, (1, 2));
    check(found.false_abstention, 1.0 / 6.0, (2, 5));
    check(found.overall, 5.0 / 18.0, (3, 7));
    check(found.rejected_top1, 1.0 / 6.0, (3, 7));
    // Pairs: p1 0 of 3, p2 0 of 1, p3 0 of 1.
    check(found.order_stability, 0.0, (3, 5));
    let statuses: Vec<_> = found.statuses.into_iter().collect();
    assert_eq!(statuses, [("finished", 6), ("format_failure", 1), ("model_unavailable", 1)]);
    let wrong: Vec<_> = found.failures.iter().map(|f| (f.prompt.as_str(), f.wrong, f.acceptable)).collect();
    assert_eq!(wrong, [("p1", 2, 1), ("p2", 2, 0), ("p3", 1, 0)]);
    assert_eq!(found.failures[1].chosen, ["(unreadable)", "far"]);
}

#[test]
fn best_lexical_router_is_the_baseline() {
    let prompts: Vec<Prompt> = (0..6).map(|n| prompt(&format!("p{n}"), Some("a"))).collect();
    let answers = |right: usize| -> Vec<Routed> {
        (0..6).map(|n| routed(&format!("p{n}"), 0, &[if n < right { "a" } else { "b" }])).collect()
    };
    let routers = [
        router("openai:m", false, answers(6)),
        router("overlap", true, answers(2)),
        router("bm25", true, answers(3)),
    ];
    let found = findings(&prompts, &routers, 2, 1, true);
    let lift = found.routers[0].lift.clone().unwrap();
    assert_eq!((lift.router.as_str(), lift.lift), ("bm25", 0.5));
    // Three differences of 1 and three of 0: two of eight sign patterns are as extreme.
    assert_eq!(lift.p, Some(0.25));
    assert!(
        found.routers[1..].iter().all(|router| router.lift.is_none() && router.order_stability.is_none())
    );
}

#[test]
fn no_answers_give_no_figures() {
    let found = compute_findings(&[prompt("p1", Some("a"))], Vec::new());
    assert_eq!((found.top1, found.abstention, found.lift), (None, None, None));
    assert!(found.failures.is_empty() && found.confusion.is_empty());
}
