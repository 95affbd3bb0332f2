//! Who decides: a pull request is judged by the rules of its target, whatever else it changes. Each way around has a twin
//! without a hidden purpose, which passes.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{git, save, skill};
use crate::fixture::{Fixture, Ran, needs_bubblewrap};
use crate::suite::body;

pub(super) const POLICY: &str = r#"schema = "assay.gate-policy/1"
[[rules]]
skills = ["skills/*"]
experiment = "experiment.toml"
require = "helps"
"#;

/// A repository whose target's skill says a word.
pub(super) fn target(word: &str) -> Fixture {
    target_with(word, |_| {})
}

/// The same with a change before its first commit.
pub(super) fn target_with(word: &str, prepare: impl FnOnce(&Fixture)) -> Fixture {
    let mut lab = Fixture::new().skill("reports", "Ends reports with the agreed word.", &body(word));
    for number in 1..=6 {
        lab = lab.task(&format!("reports-{number}"), |task| task);
    }
    let mut rules = vec![
        json!({ "turn": 0, "seen": "/skills/summaries/SKILL.md", "run": "cat /skills/summaries/SKILL.md" }),
        json!({ "turn": 0, "seen": "Skills are folders", "run": "cat /skills/reports/SKILL.md" }),
    ];
    for word in ["right", "wrong"] {
        let seen = format!("agreed word for this kind of report is `{word}`");
        rules.push(json!({ "turn": 1, "seen": seen, "run": format!("echo {word} > answer.txt") }));
    }
    let lab = lab.script(&rules).file("gate.toml", POLICY).file(".gitignore", ".assay\nhome\nignored\n");
    let lab = lab.experiment(|e| {
        let design = e.conditions(&["none", "curated"]).repetitions(3);
        (1..=6).fold(design, |design, number| design.pair(&format!("reports-{number}"), &["reports"]))
    });
    prepare(&lab);
    git(&lab, &["init", "--quiet", "--initial-branch=main"]);
    save(&lab, "target");
    git(&lab, &["tag", "base"]);
    git(&lab, &["checkout", "--quiet", "-b", "pr"]);
    lab
}

pub(super) fn write_skill(lab: &Fixture, word: &str) {
    lab.write("skills/reports/SKILL.md", skill("reports", word));
}

fn run(lab: &Fixture, more: &[&str]) -> Ran {
    lab.assay(&[&["gate", "gate.toml", "--changed-since", "base", "--format", "json"], more].concat())
}

pub(super) fn gate(lab: &Fixture, more: &[&str]) -> (Value, i32) {
    let ran = run(lab, more);
    assert!(!ran.stdout.is_empty(), "{}", ran.stderr);
    (ran.json(), ran.code)
}

/// The rows of a gate that executes no trial, as `SKILL: CHANGE DECISION`.
pub(super) fn rows(document: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = document["skills"].as_array().unwrap().iter();
    rows.map(|row| format!("{}: {} {}", text(&row["skill"]), text(&row["change"]), text(&row["decision"])))
        .collect()
}

/// What a pull request gets for changes that need no trial: its exit status and its rows.
fn check(change: impl FnOnce(&Fixture), code: i32, expected: &[&str]) -> Value {
    let lab = target("right");
    change(&lab);
    let (document, found) = gate(&lab, &[]);
    assert_eq!(
        (found, rows(&document)),
        (code, expected.iter().map(|row| (*row).to_owned()).collect()),
        "{document:#}"
    );
    assert!(lab.records().is_empty());
    document
}

/// What is changed beside a skill: the paths that are found, and the change.
type Beside = (&'static str, fn(&Fixture));

const BESIDE: [Beside; 3] = [
    ("turns.jsonl", |lab| lab.write("turns.jsonl", r#"{"run": "echo right > answer.txt"}"#)),
    ("tasks/reports-1/tests/test.sh", |lab| {
        for number in 1..=6 {
            let path = format!("tasks/reports-{number}/tests/test.sh");
            lab.write(&path, "#!/bin/bash\nmkdir -p /logs/verifier\necho 1 > /logs/verifier/reward.txt\n");
        }
    }),
    ("experiment.toml", |lab| {
        let text = std::fs::read_to_string(lab.path("experiment.toml")).unwrap();
        lab.write("other.jsonl", r#"{"run": "echo right > answer.txt"}"#);
        lab.write("experiment.toml", text.replace("scripted:turns.jsonl", "scripted:other.jsonl"));
    }),
];

/// A skill that got worse does not pass by changed rules, however they are changed.
#[test]
fn changed_rules_do_not_let_a_worse_skill_pass() {
    needs_bubblewrap!();
    for (path, change) in BESIDE {
        let lab = target("right");
        write_skill(&lab, "wrong");
        change(&lab);
        save(&lab, "change");
        let (document, code) = gate(&lab, &[]);
        assert!(matches!(code, 1 | 4), "{path}: {code} {document:#}");
        let untrusted = document["untrusted"].as_array().unwrap();
        assert!(untrusted.contains(&json!(path)), "{path}: {document:#}");
        assert_eq!(document["rules_changed"], document["untrusted"], "{path}");
        assert_eq!(document["skills"][0]["checks"]["still_failing"], json!(6), "{path}: {document:#}");
    }
}

/// The same with a skill that got better: what weakens the rules blocks it, and what does not lets it pass.
#[test]
fn a_better_skill_passes_beside_harmless_changes() {
    needs_bubblewrap!();
    let lab = target("wrong");
    // The target goes on meanwhile, and its tests become stricter.
    git(&lab, &["checkout", "--quiet", "main"]);
    lab.write("tasks/reports-1/tests/more.sh", "[ -s /app/answer.txt ]\n");
    save(&lab, "stricter");
    git(&lab, &["tag", "--force", "base"]);
    git(&lab, &["checkout", "--quiet", "pr"]);
    write_skill(&lab, "right");
    lab.write("README.md", "Reports.\n");
    lab.write("tasks/reports-7/task.toml", "version = \"1.0\"\n");
    lab.write("tasks/reports-7/instruction.md", "End the report.\n");
    save(&lab, "change");
    let (document, code) = gate(&lab, &[]);
    assert_eq!(
        (code, &document["decision"], &document["weakened"]),
        (0, &json!("pass"), &json!([])),
        "{document:#}"
    );
    assert_eq!(document["untrusted"], json!(["tasks/reports-7/instruction.md", "tasks/reports-7/task.toml"]));
    assert_eq!(document["skills"][0]["tasks"], json!(6));
    // Recorded trials are those of this key.
    lab.edit_records(|_| {});
    let (again, code) = gate(&lab, &[]);
    assert_eq!((code, &again["skills"][0]["trials_reused"]), (0, &json!(0)), "{again:#}");
    // Weaker rules beside the same skill.
    lab.write("gate.toml", POLICY.replace("helps", "not-harmful"));
    save(&lab, "weaker");
    let (document, code) = gate(&lab, &[]);
    assert_eq!((code, &document["decision"]), (3, &json!("blocked")), "{document:#}");
}

/// A skill that goes elsewhere, in part or as a whole, is found.
#[test]
fn skills_are_followed() {
    let moved = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        move |lab: &Fixture| {
            std::fs::create_dir_all(lab.path(&to).parent().unwrap()).unwrap();
            std::fs::rename(lab.path(&from), lab.path(&to)).unwrap();
        }
    };
    let reports = "skills/reports";
    check(moved(reports, "more/reports"), 0, &["more/reports: moved nothing to decide"]);
    check(moved(reports, "skills/summaries"), 0, &["skills/summaries: renamed nothing to decide"]);
    let remove = |lab: &Fixture| std::fs::remove_dir_all(lab.path("skills/reports")).unwrap();
    check(remove, 0, &["skills/reports: removed nothing to decide"]);
    let blocked = ["skills/reports: changed blocked"];
    let file = "skills/reports/SKILL.md";
    check(moved(file, "skills/reports/skill.md"), 3, &blocked);
    let replaced_by = |place: fn(&Path)| {
        move |lab: &Fixture| {
            std::fs::rename(lab.path("skills/reports"), lab.path("kept")).unwrap();
            std::fs::remove_file(lab.path("kept/SKILL.md")).unwrap();
            place(&lab.path("skills/reports"));
        }
    };
    check(replaced_by(|at| symlink("../kept", at).unwrap()), 3, &blocked);
    check(replaced_by(|at| std::fs::write(at, "A file.\n").unwrap()), 3, &blocked);
    // What a link leads to outside of the skill would not be part of its content.
    let linked = |lab: &Fixture| {
        lab.write("notes.md", "Notes.\n");
        symlink("../../notes.md", lab.path("skills/reports/more.md")).unwrap();
    };
    check(linked, 3, &blocked);
}

/// Changes that no skill is behind.
#[test]
fn without_a_changed_skill_there_is_nothing_to_decide() {
    let unchanged = ["skills/reports: unchanged nothing to decide"];
    let document = check(|lab| lab.write("README.md", "Reports.\n"), 0, &unchanged);
    assert_eq!(
        (&document["decision"], &document["rules_changed"]),
        (&json!("nothing to decide"), &json!([]))
    );
    check(|lab| lab.write("ignored/SKILL.md", "Not of the pull request.\n"), 0, &unchanged);
    // Stricter rules and new tasks are listed.
    let stricter =
        check(|lab| lab.write("gate.toml", format!("error_budget = 0.01\n{POLICY}")), 0, &unchanged);
    assert_eq!(stricter["untrusted"], json!(["gate.toml"]));
    let document = check(|lab| lab.write("gate.toml", POLICY.replace("helps", "not-harmful")), 3, &unchanged);
    assert_eq!(document["decision"], json!("blocked"));
    let document = check(|lab| std::fs::remove_file(lab.path("gate.toml")).unwrap(), 3, &unchanged);
    assert_eq!(document["weakened"], json!(["the policy is removed"]));
    check(|lab| lab.write(".github/workflows/gate.yml", "on: push\n"), 0, &unchanged);
}

/// Skills that are new, or that no rule covers.
#[test]
fn new_skills_have_rows() {
    let other = "---\nname: letters\ndescription: Ends letters.\n---\n\nEnd them.\n";
    let unchanged = "skills/reports: unchanged nothing to decide";
    check(|lab| lab.write("more/letters/SKILL.md", other), 1, &["more/letters: added fail", unchanged]);
    let marked_as_task = |lab: &Fixture| {
        lab.write("more/letters/SKILL.md", other);
        lab.write("more/letters/task.toml", "version = \"1.0\"\n");
    };
    check(marked_as_task, 1, &["more/letters: added fail", unchanged]);
    check(|lab| lab.write("skills/letters/SKILL.md", other), 1, &["skills/letters: added fail", unchanged]);
    let with_tasks = |lab: &Fixture| {
        lab.write("skills/letters/SKILL.md", other);
        let text = std::fs::read_to_string(lab.path("experiment.toml")).unwrap();
        lab.write("experiment.toml", format!("{text}\n[tasks.\"letters-1\"]\ncurated = [\"letters\"]\n"));
        for (path, text) in [
            ("task.toml", "version = \"1.0\"\n"),
            ("instruction.md", "End the letter.\n"),
            ("environment/Dockerfile", "FROM debian:12-slim\n"),
            ("tests/test.sh", "exit 0\n"),
        ] {
            lab.write(&format!("tasks/letters-1/{path}"), text);
        }
    };
    let document = check(with_tasks, 4, &["skills/letters: added undecided", unchanged]);
    let reason = document["skills"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("tasks not yet trusted") && reason.contains("1 task"), "{reason}");
    // A skill in a task's folder belongs to the task: it is a rule, and not applied.
    let path = "tasks/reports-1/environment/skills/helper/SKILL.md";
    let document = check(|lab| lab.write(path, other), 0, &[unchanged]);
    assert_eq!(document["untrusted"], json!([path]));
}

/// What a policy is refused with.
fn refused(lab: &Fixture, more: &[&str], parts: &[&str]) {
    let ran = run(lab, more).ended(2);
    for part in parts {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}

#[test]
fn a_policy_of_the_target_is_found() {
    let lab = target("right");
    lab.write("ci/gate.toml", POLICY.replace("skills/*", "../skills/*").replace("\"exp", "\"../exp"));
    let args = ["gate", "ci/gate.toml", "--changed-since", "base"];
    let ran = lab.assay(&args).ended(2);
    assert!(ran.stderr.contains("where gate.toml covers skills/reports"), "{}", ran.stderr);
    // Nor does it help to move the skill with the policy.
    std::fs::remove_dir_all(lab.path("ci")).unwrap();
    std::fs::create_dir(lab.path("more")).unwrap();
    std::fs::rename(lab.path("skills/reports"), lab.path("more/reports")).unwrap();
    std::fs::remove_file(lab.path("gate.toml")).unwrap();
    lab.write("other.toml", POLICY.replace("skills/*", "more/*"));
    let ran = lab.assay(&["gate", "other.toml", "--changed-since", "base"]).ended(2);
    assert!(ran.stderr.contains("where gate.toml covers skills/reports"), "{}", ran.stderr);
    git(&lab, &["clean", "--quiet", "-d", "--force"]);
    git(&lab, &["checkout", "--quiet", "--force", "pr"]);
    lab.write("ci/gate.toml", POLICY.replace("skills/*", "../skills/*").replace("\"exp", "\"../exp"));
    // A target without any has nothing to decide by.
    let policy = std::fs::read_to_string(lab.path("ci/gate.toml")).unwrap();
    git(&lab, &["checkout", "--quiet", "--force", "base"]);
    std::fs::remove_dir_all(lab.path("ci")).unwrap();
    std::fs::remove_file(lab.path("gate.toml")).unwrap();
    save(&lab, "no policy");
    git(&lab, &["tag", "--force", "base"]);
    lab.write("ci/gate.toml", policy);
    let ran = lab.assay(&args).ended(0);
    assert!(ran.stdout.contains("Gate: nothing to decide"), "{}", ran.stdout);
    assert!(ran.stdout.contains("would demand of ../skills/reports: helps on 6 tasks"), "{}", ran.stdout);
}

#[test]
fn a_pattern_without_a_skill_is_refused() {
    let lab = target("right");
    git(&lab, &["checkout", "--quiet", "--force", "base"]);
    lab.write("gate.toml", POLICY.replace("skills/*", "skill/reports"));
    save(&lab, "typing error");
    git(&lab, &["tag", "--force", "base"]);
    refused(&lab, &[], &["\"skill/reports\" matches no skill; the nearest is skills/reports"]);
}

#[test]
fn a_word_for_changed_rules_is_bound_to_a_commit() {
    needs_bubblewrap!();
    let lab = target("wrong");
    let sha = |name: &str| {
        let mut command = Command::new("git");
        let output = command.current_dir(lab.folder()).args(["rev-parse", name]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    write_skill(&lab, "right");
    lab.write("gate.toml", POLICY.replace("helps", "not-harmful"));
    save(&lab, "change");
    let head = sha("HEAD");
    refused(&lab, &["--trust-changes", &head[..12]], &["not the full name of a commit"]);
    refused(&lab, &["--trust-changes", &sha("base")], &[&format!("the head of the pull request is {head}")]);
    lab.write("README.md", "Reports.\n");
    refused(&lab, &["--trust-changes", &head], &["the working tree has changes"]);
    // The next push.
    save(&lab, "more");
    refused(&lab, &["--trust-changes", &head], &["the head of the pull request is"]);
    // A merge commit of the forge is the pull request's head, unless it changes more.
    let head = sha("HEAD");
    git(&lab, &["checkout", "--quiet", "--detach", "base"]);
    git(&lab, &["merge", "--quiet", "--no-ff", "--no-edit", &head]);
    let (document, code) = gate(&lab, &["--trust-changes", &head]);
    assert_eq!((code, &document["decision"]), (0, &json!("pass")), "{document:#}");
    assert_eq!(
        (&document["untrusted"], &document["skills"][0]["claim"]),
        (&json!([]), &json!("not-harmful"))
    );
    lab.write("turns.jsonl", "{\"say\": \"Done.\"}\n");
    git(&lab, &["commit", "--quiet", "--all", "--amend", "--no-edit"]);
    refused(&lab, &["--trust-changes", &head], &["HEAD is a merge of it that also changes files"]);
}

#[test]
fn a_shallow_clone_says_what_is_missing() {
    let lab = target("right");
    for number in 1..=3 {
        lab.write("README.md", number.to_string());
        save(&lab, "more");
    }
    git(&lab, &["checkout", "--quiet", "main"]);
    lab.write("other.md", "Other.\n");
    save(&lab, "other");
    git(&lab, &["checkout", "--quiet", "pr"]);
    let source = format!("file://{}", lab.folder().display());
    git(&lab, &["clone", "--quiet", "--depth=1", "--no-single-branch", &source, "home/clone"]);
    let mut command = lab.command(&["gate", "gate.toml", "--changed-since", "origin/main"]);
    let output = command.current_dir(lab.path("home/clone")).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("the clone is shallow") && stderr.contains("fetch-depth: 0"), "{stderr}");
}

/// Nothing of a checkout is executed: hooks, filters and monitors that its configuration or attributes name.
#[test]
fn hooks_and_filters_are_not_executed() {
    let lab = target("right");
    lab.write("evil.sh", "#!/bin/bash\ntouch \"$(dirname \"$0\")/executed\"\ncat\n");
    lab.write(".gitattributes", "* filter=evil\n");
    for name in ["post-checkout", "post-index-change", "reference-transaction"] {
        lab.write(&format!("hooks/{name}.sh"), "#!/bin/bash\ntouch executed\n");
        std::fs::rename(lab.path(&format!("hooks/{name}.sh")), lab.path(&format!("hooks/{name}"))).unwrap();
    }
    save(&lab, "change");
    let evil = lab.path("evil.sh").display().to_string();
    for (key, value) in [
        ("core.hooksPath", "hooks"),
        ("core.fsmonitor", evil.as_str()),
        ("filter.evil.clean", evil.as_str()),
        ("filter.evil.smudge", evil.as_str()),
        ("filter.evil.required", "true"),
    ] {
        git(&lab, &["config", key, value]);
    }
    lab.write("README.md", "Not committed.\n");
    let (document, code) = gate(&lab, &[]);
    assert_eq!(code, 0, "{document:#}");
    assert!(!lab.path("executed").exists());
}

/// In CI a gate executes trials with a key only, and has a store that a pull request cannot write.
#[test]
fn a_hosted_job_needs_a_key_and_a_store_elsewhere() {
    let lab = target("right").env("CI", "true");
    write_skill(&lab, "wrong");
    let inside = lab.path("home/store").display().to_string();
    let outside = tempfile::tempdir().unwrap();
    let store = outside.path().display().to_string();
    let (document, code) = gate(&lab, &["--store", &inside]);
    assert_eq!((code, &document["decision"]), (3, &json!("blocked")), "{document:#}");
    assert!(
        document["skills"][0]["reason"].as_str().unwrap().contains("is inside the checkout"),
        "{document:#}"
    );
    let (document, code) = gate(&lab, &["--store", &store]);
    assert_eq!((code, &document["decision"]), (3, &json!("blocked")), "{document:#}");
    assert!(document["skills"][0]["reason"].as_str().unwrap().contains("ASSAY_RECORD_KEY"), "{document:#}");
    assert!(document["skills"][0]["notes"].to_string().contains("36 trials each time"), "{document:#}");
    let trials = std::fs::read_dir(outside.path().join("trials"));
    assert_eq!(trials.into_iter().flatten().count(), 0);
}
