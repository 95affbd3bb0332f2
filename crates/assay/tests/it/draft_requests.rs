//! `assay draft requests` with a server that answers by rule.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran};
use crate::server::{Answer, Request, Server};

/// Skills with their subject, the word by which the server knows a request for them, and their text.
const SKILLS: [(&str, &str, &str, &str); 8] = [
    (
        "tide-tables",
        "water levels",
        "ebb",
        "Read the almanac and interpolate between high and low water for each hour.",
    ),
    (
        "anchor-check",
        "ground tackle",
        "chain",
        "Inspect every shackle, then measure the wear of the links with callipers.",
    ),
    (
        "sail-repair",
        "torn canvas",
        "canvas",
        "Lay the cloth flat, cut a patch on the bias and stitch along both edges.",
    ),
    // The server copies the text of this one, …
    (
        "rope-splicing",
        "lines and eyes",
        "splice",
        "Unlay the three strands, tuck each one against the lay and trim what is left over.",
    ),
    // … names this one, …
    (
        "galley-menu",
        "meals at sea",
        "supper",
        "Plan the meals by the stores that spoil first and by the sea state.",
    ),
    // … repeats itself for this one, …
    (
        "hull-painting",
        "coats of paint",
        "primer",
        "Sand the old layers, wash the dust away and roll two coats on a dry day.",
    ),
    // … and objects to requests for these: once and twice.
    (
        "crew-roster",
        "watches of the crew",
        "watch",
        "Give nobody two night watches in a row and leave a rest of eight hours.",
    ),
    (
        "cargo-manifest",
        "lists of freight",
        "freight",
        "Sum the weights by hold and compare the total with the draught marks.",
    ),
];

const WORDS: [&str; 24] = [
    "amber", "bridge", "copper", "dawn", "eagle", "fern", "glass", "hill", "iron", "jade", "kettle", "lamp",
    "marble", "north", "orange", "pine", "quartz", "river", "silver", "tower", "urban", "violet", "willow",
    "yellow",
];

fn lab() -> Fixture {
    SKILLS.iter().fold(Fixture::new().env("OPENAI_API_KEY", "k"), |lab, (name, subject, _, text)| {
        lab.skill(name, &format!("Handles {subject} on board of a ship."), text)
    })
}

fn message(request: &Request, role: &str) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let own = messages.iter().find(|message| message["role"] == role).unwrap();
    own["content"].as_str().unwrap().to_owned()
}

/// The skills of a prompt, in its order.
fn skills_in(text: &str) -> Vec<usize> {
    let mut found: Vec<(usize, usize)> = (0..SKILLS.len())
        .filter_map(|place| Some((text.find(&format!("name: {}\n", SKILLS[place].0))?, place)))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, place)| place).collect()
}

/// How the server answers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rules {
    /// Well, and its reviews approve.
    Good,
    /// Well; one review objects to requests for `crew-roster`.
    Objecting,
    /// As the comments in [`SKILLS`] say; and no request needs `tide-tables` and another skill.
    Hostile,
}

/// A request for skills that differs from all others.
fn request_for(skills: &[usize], prompt: &str) -> String {
    let mut state = prompt.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[usize::try_from(state >> 33).unwrap() % WORDS.len()]
    };
    let words: Vec<&str> = (0..14).map(|_| word()).collect();
    let subjects: Vec<&str> = skills.iter().map(|skill| SKILLS[*skill].2).collect();
    format!("Please help me with {} near {}", subjects.join(" and "), words.join(" "))
}

/// Whether a request is for a skill.
fn is_for(request: &str, skill: usize) -> bool {
    request.split(' ').any(|word| word == SKILLS[skill].2)
}

/// What the model answers.
fn reply(request: &Request, rules: Rules) -> String {
    let (system, text) = (message(request, "system"), message(request, "user"));
    if !text.contains("\nREQUEST\n") {
        return write(&system, &text, rules);
    }
    let own = text.split_once("\nREQUEST\nBEGIN ").unwrap().1;
    let own = own.split_once('\n').unwrap().1.split_once("\nEND ").unwrap().0;
    if system.contains("each with a letter") {
        let letter = |skill: usize| {
            let at = text.find(&format!("name: {}\n", SKILLS[skill].0)).unwrap();
            text[..at].rsplit_once("SKILL ").unwrap().1[..1].to_owned()
        };
        let letters: Vec<String> =
            (0..SKILLS.len()).filter(|skill| is_for(own, *skill)).map(letter).collect();
        return json!({ "skills": letters, "reason": "by rule" }).to_string();
    }
    let is_coherence = system.contains("whether the request is coherent");
    let objects =
        rules != Rules::Good && is_coherence && is_for(own, 6) || rules == Rules::Hostile && is_for(own, 7);
    json!({ "verdict": if objects { "object" } else { "approve" }, "reason": "by rule" }).to_string()
}

fn write(system: &str, text: &str, rules: Rules) -> String {
    let skills = skills_in(text);
    if system.contains("You get two skills") {
        return request_for(&skills[..1], text);
    }
    if rules != Rules::Hostile {
        return request_for(&skills, text);
    }
    match (skills.len(), SKILLS[skills[0]].0) {
        (2.., _) if skills.contains(&0) => "NO_NATURAL_REQUEST".to_owned(),
        (1, "rope-splicing") => format!("Please do this: {}", SKILLS[skills[0]].3),
        (1, "galley-menu") => "Write the galley menu for supper near the northern islands".to_owned(),
        (1, "hull-painting") => request_for(&skills, ""),
        _ => request_for(&skills, text),
    }
}

fn server(rules: Rules) -> Server {
    Server::start(move |_, request| Answer::done(&reply(request, rules)))
}

fn draft(lab: &Fixture, server: &Server, args: &[&str]) -> Ran {
    let url = server.url();
    let all =
        ["draft", "requests", "skills", "--model", "openai:gpt-5", "--base-url", &url, "--format", "json"];
    lab.assay(&[&all[..], args].concat())
}

fn lines(lab: &Fixture, path: &str) -> Vec<Value> {
    let text = fs::read_to_string(lab.path(path)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names(lines: &[Value], key: &str) -> BTreeSet<String> {
    let names = lines.iter().flat_map(|line| line[key].as_array().unwrap());
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn requests_are_checked_reviewed_and_read_by_both_benchmarks() {
    let (lab, server) = (lab(), server(Rules::Hostile));
    let args = ["--count", "40", "--negatives", "6", "--out"];
    // Skills for which no request can be accepted are drawn again and again, so that fewer are accepted.
    let ran = draft(&lab, &server, &[&args[..], &["r.jsonl"]].concat()).ended(1).json();
    let requests = lines(&lab, "r.jsonl");
    let count = requests.len();
    assert!(count >= 20, "{ran}");
    assert_eq!((&ran["requests"], &ran["negatives"], &ran["cached"]), (&json!(count), &json!(6), &json!(0)));
    let (single, several): (Vec<Value>, Vec<Value>) =
        requests.iter().cloned().partition(|line| line["k"] == 1);
    assert_eq!(
        names(&single, "gold_names"),
        BTreeSet::from(["anchor-check", "hull-painting", "sail-repair", "tide-tables"].map(str::to_owned))
    );
    assert!(!several.is_empty() && !names(&several, "gold_names").contains("tide-tables"));
    for line in &requests {
        assert!(line["overlap3"].as_f64().unwrap() <= 0.1 && line["names_skill"] == false, "{line}");
        assert_eq!((&line["schema"], &line["approved_by"]), (&json!("assay.request/1"), &json!("reviews")));
        assert_eq!(line["reviews"].as_array().unwrap().len(), 3);
        assert_eq!(line["k"], json!(line["gold_ids"].as_array().unwrap().len()));
    }
    // What was dropped, and why.
    let dropped = lines(&lab, "r.dropped.jsonl");
    let of = |reason: &str| {
        let own: Vec<Value> = dropped.iter().filter(|line| line["reason"] == reason).cloned().collect();
        assert_eq!(own.len(), usize::try_from(ran["dropped"][reason].as_u64().unwrap()).unwrap(), "{reason}");
        own
    };
    let only = |name: &str| BTreeSet::from([name.to_owned()]);
    assert_eq!(names(&of("overlap"), "gold_names"), only("rope-splicing"));
    assert_eq!(names(&of("names-skill"), "gold_names"), only("galley-menu"));
    // Also draws with the same prompt, which this server answers with the same text.
    let repeated = names(&of("near-duplicate"), "gold_names");
    assert!(repeated.contains("hull-painting"), "{repeated:?}");
    for line in of("reviews") {
        assert!(line["gold_names"].as_array().unwrap().contains(&json!("cargo-manifest")), "{line}");
    }
    for line in of("null") {
        assert!(line["query"].is_null() && line["k"].as_u64() > Some(1), "{line}");
        assert!(line["gold_names"].as_array().unwrap().contains(&json!("tide-tables")), "{line}");
    }
    // One objection: the sheet, which a person can label.
    let sheet = lines(&lab, "r.review.jsonl");
    assert!(
        sheet.iter().all(|row| row["objection"] == "coherence" && row["cluster"].is_string()),
        "{sheet:?}"
    );
    assert_eq!(ran["for_people"], json!(sheet.len()));
    let added = lab.assay(&["judge", "sheet", "r.review.jsonl", "--format", "json"]).ok().json();
    assert_eq!(added["items"], json!(sheet.len()));
    // Negatives are served by the neighbour only.
    let negatives = lines(&lab, "r.negatives.jsonl");
    for line in &negatives {
        assert_eq!(line["not_ids"], line["negatives"]);
        assert_ne!(line["not_ids"], line["gold_ids"]);
        let word = SKILLS.iter().find(|own| line["gold_names"] == json!([own.0])).unwrap().2;
        assert!(line["query"].as_str().unwrap().contains(word), "{line}");
    }

    // The same command again asks nobody and writes the same.
    let before = server.requests().len();
    let again = draft(&lab, &server, &[&args[..], &["again.jsonl"]].concat()).ended(1).json();
    assert_eq!((&again["calls"], &again["cached"]), (&json!(0), &json!(before)));
    assert_eq!(server.requests().len(), before);
    assert_eq!(lines(&lab, "again.jsonl"), requests);
    draft(&lab, &server, &[&args[..], &["r.jsonl"]].concat()).ended(2);

    lab.assay(&["lab", "corpus", "build", "skills", "--out", "corpus.jsonl"]).ok();
    let bench = [
        "lab",
        "search",
        "bench",
        "--corpus",
        "corpus.jsonl",
        "--queries",
        "r.jsonl",
        "--negatives",
        "r.negatives.jsonl",
        "--retriever",
        "bm25",
        "--format",
        "json",
    ];
    let found = lab.assay(&bench).ok().json();
    assert_eq!(found["queries"], json!(count), "{found}");
    for (file, count) in [("r.jsonl", count), ("r.negatives.jsonl", 6)] {
        let bench = ["lab", "route", "bench", "--prompts", file, "--library", "skills", "--format", "json"];
        let found = lab.assay(&bench).ok().json();
        assert_eq!(found["prompts"], json!(count), "{found}");
    }
}

#[test]
fn a_person_decides_single_objections() {
    let (lab, server) = (lab(), server(Rules::Objecting));
    let args = ["--count", "12", "--out"];
    draft(&lab, &server, &[&args[..], &["r.jsonl"]].concat()).ok();
    let sheet = lines(&lab, "r.review.jsonl");
    assert!(sheet.len() >= 2, "{sheet:?}");
    let label = |(at, row): (usize, &Value)| json!({ "item": row["item"], "label": at == 0 }).to_string();
    let labels: Vec<String> = sheet.iter().enumerate().map(label).collect();
    fs::write(lab.path("labels.jsonl"), labels.join("\n")).unwrap();
    let args = [&args[..], &["p.jsonl", "--labels", "labels.jsonl"]].concat();
    let ran = draft(&lab, &server, &args).ok().json();
    assert_eq!(
        (&ran["requests"], &ran["approved_by_people"], &ran["for_people"], &ran["calls"]),
        (&json!(13), &json!(1), &json!(0), &json!(0))
    );
    let approved: Vec<Value> =
        lines(&lab, "p.jsonl").into_iter().filter(|line| line["approved_by"] == "person").collect();
    assert_eq!((approved.len(), &approved[0]["qid"]), (1, &sheet[0]["item"]));
    assert_eq!(ran["dropped"]["person"], json!(sheet.len() - 1));
    fs::write(lab.path("labels.jsonl"), "{\"item\": \"x\", \"label\": \"yes\"}\n").unwrap();
    let args = ["--count", "12", "--out", "q.jsonl", "--labels", "labels.jsonl"];
    assert!(draft(&lab, &server, &args).ended(2).stderr.contains("labels.jsonl:1"));
}

#[test]
fn pools_are_disjoint() {
    let (lab, server) = (lab(), server(Rules::Good));
    let drawn = |pool: &str| {
        let out = format!("{pool}.jsonl");
        let args = ["--count", "8", "--negatives", "2", "--seed", "4", "--pool", pool, "--out", &out];
        let ran = draft(&lab, &server, &args);
        let mut all = lines(&lab, &out);
        all.extend(lines(&lab, &format!("{pool}.dropped.jsonl")));
        all.extend(lines(&lab, &format!("{pool}.negatives.jsonl")));
        let rows = lines(&lab, &format!("{pool}.review.jsonl"));
        all.extend(rows.into_iter().map(|row| row["request"].clone()));
        assert!(all.iter().all(|line| line["pool"] == pool));
        let mut names = names(&all, "gold_names");
        names.extend(all.iter().filter_map(|line| line["not_names"][0].as_str().map(str::to_owned)));
        (names, ran.json()["skills"].as_u64().unwrap())
    };
    let ((training, first), (evaluation, second)) = (drawn("training"), drawn("evaluation"));
    assert_eq!(training.intersection(&evaluation).count(), 0, "{training:?} {evaluation:?}");
    assert_eq!(first + second, 8);
    assert_eq!((training.len() as u64, evaluation.len() as u64), (first, second));
}

#[test]
fn a_capped_command_resumes_without_asking_again() {
    let (lab, server) = (lab(), server(Rules::Good));
    let args = |out: &'static str, cap: &'static str| {
        ["--count", "6", "--out", out, "--price", "1,1", "--max-usd", cap, "--concurrency", "1"]
    };
    let dry = [&args("r.jsonl", "0.04")[..], &["--dry-run"]].concat();
    let forecast = draft(&lab, &server, &dry).ok().json();
    assert_eq!((&forecast["calls"], &forecast["max_calls"]), (&json!(24), &json!(72)));
    assert!(forecast["max_usd"].as_f64() > forecast["usd"].as_f64(), "{forecast}");
    assert_eq!(server.requests().len(), 0);
    let ran = draft(&lab, &server, &args("r.jsonl", "0.04")).ended(2);
    assert!(ran.stderr.contains("--max-usd 0.04 is reached"), "{}", ran.stderr);
    let sent = server.requests().len();
    assert!(sent > 0 && !lab.path("r.jsonl").exists());
    let ran = draft(&lab, &server, &args("r.jsonl", "5")).ok().json();
    assert_eq!(ran["cached"], json!(sent));
    let all: Vec<String> = server.requests().iter().map(|request| request.body.to_string()).collect();
    let calls = usize::try_from(ran["calls"].as_u64().unwrap()).unwrap();
    assert_eq!(all.len(), sent + calls);
    assert!(ran["cost_usd"].as_f64() > Some(0.0));

    // A paid model without a cap is refused.
    let paid = ["draft", "requests", "skills", "--model", "openai:gpt-5", "--count", "1", "--out", "x.jsonl"];
    assert!(lab.assay(&paid).ended(2).stderr.contains("has no cap"));
}

#[test]
fn reviews_go_to_the_reviewers_in_turn_and_unreadable_ones_object() {
    let lab = lab();
    let server = Server::start(|_, request| {
        let text = reply(request, Rules::Good);
        // This reviewer never answers in the required form.
        let is_unreadable =
            request.body["model"] == "other" && message(request, "system").contains("quality");
        Answer::done(if is_unreadable { "It is fine." } else { &text })
    });
    let args =
        ["--count", "1", "--out", "r.jsonl", "--reviewer", "openai:gpt-5", "--reviewer", "openai:other"];
    let ran = draft(&lab, &server, &args).ended(1);
    assert!(ran.stderr.contains("is of the family of"), "{}", ran.stderr);
    let sheet = lines(&lab, "r.review.jsonl");
    for row in &sheet {
        let review = &row["request"]["reviews"][1];
        assert_eq!((&review["review"], &review["reviewer"]), (&json!("quality"), &json!("openai:other")));
        assert!(review["reason"].as_str().unwrap().starts_with("no readable reply"), "{review}");
    }
    assert!(!lab.path("r.jsonl").exists());
}

/// A session of Claude Code that reads the text of a skill, or does not. It begins with what a client writes.
fn session(id: &str, first: &str, delivered: &str) -> String {
    let record = |number: usize, kind: &str, message: Value| {
        json!({
            "type": kind, "uuid": format!("{id}{number}"), "sessionId": id, "isSidechain": false, "version": "2.1.0",
            "timestamp": format!("2026-01-01T00:00:{number:02}Z"), "message": message,
        })
        .to_string()
    };
    let call = json!({ "type": "tool_use", "id": "a", "name": "Skill", "input": { "skill": "tide-tables" } });
    let result =
        json!({ "type": "tool_result", "tool_use_id": "a", "content": delivered, "is_error": false });
    let reply = json!({ "id": "m1", "model": "claude-x", "content": [call] });
    let records = [
        record(1, "user", json!({ "content": "<session_context>\nToday is Monday.\n</session_context>" })),
        record(2, "user", json!({ "content": first })),
        record(3, "assistant", reply),
        record(4, "user", json!({ "content": [result] })),
    ];
    records.join("\n") + "\n"
}

#[test]
fn first_messages_of_sessions_are_kept_apart() {
    let secret = format!("sk-{}", "a1".repeat(20));
    let lab = lab()
        .file("log/one.jsonl", session("s1", &format!("When is low water? My key is {secret}"), SKILLS[0].3))
        .file("log/two.jsonl", session("s2", "Tell me a story", "No such skill."))
        .file("log/three.jsonl", session("s3", &"long ".repeat(801), "No such skill."));
    let args =
        ["draft", "requests", "skills", "--from-traces", "log", "--out", "t.jsonl", "--format", "json"];
    let ran = lab.assay(&args).ok().json();
    assert_eq!(ran["sessions"], json!({ "requests": 2, "labelled": 1, "skipped": 1, "unread": 0 }));
    assert!(!lab.path("t.jsonl").exists());
    let found = lines(&lab, "t.traces.jsonl");
    let of =
        |start: &str| found.iter().find(|line| line["query"].as_str().unwrap().starts_with(start)).unwrap();
    let (one, two) = (of("When"), of("Tell"));
    assert_eq!(one["query"], "When is low water? My key is [redacted]");
    assert_eq!((&one["gold_names"], &one["source"]), (&json!(["tide-tables"]), &json!("trace")));
    assert_eq!((&two["gold_ids"], &two["overlap3"], &two["k"]), (&json!([]), &Value::Null, &json!(0)));
    // A request without a known skill is no request that no skill serves.
    let bench =
        ["lab", "route", "bench", "--prompts", "t.traces.jsonl", "--library", "skills", "--format", "json"];
    let ran = lab.assay(&bench).ok();
    assert_eq!(ran.json()["prompts"], json!(1));
    assert!(ran.stderr.contains("prompt-unlabelled"), "{}", ran.stderr);
}

#[test]
fn requests_become_an_experiment_whose_funnel_shows_what_was_opened() {
    let (lab, server) = (lab(), server(Rules::Good));
    let args = ["--count", "3", "--out", "r.jsonl", "--experiment", "trigger"];
    draft(&lab, &server, &args).ok();
    let requests = lines(&lab, "r.jsonl");
    let instruction = fs::read_to_string(lab.path("trigger/tasks/request-0001/instruction.md")).unwrap();
    assert_eq!(instruction.trim(), requests[0]["query"].as_str().unwrap());
    draft(&lab, &server, &["--count", "3", "--out", "s.jsonl", "--experiment", "trigger"]).ended(2);

    // An agent that opens what belongs to the task, and nothing if all skills are offered.
    let experiment = fs::read_to_string(lab.path("trigger/experiment.toml")).unwrap();
    lab.write("trigger/experiment.toml", experiment.replace("openai:gpt-5", "scripted:turns.jsonl"));
    let rules = [
        json!({ "turn": 0, "condition": "curated", "run": "cat /skills/*/SKILL.md" }),
        json!({ "turn": 1, "condition": "curated", "run": "echo done > /app/result.txt" }),
        json!({ "say": "Done." }),
    ];
    lab.write("trigger/turns.jsonl", rules.map(|rule| rule.to_string()).join("\n"));
    let ran = lab.assay(&["run", "trigger/experiment.toml", "--format", "json"]).ok().json();
    let arms = ran["report"]["arms"].as_array().unwrap();
    let opened: Vec<(&Value, &Value)> =
        arms.iter().map(|arm| (&arm["condition"], &arm["exposure"]["opened"])).collect();
    assert_eq!(opened, [(&json!("curated"), &json!(1.0)), (&json!("full"), &json!(0.0))]);
    let records = lab.records();
    let is_whole = |record: &Value| record["rewards"]["reward"].is_number() && record["ctrf"].is_object();
    assert!(!records.is_empty() && records.iter().all(is_whole), "{records:#?}");
    // The checks of the tasks held: a solution passes, and doing nothing fails.
    assert_eq!(ran["report"]["excluded"].as_array().map_or(0, Vec::len), 0, "{}", ran["report"]["excluded"]);
}

#[test]
fn what_cannot_be_drafted_is_refused() {
    let lab = lab().file("empty/none.txt", "x");
    let check = |args: &[&str], part: &str| {
        let ran = lab.assay(&[&["draft", "requests"], args].concat()).ended(2);
        assert!(ran.stderr.contains(part), "{args:?}: {}", ran.stderr);
    };
    check(&["empty", "--from-traces", "log", "--out", "x.jsonl"], "no skill in empty");
    check(&["skills", "--out", "x.jsonl"], "--model");
    check(&["skills", "--model", "openai:x", "--out", "x.jsonl"], "--count");
    let price = ["skills", "--model", "openai:x", "--count", "1", "--out", "x.jsonl", "--max-usd", "1"];
    check(&price, "--max-usd needs --price");
}
