//! `assay lint`, from the command line.

use serde_json::Value;

use crate::fixture::Lab;

fn lab() -> Lab {
    Lab::new()
        .file("skills/forms/SKILL.md", "---\nname: forms\ndescription: Fills in forms. Use when one is empty.\n---\n# Forms\n\nRead it.\n")
        .file("skills/colon/SKILL.md", "---\nname: colon\ndescription: Use when: a table is wide.\n---\n# Tables\n\nRead it.\n")
}

#[test]
fn what_is_found_fixed_and_accepted_decides_the_exit_status() {
    let lab = lab();
    let first = lab.assay(&["lint", "skills"]);
    assert_eq!(first.code, 1);
    assert!(
        first.stdout.contains("error[yaml-unquoted]")
            && first.stdout.contains("3 | description: Use when: a"),
        "{}",
        first.stdout
    );
    assert_eq!(lab.assay(&["lint", "skills", "--client", "claude-code"]).code, 0);
    let mended = lab.assay(&["lint", "skills", "--fix"]);
    assert_eq!(mended.code, 0, "{}", mended.stdout);
    assert!(mended.stderr.contains("1 fixed"), "{}", mended.stderr);
    assert_eq!(lab.assay(&["lint", "nowhere"]).code, 2);
}

#[test]
fn a_baseline_is_written_and_then_kept_to() {
    let lab = lab();
    let options = ["lint", "skills", "--baseline", "known.json"];
    assert_eq!(lab.assay(&options).code, 0);
    let again = lab.assay(&options);
    assert_eq!(again.code, 0);
    assert!(again.stdout.contains("known before"), "{}", again.stdout);
    lab.write("skills/late/SKILL.md", "# No front matter\n");
    assert_eq!(lab.assay(&options).code, 1);
    lab.write("known.json", "[]");
    assert_eq!(lab.assay(&options).code, 2);
}

#[test]
fn assay_toml_accepts_with_a_reason_only() {
    let lab = lab();
    let allow = "[[lint.allow]]\ncode = \"yaml-unquoted\"\npath = \"skills/colon\"\n";
    lab.write("assay.toml", format!("{allow}reason = \"the client we use quotes it\"\n"));
    let accepted = lab.assay(&["lint", "skills"]);
    assert_eq!(accepted.code, 0, "{}", accepted.stdout);
    assert!(accepted.stdout.contains("suppressed"));
    lab.write("assay.toml", allow);
    assert_eq!(lab.assay(&["lint", "skills"]).code, 2);
}

#[test]
fn other_formats_are_of_this_command() {
    let lab = lab();
    let read = |format: &str| lab.assay(&["lint", "skills", "--format", format]).stdout;
    let json: Value = serde_json::from_str(&read("json")).unwrap();
    assert_eq!(json["schema"], "assay.lint/1");
    let sarif: Value = serde_json::from_str(&read("sarif")).unwrap();
    assert_eq!(
        sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "skills/colon/SKILL.md"
    );
    assert!(read("junit").starts_with("<?xml"));
    assert!(read("github").starts_with("::error file=skills/colon/SKILL.md,line=3"), "{}", read("github"));
    assert_eq!(lab.assay(&["runs", "--format", "sarif"]).code, 2);
}

#[test]
fn packages_are_counted_by_rule() {
    let lab = lab();
    let text = lab.assay(&["lint", "skills", "--stats"]).ok().stdout;
    assert!(text.starts_with("2 packages\n"), "{text}");
    let row = |code: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.contains(&format!("`{code}`"))).unwrap();
        line.split('|').skip(2).take(5).map(|cell| cell.trim().to_owned()).collect()
    };
    assert_eq!(row("yaml-unquoted"), ["1", "50.00 %", "1", "0", "0"]);
    assert_eq!(row("body-tokens"), ["0", "0.00 %", "0", "0", "0"]);
    let json =
        lab.assay(&["lint", "skills", "--stats", "--select", "safety", "--format", "json"]).ok().json();
    assert_eq!((&json["schema"], &json["form"]["errors"]), (&"assay.lint-stats/1".into(), &0.into()));
    assert_eq!(lab.assay(&["lint", "nowhere", "--stats"]).code, 2);
}
