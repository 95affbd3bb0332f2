//! The first request to a model.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assay_ask::{AskError, AskEvent, AskRules, ModelHandle, PreflightEvent, QuestionOf};
use assay_model::{ModelError, ModelOptions};
use assay_test::{HttpReply, serve_http};
use serde_json::json;

use super::{answer, asker, number, question};

fn handle(name: &str, url: &str) -> ModelHandle {
    let options = ModelOptions { base_url: Some(url.to_owned()), ..ModelOptions::default() };
    let env = |name: &str| (name == "OPENAI_API_KEY").then(|| "k".to_owned());
    ModelHandle::open(name, options, Arc::new(env)).unwrap()
}

fn says(text: &str) -> HttpReply {
    let message = json!({"role": "assistant", "content": text});
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    HttpReply { status: 200, body: body.to_string(), ..HttpReply::default() }
}

fn is_preflight(body: &[u8]) -> bool {
    String::from_utf8_lossy(body).contains(assay_model::PREFLIGHT_PROMPT)
}

#[test]
fn each_model_is_checked_once_before_the_first_question() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&log);
    let address = serve_http(move |request| {
        let is_first = is_preflight(&request.body);
        let model = serde_json::from_slice::<serde_json::Value>(&request.body).unwrap()["model"].to_string();
        written.lock().unwrap().push((model, is_first));
        says(if is_first { "OK" } else { "3" })
    });
    let url = format!("http://{address}/v1");
    let (one, other) = (handle("openai:one", &url), handle("openai:other", &url));
    let questions: Vec<_> = [&one, &other, &one, &other]
        .into_iter()
        .enumerate()
        .map(|(at, model)| QuestionOf {
            model,
            question: question(model, &at.to_string()),
            read: Box::new(number),
        })
        .collect();
    let asker = asker(folder.path(), AskRules::default());
    asker.answer_all(&questions, 4, &AtomicBool::new(false)).unwrap();
    let sent = std::mem::take(&mut *log.lock().unwrap());
    let (first, later) = sent.split_at(2);
    assert!(first.iter().all(|(_, is_first)| *is_first), "{sent:?}");
    assert_ne!(first[0].0, first[1].0);
    assert_eq!(later.iter().filter(|(_, is_first)| !is_first).count(), 4, "{sent:?}");
    // What is stored needs no connection.
    let again = asker.answer_all(&questions, 4, &AtomicBool::new(false)).unwrap();
    assert!(again.iter().all(|answer| answer.is_cached) && log.lock().unwrap().is_empty());
}

#[test]
fn a_model_that_cannot_be_used_is_reported_within_seconds() {
    let check = |url: &str, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        let began = Instant::now();
        let failed = answer(&asker(folder.path(), AskRules::default()), &handle("openai:m", url), "x");
        let failed = failed.unwrap_err();
        assert!(matches!(failed, AskError::Preflight(_)), "{failed}");
        assert!(failed.to_string().contains(expected), "{failed}");
        assert!(began.elapsed() < Duration::from_secs(5), "{expected}: {:?}", began.elapsed());
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
    };
    let refused = |status: u16| {
        let body = json!({"error": {"message": "who are you?"}}).to_string();
        let address = serve_http(move |_| HttpReply { status, body: body.clone(), ..HttpReply::default() });
        format!("http://{address}/v1")
    };
    check(&refused(401), "who are you?");
    check(&refused(404), "refused the request (404)");
    check(&refused(500), "status 500");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    check(&format!("http://{closed}/v1"), &format!("openai:m at http://{closed}/v1 does not answer"));
}

#[test]
fn a_failed_check_is_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let address = serve_http(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        HttpReply { status: 403, body: "{}".to_owned(), ..HttpReply::default() }
    });
    let model = handle("openai:m", &format!("http://{address}/v1"));
    let asker = asker(folder.path(), AskRules::default());
    for text in ["a", "b"] {
        let failed = answer(&asker, &model, text).unwrap_err();
        assert!(
            matches!(&failed, AskError::Preflight(error) if matches!(error.source, ModelError::Refused { .. })),
            "{failed}"
        );
    }
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

#[test]
fn a_server_that_takes_its_time_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let address = serve_http(|request| {
        if is_preflight(&request.body) {
            std::thread::sleep(Duration::from_millis(2_500));
        }
        says("3")
    });
    let log = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&log);
    let listen = move |event: &AskEvent<'_>| {
        if let AskEvent::Preflight(event) = event {
            written.lock().unwrap().push((*event).clone());
        }
    };
    let asker = asker(folder.path(), AskRules::default()).report_to(Arc::new(listen), Duration::from_mins(1));
    let model = handle("openai:m", &format!("http://{address}/v1"));
    assert_eq!(answer(&asker, &model, "x").unwrap().value, Ok(3));
    let log = log.lock().unwrap();
    assert!(matches!(&log[..], [PreflightEvent::Waiting { .. }, PreflightEvent::Replied { .. }]), "{log:?}");
}

#[test]
fn a_model_that_is_opened_on_use_needs_its_key_then() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| ModelHandle::open_on_use(name, ModelOptions::default(), Arc::new(|_| None));
    let model = open("openai:m").unwrap();
    let failed = model.model().map(drop).unwrap_err().to_string();
    assert!(failed.contains("OPENAI_API_KEY"), "{failed}");
    let failed = answer(&asker(folder.path(), AskRules::default()), &model, "x").unwrap_err();
    assert!(failed.to_string().contains("OPENAI_API_KEY"), "{failed}");
    assert!(open("nobody:m").unwrap_err().to_string().contains("unknown provider"));
    assert!(open("scripted:missing.jsonl").is_err());
}
