//! Suites on disk, read and graded.

use std::fs;
use std::path::{Path, PathBuf};

use assay_diagnostic::Severity;
use serde_json::{Value, json};

use super::*;

/// A plugin with these files below its folder.
struct Plugin {
    folder: tempfile::TempDir,
}

impl Plugin {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plugin = Self { folder };
        let servers = r#"{"tracker":{"command":"false"},"s":{"command":"false"}}"#;
        let manifest = format!(r#"{{"name":"p","version":"0.1.0","mcpServers":{servers}}}"#);
        plugin.write(".claude-plugin/plugin.json", &manifest);
        for (path, text) in files {
            plugin.write(path, text);
        }
        plugin
    }

    /// A plugin with one case that has these graders, by name.
    fn of_graders(graders: &[(&str, &str)]) -> Self {
        let plugin = Self::new(&[("evals/case/prompt.md", "Do it.\n")]);
        for (name, text) in graders {
            plugin.write(&format!("evals/case/graders/{name}.md"), text);
        }
        plugin
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn load(&self) -> EvalSuite {
        EvalSuite::load(self.folder.path()).unwrap()
    }

    fn case(&self) -> EvalCase {
        let suite = self.load();
        assert_eq!(suite.cases.len(), 1, "{:?}", suite.diagnostics);
        suite.cases[0].clone()
    }

    /// Errors and warnings, as `FILE:LINE: SEVERITY: MESSAGE` with the file relative to `evals/`.
    fn found(&self) -> Vec<String> {
        let suite = self.load();
        let line = |found: &assay_diagnostic::Diagnostic| {
            let file = found.file.strip_prefix(&suite.dir).unwrap_or(&found.file).display().to_string();
            let line = found.line.map_or(String::new(), |line| format!(":{line}"));
            format!("{file}{line}: {}: {}", found.severity, found.message)
        };
        suite.diagnostics.iter().map(line).collect()
    }
}

fn grader(front: &str) -> String {
    format!("---\n{front}\n---\n")
}

fn call(tool: &str, input: Value) -> CallMade {
    CallMade { tool: tool.to_owned(), input }
}

/// What one grader decides by some evidence, and why.
fn decide(front: &str, evidence: &Evidence) -> (bool, String) {
    let case = Plugin::of_graders(&[("g", &grader(front))]).case();
    let grades = grade_run(&case, evidence, EvalArms::WithAndWithout, EvalArm::With);
    (grades.graders[0].passed, grades.graders[0].explanation.clone())
}

fn check(front: &str, evidence: &Evidence, passed: bool, explanation: &str) {
    let found = decide(front, evidence);
    assert_eq!(found, (passed, explanation.to_owned()), "{front}");
}

#[test]
fn a_regex_is_searched_in_its_target() {
    let evidence = Evidence {
        last_message: "Moin, Ada.\nMoin!".to_owned(),
        trace: vec![r#"{"text":"say \"Moin\""}"#.to_owned(), r#"{"type":"result"}"#.to_owned()],
        created: ["z.md", "a.md"].map(str::to_owned).into(),
        files: [
            ("a.md".to_owned(), FileState::Text("content\n".to_owned())),
            ("sub".to_owned(), FileState::Unreadable("not a regular file".to_owned())),
        ]
        .into(),
        ..Evidence::default()
    };
    check("type: regex\npattern: Moin", &evidence, true, "matched Moin");
    check("type: regex\npattern: moin", &evidence, false, "pattern not found in last_message");
    check("type: regex\npattern: moin\nflags: i", &evidence, true, "matched Moin");
    check(
        "type: regex\npattern: Hello\nmatch: not_contains",
        &evidence,
        true,
        "pattern not found in last_message",
    );
    check("type: regex\npattern: Moin\nmatch: not_contains", &evidence, false, "matched Moin");
    check("type: regex\npattern: Moin\nmatch: count:2", &evidence, true, "found 2 matches (expected 2)");
    check("type: regex\npattern: Moin\nmatch: \"count:1\"", &evidence, false, "found 2 matches (expected 1)");
    // Quotes in the trace are those of JSON.
    check("type: regex\npattern: '\\\\\"Moin'\ntarget: trace", &evidence, true, "matched \\\"Moin");
    check("type: regex\npattern: 'say \"'\ntarget: trace", &evidence, false, "pattern not found in trace");
    // Paths in order, one a line.
    check(
        "type: regex\npattern: '^a\\.md\\nz\\.md$'\ntarget: files",
        &evidence,
        true,
        "matched a.md\u{fffd}z.md",
    );
    let file =
        |path: &str| format!("type: regex\npattern: content\ntarget: {{ source: file, path: {path} }}");
    check(&file("a.md"), &evidence, true, "matched content");
    check(&file("sub/../a.md"), &evidence, true, "matched content");
    check(&file("b.md"), &evidence, false, "b.md does not exist");
    check(&file("sub"), &evidence, false, "cannot read sub: not a regular file");
    // A file that is not there fails, also where a text must not be in it.
    let absent = format!("{}\nmatch: not_contains", file("b.md"));
    check(&absent, &evidence, false, "b.md does not exist");
    let mocked = "type: regex\npattern: .\ntarget: mock_calls\nmatch: not_contains";
    check(mocked, &evidence, false, "no tool was mocked in this run");
}

#[test]
fn calls_are_counted_by_tool_and_input() {
    let evidence = Evidence {
        calls: vec![
            call("Glob", json!({ "b": 1, "a": 2, "pattern": "ü\nx/y" })),
            call("Write", json!({ "file_path": "q.md" })),
            call("Glob", json!({ "pattern": "*" })),
        ],
        ..Evidence::default()
    };
    let used = |rest: &str| format!("type: tool_used\ntool: Glob\n{rest}");
    check(&used(""), &evidence, true, "Glob called 2x (expected 1..∞)");
    check(&used("max: 1"), &evidence, false, "Glob called 2x (expected 1..1)");
    check(&used("min: 3"), &evidence, false, "Glob called 2x (expected 3..∞)");
    check(&used("min: 3\nmax: 1"), &evidence, false, "Glob called 2x (expected 3..1)");
    // The input is JSON without spaces, in the order of the call, with letters beyond ASCII as they are.
    check(&used("input_match: '\"b\":1,\"a\":2'"), &evidence, true, "Glob called 1x (expected 1..∞)");
    check(&used("input_match: '\"a\": 2'"), &evidence, false, "Glob called 0x (expected 1..∞)");
    check(&used("input_match: ü"), &evidence, true, "Glob called 1x (expected 1..∞)");
    check(&used("input_match: '\\\\n'"), &evidence, true, "Glob called 1x (expected 1..∞)");
    check(&used("input_match: '\\n'"), &evidence, false, "Glob called 0x (expected 1..∞)");
    check(&used("input_match: GLOB"), &evidence, false, "Glob called 0x (expected 1..∞)");
    check("type: tool_used\ntool: Gl*", &evidence, false, "Gl* called 0x (expected 1..∞)");
    check("type: tool_used\ntool: Bash\nmin: 0", &evidence, true, "Bash called 0x (expected 0..∞)");
    check("type: tool_used\ntool: Bash\nmin: 0\nmax: 0", &evidence, true, "Bash called 0x (expected 0..0)");
    check(
        "type: tool_used\ntool: Write\nmin: 0\nmax: 0",
        &evidence,
        false,
        "Write called 1x (expected 0..0)",
    );
}

#[test]
fn the_first_calls_decide_an_order() {
    let evidence = Evidence {
        calls: vec![
            call("Glob", json!({})),
            call("Write", json!({ "file_path": "a.txt" })),
            call("Write", json!({ "file_path": "b.txt" })),
            call("Glob", json!({})),
        ],
        ..Evidence::default()
    };
    let order = |before: &str, after: &str| format!("type: tool_order\nbefore: {before}\nafter: {after}");
    check(&order("Glob", "Write"), &evidence, true, "Glob@0 precedes Write@1");
    check(&order("Write", "Glob"), &evidence, false, "Write@1 does not precede Glob@0");
    check(&order("Glob", "Glob"), &evidence, false, "Glob@0 does not precede Glob@0");
    let written = |name: &str| format!("{{ tool: Write, input_match: '{name}' }}");
    check(
        &order(&written("b\\.txt"), &written("a\\.txt")),
        &evidence,
        false,
        "Write@2 does not precede Write@1",
    );
    check(&order(&written("a\\.txt"), &written("b\\.txt")), &evidence, true, "Write@1 precedes Write@2");
    check(&order("Bash", "Glob"), &evidence, false, "before: Bash was never called");
    check(&order("Glob", "Bash"), &evidence, false, "after: Bash was never called");
}

#[test]
fn only_created_files_exist() {
    let evidence = Evidence {
        created: ["a.md", "sub/c.md"].map(str::to_owned).into(),
        files: [("seed.md".to_owned(), FileState::Text(String::new()))].into(),
        ..Evidence::default()
    };
    let exists = |path: &str| format!("type: file_exists\npath: '{path}'");
    check(&exists("a.md"), &evidence, true, "a.md was created");
    check(&exists("**/*.md"), &evidence, true, "**/*.md was created");
    check(&exists("*.txt"), &evidence, false, "*.txt was not created");
    check(&exists("seed.md"), &evidence, false, "seed.md was not created");
    check(
        &exists("*.txt\nexists: false").replace("\nexists: false'", "'\nexists: false"),
        &evidence,
        true,
        "*.txt was not created",
    );
    check(
        &exists("a.md\nexists: false").replace("\nexists: false'", "'\nexists: false"),
        &evidence,
        false,
        "a.md was created",
    );
}

#[test]
fn two_of_three_votes_decide() {
    // The votes are those that Claude Code 2.1.332 makes of these replies.
    let vote = |reply: &str, expected: bool| assert_eq!(is_pass_vote(reply), expected, "{reply}");
    vote("PASS", true);
    vote("PASS because", true);
    vote("**PASS**", true);
    vote("pass", true);
    vote("PASS nothing FAILED", true);
    vote("PASS, no FAIL", false);
    vote("PASS. It does not fail", false);
    vote("PASSED", false);
    vote("SURPASSES", false);
    vote("PASS_1", false);
    vote("FAIL? no: failing-free. pass", false);
    vote("yes", false);
    vote("", false);

    let of = |replies: &[&str]| Evidence {
        last_message: "Moin".to_owned(),
        votes: [("g".to_owned(), replies.iter().map(|reply| (*reply).to_owned()).collect())].into(),
        ..Evidence::default()
    };
    let llm = "type: llm\ncriteria: PASS if it greets.";
    check(llm, &of(&["PASS", "FAIL", "PASS"]), true, "judge votes: PASS FAIL PASS");
    check(llm, &of(&["PASS", "FAIL", "maybe"]), false, "judge votes: PASS FAIL FAIL");
    check(llm, &of(&["PASS"]), false, "judge votes: PASS");
    check(llm, &Evidence::default(), false, "its judge was not asked");
    let file = "type: llm\ncriteria: c\nfocus: { source: file, path: a.md }";
    check(file, &of(&["PASS", "PASS", "PASS"]), false, "a.md does not exist");
}

#[test]
fn graders_that_need_the_plugin_do_not_count_unless_all_do() {
    let fired = grader("type: tool_used\ntool: Skill");
    let done = grader("type: regex\npattern: done\nweight: 3");
    let run = |graders: &[(&str, &str)], arms, arm| {
        let case = Plugin::of_graders(graders).case();
        let calls = vec![call("Skill", json!({ "skill": "greet" }))];
        let evidence = Evidence { last_message: "done".to_owned(), calls, ..Evidence::default() };
        let grades = grade_run(&case, &evidence, arms, arm);
        let names = grades.graders.iter();
        let names = names.map(|grader| format!("{}{}", grader.name, if grader.scored { "" } else { "*" }));
        (grades.score, grades.passed, names.collect::<Vec<_>>().join(" "))
    };
    let both = EvalArms::WithAndWithout;
    let mixed: &[(&str, &str)] = &[("a-fired", &fired), ("b-done", &done)];
    let named = |text: &str| text.to_owned();
    assert_eq!(run(mixed, both, EvalArm::With), (1.0, true, named("a-fired* b-done")));
    assert_eq!(run(mixed, both, EvalArm::Without), (1.0, true, named("b-done")));
    assert_eq!(run(mixed, EvalArms::WithOnly, EvalArm::With), (1.0, true, named("a-fired b-done")));
    // Nothing else would be left.
    assert_eq!(run(&[("a-fired", &fired)], both, EvalArm::Without), (1.0, true, named("a-fired")));
    let kept = grader("type: tool_used\ntool: Skill\narm: both\nmin: 0\nmax: 0");
    assert_eq!(
        run(&[("a-kept", &kept), ("b-done", &done)], both, EvalArm::With),
        (0.75, false, named("a-kept b-done"))
    );
    let only = grader("type: regex\npattern: zzz\narm: with-only\nweight: 7");
    assert_eq!(
        run(&[("a-only", &only), ("b-done", &done)], both, EvalArm::With),
        (1.0, true, named("a-only* b-done"))
    );
}

#[test]
fn scores_of_a_case_are_means_over_runs() {
    let run =
        |score: f64| RunGrades { score, passed: score >= 1.0, graders: Vec::new(), request_failed: false };
    let scores = case_scores(&[run(1.0), run(0.5)], &[run(0.25), run(0.25), run(1.0)]).unwrap();
    assert_eq!((scores.score, scores.pass_rate), (0.75, 0.5));
    assert_eq!((scores.score_without, scores.delta), (Some(0.5), Some(0.25)));
    assert!((scores.pass_rate_without.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(case_scores(&[run(1.0)], &[]).unwrap().delta, None);
    assert_eq!(case_scores(&[], &[run(1.0)]), None);
}

#[test]
fn the_trace_of_the_client_is_evidence() {
    let trace = r#"{"type":"system","subtype":"init"}
{"type":"assistant","message":{"content":[{"type":"text","text":"thinking"},{"type":"tool_use","name":"Skill","input":{"skill":"p:greet"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","content":"Launching"}]}}
not json
{"type":"assistant","message":{"content":[{"type":"text","text":"Moin, Ada."}]}}
{"type":"result","result":"Moin, Ada."}
"#;
    let evidence = Evidence::of_client_trace(trace);
    assert_eq!(evidence.last_message, "Moin, Ada.");
    assert_eq!(evidence.calls, [call("Skill", json!({ "skill": "p:greet" }))]);
    assert_eq!(evidence.trace.len(), 6);
    // A run that reached its limit has no result: its last words count.
    let cut = trace.lines().take(3).collect::<Vec<_>>().join("\n");
    assert_eq!(Evidence::of_client_trace(&cut).last_message, "thinking");
}

#[test]
fn json_is_written_as_javascript_does() {
    let check = |text: &str, expected: &str| {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(compact_json(&value), expected, "{text}");
    };
    check(r#"{ "b": 1.0, "a": [true, null, "ü\n\u0001"] }"#, r#"{"b":1,"a":[true,null,"ü\n\u0001"]}"#);
    check("-0.0", "0");
    check("1.5", "1.5");
    check("12345678901234567890", "12345678901234567890");
}

const OK: &str = "---\ntype: regex\npattern: ok\n---\n";

#[test]
fn both_files_of_a_case_are_merged() {
    let plugin = Plugin::new(&[
        (
            "evals/group/c/case.yaml",
            "schema_version: \"1.1\"\nname: merged\nruns: 2\ntags: [smoke]\ncontext:\n  scaffold_script: fix.sh\n  add_dirs: [res]\nexecution:\n  prompt: from yaml\n  max_turns: 7\n  env: { EVAL_X: \"1\" }\ngraders:\n  - name: z\n    type: tool_order\n    before: Read\n    after: { tool: Write, input_match: x }\n",
        ),
        (
            "evals/group/c/prompt.md",
            "---\nmax_turns: 8\nallowed_tools: [Read, Skill]\n---\n\nfrom markdown\n",
        ),
        ("evals/group/c/graders/a.md", "---\ntype: regex\n---\nok+\n"),
        ("evals/group/c/fix.sh", "true\n"),
        ("evals/group/c/res/x.txt", "x"),
        ("evals/results/t/prompt.md", "no case"),
        ("evals/group/c/nested/prompt.md", "no case either"),
    ]);
    let case = plugin.case();
    assert_eq!((case.name.as_str(), case.prompt.as_str()), ("merged", "from markdown"));
    assert_eq!((case.runs, case.max_turns, case.timeout_seconds), (2, 8, 300));
    assert_eq!((case.scaffold, case.add_dirs), (Some(PathBuf::from("fix.sh")), vec![PathBuf::from("res")]));
    assert_eq!(case.env.get("EVAL_X").map(String::as_str), Some("1"));
    let names: Vec<&str> = case.graders.iter().map(|grader| grader.name.as_str()).collect();
    assert_eq!(names, ["z", "a"]);
    let GraderCheck::Regex { pattern, .. } = &case.graders[1].check else { panic!() };
    assert_eq!(pattern.source(), "ok+");
    assert_eq!(case.graders[0].line, 13);
}

#[test]
fn a_case_without_front_matter_has_defaults() {
    let case =
        Plugin::new(&[("evals/hello/prompt.md", "Greet Ada.\n"), ("evals/hello/graders/a.md", OK)]).case();
    assert_eq!((case.name.as_str(), case.prompt.as_str()), ("hello", "Greet Ada."));
    assert_eq!((case.runs, case.max_turns, case.timeout_seconds), (3, 10, 300));
    // An empty case.yaml is none.
    let files = [("evals/a/case.yaml", ""), ("evals/a/prompt.md", "Hi"), ("evals/a/graders/a.md", OK)];
    assert_eq!(Plugin::new(&files).case().name, "a");
}

/// A suite with a good case and these files.
fn check_mistakes(files: &[(&str, &str)], expected: &[&str]) {
    let mut all = vec![("evals/good/prompt.md", "Hi"), ("evals/good/graders/a.md", OK)];
    all.extend(files);
    assert_eq!(Plugin::new(&all).found(), expected);
}

#[test]
fn mistakes_have_a_file_and_a_line() {
    let check = check_mistakes;
    check(
        &[
            ("evals/bad/prompt.md", "Hi"),
            ("evals/bad/graders/g.md", "---\ntype: baseline\nbaseline_file: r.jsonl\n---\nc"),
            ("evals/bad/r.jsonl", "{}\nnot json\n"),
        ],
        &["bad/r.jsonl:2: error: not JSON: expected ident at line 1 column 2"],
    );
    check(
        &[
            ("evals/bad/prompt.md", "Hi"),
            ("evals/bad/graders/a.md", OK),
            ("evals/bad/graders/b.md", "just text"),
        ],
        &["bad/graders/b.md:1: warning: no front matter: claude plugin eval ignores this file"],
    );
    let yaml = |text: &'static str, expected: &[&str]| check(&[("evals/bad/case.yaml", text)], expected);
    yaml(
        "execution: { prompt: Hi }\nname: x\ngraders: [{ name: a, type: regex, pattern: x }]\n",
        &["bad/case.yaml:1: error: `schema_version` is missing"],
    );
    yaml(
        "schema_version: 1.1\nname: x\nexecution: { prompt: Hi }\ngraders: [{ name: a, type: regex, pattern: x }]\n",
        &[
            "bad/case.yaml:1: error: `schema_version` is a number, and must be a text",
            "bad/case.yaml:1: error: `schema_version` is missing",
        ],
    );
    yaml(
        "schema_version: \"2.0\"\nname: x\nexecution: { prompt: Hi }\ngraders: [{ name: a, type: regex, pattern: x }]\n",
        &["bad/case.yaml:1: error: schema_version \"2.0\" is not supported"],
    );
    yaml(
        "schema_version: \"1.1\"\nname: x\nexecution: { prompt: Hi }\ngraders:\n  - { type: regex, pattern: x }\n",
        &["bad/case.yaml:5: error: a grader without a `name`"],
    );
    yaml(
        "schema_version: \"1.1\"\nname: good\nexecution: { prompt: Hi }\ngraders: [{ name: a, type: regex, pattern: x }]\n",
        &["good/prompt.md:1: error: two cases are named `good`"],
    );
    yaml(
        "schema_version: \"1.1\"\nname: x\nbogus: 1\nexecution: { prompt: Hi }\ngraders: [{ name: a, type: regex, pattern: x }]\n",
        &["bad/case.yaml:3: warning: unknown key `bogus` in case.yaml: it has no effect"],
    );
    yaml(
        "schema_version: \"1.1\"\nname: x\ncontext: { scaffold_script: no.sh }\nexecution: { prompt: Hi }\ngraders: [{ name: a, type: regex, pattern: x }]\n",
        &["bad/case.yaml:3: error: no.sh is not a file of the case"],
    );
    check(
        &[
            (
                "evals/bad/case.yaml",
                "schema_version: \"1.1\"\nname: x\ngraders:\n  - { name: a, type: regex, pattern: x }\n",
            ),
            ("evals/bad/prompt.md", "Hi"),
            ("evals/bad/graders/a.md", OK),
        ],
        &["bad/graders/a.md:2: error: two graders are called `a`"],
    );
}

#[test]
fn a_folder_without_a_suite_is_refused() {
    let check = |prepare: &dyn Fn(&Path), expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let error = EvalSuite::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let write = |folder: &Path, path: &str, text: &str| {
        fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
        fs::write(folder.join(path), text).unwrap();
    };
    check(&|_| {}, "is not a plugin");
    check(&|folder| write(folder, "plugin.json", "{"), "EOF while parsing an object at line 1 column 1");
    check(&|folder| write(folder, "plugin.json", "{}"), "`name` is missing");
    check(&|folder| write(folder, "plugin.json", r#"{"name":"p"}"#), "has no suite");
    let empty = |folder: &Path| {
        write(folder, "plugin.json", r#"{"name":"p","experimental":{"evals":"quality/evals"}}"#);
        write(folder, "quality/evals/prompt.md", "a loose file is no case");
    };
    check(&empty, "quality/evals has no case");
}

#[test]
fn mocks_answer_from_files() {
    let plugin = Plugin::new(&[
        ("evals/c/prompt.md", "Hi"),
        ("evals/c/graders/a.md", "---\ntype: regex\ntarget: mock_calls\npattern: '\"title\":\"T\"'\n---\n"),
        ("evals/c/graders/b.md", OK),
        (
            "evals/mocks/tracker/create.md",
            "---\nexpect:\n  title: string\n  priority: [low, high]\n  meta.id: /^A\\d+$/\n---\nCreated {{input.title}} {{file:fixtures/a.txt}} {{file:fixtures/{input.priority}.txt}}{{input.none}} {{input.meta}}\n",
        ),
        ("evals/mocks/tracker/fixtures/a.txt", "FIX"),
        ("evals/mocks/tracker/fixtures/low.txt", "LOW"),
        ("evals/mocks/tracker/boom.md", "---\nerror: true\n---\nno such thing\n"),
        ("evals/mocks/tracker/ask.md", "---\ntype: agent\n---\nYou answer.\n"),
        (
            "evals/mocks/.replay/tracker/ask-0a1b.json",
            r#"{"input":{"q":1},"output":"{\"answer\": 42}","verdict":"ok"}"#,
        ),
        (
            "evals/mocks/tracker/_tools.json",
            r#"{"tools":[{"name":"boom","description":"Explodes.","inputSchema":{"type":"object","properties":{}}}]}"#,
        ),
        ("evals/c/mocks/tracker/boom.md", "calm\n"),
    ]);
    let case = plugin.case();
    let server = &case.mocks[0];
    let names: Vec<&str> = server.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((server.public_name.as_str(), names), ("plugin_p_tracker", vec!["ask", "boom", "create"]));
    let answer = |tool: usize, input: Value| server.answer(&server.tools[tool], &input);
    let text = |text: &str| MockReply::Text { text: text.to_owned(), error: false };
    assert_eq!(answer(0, json!({ "q": 1 })), text("{\"answer\": 42}"));
    assert_eq!(
        answer(0, json!({ "q": 2 })),
        MockReply::Unknown("ask: no recorded answer for {\"q\":2}".to_owned())
    );
    // The case's own file replaces that of the suite.
    assert_eq!(answer(1, json!({})), text("calm"));
    let good = json!({ "title": "T", "priority": "low", "meta": { "id": "A1" } });
    assert_eq!(answer(2, good.clone()), text("Created T FIX LOW {\"id\":\"A1\"}"));
    let urgent = json!({ "title": "T", "priority": "urgent", "meta": { "id": "A1" } });
    assert_eq!(
        answer(2, urgent.clone()),
        MockReply::Abort("priority is \"urgent\", and must be \"low\" or \"high\"".to_owned())
    );
    assert_eq!(
        answer(2, json!({ "priority": "low" })),
        MockReply::Abort("title is nothing, and must be of the type string".to_owned())
    );

    let of = |input: &Value| {
        let made = MockedCall {
            server: "plugin_p_tracker".to_owned(),
            tool: "create".to_owned(),
            input: input.clone(),
        };
        let trajectory = trajectory(&[("Moin ok", &[])]);
        let mocked = MockedCalls { servers: &case.mocks, calls: &[made] };
        Evidence::of_trajectory(&trajectory, &[], &mocked)
    };
    let evidence = of(&good);
    let line = r#"{"tool":"mcp__plugin_p_tracker__create","input":{"title":"T","priority":"low","meta":{"id":"A1"}},"output":"Created T FIX LOW {\"id\":\"A1\"}","verdict":"ok"}"#;
    assert_eq!(evidence.mock_calls, Some(vec![line.to_owned()]));
    assert_eq!(evidence.calls[0].tool, "mcp__plugin_p_tracker__create");
    // Graders of mocked calls do not count in both arms.
    let grades = grade_run(&case, &evidence, EvalArms::WithAndWithout, EvalArm::With);
    let counted: Vec<(bool, bool)> =
        grades.graders.iter().map(|grader| (grader.passed, grader.scored)).collect();
    assert_eq!((grades.score, counted), (1.0, vec![(true, false), (true, true)]));
    let without = grade_run(&case, &evidence, EvalArms::WithAndWithout, EvalArm::Without);
    assert_eq!(without.graders.len(), 1);
    // A violated guard ends the run with the score 0.
    let aborted = grade_run(&case, &of(&urgent), EvalArms::WithAndWithout, EvalArm::With);
    assert_eq!((aborted.score, aborted.passed, aborted.graders.len()), (0.0, false, 0));
}

#[test]
fn mistakes_of_mocks_have_a_line() {
    let check = |path: &str, text: &str, expected: &[&str]| {
        let plugin = Plugin::new(&[("evals/c/prompt.md", "Hi"), ("evals/c/graders/a.md", OK), (path, text)]);
        assert_eq!(plugin.found(), expected, "{path}");
    };
    check(
        "evals/mocks/s/t.md",
        "---\nexpects: {}\n---\nx",
        &["mocks/s/t.md:2: error: unknown key `expects` of a mock"],
    );
    check(
        "evals/mocks/s/t.md",
        "---\ntype: dynamic\n---\nx",
        &["mocks/s/t.md:2: error: unknown type of mock `dynamic`"],
    );
    check(
        "evals/mocks/s/t.md",
        "---\nexpect:\n  a: /(/\n---\nx",
        &["mocks/s/t.md:3: error: invalid JavaScript pattern: Unbalanced parenthesis"],
    );
    check(
        "evals/mocks/s/_server.md",
        "---\ntype: agent\n---\nx",
        &["mocks/s/_server.md:2: error: `_server.md` lists no `tools`"],
    );
    check(
        "evals/mocks/s/_tools.json",
        "{\n]",
        &["mocks/s/_tools.json:2: error: not JSON: key must be a string at line 2 column 1"],
    );
    check("evals/mocks/.replay/s/t-1.json", "{}", &[]);
    let agent = "---\ntype: agent\n---\nYou answer.";
    check(
        "evals/mocks/s/t.md",
        agent,
        &["mocks/s/t.md:2: warning: `t` has no recorded answers in mocks/.replay"],
    );
}

/// A server that the plugin does not declare is there without the plugin too, under its own name, so that a grader of its calls
/// counts. (Claude Code 2.1.330.)
#[test]
fn a_server_of_the_suite_alone_is_in_both_arms() {
    let check = |server: &str, public_name: &str, counts: bool| {
        let plugin = Plugin::new(&[
            ("evals/c/prompt.md", "Hi"),
            ("evals/c/graders/a.md", "---\ntype: regex\ntarget: mock_calls\npattern: x\n---\n"),
            ("evals/c/graders/b.md", OK),
            (&format!("evals/mocks/{server}/t.md"), "x\n"),
        ]);
        let case = plugin.case();
        assert_eq!(case.mocks[0].public_name, public_name);
        assert_eq!(case.counted().any(|grader| grader.name == "a"), counts, "{server}");
    };
    check("tracker", "plugin_p_tracker", false);
    check("calendar", "calendar", true);
}

/// A refused request scores 0 without grades, and leaves no difference. (Claude Code 2.1.330.)
#[test]
fn a_refused_request_is_not_graded() {
    let case = Plugin::of_graders(&[("a", &grader("type: regex\npattern: zzz\nmatch: not_contains"))]).case();
    let run = |status: &str| {
        let trace = format!(
            r#"{{"type":"result","is_error":true,"result":"API Error","api_error_status":{status}}}"#
        );
        grade_run(&case, &Evidence::of_client_trace(&trace), EvalArms::WithAndWithout, EvalArm::With)
    };
    let (graded, refused) = (run("null"), run("529"));
    assert_eq!((graded.score, graded.graders.len()), (1.0, 1));
    assert_eq!((refused.score, refused.graders.len()), (0.0, 0));
    let scores = case_scores(&[graded], &[refused]).unwrap();
    assert_eq!((scores.score, scores.score_without, scores.delta), (1.0, None, None));
    assert_eq!(scores.pass_rate_without, Some(0.0));
}

/// A trajectory of an agent's messages, each with calls of tools.
fn trajectory(steps: &[(&str, &[(&str, Value)])]) -> assay_trace::Trajectory {
    let step = |at: usize, message: &str, calls: &[(&str, Value)]| {
        let calls: Vec<Value> = calls
            .iter()
            .enumerate()
            .map(|(number, (name, arguments))| {
                json!({ "tool_call_id": format!("{at}-{number}"), "function_name": name, "arguments": arguments })
            })
            .collect();
        json!({ "step_id": at + 2, "source": "agent", "message": message, "tool_calls": calls })
    };
    let mut all = vec![json!({ "step_id": 1, "source": "user", "message": "Do it." })];
    all.extend(steps.iter().enumerate().map(|(at, (message, calls))| step(at, message, calls)));
    serde_json::from_value(json!({
        "schema_version": "ATIF-v1.7", "agent": { "name": "loop", "version": "1" }, "steps": all,
    }))
    .unwrap()
}

#[test]
fn the_work_of_any_agent_is_evidence() {
    let commands = json!({ "command": "mcp-call plugin_p_s t '{}' && mcp-call plugin_p_s t" });
    let steps: &[(&str, &[(&str, Value)])] = &[
        ("", &[("bash", json!({ "command": "cat skills/greet/SKILL.md" }))]),
        ("I call.", &[("bash", commands)]),
        ("Moin.", &[]),
    ];
    let trajectory = trajectory(steps);
    let opened = [OpenedSkill { name: "greet".to_owned(), step: 2 }];
    let made = || MockedCall { server: "plugin_p_s".to_owned(), tool: "t".to_owned(), input: json!({}) };
    let calls = [made(), made()];
    let evidence =
        Evidence::of_trajectory(&trajectory, &opened, &MockedCalls { servers: &[], calls: &calls });
    let tools: Vec<&str> = evidence.calls.iter().map(|call| call.tool.as_str()).collect();
    assert_eq!(tools, ["bash", "Bash", "Skill", "bash", "Bash", "mcp__plugin_p_s__t", "mcp__plugin_p_s__t"]);
    assert_eq!(evidence.calls[2].input, json!({ "skill": "greet" }));
    assert_eq!((evidence.last_message.as_str(), evidence.mock_calls), ("Moin.", None));
    // The instruction is no part of the trace.
    assert!(evidence.trace.iter().all(|line| !line.contains("Do it.")), "{:?}", evidence.trace);
    assert!(evidence.trace[0].contains(r#""type":"tool_use""#), "{:?}", evidence.trace);
}

/// The plugin of the shared data, as Claude Code has run it.
#[test]
#[ignore = "needs shared data"]
fn the_public_example_is_read() {
    let suite = EvalSuite::load(&assay_test::shared("results/plugin-eval/plugin")).unwrap();
    assert!(
        suite.diagnostics.iter().all(|found| found.severity < Severity::Warning),
        "{:?}",
        suite.diagnostics
    );
    assert_eq!(suite.plugin.skills, [PathBuf::from("skills/greet")]);
    assert_eq!(suite.cases[0].name, "hello");
}
