//! Runs whose judges are reached at a local server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_store::Outcome;
use assay_test::{HttpReply, serve_http};
use serde_json::{Value, json};

use crate::run::execute::run;
use crate::run::executor::{Event, RunOptions, RunOutcome};
use crate::testing::{Fake, Fixture, PASS, on_machine};

const RUBRIC: &str = r#"{"schema": "assay.rubric/1", "sets": [{"name": "all", "items": [
    {"id": "neat", "text": "The work is neat", "points": 1}]}]}"#;

/// Two trials of one task, decided by judges at a server.
struct JudgedRun {
    fixture: Fixture,
    /// Requests, by the model's name.
    requests: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl JudgedRun {
    /// `answer` is given the model's name and the number of its request, from 1.
    fn new(judges: &str, answer: impl Fn(&str, usize) -> HttpReply + Send + Sync + 'static) -> Self {
        let requests = Arc::<Mutex<BTreeMap<String, usize>>>::default();
        let counted = Arc::clone(&requests);
        let address = serve_http(move |request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let model = body["model"].as_str().unwrap();
            let number = {
                let mut counted = counted.lock().unwrap();
                let number = counted.entry(model.to_owned()).or_default();
                *number += 1;
                *number
            };
            answer(model, number)
        });
        let fixture = Fixture::new();
        fixture.write("tasks/a/tests/rubric.json", RUBRIC);
        fixture.experiment("repetitions = 2", "repetitions = 1");
        let table = format!("[judge]\nmodels = {judges}\nbase_url = \"http://{address}/v1\"\n[[agents]]");
        fixture.experiment("[[agents]]", &table);
        Self { fixture, requests }
    }

    fn count_requests(&self, model: &str) -> usize {
        self.requests.lock().unwrap().get(model).copied().unwrap_or_default()
    }

    /// Runs the experiment. `log` gets what happens while judges are asked.
    fn run(&self, waiting_interval: Duration, log: &mut Vec<String>) -> RunOutcome {
        let plan = self.fixture.plan();
        let store = &self.fixture.store;
        let folder = plan.begin_run(store).unwrap();
        let options = RunOptions { waiting_interval, ..RunOptions::new(2) };
        let mut on_event = |event: Event<'_>| match event {
            Event::JudgesWaiting { requests, oldest } => {
                assert!(oldest >= waiting_interval, "{oldest:?}");
                log.push(format!("{requests} wait"));
            }
            Event::JudgeRetried { judge, retry } => log.push(format!("{judge}: {:?}", retry.status)),
            _ => {}
        };
        on_machine(|machine| {
            let mut resolver = plan.resolver(store, machine);
            resolver.fake =
                crate::run::resolve::Fake { backend: Some(Fake::backend(|_, _| PASS)), agent: None };
            let cancel = AtomicBool::new(false);
            run(&plan, &folder.run, store, &resolver, &options, &cancel, &mut on_event).unwrap()
        })
    }

    fn reasons(&self) -> Vec<Option<String>> {
        let records = self.fixture.plan().trials.into_keys();
        records.map(|id| self.fixture.store.record(&id).unwrap().unwrap().reason).collect()
    }
}

fn says(text: &str) -> HttpReply {
    let message = json!({"role": "assistant", "content": text});
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    HttpReply {
        status: 200,
        body: json!({"choices": [choice], "usage": usage}).to_string(),
        ..HttpReply::default()
    }
}

fn verdict() -> HttpReply {
    let item = json!({"id": "neat", "answer": "not met", "quote": "", "reason": "there is no work"});
    says(&json!({"items": [item]}).to_string())
}

#[test]
fn a_run_hears_how_long_judges_are_waited_for_and_why_they_are_asked_again() {
    let judged = JudgedRun::new("[\"openai:slow\"]", |_, number| {
        if number == 1 {
            let headers = vec![("retry-after".to_owned(), "0".to_owned())];
            return HttpReply { status: 503, headers, body: "busy".to_owned() };
        }
        std::thread::sleep(Duration::from_millis(700));
        verdict()
    });
    let mut log = Vec::new();
    let outcome = judged.run(Duration::from_millis(200), &mut log);
    assert_eq!((outcome.executed, outcome.infrastructure), (2, 0), "{log:?} {:?}", judged.reasons());
    // Both trials' requests are one group.
    assert!(log.iter().any(|line| line == "2 wait"), "{log:?}");
    assert_eq!(log.iter().filter(|line| *line == "openai:slow: Some(503)").count(), 1, "{log:?}");
    // With the usual interval nothing is said of requests that are answered soon.
    let again = JudgedRun::new("[\"openai:quick\"]", |_, _| verdict());
    let mut log = Vec::new();
    again.run(RunOptions::new(1).waiting_interval, &mut log);
    assert_eq!((log, again.count_requests("quick")), (Vec::new(), 2));
}

#[test]
fn a_judge_that_answers_in_prose_costs_no_reply_of_another() {
    let is_bad = Arc::new(AtomicBool::new(true));
    let bad = Arc::clone(&is_bad);
    let judged = JudgedRun::new("[\"openai:good\", \"openai:bad\", \"openai:last\"]", move |model, _| {
        if model == "bad" && bad.load(Ordering::SeqCst) {
            says("It is neat, I would say.")
        } else {
            verdict()
        }
    });
    let run = || judged.run(Duration::from_mins(1), &mut Vec::new());
    for round in 1..=3 {
        assert_eq!(run().infrastructure, 2);
        let requests = ["good", "bad", "last"].map(|judge| judged.count_requests(judge));
        assert_eq!(requests, [2, 4 * round, 0], "round {round}");
        for reason in judged.reasons().into_iter().flatten() {
            assert!(reason.starts_with("cannot read the replies of the judge openai:bad: "), "{reason}");
        }
    }
    is_bad.store(false, Ordering::SeqCst);
    assert_eq!(run().infrastructure, 0);
    assert_eq!(["good", "bad", "last"].map(|judge| judged.count_requests(judge)), [2, 14, 2]);
    for id in judged.fixture.plan().trials.into_keys() {
        let record = judged.fixture.store.record(&id).unwrap().unwrap();
        let judgement = record.judgement.unwrap();
        assert_eq!((record.outcome, judgement.requests), (Outcome::Failed, 9));
        assert_eq!(judgement.usage.unwrap().input, 900);
    }
}
