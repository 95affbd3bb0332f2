//! What formats are recognized by: one reader claims each file, a file of two formats is an error,
//! and formats that resemble a known one are not taken for it.

use std::collections::BTreeSet;
use std::fs;

use assay_trace::read::{self, READERS, Reader, Shape};
use serde_json::{Value, json};

use crate::{fuzz, golden};

/// The readers that claim a record of a file, or the file as a document.
fn claimants(bytes: &[u8]) -> BTreeSet<&'static str> {
    let text = String::from_utf8_lossy(bytes);
    let records: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let whole: Option<Value> = serde_json::from_str(&text).ok();
    let claim = |shape: Shape, value: &Value| {
        let readers = READERS.into_iter().filter(move |reader| reader.shape() == shape);
        readers.filter(|reader| reader.claims(value)).map(Reader::name).collect::<Vec<_>>()
    };
    let of_lines = records.iter().flat_map(|record| claim(Shape::Lines, record));
    of_lines.chain(whole.iter().flat_map(|whole| claim(Shape::Document, whole))).collect()
}

#[test]
fn one_reader_claims_each_file() {
    for (format, file) in golden::files() {
        if format != "opencode-database" {
            assert_eq!(claimants(&file), BTreeSet::from([format]));
        }
        assert_eq!(read::read_from(file.as_slice(), "it", None).unwrap().format, format);
    }
    for file in fuzz::written_transcripts() {
        let found = claimants(&file);
        if !file.starts_with(b"SQLite format 3") {
            assert_eq!(found.len(), 1, "{found:?}: {}", String::from_utf8_lossy(&file));
        }
        read::read_from(file.as_slice(), "it", None).unwrap();
    }
}

#[test]
#[ignore = "needs shared data"]
fn one_reader_claims_each_real_file() {
    fn search(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
            if entry.file_type().unwrap().is_dir() {
                search(&entry.path(), found);
            } else if entry.path().extension().is_some_and(|end| end == "jsonl" || end == "json") {
                found.push(entry.path());
            }
        }
    }
    let mut files = Vec::new();
    for folder in ["agents", "cta"] {
        search(&assay_test::shared(folder), &mut files);
    }
    let mut count = 0;
    for file in files {
        let found = claimants(&fs::read(&file).unwrap());
        assert!(found.len() < 2, "{}: {found:?}", file.display());
        count += found.len();
    }
    assert!(count > 100, "{count}");
}

#[test]
fn file_that_two_readers_claim_is_an_error_that_names_both() {
    let check = |text: &str, expected: [&str; 2]| {
        let error = read::read_from(text.as_bytes(), "log", None).unwrap_err().to_string();
        let [one, other] = expected;
        assert_eq!(
            error,
            format!("log could be in the formats {one} and {other}; name one of them with --from")
        );
        for name in expected {
            let read = read::read_from(text.as_bytes(), "log", read::reader(name).ok()).unwrap();
            assert_eq!(read.format, name);
        }
        // In a folder it is not passed over.
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("log.jsonl"), text).unwrap();
        assert_eq!(read::sources(&[folder.path().to_path_buf()]).list.len(), 1);
    };
    // One record that has what both ask for.
    let both = json!({ "type": "user", "uuid": "u", "sessionId": "s", "message": {
        "content": "do", "parts": [{ "text": "do" }] } });
    check(&both.to_string(), ["claude-code", "qwen-code"]);
    // Records of two formats in one file.
    let codex = json!({ "type": "session_meta", "payload": { "id": "s" } });
    let claude = json!({ "type": "user", "uuid": "u", "sessionId": "s", "message": { "content": "do" } });
    check(&format!("{codex}\n{claude}\n"), ["codex", "claude-code"]);
    // A document.
    let said = json!([{ "role": "user", "content": "do" }]);
    let steps = json!([{ "step_id": 1, "source": "user", "message": "do" }]);
    let agent = json!({ "name": "x", "version": "1" });
    let document = json!({ "schema_version": "ATIF-v1.7", "agent": agent, "steps": steps, "messages": said });
    check(&document.to_string(), ["atif", "messages"]);
    check(&serde_json::to_string_pretty(&document).unwrap(), ["atif", "messages"]);
    let document = json!({ "trajectory": [{ "action": "ls", "observation": "x" }], "messages": said });
    check(&document.to_string(), ["swe-agent", "messages"]);
    // What is marked as one format is that format, though it has what another asks for.
    let mini = json!({ "trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": said });
    assert_eq!(read::read_from(mini.to_string().as_bytes(), "it", None).unwrap().format, "mini-swe-agent");
}

#[test]
fn formats_that_resemble_a_known_one_are_refused_by_name() {
    let check = |records: &[Value], expected: &str| {
        let text: String = records.iter().map(|record| record.to_string() + "\n").collect();
        let error = read::read_from(text.as_bytes(), "log", None).unwrap_err().to_string();
        assert!(error.starts_with(&format!("log is {expected}, which cannot be read: ")), "{error}");
        assert!(error.contains("--from atif") && error.contains("--from messages"), "{error}");
    };
    let copilot = |kind: &str, data: Value| json!({ "type": kind, "data": data, "id": "e", "timestamp": "2026-01-01T00:00:00Z", "parentId": null });
    check(&[copilot("session.start", json!({ "sessionId": "s" }))], "the events of GitHub Copilot CLI");
    check(
        &[copilot("session.shutdown", json!({})), copilot("new.kind", json!({}))],
        "the events of GitHub Copilot CLI",
    );
    check(
        &[json!({ "sessionId": "s", "chatMessages": [{ "role": "user", "content": "do" }], "timeline": [] })],
        "a session of an old GitHub Copilot CLI",
    );
    let cursor = json!({ "role": "user", "message": { "content": [{ "type": "text", "text": "do" }] } });
    check(&[cursor], "a transcript of Cursor's agent");
    let step = |kind: &str, source: &str| json!({ "step_index": 0, "source": source, "type": kind, "status": "DONE" });
    check(
        &[step("USER_INPUT", "USER_EXPLICIT"), step("PLANNER_RESPONSE", "MODEL")],
        "a transcript of Antigravity",
    );
    check(
        &[json!({ "event": "step_update", "step_update": { "step_index": 1 } })],
        "a transcript of Antigravity",
    );
    // It begins as an old Claude Code does.
    let begun = json!({ "type": "system", "subtype": "init", "session_id": "s", "tools": [], "model": "m" });
    let done = json!({ "type": "completion", "finalText": "done", "session_id": "s" });
    check(&[begun, done], "the stream of Factory's Droid");
    // pi's entries resemble Copilot's.
    let entry = json!({ "type": "custom", "data": {}, "id": "e", "parentId": null, "timestamp": "2026-01-01T00:00:00Z" });
    let header = json!({ "type": "session", "id": "s", "cwd": "/", "timestamp": "2026-01-01T00:00:00Z" });
    let read = read::read_from(format!("{header}\n{entry}\n").as_bytes(), "log", None).unwrap();
    assert_eq!(read.format, "pi");
}

/// The table of docs/TRACES.md.
#[test]
fn marks_are_documented() {
    let mut table = "| format | file | recognized by |\n|---|---|---|\n".to_owned();
    for reader in READERS {
        let shape = match reader.shape() {
            Shape::Lines => "lines",
            Shape::Document => "document",
            Shape::Database => "database",
        };
        let marks: Vec<String> = reader
            .marks()
            .iter()
            .map(|mark| mark.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            .collect();
        table.push_str(&format!("| `{}` | {shape} | {} |\n", reader.name(), marks.join("; or ")));
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TRACES.md");
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(&table), "docs/TRACES.md lacks this table:\n{table}");
}
