//! Ways around a gate by which a pull request changes what is measured, or where. Each has a twin that means no harm and
//! passes, or has nothing to decide.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use super::rules::{POLICY, gate, rows, target_with, write_skill};
use super::{git, save, skill};
use crate::fixture::{Fixture, needs_bubblewrap};

/// A verifier that accepts everything.
const ACCEPTS: &str = "#!/bin/bash\nmkdir -p /logs/verifier\necho 1 > /logs/verifier/reward.txt\n";

/// Another skill.
const LETTERS: &str = "---\nname: letters\ndescription: Ends letters.\n---\n\nEnd them.\n";

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

/// A change of a repository.
type Edit = fn(&Fixture);

/// A way around, and its twin.
struct Bypass {
    name: &'static str,
    /// The target, beside a skill that says the right word.
    target: Edit,
    attack: Edit,
    /// The exit status of the attack, and a part of what is said.
    refused: (i32, &'static str),
    /// A change without a hidden purpose, and the decision.
    twin: Edit,
    decided: &'static str,
}

/// Whether an attack is refused and its twin is not.
fn check(bypass: &Bypass) {
    let Bypass { name, target, attack, refused: (status, says), twin, decided } = *bypass;
    let lab = target_with("right", target);
    attack(&lab);
    let (document, code) = gate(&lab, &[]);
    assert!(code == status && document.to_string().contains(says), "{name}: {code} {document:#}");
    assert!(!document.to_string().contains("/assay-gate-"), "{name}: {document:#}");
    // The twin improves the skill where trials decide.
    let lab = target_with(if decided == "pass" { "wrong" } else { "right" }, target);
    twin(&lab);
    let (document, code) = gate(&lab, &[]);
    assert_eq!((code, &document["decision"]), (0, &json!(decided)), "twin of {name}: {document:#}");
}

fn worsen(lab: &Fixture) {
    write_skill(lab, "wrong");
}

fn improve(lab: &Fixture) {
    write_skill(lab, "right");
}

fn nothing(_: &Fixture) {}

fn add_readme(lab: &Fixture) {
    lab.write("README.md", "Reports.\n");
}

fn move_path(lab: &Fixture, from: &str, to: &str) {
    fs::create_dir_all(lab.path(to).parent().unwrap()).unwrap();
    fs::rename(lab.path(from), lab.path(to)).unwrap();
}

fn link(lab: &Fixture, leads: &str, at: &str) {
    fs::create_dir_all(lab.path(at).parent().unwrap()).unwrap();
    symlink(leads, lab.path(at)).unwrap();
}

/// Moves something and leaves a link in its place.
fn leave_link(lab: &Fixture, from: &str, to: &str, leads: &str) {
    move_path(lab, from, to);
    link(lab, leads, from);
}

fn accept_everything(lab: &Fixture, tasks: &str) {
    for number in 1..=6 {
        lab.write(&format!("{tasks}/reports-{number}/tests/test.sh"), ACCEPTS);
    }
}

/// A repository in a folder, as a submodule.
fn submodule(lab: &Fixture, at: &str) {
    let inside = |args: &[&str]| git(lab, &[&["-C", at], args].concat());
    git(lab, &["init", "--quiet", at]);
    lab.write(&format!("{at}/SKILL.md"), skill("reports", "wrong"));
    inside(&["add", "--all"]);
    inside(&["commit", "--quiet", "--message", "one"]);
    git(lab, &["-c", "advice.addEmbeddedRepo=false", "add", at]);
}

/// The tasks, the experiment and its script in the skill's own folder.
fn keep_all_in_skill(lab: &Fixture) {
    move_path(lab, "tasks", "skills/reports/evals");
    move_path(lab, "turns.jsonl", "skills/reports/turns.jsonl");
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    fs::remove_file(lab.path("experiment.toml")).unwrap();
    let text = text.replace("tasks/*", "evals/*").replace("skills/*", "../*");
    lab.write("skills/reports/experiment.toml", text);
    lab.write("gate.toml", POLICY.replace("experiment.toml", "skills/{skill}/experiment.toml"));
}

/// Another thing where a skill was, or is expected.
#[test]
fn something_else_in_the_place_of_a_skill_is_blocked() {
    needs_bubblewrap!();
    let other_skills: Edit = |lab| leave_link(lab, "skills", "library", "library");
    let other_skill: Edit = |lab| leave_link(lab, "skills/reports", "library/reports", "../library/reports");
    let better_library: Edit = |lab| lab.write("library/reports/SKILL.md", skill("reports", "right"));
    for bypass in [
        Bypass {
            name: "the parent folder is now a link",
            target: nothing,
            attack: |lab| {
                leave_link(lab, "skills", "kept", "kept");
                lab.write("kept/reports/SKILL.md", skill("reports", "wrong"));
            },
            refused: (1, "a symbolic link is in the place of its folder"),
            twin: add_readme,
            decided: "nothing to decide",
        },
        Bypass {
            name: "a known link leads elsewhere",
            target: other_skill,
            attack: |lab| {
                lab.write("other/reports/SKILL.md", skill("reports", "wrong"));
                fs::remove_file(lab.path("skills/reports")).unwrap();
                link(lab, "../other/reports", "skills/reports");
            },
            refused: (1, "a symbolic link is in the place of its folder"),
            twin: better_library,
            decided: "pass",
        },
        Bypass {
            name: "a known link to all skills leads elsewhere",
            target: other_skills,
            attack: |lab| {
                lab.write("other/reports/SKILL.md", skill("reports", "wrong"));
                fs::remove_file(lab.path("skills")).unwrap();
                link(lab, "other", "skills");
            },
            refused: (1, "a symbolic link is in the place of its folder"),
            twin: better_library,
            decided: "pass",
        },
        Bypass {
            name: "a submodule",
            target: nothing,
            attack: |lab| {
                fs::remove_dir_all(lab.path("skills/reports")).unwrap();
                git(lab, &["rm", "-r", "--quiet", "--cached", "skills/reports"]);
                submodule(lab, "skills/reports");
            },
            refused: (3, "a submodule is in the place of its folder"),
            twin: |lab| submodule(lab, "vendor/other"),
            decided: "nothing to decide",
        },
        Bypass {
            name: "a submodule where a skill is expected",
            target: nothing,
            attack: |lab| submodule(lab, "skills/letters"),
            refused: (3, "a submodule is in the place of its folder"),
            twin: |lab| submodule(lab, "vendor/letters"),
            decided: "nothing to decide",
        },
        Bypass {
            name: "a link out of the repository where a skill is expected",
            target: nothing,
            attack: |lab| symlink("/usr", lab.path("skills/letters")).unwrap(),
            refused: (3, "a symbolic link is in the place of its folder"),
            twin: |lab| symlink("/usr", lab.path("letters")).unwrap(),
            decided: "nothing to decide",
        },
        Bypass {
            name: "a skill that is a task as well",
            target: |lab| {
                lab.write("skills/reports/task.toml", "version = \"1.0\"\n");
                lab.write("skills/reports/instruction.md", "End the report.\n");
                let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
                lab.write("experiment.toml", text.replace("\"tasks/*\"", "\"tasks/*\", \"skills/*\""));
            },
            attack: worsen,
            refused: (3, "move the task to a folder of its own"),
            twin: add_readme,
            decided: "nothing to decide",
        },
    ] {
        check(&bypass);
    }
}

/// Files of a skill that a gate cannot measure as they will be installed.
#[test]
fn what_installs_differently_is_blocked() {
    needs_bubblewrap!();
    for bypass in [
        Bypass {
            name: "a submodule in the skill",
            target: nothing,
            attack: |lab| submodule(lab, "skills/reports/data"),
            refused: (3, "data is a submodule: commit its files in its place"),
            twin: |lab| submodule(lab, "data"),
            decided: "nothing to decide",
        },
        Bypass {
            name: "a changed skill with a submodule of the target",
            target: |lab| {
                git(lab, &["init", "--quiet"]);
                submodule(lab, "skills/reports/data");
            },
            attack: worsen,
            refused: (3, "data is a submodule"),
            twin: add_readme,
            decided: "nothing to decide",
        },
        Bypass {
            name: "a file in Git LFS",
            target: nothing,
            attack: |lab| {
                lab.write("skills/reports/words.txt", POINTER);
                lab.write(".gitattributes", "*.txt filter=lfs\n");
            },
            refused: (3, "words.txt is a pointer of Git LFS"),
            twin: |lab| lab.write("pictures/words.txt", POINTER),
            decided: "nothing to decide",
        },
        Bypass {
            name: "a changed skill beside a file in Git LFS",
            target: |lab| lab.write("skills/reports/words.txt", POINTER),
            attack: worsen,
            refused: (3, "words.txt is a pointer of Git LFS"),
            twin: add_readme,
            decided: "nothing to decide",
        },
        Bypass {
            name: "a task in Git LFS",
            target: |lab| lab.write("tasks/reports-1/environment/words.txt", POINTER),
            attack: worsen,
            refused: (3, "words.txt is a pointer of Git LFS"),
            twin: add_readme,
            decided: "nothing to decide",
        },
        Bypass {
            name: "two spellings of the document",
            target: nothing,
            attack: |lab| lab.write("skills/reports/skill.md", skill("reports", "wrong")),
            refused: (3, "are the same path on case-insensitive file systems"),
            twin: |lab| {
                improve(lab);
                lab.write("skills/reports/skills.md", "More.\n");
            },
            decided: "pass",
        },
        Bypass {
            name: "two spellings of the folder",
            target: |lab| lab.write("gate.toml", POLICY.replace("skills/*", "skills/reports")),
            attack: |lab| lab.write("skills/Reports/notes.md", "Not for everyone.\n"),
            refused: (3, "are the same path on case-insensitive file systems"),
            twin: |lab| lab.write("skills/notes/notes.md", "For everyone.\n"),
            decided: "nothing to decide",
        },
        Bypass {
            name: "two compositions of a name",
            target: |lab| lab.write("skills/reports/caf\u{e9}.md", "One.\n"),
            attack: |lab| lab.write("skills/reports/cafe\u{301}.md", "Other.\n"),
            refused: (3, "are the same path on case-insensitive file systems"),
            twin: |lab| lab.write("skills/cafe\u{301}.md", "Other.\n"),
            decided: "nothing to decide",
        },
        Bypass {
            name: "a new skill whose document is in lower case",
            target: nothing,
            attack: |lab| lab.write("skills/letters/skill.md", LETTERS),
            refused: (3, "its file is called skill.md"),
            twin: |lab| lab.write("docs/skill.md", "What a skill is.\n"),
            decided: "nothing to decide",
        },
        Bypass {
            name: "a new skill in lower case where no rule looks",
            target: |lab| lab.write("gate.toml", format!("without_experiment = \"warn\"\n{POLICY}")),
            attack: |lab| lab.write("more/letters/Skill.md", LETTERS),
            refused: (3, "its file is called Skill.md"),
            twin: |lab| lab.write("more/letters/SKILL.md", LETTERS),
            decided: "undecided",
        },
        Bypass {
            name: "a path that is no text",
            target: nothing,
            attack: |lab| {
                let folder = lab.path("skills").join(OsStr::from_bytes(b"repo\xffrts"));
                fs::create_dir(&folder).unwrap();
                fs::write(folder.join("SKILL.md"), LETTERS).unwrap();
            },
            refused: (3, "its path is not UTF-8"),
            twin: add_readme,
            decided: "nothing to decide",
        },
        Bypass {
            name: "a second skill of the same name",
            target: nothing,
            attack: |lab| {
                worsen(lab);
                lab.write("skills/first/SKILL.md", skill("reports", "right"));
            },
            refused: (3, "is the name of 2 skills: skills/first, skills/reports"),
            twin: |lab| lab.write("docs/reports.md", skill("reports", "right")),
            decided: "nothing to decide",
        },
    ] {
        check(&bypass);
    }
}

/// What the target's rules read through links, and what is in the skill's own folder, is the target's.
#[test]
fn rules_are_those_of_the_target_wherever_they_lie() {
    needs_bubblewrap!();
    let link_tasks: Edit = |lab| {
        for number in 1..=6 {
            let name = format!("reports-{number}");
            let leads = format!("../skills/reports/evals/{name}");
            leave_link(lab, &format!("tasks/{name}"), &format!("skills/reports/evals/{name}"), &leads);
        }
    };
    let cheat: Edit = |lab| {
        worsen(lab);
        accept_everything(lab, "skills/reports/evals");
    };
    for bypass in [
        Bypass {
            name: "links to tasks in the skill",
            target: link_tasks,
            attack: cheat,
            refused: (4, "\"skills/reports/evals/reports-1/tests/test.sh\""),
            twin: improve,
            decided: "pass",
        },
        Bypass {
            name: "a link to the folder of tasks in the skill",
            target: |lab| leave_link(lab, "tasks", "skills/reports/evals", "skills/reports/evals"),
            attack: cheat,
            refused: (4, "\"skills/reports/evals/reports-1/tests/test.sh\""),
            twin: improve,
            decided: "pass",
        },
        Bypass {
            name: "a link to tasks leads elsewhere",
            target: |lab| leave_link(lab, "tasks", "suite", "suite"),
            attack: |lab| {
                worsen(lab);
                move_path(lab, "suite", "other");
                accept_everything(lab, "other");
                fs::remove_file(lab.path("tasks")).unwrap();
                link(lab, "other", "tasks");
            },
            refused: (4, "task reports-1: assertions: 1 → 0"),
            twin: improve,
            decided: "pass",
        },
        Bypass {
            name: "everything in the skill",
            target: keep_all_in_skill,
            attack: cheat,
            refused: (4, "task reports-1: assertions: 1 → 0"),
            twin: improve,
            decided: "pass",
        },
        Bypass {
            name: "a script in the skill",
            target: keep_all_in_skill,
            attack: |lab| {
                worsen(lab);
                lab.write("skills/reports/turns.jsonl", r#"{"run": "echo right > answer.txt"}"#);
            },
            refused: (4, "skills/reports: skills/reports/turns.jsonl changed"),
            twin: |lab| {
                improve(lab);
                lab.write("skills/reports/notes.md", "Notes.\n");
            },
            decided: "pass",
        },
        Bypass {
            name: "a submodule in the place of a task",
            target: nothing,
            attack: |lab| {
                fs::remove_dir_all(lab.path("tasks/reports-1")).unwrap();
                git(lab, &["rm", "-r", "--quiet", "--cached", "tasks/reports-1"]);
                submodule(lab, "tasks/reports-1");
            },
            refused: (3, "task reports-1 removed"),
            twin: |lab| submodule(lab, "vendor/tasks"),
            decided: "nothing to decide",
        },
        Bypass {
            name: "the file that the policy is a link to",
            target: |lab| leave_link(lab, "gate.toml", "ci/rules.toml", "ci/rules.toml"),
            attack: |lab| lab.write("ci/rules.toml", POLICY.replace("helps", "not-harmful")),
            refused: (3, "\"rules_changed\":[\"ci/rules.toml\"]"),
            twin: improve,
            decided: "pass",
        },
    ] {
        check(&bypass);
    }
}

/// Weaker rules block also where the skill has another name, and where nothing fails.
#[test]
fn weaker_rules_are_found_beside_every_change() {
    needs_bubblewrap!();
    for bypass in [
        Bypass {
            name: "another name",
            target: nothing,
            attack: |lab| {
                move_path(lab, "skills/reports", "skills/summaries");
                accept_everything(lab, "tasks");
            },
            refused: (3, "skills/reports: task reports-1: assertions: 1 → 0"),
            twin: |lab| move_path(lab, "skills/reports", "skills/summaries"),
            decided: "nothing to decide",
        },
        Bypass {
            name: "another place where no rule looks",
            target: nothing,
            attack: |lab| {
                move_path(lab, "skills/reports", "more/reports");
                accept_everything(lab, "tasks");
            },
            refused: (3, "skills/reports: task reports-1: assertions: 1 → 0"),
            twin: |lab| move_path(lab, "skills/reports", "more/reports"),
            decided: "nothing to decide",
        },
        Bypass {
            name: "another name with everything in the skill",
            target: keep_all_in_skill,
            attack: |lab| {
                move_path(lab, "skills/reports", "skills/summaries");
                accept_everything(lab, "skills/summaries/evals");
            },
            refused: (3, "skills/reports: task reports-1: assertions: 1 → 0"),
            twin: |lab| move_path(lab, "skills/reports", "skills/summaries"),
            decided: "nothing to decide",
        },
        Bypass {
            name: "a second task whose name differs in case",
            target: nothing,
            attack: |lab| lab.write("tasks/Reports-1/tests/test.sh", ACCEPTS),
            refused: (3, "are the same path on case-insensitive file systems"),
            twin: |lab| lab.write("tasks/reports-10/tests/test.sh", ACCEPTS),
            decided: "nothing to decide",
        },
        Bypass {
            name: "undecided is a warning",
            target: |lab| lab.write("gate.toml", format!("on_undecided = \"warn\"\n{POLICY}")),
            attack: |lab| {
                worsen(lab);
                accept_everything(lab, "tasks");
            },
            refused: (3, "weakens the rules"),
            twin: worsen,
            decided: "undecided",
        },
        Bypass {
            name: "undecided becomes a warning",
            target: nothing,
            attack: |lab| lab.write("gate.toml", format!("on_undecided = \"warn\"\n{POLICY}")),
            refused: (3, "on_undecided: now warn"),
            twin: |lab| lab.write("gate.toml", format!("on_undecided = \"extend\"\n{POLICY}")),
            decided: "nothing to decide",
        },
        Bypass {
            name: "prices of the guard on costs",
            target: |lab| {
                lab.write("gate.toml", format!("{POLICY}guards = {{ cost_ratio = 1.5 }}\n"));
                lab.write("assay.toml", "prices = \"prices.toml\"\n");
                lab.write("prices.toml", "");
            },
            attack: |lab| lab.write("prices.toml", "# Free.\n"),
            refused: (3, "prices of the settings changed"),
            twin: |lab| lab.write("assay.toml", "prices = \"prices.toml\"\ncolor = \"never\"\n"),
            decided: "nothing to decide",
        },
    ] {
        check(&bypass);
    }
}

/// A new skill whose tasks nobody trusts is a failure, or a warning.
#[test]
fn new_skills_can_be_a_warning() {
    needs_bubblewrap!();
    let add: Edit = |lab| {
        lab.write("skills/letters/SKILL.md", LETTERS);
        let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
        lab.write("experiment.toml", format!("{text}\n[tasks.\"letters-1\"]\ncurated = [\"letters\"]\n"));
        for (path, text) in [
            ("task.toml", "version = \"1.0\"\n"),
            ("instruction.md", "End the letter.\n"),
            ("environment/Dockerfile", "FROM debian:12-slim\nWORKDIR /app\n"),
            (
                "tests/test.sh",
                "#!/bin/bash\n[ -s /app/letter ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n",
            ),
            ("solution/solve.sh", "#!/bin/bash\necho Yours > /app/letter\n"),
        ] {
            lab.write(&format!("tasks/letters-1/{path}"), text);
        }
    };
    let run = |policy: &str, change: &dyn Fn(&Fixture)| {
        let lab = target_with("right", |lab| lab.write("gate.toml", policy));
        add(&lab);
        change(&lab);
        let (document, code) = gate(&lab, &[]);
        assert!(lab.records().is_empty(), "{document:#}");
        let row = document["skills"][0].clone();
        assert_eq!(row["decision"], "undecided", "{document:#}");
        assert!(row["reason"].as_str().unwrap().starts_with("tasks not yet trusted"), "{row:#}");
        (code, row["notes"].to_string())
    };
    let warns = format!("new_skill = \"warn\"\n{POLICY}");
    let (code, notes) = run(&warns, &|_| {});
    assert!(
        code == 0 && notes.contains("task check: 1 task: ") && notes.contains("0 fail, 0 unchecked"),
        "{notes}"
    );
    // The checks are executed, and decide nothing.
    let (code, notes) = run(POLICY, &|lab| lab.write("tasks/letters-1/tests/test.sh", ACCEPTS));
    assert!(code == 4 && notes.contains("1 fail") && notes.contains("task letters-1: nop-passes"), "{notes}");
    // Whatever the pull request says, in the sandbox of the target, without its variables.
    let (_, notes) = run(POLICY, &|lab| {
        let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
        lab.write("experiment.toml", text.replace("\"bubblewrap\"", "\"none\"\nallow_env = [\"HOME\"]"));
        let test = "#!/bin/bash\ntouch \"$MARK/executed\"\necho 0 > /logs/verifier/reward.txt\n";
        lab.write("tasks/letters-1/tests/test.sh", test.replace("$MARK", lab.folder().to_str().unwrap()));
    });
    assert!(notes.contains("1 fail") && notes.contains("oracle-fails"), "{notes}");
}

/// What changes nothing but a mode is another version, and what a skill within a skill says belongs to it.
#[test]
fn all_of_a_skill_is_measured() {
    needs_bubblewrap!();
    let script: Edit = |lab| lab.write("skills/reports/scripts/check.sh", "#!/bin/bash\n");
    let unset = |lab: &Fixture| {
        let path = lab.path("skills/reports/scripts/check.sh");
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    };
    let lab = target_with("wrong", script);
    unset(&lab);
    let (document, code) = gate(&lab, &[]);
    assert_eq!(
        (code, rows(&document)),
        (4, vec!["skills/reports: changed undecided".to_owned()]),
        "{document:#}"
    );
    let lab = target_with("right", script);
    unset(&lab);
    assert_eq!(gate(&lab, &[]).1, 0);
    // The better text lies in a skill within the skill.
    let nested = "skills/reports/reports/SKILL.md";
    let lab = target_with("right", |_| {});
    worsen(&lab);
    lab.write(nested, skill("reports", "right"));
    let (document, code) = gate(&lab, &[]);
    assert_eq!(
        (code, rows(&document)),
        (4, vec!["skills/reports: changed undecided".to_owned()]),
        "{document:#}"
    );
    let lab = target_with("wrong", |lab| lab.write(nested, skill("reports", "wrong")));
    improve(&lab);
    let (document, code) = gate(&lab, &[]);
    assert_eq!((code, rows(&document)), (0, vec!["skills/reports: changed pass".to_owned()]), "{document:#}");
}

/// Files that Git LFS put in place of their pointers are no change.
#[test]
fn files_of_git_lfs_are_unchanged() {
    let lab = target_with("right", |lab| {
        lab.write("skills/reports/words.txt", POINTER);
        lab.write(".gitattributes", "*.txt filter=lfs\n");
    });
    lab.write("skills/reports/words.txt", "x".repeat(12345));
    let (document, code) = gate(&lab, &[]);
    assert_eq!((code, &document["decision"]), (0, &json!("nothing to decide")), "{document:#}");
    // Another file is a change.
    lab.write("skills/reports/words.txt", "x".repeat(12346));
    assert_eq!(gate(&lab, &[]).1, 3);
}

/// A conflict with the target is for the author to resolve: neither side is measured, and no word of a maintainer applies it.
#[test]
fn conflicts_with_the_target_block() {
    needs_bubblewrap!();
    let diverge = |path: &str, text: &str| {
        let lab = target_with("wrong", |_| {});
        git(&lab, &["checkout", "--quiet", "main"]);
        lab.write(path, text);
        save(&lab, "target");
        git(&lab, &["tag", "--force", "base"]);
        git(&lab, &["checkout", "--quiet", "pr"]);
        improve(&lab);
        save(&lab, "change");
        lab
    };
    let lab = diverge("skills/reports/SKILL.md", &skill("reports", "other"));
    let (document, code) = gate(&lab, &[]);
    let reason = document["skills"][0]["reason"].as_str().unwrap();
    assert!(code == 3 && reason.contains("merge the target into the branch"), "{document:#}");
    let head = fs::read_to_string(lab.path(".git/refs/heads/pr")).unwrap();
    let args = ["gate", "gate.toml", "--changed-since", "base", "--trust-changes", head.trim()];
    let ran = lab.assay(&args).ended(2);
    assert!(ran.stderr.contains("conflicts with the target"), "{}", ran.stderr);
    let lab = diverge("skills/reports/notes.md", "Notes.\n");
    assert_eq!(gate(&lab, &[]).1, 0);
}

/// Where the skill is the whole repository, its rules cannot be told from it.
#[test]
fn a_skill_at_the_top_is_refused() {
    let lab = target_with("right", |lab| {
        move_path(lab, "skills/reports/SKILL.md", "SKILL.md");
        lab.write("gate.toml", POLICY.replace("skills/*", "."));
    });
    accept_everything(&lab, "tasks");
    let ran = lab.assay(&["gate", "gate.toml", "--changed-since", "base"]).ended(2);
    assert!(ran.stderr.contains("move the skill to a folder of its own"), "{}", ran.stderr);
}

/// A branch may begin where the target had no policy yet: what the merge weakens is found nevertheless.
#[test]
fn the_age_of_a_branch_hides_nothing() {
    needs_bubblewrap!();
    let lab = target_with("wrong", |lab| fs::remove_file(lab.path("gate.toml")).unwrap());
    git(&lab, &["checkout", "--quiet", "main"]);
    lab.write("gate.toml", POLICY);
    save(&lab, "policy");
    git(&lab, &["tag", "--force", "base"]);
    git(&lab, &["checkout", "--quiet", "pr"]);
    improve(&lab);
    save(&lab, "better");
    let (document, code) = gate(&lab, &[]);
    assert_eq!((code, &document["weakened"]), (0, &json!([])), "{document:#}");
    accept_everything(&lab, "tasks");
    save(&lab, "weaker");
    let (document, code) = gate(&lab, &[]);
    assert_eq!((code, &document["decision"]), (3, &json!("blocked")), "{document:#}");
    assert!(document["weakened"].to_string().contains("task reports-1: assertions: 1 → 0"), "{document:#}");
}

/// Settings of a pull request do not apply, wherever the command is called.
#[test]
fn settings_are_those_of_the_target() {
    needs_bubblewrap!();
    let lab = target_with("wrong", |lab| {
        lab.write("gate.toml", format!("{POLICY}guards = {{ cost_ratio = 1.5 }}\n"));
    });
    let in_skill = || {
        let args = ["gate", "../../gate.toml", "--changed-since", "base", "--format", "json"];
        let store = lab.path(".assay").display().to_string();
        let mut command = lab.command(&[&args[..], &["--store", &store]].concat());
        let output = command.current_dir(lab.path("skills/reports")).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.is_empty(), "{}", String::from_utf8(output.stderr).unwrap());
        (serde_json::from_str::<Value>(&text).unwrap(), output.status.code())
    };
    improve(&lab);
    lab.write("skills/reports/assay.toml", "prices = \"prices.toml\"\nstore = \"other\"\n");
    lab.write("skills/reports/prices.toml", "not prices");
    let (document, _) = in_skill();
    let untrusted = document["untrusted"].to_string();
    for path in ["skills/reports/assay.toml", "skills/reports/prices.toml"] {
        assert!(untrusted.contains(path), "{path}: {document:#}");
    }
    assert_eq!(document["skills"][0]["trials_executed"], json!(36), "{document:#}");
    assert!(!lab.path("skills/reports/other").exists());
    fs::remove_file(lab.path("skills/reports/assay.toml")).unwrap();
    fs::remove_file(lab.path("skills/reports/prices.toml")).unwrap();
    let (document, _) = in_skill();
    assert_eq!((&document["untrusted"], &document["weakened"]), (&json!([]), &json!([])), "{document:#}");
}

/// A link of a pull request leads to a file of the runner: nothing of it is read, and nothing printed.
#[test]
fn nothing_outside_of_the_repository_is_read() {
    let secrets = tempfile::tempdir().unwrap();
    let secret = secrets.path().join("gate.toml");
    fs::write(&secret, "TOKEN = CANARY-1\n").unwrap();
    let leads = secret.display().to_string();
    let has_policy: fn(&Fixture) = |_| {};
    let has_none: fn(&Fixture) = |lab| fs::remove_file(lab.path("gate.toml")).unwrap();
    for (target, folder, code) in [(has_policy, false, 3), (has_none, false, 2), (has_none, true, 2)] {
        let lab = target_with("right", target);
        if folder {
            symlink(secrets.path(), lab.path("ci")).unwrap();
        } else {
            fs::remove_file(lab.path("gate.toml")).ok();
            symlink(&leads, lab.path("gate.toml")).unwrap();
        }
        let policy = if folder { "ci/gate.toml" } else { "gate.toml" };
        let ran = lab.assay(&["gate", policy, "--changed-since", "base", "--comment", "comment.md.out"]);
        let comment = fs::read_to_string(lab.path("comment.md.out")).unwrap_or_default();
        let all = format!("{}{}{comment}", ran.stdout, ran.stderr);
        assert!(ran.code == code && !all.contains("CANARY") && !all.contains("TOKEN"), "{}: {all}", ran.code);
        assert!(all.contains("out of the repository") || folder, "{all}");
    }
    // A mistake in a file of the repository is shown.
    let lab = target_with("right", |_| {});
    lab.write("gate.toml", "TOKEN = CANARY-1\n");
    let ran = lab.assay(&["gate", "gate.toml", "--changed-since", "base"]).ended(2);
    assert!(ran.stderr.contains("CANARY-1"), "{}", ran.stderr);
}

/// Clones without every file say how to get them.
#[test]
fn a_partial_clone_says_what_is_missing() {
    let lab = target_with("right", |_| {});
    lab.write("README.md", "One.\n");
    save(&lab, "one");
    git(&lab, &["config", "uploadpack.allowFilter", "true"]);
    let source = format!("file://{}", lab.folder().display());
    let clone = |args: &[&str], folder: &str| {
        git(&lab, &[&["clone", "--quiet"], args, &["--branch=pr", &source, folder]].concat());
        git(&lab, &["-C", folder, "checkout", "--quiet", "pr"]);
    };
    let run = |folder: &str| {
        let mut command = lab.command(&["gate", "gate.toml", "--changed-since", "origin/main"]);
        let output = command.current_dir(lab.path(folder)).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let refetch = ["-C", "home/partial", "fetch", "--quiet", "--refetch", "--no-filter", "origin"];
    // A file that only the target has, so that no checkout fetched it.
    git(&lab, &["checkout", "--quiet", "main"]);
    lab.write("other.md", "Other.\n");
    save(&lab, "other");
    git(&lab, &["checkout", "--quiet", "pr"]);
    clone(&["--filter=blob:none"], "home/partial");
    let (code, stderr) = run("home/partial");
    assert!(code == Some(2) && stderr.contains("the clone is partial"), "{stderr}");
    assert!(stderr.contains("git fetch --refetch --no-filter origin"), "{stderr}");
    git(&lab, &refetch);
    assert_eq!(run("home/partial").0, Some(0));
    clone(&[], "home/whole");
    assert_eq!(run("home/whole").0, Some(0));
}

/// Results that another key signed, or that were imported, are no results here; those of this key are read again.
#[test]
fn results_of_others_decide_nothing() {
    needs_bubblewrap!();
    let lab = target_with("wrong", |_| {});
    improve(&lab);
    let run = |key: &str| {
        let key = key.repeat(32);
        let args = ["gate", "gate.toml", "--changed-since", "base", "--format", "json"];
        let output = lab.command(&args).env("ASSAY_RECORD_KEY", key).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.is_empty(), "{}", String::from_utf8(output.stderr).unwrap());
        let document: Value = serde_json::from_str(&text).unwrap();
        let row = &document["skills"][0];
        (output.status.code(), row["trials_executed"].clone(), row["trials_reused"].clone())
    };
    assert_eq!(run("a1"), (Some(0), json!(36), json!(0)));
    assert_eq!(run("a1"), (Some(0), json!(0), json!(36)));
    lab.assay(&["export", "run", "gate-skills-reports", "--out", "home/run.tar.zst"]).ok();
    fs::remove_dir_all(lab.path(".assay/trials")).unwrap();
    lab.assay(&["import", "run", "home/run.tar.zst", "--name", "theirs"]).ok();
    let (code, executed, reused) = run("a1");
    assert_eq!((code, executed, reused), (Some(0), json!(36), json!(0)));
    let (code, executed, reused) = run("b2");
    assert_eq!((executed, reused), (json!(36), json!(0)), "{code:?}");
}
