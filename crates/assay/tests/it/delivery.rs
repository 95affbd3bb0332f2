//! A treatment that was not there for the agent gives no verdict.

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};
use crate::suite;

const SKILL: &str = "# Reports\n\nEvery report of this kind ends with the one word that was agreed upon.\n";

/// Six tasks under `none` and `self-generated`, whose agent does `work`.
fn lab(work: &str) -> Fixture {
    suite::lab(6)
        .script(&[json!({ "turn": 0, "seen": "reusable skills into the folder", "run": work })])
        .experiment(|design| design.conditions(&["none", "self-generated"]).repetitions(2))
}

fn comparison(document: &Value) -> [&Value; 4] {
    let comparison = &document["comparisons"][0];
    ["role", "delivered", "verdict", "reason"].map(|key| &comparison[key])
}

#[test]
fn skills_that_were_never_written_are_not_compared() {
    needs_bubblewrap!();
    let lab = lab("echo right > answer.txt");
    let (document, _) = lab.run(&["--no-checks"]);
    let expected = [&json!("self-generated"), &json!(0.0), &json!("inconclusive"), &json!("not-delivered")];
    assert_eq!(comparison(&document["report"]), expected, "{document:#}");
    // All trials pass with it, and none without.
    assert_eq!(document["report"]["comparisons"][0]["lift"], json!(1.0));
    let arms = document["report"]["arms"].as_array().unwrap();
    assert_eq!(arms[0]["generated"], Value::Null);
    assert_eq!(
        arms[1]["generated"],
        json!({ "trials": 12, "trials_with_skills": 0, "skills": 0, "bytes_each": null, "opened": 0 })
    );
    let report = lab.assay(&["report", "lab"]).ok().stdout;
    let flat = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("Not delivered: the agent wrote a skill in 0% of the condition's trials only, so there is no verdict."),
        "{report}"
    );
    assert!(flat.contains("`self-generated` was not tested: its treatment was available in 0%"), "{report}");
    assert!(!flat.contains("assay plan"), "{report}");
    for format in ["markdown", "html"] {
        let file = format!("report.{format}");
        lab.assay(&["report", "lab", "--format", format, "--out", &file]).ok();
        let text = std::fs::read_to_string(lab.path(&file)).unwrap();
        assert!(text.contains("Not delivered"), "{format}");
    }
    // Records of earlier versions do not say what was written: the kept files do.
    lab.edit_records(|record| {
        record.as_object_mut().unwrap().remove("generated");
    });
    let again = lab.assay(&["report", "lab", "--format", "json"]).ok().json();
    assert_eq!(comparison(&again), expected, "{again:#}");
}

#[test]
fn written_skills_are_compared_and_counted() {
    needs_bubblewrap!();
    let write = format!(
        "mkdir -p /skills/reports && printf '{}' > /skills/reports/SKILL.md",
        SKILL.replace('\n', "\\n")
    );
    for (work, opened) in [(write.clone(), 0), (format!("{write}; cat /skills/reports/SKILL.md"), 12)] {
        let lab = lab(&format!("{work}; echo right > answer.txt"));
        let (document, _) = lab.run(&["--no-checks"]);
        let expected = [&json!("self-generated"), &json!(1.0), &json!("helps"), &Value::Null];
        assert_eq!(comparison(&document["report"]), expected, "{document:#}");
        let generated = &document["report"]["arms"][1]["generated"];
        let size = SKILL.len() as f64;
        assert_eq!(
            *generated,
            json!({ "trials": 12, "trials_with_skills": 12, "skills": 12, "bytes_each": size, "opened": opened })
        );
        let report = lab.assay(&["report", "lab", "--details"]).ok().stdout;
        assert!(report.contains("Skills that the agent wrote") && report.contains("12/12"), "{report}");
    }
}

/// Not opening a skill is a result.
#[test]
fn a_skill_that_is_announced_and_not_opened_is_delivered() {
    needs_bubblewrap!();
    let lab = suite::lab(6)
        .script(&[json!({ "turn": 0, "run": "echo wrong > answer.txt" })])
        .experiment(|design| suite::paired(design.conditions(&["none", "curated", "plain"]), 6));
    let (document, _) = lab.run(&["--no-checks"]);
    let comparisons = document["report"]["comparisons"].as_array().unwrap();
    let found: Vec<&Value> = comparisons.iter().map(|comparison| &comparison["delivered"]).collect();
    assert_eq!(found, [&json!(1.0), &json!(1.0)], "{document:#}");
    assert_eq!(document["report"]["arms"][1]["exposure"]["opened"], json!(0.0));
    assert!(comparisons.iter().all(|comparison| comparison["reason"] != "not-delivered"));
}

/// A text is delivered if it was in what the model was sent; records of before do not say.
#[test]
fn a_text_of_the_prompt_is_delivered_if_the_model_was_sent_it() {
    needs_bubblewrap!();
    let lab = suite::lab(6)
        .file("docs/style.md", "# Style\n\nA report ends with the agreed word, which is right.\n")
        .script(&[
            json!({ "turn": 0, "seen": "agreed word for this kind of report is `right`", "run": "echo right > answer.txt" }),
            json!({ "turn": 0, "run": "echo wrong > answer.txt" }),
        ])
        .experiment(|design| suite::paired(design.conditions(&["none", "plain", "documents"]), 6));
    let (document, _) = lab.run(&["--no-checks"]);
    let delivered = |document: &Value| -> Vec<Value> {
        let comparisons = document["comparisons"].as_array().unwrap();
        comparisons.iter().map(|comparison| comparison["delivered"].clone()).collect()
    };
    assert_eq!(delivered(&document["report"]), [json!(1.0), json!(1.0)], "{document:#}");
    assert_eq!(document["report"]["comparisons"][0]["verdict"], "helps");
    for record in lab.records() {
        let has_text = record["condition"] != "none";
        assert_eq!(record.get("text_sent"), has_text.then_some(&json!(true)), "{record:#}");
    }
    let report = || lab.assay(&["report", "lab", "--format", "json"]).ok().json();
    // A prompt that came without its text.
    lab.edit_records(|record| {
        if record["condition"] == "plain" {
            record["text_sent"] = json!(false);
        }
    });
    let found = report();
    assert_eq!(delivered(&found), [json!(0.0), json!(1.0)], "{found:#}");
    assert_eq!(
        (&found["comparisons"][0]["verdict"], &found["comparisons"][0]["reason"]),
        (&json!("inconclusive"), &json!("not-delivered"))
    );
    let text = lab.assay(&["report", "lab"]).ok().stdout;
    assert!(text.contains("Not delivered"), "{text}");
    // Records of earlier versions.
    lab.edit_records(|record| {
        record.as_object_mut().unwrap().remove("text_sent");
    });
    let found = report();
    assert_eq!(delivered(&found), [Value::Null, Value::Null], "{found:#}");
    assert_eq!(found["comparisons"][0]["verdict"], "helps");
}
