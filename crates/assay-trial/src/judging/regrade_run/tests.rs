use std::fs;

use assay_gateway::Caps;
use assay_store::AgentLabel;

use super::*;
use crate::judging::{JudgedRows, JudgedTableError, judged_rows, keep_instruction, keep_rubric};
use crate::testing::{Fixture, on_machine};

const RUBRIC: &str = r#"{"schema": "assay.rubric/1", "sets": [{"name": "s", "items": [
    {"id": "total", "text": "The total is stated", "points": 1},
    {"id": "signed", "text": "The report is signed", "points": 1}]}]}"#;

const MET: &str = r#"{"items": [
    {"id": "total", "answer": "met", "part": "report.md", "quote": "The total of all rows is 42 dollars."},
    {"id": "signed", "answer": "not met"}]}"#;

/// The run `test` of a task in two conditions and two repetitions, whose work is in the store.
fn lab() -> (Fixture, RunFolder) {
    let fixture = Fixture::new();
    let plan = fixture.plan();
    let mut folder = plan.run_folder();
    folder.judge = Some(
        serde_json::from_value(json!({
            "models": [{ "model": "scripted:judge.jsonl" }], "repeats": 1, "material": ["workspace"],
            "max_turns": 5, "timeout": 60.0,
        }))
        .unwrap(),
    );
    for cell in &mut folder.cells {
        let specification = json!({ "work": [cell.condition, cell.repetition] });
        cell.trial = TrialId::of(&specification);
        let Claim::Mine(lease) = fixture.store.claim(&cell.trial).unwrap() else { panic!("claimed") };
        let (attempt, path) = fixture.store.begin(&cell.trial, &specification, &lease).unwrap();
        fs::create_dir_all(path.join("judged/work")).unwrap();
        fs::write(path.join("judged/work/report.md"), "The total of all rows is 42 dollars.\n").unwrap();
        keep_instruction(&path, "Write a report.").unwrap();
        keep_rubric(&path, &Rubric::parse(RUBRIC).unwrap()).unwrap();
        crate::judging::write_list(&path, &[], std::iter::empty()).unwrap();
        let label: AgentLabel = folder.agents[cell.agent].label.clone();
        let record = Record {
            attempt,
            condition: cell.condition.clone(),
            repetition: cell.repetition,
            ..Record::new(cell.trial.clone(), cell.task.clone(), label, Outcome::Failed)
        };
        fixture.store.finish(&record, &lease).unwrap();
    }
    folder.seal();
    let folder = fixture.store.begin_run(folder, "test", ("experiment.toml", b"")).unwrap();
    (fixture, folder)
}

fn write_script(fixture: &Fixture, reply: &str) {
    fixture.write("judge.jsonl", &format!("{}\n", json!({ "say": reply })));
}

/// The trials of a run, judged again by the run's judges.
fn regraded(
    fixture: &Fixture,
    run: &RunFolder,
    name: Option<&str>,
) -> Result<Option<RegradedRun>, RunRegradeError> {
    let spec = JudgeChanges::default().apply_to(planned_judges(run).unwrap());
    let panel = on_machine(|machine| Panel::open(&spec, &fixture.path(""), machine)).unwrap();
    regrade_run(&RunRegrade {
        store: &fixture.store,
        run,
        panel: &panel,
        rubrics: &BTreeMap::new(),
        name,
        budget: &Budget::new(Caps::default()),
        cancel: &AtomicBool::new(false),
        concurrency: 2,
        progress: &AskProgress::silent(),
        preflight: JudgePreflight { directory: Path::new("."), env: &|_| None, on_event: &|_| () },
    })
}

#[test]
fn trials_are_judged_again_and_make_a_run_of_their_own() {
    let (fixture, run) = lab();
    write_script(&fixture, MET);
    let found = regraded(&fixture, &run, None).unwrap().unwrap();
    assert_eq!((found.run.run.as_str(), found.judged, found.failed.len()), ("test-regraded", 4, 0));
    assert_eq!(fixture.store.run("test").unwrap().cells, run.cells);
    for cell in &found.run.cells {
        let record = fixture.store.record(&cell.trial).unwrap().unwrap();
        let verdicts: Vec<String> =
            record.judgement.unwrap().items.into_iter().map(|item| item.verdict).collect();
        assert_eq!((verdicts.join(" ").as_str(), record.reward), ("met not-met", Some(0.5)));
    }

    // A second run of the same judgements has a name of its own, and asks nobody.
    write_script(&fixture, MET);
    let again = regraded(&fixture, &run, None).unwrap().unwrap();
    assert_eq!((again.judged, again.cached), (0, 4));

    let rows = judged_rows(&fixture.store, &found.run, JudgedRows::Items, None).unwrap();
    assert_eq!(rows.len(), 8);
    assert_eq!(judged_rows(&fixture.store, &found.run, JudgedRows::Items, Some((3, 1))).unwrap().len(), 3);
    let pairs = judged_rows(&fixture.store, &found.run, JudgedRows::Pairs, None).unwrap();
    assert_eq!(pairs.len(), 2);
    let error = judged_rows(&fixture.store, &run, JudgedRows::Items, None).unwrap_err();
    assert!(matches!(error, JudgedTableError::NotJudged { .. }), "{error}");
}

#[test]
fn a_judge_without_an_answer_fails_no_other_trial_and_is_named() {
    let (fixture, run) = lab();
    let rule = json!({ "condition": "curated", "say": MET });
    fixture.write("judge.jsonl", &format!("{rule}\n{}\n", json!({ "say": "I would rather not say." })));
    let found = regraded(&fixture, &run, None).unwrap().unwrap();
    assert_eq!((found.judged, found.failed.len()), (2, 2));
    assert!(found.failed[0].contains("scripted:judge.jsonl"), "{:?}", found.failed);
    assert!(found.to_text().starts_with("test-regraded: 2 trials judged, 0 cached, 2 without an answer\n"));
}

#[test]
fn a_run_without_kept_work_or_with_a_wrong_name_is_an_error() {
    let (fixture, run) = lab();
    write_script(&fixture, MET);
    let error = regraded(&fixture, &run, Some("../x")).unwrap_err();
    assert!(matches!(error, RunRegradeError::Name { .. }), "{error}");
    for cell in &run.cells {
        fs::remove_dir_all(fixture.store.trial_folder(&cell.trial).join("attempts/1/judged")).unwrap();
    }
    let error = regraded(&fixture, &run, None).unwrap_err();
    assert_eq!(error.to_string(), "no trial of test has kept what a judge needs");
    let unjudged = RunFolder { judge: None, ..run };
    assert!(matches!(planned_judges(&unjudged), Err(RunRegradeError::NotJudged { .. })));
}

#[test]
fn rubrics_of_two_tasks_of_one_name_do_not_replace_each_other() {
    let fixture = Fixture::new();
    let folders = ["one", "two"].map(|folder| fixture.path(folder));
    let write = |folder: &str, rubric: &str| fixture.write(&format!("{folder}/a/tests/rubric.json"), rubric);
    write("one", RUBRIC);
    write("two", RUBRIC);
    let found = read_task_rubrics(&folders).unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["a"]);
    write("two", &RUBRIC.replace("The report is signed", "The report is dated"));
    let error = read_task_rubrics(&folders).unwrap_err();
    assert!(matches!(error, TaskRubricsError::SameName { .. }), "{error}");
    assert!(matches!(read_task_rubrics(&[fixture.path("skills")]), Err(TaskRubricsError::Nothing)));
    write("two", "{");
    assert!(matches!(read_task_rubrics(&folders), Err(TaskRubricsError::Rubric { .. })));
}
