//! Caps: what is set aside, what is charged, and what concurrent questions may exceed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_ask::{
    AskBudget, AskCaps, AskError, AskRules, Asker, CapReached, CostCap, FolderCache, ModelHandle,
    ModelQuestion, NotReserved, QuestionOf, ReservedCost,
};
use assay_model::{ChatReply, ModelOptions, Price};

use super::{Played, answer, number, question};

/// A dollar for each token.
fn price() -> Price {
    Price::new(1e6, 1e6, None, None)
}

/// At most 1.25 × (question + 10) dollars each.
const RULES: AskRules = AskRules {
    reply_tokens: 10,
    tries: 1,
    patience: std::time::Duration::from_secs(5),
    complaint: str::to_owned,
    unreadable: assay_ask::UnreadableReplies::AskAgain,
};

/// Asks 12 questions and returns how many were answered, with the first failure.
fn answer_twelve(cap: &Arc<CostCap>, model: &ModelHandle, concurrency: usize) -> (usize, Option<AskError>) {
    let folder = tempfile::tempdir().unwrap();
    let asker = Asker::new(Arc::new(FolderCache::new(folder.path())), cap.clone(), RULES);
    let questions: Vec<_> = (0..12)
        .map(|at| QuestionOf { model, question: question(model, &format!("{at}")), read: Box::new(number) })
        .collect();
    let failed = asker.answer_all(&questions, concurrency, &AtomicBool::new(false)).err();
    (std::fs::read_dir(folder.path()).map_or(0, Iterator::count), failed)
}

#[test]
fn no_question_is_sent_that_could_exceed_the_cap() {
    let model = Played::new(&[]);
    let handle = model.handle();
    let most = CostCap::new(Some(price()), AskCaps::default()).max_cost(&question(&handle, "0"), &RULES);
    assert!(most > 10.0, "{most}");
    // A reply costs 110 dollars, more than its estimate: after the fourth, 440 are spent.
    for concurrency in [1, 2, 8] {
        let cap =
            Arc::new(CostCap::new(Some(price()), AskCaps { usd: Some(440.0 + most), ..AskCaps::default() }));
        let (answered, failed) = answer_twelve(&cap, &handle, concurrency);
        assert!((5..=4 + concurrency).contains(&answered), "{answered} at {concurrency}");
        let Some(AskError::Capped(CapReached::Usd { spent, next, .. })) = failed else {
            panic!("{failed:?}")
        };
        assert!(spent >= 550.0 && (next - most).abs() < 1.0, "{spent} {next}");
        assert_eq!(cap.cost_usd(), Some(110.0 * answered as f64));
    }
}

/// A cap for one question under way at a time: the others wait for it, and are refused only when the money is spent.
#[test]
fn questions_wait_for_those_under_way() {
    let model = Played { is_uncounted: true, ..Played::new(&[]) };
    let handle = model.handle();
    let most = CostCap::new(Some(price()), AskCaps::default()).max_cost(&question(&handle, "11"), &RULES);
    // Replies without a count are charged by an estimate: each has one token, beside those of its question.
    let tokens = question(&handle, "11").count_tokens() as f64 + 1.0;
    let enough = Arc::new(CostCap::new(
        Some(price()),
        AskCaps { usd: Some(11.0 * tokens + most), ..AskCaps::default() },
    ));
    let (answered, failed) = answer_twelve(&enough, &handle, 8);
    assert_eq!((answered, failed.map(|error| error.to_string())), (12, None));
    // Reported costs have no estimates.
    assert_eq!(enough.cost_usd(), Some(0.0));
    let little = Arc::new(CostCap::new(
        Some(price()),
        AskCaps { usd: Some(2.0 * tokens + most), ..AskCaps::default() },
    ));
    assert_eq!(answer_twelve(&little, &handle, 8).0, 3);
}

#[test]
fn the_number_of_questions_is_capped_exactly() {
    for concurrency in [1, 5] {
        let model = Played::new(&[]);
        let cap = Arc::new(CostCap::new(None, AskCaps { questions: Some(3), ..AskCaps::default() }));
        let (answered, failed) = answer_twelve(&cap, &model.handle(), concurrency);
        assert_eq!((answered, model.requests().len()), (3, 3));
        assert!(matches!(failed, Some(AskError::Capped(CapReached::Questions { cap: 3 }))), "{failed:?}");
        assert_eq!((cap.spending().questions, cap.spending().usage.total()), (3, 330));
    }
}

#[test]
fn what_was_spent_before_counts() {
    let model = Played::new(&[]);
    let spent = super::reply("x").usage.unwrap();
    let cap = Arc::new(
        CostCap::new(Some(price()), AskCaps { usd: Some(110.0), ..AskCaps::default() }).after(spent),
    );
    let (answered, failed) = answer_twelve(&cap, &model.handle(), 1);
    assert_eq!((answered, model.requests().len()), (0, 0));
    assert!(failed.unwrap().to_string().starts_with("the cap of $110 is reached: $110.0000 is spent, and"));
}

#[test]
fn a_paid_model_needs_a_cap_where_one_is_required() {
    let open = |name: &str| {
        let env = |name: &str| (name == "OPENAI_BASE_URL").then(|| "http://127.0.0.1:1/v1".to_owned());
        ModelHandle::open_on_use(name, ModelOptions::default(), Arc::new(env)).unwrap()
    };
    let check = |name: &str, price: Option<Price>, caps: AskCaps, expected: Option<&str>| {
        let found = CostCap::new(price, caps).check_model(&open(name)).err().map(|error| error.to_string());
        assert_eq!(found.as_deref(), expected, "{name} {caps:?}");
    };
    let required = AskCaps { required_by: Some("this draft"), ..AskCaps::default() };
    check("gemini:m", None, required, Some("gemini:m is a paid model, and this draft has no cap"));
    check("openai:m", Some(price()), required, Some("openai:m is a paid model, and this draft has no cap"));
    check("openai:m", None, required, None);
    check("gemini:m", None, AskCaps::default(), None);
    check("gemini:m", Some(price()), AskCaps { usd: Some(1.0), ..required }, None);
    check("gemini:m", None, AskCaps { questions: Some(1), ..required }, None);
}

/// An account that others use as well: a request is granted, and a second one is not.
struct SharedAccount;

impl AskBudget for SharedAccount {
    fn reserve_cost(
        &self,
        _: &ModelHandle,
        _: &ModelQuestion,
        _: &AskRules,
        _: &AtomicBool,
    ) -> Result<Box<dyn ReservedCost + '_>, NotReserved> {
        Ok(Box::new(Self))
    }
}

impl ReservedCost for SharedAccount {
    fn charge_reply(&mut self, _: &ModelQuestion, _: &ChatReply) {}

    fn check_next_request(&self) -> Result<(), CapReached> {
        Err(CapReached::Account("the run has spent its budget".to_owned()))
    }
}

#[test]
fn a_cap_that_the_first_reply_reaches_ends_the_question() {
    let folder = tempfile::tempdir().unwrap();
    let rules = AskRules { tries: 2, ..RULES };
    let asker = Asker::new(Arc::new(FolderCache::new(folder.path())), Arc::new(SharedAccount), rules);
    let model = Played::new(&[Ok("seven")]);
    let failed = answer(&asker, &model.handle(), "3 + 4").unwrap_err();
    assert!(matches!(failed, AskError::Capped(CapReached::Account(_))), "{failed}");
    assert_eq!(failed.to_string(), "the run has spent its budget");
    // The reply that was paid is stored.
    assert_eq!((model.requests().len(), std::fs::read_dir(folder.path()).unwrap().count()), (1, 1));
    // The next command begins with a request of its own.
    assert_eq!(answer(&asker, &model.handle(), "3 + 4").unwrap().value, Ok(7));
}
