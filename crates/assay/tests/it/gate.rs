//! The gate on a Git repository with skills that improve, worsen and stay.

mod bypasses;
mod decisions;
mod delivery;
mod gitlab;
mod ledger;
mod rules;
mod runner;

use std::process::Command;

use assay_store::{ConditionSettings, Store, TrialId};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran, needs_bubblewrap};
use crate::server::{Answer, Server};
use crate::suite::body;

const POLICY: &str = r#"schema = "assay.gate-policy/1"
[ledger]
path = "ledger.jsonl"
[[rules]]
skills = ["skills/reports", "skills/invoices", "skills/letters"]
experiment = "experiment.toml"
require = "helps"
"#;

/// A repository with three skills and six tasks each. At the base, `reports` says the wrong word and the others the right
/// one; then `reports` improves, `invoices` worsens and `letters` stays.
fn repository() -> Fixture {
    let mut lab = Fixture::new();
    let mut rules = Vec::new();
    for (skill, word) in [("reports", "wrong"), ("invoices", "right"), ("letters", "right")] {
        lab = lab.skill(
            skill,
            &format!("Ends {skill} with the agreed word. Use it for all {skill}."),
            &body(word),
        );
        let read = format!("cat /skills/{skill}/SKILL.md");
        let task = format!("{skill}-*");
        rules.push(json!({ "task": task, "turn": 0, "seen": "Skills are folders", "run": read }));
        for number in 1..=6 {
            lab = lab.task(&format!("{skill}-{number}"), |task| task);
        }
    }
    for word in ["right", "wrong"] {
        let seen = format!("agreed word for this kind of report is `{word}`");
        rules.push(json!({ "turn": 1, "seen": seen, "run": format!("echo {word} > answer.txt") }));
    }
    let lab =
        lab.script(&rules).file("gate.toml", POLICY).file(".gitignore", ".assay\nhome\n*.xml\n*.md.out\n");
    let lab = lab.experiment(|e| {
        let design = e.conditions(&["none", "curated"]).repetitions(3);
        ["reports", "invoices", "letters"].iter().fold(design, |design, skill| {
            (1..=6).fold(design, |design, number| design.pair(&format!("{skill}-{number}"), &[skill]))
        })
    });
    git(&lab, &["init", "--quiet", "--initial-branch=main"]);
    save(&lab, "base");
    git(&lab, &["tag", "base"]);
    lab.write("skills/reports/SKILL.md", skill("reports", "right"));
    lab.write("skills/invoices/SKILL.md", skill("invoices", "wrong"));
    save(&lab, "change");
    lab
}

fn skill(name: &str, word: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Ends {name} with the agreed word. Use it for all {name}.\n---\n\n{}\n",
        body(word)
    )
}

fn git(lab: &Fixture, args: &[&str]) {
    let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
    let status = Command::new("git").current_dir(lab.folder()).args(identity).args(args).status().unwrap();
    assert!(status.success(), "git {args:?}");
}

/// Makes a policy that of the base, and changes skills after it as [`repository`] does.
fn set_policy(lab: &Fixture, policy: &str) {
    git(lab, &["checkout", "--quiet", "--force", "base"]);
    lab.write("gate.toml", policy);
    save(lab, "policy");
    git(lab, &["tag", "--force", "base"]);
    lab.write("skills/reports/SKILL.md", skill("reports", "right"));
    lab.write("skills/invoices/SKILL.md", skill("invoices", "wrong"));
}

fn save(lab: &Fixture, message: &str) {
    git(lab, &["add", "--all"]);
    git(lab, &["commit", "--quiet", "--message", message]);
}

fn gate(lab: &Fixture, more: &[&str]) -> (Value, i32) {
    let args = ["gate", "gate.toml", "--changed-since", "base", "--format", "json"];
    let ran = lab.assay(&[&args, more].concat());
    assert!(!ran.stdout.is_empty(), "{}", ran.stderr);
    (ran.json(), ran.code)
}

fn verdicts(document: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = document["skills"].as_array().unwrap().iter();
    rows.map(|row| (text(&row["skill"]), text(&row["decision"]))).collect()
}

fn expected(rows: [(&str, &str); 3]) -> Vec<(String, String)> {
    rows.map(|(skill, verdict)| (format!("skills/{skill}"), verdict.to_owned())).to_vec()
}

#[test]
fn improved_worsened_and_unchanged_skills_are_told_apart() {
    needs_bubblewrap!();
    let lab = repository();
    let outputs = ["--create-ledger", "--junit", "gate.xml", "--comment", "comment.md.out"];
    let (document, code) = gate(&lab, &outputs);
    let all = expected([("invoices", "undecided"), ("letters", "nothing to decide"), ("reports", "pass")]);
    assert_eq!((code, verdicts(&document)), (4, all.clone()), "{document:#}");
    assert_eq!(document["decision"], json!("undecided"));
    let row = |document: &Value, number: usize, key: &str| document["skills"][number][key].clone();
    assert_eq!(
        [0, 1, 2].map(|number| row(&document, number, "changed")),
        [json!(true), json!(false), json!(true)]
    );
    // 6 tasks, 3 repetitions, 2 conditions; nothing of the skill that stayed.
    assert_eq!(
        [0, 1, 2].map(|number| row(&document, number, "trials_executed")),
        [json!(36), json!(0), json!(36)]
    );
    assert_eq!(row(&document, 2, "checks")["fixed"].as_array().unwrap().len(), 6);
    assert_eq!(row(&document, 0, "checks")["still_failing"], json!(6));

    let xml = std::fs::read_to_string(lab.path("gate.xml")).unwrap();
    assert!(xml.contains("tests=\"3\"") && xml.contains("failures=\"1\""), "{xml}");
    assert!(xml.contains("name=\"skills/invoices\"") && xml.contains("helps is not shown"), "{xml}");
    let comment = std::fs::read_to_string(lab.path("comment.md.out")).unwrap();
    assert!(comment.contains("| `skills/reports` | pass | +100 pp ("), "{comment}");
    let cost = comment.lines().find(|line| line.starts_with("Cost: ")).unwrap();
    assert!(cost.starts_with("Cost: 72 trials, 0 recorded, 72 to execute, and "), "{cost}");
    // Twelve tasks, each with its solution and with nothing done, neither of which calls a model.
    let checks = document["forecast"]["checks"].as_u64().unwrap();
    assert!((12..=24).contains(&checks) && cost.contains(&format!(" {checks} task checks; ")), "{cost}");
    assert!(comment.contains("- fixed:\n  - `skills/reports: reports-1`"), "{comment}");

    // A second run executes nothing, and is the same look.
    let (again, code) = gate(&lab, &[]);
    assert_eq!((code, verdicts(&again)), (4, all.clone()));
    assert_eq!([0, 2].map(|number| row(&again, number, "trials_executed")), [json!(0), json!(0)]);
    assert_eq!([0, 2].map(|number| row(&again, number, "trials_reused")), [json!(36), json!(36)]);
    assert_eq!(row(&again, 2, "look"), json!(1));
    assert_eq!(again["ledger"], json!({ "looks": 2, "where": document["ledger"]["where"] }));
    let events = std::fs::read_to_string(lab.path(".assay/runs/gate-skills-reports/events.jsonl")).unwrap();
    assert!(events.contains(document["policy_hash"].as_str().unwrap()), "{events}");

    // Other results of the same version are a second look, at a stricter level.
    std::fs::remove_dir_all(lab.path(".assay")).unwrap();
    let (rerun, _) = gate(&lab, &[]);
    assert_eq!([0, 2].map(|number| row(&rerun, number, "look")), [json!(2), json!(2)]);
    assert_eq!(verdicts(&rerun), all);
    assert!(row(&rerun, 2, "level").as_f64().unwrap() < row(&document, 2, "level").as_f64().unwrap() / 4.0);

    // Without the looks that were counted there is no decision.
    git(&lab, &["update-ref", "-d", "refs/assay/gate"]);
    let (blocked, code) = gate(&lab, &[]);
    assert_eq!((code, &blocked["decision"]), (3, &json!("blocked")), "{blocked:#}");
}

#[test]
fn a_weakened_policy_is_not_applied() {
    needs_bubblewrap!();
    let lab = repository();
    let weaker =
        POLICY.replace("\"skills/reports\", \"skills/invoices\", ", "").replace("helps", "not-harmful");
    lab.write("gate.toml", weaker);
    let (document, _) = gate(&lab, &["--create-ledger"]);
    // What would pass is blocked, and what the base's rule does not pass stays so.
    let all = expected([("invoices", "undecided"), ("letters", "nothing to decide"), ("reports", "blocked")]);
    assert_eq!(verdicts(&document), all, "{document:#}");
    assert_eq!(document["skills"][0]["claim"], json!("helps"));
    assert_eq!(document["untrusted"], json!(["gate.toml"]));
    let found = document["weakened"].to_string();
    for part in ["skills/reports: no longer covered", "skills/letters: require: helps → not-harmful"] {
        assert!(found.contains(part), "{found}");
    }
}

#[test]
fn a_version_that_is_worse_than_the_base_is_not_non_inferior() {
    needs_bubblewrap!();
    let lab = repository();
    let text = POLICY.replace("\"helps\"", "\"non-inferior\"\nmargin = 0.45");
    set_policy(&lab, &text.replace("[ledger]\npath = \"ledger.jsonl\"\n", ""));
    let (document, code) = gate(&lab, &[]);
    let all = expected([("invoices", "fail"), ("letters", "nothing to decide"), ("reports", "pass")]);
    assert_eq!((code, verdicts(&document)), (1, all), "{document:#}");
    assert_eq!(document["skills"][0]["checks"]["newly_failing"].as_array().unwrap().len(), 6);
}

/// What a policy is refused with.
fn refused(rule: &str) -> Ran {
    let lab = repository();
    lab.write("gate.toml", POLICY.replace("require = \"helps\"\n", rule));
    let ran = lab.assay(&["gate", "gate.toml", "--create-ledger"]);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert!(lab.records().is_empty());
    ran
}

#[test]
fn policies_that_nothing_can_meet_are_refused_with_the_arithmetic() {
    needs_bubblewrap!();
    // The gate of the context-engineering plan: the control passes 15 of 18, and p ≤ .05 is required.
    let ran = refused("require = \"helps\"\nexact_p = 0.05\nexpected_baseline = [15, 18]\n");
    for part in ["passes 15 of 18 trials", "only 3 pairs can differ", "2 × ½^3 = 0.25", "no trial was run"]
    {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let ran = refused("require = \"not-harmful\"\nmargin = 0.01\nexpected_baseline = [18, 18]\n");
    assert!(ran.stderr.contains("`not-harmful` is unattainable"), "{}", ran.stderr);
}

#[test]
fn a_store_with_runs_checks_itself() {
    needs_bubblewrap!();
    let lab = repository();
    let (_, _) = gate(&lab, &["--create-ledger"]);
    let ran = lab.assay(&["gate", "gate.toml", "--self-check", "--format", "json"]);
    let found = ran.json();
    // Two conditions of two runs, each split once: deterministic trials have equal halves.
    assert_eq!(
        (&found["recorded"]["splits"], &found["recorded"]["flips"]),
        (&json!(4), &json!(0)),
        "{found}"
    );
}

#[test]
fn init_writes_a_policy_and_workflows() {
    let lab = Fixture::new();
    let ran = lab.assay(&["init", "ci"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for path in ["gate.toml", ".github/workflows/assay-gate.yml", "assay-gate.gitlab-ci.yml"] {
        assert!(lab.path(path).is_file(), "{path}");
    }
    // The policy is valid; there is no skill yet, so that it would gate nothing.
    let ran = lab.assay(&["gate", "gate.toml", "--format", "json"]).ended(2);
    assert!(ran.stderr.contains("matches no skill"), "{}", ran.stderr);
    assert_eq!(lab.assay(&["init", "ci"]).code, 2);
}

#[test]
fn a_reused_baseline_has_the_variance_of_drift() {
    needs_bubblewrap!();
    let lab = repository();
    let rules = POLICY
        .replace("path = \"ledger.jsonl\"", "git_ref = \"refs/assay/gate\"")
        .replace("\"skills/reports\", \"skills/invoices\", \"skills/letters\"", "\"skills/reports\"");
    // Another skill changes, and no rule covers it.
    let rules = rules.replacen("[ledger]", "without_experiment = \"warn\"\n[ledger]", 1);
    set_policy(&lab, &format!("{rules}[reuse_baseline]\nsentinel = 0.34\ndrift_sd = 0.05\n"));
    let run = || {
        let args = ["gate", "gate.toml", "--changed-since", "base", "--create-ledger", "--format", "json"];
        let ran = lab.assay(&args);
        let rows = ran.json()["skills"].as_array().unwrap().clone();
        (rows.into_iter().find(|row| row["skill"] == "skills/reports").unwrap(), ran.code)
    };
    let (first, code) = run();
    assert_eq!((code, &first["trials_executed"]), (0, &json!(36)), "{first:#}");
    assert!(!first["notes"].to_string().contains("pp (sd)"), "{first:#}");
    let text = skill("reports", "right").replace("Every report", "Each report");
    lab.write("skills/reports/SKILL.md", text);
    let (again, code) = run();
    // 18 trials of the skill, and 5 tasks of the baseline again.
    assert_eq!(
        (code, &again["trials_executed"], &again["trials_reused"]),
        (0, &json!(33), &json!(18)),
        "{again:#}"
    );
    let note = again["notes"].to_string();
    assert!(note.contains("5.0 pp (sd)") && note.contains("with 80% power"), "{note}");
    let width = |row: &Value| row["interval"][1].as_f64().unwrap() - row["interval"][0].as_f64().unwrap();
    assert!(width(&again) > width(&first) + 0.01, "{} {}", width(&again), width(&first));
    git(&lab, &["rev-parse", "--verify", "--quiet", "refs/assay/gate"]);
}

/// Sessions of a baseline are found by what it is and by its tasks, also in runs of 0.1.0, in which digests of tasks contain
/// their labels.
#[test]
fn recorded_sessions_tell_how_a_baseline_drifts() {
    needs_bubblewrap!();
    let lab = repository();
    let rules = POLICY
        .replace("path = \"ledger.jsonl\"", "git_ref = \"refs/assay/gate\"")
        .replace("\"skills/reports\", \"skills/invoices\", \"skills/letters\"", "\"skills/reports\"");
    lab.write("gate.toml", format!("{rules}[reuse_baseline]\nsentinel = 0.34\n"));
    let gate = || lab.assay(&["gate", "gate.toml", "--create-ledger", "--format", "json"]);
    let first = gate().ok().json();
    let text = skill("reports", "right").replace("Every report", "Each report");
    lab.write("skills/reports/SKILL.md", text);
    // One session tells nothing.
    let ran = gate().ended(2);
    assert!(ran.stderr.contains("the store has fewer than 6 sessions"), "{}", ran.stderr);
    let store = Store::open(&lab.path(".assay")).unwrap();
    let plan = store.run(first["skills"][0]["run"].as_str().unwrap()).unwrap();
    for day in 1..=6 {
        let mut old = plan.clone();
        let settings = ConditionSettings { is: Some("none".into()), ..ConditionSettings::default() };
        old.settings.insert("bare".into(), settings);
        old.conditions[0] = "bare".into();
        for task in &mut old.tasks {
            let loaded = assay_task::Task::load(&lab.path(&format!("tasks/{}", task.name))).unwrap();
            assert_eq!(task.digest, loaded.digest.to_string());
            task.digest = loaded.labeled_digest.to_string();
        }
        old.cells.retain(|cell| cell.condition == "none");
        for cell in &mut old.cells {
            let mut record = store.record(&cell.trial).unwrap().unwrap();
            cell.condition = "bare".into();
            cell.trial = TrialId::of(&json!([day, cell.trial]));
            (record.trial, record.signature) = (cell.trial.clone(), None);
            record.started_at = Some(format!("2026-01-0{day}T00:00:00Z"));
            let folder = store.trial_folder(&cell.trial);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("record.json"), serde_json::to_string(&record).unwrap()).unwrap();
        }
        old.seal();
        store.begin_run(old, &format!("old-{day}"), ("", b"")).unwrap();
    }
    let note = gate().ok().json()["skills"][0]["notes"].to_string();
    assert!(note.contains("pp (sd) is part of the interval"), "{note}");
}

#[test]
fn guards_that_do_not_hold_fail() {
    needs_bubblewrap!();
    let lab = repository();
    let secret = skill("reports", "right").replace("# The answer", "# The answer\n\nSee [more](missing.md).");
    lab.write("skills/reports/SKILL.md", secret);
    lab.write(
        "gate.toml",
        format!("{POLICY}guards = {{ lint = \"warning\" }}\n")
            .replace("path = \"ledger", "artifact = \"ledger"),
    );
    let ran = lab.assay(&["gate", "gate.toml", "--create-ledger", "--format", "json"]);
    let document = ran.json();
    let row =
        document["skills"].as_array().unwrap().iter().find(|row| row["skill"] == "skills/reports").unwrap();
    assert_eq!((ran.code, &row["decision"]), (1, &json!("fail")), "{row:#}");
    let reason = row["reason"].as_str().unwrap();
    assert!(
        reason.contains("helps is shown")
            && reason.contains("guards: lint: ")
            && reason.contains("link-broken"),
        "{reason}"
    );
}

/// A policy for one skill, and the gate's row for it.
fn gate_of_reports(lab: &Fixture, more: &[&str]) -> (Value, i32) {
    lab.write(
        "gate.toml",
        POLICY.replace("\"skills/reports\", \"skills/invoices\", \"skills/letters\"", "\"skills/reports\""),
    );
    let ran = lab.assay(&[&["gate", "gate.toml", "--create-ledger", "--format", "json"], more].concat());
    assert!(!ran.stdout.is_empty(), "{}", ran.stderr);
    (ran.json()["skills"][0].clone(), ran.code)
}

#[test]
fn a_skill_that_was_not_there_blocks_the_gate() {
    needs_bubblewrap!();
    let lab = repository();
    let (row, code) = gate_of_reports(&lab, &[]);
    assert_eq!((code, &row["decision"]), (0, &json!("pass")), "{row:#}");
    lab.edit_records(|record| {
        for skill in record["exposure"].as_array_mut().into_iter().flatten() {
            skill["offered"] = json!(false);
        }
    });
    let (row, code) = gate_of_reports(&lab, &[]);
    assert_eq!((code, &row["decision"]), (3, &json!("blocked")), "{row:#}");
    assert_eq!(row["reason"], "the skill was available in 0% of its trials only");
}

/// A part of the trials decides nothing, however clear it looks; the rest is executed by the next gate.
#[test]
fn a_run_that_is_not_complete_blocks_the_gate() {
    needs_bubblewrap!();
    let server = Server::start(|_, request| {
        let text = request.body.to_string();
        let word = |word: &str| text.contains(&format!("agreed word for this kind of report is `{word}`"));
        match request.turn() {
            0 if text.contains("Skills are folders") => Answer::bash("cat /skills/reports/SKILL.md"),
            1 if word("right") => Answer::bash("echo right > answer.txt"),
            _ => Answer::done("Done."),
        }
    });
    let lab = repository().env("OPENAI_API_KEY", "k");
    let text = std::fs::read_to_string(lab.path("experiment.toml")).unwrap();
    let model = format!(
        "model = \"openai:m\"\nbase_url = \"{}\"\nprice = {{ input = 1000, output = 0 }}",
        server.url()
    );
    lab.write("experiment.toml", text.replace("model = \"scripted:turns.jsonl\"", &model));
    let (row, code) = gate_of_reports(&lab, &["--max-usd", "30"]);
    assert_eq!((code, &row["decision"]), (3, &json!("blocked")), "{row:#}");
    let recorded = lab.records_of("loop").len();
    assert!(recorded > 0 && recorded < 36, "{recorded}: {row:#}");
    let ledger = std::fs::read_to_string(lab.path("ledger.jsonl")).unwrap_or_default();
    assert!(!ledger.contains("\"pass\"") && !ledger.contains("\"fail\""), "{ledger}");
    // Nor does the report of what there is.
    let report = lab.assay(&["report", "gate-skills-reports", "--format", "json"]).ok().json();
    assert_eq!((&report["interim"], &report["comparisons"][0]["verdict"]), (&json!(true), &Value::Null));
    let (row, code) = gate_of_reports(&lab, &["--no-cap"]);
    assert_eq!((code, &row["decision"]), (0, &json!("pass")), "{row:#}");
    assert_eq!(row["trials_reused"], json!(recorded), "{row:#}");
}
