//! Looks are counted whatever happens to a gate: nothing that was counted or paid for is lost.

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_stats::spending::{Sides, nominal_levels};
use serde_json::{Value, json};

use super::{git, repository, save, skill};
use crate::fixture::{Fixture, Ran, needs_bubblewrap, within};

const POLICY: &str = r#"schema = "assay.gate-policy/1"
without_experiment = "warn"
[ledger]
git_ref = "refs/assay/gate"
[[rules]]
skills = ["skills/reports"]
experiment = "experiment.toml"
require = "helps"
"#;

/// A repository whose pull request improves one skill.
fn pull_request(policy: &str) -> Fixture {
    let lab = repository();
    git(&lab, &["checkout", "--quiet", "-B", "main", "base"]);
    lab.write("gate.toml", policy);
    save(&lab, "policy");
    git(&lab, &["tag", "--force", "base"]);
    git(&lab, &["checkout", "--quiet", "-b", "pr"]);
    lab.write("skills/reports/SKILL.md", skill("reports", "right"));
    save(&lab, "change");
    lab
}

/// The same with a bare repository as its remote.
fn with_remote() -> Fixture {
    let lab = pull_request(POLICY);
    git(&lab, &["init", "--quiet", "--bare", "home/remote.git"]);
    git(&lab, &["remote", "add", "origin", "home/remote.git"]);
    lab
}

const GATE: [&str; 6] = ["gate", "gate.toml", "--changed-since", "base", "--format", "json"];

fn gate(lab: &Fixture) -> (Value, i32) {
    let ran = lab.assay(&GATE);
    assert!(!ran.stdout.is_empty(), "{}", ran.stderr);
    (row(&ran), ran.code)
}

fn row(ran: &Ran) -> Value {
    let document = ran.json();
    let rows = document["skills"].as_array().unwrap();
    let row = rows.iter().find(|row| row["skill"] == "skills/reports").cloned();
    row.unwrap_or_else(|| panic!("{document:#}"))
}

fn numbers(row: &Value) -> (Value, Value) {
    (row["version"].clone(), row["look"].clone())
}

/// The files of a ledger in a reference.
fn files(folder: &Path) -> Vec<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["ls-tree", "--name-only", "refs/assay/gate"]);
    let listed = String::from_utf8(command.output().unwrap().stdout).unwrap();
    listed.lines().map(str::to_owned).collect()
}

fn count(files: &[String]) -> [usize; 2] {
    ["opened", "completed"]
        .map(|state| files.iter().filter(|name| name.ends_with(&format!(".{state}.json"))).count())
}

#[test]
fn layout_is_the_same_version_and_words_are_another() {
    needs_bubblewrap!();
    let lab = pull_request(POLICY);
    let path = "skills/reports/SKILL.md";
    let text = std::fs::read_to_string(lab.path(path)).unwrap();
    let (first, code) = gate(&lab);
    assert_eq!((numbers(&first), code), ((json!(1), json!(1)), 0), "{first:#}");
    // The same look again.
    let (again, _) = gate(&lab);
    assert_eq!((numbers(&again), &again["trials_executed"]), (numbers(&first), &json!(0)));
    assert_eq!(count(&files(lab.folder())), [1, 1]);
    for (number, changed) in [format!("{text}\n"), text.replace('\n', "\r\n")].iter().enumerate() {
        lab.write(path, changed);
        let (row, _) = gate(&lab);
        assert_eq!(numbers(&row), (json!(1), json!(number + 2)), "{changed:?}");
    }
    lab.write(path, text.replace("Use it for all", "Use it in all"));
    let (row, _) = gate(&lab);
    assert_eq!(numbers(&row), (json!(2), json!(1)), "{row:#}");
    assert_eq!(count(&files(lab.folder())), [4, 4]);
}

#[test]
fn another_store_is_another_look() {
    needs_bubblewrap!();
    let lab = pull_request(POLICY);
    let (first, _) = gate(&lab);
    std::fs::remove_dir_all(lab.path(".assay")).unwrap();
    // What the pull request has in the place of an old ledger counts for nothing.
    lab.write("ledger.jsonl", "");
    let (second, _) = gate(&lab);
    assert_eq!((numbers(&first), numbers(&second)), ((json!(1), json!(1)), (json!(1), json!(2))));
    let level = |row: &Value| row["level"].as_f64().unwrap();
    assert!((level(&second) / level(&first) - 0.2).abs() < 1e-9, "{} {}", level(&first), level(&second));
}

#[test]
fn three_gates_at_once_are_three_looks() {
    needs_bubblewrap!();
    let lab = with_remote();
    let stores = ["home/one", "home/two", "home/three"];
    let running: Vec<_> =
        stores.iter().map(|store| lab.start(&[&["--store", store], &GATE[..]].concat())).collect();
    let mut looks: Vec<Value> = running
        .into_iter()
        .map(super::super::fixture::Running::wait)
        .map(|ran| {
            assert!(matches!(ran.code, 0 | 4), "{}{}", ran.stdout, ran.stderr);
            row(&ran)["look"].clone()
        })
        .collect();
    looks.sort_by_key(Value::as_u64);
    assert_eq!(looks, [1, 2, 3].map(|look| json!(look)));
    assert_eq!(count(&files(&lab.path("home/remote.git"))), [3, 3]);
}

/// With rounds the level of the look is shared by all of them: it is that of the look that was opened, and not that which would
/// have come next when the ledger was read.
#[test]
fn two_gates_with_rounds_share_the_budget() {
    needs_bubblewrap!();
    let policy = POLICY.replace("[ledger]", "on_undecided = \"extend\"\n[ledger]");
    let lab = pull_request(&policy);
    git(&lab, &["init", "--quiet", "--bare", "home/remote.git"]);
    git(&lab, &["remote", "add", "origin", "home/remote.git"]);
    let stores = ["home/one", "home/two"];
    let running: Vec<_> =
        stores.iter().map(|store| lab.start(&[&["--store", store], &GATE[..]].concat())).collect();
    let rows: Vec<Value> = running.into_iter().map(|running| row(&running.wait())).collect();
    let mut looks: Vec<u64> = rows.iter().map(|row| row["look"].as_u64().unwrap()).collect();
    looks.sort_unstable();
    assert_eq!(looks, [1, 2], "{rows:#?}");
    for row in &rows {
        // Six tasks: a look after the third and one after the sixth repetition.
        let look = u32::try_from(row["look"].as_u64().unwrap()).unwrap();
        let levels = nominal_levels(assay_gate::level(0.05, 1, look), &[0.5, 1.0], Sides::One);
        let trials = row["trials_executed"].as_u64().unwrap();
        let (expected, outcome) = (levels[usize::from(trials > 36)], &row["outcome"]);
        let (level, p) = (row["level"].as_f64().unwrap(), row["p"].as_f64().unwrap());
        assert!((level / expected - 1.0).abs() < 1e-9, "{level}, not {expected}: {row:#}");
        assert_eq!(*outcome == json!("pass"), p <= expected, "{row:#}");
    }
    assert_eq!(count(&files(&lab.path("home/remote.git"))), [2, 2]);
}

/// Other trials of the same version are the next look, also in the check that comes before it is opened: none is opened at a
/// level that no result meets.
#[test]
fn a_look_that_no_result_meets_is_not_opened() {
    needs_bubblewrap!();
    let lab = pull_request(POLICY);
    let text = std::fs::read_to_string(lab.path("experiment.toml")).unwrap();
    let mut ends = Vec::new();
    for seed in 1..=8 {
        // The target plans other trials; the skill, and the store with the trials of the looks before, stay.
        git(&lab, &["checkout", "--quiet", "main"]);
        lab.write(
            "experiment.toml",
            text.replace("repetitions = 3", &format!("repetitions = 3\nseed = {seed}")),
        );
        save(&lab, "seed");
        git(&lab, &["tag", "--force", "base"]);
        git(&lab, &["checkout", "--quiet", "pr"]);
        git(&lab, &["rebase", "--quiet", "main"]);
        let ran = lab.assay(&GATE);
        ends.push(ran.code);
        if ran.code != 0 {
            assert!(ran.stderr.contains("unattainable"), "{}{}", ran.stdout, ran.stderr);
            break;
        }
        assert_eq!(row(&ran)["look"], json!(seed), "{}", ran.stdout);
    }
    let opened = ends.len() - 1;
    assert!(opened > 1 && ends.last() == Some(&2), "{ends:?}");
    assert_eq!(count(&files(lab.folder())), [opened, opened], "{ends:?}");
}

/// A gate that was killed among its trials goes on with the same look and with the trials that were recorded.
#[test]
fn a_killed_gate_loses_no_look_and_no_trial() {
    needs_bubblewrap!();
    let lab = pull_request(POLICY);
    let is_opened = |lab: &Fixture| count(&files(lab.folder()))[0] == 1;
    // As soon as the look is opened, and after the first trials.
    let moments: [(&str, &dyn Fn() -> bool); 2] =
        [("opened", &|| is_opened(&lab)), ("recorded", &|| lab.records().len() > 3)];
    for (moment, has_come) in moments {
        let running = lab.start(&GATE);
        assert!(within(std::time::Duration::from_mins(2), has_come), "{moment}");
        running.signal(rustix::process::Signal::KILL);
        running.wait();
        assert_eq!(count(&files(lab.folder())), [1, 0], "{moment}");
    }
    let report = || lab.assay(&["report", "gate-skills-reports"]).ok().stdout;
    assert!(report().contains("The gate was interrupted: no verdict."), "{}", report());
    let recorded = lab.records().len();
    assert!(recorded < 36, "{recorded}");
    let (row, code) = gate(&lab);
    assert_eq!((code, numbers(&row)), (0, (json!(1), json!(1))), "{row:#}");
    assert!(row["trials_reused"].as_u64().unwrap() >= recorded as u64, "{row:#}");
    assert_eq!(count(&files(lab.folder())), [1, 1]);
    assert!(!report().contains("interrupted"), "{}", report());
}

/// Trials that were paid for when the remote was lost are decided on when it is back.
#[test]
fn a_remote_that_is_lost_blocks_and_loses_nothing() {
    needs_bubblewrap!();
    let lab = with_remote();
    let [here, gone] = ["home/remote.git", "home/gone.git"].map(|path| lab.path(path));
    let running = lab.start(&GATE);
    assert!(within(std::time::Duration::from_mins(2), || !lab.records().is_empty()));
    std::fs::rename(&here, &gone).unwrap();
    let ran = running.wait();
    assert_eq!((ran.code, &row(&ran)["decision"]), (3, &json!("blocked")), "{}", ran.stdout);
    let reason = row(&ran)["reason"].to_string();
    assert!(reason.contains("cannot") && reason.contains("no trial is executed twice"), "{reason}");
    // All trials are there, and still there is no verdict.
    let report = lab.assay(&["report", "gate-skills-reports", "--format", "json"]).ok().json();
    assert_eq!((&report["interim"], &report["comparisons"][0]["verdict"]), (&json!(true), &Value::Null));
    // Without the remote nothing begins.
    std::fs::rename(lab.path(".assay"), lab.path("home/store")).unwrap();
    let (blocked, code) = gate(&lab);
    assert_eq!((code, &blocked["trials_executed"]), (3, &json!(0)), "{blocked:#}");
    assert!(lab.records().is_empty());
    std::fs::remove_dir_all(lab.path(".assay")).ok();
    std::fs::rename(lab.path("home/store"), lab.path(".assay")).unwrap();
    std::fs::rename(&gone, &here).unwrap();
    let (row, code) = gate(&lab);
    assert_eq!((code, numbers(&row)), (0, (json!(1), json!(1))), "{row:#}");
    assert_eq!((&row["trials_executed"], &row["trials_reused"]), (&json!(0), &json!(36)));
    assert_eq!(count(&files(&here)), [1, 1]);
}

#[test]
fn a_deleted_ledger_blocks() {
    needs_bubblewrap!();
    let lab = with_remote();
    let (row, _) = gate(&lab);
    let notes = row["notes"].to_string();
    let id = notes.split("Assay-Gate: ").nth(1).unwrap_or_else(|| panic!("{notes}")).get(..32).unwrap();
    for folder in [lab.folder().to_owned(), lab.path("home/remote.git")] {
        let status = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(["update-ref", "-d", "refs/assay/gate"])
            .status()
            .unwrap();
        assert!(status.success());
    }
    let (blocked, code) = gate(&lab);
    assert_eq!((code, &blocked["decision"]), (3, &json!("blocked")), "{blocked:#}");
    let reason = blocked["reason"].to_string();
    assert!(reason.contains(id) && reason.contains("this machine saw before"), "{reason}");
    // Another machine knows it by the trailer of the merge.
    std::fs::remove_dir_all(lab.path("home/.local/state/assay/gate")).unwrap();
    git(&lab, &["checkout", "--quiet", "main"]);
    let message = format!("Merge\n\nAssay-Gate: {id}");
    git(&lab, &["commit", "--quiet", "--allow-empty", "--message", &message]);
    git(&lab, &["tag", "--force", "base"]);
    git(&lab, &["checkout", "--quiet", "pr"]);
    let (blocked, code) = gate(&lab);
    let reason = blocked["reason"].to_string();
    assert!(code == 3 && reason.contains("the history of the target names"), "{blocked:#}");
}

/// Fills the disk of the ledger before the gate, and makes room after it.
const FULL: &str = r#"
set -eu
mkdir -p "$1"; mount -t tmpfs -o size=64k assay-ledger "$1"
head -c 1000000 /dev/zero > "$1/ballast" 2> /dev/null || true
code=0; "${@:2}" > home/first.json 2> home/first.txt || code=$?; echo $code > home/first.code
rm "$1/ballast"
code=0; "${@:2}" > home/second.json 2> home/second.txt || code=$?; echo $code > home/second.code
ls "$1" > home/files
"#;

#[test]
fn a_full_disk_blocks_before_any_trial() {
    needs_bubblewrap!();
    let tried = Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "x", "/mnt"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        assay_test::report_skip("only root may mount the small disk that is filled here");
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let ledger: PathBuf = outside.path().join("ledger");
    let policy = POLICY.replace("git_ref = \"refs/assay/gate\"", &format!("path = \"{}\"", ledger.display()));
    let lab = pull_request(&policy);
    let mut command = Command::new("unshare");
    command.args(["-m", "bash", "-c", FULL, "bash"]).arg(&ledger).arg(env!("CARGO_BIN_EXE_assay")).args(GATE);
    command.current_dir(lab.folder()).env_remove("CI").env_remove("ASSAY_RECORD_KEY");
    command.env("HOME", lab.path("home")).env("ASSAY_SCRATCH", lab.path(".assay/scratch"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(lab.path("home").join(name)).unwrap();
    let rows = |name: &str| -> Value {
        let document: Value = serde_json::from_str(&read(name)).unwrap();
        let rows = document["skills"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["skill"] == "skills/reports").unwrap()
    };
    let first = rows("first.json");
    assert_eq!((read("first.code").as_str(), &first["trials_executed"]), ("3\n", &json!(0)), "{first:#}");
    assert!(first["reason"].to_string().contains("No space left"), "{first:#}");
    let second = rows("second.json");
    assert_eq!((read("second.code").as_str(), numbers(&second)), ("0\n", (json!(1), json!(1))), "{second:#}");
    let files: Vec<String> = read("files").lines().map(str::to_owned).collect();
    assert_eq!(count(&files), [1, 1], "{files:?}");
}
