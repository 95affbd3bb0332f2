use serde_json::json;

use super::*;
use crate::directives::find_directives;

const SKILL: &str = "---\nname: kiln\ndescription: Fires pots.\n---\n# Kiln\n\n## Rules\n\nNever open the `lid` before it is cold.\nName the log `kiln-YYYY.log`.\n\n## Care\n\nClean the shelf every week.\n";

fn package() -> SkillPackage {
    SkillPackage::from_document(SKILL.as_bytes())
}

fn item(lines: &str, quote: &str) -> Value {
    json!({
        "file": "SKILL.md", "lines": lines, "quote": quote, "text": "It is said", "relevant_when": "always",
        "question": "What?", "answer": "this", "default": "that", "class": "convention", "known": 1,
        "seen_in": "result", "readings": [], "requires": null, "doubt": null,
    })
}

fn with(key: &str, value: Value) -> Value {
    let mut item = item("10", "Name the log");
    item[key] = value;
    item
}

fn read(directives: &[Value], dismissed: &Value) -> Result<DraftDirectives, Complaint> {
    let package = package();
    let reply = json!({"directives": directives, "dismissed": dismissed}).to_string();
    read_directives(&reply, "kiln", &package, &find_directives("kiln", &package))
}

#[test]
fn directives_of_the_model_come_in_place_of_passages() {
    let dismissed = json!([{"file": "SKILL.md", "lines": "14", "reason": "everybody does"}]);
    let list = read(&[item("10", "Name the log `kiln-YYYY.log`")], &dismissed).unwrap();
    let found: Vec<(&str, String, DirectiveSource, Option<DirectiveClass>)> = list
        .directives
        .iter()
        .map(|one| (one.id.as_str(), one.lines.to_string(), one.by, one.class))
        .collect();
    let expected = [
        ("d01", "9".to_owned(), DirectiveSource::Rules, None),
        ("d02", "10".to_owned(), DirectiveSource::Model, Some(DirectiveClass::Convention)),
    ];
    assert_eq!(found, expected);
    assert_eq!((list.dismissed.len(), list.dismissed[0].reason.as_str()), (1, "everybody does"));
    assert_eq!(list.rejected, []);
}

#[test]
fn quotes_are_on_their_lines() {
    let check = |lines: &str, quote: &str, expected: Result<&str, &str>| {
        let list = read(&[item(lines, quote), item("9", "Never open")], &json!([])).unwrap();
        let model = list.directives.iter().find(|one| one.by == DirectiveSource::Model && one.quote == quote);
        match expected {
            Ok(lines) => assert_eq!(model.unwrap().lines.to_string(), lines, "{quote}"),
            Err(reason) => {
                assert!(model.is_none(), "{quote}");
                assert!(list.rejected[0].reason.contains(reason), "{:?}", list.rejected);
            }
        }
    };
    check("10", "Name the log", Ok("10"));
    check("9-10", "it is cold. Name the log", Ok("9-10"));
    // Lines that were counted by eye, and a range beyond the end.
    check("12", "Name the log `kiln-YYYY.log`", Ok("10"));
    check("900-999", "Name the log `kiln-YYYY.log`", Ok("10"));
    check("12", "log", Err("not on the lines 12"));
    check("10", "Name the book", Err("not on the lines 10"));
    check("10", " ", Err("no words"));
    check("3", "Fires pots", Err("front matter"));
}

#[test]
fn items_that_cannot_be_used_are_rejected_with_a_reason() {
    let check = |item: Value, reason: &str| {
        let list = read(&[item, super::tests::item("9", "Never open")], &json!([])).unwrap();
        assert!(list.rejected.len() == 1 && list.rejected[0].reason.contains(reason), "{:?}", list.rejected);
    };
    check(with("file", json!("other.md")), "no document other.md");
    check(with("class", json!("maybe")), "unknown variant `maybe`");
    check(with("known", json!(11)), "`known` is 11");
    check(with("known", json!("few")), "invalid type");
    check(with("lines", json!("10 to 12")), "names no lines");
    check(with("text", json!(" ")), "no `text`");
    check(item("9", "Never open"), "another directive has this quote");
    check(json!(7), "invalid type");
}

#[test]
fn what_an_agent_does_anyway_is_a_reminder() {
    let check = |item: Value, expected: DirectiveClass| {
        let list = read(&[item], &json!([])).unwrap();
        let found = list.directives.iter().find(|one| one.by == DirectiveSource::Model).unwrap();
        assert_eq!(found.class, Some(expected), "{found:?}");
    };
    check(with("default", json!("that")), DirectiveClass::Convention);
    check(with("default", json!(" This ")), DirectiveClass::Reminder);
    check(with("default", Value::Null), DirectiveClass::Reminder);
    check(with("answer", json!("")), DirectiveClass::Reminder);
    let mut stops = with("class", json!("stops"));
    stops["default"] = Value::Null;
    check(stops, DirectiveClass::Stops);
}

#[test]
fn a_reply_without_anything_usable_is_refused() {
    for reply in ["", "none", "[]", "{}", "{\"directives\": 1}"] {
        let package = package();
        read_directives(reply, "kiln", &package, &find_directives("kiln", &package)).unwrap_err();
    }
    let error = read(&[with("known", json!(99))], &json!([])).unwrap_err();
    assert!(error.to_string().contains("none of the 1 directives can be used"), "{error}");
    // That there is none is an answer.
    let list = read(&[], &json!([{"file": "SKILL.md", "lines": "1-99", "reason": "filler"}])).unwrap();
    assert_eq!((list.directives.len(), list.dismissed.len()), (0, 3));
}

#[test]
fn there_is_a_limit() {
    let text: String = (0..MOST_LISTED + 2).map(|at| format!("Fire pot {at}.\n")).collect();
    let package = SkillPackage::from_document(text.as_bytes());
    let items: Vec<Value> =
        (0..MOST_LISTED + 2).map(|at| item(&(at + 1).to_string(), &format!("Fire pot {at}."))).collect();
    let reply = json!({"directives": items}).to_string();
    let found = find_directives("kiln", &package);
    let list = read_directives(&reply, "kiln", &package, &found).unwrap();
    let listed = list.directives.iter().filter(|one| one.by == DirectiveSource::Model).count();
    assert_eq!((listed, list.rejected.len()), (MOST_LISTED, 2));
}
