//! Signatures of records, and results that others produced.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran, Running, attempt, needs_bubblewrap, read_json, within};
use crate::suite;

const VARIABLE: &str = "ASSAY_RECORD_KEY";
const KEY: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeeff0";
const OTHER: &str = "ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=";

fn lab(tasks: usize) -> Fixture {
    suite::lab(tasks).experiment(|e| suite::paired(e.conditions(&["none", "curated"]), tasks))
}

fn keys(lab: &Fixture, run: &str) -> Value {
    lab.assay(&["report", run, "--format", "json"]).ok().json()["keys"].clone()
}

/// `assay` with another value of the variable.
fn with_key(lab: &Fixture, key: &str, args: &[&str]) -> Ran {
    Running::start(lab.command(args).env(VARIABLE, key)).wait()
}

fn key_file(lab: &Fixture) -> PathBuf {
    lab.path("home/.local/state/assay/record.key")
}

fn edit(path: &Path, change: &dyn Fn(&mut Value)) {
    let mut document = read_json(path).unwrap();
    change(&mut document);
    fs::write(path, document.to_string()).unwrap();
}

#[test]
fn what_was_changed_after_it_was_signed_is_no_result() {
    needs_bubblewrap!();
    let ctrf = json!({ "results": { "tool": { "name": "t" }, "summary": { "tests": 1 }, "tests": [
        { "name": "answer", "status": "failed", "duration": 1 } ] } });
    let lab = suite::lab(1)
        .task("t1", |task| {
            task.test_sh(&format!(
                "echo '{ctrf}' > /logs/verifier/ctrf.json\n[ \"$(cat /app/answer.txt)\" = right ] && reward 1 || reward 0\n"
            ))
        })
        .experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 1));
    let (document, _) = lab.run(&["--no-checks"]);
    let signed = json!({ "signed": 2, "unsigned": 0, "unknown_key": 0, "imported": 0, "changed": 0 });
    assert_eq!(document["report"]["keys"], signed, "{document:#}");
    assert!(!document["report"]["notes"].to_string().contains("signature"), "{document:#}");
    let record = lab.records().into_iter().find(|record| record["condition"] == "none").unwrap();
    let path = Path::new(record["folder"].as_str().unwrap()).join("record.json");
    let before = fs::read(&path).unwrap();
    let check = |file: &Path, change: &dyn Fn(&mut Value)| {
        let content = fs::read(file).unwrap();
        edit(file, change);
        let report = lab.assay(&["report", "lab", "--format", "json"]).ok().json();
        assert_eq!(
            (&report["keys"]["signed"], &report["keys"]["changed"]),
            (&json!(1), &json!(1)),
            "{file:?}"
        );
        let none = report["arms"].as_array().unwrap().iter().find(|arm| arm["condition"] == "none").unwrap();
        assert_eq!(none["unfinished"], json!(1), "a changed record is no result: {none:#}");
        let text = lab.assay(&["report", "lab"]).ok().stdout;
        assert!(text.contains("1 record does not match its signature"), "{text}");
        fs::write(file, content).unwrap();
    };
    check(&path, &|record| record["outcome"] = json!("passed"));
    check(&path, &|record| record["reward"] = json!(1.0));
    check(&path, &|record| record["rewards"] = json!({ "reward": 1.0 }));
    check(&path, &|record| record["ctrf"]["tests"][0]["status"] = json!("passed"));
    check(&path, &|record| record["turns"] = json!(77));
    check(&path, &|record| record["signature"]["evidence"] = json!({}));
    check(&attempt(&record, "trajectory.json"), &|trajectory| trajectory["steps"] = json!([]));
    check(&attempt(&record, "verifier/ctrf.json"), &|report| report["results"]["tests"] = json!([]));
    assert_eq!(keys(&lab, "lab"), signed);
    // Without its signature it is a record whose origin is unknown.
    edit(&path, &|record| drop(record.as_object_mut().unwrap().shift_remove("signature")));
    assert_eq!(keys(&lab, "lab")["unsigned"], json!(1));
    let text = lab.assay(&["report", "lab"]).ok().stdout;
    assert!(text.contains("Of 2 records, 1 has no signature of a known key"), "{text}");
    // The next run executes the trial of a changed record again, and keeps the record.
    fs::write(&path, before).unwrap();
    edit(&path, &|record| record["outcome"] = json!("passed"));
    let (document, _) = lab.run(&["--no-checks"]);
    assert_eq!((&document["executed"], &document["cached"]), (&json!(1), &json!(1)), "{document:#}");
    assert_eq!(document["report"]["keys"], signed);
    assert!(path.with_file_name("record.changed-1.json").exists());
}

#[test]
fn records_of_other_keys_are_unsigned_here() {
    needs_bubblewrap!();
    let lab = lab(1).env(VARIABLE, &format!("{KEY},{OTHER}"));
    lab.run(&["--no-checks"]);
    assert_eq!(keys(&lab, "lab")["signed"], json!(2));
    assert!(!key_file(&lab).exists(), "the variable comes instead of the file");
    let check = |key: &str, signed: usize, unknown: usize| {
        let found = with_key(&lab, key, &["report", "lab", "--format", "json"]).ok().json()["keys"].clone();
        let expected = json!({
            "signed": signed, "unsigned": unknown, "unknown_key": unknown, "imported": 0, "changed": 0,
        });
        assert_eq!(found, expected, "{key}");
    };
    check(KEY, 2, 0);
    check(OTHER, 0, 2);
    check(&format!("{OTHER},{KEY}"), 2, 0);
    check("", 0, 2);
    let wrong = with_key(&lab, "0f1e2d", &["report", "lab"]).ended(2);
    assert!(wrong.stderr.contains("ASSAY_RECORD_KEY: a record key is 32 bytes"), "{wrong:#?}");
    assert!(!wrong.stderr.contains("0f1e2d"), "{wrong:#?}");
    // With another key nothing is executed again.
    let again =
        with_key(&lab, OTHER, &["run", "experiment.toml", "--no-checks", "--format", "json"]).ok().json();
    assert_eq!((&again["executed"], &again["report"]["keys"]["unknown_key"]), (&json!(0), &json!(2)));
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    needs_bubblewrap!();
    let lab = lab(1);
    lab.run(&["--no-checks"]);
    let file = key_file(&lab);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    for args in [&["run", "experiment.toml"][..], &["report", "lab"]] {
        let ran = lab.assay(args).ended(2);
        let named = ran.stderr.contains("record.key: its mode is 0644") && ran.stderr.contains("chmod 600");
        assert!(named, "{ran:#?}");
    }
}

#[test]
fn records_without_a_key_are_unsigned_and_count() {
    needs_bubblewrap!();
    let lab = lab(1);
    let args = ["run", "experiment.toml", "--no-checks", "--format", "json"];
    let ran = Running::start(lab.command(&args).env_remove("HOME")).wait().ok();
    assert!(
        ran.stderr.contains("records get no signature, because there is no key: neither HOME"),
        "{ran:#?}"
    );
    let document = ran.json();
    assert_eq!((&document["executed"], &document["report"]["keys"]["unsigned"]), (&json!(2), &json!(2)));
    // A later run with a key does not sign what it did not accept.
    let (document, _) = lab.run(&["--no-checks"]);
    assert_eq!((&document["executed"], &document["report"]["keys"]["unsigned"]), (&json!(0), &json!(2)));
}

#[test]
fn the_run_signs_what_its_workers_execute() {
    needs_bubblewrap!();
    let lab = lab(1);
    let run =
        lab.start(&["run", "experiment.toml", "--executor", "workers", "--no-checks", "--format", "json"]);
    assert!(
        within(Duration::from_mins(1), || lab.path(".assay/runs/lab/batch.jsonl").exists()),
        "{}",
        run.stderr()
    );
    let home = lab.path("worker-home");
    fs::create_dir(&home).unwrap();
    Running::start(lab.command(&["worker", "--idle-exit", "3"]).env("HOME", &home)).wait().ok();
    let document = run.wait().ok().json();
    assert_eq!((&document["executed"], &document["report"]["keys"]["signed"]), (&json!(2), &json!(2)));
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "a worker has no key");
    assert_eq!(keys(&lab, "lab")["signed"], json!(2));
}

/// What an agent, a verifier and a solution can see of their machine.
fn spying(sandbox: &str) -> Fixture {
    let spy = "env; cat ~/.local/state/assay/record.key; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'";
    suite::lab(1)
        .task("t1", |task| {
            task.toml("version = \"1.0\"\n[verifier.env]\nSTOLEN = \"${ASSAY_RECORD_KEY:-nothing}\"\n")
                .test_sh(&format!("{spy}\n[ \"$(cat answer.txt)\" = right ] && reward 1 || reward 0\n"))
                .solve_sh(&format!("{spy}\necho right > answer.txt\n"))
        })
        .script(&[json!({ "turn": 0, "run": spy })])
        .experiment(|e| {
            let design =
                e.conditions(&["none", "curated"]).no_sandbox().top("allow_env = [\"ASSAY_RECORD_KEY\"]");
            suite::paired(design, 1).table(sandbox)
        })
}

/// Whether a file below a folder has a text.
fn holds(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        let is_file = entry.file_type().unwrap().is_file();
        if is_file {
            String::from_utf8_lossy(&fs::read(path).unwrap()).contains(text)
        } else {
            holds(&path, text)
        }
    })
}

#[test]
fn nothing_in_a_sandbox_sees_the_key() {
    needs_bubblewrap!();
    let lab = spying("[sandbox]\nkind = \"bubblewrap\"\n").env(VARIABLE, KEY);
    let (document, _) = lab.run(&[]);
    assert_eq!(document["report"]["keys"]["signed"], json!(2), "{document:#}");
    assert!(!holds(&lab.path(".assay"), KEY), "the variable");
    let lab = spying("[sandbox]\nkind = \"bubblewrap\"\n");
    let (document, _) = lab.run(&[]);
    assert_eq!(document["report"]["keys"]["signed"], json!(2), "{document:#}");
    let key = fs::read_to_string(key_file(&lab)).unwrap();
    assert!(!holds(&lab.path(".assay"), key.trim()), "the file");
}

/// Without a sandbox, processes run as the user: they get no variable, and their own home has no key. The user's files and
/// the environment of assay itself can be read by absolute path, as docs/SECURITY.md says.
#[test]
fn nothing_without_a_sandbox_is_given_the_key() {
    let spy = "env; cat ~/.local/state/assay/record.key";
    let lab = || {
        suite::lab(1)
            .task("t1", |task| {
                task.toml("version = \"1.0\"\n[verifier.env]\nSTOLEN = \"${ASSAY_RECORD_KEY:-nothing}\"\n")
                    .test_sh(&format!("{spy}\n[ \"$(cat answer.txt)\" = right ] && reward 1 || reward 0\n"))
                    .solve_sh(&format!("{spy}\necho right > answer.txt\n"))
            })
            .script(&[json!({ "turn": 0, "run": spy })])
            .experiment(|e| {
                let design =
                    e.conditions(&["none", "curated"]).no_sandbox().top("allow_env = [\"ASSAY_RECORD_KEY\"]");
                suite::paired(design, 1).table("[sandbox]\nkind = \"none\"\n")
            })
    };
    // The verifier's folder for rewards is in sandboxes only, so that no trial counts; all three are executed.
    let run = |lab: &Fixture| {
        let (checked, _) = lab.run(&["--allow-unsandboxed"]);
        assert_eq!(checked["checks_executed"], json!(2), "{checked:#}");
        let (document, _) = lab.run(&["--no-checks", "--allow-unsandboxed"]);
        assert_eq!(document["executed"], json!(2), "{document:#}");
        for seen in ["trajectory.json", "verifier"] {
            let spied = lab.records_of("loop").iter().any(|record| {
                let path = attempt(record, seen);
                if path.is_dir() {
                    holds(&path, "PATH=")
                } else {
                    fs::read_to_string(path).unwrap().contains("PATH=")
                }
            });
            assert!(spied, "{seen}");
        }
        let solved = |record: &Value| fs::read_to_string(attempt(record, "trajectory.json")).unwrap();
        assert!(lab.records_of("oracle").iter().any(|record| solved(record).contains("PATH=")));
    };
    let with_variable = lab().env(VARIABLE, KEY);
    run(&with_variable);
    assert!(!holds(&with_variable.path(".assay"), KEY), "the variable");
    let with_file = lab();
    run(&with_file);
    let key = fs::read_to_string(key_file(&with_file)).unwrap();
    assert!(!holds(&with_file.path(".assay"), key.trim()), "the file");
}

#[test]
#[ignore = "needs Docker"]
fn nothing_in_a_container_sees_the_key() {
    let docker = "[sandbox]\nkind = \"docker\"\nimages = { \"debian:12-slim\" = \"base:bookworm\" }\n";
    let lab = spying(docker).env(VARIABLE, KEY);
    let (document, _) = lab.run(&[]);
    assert_eq!(document["report"]["keys"]["signed"], json!(2), "{document:#}");
    assert!(!holds(&lab.path(".assay"), KEY), "the variable");
    let lab = spying(docker);
    let (document, _) = lab.run(&[]);
    assert_eq!(document["report"]["keys"]["signed"], json!(2), "{document:#}");
    let key = fs::read_to_string(key_file(&lab)).unwrap();
    assert!(!holds(&lab.path(".assay"), key.trim()), "the file");
}

/// An archive of an experiment's run whose results are turned around, and whose skill is another text.
fn edited_archive() -> Vec<u8> {
    let theirs = lab(2);
    let (document, _) = theirs.run(&["--no-checks"]);
    assert_eq!(document["executed"], json!(4), "{document:#}");
    for record in theirs.records() {
        let path = Path::new(record["folder"].as_str().unwrap()).join("record.json");
        let passes = record["condition"] == "none";
        edit(&path, &|record| {
            record["outcome"] = json!(if passes { "passed" } else { "failed" });
            record["reward"] = json!(f64::from(u8::from(passes)));
            record.as_object_mut().unwrap().shift_remove("signature");
        });
    }
    for skill in fs::read_dir(theirs.path(".assay/skills")).unwrap() {
        fs::write(skill.unwrap().path(), "---\nname: reports\ndescription: x\n---\nPOISONED\n").unwrap();
    }
    theirs.assay(&["export", "run", "lab", "--out", "x.tar.zst"]).ok();
    fs::read(theirs.path("x.tar.zst")).unwrap()
}

#[test]
fn imported_results_are_not_those_of_ones_own_run() {
    needs_bubblewrap!();
    let mine = lab(2).file("x.tar.zst", edited_archive());
    mine.assay(&["import", "run", "x.tar.zst", "--name", "theirs"]).ok();
    let imported = mine.records();
    assert_eq!(imported.len(), 4);
    for record in &imported {
        let from = &record["imported_from"];
        assert_eq!((&from["format"], &from["file"]), (&json!("run"), &json!("x.tar.zst")), "{record:#}");
        assert_ne!(from["trial"], record["trial"]);
    }
    let marks = json!({ "signed": 0, "unsigned": 0, "unknown_key": 0, "imported": 4, "changed": 0 });
    assert_eq!(keys(&mine, "theirs"), marks);
    let text = mine.assay(&["report", "theirs"]).ok().stdout;
    assert!(text.contains("Of 4 records, 4 were imported."), "{text}");

    // One's own run executes its trials.
    let ran = mine.assay(&["run", "experiment.toml", "--no-checks", "--format", "json"]).ok();
    assert!(
        ran.stderr.contains("4 imported results of these trials not used: `--reuse-imported`"),
        "{ran:#?}"
    );
    let document = ran.json();
    assert_eq!((&document["executed"], &document["cached"]), (&json!(4), &json!(0)), "{document:#}");
    let passed = |report: &Value, condition: &str| {
        let arms = report["arms"].as_array().unwrap();
        arms.iter().find(|arm| arm["condition"] == condition).unwrap()["pass_rate"].clone()
    };
    let report = &document["report"];
    assert_eq!((passed(report, "none"), passed(report, "curated")), (json!(0.0), json!(1.0)));
    // Both runs keep their results, and the run's own skill comes first.
    let theirs = mine.assay(&["report", "theirs", "--format", "json"]).ok().json();
    assert_eq!((passed(&theirs, "none"), passed(&theirs, "curated")), (json!(1.0), json!(0.0)));
    let own: Vec<PathBuf> = fs::read_dir(mine.path(".assay/skills"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    assert!(own.iter().any(|path| fs::read_to_string(path).unwrap().contains("agreed word")), "{own:?}");
    assert!(own.iter().all(|path| !fs::read_to_string(path).unwrap().contains("POISONED")), "{own:?}");
}

#[test]
fn imported_results_are_used_where_that_is_asked_for() {
    needs_bubblewrap!();
    let mine = lab(2).file("x.tar.zst", edited_archive());
    mine.assay(&["import", "run", "x.tar.zst", "--name", "theirs"]).ok();
    let (document, _) = mine.run(&["--no-checks", "--reuse-imported"]);
    let counts = ["planned", "executed", "cached", "imported"].map(|key| document[key].clone());
    assert_eq!(counts, [json!(4), json!(0), json!(4), json!(4)], "{document:#}");
    assert_eq!(document["report"]["keys"]["imported"], json!(4));
    assert_eq!(read_json(&mine.path(".assay/runs/lab/plan.json")).unwrap()["reused_imports"], json!(4));
    let text = mine.assay(&["run", "experiment.toml", "--no-checks", "--reuse-imported"]).ok().stdout;
    assert!(text.contains("4 trials planned: 0 executed, 4 cached (4 imported)"), "{text}");
    // Without it the plan is another.
    let (document, _) = mine.run(&["--no-checks"]);
    assert_eq!((&document["run"], &document["executed"]), (&json!("lab-2"), &json!(4)));
}

#[test]
fn an_archive_with_records_that_were_changed_after_they_were_signed_here_is_refused() {
    needs_bubblewrap!();
    let lab = lab(1).env(VARIABLE, KEY);
    lab.run(&["--no-checks"]);
    // Another key cannot tell.
    let record = lab.records().remove(0);
    let path = Path::new(record["folder"].as_str().unwrap()).join("record.json");
    edit(&path, &|record| record["reward"] = json!(0.5));
    with_key(&lab, OTHER, &["export", "run", "lab", "--out", "x.tar.zst"]).ok();
    let refused = lab.assay(&["--store", "mine", "import", "run", "x.tar.zst"]).ended(2);
    assert!(refused.stderr.contains("the record was changed after it was signed"), "{refused:#?}");
}
