//! Requests to a model: which answers are kept, which are requested again, and where it stops.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use assay_ask::{AskCaps, CostCap, ModelHandle};
use assay_model::{Call, ChatModel, ChatReply, ChatRequest, ModelError, Price, Stop, Usage};
use assay_router::{Answers, Bench, Candidate, Prompt, RunLimits, Status, Template};
use serde_json::Value;

/// Returns scripted answers in order, and records the requests.
#[derive(Clone, Default)]
struct Played {
    answers: Arc<Mutex<VecDeque<Result<&'static str, u16>>>>,
    asked: Arc<Mutex<Vec<usize>>>,
}

impl Played {
    fn new(answers: &[Result<&'static str, u16>]) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.iter().copied().collect())), ..Self::default() }
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl ChatModel for Played {
    fn id(&self) -> &'static str {
        "openai:played"
    }

    fn chat(&self, request: &ChatRequest, _: &Call<'_>) -> Result<ChatReply, ModelError> {
        self.asked.lock().unwrap().push(request.messages.len());
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Ok(r#"{"ranking":["a"]}"#));
        let text = answer.map_err(|status| match status {
            503 => ModelError::Server { status, tries: 3, message: "down".to_owned() },
            _ => ModelError::Refused { status, message: "no".to_owned() },
        })?;
        Ok(ChatReply {
            text: text.to_owned(),
            tool_calls: Vec::new(),
            reasoning: None,
            stop: Stop::End,
            usage: Some(Usage { input: 100, output: 10, ..Usage::default() }),
            raw_usage: Value::Null,
            raw: Value::Null,
            model: None,
            retries: Vec::new(),
        })
    }
}

fn prompts(n: usize) -> Vec<Prompt> {
    let prompt = |n| Prompt {
        id: format!("p{n}"),
        text: format!("request {n}"),
        expected: Some("a".to_owned()),
        acceptable: Vec::new(),
        rejected: Vec::new(),
    };
    (0..n).map(prompt).collect()
}

fn skills(description: &str) -> Vec<Candidate> {
    let skill = |name: &str, description: &str| Candidate {
        name: name.to_owned(),
        description: description.to_owned(),
        document: String::new(),
    };
    vec![skill("a", description), skill("b", "something else")]
}

struct Set {
    prompts: Vec<Prompt>,
    skills: Vec<Candidate>,
    template: Template,
    folder: tempfile::TempDir,
}

impl Set {
    fn new(n: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { prompts: prompts(n), skills: skills("first"), template: Template::default(), folder }
    }

    fn bench<'a>(&'a self, model: &'a ModelHandle, price: Option<Price>, usd: Option<f64>) -> Bench<'a> {
        let (prompts, skills, template) = (&self.prompts, &self.skills, &self.template);
        let cap = Arc::new(CostCap::new(price, AskCaps { usd, ..AskCaps::default() }));
        Bench { prompts, skills, template, model, cap, events: None, repetitions: 2, seed: 1 }
    }

    fn run(&self, model: &Played, caps: RunLimits) -> assay_router::RunOutcome {
        self.run_with_price(model, None, None, caps)
    }

    fn run_with_price(
        &self,
        model: &Played,
        price: Option<Price>,
        usd: Option<f64>,
        caps: RunLimits,
    ) -> assay_router::RunOutcome {
        let answers = Answers::new(self.folder.path());
        let model = ModelHandle::of_model(Arc::new(model.clone()));
        self.bench(&model, price, usd).run(&answers, &caps, &AtomicBool::new(false), &|_| ()).unwrap()
    }
}

#[test]
fn only_results_are_kept() {
    let set = Set::new(2);
    // A valid reply; one that is corrected; one that stays invalid; one that never came; one
    // refused.
    let model = Played::new(&[
        Ok(r#"{"ranking":["a"]}"#),
        Ok("a, of course"),
        Ok(r#"{"ranking":["b"]}"#),
        Ok("a"),
        Ok("really a"),
        Err(503),
    ]);
    let ran = set.run(&model, RunLimits::default());
    let statuses: Vec<Status> = ran.answers.iter().map(|answer| answer.status).collect();
    let expected = [Status::Finished, Status::Finished, Status::FormatFailure, Status::ModelUnavailable];
    assert_eq!(statuses, expected);
    assert_eq!(ran.answers[1].replies, ["a, of course", r#"{"ranking":["b"]}"#]);
    assert_eq!(ran.answers[1].usage, Some(Usage { input: 200, output: 20, ..Usage::default() }));
    assert_eq!(
        *model.asked.lock().unwrap(),
        [1, 1, 3, 1, 3, 1],
        "the second attempt includes the first reply and its error"
    );

    let again = Played::new(&[Err(400)]);
    let ran = set.run(&again, RunLimits::default());
    assert_eq!((ran.asked, ran.cached, again.asked()), (1, 3, 1), "only unanswered questions are sent again");
    assert_eq!(ran.answers[3].status, Status::Error);
}

#[test]
fn changed_description_repeats_its_queries() {
    let mut set = Set::new(3);
    assert_eq!(set.run(&Played::new(&[]), RunLimits::default()).asked, 6);
    assert_eq!(set.run(&Played::new(&[]), RunLimits::default()).asked, 0);
    set.prompts[1].expected = Some("b".to_owned());
    assert_eq!(
        set.run(&Played::new(&[]), RunLimits::default()).asked,
        0,
        "labels are not part of the question"
    );
    set.prompts[1].text.push('!');
    assert_eq!(set.run(&Played::new(&[]), RunLimits::default()).asked, 2);
    set.skills = skills("second");
    assert_eq!(set.run(&Played::new(&[]), RunLimits::default()).asked, 6);
}

#[test]
fn caps_are_enforced() {
    let caps = RunLimits { max_runs: Some(4), concurrency: 3 };
    let ran = Set::new(5).run(&Played::new(&[]), caps);
    assert_eq!((ran.asked, ran.left, ran.spent_usd), (4, 6, None));

    // Each answer costs 100 × 10 + 10 × 100 millionths of a dollar; the most it could cost is many
    // times as much.
    let price = Price { input: 10.0, output: 100.0, ..Price::default() };
    let set = Set::new(50);
    let caps = RunLimits { concurrency: 1, ..RunLimits::default() };
    let ran = set.run_with_price(&Played::new(&[]), Some(price), Some(0.35), caps);
    let spent = ran.spent_usd.unwrap();
    assert!(ran.left > 0 && ran.asked > 0, "{} left, {} asked", ran.left, ran.asked);
    assert!((spent - 0.002 * ran.asked as f64).abs() < 1e-12 && spent <= 0.35, "{spent}");

    let model = ModelHandle::of_model(Arc::new(Played::new(&[])));
    let forecast = set.bench(&model, Some(price), None).forecast(&Answers::new(set.folder.path())).unwrap();
    assert_eq!((forecast.questions, forecast.answered), (100, ran.asked));
    assert!(forecast.usd.is_some_and(|usd| usd > 0.0));
}

#[test]
fn interruption_keeps_finished_answers() {
    let set = Set::new(2);
    let answers = Answers::new(set.folder.path());
    let cancel = AtomicBool::new(true);
    let model = Played::new(&[]);
    let handle = ModelHandle::of_model(Arc::new(model.clone()));
    let ran = set.bench(&handle, None, None).run(&answers, &RunLimits::default(), &cancel, &|_| ()).unwrap();
    assert_eq!((ran.asked, ran.left, model.asked()), (0, 4, 0));
}

#[test]
fn a_reply_that_was_not_complained_about_is_no_answer() {
    let set = Set::new(1);
    let caps = RunLimits { max_runs: Some(1), ..RunLimits::default() };
    let model = Played::new(&[Ok("a, of course"), Err(400)]);
    let ran = set.run(&model, caps);
    assert_eq!((ran.answers[0].status, model.asked()), (Status::Error, 2));
    // The reply is stored: the conversation continues with the complaint.
    let model = Played::new(&[Ok(r#"{"ranking":["b"]}"#)]);
    let ran = set.run(&model, caps);
    assert_eq!((ran.answers[0].status, ran.cached), (Status::Finished, 0));
    assert_eq!(ran.answers[0].replies, ["a, of course", r#"{"ranking":["b"]}"#]);
    assert_eq!(*model.asked.lock().unwrap(), [3]);
}
