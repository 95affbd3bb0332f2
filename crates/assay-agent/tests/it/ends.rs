//! Why a conversation ends.

use std::sync::Arc;

use assay_agent::{CostCap, Ended, LoopOptions, Part};
use assay_model::{ChatReply, ModelError, Price, Stop};
use assay_sandbox::{Exit, LimitKind, SandboxError};

use crate::fixture::{Budget, LoopFixture, LoopOutcome, run, text_reply};

fn forever() -> Vec<ChatReply> {
    (0..100).map(|_| run(&["ls"])).collect()
}

fn with(turns: Vec<ChatReply>, change: impl FnOnce(&mut LoopFixture)) -> LoopOutcome {
    let mut fixture = LoopFixture::new(turns);
    change(&mut fixture);
    fixture.run()
}

#[test]
fn reply_without_a_call_ends_the_work() {
    let outcome = with(vec![run(&["ls"]), text_reply("all done")], |_| {});
    assert_eq!(
        (&outcome.run.ended, outcome.requests.len(), outcome.run.trajectory.turns()),
        (&Ended::Finished, 2, 2)
    );
    for stop in [Stop::End, Stop::Refusal, Stop::Other("odd".into())] {
        let outcome = with(vec![ChatReply { stop, ..text_reply("no") }], |_| {});
        assert_eq!((outcome.run.ended, outcome.requests.len()), (Ended::Finished, 1));
    }
}

#[test]
fn turns_are_limited() {
    for max_turns in [0, 1, 7] {
        let outcome =
            with(forever(), |fixture| fixture.options = LoopOptions { max_turns, ..fixture.options });
        assert_eq!((outcome.run.ended, outcome.requests.len()), (Ended::TurnLimit, max_turns));
    }
}

#[test]
fn tokens_are_limited() {
    // Each turn uses 116 tokens.
    for (max_tokens, turns) in [(0, 0), (1, 1), (116, 1), (117, 2), (1000, 9)] {
        let outcome =
            with(forever(), |fixture| fixture.options = LoopOptions { max_tokens, ..fixture.options });
        assert_eq!((outcome.run.ended, outcome.requests.len()), (Ended::TokenLimit, turns), "{max_tokens}");
    }
    // Without a reported usage, tokens are estimated. An estimate reaches a cap in USD, and none in tokens: other
    // limits apply.
    let uncounted = || (0..100).map(|_| ChatReply { usage: None, ..run(&["ls"]) }).collect();
    let price = Price::new(1e6, 1e6, None, None);
    let cost_cap = Some(CostCap { usd: 300.0, price });
    let outcome = with(uncounted(), |fixture| {
        fixture.options = LoopOptions { cost_cap, max_turns: 9, ..fixture.options };
    });
    assert_eq!((outcome.run.ended, outcome.requests.len()), (Ended::CostLimit, 2));
    let outcome = with(uncounted(), |fixture| {
        fixture.options = LoopOptions { max_tokens: 300, max_turns: 9, ..fixture.options };
    });
    assert_eq!((outcome.run.ended, outcome.requests.len()), (Ended::TurnLimit, 9));
    assert_eq!(outcome.run.estimated.requests, 9);
    assert_eq!(Some(outcome.run.estimated.usage), outcome.run.usage);
    assert!(outcome.run.estimated.usage.input > 300, "{:?}", outcome.run.estimated);
}

#[test]
fn costs_are_limited() {
    // A turn costs 116 USD.
    let price = Price::new(1e6, 1e6, None, None);
    for (usd, turns) in [(0.0, 0), (0.5, 1), (116.0, 1), (116.5, 2), (1000.0, 9)] {
        let cost_cap = Some(CostCap { usd, price });
        let outcome =
            with(forever(), |fixture| fixture.options = LoopOptions { cost_cap, ..fixture.options });
        assert_eq!((outcome.run.ended, outcome.requests.len()), (Ended::CostLimit, turns), "{usd}");
    }
}

/// An exhausted budget of the run ends the loop during a trial, and each reply is charged to it.
#[test]
fn run_budget_is_checked_before_each_request() {
    for (most, turns) in [(0, 0), (1, 1), (116, 1), (117, 2), (400, 4)] {
        let budget = Arc::new(Budget { most, ..Budget::default() });
        let own = Arc::clone(&budget);
        let outcome = with(forever(), |fixture| fixture.budget = Some(own));
        let expected = format!("{} of {most}", 116 * turns);
        assert_eq!(outcome.run.ended, Ended::Broken { part: Part::Budget, message: expected }, "{most}");
        assert_eq!(
            (outcome.requests.len() as u64, budget.charged.lock().unwrap().len() as u64),
            (turns, turns)
        );
    }
    // A reply without usage is charged as an estimate.
    let budget = Arc::new(Budget { most: 1, ..Budget::default() });
    let own = Arc::clone(&budget);
    let outcome = with(vec![ChatReply { usage: None, ..run(&["ls"]) }], |fixture| fixture.budget = Some(own));
    let charged = budget.charged.lock().unwrap().clone();
    assert_eq!((outcome.run.ended, charged.len()), (Ended::Finished, 2));
    assert!(charged[0].0 == charged[0].1 && charged[0].0 > 100 && charged[1].1 == 0, "{charged:?}");
}

#[test]
fn deadline_before_the_first_turn_is_a_setup_error() {
    // Without a request, nothing was learned about the agent.
    let outcome = with(forever(), |fixture| fixture.seconds = -1.0);
    let Ended::Broken { part: Part::AgentSetup, message } = &outcome.run.ended else {
        panic!("{:?}", outcome.run.ended)
    };
    assert!(message.contains("sent no request"), "{message}");
    assert_eq!((outcome.requests.len(), outcome.run.usage), (0, None));
}

#[test]
fn command_timeout_is_reported_and_agent_deadline_ends_the_work() {
    let late = |command_timeout: f64, seconds: f64| {
        with(vec![run(&["sleep", "ls"])], |fixture| {
            fixture.options = LoopOptions { command_timeout, ..fixture.options };
            fixture.seconds = seconds;
            fixture.shell =
                Box::new(|command, _| Ok(if command == "sleep" { Exit::Deadline } else { Exit::Code(0) }));
        })
    };
    let outcome = late(10.0, 600.0);
    assert_eq!((&outcome.run.ended, outcome.ran.len()), (&Ended::Finished, 2));
    assert!(outcome.results()[0].ends_with("[killed after 7 s: the time for a command was over]"));
    let outcome = late(600.0, 10.0);
    assert_eq!((&outcome.run.ended, outcome.ran.len(), outcome.requests.len()), (&Ended::Deadline, 1, 1));
    // Calls that were not run get a result, too.
    assert_eq!(outcome.results()[1], "not run");
}

#[test]
fn command_deadline_is_the_earlier_of_the_two() {
    let check = |command_timeout: f64, seconds: f64, expected: f64| {
        with(vec![run(&["ls"])], |fixture| {
            fixture.options = LoopOptions { command_timeout, ..fixture.options };
            fixture.seconds = seconds;
            fixture.shell = Box::new(move |_, exec| {
                let left = exec.deadline.unwrap() - std::time::Instant::now();
                assert!(left.as_secs_f64() <= expected && left.as_secs_f64() > expected - 5.0, "{left:?}");
                Ok(Exit::Code(0))
            });
        });
    };
    check(10.0, 600.0, 10.0);
    check(600.0, 20.0, 20.0);
}

#[test]
fn cancelling_ends_the_work_at_once() {
    let outcome = with(forever(), |fixture| fixture.cancelled = true);
    assert_eq!((outcome.run.ended, outcome.requests.len()), (Ended::Cancelled, 0));
    let outcome = with(forever(), |fixture| fixture.cancel_after = Some(3));
    assert_eq!((outcome.run.ended, outcome.ran.len(), outcome.requests.len()), (Ended::Cancelled, 3, 3));
    let outcome = with(forever(), |fixture| fixture.shell = Box::new(|_, _| Ok(Exit::Cancelled)));
    assert_eq!((outcome.run.ended, outcome.ran.len()), (Ended::Cancelled, 1));
}

#[test]
fn sandbox_limit_ends_the_work() {
    for (kind, limit) in [(LimitKind::Memory, "memory"), (LimitKind::Storage, "storage")] {
        let outcome =
            with(forever(), move |fixture| fixture.shell = Box::new(move |_, _| Ok(Exit::Limit(kind))));
        assert_eq!(outcome.run.ended, Ended::ResourceLimit { limit: limit.to_owned() });
    }
}

#[test]
fn broken_sandbox_is_an_infrastructure_error() {
    let outcome = with(vec![run(&["ls", "pwd"])], |fixture| {
        fixture.shell = Box::new(|_, _| Err(SandboxError::Died { command: "bash".into() }));
    });
    let Ended::Broken { part: Part::Sandbox, message } = &outcome.run.ended else {
        panic!("{:?}", outcome.run.ended)
    };
    assert!(message.contains("died while `bash` ran"), "{message}");
    assert_eq!(outcome.results()[1], "not run");
}

#[test]
fn model_error_ends_the_trial_and_keeps_its_steps() {
    let message = || "x".to_owned();
    let errors: [(ModelError, Result<Part, Ended>); 10] = [
        (ModelError::RateLimited { status: 429, tries: 3, message: message() }, Ok(Part::ModelProvider)),
        (ModelError::Server { status: 500, tries: 3, message: message() }, Ok(Part::ModelProvider)),
        (ModelError::Network { tries: 3, message: message() }, Ok(Part::ModelProvider)),
        (ModelError::Protocol { message: message() }, Ok(Part::ModelProvider)),
        (ModelError::Refused { status: 401, message: message() }, Ok(Part::ModelProvider)),
        (ModelError::ContextExceeded { status: 400, message: message() }, Err(Ended::ContextLimit)),
        (ModelError::Script(message()), Ok(Part::AgentSetup)),
        (ModelError::Spec(message()), Ok(Part::AgentSetup)),
        (ModelError::Deadline, Err(Ended::Deadline)),
        (ModelError::Cancelled, Err(Ended::Cancelled)),
    ];
    for (error, expected) in errors {
        let message = error.to_string();
        let outcome = with(vec![run(&["ls"])], |fixture| fixture.turns.push(Err(error)));
        let expected =
            expected.map_or_else(|end| end, |part| Ended::Broken { part, message: message.clone() });
        assert_eq!(outcome.run.ended, expected, "{message}");
        assert_eq!((outcome.run.trajectory.turns(), outcome.ran.len()), (1, 1), "{message}");
        assert!(outcome.run.usage.is_some(), "{message}");
    }
}
