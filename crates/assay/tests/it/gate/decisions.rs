//! What a gate decides, and what it refuses before it spends anything.

use std::process::Command;

use serde_json::{Value, json};

use super::{POLICY, git, repository, save, set_policy, skill};
use crate::fixture::{Fixture, Ran, needs_bubblewrap};

/// The gate on the skill `reports` alone, with changes of the policy's text. The policy is at the base as well.
fn reports(replace: &[(&str, &str)], top: &str) -> Fixture {
    let lab = repository();
    let mut text = POLICY
        .replace("\"skills/reports\", \"skills/invoices\", \"skills/letters\"", "\"skills/reports\"")
        .replace("schema = \"assay.gate-policy/1\"\n", &format!("schema = \"assay.gate-policy/1\"\n{top}"));
    for (from, to) in replace {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    lab.write("gate.toml", text);
    lab
}

fn policy(lab: &Fixture) -> String {
    std::fs::read_to_string(lab.path("gate.toml")).unwrap()
}

fn run(lab: &Fixture) -> Ran {
    lab.assay(&["gate", "gate.toml", "--create-ledger", "--format", "json"])
}

fn row(ran: &Ran) -> Value {
    assert!(!ran.stdout.is_empty(), "{}", ran.stderr);
    ran.json()["skills"][0].clone()
}

#[test]
fn a_skill_that_helps_is_not_harmful_where_equality_could_not_be_shown() {
    needs_bubblewrap!();
    // 6 tasks × 3: without effect it could not pass with a margin of 10 points, but a perfect skill does.
    let lab = reports(&[("\"helps\"", "\"not-harmful\"")], "");
    let ran = run(&lab);
    let found = row(&ran);
    assert_eq!((ran.code, &found["outcome"]), (0, &json!("pass")), "{found:#}");
    assert!(found["power_equal"].as_f64().unwrap() < 0.5, "{found:#}");
    assert_eq!(found["bound"], json!(-0.1));
    // One-sided, at the level of the first look at the first version.
    let level = found["level"].as_f64().unwrap();
    assert!((level - 0.05 * 6.0 / std::f64::consts::PI.powi(2) * 0.8).abs() < 1e-9, "{level}");
    assert!(found["p"].as_f64().unwrap() <= level);
}

#[test]
fn clusters_are_units_before_any_trial() {
    needs_bubblewrap!();
    let lab = reports(&[], "");
    for number in 1..=5 {
        let path = format!("tasks/reports-{number}/task.toml");
        let text = std::fs::read_to_string(lab.path(&path)).unwrap_or_default();
        lab.write(&path, format!("{text}\n[metadata.assay]\ncluster = \"one\"\n"));
    }
    let ran = run(&lab);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("6 tasks for this skill in 2 clusters"), "{}", ran.stderr);
    assert!(lab.records().is_empty());
}

#[test]
fn what_is_neither_shown_nor_refuted_is_undecided() {
    needs_bubblewrap!();
    let check = |top: &str, code: i32| {
        let lab = reports(&[], top);
        lab.write("skills/reports/SKILL.md", skill("reports", "wrong"));
        let ran = run(&lab);
        let found = row(&ran);
        assert_eq!((ran.code, &found["outcome"]), (code, &json!("undecided")), "{top}: {found:#}");
    };
    check("", 4);
    check("on_undecided = \"fail\"\n", 4);
    check("on_undecided = \"warn\"\n", 0);
}

#[test]
fn a_gate_that_an_equal_version_rarely_passes_is_refused() {
    needs_bubblewrap!();
    let refused = |top: &str| {
        let lab = reports(&[("\"helps\"", "\"non-inferior\"")], top);
        set_policy(&lab, &policy(&lab));
        // The policy covers one skill only.
        lab.write("skills/invoices/SKILL.md", skill("invoices", "right"));
        let ran = lab.assay(&[
            "gate",
            "gate.toml",
            "--create-ledger",
            "--changed-since",
            "base",
            "--format",
            "json",
        ]);
        (ran, lab)
    };
    let (ran, lab) = refused("");
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    for part in ["`min_power` = 0.5", "an equal version passes in", "80% take", "a margin of 0."] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(lab.records().is_empty());
    // Who accepts it gets a decision.
    let (ran, _lab) = refused("min_power = 0.0\n");
    let found = row(&ran);
    assert_eq!((ran.code, &found["outcome"]), (0, &json!("pass")), "{found:#}");
}

#[test]
fn clear_cases_stop_after_the_first_rounds() {
    needs_bubblewrap!();
    let lab = reports(&[], "on_undecided = \"extend\"\n");
    let ran = run(&lab);
    let found = row(&ran);
    assert_eq!((ran.code, &found["outcome"]), (0, &json!("pass")), "{found:#}");
    // Twice three repetitions at most, looked at twice with few tasks: 6 tasks × 2 conditions × 3.
    assert_eq!(found["trials_executed"], json!(36), "{found:#}");
    assert!(found["level"].as_f64().unwrap() < 0.0243, "{found:#}");
    // A skill without effect goes on to the last round.
    let lab = reports(&[], "on_undecided = \"extend\"\n");
    lab.write("skills/reports/SKILL.md", skill("reports", "wrong"));
    let ran = run(&lab);
    let found = row(&ran);
    assert_eq!((ran.code, &found["outcome"]), (4, &json!("undecided")), "{found:#}");
    assert_eq!(found["trials_executed"], json!(72), "{found:#}");
}

#[test]
fn a_version_behind_the_last_release_does_not_pass() {
    needs_bubblewrap!();
    let gate_after = |tag: Option<&str>| {
        let lab = reports(&[("\"helps\"", "\"non-inferior\"\nmargin = 0.6")], "min_power = 0.0\n");
        set_policy(&lab, &policy(&lab));
        // Released with the right word; the target has the wrong one, as the pull request has.
        lab.write("skills/reports/SKILL.md", skill("reports", "right"));
        save(&lab, "release");
        if let Some(tag) = tag {
            git(&lab, &["tag", tag]);
        }
        lab.write("skills/reports/SKILL.md", skill("reports", "wrong"));
        save(&lab, "target");
        git(&lab, &["tag", "--force", "base"]);
        let other = skill("reports", "wrong").replace("Every report", "Each report");
        lab.write("skills/reports/SKILL.md", other);
        let ran = lab.assay(&[
            "gate",
            "gate.toml",
            "--create-ledger",
            "--changed-since",
            "base",
            "--format",
            "json",
        ]);
        (ran.code, row(&ran))
    };
    let (code, found) = gate_after(None);
    assert_eq!(
        (code, &found["outcome"], &found["reference"]),
        (0, &json!("pass"), &Value::Null),
        "{found:#}"
    );
    let (code, found) = gate_after(Some("v1.0"));
    assert_eq!((code, &found["outcome"]), (1, &json!("fail")), "{found:#}");
    assert_eq!((&found["reference"]["lift"], &found["reference"]["outcome"]), (&json!(-1.0), &json!("fail")));
    // 6 tasks × 3 repetitions × 3 versions.
    assert_eq!(found["trials_executed"], json!(54), "{found:#}");
}

/// The completed looks of the ledger, in the order of their opening.
fn completed(lab: &Fixture) -> Vec<Value> {
    let show = |args: &[&str]| {
        let output = Command::new("git").current_dir(lab.folder()).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let names = show(&["ls-tree", "--name-only", "refs/assay/gate"]);
    let names = names.lines().filter(|name| name.ends_with(".completed.json"));
    let read = |name: &str| show(&["show", &format!("refs/assay/gate:{name}")]);
    let mut looks: Vec<Value> = names.map(|name| serde_json::from_str(&read(name)).unwrap()).collect();
    looks.sort_by_key(|look| look["opened_at"].to_string());
    looks
}

/// Each version fails one task more than the one before it, which a wide margin accepts, until they have lost too much
/// together.
#[test]
fn losses_of_several_merges_count_against_the_first_version() {
    needs_bubblewrap!();
    let top = "min_power = 0.0\non_undecided = \"fail\"\n";
    let lab = reports(&[("\"helps\"", "\"non-inferior\"\nmargin = 0.96")], top);
    let mut script = String::new();
    for number in 1..=6 {
        let rule = json!({
            "task": format!("reports-{number}"), "turn": 1, "seen": format!("Not for task {number}."),
            "run": "echo wrong > answer.txt",
        });
        script.push_str(&format!("{rule}\n"));
    }
    script.push_str(&std::fs::read_to_string(lab.path("turns.jsonl")).unwrap());
    lab.write("turns.jsonl", script);
    let version = |lost: usize| {
        let lines: String = (1..=lost).map(|number| format!("\nNot for task {number}.\n")).collect();
        format!("{}{lines}", skill("reports", "right"))
    };
    let write = |lost: usize| {
        lab.write("skills/reports/SKILL.md", version(lost));
        save(&lab, &format!("version {lost}"));
    };
    git(&lab, &["checkout", "--quiet", "-B", "main"]);
    write(0);
    let mut gates = Vec::new();
    for lost in 1..=3 {
        git(&lab, &["tag", "--force", "base"]);
        git(&lab, &["checkout", "--quiet", "-B", "pr", "base"]);
        write(lost);
        let ran = lab.assay(&["gate", "gate.toml", "--changed-since", "base", "--format", "json"]);
        gates.push((ran.code, row(&ran)));
        // As a merge that leaves the commits of the branch out.
        git(&lab, &["checkout", "--quiet", "main"]);
        git(&lab, &["merge", "--quiet", "--squash", "pr"]);
        save(&lab, "merged");
    }
    let outcomes: Vec<_> = gates.iter().map(|(code, row)| (*code, row["outcome"].clone())).collect();
    assert_eq!(outcomes, [(0, json!("pass")), (0, json!("pass")), (4, json!("undecided"))], "{gates:#?}");
    // Against the version at the target alone the third one would pass as the others did.
    let third = &gates[2].1;
    assert!(third["p"].as_f64().unwrap() <= third["level"].as_f64().unwrap(), "{third:#}");
    // Versions and looks share the level of both tests in one way.
    assert_eq!(third["reference"]["level"], third["level"], "{third:#}");
    assert_eq!(
        (&third["reference"]["lift"], &third["reference"]["outcome"]),
        (&json!(-0.5), &json!("undecided"))
    );
    let looks = completed(&lab);
    let first = &looks[0]["target_content"];
    assert!(first.is_string());
    let references: Vec<&Value> =
        looks.iter().map(|look| &look["completed"]["reference"]["content"]).collect();
    assert_eq!(references, [first, first, first], "{looks:#?}");
    let commits: Vec<&Value> = looks.iter().map(|look| &look["completed"]["reference"]["commit"]).collect();
    assert_eq!((commits[0], commits[1]), (&looks[0]["target_commit"], &looks[0]["target_commit"]));
    // The second and the third have trials of that version; the first had it as its baseline.
    assert_eq!(gates[0].1["trials_executed"], json!(36), "{:#}", gates[0].1);
    assert_eq!(gates[1].1["trials_executed"], json!(54), "{:#}", gates[1].1);
    assert_eq!(third["reference_version"], looks[2]["completed"]["reference"], "{third:#}");
}

/// A skill that helps may not lose what it helped before, from the first gate on.
#[test]
fn a_skill_that_is_not_harmful_is_compared_with_the_version_before_it() {
    needs_bubblewrap!();
    let lab = reports(&[("\"helps\"", "\"not-harmful\"\nmargin = 0.6")], "min_power = 0.0\n");
    set_policy(&lab, &policy(&lab));
    lab.write("skills/reports/SKILL.md", skill("reports", "right"));
    save(&lab, "target");
    git(&lab, &["tag", "--force", "base"]);
    lab.write("skills/reports/SKILL.md", skill("reports", "wrong"));
    let ran = lab.assay(&["gate", "gate.toml", "--changed-since", "base", "--format", "json"]);
    let found = row(&ran);
    // No worse than no skill, and worse than what is there.
    assert_eq!((ran.code, &found["outcome"], &found["lift"]), (1, &json!("fail"), &json!(0.0)), "{found:#}");
    assert_eq!((&found["reference"]["lift"], &found["trials_executed"]), (&json!(-1.0), &json!(54)));
}

/// What `init ci` writes is a policy that the suite can meet: the gate runs with it.
#[test]
fn init_writes_a_policy_for_the_suite_that_is_there() {
    let init = |lab: &Fixture, more: &[&str]| lab.assay(&[&["init", "ci"], more].concat());
    let lab = repository();
    std::fs::remove_file(lab.path("gate.toml")).unwrap();
    let ran = init(&lab, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // 6 tasks × 3 are far from any margin that means something.
    let text = policy(&lab);
    for part in
        ["skills = [\"skills/*\"]", "on_undecided = \"warn\"", "min_power = 0.0", "6 tasks × 3 repetitions"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    // With twenty repetitions they support one.
    let lab = repository();
    std::fs::remove_file(lab.path("gate.toml")).unwrap();
    let experiment = std::fs::read_to_string(lab.path("experiment.toml")).unwrap();
    assert!(experiment.contains("repetitions = 3"), "{experiment}");
    lab.write("evals/experiment.toml", "not an experiment");
    lab.write("experiment.toml", experiment.replace("repetitions = 3", "repetitions = 20"));
    let ran = init(&lab, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = policy(&lab);
    assert!(text.contains("on_undecided = \"fail\"") && text.contains("\nmargin = 0."), "{text}");
    assert!(ran.stderr.contains("support a margin of 0."), "{}", ran.stderr);
    // Which of two measures the skills is for the caller to say.
    let lab = repository();
    std::fs::remove_file(lab.path("gate.toml")).unwrap();
    lab.write("other.toml", experiment);
    let ran = init(&lab, &[]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("experiment.toml, other.toml"), "{}", ran.stderr);
    assert!(!lab.path("gate.toml").exists());
    assert_eq!(init(&lab, &["--experiment", "other.toml"]).code, 0);
}
