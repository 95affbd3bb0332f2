//! Messages on labels of people, and on what models judge and embed.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::{Situation, assert_executed};
use crate::fixture::{Fixture, needs_bubblewrap};
use crate::server::{Answer, Server};
use crate::{judge_pairs, judged, search_models};

/// The commands that are printed here, as they stand in the sources.
pub(super) const COMMANDS: &[&str] = &[
    "assay judge calibrate",
    "assay judge labels",
    "assay judge labels NAME --out FILE",
    "assay judge pairs",
    "assay judge regrade",
    "assay judge sheet",
    "assay judge sheet --help",
    "assay judge sheet FILE",
    "assay judge sheet {}",
    "assay lab search train --adapter",
    "assay lab taxonomy cluster",
    "assay view",
];

/// A viewer, for a moment.
const VIEW: &str = "timeout 3 assay view --port 0";

fn lines(rows: impl IntoIterator<Item = Value>) -> String {
    rows.into_iter().map(|row| format!("{row}\n")).collect()
}

fn item(number: usize) -> Value {
    json!({ "item": format!("i{number}"), "criterion": "It is signed.", "materials": { "answer": "signed" },
        "cluster": format!("task-{}", number / 2), "verdict": number.is_multiple_of(2) })
}

/// Sheets of items, one of which cannot be read.
fn sheets() -> Fixture {
    let mut labelled = item(0);
    labelled["label"] = json!(true);
    Fixture::new()
        .file("notes.jsonl", lines((0..8).map(item)))
        .file("labelled.jsonl", lines([labelled]))
        .file("bad.jsonl", "{}\n")
}

fn of_sheets() -> Vec<Situation> {
    vec![
        Situation::new("a sheet", sheets())
            .made(&["judge", "sheet", "notes.jsonl"], 0)
            .complete("assay view", VIEW)
            .ends("timeout", 124),
        Situation::new("sheets that cannot be used", sheets())
            .made(&["judge", "sheet", "notes.jsonl"], 0)
            .make_quietly()
            .read(&["judge", "sheet", "bad.jsonl"], 2)
            .read(&["judge", "sheet", "labelled.jsonl"], 2)
            .complete("assay judge labels", "assay judge labels notes"),
        Situation::new("no sheet and no store", sheets())
            .read(&["judge", "labels", "notes"], 2)
            .complete("assay judge sheet", "assay judge sheet notes.jsonl")
            .then(&["judge", "labels", "notes"]),
        Situation::new("no sheet in the store", sheets().file("t.csv", "task,condition,score\na,none,1\n"))
            .made(&["import", "table", "t.csv"], 0)
            .make_quietly()
            .read(&["judge", "labels", "notes"], 2)
            .complete("assay judge sheet FILE", "assay judge sheet notes.jsonl")
            .then(&["judge", "labels", "notes"]),
        Situation::new("labels", sheets())
            .made(&["judge", "sheet", "notes.jsonl"], 0)
            .make_quietly()
            .change(|lab| {
                let mark = |number: usize| {
                    json!({ "item": format!("i{number}"), "annotator": "ann", "label": number < 4,
                        "at": "2026-03-01T10:00:00Z" })
                };
                lab.write(".assay/reviews/notes/marks.jsonl", lines((0..8).map(mark)));
            })
            .read(&["judge", "labels", "notes", "--out", "labels.jsonl"], 0)
            .complete(
                "assay judge calibrate",
                "assay judge calibrate labels.jsonl --label label --labels-by people --verdict verdict",
            ),
    ]
}

/// A corpus with tags and a taxonomy that is none.
fn corpus() -> Fixture {
    let name = |at: usize| format!("skill-{at}");
    let text = |at: usize| format!("---\nname: skill-{at}\ndescription: Does {at}.\n---\nAbout {at}.\n");
    let records = (0..24).map(|at| {
        json!({ "id": name(at), "name": name(at), "description": format!("Does {at}."), "skill_md": text(at) })
    });
    let kinds = ["ledger", "chart", "deploy"];
    let tags = (0..24).map(|at| {
        let kind = kinds[at % 3];
        json!({ "id": name(at), "name": name(at), "tags": { "domain": [kind], "activity": [kind], "artifact": [kind] } })
    });
    let categories = (0..24).map(|at| json!({ "schema": "assay.skill-category/1", "id": name(at), "category": "a", "votes": { "a": 5 } }));
    let taxonomy = json!({ "schema": "assay.taxonomy/1", "skills": 24, "unclustered": 0, "rounds": 1, "categories": [
        { "name": "a", "tags": ["x"], "skills": 24, "stability": 1.0, "examples": [] }] });
    Fixture::new()
        .env("OPENAI_API_KEY", "k")
        .file("corpus.jsonl", lines(records))
        .file("tags.jsonl", lines(tags))
        .file("categories.jsonl", lines(categories))
        .file("taxonomy.json", taxonomy.to_string())
        .file("bad.json", "{}")
}

fn of_categories() -> Vec<Situation> {
    let assign = ["lab", "taxonomy", "assign", "corpus.jsonl", "--taxonomy", "bad.json", "--out", "c.jsonl"];
    let model = ["--model", "openai:m", "--no-cap"];
    let args: &'static [&'static str] = Vec::leak([&assign[..], &model].concat());
    let sheet = [
        "lab",
        "taxonomy",
        "sheet",
        "categories.jsonl",
        "--corpus",
        "corpus.jsonl",
        "--taxonomy",
        "taxonomy.json",
    ];
    let sheet: &'static [&'static str] =
        Vec::leak([&sheet[..], &["--n", "6", "--out", "topics.jsonl"]].concat());
    vec![
        Situation::new("a taxonomy that is none", corpus())
            .read(args, 2)
            .complete("assay lab taxonomy cluster", "assay lab taxonomy cluster tags.jsonl --out own.json"),
        Situation::new("categories for people", corpus())
            .read(sheet, 0)
            .complete("assay view", VIEW)
            .complete("assay judge labels", "assay judge labels topics")
            .ends("timeout", 124),
        Situation::new("categories without a label", corpus())
            .made(sheet, 0)
            .made(&["judge", "sheet", "topics.jsonl"], 0)
            .make_quietly()
            .change(|lab| {
                let text = fs::read_to_string(lab.path("topics.jsonl")).unwrap();
                let rows = text.lines().map(|line| {
                    let row: Value = serde_json::from_str(line).unwrap();
                    json!({ "item": row["item"], "label": null })
                });
                lab.write("undecided.jsonl", lines(rows));
            })
            .read(&["lab", "taxonomy", "accuracy", "undecided.jsonl", "--categories", "categories.jsonl"], 2)
            .complete("assay judge labels NAME --out FILE", "assay judge labels topics --out labels.jsonl"),
    ]
}

#[test]
fn commands_in_messages_about_labels_work() {
    needs_bubblewrap!();
    let mut executed: BTreeSet<String> =
        [of_sheets(), of_categories()].into_iter().flatten().flat_map(Situation::check).collect();
    executed.extend(of_judges());
    executed.extend(of_an_adapter());
    assert_executed(&executed, COMMANDS);
}

/// A run whose judge overlooks planted items, and what can be taken from it.
fn of_judges() -> BTreeSet<String> {
    let server = Server::start(|_, request| {
        if request.is_preflight() {
            return Answer::done("ok");
        }
        match request.body["model"].as_str() {
            Some("judge") => judged::careless(request),
            Some("other") => judge_pairs::honest(request),
            _ => judged::reply(request),
        }
    });
    let url = server.url();
    let lab = judged::lab(&judged::judge_at(&url));
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write("experiment.toml", text.replace("repetitions = 2", "repetitions = 5"));
    let mut executed = BTreeSet::new();
    let regrade = format!("assay judge regrade lab --judge openai:second --base-url {url} --no-cap");
    let pairs =
        format!("assay judge pairs pairs.jsonl --judge openai:other --base-url {url} --no-cap --out p.jsonl");
    executed.extend(
        Situation::new("a judge that overlooks planted items", lab)
            .made(&["run", "experiment.toml", "--no-cap", "--no-checks"], 3)
            .made(&["judge", "export", "lab", "--as", "items", "--out", "items.jsonl"], 0)
            .made(&["judge", "export", "lab", "--as", "pairs", "--out", "pairs.jsonl"], 0)
            .complete_with("assay judge regrade", move |_| regrade.clone())
            .complete("assay judge sheet", "assay judge sheet items.jsonl")
            .complete_with("assay judge pairs", move |_| pairs.clone())
            .check(),
    );
    executed
}

/// A file that is no adapter.
fn of_an_adapter() -> BTreeSet<String> {
    let server = Server::start(search_models::knowing);
    let name = format!("dense:endpoint={},name=m", server.url());
    let with_adapter: &'static str = format!("{name},adapter=bad.json").leak();
    let train = format!(
        "assay lab search train --corpus corpus.jsonl --queries queries.jsonl --adapter own.json --retriever {name}"
    );
    let search = ["search", "letters", "--corpus", "corpus.jsonl", "--retriever", with_adapter];
    let lab = search_models::lab().file("bad.json", "{}").env("OPENAI_API_KEY", "k");
    Situation::new("an adapter that is none", lab)
        .read(&search, 3)
        .complete_with("assay lab search train --adapter", move |_| train.clone())
        .check()
}
