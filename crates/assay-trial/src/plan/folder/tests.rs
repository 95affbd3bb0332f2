use std::fs;

use assay_store::{EarlierKind, Exclusion};
use serde_json::json;

use super::*;
use crate::testing::Fixture;

/// The name under which the experiment would run, and the run it extends.
fn begin(fixture: &Fixture) -> (String, Option<String>) {
    let folder = fixture.plan().begin_run(&fixture.store).unwrap();
    assert_eq!(fixture.store.run(&folder.run).unwrap(), folder);
    let (_, earlier) = fixture.store.earlier_runs(&folder);
    let extended = earlier.into_iter().find(|earlier| earlier.kind == EarlierKind::Extended);
    (folder.run, extended.map(|earlier| earlier.run))
}

/// Gives every trial of a run a record.
fn execute(fixture: &Fixture, run: &str) {
    for cell in fixture.store.run(run).unwrap().cells {
        let folder = fixture.store.trial_folder(&cell.trial);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("record.json"), "{}").unwrap();
    }
}

fn named(run: &str, extends: Option<&str>) -> (String, Option<String>) {
    (run.to_owned(), extends.map(str::to_owned))
}

#[test]
fn run_keeps_its_original_experiment() {
    let fixture = Fixture::new();
    let mut plan = fixture.plan();
    let kept = |plan: &Plan| {
        let run = plan.begin_run(&fixture.store).unwrap().run;
        fs::read_to_string(fixture.store.run_folder(&run).join("experiment.toml")).ok()
    };
    assert_eq!(kept(&plan), fs::read_to_string(fixture.path("experiment.toml")).ok());
    // Not every experiment has a file.
    plan.experiment.source.clear();
    plan.experiment.name = "other".to_owned();
    assert_eq!(kept(&plan), None);
}

#[test]
fn equal_plans_share_a_run_and_others_get_the_next_number() {
    let fixture = Fixture::new();
    assert_eq!(begin(&fixture), named("test", None));
    assert_eq!(begin(&fixture), named("test", None));
    // How it is executed is not part of the plan.
    fixture.experiment("timeout = 300", "timeout = 300.0 # seconds");
    fixture.experiment("margin = 0.10", "concurrency = 9\nmargin = 0.1");
    assert_eq!(begin(&fixture), named("test", None));
    fixture.experiment("margin = 0.1", "margin = 0.2");
    assert_eq!(begin(&fixture), named("test-2", None));
    fixture.edit("skills/one/SKILL.md", "minor", "major");
    assert_eq!(begin(&fixture), named("test-3", None));
    fixture.edit("skills/one/SKILL.md", "major", "minor");
    assert_eq!(begin(&fixture), named("test-2", None));
    assert_eq!(fixture.store.run_names(), ["test", "test-2", "test-3"]);
    // The original experiment is beside its plan.
    let source = fs::read_to_string(fixture.store.run_folder("test").join("experiment.toml")).unwrap();
    assert!(source.contains("margin = 0.10"));
}

#[test]
fn skills_are_kept_unchanged() {
    let fixture = Fixture::new();
    let plan = fixture.plan();
    let folder = plan.begin_run(&fixture.store).unwrap();
    let planned: Vec<_> = folder.provisions.iter().flat_map(|provision| &provision.skills).collect();
    assert!(!planned.is_empty());
    let before = fs::read(fixture.path("skills/one/SKILL.md")).unwrap();
    fixture.edit("skills/one/SKILL.md", "minor", "major");
    fixture.plan().begin_run(&fixture.store).unwrap();
    let one = planned.iter().find(|skill| skill.name == "one").unwrap();
    assert_eq!(fixture.store.skill(&one.digest).unwrap(), before);
    for skill in planned {
        assert!(fixture.store.skill(&skill.digest).is_ok(), "{}", skill.name);
    }
    for other in ["", "blake3:", "../x", &"0".repeat(64), &"é".repeat(32)] {
        assert!(fixture.store.skill(other).is_err(), "{other}");
    }
}

#[test]
fn run_containing_an_earlier_one_extends_it() {
    let fixture = Fixture::new();
    begin(&fixture);
    execute(&fixture, "test");
    fixture.experiment("repetitions = 2", "repetitions = 3");
    assert_eq!(begin(&fixture), named("test-2", Some("test")));
    // Also when it is looked up again.
    assert_eq!(begin(&fixture), named("test-2", Some("test")));
    // Fewer trials extend nothing, other trials neither.
    fixture.experiment("repetitions = 3", "repetitions = 1");
    assert_eq!(begin(&fixture), named("test-3", None));
    fixture.experiment("repetitions = 1", "repetitions = 9");
    fixture.experiment("seed = 1", "seed = 2");
    assert_eq!(begin(&fixture), named("test-4", None));
    // A task more is an extension as well, once there is a trial to extend.
    execute(&fixture, "test-4");
    fixture.task("b");
    assert_eq!(begin(&fixture), named("test-5", Some("test-4")));
}

#[test]
fn concurrent_plans_get_distinct_names() {
    let fixture = Fixture::new();
    let plans: Vec<Plan> = (1..=4)
        .map(|repetitions| {
            fixture.experiment("repetitions = ", &format!("repetitions = {repetitions} # "));
            fixture.plan()
        })
        .collect();
    let mut folders: Vec<RunFolder> = std::thread::scope(|scope| {
        let store = &fixture.store;
        let all = plans.iter().chain(&plans);
        let begun: Vec<_> = all.map(|plan| scope.spawn(move || plan.begin_run(store).unwrap())).collect();
        begun.into_iter().map(|begun| begun.join().unwrap()).collect()
    });
    for folder in &folders {
        assert_eq!(fixture.store.run(&folder.run).unwrap().plan, folder.plan, "{}", folder.run);
    }
    folders.sort_by(|one, other| one.run.cmp(&other.run));
    folders.dedup_by(|one, other| one.run == other.run);
    assert_eq!(folders.len(), 4);
}

#[test]
fn missing_and_unreadable_runs_are_reported() {
    let fixture = Fixture::new();
    let check = |name: &str, expected: &str| {
        let error = fixture.store.run(name).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    };
    check("test", "the store has no runs yet");
    begin(&fixture);
    check("tset", "no run \"tset\"");
    check("tset", "the store has test");
    for hostile in ["../runs/test", "", ".", "/etc", "test/../test"] {
        check(hostile, "no run ");
    }
    let path = fixture.store.run_folder("test").join("plan.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("assay.plan/1", "assay.plan/2")).unwrap();
    check("test", "unsupported schema \"assay.plan/2\": this version of assay reads \"assay.plan/1\"");
    // Any key that is added later is a change of the plan; notes are none.
    fs::write(&path, text.replacen('{', "{ \"added\": [1],", 1)).unwrap();
    check("test", "the plan of run \"test\" was changed after it was sealed");
    fs::write(&path, text.replacen('{', "{ \"relabels\": \"other\",", 1)).unwrap();
    assert_eq!(fixture.store.run("test").unwrap().run, "test");
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    check("test", "plan.json is damaged or was written by another version of assay");
}

#[test]
fn a_summary_counts_cells_trials_and_records() {
    let fixture = Fixture::new();
    fixture.experiment("\"curated\"]", "\"curated\", \"full\"]");
    begin(&fixture);
    let trial = fixture.store.run("test").unwrap().cells[0].trial.clone();
    let folder = fixture.store.trial_folder(&trial);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("record.json"), "{}").unwrap();
    let summary = fixture.store.summaries().remove(0);
    // Curated and full share their trials.
    assert_eq!((summary.cells, summary.trials, summary.finished), (6, 4, 1));
    assert!(summary.planned_at.is_some());
}

#[test]
fn checks_and_events_are_kept_with_the_run() {
    let fixture = Fixture::new();
    begin(&fixture);
    assert_eq!(fixture.store.failed_checks("test").unwrap(), []);
    let failed = [Exclusion { task: "a".into(), condition: None, reason: "no solution".into() }];
    fixture.store.save_failed_checks("test", &failed).unwrap();
    assert_eq!(fixture.store.failed_checks("test").unwrap(), failed);
    for number in 0..3 {
        fixture.store.event("test", &json!({ "number": number })).unwrap();
    }
    let events = fs::read_to_string(fixture.store.run_folder("test").join("events.jsonl")).unwrap();
    assert_eq!(events, "{\"number\":0}\n{\"number\":1}\n{\"number\":2}\n");
}

#[test]
fn damaged_plan_does_not_hide_other_runs() {
    let fixture = Fixture::new();
    let plan = fixture.plan();
    let first = plan.begin_run(&fixture.store).unwrap();
    let path = fixture.store.run_folder(&first.run).join("plan.json");
    let whole = fs::read(&path).unwrap();
    fixture.experiment("repetitions = 2", "repetitions = 3");
    let second = fixture.plan().begin_run(&fixture.store).unwrap();
    assert_ne!(first.run, second.run);
    for damaged in [&whole[..whole.len() / 2], b"", b"{}", b"\0\0"] {
        fs::write(&path, damaged).unwrap();
        let found = fixture.store.summaries();
        let words: Vec<_> =
            found.iter().map(|run| (run.run.as_str(), run.cells, run.damaged.is_some())).collect();
        assert_eq!(words, [(&*first.run, 0, true), (&*second.run, second.cells.len(), false)]);
        assert!(fixture.store.run(&first.run).is_err());
    }
    // The same plan takes its place again.
    assert_eq!(plan.begin_run(&fixture.store).unwrap(), first);
    assert_eq!(fs::read(&path).unwrap(), whole);
    assert_eq!(fs::read(path.with_file_name("plan.before.json")).unwrap(), b"\0\0");
    // A plan of another version is not damaged: it stays, and the run gets another name.
    let other = String::from_utf8(whole).unwrap().replace(RunFolder::SCHEMA, "assay.plan/9");
    fs::write(&path, &other).unwrap();
    assert_ne!(plan.begin_run(&fixture.store).unwrap().run, first.run);
    assert_eq!(fs::read_to_string(&path).unwrap(), other);
}
