//! What a shell command does, told from its text.

use super::Verb;

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

/// Words before a program.
const PREFIXES: [&str; 10] =
    ["sudo", "time", "timeout", "env", "nice", "command", "exec", "xargs", "npx", "uv"];

/// What a command does, and to what: the first of its parts that does more than change folder or print.
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
            file.map_or_else(|| words.join(" "), |file| super::action::path(file))
        };
        let found = if let Some(file) = redirected(&part) {
            (Verb::Write, super::action::path(file))
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
    let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        program,
        "python" | "node" | "bash" | "sh" | "zsh" | "ruby" | "perl" | "php" | "poetry" | "pipenv"
    )
}

/// The file that a part's output is written to.
fn redirected(part: &str) -> Option<&str> {
    let words: Vec<&str> = part.split_whitespace().collect();
    let at = words.iter().position(|word| matches!(*word, ">" | ">>"))?;
    words.get(at + 1).copied().filter(|file| !file.starts_with("/dev/") && !file.starts_with('&'))
}

/// The program of a simple command by its bare name, and what follows it.
fn program<'a>(words: &'a [&'a str]) -> Option<(&'a str, &'a [&'a str])> {
    let is_prefix = |word: &str| {
        PREFIXES.contains(&word)
            || word.starts_with('-')
            || word.contains('=')
            || word.chars().all(|c| c.is_ascii_digit())
    };
    let at = words.iter().position(|word| !is_prefix(word) && *word != "run")?;
    Some((words[at].rsplit('/').next().unwrap_or(words[at]), &words[at + 1..]))
}

/// The simple commands of a command, without the text of here-documents. Quotes are respected, nothing is expanded.
fn parts(command: &str) -> Vec<String> {
    let command = command.split("<<").next().unwrap_or(command);
    let mut parts = vec![String::new()];
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, ';' | '|' | '\n' | '(' | ')') => parts.push(String::new()),
            (None, '&') => {
                // `2>&1` is one word, `a && b` is two commands.
                let last = parts.last_mut().expect("there is always a part");
                if last.ends_with('>') { last.push(c) } else { parts.push(String::new()) }
            }
            (_, c) => parts.last_mut().expect("there is always a part").push(c),
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
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
