//! `/v1/embeddings` and `/v1/rerank`: documented requests, and invalid replies.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use assay_model::{Embeddings, ModelError, ModelOptions, Rerank};
use serde_json::{Value, json};

use crate::server::Trick::Hang;
use crate::server::{KEY, Server, broken, call, canned, options, with_key, within};

fn quick(url: &str) -> ModelOptions {
    ModelOptions { max_retries: 1, request_timeout: Duration::from_millis(300), ..options(url) }
}

fn embeddings(options: &ModelOptions) -> Embeddings {
    Embeddings::open("minilm", options, &with_key).unwrap()
}

fn reranker(options: &ModelOptions) -> Rerank {
    Rerank::open("judge-v2", options, &with_key).unwrap()
}

/// A reply with these vectors, in this order.
fn vectors(own: &[(u64, &[f64])]) -> Value {
    let item = |(index, numbers): &(u64, &[f64])| json!({ "object": "embedding", "index": index, "embedding": numbers });
    json!({ "object": "list", "model": "minilm", "data": own.iter().map(item).collect::<Vec<_>>() })
}

fn scores(own: &[(u64, f64)]) -> Value {
    let item = |(index, score): &(u64, f64)| json!({ "index": index, "relevance_score": score });
    json!({ "results": own.iter().map(item).collect::<Vec<_>>() })
}

#[test]
fn texts_get_their_own_vectors() {
    let server = Server::start(vec![canned(200, vectors(&[(1, &[0.0, 1.0]), (0, &[3.0, 4.0])]))]);
    let model = embeddings(&options(&server.url));
    assert_eq!(model.dimensions(), None);
    let found = model.embed(&["a", "b"], &call(), &|_| ()).unwrap();
    assert_eq!(found, [[3.0, 4.0], [0.0, 1.0]], "ordered by index, unchanged");
    assert_eq!((model.dimensions(), model.model()), (Some(2), "minilm"));
    let asked = server.only();
    assert_eq!(asked.path, "/embeddings");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(asked.body, json!({ "model": "minilm", "input": ["a", "b"], "encoding_format": "float" }));
}

#[test]
fn many_texts_take_several_requests() {
    let all: Vec<Vec<f64>> = (0..40).map(|number| vec![f64::from(number), 1.0]).collect();
    let page = |from: usize, to: usize| {
        let own: Vec<(u64, &[f64])> =
            (0..).zip(&all[from..to]).map(|(at, own)| (at, own.as_slice())).collect();
        canned(200, vectors(&own))
    };
    let limit = canned(429, "slow down").with("retry-after-ms", 5);
    let server = Server::start(vec![page(0, 32), limit, page(32, 40)]);
    let texts: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let heard = Mutex::new(Vec::new());
    let model = embeddings(&options(&server.url));
    let found = model.embed(&texts, &call(), &|done| heard.lock().unwrap().push(done)).unwrap();
    assert_eq!(
        found.iter().map(|own| own[0]).collect::<Vec<_>>(),
        (0..40_u8).map(f32::from).collect::<Vec<_>>()
    );
    assert_eq!(*heard.lock().unwrap(), [32, 40]);
    assert_eq!(server.requests().len(), 3);
    assert_eq!(server.requests()[2].body["input"].as_array().unwrap().len(), 8);
    assert_eq!(embeddings(&options(&server.url)).embed(&[], &call(), &|_| ()).unwrap().len(), 0);
    assert_eq!(server.requests().len(), 3, "no request without texts");
}

#[test]
fn invalid_vectors_are_refused() {
    let check = |body: String, expected: &str| {
        let server = Server::start(vec![canned(200, &body)]);
        let error = embeddings(&options(&server.url)).embed(&["a", "b"], &call(), &|_| ()).unwrap_err();
        assert!(matches!(error, ModelError::Protocol { .. }), "{body}: {error:?}");
        assert!(error.to_string().contains(expected), "{body}: {error}");
    };
    let with = |embedding: &str| {
        format!(r#"{{"data":[{{"index":0,"embedding":[1,2]}},{{"index":1,"embedding":{embedding}}}]}}"#)
    };
    check("{}".to_owned(), "missing list `data`");
    check(with("[1,2,3]"), "a vector has 3 dimensions where others have 2");
    check(with("[1,NaN]"), "not JSON");
    check(with("[1,null]"), "not a finite number");
    check(with("[1,1e39]"), "not a finite number");
    check(with("[]"), "missing list of numbers `embedding`");
    check(with("\"AACAPw==\""), "missing list of numbers `embedding`");
    check(vectors(&[(0, &[1.0])]).to_string(), "1 of 2 texts have a vector");
    check(vectors(&[(0, &[1.0]), (0, &[1.0])]).to_string(), "duplicate index 0");
    check(vectors(&[(0, &[1.0]), (2, &[1.0])]).to_string(), "index 2 is out of range (count: 2)");
    check(r#"{"data":[{"embedding":[1]},{"embedding":[1]}]}"#.to_owned(), "missing number `index`");
    // A later reply with another number of dimensions.
    let server =
        Server::start(vec![canned(200, vectors(&[(0, &[1.0, 2.0])])), canned(200, vectors(&[(0, &[1.0])]))]);
    let model = embeddings(&options(&server.url));
    model.embed(&["a"], &call(), &|_| ()).unwrap();
    let error = model.embed(&["b"], &call(), &|_| ()).unwrap_err().to_string();
    assert!(error.contains("a vector has 1 dimensions where others have 2"), "{error}");
}

#[test]
fn documents_get_their_own_scores() {
    let server = Server::start(vec![canned(200, scores(&[(2, 0.9), (0, 0.5), (1, -0.25)]))]);
    let model = reranker(&options(&server.url));
    assert_eq!(model.scores("q", &["a", "b", "c"], &call()).unwrap(), [0.5, -0.25, 0.9]);
    assert!(model.scores("q", &[], &call()).unwrap().is_empty());
    let asked = server.only();
    assert_eq!(asked.path, "/rerank");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let expected = json!({ "model": "judge-v2", "query": "q", "documents": ["a", "b", "c"], "top_n": 3 });
    assert_eq!(asked.body, expected);

    let check = |body: &str, expected: &str| {
        let server = Server::start(vec![canned(200, body)]);
        let error = reranker(&options(&server.url)).scores("q", &["a", "b"], &call()).unwrap_err();
        assert!(matches!(error, ModelError::Protocol { .. }), "{body}: {error:?}");
        assert!(error.to_string().contains(expected), "{body}: {error}");
    };
    check("[]", "missing list `results`");
    check(&scores(&[(0, 1.0)]).to_string(), "1 of 2 documents have a score");
    check(&scores(&[(0, 1.0), (7, 1.0)]).to_string(), "index 7 is out of range");
    check(&scores(&[(1, 1.0), (1, 1.0)]).to_string(), "duplicate index 1");
    check(r#"{"results":[{"index":0,"score":1}]}"#, "missing number `relevance_score`");
    check(
        r#"{"results":[{"index":0,"relevance_score":"high"}]}"#,
        "a relevance_score is not a finite number",
    );
}

#[test]
fn servers_that_fail_or_hang_end_in_errors() {
    let ask = |url: &str| {
        let options = quick(url);
        [
            embeddings(&options).embed(&["a"], &call(), &|_| ()).unwrap_err(),
            reranker(&options).scores("q", &["a"], &call()).unwrap_err(),
        ]
    };
    let check = |status: u16, requests: usize, expected: &str| {
        let server = Server::start(vec![canned(status, "no").with("retry-after-ms", 1)]);
        for error in ask(&server.url) {
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!(server.requests().len(), 2 * requests);
    };
    check(500, 2, "provider error (status 500, tries: 2): no");
    check(429, 2, "rate limited by the provider (status 429, tries: 2): no");
    check(404, 1, "the provider refused the request (404): no");
    let (url, _) = broken(&[Hang("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{")]);
    for error in ask(&url) {
        assert!(error.to_string().contains("no reply within 0.3 s"), "{error}");
    }
    let started = Instant::now();
    let soon = within(Duration::from_millis(200));
    let error = embeddings(&options(&url)).embed(&["a"], &soon, &|_| ()).unwrap_err();
    assert!(matches!(error, ModelError::Deadline), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(15), "well below the timeout of 20 seconds");
}

#[test]
fn keys_and_names_are_checked() {
    let refused = |model: &str| {
        Rerank::open(model, &ModelOptions::default(), &with_key).err().expect(model).to_string()
    };
    assert_eq!(refused("../x"), "\"../x\" is not a valid model name");
    assert_eq!(refused(""), "\"\" is not a valid model name");
    let error = Rerank::open("m", &ModelOptions::default(), &|_| None).err().unwrap().to_string();
    assert!(error.starts_with("JINA_API_KEY is not set"), "{error}");
    let error = Embeddings::open("m", &ModelOptions::default(), &|_| None).err().unwrap().to_string();
    assert!(error.starts_with("OPENAI_API_KEY is not set"), "{error}");
    // An unknown address gets a key only if its variable is named.
    let elsewhere = ModelOptions { api_key_env: Some("MINE".to_owned()), ..options("https://x.example/v1") };
    assert!(Embeddings::open("m", &elsewhere, &with_key).is_err(), "MINE is not set");
    let model = Embeddings::open("m", &options("https://x.example/v1"), &with_key).unwrap();
    assert_eq!(model.url(), "https://x.example/v1/embeddings");
}
