//! Each pattern on a pair that shows it, on one that just does not, and on a run compared with
//! itself.

use assay_trace::Trajectory;
use serde_json::{Value, json};

use super::*;
use crate::adherence::{Known, Left, RunEvidence, adherences};
use crate::behaviour::actions;
use crate::directive::Modality;

const SKILL: &str = "---\nname: ledger-export\ndescription: writes ledger exports\n---\n# Prepare\nUse `zq_seal_7731`.\n# Write\nUse `zq_month_4482`.\n# Finish\nUse `zq_sign_9917`.\nRead `rounding_zq77.md`.\nAs in `https://zq.example/ledger_77`.\n";

fn skill() -> SkillText {
    let mut skill = SkillText::parse(SKILL.as_bytes());
    let directive = |kind, line: usize, subject: &str, example| Directive {
        kind,
        modality: Modality::Required,
        file: "SKILL.md".to_owned(),
        line,
        text: SKILL.lines().nth(line - 1).unwrap().to_owned(),
        subject: subject.to_owned(),
        example,
        condition: None,
        applies: None,
        probe: Probe::Text(subject.to_owned()),
        instead: Vec::new(),
    };
    skill.directives = vec![
        directive(Kind::Literal, 6, "zq_seal_7731", false),
        directive(Kind::Literal, 8, "zq_month_4482", false),
        directive(Kind::Literal, 10, "zq_sign_9917", false),
        directive(Kind::File, 11, "rounding_zq77.md", false),
        directive(Kind::Literal, 12, "https://zq.example/ledger_77", true),
    ];
    skill
}

/// A tool, its arguments, its result and its exit status.
type Call = (&'static str, Value, &'static str, i64);

fn write(path: &str, content: &str) -> Call {
    ("Write", json!({"file_path": path, "content": content}), "ok", 0)
}

fn bash(command: &str, result: &'static str, exit: i64) -> Call {
    ("Bash", json!({"command": command}), result, exit)
}

fn trajectory(calls: &[Call]) -> Trajectory {
    let step = |(at, (tool, arguments, result, exit)): (usize, &Call)| {
        json!({
            "step_id": at + 1, "source": "agent", "message": "",
            "tool_calls": [{"tool_call_id": "c", "function_name": tool, "arguments": arguments}],
            "observation": {"results": [{"source_call_id": "c", "content": result, "extra": {"exit": exit}}]},
        })
    };
    let steps: Vec<Value> = calls.iter().enumerate().map(step).collect();
    let agent = json!({"name": "t", "version": "1"});
    serde_json::from_value(json!({"schema_version": "ATIF-v1.7", "agent": agent, "steps": steps})).unwrap()
}

struct Case<'a> {
    calls: &'a [Call],
    tokens: u64,
    checks: &'a [(&'a str, bool)],
    passed: Option<bool>,
}

fn found(one: &Case<'_>, other: &Case<'_>, prompt: &str) -> Vec<Finding> {
    let skill = skill();
    let traces = [trajectory(one.calls), trajectory(other.calls)];
    let evidence = traces.each_ref().map(|trace| RunEvidence::new(trace, &Left::default(), [&skill]));
    let known = Known::new(prompt, &evidence);
    let of = adherences(&skill, &evidence, &known);
    let facts = |at: usize, case: &Case<'_>| {
        let check = |(name, passed): &(&str, bool)| TestCheck {
            name: (*name).to_owned(),
            passed: Some(*passed),
            message: String::new(),
        };
        let checks = case.checks.iter().map(check).collect();
        RunFacts::new(actions(&traces[at]), HashSet::new(), case.tokens, checks, case.passed)
    };
    let (one, other) = (facts(0, one), facts(1, other));
    let (of_one, of_other) = (&of[0], &of[1]);
    patterns(&Pair { one: &one, other: &other, of_one, of_other, skill: &skill, prompt, known: &known })
}

/// Pattern, line of the skill, step.
#[track_caller]
fn check(one: &[Call], other: &[Call], prompt: &str, expected: &[(Pattern, usize, usize)]) {
    let case = |calls| Case { calls, tokens: 100, checks: &[], passed: None };
    let found = found(&case(one), &case(other), prompt);
    let shown: Vec<_> = found.iter().map(|one| (one.pattern, one.skill_line, one.step)).collect();
    assert_eq!(shown, expected, "{found:#?}");
}

#[test]
fn three_parts_in_the_order_of_the_skill_are_scaffolding() {
    const P: Pattern = Pattern::ProceduralScaffolding;
    let first = || write("a.md", "zq_seal_7731");
    let second = || write("a.md", "zq_month_4482");
    let third = || write("a.md", "zq_sign_9917");
    check(&[first(), second(), third(), bash("cat a.md", "x", 0)], &[], "a.md", &[(P, 10, 3)]);
    check(&[second(), first(), third(), bash("cat a.md", "x", 0)], &[], "a.md", &[]);
    check(&[first(), second(), bash("cat a.md", "x", 0)], &[], "a.md", &[]);
    // At once is no order, and what the other run does too is not the skill's.
    check(&[write("a.md", "zq_seal_7731\nzq_month_4482\nzq_sign_9917")], &[], "a.md", &[]);
    let all = || vec![first(), second(), third(), bash("cat a.md", "x", 0)];
    check(&all(), &[third()], "a.md", &[]);
    // Imports are idioms, whatever they import.
    let import = |text: &str| write("a.md", &format!("import {text}"));
    check(&[import("zq_seal_7731"), import("zq_month_4482"), import("zq_sign_9917")], &[], "a.md", &[]);
}

#[test]
fn only_the_order_of_programs_and_files_is_a_procedure() {
    let text = |text: &str| Box::new(Probe::Text(text.to_owned()));
    let script = |path: &str| Box::new(Probe::Script(path.to_owned()));
    assert!(is_procedure(&Probe::Sequence { first: script("a.py"), then: script("b.py") }));
    assert!(is_procedure(&Probe::Sequence { first: text("a.txt"), then: text("out/b.json") }));
    assert!(!is_procedure(&Probe::Sequence { first: text("start"), then: text("id") }));
    assert!(!is_procedure(&Probe::Sequence { first: text("1.25"), then: text("2.5") }));
    assert!(!is_procedure(&Probe::Script("a.py".to_owned())));
}

#[test]
fn a_guard_that_follows_a_directive_is_prompted() {
    let guard = || write("a.py", "if zq_seal_7731 is None:\n    raise ValueError\n");
    check(&[guard()], &[], "a.py", &[(Pattern::EdgeCasePrompting, 6, 1)]);
    check(&[guard()], &[], "a.py zq_seal_7731", &[]);
    check(&[write("a.py", "x = zq_seal_7731\n")], &[], "a.py", &[]);
}

#[test]
fn searching_in_vain_for_a_file_of_the_skill_is_redundant() {
    const R: Pattern = Pattern::RedundantExploration;
    let missing = "cat: rounding_zq77.md: No such file or directory";
    let look = || bash("cat docs/rounding_zq77.md", missing, 1);
    check(&[look()], &[], "", &[(R, 11, 1)]);
    check(&[bash("grep -rn rounding_zq77.md .", "", 1)], &[], "", &[(R, 11, 1)]);
    check(&[look()], &[], "Use rounding_zq77.md.", &[]);
    check(&[look()], &[look()], "", &[]);
    check(&[look(), bash("cat rounding_zq77.md", "text", 0)], &[], "", &[]);
    // The program is missing, or the file is excluded from the search.
    check(&[bash("tree rounding_zq77.md", "bash: tree: command not found", 127)], &[], "", &[]);
    for command in [
        "tree -I rounding_zq77.md",
        "grep -rn x --exclude=rounding_zq77.md .",
        "grep -rn x --exclude rounding_zq77.md .",
        "rg x -g !rounding_zq77.md",
        "find . -not -path ./rounding_zq77.md",
        "find . -path ./rounding_zq77.md -prune -o -print",
        "grep -v rounding_zq77.md list.txt",
    ] {
        check(&[bash(command, "", 1)], &[], "", &[]);
    }
}

#[test]
fn values_of_examples_are_anchors_unless_they_are_explained() {
    const S: Pattern = Pattern::SurfaceAnchoring;
    let line = || write("a.env", "url = https://zq.example/ledger_77");
    check(&[line()], &[], "a.env", &[(S, 12, 1)]);
    check(&[line()], &[], "a.env https://zq.example/ledger_77", &[]);
    check(&[line()], &[line()], "a.env", &[]);
    // A run that passes all checks was not led astray.
    let passed = Case { calls: &[line()], tokens: 100, checks: &[("url", true)], passed: None };
    assert_eq!(found(&passed, &Case { calls: &[], tokens: 100, checks: &[], passed: None }, "a.env"), []);
    for (text, expected) in [
        ("src/ledger_main", true),
        ("0.8.14", true),
        ("acct-7731", true),
        ("user@zq.example", true),
        ("ledger_main", false),
        ("read_csv(path)", false),
        ("./x", false),
        ("utf-8", false),
    ] {
        assert_eq!(is_value(text), expected, "{text}");
    }
}

#[test]
fn documents_beside_the_task_that_follow_two_directives_bleed() {
    const C: Pattern = Pattern::ConceptBleed;
    let content = "zq_seal_7731\nzq_month_4482\n";
    check(&[write("extra/overview.md", content)], &[], "a.csv", &[(C, 6, 1)]);
    check(&[write("extra/overview.md", content)], &[], "Write overview.md.", &[]);
    check(&[write("extra/overview.md", content)], &[], "Give an overview.", &[]);
    check(&[write("extra/overview.md", content)], &[write("extra/overview.md", "x")], "a.csv", &[]);
    check(&[write("extra/overview.md", "zq_seal_7731")], &[], "a.csv", &[]);
    check(&[write("extra/overview.py", content)], &[], "a.csv", &[]);
}

#[test]
fn ending_with_a_write_after_following_the_skill_is_premature() {
    const C: Pattern = Pattern::PrematureClosure;
    let follow = || write("a.md", "zq_seal_7731");
    let checked = [write("a.md", "y"), bash("pytest -q", "ok", 0)];
    check(&[follow()], &checked, "a.md", &[(C, 6, 1)]);
    check(&[follow(), bash("pytest -q", "ok", 0)], &checked, "a.md", &[]);
    check(&[follow(), bash("cat a.md", "ok", 0)], &checked, "a.md", &[]);
    check(&[write("a.md", "z")], &checked, "a.md", &[]);
    check(&[follow()], &[write("a.md", "y")], "a.md", &[]);
}

#[test]
fn a_longer_run_that_follows_and_gains_nothing_is_inert() {
    let of = |tokens: u64, content: &str, passed: bool| {
        let (calls, others) = ([write("a.md", content)], [write("a.md", "y")]);
        let one =
            Case { calls: &calls, tokens, checks: &[("totals", passed), ("header", false)], passed: None };
        let other = Case {
            calls: &others,
            tokens: 100,
            checks: &[("totals", false), ("header", false)],
            passed: None,
        };
        found(&one, &other, "a.md").iter().map(|found| found.pattern).collect::<Vec<_>>()
    };
    assert_eq!(of(111, "z", false), [Pattern::SkillInertia]);
    assert_eq!(of(110, "z", false), []);
    assert_eq!(of(111, "zq_seal_7731", false), []);
    assert_eq!(of(111, "z", true), []);
}

#[test]
fn nothing_is_said_of_a_gain_that_was_not_measured() {
    let of = |one: Option<bool>, other: Option<bool>| {
        let (calls, others) = ([write("a.md", "z")], [write("a.md", "y")]);
        let one = Case { calls: &calls, tokens: 111, checks: &[], passed: one };
        let other = Case { calls: &others, tokens: 100, checks: &[], passed: other };
        let findings = found(&one, &other, "a.md");
        findings
            .iter()
            .map(|found| found.sentence.contains("verifier did not pass it"))
            .collect::<Vec<bool>>()
    };
    let none: Vec<bool> = Vec::new();
    // Neither checks nor outcomes are known, or only those of one run.
    assert_eq!(of(None, None), none);
    assert_eq!(of(Some(false), None), none);
    assert_eq!(of(Some(false), Some(false)), [true]);
    assert_eq!(of(Some(true), Some(true)), [true]);
    assert_eq!(of(Some(true), Some(false)), none);
}

#[test]
fn one_finding_is_kept_for_a_span() {
    let both = write("a.py", "if zq_seal_7731 is None or zq_month_4482 is None:\n    raise ValueError\n");
    check(&[both], &[], "a.py", &[(Pattern::EdgeCasePrompting, 6, 1)]);
}

#[test]
fn the_longest_order_is_found() {
    let check = |values: &[usize], expected: usize| {
        assert_eq!(longest_in_order(values).len(), expected, "{values:?}");
    };
    check(&[], 0);
    check(&[5], 1);
    check(&[1, 1, 1], 1);
    check(&[3, 2, 1], 1);
    check(&[4, 1, 2, 9, 3], 3);
}
