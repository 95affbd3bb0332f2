//! `assay lab`: executes the program of the laboratory, which is not part of this one.

use std::ffi::OsString;
use std::io;
use std::process::Command;

use crate::args::moved::WITH_VALUE;
use crate::failure::{Failure, Status};
use crate::machine;

/// The program of the laboratory.
const PROGRAM: &str = "assay-lab";

/// Global options without a value.
const FLAGS: [&str; 2] = ["--quiet", "--verbose"];

/// Executes the laboratory in place of this process: its signals and its exit code are those of this command.
pub(crate) fn run(arguments: &[OsString]) -> Result<Status, Failure> {
    let Some(program) = machine::find_program(PROGRAM) else {
        let message = format!("cannot find the program {PROGRAM} beside assay or on the PATH");
        let hint =
            format!("build it in a checkout of assay with `cargo build --release --package {PROGRAM}`");
        return Err(Failure::bad_input(message).hint(hint));
    };
    execute(Command::new(&program).args(arguments)).map_err(|error| {
        Failure::infrastructure(format!("cannot execute {}: {error}", program.display()))
            .hint(format!("build {PROGRAM} for this machine"))
    })
}

/// Returns if the program cannot be executed.
#[cfg(unix)]
fn execute(command: &mut Command) -> io::Result<Status> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

/// Ends this process with the exit code of the program.
#[cfg(not(unix))]
#[expect(clippy::exit, reason = "the code may be any number, and nothing is left to do")]
fn execute(command: &mut Command) -> io::Result<Status> {
    std::process::exit(command.status()?.code().unwrap_or(3))
}

/// The arguments for the laboratory, if the command line is a matter of its program: `lab` and `help lab`, and
/// `completions` if the program is there, because only it knows the commands of both.
pub(crate) fn find_arguments(arguments: &[OsString]) -> Option<Vec<OsString>> {
    let arguments = for_laboratory(arguments.get(1..)?)?;
    let needs_program = arguments.first().is_some_and(|first| first == "help" || first == "completions");
    if needs_program && machine::find_program(PROGRAM).is_none() { None } else { Some(arguments) }
}

/// What follows `assay lab`, with the options before `lab`; `help` or `completions` comes first. Options before a `lab` with nothing
/// behind it are for `assay`, which checks them before the program says what it lacks.
fn for_laboratory(arguments: &[OsString]) -> Option<Vec<OsString>> {
    let at = first_word(arguments)?;
    let (options, rest) = arguments.split_at(at);
    let (word, rest) = rest.split_first()?;
    let (first, rest) = match word.to_str()? {
        "lab" if rest.is_empty() && !options.is_empty() => return None,
        "lab" => (None, rest),
        "completions" => (Some(word), rest),
        "help" => match rest.split_first()? {
            (inner, rest) if inner == "lab" => (Some(word), rest),
            _ => return None,
        },
        _ => return None,
    };
    Some(first.into_iter().chain(options).chain(rest).cloned().collect())
}

/// The index of the command, if only global options come before it.
fn first_word(arguments: &[OsString]) -> Option<usize> {
    let mut at = 0;
    loop {
        let argument = arguments.get(at)?.to_str()?;
        let has_value =
            |option: &&str| argument.strip_prefix(*option).is_some_and(|rest| rest.starts_with('='));
        let is_short = argument.strip_prefix('-').is_some_and(|letters| {
            !letters.is_empty() && letters.chars().all(|letter| matches!(letter, 'q' | 'v'))
        });
        if WITH_VALUE.contains(&argument) {
            at += 2;
        } else if is_short || FLAGS.contains(&argument) || WITH_VALUE.iter().any(has_value) {
            at += 1;
        } else if argument.starts_with('-') {
            return None;
        } else {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_laboratory_gets_what_follows_its_name_and_global_options() {
        let check = |line: &str, expected: Option<&str>| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let expected =
                expected.map(|text| text.split_whitespace().map(OsString::from).collect::<Vec<_>>());
            assert_eq!(for_laboratory(&arguments), expected, "{line}");
        };
        check("lab simulate --suites 20", Some("simulate --suites 20"));
        check("lab", Some(""));
        check("lab --help", Some("--help"));
        check("lab -- x", Some("-- x"));
        check(
            "--store a --format=json -qv lab corpus stats",
            Some("--store a --format=json -qv corpus stats"),
        );
        check("--quiet --color never lab lab", Some("--quiet --color never lab"));
        check("help lab corpus funnel", Some("help corpus funnel"));
        check("completions bash", Some("completions bash"));
        check("--store a completions man --out b", Some("completions --store a man --out b"));
        check("lab --format json", Some("--format json"));
        check("--format json lab", None);
        check("--store lab", None);
        check("--store lab show", None);
        check("--help lab", None);
        check("-qh lab", None);
        check("--version lab", None);
        check("-- lab", None);
        check("--stores lab", None);
        check("show lab", None);
        check("help show", None);
        check("help", None);
        check("", None);
    }
}
