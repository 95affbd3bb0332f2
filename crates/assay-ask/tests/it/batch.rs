//! Questions at the same time.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_ask::{AskEvent, AskProgress, AskRules, ModelHandle, QuestionOf};
use assay_model::{Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, Retry};

use super::{Played, answer, asker, number, question, reply};

fn questions(model: &ModelHandle, count: usize) -> Vec<QuestionOf<'_, u32>> {
    let one = |at| QuestionOf { model, question: question(model, &format!("{at}")), read: Box::new(number) };
    (0..count).map(one).collect()
}

/// Replies with the question after a delay, on the third try.
struct Slow(Duration);

impl ChatModel for Slow {
    fn id(&self) -> &'static str {
        "openai:slow"
    }

    fn chat(&self, request: &ChatRequest, _: &Call<'_>) -> Result<ChatReply, ModelError> {
        std::thread::sleep(self.0);
        let Some(Message::User { text }) = request.messages.first() else {
            return Err(ModelError::Cancelled);
        };
        let retry = Retry { status: Some(503), message: "busy".to_owned(), waited: Duration::ZERO };
        Ok(ChatReply { retries: vec![retry.clone(), retry], ..reply(text) })
    }
}

#[test]
fn answers_come_in_the_order_of_the_questions() {
    let folder = tempfile::tempdir().unwrap();
    let model = ModelHandle::of_model(Arc::new(Slow(Duration::from_millis(1))));
    let asker = asker(folder.path(), AskRules::default());
    let answers = asker.answer_all(&questions(&model, 20), 4, &AtomicBool::new(false)).unwrap();
    let values: Vec<u32> = answers.into_iter().map(|answer| answer.value.unwrap()).collect();
    assert_eq!(values, (0..20).collect::<Vec<_>>());
}

#[test]
fn after_a_failure_only_what_is_missing_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let asker = asker(folder.path(), AskRules::default());
    let model = Played::new(&[Ok("0"), Ok("1"), Ok("2"), Err(500), Ok("3"), Ok("4"), Ok("5")]);
    let handle = model.handle();
    let failed = asker.answer_all(&questions(&handle, 6), 1, &AtomicBool::new(false)).unwrap_err();
    assert!(failed.to_string().contains("gives no reply"), "{failed}");
    assert_eq!(model.requests().len(), 4);
    let answers = asker.answer_all(&questions(&handle, 6), 1, &AtomicBool::new(false)).unwrap();
    let found: Vec<_> =
        answers.iter().map(|answer| (answer.value.clone().unwrap(), answer.is_cached)).collect();
    assert_eq!(found, [(0, true), (1, true), (2, true), (3, false), (4, false), (5, false)]);
}

#[test]
fn nothing_is_sent_after_an_interruption() {
    let folder = tempfile::tempdir().unwrap();
    let model = Played::new(&[]);
    let handle = model.handle();
    let results = asker(folder.path(), AskRules::default()).answer_each(
        &questions(&handle, 6),
        2,
        &AtomicBool::new(true),
        &|_, result| result.ok().map(drop),
    );
    assert_eq!(results.unwrap(), [None; 6]);
    assert!(model.requests().is_empty());
}

#[test]
fn events_tell_how_long_requests_wait() {
    let folder = tempfile::tempdir().unwrap();
    let model = ModelHandle::of_model(Arc::new(Slow(Duration::from_millis(700))));
    let log = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&log);
    let listen = move |event: &AskEvent<'_>| {
        let line = match event {
            AskEvent::Waiting { requests, oldest } => {
                assert!(*oldest >= Duration::from_millis(200), "{oldest:?}");
                format!("{requests} wait")
            }
            AskEvent::Answered { .. } => "answered".to_owned(),
            AskEvent::Cached { .. } => "cached".to_owned(),
            AskEvent::Retried { retry, .. } => format!("retried after {:?}", retry.status),
            other => format!("{other:?}"),
        };
        written.lock().unwrap().push(line);
    };
    let interval = Duration::from_millis(200);
    let asker = asker(folder.path(), AskRules::default()).report_to(Arc::new(listen), interval);
    asker.answer_all(&questions(&model, 3), 3, &AtomicBool::new(false)).unwrap();
    let lines = std::mem::take(&mut *log.lock().unwrap());
    let count = |line: &str| lines.iter().filter(|own| *own == line).count();
    assert!((1..=3).contains(&count("3 wait")), "{lines:?}");
    assert_eq!((count("answered"), count("retried after Some(503)")), (3, 6), "{lines:?}");
    asker.answer_all(&questions(&model, 3), 3, &AtomicBool::new(false)).unwrap();
    drop(asker);
    let lines: BTreeSet<String> = log.lock().unwrap().drain(..).collect();
    assert_eq!(lines, BTreeSet::from(["cached".to_owned()]));
}

#[test]
fn askers_with_one_progress_are_one_group_that_waits() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&log);
    let listen = move |event: &AskEvent<'_>| {
        if let AskEvent::Waiting { requests, .. } = event {
            written.lock().unwrap().push(*requests);
        }
    };
    let progress = AskProgress::new(Arc::new(listen), Duration::from_millis(200));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let progress = progress.clone();
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                let model = ModelHandle::of_model(Arc::new(Slow(Duration::from_millis(500))));
                let asker = asker(folder.path(), AskRules::default()).report_with(progress);
                answer(&asker, &model, "1").unwrap();
            });
        }
    });
    drop(progress);
    let waiting = log.lock().unwrap();
    assert!((1..=2).contains(&waiting.len()) && waiting.iter().all(|requests| *requests == 3), "{waiting:?}");
}
