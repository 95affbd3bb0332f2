//! The hook for pre-commit, called as pre-commit calls it: in the user's repository, with the names of changed files.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const GOOD: &str = "---\nname: ledger\ndescription: Exports ledgers as tables. Use when a ledger is to be exported.\n---\n# Ledger\n\nRun `scripts/export.sh`.\n";

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn repository() -> TempDir {
    let repository = TempDir::new().unwrap();
    for (path, text) in [
        ("skills/ledger/SKILL.md", GOOD),
        ("skills/ledger/scripts/export.sh", "#!/bin/sh\nset -eu\necho done\n"),
        ("skills/broken/SKILL.md", "---\nname: broken\n---\n# Broken\n"),
        ("skills/broken/references/more.md", "# More\n"),
        ("src/main.py", "print()\n"),
    ] {
        let path = repository.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    repository
}

fn hook(entry: &str, repository: &TempDir, files: &[&str]) -> Output {
    let mut words = entry.split(' ');
    let mut command = Command::new(project().join(words.next().unwrap()));
    command.args(words).args(files).current_dir(repository.path());
    command.env("ASSAY_BIN", env!("CARGO_BIN_EXE_assay")).output().unwrap()
}

/// The `entry` of a hook.
fn entry(id: &str) -> String {
    let hooks = fs::read_to_string(project().join(".pre-commit-hooks.yaml")).unwrap();
    let (_, hook) = hooks.split_once(&format!("- id: {id}\n")).unwrap();
    let hook = hook.split("\n- id:").next().unwrap();
    assert!(hook.contains("language: script"), "only scripts need no package at the root: {hook}");
    hook.lines().find_map(|line| line.trim().strip_prefix("entry: ")).unwrap().to_owned()
}

#[test]
fn the_skills_of_changed_files_are_linted() {
    let repository = repository();
    let entry = entry("assay-lint");
    let check = |files: &[&str], code: i32, named: &[&str], not_named: &[&str]| {
        let output = hook(&entry, &repository, files);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = format!("{files:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(named.iter().all(|name| text.contains(name)), "{told}");
        assert!(not_named.iter().all(|name| !text.contains(name)), "{told}");
    };
    check(&["src/main.py"], 0, &[], &["skill"]);
    check(&["skills/ledger/SKILL.md"], 0, &["1 skill"], &["broken"]);
    // A script or a reference of a skill counts as the skill.
    check(&["skills/ledger/scripts/export.sh", "src/main.py"], 0, &["1 skill"], &["broken"]);
    check(&["skills/broken/references/more.md"], 1, &["broken/SKILL.md", "description"], &["ledger/"]);
    check(&["skills/broken/references/more.md", "skills/ledger/SKILL.md"], 1, &["2 skills"], &[]);
    // A commit that changes nothing but excluded skills passes.
    fs::write(repository.path().join("assay.toml"), "[lint]\nexclude = [\"broken\"]\n").unwrap();
    check(&["skills/broken/SKILL.md"], 0, &["1 skill excluded"], &[]);
}

/// With `args: [--max-warnings, "0", --]` pre-commit gives options with values, and `--` before the files.
#[test]
fn options_with_values_end_at_two_dashes() {
    let repository = repository();
    let path = repository.path().join("skills/ledger/SKILL.md");
    fs::write(&path, GOOD.replace("scripts/export.sh", "scripts/export.sh` or [more](gone.md) `")).unwrap();
    let check = |options: &str, code: i32| {
        let output =
            hook(&format!("{} {options}", entry("assay-lint")), &repository, &["skills/ledger/SKILL.md"]);
        assert_eq!(output.status.code(), Some(code), "{options}: {output:?}");
    };
    check("", 0);
    check("--max-warnings 9 --", 0);
    check("--max-warnings 0 --", 1);
    check("--deny warnings --", 1);
}

#[test]
fn the_fixing_hook_fixes() {
    let repository = repository();
    let path = repository.path().join("skills/ledger/SKILL.md");
    fs::write(&path, GOOD.replace("Use when", "Use: when")).unwrap();
    let output = hook(&entry("assay-lint-fix"), &repository, &["skills/ledger/SKILL.md"]);
    let fixed = fs::read_to_string(&path).unwrap();
    assert!(fixed.contains("description: \"Exports ledgers"), "{fixed}{output:?}");
}
