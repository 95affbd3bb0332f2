use super::*;
use crate::format::Format;

/// Writes files and finds scenarios among them.
fn found(files: &[(&str, &str)]) -> Scenarios {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    find(folder.path()).unwrap()
}

const CRITERIA: &str = r#"{"context": "c", "type": "weighted_checklist", "checklist": [
    {"name": "n", "max_score": 100, "description": "d"}]}"#;

#[test]
fn scenarios_of_tessl() {
    let found = found(&[
        ("plugin/evals/one/task.md", "# Do it\n"),
        ("plugin/evals/one/criteria.json", CRITERIA),
        ("plugin/evals/one/capability.txt", "Doing\n"),
        ("plugin/evals/one/fixture/src/a.txt", "a"),
        ("plugin/evals/two/task.md", "# Do it\n"),
        ("plugin/evals/three/criteria.json", CRITERIA),
        ("plugin/evals/four/criteria.json", "{"),
        ("plugin/evals/summary_infeasible.json", r#"{"infeasible_scenarios": [{"scenario": "s"}]}"#),
        ("node_modules/x/evals/one/criteria.json", CRITERIA),
    ]);
    let [one] = found.scenarios.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        (one.name.as_str(), one.group.as_str(), one.title.as_deref()),
        ("plugin-one", "plugin", Some("Doing"))
    );
    assert_eq!(one.inputs, [Input { to: "src/a.txt".into(), content: b"a".to_vec() }]);
    let mut refused: Vec<_> =
        found.refused.iter().map(|refused| format!("{}: {}", refused.path, refused.reason)).collect();
    refused.sort();
    assert_eq!(
        refused,
        [
            "plugin/evals/four/criteria.json: EOF while parsing an object at line 1 column 1",
            "plugin/evals/three/criteria.json: task.md is not beside it",
            "plugin/evals/two/task.md: criteria.json is not beside it",
        ]
    );
    assert_eq!(found.infeasible[0].scenarios[0].scenario, "s");
}

#[test]
fn evaluations_of_skill_creator() {
    let evals = r#"{"skill_name": "s", "evals": [
        {"id": 1, "prompt": "p", "files": ["evals/in.txt"], "expectations": ["x"]},
        {"id": 2, "prompt": "p", "files": ["missing.txt"], "expectations": ["x"]},
        {"id": 3, "prompt": "p", "files": ["../../../etc/passwd"], "expectations": ["x"]},
        {"id": 4, "prompt": "p"}]}"#;
    let found = found(&[("s/evals/evals.json", evals), ("s/evals/in.txt", "text")]);
    let names: Vec<_> = found.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    assert_eq!(names, ["s-1"]);
    assert_eq!(found.scenarios[0].inputs[0].to, Path::new("evals/in.txt"));
    let refused: Vec<_> = found.refused.iter().map(|refused| refused.reason.as_str()).collect();
    assert_eq!(
        refused,
        [
            "the input file \"missing.txt\" is not there",
            "the input file \"../../../etc/passwd\" is outside of its folder",
            "it has no expectations"
        ]
    );
}

#[test]
fn the_other_formats_are_recognized() {
    let found = found(&[
        ("a/eval.yaml", "skill: w\ntasks: ['tasks/*.yaml', 'none/*.yaml']\n"),
        ("a/tasks/t.yaml", "id: t\ninputs: {prompt: p}\nexpected: {output_contains: [x]}\n"),
        ("b/eval.yaml", "scenarios:\n- {name: n, prompt: p, rubric: [r]}\n"),
        ("c/eval.yaml", "name: neither\n"),
        ("d/promptfooconfig.yaml", "prompts: [p]\ntests: [{assert: [{type: llm-rubric, value: v}]}]\n"),
        ("e/instruction.md", "Do it\n"),
        ("e/tests/quality/judge.toml", "[judge]\n[[criterion]]\ndescription = 'd'\n"),
        (
            "f/task.json",
            r#"{"name": "n", "query": "q", "requirements": [{"requirement_id": 0, "criteria": "c"}]}"#,
        ),
        ("g/tree.json", r#"{"id": "r", "requirements": "all", "weight": 1, "sub_tasks": []}"#),
        ("h/package.json", "{}"),
        ("h/Cargo.toml", "[package]\n"),
    ]);
    let names: Vec<_> = found
        .scenarios
        .iter()
        .map(|scenario| (scenario.format.name(), scenario.name.as_str(), scenario.instruction.as_deref()))
        .collect();
    assert_eq!(
        names,
        [
            ("waza", "w-t", Some("p")),
            ("dotnet", "b-n", Some("p")),
            ("promptfoo", "d-test-1", Some("p")),
            ("rewardkit", "e-quality-judge", Some("Do it\n")),
            ("devai", "n", Some("q")),
            ("paperbench", "tree", None),
        ]
    );
    let refused: Vec<_> = found.refused.iter().map(|refused| refused.reason.as_str()).collect();
    assert_eq!(refused, ["no file matches \"none/*.yaml\"", "it has neither `scenarios` nor `tasks`"]);
}

#[test]
#[ignore = "needs shared data"]
fn published_scenarios_are_read() {
    let archive = assay_test::shared("rubrics/rubrics.tar.zst");
    let bytes = zstd::decode_all(fs::read(archive).unwrap().as_slice()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    tar::Archive::new(bytes.as_slice()).unpack(folder.path()).unwrap();
    let found = find(folder.path()).unwrap();
    let count = |formats: &[Format]| {
        found.scenarios.iter().filter(|scenario| formats.contains(&scenario.format)).count()
    };
    let others: Vec<_> = found
        .refused
        .iter()
        .filter(|refused| !refused.path.contains("waza") && !refused.reason.contains("is not there"))
        .collect();
    assert!(others.is_empty(), "{others:#?}");
    assert_eq!(count(&[Format::Tessl, Format::TesslCriteria]), 62);
    assert_eq!(count(&[Format::SkillCreator]), 48);
}
