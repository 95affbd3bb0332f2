//! Rubrics: import from the formats of other tools, defects, export.

use serde_json::Value;

use crate::fixture::{Design, Fixture};

const CRITERIA: &str = r#"{"context": "Tests the report", "type": "weighted_checklist", "checklist": [
    {"name": "File", "max_score": 20, "description": "report.md exists"},
    {"name": "Total", "max_score": 80, "description": "The total equals the sum of the rows"}]}"#;

fn read(lab: &Fixture, path: &str) -> String {
    std::fs::read_to_string(lab.path(path)).unwrap()
}

/// A skill with two scenarios, one of which cannot be used.
fn scenarios(lab: &Fixture) {
    lab.write("reports/SKILL.md", "---\nname: reports\ndescription: Reports.\n---\nWrite reports.\n");
    lab.write("reports/evals/sums/task.md", "# Report\n\nWrite report.md with a table of the rows.\n");
    lab.write("reports/evals/sums/criteria.json", CRITERIA);
    lab.write("reports/evals/sums/fixture/rows.csv", "a,1\n");
    lab.write("reports/evals/broken/task.md", "# Report\n");
    lab.write("reports/evals/broken/criteria.json", "{\"checklist\": [\n");
}

#[test]
fn scenarios_become_tasks() {
    let lab = Fixture::new();
    scenarios(&lab);
    let ran = lab.assay(&["import", "rubric", "reports", "--out", "suite"]).ended(1);
    insta::assert_snapshot!(ran.stdout, @r"
    suite/reports-sums  tessl           2 items
    refused: reports/evals/broken/criteria.json: EOF while parsing a list at line 2 column 0
    1 rubric imported, 1 refused
    ");
    assert_eq!(read(&lab, "suite/reports-sums/instruction.md"), read(&lab, "reports/evals/sums/task.md"));
    assert_eq!(read(&lab, "suite/reports-sums/environment/files/rows.csv"), "a,1\n");
    // The task is one that other commands read.
    let checked = lab.assay(&["task", "check", "suite/reports-sums", "--format", "json"]).json();
    assert!(!checked.to_string().contains("unreadable"), "{checked}");

    // A second import replaces nothing.
    let again =
        lab.assay(&["import", "rubric", "reports", "--out", "suite", "--format", "json"]).ended(1).json();
    assert_eq!(again["imported"], 0);
    let reasons: Vec<_> =
        again["refused"].as_array().unwrap().iter().map(|one| one["reason"].clone()).collect();
    assert!(reasons.contains(&Value::from("suite/reports-sums exists")), "{reasons:?}");
    lab.assay(&["import", "rubric", "suite/none"]).ended(2);
}

#[test]
fn defects_are_reported() {
    let lab = Fixture::new();
    scenarios(&lab);
    let ran = lab.assay(&["judge", "check", "reports"]).ended(1);
    insta::assert_snapshot!(ran.stdout, @r#"
    reports/evals/sums
      in-task              file: the instruction states what is required: "Write report.md with a table of the rows."
    cannot be read: reports/evals/broken/criteria.json: EOF while parsing a list at line 2 column 0
    1 rubric, 2 items, 1 finding (in-task 1)
    "#);
    lab.assay(&["import", "rubric", "reports/evals/sums", "--out", "suite"]).ok();
    let found = lab.assay(&["judge", "check", "suite", "--format", "json"]).ended(1).json();
    assert_eq!(found["counts"]["in-task"], 1);
    assert_eq!(found["rubrics"][0]["items"], 2);
}

#[test]
fn rubrics_are_written_in_other_formats() {
    let lab = Fixture::new();
    scenarios(&lab);
    lab.assay(&["import", "rubric", "reports/evals/sums", "--out", "suite"]).ok();
    let task = "suite/sums";
    for format in ["tessl", "tessl-criteria", "skill-creator", "waza", "devai"] {
        lab.assay(&["export", "rubric", task, "--as", format, "--skill", "reports", "--out", format]).ok();
        let read = lab.assay(&["import", "rubric", format, "--dry-run", "--format", "json"]).ok().json();
        assert_eq!(
            (&read["imported"], &read["tasks"][0]["items"]),
            (&Value::from(1), &Value::from(2)),
            "{format}"
        );
    }
    let refused = lab.assay(&["export", "rubric", task, "--as", "waza", "--out", "waza"]).ended(2);
    assert!(refused.stderr.contains("exists"), "{}", refused.stderr);
}

/// A task with a rubric is not run as if it had a verifier.
#[test]
fn trials_of_tasks_with_a_rubric_are_left_out() {
    let lab = Fixture::new().script(&[serde_json::json!({"say": "done"})]).experiment(Design::no_sandbox);
    scenarios(&lab);
    lab.assay(&["import", "rubric", "reports/evals/sums"]).ok();
    let planned = lab.assay(&["plan", "experiment.toml"]);
    let said = format!("{}{}", planned.stdout, planned.stderr);
    assert!(said.contains("it is graded by tests/rubric.json"), "{said}");
}

/// Scenarios that others published.
#[test]
#[ignore = "needs shared data"]
fn published_rubrics_are_imported() {
    let lab = Fixture::new();
    let archive = std::fs::File::open(assay_test::shared("rubrics/rubrics.tar.zst")).unwrap();
    tar::Archive::new(zstd::Decoder::new(archive).unwrap()).unpack(lab.path("rubrics")).unwrap();
    let found = lab.assay(&["import", "rubric", "rubrics/tessl", "--format", "json"]).ok().json();
    assert_eq!((&found["imported"], found["refused"].as_array().map(Vec::len)), (&Value::from(62), Some(0)));
    for task in found["tasks"].as_array().unwrap() {
        let folder = task["task"].as_str().unwrap();
        assert!(
            !std::fs::read_to_string(lab.path(&format!("{folder}/instruction.md")))
                .unwrap()
                .trim()
                .is_empty(),
            "{folder}"
        );
    }
    let tree = assay_test::shared("judges/paperbench-rice.json.zst");
    let text = zstd::decode_all(std::fs::File::open(tree).unwrap()).unwrap();
    lab.write("trees/rice.json", String::from_utf8(text).unwrap());
    let found = lab.assay(&["import", "rubric", "trees", "--format", "json"]).ok().json();
    let recorded = &found["tasks"][0]["recorded"];
    assert_eq!(recorded["groups"], recorded["equal"], "{found}");
}

/// By labels of two language models (tests/data/judge/README.md).
#[test]
#[ignore = "needs shared data"]
fn findings_are_right_in_four_of_five_cases() {
    let lab = Fixture::new();
    let archive = std::fs::File::open(assay_test::shared("rubrics/rubrics.tar.zst")).unwrap();
    tar::Archive::new(zstd::Decoder::new(archive).unwrap()).unpack(lab.path("rubrics")).unwrap();
    let found = lab.assay(&["judge", "check", "rubrics", "--format", "json"]).ended(1).json();
    let labels: std::collections::BTreeMap<&str, bool> = include_str!("../data/judge/finding-labels.csv")
        .lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            (fields[0], fields[2] == "true" && fields[3] == "true")
        })
        .collect();
    let (mut right, mut labeled, mut unlabeled) = (0, 0, 0);
    for rubric in found["rubrics"].as_array().unwrap() {
        let path = rubric["path"].as_str().unwrap().strip_prefix("rubrics/").unwrap();
        for finding in
            rubric["findings"].as_array().unwrap().iter().filter(|finding| finding["defect"] != "sum")
        {
            let text = |name: &str| finding[name].as_str().unwrap();
            let key =
                blake3::hash(format!("{path}\n{}\n{}", text("item"), text("defect")).as_bytes()).to_hex();
            match labels.get(&key.as_str()[..16]) {
                Some(is_right) => {
                    labeled += 1;
                    right += usize::from(*is_right);
                }
                None => unlabeled += 1,
            }
        }
    }
    println!("{right} of {labeled} labeled findings are right, {unlabeled} have no label");
    assert!(labeled >= 30 && 5 * right >= 4 * labeled, "{right} of {labeled}");
    assert!(unlabeled * 5 <= labeled, "{unlabeled} findings without a label: have them labeled");
}
