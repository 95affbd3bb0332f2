//! Too few tests to distinguish work from luck, and more than need be read.

use std::path::PathBuf;

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::{Subject, Text};

/// SkillsBench asks for fewer than ten tests unless more are justified (appendix B.5 of its paper): each is to test something
/// of its own.
pub(super) const MANY_TESTS: TaskRule = TaskRule {
    code: "many-tests",
    levels: "info",
    summary: "ten tests or more, as far as they can be counted, and no `many_tests = \"reason\"` under `[metadata.assay]`",
    is_opt_in: false,
    check: check_many,
};

fn check_many(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    if has_reason(subject, "many_tests") {
        return;
    }
    let count = Count::of(subject);
    let tests = count.tests();
    let Some(file) = count.file.filter(|_| tests >= MANY) else { return };
    let message = format!("{tests} tests, {MANY} or more");
    let hint = "merge tests of one requirement, or set `many_tests = \"reason\"` under `[metadata.assay]`";
    found.push(Finding::new(Severity::Info, MANY_TESTS.code, file, message, hint));
}

/// Whether the task states a reason under a key.
fn has_reason(subject: &Subject<'_>, key: &str) -> bool {
    let reason = subject.task.config.metadata.get("assay").and_then(|own| own.get(key));
    reason.and_then(toml::Value::as_str).is_some_and(|reason| !reason.trim().is_empty())
}

pub(super) const RULE: TaskRule = TaskRule {
    code: "few-tests",
    levels: "warn, info",
    summary: "fewer than three tests or assertions (info: they cannot be counted in the text), and no `few_tests = \"reason\"` under `[metadata.assay]`",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    if has_reason(subject, "few_tests") {
        return;
    }
    let Some(first) = subject.tests.iter().find(|text| text.is_code()) else { return };
    let count = Count::of(subject);
    let tests = count.tests();
    let checks = tests.max(count.asserts);
    if tests >= MANY {
        return;
    }
    let hint = "test more of the requirements, or set `few_tests = \"reason\"` under `[metadata.assay]`";
    let file = count.file.unwrap_or_else(|| first.file.clone());
    // A script that is run may contain any number of tests: those of another file, or one for
    // each entry of a list.
    let elsewhere = count.runs && count.named == 0 && count.asserts == 0;
    let (level, message) = if count.open || elsewhere || tests == 0 {
        (Severity::Info, format!("the number of tests cannot be counted in the text: at least {tests}"))
    } else {
        if checks >= LEAST {
            return;
        }
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let asserts = if checks > tests { format!(" with {checks} assertions") } else { String::new() };
        (
            Severity::Warning,
            format!("{tests} test{}{asserts}, fewer than {LEAST}: a guess can pass", plural(tests)),
        )
    };
    found.push(Finding::new(level, RULE.code, file, message, hint));
}

/// From this number on, tests need a reason.
const MANY: usize = 10;
/// With fewer tests or assertions than this a lucky guess can pass.
const LEAST: usize = 3;

#[derive(Default)]
struct Count {
    /// `def test_…`, `it(…)`, functions under a decorator such as `@check`.
    named: usize,
    /// Conditions of shell scripts.
    shell: usize,
    /// `assert` outside of named tests.
    asserts: usize,
    /// Whether a shell script runs programs or loops.
    runs: bool,
    /// Whether tests are made in a loop or from parameters.
    open: bool,
    file: Option<PathBuf>,
}

impl Count {
    /// The tests of a task.
    fn of(subject: &Subject<'_>) -> Self {
        let mut count = Self::default();
        for text in subject.tests.iter().filter(|text| text.is_code()) {
            count.add(text);
        }
        count
    }

    /// Asserts count only if nothing has a name: a test may contain many of them.
    fn tests(&self) -> usize {
        if self.named > 0 { self.named } else { self.shell.max(self.asserts) }
    }

    fn add(&mut self, text: &Text) {
        let before = self.tests();
        let mut looping = None;
        for (_, line) in text.lines() {
            let trimmed = line.trim_start();
            let indent = line.len() - trimmed.len();
            if trimmed.is_empty() {
                continue;
            }
            if looping.is_some_and(|outer| indent <= outer) {
                looping = None;
            }
            if text.is_shell() {
                self.shell += usize::from(is_condition(trimmed));
                let programs = ["pytest", "python", "node ", "npm ", "cargo ", "go test", "make "];
                self.runs |= trimmed.starts_with("for ")
                    || trimmed.starts_with("while ")
                    || (!trimmed.starts_with('#')
                        && programs.iter().any(|program| trimmed.contains(program)));
                continue;
            }
            let starts = |parts: &[&str]| parts.iter().any(|part| trimmed.starts_with(part));
            if starts(&[
                "def test_",
                "async def test_",
                "it(",
                "it.each",
                "test(",
                "test.each",
                "@check",
                "@test",
                "func Test",
                "#[test]",
            ]) {
                self.named += 1;
            }
            if starts(&[
                "@pytest.mark.parametrize",
                "it.each",
                "test.each",
                "with self.subTest",
                "@parameterized",
            ]) {
                self.open = true;
            }
            if looping.is_some() && starts(&["check(", "test(", "self.assert", "assert ", "add_test("]) {
                self.open = true;
            }
            if starts(&["for "]) && looping.is_none() {
                looping = Some(indent);
            }
            self.asserts +=
                usize::from(starts(&["assert ", "assert(", "self.assert", "expect(", "np.testing.assert"]));
        }
        if self.tests() > before && self.file.is_none() {
            self.file = Some(text.file.clone());
        }
    }
}

/// Whether a line of a shell script decides something.
fn is_condition(line: &str) -> bool {
    let tests = ["[ ", "[[ ", "test ", "grep -q", "grep -Fq", "cmp ", "diff ", "! grep", "assert", "check "];
    let bare = line.strip_prefix("if ").or_else(|| line.strip_prefix("elif ")).unwrap_or(line);
    let bare = bare.strip_prefix("! ").unwrap_or(bare);
    // A guard for a program that the verifier itself needs does not test the agent.
    tests.iter().any(|test| bare.starts_with(test))
        && !line.contains("-x ")
        && !line.contains("$PWD")
        && !line.contains("$?")
}
