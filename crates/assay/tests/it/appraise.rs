//! `assay appraise` and `assay import results`: second opinions on results of other tools.

use std::fs;
use std::path::{Path, PathBuf};

use assay_analysis::appraise::{AppraisalOptions, appraise_results};
use assay_trial::import::results::{ResultColumns, read_results};
use serde_json::json;

use crate::fixture::Fixture;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder with the example's result.
fn example() -> Fixture {
    let text = fs::read_to_string(project().join("examples/appraise/aggregate-result.json")).unwrap();
    Fixture::new().file("aggregate-result.json", text)
}

/// The blocks of a document that begin with this command.
fn shown(document: &str, command: &str) -> String {
    let text = fs::read_to_string(project().join(document)).unwrap();
    let start = format!("```console\n$ {command}\n");
    let block = text.split(&start).nth(1).unwrap_or_else(|| panic!("{document} does not show {command}"));
    block.split("```").next().unwrap().to_owned()
}

#[test]
fn the_guide_shows_what_is_printed() {
    let lab = example();
    let command = "assay appraise aggregate-result.json";
    assert_eq!(
        lab.assay(&["appraise", "aggregate-result.json"]).ok().stdout,
        shown("docs/guide/appraise.md", command)
    );
}

#[test]
fn the_json_has_its_parts_in_order_and_says_why_values_are_null() {
    let lab = example();
    let document = lab.assay(&["appraise", "aggregate-result.json", "--format", "json"]).ok().json();
    let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
    let first = ["schema", "source", "theirs", "ours", "warnings", "unused", "next"];
    assert_eq!(keys[..first.len()], first);
    assert_eq!(document["schema"], "assay.appraisal/1");
    assert_eq!(document["theirs"]["delta"], json!(0.625));
    assert_eq!(document["theirs"]["recomputed"], json!(0.625));
    assert_eq!(document["ours"]["verdict"], "inconclusive");
    let nulls = |part: &str| {
        let values = document[part].as_object().unwrap().iter();
        values
            .filter(|(_, value)| value.is_null())
            .map(|(key, _)| format!("{part}.{key}"))
            .collect::<Vec<_>>()
    };
    let promised = [
        "source.version",
        "theirs.delta",
        "ours.lift",
        "ours.ci95",
        "ours.verdict",
        "ours.power",
        "ours.mde",
        "next.command",
        "next.trials",
        "next.cost_usd",
    ];
    for path in ["source", "theirs", "ours", "next"].iter().flat_map(|part| nulls(part)) {
        let explained = document["missing"].get(&path).is_some();
        assert!(explained || !promised.contains(&path.as_str()), "{path} is null without a reason");
    }
    assert!(document["missing"].get("ours.mde").is_some());
}

#[test]
fn pages_badges_and_refusals() {
    let lab = example();
    let markdown = lab.assay(&["appraise", "aggregate-result.json", "--format", "markdown"]).ok().stdout;
    assert!(markdown.starts_with("# Appraisal of `greetings"), "{markdown}");
    assert!(markdown.contains("errors-scored"), "{markdown}");
    lab.assay(&["appraise", "aggregate-result.json", "--out", "page.html", "--badge", "badge.svg"]).ok();
    let page = fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains("default-src 'none'") && page.contains("inconclusive"), "{page}");
    let badge = fs::read_to_string(lab.path("badge.svg")).unwrap();
    assert!(badge.starts_with("<svg") && badge.contains("inconclusive"), "{badge}");

    let refused = |args: &[&str], expected: &str| {
        let ran = lab.assay(&[&["appraise"], args].concat()).ended(2);
        assert!(
            ran.stderr.starts_with("error: ") && ran.stderr.contains(expected),
            "{args:?}: {}",
            ran.stderr
        );
        assert_eq!(ran.stdout, "", "{args:?}");
    };
    lab.write("unknown.json", "{\"a\": 1}");
    lab.write("broken.json", "{\"schemaVersion\": 1, ");
    lab.write("arms.csv", "task,condition,score\na,x,0\na,y,1\n");
    lab.write("scale.csv", "task,condition,score\na,none,3\na,curated,9\n");
    refused(&["unknown.json"], "not a known format of results");
    refused(&["broken.json"], "broken.json: not valid JSON");
    refused(&["absent.json"], "cannot read absent.json");
    refused(&["arms.csv"], "--baseline NAME says which arm");
    refused(&["scale.csv"], "--range LOW..HIGH");
    refused(&["arms.csv", "--column", "tusk=a"], "invalid column");
    refused(&["arms.csv", "--margin", "0"], "--margin 0");
    lab.assay(&["appraise", "arms.csv", "--baseline", "x"]).ok();
    lab.assay(&["appraise", "scale.csv", "--range", "0..10"]).ok();
}

/// Names and reasons in files come from anywhere.
#[test]
fn hostile_names_are_escaped_in_every_format() {
    let lab = example();
    let text = fs::read_to_string(lab.path("aggregate-result.json")).unwrap();
    lab.write(
        "hostile.json",
        text.replace("greetings", "<script>\\u001b[31m&").replace("rate limit", "<b>`x`</b>"),
    );
    for (format, never) in
        [("terminal", "\u{1b}"), ("markdown", "<b>"), ("html", "<script>\u{fffd}"), ("html", "<b>`x`")]
    {
        let printed = lab.assay(&["appraise", "hostile.json", "--format", format]).ok().stdout;
        assert!(!printed.contains(never), "{format}: {printed}");
    }
}

#[test]
fn results_become_a_run_with_a_report() {
    let lab = example();
    let imported = lab
        .assay(&["import", "results", "aggregate-result.json", "--name", "greet", "--format", "json"])
        .ok()
        .json();
    assert_eq!(imported["imported"], 12);
    assert_eq!(imported["by_condition"], json!({"none": 6, "curated": 6}));
    assert_eq!(imported["by_outcome"]["infrastructure"], 1);
    let report = lab.assay(&["report", "greet", "--format", "json"]).ok().json();
    let document = lab.assay(&["appraise", "aggregate-result.json", "--format", "json"]).ok().json();
    assert_eq!(report["comparisons"][0]["lift"], document["ours"]["lift"]);
    let rates = lab.assay(&["import", "results", "absent.md"]).ended(2);
    assert!(rates.stderr.contains("cannot read absent.md"), "{}", rates.stderr);
}

/// A thousand results take a second at most, from the start of the program to the end of its output.
#[test]
fn a_thousand_results_take_a_second() {
    let mut table = "task,condition,score,model,cost_usd\n".to_owned();
    for trial in 0..1000 {
        let (task, arm) = (trial / 10, ["none", "curated"][trial % 2]);
        table.push_str(&format!("task-{task},{arm},{},claude,0.01\n", (trial / 3) % 2));
    }
    let lab = Fixture::new().file("results.csv", table);
    let started = std::time::Instant::now();
    let document = lab.assay(&["appraise", "results.csv", "--format", "json"]).ok().json();
    assert_eq!((&document["ours"]["tasks"], &document["ours"]["repetitions"]), (&json!(100), &json!(5)));
    // A debug build on a busy machine; a release build takes some hundredths of a second.
    assert!(started.elapsed().as_secs_f64() < 5.0, "{:?}", started.elapsed());
}

/// Every file of the shared results is appraised, or refused with a reason; differences are those that the tools print.
#[test]
#[ignore = "needs shared data"]
fn every_shared_file_is_appraised_or_refused() {
    let root = assay_test::shared("results");
    let (mut appraised, mut refused) = (0, Vec::new());
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let result = read_results(&path, &ResultColumns::default());
            let appraisal = result.map_err(|error| error.to_string()).and_then(|results| {
                let appraisal = appraise_results(&results, &AppraisalOptions::default())
                    .map_err(|error| error.to_string())?;
                Ok((results, appraisal))
            });
            match appraisal {
                Err(reason) => refused.push(reason),
                Ok((results, appraisal)) => {
                    appraised += 1;
                    let name = path.display();
                    let differs = appraisal.warnings.iter().any(|warning| warning.code == "delta-differs");
                    assert!(!differs, "{name}: {:?}", appraisal.warnings);
                    if appraisal.theirs.delta.is_some() && !results.attempts.is_empty() {
                        assert!(appraisal.theirs.recomputed.is_some(), "{name}");
                    }
                    if !results.attempts.is_empty() {
                        let arms = &appraisal.ours.arms;
                        let scored =
                            appraisal.ours.ci95.is_some() || arms.iter().all(|arm| arm.ci95.is_some());
                        assert!(scored && !arms.is_empty(), "{name}: scores of cases without an interval");
                    }
                }
            }
        }
    }
    // The plugin, its cases and its script, and reports without a live evaluation.
    let live = |reason: &String| reason.contains("no live evaluation");
    assert_eq!(refused.iter().filter(|reason| live(reason)).count(), 10, "{refused:?}");
    let others: Vec<&String> = refused.iter().filter(|reason| !live(reason)).collect();
    assert!(others.len() <= 5 && others.iter().all(|reason| reason.contains("plugin-eval")), "{others:?}");
    assert!(appraised >= 200, "{appraised}");
}

/// The document of the study is what its script writes from the shared data.
#[test]
#[ignore = "needs shared data"]
fn the_study_is_what_its_script_writes() {
    let lab = Fixture::new();
    let study = project().join("examples/study");
    let readme = fs::read_to_string(study.join("README.md")).unwrap();
    let title = readme.lines().nth(2).unwrap().split(". Written by").next().unwrap().to_owned();
    let status = std::process::Command::new("python3")
        .arg(study.join("appraise-folder"))
        .arg(assay_test::shared("results/nvidia"))
        .args([
            "--title",
            &title,
            "--out",
            "README.md",
            "--picture",
            "tasks.svg",
            "--assay",
            env!("CARGO_BIN_EXE_assay"),
        ])
        .current_dir(lab.folder())
        .status();
    assert!(status.unwrap().success());
    for file in ["README.md", "tasks.svg"] {
        let written = fs::read_to_string(lab.path(file)).unwrap();
        assert_eq!(
            written,
            fs::read_to_string(study.join(file)).unwrap(),
            "{file}: run examples/study/appraise-folder again"
        );
    }
}
