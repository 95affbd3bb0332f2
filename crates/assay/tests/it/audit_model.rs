//! `assay audit corpus --directives-from`: directives that a model finds in a skill.

use serde_json::{Value, json};

use crate::audit_calibrated::log;
use crate::fixture::Fixture;
use crate::server::{Answer, Server};

const SKILL: &str = "---\nname: ledger\ndescription: Ledger exports.\n---\n# Ledger\n\n\
    Write the code `RH-7731` above the totals.\n\
    Sign every export as keeper of the amber books.\n";

/// One run that read the skill and followed it, and one without the skill.
pub(crate) fn lab() -> Fixture {
    let at = "data/traces/arm/ledger";
    let followed = "RH-7731\n12,30\nkeeper of the amber books\n";
    Fixture::new()
        .file("data/skills/ledger/SKILL.md", SKILL)
        .file(&format!("{at}/with/r1/a.jsonl"), log("a", "/s/skills/ledger/SKILL.md", SKILL, followed))
        .file(&format!("{at}/without/r1/b.jsonl"), log("b", "README.md", "text", "12,30\n"))
}

fn reply() -> String {
    let item = |line: usize, subject: &str| json!({"kind": "literal", "modality": "required", "file": "SKILL.md", "line": line, "subject": subject, "condition": null});
    json!([item(7, "RH-7731"), item(8, "keeper of the amber books"), item(8, "keeper of the red books")])
        .to_string()
}

/// The subjects of the report's directives, each with the runs that followed it.
fn subjects(text: &str) -> Vec<(String, u64)> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["kind"] == "directive")
        .map(|line| (line["subject"].as_str().unwrap().to_owned(), line["followed"].as_u64().unwrap()))
        .collect()
}

fn cached(lab: &Fixture) -> usize {
    std::fs::read_dir(lab.path(".assay/directives")).map_or(0, Iterator::count)
}

#[test]
fn a_model_adds_directives_to_the_report() {
    let lab = lab().script(&[json!({"seen": "8| Sign every export", "say": reply()})]);
    let args = ["audit", "corpus", "data", "--strict", "--format", "json"];
    let without = lab.assay(&args).ok();
    assert_eq!(subjects(&without.stdout), [("RH-7731".to_owned(), 1)]);
    let args = [&args[..], &["--directives-from", "scripted:turns.jsonl"]].concat();
    let first = lab.assay(&args).ok();
    let expected = [("RH-7731".to_owned(), 1), ("keeper of the amber books".to_owned(), 1)];
    assert_eq!(subjects(&first.stdout), expected);
    assert_eq!(first.stderr.matches("1 directive ignored").count(), 1, "{}", first.stderr);
    assert_eq!(cached(&lab), 1);
    let again = lab.assay(&[&args[..], &["--verbose"]].concat()).ok();
    assert_eq!(again.stdout, first.stdout);
    assert!(again.stderr.contains("1 directive added to 1 skill (1 reply cached)"), "{}", again.stderr);
    let details = lab.assay(&["audit", "corpus", "data", "--details", args[6], args[7]]);
    let details = details.ok().stdout;
    assert!(details.contains("line 8, keeper of the amber books: followed in 1 of 1 run"), "{details}");
}

#[test]
fn a_reply_is_requested_once() {
    let server =
        Server::start(|number, _| Answer::done(&if number == 0 { "Sure!".to_owned() } else { reply() }));
    let lab = lab().env("OPENAI_API_KEY", "sk-loopback-0123456789");
    let url = server.url();
    let args = ["audit", "corpus", "data", "--format", "json", "--directives-from", "openai:test-1"];
    let at = |url: &str| [&args[..], &["--base-url", url]].concat().into_iter().map(str::to_owned).collect();
    let run =
        |lab: &Fixture, args: Vec<String>| lab.assay(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let first = run(&lab, at(&url)).ok();
    assert_eq!(subjects(&first.stdout).len(), 2);
    // The first reply was no list of directives.
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].body.to_string().contains("Reply with the JSON array only"));
    // Neither the server nor a key is needed any more.
    let lab = lab.env("OPENAI_API_KEY", "");
    assert_eq!(run(&lab, at("http://127.0.0.1:9/v1")).ok().stdout, first.stdout);
    assert_eq!((server.requests().len(), cached(&lab)), (2, 1));
    // What the skill says has changed.
    lab.write("data/skills/ledger/SKILL.md", SKILL.replace("amber", "green"));
    let lab = lab.env("OPENAI_API_KEY", "sk-loopback-0123456789");
    assert_eq!(subjects(&run(&lab, at(&url)).ok().stdout).len(), 1);
    assert_eq!((server.requests().len(), cached(&lab)), (3, 2));
}

#[test]
fn caps_and_faults_of_the_model_are_reported() {
    let server = Server::start(|_, _| Answer::done("I would rather not."));
    let lab = lab().env("OPENAI_API_KEY", "sk-loopback-0123456789");
    let url = server.url();
    let refused = |args: &[&str], why: &str| {
        let ran = lab.assay(&[&["audit", "corpus", "data"], args].concat()).ended(2);
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
    };
    let model = ["--directives-from", "openai:test-1"];
    refused(&model, "is a paid model, and this audit has no cap");
    refused(&[&model[..], &["--max-usd", "1"]].concat(), "--max-usd needs --price");
    refused(&[&model[..], &["--price", "1"]].concat(), "--price needs two numbers");
    refused(&["--directives-from", "nobody:x"], "unknown provider");
    refused(&["--max-usd", "1"], "--directives-from");
    let at = |more: &[&str]| {
        lab.assay(&[&["audit", "corpus", "data"], &model[..], &["--base-url", &url], more].concat()).ok()
    };
    let capped = at(&["--price", "1,10", "--max-usd", "0.0001"]);
    assert!(capped.stderr.contains("--max-usd: 1 skill not sent"), "{}", capped.stderr);
    assert!(server.requests().is_empty());
    let prose = at(&[]);
    assert!(prose.stderr.contains("no directives of ledger from openai:test-1"), "{}", prose.stderr);
    assert!(prose.stdout.contains("RH-7731"), "{}", prose.stdout);
    // What was paid is stored, and asked again by the next command.
    assert_eq!((server.requests().len(), cached(&lab)), (2, 1));
    at(&[]);
    assert_eq!((server.requests().len(), cached(&lab)), (4, 1));
}
