use std::io::Cursor;
use std::path::Path;

use serde_json::{Value, json};

use super::*;

fn input(records: &[Value]) -> Input {
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    Input::of(Path::new("x"), Box::new(Cursor::new(text.into_bytes()))).unwrap()
}

/// A record that every stage lets through; `change` overwrites its fields.
#[expect(clippy::needless_pass_by_value, reason = "cases read best with what changes written in place")]
fn record(id: &str, change: Value) -> Value {
    let mut record = json!({
        "id": id, "repo": "o/r", "path": format!("skills/{id}/SKILL.md"), "name": id, "license": "MIT",
        "description": format!("What {id} is for, at some length."),
        "skill_md": format!("---\nname: {id}\n---\n# {id}\n\nDo what {id} says.\n"),
    });
    record.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    record
}

/// The ledger as `id stage reason survivor`.
fn ledger(records: &[Value], rules: &Rules, order: Order) -> Vec<String> {
    let outcome = run(&mut input(records), rules, order, &mut |bad| panic!("{bad:?}")).unwrap();
    assert_eq!(outcome.kept() + outcome.ledger().count(), records.len());
    let line = |entry: Entry<'_>| {
        format!("{} {} {} {}", entry.id, entry.filter_stage, entry.reason, entry.survivor.unwrap_or("-"))
    };
    outcome.ledger().map(line).collect()
}

#[track_caller]
fn check(records: &[Value], expected: &[&str]) {
    assert_eq!(ledger(records, &Rules::default(), Order::Paper), expected);
}

#[test]
fn each_stage_removes_its_own_records() {
    let same = json!({ "skill_md": "---\nname: b\n---\nSAME body!" });
    check(&[record("a", json!({}))], &[]);
    check(
        &[record("a", json!({ "description": " short ", "skill_md": "test" }))],
        &["a description no-description -"],
    );
    check(
        &[record("a", json!({ "description": "", "skill_md": "# T\n\nA paragraph that says it.\n" }))],
        &[],
    );
    check(
        &[record("a", json!({ "description": null, "skill_md": "---\nsummary: Says it all.\n---\n" }))],
        &[],
    );
    check(
        &[record(
            "a",
            json!({ "description": null, "skill_md": "---\ndescription: Never closed at all.\n" }),
        )],
        &["a description no-description -"],
    );
    check(&[record("a", json!({ "skill_md": "технический текст" }))], &["a language not-english -"]);
    // 3 of 100 characters is not more than 3 %.
    check(&[record("a", json!({ "skill_md": "я".repeat(3) + &"x".repeat(97) }))], &[]);
    check(
        &[record("a", json!({ "skill_md": "я".repeat(4) + &"x".repeat(96) }))],
        &["a language not-english -"],
    );
    check(&[record("a", json!({ "skill_md": "é".repeat(100) }))], &[]);
    check(&[record("a", json!({ "license": null }))], &["a license undeclared -"]);
    check(&[record("a", json!({ "license": "CC" }))], &["a license other-license -"]);
    check(
        &[record("a", same.clone()), record("b", json!({ "skill_md": "same, BODY" }))],
        &["b content same-content a"],
    );
    check(
        &[
            record("a", json!({ "name": "It!", "description": "Does one thing." })),
            record("b", json!({ "name": "it", "description": "does: one thing" })),
        ],
        &["b name-description same-name-and-description a"],
    );
    // `ab` + `c…` and `a` + `bc…` are different labels.
    check(
        &[
            record("a", json!({ "name": "ab", "description": "c and so on" })),
            record("b", json!({ "name": "a", "description": "bc and so on" })),
        ],
        &[],
    );
}

#[test]
fn copies_of_differently_licensed_content_are_removed() {
    let plain = json!({ "skill_md": "The body." });
    let gpl = json!({ "skill_md": "---\nlicense: GPL-3.0\n---\nThe body.", "license": "Other:GPL-3.0" });
    let by_file = json!({ "skill_md": "The body.", "license": "GPL" });
    let own = json!({ "skill_md": "---\nlicense: MIT\n---\nThe body." });
    check(
        &[record("a", plain.clone()), record("b", gpl.clone())],
        &["a license copy-of-other-license b", "b license other-license -"],
    );
    check(&[record("a", plain), record("b", by_file)], &["b license other-license -"]);
    check(&[record("a", own), record("b", gpl)], &["b license other-license -"]);
}

#[test]
fn copy_nearest_to_the_source_survives() {
    let copy = |id: &str, change: Value| {
        let mut change = change;
        change["skill_md"] = json!("The same.");
        record(id, change)
    };
    let aggregator = copy("a", json!({ "repo": "openclaw/skills", "path": "SKILL.md" }));
    let mirror = copy("b", json!({ "via": "someone/mirror", "path": "b/SKILL.md" }));
    let long = copy("c", json!({ "path": "a/longer/path/SKILL.md" }));
    let short = copy("d", json!({ "path": "short/SKILL.md" }));
    let survivor = |records: &[Value], rules: &Rules| {
        let outcome = run(&mut input(records), rules, Order::Paper, &mut |_| {}).unwrap();
        let mut survivors: Vec<_> =
            outcome.ledger().map(|entry| entry.survivor.unwrap().to_owned()).collect();
        survivors.dedup();
        assert_eq!(survivors.len(), 1);
        survivors.remove(0)
    };
    let rules = Rules::default();
    assert_eq!(survivor(&[aggregator.clone(), mirror.clone()], &rules), "b");
    assert_eq!(survivor(&[mirror.clone(), long.clone()], &rules), "c");
    assert_eq!(survivor(&[long.clone(), short.clone(), aggregator.clone()], &rules), "d");
    assert_eq!(survivor(&[short.clone(), copy("e", json!({ "path": "other/SKILL.md" }))], &rules), "d");
    let gold = Rules::Corpus { gold: ["a".to_owned()].into(), foreign_allowed: Vec::new() };
    assert_eq!(survivor(&[mirror, long, short, aggregator], &gold), "a");
    let starred =
        |id: &str, stars: u64, installs: u64| copy(id, json!({ "stars": stars, "installs": installs }));
    assert_eq!(
        survivor(&[starred("a", 3, 0), starred("b", 5, 1), starred("c", 5, 2)], &Rules::SkillRet),
        "c"
    );
}

#[test]
fn published_order_and_rules_differ() {
    let records = [
        record("a", json!({ "skill_md": "---\nlicense: MIT\n---\nSame.", "license": null, "stars": 1 })),
        record("b", json!({ "skill_md": "Same.", "license": null })),
        record("c", json!({ "skill_md": "---\nlicense: BSD\n---\nC." })),
        record("d", json!({ "skill_md": "ελληνικά γράμματα" })),
        record("e", json!({ "skill_md": "---\ndescription: кириллица и ещё\n---\nEnglish." })),
        record("f", json!({ "description": "", "skill_md": "# A heading, long enough\n\nText." })),
    ];
    assert_eq!(
        ledger(&records, &Rules::SkillRet, Order::Code),
        ["b content same-content a", "c license other-license -", "e language not-english -"]
    );
    // With the corpus's rules in the order of the SkillRet paper, the copies are removed before
    // they are compared.
    assert_eq!(
        ledger(&records[..2], &Rules::default(), Order::Paper),
        ["a license undeclared -", "b license undeclared -"]
    );
    assert_eq!(
        ledger(&records[..2], &Rules::default(), Order::Code),
        ["a license undeclared -", "b content same-content a"]
    );
}

#[test]
fn counts_add_up_and_invalid_lines_are_reported() {
    let text = format!("{}\nbad\n{}\n", record("a", json!({})), record("b", json!({ "license": null })));
    let mut input = Input::of(Path::new("x"), Box::new(Cursor::new(text.into_bytes()))).unwrap();
    let mut invalid = Vec::new();
    let outcome =
        run(&mut input, &Rules::default(), Order::Paper, &mut |bad| invalid.push(bad.line)).unwrap();
    assert_eq!((invalid, outcome.records, outcome.bad_lines, outcome.kept()), (vec![2], 2, 1, 1));
    let left: Vec<_> = outcome.stages.iter().map(|stage| (stage.removed, stage.left)).collect();
    assert_eq!(left, [(0, 2), (0, 2), (1, 1), (0, 1), (0, 1)]);
    let mut lines = Vec::new();
    outcome.write_ledger(&mut lines).unwrap();
    let expected = "{\"id\":\"b\",\"stage\":\"license\",\"reason\":\"undeclared\",\"survivor\":null}\n";
    assert_eq!(String::from_utf8(lines).unwrap(), expected);
}
