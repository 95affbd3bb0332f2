//! The pages in Chromium, driven by `browser.cjs`.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Viewer, hostile, lab};
use crate::fixture::{Fixture, needs_bubblewrap};

/// What a scenario found.
#[track_caller]
fn drive(scenario: &str, url: &str, rest: &[&str]) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/view/browser.cjs");
    let ran = Command::new("node")
        .arg(script)
        .args([scenario, url])
        .args(rest)
        .env("NODE_PATH", assay_test::browser_modules())
        .output()
        .expect("node");
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{scenario}: {err}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out} {err}"))
}

/// The kinds of pages that a crawl met.
fn kinds(found: &Value) -> Vec<&str> {
    found["kinds"].as_array().unwrap().iter().map(|kind| kind.as_str().unwrap()).collect()
}

/// A store of an archive of the shared data.
fn unpack(lab: &Fixture, archive: &Path, store: &str) {
    let folder = lab.path(store);
    std::fs::create_dir(&folder).unwrap();
    let reader = zstd::Decoder::new(std::fs::File::open(archive).unwrap()).unwrap();
    tar::Archive::new(reader).unpack(folder).unwrap();
}

#[test]
#[ignore = "needs Chromium"]
fn pages_work_with_and_without_scripts() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    let viewer = Viewer::start(&lab);
    let found = drive("crawl", &viewer.url("/"), &["40"]);
    let expected = [
        "/",
        "/runs/RUN/",
        "/runs/RUN/cells/N/",
        "/runs/RUN/comparisons/N/",
        "/runs/RUN/pairs/ID/ID/",
        "/runs/RUN/pairs/ID/ID/blind/",
        "/runs/RUN/pairs/ID/ID/differences/",
        "/runs/RUN/skills/SKILL/",
        "/runs/RUN/trials/",
        "/runs/RUN/trials/ID/",
    ];
    assert_eq!(kinds(&found), expected, "{found}");
    assert_eq!(found["visited"], found["found"], "{found}");
    let keyboard = drive("keyboard", &viewer.url("/"), &[]);
    assert_eq!((&keyboard["first"], &keyboard["at"]), (&json!("lab"), &json!("/runs/RUN/trials/ID/")));
    let check = drive("check", &viewer.url("/runs/lab/"), &[]);
    assert_eq!((&check["name"], &check["kind"]), (&json!("answer is right"), &json!("/runs/RUN/trials/ID/")));
    let top = check["top"].as_f64().unwrap();
    assert!((0.0..800.0).contains(&top), "{check}");
    assert!(check["shown"].as_str().unwrap().contains("read the answer"), "{check}");
}

#[test]
#[ignore = "needs Chromium"]
fn pages_of_a_draft_work_with_and_without_scripts() {
    let lab = super::draft::lab();
    let viewer = super::draft::start(&lab);
    let found = drive("crawl", &viewer.url("/draft/"), &["10"]);
    let expected = [
        "/",
        "/draft/",
        "/draft/directives/",
        "/draft/experiment/",
        "/draft/headroom/",
        "/draft/ideas/",
        "/draft/needs/",
        "/draft/replies/",
        "/draft/replies/ID/",
        "/draft/requests/",
        "/draft/solvers/",
        "/draft/tasks/",
        "/draft/tasks/NAME/",
        "/draft/validation/",
    ];
    assert_eq!(kinds(&found), expected, "{found}");
}

#[test]
#[ignore = "needs Chromium"]
fn an_export_opens_from_a_disk() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    lab.assay(&["view", "--export", "site"]).ok();
    let url = format!("file://{}", lab.path("site/index.html").display());
    // Every page, and every link of it.
    let found = drive("crawl", &url, &["1000"]);
    assert_eq!((&found["visited"], &found["found"]), (&json!(29), &json!(29)), "{found}");
}

#[test]
#[ignore = "needs Chromium"]
fn hostile_content_does_nothing() {
    needs_bubblewrap!();
    let lab = hostile();
    let viewer = Viewer::start(&lab);
    for run in ["/runs/lab/", "/runs/table-table/"] {
        let found = drive("hostile", &viewer.url(run), &[]);
        assert!(found["visited"].as_u64().unwrap() > 10, "{found}");
        assert_eq!(found["scripts"], json!(["/static/view.js"]));
    }
}

#[test]
#[ignore = "needs Chromium"]
fn a_run_in_progress_is_followed() {
    needs_bubblewrap!();
    let rules = [json!({"turn": 0, "run": ["sleep 0.7; echo right > answer.txt"]})];
    let mut lab = Fixture::new();
    for task in ["a", "b", "c", "d", "e", "f"] {
        lab = lab.task(task, |task| task);
    }
    let lab = lab.skill("ledger", "Ledger exports.", "Write the code.").script(&rules).experiment(|e| {
        let e = e.conditions(&["none", "placebo"]).repetitions(1).concurrency(1);
        ["a", "b", "c", "d", "e", "f"].iter().fold(e, |e, task| e.pair(task, &["ledger"]))
    });
    let mut running = lab.start(&["run", "experiment.toml", "--no-checks"]);
    while !lab.path(".assay/runs/lab/plan.json").exists() {
        assert!(!running.has_ended(), "{}", running.stderr());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let viewer = Viewer::start(&lab);
    let found = drive("live", &viewer.url("/runs/lab/"), &[]);
    let seen: Vec<u64> = found["seen"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    // The numbers grew one after the other, up to the last.
    assert!(
        seen.len() > 3 && seen.is_sorted() && seen.last() == found["planned"].as_u64().as_ref(),
        "{found}"
    );
    assert!(found["report"].as_str().unwrap().contains("6 tasks"), "{found}");
    running.wait().ok();
}

#[test]
#[ignore = "needs Chromium"]
fn from_a_verdict_to_the_step_of_a_rule() {
    let Some(archive) = assay_test::shared_if_present("runs/twelve.tar.zst") else {
        println!("skipped: ASSAY_SHARED names no folder with runs/twelve.tar.zst");
        return;
    };
    let lab = Fixture::new();
    unpack(&lab, &archive, "twelve");
    let viewer = Viewer::of(&lab, "twelve");
    let found = drive("verdict", &viewer.url("/runs/twelve/"), &[]);
    assert_eq!(found["comparison"], "/runs/RUN/comparisons/N/");
    assert_eq!(found["pair"], "/runs/RUN/pairs/ID/ID/");
    assert!(found["step"].as_str().unwrap().starts_with("#step-"), "{found}");
    let check = drive("check", &viewer.url("/runs/twelve/"), &[]);
    assert_eq!(check["kind"], "/runs/RUN/trials/ID/");
    let crawled = drive("crawl", &viewer.url("/"), &["8"]);
    assert_eq!(kinds(&crawled).len(), 10, "{crawled}");
}

#[test]
#[ignore = "needs Chromium"]
fn items_are_labeled_with_keys_and_without_scripts() {
    let lab = super::review::lab();
    let viewer = Viewer::start(&lab);
    let found = drive("label", &viewer.url(&format!("/?token={}", viewer.token)), &["notes"]);
    assert_eq!(found["undone"], "Item 3 of 8", "{found}");
    assert_eq!(found["stolen"], json!(false), "{found}");
    let marks = std::fs::read_to_string(lab.path(".assay/reviews/notes/marks.jsonl")).unwrap();
    let marks: Vec<Value> = marks.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let labels: Vec<_> =
        marks.iter().map(|mark| (mark["annotator"].as_str().unwrap(), &mark["label"])).collect();
    let (yes, no, unknown) = (json!(true), json!(false), Value::Null);
    let expected =
        [("ann", &yes), ("ann", &no), ("ann", &unknown), ("ann", &unknown), ("ann", &yes), ("ben", &no)];
    assert_eq!(labels, expected, "{marks:?}");
    assert_eq!((&marks[3]["undo"], &marks[4]["note"]), (&json!(true), &json!("seen 1 and 0")));
    // Marks, pages of annotators and final labels in both color schemes.
    let crawled = drive("crawl", &viewer.url("/review/"), &["4"]);
    assert!(kinds(&crawled).len() >= 5, "{crawled}");
}

#[test]
#[ignore = "needs Chromium"]
fn an_imported_table_has_all_pages() {
    let Some(table) = assay_test::shared_if_present("trials/skill-receipts.jsonl.zst") else {
        println!("skipped: ASSAY_SHARED names no folder with trials/skill-receipts.jsonl.zst");
        return;
    };
    let lab = Fixture::new();
    let table = table.display().to_string();
    let args = [
        "import",
        "table",
        &table,
        "--where",
        "skill=underkill",
        "--baseline",
        "placebo",
        "--ignore",
        "agent",
    ];
    lab.assay(&args).ok();
    let viewer = Viewer::start(&lab);
    let found = drive("crawl", &viewer.url("/"), &["8"]);
    assert!(kinds(&found).contains(&"/runs/RUN/pairs/ID/ID/"), "{found}");
}
