//! The tutorials of docs/guide, command by command, as a reader follows them in a clone of the project.
//! What a block shows as output must be in what its command prints.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::blocks::{Line, commands};
use super::{project, shell, with_examples};
use crate::fixture::{Fixture, needs_bubblewrap};

/// Commands of the tutorials that are not executed here, and why.
const EXCLUDED: &[(&str, &str)] = &[
    ("git clone", "clones this project"),
    ("cargo install", "builds a release"),
    ("assay run ../docker/experiment.toml", "docs::the_example_in_docker_runs"),
    ("assay draft run", "draft_run"),
    ("assay view --draft", "view"),
    ("assay init ci", "gate"),
    ("assay gate", "gate"),
];

/// The documents whose commands are all executed in one clone, in their order.
pub(super) const TUTORIALS: [&str; 3] =
    ["docs/guide/library-maintainer.md", "docs/guide/researcher.md", "docs/guide/skill-author.md"];

/// Jobs of Harbor in the reader's home: five tasks without skills, and again with them.
fn with_jobs(lab: &Fixture) {
    for (job, reward) in [("baseline", 0.0), ("with-skills", 1.0)] {
        for task in 1..=5 {
            let name = format!("task-{task}");
            let result: Value = json!({
                "id": format!("{job}-{task}"), "task_name": name, "trial_name": format!("{name}__1"),
                "task_id": { "path": format!("tasks/{name}") }, "source": null, "task_checksum": "00",
                "config": { "agent": { "name": "claude-code", "skills": [] } },
                "agent_info": { "name": "claude-code", "version": "2.0", "model_info": { "name": "opus", "provider": "anthropic" } },
                "agent_result": { "n_input_tokens": 100, "n_cache_tokens": 40, "n_output_tokens": 7, "cost_usd": 0.5 },
                "verifier_result": { "rewards": { "reward": reward } }, "exception_info": null,
                "started_at": "2026-01-15T10:00:00Z", "finished_at": "2026-01-15T10:01:00Z",
                "agent_execution": { "started_at": "2026-01-15T10:00:10Z", "finished_at": "2026-01-15T10:00:40Z" },
                "verifier": { "started_at": "2026-01-15T10:00:40Z", "finished_at": "2026-01-15T10:00:50Z" },
            });
            lab.write(&format!("home/jobs/{job}/{name}__1/result.json"), result.to_string());
            lab.write(&format!("home/jobs/{job}/{name}__1/trial.log"), "");
        }
        lab.write(&format!("home/jobs/{job}/config.json"), json!({ "job_name": job }).to_string());
    }
    let table =
        "task,condition,score\na,without-skill,0\na,with-skill,1\nb,without-skill,1\nb,with-skill,1\n";
    lab.write("home/results.csv", table);
}

/// A text with each run of white space as one blank.
fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first line of `expected` that is not in `printed` after the lines before it. `…` stands for anything.
fn missing<'a>(expected: &'a [String], printed: &str) -> Option<&'a str> {
    let printed = collapse(printed);
    let mut rest = printed.as_str();
    for line in expected {
        for part in line.split('…').map(collapse).filter(|part| !part.is_empty()) {
            let Some((_, after)) = rest.split_once(&part) else { return Some(line) };
            rest = after;
        }
    }
    None
}

#[test]
fn expected_output_is_found_in_order_and_whatever_the_line_breaks() {
    let check = |expected: &[&str], printed: &str, result: Option<&str>| {
        let expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(missing(&expected, printed), result, "{expected:?} in {printed:?}");
    };
    check(&[], "", None);
    check(&["a b", "c"], "x\na\n  b\nc d", None);
    check(&["c", "a b"], "a b c", Some("a b"));
    check(&["  a … c"], "a b b c", None);
    check(&["a … c"], "a b b", Some("a … c"));
}

/// Executes the commands of a document in one clone, and returns what each has printed.
fn follow(document: &str) -> Vec<(Line, String)> {
    let lab = with_examples();
    with_jobs(&lab);
    let mut folder = PathBuf::new();
    let mut printed = Vec::new();
    for line in commands(project()).into_iter().filter(|line| line.document == document) {
        if EXCLUDED.iter().any(|(beginning, _)| line.text.starts_with(beginning)) {
            continue;
        }
        if let Some(next) = line.text.strip_prefix("cd ") {
            folder.push(next);
            assert!(lab.path("").join(&folder).is_dir(), "{document}: {}", line.text);
            continue;
        }
        let output = shell(&lab, &format!("cd \"./{}\"\n{}", folder.display(), line.text));
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(line.status), "{document}: {}\n{text}", line.text);
        let absent = missing(&line.output, &text);
        assert_eq!(absent, None, "{document}: not printed by `{}`:\n{text}", line.text);
        printed.push((line, text));
    }
    printed
}

/// The block of README.md that shows a verdict.
fn picture() -> Vec<String> {
    let text = std::fs::read_to_string(project().join("README.md")).unwrap();
    let (_, after) = text.split_once("```console\n").unwrap();
    let (block, _) = after.split_once("```").unwrap();
    block.lines().map(str::to_owned).collect()
}

#[test]
fn the_tutorial_for_skill_authors_works_and_readme_shows_its_verdict() {
    needs_bubblewrap!();
    let printed = follow("docs/guide/skill-author.md");
    let (_, report) = printed.iter().find(|(line, _)| line.text == "assay report quickstart").unwrap();
    let picture = picture();
    assert!(picture.len() > 2, "{picture:?}");
    assert_eq!(missing(&picture, report), None, "README.md shows what is not printed:\n{report}");
    // scripts/quickstart runs the experiment that this tutorial runs.
    let script = std::fs::read_to_string(project().join("scripts/quickstart")).unwrap();
    assert!(script.contains("assay\" run examples/quickstart/experiment.toml"));
}

#[test]
fn the_tutorial_for_maintainers_works() {
    needs_bubblewrap!();
    follow("docs/guide/library-maintainer.md");
}

#[test]
fn the_tutorial_for_researchers_works() {
    needs_bubblewrap!();
    follow("docs/guide/researcher.md");
}

#[test]
fn every_tutorial_has_a_test_and_every_exclusion_a_command() {
    let lines = commands(project());
    for document in TUTORIALS {
        assert!(Path::new(&project().join(document)).exists(), "{document}");
        assert!(lines.iter().any(|line| line.document == document), "{document} has no commands");
    }
    for (beginning, reason) in EXCLUDED {
        let is_used =
            |line: &Line| TUTORIALS.contains(&line.document.as_str()) && line.text.starts_with(beginning);
        assert!(lines.iter().any(is_used) && !reason.is_empty(), "{beginning}");
    }
}
