//! A whole draft: from a skill through directives, probe, tasks and pilot to a report with both sets. A server and a script
//! stand in for the models.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::draft_run::{instruction, lab, text_of};
use crate::fixture::{Fixture, needs_bubblewrap, read_json, within};
use crate::ledger::{self, BLIND, SOLVE, script};
use crate::server::{Answer, Request, Server};

/// How long a step of a draft may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// The directives of the skill, as the author lists them, each with the question about it.
fn listed() -> Value {
    let mut directives = ledger::directives()["directives"].clone();
    for (at, directive) in directives.as_array_mut().unwrap().iter_mut().enumerate() {
        directive["relevant_when"] = json!("a page is filed");
        directive["question"] = json!(format!("What is done at point {at}?"));
        directive.as_object_mut().unwrap().remove("by");
    }
    json!({"directives": directives, "dismissed": [{"file": "SKILL.md", "lines": "8", "reason": "no check can see it"}]})
}

/// The objects of a request that are on lines of their own.
fn lines_of(text: &str) -> Vec<Value> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &Value| line["id"].is_string())
        .collect()
}

/// The author: a reply to the probe is as expected if it has the answer's words. In the place of a task that fell, it
/// proposes `more`.
fn author(request: &Request, ideas: &[&str], more: &[&str]) -> Answer {
    let text = text_of(request);
    let proposed = |names: &[&str]| {
        let ideas: Vec<Value> = names.iter().map(|name| ledger::idea(name)).collect();
        json!({"ideas": ideas}).to_string()
    };
    let idea_name = || {
        let idea = text.split("IDEA").nth(1).unwrap_or_default();
        ["revenue", "totals"]
            .into_iter()
            .find(|name| idea.contains(&format!("\"name\": \"{name}\"")))
            .unwrap()
    };
    let reply = match &text {
        text if text.starts_with("List the directives") => listed().to_string(),
        text if text.starts_with("For each pair below") => {
            let same = |pair: &Value| pair["reply"].as_str().unwrap().contains("total");
            let pairs = lines_of(text).into_iter().filter(|line| line["expected"].is_string());
            let pairs: Vec<Value> = pairs
                .map(|pair| {
                    assert!(
                        pair["question"].as_str().unwrap().starts_with("What is done at point"),
                        "{pair}"
                    );
                    json!({"id": pair["id"], "same": same(&pair)})
                })
                .collect();
            json!({"pairs": pairs}).to_string()
        }
        text if text.starts_with("Propose") && text.contains("it fell: ") => {
            assert!(text.contains("it fell: known-without-skill: d01"), "{text}");
            proposed(more)
        }
        text if text.starts_with("Propose") => proposed(ideas),
        text if text.starts_with("Write the files") => {
            ledger::files(&instruction(idea_name()), SOLVE).to_string()
        }
        text if text.starts_with("Do this work") => script(BLIND),
        text => {
            assert!(text.starts_with("You wrote the task below"), "{text}");
            let known = "known-without-skill: d01: the agent that worked without the skill meets it";
            assert!(text.contains(known), "{text}");
            json!({"files": []}).to_string()
        }
    };
    Answer::done(&reply)
}

/// The model to be measured: it states the total, and otherwise follows the skill where it has it. As an agent it knows the
/// whole skill in the task `known`.
fn measured(known: &str) -> String {
    let answers: Vec<Value> = (1..=6)
        .map(|at| json!({"id": format!("d0{at}"), "answer": if at == 6 { "I state the total" } else { "nothing special" }}))
        .collect();
    let rules = [
        json!({"task": "draft", "seen": "with one answer for each question", "say": json!({"answers": answers}).to_string()}),
        json!({"task": "draft", "seen": "This is reply", "say": script(BLIND)}),
        json!({"task": known, "condition": "none", "turn": 0, "run": [SOLVE]}),
        json!({"condition": ["curated", "told"], "turn": 0, "run": [SOLVE]}),
        json!({"turn": 0, "run": [BLIND]}),
        json!({"say": "Done."}),
    ];
    rules.map(|rule| rule.to_string()).join("\n")
}

fn args<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let own = ["draft", "run", "skills/ledger-export", "--base-url", url, "--out", "draft"];
    let measured = ["--measured", "scripted:measured.jsonl", "--allow-outside"];
    [&own[..], &measured, more].concat()
}

/// Requests that were sent, without those that check a connection. None is sent twice.
fn sent(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let texts: Vec<String> = requests.iter().filter(|request| !request.is_preflight()).map(text_of).collect();
    for (at, text) in texts.iter().enumerate() {
        assert!(!texts[..at].contains(text), "asked twice: {text}");
    }
    texts
}

fn count_trials(lab: &Fixture) -> usize {
    let folders = fs::read_dir(lab.path("draft/attempts/store/trials")).into_iter().flatten().flatten();
    folders.map(|folder| fs::read_dir(folder.path()).unwrap().count()).sum()
}

/// Of a draft with two tasks.
fn check_status(mut status: Value) {
    // Seven replies of the author have 1,010 tokens each; those of the script are counted.
    let tokens = status["spent"]["tokens"].as_u64().unwrap();
    assert!(tokens > 7 * 1_010, "{tokens}");
    status["spent"]["tokens"] = json!("counted");
    insta::assert_snapshot!(serde_json::to_string_pretty(&status).unwrap(), @r#"
    {
      "schema": "assay.draft-status/1",
      "skill": "ledger-export",
      "directives": {
        "total": 6,
        "by_class": {
          "convention": 3,
          "knowledge": 2,
          "reminder": 1
        },
        "tested": 6,
        "infeasible": 0
      },
      "probe": {
        "known": 1,
        "unknown": 5
      },
      "tasks": [
        {
          "name": "revenue",
          "state": "accepted",
          "gc_items": 2,
          "if_items": 5,
          "blind": {
            "gc": 1.0,
            "if": 0.0
          },
          "with": {
            "gc": 1.0,
            "if": 1.0
          },
          "canaries": 4
        },
        {
          "name": "totals",
          "state": "accepted",
          "gc_items": 2,
          "if_items": 5,
          "blind": {
            "gc": 1.0,
            "if": 0.0
          },
          "with": {
            "gc": 1.0,
            "if": 1.0
          },
          "canaries": 4
        }
      ],
      "spent": {
        "replies": 14,
        "tokens": "counted",
        "usd": null
      }
    }
    "#);
}

#[test]
fn a_skill_becomes_a_report_with_both_sets() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| author(request, &["revenue", "totals"], &[]));
    let lab = lab().file("measured.jsonl", measured("nowhere"));
    let url = server.url();
    let drafted = lab.assay(&args(&url, &["--model", "openai:gpt-5", "--tasks", "2"])).ok();
    for said in [
        "directives: 6",
        "probe: 1 known without the skill, 5 not",
        "revenue: the pilot without the skill, by scripted:../measured.jsonl",
        "revenue: failed without the skill (0 of 5 IF items met), passed with it (5 of 5)",
        "too few tasks: 2, and a verdict needs at least 5",
    ] {
        assert!(drafted.stderr.contains(said), "{said}: {}", drafted.stderr);
    }
    let shown = "revenue: accepted, 2 GC and 5 IF items (4 canaries), without the skill GC 100% IF 0%, with the skill GC 100% \
                 IF 100%, pilot GC 100% IF 0% without and GC 100% IF 100% with";
    assert!(drafted.stdout.contains(shown), "{}", drafted.stdout);
    sent(&server);
    check_status(lab.assay(&["draft", "status", "draft", "--format", "json"]).ok().json());

    // Both sides of each task, and the models whose work chose it.
    let attempts = read_json(&lab.path("draft/attempts.json")).unwrap();
    let outcomes = &attempts["tasks"]["totals"][0];
    assert_eq!(
        (&outcomes["without"]["outcome"], &outcomes["with"]["outcome"]),
        (&json!("failed"), &json!("passed"))
    );
    assert_eq!(
        (&outcomes["without"]["met"]["d02"], &outcomes["with"]["met"]["d02"]),
        (&json!(false), &json!(true))
    );
    let experiment = fs::read_to_string(lab.path("draft/experiment.toml")).unwrap();
    for line in [
        "selected_by = [\"openai:gpt-5\", \"scripted:../measured.jsonl\"]",
        "model = \"scripted:../measured.jsonl\"\n",
        "conditions = [\"none\", \"curated\", \"told\", \"placebo\"]",
    ] {
        assert!(experiment.contains(line), "{line}: {experiment}");
    }
    // Nothing is asked or attempted again.
    let before = (server.requests().len(), count_trials(&lab));
    lab.assay(&args(&url, &["--resume"])).ok();
    assert_eq!((server.requests().len(), count_trials(&lab)), before);

    lab.write("draft/experiment.toml", experiment.replace("repetitions = 5", "repetitions = 2"));
    let ran = lab.assay(&["run", "draft/experiment.toml", "--allow-outside", "--format", "json"]).ok().json();
    // None of the pilot's trials counts.
    assert_eq!((&ran["executed"], &ran["cached"]), (&json!(16), &json!(0)), "{ran:#}");
    let report = lab.assay(&["report", "ledger-export"]).ok().stdout;
    let estimand = "Estimand: the lift on tasks and items that openai:gpt-5 and scripted:../measured.jsonl failed without the skill";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&report).contains(estimand), "{report}");
    let sets = report.split_once("Instruction following and goal completion").unwrap().1;
    let sets = sets.split_once(" Without and with, over all tasks").unwrap().0;
    insta::assert_snapshot!(sets.trim_end(), @"
     Items, clustered by task (Δ and CIs in pp):
     condition  set                       verdict                           items  tasks  without  with     Δ  adjusted CI
     curated    IF, knowledge             inconclusive                          4      2       0%  100%  +100            –
     curated    IF, convention            inconclusive                          6      2       0%  100%  +100            –
     curated    IF, reminders (controls)  inconclusive                          2      2     100%  100%    +0            –
     curated    GC (guard)                inconclusive, guard inconclusive      4      2     100%  100%    +0            –
     told       IF, knowledge             inconclusive                          4      2       0%  100%  +100            –
     told       IF, convention            inconclusive                          6      2       0%  100%  +100            –
     told       IF, reminders (controls)  inconclusive                          2      2     100%  100%    +0            –
     told       GC (guard)                inconclusive, guard inconclusive      4      2     100%  100%    +0            –
     placebo    IF, knowledge             inconclusive                          4      2       0%    0%    +0            –
     placebo    IF, convention            inconclusive                          6      2       0%    0%    +0            –
     placebo    IF, reminders (controls)  inconclusive                          2      2     100%  100%    +0            –
     placebo    GC (guard)                inconclusive, guard inconclusive      4      2     100%  100%    +0            –
     The baseline `none` knows 0 of 4 canaries (answers that nobody can guess).
     The verdict on the skill is that on the score. Knowledge is the headline of instruction
       following; convention shows that the text reached the agent, and is never added to it; reminders
       are controls with an expected gain of 0.
    ");
}

#[test]
fn a_task_that_is_known_without_the_skill_is_replaced() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| author(request, &["revenue"], &["totals"]));
    let lab = lab().file("measured.jsonl", measured("revenue"));
    let url = server.url();
    let begin = args(&url, &["--model", "openai:gpt-5", "--tasks", "1"]);
    // A draft that is killed while an agent works attempts nothing twice.
    let running = lab.start(&begin);
    let is_attempting = || lab.path("draft/attempts/store").is_dir();
    assert!(within(PATIENCE, is_attempting), "{}", running.stderr());
    running.signal(rustix::process::Signal::KILL);
    running.wait();
    let drafted = lab.assay(&args(&url, &["--resume", "--format", "json"])).ok();
    let found = drafted.json();
    let state = |name: &str| {
        let tasks = found["tasks"].as_array().unwrap();
        let task = tasks.iter().find(|task| task["name"] == name).unwrap();
        (task["state"].as_str().unwrap().to_owned(), task["reason"].as_str().unwrap_or_default().to_owned())
    };
    let (fallen, reason) = state("revenue");
    assert_eq!(fallen, "infeasible");
    let known = "known-without-skill: d01: the agent that worked without the skill meets it";
    assert!(reason.starts_with(known) && reason.ends_with("still faulty after 2 repairs"), "{reason}");
    assert_eq!(state("totals").0, "accepted");
    sent(&server);
    // Two attempts on each task, and what was seen of the first is kept.
    assert_eq!(count_trials(&lab), 4);
    let attempts = read_json(&lab.path("draft/attempts.json")).unwrap();
    assert_eq!(attempts["tasks"]["revenue"][0]["without"]["outcome"], "passed");
    let page = lab.assay(&["draft", "status", "draft"]).ok().stdout;
    assert!(page.contains("revenue: infeasible") && page.contains("pilot GC 100% IF 100% without"), "{page}");
}
