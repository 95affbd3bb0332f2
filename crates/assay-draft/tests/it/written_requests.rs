//! Requests that models write and review, up to their files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use assay_ask::AskEvent;
use assay_draft::DraftError;
use assay_draft::error::{Existing, InputFault};
use assay_draft::requests::{
    RequestFiles, RequestLibrary, RequestModels, RequestOutput, RequestReport, RequestWriter,
    check_new_experiment,
};
use assay_model::ModelError;
use serde_json::{Value, json};

use crate::fixture::{Folder, Heard, Model, no_cap, running};

/// Skills, the word of requests for each, and a request that neither copies nor names it.
const SKILLS: [(&str, &str, &str, &str); 3] = [
    (
        "orchard-inventory",
        "Count fruit trees and write down the age of each.",
        "apples",
        "My grandmother kept a diary of all the apples she picked, and I would like to know her best autumn",
    ),
    (
        "choir-schedule",
        "Collect the evenings on which all voices are free.",
        "basses",
        "Could you look at last winter and tell me how often we sang without our basses, who were mostly ill",
    ),
    (
        "letter-triage",
        "Order mail by its deadline and answer what is urgent.",
        "envelopes",
        "There is a heap of envelopes from the tax office here, and I wonder which can wait until the summer",
    ),
];

fn library(folder: &Folder) -> RequestLibrary {
    for (name, body, ..) in SKILLS {
        folder.skill("skills", name, body);
    }
    read_library(folder).unwrap()
}

fn read_library(folder: &Folder) -> Result<RequestLibrary, DraftError> {
    RequestLibrary::read_paths(&[folder.path("skills")], &Heard::default())
}

/// A model that writes requests with the words of the skills that it is shown, each another one.
fn writer() -> Model {
    let next = AtomicUsize::new(0);
    Model::new("openai:writer", move |text| {
        let text = text.split("SECOND SKILL, which").next().unwrap_or_default();
        let shown = SKILLS.iter().filter(|(name, ..)| text.contains(&format!("name: {name}\n")));
        let texts: Vec<&str> = shown.map(|(.., request)| *request).collect();
        let number = next.fetch_add(1, Ordering::Relaxed);
        // Words that no other request has.
        let own: Vec<String> = (0..30).map(|at| format!("w{number}x{at}")).collect();
        Ok(format!("{}; {}", texts.join(". "), own.join(" ")))
    })
}

/// A model that reviews by the words of requests. It objects to the coherence of those for a skill.
fn reviewer(objects: Option<&'static str>) -> Model {
    Model::new("anthropic:reviewer", move |text| {
        let request = text.split("REQUEST\n").nth(1).and_then(|rest| rest.split("END ").next()).unwrap();
        let is_for =
            |skill: &str| SKILLS.iter().any(|(name, _, word, _)| *name == skill && request.contains(word));
        if text.contains("\nSKILL A\n") {
            let sections = text.split("\nSKILL ").skip(1);
            let chosen: Vec<&str> = sections
                .filter(|section| section.lines().nth(2).is_some_and(&is_for))
                .map(|section| &section[..1])
                .collect();
            return Ok(json!({"skills": chosen, "reason": "They match."}).to_string());
        }
        let is_coherence = text.contains("\nSKILL 1\n");
        let verdict = if is_coherence && objects.is_some_and(is_for) { "object" } else { "approve" };
        Ok(json!({"verdict": verdict, "reason": "It is plain."}).to_string())
    })
}

fn models(folder: &Folder, writer: &Model, reviewer: &Model) -> RequestModels {
    let replies = folder.path("store/requests");
    RequestModels::new(writer.handle(), vec![reviewer.handle()], replies, no_cap(), running())
}

fn files(folder: &Folder) -> RequestFiles {
    RequestFiles::beside_file(&folder.path("new.jsonl"))
}

fn lines(folder: &Folder, path: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.path(path)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write(
    writer: &RequestWriter<'_>,
    models: &RequestModels,
    files: &RequestFiles,
    experiment: Option<&Path>,
) -> Result<RequestReport, DraftError> {
    let heard = Heard::default();
    let drafted = writer.draft_requests(models, &heard)?;
    let output = RequestOutput { files, labels: None, traces: &[], experiment };
    writer.write_files(Some(&drafted), &output, &str::to_owned, &heard)
}

#[test]
fn requests_are_written_reviewed_and_counted() {
    let folder = Folder::new();
    let library = library(&folder);
    let (author, judge) = (writer(), reviewer(None));
    let models = models(&folder, &author, &judge);
    let requests = RequestWriter::new(&library, None, 1, 4, 2).unwrap();
    let forecast = requests.forecast_calls(&models);
    assert!(forecast.to_text().starts_with("3 skills: 24 calls"), "{}", forecast.to_text());
    assert_eq!(author.requests().len(), 0);
    let report = write(&requests, &models, &files(&folder), None).unwrap();
    let (accepted, negatives) = (lines(&folder, "new.jsonl"), lines(&folder, "new.negatives.jsonl"));
    assert_eq!((accepted.len(), negatives.len(), report.is_short()), (4, 2, false), "{}", report.to_text());
    for line in &accepted {
        let (query, gold) = (line["query"].as_str().unwrap(), line["gold_names"].as_array().unwrap());
        let words = SKILLS.iter().filter(|(_, _, word, _)| query.contains(word)).map(|(name, ..)| *name);
        let gold: BTreeSet<&str> = gold.iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(words.collect::<BTreeSet<_>>(), gold, "{line}");
        assert_eq!(line["reviews"].as_array().unwrap().len(), 3);
    }
    assert!(report.sheet_path().is_none());
    // Nothing is asked again, and the files are the same.
    let again = RequestFiles::beside_file(&folder.path("again.jsonl"));
    write(&requests, &models, &again, None).unwrap();
    assert_eq!(folder.read("again.jsonl"), folder.read("new.jsonl"));
    assert_eq!(author.requests().len(), 6);
}

#[test]
fn what_one_review_objects_to_is_for_people() {
    let folder = Folder::new();
    let library = library(&folder);
    let (author, judge) = (writer(), reviewer(Some("letter-triage")));
    let models = models(&folder, &author, &judge);
    let requests = RequestWriter::new(&library, None, 1, 6, 0).unwrap();
    let report = write(&requests, &models, &files(&folder), None).unwrap();
    let sheet = lines(&folder, "new.review.jsonl");
    assert!(
        !sheet.is_empty() && sheet.iter().all(|row| row["objection"] == "coherence"),
        "{}",
        report.to_text()
    );
    assert_eq!(report.sheet_path(), Some(&folder.path("new.review.jsonl")));
    // A person approves of the first and rejects the second.
    let label = |at: usize, label: bool| json!({"item": sheet[at]["item"], "label": label}).to_string();
    let mut labels = label(0, true);
    if sheet.len() > 1 {
        labels = format!("{labels}\n{}", label(1, false));
    }
    folder.write("labels.jsonl", &labels);
    let labelled = RequestFiles::beside_file(&folder.path("labelled.jsonl"));
    let drafted = requests.draft_requests(&models, &Heard::default()).unwrap();
    let path = folder.path("labels.jsonl");
    let output = RequestOutput { files: &labelled, labels: Some(&path), traces: &[], experiment: None };
    requests.write_files(Some(&drafted), &output, &str::to_owned, &Heard::default()).unwrap();
    let by_person =
        lines(&folder, "labelled.jsonl").into_iter().filter(|line| line["approved_by"] == "person");
    assert_eq!(by_person.count(), 1);
    folder.write("labels.jsonl", "{\"item\": \"x\", \"label\": 3}");
    let error = requests.write_files(Some(&drafted), &output, &str::to_owned, &Heard::default()).unwrap_err();
    let expected = format!("{}:1: `label` is neither true, false nor null", path.display());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn replies_before_a_failure_are_used_again() {
    let folder = Folder::new();
    let library = library(&folder);
    let (author, fails) = (writer(), Model::new("anthropic:reviewer", |_| Err(ModelError::Cancelled)));
    let requests = RequestWriter::new(&library, None, 1, 3, 0).unwrap();
    let error = write(&requests, &models(&folder, &author, &fails), &files(&folder), None).unwrap_err();
    assert!(matches!(&error, DraftError::Ask(error) if error.is_cancelled()), "{error:?}");
    assert!(!folder.path("new.jsonl").exists() && author.requests().len() == 3);
    write(&requests, &models(&folder, &author, &reviewer(None)), &files(&folder), None).unwrap();
    assert_eq!((lines(&folder, "new.jsonl").len(), author.requests().len()), (3, 3));
}

#[test]
fn files_of_requests_are_never_replaced() {
    let folder = Folder::new();
    let library = library(&folder);
    let requests = RequestWriter::new(&library, None, 1, 2, 0).unwrap();
    let files = files(&folder);
    files.check_absent().unwrap();
    // Another command writes one of them meanwhile.
    for name in
        ["new.jsonl", "new.negatives.jsonl", "new.review.jsonl", "new.dropped.jsonl", "new.traces.jsonl"]
    {
        folder.write(name, "of another command\n");
        let models = models(&folder, &writer(), &reviewer(None));
        let error = write(&requests, &models, &files, None).unwrap_err();
        let is_refused = matches!(&error, DraftError::Input(InputFault::Exists { path, what: Existing::Requests })
            if *path == folder.path(name));
        assert!(is_refused && files.check_absent().is_err(), "{name}: {error:?}");
        assert_eq!(folder.read(name), "of another command\n");
        fs::remove_file(folder.path(name)).unwrap();
    }
    folder.write("experiment/notes.txt", "mine");
    let error = check_new_experiment(&folder.path("experiment")).unwrap_err();
    assert!(
        matches!(error, DraftError::Input(InputFault::Exists { what: Existing::Experiment, .. })),
        "{error:?}"
    );
}

#[test]
fn skills_of_one_name_have_folders_of_their_own() {
    let folder = Folder::new();
    let records: Vec<Value> = ["one", "two"]
        .iter()
        .map(|repository| {
            let text = format!("---\nname: orchard-inventory\ndescription: Of {repository}.\n---\n\nCount for {repository}.\n");
            json!({"repo": repository, "path": "skills/a/SKILL.md", "name": "orchard-inventory", "skill_md": text})
        })
        .collect();
    folder.write("corpus.jsonl", &records.iter().map(|record| format!("{record}\n")).collect::<String>());
    let heard = Heard::default();
    let library = RequestLibrary::read_paths(&[folder.path("corpus.jsonl")], &heard).unwrap();
    let requests = RequestWriter::new(&library, None, 1, 1, 0).unwrap();
    let models = models(&folder, &writer(), &reviewer(None));
    write(&requests, &models, &files(&folder), Some(&folder.path("experiment"))).unwrap();
    let found = fs::read_dir(folder.path("experiment/skills")).unwrap();
    let texts: BTreeSet<String> =
        found.map(|skill| fs::read_to_string(skill.unwrap().path().join("SKILL.md")).unwrap()).collect();
    let expected: BTreeSet<String> =
        records.iter().map(|record| record["skill_md"].as_str().unwrap().to_owned()).collect();
    assert_eq!(texts, expected);
    assert!(folder.read("experiment/experiment.toml").contains("schema = \"assay.experiment/1\""));
}

#[test]
fn a_library_without_skills_is_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path("skills")).unwrap();
    let error = read_library(&folder).unwrap_err();
    assert!(matches!(error, DraftError::Input(InputFault::NoLibrary(_))), "{error:?}");
    folder.write("corpus.jsonl", "{}\nno JSON\n");
    let heard = Heard::default();
    RequestLibrary::read_paths(&[folder.path("corpus.jsonl")], &heard).unwrap_err();
    assert!(heard.texts().iter().any(|event| event.starts_with("BadLine")), "{:?}", heard.texts());
}

#[test]
fn requests_that_wait_are_reported_with_their_number() {
    let folder = Folder::new();
    let library = library(&folder);
    let slow = Model::new("openai:slow", |_| {
        thread::sleep(Duration::from_millis(300));
        Ok("NO_NATURAL_REQUEST".to_owned())
    });
    let most = Arc::new(AtomicUsize::new(0));
    let heard = Arc::clone(&most);
    let events = move |event: &AskEvent<'_>| {
        if let AskEvent::Waiting { requests, .. } = event {
            heard.fetch_max(*requests, Ordering::Relaxed);
        }
    };
    let models = models(&folder, &slow, &reviewer(None)).with_concurrency(3);
    let models = models.report_to(Arc::new(events), Duration::from_millis(50));
    RequestWriter::new(&library, None, 1, 3, 0).unwrap().draft_requests(&models, &Heard::default()).unwrap();
    assert_eq!(most.load(Ordering::Relaxed), 3);
}
