//! Tasks with steps on disk.

use std::fs;

use tempfile::TempDir;

use super::*;

const TOML: &str = "schema_version = \"1.4\"\n[task]\nname = \"group/ledger\"\n";

/// A task folder with files; a later entry replaces an earlier one, or removes it (`None`).
fn write(files: &[(&str, Option<&str>)]) -> (TempDir, PathBuf) {
    let temp = TempDir::new().unwrap();
    let root = temp.path().join("ledger");
    for (path, text) in files {
        let file = root.join(path);
        match text {
            Some(text) => {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            None if file.is_dir() => fs::remove_dir_all(file).unwrap(),
            None => fs::remove_file(file).unwrap(),
        }
    }
    (temp, root)
}

fn codes(task: &Task) -> Vec<&str> {
    task.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

/// Two steps; the first has its own tests and solution, the second the task's.
fn stepped(changes: &[(&str, Option<&str>)]) -> (TempDir, PathBuf) {
    let toml = format!(
        "{TOML}[agent]\ntimeout_sec = 60\n[verifier.env]\nA = \"1\"\n\
         [[steps]]\nname = \"one\"\nmin_reward = 1\n[steps.agent]\ntimeout_sec = 5\n\
         [steps.verifier]\ntimeout_sec = 7\n[steps.verifier.env]\nB = \"2\"\n[[steps]]\nname = \"two\"\n"
    );
    let plain = [
        ("task.toml", Some(toml.as_str())),
        ("environment/Dockerfile", Some("FROM python:3.12-slim\nWORKDIR /app\nCOPY data.csv .\n")),
        ("environment/data.csv", Some("a,b\n")),
        ("tests/test.sh", Some("echo 1 > /logs/verifier/reward.txt\n")),
        ("solution/solve.sh", Some("true\n")),
        ("tests/helper.sh", Some("shared\n")),
        ("steps/one/instruction.md", Some("First.\n")),
        ("steps/one/tests/test.sh", Some("one\n")),
        ("steps/one/solution/solve.sh", Some("one\n")),
        ("steps/two/instruction.md", Some("Second.\n")),
        ("steps/two/workdir/setup.sh", Some("true\n")),
    ];
    write(&plain.iter().chain(changes).copied().collect::<Vec<_>>())
}

#[test]
fn each_step_is_a_task_of_its_own() {
    let (_temp, root) = stepped(&[]);
    let task = Task::load(&root).unwrap();
    assert_eq!(codes(&task), ["multi-step"]);
    assert_eq!(task.instruction, "First.\n\nSecond.");
    assert!(task.solution_digest.is_some());
    let (one, two) = (task.of_step(0).unwrap(), task.of_step(1).unwrap());
    assert!(task.of_step(2).is_none());
    assert_eq!((one.instruction.as_str(), two.instruction.as_str()), ("First.\n", "Second.\n"));
    let times = |task: &Task| (task.config.agent_timeout, task.config.verifier_timeout);
    assert_eq!((times(&one), times(&two)), ((Some(5.0), 7.0), (Some(60.0), 600.0)));
    assert_eq!((one.config.verifier_env.len(), two.config.verifier_env.len(), one.steps.len()), (2, 1, 0));
    assert_eq!(one.solution_folder(), root.join("steps/one/solution"));
    assert_eq!(two.solution_folder(), root.join("solution"));
    // The tests of one step are no part of another's.
    let tests = |task: &Task| {
        let into = TempDir::new().unwrap();
        task.lay_out_tests(into.path()).unwrap();
        ["test.sh", "helper.sh"].map(|name| fs::read_to_string(into.path().join(name)).unwrap())
    };
    assert_eq!(tests(&one), ["one\n", "shared\n"]);
    assert_eq!(tests(&two), ["echo 1 > /logs/verifier/reward.txt\n", "shared\n"]);
    let into = TempDir::new().unwrap();
    assert!(!task.lay_out_step_files(0, into.path()).unwrap());
    assert!(task.lay_out_step_files(1, into.path()).unwrap() && into.path().join("setup.sh").is_file());
    // Solutions change what the oracle does, and nothing else.
    let changed = stepped(&[("steps/one/solution/solve.sh", Some("other\n"))]);
    let changed = Task::load(&changed.1).unwrap();
    assert_eq!(changed.digest, task.digest);
    assert_ne!(changed.solution_digest, task.solution_digest);
    let tests = stepped(&[("steps/one/tests/test.sh", Some("other\n"))]);
    let tests = Task::load(&tests.1).unwrap();
    assert_ne!((tests.digest, tests.tests_digest), (task.digest, task.tests_digest));
}

#[test]
fn incomplete_steps_are_errors() {
    let check = |changes: &[(&str, Option<&str>)], part: &str| {
        let (_temp, root) = stepped(changes);
        let error = Task::load(&root).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    check(&[("steps/two", None)], "steps/two: the folder of a step is not there");
    check(&[("steps/two/instruction.md", None)], "steps/two/instruction.md: not there");
    check(&[("steps/two/instruction.md", Some(" \n"))], "steps/two/instruction.md: empty");
    check(&[("tests/test.sh", None)], "steps/two/tests/test.sh: not there");
    let (_temp, root) = stepped(&[("steps/one/solution", None), ("solution", None)]);
    let task = Task::load(&root).unwrap();
    assert_eq!((codes(&task), task.solution_digest), (vec!["solution-missing", "multi-step"], None));
}
