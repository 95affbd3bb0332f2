//! What goes wrong most often, and what is said then: what, where, and what to do.

use crate::fixture::Fixture;
use crate::suite;

/// A small fixture in which all is well.
fn lab() -> Fixture {
    suite::lab(1).experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 1))
}

/// What a command says that ends with status 2, without the folder's name.
#[track_caller]
fn complaint(lab: &Fixture, args: &[&str]) -> String {
    let ran = lab.assay(args).ended(2);
    assert_eq!(ran.stdout, "");
    let folder = lab.folder().canonicalize().unwrap();
    ran.stderr.replace(folder.to_str().unwrap(), "[LAB]").replace(lab.folder().to_str().unwrap(), "[LAB]")
}

/// What is said of the fixture's experiment with one text of it replaced.
#[track_caller]
fn mistyped(from: &str, to: &str) -> String {
    let lab = lab();
    let text = std::fs::read_to_string(lab.path("experiment.toml")).unwrap();
    assert!(text.contains(from), "{text}");
    lab.write("experiment.toml", text.replacen(from, to, 1));
    complaint(&lab, &["run", "experiment.toml"])
}

#[test]
fn a_file_that_is_not_there() {
    insta::assert_snapshot!(complaint(&Fixture::new(), &["run", "experiment.toml"]), @r"
    error: cannot read experiment.toml
      cause: No such file or directory (os error 2)
      hint: `assay init experiment` creates one
    ");
}

#[test]
fn a_key_that_does_not_exist() {
    insta::assert_snapshot!(mistyped("repetitions = 1", "repetitons = 1"), @r"
    error: experiment.toml:6:1: unknown key `repetitons`: did you mean `repetitions`?
      6 | repetitons = 1
        | ^^^^^^^^^^
    ");
}

#[test]
fn a_value_out_of_bounds() {
    insta::assert_snapshot!(mistyped("repetitions = 1", "repetitions = 0"), @r"
    error: experiment.toml:6:15: `repetitions` must be between 1 and 10000
      6 | repetitions = 0
        |               ^
    ");
}

#[test]
fn no_toml() {
    insta::assert_snapshot!(mistyped("suite = [", "suite = "), @r#"
    error: experiment.toml:3:18: unexpected key or value, expected newline, `#`
      3 | suite = "tasks/*"]
        |                  ^
    "#);
}

#[test]
fn an_unknown_condition() {
    insta::assert_snapshot!(mistyped("\"curated\"]", "\"currated\"]"), @r#"
    error: experiment.toml:5:14: unknown condition "currated": expected one of none, curated, placebo, documents[:DIR], plain, negative, full, plus-related, plus-unrelated, self-generated, generated-from-task[:DIR], generated-from-docs[:DIR], generated-from-runs[:DIR], version:DIR|GITREF, counterfactual
      5 | conditions = ["none", "currated"]
        |              ^
    "#);
}

#[test]
fn an_unknown_agent() {
    insta::assert_snapshot!(mistyped("\"loop\"", "\"lop\""), @r#"
    error: experiment.toml:10:1: unknown agent "lop": expected one of loop, oracle, nop, claude-code, codex, gemini-cli, opencode, qwen-code, mini-swe-agent
      10 | name = "lop"
         | ^
    "#);
}

#[test]
fn an_unknown_model() {
    insta::assert_snapshot!(mistyped("scripted:turns.jsonl", "opanai:gpt"), @r#"error: experiment.toml: agent "loop": invalid model "opanai:gpt": unknown provider (expected openai:NAME, anthropic:NAME, gemini:NAME or scripted:FILE)"#);
}

#[test]
fn a_key_that_is_not_set() {
    insta::assert_snapshot!(mistyped("scripted:turns.jsonl", "openai:gpt"), @r#"error: experiment.toml: agent "loop": OPENAI_API_KEY is not set: set it, name another variable with api_key_env, or set base_url to a server that needs no key"#);
}

#[test]
fn a_key_that_is_not_needed_yet() {
    let lab = lab();
    let text = std::fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write("experiment.toml", text.replacen("scripted:turns.jsonl", "openai:gpt", 1));
    for args in [["run", "experiment.toml", "--dry-run"].as_slice(), &["plan", "experiment.toml"]] {
        let looked = lab.assay(args);
        // `plan` ends with 1 where the design cannot show what is asked.
        assert!(looked.code < 2, "{looked:#?}");
    }
}

/// A replay answers CLI agents only: the loop's model is called and has to have a cap all the same.
#[test]
fn a_paid_model_without_a_cap() {
    let lab = lab().env("OPENAI_API_KEY", "sk-test");
    let text = std::fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write("experiment.toml", text.replacen("scripted:turns.jsonl", "openai:gpt", 1));
    for args in [["run", "experiment.toml"].as_slice(), &["run", "experiment.toml", "--replay", "recorded"]] {
        let refused = lab.assay(args).ended(2).stderr;
        assert!(
            refused.contains("openai:gpt is a paid model") && refused.contains("has no cap"),
            "{refused}"
        );
    }
}

#[test]
fn a_script_that_is_not_there() {
    insta::assert_snapshot!(mistyped("turns.jsonl", "trun.jsonl"), @r#"error: experiment.toml: agent "loop": trun.jsonl: cannot read the file: No such file or directory (os error 2)"#);
}

#[test]
fn a_mistake_in_a_script() {
    let lab = lab();
    lab.write("turns.jsonl", "{\"say\": \"Done.\"}\n{\"trun\": 0, \"say\": \"Done.\"}\n");
    insta::assert_snapshot!(complaint(&lab, &["run", "experiment.toml"]), @r#"
    error: experiment.toml: agent "loop": turns.jsonl:2:7: unknown field `trun`, expected one of `task`, `condition`, `repetition`, `turn`, `results`, `tools`, `seen`, `unseen`, `chance`, `draw`, `say`, `run`, `run_files`, `skill`, `call`, `fault`, `retry_after`, `times` (hint: a line that starts with # is a comment)
    "#);
}

#[test]
fn a_folder_that_is_not_a_task() {
    let lab = lab().file("tasks/notes/todo.txt", "Write more tasks.\n");
    // The others run, and the command says by its end and its status that this is not all of the suite.
    for args in [["run", "experiment.toml", "--dry-run"].as_slice(), &["plan", "experiment.toml"]] {
        let looked = lab.assay(args).ended(1);
        assert!(looked.stdout.contains("t1") || looked.stdout.contains("trials"), "{looked:#?}");
    }
    let dry = lab.assay(&["run", "experiment.toml", "--dry-run"]).ended(1);
    let reason = "notes excluded: invalid task: ./tasks/notes is not a task: it has no task.toml";
    assert!(dry.stderr.contains(reason), "{}", dry.stderr);
    assert!(dry.stdout.contains("1 task could not be read and was not run: notes"), "{}", dry.stdout);
    let document = lab.assay(&["run", "experiment.toml", "--dry-run", "--format", "json"]).ended(1).json();
    assert_eq!(document["unreadable"], serde_json::json!(["notes"]));
    // Excluded on purpose, it is no matter.
    let text = std::fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write("experiment.toml", text.replacen("\"tasks/*\"", "\"tasks/*\", \"!tasks/notes\"", 1));
    lab.assay(&["run", "experiment.toml", "--dry-run"]).ended(0);
}

#[test]
fn a_task_without_a_verifier() {
    let lab = lab();
    std::fs::remove_dir_all(lab.path("tasks/t1/tests")).unwrap();
    insta::assert_snapshot!(complaint(&lab, &["run", "experiment.toml"]), @r#"
    error: 1 problem in the suite
      ./tasks/t1/tests/test.sh: not there (write a script that checks the outcome and writes the reward)
      hint: fix them, or exclude them with a pattern such as "!tasks/bad-*" in `suite`
    "#);
}

#[test]
fn a_task_that_is_paired_and_is_not_there() {
    insta::assert_snapshot!(mistyped("[tasks.\"t1\"]", "[tasks.\"t2\"]"), @r#"error: experiment.toml: `[tasks."t2"]` refers to a task that is not in the suite"#);
}

#[test]
fn a_suite_without_tasks() {
    insta::assert_snapshot!(mistyped("tasks/*", "task/*"), @r#"
    error: 1 problem in the suite
      suite pattern `task/*`: matches no folder (relative to .) (use a folder with a task.toml, or one whose subfolders have one)
      hint: fix them, or exclude them with a pattern such as "!tasks/bad-*" in `suite`
    "#);
}

#[test]
fn an_unknown_run() {
    insta::assert_snapshot!(complaint(&lab(), &["report", "lab"]), @r#"
    error: no run "lab" in [LAB]/.assay: the store has no runs yet
      hint: `assay show` lists the runs
    "#);
}

#[test]
fn an_unknown_run_or_trial() {
    insta::assert_snapshot!(complaint(&lab(), &["show", "ab12"]), @r#"
    error: no run "ab12" in [LAB]/.assay: the store has no runs yet; no trial id in this store begins with "ab12"
      hint: `assay show` lists the runs
    "#);
}

#[test]
fn an_unknown_command() {
    insta::assert_snapshot!(complaint(&lab(), &["rum"]), @r"
    error: unrecognized subcommand 'rum'

      tip: a similar subcommand exists: 'run'

    Usage: assay [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn a_store_that_is_none() {
    let lab = lab().file("readme.txt", "I am a file.\n");
    let ran = lab.assay(&["--store", "readme.txt", "show"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert!(ran.stderr.starts_with("error: cannot create readme.txt\n"), "{}", ran.stderr);
}

/// Names of hostile files are shown and not obeyed.
#[test]
fn nothing_steers_the_terminal() {
    let lab = lab().file("tasks/\u{1b}[31mred\u{202e}/todo.txt", "");
    // It is left out, and named before the run and at its end.
    let ran = lab.assay(&["run", "experiment.toml", "--dry-run"]).ended(1);
    for said in [ran.stdout, ran.stderr] {
        assert!(said.contains("[31mred") && !said.contains(['\u{1b}', '\u{202e}']), "{said:?}");
    }
}
