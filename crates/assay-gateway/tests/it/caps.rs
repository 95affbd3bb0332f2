//! What a trial, or a run, may spend.

use assay_gateway::{CapScope, Caps, Gateway, GatewayError, GatewayOptions, Listen, TrialPass};
use assay_trace::{Price, Prices};

use crate::client::post;
use crate::upstream::{Upstream, answer};
use crate::{door, quick, requests, script};

fn prices() -> Prices {
    let (input, output, cache_read, cache_write) = (1_000.0, 2_000.0, 100.0, 1_250.0);
    let from = "2020-01-01".parse().unwrap();
    Prices { price: vec![Price { model: "m".to_owned(), from, input, output, cache_read, cache_write }] }
}

#[test]
fn caps_stop_a_trial_before_its_next_request() {
    let folder = tempfile::tempdir().unwrap();
    let check = |caps: Caps, expected: &str| {
        let door = door(script(folder.path(), "{\"say\": \"some words\"}"), |pass, options| {
            pass.caps = caps;
            options.prices = prices();
        });
        let asked = requests(false, 0);
        let (path, body) = &asked[0];
        assert_eq!(post(&door, path, body).status, 200);
        for (path, body) in &asked {
            let reply = post(&door, path, body);
            assert!(reply.status == 400 && reply.text().contains(expected), "{path}: {reply:?}");
            assert!(reply.json()["error"]["message"].is_string(), "{reply:?}");
        }
        let ledger = door.close();
        assert!(ledger.capped.as_ref().is_some_and(|capped| capped.reason.contains(expected)), "{ledger:?}");
        assert_eq!((ledger.totals.requests, ledger.refused.len()), (1, 4));
    };
    check(Caps { tokens: Some(1), ..Caps::default() }, "of at most 1 tokens");
    check(Caps { usd: Some(0.000_01), ..Caps::default() }, "of at most 0.00001 USD");
    check(Caps { requests: Some(1), ..Caps::default() }, "1 of at most 1 requests");
}

#[test]
fn a_run_shares_its_caps() {
    let folder = tempfile::tempdir().unwrap();
    let caps = Caps { requests: Some(2), ..Caps::default() };
    let gateway = Gateway::new(GatewayOptions { limits: quick(), caps, ..GatewayOptions::default() });
    let provider = script(folder.path(), "{\"say\": \"hi\"}");
    let (path, body) = requests(false, 0).remove(0);
    let open = || gateway.open(TrialPass::new("t", provider.clone(), Listen::Loopback(0))).unwrap();
    let (one, two) = (open(), open());
    let statuses =
        [post(&one, &path, &body).status, post(&two, &path, &body).status, post(&one, &path, &body).status];
    assert_eq!(statuses, [200, 200, 400]);
    assert_eq!(gateway.spent().requests, 2);
    assert!(one.capped().is_some_and(|capped| capped.scope == CapScope::Run));
    drop(two);
}

#[test]
fn costs_are_told_with_and_without_a_cache_and_are_null_where_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let provider = script(folder.path(), "{\"say\": \"hi\"}");
    let (path, body) = requests(false, 0).remove(0);
    let ask = |prices: Prices| {
        let door = door(provider.clone(), |_, options| options.prices = prices);
        post(&door, &path, &body);
        door.close()
    };
    let ledger = ask(prices());
    let tokens = ledger.totals.tokens;
    let expected = (tokens.input as f64 * 1_000.0 + tokens.output as f64 * 2_000.0) / 1e6;
    assert!((ledger.totals.usd.unwrap() - expected).abs() < 1e-9, "{ledger:?}");
    let ledger = ask(Prices::default());
    assert_eq!((ledger.totals.usd, ledger.exchanges[0].usd), (None, None));
    assert!(ledger.totals.tokens.total() > 0);
}

/// What came from a cache is cheaper, and costs as much as anything else where nothing is cached.
#[test]
fn a_cache_is_told_in_the_cost() {
    let usage = "\"usage\":{\"input_tokens\":10,\"output_tokens\":5,\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":20}";
    let upstream = Upstream::start(move |_, _, _, out| {
        answer(
            out,
            "200 OK",
            "",
            &format!("{{\"type\":\"message\",\"model\":\"m\",\"content\":[],{usage}}}"),
        );
    });
    let door = door(upstream.provider(), |_, options| options.prices = prices());
    let (path, body) = requests(false, 0).remove(0);
    assert_eq!(post(&door, &path, &body).status, 200);
    let ledger = door.close();
    let near = |found: Option<f64>, expected: f64| {
        assert!((found.unwrap() - expected / 1e6).abs() < 1e-12, "{ledger:?}");
    };
    near(ledger.totals.usd, 10.0 * 1_000.0 + 5.0 * 2_000.0 + 100.0 * 100.0 + 20.0 * 1_250.0);
    near(ledger.totals.usd_without_cache, 130.0 * 1_000.0 + 5.0 * 2_000.0);
}

#[test]
fn a_cap_that_cannot_be_kept_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut pass = TrialPass::new("t", script(folder.path(), "{\"say\": \"hi\"}"), Listen::Loopback(0));
    pass.caps.usd = Some(1.0);
    pass.model = Some("unknown".to_owned());
    let error = Gateway::new(GatewayOptions::default()).open(pass).unwrap_err();
    assert!(matches!(error, GatewayError::Unpriced(_)), "{error}");
}
