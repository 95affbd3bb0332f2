use std::path::Path;

use assay_judge::{Aggregation, Check, Item, Kind, Rubric, Set, Unverifiable};
use assay_task::Task;

use super::graders::graders;
use super::*;

fn options() -> CaseOptions {
    CaseOptions {
        max_turns: 40,
        runs: 3,
        focus: "last_message".to_owned(),
        tools: vec!["Read".to_owned(), "Write".to_owned()],
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A task that a rubric grades, changed by `shape`.
fn task(root: &Path, name: &str, shape: impl Fn(&Path)) -> Task {
    let folder = root.join(name);
    write(&folder, "task.toml", "version = \"1.0\"\n[agent]\ntimeout_sec = 90.5\n");
    write(&folder, "instruction.md", "Summarize /app/report.txt.\n");
    write(&folder, "environment/Dockerfile", "FROM debian:12-slim\nWORKDIR /app\nCOPY report.txt /app/\n");
    write(&folder, "environment/report.txt", "Seven items.\n");
    let items = vec![
        Item {
            check: Some(Check::AnswerContains(vec!["7 (seven)".to_owned(), "seven".to_owned()])),
            ..Item::new("count", "The number is there.", 2.0)
        },
        Item::new("short", "The summary is one sentence.", 1.0),
    ];
    write(&folder, "tests/rubric.json", &Rubric::of_items("content", items).to_json());
    shape(&folder);
    Task::load(&folder).unwrap()
}

#[test]
fn a_task_is_written_as_a_case() {
    let root = tempfile::tempdir().unwrap();
    let tasks = [task(root.path(), "summary", |_| ())];
    let out = root.path().join("evals");
    let exported = export_plugin_cases(&tasks, &options(), &out).unwrap();
    assert_eq!((exported.cases, exported.left_out.len()), (vec!["summary".to_owned()], 0));
    assert!(exported.needs_scaffold);
    assert_eq!(
        exported.notes,
        ["summary: a run has the programs of its machine, not those of debian:12-slim"]
    );
    let read = |name: &str| fs::read_to_string(out.join("summary").join(name)).unwrap();
    assert_eq!(
        read("prompt.md"),
        "---\nmax_turns: 40\ntimeout_seconds: 91\nruns: 3\nallowed_tools: [\"Read\",\"Write\"]\n---\n\nSummarize report.txt.\n"
    );
    assert_eq!(
        read("graders/count.md"),
        "---\ntype: \"regex\"\ntarget: \"last_message\"\npattern: \"7 \\\\(seven\\\\)|seven\"\nflags: \"iu\"\n\
         match: \"contains\"\nweight: 2.0\n---\n"
    );
    assert_eq!(
        read("graders/short.md"),
        "---\ntype: \"llm\"\nfocus: \"last_message\"\nweight: 1.0\n---\n\nThe summary is one sentence.\n"
    );
    assert_eq!(read("workspace/report.txt"), "Seven items.\n");
    assert!(read("case.yaml").contains("\"scaffold_script\": \"scaffold.sh\""));
    let names = |folder: &Path| {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
    };
    assert_eq!(names(&out), ["summary"]);
    let again = export_plugin_cases(&tasks, &options(), &out);
    assert!(matches!(again, Err(PluginExportError::Exists(path)) if path == out.join("summary")));
}

#[test]
fn what_a_case_cannot_express_is_named() {
    let root = tempfile::tempdir().unwrap();
    let check = |shape: &dyn Fn(&Path), expected: &str| {
        let name = format!("t{}", expected.len());
        let _ = fs::remove_dir_all(root.path().join(&name));
        let task = task(root.path(), &name, shape);
        let out = tempfile::tempdir().unwrap();
        let exported = export_plugin_cases(&[task], &options(), out.path()).unwrap();
        let reasons: Vec<String> = exported.left_out.iter().map(|(_, reason)| reason.to_string()).collect();
        assert_eq!(reasons, [expected]);
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
    };
    check(
        &|folder| write(folder, "tests/test.sh", "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n"),
        "its tests are a program (tests/test.sh): graders execute none",
    );
    check(
        &|folder| write(folder, "environment/Dockerfile", "FROM debian\nWORKDIR /app\nRUN make\n"),
        "its environment needs RUN of its Dockerfile (line 3): a case has only files of its work folder",
    );
    check(
        &|folder| {
            write(folder, "environment/Dockerfile", "FROM debian\nWORKDIR /app\nCOPY report.txt /srv/\n");
        },
        "it has files in /srv, outside of its work folder",
    );
    check(
        &|folder| write(folder, "instruction.md", "Write to /output/a.md.\n"),
        "its instruction names /output/a.md, a path that a run does not have",
    );
    check(
        &|folder| {
            write(folder, "environment/prompt.md", "x");
            write(folder, "environment/Dockerfile", "FROM debian\nWORKDIR /app\nCOPY . /app/\n");
        },
        "its work folder contains prompt.md, which the client would read as a case",
    );
    check(
        &|folder| {
            let doubles = "schema = \"assay.doubles/1\"\n[user]\npersona = \"Ada\"\notherwise = \"Yes.\"\n";
            write(folder, "doubles.toml", doubles);
        },
        "its test doubles: 1 scripted user; a case has only MCP servers",
    );
}

#[test]
fn items_that_no_grader_expresses_are_named() {
    let check = |item: Item, expected: &str| {
        let rubric = Rubric::of_items("content", vec![Item::new("a", "A.", 1.0), item]);
        assert_eq!(graders(&rubric, "last_message").unwrap_err().to_string(), expected);
    };
    let scaled = Kind::Scaled { lowest: 0.0, highest: 4.0, levels: Vec::new() };
    check(
        Item { kind: scaled, ..Item::new("b", "B.", 1.0) },
        "item b: it has a scale, and a grader passes or fails",
    );
    check(
        Item { prerequisites: vec!["a".to_owned()], ..Item::new("b", "B.", 1.0) },
        "item b: it counts only if others are met, and each grader counts by itself",
    );
    check(
        Item { unverifiable: Some(Unverifiable::Met), ..Item::new("b", "B.", 1.0) },
        "item b: it does not fail if it cannot be told, and a judge's vote then fails",
    );
    let all = Set { name: "gate".to_owned(), aggregation: Aggregation::All, ..Set::default() };
    let rubric = Rubric { sets: vec![all], ..Rubric::default() };
    let found = graders(&rubric, "last_message").unwrap_err().to_string();
    assert_eq!(found, "set gate: its score is no mean, and that of a case is one");
}

/// The weights of graders give the rubric's own score, whatever items are met.
#[test]
fn weights_give_the_score_of_the_rubric() {
    let group = Item {
        items: vec![Item::new("c", "C.", 1.0), Item::new("d", "D.", 3.0), Item::new("zero", "Z.", 0.0)],
        ..Item::new("group", "G.", 5.0)
    };
    let negated = Item { negated: true, ..Item::new("e", "E.", 2.0) };
    let sets = vec![
        Set {
            name: "one".to_owned(),
            weight: Some(4.0),
            items: vec![Item::new("a", "A.", 1.0), group],
            ..Set::default()
        },
        Set { name: "two".to_owned(), items: vec![Item::new("b", "B.", 7.0), negated], ..Set::default() },
    ];
    let rubric = Rubric { sets, ..Rubric::default() };
    rubric.check().unwrap();
    let made = graders(&rubric, "report.md").unwrap();
    assert_eq!(made.iter().map(|grader| grader.name.as_str()).collect::<Vec<_>>(), ["a", "c", "d", "b", "e"]);
    for met in 0_u32..32 {
        let is_met = |at: usize| met & (1 << at) != 0;
        let ids = ["a", "c", "d", "b", "e", "zero"];
        let verdicts = ids.iter().enumerate().map(|(at, id)| {
            // A negated item is good if it is not met.
            let verdict = if is_met(at) == (*id != "e") {
                assay_judge::Verdict::Met
            } else {
                assay_judge::Verdict::NotMet
            };
            ((*id).to_owned(), verdict)
        });
        let expected = rubric.scores(&verdicts.collect()).unwrap().overall.unwrap();
        let sum: f64 = made.iter().map(CaseGrader::weight).sum();
        let won: f64 =
            made.iter().enumerate().filter(|(at, _)| is_met(*at)).map(|(_, grader)| grader.weight()).sum();
        assert!((won / sum - expected).abs() < 1e-12, "{met:b}: {} {expected}", won / sum);
    }
}

#[test]
fn names_of_graders_are_names_of_files() {
    let items = ["a/b", "a b", "A-B", "…", "x".repeat(90).as_str()].map(|id| Item::new(id, "T.", 1.0));
    let made = graders(&Rubric::of_items("s", items.to_vec()), "last_message").unwrap();
    let names: Vec<&str> = made.iter().map(|grader| grader.name.as_str()).collect();
    assert_eq!(names, ["a-b", "a-b-2", "A-B-3", "item", &"x".repeat(60)]);
}

/// A task that was made of a case is exported as that case, with the mocks of its suite.
#[test]
fn a_case_is_exported_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let plugin = root.path().join("plugin");
    let files = [
        (".claude-plugin/plugin.json", "{\"name\": \"house\"}"),
        ("evals/hello/prompt.md", "Greet Ada.\n"),
        ("evals/hello/graders/g1.md", "---\ntype: regex\npattern: Moin\n---\n"),
        ("evals/hello/mocks/tracker/list.md", "[1]\n"),
        ("evals/mocks/tracker/list.md", "[2]\n"),
        ("evals/mocks/tracker/show.md", "{}\n"),
    ];
    for (name, text) in files {
        write(&plugin, name, text);
    }
    let suite = assay_task::plugin_eval::EvalSuite::load(&plugin).unwrap();
    let made = suite.task_files(&suite.cases[0], &["greet".to_owned()], "debian:12-slim").unwrap();
    assay_task::plugin_eval::write_new_folder(&root.path().join("tasks/hello"), &made).unwrap();
    let task = Task::load(&root.path().join("tasks/hello")).unwrap();
    let out = root.path().join("evals");
    let exported = export_plugin_cases(&[task], &options(), &out).unwrap();
    assert_eq!((exported.cases, exported.left_out.len()), (vec!["hello".to_owned()], 0));
    let read = |name: &str| fs::read_to_string(out.join("hello").join(name)).unwrap();
    for (name, expected) in [
        ("prompt.md", "Greet Ada.\n"),
        ("graders/g1.md", "---\ntype: regex\npattern: Moin\n---\n"),
        ("mocks/tracker/list.md", "[1]\n"),
        ("mocks/tracker/show.md", "{}\n"),
    ] {
        assert_eq!(read(name), expected, "{name}");
    }
}
