//! A skill with rules that nobody can know, a task that tests them, and scripts that do the work.

use serde_json::{Value, json};

/// The text of the skill below its front matter, whose first line is line 6 of the document.
pub(crate) const BODY: &str = "\
# Ledger export

Amounts in the export are always in minor units of the currency.

- Name the file `close-ledger.txt`.
- Begin with the line `LEDGER/4`.
- Shops with takings below 40 get the mark `dormant`.
- List shops by takings, smallest first.
- End with the line `-- filed --`.
- State the total.";

/// A line of the skill with more than six words.
pub(crate) const RULE: &str = "Amounts in the export are always in minor units of the currency.";

/// Ids, lines, quoted words, classes, and how many of ten know it.
const DIRECTIVES: [(&str, usize, &str, &str, u8); 6] = [
    ("d01", 10, "Name the file `close-ledger.txt`.", "convention", 1),
    ("d02", 11, "Begin with the line `LEDGER/4`.", "knowledge", 0),
    ("d03", 12, "Shops with takings below 40 get the mark `dormant`.", "knowledge", 0),
    ("d04", 13, "List shops by takings, smallest first.", "convention", 3),
    ("d05", 14, "End with the line `-- filed --`.", "convention", 0),
    ("d06", 15, "State the total.", "reminder", 9),
];

/// `directives.json` of a draft.
pub(crate) fn directives() -> Value {
    let directives = DIRECTIVES.map(|(id, line, quote, class, known)| {
        json!({
            "id": id, "skill": "ledger-export", "file": "SKILL.md", "lines": line.to_string(), "quote": quote,
            "text": quote, "answer": format!("as {id} says"), "default": "something plain", "class": class,
            "known": known, "seen_in": "result", "by": "model",
        })
    });
    json!({"schema": "assay.draft-directives/1", "files": [], "directives": directives})
}

/// An idea that tests all of them.
pub(crate) fn idea(name: &str) -> Value {
    let chosen = DIRECTIVES.map(|(id, ..)| json!({"id": id, "trigger": "the shop West has takings of 12"}));
    json!({
        "name": name, "title": name, "category": "tables", "kind": "produce", "goal": "the total is stated",
        "summary": "Takings of shops are given, and a report is wanted.", "directives": chosen,
    })
}

pub(crate) const SALES: &str = "shop,takings\nNorth,1250\nSouth,980\nWest,12\n";

/// A check for each item. Results are looked for in any text file.
pub(crate) const CHECK: &str = r#"import glob
from sets import check


def lines():
    return [line.rstrip("\n") for path in sorted(glob.glob("*.txt")) for line in open(path)]


def shops():
    rows = [line.split() for line in lines() if line.split()]
    return [row for row in rows if row[0] in ("North", "South", "West")]


@check("gc-total")
def gc_total():
    numbers = [word for line in lines() for word in line.split() if word.isdigit()]
    assert "2242" in numbers, "the total is 2242"


@check("gc-shops")
def gc_shops():
    assert len(shops()) == 3, "all shops are listed"


@check("d01")
def if_d01():
    assert glob.glob("close-ledger.txt"), "the file is close-ledger.txt"


@check("d02")
def if_d02():
    assert lines()[0] == "LEDGER/4", "the first line is LEDGER/4"


@check("d03")
def if_d03():
    assert [row[0] for row in shops() if "dormant" in row] == ["West"], "West is dormant"


@check("d04")
def if_d04():
    assert [row[0] for row in shops()] == ["West", "South", "North"], "smallest first"


@check("d05")
def if_d05():
    assert lines()[-1] == "-- filed --", "the last line is -- filed --"


@check("d06")
def if_d06():
    assert any("total" in line.lower() for line in lines()), "the total is named"
"#;

/// Follows the skill.
pub(crate) const SOLVE: &str = r#"#!/bin/bash
name=close-ledger.txt
{
    echo "LEDGER/4"
    awk -F, 'NR > 1 { print $1, $2 ($2 < 40 ? " dormant" : "") }' sales.csv | sort -k2,2n
    echo "total $(awk -F, 'NR > 1 { sum += $2 } END { print sum }' sales.csv)"
    echo "-- filed --"
} > "$name"
"#;

/// Does the work as somebody who knows nothing of the skill.
pub(crate) const BLIND: &str = r#"#!/bin/bash
{
    echo "Takings by shop"
    awk -F, 'NR > 1 { print $1, $2 }' sales.csv | sort
    echo "Total: $(awk -F, 'NR > 1 { sum += $2 } END { print sum }' sales.csv)"
} > report.txt
"#;

/// The items of the task, as a model replies with them.
pub(crate) fn items() -> Value {
    let item = |id: &str, marks: &[&str], find: &str, replace: &str| {
        json!({
            "set": "if", "id": id, "text": format!("what {id} demands"), "marks": marks,
            "mutant": [{"find": find, "replace": replace}],
        })
    };
    json!([
        {"set": "gc", "id": "gc-total", "text": "the total of all shops is stated"},
        {"set": "gc", "id": "gc-shops", "text": "each shop is listed"},
        item("d01", &["close-ledger.txt"], "name=close-ledger.txt", "name=report.txt"),
        item("d02", &["LEDGER/4"], "echo \"LEDGER/4\"", "true"),
        item("d03", &["dormant"], "\" dormant\"", "\"\""),
        item("d04", &[], "sort -k2,2n", "sort -k1,1"),
        item("d05", &["-- filed --"], "echo \"-- filed --\"", "true"),
        {"set": "if", "id": "d06", "text": "the total is named"},
    ])
}

pub(crate) fn file(path: &str, text: &str) -> Value {
    json!({"path": path, "lines": text.lines().collect::<Vec<_>>()})
}

/// The reply with the files of a task.
pub(crate) fn files(instruction: &str, solution: &str) -> Value {
    let files = [
        file("instruction.md", instruction),
        file("environment/files/sales.csv", SALES),
        file("tests/check.py", CHECK),
        file("solution/solve.sh", solution),
    ];
    json!({"files": files, "items": items(), "rubric": []})
}

/// A reply that does the work.
pub(crate) fn script(text: &str) -> String {
    json!({"script": text.lines().collect::<Vec<_>>()}).to_string()
}
