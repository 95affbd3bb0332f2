use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assay_ask::{AskCaps, AskError, CostCap, FolderCache, ModelHandle};
use assay_model::{Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, Stop};
use serde_json::{Value, json};

use super::*;

type Answer = Result<String, ModelError>;

/// An answer that does not depend on the request.
type FixedAnswer = fn() -> Answer;

/// A judge whose replies are a function of the request.
#[derive(Clone)]
struct PlayedJudge {
    name: &'static str,
    reply: Arc<dyn Fn(&str) -> Answer + Send + Sync>,
    asked: Arc<AtomicUsize>,
}

impl PlayedJudge {
    fn new(name: &'static str, reply: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self { name, reply: Arc::new(reply), asked: Arc::default() }
    }

    fn handle(&self) -> ModelHandle {
        ModelHandle::of_model(Arc::new(self.clone()))
    }

    /// How often it was asked since the last time.
    fn take_asked(&self) -> usize {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

impl ChatModel for PlayedJudge {
    fn id(&self) -> &str {
        self.name
    }

    fn chat(&self, request: &ChatRequest, _: &Call<'_>) -> Result<ChatReply, ModelError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let Some(Message::User { text }) = request.messages.first() else { panic!("no request") };
        Ok(ChatReply {
            text: (self.reply)(text)?,
            tool_calls: Vec::new(),
            reasoning: None,
            stop: Stop::End,
            usage: None,
            raw_usage: Value::Null,
            raw: Value::Null,
            model: None,
            retries: Vec::new(),
        })
    }
}

fn refused() -> ModelError {
    ModelError::Refused { status: 401, message: "no such key".to_owned() }
}

/// Judges whose replies are stored in the folder.
fn panel(folder: &Path, judges: &[&PlayedJudge]) -> JudgePanel {
    let cap = CostCap::new(None, AskCaps::default());
    let judges = judges.iter().map(|judge| judge.handle()).collect();
    JudgePanel::new(judges, cap, &folder.join("replies"), 1, 4)
}

fn write(folder: &Path, rows: &[Value]) -> PathBuf {
    let path = folder.join("table.jsonl");
    fs::write(&path, rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
    path
}

fn rows_of(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const TOTAL: &str = "The total of all rows is 42 dollars.";

/// What an attentive judge answers: an item is met if the material has a line that begins as the requirement says.
fn read_material(request: &str) -> String {
    let list = &request[request.find("REQUIREMENTS").unwrap()..];
    let list = &list[list.find('[').unwrap()..];
    let mut documents = serde_json::Deserializer::from_str(list).into_iter::<Vec<Value>>();
    let items = documents.next().unwrap().unwrap();
    let material = request.rsplit_once("\nMATERIAL ").unwrap().1;
    let answers = items.iter().map(|item| {
        let text = item["requirement"].as_str().unwrap();
        let line = text.strip_prefix("The material contains the following line: ").unwrap_or(text);
        match material.lines().find(|own| own.starts_with(line)) {
            Some(quote) => json!({"id": item["id"], "answer": "met", "quote": quote}),
            None => json!({"id": item["id"], "answer": "not met"}),
        }
    });
    json!({ "items": answers.collect::<Vec<_>>() }).to_string()
}

const ITEM_COLUMNS: ItemColumns<'_> =
    ItemColumns { criterion: "criterion", material: &[], instruction: None, candidate: None };

fn items(path: &Path) -> ItemTable {
    let material = ["material".to_owned()];
    read_items(path, &ItemColumns { material: &material, ..ITEM_COLUMNS }).unwrap()
}

/// Items of two tasks of one name.
fn two_reports(folder: &Path) -> PathBuf {
    let row = |material: &str| json!({ "task": "report", "criterion": "The total", "material": material });
    write(folder, &[row(&format!("# One\n{TOTAL}\n")), row("# Two\nNobody knows how much it is.\n")])
}

#[test]
fn items_of_two_tasks_of_one_name_have_verdicts_and_replies_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let judge = PlayedJudge::new("openai:good", |request| Ok(read_material(request)));
    let panel = panel(folder.path(), &[&judge]);
    let table = items(&two_reports(folder.path()));
    let forecast = table.forecast_cost(&panel).unwrap();
    assert_eq!((forecast.requests, forecast.cached), (2, 0));
    assert_eq!(forecast.to_text(BatchKind::Items, 2), "2 items: 2 requests (0 cached)\n");
    let verdicts = table.judge_items(&panel).unwrap();
    let out = folder.path().join("verdicts.jsonl");
    verdicts.write_file(&out).unwrap();
    let found: Vec<_> =
        rows_of(&out).into_iter().map(|row| (row["verdict"].clone(), row["quote"].clone())).collect();
    assert_eq!(found, [(json!(true), json!(TOTAL)), (json!(false), json!(null))]);
    let document = verdicts.to_json();
    assert_eq!((&document["met"], &document["not_met"]), (&json!(1), &json!(1)));
    assert_eq!(document["planted"], json!({"items": 1, "missed": 0}));
    assert_eq!(FolderCache::new(folder.path().join("replies")).list_replies().unwrap().len(), 2);

    // What is there is not overwritten, and what was answered is not asked again.
    let kept = fs::read(&out).unwrap();
    let error = table.judge_items(&panel).unwrap().write_file(&out).unwrap_err();
    assert!(matches!(error, BatchJudgeError::Exists { .. }), "{error}");
    assert_eq!((fs::read(&out).unwrap(), judge.take_asked()), (kept, 2));
    assert_eq!(table.forecast_cost(&panel).unwrap().cached, 2);
}

#[test]
fn a_judge_that_fails_discards_no_reply_of_another() {
    let prose = || Ok("I would rather not say.".to_owned());
    let failures: [(&str, FixedAnswer); 2] =
        [("openai:bad gives no reply", || Err(refused())), ("cannot read the replies of openai:bad", prose)];
    for (expected, failure) in failures {
        let folder = tempfile::tempdir().unwrap();
        let table = items(&two_reports(folder.path()));
        let good = PlayedJudge::new("openai:good", |request| Ok(read_material(request)));
        let bad = PlayedJudge::new("openai:bad", move |_| failure());
        // The replies of the good judge come after the failure of the other.
        let watched = bad.asked.clone();
        let late = PlayedJudge {
            reply: Arc::new(move |request| {
                while watched.load(Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
                Ok(read_material(request))
            }),
            ..good.clone()
        };
        let error = table.judge_items(&panel(folder.path(), &[&late, &bad])).unwrap_err();
        assert!(matches!(error, BatchJudgeError::Unanswered(_)), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        let came = good.take_asked();
        assert!(came > 0);

        let repaired = PlayedJudge::new("openai:bad", |request| Ok(read_material(request)));
        let panel = panel(folder.path(), &[&good, &repaired]);
        let document = table.judge_items(&panel).unwrap().to_json();
        assert_eq!((document["met"].clone(), repaired.take_asked()), (json!(1), 2));
        assert_eq!(good.take_asked(), 2 - came, "what had come is not asked again: {expected}");
    }
}

#[test]
fn a_judge_that_misses_planted_items_gives_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let row = |n: usize| json!({ "criterion": "x is y", "material": format!("Line number {n} of the material.\n# b\n") });
    let table = items(&write(folder.path(), &(0..100).map(row).collect::<Vec<_>>()));
    let judge = PlayedJudge::new("openai:bad", |request| {
        let reply: Value = serde_json::from_str(&read_material(request)).unwrap();
        let flip = |item: &Value| {
            if item["answer"] == "met" {
                json!({"id": item["id"], "answer": "not met"})
            } else {
                json!({"id": item["id"], "answer": "met", "quote": "# b"})
            }
        };
        let items: Vec<Value> = reply["items"].as_array().unwrap().iter().map(flip).collect();
        Ok(json!({ "items": items }).to_string())
    });
    let error = table.judge_items(&panel(folder.path(), &[&judge])).unwrap_err();
    assert_eq!(error.to_string(), "the judge missed 5 of 5 planted items, so no verdict counts");
}

const PAIR_COLUMNS: PairColumns<'_> = PairColumns {
    a: "a",
    b: "b",
    instruction: "instruction",
    criteria: None,
    conditions: [None; 2],
    candidates: [None; 2],
    cluster: None,
    by: None,
};

fn pair(task: &str, a: &str, b: &str) -> Value {
    json!({ "task": task, "instruction": "State the total", "a": a, "b": b, "model": "anthropic:claude" })
}

/// What an attentive judge answers: the result with the total, or with the code that a planted pair asks for.
fn compare_results(request: &str) -> String {
    let (_, task) = request.split_once("TASK\n\n").unwrap();
    let code = task.strip_prefix("Reply with the code ").and_then(|rest| rest.split(' ').next());
    let expected = code.unwrap_or(TOTAL);
    let (first, second) = request.split_once("\nEND OF FIRST RESULT ").unwrap();
    let first = first.rsplit_once("\nFIRST RESULT ").unwrap().1;
    let answer = match (first.contains(expected), second.contains(expected)) {
        (true, false) => json!({"answer": "first", "quote": expected}),
        (false, true) => json!({"answer": "second", "quote": expected}),
        _ => json!({"answer": "tie"}),
    };
    answer.to_string()
}

#[test]
fn equal_pairs_of_tasks_of_one_name_are_asked_once_and_counted_each() {
    let folder = tempfile::tempdir().unwrap();
    let row = pair("report", TOTAL, "Nobody knows.");
    let other = pair("report", "Nobody knows.", TOTAL);
    let table = read_pairs(&write(folder.path(), &[row.clone(), row, other]), &PAIR_COLUMNS).unwrap();
    let judge = PlayedJudge::new("openai:good", |request| Ok(compare_results(request)));
    let panel = panel(folder.path(), &[&judge]);
    // Two orders of three pairs and of a planted one. The second pair is the first, and the third is its other order.
    let forecast = table.forecast_cost(&panel).unwrap();
    assert_eq!((forecast.requests, forecast.cached), (4, 4));
    let choices = table.judge_pairs(&panel).unwrap();
    assert_eq!(judge.take_asked(), 4);
    let document = choices.to_json();
    assert_eq!((&document["requests"], &document["cached"]), (&json!(4), &json!(4)));
    let group = &document["groups"][0];
    assert_eq!(
        ["wins", "ties", "losses", "rows"].map(|key| group[key].clone()),
        [json!(2), json!(0), json!(1), json!(3)]
    );
    let out = folder.path().join("choices.jsonl");
    choices.write_file(&out).unwrap();
    let rows = rows_of(&out);
    let preferences: Vec<_> = rows.iter().map(|row| row["preference"].as_str().unwrap()).collect();
    assert_eq!(preferences, ["a", "a", "b"]);

    // The recorded choices give the same figures.
    let recorded = read_recorded_pairs(&out, &PAIR_COLUMNS, ["winner", "winner_swapped"]).unwrap();
    assert_eq!(recorded.to_json()["groups"][0]["win_rate"], group["win_rate"]);
}

#[test]
fn a_pair_whose_order_decides_is_a_tie() {
    let folder = tempfile::tempdir().unwrap();
    let table = read_pairs(&write(folder.path(), &[pair("t", TOTAL, "Nobody knows.")]), &PAIR_COLUMNS);
    let judge = PlayedJudge::new("openai:biased", |request| {
        if request.contains("Reply with the code ") {
            return Ok(compare_results(request));
        }
        let (first, _) = request.split_once("\nEND OF FIRST RESULT ").unwrap();
        Ok(json!({"answer": "first", "quote": first.lines().last()}).to_string())
    });
    let table = table.unwrap();
    let document = table.judge_pairs(&panel(folder.path(), &[&judge])).unwrap().to_json();
    let group = &document["groups"][0];
    assert_eq!((&group["ties"], &group["first_position_share"]), (&json!(1), &json!(1.0)));
}

#[test]
fn faults_of_tables_have_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let check = |rows: &[Value], columns: PairColumns<'_>, expected: &str| {
        let error = read_pairs(&write(folder.path(), rows), &columns).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let good = pair("t", TOTAL, "Nobody knows.");
    let without = |key: &str| {
        let mut row = good.clone();
        row.as_object_mut().unwrap().remove(key);
        row
    };
    check(&[], PAIR_COLUMNS, "table.jsonl has no rows");
    check(&[good.clone(), without("b")], PAIR_COLUMNS, "table.jsonl:2: no value in column `b`");
    check(&[good.clone(), without("task")], PAIR_COLUMNS, "table.jsonl:2: some rows have a task");
    let same = PairColumns { conditions: [Some("model"); 2], ..PAIR_COLUMNS };
    check(
        std::slice::from_ref(&good),
        same,
        "table.jsonl:1: both results are of the condition anthropic:claude",
    );
    let recorded = |columns: [&str; 2]| {
        let path = write(folder.path(), std::slice::from_ref(&good));
        read_recorded_pairs(&path, &PAIR_COLUMNS, columns).unwrap_err().to_string()
    };
    assert!(recorded(["task", "task"]).contains(":1: `t` in column `task` is not a choice"));
    assert!(recorded(["x", "y"]).ends_with("table.jsonl: no column `x`"));
    let material = ["material".to_owned()];
    let columns = ItemColumns { material: &material, ..ITEM_COLUMNS };
    let rows = [json!({"criterion": "c", "material": "m"}), json!({"criterion": "c", "material": " "})];
    let error = read_items(&write(folder.path(), &rows), &columns).unwrap_err().to_string();
    assert!(error.ends_with("table.jsonl:2: no value in column `material`"), "{error}");
}

#[test]
fn judges_of_the_family_of_a_candidate_are_refused() {
    let candidates = [Some("anthropic:claude"), None];
    let check = |judges: &[&str], expected: Result<usize, &str>| {
        let judges: Vec<String> = judges.iter().map(|judge| (*judge).to_owned()).collect();
        let found = check_families(&judges, candidates.into_iter()).map_err(|error| error.judge);
        assert_eq!(found, expected.map_err(str::to_owned));
    };
    check(&["openai:gpt-5"], Ok(1));
    check(&["openai:gpt-5", "anthropic:claude-opus-5"], Err("anthropic:claude-opus-5"));
}

#[test]
fn replies_are_stored_under_judge_and_repeat() {
    let folder = tempfile::tempdir().unwrap();
    let table = items(&two_reports(folder.path()));
    let judge = PlayedJudge::new("openai:good", |request| Ok(read_material(request)));
    let cap = CostCap::new(None, AskCaps { questions: Some(4), ..AskCaps::default() });
    let replies = folder.path().join("replies");
    let panel = JudgePanel::new(vec![judge.handle()], cap, &replies, 3, 1);
    let error = table.judge_items(&panel).unwrap_err();
    assert!(matches!(error, BatchJudgeError::Unanswered(AskError::Capped(_))), "{error}");
    let mut labels = BTreeMap::new();
    for entry in fs::read_dir(&replies).unwrap() {
        let file: Value = serde_json::from_slice(&fs::read(entry.unwrap().path()).unwrap()).unwrap();
        *labels.entry((file["judge"].to_string(), file["repeat"].to_string())).or_insert(0) += 1;
    }
    let expected = [("1", 2), ("2", 1), ("3", 1)];
    let expected = expected.map(|(repeat, n)| (("\"openai:good\"".to_owned(), repeat.to_owned()), n));
    assert_eq!(labels, BTreeMap::from(expected));
}
