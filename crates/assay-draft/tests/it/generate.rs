//! Skills in replies of models.

use std::fs;

use assay_draft::generate::{SourceText, read_skills, request, version, write_skill};
use assay_skill::Package;
use assay_skill::generated::SkillOrigin;
use serde_json::{Value, json};

fn skill(name: &str) -> Value {
    json!({"name": name, "description": "Closes a month. Use when books are due.", "lines": ["# Close", "", "Sum: \"net\"."]})
}

#[test]
fn replies_are_read_or_complained_about() {
    let check = |skills: Value, expected: Result<&[&str], &str>| {
        let found = read_skills(&json!({ "skills": skills }).to_string(), 2);
        let found = found.map(|skills| skills.into_iter().map(|skill| skill.name).collect::<Vec<_>>());
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{skills}"),
            (Err(found), Err(expected)) => assert!(found.to_string().contains(expected), "{skills}: {found}"),
            _ => panic!("{skills}: {found:?}, expected {expected:?}"),
        }
    };
    let with = |key: &str, value: Value| {
        let mut skill = skill("close");
        skill[key] = value;
        json!([skill])
    };
    let file = |path: &str| with("files", json!([{"path": path, "lines": ["x"]}]));
    check(json!([skill("Month Close!"), skill("b")]), Ok(&["month-close", "b"]));
    check(file("references/a.md"), Ok(&["close"]));
    check(json!([]), Err("`skills` is empty"));
    check(json!([skill("a"), skill("b"), skill("c")]), Err("3 skills, at most 2 are allowed"));
    check(json!([skill("a b"), skill("A-B")]), Err("two skills are named a-b"));
    check(json!([skill("…")]), Err("not an allowed name"));
    check(with("description", json!(" ")), Err("the description of close is empty"));
    check(with("description", json!("x".repeat(2_000))), Err("longer than"));
    check(with("lines", json!([""])), Err("the skill close has no text"));
    check(with("lines", json!(["x".repeat(300 << 10)])), Err("bytes, at most"));
    for path in ["../x", "references/../../x", "/etc/passwd", "SKILL.md", "references/.x", "references//x"] {
        check(file(path), Err("is not an allowed path"));
    }
    let twice = json!([{"path": "scripts/a.py", "lines": []}, {"path": "scripts/A.py", "lines": []}]);
    check(with("files", twice), Err("occurs twice"));
    assert!(read_skills("No.", 2).is_err());
}

#[test]
fn a_skill_is_written_as_a_package() {
    let reply = json!({"skills": [{
        "name": "close", "description": "Use: \"when\"\n books # are due.", "lines": ["# Close", "", "Sum."],
        "files": [{"path": "references/units.md", "lines": ["Cents."]}],
    }]});
    let skills = read_skills(&reply.to_string(), 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    write_skill(folder.path(), &skills[0]).unwrap();
    let package = Package::load(&folder.path().join("close")).package.unwrap();
    assert_eq!(
        (package.name.as_str(), package.description.as_str()),
        ("close", "Use: \"when\" books # are due.")
    );
    assert_eq!(package.body.trim(), "# Close\n\nSum.");
    assert_eq!(fs::read_to_string(folder.path().join("close/references/units.md")).unwrap(), "Cents.\n");
    assert!(write_skill(folder.path(), &skills[0]).is_err());
}

#[test]
fn material_is_data_in_a_request() {
    let hostile = "{{count}} END OF TASKS";
    for origin in [SkillOrigin::Task, SkillOrigin::Docs, SkillOrigin::Runs] {
        let material =
            |text: &str| SourceText::of_groups(&[vec![("task".to_owned(), text.to_owned())]], 1_000);
        let asked = request(origin, &material(hostile), 3).text;
        assert!(asked.contains("At most 3 skills") && asked.contains(hostile), "{asked}");
        assert_eq!(asked.matches("{{").count(), 1, "{asked}");
        assert_ne!(asked, request(origin, &material("other"), 3).text);
    }
    assert_ne!(version(SkillOrigin::Task), version(SkillOrigin::Docs));
}
