//! Each pattern on a pair that shows it, on one that just does not, and on a run compared with
//! itself.

use assay_trace::Trajectory;
use serde_json::{Value, json};

use super::*;
use crate::behaviour::actions;

const SKILL: &str = "---\nname: ledger-export\ndescription: writes ledger exports\n---\n# Prepare\nrun the totals script beforehand\n```sh\ntrap remove_scratch_files EXIT\nMARKET_LEDGER_URL=postgres://example/ledger_prod_store\n```\n# Write\nname each export after its closing month\nsee references/rounding_rules.md for details\n# Finish\nsign every finished export with openssl\n";

fn facts(calls: &[(&str, Value, bool)], tokens: u64) -> RunFacts {
    let step = |(at, (tool, arguments, failed)): (usize, &(&str, Value, bool))| {
        json!({
            "step_id": at + 1, "source": "agent", "message": "",
            "tool_calls": [{"tool_call_id": "c", "function_name": tool, "arguments": arguments}],
            "observation": {"results": [{"source_call_id": "c", "content": "x", "extra": {"is_error": failed}}]},
        })
    };
    let steps: Vec<Value> = calls.iter().enumerate().map(step).collect();
    let agent = json!({"name": "t", "version": "1"});
    let trajectory: Trajectory =
        serde_json::from_value(json!({"schema_version": "ATIF-v1.7", "agent": agent, "steps": steps}))
            .unwrap();
    let skill = SkillText::parse(SKILL.as_bytes());
    RunFacts::new(TraceText::new(&trajectory, [&skill]), actions(&trajectory), HashSet::new(), tokens)
}

fn write(path: &str, content: &str) -> (&'static str, Value, bool) {
    ("Write", json!({"file_path": path, "content": content}), false)
}

fn run(command: &str) -> (&'static str, Value, bool) {
    ("Bash", json!({"command": command}), false)
}

/// Pattern, line of the skill, step.
fn check(
    one: &[(&str, Value, bool)],
    other: &[(&str, Value, bool)],
    prompt: &str,
    expected: &[(Pattern, usize, usize)],
) {
    let skill = SkillText::parse(SKILL.as_bytes());
    let background = Background::new(prompt, &skill, []);
    let (one, other) = (facts(one, 100), facts(other, 100));
    let found = |one: &RunFacts, other: &RunFacts| -> Vec<_> {
        let found = patterns(one, other, &skill, &background, prompt);
        found.into_iter().map(|finding| (finding.pattern, finding.skill_line, finding.step)).collect()
    };
    assert_eq!(found(&one, &other), expected);
    assert_eq!(found(&one, &one), [], "a run has nothing over itself");
}

#[test]
fn parts_in_the_order_of_the_skill_scaffold() {
    const P: Pattern = Pattern::ProceduralScaffolding;
    let first = || write("a.md", "run the totals script");
    let second = || write("a.md", "name each export after closing");
    let third = || write("a.md", "sign every finished export");
    check(&[first(), second(), third()], &[], "a.md", &[(P, 12, 2), (P, 15, 3)]);
    // The other way round only two of three are in order.
    check(&[second(), first(), third()], &[], "a.md", &[(P, 15, 3)]);
    check(&[third(), second(), first()], &[], "a.md", &[]);
    check(&[first()], &[], "a.md", &[]);
    // What the other run does too is not the skill's.
    check(&[first(), second(), third()], &[third(), second()], "a.md", &[]);
}

#[test]
fn a_guard_in_the_words_of_the_skill_is_prompted() {
    use Pattern::{EdgeCasePrompting as E, SurfaceAnchoring as S};
    let guard = || write("a.sh", "set +x\ntrap remove_scratch_files EXIT\nmain");
    check(&[guard()], &[], "a.sh", &[(E, 8, 1), (S, 8, 1)]);
    // The task's own words are not the skill's.
    check(&[guard()], &[], "a.sh trap remove_scratch_files EXIT", &[]);
    // A comment is no guard; the literal is still the skill's.
    check(&[write("a.sh", "# trap remove_scratch_files EXIT")], &[], "a.sh", &[(S, 8, 1)]);
}

#[test]
fn literals_of_examples_are_anchors_unless_somebody_else_knows_them() {
    use Pattern::SurfaceAnchoring as S;
    let line = || write("a.env", "url = postgres://example/ledger_prod_store");
    check(&[line()], &[], "a.env", &[(S, 9, 1)]);
    check(&[line()], &[], "a.env example ledger_prod_store", &[]);
    assert_eq!(literals("version 0.8.14, of 2 at src/ledger_main and foBar"), ["0.8.14", "src/ledger_main"]);
    assert_eq!(literals("fooBarBaz"), ["fooBarBaz"]);
}

#[test]
fn files_beside_the_task_with_words_of_the_skill_bleed() {
    use Pattern::{ConceptBleed as C, ProceduralScaffolding as P};
    let content = "run the totals script\nname each export after closing\n";
    check(&[write("extra/notes.md", content)], &[], "a.md", &[(P, 12, 1), (C, 6, 1)]);
    // Named by the task, written by the other run too, or one phrase only.
    check(&[write("extra/notes.md", content)], &[], "write notes.md", &[(P, 12, 1)]);
    check(&[write("extra/notes.md", content)], &[write("extra/notes.md", "x")], "a.md", &[(P, 12, 1)]);
    check(&[write("extra/notes.md", "run the totals script")], &[], "a.md", &[]);
}

#[test]
fn looking_in_vain_for_what_the_skill_names_is_redundant() {
    use Pattern::RedundantExploration as R;
    let look = |failed| ("Read", json!({"file_path": "/x/references/rounding_rules.md"}), failed);
    check(&[look(true)], &[], "", &[(R, 13, 1)]);
    check(&[look(false)], &[], "", &[]);
    check(&[look(true)], &[look(true)], "", &[]);
    check(&[look(true)], &[], "rounding_rules.md", &[]);
    check(&[("Read", json!({"file_path": "other_file.md"}), true)], &[], "", &[]);
}

#[test]
fn leaving_out_the_check_after_following_the_skill_is_premature() {
    use Pattern::PrematureClosure as C;
    let follow = || write("a.md", "run the totals script");
    let checked = [write("a.md", "y"), run("pytest -q")];
    check(&[follow()], &checked, "a.md", &[(C, 6, 1)]);
    check(&[follow(), run("pytest -q")], &checked, "a.md", &[]);
    check(&[run("pytest -q"), follow()], &checked, "a.md", &[(C, 6, 2)]);
    // Without words of the skill, or where the other run does not check either.
    check(&[write("a.md", "z")], &checked, "a.md", &[]);
    check(&[follow()], &[write("a.md", "y")], "a.md", &[]);
}

#[test]
fn dearer_without_a_trace_of_the_skill_is_inert() {
    let skill = SkillText::parse(SKILL.as_bytes());
    let of = |tokens: u64, content: &str| {
        let (one, other) = (facts(&[write("a.md", content)], tokens), facts(&[write("a.md", "y")], 100));
        patterns(&one, &other, &skill, &Background::default(), "a.md")
            .iter()
            .map(|f| f.pattern)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(111, "z"), [Pattern::SkillInertia]);
    assert_eq!(of(110, "z"), []);
    assert_eq!(of(111, "run the totals script"), []);
}

#[test]
fn the_longest_order_is_found() {
    let check = |values: &[usize], expected: usize| {
        {
            assert_eq!(longest_in_order(values).len(), expected, "{values:?}");
        };
    };
    check(&[], 0);
    check(&[5], 1);
    check(&[1, 1, 1], 3);
    check(&[3, 2, 1], 1);
    check(&[4, 1, 2, 9, 3], 3);
}
