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
    if text.ends_with("\nOptions:\n") {
        text.truncate(text.len() - "Options:\n".len());
    }
    let below = ran.stdout.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    let names = below.lines().take_while(|line| line.starts_with("  "));
    // What is indented further goes on with the line before it.
    for name in
        names.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next())
    {
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
