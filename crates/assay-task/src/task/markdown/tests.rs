//! Tasks of `task.md` on disk.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::task::layout::PARTS;
use crate::{Anchor, NetworkWish, Suite};

type Change<'a> = (&'a str, Option<&'a str>);

const METADATA: &str = r#"{"id": "002", "slug": "hand-over", "target_skill": "compress", "irrelevant_skill": "ledger",
"related_skill": "files", "unrelated_skill": "hosting", "category": "data", "difficulty": "hard", "notes": "why"}"#;
const VERIFY: &str = "grep -q 42 out.txt || exit 12\n";
const RUBRIC_TEXT: &str = r#"{"anchors": [{"value": "E7421", "category": "error"}]}"#;

/// A task folder called `tasks/hand`; `changes` add files or remove them (`None`). A path that
/// begins with `../` is above it.
fn task(changes: &[Change<'_>]) -> (TempDir, PathBuf) {
    let temp = TempDir::new().unwrap();
    let root = temp.path().join("bench/tasks/hand");
    let plain = [
        ("task.md", Some("Write 42 to out.txt.\n")),
        ("metadata.json", Some(METADATA)),
        ("verify.sh", Some(VERIFY)),
        ("starting/in.txt", Some("6 7\n")),
        ("starting/deep/.hidden", Some("x")),
        ("solution/solve.sh", Some("echo 42 > out.txt\n")),
    ];
    fs::create_dir_all(&root).unwrap();
    for (path, text) in plain.iter().chain(changes) {
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

fn load(changes: &[Change<'_>]) -> Task {
    let (_temp, root) = task(changes);
    Task::load(&root).unwrap_or_else(|error| panic!("{error}: {changes:?}"))
}

fn codes(task: &Task) -> Vec<&str> {
    task.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

/// Every file and link below a folder.
fn files(folder: &Path) -> Vec<String> {
    let nodes = tree::walk(folder).nodes.into_iter();
    nodes
        .filter(|node| node.kind != FileKind::Directory)
        .map(|node| node.path.display().to_string())
        .collect()
}

#[test]
fn a_task_is_read() {
    let task = load(&[]);
    assert_eq!(
        (task.layout, task.name.as_str(), task.title.as_str(), task.instruction.as_str()),
        (Layout::TaskMd, "hand", "hand-over", "Write 42 to out.txt.\n")
    );
    assert_eq!((&task.required_skills, task.negative_control), (&vec!["compress".to_owned()], false));
    assert_eq!(
        [&task.negative_skill, &task.related_skill, &task.unrelated_skill]
            .map(|name| name.as_deref().unwrap()),
        ["ledger", "files", "hosting"]
    );
    let metadata = |key: &str| task.config.metadata[key].as_str().unwrap();
    assert_eq!([metadata("difficulty"), metadata("category")], ["hard", "data"]);
    let dockerfile = task.environment.dockerfile.as_ref().unwrap();
    assert!(dockerfile.plain() && dockerfile.workdir == Path::new("/app"));
    assert_eq!(task.environment.image.as_deref(), Some(IMAGE));
    assert_eq!(
        (&task.writable, &task.config.environment.network, task.config.verifier_timeout),
        (&vec![PathBuf::from("/app")], &NetworkWish::None, 600.0)
    );
    assert_eq!(codes(&task), [""; 0], "{:?}", task.diagnostics);
}

#[test]
fn skills_of_a_task_are_read() {
    // (metadata, target, whether a negative control, [negative, related, unrelated], diagnostics)
    let check = |text: &str, target: &[&str], control: bool, others: [Option<&str>; 3], said: &[&str]| {
        let task = load(&[("metadata.json", Some(text))]);
        let names: Vec<&str> = task.required_skills.iter().map(String::as_str).collect();
        assert_eq!((&names[..], task.negative_control), (target, control), "{text}");
        let found = [&task.negative_skill, &task.related_skill, &task.unrelated_skill];
        assert_eq!(found.map(Option::as_deref), others, "{text}");
        assert_eq!(codes(&task), said, "{text}: {:?}", task.diagnostics);
        assert!(task.diagnostics.iter().all(|diagnostic| diagnostic.hint.is_some()));
    };
    let none = [None; 3];
    check(r#"{"target_skill": "a"}"#, &["a"], false, none, &[]);
    check(r#"{"target_skill": [" a ", "b"]}"#, &["a", "b"], false, none, &[]);
    check(r#"{"target_skill": "none"}"#, &[], true, none, &[]);
    check(
        r#"{"target_skill": "None", "irrelevant_skill": "x"}"#,
        &[],
        true,
        [Some("x"), None, Some("x")],
        &[],
    );
    check(
        r#"{"target_skill": "a", "unrelated_skill": "y"}"#,
        &["a"],
        false,
        [Some("y"), None, Some("y")],
        &[],
    );
    check(r#"{"target_skill": "a", "irrelevant_skill": "none"}"#, &["a"], false, none, &[]);
    check("{}", &[], false, none, &["target-skill"]);
    check(r#"{"target_skill": null}"#, &[], false, none, &["target-skill"]);
    check(r#"{"target_skill": 7}"#, &[], false, none, &["metadata-type", "target-skill"]);
    check(r#"{"target_skill": ["a", 7]}"#, &[], false, none, &["metadata-type", "target-skill"]);
    check(r#"{"target_skill": "a", "related_skill": {}}"#, &["a"], false, none, &["metadata-type"]);
    check(r#"{"target_skill": "a", "difficulty": [1]}"#, &["a"], false, none, &["metadata-type"]);
    check(r#"{"target_skill": "a", "taget": null, "id": 7}"#, &["a"], false, none, &["unknown-key"]);
    check("\u{feff}{\"target_skill\": \"a\"}", &["a"], false, none, &["encoding"]);
}

#[test]
fn useless_tasks_are_errors() {
    let check = |changes: &[Change<'_>], part: &str| {
        let (_temp, root) = task(changes);
        let error = Task::load(&root).map(|task| task.name).unwrap_err();
        assert!(error.to_string().contains(part) && !error.hint().is_empty(), "{changes:?}: {error}");
    };
    check(&[("verify.sh", None)], "hand is not a task: it has a task.md but no verify.sh");
    check(
        &[("verify.sh", None), ("metadata.json", None)],
        "it has a task.md but no verify.sh and no metadata.json",
    );
    check(&[("task.md", None)], "hand is not a task: it has no task.toml");
    check(&[("task.md", Some(" \n"))], "task.md: empty");
    check(&[("verify.sh", Some("\n"))], "verify.sh: empty");
    check(&[("metadata.json", Some("{\n \"id\": }"))], "metadata.json:2:8: expected value");
    check(&[("metadata.json", Some(""))], "metadata.json:1:1: EOF while parsing");
    check(&[("metadata.json", Some("[]"))], "metadata.json:1:1: not a JSON object");
    check(&[("metadata.json", Some(&"[".repeat(100_000)))], "recursion limit");
    check(&[("starting", None), ("starting", Some("x"))], "starting: not a folder");
    check(&[("starting/deep/check.sh", Some(VERIFY))], "deep/check.sh: a copy of verify.sh");
    check(
        &[("rubric.json", Some(RUBRIC_TEXT)), ("starting/answers.json", Some(RUBRIC_TEXT))],
        "answers.json: a copy of rubric.json",
    );
    let large = "x".repeat(1 << 21);
    for part in PARTS {
        check(&[(part, Some(&large))], "larger than");
    }
    // A folder of both kinds is read as the other one.
    check(&[("task.toml", Some("a = \n"))], "task.toml:1:5");
}

#[test]
fn linked_work_folder_is_rejected() {
    for target in [".", "..", "/etc", "solution", "nowhere"] {
        let (_temp, root) = task(&[("starting", None)]);
        symlink(target, root.join("starting")).unwrap();
        let error = Task::load(&root).map(|task| task.name).unwrap_err();
        assert!(error.to_string().ends_with("starting: not a folder"), "{target}: {error}");
    }
    let (_temp, root) = task(&[("verify.sh", None)]);
    symlink("/bin/true", root.join("verify.sh")).unwrap();
    assert!(matches!(Task::load(&root), Err(TaskError::Read { .. })));
}

#[test]
fn caller_diagnostics_are_reported() {
    let check = |changes: &[Change<'_>], expected: &[&str]| {
        let found = load(changes);
        assert_eq!(codes(&found), expected, "{changes:?}: {:?}", found.diagnostics);
        assert!(found.diagnostics.iter().all(|diagnostic| diagnostic.hint.is_some()));
    };
    check(&[("solution", None)], &["solution-missing"]);
    check(&[("starting", None)], &["starting-missing"]);
    check(&[("rubric.json", Some("{"))], &["rubric"]);
    check(&[("rubric.json", Some(RUBRIC_TEXT))], &[]);
    check(&[("rubric.json", Some(r#"{"anchors": ["a"], "source_file": "gone.md"}"#))], &["rubric"]);
    check(&[("rubric.json", Some(r#"{"anchors": ["a"], "source_file": "in.txt"}"#))], &[]);
    // A rubric without names reveals nothing.
    check(&[("rubric.json", Some("{}")), ("starting/a.json", Some("{}"))], &["rubric"]);
    check(&[("verify.sh", Some("python3 ../../gone.py"))], &["verifier-reaches-out"]);
}

#[test]
fn work_folder_contains_only_starting() {
    let rules = [
        ("starting/.dockerignore", Some("*")),
        ("starting/skills/x/SKILL.md", Some("---\nname: x\n---\n")),
        ("starting/run.sh", Some("true")),
        ("rubric.json", Some(RUBRIC_TEXT)),
        ("README.md", Some("x")),
    ];
    let (_temp, root) = task(&rules);
    symlink("../verify.sh", root.join("starting/link")).unwrap();
    fs::set_permissions(root.join("starting/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let into = TempDir::new().unwrap();
    let task = Task::load(&root).unwrap();
    assert_eq!(task.lay_out(into.path()).unwrap(), [PathBuf::from("/app")]);
    let expected = [
        "app/.dockerignore",
        "app/deep/.hidden",
        "app/in.txt",
        "app/link",
        "app/run.sh",
        "app/skills/x/SKILL.md",
    ];
    assert_eq!(files(into.path()), expected);
    assert_eq!(fs::read_link(into.path().join("app/link")).unwrap(), Path::new("../verify.sh"));
    assert_eq!(fs::metadata(into.path().join("app/run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    // An empty `starting` is a valid folder.
    let (_temp, root) = self::task(&[("starting", None)]);
    let into = TempDir::new().unwrap();
    Task::load(&root).unwrap().lay_out(into.path()).unwrap();
    assert!(into.path().join("app").is_dir());
}

#[test]
fn grading_files_are_written_separately() {
    let (_temp, root) = task(&[
        ("rubric.json", Some(RUBRIC_TEXT)),
        ("lib/check.py", Some("")),
        ("README.md", Some("x")),
        ("Notes.txt", Some("x")),
        (
            "verify.sh",
            Some("python3 \"$D/../../shared.py\" ../one.sh ../../.env ../../key ../../../far.py ../x/y.py"),
        ),
        ("../one.sh", Some("1")),
        ("../../shared.py", Some("2")),
        ("../../.env", Some("secret")),
        ("../../key", Some("secret")),
        ("../../../far.py", Some("3")),
        ("../x/y.py", Some("4")),
    ]);
    let into = TempDir::new().unwrap();
    let task = Task::load(&root).unwrap();
    assert_eq!(codes(&task), ["verifier-reaches-out"; 4], "{:?}", task.diagnostics);
    task.lay_out_tests(into.path()).unwrap();
    let expected = [
        "shared.py",
        "tasks/one.sh",
        "tasks/task/lib/check.py",
        "tasks/task/metadata.json",
        "tasks/task/rubric.json",
        "tasks/task/starting/deep/.hidden",
        "tasks/task/starting/in.txt",
        "tasks/task/task.md",
        "tasks/task/verify.sh",
        "test.sh",
    ];
    assert_eq!(files(into.path()), expected);
}

#[test]
fn only_scripts_above_tasks_folders_are_shared() {
    // Elsewhere nothing above a task is read.
    let temp = TempDir::new().unwrap();
    let root = temp.path().join("suite/hand");
    fs::create_dir_all(&root).unwrap();
    for (name, text) in [("task.md", "x"), ("metadata.json", METADATA), ("verify.sh", "sh ../one.sh")] {
        fs::write(root.join(name), text).unwrap();
    }
    fs::write(temp.path().join("suite/one.sh"), "1").unwrap();
    assert!(codes(&Task::load(&root).unwrap()).contains(&"verifier-reaches-out"));
    // A link is not a script of its own.
    let (temp, root) = task(&[("verify.sh", Some("sh ../one.sh"))]);
    fs::write(temp.path().join("elsewhere.sh"), "secret").unwrap();
    symlink("../../elsewhere.sh", root.join("../one.sh")).unwrap();
    assert_eq!(codes(&Task::load(&root).unwrap()), ["verifier-reaches-out"]);
}

/// Grades a work folder by `bash tests/test.sh`, with `final_message` from the agent; returns the
/// files of `logs/verifier`.
fn grade(
    changes: &[Change<'_>],
    final_message: Option<&str>,
    prepare: impl FnOnce(&Path),
) -> BTreeMap<String, String> {
    let (_temp, root) = task(changes);
    let task = Task::load(&root).unwrap();
    let site = TempDir::new().unwrap();
    let at = |name: &str| site.path().join(name);
    for folder in ["tests", "logs/agent", "logs/verifier", "fs"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    task.lay_out(&at("fs")).unwrap();
    task.lay_out_tests(&at("tests")).unwrap();
    if let Some(text) = final_message {
        fs::write(at("logs/agent/final.txt"), text).unwrap();
    }
    let work = at("fs/app");
    prepare(&work);
    let run = Command::new("bash").arg(at("tests/test.sh")).current_dir(&work).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    files(&at("logs/verifier"))
        .into_iter()
        .map(|name| (name.clone(), fs::read_to_string(at("logs/verifier").join(name)).unwrap()))
        .collect()
}

#[test]
fn the_exit_status_is_the_reward() {
    let check = |verify: &str, message: Option<&str>, reward: &str, status: &str| {
        let found = grade(&[("verify.sh", Some(verify))], message, |_| {});
        assert_eq!(
            (found["reward.txt"].trim(), found["exit-status.txt"].trim()),
            (reward, status),
            "{verify}"
        );
        assert!(!found.contains_key("reward.json"), "{verify}");
    };
    check("exit 0", None, "1", "0");
    check("exit 12", None, "0", "12");
    check("kill -9 $$", None, "0", "137");
    check("no-such-program", None, "0", "127");
    check("[ -f .runner/final.txt ] && [ ! -s .runner/final.txt ]", None, "1", "0");
    check("grep -qx 'LIMIT=7' .runner/final.txt", Some("LIMIT=7\n"), "1", "0");
    check("grep -qx 'LIMIT=7' .runner/final.txt", Some("LIMIT=70\n"), "0", "1");
    // It is run in the work folder, finds its own folder, and determines the reward only by its
    // status.
    check("grep -q 6 in.txt", None, "1", "0");
    check("[ -f \"$(dirname \"${BASH_SOURCE[0]}\")/metadata.json\" ]", None, "1", "0");
    check(
        "L=$(dirname \"$0\")/../../../logs/verifier; echo '{\"reward\": 1}' > $L/reward.json; exit 3",
        None,
        "0",
        "3",
    );
    check("cat; read line || exit 4", None, "0", "4");
}

#[test]
fn a_shared_verifier_is_found() {
    let verify = "DIR=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\nbash \"$DIR/../../score.sh\" \"$DIR/rubric.json\"\n";
    let score =
        "echo '{\"passed\": true}' > .runner/score.json; echo well > .runner/notes.txt; grep -q E7421 \"$1\"";
    let changes =
        [("verify.sh", Some(verify)), ("../../score.sh", Some(score)), ("rubric.json", Some(RUBRIC_TEXT))];
    let found = grade(&changes, None, |_| {});
    assert_eq!(
        ["reward.txt", "score.json", "notes.txt"].map(|name| found[name].trim()),
        ["1", "{\"passed\": true}", "well"]
    );
}

#[test]
fn agent_files_in_runner_paths_are_ignored() {
    let verify = ("verify.sh", Some("[ -e .runner/score.json ] && exit 0; exit 9"));
    let planted = |prepare: fn(&Path)| {
        let found = grade(&[verify], Some("words"), prepare);
        assert_eq!(found["reward.txt"].trim(), "0", "{found:?}");
        assert!(!found.contains_key("score.json"), "{found:?}");
    };
    planted(|work| {
        fs::create_dir(work.join(".runner")).unwrap();
        fs::write(work.join(".runner/score.json"), "{\"passed\": true}").unwrap();
        fs::set_permissions(work.join(".runner"), fs::Permissions::from_mode(0o555)).unwrap();
    });
    planted(|work| {
        fs::create_dir(work.join("mine")).unwrap();
        fs::write(work.join("mine/score.json"), "{}").unwrap();
        symlink("mine", work.join(".runner")).unwrap();
    });
    planted(|work| fs::write(work.join(".runner"), "in the way").unwrap());
    planted(|work| fs::set_permissions(work, fs::Permissions::from_mode(0o555)).unwrap());
}

#[test]
fn digests_cover_outcome_inputs() {
    let base = load(&[("rubric.json", Some(RUBRIC_TEXT))]);
    // (the change, and whether it changes: task, environment, tests, solution).
    let check = |path: &str, text: Option<&str>, expected: [bool; 4]| {
        let other = load(&[("rubric.json", Some(RUBRIC_TEXT)), (path, text)]);
        let found = [
            other.digest != base.digest,
            other.environment_digest != base.environment_digest,
            other.tests_digest != base.tests_digest,
            other.solution_digest != base.solution_digest,
        ];
        assert_eq!(found, expected, "{path} {text:?}");
    };
    check("task.md", Some("Do it!\n"), [true, false, true, false]);
    check("metadata.json", Some("{}"), [true, false, true, false]);
    // Labels count as files of the tests only.
    let labeled = METADATA.replace("hard", "easy").replace("why", "because");
    check("metadata.json", Some(&labeled), [false, false, true, false]);
    check("metadata.json", Some(&METADATA.replace("ledger", "other")), [true, false, true, false]);
    check("verify.sh", Some("true"), [true, false, true, false]);
    check("rubric.json", Some("{}"), [true, false, true, false]);
    check("helper.py", Some("x"), [true, false, true, false]);
    check("starting/in.txt", Some("c\n"), [true, true, true, false]);
    check("starting/README.md", Some("c\n"), [true, true, true, false]);
    check("starting", None, [true, true, true, false]);
    check("solution/solve.sh", Some("x"), [false, false, false, true]);
    check("solution", None, [false, false, false, true]);
    check("README.md", Some("x"), [false; 4]);
    check("notes.txt", Some("x"), [false; 4]);
    check("reviewer.py", Some("x"), [true, false, true, false]);
    // Files above count only if they are used.
    check("../../shared.py", Some("x"), [false; 4]);
    let shared =
        |text| load(&[("verify.sh", Some("python3 ../../shared.py")), ("../../shared.py", Some(text))]);
    assert_ne!(shared("a").digest, shared("b").digest);
    assert_ne!(shared("a").tests_digest, shared("b").tests_digest);
}

#[test]
fn rubrics_are_read_leniently() {
    let anchor = |value: &str, category: Option<&str>| Anchor {
        value: value.to_owned(),
        category: category.map(str::to_owned),
    };
    let whole = format!(
        r#"{{"schema_version": 1, "task_id": "002", "output_file": "OUT.md", "source_file": "in.md", "source_sha256": "{}",
        "max_bytes": 2500, "min_headings": 6, "anchors": [{{"value": "E7421", "category": "error"}}, "plain"],
        "forbidden": [{{"value": "stale"}}]}}"#,
        "AB".repeat(32)
    );
    let (rubric, said) = Rubric::parse(&whole, Path::new("rubric.json"));
    assert_eq!(said, []);
    assert_eq!(
        rubric,
        Some(Rubric {
            output_file: Some("OUT.md".to_owned()),
            source_file: Some("in.md".to_owned()),
            source_sha256: Some("ab".repeat(32)),
            max_bytes: Some(2500),
            min_headings: Some(6),
            anchors: vec![anchor("E7421", Some("error")), anchor("plain", None)],
            forbidden: vec![anchor("stale", None)],
        })
    );
    let check = |text: &str, expected: &[&str]| {
        let (_, said) = Rubric::parse(text, Path::new("rubric.json"));
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), expected.len(), "{text}: {said:?}");
        for (line, part) in said.iter().zip(expected) {
            assert!(line.contains(part), "{text}: {line}");
        }
    };
    check("{", &["cannot read it: rubric.json:1:1: EOF"]);
    check("[]", &["not a JSON object"]);
    check("{}", &["lists nothing to check"]);
    check(r#"{"anchors": ["a"], "max_bytes": -1}"#, &["`max_bytes` is not an integer"]);
    check(r#"{"anchors": ["a"], "max_bytes": 1.5, "min_headings": "6"}"#, &["`max_bytes`", "`min_headings`"]);
    check(r#"{"anchors": ["a"], "source_sha256": "abc"}"#, &["64 hexadecimal digits"]);
    check(r#"{"anchors": ["a"], "output_file": 1}"#, &["`output_file` is not a string"]);
    check(r#"{"anchors": "a"}"#, &["`anchors` is not a list", "lists nothing"]);
    check(
        r#"{"anchors": ["a", "", {"value": " "}, {"category": "x"}, 7]}"#,
        &["4 of the 5 `anchors` have no text"],
    );
}

#[test]
fn suites_contain_both_kinds() {
    let (temp, root) = task(&[
        ("../other/task.toml", Some("schema_version = \"1.4\"\n[task]\nname = \"a/b\"\n")),
        ("../other/instruction.md", Some("x")),
        ("../other/environment/Dockerfile", Some("FROM x\nWORKDIR /app\n")),
        ("../other/tests/test.sh", Some("true")),
        ("../half/task.md", Some("x")),
    ]);
    let suite = Suite::load(&["bench/tasks".to_owned()], temp.path());
    let found: Vec<_> = suite.tasks.iter().map(|task| (task.name.as_str(), task.layout)).collect();
    assert_eq!(found, [("hand", Layout::TaskMd), ("other", Layout::Harbor)]);
    assert_eq!((suite.unreadable.len(), suite.problems.len()), (1, 0));
    assert!(suite.unreadable[0].error.to_string().contains("half is not a task: it has a task.md"));
    assert!(Task::is_task(&root) && !Task::is_task(&root.join("../half")));
    assert_eq!(Suite::load(&["**".to_owned()], temp.path()).tasks.len(), 2);
}

/// The one that its authors published, with a verifier added if there is none.
#[test]
#[ignore = "needs shared data"]
fn a_published_task_is_read() {
    let health = assay_test::shared("health");
    let inside = "researcher/benchmarks/effectiveness/tasks/001-filesystem-context-offload";
    let found: Vec<PathBuf> = fs::read_dir(&health)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join(inside))
        .filter(|folder| folder.is_dir())
        .collect();
    assert!(!found.is_empty());
    for folder in found {
        let temp = TempDir::new().unwrap();
        let root = temp.path().join("001");
        fs::create_dir(&root).unwrap();
        for name in ["task.md", "metadata.json"] {
            fs::copy(folder.join(name), root.join(name)).unwrap();
        }
        assert!(Task::load(&root).unwrap_err().to_string().contains("no verify.sh"));
        fs::write(root.join("verify.sh"), "grep -q API_RATE_LIMIT= .runner/final.txt\n").unwrap();
        let task = Task::load(&root).unwrap();
        assert_eq!(
            (task.title.as_str(), &task.required_skills[..], task.negative_skill.as_deref()),
            ("filesystem-context-offload", &["filesystem-context".to_owned()][..], Some("bdi-mental-states"))
        );
        assert!(task.instruction.contains("tool_output.txt") && !task.negative_control);
        assert_eq!(codes(&task), ["starting-missing", "solution-missing"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn arbitrary_files_never_panic(
        metadata in proptest::collection::vec(any::<u8>(), 0..60),
        rubric in "[\\[\\]{}\":,a-z0-9 ]{0,40}",
        verify in "(\\.\\./|[a-z./é]|\\.py){0,20}",
        instruction in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let (_temp, root) = task(&[("rubric.json", Some(&rubric)), ("verify.sh", Some(&verify))]);
        fs::write(root.join("task.md"), instruction).unwrap();
        let first = Task::load(&root).map(|task| task.digest).ok();
        prop_assert_eq!(Task::load(&root).map(|task| task.digest).ok(), first);
        fs::write(root.join("metadata.json"), metadata).unwrap();
        if let Err(error) = Task::load(&root) {
            prop_assert!(!error.hint().is_empty(), "{}", error);
        }
    }
}
