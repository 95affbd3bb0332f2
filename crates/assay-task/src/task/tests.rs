//! Tasks on disk.

use std::fs;
use std::os::unix::fs::symlink;

use assay_skill::Severity;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const TOML: &str = "schema_version = \"1.4\"\n[task]\nname = \"group/ledger\"\n";
const DOCKERFILE: &str = "FROM python:3.12-slim\nWORKDIR /app\nCOPY data.csv .\n";

/// A task folder called `ledger`; `changes` add files or remove them (`None`).
fn task(changes: &[(&str, Option<&str>)]) -> (TempDir, PathBuf) {
    let temp = TempDir::new().unwrap();
    let root = temp.path().join("ledger");
    let plain = [
        ("task.toml", Some(TOML)),
        ("instruction.md", Some("Do it.\n")),
        ("environment/Dockerfile", Some(DOCKERFILE)),
        ("environment/data.csv", Some("a,b\n")),
        ("tests/test.sh", Some("echo 1 > /logs/verifier/reward.txt\n")),
        ("solution/solve.sh", Some("true\n")),
    ];
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

fn load(changes: &[(&str, Option<&str>)]) -> Task {
    let (_temp, root) = task(changes);
    Task::load(&root).unwrap_or_else(|error| panic!("{error}: {changes:?}"))
}

fn codes(task: &Task) -> Vec<&str> {
    task.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

const SKILL: &str = "---\nname: x\ndescription: d\n---\nbody\n";

#[test]
fn a_task_is_read() {
    let task =
        load(&[("environment/skills/x/SKILL.md", Some(SKILL)), ("environment/skills/notes.txt", Some(""))]);
    assert_eq!(
        (task.name.as_str(), task.title.as_str(), task.instruction.as_str()),
        ("ledger", "group/ledger", "Do it.\n")
    );
    assert_eq!(task.environment.image.as_deref(), Some("python:3.12-slim"));
    assert!(task.environment.dockerfile.as_ref().unwrap().plain() && task.environment.compose.is_none());
    assert_eq!(task.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["x"]);
    assert_eq!(
        (&task.writable, &task.environment.left_out),
        (&vec![PathBuf::from("/app")], &vec![PathBuf::from("skills")])
    );
    assert_eq!(codes(&task), [""; 0], "{:?}", task.diagnostics);
}

/// A file made on Windows and converted twice has `\r\r\n`; Harbor reads it.
#[test]
fn all_line_ends_are_read() {
    let toml = "schema_version = \"1.4\"\r\r\n[task]\r\nname = \"group/ledger\"\r[agent]\ntimeout_sec = 9\n";
    let found = load(&[("task.toml", Some(toml)), ("instruction.md", Some("\r\n\r\nDo it.\r\nNow.\r\n"))]);
    assert_eq!((found.title.as_str(), found.config.agent_timeout), ("group/ledger", Some(9.0)));
    assert_eq!(found.instruction, "Do it.\nNow.\n");
    assert_eq!(codes(&found), [""; 0], "{:?}", found.diagnostics);
}

#[test]
fn useless_tasks_are_errors() {
    let check = |changes: &[(&str, Option<&str>)], part: &str| {
        let (_temp, root) = task(changes);
        let error = Task::load(&root).map(|task| task.name).unwrap_err();
        assert!(
            error.to_string().contains(part) && !error.hint().is_empty() && error.path().is_some(),
            "{changes:?}: {error}"
        );
    };
    check(&[("task.toml", None)], "ledger is not a task: it has no task.toml");
    check(&[("task.toml", None), ("task.yaml", Some(""))], "older format");
    check(&[("task.toml", Some("a = \n"))], "task.toml:1:5: ");
    check(
        &[("task.toml", Some("[agent]\ntimeout_sec = []\n"))],
        "task.toml:2:15: `agent.timeout_sec` is a TOML array",
    );
    check(&[("instruction.md", None)], "instruction.md: not there");
    check(&[("instruction.md", Some(" \n\t"))], "instruction.md: empty");
    check(&[("instruction.md", Some("<!-- a canary -->\n\n"))], "instruction.md: empty");
    check(&[("tests/test.sh", None)], "tests/test.sh: not there");
    check(&[("tests/test.sh", None), ("tests/rubric.json/x", Some(""))], "tests/test.sh: not there");
    check(&[("tests/test.sh", None), ("tests/test.bat", Some(""))], "Windows");
    check(&[("tests/test.sh", None), ("tests/test.sh/x", Some(""))], "not a regular file");
    check(&[("environment", None)], "environment: not there");
    let (temp, root) = task(&[]);
    assert!(Task::load(&root.join("task.toml")).unwrap_err().to_string().contains("not a folder"));
    assert!(matches!(Task::load(&temp.path().join("none")), Err(TaskError::Read { .. })));
    fs::remove_file(root.join("tests/test.sh")).unwrap();
    symlink("/bin/true", root.join("tests/test.sh")).unwrap();
    assert!(Task::load(&root).is_err());
    fs::remove_file(root.join("instruction.md")).unwrap();
    symlink("/etc/hostname", root.join("instruction.md")).unwrap();
    assert!(matches!(Task::load(&root), Err(TaskError::Read { .. })));
}

#[test]
fn caller_diagnostics_are_reported() {
    let check = |changes: &[(&str, Option<&str>)], expected: &[&str]| {
        let found = load(changes);
        assert_eq!(codes(&found), expected, "{changes:?}: {:?}", found.diagnostics);
        assert!(found.diagnostics.iter().all(|diagnostic| diagnostic.hint.is_some()));
    };
    check(&[("task.toml", Some(""))], &["schema-version", "task-table"]);
    check(&[("solution", None)], &["solution-missing"]);
    check(
        &[("environment/Dockerfile", Some("FROM x\nWORKDIR /a\nRUN true\n"))],
        &["dockerfile-needs-builder"],
    );
    check(&[("environment/Dockerfile", Some("FROM x\n"))], &["workdir-system"]);
    check(&[("environment/Dockerfile", None)], &["environment-undefined"]);
    let compose = |text: &str, expected: &[&str]| {
        check(&[("environment/docker-compose.yaml", Some(text))], expected);
    };
    compose("services: {}\n", &["compose-unsupported"]);
    compose("services: {main: {build: .}}\n", &["compose"]);
    compose("services: {main: {build: ., privileged: true}}\n", &["compose-hostile"]);
    check(
        &[(
            "task.toml",
            Some(&format!("{TOML}[environment]\ngpus = 1\nmcp_servers = [{{}}]\nos = \"windows\"\n")),
        )],
        &["gpus", "windows", "mcp-servers"],
    );
    check(
        &[("steps/one/instruction.md", Some("x")), ("instruction.md", None), ("tests", None)],
        &["multi-step"],
    );
    check(&[("trajectory.json", Some("{}"))], &["prior-conversation"]);
    check(&[("instruction.md", Some("\u{feff}Do it."))], &["encoding"]);
    let baked = "FROM x\nWORKDIR /a\nCOPY skills /root/.claude/skills\n";
    check(
        &[("environment/skills/x/SKILL.md", Some(SKILL)), ("environment/Dockerfile", Some(baked))],
        &["skill-baked"],
    );
    check(&[("environment/skills/y/SKILL.md", Some(SKILL))], &["name-directory"]);
}

#[test]
fn a_prebuilt_image_needs_no_environment() {
    let toml = format!("{TOML}[environment]\ndocker_image = \"ready:1\"\nworkdir = \"/work\"\n");
    let task = load(&[("environment", None), ("task.toml", Some(&toml))]);
    assert_eq!(
        (task.environment.image.as_deref(), &task.writable),
        (Some("ready:1"), &vec![PathBuf::from("/work")])
    );
}

#[test]
fn digests_cover_outcome_inputs() {
    let skilled = ("environment/skills/x/SKILL.md", Some(SKILL));
    let base = load(&[skilled]);
    // (the change, and whether it changes: task, environment, tests, solution).
    let check = |path: &str, text: Option<&str>, expected: [bool; 4]| {
        let other = load(&[skilled, (path, text)]);
        let found = [
            other.digest != base.digest,
            other.environment_digest != base.environment_digest,
            other.tests_digest != base.tests_digest,
            other.solution_digest != base.solution_digest,
        ];
        assert_eq!(found, expected, "{path} {text:?}");
    };
    check("instruction.md", Some("Do it!\n"), [true, false, false, false]);
    check("task.toml", Some(&format!("{TOML}[extra]\nx = 1\n")), [true, false, false, false]);
    check("environment/data.csv", Some("c\n"), [true, true, false, false]);
    check("environment/README.md", Some("c\n"), [true, true, false, false]);
    check("environment/Dockerfile", Some("FROM y\n"), [true, true, false, false]);
    check("tests/test.sh", Some("x"), [true, false, true, false]);
    check("tests/data/.hidden", Some("x"), [true, false, true, false]);
    check("solution/solve.sh", Some("x"), [false, false, false, true]);
    check("solution", None, [false, false, false, true]);
    check("environment/skills/x/SKILL.md", Some("x"), [false; 4]);
    check("environment/skills/x/more.py", Some("x"), [false; 4]);
    check("environment/skills/new/SKILL.md", Some("x"), [false; 4]);
    check("environment/skills", None, [false; 4]);
    check("environment/.claude/skills/z/SKILL.md", Some(SKILL), [true, true, false, false]);
    check("README.md", Some("x"), [false; 4]);
    check("REVIEW/one.txt", Some("x"), [false; 4]);
    check("notes.md", Some("x"), [false; 4]);
    check("notes.txt", Some("x"), [true, false, false, false]);
    // A skill elsewhere counts no more than one in its usual place; that its folder is there does.
    let with = |text| load(&[("environment/.claude/skills/z/SKILL.md", Some(text))]);
    assert_eq!(
        (with("a").digest, with("a").environment_digest),
        (with("b").digest, with("b").environment_digest)
    );
    // Without any SKILL.md, `skills` is data.
    let data = |text| load(&[("environment/skills/table.csv", Some(text))]).digest;
    assert_ne!(data("a"), data("b"));
}

#[test]
fn labels_are_not_in_the_digest() {
    let with = |more: &str| load(&[("task.toml", Some(&format!("{TOML}{more}")))]);
    let base = with("");
    let check = |more: &str, is_label: bool| {
        let other = with(more);
        assert_eq!(other.digest == base.digest, is_label, "{more}");
        assert_ne!(other.labeled_digest, base.labeled_digest, "{more}");
    };
    check("[metadata.assay]\ncluster = \"x\"\n", true);
    check("[metadata.assay]\nnegative_control = true\nfew_tests = \"one number\"\n", true);
    check(
        "[metadata]\ndifficulty = \"easy\"\ncategory = \"data\"\ntags = [\"a\"]\nrequired_skills = [\"b\"]\n",
        true,
    );
    check("[metadata]\nassay = { cluster = \"x\" }\n", true);
    check("\n# a note\n", true);
    check("[metadata.assay]\nwritable = [\"/out\"]\ncluster = \"x\"\n", false);
    check("[metadata.assay]\nexpected = [\"conftest.py\"]\n", false);
    check("[metadata.assay]\npids = 9\n", false);
    check("[agent]\ntimeout_sec = 9.0\n", false);
    check("[extra]\nx = nan\n", false);
    // The order of keys does not count, and neither does the way in which they are written.
    let one = with("[agent]\ntimeout_sec = 9.0\nuser = \"a\"\n");
    let inline = format!("agent = {{ user = 'a', timeout_sec = 9.00 }} # seconds\n{TOML}");
    assert_eq!(load(&[("task.toml", Some(&inline))]).digest, one.digest);
    assert_ne!(with("[agent]\ntimeout_sec = 8.0\nuser = \"a\"\n").digest, one.digest);
}

#[test]
fn trial_files_are_written() {
    use std::os::unix::fs::PermissionsExt;
    let (temp, root) = task(&[("tests/data/.dockerignore", Some("*")), ("tests/data/x", Some("1"))]);
    fs::set_permissions(root.join("tests/test.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("data/x", root.join("tests/link")).unwrap();
    let task = Task::load(&root).unwrap();
    let place = |name: &str| temp.path().join(name);
    assert_eq!(task.lay_out(&place("fs")).unwrap(), [PathBuf::from("/app")]);
    assert_eq!(fs::read_to_string(place("fs/app/data.csv")).unwrap(), "a,b\n");
    task.lay_out_tests(&place("tests")).unwrap();
    let digest = |folder: &std::path::Path| assay_fs::tree::Tree::read(folder).digest();
    assert_eq!(digest(&place("tests")), digest(&root.join("tests")));
    assert_eq!(digest(&place("tests")), task.tests_digest);
    assert_eq!(fs::metadata(place("tests/test.sh")).unwrap().permissions().mode() & 0o777, 0o750);
    // Without a Dockerfile there is nothing to write.
    fs::remove_file(root.join("environment/Dockerfile")).unwrap();
    assert_eq!(Task::load(&root).unwrap().lay_out(&place("none")).unwrap(), Vec::<PathBuf>::new());
}

/// The files and links in a folder.
fn files(folder: &std::path::Path) -> Vec<String> {
    let tree = assay_fs::tree::Tree::read(folder);
    let mut files: Vec<String> = tree.leaves().map(|entry| entry.path.display().to_string()).collect();
    files.sort();
    files
}

#[test]
fn baked_skills_are_written_to_the_dockerfile_paths() {
    let file = "FROM x\nWORKDIR /app\nCOPY skills /root/.claude/skills\nCOPY skills/one/run.py /usr/bin/\nCOPY data.csv skills /app/\n";
    let (temp, root) = task(&[
        ("environment/Dockerfile", Some(file)),
        ("environment/skills/one/SKILL.md", Some(SKILL)),
        ("environment/skills/one/run.py", Some("run")),
    ]);
    let task = Task::load(&root).unwrap();
    let into = temp.path().join("oracle");
    let paths = task.lay_out_baked_skills(&into).unwrap();
    // Each with all its content: the folder around it may contain more.
    assert_eq!(paths, ["/app/one", "/root/.claude/skills/one", "/usr/bin/run.py"].map(PathBuf::from));
    assert_eq!(fs::read_to_string(into.join("root/.claude/skills/one/run.py")).unwrap(), "run");
    assert!(!into.join("app/data.csv").exists());
    // They count for the oracle only.
    let before = (task.digest, task.environment_digest, task.baked_skills_digest());
    fs::write(root.join("environment/skills/one/run.py"), "other").unwrap();
    let task = Task::load(&root).unwrap();
    assert_eq!((task.digest, task.environment_digest), (before.0, before.1));
    assert_ne!(task.baked_skills_digest(), before.2);
}

#[test]
fn verifier_skill_copy_stays_in_its_image() {
    let file = "FROM x\nWORKDIR /app\nCOPY skills /root/.claude/skills\nCOPY skills/one /root/verifier-skills/one\nCOPY skills/one/SKILL.md /opt/rules/\n";
    let (temp, root) = task(&[
        ("environment/Dockerfile", Some(file)),
        ("environment/.dockerignore", Some("*\n!skills\n")),
        ("environment/skills/one/SKILL.md", Some(SKILL)),
        ("tests/test.sh", Some("grep -q . /opt/rules/SKILL.md\n")),
    ]);
    let task = Task::load(&root).unwrap();
    let copies: Vec<(usize, &str, &str)> = task
        .environment
        .verifier_copies
        .iter()
        .map(|copy| (copy.line, copy.source.to_str().unwrap(), copy.target.to_str().unwrap()))
        .collect();
    let own =
        [(4, "skills/one", "/root/verifier-skills/one"), (5, "skills/one/SKILL.md", "/opt/rules/SKILL.md")];
    assert_eq!(copies, own);
    assert!(task.environment.skill_copies.iter().all(|copy| copy.line == 3));
    // The builder finds them, and no skill for agents.
    let context = temp.path().join("context");
    task.lay_out_context(&context).unwrap();
    let text = fs::read_to_string(context.join("Dockerfile")).unwrap();
    assert!(text.contains("COPY skills /root/.claude/skills"), "{text}");
    assert!(text.contains("COPY assay-verifier-copies/0 /root/verifier-skills/one"), "{text}");
    assert!(text.contains("COPY assay-verifier-copies/1/SKILL.md /opt/rules/"), "{text}");
    assert!(context.join("assay-verifier-copies/0/SKILL.md").is_file());
    assert!(!files(&context.join("skills")).iter().any(|file| file.contains("SKILL.md")));
    assert!(fs::read_to_string(context.join(".dockerignore")).unwrap().ends_with("!assay-verifier-copies\n"));
    // In bubblewrap the agent's files lack them, and the verifier's are written separately.
    task.lay_out(&temp.path().join("agent")).unwrap();
    let agent = files(&temp.path().join("agent"));
    assert!(!agent.iter().any(|file| file.contains("SKILL.md")), "{agent:?}");
    let verifier = temp.path().join("verifier");
    let targets = task.lay_out_verifier_copies(&verifier).unwrap();
    assert_eq!(targets, own.map(|(_, _, target)| PathBuf::from(target)));
    assert!(verifier.join("opt/rules/SKILL.md").is_file());
    // The verifier's copies are part of the environment, and the oracle does not get them twice.
    let mut oracle = task.lay_out_baked_skills(&temp.path().join("oracle")).unwrap();
    oracle.retain(|path| !path.starts_with("/root/.claude"));
    assert_eq!(oracle, Vec::<PathBuf>::new());
    let before = task.environment_digest;
    fs::write(root.join("environment/skills/one/SKILL.md"), format!("{SKILL}\nMore.\n")).unwrap();
    assert_ne!(Task::load(&root).unwrap().environment_digest, before);
}

#[test]
fn task_path_and_name_are_not_in_the_digest() {
    let (one, two) = (task(&[]), task(&[]));
    let renamed = two.0.path().join("other");
    fs::rename(&two.1, &renamed).unwrap();
    let (one, two) = (Task::load(&one.1).unwrap(), Task::load(&renamed).unwrap());
    assert_eq!(
        (one.digest, one.environment_digest, one.tests_digest),
        (two.digest, two.environment_digest, two.tests_digest)
    );
    assert_ne!(one.name, two.name);
}

#[test]
fn a_prebuilt_image_is_part_of_the_environment() {
    let with = |image: &str| {
        load(&[("task.toml", Some(&format!("{TOML}[environment]\ndocker_image = \"{image}\"\n")))])
    };
    assert_ne!(with("a:1").environment_digest, with("a:2").environment_digest);
}

#[test]
fn writable_paths_are_collected() {
    let check = |dockerfile: &str, toml: &str, expected: &[&str]| {
        let task = load(&[
            ("environment/Dockerfile", Some(dockerfile)),
            ("task.toml", Some(&format!("{TOML}{toml}"))),
        ]);
        assert_eq!(
            task.writable,
            expected.iter().map(PathBuf::from).collect::<Vec<_>>(),
            "{dockerfile:?} {toml:?}"
        );
    };
    check("FROM x\nWORKDIR /app\n", "", &["/app"]);
    check(
        "FROM x\nWORKDIR /app\nCOPY a /data/a\nCOPY b /app/b/\nCOPY c /root/\n",
        "",
        &["/app", "/data", "/root"],
    );
    check("FROM x\nWORKDIR /app\nCOPY data /data\n", "", &["/app", "/data"]);
    check("FROM x\nWORKDIR /app\nCOPY tool /usr/local/bin/tool\nCOPY c /etc/\nCOPY d /\n", "", &["/app"]);
    check("FROM x\nWORKDIR /usr/src/app\nCOPY . .\n", "", &["/usr/src/app"]);
    check("FROM x\nCOPY a /data/\n", "", &["/data"]);
    check("FROM x\nWORKDIR /app\n", "[environment]\nworkdir = \"/work\"\n", &["/work"]);
    check(
        "FROM x\nWORKDIR /app\n",
        "[metadata.assay]\nwritable = [\"/out\", \"sub\", \"/var/lib/x\"]\n",
        &["/app", "/out", "/var/lib/x"],
    );
}

#[test]
fn links_and_special_files_are_accepted() {
    let (_temp, root) = task(&[]);
    symlink("/etc/passwd", root.join("environment/out")).unwrap();
    symlink(".", root.join("environment/loop")).unwrap();
    symlink("nowhere", root.join("tests/dangling")).unwrap();
    fs::create_dir(root.join("environment/skills")).unwrap();
    symlink("/etc", root.join("environment/skills/etc")).unwrap();
    fs::write(root.join(assay_fs::tree::path_from(b"tests/\xff")), "x").unwrap();
    let task = Task::load(&root).unwrap();
    assert_eq!(codes(&task), ["link-escapes", "link-escapes"]);
    assert!(task.skills.is_empty() && task.diagnostics.iter().all(|d| d.severity == Severity::Warning));
}

#[test]
fn oversized_files_are_rejected() {
    let large = "x".repeat(1 << 21);
    for path in ["task.toml", "instruction.md", "environment/Dockerfile"] {
        let (_temp, root) = task(&[(path, Some(&large))]);
        assert!(Task::load(&root).unwrap_err().to_string().contains("larger than"), "{path}");
    }
    // Data files may be of any size.
    let (_temp, root) = task(&[("environment/data.csv", Some(&large))]);
    assert!(Task::load(&root).is_ok());
}

#[test]
fn a_task_may_be_given_as_the_current_folder() {
    let (_temp, root) = task(&[]);
    assert_eq!(Task::load(&root.join("tests/..")).unwrap().name, "ledger");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn arbitrary_files_never_panic(
        toml in proptest::collection::vec(any::<u8>(), 0..60),
        dockerfile in proptest::collection::vec(any::<u8>(), 0..60),
        instruction in proptest::collection::vec(any::<u8>(), 0..20),
        skill in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let (_temp, root) = task(&[("environment/skills/x/SKILL.md", Some(""))]);
        fs::write(root.join("environment/Dockerfile"), dockerfile).unwrap();
        fs::write(root.join("instruction.md"), instruction).unwrap();
        fs::write(root.join("environment/skills/x/SKILL.md"), skill).unwrap();
        let first = Task::load(&root).map(|task| task.digest).ok();
        prop_assert_eq!(Task::load(&root).map(|task| task.digest).ok(), first);
        fs::write(root.join("task.toml"), toml).unwrap();
        if let Err(error) = Task::load(&root) {
            prop_assert!(!error.hint().is_empty(), "{}", error);
        }
    }
}
