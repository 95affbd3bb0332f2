//! `assay trace`: what a user sees of transcripts, and of what is wrong with them.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fixture::Fixture;

/// A log of Claude Code's with a call that fails, and a skill that is opened.
fn log() -> String {
    let record = |number: usize, kind: &str, message: Value| {
        json!({
            "type": kind, "uuid": format!("u{number}"), "sessionId": "s-1", "isSidechain": false, "version": "2.1.0",
            "timestamp": format!("2026-01-01T00:00:{number:02}Z"), "message": message,
        })
    };
    let usage = json!({ "input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 400 });
    let reply = |block: Value| json!({ "id": "m1", "model": "claude-x", "content": [block], "usage": usage });
    let call = |id: &str, name: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    let result = |id: &str, text: &str, is_error: bool| json!({ "content": [{ "type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error }] });
    [
        record(1, "user", json!({ "content": "Export the ledger.\u{1b}[31m" })),
        record(2, "assistant", reply(json!({ "type": "thinking", "thinking": "A skill may help." }))),
        record(3, "assistant", reply(call("a", "Skill", json!({ "skill": "ledger" })))),
        record(4, "user", result("a", "Amounts are written in minor units, without a decimal point.", false)),
        record(5, "assistant", reply(call("b", "Bash", json!({ "command": "false" })))),
        record(6, "user", result("b", "exit 1", true)),
    ]
    .map(|record| record.to_string() + "\n")
    .concat()
}

fn lab() -> Fixture {
    let skill = "Amounts are written in minor units, without a decimal point.";
    Fixture::new().skill("ledger", "Writes ledgers", skill).file("log.jsonl", log())
}

#[test]
fn a_transcript_is_shown_step_by_step_and_steers_no_terminal() {
    insta::assert_snapshot!(lab().assay(&["trace", "show", "log.jsonl"]).ok().stdout);
}

#[test]
fn figures_come_with_every_way_of_counting_and_each_session_once() {
    let lab = lab().file("again.jsonl", log()).file(
        "prices.toml",
        "[[price]]\nmodel = \"claude-*\"\nfrom = \"2025-01-01\"\ninput = 3\noutput = 15\ncache_read = 0.3\ncache_write = 3.75\n",
    );
    let args = [
        "trace",
        "stats",
        "log.jsonl",
        "again.jsonl",
        "--skill",
        "skills/ledger",
        "--control",
        "--prices",
        "prices.toml",
    ];
    let ran = lab.assay(&args).ok();
    insta::assert_snapshot!(ran.stdout + &ran.stderr);
    let document = lab.assay(&[&["--format", "json"], args.as_slice()].concat()).ok().json();
    assert_eq!(document["schema"], "assay.trace-stats/2");
    // By hand: 10 × 3 + 20 × 15 + 1000 × 0.3 + 400 × 3.75 millionths.
    assert_eq!(document["traces"][0]["cost_usd"], 0.00213);
    assert_eq!(document["traces"][0]["counted"]["per-message"], 1430);
    assert_eq!(document["traces"][0]["counted"]["per-record-all-fields"], 4290);
    assert_eq!(document["traces"][0]["contaminated"], true);
    assert_eq!(document["traces"][1]["duplicate"], true);
    assert_eq!(document["total"]["counted"]["per-message"], 1430);
}

#[test]
fn messages_that_two_resumes_share_count_once_in_the_total() {
    let record = |number: u64, input: u64| {
        let before = number.checked_sub(1).map(|before| format!("u{before}"));
        json!({ "type": "assistant", "uuid": format!("u{number}"), "parentUuid": before, "sessionId": "s", "isSidechain": false,
            "timestamp": "2026-01-01T00:00:00Z", "message": { "id": format!("msg{number}-{input}"), "model": "m",
            "content": [{ "type": "text", "text": "x" }], "usage": { "input_tokens": input, "output_tokens": 1,
            "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0 } } })
        .to_string()
            + "\n"
    };
    let begin = record(0, 100) + &record(1, 100);
    let lab = lab()
        .file("b.jsonl", begin.clone() + &record(2, 1000) + &record(3, 1000))
        .file("c.jsonl", begin + &record(2, 5000));
    let document = lab.assay(&["--format", "json", "trace", "stats", "b.jsonl", "c.jsonl"]).ok().json();
    assert_eq!(document["traces"][1]["diagnostics"][0]["code"], "repeated-messages");
    assert_eq!(document["total"]["tokens"]["input"], 7200);
    assert_eq!(document["traces"][1]["tokens"]["input"], 5200);
}

#[test]
fn what_is_converted_is_read_again_as_it_was() {
    let lab = lab();
    let first = lab.assay(&["trace", "convert", "log.jsonl"]).ok();
    lab.write("one.json", &first.stdout);
    let again = lab.assay(&["trace", "convert", "one.json"]).ok();
    assert_eq!(first.stdout, again.stdout);
    assert_eq!(first.json()["schema_version"], "ATIF-v1.7");
    lab.assay(&["trace", "convert", "log.jsonl", "one.json", "--out", "made"]).ok();
    assert_eq!(std::fs::read_to_string(lab.path("made/one.json")).unwrap(), first.stdout);
    assert_eq!(std::fs::read_to_string(lab.path("made/log.json")).unwrap(), first.stdout);
    let ran = lab.assay(&["trace", "convert", "log.jsonl", "one.json"]).ended(2);
    assert!(ran.stderr.contains("--out DIR"), "{}", ran.stderr);
}

#[test]
fn standard_input_may_be_compressed() {
    let lab = lab();
    let mut child = lab
        .command(&["trace", "stats", "-", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = zstd::encode_all(log().as_bytes(), 1).unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let document: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(document["traces"][0]["calls"], 2);
}

#[test]
fn what_is_wrong_is_told_once_and_the_rest_is_read() {
    let log = log();
    let broken = format!("{log}nonsense\n{{\"type\":\"aura\"}}\n{{\"type\":\"aura\"}}\n{}", &log[..40]);
    let lab = lab().file("broken.jsonl", broken).file("notes.md", "# Notes\n");
    let ran = lab.assay(&["trace", "stats", "broken.jsonl"]).ok();
    insta::assert_snapshot!(ran.stderr, @r#"
    warning: broken.jsonl:7: a line is not JSON; skipped
    warning: broken.jsonl:8: unknown record type "aura"; skipped (2 times)
    warning: broken.jsonl:10: the last line is truncated; skipped
    "#);
    assert!(ran.stdout.contains("2 calls, 1 failed"), "{}", ran.stdout);
    lab.assay(&["trace", "stats", "--strict", "broken.jsonl"]).ended(1);
    let ran = lab.assay(&["trace", "stats", "notes.md", "missing", "log.jsonl"]).ended(2);
    let (unknown, rest) = ran.stderr.split_once("\n  hint: known formats: ").unwrap();
    assert_eq!(unknown, "error: notes.md is not a transcript in a known format");
    let (formats, rest) = rest.split_once("; --from NAME names one\n").unwrap();
    for format in ["claude-code", "opencode", "swe-agent", "openhands", "pi", "messages", "atif"] {
        assert!(formats.split(", ").any(|one| one == format), "{formats}");
    }
    assert_eq!(rest, "error: cannot open missing: No such file or directory (os error 2)\n");
    assert!(ran.stdout.starts_with("log.jsonl\n"), "{}", ran.stdout);
    // Where nothing was read there is nothing to add up.
    for file in ["notes.md", "missing"] {
        assert_eq!(lab.assay(&["trace", "stats", file]).ended(2).stdout, "", "{file}");
    }
    let document = lab.assay(&["trace", "stats", "notes.md", "--format", "json"]).ended(2).json();
    assert_eq!(document["total"]["tokens"], Value::Null);
}

/// What a run printed: two sessions, of which the second was killed.
fn printed() -> String {
    let run = |session: &str, result: Option<f64>| {
        let mut records = vec![
            json!({ "type": "system", "subtype": "init", "session_id": session, "uuid": format!("{session}1"), "model": "opus" }),
            json!({ "type": "assistant", "session_id": session, "uuid": format!("{session}2"), "message": { "id": session,
                "model": "opus", "content": [], "usage": { "input_tokens": 100, "output_tokens": 1 } } }),
        ];
        records.extend(result.map(|cost| {
            json!({ "type": "result", "session_id": session, "uuid": format!("{session}3"), "total_cost_usd": cost,
                "usage": { "input_tokens": 100, "output_tokens": 20 } })
        }));
        records.iter().map(|record| record.to_string() + "\n").collect::<String>()
    };
    run("a", Some(0.5)) + &run("b", None)
}

#[test]
fn what_is_not_known_is_printed_as_unknown() {
    let lab = lab().file("printed.jsonl", printed());
    insta::assert_snapshot!(
        lab.assay(&["trace", "stats", "printed.jsonl", "--skill", "skills/ledger"]).ok().stdout
    );
    let document = lab.assay(&["trace", "stats", "printed.jsonl", "--format", "json"]).ok().json();
    assert_eq!(document["traces"][1]["tokens"]["output"], Value::Null);
    assert_eq!(document["traces"][1]["cost_usd"], Value::Null);
    assert_eq!(document["traces"][1]["models"][0]["model"], "opus");
    assert_eq!(document["traces"][1]["models"][0]["tokens"]["output"], Value::Null);
    assert_eq!(document["traces"][1]["part"], json!([2, 2]));
    assert_eq!(document["total"]["tokens"]["output"], 20);
    assert_eq!(document["total"]["at_least"], json!(["output"]));
    assert_eq!(
        (&document["total"]["cost_usd"], &document["total"]["cost_usd_at_least"]),
        (&Value::Null, &json!(0.5))
    );
    let ran = lab.assay(&["trace", "convert", "printed.jsonl"]).ended(2);
    assert!(ran.stderr.contains("--out DIR"), "{}", ran.stderr);
    lab.assay(&["trace", "convert", "printed.jsonl", "--out", "made"]).ok();
    assert!(lab.path("made/printed.json").exists() && lab.path("made/printed-2.json").exists());
}

#[test]
fn a_fact_that_a_format_hides_is_not_told_as_never() {
    let records = [
        json!({ "type": "init", "session_id": "s", "model": "g" }),
        json!({ "type": "tool_use", "tool_name": "activate_skill", "tool_id": "t", "parameters": { "name": "ledger" } }),
        json!({ "type": "tool_result", "tool_id": "t", "status": "success", "output": "" }),
    ];
    let text: String = records.iter().map(|record| record.to_string() + "\n").collect();
    let lab = lab().file("gemini.jsonl", text);
    let args = ["trace", "stats", "gemini.jsonl", "--skill", "skills/ledger", "--control"];
    let ran = lab.assay(&args).ok();
    let expected = "skill ledger: listed unknown, mentioned step 1, opened unknown, executed never";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    assert!(ran.stdout.contains("  contamination by ledger unknown\n"), "{}", ran.stdout);
    let document = lab.assay(&[&["--format", "json"], args.as_slice()].concat()).ok().json();
    assert_eq!(document["traces"][0]["skills"][0]["unknown"], json!(["advertised", "opened"]));
    assert_eq!(document["traces"][0]["contaminated"], Value::Null);
}

#[test]
fn a_folder_of_sessions_is_read_with_all_that_is_in_it() {
    let sub = log()
        .lines()
        .nth(2)
        .unwrap()
        .replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"x\"");
    let sub = sub.replace("\"u3\"", "\"v3\"").replace("\"m1\"", "\"m9\"");
    let lab = lab()
        .file("projects/own/s-1.jsonl", log())
        .file("projects/own/agent-x.jsonl", sub)
        .file("projects/other/s-2.jsonl", log().replace("\"s-1\"", "\"s-2\"").replace("\"m1\"", "\"m2\""))
        .file("projects/other/notes.json", "{}");
    let ran = lab.assay(&["trace", "stats", "projects"]).ok();
    assert_eq!(ran.stderr, "1 file skipped: not transcripts\n");
    let document = lab.assay(&["trace", "stats", "projects", "--format", "json"]).ok().json();
    let traces = document["traces"].as_array().unwrap();
    assert_eq!(traces.iter().map(|one| one["sub_agents"].as_u64()).collect::<Vec<_>>(), [Some(0), Some(1)]);
    // Two sessions of 1430 tokens, and the message of a sub-agent.
    assert_eq!(document["total"]["counted"]["per-message"], 3 * 1430);
    lab.write("void/notes.md", "");
    let ran = lab.assay(&["trace", "stats", "void"]).ended(2);
    assert!(
        ran.stderr
            .starts_with("error: void contains no transcript in a known format\n  hint: known formats: "),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_document_that_is_cut_off_is_told_to_be() {
    let lab = lab()
        .file("cut.json", "{\n  \"info\": {")
        .file("list.json", "[{\"role\": \"user\", \"content\": \"x\"}]");
    let told = |args: &[&str]| lab.assay(&[&["trace", "stats"], args].concat()).ended(2).stderr;
    let cut =
        "error: cut.json is a truncated JSON document: it ends at line 2, column 11, before it is complete\n";
    assert_eq!(told(&["cut.json"]), cut);
    assert_eq!(
        told(&["list.json", "--from", "atif"]),
        "error: list.json is not in the atif format; it looks like messages\n"
    );
}

/// OpenCode's database with two sessions, one of which started another.
pub(crate) fn write_opencode_database(path: &std::path::Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let database = rusqlite::Connection::open(path).unwrap();
    let schema = "CREATE TABLE session (id, parent_id, version, time_created);
        CREATE TABLE message (id, session_id, time_created, data);
        CREATE TABLE part (id, message_id, data);";
    database.execute_batch(schema).unwrap();
    for (at, (session, parent)) in [("s1", None), ("s2", Some("s1")), ("s3", None)].into_iter().enumerate() {
        let time = 1_767_225_600_000_i64 + i64::try_from(at).unwrap() * 1_000;
        let sql = "INSERT INTO session VALUES (?1, ?2, '1.18.0', ?3)";
        database.execute(sql, (session, parent, time)).unwrap();
        let told =
            json!({ "role": "assistant", "providerID": "p", "modelID": "m", "time": { "created": time } });
        let sql = "INSERT INTO message VALUES (?1, ?2, ?3, ?4)";
        database.execute(sql, (format!("m{at}"), session, time, told.to_string())).unwrap();
        let call = json!({ "type": "tool", "tool": "bash", "callID": format!("c{at}"), "state": { "status": "completed",
            "input": { "command": "false" }, "output": "", "metadata": { "exit": at } } });
        let used = json!({ "type": "step-finish", "cost": 0.25, "tokens": { "input": 100, "output": 10,
            "reasoning": 1, "cache": { "read": 50, "write": 5 } } });
        for (part, data) in [("a", call), ("b", used)] {
            let sql = "INSERT INTO part VALUES (?1, ?2, ?3)";
            database.execute(sql, (format!("{part}{at}"), format!("m{at}"), data.to_string())).unwrap();
        }
    }
}

#[test]
fn sessions_of_a_database_are_counted_and_other_databases_are_not_transcripts() {
    let lab = Fixture::new();
    write_opencode_database(&lab.path("data/opencode.db"));
    rusqlite::Connection::open(lab.path("data/history.db"))
        .unwrap()
        .execute_batch("CREATE TABLE urls (id)")
        .unwrap();
    let ran = lab.assay(&["trace", "stats", "data"]).ok();
    assert!(ran.stderr.contains("1 file skipped: not transcripts"), "{}", ran.stderr);
    for line in [
        "data/opencode.db (session 1 of 2)",
        "  opencode 1.18.0 with p/m, format opencode-database",
        "  1 step, 1 turn, 2 calls, 1 failed, 1 sub-agent, 1.0 s, 0.5000 USD",
        "  tokens: 200 input, 22 output, 100 cache read, 10 cache write in 2 messages",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    let ran = lab.assay(&["trace", "stats", "data/history.db"]).ended(2);
    assert!(ran.stderr.contains("only OpenCode's databases are read"), "{}", ran.stderr);
}

#[test]
fn file_of_two_formats_asks_for_one_of_them() {
    let lab = Fixture::new();
    let both = json!({ "type": "user", "uuid": "u", "sessionId": "s", "message": {
        "content": "do", "parts": [{ "text": "do" }] } });
    lab.write("log.jsonl", both.to_string());
    let ran = lab.assay(&["trace", "stats", "log.jsonl"]).ended(2);
    assert!(ran.stderr.contains("claude-code and qwen-code; name one of them with --from"), "{}", ran.stderr);
    lab.assay(&["trace", "stats", "log.jsonl", "--from", "qwen-code"]).ok();
}

#[test]
fn failures_that_texts_do_not_show_are_unknown() {
    let lab = Fixture::new();
    let asked = json!([{ "id": "c", "type": "function", "function": "bash", "arguments": { "cmd": "ls" } }]);
    let document = json!([{ "role": "user", "content": "do" }, { "role": "assistant", "content": "", "tool_calls": asked },
        { "role": "tool", "tool_call_id": "c", "content": "x" }]);
    lab.write("messages.json", document.to_string());
    let ran = lab.assay(&["trace", "stats", "messages.json"]).ok();
    assert!(ran.stdout.contains("1 call, failures unknown"), "{}", ran.stdout);
    let document = lab.assay(&["trace", "stats", "messages.json", "--format", "json"]).ok().json();
    assert_eq!(document["traces"][0]["failed_calls"], Value::Null);
}
