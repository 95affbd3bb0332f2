//! The section on two sets of checks, in every format.

use assay_analysis::Report;
use assay_report::{Links, Style, Target, find_renderer, run_html};
use assay_store::Record;
use assay_usage::Usage;
use serde_json::{Value, json};

use crate::html::well_formed;
use crate::runs::HOSTILE;
use crate::suite::{Rows, Suite};

const TASKS: Rows<'static> = &[
    ("feedback-notes", &["FF", "PP"]),
    ("eval-report", &["FF", "PP"]),
    ("sku-review", &["FF", "PP"]),
    ("segment-tool", &["FF", "PP"]),
    ("rules", &["PF", "PP"]),
    ("review", &["FF", "FF"]),
];

fn test(name: &str, passed: bool, message: &str, extra: Value) -> Value {
    let status = if passed { "passed" } else { "failed" };
    let mut test = json!({ "name": name, "status": status, "message": if passed { "" } else { message } });
    test["extra"] = extra;
    test
}

fn item(id: &str, class: &str, line: usize, canary: bool) -> Value {
    json!({ "set": "if", "item": id, "class": class, "file": "SKILL.md", "line": line, "answer": "evals", "canary": canary })
}

/// A canary that the baseline gives once, knowledge, convention, a reminder, and a goal that one trial with the skill misses.
fn report_checks(record: &mut Record) {
    let has_skill = record.condition == "curated";
    let knows = has_skill && record.task != "review";
    let remembers = record.task == "rules" && record.repetition == 1;
    let loses = has_skill && record.task == "review" && record.repetition == 2;
    record.ctrf = Some(json!({ "tests": [
        test("category", knows || remembers, "found: bugs", item("d7", "knowledge", 41, true)),
        test("limit of 20%", knows, HOSTILE, item("d2", "knowledge", 12, false)),
        test("name of the file", has_skill, "no file notes.md", item("d3", "convention", 7, false)),
        test("dates are ISO", true, "", item("d4", "reminder", 9, false)),
        test("all rows", !loses, "2 rows are missing", json!({ "set": "gc" })),
    ] }));
    let scale = if has_skill { 2 } else { 1 };
    record.usage = Some(Usage { input: 1_000 * scale, output: 100, ..Usage::default() });
    record.cost_usd = has_skill.then_some(0.02);
}

fn report() -> Report {
    let suite = Suite::new(&["none", "curated"], TASKS).each(report_checks);
    suite.plan(|run| run.selected_by = vec!["openai:one".to_owned(), "other:two".to_owned()]).report()
}

/// What is between two lines that begin with these words.
fn part(text: &str, from: &str, to: &str) -> String {
    let lines = text.lines().skip_while(|line| !line.contains(from));
    let mut kept: Vec<&str> = lines.take_while(|line| !line.contains(to)).collect();
    while kept.last().is_some_and(|line| line.is_empty()) {
        kept.pop();
    }
    assert!(!kept.is_empty(), "no {from:?} before {to:?} in {text}");
    kept.join("\n")
}

const TITLE: &str = "Instruction following and goal completion";

#[test]
fn a_terminal_shows_the_verdicts_on_items_and_their_figures() {
    let terminal = find_renderer("terminal").unwrap();
    let style = Style { width: Some(120), ..Style::default() };
    let text = terminal.render(&report(), style);
    insta::assert_snapshot!(part(&text, TITLE, "Results by task"));
    // What each check said is shown on request.
    assert!(!text.contains("2 rows are missing"));
    let details = terminal.render(&report(), Style { details: true, ..style });
    for detail in ["2 rows are missing", "found: bugs", "SKILL.md:41", "knowledge, canary"] {
        assert!(details.contains(detail), "{detail} in {details}");
    }
}

#[test]
fn markdown_has_all_of_it() {
    let text = find_renderer("markdown").unwrap().render(&report(), Style::default());
    insta::assert_snapshot!(part(&text, TITLE, "## Results by task"));
}

#[test]
fn the_estimand_and_the_canaries_are_said_beside_the_verdicts() {
    for format in ["terminal", "markdown", "html"] {
        let text =
            find_renderer(format).unwrap().render(&report(), Style { width: Some(400), ..Style::default() });
        let text = text.replace("\n  ", " ");
        for sentence in [
            "the lift on tasks and items that openai:one and other:two failed without the skill",
            "knows 1 of 1 canary (answers that nobody can guess): this model, or this sandbox, is not blind to this skill",
            "Goal completion is lower under",
        ] {
            assert!(text.contains(sentence), "{format}: {sentence} in {text}");
        }
    }
    let json: Value =
        serde_json::from_str(&find_renderer("json").unwrap().render(&report(), Style::default())).unwrap();
    assert_eq!(json["selected_by"], json!(["openai:one", "other:two"]));
    assert_eq!(json["item_sets"]["canaries"][0]["known"], 1);
    assert_eq!(json["item_sets"]["scores"][0]["class"], "knowledge");
    assert_eq!(json["item_sets"]["figures"][0]["measures"][0]["measure"], "if-knowledge");
}

#[test]
fn pages_link_each_side_of_an_item_to_its_trial() {
    struct Ids;
    impl Links for Ids {
        fn href(&self, target: &Target) -> Option<String> {
            match target {
                Target::Trial { trial, check } => {
                    Some(format!("/{}#{}", trial.short(), check.as_deref().unwrap_or_default()))
                }
                _ => None,
            }
        }
    }
    let report = report();
    let html = run_html(&report, &Ids);
    let items = &report.item_sets.as_ref().unwrap().items;
    let shown = items.iter().find(|item| item.task == "review" && item.check == "all rows").unwrap();
    for side in [&shown.without, &shown.with] {
        let link = format!("<a href=\"/{}#all rows\">", side.trial.as_ref().unwrap().short());
        assert!(html.contains(&link), "{link}");
    }
    // The list of contents has the title, too.
    let section = html.splitn(3, TITLE).nth(2).unwrap().split("</section>").next().unwrap();
    for shown in
        ["IF, knowledge", "GC (guard)", "tokens out", "found: bugs", "knowledge, canary", "SKILL.md:41"]
    {
        assert!(section.contains(shown), "{shown} in {section}");
    }
    assert!(!html.contains("<script"), "{html}");
    well_formed("items", &find_renderer("html").unwrap().render(&report, Style::default()));
}

#[test]
fn a_report_without_labels_has_no_such_section() {
    let report = Suite::new(&["none", "curated"], TASKS).report();
    for format in ["terminal", "markdown", "html", "json"] {
        let text =
            find_renderer(format).unwrap().render(&report, Style { details: true, ..Style::default() });
        assert!(!text.contains(TITLE) && !text.contains("item_sets"), "{format}: {text}");
    }
}
