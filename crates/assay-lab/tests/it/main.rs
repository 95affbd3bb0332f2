//! The program of the laboratory, as `assay lab` executes it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so where it stands")]

mod audit;
mod cta;
mod needs_labels;
mod plan;
mod product;
mod recorded;
mod retrieval;
mod routing;
mod simulation;

use std::process::Command;

/// What `assay-lab` prints with arguments, on both streams, and its exit code.
fn run(args: &[&str]) -> (String, String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay-lab"));
    let ran = command.args(args).current_dir(folder.path()).env_clear().output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(ran.stdout), text(ran.stderr), ran.status.code())
}

#[test]
fn the_program_speaks_as_assay_lab() {
    let (help, _, code) = run(&["corpus", "funnel", "--help"]);
    assert!(help.contains("Usage: assay lab corpus funnel [OPTIONS]") && code == Some(0), "{help}");
    let (_, error, code) = run(&["corpus", "funnel"]);
    assert!(error.contains("Usage: assay lab corpus funnel") && code == Some(2), "{error}");
    let (_, error, code) = run(&[]);
    assert!(error.contains("Usage: assay lab [OPTIONS] <COMMAND>") && code == Some(2), "{error}");
    let (_, error, code) = run(&["simulat"]);
    assert!(error.contains("'simulate'") && code == Some(2), "{error}");
    // Commands of the product are none of this program.
    let (_, error, code) = run(&["lint", "."]);
    assert!(error.contains("unrecognized subcommand 'lint'") && code == Some(2), "{error}");
}

#[test]
fn global_options_hold_before_and_behind_a_command() {
    for args in [["--format", "json", "scale"], ["scale", "--format", "json"]] {
        let (document, error, code) = run(&args);
        assert!(document.starts_with('{') && code == Some(0), "{args:?}: {document}{error}");
    }
    let (_, error, code) = run(&["scale", "--format", "sarif"]);
    assert_eq!((error.as_str(), code), ("error: only `lint` has the format sarif\n", Some(2)));
}
