//! The stages of a draft that come before its tasks: the directives of the skill, and what the measured model does without it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use assay_draft::directives::{DirectiveSource, DirectivesReader, DraftDirectives};
use assay_draft::draft::{DraftHelpers, DraftOptions, OpenDraft, StagesEnd};
use assay_draft::folder::DraftFolder;
use assay_draft::probe::{ProbeRecord, ProbeVerdict};
use assay_draft::solvers::SolverOptions;
use assay_draft::status::read_status;
use assay_draft::{DraftError, DraftStage};
use assay_model::ModelError;
use serde_json::{Value, json};

use crate::fixture::{Folder, Heard, Host, Model, author, running};
use crate::ledger::BODY;

const OPTIONS: SolverOptions<'_> = SolverOptions {
    model: None,
    base_url: None,
    api_key_env: None,
    price: None,
    max_usd: None,
    no_cap: true,
};

const ANSWERS: [(&str, &str); 5] = [
    ("Name the file", "close-ledger.txt"),
    ("Begin with the line", "LEDGER/4"),
    ("Shops with takings below 40", "dormant"),
    ("List shops by takings", "smallest takings first"),
    ("End with the line", "-- filed --"),
];

/// Line 10 and those below it, as the author reads them: the last number is off by three, and one has words of its own.
fn listed() -> String {
    let item = |(at, (quote, answer)): (usize, &(&str, &str))| {
        json!({
            "file": "SKILL.md", "lines": (10 + at).to_string(), "quote": quote, "text": format!("{quote} as said"),
            "relevant_when": "a page is finished", "question": format!("What is written at point {at}?"),
            "answer": answer, "default": "report.txt", "class": "convention", "known": 1, "seen_in": "result",
            "readings": [], "requires": null, "doubt": null,
        })
    };
    let mut items: Vec<Value> = ANSWERS.iter().enumerate().map(item).collect();
    items[2]["class"] = json!("knowledge");
    items[4]["lines"] = json!("17");
    let mut invented = items[0].clone();
    invented["quote"] = json!("Sign the page in green");
    items.push(invented);
    let mut asked = items[0].clone();
    (asked["quote"], asked["lines"]) = (json!("State the total."), json!("15"));
    (asked["seen_in"], asked["class"]) = (json!("conversation"), json!("reminder"));
    items.push(asked);
    json!({"directives": items, "dismissed": []}).to_string()
}

/// The author, who takes a reply for the same if it has the words of the answer.
fn writes(text: &str) -> String {
    if text.starts_with("List the directives") {
        assert!(
            text.contains("10| - Name the file `close-ledger.txt`.") && text.contains("SKILL.md 10\n"),
            "{text}"
        );
        return listed();
    }
    assert!(text.starts_with("For each pair below"), "{text}");
    let pairs = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let pairs = pairs.filter(|pair| pair["expected"].is_string()).map(|pair| {
        let same = pair["reply"].as_str().unwrap().contains(pair["expected"].as_str().unwrap());
        json!({"id": pair["id"], "same": same})
    });
    json!({"pairs": pairs.collect::<Vec<_>>()}).to_string()
}

/// The measured model, which follows the first `known` directives.
fn guesses(text: &str, known: usize) -> String {
    for (_, answer) in ANSWERS {
        assert!(!text.contains(answer), "{text}");
    }
    let questions = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let questions = questions.filter(|question| question["question"].is_string()).map(|question| {
        let at: usize = question["question"]
            .as_str()
            .unwrap()
            .matches(char::is_numeric)
            .collect::<String>()
            .parse()
            .unwrap();
        let answer =
            if at < known { format!("I write {}, as usual", ANSWERS[at].1) } else { "report.txt".to_owned() };
        json!({"id": question["id"], "answer": answer})
    });
    json!({"answers": questions.collect::<Vec<_>>()}).to_string()
}

struct Case {
    folder: Folder,
    skills: Vec<PathBuf>,
    out: PathBuf,
    author: Model,
    measured: Model,
    heard: Heard,
}

impl Case {
    fn new(known: usize) -> Self {
        Self::with(Model::new("openai:small", move |text| Ok(guesses(text, known))))
    }

    fn with(measured: Model) -> Self {
        let folder = Folder::new();
        let skills = vec![folder.skill("skills", "ledger-export", BODY)];
        let (out, author) = (folder.path("draft"), Model::new("openai:author", |text| Ok(writes(text))));
        Self { folder, skills, out, author, measured, heard: Heard::default() }
    }

    fn run(&self, resume: bool, stop_after: DraftStage, force: bool) -> Result<StagesEnd, DraftError> {
        let options = DraftOptions {
            skills: &self.skills,
            out: Some(&self.out),
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
            force,
        };
        let open = OpenDraft::open(options, &|_| true, &str::to_owned, &self.heard)?;
        let replies = open.replies();
        let mut draft = open.begin(author(&self.author, replies), &self.heard)?;
        let measured = draft.author().open_helper(self.measured.handle(), None).unwrap();
        draft.add_helpers(DraftHelpers { solver: None, measured: Some(measured), pilot: None });
        draft.run_stages(&OPTIONS, &running(), &mut Host::default(), &self.heard)
    }

    fn draft(&self) -> DraftFolder {
        DraftFolder::at_path(self.out.clone())
    }

    /// Requests to the author and to the measured model.
    fn requests(&self) -> (usize, usize) {
        (self.author.requests().len(), self.measured.requests().len())
    }
}

#[test]
fn directives_are_listed_probed_and_kept() {
    let case = Case::new(1);
    let end = case.run(false, DraftStage::Probe, false).unwrap();
    assert_eq!(end, StagesEnd { has_tasks: true, is_complete: false });
    // A list, a comparison, and three ways of asking.
    assert_eq!(case.requests(), (2, 3));
    let list = DraftDirectives::read_from(&case.draft()).unwrap().unwrap();
    let places: Vec<(&str, String, DirectiveSource)> =
        list.directives.iter().map(|one| (one.id.as_str(), one.lines.to_string(), one.by)).collect();
    let model = |id: &'static str, line: &str| (id, line.to_owned(), DirectiveSource::Model);
    // Rules take line 8 for a directive; the author says nothing of it.
    let expected = [
        ("d01", "8".to_owned(), DirectiveSource::Rules),
        model("d02", "10"),
        model("d03", "11"),
        model("d04", "12"),
        model("d05", "13"),
        model("d06", "14"),
        model("d07", "15"),
    ];
    assert_eq!(places, expected);
    assert_eq!((list.rejected.len(), list.model.as_deref()), (1, Some("openai:author")));
    let probe = ProbeRecord::read_from(&case.draft()).unwrap().unwrap();
    let verdicts: Vec<ProbeVerdict> = probe.directives.values().map(|probed| probed.verdict).collect();
    let unknown = ProbeVerdict::Unknown;
    assert_eq!(verdicts, [ProbeVerdict::Known, unknown, unknown, unknown, unknown, ProbeVerdict::Known]);

    let status = read_status(&case.draft(), None).unwrap();
    let document = serde_json::to_value(&status).unwrap();
    let by_class = json!({"knowledge": 1, "convention": 4, "reminder": 1, "unclassified": 1});
    let directives = json!({"total": 7, "by_class": by_class, "tested": 0, "infeasible": 1});
    assert_eq!(document["directives"], directives);
    assert_eq!(document["probe"], json!({"model": "openai:small", "known": 2, "unknown": 4, "unclear": 0}));
    let text = status.to_text();
    assert!(
        text.contains("directives: 0 of 7 tested (1 knowledge, 4 convention, 1 reminder, 1 unclassified), 1 infeasible\n"),
        "{text}"
    );
    assert!(text.contains("openai:small follows 2 directives and not 4; 0 unclear\n"), "{text}");
    assert!(!text.contains("nothing to measure"), "{text}");
    let infeasible: Value = serde_json::from_str(&case.folder.read("draft/infeasible.json")).unwrap();
    assert_eq!(infeasible["directives"], json!({"d07": "only a conversation shows it, and tasks have none"}));

    // Nothing is asked again.
    case.run(true, DraftStage::Probe, false).unwrap();
    assert_eq!(case.requests(), (2, 3));
}

#[test]
fn a_question_that_gives_its_answer_away_is_sent_back_with_the_reason() {
    let told = "Does the page begin with LEDGER/4 at point 1?";
    let also = "Is the list by takings with the smallest takings first at point 3?";
    let listed = move || {
        let mut list: Value = serde_json::from_str(&listed()).unwrap();
        (list["directives"][1]["question"], list["directives"][3]["question"]) = (json!(told), json!(also));
        list.to_string()
    };
    let writer = Model::new("openai:author", move |text| {
        if text.starts_with("List the directives") {
            return Ok(listed());
        }
        if !text.starts_with("You wrote the questions below") {
            return Ok(writes(text));
        }
        let refused: Vec<Value> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(|line: &Value| line["reason"].is_string())
            .collect();
        let reasons: Vec<(&str, &str)> = refused
            .iter()
            .map(|one| (one["id"].as_str().unwrap(), one["reason"].as_str().unwrap()))
            .collect();
        assert_eq!(
            reasons,
            [
                ("d03", "it has \"ledger/4\" of the answer"),
                ("d05", "it has \"smallest takings first\" of the answer")
            ]
        );
        // The second is no better than before.
        let questions = json!([{"id": "d03", "question": "What is the first line at point 1?"}, {"id": "d05", "question": also}]);
        Ok(json!({ "questions": questions }).to_string())
    });
    let case = Case { author: writer, ..Case::new(0) };
    case.run(false, DraftStage::Probe, false).unwrap();
    // The list, the questions and a comparison.
    assert_eq!(case.requests(), (3, 3));
    let list = DraftDirectives::read_from(&case.draft()).unwrap().unwrap();
    let question = |id: &str| list.find_by_id(id).unwrap().question.clone().unwrap();
    assert_eq!(
        (question("d03").as_str(), question("d05").as_str()),
        ("What is the first line at point 1?", also)
    );
    let probe = ProbeRecord::read_from(&case.draft()).unwrap().unwrap();
    assert_eq!(probe.directives.keys().collect::<Vec<_>>(), ["d02", "d03", "d04", "d06", "d07"]);
    assert_eq!(probe.not_asked["d05"], "it has \"smallest takings first\" of the answer");
    assert_eq!(probe.wordings.len(), 3);
    assert!(case.heard.texts().iter().any(|event| event.starts_with("NotAsked { directive: \"d05\"")));
    case.run(true, DraftStage::Probe, false).unwrap();
    assert_eq!(case.requests(), (3, 3));
}

#[test]
fn nothing_to_measure_ends_the_draft_before_its_tasks() {
    let case = Case::new(2);
    let end = case.run(false, DraftStage::Experiment, false).unwrap();
    assert_eq!(end, StagesEnd { has_tasks: false, is_complete: false });
    // No request for ideas: the author would not know how to answer it.
    assert_eq!(case.requests(), (2, 3));
    let heard = case.heard.texts();
    let nothing = heard.iter().find(|event| event.starts_with("NothingToMeasure")).unwrap();
    assert!(nothing.contains("3 directives that") && nothing.contains("is_forced: false"), "{nothing}");
    let text = read_status(&case.draft(), None).unwrap().to_text();
    let first = "nothing to measure: 3 directives that an agent would not follow anyway and that a result shows, at least 4";
    assert!(text.contains(first), "{text}");
    let known =
        "  d02 SKILL.md:10: convention, seen in result, followed in 3 of 3 replies: Name the file as said\n";
    assert!(text.contains(known), "{text}");
    assert!(
        text.contains("d06 SKILL.md:14: convention, seen in result, followed in 0 of 3 replies"),
        "{text}"
    );
    // Forced, it goes on and says so.
    case.run(true, DraftStage::Probe, true).unwrap();
    let heard = case.heard.texts();
    let nothing = heard.iter().rfind(|event| event.starts_with("NothingToMeasure")).unwrap();
    assert!(nothing.contains("3 directives that") && nothing.contains("is_forced: true"), "{nothing}");
    assert_eq!(case.requests(), (2, 3));
}

#[test]
fn a_probe_that_was_interrupted_asks_only_what_is_missing() {
    let asked = AtomicUsize::new(0);
    let case = Case::with(Model::new("openai:small", move |text| {
        if asked.fetch_add(1, Ordering::Relaxed) == 1 {
            Err(ModelError::Cancelled)
        } else {
            Ok(guesses(text, 0))
        }
    }));
    let error = case.run(false, DraftStage::Probe, false).unwrap_err();
    assert!(matches!(&error, DraftError::Ask(error) if error.is_cancelled()), "{error}");
    assert_eq!(case.requests(), (1, 2));
    case.run(true, DraftStage::Probe, false).unwrap();
    assert_eq!(case.requests(), (2, 4));
}

#[test]
fn a_model_without_answers_leaves_the_probe_unclear() {
    let case = Case::with(Model::new("openai:small", |_| Ok("I would rather not.".to_owned())));
    case.run(false, DraftStage::Probe, false).unwrap();
    let probe = ProbeRecord::read_from(&case.draft()).unwrap().unwrap();
    assert!(probe.directives.values().all(|probed| probed.verdict == ProbeVerdict::Unclear), "{probe:?}");
    // Nothing is known, so the expectation of the author stands.
    let text = read_status(&case.draft(), None).unwrap().to_text();
    assert!(
        text.contains("follows 0 directives and not 0; 6 unclear") && !text.contains("nothing"),
        "{text}"
    );
}

#[test]
fn a_list_that_a_person_edited_is_used() {
    let case = Case::new(0);
    case.run(false, DraftStage::Directives, false).unwrap();
    let mut list: Value = serde_json::from_str(&case.folder.read("draft/directives.json")).unwrap();
    list["directives"][1]["answer"] = json!("close-book.txt");
    list["directives"][1]["by"] = json!("person");
    case.folder.write("draft/directives.json", &list.to_string());
    case.run(true, DraftStage::Probe, false).unwrap();
    let probe = ProbeRecord::read_from(&case.draft()).unwrap().unwrap();
    assert_eq!(probe.directives["d02"].answer, "close-book.txt");
    let before = case.requests();
    // Another edit: its question is asked again, and only the edited directive has no replies until then.
    list["directives"][1]["question"] = json!("How is file 0 called?");
    case.folder.write("draft/directives.json", &list.to_string());
    let status = serde_json::to_value(read_status(&case.draft(), None).unwrap()).unwrap();
    assert_eq!(status["probe"]["unknown"], 5);
    case.run(true, DraftStage::Probe, false).unwrap();
    // Replies are compared for what was asked, so another question needs another comparison.
    assert_eq!(case.requests(), (before.0 + 1, before.1 + 3));
}

#[test]
fn skills_of_a_path_are_listed_with_and_without_a_model() {
    let case = Case::new(0);
    let reply = author(&case.author, case.folder.path("replies"));
    let read = |model| {
        let mut lines = Vec::new();
        let mut reader = DirectivesReader {
            author: model,
            print: &mut |line| {
                lines.push((serde_json::to_value(line).unwrap(), line.to_text()));
                Ok(())
            },
            events: &case.heard,
        };
        assert!(reader.read_path(&case.folder.path("skills")).unwrap());
        lines
    };
    let [(line, text)] = &read(None)[..] else { panic!() };
    assert_eq!((&line["schema"], &line["skill"]), (&json!("assay.directives/1"), &json!("ledger-export")));
    let first = &line["directives"][0];
    assert_eq!(
        (&first["id"], &first["file"], &first["class"]),
        (&json!("d01"), &json!("SKILL.md"), &Value::Null)
    );
    assert!(text.contains("SKILL.md:10  Name the file close-ledger.txt."), "{text}");
    let [(line, text)] = &read(Some(&reply))[..] else { panic!() };
    let keys = ["id", "text", "quote", "file", "lines", "class", "answer", "default", "known", "seen_in"];
    let named = &line["directives"][1];
    assert!(keys.iter().all(|key| !named[key].is_null()), "{named}");
    assert!(text.contains("[convention] Name the file as said\n"), "{text}");
    assert!(text.contains("with: close-ledger.txt; without: report.txt\n"), "{text}");
    // A second reading is answered from the folder.
    read(Some(&reply));
    assert_eq!(case.requests(), (1, 0));
}
