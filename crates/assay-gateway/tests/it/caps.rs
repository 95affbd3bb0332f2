//! Caps of a trial and of a run.

use std::net::TcpStream;

use assay_gateway::{
    Budget, CapKind, CapScope, Capped, Caps, Gateway, GatewayError, GatewayOptions, Listen, SessionConfig,
};
use assay_model::chars;
use assay_trace::{DatedPrice, Price, Prices};
use serde_json::{Value, json};

use crate::client::post;
use crate::upstream::{Upstream, answer, begin, end, piece};
use crate::{open_proxy, quick, requests, script};

fn prices() -> Prices {
    let (input, output, cache_read, cache_write) = (1_000.0, 2_000.0, 100.0, 1_250.0);
    let from = "2020-01-01".parse().unwrap();
    Prices {
        price: vec![DatedPrice {
            model: "m".to_owned(),
            from,
            price: Price::new(input, output, Some(cache_read), Some(cache_write)),
        }],
    }
}

#[test]
fn caps_stop_a_trial_before_its_next_request() {
    let folder = tempfile::tempdir().unwrap();
    let check = |caps: Caps, expected: &str| {
        let proxy = open_proxy(script(folder.path(), "{\"say\": \"some words\"}"), |session, options| {
            session.caps = caps;
            options.prices = prices();
        });
        let asked = requests(false, 0);
        let (path, body) = &asked[0];
        assert_eq!(post(&proxy, path, body).status, 200);
        for (path, body) in &asked {
            let reply = post(&proxy, path, body);
            assert!(reply.status == 400 && reply.text().contains(expected), "{path}: {reply:?}");
            assert!(reply.json()["error"]["message"].is_string(), "{reply:?}");
        }
        let ledger = proxy.close();
        assert!(ledger.capped.as_ref().is_some_and(|capped| capped.reason.contains(expected)), "{ledger:?}");
        assert_eq!((ledger.totals.requests, ledger.refused.len()), (1, 4));
    };
    check(Caps { tokens: Some(1), ..Caps::default() }, "(cap: 1)");
    check(Caps { usd: Some(0.000_01), ..Caps::default() }, "USD (cap: 0.00001)");
    check(Caps { requests: Some(1), ..Caps::default() }, "1 requests (cap: 1)");
}

#[test]
fn trials_of_a_run_share_its_caps() {
    let folder = tempfile::tempdir().unwrap();
    let caps = Caps { requests: Some(2), ..Caps::default() };
    let budget = Budget::new(caps);
    let gateway = Gateway::new(GatewayOptions { limits: quick(), ..GatewayOptions::default() });
    let provider = script(folder.path(), "{\"say\": \"hi\"}");
    let (path, body) = requests(false, 0).remove(0);
    let open = || {
        let session = SessionConfig::new("t", provider.clone(), Listen::Loopback(0));
        gateway.open(SessionConfig { budget: budget.clone(), ..session }).unwrap()
    };
    let (one, two) = (open(), open());
    let statuses =
        [post(&one, &path, &body).status, post(&two, &path, &body).status, post(&one, &path, &body).status];
    assert_eq!(statuses, [200, 200, 400]);
    assert_eq!(budget.spent().requests, 2);
    assert!(one.capped().is_some_and(|capped| capped.scope == CapScope::Run));
    drop(two);
}

/// What a model says in these tests: 31 characters, 53 bytes.
const SAID: &str = "日本語日本語日本語日本 and some words more";

/// The events of a reply in each protocol: its text, and what ends it, with a usage of 1,000 and 42
/// tokens.
fn events(protocol: usize) -> (Vec<Value>, Vec<Value>) {
    match protocol {
        0 => (
            vec![
                json!({"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 1000, "output_tokens": 1}}}),
                json!({"type": "content_block_start", "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": SAID}}),
            ],
            vec![
                json!({"type": "message_delta", "usage": {"output_tokens": 42}}),
                json!({"type": "message_stop"}),
            ],
        ),
        1 => {
            let usage = json!({"input_tokens": 1000, "output_tokens": 42});
            (
                vec![
                    json!({"type": "response.created", "response": {"model": "m"}}),
                    json!({"type": "response.output_text.delta", "delta": SAID}),
                ],
                vec![json!({"type": "response.completed", "response": {"usage": usage}})],
            )
        }
        2 => (
            vec![json!({"model": "m", "choices": [{"delta": {"content": SAID}}]})],
            vec![
                json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 42}}),
            ],
        ),
        _ => {
            let usage = json!({"promptTokenCount": 1000, "candidatesTokenCount": 42});
            (
                vec![json!({"modelVersion": "m", "candidates": [{"content": {"parts": [{"text": SAID}]}}]})],
                vec![json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage})],
            )
        }
    }
}

fn send_events(out: &mut TcpStream, events: &[Value]) {
    for event in events {
        piece(out, &format!("data: {event}\n\n"));
    }
}

/// A provider that breaks off its first replies, and then works.
fn breaking(protocol: usize, broken: usize) -> Upstream {
    Upstream::start(move |_, _, number, out| {
        let (text, rest) = events(protocol);
        begin(out);
        send_events(out, &text);
        if number < broken {
            let _ = out.shutdown(std::net::Shutdown::Both);
        } else {
            send_events(out, &rest);
            end(out);
        }
    })
}

/// An interrupted reply is charged by the characters received, and marked as an estimate.
#[test]
fn interrupted_reply_is_charged_for_what_was_received() {
    for protocol in 0..4 {
        let upstream = breaking(protocol, 1);
        let proxy = open_proxy(upstream.provider(), |_, options| options.prices = prices());
        let (path, body) = requests(true, 0).remove(protocol);
        assert!(!post(&proxy, &path, &body).whole, "{path}");
        assert!(post(&proxy, &path, &body).whole, "{path}");
        let ledger = proxy.close();
        let [broken, well] = &ledger.exchanges[..] else { panic!("{ledger:?}") };
        let sent: Value = serde_json::from_str(&upstream.requests()[0].1).unwrap();
        let tokens = broken.tokens.unwrap();
        // Messages reports the input at the beginning.
        let (input, guess) = if protocol == 0 { (1000, 7) } else { (chars(&sent).div_ceil(4), 8) };
        assert!(broken.estimated && !well.estimated, "{path}: {ledger:?}");
        assert_eq!((tokens.input, tokens.output), (input, 8), "{path}: {broken:?}");
        assert_eq!(broken.estimated_tokens.output, guess, "{path}: {broken:?}");
        assert_eq!(well.tokens.unwrap().total(), 1042, "{path}: {well:?}");
        let totals = &ledger.totals;
        assert_eq!((totals.estimated, totals.tokens.total()), (1, 1042 + tokens.total()), "{path}");
        assert_eq!(totals.reported_tokens(), if protocol == 0 { 2043 } else { 1042 }, "{path}");
        let (usd, reported) = (totals.usd.unwrap(), totals.reported_usd().unwrap());
        assert!(
            reported < usd && (usd - reported - totals.estimated_usd).abs() < 1e-12,
            "{path}: {totals:?}"
        );
    }
}

/// However often replies are interrupted, no cap is reached: neither the trial's nor the run's, in
/// tokens or USD. Only reported usage counts.
#[test]
fn estimate_alone_reaches_no_cap() {
    let of = |tokens, usd| Caps { tokens, usd, requests: None };
    let kinds = [of(Some(50), None), of(None, Some(0.01))];
    for (protocol, scope) in [1, 2, 3].into_iter().flat_map(|p| [(p, CapScope::Trial), (p, CapScope::Run)]) {
        for caps in kinds {
            let upstream = breaking(protocol, 4);
            let proxy = open_proxy(upstream.provider(), |session, options| {
                options.prices = prices();
                if scope == CapScope::Run {
                    session.budget = Budget::new(caps);
                } else {
                    session.caps = caps;
                }
            });
            let (path, body) = requests(true, 0).remove(protocol);
            for _ in 0..4 {
                assert_eq!(post(&proxy, &path, &body).status, 200, "{path} {caps:?}");
            }
            assert_eq!(proxy.capped(), None, "{path} {caps:?}");
            assert!(post(&proxy, &path, &body).whole, "{path} {caps:?}");
            assert_eq!(post(&proxy, &path, &body).status, 400, "{path} {caps:?}");
            let ledger = proxy.close();
            let kind = if caps.usd.is_some() { CapKind::Usd } else { CapKind::Tokens };
            assert!(
                matches!(&ledger.capped, Some(Capped { scope: found, of, .. }) if *found == scope && *of == kind),
                "{ledger:?}"
            );
            assert!(ledger.totals.tokens.total() > ledger.totals.reported_tokens());
        }
    }
}

/// An impossible usage is recorded as it was sent, but not counted.
#[test]
fn impossible_usage_is_not_counted() {
    let upstream = Upstream::start(|_, _, _, out| {
        let usage =
            json!({"prompt_tokens": 1_000_000_000_000_u64, "completion_tokens": 1_000_000_000_000_u64});
        let choice = json!({"message": {"content": SAID}, "finish_reason": "stop"});
        answer(out, "200 OK", "", &json!({"model": "m", "choices": [choice], "usage": usage}).to_string());
    });
    let proxy = open_proxy(upstream.provider(), |session, options| {
        session.caps.tokens = Some(1_000_000);
        session.budget = Budget::new(Caps { usd: Some(5.0), ..Caps::default() });
        options.prices = prices();
    });
    let (path, body) = requests(false, 0).remove(2);
    for _ in 0..3 {
        assert_eq!(post(&proxy, &path, &body).status, 200);
    }
    let ledger = proxy.close();
    let exchange = &ledger.exchanges[0];
    assert!(exchange.complete && exchange.estimated && exchange.error.is_none(), "{exchange:?}");
    assert_eq!(exchange.tokens.unwrap().output, 8, "{exchange:?}");
    assert_eq!(exchange.usage["prompt_tokens"], 1_000_000_000_000_u64);
    assert_eq!((ledger.capped, ledger.totals.reported_tokens()), (None, 0));
}

#[test]
fn costs_are_reported_with_and_without_cache_and_null_if_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let provider = script(folder.path(), "{\"say\": \"hi\"}");
    let (path, body) = requests(false, 0).remove(0);
    let metered_ledger = |prices: Prices| {
        let proxy = open_proxy(provider.clone(), |_, options| options.prices = prices);
        post(&proxy, &path, &body);
        proxy.close()
    };
    let ledger = metered_ledger(prices());
    let tokens = ledger.totals.tokens;
    let expected = (tokens.input as f64 * 1_000.0 + tokens.output as f64 * 2_000.0) / 1e6;
    assert!((ledger.totals.usd.unwrap() - expected).abs() < 1e-9, "{ledger:?}");
    let ledger = metered_ledger(Prices::default());
    assert_eq!((ledger.totals.usd, ledger.exchanges[0].usd), (None, None));
    assert!(ledger.totals.tokens.total() > 0);
}

/// Cached input is cheaper, and has the full price in the cost without cache.
#[test]
fn cached_input_reduces_the_cost() {
    let usage = "\"usage\":{\"input_tokens\":10,\"output_tokens\":5,\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":20}";
    let upstream = Upstream::start(move |_, _, _, out| {
        answer(
            out,
            "200 OK",
            "",
            &format!("{{\"type\":\"message\",\"model\":\"m\",\"content\":[],{usage}}}"),
        );
    });
    let proxy = open_proxy(upstream.provider(), |_, options| options.prices = prices());
    let (path, body) = requests(false, 0).remove(0);
    assert_eq!(post(&proxy, &path, &body).status, 200);
    let ledger = proxy.close();
    let near = |found: Option<f64>, expected: f64| {
        assert!((found.unwrap() - expected / 1e6).abs() < 1e-12, "{ledger:?}");
    };
    near(ledger.totals.usd, 10.0 * 1_000.0 + 5.0 * 2_000.0 + 100.0 * 100.0 + 20.0 * 1_250.0);
    near(ledger.totals.usd_without_cache, 130.0 * 1_000.0 + 5.0 * 2_000.0);
}

#[test]
fn usd_cap_without_a_price_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut session =
        SessionConfig::new("t", script(folder.path(), "{\"say\": \"hi\"}"), Listen::Loopback(0));
    session.caps.usd = Some(1.0);
    session.model = Some("unknown".to_owned());
    let error = Gateway::new(GatewayOptions::default()).open(session).unwrap_err();
    assert!(matches!(error, GatewayError::Unpriced(_)), "{error}");
}

/// 64 requests at once to a server whose replies cost 110 tokens, or 0.11 USD, each.
#[test]
fn requests_under_way_are_part_of_a_cap() {
    let usage = "\"usage\":{\"input_tokens\":100,\"output_tokens\":10}";
    let reply = format!("{{\"type\":\"message\",\"model\":\"m\",\"content\":[],{usage}}}");
    let price = Price::new(1_000.0, 1_000.0, Some(0.0), Some(0.0));
    let prices = || {
        let from = "2020-01-01".parse().unwrap();
        Prices { price: vec![DatedPrice { model: "m".to_owned(), from, price }] }
    };
    let of = |tokens, usd, requests| Caps { tokens, usd, requests };
    let caps = [of(Some(1_100), None, None), of(None, Some(1.1), None), of(None, None, Some(10))];
    for (caps, scope) in caps.into_iter().flat_map(|caps| [(caps, CapScope::Trial), (caps, CapScope::Run)]) {
        let reply = reply.clone();
        let upstream = Upstream::start(move |_, _, _, out| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            answer(out, "200 OK", "", &reply);
        });
        let proxy = open_proxy(upstream.provider(), |session, options| {
            options.prices = prices();
            options.limits.connections = 128;
            session.concurrency = 64;
            if scope == CapScope::Run {
                session.budget = Budget::new(caps);
            } else {
                session.caps = caps;
            }
        });
        let body = json!({"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}]});
        let statuses: Vec<u16> = std::thread::scope(|threads| {
            let one = || post(&proxy, "/v1/messages", &body).status;
            let sent: Vec<_> = (0..64).map(|_| threads.spawn(one)).collect();
            sent.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let granted = statuses.iter().filter(|status| **status == 200).count();
        assert_eq!((granted, upstream.requests().len()), (10, 10), "{caps:?} {scope:?}");
        assert!(statuses.iter().all(|status| matches!(status, 200 | 400)), "{statuses:?}");
        let ledger = proxy.close();
        assert_eq!(
            (ledger.totals.tokens.total(), ledger.capped.map(|capped| capped.scope)),
            (1_100, Some(scope))
        );
    }
}

/// A server without a usage, or with one of nothing: a cap in USD counts estimates, one in tokens does not.
#[test]
fn replies_without_a_usage_count_against_a_cap_in_usd() {
    for usage in ["", ",\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}"] {
        let upstream = Upstream::start(move |_, _, _, out| {
            let choice = format!("{{\"message\":{{\"content\":\"{SAID}\"}},\"finish_reason\":\"stop\"}}");
            answer(out, "200 OK", "", &format!("{{\"model\":\"m\",\"choices\":[{choice}]{usage}}}"));
        });
        let spend = |caps: Caps| {
            let proxy = open_proxy(upstream.provider(), |session, options| {
                options.prices = prices();
                session.caps = caps;
            });
            let (path, body) = requests(false, 0).remove(2);
            let statuses: Vec<u16> = (0..4).map(|_| post(&proxy, &path, &body).status).collect();
            (statuses, proxy.close())
        };
        let (statuses, ledger) = spend(Caps { usd: Some(0.001), ..Caps::default() });
        assert_eq!(statuses, [200, 400, 400, 400], "{usage}: {ledger:?}");
        assert!(ledger.exchanges[0].unreported && ledger.totals.unreported == 1, "{usage}: {ledger:?}");
        assert!(ledger.totals.counted_usd() >= Some(0.001), "{usage}: {ledger:?}");
        let (statuses, ledger) = spend(Caps { tokens: Some(10), ..Caps::default() });
        assert_eq!((statuses, ledger.totals.reported_tokens()), (vec![200; 4], 0), "{usage}");
    }
}
