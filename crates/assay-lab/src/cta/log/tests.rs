use serde_json::json;

use super::*;

fn log(lines: &[String]) -> (Log, Vec<Remark>) {
    read(&mut lines.join("\n").as_bytes()).expect("memory can be read")
}

fn says(blocks: &Value) -> String {
    json!({"type": "assistant", "message": {"content": blocks}}).to_string()
}

fn answer(id: &str, content: &Value) -> String {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    json!({"type": "user", "message": {"content": [block]}}).to_string()
}

fn call(name: &str, input: &Value) -> String {
    says(&json!([{"type": "tool_use", "id": "c", "name": name, "input": input}]))
}

#[test]
fn tools_become_events_by_their_names_in_any_case() {
    let check = |name: &str, input: &Value, expected: Option<(Kind, &str, &str)>| {
        let (log, _) = log(&[call(name, input), answer("c", &json!("back"))]);
        let got = log.events.first().map(|event| (event.kind, event.target.as_str(), event.content.as_str()));
        assert_eq!(got, expected, "{name} {input}");
    };
    check("Bash", &json!({"command": "ls"}), Some((Kind::Execute, "ls", "back")));
    check("SHELL", &json!({"command": "é".repeat(300)}), Some((Kind::Execute, &"é".repeat(200), "back")));
    check("Read", &json!({"file_path": "./a/../B"}), Some((Kind::Read, "./a/../B", "back")));
    check("Grep", &json!({"pattern": "p", "query": "q"}), Some((Kind::Search, "p", "back")));
    check("Glob", &json!({"query": "q"}), Some((Kind::Search, "q", "back")));
    check("Write", &json!({"file_path": "f", "content": "text"}), Some((Kind::Write, "f", "text")));
    check(
        "Write",
        &json!({"file_path": "f", "content": {"a": true}}),
        Some((Kind::Write, "f", "{'a': True}")),
    );
    // Edits lose what they write.
    check("Edit", &json!({"file_path": "f", "new_string": "text"}), Some((Kind::Write, "f", "")));
    check("MultiEdit", &json!({}), Some((Kind::Write, "", "")));
    check("Skill", &json!({"skill": "x"}), None);
    check("TodoWrite", &json!({}), None);
    check("Bash", &json!(null), Some((Kind::Execute, "", "back")));
}

#[test]
fn contents_are_cut_at_code_points() {
    let long = "漢".repeat(6000);
    for (name, input, kept) in [
        ("Read", json!({"file_path": "f"}), 3000),
        ("Bash", json!({"command": "c"}), 2000),
        ("Grep", json!({"pattern": "p"}), 1000),
        ("Write", json!({"file_path": "f", "content": long}), 5000),
    ] {
        let (log, _) = log(&[call(name, &input), answer("c", &json!(long))]);
        assert_eq!(log.events[0].content.chars().count(), kept, "{name}");
    }
}

#[test]
fn reasoning_goes_to_the_next_call_and_is_lost_before_an_unknown_tool() {
    let block = |name: &str| json!({"type": "tool_use", "id": name, "name": name, "input": {}});
    let (log, remarks) = log(&[
        says(&json!([{"type": "thinking", "thinking": " first "}, {"type": "text", "text": "second"}])),
        says(&json!([block("Read"), block("Read")])),
        says(&json!([{"type": "text", "text": "lost"}, block("TodoWrite"), block("Bash")])),
        says(&json!([{"type": "text", "text": "after the last call"}])),
    ]);
    let reasons: Vec<&str> = log.events.iter().map(|event| event.reasoning.as_str()).collect();
    assert_eq!(reasons, ["first \nsecond", "", ""]);
    assert_eq!(remarks.len(), 1);
    assert_eq!(remarks[0].line, Some(3));
    assert!(remarks[0].message.contains("TodoWrite"), "{remarks:?}");
}

#[test]
fn results_are_flattened_and_the_later_one_counts() {
    let check = |content: Value, expected: &str| {
        let (log, _) = log(&[
            answer("c", &json!("old")),
            answer("c", &content),
            call("Read", &json!({"file_path": "f"})),
        ]);
        assert_eq!(log.events[0].content, expected, "{content}");
    };
    check(json!(null), "");
    check(json!("text"), "text");
    check(json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "a\nb");
    check(json!([{"type": "image"}, "c", 1.0]), "{'type': 'image'}\nc\n1.0");
}

#[test]
fn only_commands_fail_and_only_by_their_words() {
    let check = |tool: &str, result: &str, expected: bool| {
        let input = json!({"command": "c", "file_path": "f"});
        let (log, _) = log(&[call(tool, &input), answer("c", &json!(result))]);
        assert_eq!(log.events[0].failed, expected, "{tool}: {result:?}");
    };
    check("Bash", "all well", false);
    check("Bash", "ERROR: no", true);
    check("Bash", &format!("{}error", "é".repeat(95)), true);
    check("Bash", &format!("{}error", "é".repeat(96)), false);
    check("Bash", "exit_code: 0", false);
    check("Bash", "exit_code: 1", true);
    check("Bash", "{\"exit_code\":  12}", true);
    check("Bash", "{'exit_code': 0, 'error': ''}", true);
    check("Bash", &format!("{}exit_code: 3", "x".repeat(5000)), true);
    // Only the first number is looked at.
    check("Bash", "exit_code: 0 exit_code: 1", false);
    check("Bash", "exit_code=1", false);
    check("Read", "error", false);
}

#[test]
fn tokens_are_counted_in_four_ways() {
    let says = |id: Option<&str>, input: Value, cached: u64| {
        let usage = json!({"input_tokens": input, "output_tokens": 10, "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": null});
        json!({"type": "assistant", "message": {"id": id, "usage": usage}}).to_string()
    };
    let (log, _) = log(&[
        says(Some("a"), json!(1), 100),
        says(Some("a"), json!(1), 100),
        says(Some("b"), json!(null), 7),
    ]);
    let expected = Tokens {
        paper_input_output: 32,
        all_four_fields: 239,
        dedup_input_output: 21,
        dedup_all_four: 128,
        api_messages: 2,
    };
    assert_eq!(log.tokens, expected);
}

#[test]
fn what_is_odd_is_told_with_its_line_and_the_rest_is_read() {
    let check = |bytes: &[u8], line: Option<usize>, part: &str| {
        let (_, remarks) = read(&mut &*bytes).expect("memory can be read");
        let found = remarks.iter().any(|remark| remark.line == line && remark.message.contains(part));
        assert!(found, "{}: {remarks:?}", String::from_utf8_lossy(bytes));
    };
    check(b"", None, "empty trace");
    check(b"{\"type\":\"user\"}\nno json\nno json either\n", Some(2), "not JSON, skipped (2 lines)");
    check(b"{\"type\":\"user\"}\n{\"type\":\"assi", Some(2), "in the middle of a record");
    check(b"[1]\n", Some(1), "not a JSON object");
    check(b"\n{\"type\":\"new\"}\n", Some(2), "unknown type");
    check(b"{\"type\":\"user\",\"x\":\"\xff\"}\n", Some(1), "not UTF-8");
    check(
        b"{\"type\":\"user\",\"timestamp\":\"2026-01-02T00:00:00Z\"}\n{\"type\":\"user\",\"timestamp\":\"2026-01-01T00:00:00Z\"}\n",
        Some(2),
        "earlier",
    );
}

#[test]
fn half_a_character_is_no_reason_to_lose_a_line() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Write","input":{"file_path":"\\ud800 \ud83d\ude00","content":"\ud83d \"x\" \udc00\ud83d"}}]}}"#;
    let (log, remarks) = log(&[line.to_owned()]);
    assert_eq!(remarks, []);
    assert_eq!(log.events[0].target, "\\ud800 😀");
    assert_eq!(log.events[0].content, "\u{fffd} \"x\" \u{fffd}\u{fffd}");
}

#[test]
fn a_line_without_end_is_passed_over_in_little_memory() {
    struct Endless(u64);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = buffer.len().min(usize::try_from(self.0).unwrap_or(usize::MAX));
            buffer[..n].fill(b'x');
            self.0 -= n as u64;
            Ok(n)
        }
    }
    let after = format!("\n{}\n", call("Read", &json!({"file_path": "f"})));
    let mut reader = io::BufReader::new(Endless(LONGEST + 5).chain(after.as_bytes()));
    let (log, remarks) = read(&mut reader).expect("memory can be read");
    assert_eq!(log.events.len(), 1);
    assert_eq!(
        remarks[0],
        Remark { line: Some(1), message: "longer than 64 MiB, skipped".to_owned(), minor: false }
    );
}
