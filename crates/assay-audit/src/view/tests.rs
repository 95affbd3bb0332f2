use assay_trace::Trajectory;
use serde_json::{Value, json};

use super::passage::{TARGET_CAP, TEXT_CAP};
use super::*;
use crate::adherence::TestCheck;

const SKILL: &str = "---\nname: ledger\ndescription: Ledger exports.\n---\n# Ledger\n\n\
    Write the code `RH-7731` above the totals.\n\
    Write the code `SG-4482` below the totals.\n";

fn run(steps: &[Value]) -> Run {
    let numbered = steps.iter().enumerate().map(|(at, step)| {
        let mut step = step.clone();
        step["step_id"] = json!(at + 1);
        step
    });
    let document = json!({"schema_version": "ATIF-v1.7", "agent": {"name": "t", "version": "1"}, "steps": numbered.collect::<Vec<_>>()});
    let trajectory: Trajectory = serde_json::from_value(document).unwrap();
    Run::new("t", "a", false, trajectory, 7)
}

fn prompt_step(text: &str) -> Value {
    json!({"source": "user", "message": text})
}

fn does(said: &str, tool: &str, arguments: &Value, result: &str) -> Value {
    json!({
        "source": "agent", "message": said,
        "tool_calls": [{"tool_call_id": "c", "function_name": tool, "arguments": arguments}],
        "observation": {"results": [{"source_call_id": "c", "content": result}]},
    })
}

fn seen() -> View {
    let with = run(&[
        prompt_step("Export the ledger."),
        does("", "Write", &json!({"file_path": "plan.md", "content": "plan: RH-7731"}), "ok"),
        does("First the skill.", "Read", &json!({"file_path": "/s/skills/ledger/SKILL.md"}), SKILL),
        does("", "Write", &json!({"file_path": "out.md", "content": "x\ncode SG-4482"}), "ok"),
        does("", "Bash", &json!({"command": "make test"}), "Exit code 2"),
        json!({"source": "agent", "message": "Done."}),
    ]);
    let without = run(&[
        prompt_step("Export the ledger."),
        does(
            "",
            "Write",
            &json!({"file_path": "out.md", "content": "nothing of the kind stands here"}),
            "ok",
        ),
        does("", "Bash", &json!({"command": "make test"}), "fine"),
        does("", "Bash", &json!({"command": "rm x"}), ""),
        json!({"source": "agent", "message": "Done."}),
    ]);
    view("ledger", "ledger", "Export the ledger.", &SkillText::parse(SKILL.as_bytes()), with, without)
}

#[test]
fn steps_stand_beside_their_like() {
    let view = seen();
    let row = |row: &Aligned| {
        let cell = |cell: &Option<Cell>| {
            cell.as_ref()
                .map_or_else(String::new, |cell| format!("{} {} {}", cell.step, cell.act, cell.target))
        };
        (row.kind.sign(), cell(&row.with), cell(&row.without), row.differs.join(" "))
    };
    let found: Vec<_> = view.rows.iter().map(row).collect();
    let of = |sign, with: &str, without: &str, differs: &str| {
        (sign, with.to_owned(), without.to_owned(), differs.to_owned())
    };
    assert_eq!(
        found,
        [
            of('=', "1 prompt ", "1 prompt ", ""),
            of('+', "2 write plan.md", "", ""),
            of('+', "3 read /s/skills/ledger/SKILL.md", "", ""),
            of('=', "4 write out.md", "2 write out.md", "content"),
            of('=', "5 run make test", "3 run make test", "outcome"),
            of('−', "", "4 write rm x", ""),
            of('=', "6 message ", "5 message ", ""),
        ]
    );
    assert_eq!(
        view.counts,
        BTreeMap::from([("only_with", 2), ("only_without", 1), ("other_target", 0), ("shared", 4)])
    );
}

#[test]
fn evidence_stands_at_its_step_and_says_when() {
    let view = seen();
    assert_eq!((view.with.opened_at, view.without.opened_at), (Some(3), None));
    let cells: Vec<&Cell> = view.rows.iter().filter_map(|row| row.with.as_ref()).collect();
    let opened: Vec<usize> = cells.iter().filter(|cell| cell.opened).map(|cell| cell.step).collect();
    assert_eq!(opened, [3]);
    let evidence: Vec<_> = cells
        .iter()
        .flat_map(|cell| cell.evidence.iter().map(|e| (cell.step, e.skill_line, e.manner, e.when)))
        .collect();
    assert_eq!(evidence, [(2, 7, "wrote", OpeningOrder::Before), (4, 8, "wrote", OpeningOrder::After)]);
    let places: Vec<_> = view.skill.lines.iter().map(|line| (line.line, line.places.len())).collect();
    assert_eq!(places, [(5, 0), (6, 0), (7, 1), (8, 1)]);
    let rows: Vec<_> = view
        .directives
        .iter()
        .map(|row| (row.line, row.subject.as_str(), row.with.status, row.without.status))
        .collect();
    let expected = [
        (7, "RH-7731", Status::Followed, Status::Unknown),
        (8, "SG-4482", Status::Followed, Status::Unknown),
    ];
    assert_eq!(rows, expected);
    assert!(view.directives.iter().all(|row| row.delivered.is_some()));
    assert_eq!(view.skill.lines[3].places[0].text, "code SG-4482");
}

#[test]
fn changed_checks_come_first() {
    let check = |name: &str, passed: Option<bool>, message: &str| TestCheck {
        name: name.to_owned(),
        passed,
        message: message.to_owned(),
    };
    let mut with = run(&[does("", "Write", &json!({"file_path": "a", "content": "SG-4482"}), "")]);
    with.checks = vec![
        check("same", Some(true), ""),
        check("broken", Some(false), "late"),
        check("code", Some(true), ""),
    ];
    with.outcome = Some("failed".to_owned());
    let mut without = run(&[]);
    without.checks = vec![
        check("same", Some(true), ""),
        check("broken", Some(true), ""),
        check("code", Some(false), "no SG-4482"),
        check("other", None, ""),
    ];
    let view = view("t", "ledger", "", &SkillText::parse(SKILL.as_bytes()), with, without);
    let rows: Vec<_> =
        view.checks.iter().map(|row| (row.check.as_str(), row.change, row.message.as_str())).collect();
    let expected = [
        ("broken", Some(Change::Lost), "late"),
        ("code", Some(Change::Gained), "no SG-4482"),
        ("same", None, ""),
        ("other", None, ""),
    ];
    assert_eq!(rows, expected);
    let code = view.directives.iter().find(|row| row.line == 8).unwrap();
    assert_eq!(code.checks.iter().map(|check| check.check.as_str()).collect::<Vec<_>>(), ["code"]);
    assert_eq!((view.with.outcome.as_deref(), view.without.outcome.as_deref()), (Some("failed"), None));
}

#[test]
fn what_was_not_read_is_said_to_be_unread() {
    let copied = "SG-4482";
    let with = run(&[does("", "Write", &json!({"file_path": "a", "content": copied}), "")]);
    let view = view("ledger", "ledger", "", &SkillText::parse(SKILL.as_bytes()), with, run(&[]));
    let cell = view.rows[0].with.as_ref().unwrap();
    assert_eq!((cell.evidence[0].when, cell.opened), (OpeningOrder::Unread, false));
    assert_eq!(view.rows.len(), 1);
}

#[test]
fn what_is_long_is_cut_and_counted() {
    let long = "é".repeat(TEXT_CAP + 5);
    let with = run(&[does(&long, "Other", &json!({"skill": long, "n": 3, "none": null}), &long)]);
    let view = view("x", "x", "", &SkillText::parse(b"x"), with, run(&[]));
    let cell = view.rows[0].with.as_ref().unwrap();
    assert_eq!((cell.said.more, cell.output.more), (5, 5));
    assert_eq!(
        cell.input.iter().map(|(name, p)| (name.as_str(), p.more)).collect::<Vec<_>>(),
        [("skill", 5), ("n", 0)]
    );
    assert!(cell.target.chars().count() <= TARGET_CAP + 1 && cell.act == "call");
}
