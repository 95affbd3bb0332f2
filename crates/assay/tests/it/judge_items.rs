//! `assay judge items`: verdicts with evidence, from judges that are read, refused, blocked or down.

use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::server::{Answer, Request, Server};

/// A table of two materials with two items each.
fn lab() -> Fixture {
    let material = |total: u32| {
        format!("# Report\nThe total of all rows is {total} dollars.\nSigned by nobody at all.\n")
    };
    let row = |task: &str, criterion: &str, total: u32, label: bool| {
        json!({"task": task, "condition": "none", "model": "anthropic:claude", "criterion": criterion,
               "material": material(total), "human": label})
        .to_string()
    };
    let rows = [
        row("a", "The total is stated", 42, true),
        row("a", "The report is signed by the author", 42, false),
        row("b", "The total is stated", 43, true),
        row("b", "The report is signed by the author", 43, false),
    ];
    Fixture::new().file("items.jsonl", rows.join("\n"))
}

/// The requirements of a request and its material.
fn parts(request: &Request) -> (Vec<Value>, String) {
    let messages = request.body["messages"].as_array().unwrap();
    let text =
        messages.iter().find(|message| message["role"] == "user").unwrap()["content"].as_str().unwrap();
    let list = &text[text.find("REQUIREMENTS").unwrap()..];
    let list = &list[list.find('[').unwrap()..];
    let mut documents = serde_json::Deserializer::from_str(list).into_iter::<Vec<Value>>();
    let material = text.rsplit_once("\nMATERIAL ").unwrap().1;
    (documents.next().unwrap().unwrap(), material.to_owned())
}

/// What an attentive judge answers.
fn answers(request: &Request) -> Vec<Value> {
    let (items, material) = parts(request);
    let line =
        |start: &str| material.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
    items
        .iter()
        .map(|item| {
            let text = item["requirement"].as_str().unwrap();
            let planted = text.strip_prefix("The material contains the following line: ");
            let (answer, quote) = match (planted, text) {
                (Some(line), _) => ("met", line.to_owned()),
                (None, "The total is stated") => ("met", line("The total")),
                _ => ("not met", String::new()),
            };
            json!({"id": item["id"], "answer": answer, "quote": quote, "reason": "as it says"})
        })
        .collect()
}

fn reply(items: &[Value]) -> Answer {
    Answer::done(&json!({ "items": items }).to_string())
}

const ITEMS: [&str; 7] =
    ["judge", "items", "items.jsonl", "--judge", "openai:gpt-5", "--out", "verdicts.jsonl"];

fn verdicts(lab: &Fixture) -> Vec<Value> {
    let text = std::fs::read_to_string(lab.path("verdicts.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn verdicts_become_a_table_that_calibrate_reads() {
    let server = Server::start(|_, request| reply(&answers(request)));
    let lab = lab().env("OPENAI_API_KEY", "k");
    let url = server.url();
    let args = [&ITEMS[..], &["--base-url", &url, "--format", "json"]].concat();
    let ran = lab.assay(&[&args[..], &["--dry-run"]].concat()).ok().json();
    assert_eq!((&ran["requests"], &ran["items"]), (&json!(2), &json!(4)));
    let ran = lab.assay(&args).ok().json();
    assert_eq!(ran["planted"], json!({"items": 1, "missed": 0}));
    assert_eq!(
        (&ran["met"], &ran["not_met"], &ran["requests"], &ran["cached"]),
        (&json!(2), &json!(2), &json!(2), &json!(0))
    );
    let rows = verdicts(&lab);
    assert_eq!(
        (&rows[0]["verdict"], &rows[0]["quote"]),
        (&json!(true), &json!("The total of all rows is 42 dollars."))
    );
    let calibrate = [
        "judge",
        "calibrate",
        "verdicts.jsonl",
        "--label",
        "human",
        "--verdict",
        "verdict",
        "--format",
        "json",
    ];
    let found = lab.assay(&calibrate).ok().json();
    assert_eq!(found["groups"][0]["accuracy"], json!(1.0));

    // Nothing is sent twice, and no file is overwritten.
    lab.assay(&args).ended(2);
    std::fs::remove_file(lab.path("verdicts.jsonl")).unwrap();
    let again = lab.assay(&args).ok().json();
    assert_eq!((&again["requests"], &again["cached"]), (&json!(0), &json!(2)));
    assert_eq!(verdicts(&lab), rows);
}

#[test]
fn a_quote_that_is_not_there_decides_nothing() {
    let server = Server::start(|_, request| {
        let mut items = answers(request);
        for item in items.iter_mut().filter(|item| item["id"] == "item-1") {
            item["quote"] = json!("The total of all rows is 1000 dollars.");
        }
        reply(&items)
    });
    let lab = lab().env("OPENAI_API_KEY", "k");
    let ran =
        lab.assay(&[&ITEMS[..], &["--base-url", &server.url(), "--format", "json"]].concat()).ok().json();
    assert_eq!((&ran["met"], &ran["undecided"]), (&json!(0), &json!({"quote-not-found": 2})));
    assert_eq!(verdicts(&lab)[0]["verdict"], Value::Null);
}

#[test]
fn judges_of_the_candidates_family_are_refused() {
    let args =
        ["judge", "items", "items.jsonl", "--judge", "anthropic:claude-opus-5", "--out", "verdicts.jsonl"];
    let ran = lab().assay(&args).ended(2);
    assert!(
        ran.stderr.contains("anthropic:claude-opus-5 is of the family of anthropic:claude"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_judge_that_misses_planted_items_is_blocked() {
    // Every requirement is met, says this judge.
    let server = Server::start(|_, request| {
        let (items, material) = parts(request);
        let line = material.lines().nth(3).unwrap();
        let all = items.iter().map(|item| json!({"id": item["id"], "answer": "met", "quote": line}));
        reply(&all.collect::<Vec<_>>())
    });
    let lab = lab().env("OPENAI_API_KEY", "k");
    // Several materials, so that several items are planted, of both kinds.
    let rows: Vec<String> = (0..100)
        .map(|n| json!({"criterion": "x is y", "material": format!("Line number {n} of the material.\n# b\nc\nThe second line of {n} is this.\n")}).to_string())
        .collect();
    lab.write("items.jsonl", rows.join("\n"));
    let ran = lab.assay(&[&ITEMS[..], &["--base-url", &server.url()]].concat()).ended(3);
    assert!(ran.stderr.contains("planted items, so no verdict counts"), "{}", ran.stderr);
    assert!(!lab.path("verdicts.jsonl").exists());
}

#[test]
fn a_judge_that_is_down_is_an_infrastructure_error() {
    let server = Server::start(|_, _| Answer::of(401, json!({"error": {"message": "no such key"}})));
    let lab = lab().env("OPENAI_API_KEY", "k");
    let ran = lab.assay(&[&ITEMS[..], &["--base-url", &server.url()]].concat()).ended(3);
    assert!(ran.stderr.contains("the judge openai:gpt-5 gives no reply"), "{}", ran.stderr);
    assert!(!lab.path("verdicts.jsonl").exists());
}

#[test]
fn paid_judges_need_a_cap() {
    let lab = lab().env("OPENAI_API_KEY", "k");
    let ran = lab.assay(&ITEMS).ended(2);
    assert!(ran.stderr.contains("this batch has no cap"), "{}", ran.stderr);
    let ran = lab.assay(&[&ITEMS[..], &["--price", "1,10", "--max-usd", "0.0001"]].concat()).ended(2);
    assert!(ran.stderr.contains("--max-usd 0.0001 is reached"), "{}", ran.stderr);
}

#[test]
fn repeats_are_decided_by_the_majority() {
    let server = Server::start(|number, request| {
        let mut items = answers(request);
        // One of three requests denies what the others say.
        for item in items.iter_mut().filter(|item| number == 0 && item["id"] == "item-1") {
            *item = json!({"id": "item-1", "answer": "not met"});
        }
        reply(&items)
    });
    let lab = lab().env("OPENAI_API_KEY", "k");
    let more = ["--base-url", &server.url(), "--repeats", "3", "--concurrency", "1", "--format", "json"];
    let ran = lab.assay(&[&ITEMS[..], &more].concat()).ok().json();
    assert_eq!((&ran["met"], &ran["requests"]), (&json!(2), &json!(6)));
    let agreement = verdicts(&lab)[0]["agreement"].as_f64().unwrap();
    assert!((agreement - 2.0 / 3.0).abs() < 1e-9, "{agreement}");
}

#[test]
fn bad_tables_are_errors_with_their_line() {
    let lab = lab();
    lab.write("items.jsonl", "{\"criterion\": \"x\", \"material\": \"y\"}\n{\"criterion\": \"x\"}\n");
    let ran = lab.assay(&ITEMS).ended(2);
    assert!(ran.stderr.contains("items.jsonl:2: no value in column `material`"), "{}", ran.stderr);
}
