//! The profile `context-engineering` against the output of the collection's own script for two of
//! its commits.

use assay_corpus::health::context_engineering::{Revision, check};
use serde_json::Value;

use assay_test::shared;

#[test]
#[ignore = "needs shared data"]
fn context_engineering_agrees_with_its_script() {
    let folder = shared("health");
    let text = std::fs::read_to_string(folder.join("reference_health.json")).unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
    let runs = reference["runs"].as_object().unwrap();
    assert_eq!(runs.len(), 2);
    for (commit, run) in runs {
        let (health, warnings) = check(&folder.join(commit), None, None).unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        let number = |value: &Value| value.as_f64().unwrap();
        assert!((health.corpus_score - number(&run["summary"]["corpus_score"])).abs() < 1e-9, "{commit}");
        assert_eq!(health.flagged as u64, run["summary"]["flagged"].as_u64().unwrap(), "{commit}");
        let skills = run["skills"].as_array().unwrap();
        assert_eq!(health.skills.len(), skills.len(), "{commit}");
        for (ours, theirs) in health.skills.iter().zip(skills) {
            let name = theirs["skill"].as_str().unwrap();
            assert_eq!(ours.name, name);
            assert!((ours.score - number(&theirs["score"])).abs() < 1e-9, "{commit} {name}: {}", ours.score);
            assert_eq!(ours.flagged, theirs["flagged"], "{commit} {name}");
            for (component, value) in theirs["components"].as_object().unwrap() {
                let ours = ours.components[component.as_str()];
                assert!((ours - number(value)).abs() < 5e-5, "{commit} {name} {component}: {ours}");
            }
            let raw = [
                ("lines", &theirs["line_count"]),
                ("gotchas", &theirs["raw"]["gotcha_count"]),
                ("code_examples", &theirs["raw"]["code_example_count"]),
                ("internal_links", &theirs["raw"]["internal_links_total"]),
                ("external_links", &theirs["raw"]["external_link_count"]),
                ("numeric_claims", &theirs["raw"]["numeric_claims_total"]),
                ("claim_ids", &theirs["raw"]["numeric_claims_with_id"]),
                ("mechanisms", &theirs["raw"]["mechanism_count"]),
                ("activation_cases", &theirs["raw"]["activation_case_count"]),
            ];
            for (count, value) in raw {
                assert_eq!(ours.counts[count] as u64, value.as_u64().unwrap(), "{commit} {name} {count}");
            }
        }
    }
}

#[test]
fn library_without_fixtures_uses_the_newer_revision() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        std::fs::create_dir_all(folder.path().join("skills").join(name)).unwrap();
    }
    let text = "---\nname: a\ndescription: Twenty characters or more.\n---\n## Gotchas\n1. x\n[b](../skills/b/SKILL.md)\n";
    std::fs::write(folder.path().join("skills/a/SKILL.md"), text).unwrap();
    let (health, _) = check(folder.path(), None, None).unwrap();
    let a = &health.skills[0];
    // By hand: 1 of 8 sections, 1 of 3 gotchas, no code, 0 of 1 links, no case, no claim, no
    // mechanism, front matter. .2/8 + .15/3 + 0 + 0 + .05 + .15 + .05 + .05 = .375.
    assert!((a.score - 0.375).abs() < 1e-9, "{}", a.score);
    assert!(a.flagged && a.reasons.contains(&"missing section `## Examples`".to_owned()), "{:?}", a.reasons);
    assert!(health.skills[1].flagged && health.skills[1].score == 0.0);
    assert!((health.corpus_score - 0.1875).abs() < 1e-9);
    let (older, _) = check(folder.path(), None, Some(Revision::V230)).unwrap();
    assert!((older.skills[0].components["sections"] - 1.0 / 6.0).abs() < 1e-12);
    // Between the two: the newer one's sections, and front matter by lines, without a minimum
    // length of descriptions.
    let short = text.replace("Twenty characters or more.", "Short.");
    std::fs::write(folder.path().join("skills/a/SKILL.md"), short).unwrap();
    let parts = |revision| {
        let (health, _) = check(folder.path(), None, Some(revision)).unwrap();
        ["sections", "frontmatter"].map(|part| format!("{:.3}", health.skills[0].components[part]))
    };
    assert_eq!(parts(Revision::V230), ["0.167", "1.000"]);
    assert_eq!(parts(Revision::EightByLines), ["0.125", "1.000"]);
    assert_eq!(parts(Revision::Hardened), ["0.125", "0.000"]);
}
