//! What others do of a drafted task, and what it decides. Scripts run in folders of this machine.

use assay_ask::ModelHandle;
use assay_draft::draft::{DraftHelpers, DraftOptions, OpenDraft};
use assay_draft::evidence::TaskEvidence;
use assay_draft::folder::DraftFolder;
use assay_draft::solvers::SolverOptions;
use assay_draft::status::read_status;
use assay_draft::{DraftError, DraftStage};
use serde_json::{Value, json};

use crate::fixture::{Folder, Heard, Host, Model, author, running};
use crate::ledger::{BLIND, BODY, CHECK, SOLVE, directives, file, files, idea, script};

const INSTRUCTION: &str = "The file /app/sales.csv has the takings of a week. Kim in accounting files a page about them, \
                           /app/NAME.txt, which names the shops with their takings, and the total. Write that page by our \
                           usual rules; nobody can be asked today.";

const OPTIONS: SolverOptions<'_> = SolverOptions {
    model: None,
    base_url: None,
    api_key_env: None,
    price: None,
    max_usd: None,
    no_cap: true,
};

/// What the models reply.
struct Replies {
    /// The files of the task.
    files: Value,
    /// The author's repair.
    repair: Value,
    /// Scripts without the skill, by the number of the reply.
    blind: [String; 3],
    /// The script with the skill.
    with_skill: String,
    fairness: Value,
    /// Ideas in the place of a task that fell.
    more: Value,
}

impl Default for Replies {
    fn default() -> Self {
        Self {
            files: files(INSTRUCTION, SOLVE),
            repair: json!({"files": []}),
            blind: [BLIND, BLIND, BLIND].map(str::to_owned),
            with_skill: SOLVE.to_owned(),
            fairness: fair(),
            more: json!({"ideas": []}),
        }
    }
}

impl Replies {
    fn reply_to(&self, text: &str) -> String {
        if text.starts_with("Propose") {
            if text.contains("it fell: ") {
                return self.more.to_string();
            }
            return json!({"ideas": [idea("revenue")]}).to_string();
        }
        if text.starts_with("Write the files") {
            return self.files.to_string();
        }
        if text.starts_with("You wrote the task") {
            return self.repair.to_string();
        }
        if text.starts_with("You review the items") {
            return self.fairness.to_string();
        }
        assert!(text.starts_with("Do this work"), "{text}");
        let number = (1..=3).find(|number| text.contains(&format!("This is reply {number} of")));
        script(number.map_or(&self.with_skill, |number| &self.blind[number - 1]))
    }
}

/// The state of the only task with its reason, what was seen of it, the requests to author and solver, and the events.
struct Outcome {
    folder: Folder,
    state: String,
    reason: String,
    asked: (Vec<String>, Vec<String>),
    heard: Vec<String>,
    status: Value,
}

impl Outcome {
    fn evidence(&self) -> TaskEvidence {
        serde_json::from_str(&self.folder.read("draft/evidence/revenue.json")).unwrap()
    }

    /// The items that stay.
    fn items(&self) -> Vec<String> {
        let items: Value =
            serde_json::from_str(&self.folder.read("draft/tasks/revenue/tests/items.json")).unwrap();
        items["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn draft_with(replies: Replies, has_solver: bool) -> Outcome {
    let folder = Folder::new();
    let skills = vec![folder.skill("skills", "ledger-export", BODY)];
    let out = folder.path("draft");
    let replies = std::sync::Arc::new(replies);
    let model = |name: &str| {
        let replies = replies.clone();
        Model::new(name, move |text| Ok(replies.reply_to(text)))
    };
    let (writer, solver) = (model("openai:author"), model("anthropic:solver"));
    let heard = Heard::default();
    let mut host = Host::default();
    let mut run = |resume: bool, stop_after: DraftStage| -> Result<(), DraftError> {
        let options = DraftOptions {
            skills: &skills,
            out: Some(&out),
            model: (!resume).then_some("openai:author"),
            tasks: Some(1),
            add: None,
            intents: &[],
            inputs: None,
            counterfactual: false,
            blind_ideas: false,
            stop_after,
            resume,
            dry_run: false,
            force: false,
        };
        let open = OpenDraft::open(options, &|_| true, &str::to_owned, &heard)?;
        let replies = open.replies();
        let mut draft = open.begin(author(&writer, replies), &heard)?;
        let handle: ModelHandle = solver.handle();
        let helper = draft.author().open_helper(handle, None).unwrap();
        draft.add_helpers(DraftHelpers { solver: has_solver.then_some(helper), measured: None, pilot: None });
        draft.run_stages(&OPTIONS, &running(), &mut host, &heard).map(|_| ())
    };
    run(false, DraftStage::Needs).unwrap();
    folder.write("draft/directives.json", &directives().to_string());
    run(true, DraftStage::Validation).unwrap();
    let asked = (writer.requests(), solver.requests());
    // Nothing is asked twice.
    run(true, DraftStage::Validation).unwrap();
    assert_eq!((writer.requests().len(), solver.requests().len()), (asked.0.len(), asked.1.len()));
    let status = read_status(&DraftFolder::at_path(out), None).unwrap();
    let status = serde_json::to_value(status).unwrap();
    let text = |key: &str| status["tasks"][0][key].as_str().unwrap_or_default().to_owned();
    Outcome {
        state: text("state"),
        reason: text("reason"),
        asked,
        heard: heard.texts(),
        folder,
        status: status.clone(),
    }
}

#[test]
fn a_task_stays_whose_rules_only_the_skill_states() {
    let done = draft_with(Replies::default(), true);
    assert_eq!(done.state, "accepted", "{}", done.reason);
    let evidence = done.evidence();
    assert_eq!((evidence.blind.len(), evidence.with_skill.len(), evidence.mutants.len()), (3, 1, 5));
    // The work without the skill is done by all models in turn.
    let models: Vec<&str> = evidence.blind.iter().map(|work| work.model.as_str()).collect();
    assert_eq!(models, ["anthropic:solver", "openai:author", "anthropic:solver"]);
    for work in &evidence.blind {
        let met: Vec<&str> = work.met.iter().filter(|(_, met)| **met).map(|(id, _)| id.as_str()).collect();
        assert_eq!(met, ["d06", "gc-shops", "gc-total"], "{}", work.output);
    }
    assert!(evidence.with_skill[0].met.values().all(|met| *met), "{}", evidence.with_skill[0].output);
    for mutant in &evidence.mutants {
        let failed: Vec<&String> = mutant.met.iter().filter(|(_, met)| !**met).map(|(id, _)| id).collect();
        assert_eq!(failed, [&mutant.item]);
    }
    assert_eq!(evidence.reader.as_deref(), Some("anthropic:solver"));
    let status = &done.status["tasks"][0];
    let shown =
        json!([status["gc_items"], status["if_items"], status["canaries"], status["blind"], status["with"]]);
    assert_eq!(shown, json!([2, 5, 3, {"gc": 1.0, "if": 0.0}, {"gc": 1.0, "if": 1.0}]));
    // Requests for the work without the skill show nothing of it.
    let blind = done.asked.0.iter().chain(&done.asked.1).filter(|text| text.contains("This is reply"));
    for text in blind {
        for part in ["close-ledger", "LEDGER/4", "dormant", "filed --", "ledger-export", "def if_d01"] {
            assert!(!text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn items_that_are_known_or_unfair_are_left_out() {
    // Two of three name the file as the skill does; the reader objects to nothing else.
    let known = BLIND.replace("report.txt", "close-ledger.txt");
    let replies = Replies { blind: [known.clone(), known.clone(), BLIND.to_owned()], ..Replies::default() };
    let done = draft_with(replies, true);
    assert_eq!(done.state, "accepted", "{}", done.reason);
    assert_eq!(done.items(), ["gc-total", "gc-shops", "d02", "d03", "d04", "d05", "d06"]);
    assert_eq!(done.evidence().dropped[0].id, "d01");
    assert!(done.heard.iter().any(|event| event.starts_with("ItemDropped") && event.contains("d01")));
    // The solution of the task without the item is unchanged, and its mutant is gone.
    assert!(!done.folder.read("draft/tasks/revenue/solution/mutants.json").contains("d01"));

    // With an item that is unfair as well, too few stay, and the author hears why.
    let mut fairness = fair();
    fairness["items"][4]["wrong"] = false.into();
    fairness["items"][4]["reason"] = "an end mark is a matter of taste".into();
    let blind = [known.clone(), known.clone(), known];
    let done = draft_with(Replies { blind, fairness, ..Replies::default() }, true);
    assert_eq!(done.state, "infeasible");
    assert!(done.reason.contains("known-without-skill: d01"), "{}", done.reason);
    let repair = done.asked.0.iter().find(|text| text.starts_with("You wrote")).unwrap();
    for part in [
        "known-without-skill: d01: 3 of 3",
        "unfair: d05: a result without it is fine, too: an end mark",
        "3 of 5 items",
    ] {
        assert!(repair.contains(part), "{part}: {repair}");
    }
}

#[test]
fn a_wrong_check_is_repaired_and_not_the_instruction() {
    // The check wants the mark in upper case, which the line does not say; the author's own solution passes it.
    let wrong = CHECK.replace("if \"dormant\" in row", "if \"DORMANT\" in row");
    let mut first = files(INSTRUCTION, &SOLVE.replace("dormant", "DORMANT"));
    first["files"][2] = file("tests/check.py", &wrong);
    first["items"][4]["mutant"] = json!([{"find": "\" DORMANT\"", "replace": "\"\""}]);
    let repaired = files(INSTRUCTION, SOLVE);
    let repair = json!({"files": [repaired["files"][2], repaired["files"][3]], "items": repaired["items"]});
    let done = draft_with(Replies { files: first.clone(), repair, ..Replies::default() }, true);
    assert_eq!(done.state, "accepted", "{}", done.reason);
    let repair = done.asked.0.iter().find(|text| text.starts_with("You wrote")).unwrap();
    assert!(repair.contains("failed-with-skill: d03 (SKILL.md:12)"), "{repair}");
    // Nobody did the work without the skill before the check was right.
    let blind = |texts: &[String]| texts.iter().filter(|text| text.contains("This is reply")).count();
    assert_eq!(blind(&done.asked.0) + blind(&done.asked.1), 3);
    assert_eq!(done.items().len(), 8);

    // An author who repairs nothing loses the item, and the task keeps the others.
    let repair = json!({"files": [file("solution/more.txt", "more")]});
    let done = draft_with(Replies { files: first, repair, ..Replies::default() }, true);
    assert_eq!(done.state, "accepted", "{}", done.reason);
    assert_eq!(done.items(), ["gc-total", "gc-shops", "d01", "d02", "d04", "d05", "d06"]);
}

#[test]
fn a_goal_that_work_misses_is_not_accepted() {
    let lost = "#!/bin/bash\necho nothing > report.txt\n".to_owned();
    let replies = Replies { blind: [BLIND.to_owned(), lost, BLIND.to_owned()], ..Replies::default() };
    let done = draft_with(replies, true);
    assert_eq!(done.state, "infeasible");
    assert!(
        done.reason.contains("goal-missed: gc-total: 1 of 3 replies that did the work without"),
        "{}",
        done.reason
    );
}

#[test]
fn faults_that_need_no_request_are_found_first() {
    let check = |edit: &dyn Fn(&mut Value), expected: &str| {
        let mut reply = files(INSTRUCTION, SOLVE);
        edit(&mut reply);
        let done = draft_with(Replies { files: reply, ..Replies::default() }, false);
        assert_eq!(done.state, "infeasible", "{expected}");
        assert!(done.reason.contains(expected), "{expected}: {}", done.reason);
        assert!(!done.asked.0.iter().any(|text| text.starts_with("Do this work")), "{expected}");
    };
    check(&|reply| reply["items"][2]["mutant"] = json!([]), "no-mutant: d01: `mutant` is missing");
    check(
        &|reply| reply["items"][2]["mutant"][0]["find"] = "nowhere".into(),
        "no-mutant: d01: `mutant`: \"nowhere\" occurs 0 times",
    );
    check(&|reply| reply["items"][2]["marks"] = json!(["close.txt"]), "mark-unknown: d01");
    let given = format!("{INSTRUCTION} End with -- filed --.");
    check(&|reply| reply["files"][0] = file("instruction.md", &given), "answer-given: d05: instruction.md");
    check(
        &|reply| reply["files"][1] = file("environment/files/sales.csv", "shop,takings\nWest,12 LEDGER/4\n"),
        "answer-given: d02: environment/files/sales.csv",
    );
    check(&|reply| reply["items"][0]["id"] = "gc-sum".into(), "no-check: gc-sum");
    check(&|reply| reply["items"].as_array_mut().unwrap().retain(|item| item["set"] == "if"), "no-goal");
    check(
        &|reply| reply["items"].as_array_mut().unwrap().truncate(5),
        "too-few-items: 3 items of directives",
    );
}

#[test]
fn replies_without_a_script_are_missing_evidence() {
    let none = || "x".repeat(200 << 10);
    let replies = Replies { blind: [none(), BLIND.to_owned(), none()], ..Replies::default() };
    let done = draft_with(replies, true);
    assert_eq!(done.state, "infeasible");
    assert!(done.reason.contains("no-blind-work"), "{}", done.reason);
    assert_eq!(done.evidence().missing.len(), 2);
}

#[test]
fn without_another_model_the_author_works_alone() {
    let done = draft_with(Replies::default(), false);
    assert_eq!(done.state, "accepted", "{}", done.reason);
    let evidence = done.evidence();
    assert_eq!((evidence.blind.len(), evidence.with_skill.len(), evidence.reader), (3, 0, None));
    assert!(done.heard.contains(&"NoSecondModel".to_owned()));
}

#[test]
fn the_checks_of_a_copy_are_met_with_other_words_only() {
    let done = draft_with(Replies::default(), true);
    let copy = done.evidence().counterfactual.unwrap();
    // The order of shops has no word that can be replaced.
    assert_eq!(copy.replaced, ["d01", "d02", "d03", "d05"]);
    assert_eq!(done.status["tasks"][0]["replaced"], 4);
    let task = done.folder.path("draft/tasks/revenue");
    let table = assay_task::CounterfactualTable::read_from(&task).unwrap().unwrap();
    let checks = done.folder.read("draft/tasks/revenue/tests/counterfactual/check.py");
    for word in ["LEDGER/4", "dormant", "close-ledger", "filed"] {
        assert!(CHECK.contains(word) && !checks.contains(word), "{word}: {checks}");
    }
    // Instruction and given files have none of the words.
    for file in ["instruction.md", "environment/files/sales.csv"] {
        assert!(!table.occurs_in(&done.folder.read(&format!("draft/tasks/revenue/{file}"))), "{file}");
    }
    let grade = |script: &str| {
        let solve = task.join("solution/solve.sh");
        let before = std::fs::read_to_string(&solve).unwrap();
        std::fs::write(&solve, script).unwrap();
        let graded = crate::fixture::grade_in_folder(&task).unwrap();
        std::fs::write(solve, before).unwrap();
        graded.passed.values().filter(|passed| **passed).count()
    };
    // With the skill, with its copy, and with neither.
    assert_eq!((grade(SOLVE), grade(&table.apply_to(SOLVE)), grade(BLIND)), (8, 8, 3));
    // Words of both are graded by the one that has more of them.
    let mixed = table.apply_to(SOLVE).replace(&table.apply_to("dormant"), "dormant");
    assert_eq!(grade(&mixed), 7);
}

#[test]
fn what_falls_is_replaced_with_its_reason() {
    // Every task shows an answer and stays so.
    let given = files(&format!("{INSTRUCTION} End with -- filed --."), SOLVE);
    let replies = Replies { files: given, more: json!({"ideas": [idea("revenue")]}), ..Replies::default() };
    let done = draft_with(replies, true);
    let ideas: Value = serde_json::from_str(&done.folder.read("draft/ideas.json")).unwrap();
    let names: Vec<&str> =
        ideas["ideas"].as_array().unwrap().iter().map(|idea| idea["name"].as_str().unwrap()).collect();
    // Both fall, and after two more requests the author is not asked again.
    assert_eq!(names, ["revenue", "revenue-2", "revenue-3"]);
    let asked: Vec<&String> = done.asked.0.iter().filter(|text| text.starts_with("Propose")).collect();
    assert_eq!(asked.len(), 3);
    assert!(asked[1].contains("it fell: answer-given: d05"), "{}", asked[1]);
    assert!(asked[2].contains("--- revenue-2 "), "{}", asked[2]);
    assert_eq!(done.state, "infeasible");
}

/// A reader's reply that finds nothing unfair.
fn fair() -> Value {
    let items: Vec<Value> = ["d01", "d02", "d03", "d04", "d05"]
        .iter()
        .map(|id| {
            json!({
                "id": id, "demanded": true, "other_way": false, "given_away": false, "same_as": "",
                "wrong": true, "reason": "",
            })
        })
        .collect();
    json!({ "items": items })
}
