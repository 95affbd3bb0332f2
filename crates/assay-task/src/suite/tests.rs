//! Suites on disk.

use tempfile::TempDir;

use super::*;

fn tree(files: &[&str]) -> TempDir {
    let temp = TempDir::new().unwrap();
    for path in files {
        let at = temp.path().join(path);
        if path.ends_with('/') {
            fs::create_dir_all(at).unwrap();
        } else if let Some(task) = path.strip_suffix("!") {
            // A complete task.
            for (file, text) in [
                ("task.toml", "schema_version = \"1.4\"\n[task]\nname = \"a/b\"\n"),
                ("instruction.md", "x"),
                ("environment/Dockerfile", "FROM x\nWORKDIR /app\n"),
                ("tests/test.sh", "x"),
                ("solution/solve.sh", "x"),
            ] {
                let file = temp.path().join(task).join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
        } else {
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, "").unwrap();
        }
    }
    temp
}

const FILES: [&str; 9] = [
    "tasks/b!",
    "tasks/a!",
    "tasks/README.md",
    "tasks/.hidden/",
    "more/deep/c!",
    "more/deep/d!",
    "broken/no-toml/instruction.md",
    "broken/e!",
    "empty/",
];

#[test]
fn patterns_match_tasks() {
    let temp = tree(&FILES);
    let check = |patterns: &[&str], tasks: &[&str], problems: &[&str]| {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let suite = Suite::load(&patterns, temp.path());
        let found: Vec<_> = suite.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(found, tasks, "{patterns:?}");
        let unreadable = suite.unreadable.iter().map(|unreadable| &unreadable.error);
        let all: Vec<&TaskError> = unreadable.chain(&suite.problems).collect();
        assert_eq!(all.len(), problems.len(), "{patterns:?}: {all:?}");
        for (problem, part) in all.iter().zip(problems) {
            assert!(
                problem.to_string().contains(part) && !problem.hint().is_empty(),
                "{patterns:?}: {problem}"
            );
        }
    };
    check(&["tasks/*"], &["a", "b"], &[]);
    check(&["tasks"], &["a", "b"], &[]);
    check(&["tasks/a"], &["a"], &[]);
    check(&["./tasks/../tasks/a/", "tasks/*"], &["a", "b"], &[]);
    check(&["tasks/[ab]", "more/*"], &["a", "b", "c", "d"], &[]);
    check(&["*/deep/?"], &["c", "d"], &[]);
    check(&["**"], &["a", "b", "c", "d", "e"], &[]);
    check(&["more/**"], &["c", "d"], &[]);
    check(&["empty/**"], &[], &["no task in it or its subfolders"]);
    check(&["broken/*"], &["e"], &["no-toml is not a task: it has no task.toml"]);
    check(&["broken"], &["e"], &["no-toml is not a task"]);
    check(&["tasks/.*"], &[], &[".hidden is not a task"]);
    check(&["empty"], &[], &["empty is not a task"]);
    check(&["none"], &[], &["matches no folder"]);
    check(&["none/*"], &[], &["matches no folder"]);
    check(&["tasks/README.md"], &[], &["matches a file"]);
    check(&["[a"], &[], &["matches no folder"]);
    check(&["more"], &[], &["more is not a task"]);
    check(&[], &[], &[]);
    // `!` excludes its matches, wherever it is in the list, also unreadable ones.
    check(&["tasks/*", "!tasks/b"], &["a"], &[]);
    check(&["!tasks/b", "tasks"], &["a"], &[]);
    check(&["**", "!more", "!tasks/[b]"], &["a", "e"], &[]);
    check(&["broken/*", "!broken/no-*"], &["e"], &[]);
    check(&["tasks/*", "!tasks/*"], &[], &[]);
    check(&["tasks/*", "!tasks/zzz*"], &["a", "b"], &["matches no folder"]);
    check(&[temp.path().join("tasks/a").to_str().unwrap()], &["a"], &[]);
}

#[test]
fn duplicate_task_names_are_a_problem() {
    let temp = tree(&["x/a!", "y/a!"]);
    let suite = Suite::load(&["x".to_owned(), "y".to_owned()], temp.path());
    assert_eq!(suite.tasks.len(), 1);
    let [TaskError::Duplicate { name, first, second }] = &suite.problems[..] else {
        panic!("{:?}", suite.problems)
    };
    assert_eq!((name.as_str(), first, second), ("a", &temp.path().join("x/a"), &temp.path().join("y/a")));
}

#[test]
fn links_to_a_task_resolve_to_it() {
    let temp = tree(&["tasks/a!"]);
    std::os::unix::fs::symlink("a", temp.path().join("tasks/again")).unwrap();
    std::os::unix::fs::symlink("..", temp.path().join("tasks/loop")).unwrap();
    let suite = Suite::load(&["tasks/a*".to_owned()], temp.path());
    assert_eq!((suite.tasks.len(), suite.problems.len()), (1, 0));
    assert_eq!(Suite::load(&["**".to_owned()], temp.path()).tasks.len(), 1);
}

#[test]
fn folders_expand_without_loading_tasks() {
    let temp = tree(&FILES);
    assert_eq!(folders("*/deep", temp.path()), [temp.path().join("more/deep")]);
    assert_eq!(folders("tasks/README.md", temp.path()), Vec::<PathBuf>::new());
}

#[test]
fn invalid_and_too_large_patterns_match_nothing() {
    let root = tree(&["tasks/a/task.toml"]);
    for pattern in ["tasks/[a".to_owned(), format!("tasks/{}", "[^a-z]*".repeat(100_000))] {
        assert_eq!(expand(&pattern, root.path()), Vec::<PathBuf>::new());
    }
}
