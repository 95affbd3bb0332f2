//! Trials as data: planned in one place, executed in another from a file alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::docker::in_docker;
use crate::fixture::{Fixture, Ran, Running, needs_bubblewrap, observed, read_json};
use crate::{agents, suite};

/// One task under three conditions, one of which makes a skill; the script runs a file of its own, for the task of that name.
fn lab() -> Fixture {
    let idle = json!({
        "turn": 0, "task": ["t1"], "unseen": "Skills are folders", "run_files": ["moves/look.sh"],
    });
    let rules: Vec<Value> = suite::diligent().into_iter().chain([idle]).collect();
    suite::lab(1)
        .script(&rules)
        .file("moves/look.sh", "ls\n")
        .experiment(|e| suite::paired(e.conditions(&["none", "curated", "placebo"]), 1))
}

/// The specifications of all trials, by file.
fn specs(lab: &Fixture) -> Vec<PathBuf> {
    // One task can give no verdict, and `assay plan` says so.
    lab.assay(&["plan", "experiment.toml", "--specs", "specs"]).ended(1);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(lab.path("specs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// `assay trial exec SPEC.json` in a folder that holds nothing else.
fn exec(elsewhere: &Fixture, spec: &Path, more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(spec, folder.path().join("SPEC.json")).unwrap();
    let store = elsewhere.path("kept").display().to_string();
    let args = [&["trial", "exec", "SPEC.json", "--store", &store, "--format", "json"], more].concat();
    Running::start(elsewhere.command(&args).current_dir(folder.path())).wait()
}

/// A record without times, processes and the machine. Of its signature, the digests of the evidence last.
fn lasting(mut record: Value) -> Value {
    for key in ["seconds", "started_at", "finished_at", "used"] {
        assert!(record.as_object_mut().unwrap().remove(key).is_some(), "{key}: {record}");
    }
    let mut evidence = record["signature"]["evidence"].take();
    // A trajectory has times in it.
    assert!(evidence.as_object_mut().unwrap().remove("trajectory.json").is_some(), "{record}");
    record["signature"] = evidence;
    record
}

fn records(store: &Path) -> BTreeMap<String, Value> {
    let folders = |path: &Path| -> Vec<PathBuf> {
        fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    };
    let trials = folders(&store.join("trials")).into_iter().flat_map(|shelf| folders(&shelf));
    trials
        .filter_map(|trial| read_json(&trial.join("record.json")))
        .map(|record| (record["trial"].as_str().unwrap().to_owned(), lasting(record)))
        .collect()
}

/// The folder of a trial.
fn trial_folder(trials: &Path, id: &str) -> PathBuf {
    let shelves = fs::read_dir(trials).unwrap().map(|shelf| shelf.unwrap().path());
    shelves.map(|shelf| shelf.join(id)).find(|folder| folder.is_dir()).unwrap()
}

#[test]
fn a_specification_alone_gives_the_same_record_elsewhere() {
    needs_bubblewrap!();
    let planned = lab();
    planned.assay(&["run", "experiment.toml"]).ok();
    let specs = specs(&planned);
    // Three conditions, solution and doing nothing.
    assert_eq!(specs.len(), 5);

    // Nothing lies where it lay when the trials were planned, and the task's folder has another name. The other task there
    // cannot be read, and nobody asks for it.
    let elsewhere = Fixture::new().file("suite/of/tasks/a-broken/task.toml", "version = ");
    elsewhere.write("suite/of/tasks/a-broken/instruction.md", "Nothing.\n");
    for (from, to) in
        [("tasks/t1", "suite/of/tasks/renamed"), ("skills", "library"), ("turns.jsonl", "moved/turns.jsonl")]
    {
        fs::create_dir_all(elsewhere.path(to).parent().unwrap()).unwrap();
        fs::rename(planned.path(from), elsewhere.path(to)).unwrap();
    }
    fs::rename(planned.path("moves"), elsewhere.path("moved/moves")).unwrap();
    fs::rename(planned.path(".assay"), planned.path("recorded")).unwrap();
    let [suite, library, scripts] = ["suite/of/tasks", "library", "moved"].map(|path| elsewhere.path(path));
    let [suite, library, scripts] = [&suite, &library, &scripts].map(|path| path.display().to_string());
    let folders = ["--suite", &suite, "--library", &library, "--scripts", &scripts];
    for spec in &specs {
        let document = exec(&elsewhere, spec, &folders).ok().json();
        assert_eq!(document["schema"], "assay.trial-run/1");
    }
    let (here, there) = (records(&planned.path("recorded")), records(&elsewhere.path("kept")));
    assert_eq!((here.len(), there.len()), (5, 5));
    for (id, record) in &here {
        assert_eq!(record, &there[id], "{id}");
    }
    // What is recorded is not executed again, and nothing is left of having looked.
    let scratch = elsewhere.path(".assay/scratch");
    let left = || fs::read_dir(&scratch).into_iter().flatten().count();
    assert_eq!(left(), 0);
    let again = exec(&elsewhere, &specs[0], &folders).ok();
    assert!(again.stderr.contains("the store already has its result"), "{}", again.stderr);
    assert_eq!(left(), 0);
    // A record that cannot be read is none.
    let id = specs[0].file_stem().unwrap().to_str().unwrap();
    let kept = elsewhere.path("kept");
    let path = trial_folder(&kept.join("trials"), id).join("record.json");
    fs::write(&path, "{\"schema\": ").unwrap();
    let anew = exec(&elsewhere, &specs[0], &folders).ok();
    assert!(anew.stderr.contains("the trial is executed again"), "{}", anew.stderr);
    assert!(records(&kept).contains_key(id));
}

#[test]
fn without_flags_things_are_found_where_they_lay() {
    needs_bubblewrap!();
    let planned = lab();
    planned.assay(&["run", "experiment.toml"]).ok();
    let specs = specs(&planned);
    // The placebo that planning made is in the store, and is gone with it.
    fs::rename(planned.path(".assay"), planned.path("recorded")).unwrap();
    let elsewhere = Fixture::new();
    for spec in &specs {
        exec(&elsewhere, spec, &[]).ok();
    }
    assert_eq!(records(&planned.path("recorded")), records(&elsewhere.path("kept")));
}

/// The specification of the loop under a condition.
fn loop_spec(specs: &[PathBuf], condition: &str) -> PathBuf {
    let is_it = |path: &&PathBuf| {
        let spec = read_json(path).unwrap();
        spec["condition"] == condition && spec["agent"]["name"] == "loop"
    };
    specs.iter().find(is_it).unwrap().clone()
}

#[test]
#[ignore = "needs Docker"]
fn a_specification_is_executed_in_docker() {
    let planned = Fixture::new()
        .task("t1", |task| task.dockerfile("FROM python:3.12-slim\nWORKDIR /app\nRUN echo built > built.txt\n"))
        .script(&[json!({ "turn": 0, "run": "cat built.txt; cp built.txt /logs/artifacts; echo right > answer.txt" })])
        .experiment(in_docker);
    let spec = loop_spec(&specs(&planned), "none");
    let elsewhere = Fixture::new();
    fs::rename(planned.path("tasks/t1"), elsewhere.path("renamed")).unwrap();
    let suite = elsewhere.path("renamed").display().to_string();
    let document = exec(&elsewhere, &spec, &["--suite", &suite]).ok().json();
    let record = &document["record"];
    assert_eq!(record["outcome"], "passed", "{record:#}");
    assert_eq!((&record["sandbox"], &record["task"]), (&json!("docker"), &json!("t1")), "{record:#}");
    let folder = Path::new(document["folder"].as_str().unwrap());
    assert_eq!(fs::read_to_string(folder.join("artifacts/built.txt")).unwrap(), "built\n");
}

/// A specification names variables, and their values are those of the machine that executes it.
#[test]
fn allowed_variables_are_looked_up_where_a_specification_is_executed() {
    needs_bubblewrap!();
    let asks = "version = \"1.0\"\n[environment]\nenv = { TOKEN = \"${LAB_TOKEN}\" }\n";
    let planned = Fixture::new()
        .env("LAB_TOKEN", "planned")
        .task("t1", |task| task.toml(asks))
        .script(&[json!({ "turn": 0, "run": "echo token=$TOKEN" })])
        .experiment(|e| e.top("allow_env = [\"LAB_TOKEN\"]"));
    let spec = loop_spec(&specs(&planned), "none");
    let unset = Fixture::new();
    let refused = exec(&unset, &spec, &[]).ended(3);
    assert!(refused.stderr.contains("it needs the environment variable `LAB_TOKEN`"), "{}", refused.stderr);
    assert!(records(&unset.path("kept")).is_empty());
    let elsewhere = Fixture::new().env("LAB_TOKEN", "executed");
    let mut record = exec(&elsewhere, &spec, &[]).ok().json()["record"].clone();
    record["folder"] = json!(trial_folder(&elsewhere.path("kept/trials"), record["trial"].as_str().unwrap()));
    assert_eq!(observed(&record)[0], "token=executed\n[exit status 0]");
}

#[test]
#[ignore = "needs agents"]
fn a_cli_agent_executes_a_specification() {
    needs_bubblewrap!();
    let lab = agents::words(agents::lab());
    let name = agents::installed(&lab, &agents::ALL).pop().unwrap();
    agents::experiment(&lab, "\"bubblewrap\"", &[name], "scripted:turns.jsonl");
    let specs = specs(&lab);
    let elsewhere = agents::lab();
    let mut outcomes = BTreeMap::new();
    for path in specs {
        let spec = read_json(&path).unwrap();
        if spec["agent"]["name"] != name {
            continue;
        }
        let record = exec(&elsewhere, &path, &[]).ok().json()["record"].clone();
        // The version is the planned one, though the experiment names none.
        assert!(spec["options"]["version"].is_null(), "{spec}");
        assert_eq!(record["agent"], spec["agent"]);
        assert!(record["metered"]["requests"].as_u64() > Some(0), "{record}");
        outcomes.insert(record["condition"].as_str().unwrap().to_owned(), record["outcome"].clone());
    }
    assert_eq!(json!(outcomes), json!({ "none": "failed", "curated": "passed" }));
}

#[test]
fn what_is_not_as_it_was_planned_is_not_executed() {
    needs_bubblewrap!();
    let lab = lab();
    let specs = specs(&lab);
    let spec = |condition: &str| loop_spec(&specs, condition);
    let refused = |condition: &str, more: &[&str], code: i32, expected: &str| {
        let ran = exec(&lab, &spec(condition), more).ended(code);
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
        assert!(records(&lab.path("kept")).is_empty());
    };
    let edited = |path: &str, text: &str, check: &dyn Fn()| {
        let before = fs::read(lab.path(path)).unwrap();
        lab.write(path, text);
        check();
        lab.write(path, before);
    };
    refused("none", &["--suite", "/nonexistent"], 2, "no task `t1` in /nonexistent");
    edited("tasks/t1/instruction.md", "Another.\n", &|| {
        refused("none", &[], 2, "differs from the planned one");
    });
    edited("skills/reports/SKILL.md", "---\nname: reports\ndescription: Other.\n---\nOther.\n", &|| {
        refused("curated", &[], 2, "no skill `reports` with the planned content");
    });
    edited("turns.jsonl", "{\"say\": \"Other.\"}\n", &|| {
        refused("none", &[], 3, "would differ from the plan here: `agent.script");
    });
    // A file that somebody edited is no plan.
    let path = spec("none");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"verifier_seconds\": 600.0", "\"verifier_seconds\": 6.0", 1)).unwrap();
    let refused = |expected: &str| {
        let ran = exec(&lab, &path, &[]).ended(2);
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    };
    refused("id mismatch: `id` is not the hash of `specification`");
    // Nor is one that keeps its id, and says something else of what a record holds.
    for (key, value) in [("absent", json!([])), ("condition", json!("curated")), ("digest", json!(null))] {
        let mut spec: Value = serde_json::from_str(&text).unwrap();
        assert_ne!(spec[key], value);
        spec[key] = value;
        fs::write(&path, spec.to_string()).unwrap();
        refused("digest mismatch: the document was edited");
    }
}

#[test]
fn a_specification_holds_no_secret() {
    let lab = Fixture::new()
        .allow_unsandboxed()
        .env("OPENAI_API_KEY", "KEY-OF-THE-MODEL")
        .env("TOKEN_OF_MINE", "VALUE-OF-A-VARIABLE")
        .task("t1", |task| task.toml("version = \"1.0\"\n[environment.env]\nTOKEN = \"${TOKEN_OF_MINE}\"\n"))
        .experiment(|e| {
            e.no_sandbox()
                .top("sandbox = \"none\"\nallow_env = [\"TOKEN_OF_MINE\"]")
                .served("openai:gpt-5", "https://api.openai.com/v1")
        });
    for path in specs(&lab) {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"allow_env\": [\n    \"TOKEN_OF_MINE\"\n  ]"), "{text}");
        assert!(!text.contains("KEY-OF-THE-MODEL") && !text.contains("VALUE-OF-A-VARIABLE"), "{text}");
    }
}

#[test]
fn a_version_of_a_skill_is_extracted_where_the_trial_is_executed() {
    needs_bubblewrap!();
    let lab = suite::lab(1).experiment(|e| suite::paired(e.conditions(&["none", "version:HEAD"]), 1));
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let done = Command::new("git").current_dir(lab.folder()).args(identity).args(args).status().unwrap();
        assert!(done.success(), "{args:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "skills"]);
    git(&["commit", "-qm", "first"]);
    let now = format!("---\nname: reports\ndescription: Ends reports.\n---\n\n{}", suite::body("wrong"));
    lab.write("skills/reports/SKILL.md", now);
    let specs = specs(&lab);
    let version = specs
        .iter()
        .find(|path| read_json(path).unwrap()["condition"] == "version:HEAD")
        .expect("the version is planned");

    // Its store is empty: the version is extracted from the repository.
    let elsewhere = Fixture::new();
    let here = exec(&elsewhere, version, &[]).ok();
    assert_eq!(here.json()["schema"], "assay.trial-run/1");
    let records = records(&elsewhere.path("kept"));
    assert_eq!(records.values().next().unwrap()["outcome"], "passed");

    // Without the repository, the message says what is missing.
    let copy = Fixture::new();
    for folder in ["tasks", "skills", "turns.jsonl"] {
        fs::rename(lab.path(folder), copy.path(folder)).unwrap();
    }
    let [suite, library, scripts] =
        ["tasks", "skills", "."].map(|path| copy.path(path).display().to_string());
    let ran = exec(&copy, version, &["--suite", &suite, "--library", &library, "--scripts", &scripts]);
    let message = "`version:HEAD` cannot be extracted here: ";
    assert!(ran.code != 0 && ran.stderr.contains(message), "{ran:#?}");
    assert!(ran.stderr.contains("is not in a Git repository"), "{ran:#?}");
}
