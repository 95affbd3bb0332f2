//! Scripts.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use assay_model::{
    Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelOptions, ScriptContext, Stop, open,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{NOT_CANCELLED, bash, call, said, tool, user};

fn load(folder: &Path, spec: &str) -> Result<Arc<dyn ChatModel>, String> {
    let options = ModelOptions { directory: folder.to_path_buf(), ..ModelOptions::default() };
    open(spec, &options, &|_| None).map_err(|error| error.to_string())
}

fn script(text: &str) -> (TempDir, Arc<dyn ChatModel>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("turns.jsonl"), text).unwrap();
    let model = load(folder.path(), "scripted:turns.jsonl").unwrap();
    (folder, model)
}

fn play(
    model: &dyn ChatModel,
    script_context: &ScriptContext,
    request: &ChatRequest,
) -> Result<ChatReply, ModelError> {
    model.chat(request, &Call { script_context, ..call() })
}

const STORY: &str = r#"
# A comment, and rules.
{"task": "ledger-*", "turn": 0, "say": "I look.", "run": ["ls", "cat SKILL.md"]}
{"task": "ledger-*", "seen": "minor units", "chance": 0.8, "draw": "solve", "run_files": "moves/solve.sh"}
{"task": "ledger-*", "turn": [1, 2], "run": "true"}

{"task": "ledger-*", "say": "Done."}
"#;

fn story() -> (TempDir, Arc<dyn ChatModel>) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("moves")).unwrap();
    fs::write(folder.path().join("moves/solve.sh"), "python3 solve.py\n").unwrap();
    fs::write(folder.path().join("turns.jsonl"), STORY).unwrap();
    let model = load(folder.path(), "scripted:turns.jsonl").unwrap();
    (folder, model)
}

#[test]
fn script_is_played() {
    let (_folder, model) = story();
    assert_eq!(model.id(), "scripted:turns.jsonl");
    assert!(!model.measures_a_model() && !model.reads_condition());
    let mut request =
        ChatRequest { messages: vec![user("sum it")], tools: vec![bash()], ..ChatRequest::default() };
    let script_context =
        ScriptContext { task: "ledger-sum".to_owned(), repetition: 1, ..ScriptContext::default() };

    let reply = play(model.as_ref(), &script_context, &request).unwrap();
    assert_eq!((reply.text.as_str(), &reply.stop), ("I look.", &Stop::Tools));
    let calls: Vec<(&str, &str, &Value)> =
        reply.tool_calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), &call.arguments)).collect();
    let (ls, cat) = (json!({"command": "ls"}), json!({"command": "cat SKILL.md"}));
    assert_eq!(calls, [("call-0-0", "bash", &ls), ("call-0-1", "bash", &cat)]);
    let first = reply.usage.unwrap();
    assert!(first.input > 10 && first.output > 5, "{first:?}");

    request.messages.push(said(&reply));
    request.messages.push(tool("call-0-1", "amounts are minor units", false));
    let slips = (0..200).find(|seed| {
        let script_context = ScriptContext { seed: *seed, ..script_context.clone() };
        play(model.as_ref(), &script_context, &request).unwrap().tool_calls[0].arguments["command"] == "true"
    });
    assert!(slips.is_some(), "a chance of 0.8 never failed");
    let reply = play(model.as_ref(), &ScriptContext { seed: 3, ..script_context.clone() }, &request).unwrap();
    let again = play(model.as_ref(), &ScriptContext { seed: 3, ..script_context.clone() }, &request).unwrap();
    assert_eq!(reply.tool_calls, again.tool_calls);
    assert!(reply.usage.unwrap().input > first.input);

    let empty = || Message::Assistant { text: String::new(), tool_calls: Vec::new(), raw: Value::Null };
    request.messages = vec![empty(), empty(), empty()];
    let reply = play(model.as_ref(), &script_context, &request).unwrap();
    assert_eq!((reply.text.as_str(), &reply.stop, reply.tool_calls.len()), ("Done.", &Stop::End, 0));

    let other =
        ScriptContext { task: "audit".to_owned(), condition: "none".to_owned(), repetition: 4, seed: 0 };
    let error = play(model.as_ref(), &other, &request).unwrap_err();
    assert_eq!(
        error.to_string(),
        "turns.jsonl: no turn for task audit, condition none, repetition 4, turn 3"
    );
}

#[test]
fn chances_are_met_over_many_seeds() {
    let (_folder, model) = script("{\"chance\":0.8,\"draw\":\"solve\",\"say\":\"yes\"}\n{\"say\":\"no\"}");
    let hits = (0..2_000)
        .filter(|seed| {
            let script_context = ScriptContext { seed: *seed, ..ScriptContext::default() };
            play(model.as_ref(), &script_context, &ChatRequest::default()).unwrap().text == "yes"
        })
        .count();
    // Four standard errors around 1,600.
    assert!((1_528..=1_672).contains(&hits), "{hits}");
}

#[test]
fn commands_need_a_tool() {
    let (_folder, model) = script("# x\n{\"run\":\"ls\"}");
    let error = play(model.as_ref(), &ScriptContext::default(), &ChatRequest::default()).unwrap_err();
    assert_eq!(error.to_string(), "turns.jsonl:2: the rule runs a command, but no tool is offered");
}

#[test]
fn scripts_respect_cancellation_and_deadline() {
    let (_folder, model) = script("{\"say\":\"x\"}");
    let cancel = AtomicBool::new(true);
    let error = model.chat(&ChatRequest::default(), &Call { cancel: &cancel, ..call() }).unwrap_err();
    assert!(matches!(error, ModelError::Cancelled), "{error:?}");
    let late = Call { deadline: Some(Instant::now()), cancel: &NOT_CANCELLED, ..call() };
    let error = model.chat(&ChatRequest::default(), &late).unwrap_err();
    assert!(matches!(error, ModelError::Deadline), "{error:?}");
}

#[test]
fn identity_depends_on_the_contents_of_the_files() {
    let (folder, model) = story();
    let before = model.identity();
    assert!(before["script"].as_str().unwrap().starts_with("blake3:"), "{before}");
    let reload = || load(folder.path(), "scripted:turns.jsonl").unwrap();
    assert_eq!(reload().identity(), before);
    fs::write(folder.path().join("moves/solve.sh"), "python3 other.py\n").unwrap();
    let moved = reload().identity();
    assert_ne!(moved, before);
    fs::write(folder.path().join("turns.jsonl"), format!("{STORY}\n#")).unwrap();
    assert_ne!(reload().identity(), moved);
    assert!(!reload().reads_condition());
    fs::write(folder.path().join("turns.jsonl"), r#"{"condition":"none","say":"x"}"#).unwrap();
    assert!(reload().reads_condition());
}

#[test]
fn errors_have_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("a.sh"), "ls").unwrap();
    fs::write(at("latin.sh"), b"ok\n\xe9").unwrap();
    std::os::unix::fs::symlink(at("a.sh"), at("sub/link.sh")).unwrap();
    let check = |text: &[u8], expected: &str| {
        fs::write(at("sub/t.jsonl"), text).unwrap();
        let error = load(folder.path(), "scripted:sub/t.jsonl").err().unwrap_or_default();
        assert!(error.starts_with(expected), "{}: {error}", String::from_utf8_lossy(text));
    };
    check(b"", "sub/t.jsonl: no rules");
    check(b"# only words\n\n", "sub/t.jsonl: no rules");
    check(b"{\"say\":\"x\"}\n\n{\"sey\":1}", "sub/t.jsonl:3:6: unknown field `sey`, expected one of `task`");
    check(b"{\"say\":\"x\"}\r\n{\"turn\":0}\r\n", "sub/t.jsonl:2: the rule has no action");
    check(b"{\"call\":{\"tool\":\"\"}}", "sub/t.jsonl:1: `tool` has an empty text");
    check(b"{\"call\":{\"tool\":\"x\",\"with\":1}}", "sub/t.jsonl:1:");
    check(b"\n\xff", "sub/t.jsonl: line 2 is not UTF-8");
    check(br#"{"run_files":"gone.sh"}"#, "sub/t.jsonl:1: run_files: gone.sh: cannot read the file");
    check(br#"{"run_files":"../a.sh"}"#, "sub/t.jsonl:1: run_files: ../a.sh: outside the script's folder");
    check(br#"{"run_files":"/etc/passwd"}"#, "sub/t.jsonl:1: run_files: /etc/passwd: outside");
    check(br#"{"run_files":"link.sh"}"#, "sub/t.jsonl:1: run_files: link.sh: a symbolic link points outside");
    check(br#"{"run_files":"."}"#, "sub/t.jsonl:1: run_files: .: not a file");
    let error = load(folder.path(), "scripted:gone.jsonl").err().unwrap();
    assert!(error.starts_with("gone.jsonl: cannot read the file"), "{error}");
    assert_eq!(load(folder.path(), "scripted:/dev/zero").err().unwrap(), "/dev/zero: not a file");
    fs::write(at("t.jsonl"), r#"{"run_files":"latin.sh"}"#).unwrap();
    let error = load(folder.path(), "scripted:t.jsonl").err().unwrap();
    assert_eq!(error, "t.jsonl:1: run_files: latin.sh: line 2 is not UTF-8: save it as UTF-8");
}
