//! Every verdict of a validator on a vector is also given here, under the profile named for it.

use std::fs;
use std::path::Path;

use assay_lint::client::{AGENTS, CLIENTS};
use assay_lint::{Client, LintedSkill, Options, Severity, lint};
use serde_json::Value;

use assay_test::shared;

/// Writes a vector's package and lints it.
fn lint_vector(vector: &Value, temp: &Path) -> LintedSkill {
    let text = |key: &str| vector[key].as_str().expect("a text");
    let root = temp.join(text("id")).join(text("dir"));
    fs::create_dir_all(&root).expect("created");
    // Without content there is no file.
    if let Some(content) = vector["content"].as_str() {
        let bytes = if vector["encoding"] == "latin-1" {
            content.chars().map(|c| u8::try_from(u32::from(c)).expect("Latin-1")).collect()
        } else {
            content.as_bytes().to_vec()
        };
        fs::write(root.join(text("file")), bytes).expect("written");
    }
    let mut outcome = lint(&[root], &Options::default());
    assert_eq!((outcome.skills.len(), &outcome.diagnostics[..]), (1, &[][..]), "{}", text("id"));
    outcome.skills.remove(0)
}

#[test]
#[ignore = "needs shared data"]
fn validators_agree() {
    let file = shared("spec/conformance.json");
    let vectors: Vec<Value> = serde_json::from_slice(&fs::read(file).expect("readable")).expect("JSON");
    let temp = tempfile::tempdir().expect("a temporary folder");
    let (mut compared, mut differing) = (0, Vec::new());
    for vector in &vectors {
        let skill = lint_vector(vector, temp.path());
        for (client, verdict) in
            [(Client::SkillsRef, &vector["skills_ref_ok"]), (Client::Upload, &vector["quick_validate"]["ok"])]
        {
            // A null means that the validator crashed.
            let Some(expected) = verdict.as_bool() else { continue };
            compared += 1;
            if skill.load_result(client).is_none_or(|load_result| load_result.valid != expected) {
                differing.push(format!("{} {}: {expected}", vector["id"], client.name()));
            }
        }
        consistent(&skill);
    }
    assert!(differing.is_empty(), "{differing:#?}");
    assert!(compared > 90, "only {compared} verdicts compared");
}

/// Invariants of every skill: an agent drops it exactly if some finding is an error for that agent,
/// and a skill without a name or a description is loaded by none under it.
fn consistent(skill: &LintedSkill) {
    for client in CLIENTS {
        let load_result = skill.load_result(client).expect("a load_result for every client");
        let error = skill.diagnostics.iter().any(|found| found.clients.of(client) == Some(Severity::Error));
        assert_eq!(load_result.valid, !error, "{}: {}", skill.path.display(), client.name());
        if AGENTS.contains(&client) {
            assert_eq!(
                load_result.loads,
                !error,
                "{}: {}: {load_result:?}",
                skill.path.display(),
                client.name()
            );
        }
        assert_eq!(load_result.loads, load_result.name.is_some() && load_result.description.is_some());
        assert!(load_result.loads || !load_result.listed);
    }
}
