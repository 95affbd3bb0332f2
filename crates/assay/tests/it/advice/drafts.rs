//! Messages of a draft, from its first stage to its experiment, and its pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Situation, assert_executed};
use crate::draft_run;
use crate::fixture::{Fixture, needs_bubblewrap};
use crate::ledger;
use crate::server::{Answer, Request};

/// The commands that are printed here, as they stand in the sources.
pub(super) const COMMANDS: &[&str] = &[
    "assay draft headroom",
    "assay draft headroom {root} --run {run}-pilot",
    "assay draft requests --out FILE",
    "assay draft run --resume",
    "assay draft run SKILL --resume --out {}",
    "assay run pilot.toml",
    "assay run {root}/experiment.toml",
    "assay run {root}/pilot.toml",
];

/// Five ways to ask for the same list.
const INSTRUCTIONS: [(&str, &str); 5] = [
    (
        "revenue",
        "The file /app/sales.csv has the takings of a week. Kim in accounting files a page about them, /app/NAME.txt, which names \
         the shops with their takings, and the total. Write that page by our usual rules; nobody can be asked today.",
    ),
    (
        "branches",
        "Our branches report to head office on Mondays; what they sent is in /app/sales.csv. Head office has to know how much it \
         was altogether. Leave a text with every branch and the sum as /app/NAME.txt, in the way in which we always send it.",
    ),
    (
        "audit",
        "An auditor asks how much every store earned, and what that makes in all. Read /app/sales.csv, then save what she needs \
         under the path /app/NAME.txt. It must look like our earlier letters to her, which have a fixed form.",
    ),
    (
        "receipts",
        "I keep receipts at /app/sales.csv. Put one line for each place of sale, with its amount, into /app/NAME.txt, along with \
         the grand sum over these places. Friends who continue my bookkeeping expect the customary layout.",
    ),
    (
        "meeting",
        "Before tomorrow's meeting somebody has to condense /app/sales.csv. Expected result: plain text, /app/NAME.txt; per shop \
         there is one entry holding what it took, plus the overall figure. The house style for such handouts applies.",
    ),
];

fn name_of(text: &str) -> &'static str {
    let idea = text.split("IDEA").nth(1).unwrap_or_default();
    let is_it = |name: &&str| idea.contains(&format!("\"name\": \"{name}\""));
    INSTRUCTIONS.iter().map(|(name, _)| *name).find(is_it).unwrap()
}

fn model(ideas: usize) -> impl Fn(usize, &Request) -> Answer + Send + Sync + 'static {
    move |_, request| {
        let text = draft_run::text_of(request);
        if text.starts_with("Propose") {
            let ideas: Vec<Value> =
                INSTRUCTIONS[..ideas].iter().map(|(name, _)| ledger::idea(name)).collect();
            return Answer::done(&json!({ "ideas": ideas }).to_string());
        }
        if text.starts_with("Do this work") {
            return Answer::done(&ledger::script(ledger::BLIND));
        }
        let name = name_of(&text);
        let mut reply = draft_run::files("revenue");
        let instruction = INSTRUCTIONS.iter().find(|(own, _)| *own == name).unwrap().1;
        for file in reply["files"].as_array_mut().unwrap() {
            if file["path"] == "instruction.md" {
                file["lines"] = json!([instruction]);
            }
        }
        Answer::done(&reply.to_string())
    }
}

/// Sets the model of the draft's files, an agent that solves the tasks with the skill only, and one repetition.
fn set_models(lab: &Fixture) {
    let rules =
        [json!({ "condition": "curated", "turn": 0, "run": [ledger::SOLVE] }), json!({ "say": "Done." })];
    lab.write("draft/turns.jsonl", rules.map(|rule| rule.to_string()).join("\n"));
    for name in ["pilot", "experiment"] {
        let path = lab.path(&format!("draft/{name}.toml"));
        let text = fs::read_to_string(&path).unwrap().replace("openai:gpt-5", "scripted:turns.jsonl");
        fs::write(&path, text.replace("repetitions = 5", "repetitions = 1")).unwrap();
    }
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            found.push(path);
        }
    }
}

/// A draft with directives, and the command that completes it.
fn draft(ideas: &'static str, url: &str) -> (Fixture, Vec<&'static str>) {
    let url: &'static str = url.to_owned().leak();
    let lab = draft_run::lab();
    draft_run::begin(&lab, url, &["--model", "openai:gpt-5", "--tasks", ideas]);
    let resume = ["draft", "run", "skills/ledger-export", "--resume", "--base-url", url, "--out", "draft"];
    (lab, resume.to_vec())
}

/// From a draft to a verdict, by its own messages and by its pages.
fn of_a_draft() -> BTreeSet<String> {
    let server = draft_run::start_author(model(5));
    let url = server.url();
    let resume =
        format!("assay draft run skills/ledger-export --resume --out draft --force --base-url {url}");
    let requests = format!(
        "assay draft requests skills --model openai:gpt-5 --base-url {url} --no-cap --count 5 --dry-run --out draft/requests.jsonl"
    );
    let (lab, run) = draft("5", &url);
    let situation = Situation::new("a draft", lab).made(&run, 0).make();
    let situation = situation.change(set_models);
    situation.lab.assay(&["view", "--draft", "draft", "--export", "site"]).ok();
    let mut files = Vec::new();
    pages(&situation.lab.path("site"), &mut files);
    files.sort();
    let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    situation
        .text(texts.join("\n").replace("&#96;", "`"))
        .complete_with("assay draft run --resume", move |_| resume.clone())
        .complete("assay run pilot.toml", "cd draft && assay --store ../.assay run pilot.toml")
        .complete("assay draft headroom", "assay draft headroom draft --run ledger-export-pilot")
        .complete("assay plan", "assay plan draft/experiment.toml")
        .complete("assay run", "assay run draft/experiment.toml")
        .complete_with("assay draft requests --out FILE", move |_| requests.clone())
        .check()
}

/// A draft with too few tasks for a verdict, as the draft itself says and as its pilot does.
fn of_too_few() -> BTreeSet<String> {
    let server = draft_run::start_author(model(2));
    let url = server.url();
    let resume = format!("assay draft run skills/ledger-export --resume --out draft --base-url {url}");
    let (lab, run) = draft("2", &url);
    Situation::new("too few tasks", lab)
        .made(&run, 0)
        .make()
        .change(set_models)
        .made(&["run", "draft/pilot.toml", "--no-checks"], 0)
        .read(&["draft", "headroom", "draft", "--run", "ledger-export-pilot"], 1)
        .says("too few tasks: 2, and a verdict needs at least 5")
        .says("too few tasks: 2 with headroom, and a verdict needs at least 5")
        .never("assay run draft/experiment.toml")
        .complete_with("assay draft run SKILL --resume --out draft", move |_| resume.clone())
        .check()
}

#[test]
fn commands_in_messages_of_drafts_work() {
    needs_bubblewrap!();
    let mut executed = of_a_draft();
    executed.extend(of_too_few());
    assert_executed(&executed, COMMANDS);
}
