//! Packages and vectors gathered from public repositories: nothing may panic, and a well-formed
//! package has no finding.
//!
//! They are outside the project. `ASSAY_SHARED` names the folder; without it these tests report
//! that they were skipped, and with `ASSAY_REQUIRE_SHARED=1` they fail.

use std::collections::BTreeSet;
use std::fs;

use assay_skill::{Library, Package, Severity};
use assay_test::shared;
use serde_json::Value;

#[test]
#[ignore = "needs shared data"]
fn published_skills_load() {
    let health = shared("health");
    let library = Library::load(&[health.join("175cee7"), health.join("99fb4d8")]);
    assert_eq!(library.packages.len(), 30);
    // The commonest real mistake, `: ` in a plain value, and no other; each is read as its author
    // meant it.
    let errors: Vec<_> = library.diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
    assert!(!errors.is_empty() && errors.iter().all(|d| d.code == "yaml-unquoted"), "{errors:#?}");
    for package in &library.packages {
        assert!(package.body_tokens() > 100 && !package.description.is_empty(), "{}", package.root.display());
        assert_eq!(package.name, package.directory);
        assert_eq!(package.digest, Package::load(&package.root).package.expect("it loaded before").digest);
    }
}

/// Errors of the reference validator for which this loader has no rule yet: rules of fields other
/// than name and description.
const LINT_ONLY: [&str; 8] = [
    "anchor",
    "compat-501",
    "compat-map",
    "tools-flow-list",
    "unknown-version",
    "unknown-claude",
    "unknown-field",
    "compat-empty",
];

#[test]
#[ignore = "needs shared data"]
fn vectors_load_like_their_validators() {
    let file = shared("spec/conformance.json");
    let vectors: Vec<Value> = serde_json::from_slice(&fs::read(file).expect("readable")).expect("JSON");
    let temp = tempfile::tempdir().expect("a temporary folder");
    let mut silent = BTreeSet::new();
    for vector in &vectors {
        let text = |key: &str| vector[key].as_str();
        let (Some(id), Some(dir), Some(name), Some(content)) =
            (text("id"), text("dir"), text("file"), text("content"))
        else {
            continue;
        };
        let root = temp.path().join(id).join(dir);
        fs::create_dir_all(&root).expect("created");
        let bytes = if text("encoding") == Some("latin-1") {
            content.chars().map(|c| u8::try_from(u32::from(c)).expect("Latin-1")).collect()
        } else {
            content.as_bytes().to_vec()
        };
        fs::write(root.join(name), bytes).expect("written");
        let loaded = Package::load(&root);
        let findings: Vec<_> = loaded.diagnostics.iter().filter(|d| d.severity != Severity::Info).collect();
        // A package that one of the two validators rejects has a finding; it is loaded
        // nevertheless, except under a file name that no client searches for.
        assert_eq!(loaded.package.is_some(), name.eq("SKILL.md") || name.eq("skill.md"), "{id}");
        let refused = vector["skills_ref_ok"] == Value::Bool(false);
        if refused && findings.is_empty() {
            silent.insert(id);
        }
        if !refused && vector["quick_validate"]["ok"] == Value::Bool(true) {
            let harmless = ["front-matter-dashes"];
            assert!(findings.iter().all(|d| harmless.contains(&d.code)), "{id}: {findings:#?}");
        }
    }
    let unexpected: Vec<_> = silent.iter().filter(|id| !LINT_ONLY.contains(id)).collect();
    assert!(
        unexpected.is_empty(),
        "refused by the reference validator without a finding here: {unexpected:?}"
    );
}
