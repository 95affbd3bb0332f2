//! Classifies a shell command by its text.

use assay_syntax::shell::{self, Source, commands, interpreter, program_name};

use super::verb::Verb;

/// Programs that only show what is there.
const READERS: [&str; 9] = ["cat", "head", "tail", "less", "more", "nl", "bat", "sed", "awk"];

/// Programs that look for something.
const SEARCHERS: [&str; 9] = ["ls", "find", "grep", "rg", "tree", "fd", "which", "wc", "stat"];

/// Programs whose every run is a check.
const CHECKERS: [&str; 27] = [
    "pytest",
    "tox",
    "nox",
    "jest",
    "mocha",
    "vitest",
    "jasmine",
    "ava",
    "rspec",
    "phpunit",
    "ctest",
    "bats",
    "shellcheck",
    "tsc",
    "eslint",
    "ruff",
    "mypy",
    "flake8",
    "pylint",
    "yamllint",
    "hadolint",
    "golangci-lint",
    "unittest",
    "py_compile",
    "promtool",
    "kubeval",
    "actionlint",
];

/// Programs that check with one of some words among their first arguments.
const DRIVERS: [(&[&str], &[&str]); 6] = [
    (&["npm", "yarn", "pnpm", "bun", "deno"], &["test", "build", "lint", "check", "typecheck"]),
    (&["cargo", "go"], &["test", "build", "check", "clippy", "vet", "nextest"]),
    (&["mvn", "mvnw", "gradle", "gradlew"], &["test", "compile", "verify", "build", "check", "package"]),
    (&["make", "just", "ninja", "bazel", "cmake"], &["test", "tests", "check", "build", "lint", "all"]),
    (
        &["dbt", "dotnet", "terraform", "helm", "kubectl"],
        &["test", "build", "compile", "parse", "validate", "lint"],
    ),
    (&["rails", "rake", "mix", "swift", "sbt", "php", "composer"], &["test", "spec", "build"]),
];

/// What a command does, and to what: the first of its parts that does more than change folder or
/// print.
pub(super) fn classify(command: &str) -> (Verb, String) {
    let mut first = None;
    for part in parts(command) {
        let words: Vec<&str> = part.split_whitespace().collect();
        let Some((program, arguments)) = program(&words) else { continue };
        if matches!(program, "cd" | "echo" | "printf" | "export" | "set" | "true" | "sleep" | "source" | ".")
            && !part.contains('>')
        {
            continue;
        }
        let target = || {
            let file = arguments
                .iter()
                .rev()
                .find(|word| !word.starts_with('-') && (word.contains('/') || word.contains('.')));
            file.map_or_else(|| words.join(" "), |file| path(file))
        };
        let found = if let Some(file) = redirected(&words) {
            (Verb::Write, path(file))
        } else if READERS.contains(&program) && !(program == "sed" && arguments.contains(&"-i")) {
            (Verb::Read, target())
        } else if SEARCHERS.contains(&program) {
            (Verb::Search, words.join(" "))
        } else if program == "sed"
            || matches!(program, "rm" | "mv" | "cp" | "tee" | "touch" | "mkdir" | "chmod")
        {
            (Verb::Write, target())
        } else {
            return (Verb::Run, words.join(" "));
        };
        first.get_or_insert(found);
    }
    first.unwrap_or_else(|| (Verb::Run, command.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// Whether a command checks what was made: a test, a build, a linter, an interpreter's dry run.
pub(super) fn is_check(command: &str) -> bool {
    parts(command).iter().any(|part| {
        let words: Vec<&str> = part.split_whitespace().collect();
        let Some((program, arguments)) = program(&words) else { return false };
        let near = || arguments.iter().take(4).map(|word| word.split(':').next().unwrap_or(word));
        let driver = || {
            DRIVERS.iter().any(|(programs, words)| {
                programs.contains(&program) && near().any(|word| words.contains(&word))
            })
        };
        let module = || is_interpreter(program) && near().any(|word| CHECKERS.contains(&word));
        let dry = || {
            matches!(
                (program, arguments.first()),
                ("bash" | "sh", Some(&"-n")) | ("node", Some(&("--check" | "--test")))
            )
        };
        let script = || {
            let ran = if is_interpreter(program) {
                arguments.iter().find(|word| !word.starts_with('-')).copied()
            } else {
                Some(words[0])
            };
            ran.and_then(|ran| ran.rsplit('/').next()).is_some_and(is_test_file)
        };
        CHECKERS.contains(&program) || driver() || module() || dry() || script()
    })
}

fn is_test_file(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    name.contains('.') && stem.split(['_', '-']).any(|word| matches!(word, "test" | "tests" | "spec"))
}

fn is_interpreter(program: &str) -> bool {
    interpreter(program).is_some() || matches!(program, "poetry" | "pipenv")
}

/// The file that a part's output is written to.
fn redirected<'p>(words: &[&'p str]) -> Option<&'p str> {
    let at = words.iter().position(|word| matches!(*word, ">" | ">>"))?;
    words.get(at + 1).copied().filter(|file| !file.starts_with("/dev/") && !file.starts_with('&'))
}

/// The program of a simple command by its bare name, and what follows it. Runners such as `npx` and
/// `uv run` are passed over.
fn program<'a>(words: &'a [&'a str]) -> Option<(&'a str, &'a [&'a str])> {
    let is_runner = |word: &str| {
        matches!(word, "npx" | "uv" | "run")
            || word.starts_with('-')
            || word.contains('=')
            || word.chars().all(|c| c.is_ascii_digit())
    };
    let words = shell::program(words);
    let at = words.iter().position(|word| !is_runner(word))?;
    Some((program_name(words[at]), &words[at + 1..]))
}

/// The words of the simple commands up to the first here-document: what an agent does after writing
/// a file by one is not distinguished from the file. A quoted argument counts as several words, so
/// that `bash -c 'pytest -q'` is a check.
fn parts(command: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for mut simple in commands(command, Source::Command) {
        simple.words.truncate(simple.here_document.unwrap_or(simple.words.len()));
        parts.push(simple.words.join(" "));
        if simple.here_document.is_some() {
            break;
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// A path without what does not matter.
pub(super) fn path(path: &str) -> String {
    path.trim_matches(['"', '\'']).trim_start_matches("./").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_what_its_first_telling_part_does() {
        let check = |command: &str, verb: Verb, target: &str| {
            assert_eq!(classify(command), (verb, target.to_owned()), "{command}");
        };
        check("cd /w/x && cat src/a.rs | head -5", Verb::Read, "src/a.rs");
        check("ls  -la tests/", Verb::Search, "ls -la tests/");
        check("cat > out/a.txt <<'EOF'\nrm -rf x\nEOF", Verb::Write, "out/a.txt");
        check("sed -i s/a/b/ ./src/a.rs", Verb::Write, "src/a.rs");
        check("ls src; pytest -q", Verb::Run, "pytest -q");
        check("grep -rn 'a; b' src", Verb::Search, "grep -rn a; b src");
        check("", Verb::Run, "");
        check("echo done", Verb::Run, "echo done");
    }

    #[test]
    fn checks_are_told_by_program_and_not_by_letters() {
        for command in [
            "pytest -q",
            "cd x && python3 -m pytest tests",
            "npm run test:unit",
            "cd ghost/core && yarn test:single a.js",
            "./mvnw -q compile 2>&1 | tail -5",
            "go vet ./...",
            "bash -n script.sh",
            "python test_fetch.py",
            "bash tests/run_tests.sh",
            "timeout 60 cargo nextest run",
            "shellcheck a.sh",
            "npx tsc --noEmit",
            "dbt --quiet parse",
        ] {
            assert!(is_check(command), "{command}");
        }
        for command in [
            "ls tests/",
            "cat latest.txt",
            "mkdir build",
            "git log --grep test",
            "echo 'npm test'",
            "cp a.test.js b",
            "make install",
            "python main.py",
            "grep pytest setup.cfg",
            "",
        ] {
            assert!(!is_check(command), "{command}");
        }
    }
}
