//! What identifies a trial: the declared server does, labels of tasks do not, and results of before still count.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};
use crate::server::{Answer, Server};
use crate::suite;

/// A server whose model does nothing.
fn idle() -> Server {
    Server::start(|_, _| Answer::done("Done."))
}

/// How many trials a run executed, and how many had a result.
fn counts(document: &Value) -> (u64, u64) {
    (document["executed"].as_u64().unwrap(), document["cached"].as_u64().unwrap())
}

/// A lab of a served model in the sandbox `none`.
fn served(url: &str) -> Fixture {
    Fixture::new()
        .allow_unsandboxed()
        .task("t1", |task| {
            task.test_sh("mkdir -p \"$(dirname \"$0\")/../logs/verifier\"; echo 0 > \"$(dirname \"$0\")/../logs/verifier/reward.txt\"\n")
        })
        .experiment(|e| e.no_sandbox().top("sandbox = \"none\"").served("openai:test-1", url))
}

#[test]
fn trials_of_another_server_are_not_reused() {
    let (mock, real) = (idle(), idle());
    let lab = served(&mock.url());
    let run = |args: &[&str]| {
        let ran = lab.assay(&[&["run", "experiment.toml", "--no-checks", "--format", "json"], args].concat());
        (ran.json(), ran.stderr)
    };
    let declare = |lines: &str| {
        let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
        let kept: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("base_url") && !line.starts_with("server"))
            .collect();
        lab.write(
            "experiment.toml",
            kept.join("\n").replace("timeout = 60", &format!("timeout = 60\n{lines}")),
        );
    };
    let (first, _) = run(&[]);
    assert_eq!(counts(&first), (1, 0));
    let normal = format!("http://127.0.0.1:{}/v1", mock.port);
    assert_eq!(first["report"]["provenance"]["agents"][0]["server"], json!(normal));
    assert_eq!(lab.records()[0]["server"], json!(normal));
    let plan = lab.assay(&["plan", "experiment.toml"]).stdout;
    assert!(
        plan.contains(&format!("loop with openai:test-1 at {normal}, none: 1 trial, 1 cached")),
        "{plan}"
    );
    // Another spelling of the same address is the same server.
    declare(&format!("base_url = \"HTTP://LocalHost:{}/v1/\"", mock.port));
    assert_eq!(counts(&run(&[]).0), (0, 1));
    // Another server has no results, and the message says of which there are some.
    declare(&format!("base_url = \"{}\"", real.url()));
    let plan = lab.assay(&["plan", "experiment.toml"]);
    assert!(plan.stdout.contains("1 trial, 0 cached"), "{}", plan.stdout);
    assert!(plan.stderr.contains(&format!("1 result of the server {normal} is not used")), "{}", plan.stderr);
    // Unless the user says that it is the same one.
    let (same, _) = run(&["--same-server", &normal.replace("127.0.0.1", "localhost")]);
    assert_eq!((counts(&same), same["run"].clone()), ((0, 1), json!("lab-2")));
    assert_eq!(same["report"]["reused"], json!([{ "why": "same-server", "server": normal, "trials": 1 }]));
    let report = lab.assay(&["report", "lab-2"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        report.contains(&format!("1 trial was executed with the server {normal}, not with that")),
        "{report}"
    );
    let (anew, stderr) = run(&[]);
    assert_eq!((counts(&anew), &anew["report"]["reused"]), ((1, 0), &json!([])), "{stderr}");
    // A name stands for the address, wherever the server is.
    declare(&format!("base_url = \"{}\"\nserver = \"lab-gpu\"", mock.url()));
    assert_eq!(counts(&run(&[]).0), (1, 0));
    declare(&format!("base_url = \"{}\"\nserver = \"lab-gpu\"", real.url()));
    assert_eq!(counts(&run(&[]).0), (0, 1));
    for (lines, expected) in [
        ("server = \"http://h/v1\"", "which is not a name"),
        ("base_url = \"http://user:secret@127.0.0.1:1/v1\"", "has credentials in it"),
    ] {
        declare(lines);
        let ran = lab.assay(&["plan", "experiment.toml"]).ended(2);
        assert!(ran.stderr.contains(expected) && !ran.stderr.contains("secret"), "{}", ran.stderr);
    }
}

#[test]
fn labels_of_tasks_execute_nothing_again() {
    needs_bubblewrap!();
    let lab = suite::lab(2).experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 2));
    let (first, _) = lab.run(&[]);
    assert_eq!((counts(&first), &first["checks_executed"]), ((4, 0), &json!(4)));
    let toml = lab.path("tasks/t1/task.toml");
    let text = fs::read_to_string(&toml).unwrap();
    let label = |more: &str| fs::write(&toml, format!("{text}{more}")).unwrap();
    let check = |more: &str, run: &str, relabels: Option<&str>| {
        label(more);
        let ran = lab.assay(&["run", "experiment.toml", "--format", "json"]);
        let document = ran.json();
        assert_eq!((counts(&document), &document["checks_executed"]), ((0, 4), &json!(0)), "{more}");
        assert_eq!(
            (&document["run"], &document["report"]["relabels"]),
            (&json!(run), &json!(relabels)),
            "{more}"
        );
        let note = relabels.map(|earlier| format!("`{earlier}` has the same trials with other labels"));
        assert_eq!(ran.stderr.contains("other labels"), note.is_some(), "{}", ran.stderr);
        assert!(ran.stderr.contains(&note.unwrap_or_default()), "{}", ran.stderr);
    };
    check("[metadata.assay]\ncluster = \"x\"\n", "lab-2", Some("lab"));
    check("[metadata.assay]\nnegative_control = true\n", "lab-3", Some("lab-2"));
    check("[metadata]\ndifficulty = \"hard\"\ncategory = \"data\"\n", "lab-4", Some("lab-3"));
    check("# no label\n[metadata]\ntags = [\"a\"]\n", "lab", None);
    // What a trial sees is no label.
    label("[metadata.assay]\npids = 99\n");
    assert_eq!(counts(&lab.run(&[]).0), (2, 2));
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A lab whose store was written by 0.1.0: `experiment.toml` has a script as its model, `served.toml` a server.
fn earlier() -> Fixture {
    let lab = Fixture::new().allow_unsandboxed().env("OPENAI_API_KEY", "none");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/earlier");
    copy(&folder, lab.folder());
    fs::rename(lab.path("store"), lab.path(".assay")).unwrap();
    lab
}

#[test]
fn results_of_the_earlier_id_schema_are_found_and_marked() {
    let lab = earlier();
    // Reports of before are read as they were.
    lab.assay(&["report", "scripted"]).ok();
    let ran = lab.assay(&["run", "experiment.toml", "--format", "json"]).ok();
    let document = ran.json();
    assert_eq!((counts(&document), &document["checks_executed"]), ((0, 2), &json!(0)), "{}", ran.stderr);
    let reused = json!([{ "why": "earlier-schema", "server": null, "trials": 2 }]);
    assert_eq!(document["report"]["reused"], reused);
    let run = document["run"].as_str().unwrap();
    let report = lab.assay(&["report", run]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "2 trials were recorded before servers and labels were part of the id schema.";
    assert!(report.contains(note), "{report}");
    // A changed skill executes its trials under the present schema.
    lab.write(
        "skills/reports/SKILL.md",
        "---\nname: reports\ndescription: Other.\n---\n\nThe word is `right`.\n",
    );
    assert_eq!(counts(&lab.assay(&["run", "experiment.toml", "--format", "json"]).json()), (1, 1));
}

/// Tasks are the same by name or by digest, and labels were part of the digests of 0.1.0.
#[test]
fn a_run_of_before_asked_the_question_of_a_new_one() {
    let check = |change: &dyn Fn(&Fixture), earlier_runs: &Value| {
        let lab = earlier();
        let path = lab.path("experiment.toml");
        // With another seed everything is executed again.
        fs::write(&path, format!("seed = 9\n{}", fs::read_to_string(&path).unwrap())).unwrap();
        change(&lab);
        let document = lab.assay(&["run", "experiment.toml", "--no-checks", "--format", "json"]).json();
        assert_eq!(counts(&document), (2, 0), "{document:#}");
        assert_eq!(document["report"]["question"]["earlier"], *earlier_runs, "{document:#}");
        assert_eq!(document["report"]["extended_after_look"], json!(*earlier_runs != json!([])));
    };
    let rename = |lab: &Fixture| {
        fs::rename(lab.path("tasks/report"), lab.path("tasks/summary")).unwrap();
        let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
        lab.write("experiment.toml", text.replace("[tasks.\"report\"]", "[tasks.\"summary\"]"));
    };
    check(&|_| {}, &json!(["scripted"]));
    check(&rename, &json!(["scripted"]));
    // Another task by another name is another question.
    let other = |lab: &Fixture| {
        rename(lab);
        lab.write("tasks/summary/instruction.md", "Write something else to answer.txt.\n");
    };
    check(&other, &json!([]));
}

/// The earlier schema did not tell servers apart. The experiments that are kept with the runs do.
#[test]
fn results_of_a_mock_do_not_become_those_of_a_model() {
    let lab = earlier();
    let address = "http://127.0.0.1:18990/v1";
    let text = fs::read_to_string(lab.path("served.toml")).unwrap();
    let check = |base_url: &str, args: &[&str], cached: u64, note: Option<&str>| {
        lab.write("served.toml", text.replace(&format!("base_url = \"{address}\"\n"), base_url));
        let ran = lab.assay(&[&["plan", "served.toml", "--format", "json"], args].concat());
        assert_eq!(ran.json()["cached"], json!(cached), "{base_url}: {}", ran.stderr);
        assert_eq!(ran.stderr.contains("not used"), note.is_some(), "{base_url}: {}", ran.stderr);
        assert!(ran.stderr.contains(note.unwrap_or_default()), "{base_url}: {}", ran.stderr);
    };
    let of_mock = Some("2 results of the server http://127.0.0.1:18990/v1 are not used");
    check(&format!("base_url = \"{address}\"\n"), &[], 2, None);
    check("base_url = \"http://localhost:18990/v1/\"\n", &[], 2, None);
    check("", &[], 0, of_mock);
    check("base_url = \"http://127.0.0.1:18991/v1\"\n", &[], 0, of_mock);
    check("base_url = \"http://127.0.0.1:18991/v1\"\n", &["--same-server", address], 2, None);
    // Without the experiment nothing tells.
    fs::remove_file(lab.path(".assay/runs/served/experiment.toml")).unwrap();
    check(&format!("base_url = \"{address}\"\n"), &[], 0, Some("2 results of the server unknown"));
    check(&format!("base_url = \"{address}\"\n"), &["--same-server", "unknown"], 2, None);
}

#[test]
fn keys_without_effect_are_refused() {
    let lab = suite::lab(1).experiment(|e| e);
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    let check = |agent: &str, expected: &str| {
        let from = text.find("[[agents]]").unwrap();
        lab.write("experiment.toml", format!("{}[[agents]]\n{agent}\n", &text[..from]));
        for command in ["plan", "run"] {
            let ran = lab.assay(&[command, "experiment.toml"]).ended(2);
            assert!(ran.stderr.contains(expected), "{command}: {}", ran.stderr);
        }
    };
    let cli = |key: &str| format!("name = \"codex\"\nmodel = \"openai:x\"\n{key}");
    check(&cli("context_tokens = 8000"), "`context_tokens` has no effect for the agent \"codex\"");
    check(&cli("command_timeout = 5"), "`command_timeout` has no effect for the agent \"codex\"");
    check(
        "name = \"nop\"\ntemperature = 0.0",
        "`temperature` has no effect for the agent \"nop\": it uses no model",
    );
    check(
        "name = \"loop\"\nmodel = \"scripted:turns.jsonl\"\nbase_url = \"http://127.0.0.1:1\"",
        "`base_url` has no effect for the agent \"loop\": its model is a script",
    );
    check(
        "name = \"loop\"\nmodel = \"scripted:turns.jsonl\"\nplacement = \"native\"",
        "`placement` has no effect for the agent \"loop\"",
    );
}
