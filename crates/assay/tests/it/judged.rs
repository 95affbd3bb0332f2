//! Trials that judges decide: what they see, what counts, and what happens without an answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::fixture::{Fixture, attempt, needs_bubblewrap, read_json};
use crate::server::{Answer, Request, Server};

/// Five tasks whose agent writes `style` into notes.md if it has read the skill, and a rubric of two sets.
pub(crate) fn lab(judge: &str) -> Fixture {
    let rubric = json!({
        "schema": "assay.rubric/1",
        "sets": [
            {"name": "instruction following", "items": [
                {"id": "style", "text": "The notes are in the style of the house", "points": 60},
                {"id": "signed", "text": "The notes are signed by the author", "points": 40}]},
            {"name": "goal completion", "items": [
                {"id": "written", "text": "There are notes", "points": 70},
                {"id": "told", "text": "The last message says where they are", "points": 30,
                 "check": {"answer-contains": ["notes.md"]}}]}]
    });
    let mut fixture = Fixture::new().env("OPENAI_API_KEY", "k");
    for task in ["a", "b", "c", "d", "e"] {
        fixture.write(&format!("tasks/{task}/task.toml"), "version = \"1.0\"\n");
        fixture.write(
            &format!("tasks/{task}/instruction.md"),
            format!("Write notes about {task} to notes.md.\n"),
        );
        fixture.write(
            &format!("tasks/{task}/environment/Dockerfile"),
            "FROM python:3.11-slim-bookworm\nWORKDIR /app\n",
        );
        fixture.write(&format!("tasks/{task}/tests/rubric.json"), rubric.to_string());
    }
    fixture = fixture
        .skill("notes", "How notes are written. Use for notes.", "Write the line: In the style of the house.\n")
        .script(&[
            json!({"turn": 0, "seen": "/skills/notes", "run": ["cat /skills/notes/SKILL.md"]}),
            json!({"turn": [0, 1], "seen": "Write the line:", "run": ["echo 'In the style of the house.' >notes.md"]}),
            json!({"turn": 0, "run": ["echo 'Some notes about it, as usual.' >notes.md"]}),
            json!({"say": "The notes are in notes.md."}),
        ]);
    let pairs: String = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|task| format!("[tasks.\"{task}\"]\ncurated = [\"notes\"]\n"))
        .collect();
    fixture.experiment(|design| {
        design
            .conditions(&["none", "curated"])
            .repetitions(2)
            .no_sandbox()
            .table(&format!("{judge}\n[sandbox]\nkind = \"bubblewrap\"\nroots = {{ \"python:3.11-slim-bookworm\" = \"host\" }}\n{pairs}"))
    })
}

pub(crate) fn judge_at(url: &str) -> String {
    format!("[judge]\nmodels = [\"openai:judge\"]\nbase_url = \"{url}\"\n")
}

/// The requirements of a request and its material.
fn parts(request: &Request) -> (Vec<Value>, String) {
    let messages = request.body["messages"].as_array().unwrap();
    let text = messages.iter().rev().find(|message| message["role"] == "user").unwrap();
    let text = text["content"].as_str().unwrap();
    let list = &text[text.find("REQUIREMENTS").unwrap()..];
    let list = &list[list.find('[').unwrap()..];
    let mut documents = serde_json::Deserializer::from_str(list).into_iter::<Vec<Value>>();
    let material =
        text.split_once("\nMATERIAL ").map(|(_, material)| material.to_owned()).unwrap_or_default();
    (documents.next().unwrap().unwrap(), material)
}

/// The part of a material that has a line: the last one that begins above it. An agent reads files.
fn part_of(material: &str, line: &str) -> String {
    let mark = material.lines().next().unwrap_or_default();
    let mut part = "work/notes.md";
    for own in material.lines() {
        let name = own.strip_prefix("--- ").and_then(|own| own.strip_suffix(mark));
        match name {
            Some(name) => part = name.trim_end(),
            None if own.trim() == line.trim() => return part.to_owned(),
            None => {}
        }
    }
    String::new()
}

/// What an attentive judge answers.
fn answers((items, material): &(Vec<Value>, String)) -> Vec<Value> {
    items
        .iter()
        .map(|item| {
            let text = item["requirement"].as_str().unwrap();
            let line =
                |part: &str| material.lines().find(|line| line.contains(part)).unwrap_or_default().to_owned();
            let (answer, quote) = match text.strip_prefix("The material contains the following line: ") {
                Some(line) => ("met", line.to_owned()),
                None if text.contains("style") && material.contains("In the style") => {
                    ("met", line("In the style"))
                }
                None if text == "There are notes" => {
                    let line = if material.contains("In the style") {
                        line("In the style")
                    } else {
                        line("Some notes")
                    };
                    ("met", line)
                }
                None => ("not met", String::new()),
            };
            let part = part_of(material, &quote);
            json!({"id": item["id"], "answer": answer, "part": part, "quote": quote, "reason": "as it says"})
        })
        .collect()
}

pub(crate) fn reply(request: &Request) -> Answer {
    if request.is_preflight() {
        return Answer::done("ok");
    }
    Answer::done(&json!({ "items": answers(&parts(request)) }).to_string())
}

/// What a judge answers that overlooks planted items.
pub(crate) fn careless(request: &Request) -> Answer {
    let answers = answers(&parts(request)).into_iter();
    let items: Vec<Value> =
        answers.filter(|answer| !answer["id"].as_str().unwrap().starts_with("planted")).collect();
    Answer::done(&json!({ "items": items }).to_string())
}

fn run(lab: &Fixture) -> (Value, i32) {
    lab.run(&["--no-cap"])
}

fn sets(report: &Value) -> Vec<(String, f64, f64, String)> {
    let rows = report["judged"]["sets"].as_array().unwrap();
    rows.iter()
        .map(|row| {
            let number = |name: &str| row[name].as_f64().unwrap();
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            (text("set"), number("without"), number("with"), text("verdict"))
        })
        .collect()
}

#[test]
fn a_rubric_gives_scores_by_set_and_gains_by_item() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| reply(request));
    let lab = lab(&judge_at(&server.url()));
    let (document, code) = run(&lab);
    assert_eq!((code, &document["executed"]), (0, &json!(20)), "{document:#}");
    let report = &document["report"];
    // Without the skill 0 of 100 and 100 of 100 points, with it 60 and 100: 50 and 80 of 100 overall.
    assert_eq!(
        sets(report),
        [
            ("goal completion".to_owned(), 1.0, 1.0, "inconclusive".to_owned()),
            ("instruction following".to_owned(), 0.0, 0.6, "improves".to_owned()),
            ("overall".to_owned(), 0.5, 0.8, "helps".to_owned()),
        ]
    );
    let items = report["judged"]["items"].as_array().unwrap();
    assert_eq!(
        (&items[0]["item"], &items[0]["gain"], &items[0]["with_if_opened"]),
        (&json!("style"), &json!(1.0), &json!(1.0))
    );
    let record = &lab.records()[0];
    let judgement = read_json(&attempt(record, "judgement.json")).unwrap();
    assert_eq!(judgement["judgement"]["judges"], json!(["openai:judge"]));
    let told =
        judgement["judgement"]["items"].as_array().unwrap().iter().find(|item| item["id"] == "told").unwrap();
    assert_eq!(told["checked"], true);
    // What was decided without the judge was not asked.
    let asked = server
        .requests()
        .iter()
        .filter(|request| !request.is_preflight())
        .map(|request| parts(request).0)
        .collect::<Vec<_>>();
    assert!(asked.iter().flatten().all(|item| item["id"] != "told"));
    assert_eq!(asked.len(), 20);

    let found = lab.assay(&["judge", "diagnose", "lab", "--format", "json"]).ok().json();
    assert_eq!(found["items"][0]["item"], "style", "{found:#}");
    let again = lab.run(&["--no-cap"]).0;
    assert_eq!((&again["executed"], &again["cached"]), (&json!(0), &json!(20)));
}

#[test]
fn a_judge_that_is_down_loses_no_work() {
    needs_bubblewrap!();
    let is_down = Arc::new(AtomicBool::new(true));
    let down = is_down.clone();
    let server = Server::start(move |_, request| {
        if down.load(Ordering::Relaxed) && !request.is_preflight() {
            return Answer::of(400, json!({"error": {"message": "no such model"}}));
        }
        reply(request)
    });
    let lab = lab(&judge_at(&server.url()));
    let (document, code) = lab.run(&["--no-cap", "--only", "task=a"]);
    assert_eq!((code, &document["infrastructure"]), (3, &json!(4)), "{document:#}");
    let broken = &lab.records()[0];
    assert_eq!((&broken["outcome"], &broken["cause"]), (&json!("infrastructure"), &json!("judge")));
    assert!(broken["reason"].as_str().unwrap().contains("gives no reply"), "{broken:#}");
    is_down.store(false, Ordering::Relaxed);
    let (document, code) = lab.run(&["--no-cap", "--only", "task=a"]);
    assert_eq!(
        (code, &document["executed"], &document["infrastructure"]),
        (0, &json!(4), &json!(0)),
        "{document:#}"
    );
    for record in lab.records() {
        assert_eq!((&record["attempt"], &record["outcome"]), (&json!(2), &json!("failed")), "{record:#}");
        // The agent did not work again.
        let trajectories = ["1", "2"].map(|number| {
            let attempts = attempt(&record, "x").parent().unwrap().parent().unwrap().to_owned();
            fs::read(attempts.join(number).join("trajectory.json")).unwrap()
        });
        assert_eq!(trajectories[0], trajectories[1]);
    }
}

/// What the judge of a request is called.
fn judge_of(request: &Request) -> String {
    request.body["model"].as_str().unwrap_or_default().to_owned()
}

/// Requests to a judge, without preflights.
fn asked_of(server: &Server, judge: &str) -> usize {
    let requests = server.requests();
    requests.iter().filter(|request| !request.is_preflight() && judge_of(request) == judge).count()
}

#[test]
fn replies_of_one_judge_are_kept_when_another_fails() {
    needs_bubblewrap!();
    let is_bad = Arc::new(AtomicBool::new(true));
    let bad = is_bad.clone();
    let server = Server::start(move |_, request| {
        let is_bad = judge_of(request) == "bad" && bad.load(Ordering::Relaxed);
        if is_bad && !request.is_preflight() {
            return Answer::done("I would say that the notes are fine.");
        }
        reply(request)
    });
    let panel = format!(
        "[judge]\nmodels = [\"openai:good\", \"openai:bad\"]\nbase_url = \"{}\"\n\
         [prices.\"openai:good\"]\ninput = 1000.0\noutput = 0.0\n[prices.\"openai:bad\"]\ninput = 1000.0\noutput = 0.0\n",
        server.url()
    );
    let lab = lab(&panel);
    let run = || lab.run(&["--max-usd", "100", "--only", "task=a"]);
    for round in 1..=3 {
        let (document, code) = run();
        assert_eq!((code, &document["infrastructure"]), (3, &json!(4)), "{document:#}");
        // Four trials: each asks it once, whatever the other says and how often.
        assert_eq!((asked_of(&server, "good"), asked_of(&server, "bad")), (4, 8 * round));
        let record = &lab.records()[0];
        assert!(
            record["reason"].as_str().unwrap().contains("cannot read the replies of the judge openai:bad")
        );
    }
    is_bad.store(false, Ordering::Relaxed);
    let (document, code) = run();
    assert_eq!((code, &document["infrastructure"]), (0, &json!(0)), "{document:#}");
    assert_eq!((asked_of(&server, "good"), asked_of(&server, "bad")), (4, 28));
    // A judgement costs what was paid for it: one reply of the one, and seven of the other.
    for record in lab.records() {
        assert_eq!(
            (&record["judgement"]["requests"], &record["judgement"]["cost_usd"]),
            (&json!(8), &json!(8.0))
        );
    }
    let (document, _) = run();
    assert_eq!((&document["executed"], &document["cached"]), (&json!(0), &json!(4)));
}

#[test]
fn another_judge_decides_on_the_same_work() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| reply(request));
    let lab = lab(&judge_at(&server.url()));
    let run = || lab.run(&["--no-cap", "--only", "task=a"]);
    let (document, _) = run();
    assert_eq!((&document["run"], &document["executed"]), (&json!("lab"), &json!(4)), "{document:#}");
    let work = |record: &Value| record["work"].as_str().unwrap().to_owned();
    let attempts = |work: &str| {
        fs::read_dir(lab.path(&format!(".assay/trials/{}/{work}/attempts", &work[..2]))).unwrap().count()
    };
    let first = lab.records();
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write("experiment.toml", text.replace("openai:judge", "openai:second"));
    let (document, code) = run();
    assert_eq!(
        (code, &document["run"], &document["executed"]),
        (0, &json!("lab-2"), &json!(4)),
        "{document:#}"
    );
    assert_eq!((asked_of(&server, "judge"), asked_of(&server, "second")), (4, 4));
    let records = lab.records();
    assert_eq!(records.len(), 8);
    for record in &records {
        // The agent worked once, and both judgements are kept, each in its own record and beside the other.
        let work = work(record);
        assert_eq!(attempts(&work), 1, "{record:#}");
        let folder = lab.path(&format!(".assay/trials/{}/{work}/judgements", &work[..2]));
        let kept =
            fs::read_dir(&folder).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_file()).count();
        assert_eq!(kept, 2, "{}", folder.display());
        let of_first = first.iter().find(|old| old["trial"] == record["trial"]);
        let judge = if of_first.is_some() { "openai:judge" } else { "openai:second" };
        assert_eq!(record["judgement"]["judges"], json!([judge]));
    }
    // Each run reads its own judgements.
    for (name, judge) in [("lab", "openai:judge"), ("lab-2", "openai:second")] {
        let report = lab.assay(&["report", name, "--format", "json"]).ok().json();
        assert_eq!(report["judged"]["judges"], json!([judge]), "{report:#}");
        assert_eq!(report["keys"]["signed"], json!(4), "{report:#}");
    }
    // A panel of both asks nobody again; a second repeat asks each once more.
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write("experiment.toml", text.replace("\"openai:second\"", "\"openai:judge\", \"openai:second\""));
    let (document, code) = run();
    assert_eq!((code, &document["executed"]), (0, &json!(4)), "{document:#}");
    assert_eq!((asked_of(&server, "judge"), asked_of(&server, "second")), (4, 4));
    // What no run needs goes; what one needs stays.
    lab.assay(&["gc", "--unreferenced"]).ok();
    let (document, _) = run();
    assert_eq!((&document["executed"], &document["cached"]), (&json!(0), &json!(4)));
}

/// What a script draws does not depend on who judges the work: another judge decides on the same.
#[test]
fn the_work_does_not_depend_on_the_judge() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| reply(request));
    let works = ["openai:judge", "openai:second"].map(|judge| {
        let lab = lab(&judge_at(&server.url()).replace("openai:judge", judge)).script(&[
            json!({"turn": 0, "chance": 0.5, "draw": "notes", "run": ["echo 'Some notes.' >notes.md"]}),
            json!({"turn": 0, "run": ["echo 'Other notes.' >notes.md"]}),
            json!({"say": "The notes are in notes.md."}),
        ]);
        let (document, code) = run(&lab);
        assert_eq!((code, &document["executed"]), (0, &json!(20)), "{document:#}");
        let work = |record: &Value| {
            let id = record["work"].as_str().unwrap().to_owned();
            let diff = lab.path(&format!(".assay/trials/{}/{id}/attempts/1/workspace.diff", &id[..2]));
            (id, fs::read_to_string(diff).unwrap())
        };
        lab.records().iter().map(work).collect::<BTreeMap<_, _>>()
    });
    let texts: BTreeSet<&String> = works[0].values().collect();
    assert!(texts.len() == 2 && works[0].len() == 20, "{works:#?}");
    assert_eq!(works[0], works[1]);
}

#[test]
fn a_judge_of_the_candidates_family_is_refused_before_any_trial() {
    let lab = lab("[judge]\nmodels = [\"openai:o3\"]\nbase_url = \"http://127.0.0.1:9/v1\"\n");
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write("experiment.toml", text.replace("scripted:turns.jsonl", "openai:gpt-5"));
    let ran = lab.assay(&["run", "experiment.toml", "--no-cap"]).ended(2);
    assert!(ran.stderr.contains("is of the family of openai:gpt-5"), "{}", ran.stderr);
    assert!(lab.trials().is_empty());
}

#[test]
fn a_quotation_that_is_not_there_does_not_count() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| {
        if request.is_preflight() {
            return Answer::done("ok");
        }
        let (items, material) = parts(request);
        let planted = answers(&(items, material));
        let items: Vec<Value> = planted
            .into_iter()
            .map(|answer| {
                if answer["id"].as_str().unwrap().starts_with("planted") {
                    return answer;
                }
                let (part, quote) = ("files in the work folder", "words that are nowhere");
                json!({"id": answer["id"], "answer": "met", "part": part, "quote": quote, "reason": "so"})
            })
            .collect();
        Answer::done(&json!({ "items": items }).to_string())
    });
    let lab = lab(&judge_at(&server.url()));
    let (document, code) = run(&lab);
    assert_eq!(code, 0, "{document:#}");
    let judged = &document["report"]["judged"];
    assert_eq!(judged["undecided"], json!({"curated": 1.0, "none": 1.0}));
    // Only what was decided without the judge has points.
    assert_eq!(
        sets(&document["report"])[0],
        ("goal completion".to_owned(), 0.3, 0.3, "inconclusive".to_owned())
    );
}

#[test]
fn two_wrong_answers_to_planted_items_block_the_verdict() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| {
        if request.is_preflight() {
            return Answer::done("ok");
        }
        careless(request)
    });
    let lab = lab(&judge_at(&server.url()));
    // A twentieth of 150 items is planted; which ones, the ids of the trials decide.
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write("experiment.toml", text.replace("repetitions = 2", "repetitions = 5"));
    let (document, code) = run(&lab);
    let judged = &document["report"]["judged"];
    assert!(judged["missed"].as_u64().unwrap() >= 2, "{judged:#}");
    assert_eq!((code, &judged["blocked"]), (3, &json!(true)));
    let comparison = &document["report"]["comparisons"][0];
    assert_eq!((&comparison["verdict"], &comparison["reason"]), (&json!("inconclusive"), &json!("judge")));
}

#[test]
fn trials_are_judged_again_without_running_them() {
    needs_bubblewrap!();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let server = Server::start(move |_, request| {
        counted.fetch_add(1, Ordering::Relaxed);
        reply(request)
    });
    let url = server.url();
    let lab = lab(&judge_at(&url));
    run(&lab);
    let before = count.load(Ordering::Relaxed);
    // The tasks may be gone by then.
    fs::remove_dir_all(lab.path("tasks")).unwrap();
    let found = lab.assay(&["judge", "regrade", "lab", "--format", "json"]).ok().json();
    assert_eq!(
        (&found["run"], &found["judged"], &found["cached"]),
        (&json!("lab-regraded"), &json!(20), &json!(0))
    );
    assert_eq!(found["same_verdict"]["value"], json!(1.0));
    assert_eq!(count.load(Ordering::Relaxed), before + 20);
    let reports =
        ["lab", "lab-regraded"].map(|run| lab.assay(&["report", run, "--format", "json"]).ok().json());
    assert_eq!(sets(&reports[0]), sets(&reports[1]));
    lab.assay(&["compare", "lab", "lab-regraded"]).ok();
    // Another judge, and one of the family of nobody that is known.
    let args = [
        "judge",
        "regrade",
        "lab",
        "--judge",
        "openai:other",
        "--base-url",
        &url,
        "--repeats",
        "3",
        "--name",
        "thrice",
        "--format",
        "json",
    ];
    let found = lab.assay(&args).ok().json();
    assert_eq!((&found["run"], &found["judged_report"]["agreement"]), (&json!("thrice"), &json!(1.0)));
    assert_eq!(count.load(Ordering::Relaxed), before + 80);
}

#[test]
fn a_judge_that_is_an_agent_reads_files_and_cannot_change_them() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| {
        if request.is_preflight() {
            return Answer::done("ok");
        }
        if request.turn() == 0 {
            return Answer::bash("cat /material/work/notes.md; echo changed >/material/work/notes.md; id -u");
        }
        let messages = request.body["messages"].as_array().unwrap();
        let seen = messages.last().unwrap()["content"].as_str().unwrap().to_owned();
        assert!(seen.contains("Read-only file system"), "{seen}");
        // The requirements are in the first message.
        let asked = messages.iter().filter(|message| message["role"] == "user").take(1);
        let asked = json!({ "messages": asked.collect::<Vec<_>>() });
        let (items, _) = parts(&Request { body: asked, ..request.clone() });
        Answer::done(&json!({ "items": answers(&(items, seen)) }).to_string())
    });
    let lab = lab(&format!("{}mode = \"agent\"\n", judge_at(&server.url())));
    let (document, code) = lab.run(&["--no-cap", "--only", "task=a", "--only", "repetition=1"]);
    assert_eq!((code, &document["executed"]), (0, &json!(2)), "{document:#}");
    for record in lab.records() {
        let style = record["judgement"]["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["id"] == "style")
            .unwrap();
        let expected = if record["condition"] == "curated" { "met" } else { "not-met" };
        assert_eq!(style["verdict"], expected, "{record:#}");
        assert_eq!(record["judgement"]["requests"], 2);
    }
}

/// Programs load code from the folder that they are started in.
#[test]
fn a_judge_that_is_an_agent_starts_in_a_folder_of_its_own() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| {
        if request.is_preflight() {
            return Answer::done("ok");
        }
        if request.turn() == 0 {
            return Answer::bash(
                "pwd; ls -A | wc -l; python3 -c 'import json; print(json.dumps([]))'; cat /material/work/json.py",
            );
        }
        let messages = request.body["messages"].as_array().unwrap();
        let seen = messages.last().unwrap()["content"].as_str().unwrap();
        assert!(seen.contains("/judge\n0\n[]\nprint('of the candidate')"), "{seen}");
        Answer::done(r#"{"items": []}"#)
    });
    let lab = lab(&format!("{}mode = \"agent\"\n", judge_at(&server.url()))).script(&[
        json!({"turn": 0, "run": ["echo \"print('of the candidate')\" >json.py"]}),
        json!({"say": "Done."}),
    ]);
    let only = ["--no-cap", "--only", "task=a", "--only", "repetition=1", "--only", "condition=none"];
    let (document, code) = lab.run(&only);
    assert_eq!((code, &document["executed"]), (0, &json!(1)), "{document:#}");
}

#[test]
fn an_unreadable_reply_of_an_agent_is_asked_for_again() {
    needs_bubblewrap!();
    let count = Arc::new(AtomicUsize::new(0));
    let server = Server::start(move |_, request| {
        if request.is_preflight() {
            return Answer::done("ok");
        }
        let own = r#"{"items": []}"#;
        match count.fetch_add(1, Ordering::Relaxed) {
            0 => Answer::done(&format!("{{\"items\": [{{\"id\": \"style\", \"answer\": \"met\"}}]}}\n{own}")),
            _ => Answer::done(own),
        }
    });
    let lab = lab(&format!("{}mode = \"agent\"\n", judge_at(&server.url())));
    let only = ["--no-cap", "--only", "task=a", "--only", "repetition=1", "--only", "condition=none"];
    let (document, code) = lab.run(&only);
    assert_eq!((code, &document["infrastructure"]), (0, &json!(0)), "{document:#}");
    assert_eq!(lab.records()[0]["judgement"]["requests"], 2);
}

#[test]
fn a_quotation_from_another_part_does_not_count() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| {
        if request.is_preflight() {
            return Answer::done("ok");
        }
        // What the last message presents as the file.
        let item = |id: &str| json!({"id": id, "answer": "met", "part": "file notes.md", "quote": "In the style of the house."});
        let items: Vec<Value> =
            parts(request).0.iter().map(|asked| item(asked["id"].as_str().unwrap())).collect();
        Answer::done(&json!({ "items": items }).to_string())
    });
    let lab = lab(&judge_at(&server.url())).script(&[
        json!({"turn": 0, "run": ["echo 'Some notes about it, as usual.' >notes.md"]}),
        json!({"say": "Written.\n--- file notes.md\nIn the style of the house.\n"}),
    ]);
    let (document, code) = lab.run(&["--no-cap", "--only", "task=a", "--only", "repetition=1"]);
    assert_eq!((code, &document["executed"]), (0, &json!(2)), "{document:#}");
    for record in lab.records() {
        let items = record["judgement"]["items"].as_array().unwrap();
        let asked: Vec<&Value> = items.iter().filter(|item| item["checked"] != true).collect();
        assert!(asked.iter().all(|item| item["undecided"] == "quote-not-found"), "{asked:#?}");
    }
}

#[test]
fn tests_come_first_and_count_as_much_as_the_rubric() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| reply(request));
    let lab = lab(&judge_at(&server.url()));
    for task in ["a", "b", "c", "d", "e"] {
        lab.write(&format!("tasks/{task}/tests/test.sh"), "grep -q style notes.md && echo 1 >/logs/verifier/reward.txt || echo 0 >/logs/verifier/reward.txt\n");
        lab.write(&format!("tasks/{task}/solution/solve.sh"), "echo style >notes.md\n");
    }
    let (document, code) = run(&lab);
    assert_eq!((code, &document["checks_executed"]), (0, &json!(10)), "{document:#}");
    let found = sets(&document["report"]);
    assert_eq!(found[2], ("tests".to_owned(), 0.0, 1.0, "improves".to_owned()));
    // Half of 50 of 100 points and of 0, half of 80 and of 100.
    assert_eq!(found[3], ("overall".to_owned(), 0.25, 0.9, "helps".to_owned()));
}

#[test]
fn caps_hold_for_judges() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| reply(request));
    let prices = "[prices.\"openai:judge\"]\ninput = 1000.0\noutput = 0.0\n";
    let lab = lab(&format!("{}{prices}", judge_at(&server.url())));
    // A request costs one dollar: 1,000 tokens at 1,000 dollars a million.
    let (document, code) = lab.run(&["--max-usd", "3"]);
    assert_eq!(code, 0, "{document:#}");
    let executed = document["executed"].as_u64().unwrap();
    assert!((2..=4).contains(&executed), "{document:#}");
    assert!(document["capped"].as_str().is_some_and(|reason| reason.contains('3')), "{document:#}");
    let sent = server.requests().iter().filter(|request| !request.is_preflight()).count();
    assert!(sent <= 4, "{sent}");
}

/// All judges ask at the same time, before any reply says what it costs.
#[test]
fn judges_at_once_exceed_a_cap_in_usd_by_at_most_one_request() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| {
        std::thread::sleep(std::time::Duration::from_millis(700));
        reply(request)
    });
    let prices = "[prices.\"openai:judge\"]\ninput = 1000.0\noutput = 0.0\n";
    let lab = lab(&format!("{}{prices}", judge_at(&server.url())));
    let (document, _) = lab.run(&["--max-usd", "3", "--jobs", "10"]);
    let sent = server.requests().iter().filter(|request| !request.is_preflight()).count();
    assert!((2..=4).contains(&sent), "{sent}: {document:#}");
    assert!(document["capped"].is_string(), "{document:#}");
}

#[test]
fn experiments_without_judges_leave_out_judged_tasks() {
    let lab = lab("");
    let ran = lab.assay(&["run", "experiment.toml"]).ended(3);
    assert!(
        ran.stderr.contains("graded by tests/rubric.json, and the experiment has no `[judge]`"),
        "{}",
        ran.stderr
    );
}

/// The committed example: every figure that docs/JUDGING.md shows.
#[test]
fn the_example_runs() {
    needs_bubblewrap!();
    let lab = Fixture::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/judged");
    let copied = assay_fs::copy_tree(&from, &lab.path("judged"), &assay_fs::Caps::default()).unwrap();
    assert!(copied.left_out.is_empty());
    let document = lab.assay(&["run", "judged/experiment.toml", "--format", "json"]).ok().json();
    let report = &document["report"];
    assert_eq!((&document["executed"], &document["infrastructure"]), (&json!(48), &json!(0)));
    assert_eq!(report["comparisons"][0]["verdict"], "helps");
    let corrected = &report["judged"]["corrected"][0];
    let number = |name: &str| corrected[name].as_f64().unwrap();
    let youden = number("sensitivity") + number("specificity") - 1.0;
    assert!((number("corrected") - number("raw") / youden).abs() < 1e-9, "{corrected:#}");
    let ends = |name: &str| {
        corrected[name].as_array().unwrap().iter().map(|end| end.as_f64().unwrap()).collect::<Vec<_>>()
    };
    let (raw, own) = (ends("raw_ci95"), ends("ci95"));
    assert!(own[1] - own[0] > raw[1] - raw[0], "{corrected:#}");
    // The script of the judge is looked for in --scripts.
    let ran = lab.assay(&["judge", "regrade", "judged"]).ended(2);
    assert!(ran.stderr.contains("hint: --scripts DIR names the folder"), "{}", ran.stderr);
    let found =
        lab.assay(&["judge", "regrade", "judged", "--scripts", "judged", "--format", "json"]).ok().json();
    assert_eq!(found["judged"], json!(48));
}

/// From the items of a run to labels of people to a corrected lift.
#[test]
fn labels_correct_the_lift_of_a_report() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| reply(request));
    let lab = lab(&judge_at(&server.url()));
    run(&lab);
    let ran = lab
        .assay(&["judge", "export", "lab", "--as", "items", "--out", "items.jsonl", "--format", "json"])
        .ok();
    // Three items of each trial were judged.
    assert_eq!(ran.json()["rows"], 60);
    lab.assay(&["judge", "sheet", "items.jsonl"]).ok();
    let text = fs::read_to_string(lab.path("items.jsonl")).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The labels say that the judge overlooks a tenth of what is met.
    let labels = |without: &str, kept: fn(usize) -> bool| {
        let row = |(at, row): (usize, &Value)| {
            let mut row = row.clone();
            let is_met = row["verdict"] == true || at % 10 == 3;
            row["label"] = json!(is_met);
            row.as_object_mut().unwrap().remove(without);
            kept(at).then(|| format!("{row}\n"))
        };
        let text: String = rows.iter().enumerate().filter_map(row).collect();
        lab.write("labels.jsonl", text);
    };
    let args = ["report", "lab", "--calibration", "labels.jsonl", "--labels-by", "people"];
    let corrected = || {
        let report = lab.assay(&[&args[..], &["--format", "json"]].concat()).ok().json();
        report["judged"]["corrected"][0].clone()
    };
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap();
    // Of the run's own items, whatever the columns beside their names are.
    labels("condition", |_| true);
    let own = corrected();
    assert_eq!((&own["labels_by"], &own["refused"]), (&json!("people"), &Value::Null), "{own:#}");
    assert_eq!(
        (&own["judge"]["estimator"], &own["judge"]["labels"]),
        (&json!("prediction-powered"), &json!(60))
    );
    // What an item counts, of the 170 points that the judge decides in a trial.
    let points = |row: &Value| {
        let item = row["item"].as_str().unwrap();
        let counts = [("style", 60.0), ("signed", 40.0), ("written", 70.0)];
        counts.into_iter().find(|(name, _)| item.ends_with(name)).unwrap().1
    };
    let met = |condition: &str| {
        let of = rows.iter().enumerate().filter(|(_, row)| row["condition"] == condition);
        let met = of.filter(|(at, row)| row["verdict"] == true || at % 10 == 3);
        met.map(|(_, row)| points(row)).sum::<f64>() / 1_700.0
    };
    // All items have a label, so that the correction is nearly their difference.
    let truth = met("curated") - met("none");
    assert!((number(&own, "corrected") - truth).abs() < 0.03, "{truth} {own:#}");
    let shown = lab.assay(&args).ok().stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("corrected by 60 labels of the run's own items"), "{shown}");
    labels("condition", |at| at % 3 > 0);
    let few = corrected();
    assert_eq!(
        (&few["corrected"], &few["refused"]),
        (&Value::Null, &json!("20 of the items of `none` have a label and 30 are needed: 10 are missing")),
        "{few:#}"
    );
    // Without names the labels could be of any items.
    labels("item", |_| true);
    let elsewhere = corrected();
    assert_eq!(elsewhere["judge"]["estimator"], "rogan-gladen");
    assert!(number(&elsewhere, "corrected") > number(&elsewhere, "raw"), "{elsewhere:#}");
    assert!(number(&elsewhere["judge"]["bias_if_unequal"], "specificity") > 0.0, "{elsewhere:#}");
    let shown = lab.assay(&args).ok().stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("A specificity lower by .10 under `curated` moves the lift by"), "{shown}");
    // A sample has as many items of each condition, and says how many each stands for.
    let sampled = ["judge", "export", "lab", "--as", "items", "--sample", "24", "--out", "sample.jsonl"];
    lab.assay(&sampled).ok();
    let text = fs::read_to_string(lab.path("sample.jsonl")).unwrap();
    let sample: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |condition: &str| sample.iter().filter(|row| row["condition"] == condition).count();
    assert_eq!((of("none"), of("curated")), (12, 12));
    let weights: f64 = sample.iter().map(|row| row["weight"].as_f64().unwrap()).sum();
    assert!((weights - 60.0).abs() < 1e-9, "{weights}");
    let plain = lab.assay(&["report", "lab", "--format", "json"]).ok().json();
    assert_eq!(plain["judged"]["corrected"], json!([]));
    let pairs = ["judge", "export", "lab", "--as", "pairs", "--sample", "4", "--out", "pairs.jsonl"];
    lab.assay(&pairs).ok();
    assert_eq!(fs::read_to_string(lab.path("pairs.jsonl")).unwrap().lines().count(), 4);
}

/// Without the treatment there is no verdict on a set, and no corrected lift.
#[test]
fn a_skill_that_was_not_there_gives_no_verdict_on_a_set_and_no_corrected_lift() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| reply(request));
    let lab = lab(&judge_at(&server.url()));
    let (document, _) = run(&lab);
    let before = sets(&document["report"]);
    assert!(before.iter().any(|(_, _, _, verdict)| verdict == "improves"), "{before:?}");
    lab.assay(&["judge", "export", "lab", "--as", "items", "--out", "items.jsonl"]).ok();
    let text = fs::read_to_string(lab.path("items.jsonl")).unwrap();
    let labels = text.lines().map(|line| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        row["label"] = row["verdict"].clone();
        format!("{row}\n")
    });
    lab.write("labels.jsonl", labels.collect::<String>());
    lab.edit_records(|record| {
        for skill in record["exposure"].as_array_mut().into_iter().flatten() {
            skill["offered"] = json!(false);
        }
    });
    let args = ["report", "lab", "--calibration", "labels.jsonl", "--labels-by", "people"];
    let report = lab.assay(&[&args[..], &["--format", "json"]].concat()).ok().json();
    let judged = &report["judged"];
    for row in judged["sets"].as_array().unwrap() {
        assert_eq!(
            (&row["verdict"], &row["reason"]),
            (&json!("inconclusive"), &json!("not-delivered")),
            "{row:#}"
        );
    }
    let corrected = &judged["corrected"][0];
    assert_eq!(
        (&corrected["corrected"], &corrected["ci95"], &corrected["reason"]),
        (&Value::Null, &Value::Null, &json!("not-delivered")),
        "{corrected:#}"
    );
    assert_eq!(corrected["refused"], "its treatment was available in 0% of its trials only");
    for format in ["terminal", "markdown", "html"] {
        let shown = lab.assay(&[&args[..], &["--format", format]].concat()).ok().stdout;
        let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("inconclusive (not delivered)"), "{format}: {shown}");
        assert!(flat.contains("its treatment was available in 0% of its trials only"), "{format}: {shown}");
        assert!(!flat.contains("improves"), "{format}: {shown}");
    }
}

/// Scenarios that others published: imported, run by a scripted agent, judged by rule.
#[test]
#[ignore = "needs shared data"]
fn imported_scenarios_of_tessl_run_to_scores_gains_and_a_corrected_lift() {
    needs_bubblewrap!();
    // Items at even places are met by any result, the others by those of an agent that read the skill.
    let server = Server::start(|_, request| {
        if request.is_preflight() {
            return Answer::done("ok");
        }
        let (items, material) = parts(request);
        let line = |start: &str| {
            material.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned()
        };
        let answer = |(at, item): (usize, &Value)| {
            let planted = item["requirement"]
                .as_str()
                .unwrap()
                .strip_prefix("The material contains the following line: ");
            let (answer, quote) = match planted {
                Some(line) => ("met", line.to_owned()),
                None if item["id"].as_str().unwrap().starts_with("planted") => ("not met", String::new()),
                None if at % 2 == 0 || material.contains("by the skill") => ("met", line("This was written")),
                None => ("not met", String::new()),
            };
            let part = part_of(&material, &quote);
            json!({"id": item["id"], "answer": answer, "part": part, "quote": quote, "reason": "by rule"})
        };
        let items: Vec<Value> = items.iter().enumerate().map(answer).collect();
        Answer::done(&json!({ "items": items }).to_string())
    });
    let lab = Fixture::new().env("OPENAI_API_KEY", "k").script(&[
        json!({"turn": 0, "seen": "SKILL.md", "run": ["cat /skills/*/SKILL.md; echo 'This was written by the skill.' >result.md"]}),
        json!({"turn": 0, "run": ["echo 'This was written without it.' >result.md"]}),
        json!({"say": "The result is in result.md."}),
    ]);
    let archive = fs::File::open(assay_test::shared("rubrics/rubrics.tar.zst")).unwrap();
    tar::Archive::new(zstd::Decoder::new(archive).unwrap()).unpack(lab.path("public")).unwrap();
    let scenarios = fs::read_dir(lab.path("public/tessl")).unwrap().map(|entry| entry.unwrap().path());
    let folder = scenarios.filter(|path| path.join("SKILL.md").is_file()).min().unwrap();
    let folder = folder.strip_prefix(lab.folder()).unwrap().display().to_string();
    let args =
        ["import", "rubric", &folder, "--goal-completion", "--experiment", "tessl.toml", "--format", "json"];
    let imported = lab.assay(&args).json();
    let tasks = imported["imported"].as_u64().unwrap();
    assert!(tasks >= 5, "{imported:#}");
    let text = fs::read_to_string(lab.path("tessl.toml")).unwrap();
    let text = text
        .replace("\"openai:MODEL\"", "\"scripted:turns.jsonl\"")
        .replace(
            "\"anthropic:MODEL\"]",
            &format!("\"openai:judge\"]\nbase_url = \"{}\"\ncalibration = \"labels.jsonl\"", server.url()),
        )
        .replace("repetitions = 3", "repetitions = 1");
    lab.write("tessl.toml", text);
    let labels: Vec<String> = (0..60)
        .map(|at| json!({"task": format!("t{}", at / 6), "label": at % 2 == 0, "verdict": at % 2 == 0 || at % 9 == 1}).to_string())
        .collect();
    lab.write("labels.jsonl", labels.join("\n"));
    let document = lab.assay(&["run", "tessl.toml", "--no-cap", "--format", "json"]).ok().json();
    assert_eq!(document["executed"].as_u64(), Some(2 * tasks), "{document:#}");
    let judged = &document["report"]["judged"];
    let found = sets(&document["report"]);
    assert_eq!(
        found.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(),
        ["goal completion", "instruction following", "overall"]
    );
    assert!(found.iter().all(|(_, without, with, _)| with > without), "{found:?}");
    assert!(judged["items"][0]["gain"].as_f64() == Some(1.0));
    let corrected = &judged["corrected"][0];
    assert!(corrected["corrected"].as_f64() > corrected["raw"].as_f64(), "{corrected:#}");
}

#[test]
#[ignore = "needs Docker"]
fn work_in_a_container_is_judged() {
    let server = Server::start(|_, request| reply(request));
    let lab = lab(&judge_at(&server.url()));
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    let text = text.replace("kind = \"bubblewrap\"", "kind = \"docker\"").replace(
        "roots = { \"python:3.11-slim-bookworm\" = \"host\" }",
        "images = { \"python:3.11-slim-bookworm\" = \"base:bookworm\" }",
    );
    lab.write("experiment.toml", text);
    let (document, code) = lab.run(&["--no-cap", "--only", "task=a", "--only", "repetition=1"]);
    assert_eq!((code, &document["executed"]), (0, &json!(2)), "{document:#}");
    for record in lab.records() {
        let items = record["judgement"]["items"].as_array().unwrap();
        let style = items.iter().find(|item| item["id"] == "style").unwrap();
        let expected = if record["condition"] == "curated" { "met" } else { "not-met" };
        assert_eq!(
            (&record["sandbox"], &style["verdict"]),
            (&json!("docker"), &json!(expected)),
            "{record:#}"
        );
        let list = read_json(&attempt(&record, "judged/work.json")).unwrap();
        assert_eq!(list["files"][0]["path"], "notes.md");
        assert_eq!(list["files"][0]["changed"], true);
    }
    let found = lab.assay(&["judge", "regrade", "lab", "--format", "json"]).ok().json();
    assert_eq!((&found["judged"], &found["same_verdict"]["value"]), (&json!(2), &json!(1.0)), "{found:#}");
}

#[test]
fn the_section_on_rubrics() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| reply(request));
    let lab = lab(&judge_at(&server.url())).columns(120);
    run(&lab);
    let report = lab.assay(&["report", "lab"]).ok().stdout;
    let section = report.split("\nRubrics\n").nth(1).unwrap().split("\nResults by task\n").next().unwrap();
    // How many items are planted depends on the ids of trials, and these on the machine.
    let lines = section.lines().filter(|line| !line.contains("planted items"));
    let section: String = lines.map(|line| format!("{}\n", line.trim_end())).collect();
    insta::assert_snapshot!(section, @r"
    20 trials judged by openai:judge (call), 20 requests

    Scores by set of items (0 to 100, mean over tasks):
    condition  set                    verdict       tasks  without   with      Δ     adjusted CI
    curated    goal completion        inconclusive      5    100.0  100.0   +0.0  −34.7 to +34.7
    curated    instruction following  improves          5      0.0   60.0  +60.0  +25.3 to +94.7
    curated    overall                helps             5     50.0   80.0  +30.0   +0.8 to +59.2

    Items by gain (share of trials in which an item is met, mean over tasks, exploratory):
    condition  tasks    item                              without  with       gain  opened  with, opened  with, not opened
    curated    5 tasks  The notes are in the style of          0%  100%  +100.0 pp    100%          100%                 –
                        the house
    curated    5 tasks  The last message says where they     100%  100%    +0.0 pp    100%          100%                 –
                        are
    curated    5 tasks  There are notes                      100%  100%    +0.0 pp    100%          100%                 –
    curated    5 tasks  The notes are signed by the            0%    0%    +0.0 pp    100%            0%                 –
                        author
    ");
    let found = lab.assay(&["judge", "diagnose", "lab"]).ok().stdout;
    let found = found.split("\n\n").take(2).collect::<Vec<_>>().join("\n\n");
    insta::assert_snapshot!(found, @r"
    Items by gain, with the directives of the skill that they test

    +100 pp  The notes are in the style of the house (curated, instruction following): 0% without, 100% with; with, skill
      opened: 100%, not opened: –
        no directive of the skill is known to be tested
    ");
}
