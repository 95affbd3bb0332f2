//! `assay lab` executes another program, `assay-lab`.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::fixture::Fixture;

/// Prints its name and its arguments, one a line, and ends with 7.
const PRINTS: &str = "#!/bin/sh\necho \"${0##*/lab/}\"\nprintf '<%s>\\n' \"$@\"\nexit 7\n";

/// A fixture with `assay` alone in the folder `lab/own`.
fn without_laboratory() -> Fixture {
    let fixture = Fixture::new();
    let own = fixture.path("lab/own");
    fs::create_dir_all(&own).unwrap();
    let (built, copy) = (Path::new(env!("CARGO_BIN_EXE_assay")), own.join("assay"));
    if fs::hard_link(built, &copy).is_err() {
        fs::copy(built, &copy).unwrap();
    }
    fixture
}

/// Installs a program in a folder.
fn install(fixture: &Fixture, folder: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    fixture.write(&format!("lab/{folder}/assay-lab"), script);
    let path = fixture.path(&format!("lab/{folder}/assay-lab"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The copy of `assay` with arguments; `lab/bin` is on its `PATH`.
fn run(fixture: &Fixture, args: &[&str]) -> Output {
    let mut command = Command::new(fixture.path("lab/own/assay"));
    command.args(args).current_dir(fixture.folder()).env_clear();
    command.env("PATH", format!("{}:/usr/bin:/bin", fixture.path("lab/bin").display()));
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn the_program_gets_the_arguments_and_its_exit_code_is_that_of_assay() {
    let fixture = without_laboratory();
    install(&fixture, "bin", PRINTS);
    let check = |args: &[&str], expected: &[&str]| {
        let ran = run(&fixture, args);
        let printed: Vec<&str> = text(&ran.stdout).lines().skip(1).collect();
        let expected: Vec<String> = expected.iter().map(|argument| format!("<{argument}>")).collect();
        assert_eq!(printed, expected, "{args:?}");
        assert_eq!((ran.status.code(), text(&ran.stderr)), (Some(7), ""), "{args:?}");
    };
    check(&["lab", "simulate", "--suites", "a b"], &["simulate", "--suites", "a b"]);
    check(&["lab", "--help"], &["--help"]);
    check(&["lab", "--format", "json", "x", "--", "-q"], &["--format", "json", "x", "--", "-q"]);
    check(&["--store", "lab", "-q", "lab", "x"], &["--store", "lab", "-q", "x"]);
    check(&["help", "lab", "corpus"], &["help", "corpus"]);
    check(&["completions", "bash"], &["completions", "bash"]);
    // `printf` prints its format once where there is no argument.
    check(&["--format", "json", "lab"], &[""]);
    let refused = run(&fixture, &["--format", "bogus", "lab"]);
    assert!(refused.status.code() == Some(2) && text(&refused.stderr).contains("'bogus'"), "{refused:?}");
}

/// As of every group of commands: without a command there is the help of the group, and an error if options follow its name.
#[test]
fn without_a_command_the_laboratory_says_what_other_groups_say() {
    let fixture = Fixture::new();
    for options in [&[][..], &["--format", "json"], &["-q"]] {
        for (before, after) in [(options, &[][..]), (&[], options)] {
            let said = |group: &str| {
                let ran = fixture.assay(&[before, &[group], after].concat()).ended(2);
                let line = ran.stderr.lines().next().unwrap_or_default().replace(group, "GROUP");
                (ran.stdout, if line.starts_with("error: ") { line } else { "help".to_owned() })
            };
            assert_eq!(said("lab"), said("task"), "{options:?} before and behind");
        }
    }
}

#[test]
fn a_program_older_than_its_source_is_outdated() {
    use std::time::{Duration, SystemTime};
    let fixture = Fixture::new().file("built/assay-lab", "").file("one.rs", "").file("two words.rs", "");
    let program = fixture.path("built/assay-lab");
    let set_age = |path: &str, seconds: u64| {
        let file = fs::File::options().write(true).open(fixture.path(path)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    let is_outdated = || crate::fixture::is_outdated(&program);
    assert!(is_outdated(), "nothing is known of it");
    let spaced = fixture.path("two words.rs").display().to_string().replace(' ', "\\ ");
    let list = format!("{}: {} {spaced}\n", program.display(), fixture.path("one.rs").display());
    fixture.write("built/assay-lab.d", list);
    for (built, one, two, expected) in [(10, 20, 20, false), (20, 10, 30, true), (20, 30, 10, true)] {
        set_age("built/assay-lab", built);
        set_age("one.rs", one);
        set_age("two words.rs", two);
        assert_eq!(is_outdated(), expected, "{built} {one} {two}");
    }
    // A test that cargo builds has the list in `deps` alone.
    fs::create_dir(fixture.path("built/deps")).unwrap();
    fs::rename(fixture.path("built/assay-lab.d"), fixture.path("built/deps/assay_lab-1.d")).unwrap();
    assert!(is_outdated(), "the list is of another program");
    fs::hard_link(&program, fixture.path("built/deps/assay_lab-1")).unwrap();
    assert!(is_outdated(), "two words.rs is younger");
    set_age("two words.rs", 40);
    set_age("one.rs", 40);
    assert!(!is_outdated());
    fs::remove_file(&program).unwrap();
    assert!(is_outdated());
}

#[test]
fn a_program_beside_assay_comes_before_one_on_the_path() {
    let fixture = without_laboratory();
    install(&fixture, "bin", PRINTS);
    let used = || text(&run(&fixture, &["lab", "x"]).stdout).lines().next().unwrap().to_owned();
    assert_eq!(used(), "bin/assay-lab");
    // A file that cannot be executed is no program.
    fixture.write("lab/own/assay-lab", PRINTS);
    assert_eq!(used(), "bin/assay-lab");
    install(&fixture, "own", PRINTS);
    assert_eq!(used(), "own/assay-lab");
}

#[test]
fn a_signal_that_ends_the_program_ends_assay() {
    let fixture = without_laboratory();
    install(&fixture, "own", "#!/bin/sh\nkill -TERM $$\nsleep 60\n");
    assert_eq!(run(&fixture, &["lab", "simulate"]).status.signal(), Some(15));
}

#[test]
fn without_the_program_one_line_says_how_to_get_it() {
    let fixture = without_laboratory();
    let ran = run(&fixture, &["lab", "simulate", "--suites", "20"]);
    assert_eq!((ran.status.code(), text(&ran.stdout)), (Some(2), ""));
    insta::assert_snapshot!(text(&ran.stderr), @"
    error: cannot find the program assay-lab beside assay or on the PATH
      hint: build it in a checkout of assay with `cargo build --release --package assay-lab`
    ");
    // All else is there.
    let help = run(&fixture, &["help", "lab"]);
    assert!(help.status.success() && text(&help.stdout).contains("`assay-lab`"), "{help:?}");
    let completions = run(&fixture, &["completions", "bash"]);
    assert!(completions.status.success() && text(&completions.stdout).contains("lab"), "{completions:?}");
    let help = run(&fixture, &["--help", "lab"]);
    assert!(help.status.success() && text(&help.stdout).starts_with("Lint agent skills"), "{help:?}");
}

#[test]
fn a_program_that_cannot_be_executed_is_an_infrastructure_error() {
    let fixture = without_laboratory();
    install(&fixture, "own", "#!/no/such/interpreter\n");
    let ran = run(&fixture, &["lab", "simulate"]);
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    let path = fixture.path("lab/own/assay-lab");
    assert!(text(&ran.stderr).starts_with(&format!("error: cannot execute {}: ", path.display())), "{ran:?}");
}

#[test]
fn completions_have_the_commands_of_the_laboratory() {
    let fixture = Fixture::new();
    for shell in ["bash", "fish", "zsh"] {
        let text = fixture.assay(&["completions", shell]).ok().stdout;
        assert!(text.contains("cta-2026") && text.contains("funnel") && text.contains("gateway"), "{shell}");
    }
}
