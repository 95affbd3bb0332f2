//! Instructions by the order and the presence of their parts.

use std::fs;

use tempfile::TempDir;

use super::{Context, check as check_task};
use crate::Task;

const TOML: &str = "schema_version = \"1.4\"\n[task]\nname = \"group/sums\"\n";
const INSTRUCTION: &str = "`data.csv` holds amounts, one on a line.\n\nWrite their sum to `/app/out/sum.json`: an object with the key \
    `sum`, which must be a number with two decimals.\n";

/// The findings of one code in a task of these files, as `level line message`.
fn findings(code: &str, files: &[(&str, &str)]) -> Vec<String> {
    let temp = TempDir::new().unwrap();
    let root = temp.path().join("sums");
    let others = [
        ("task.toml", TOML),
        ("environment/Dockerfile", "FROM python:3.12-slim\nWORKDIR /app\nCOPY data.csv .\n"),
        ("environment/data.csv", "1.50\n2.25\n"),
        ("tests/test.sh", "#!/bin/bash\ngrep -q '\"sum\"' /app/out/sum.json\n"),
    ];
    for (path, text) in others.iter().chain(files) {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
    }
    let context = Context { all_rules: true, ..Context::default() };
    let found = check_task(&Task::load(&root).unwrap(), &context);
    let line = |line: Option<usize>| line.map_or(String::new(), |line| format!("{line} "));
    found
        .iter()
        .filter(|finding| finding.code == code)
        .map(|finding| format!("{} {}{}", finding.word(), line(finding.line), finding.message))
        .collect()
}

/// Checks for exactly this finding of a code about an instruction; for none if it is empty.
fn check(code: &str, text: &str, expected: &str) {
    let expected: Vec<&str> = Some(expected).filter(|expected| !expected.is_empty()).into_iter().collect();
    assert_eq!(findings(code, &[("instruction.md", text)]), expected, "{code}: {text}");
}

/// Rules that search for English words have no findings in other languages.
#[test]
fn other_languages_have_no_findings() {
    let german =
        "Bitte die Summe aller Beträge berechnen und dabei leere Zeilen sowie Kommentare überspringen.\n";
    for text in ["修复求和函数，使其忽略空行。\n", german] {
        for code in ["instruction-constraints", "instruction-order"] {
            check(code, text, "");
        }
    }
}

#[test]
fn instructions_without_constraints_are_reported() {
    let say = |text: &str, part: &str| check("instruction-constraints", text, part);
    say("Add the amounts of the list and write the sum to `out/sum.txt`.\n", "warn no constraints");
    say("Add the amounts that are commonly in the list, in the customary way.\n", "warn no constraints");
    say(INSTRUCTION, "");
    for constraint in [
        "Do not change the list.",
        "Don’t change the list.",
        "Use **only** the standard library.",
        "Write at most ten lines.",
        "Finish within a minute.",
        "Keep the list as it is.",
        "Write one amount per line.",
        "Write it in the following format: a number.",
    ] {
        say(&format!("Add the amounts of the list and write the sum to a file.\n\n- {constraint}\n"), "");
    }
    // One step with constraints is enough.
    let steps = |second: &str| {
        let toml = format!("{TOML}[[steps]]\nname = \"one\"\n[[steps]]\nname = \"two\"\n");
        findings(
            "instruction-constraints",
            &[
                ("task.toml", &toml),
                ("steps/one/instruction.md", "Read the list and add the amounts.\n"),
                ("steps/two/instruction.md", second),
            ],
        )
    };
    assert_eq!(steps("Say the sum of the amounts to me.\n"), ["warn no constraints"]);
    assert_eq!(steps("Say the sum, with exactly two decimals.\n"), [""; 0]);
}

#[test]
fn requests_before_their_context_are_reported() {
    let say = |text: &str, part: &str| check("instruction-order", text, part);
    let late = |line: usize, of: usize| {
        format!("warn {line} the request comes before its context: line {of} describes what is given")
    };
    say("Add the amounts.\n\nThe list is located in the folder of the task.\n", &late(1, 3));
    say("Add the amounts. For that, you are given the list, and\nall of it is sorted.\n", &late(1, 1));
    say("# Sums\n\nYour task is to add the amounts in the list.\n\n## Input\n\nA list.\n", &late(3, 5));
    say("Please add them up:\n\n- the list is provided by the user\n", &late(1, 3));
    say("Add the amounts.\n\nInput: a list of them, one on a line.\n", &late(1, 3));
    say("Add the amounts.\n\nInputs:\n- a list of them\n", &late(1, 3));
    // A file that the agent finds, which the sentence describes.
    say("Add the amounts.\n\nThe file `data.csv` contains one on a line.\n", &late(1, 3));
    say(INSTRUCTION, "");
    say("The list is located in the folder of the task.\n\nAdd the amounts.\n", "");
    say("You are an accountant.\nAdd the amounts.\n\nThe list is provided.\n", "");
    say("## Background\n\nAdd the amounts in the list, which is provided.\n\nInputs:\n- one\n", "");
    // What follows describes the result, not what is given.
    say("Write the sum to `sum.txt`.\n\nThe file contains one number.\n", "");
    say("Write the sum to `sum.txt`.\n\nThe output `data.csv` contains one number.\n", "");
    say("Write a tool that adds.\n\n### Standard input\n\nWhen no files are given, it reads there.\n", "");
    say("Add the amounts.\n\n```\nthe list is provided\n```\n\n| the list is provided |\n", "");
    say("Add the amounts in `data.csv`, e.g. the first, which are provided.\n", "");
    say("## Input\n", "");
}
