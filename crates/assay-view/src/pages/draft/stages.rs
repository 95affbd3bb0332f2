//! The content of the stages' pages.

use std::path::Path;

use assay_fs::{FileKind, tree};
use assay_report::{clean, counted};
use serde_json::Value;

use super::section::{Cell, Section, form};
use crate::draft::Draft;
use crate::text::Passage;
use crate::urls;

/// Most rows of a table.
const ROWS: usize = 500;

/// Most files of a task that are shown.
const FILES: usize = 100;

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|own| own == extension)
}

fn list(value: &Value) -> String {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).collect::<Vec<_>>().join("; ")
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

pub(super) fn title(draft: &Draft) -> String {
    clean(text(&draft.json("draft.json")["skill"]))
}

/// What the draft is about, in a line.
pub(super) fn facts(draft: &Draft) -> String {
    let state = draft.json("draft.json");
    let parts = [("skill", &state["skill"]), ("model", &state["model"]), ("stage", &state["stage"])];
    let known = parts.iter().filter(|(_, value)| !text(value).is_empty());
    let shown: Vec<String> = known.map(|(name, value)| format!("{name} {}", clean(text(value)))).collect();
    if shown.is_empty() { "the folder has no draft.json".to_owned() } else { shown.join(" · ") }
}

pub(super) fn idea_names(draft: &Draft) -> Vec<String> {
    let ideas = draft.json("ideas.json");
    let ideas = ideas["ideas"].as_array().cloned().unwrap_or_default();
    ideas.iter().map(|idea| text(&idea["name"]).to_owned()).collect()
}

/// Tasks with their state and the reason, in order of name.
fn states(draft: &Draft) -> Vec<(String, &'static str, String)> {
    let accepted = draft.json("validation.json");
    let mut states: Vec<(String, &'static str, String)> = Vec::new();
    for name in draft.names("tasks") {
        let is_accepted = accepted["tasks"].get(&name).is_some();
        let (decision, comment) = draft.decision("tasks", &name);
        let decision =
            if decision.is_empty() { decision } else { format!("{decision} by a person: {comment}") };
        states.push((name, if is_accepted { "accepted" } else { "proposed" }, decision));
    }
    for (name, rejected) in object(&draft.json("infeasible.json")["tasks"]) {
        states.push((name.clone(), "infeasible", text(&rejected["reason"]).to_owned()));
    }
    for (name, result) in object(&draft.json("headroom.json")["tasks"]) {
        if result["removed"] == true {
            let reason =
                format!("passed {} of {} trials without the skill", result["passed"], result["trials"]);
            states.push((name.clone(), "too easy", reason));
        }
    }
    states.sort();
    states
}

/// The result of a stage that was not run.
const NOT_RUN: &str = "not run";

pub(super) fn overview(draft: &Draft) -> Vec<Section> {
    let states = states(draft);
    let count = |state: &str| states.iter().filter(|(_, own, _)| *own == state).count();
    let ideas = idea_names(draft).len();
    let solvers = draft.json("solvers.json");
    let solved = object(&solvers["tasks"]).filter(|(_, solved)| solved["solved"] == true).count();
    let row = |stage: &str, result: String| vec![Cell::new(stage), Cell::new(&result)];
    let mut survival = Section::new("survival", "Proposals that survive each stage");
    survival.heads = vec!["stage", "result"];
    let infeasible = count("infeasible");
    survival.rows = vec![
        row("ideas", counted(ideas, "idea", "ideas")),
        row(
            "tasks",
            counted(count("proposed") + count("accepted") + infeasible + count("too easy"), "task", "tasks"),
        ),
        row(
            "validation",
            if draft.json("validation.json").is_null() && infeasible == 0 {
                NOT_RUN.to_owned()
            } else {
                format!("{infeasible} infeasible, {} accepted", count("accepted") + count("too easy"))
            },
        ),
        row(
            "solvers",
            if solvers.is_null() { NOT_RUN.to_owned() } else { format!("{solved} solved by another model") },
        ),
        row(
            "headroom",
            if draft.json("headroom.json").is_null() {
                NOT_RUN.to_owned()
            } else {
                format!("{} too easy", count("too easy"))
            },
        ),
        row("experiment", counted(count("accepted"), "task", "tasks")),
    ];
    let mut tasks = Section::new("tasks", "Tasks");
    tasks.heads = vec!["task", "state", "reason"];
    tasks.rows = states
        .iter()
        .take(ROWS)
        .map(|(name, state, reason)| vec![task_cell(draft, name), Cell::new(state), Cell::new(reason)])
        .collect();
    let state = draft.json("draft.json");
    let mut prompts = Section::new("prompts", "Versions of the prompts");
    prompts.heads = vec!["prompt", "version"];
    prompts.rows = object(&state["prompts"])
        .map(|(name, version)| vec![Cell::new(name), Cell::new(text(version))])
        .collect();
    vec![survival, tasks, prompts]
}

pub(super) fn needs(draft: &Draft) -> Vec<Section> {
    let needs = draft.json("needs.json");
    let mut found = Section::new("needs", "What the skill requires of an environment");
    found.notes = vec![format!("Verdict: {}", clean(text(&needs["verdict"])))];
    found.heads = vec!["category", "line", "text", "signal"];
    for (category, all) in object(&needs["needs"]) {
        for need in all.as_array().into_iter().flatten().take(ROWS) {
            let file = text(&need["file"]);
            let place =
                if file.is_empty() { need["line"].to_string() } else { format!("{file}:{}", need["line"]) };
            found.rows.push(vec![
                Cell::new(category),
                Cell::new(&place),
                Cell::new(text(&need["text"])),
                Cell::new(text(&need["by"])),
            ]);
        }
    }
    let mut unmet = Section::new("unmet", "Unmet on the machine of the draft");
    unmet.heads = vec!["category", "name", "test double", "rules out"];
    unmet.rows = needs["unmet"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| {
            let rules_out = if one["rules_out"] == true { "yes" } else { "no" };
            let cells = [&one["category"], &one["name"], &one["double"]];
            let mut row: Vec<Cell> = cells.iter().map(|cell| Cell::new(text(cell))).collect();
            row.push(Cell::new(rules_out));
            row
        })
        .collect();
    if unmet.rows.is_empty() {
        unmet.notes.push("Nothing is unmet.".to_owned());
    }
    vec![found, unmet]
}

pub(super) fn ideas(draft: &Draft) -> Vec<Section> {
    let document = draft.json("ideas.json");
    let mut sections = Vec::new();
    for (at, idea) in document["ideas"].as_array().into_iter().flatten().enumerate() {
        let name = text(&idea["name"]);
        let mut section = Section::new(&format!("idea-{}", at + 1), clean(name));
        let (decision, comment) = draft.decision("ideas", name);
        if !decision.is_empty() {
            section.notes.push(format!("{decision} by a person: {}", clean(&comment)));
        }
        section.notes.push(clean(text(&idea["summary"])));
        section.heads = vec!["", ""];
        let mut row = |label: &str, value: String| {
            if !value.is_empty() {
                section.rows.push(vec![Cell::new(label), Cell { text: clean(&value), href: None }]);
            }
        };
        row("title", text(&idea["title"]).to_owned());
        row("category", text(&idea["category"]).to_owned());
        row("difficulty", text(&idea["difficulty"]).to_owned());
        row("checked by tests", list(&idea["checks"]));
        row("judged", list(&idea["judged"]));
        row("test doubles", list(&idea["doubles"]));
        row("intents", list(&idea["intents"]));
        section.heads = vec!["part", "content"];
        section.form = Some(form(draft, "ideas", name));
        sections.push(section);
    }
    if sections.is_empty() {
        let mut none = Section::new("ideas", "Ideas");
        none.notes.push("There are none yet.".to_owned());
        sections.push(none);
    }
    let mut intents = Section::new("intents", "Intents");
    let unused = document["unused"].as_array().cloned().unwrap_or_default();
    intents.heads = vec!["id", "source", "text", "not used because"];
    for intent in draft.json("intents.json")["intents"].as_array().into_iter().flatten() {
        let why = unused.iter().find(|one| one["id"] == intent["id"]);
        let cells = [&intent["id"], &intent["source"], &intent["text"]];
        let mut row: Vec<Cell> = cells.iter().map(|cell| Cell::new(text(cell))).collect();
        row.push(Cell::new(why.map_or("", |one| text(&one["reason"]))));
        intents.rows.push(row);
    }
    if !intents.rows.is_empty() {
        sections.push(intents);
    }
    sections
}

pub(super) fn tasks(draft: &Draft) -> Vec<Section> {
    let mut section = Section::new("tasks", "Task folders");
    section.heads = vec!["task", "state", "reason"];
    section.rows = states(draft)
        .iter()
        .take(ROWS)
        .map(|(name, state, reason)| vec![task_cell(draft, name), Cell::new(state), Cell::new(reason)])
        .collect();
    if section.rows.is_empty() {
        section.notes.push("There are none yet.".to_owned());
    }
    vec![section]
}

/// The folder of a task: among those that are open, rejected, or too easy.
fn folder_of(draft: &Draft, name: &str) -> Option<&'static str> {
    let folders = ["tasks", "infeasible", "too-easy"];
    folders.into_iter().find(|folder| draft.names(folder).iter().any(|own| own == name))
}

/// The name of a task, as a link if it has a folder.
fn task_cell(draft: &Draft, name: &str) -> Cell {
    match folder_of(draft, name) {
        Some(_) => Cell::link(name, format!("/draft/tasks/{}/", urls::segment(name))),
        None => Cell::new(name),
    }
}

/// A task with its files, wherever its folder is now.
pub(super) fn task(draft: &Draft, name: &str) -> Option<Vec<Section>> {
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']) {
        return None;
    }
    let folder = folder_of(draft, name)?;
    let mut files = Section::new("files", "Files");
    files.notes.push(format!("The folder is {folder}/{}.", clean(name)));
    let root = draft.root.join(folder).join(name);
    for node in tree::walk(&root).nodes.iter().filter(|node| node.kind == FileKind::File).take(FILES) {
        let path = node.path.display().to_string();
        let content = draft.text(&format!("{folder}/{name}/{path}")).unwrap_or_default();
        files.passages.push((clean(&path), Passage::new(&content)));
    }
    let mut decision = Section::new("decision", "Decision");
    let (decided, comment) = draft.decision("tasks", name);
    decision.notes.push(match decided.as_str() {
        "" => "Nobody has decided. A rejected task is removed by `assay draft run --resume`.".to_owned(),
        decided => format!("{decided} by a person: {}", clean(&comment)),
    });
    if folder == "tasks" {
        decision.form = Some(form(draft, "tasks", name));
    }
    let mut checks = Section::new("checks", "Checks");
    checks.heads = vec!["code", "message"];
    let accepted = &draft.json("validation.json")["tasks"][name];
    let rejected = &draft.json("infeasible.json")["tasks"][name];
    if !text(&rejected["reason"]).is_empty() {
        checks.notes.push(clean(text(&rejected["reason"])));
    }
    checks.rows = faults(&accepted["warnings"]).chain(faults(&rejected["faults"])).collect();
    let proposal = draft.json(&format!("proposals/{name}.json"));
    if let Some(repairs) = proposal["repairs"].as_u64() {
        let repairs = usize::try_from(repairs).unwrap_or(usize::MAX);
        checks.notes.push(format!("{} by the model", counted(repairs, "repair", "repairs")));
    }
    let mut review = Section::new("review", "Benchmark report");
    if let Some(report) = draft.text(&format!("reviews/{name}.md")) {
        review.passages.push(("reviews".to_owned(), Passage::whole(&report)));
    } else {
        review.notes.push("The stage `experiment` writes it.".to_owned());
    }
    let items = super::items::list_items(draft, folder, name);
    Some([decision].into_iter().chain(items).chain([files, checks, review]).collect())
}

fn faults(value: &Value) -> impl Iterator<Item = Vec<Cell>> {
    let faults = value.as_array().into_iter().flatten();
    faults.map(|fault| {
        vec![Cell::new(text(&fault["code"])), Cell { text: clean(text(&fault["message"])), href: None }]
    })
}

pub(super) fn validation(draft: &Draft) -> Vec<Section> {
    let section = |id: &str, title: &str, tasks: &Value, key: &str| {
        let mut section = Section::new(id, title);
        section.heads = vec!["task", "repairs", "code", "message"];
        for (name, result) in object(tasks) {
            let repairs = result["repairs"].to_string();
            let own = result[key].as_array().cloned().unwrap_or_default();
            if own.is_empty() {
                let reason = text(&result["reason"]);
                section.rows.push(vec![
                    task_cell(draft, name),
                    Cell::new(&repairs),
                    Cell::new(""),
                    Cell::new(reason),
                ]);
            }
            for fault in own {
                section.rows.push(vec![
                    task_cell(draft, name),
                    Cell::new(&repairs),
                    Cell::new(text(&fault["code"])),
                    Cell::new(text(&fault["message"])),
                ]);
            }
        }
        if section.rows.is_empty() {
            section.notes.push("None.".to_owned());
        }
        section
    };
    vec![
        section("accepted", "Accepted, with warnings", &draft.json("validation.json")["tasks"], "warnings"),
        section("rejected", "Rejected, with faults", &draft.json("infeasible.json")["tasks"], "faults"),
    ]
}

pub(super) fn solvers(draft: &Draft) -> Vec<Section> {
    let solvers = draft.json("solvers.json");
    let mut section = Section::new("solvers", "Attempts of another model");
    section.heads = vec!["task", "solved", "attempts"];
    for (name, solved) in object(&solvers["tasks"]) {
        let attempts = solved["attempts"].as_array().into_iter().flatten();
        let attempts: Vec<String> = attempts
            .map(|attempt| format!("{}: {}", text(&attempt["condition"]), text(&attempt["outcome"])))
            .collect();
        let is_solved = if solved["solved"] == true { "yes" } else { "no" };
        section.rows.push(vec![
            task_cell(draft, name),
            Cell::new(is_solved),
            Cell::new(&attempts.join(", ")),
        ]);
    }
    section.notes.push(match text(&solvers["model"]) {
        "" => "No other model has attempted the tasks: --solver names one.".to_owned(),
        model => format!("Model: {}", clean(model)),
    });
    vec![section, attempts(draft)]
}

/// The attempts of the model that is to be measured, both sides of each.
fn attempts(draft: &Draft) -> Section {
    let attempts = draft.json("attempts.json");
    let mut section = Section::new("attempts", "Attempts of the model to be measured");
    section.heads = vec!["task", "without the skill", "with the skill", "against the task"];
    for (name, versions) in object(&attempts["tasks"]) {
        for piloted in versions.as_array().into_iter().flatten() {
            let faults = piloted["faults"].as_array().into_iter().flatten();
            let faults: Vec<&str> = faults.map(|fault| text(&fault["message"])).collect();
            section.rows.push(vec![
                task_cell(draft, name),
                Cell::new(&describe_attempt(&piloted["without"])),
                Cell::new(&describe_attempt(&piloted["with"])),
                Cell::new(&faults.join("; ")),
            ]);
        }
    }
    section.notes.push(match text(&attempts["model"]) {
        "" => "The model to be measured has not attempted the tasks: --measured names it.".to_owned(),
        model => format!("Model: {}", clean(model)),
    });
    section
}

/// The outcome of an attempt, with the items that it missed.
fn describe_attempt(attempt: &Value) -> String {
    let missed: Vec<&str> =
        object(&attempt["met"]).filter(|(_, met)| **met != true).map(|(id, _)| id.as_str()).collect();
    let outcome = text(&attempt["outcome"]);
    if missed.is_empty() { outcome.to_owned() } else { format!("{outcome}, misses {}", missed.join(", ")) }
}

pub(super) fn headroom(draft: &Draft) -> Vec<Section> {
    let headroom = draft.json("headroom.json");
    let mut section = Section::new("headroom", "Pilot without the skill");
    section.heads = vec!["task", "passed", "trials", "removed"];
    for (name, result) in object(&headroom["tasks"]) {
        let removed = if result["removed"] == true { "yes" } else { "no" };
        let number = |key: &str| Cell::new(&result[key].to_string());
        section.rows.push(vec![
            task_cell(draft, name),
            number("passed"),
            number("trials"),
            Cell::new(removed),
        ]);
    }
    section.notes.push(match text(&headroom["run"]) {
        "" => "Not measured yet: `assay run pilot.toml`, then `assay draft headroom`.".to_owned(),
        run => format!("Run: {}", clean(run)),
    });
    if let Some(share) = headroom["removed_share"].as_f64() {
        section.notes.push(format!("{:.0}% of the measured tasks were removed.", 100.0 * share));
    }
    vec![section]
}

pub(super) fn experiment(draft: &Draft) -> Vec<Section> {
    let mut section = Section::new("experiment", "Experiments");
    for name in ["experiment.toml", "pilot.toml", "solver.toml", "attempts.toml"] {
        if let Some(content) = draft.text(name) {
            section.passages.push((name.to_owned(), Passage::whole(&content)));
        }
    }
    section.notes.push(if section.passages.is_empty() {
        "There are none yet.".to_owned()
    } else {
        "Set the models in the files; then `assay plan`, `assay run`.".to_owned()
    });
    vec![section]
}

/// Files of `assay draft requests` in the folder.
pub(super) fn requests(draft: &Draft) -> Vec<Section> {
    let mut sections = Vec::new();
    for name in draft.names("").iter().filter(|name| has_extension(name, "jsonl")) {
        let lines: Vec<Value> = draft.lines(name);
        let is_request =
            |line: &Value| line.get("query").is_some() || text(&line["schema"]).starts_with("assay.request");
        if lines.is_empty() || !lines.iter().all(is_request) {
            continue;
        }
        let mut section = Section::new(&format!("requests-{}", sections.len() + 1), clean(name));
        section.notes.push(counted(lines.len(), "line", "lines"));
        section.heads = vec!["request", "skills", "source", "reason"];
        for request in lines.iter().take(ROWS) {
            section.rows.push(vec![
                Cell::new(text(&request["query"])),
                Cell::new(&list(&request["gold_names"])),
                Cell::new(text(&request["source"])),
                Cell::new(text(&request["reason"])),
            ]);
        }
        sections.push(section);
    }
    if sections.is_empty() {
        let mut none = Section::new("requests", "Requests");
        none.notes
            .push("The folder has no requests: `assay draft requests --out FILE` writes them.".to_owned());
        sections.push(none);
    }
    sections
}

pub(super) fn replies(draft: &Draft) -> Vec<Section> {
    let mut section = Section::new("replies", "Requests to the model and their replies");
    section.heads = vec!["reply", "prompt", "version", "model", "tokens", "fault"];
    for name in draft.names("replies").iter().filter(|name| has_extension(name, "json")).take(ROWS) {
        let reply = draft.json(&format!("replies/{name}"));
        let tokens = ["input", "output"].map(|key| reply["usage"][key].as_u64().unwrap_or_default());
        let stem = name.trim_end_matches(".json");
        let short: String = stem.chars().take(12).collect();
        section.rows.push(vec![
            Cell::link(&short, format!("/draft/replies/{}/", urls::segment(stem))),
            Cell::new(text(&reply["prompt"])),
            Cell::new(text(&reply["version"])),
            Cell::new(text(&reply["model"])),
            Cell::new(&format!("{} read, {} written", tokens[0], tokens[1])),
            Cell::new(text(&reply["fault"])),
        ]);
    }
    if section.rows.is_empty() {
        section.notes.push("There are none yet.".to_owned());
    }
    vec![section]
}

pub(super) fn reply(draft: &Draft, name: &str) -> Option<Vec<Section>> {
    let file = format!("{name}.json");
    draft.names("replies").iter().find(|own| **own == file)?;
    let reply = draft.json(&format!("replies/{file}"));
    let mut section = Section::new("reply", format!("Prompt {}", clean(text(&reply["prompt"]))));
    for key in ["system", "request", "reply", "fault"] {
        section.passages.push((key.to_owned(), Passage::whole(text(&reply[key]))));
    }
    Some(vec![section])
}
