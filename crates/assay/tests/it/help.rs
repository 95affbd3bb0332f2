//! Help, completions and man pages. docs/COMMANDS.md holds every help; a test beside the definitions compares them.

use crate::fixture::Fixture;

#[test]
fn completions_are_written_for_every_shell() {
    let lab = Fixture::new();
    for (shell, expected) in [
        ("bash", "_assay()"),
        ("elvish", "edit:completion:arg-completer[assay]"),
        ("fish", "complete -c assay"),
        ("powershell", "Register-ArgumentCompleter"),
        ("zsh", "#compdef assay"),
    ] {
        let text = lab.assay(&["completions", shell]).ok().stdout;
        for part in [expected, "cta-2026", "--equivalence-margin"] {
            assert!(text.contains(part), "{shell}: no {part:?}");
        }
    }
    lab.assay(&["completions", "tcsh"]).ended(2);
    lab.assay(&["completions", "bash", "--out", "man1"]).ended(2);
}

#[test]
fn man_pages_are_written_for_every_command() {
    let lab = Fixture::new();
    lab.assay(&["completions", "man"]).ended(2);
    let ran = lab.assay(&["completions", "man", "--out", "share/man1"]).ok();
    assert_eq!(ran.stdout, "");
    let page = |name: &str| std::fs::read_to_string(lab.path(&format!("share/man1/{name}.1"))).unwrap();
    let (root, run) = (page("assay"), page("assay-run"));
    assert!(root.contains(".TH assay 1") && root.contains("Exit status"), "{root}");
    assert!(run.contains("assay\\-run") && run.contains("no\\-retry"), "{run}");
    page("assay-lab-corpus-funnel");
    assert!(!lab.path("share/man1/assay-trial.1").exists(), "a hidden command");
}

#[test]
fn help_of_a_command_is_the_same_both_ways() {
    let lab = Fixture::new();
    for path in [&["lint"][..], &["lab", "corpus", "funnel"]] {
        let option = lab.assay(&[path, &["--help"]].concat()).ok().stdout;
        assert_eq!(lab.assay(&[&["help"], path].concat()).ok().stdout, option);
    }
}

#[test]
fn versions_are_told() {
    let ran = Fixture::new().assay(&["--version"]).ok();
    assert_eq!(ran.stdout, concat!("assay ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn a_command_that_moved_names_the_new_one() {
    let lab = Fixture::new();
    for (old, new) in [
        ("runs", "show"),
        ("history", "show --history"),
        ("trial run tasks/t1", "task run"),
        ("health lib", "lab health"),
        ("corpus funnel in.jsonl", "lab corpus"),
        ("simulate", "lab simulate"),
        ("bench harness", "lab bench"),
        ("search bench --corpus a", "lab search bench"),
        ("search train --corpus a", "lab search train"),
        ("route bench --prompts a", "lab route bench"),
        ("audit pairs --with a --method cta-2026", "lab cta-2026 pairs"),
        ("lint --self-test", "lab self-test"),
        ("plan a --no-effect-within 0.1", "plan --equivalence-margin"),
    ] {
        let ran = lab.assay(&old.split(' ').collect::<Vec<_>>()).ended(2);
        assert_eq!(ran.stdout, "");
        let ending = format!(" is now `assay {new}`\n");
        assert!(ran.stderr.starts_with("error: `assay ") && ran.stderr.ends_with(&ending), "{}", ran.stderr);
    }
    lab.assay(&["help", "lab", "corpus"]).ok();
}
