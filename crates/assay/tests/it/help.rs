//! All that `--help` says.

use crate::fixture::Lab;

/// The help of a command and of those below it. `known` options stand above already.
fn whole(lab: &Lab, path: &[&str], known: &[String], text: &mut String) {
    let ran = lab.assay(&[path, &["--help"]].concat()).ok();
    assert_eq!(ran.stderr, "");
    text.push_str(&format!("$ assay {}\n", [path, &["--help"]].concat().join(" ")));
    // An option begins with a dash; what is said of it is indented further.
    let mut own = Vec::new();
    let mut is_known = false;
    for line in ran.stdout.lines().map(str::trim_end) {
        if line.trim_start().starts_with("--") || line.trim_start().starts_with('-') && line.contains(" --") {
            is_known = known.contains(&line.to_owned());
            own.push(line.to_owned());
        }
        if !is_known {
            text.push_str(line);
            text.push('\n');
        }
    }
    // Nothing of its own.
    for heading in ["Global options:\n", "Options:\n"] {
        if text.ends_with(heading) {
            text.truncate(text.trim_end().len() - heading.trim_end().len());
        }
    }
    // Commands are listed under several headings, and options under these.
    let mut is_command = false;
    let mut names = Vec::new();
    for line in ran.stdout.lines() {
        if let Some(heading) = line.strip_suffix(':').filter(|line| !line.starts_with(' ')) {
            is_command =
                !matches!(heading, "Arguments" | "Options" | "Global options" | "Examples" | "Exit status");
        } else if is_command && line.starts_with("  ") && !line.starts_with("   ") {
            names.extend(line.split_whitespace().next().filter(|name| *name != "help"));
        }
    }
    for name in names {
        whole(lab, &[path, &[name]].concat(), &own, text);
    }
}

#[test]
fn the_whole_of_it() {
    let lab = Lab::new().env("COLUMNS", "100");
    let mut text = String::new();
    whole(&lab, &[], &[], &mut text);
    // `INSTA_UPDATE=always cargo test -p assay --test it help` writes it anew.
    insta::assert_snapshot!(text);
}

#[test]
fn versions_are_told() {
    let ran = Lab::new().assay(&["--version"]).ok();
    assert_eq!(ran.stdout, concat!("assay ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn a_command_that_moved_names_the_new_one() {
    let lab = Lab::new();
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
