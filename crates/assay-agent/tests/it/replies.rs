//! How the loop handles normal and unusual replies.

use std::time::Duration;

use assay_agent::Ended;
use assay_model::{ChatReply, Message, Retry, Stop, ToolCall, Usage};
use serde_json::{Value, json};

use crate::fixture::{LoopFixture, call, run, text_reply};

#[test]
fn cut_off_replies_continue_up_to_three_in_a_row() {
    let cut = |text: &str| ChatReply { stop: Stop::Length, ..text_reply(text) };
    let outcome = LoopFixture::new(vec![
        cut("so"),
        cut("and"),
        run(&["ls"]),
        cut("so"),
        cut("and"),
        text_reply("done"),
    ])
    .run();
    assert_eq!((&outcome.run.ended, outcome.requests.len()), (&Ended::Finished, 6));
    let Some(Message::User { text }) = outcome.requests[1].messages.last() else {
        panic!("expected a user message")
    };
    assert!(text.contains("cut off"), "{text}");
    let outcome = LoopFixture::new(vec![cut("so"), cut("and"), cut("on"), run(&["ls"])]).run();
    assert_eq!((&outcome.run.ended, outcome.requests.len(), outcome.ran.len()), (&Ended::Finished, 3, 0));
    assert_eq!(outcome.run.trajectory.steps.last().unwrap().extra["stop"], "length");
}

#[test]
fn invalid_calls_are_answered_with_an_error() {
    let nonsense = [
        call("python", json!({ "command": "ls" })),
        call("bash", json!({})),
        call("bash", json!({ "command": 7 })),
        call("bash", json!({ "command": ["ls"] })),
        call("bash", json!("{\"command\": \"l")),
        call("bash", Value::Null),
        call("", json!([1])),
        call("bash", json!({ "command": "printf 'a\u{0}b'" })),
    ];
    for reply in nonsense {
        let shown = format!("{:?}", reply.tool_calls);
        let outcome = LoopFixture::new(vec![reply, run(&["ls"])]).run();
        assert_eq!((&outcome.run.ended, outcome.ran.len()), (&Ended::Finished, 1), "{shown}");
        let Some(Message::Tool { text, is_error: true, .. }) = outcome.requests[1].messages.last() else {
            panic!("no error result for {shown}")
        };
        assert!(text.contains("the only tool is `bash`") || text.contains("a NUL character"), "{text}");
    }
}

#[test]
fn calls_of_one_reply_run_in_order() {
    let outcome = LoopFixture::new(vec![run(&["one", "two", "three"])]).run();
    assert_eq!(outcome.ran, ["one", "two", "three"]);
    assert_eq!(
        outcome.results(),
        ["one", "two", "three"].map(|command| format!("output of {command}\n[exit status 0]"))
    );
    // An invalid call between two valid ones.
    let mut mixed = run(&["one", "", "three"]);
    mixed.tool_calls[1].name = "search".to_owned();
    let outcome = LoopFixture::new(vec![mixed]).run();
    assert_eq!(outcome.ran, ["one", "three"]);
    assert_eq!(outcome.results().len(), 3);
}

#[test]
fn raw_form_of_a_message_is_sent_back_unchanged() {
    let raw = json!({ "signature": "abc" });
    let reply = ChatReply {
        raw: raw.clone(),
        reasoning: Some("hm".into()),
        model: Some("test-2026".into()),
        raw_usage: json!({ "billed": 3 }),
        ..run(&["ls"])
    };
    let outcome = LoopFixture::new(vec![reply]).run();
    let sent = outcome.requests[1].messages.iter().find_map(|message| match message {
        Message::Assistant { raw, .. } => Some(raw),
        _ => None,
    });
    assert_eq!(sent, Some(&raw));
    let step = &outcome.run.trajectory.steps[2];
    assert_eq!((step.reasoning_content.as_deref(), &step.extra["model"]), (Some("hm"), &json!("test-2026")));
    assert_eq!(step.metrics.as_ref().unwrap().extra["usage"], json!({ "billed": 3 }));
}

#[test]
fn tokens_add_up() {
    let turn = |input, output, cache_read, cache_write| ChatReply {
        usage: Some(Usage { input, output, cache_read, cache_write, ..Usage::default() }),
        ..run(&["ls"])
    };
    let last = ChatReply { tool_calls: Vec::new(), ..turn(4, 400, 40_000, 4_000_000) };
    let run = LoopFixture::new(vec![turn(1, 100, 10_000, 0), turn(2, 200, 20_000, 0), last]).run().run;
    let expected =
        Usage { input: 7, output: 700, cache_read: 70_000, cache_write: 4_000_000, ..Usage::default() };
    assert_eq!(run.usage, Some(expected));
    let total = run.trajectory.final_metrics.unwrap();
    assert_eq!(
        (total.total_prompt_tokens, total.total_completion_tokens, total.total_cached_tokens),
        (Some(4_070_007), Some(700), Some(70_000))
    );
    let metrics = run.trajectory.steps[2].metrics.as_ref().unwrap();
    assert_eq!((metrics.prompt_tokens, metrics.cached_tokens), (Some(10_001), Some(10_000)));
}

#[test]
fn usage_is_estimated_from_characters_if_missing() {
    let uncounted = |text: &str| ChatReply {
        usage: None,
        text: text.to_owned(),
        reasoning: Some("思考".into()),
        ..run(&["ls"])
    };
    let estimated = |text: &str| {
        let outcome = LoopFixture::new(vec![run(&["ls"]), uncounted(text), text_reply("done")]).run();
        let run = outcome.run;
        assert_eq!(run.estimated.requests, 1);
        let [counted, guessed] = [2, 3].map(|step| run.trajectory.steps[step].metrics.clone().unwrap());
        assert_eq!((counted.prompt_tokens, counted.extra.get("estimated")), (Some(106), None));
        assert_eq!(guessed.extra["estimated"], json!(true));
        // Two turns with reported usage, and the estimate.
        let guess = run.estimated.usage;
        let usage = run.usage.unwrap();
        assert_eq!((usage.input, usage.output), (200 + guess.input, 20 + guess.output));
        assert_eq!(run.trajectory.final_metrics.unwrap().total_completion_tokens, Some(usage.output));
        // The whole conversation so far is input: more than the system message and the task alone.
        let system = outcome.requests[1].system.chars().count() as u64;
        assert!(guess.input > system.div_ceil(4) && guess.input < 2 * system, "{guess:?} {system}");
        guess.output
    };
    // The call is `bash`, `command`, `ls`: 13 characters; the reasoning has 2. Characters, not
    // bytes: these 40 characters count as 40.
    assert_eq!(estimated(""), 15_u64.div_ceil(4));
    assert_eq!(estimated(&"語".repeat(40)), 55_u64.div_ceil(4));
}

#[test]
fn replies_are_counted_by_model() {
    let by = |name: &str| ChatReply { model: Some(name.to_owned()), ..run(&["ls"]) };
    let run = LoopFixture::new(vec![by("m-1"), by("m-1"), by("m-2")]).run().run;
    assert_eq!(
        run.replied_models.into_iter().collect::<Vec<_>>(),
        [("m-1".to_owned(), 2), ("m-2".to_owned(), 1)]
    );
    // Names are untrusted input: only a limited number is recorded.
    let many = (0..100).map(|n| by(&format!("m-{n}"))).collect();
    let mut fixture = LoopFixture::new(many);
    fixture.options.max_turns = 100;
    assert_eq!(fixture.run().run.replied_models.len(), 20);
}

#[test]
fn absurd_usage_does_not_overflow() {
    let most = Usage {
        input: u64::MAX,
        output: u64::MAX,
        cache_read: u64::MAX,
        cache_write: u64::MAX,
        ..Usage::default()
    };
    let outcome = LoopFixture::new(vec![ChatReply { usage: Some(most), ..run(&["ls"]) }]).run();
    assert_eq!((outcome.run.ended, outcome.run.usage), (Ended::TokenLimit, Some(most)));
}

#[test]
fn waits_for_a_provider_are_counted_separately() {
    let retry = |seconds| Retry {
        status: Some(429),
        message: "slow down".into(),
        waited: Duration::from_secs(seconds),
    };
    let first = ChatReply { retries: vec![retry(2), retry(3)], ..run(&["ls"]) };
    let outcome =
        LoopFixture::new(vec![first, ChatReply { retries: vec![retry(4)], ..text_reply("done") }]).run();
    assert_eq!(outcome.run.throttled, Duration::from_secs(9));
    assert_eq!(outcome.run.trajectory.steps[2].extra["retries"].as_array().unwrap().len(), 2);
}

#[test]
fn duplicate_call_ids_are_tolerated() {
    let same = || ChatReply {
        tool_calls: vec![ToolCall {
            id: String::new(),
            name: "bash".into(),
            arguments: json!({ "command": "ls" }),
        }],
        ..run(&[])
    };
    let outcome = LoopFixture::new(vec![same(), same(), same()]).run();
    assert_eq!((outcome.run.ended, outcome.ran.len()), (Ended::Finished, 3));
}
