//! The stages of a draft, with a function in case of the model and a rule in case of sandboxes.

use std::fs;
use std::path::PathBuf;

use assay_draft::draft::{Draft, DraftOptions, OpenDraft, StagesEnd};
use assay_draft::error::{Existing, FolderFault, InputFault, SkillFault, SolverFault};
use assay_draft::solvers::SolverOptions;
use assay_draft::status::read_status;
use assay_draft::{DraftError, DraftStage};
use assay_model::ModelError;
use serde_json::{Value, json};

use crate::fixture::{Folder, Heard, Host, Model, author, running};
use crate::ledger::{BLIND, BODY, RULE, SOLVE, directives, file, files, idea, script};

/// What the instruction of each task says.
fn instruction(name: &str) -> String {
    match name {
        "branches" => "Head office collects, on Mondays, what each of our branches took in, and has to know before noon how much it was \
                       altogether. The list is in /app/sales.csv. Leave a text with every branch and the sum as /app/NAME.txt, in the \
                       way in which we always send it to them."
            .to_owned(),
        "copied" => format!("Someone left /app/sales.csv behind. Write a text in /app with its shops and their total. {RULE}"),
        _ => "The file /app/sales.csv has the takings of a week. Kim in accounting files a page about them, /app/NAME.txt, which \
              names the shops with their takings, and the total. Write that page by our usual rules; nobody can be asked today."
            .to_owned(),
    }
}

fn name_of(text: &str) -> &'static str {
    let idea = text.split("IDEA").nth(1).unwrap_or_default();
    let named = |name: &&str| idea.contains(&format!("\"name\": \"{name}\""));
    ["revenue", "branches", "copied"].into_iter().find(named).unwrap_or_else(|| panic!("{text}"))
}

/// Three tasks: one is good, one is wrong until its first repair, and one repeats the skill and stays so.
fn reply(text: &str) -> String {
    if text.starts_with("Propose") && text.contains("it fell: ") {
        return json!({ "ideas": [] }).to_string();
    }
    if text.starts_with("Propose") {
        let ideas = ["revenue", "branches", "copied"].map(idea);
        return json!({ "ideas": ideas }).to_string();
    }
    if text.starts_with("Do this work") {
        return script(BLIND);
    }
    let name = name_of(text);
    if text.starts_with("Write the files") {
        let solution = if name == "branches" { format!("{SOLVE}# wrong\n") } else { SOLVE.to_owned() };
        return files(&instruction(name), &solution).to_string();
    }
    assert!(text.starts_with("You wrote the task below"), "{text}");
    let changes = match name {
        "branches" => {
            assert!(text.contains("oracle-fails") && text.contains("north 0"), "{text}");
            json!([file("solution/solve.sh", SOLVE)])
        }
        _ => json!([file("instruction.md", &(instruction(name) + " Thank you."))]),
    };
    json!({"files": changes}).to_string()
}

fn model() -> Model {
    Model::new("openai:author", |text| Ok(reply(text)))
}

/// A skill, and the folder of its draft.
struct DraftCase {
    folder: Folder,
    skills: Vec<PathBuf>,
    out: PathBuf,
    /// Whether ideas are made from name and description only.
    is_blind: bool,
}

const NO_SOLVER: SolverOptions<'_> = SolverOptions {
    model: None,
    base_url: None,
    api_key_env: None,
    price: None,
    max_usd: None,
    no_cap: true,
};

impl DraftCase {
    fn new() -> Self {
        let folder = Folder::new();
        let skills = vec![folder.skill("skills", "ledger-export", BODY)];
        let out = folder.path("draft");
        Self { folder, skills, out, is_blind: false }
    }

    fn open(&self, resume: bool, stop_after: DraftStage) -> Result<OpenDraft<'_>, DraftError> {
        let options = DraftOptions {
            skills: &self.skills,
            out: Some(&self.out),
            model: (!resume).then_some("openai:author"),
            tasks: Some(3),
            add: None,
            intents: &[],
            inputs: None,
            counterfactual: false,
            blind_ideas: self.is_blind,
            stop_after,
            resume,
            dry_run: false,
            force: false,
        };
        OpenDraft::open(options, &|_| true, &str::to_owned, &Heard::default())
    }

    /// Executes the stages up to one.
    fn run(
        &self,
        resume: bool,
        stop_after: DraftStage,
        model: &Model,
        solver: &SolverOptions<'_>,
        host: &mut Host,
        heard: &Heard,
    ) -> Result<StagesEnd, DraftError> {
        if !resume {
            let mut draft = begin(self.open(false, DraftStage::Needs)?, model)?;
            draft.run_stages(solver, &running(), host, heard)?;
            self.folder.write("draft/directives.json", &directives().to_string());
        }
        let mut draft = begin(self.open(true, stop_after)?, model)?;
        draft.run_stages(solver, &running(), host, heard)
    }

    /// State, repairs and reason of each task.
    fn tasks(&self) -> Vec<(String, String, u64, String)> {
        let folder = assay_draft::folder::DraftFolder::at_path(self.out.clone());
        let status = serde_json::to_value(read_status(&folder, None).unwrap()).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let tasks = status["tasks"].as_array().unwrap().iter();
        let tasks = tasks.map(|task| {
            (
                text(&task["name"]),
                text(&task["state"]),
                task["repairs"].as_u64().unwrap(),
                text(&task["reason"]),
            )
        });
        tasks.collect()
    }

    fn read(&self, path: &str) -> String {
        self.folder.read(&format!("draft/{path}"))
    }
}

fn begin<'a>(open: OpenDraft<'a>, model: &Model) -> Result<Draft<'a>, DraftError> {
    let replies = open.replies();
    open.begin(author(model, replies), &Heard::default())
}

#[test]
fn each_stage_reads_the_files_of_the_one_before() {
    let (case, model, heard) = (DraftCase::new(), model(), Heard::default());
    let mut host = Host::default();
    let mut run = |resume, stage| case.run(resume, stage, &model, &NO_SOLVER, &mut host, &heard).unwrap();
    let stopped = StagesEnd { has_tasks: true, is_complete: false };
    assert_eq!(run(false, DraftStage::Ideas), stopped);
    assert_eq!(model.requests().len(), 1);
    assert_eq!(run(true, DraftStage::Tasks), stopped);
    assert_eq!(model.requests().len(), 4);
    assert!(case.tasks().iter().all(|(_, state, ..)| state == "proposed"), "{:?}", case.tasks());
    assert_eq!(run(true, DraftStage::Validation), stopped);
    let tasks = case.tasks();
    let found: Vec<_> =
        tasks.iter().map(|(name, state, repairs, _)| (&name[..], &state[..], *repairs)).collect();
    assert_eq!(found, [("branches", "accepted", 1), ("revenue", "accepted", 0), ("copied", "infeasible", 2)]);
    let reason = &tasks[2].3;
    assert!(reason.contains("copied-line") && reason.contains("still faulty after 2 repairs"), "{reason}");
    // Two tasks came so far that others did the work without the skill.
    // The author has no other idea in the place of the third.
    assert_eq!(model.requests().len(), 14);
    // Nothing is asked or executed again.
    let checked = host.checked.clone();
    let end = case.run(true, DraftStage::Experiment, &model, &NO_SOLVER, &mut host, &heard).unwrap();
    assert_eq!(end, StagesEnd { has_tasks: true, is_complete: true });
    assert_eq!((model.requests().len(), &host.checked), (14, &checked));
    let experiment = case.read("experiment.toml");
    assert!(experiment.contains("name = \"ledger-export\""), "{experiment}");
    assert!(experiment.contains("selected_by = [\"openai:author\"]"), "{experiment}");
    assert_eq!(case.read("reviews/branches.md"), "review");
    let heard = heard.texts();
    for event in [
        "Repaired { task: \"branches\", repairs: 1, most: 2 }",
        "Accepted(\"revenue\")",
        "NoSolver",
        "NoHeadroom",
    ] {
        assert!(heard.contains(&event.to_owned()), "{event}: {heard:#?}");
    }
}

#[test]
fn blind_ideas_are_made_before_the_skill_is_seen() {
    let case = DraftCase { is_blind: true, ..DraftCase::new() };
    let model = Model::new("openai:author", |text| {
        if text.starts_with("Propose 3 pieces of work") {
            assert!(text.contains("Works with ledger-export.") && !text.contains("LEDGER/4"), "{text}");
            let mut guessed = idea("revenue");
            guessed["directives"] = json!([{"id": "d99"}]);
            return Ok(json!({"ideas": [guessed, idea("shelves")]}).to_string());
        }
        assert!(text.starts_with("The pieces of work below") && text.contains("LEDGER/4"), "{text}");
        assert!(!text.contains("d99"), "{text}");
        let chosen = &idea("revenue")["directives"];
        let changed = json!({"name": "revenue", "summary": "Something else.", "directives": chosen});
        Ok(json!({"ideas": [changed, {"name": "shelves", "directives": []}]}).to_string())
    });
    let (mut host, heard) = (Host::default(), Heard::default());
    case.run(false, DraftStage::Ideas, &model, &NO_SOLVER, &mut host, &heard).unwrap();
    assert_eq!(model.requests().len(), 2);
    let ideas: Value = serde_json::from_str(&case.read("ideas.json")).unwrap();
    let revenue = &ideas["ideas"][0];
    assert_eq!(
        (ideas["ideas"].as_array().unwrap().len(), &revenue["summary"]),
        (1, &idea("revenue")["summary"])
    );
    assert_eq!(revenue["directives"].as_array().unwrap().len(), 6);
    assert_eq!(ideas["dropped"][0]["name"], "shelves");
    // Its verdict is apart from that of other drafts.
    let draft = begin(case.open(true, DraftStage::Ideas).unwrap(), &model).unwrap();
    assert_eq!(draft.run_name(), "ledger-export-blind-ideas");
    let folder = assay_draft::folder::DraftFolder::at_path(case.out.clone());
    let text = read_status(&folder, None).unwrap().to_text();
    assert!(text.contains("ideas: from name and description of the skill only\n"), "{text}");
}

#[test]
fn a_task_that_a_person_edited_is_not_repaired() {
    let (case, model, heard) = (DraftCase::new(), model(), Heard::default());
    let mut host = Host::default();
    case.run(false, DraftStage::Tasks, &model, &NO_SOLVER, &mut host, &heard).unwrap();
    let edited = case.out.join("tasks/branches/instruction.md");
    fs::write(&edited, fs::read_to_string(&edited).unwrap() + "\nIn one line.\n").unwrap();
    // Somebody else's task beside those of the model.
    assay_fs::copy_tree(
        &case.out.join("tasks/branches"),
        &case.out.join("tasks/own"),
        &assay_fs::Caps::default(),
    )
    .unwrap();
    case.run(true, DraftStage::Validation, &model, &NO_SOLVER, &mut host, &heard).unwrap();
    let reason = |name: &str| case.tasks().into_iter().find(|(task, ..)| task == name).unwrap().3;
    assert!(reason("branches").ends_with("it was edited, so no model repairs it"), "{}", reason("branches"));
    assert!(reason("own").ends_with("no model wrote it, so none repairs it"), "{}", reason("own"));
}

#[test]
fn checks_that_cannot_be_executed_end_the_stage() {
    let (case, model, heard) = (DraftCase::new(), model(), Heard::default());
    let mut host = Host { unchecked: Some("no bash".to_owned()), ..Host::default() };
    let error = case.run(false, DraftStage::Validation, &model, &NO_SOLVER, &mut host, &heard).unwrap_err();
    assert_eq!(error.to_string(), "cannot execute the checks of the task branches: no bash");
    assert_eq!(host.finished, 1);
    // Nothing was decided, and the stage goes on where it stopped.
    assert!(case.tasks().iter().all(|(_, state, ..)| state == "proposed"), "{:?}", case.tasks());
    let mut host = Host::default();
    case.run(true, DraftStage::Validation, &model, &NO_SOLVER, &mut host, &heard).unwrap();
    assert_eq!(case.tasks().iter().filter(|(_, state, ..)| state == "accepted").count(), 2);
}

#[test]
fn a_repair_that_was_interrupted_is_asked_with_the_same_words() {
    let (case, heard) = (DraftCase::new(), Heard::default());
    let fails = Model::new("openai:author", |text| match text {
        text if text.starts_with("You wrote") => Err(ModelError::Cancelled),
        text => Ok(reply(text)),
    });
    let mut host = Host::default();
    let run = |model: &Model, host: &mut Host, resume| {
        case.run(resume, DraftStage::Validation, model, &NO_SOLVER, host, &heard)
    };
    assert!(matches!(run(&fails, &mut host, false), Err(DraftError::Ask(error)) if error.is_cancelled()));
    let asked = fails.requests().last().cloned().unwrap();
    let checked = host.checked.len();
    let model = model();
    run(&model, &mut host, true).unwrap();
    assert_eq!(model.requests().first(), Some(&asked));
    // The task was not checked again before: its faults are stored.
    assert_eq!(host.checked[checked..].iter().filter(|task| *task == "branches").count(), 1);
}

#[test]
fn drafts_never_overwrite_each_other() {
    let (case, model) = (DraftCase::new(), model());
    let exists = |error: DraftError| {
        assert!(
            matches!(error, DraftError::Input(InputFault::Exists { what: Existing::Draft, .. })),
            "{error:?}"
        );
    };
    // Two commands that both found nothing.
    let (first, second) =
        (case.open(false, DraftStage::Ideas).unwrap(), case.open(false, DraftStage::Ideas).unwrap());
    let draft = begin(first, &model).unwrap();
    let before = case.read("draft.json");
    exists(begin(second, &model).unwrap_err());
    exists(case.open(false, DraftStage::Ideas).unwrap_err());
    let error = case.open(true, DraftStage::Ideas).unwrap_err();
    assert!(matches!(error, DraftError::Folder(FolderFault::Locked { .. })), "{error:?}");
    drop(draft);
    case.open(true, DraftStage::Ideas).unwrap();
    assert_eq!(case.read("draft.json"), before);

    // Two skills of one name, in one draft and in two.
    let other = case.folder.skill("others", "ledger-export", "# Another");
    let both = DraftCase {
        skills: vec![case.skills[0].clone(), other.clone()],
        out: case.folder.path("both"),
        ..DraftCase::new()
    };
    let error = both.open(false, DraftStage::Ideas).unwrap_err();
    assert!(
        matches!(&error, DraftError::Skill(SkillFault::Twice(name)) if name == "ledger-export"),
        "{error:?}"
    );
    let another = DraftCase { skills: vec![other], out: case.out.clone(), ..DraftCase::new() };
    exists(another.open(false, DraftStage::Ideas).unwrap_err());
    let error = another.open(true, DraftStage::Ideas).unwrap_err();
    assert!(matches!(error, DraftError::Skill(SkillFault::Other(_))), "{error:?}");
}

/// An experiment of attempts in folders of this machine, in case of the one that a draft writes.
const SOLVER: &str = r#"schema = "assay.experiment/1"
name = "solver"
suite = ["tasks/*"]
library = ["skills/*"]
conditions = ["none", "curated"]
repetitions = 2
seed = 5
sandbox = "none"
[[agents]]
name = "loop"
model = "scripted:solver.jsonl"
"#;

#[test]
fn tasks_that_the_solver_does_not_solve_are_rejected() {
    let (case, model, heard) = (DraftCase::new(), model(), Heard::default());
    let mut host = Host::default();
    case.run(false, DraftStage::Validation, &model, &NO_SOLVER, &mut host, &heard).unwrap();
    case.folder.write("draft/solver.toml", SOLVER);
    // One task is solved with the skill, the other is not.
    let rule = json!({"task": "revenue", "condition": "curated", "turn": 0, "run": [SOLVE]});
    case.folder.write("draft/solver.jsonl", &format!("{rule}\n{}\n", json!({"say": "Done."})));
    let solver = SolverOptions { model: Some("scripted:solver.jsonl"), ..NO_SOLVER };
    let end = case.run(true, DraftStage::Solvers, &model, &solver, &mut host, &heard).unwrap();
    assert!(end.has_tasks);
    let solved: Value = serde_json::from_str(&case.read("solvers.json")).unwrap();
    let attempts = |task: &str| {
        let attempts = solved["tasks"][task]["attempts"].as_array().unwrap().iter();
        attempts.map(|attempt| format!("{} {}", attempt["condition"], attempt["outcome"])).collect::<Vec<_>>()
    };
    // Attempts alternate, and end with the first that passes.
    assert_eq!(attempts("revenue"), ["\"none\" \"failed\"", "\"curated\" \"passed\""]);
    assert_eq!(attempts("branches").len(), 4);
    let rejected = case.tasks().into_iter().find(|(task, ..)| task == "branches").unwrap();
    assert_eq!(rejected.1, "infeasible");
    assert_eq!(rejected.3, "unsolved: scripted:solver.jsonl failed 4 attempts, half of them with the skill");
    // What was attempted is not attempted again.
    let before = case.read("solvers.json");
    case.run(true, DraftStage::Solvers, &model, &NO_SOLVER, &mut host, &heard).unwrap();
    assert_eq!(case.read("solvers.json"), before);
}

#[test]
fn a_solver_that_cannot_be_used_costs_nothing() {
    let (case, model, heard) = (DraftCase::new(), model(), Heard::default());
    let mut host = Host::default();
    case.run(false, DraftStage::Validation, &model, &NO_SOLVER, &mut host, &heard).unwrap();
    let mut check = |solver: SolverOptions<'_>, expected: &str| {
        let error = case.run(true, DraftStage::Solvers, &model, &solver, &mut host, &heard).unwrap_err();
        assert!(matches!(&error, DraftError::Solver(fault) if fault.to_string() == expected), "{error:?}");
        let writes = matches!(error, DraftError::Solver(SolverFault::NotPlanned { .. }));
        assert_eq!(case.out.join("solver.toml").exists(), writes, "{expected}");
        assert!(!case.out.join("solvers.json").exists());
    };
    let named = |model| SolverOptions { model: Some(model), ..NO_SOLVER };
    check(named("openai:author"), "openai:author writes the tasks, so it cannot be their solver");
    let capped = SolverOptions { max_usd: Some(1.0), ..named("openai:other") };
    check(capped, "a cap in USD needs the price of openai:other");
    let uncapped = SolverOptions { no_cap: false, ..named("openai:other") };
    check(uncapped, "openai:other is a paid model, and this draft has no cap");
    // Here is no sandbox, as the experiment says that a draft writes.
    case.folder.write("draft/turns.jsonl", &json!({"say": "Done."}).to_string());
    let error = case
        .run(true, DraftStage::Solvers, &model, &named("scripted:turns.jsonl"), &mut host, &heard)
        .unwrap_err();
    assert!(matches!(error, DraftError::Solver(SolverFault::NotPlanned { .. })), "{error:?}");
    let error = case.run(true, DraftStage::Solvers, &model, &named("scripted:x.jsonl"), &mut host, &heard);
    let expected =
        format!("{} has another model than scripted:x.jsonl", case.out.join("solver.toml").display());
    assert_eq!(error.unwrap_err().to_string(), expected);
}
