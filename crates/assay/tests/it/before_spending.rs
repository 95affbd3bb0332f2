//! What is said before anything is spent: mistakes in files at their line, what a run may cost, and that it needs a cap.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::fixture::{Fixture, needs_bubblewrap};
use crate::server::{Answer, Server};
use crate::{audit_model, judged, suite};

#[test]
fn misspelled_keys_get_a_suggestion_at_their_line() {
    const HEAD: &str =
        "schema = \"assay.experiment/1\"\nname = \"x\"\nsuite = [\"tasks/*\"]\nconditions = [\"none\"]\n";
    const AGENT: &str = "[[agents]]\nname = \"loop\"\nmodel = \"scripted:turns.jsonl\"\n";
    let rule = "[[rules]]\nskils = [\"skills/*\"]\nrequire = \"helps\"\n";
    let check = |file: &str, text: &str, args: &[&str], expected: &[&str]| {
        let lab = Fixture::new().file(file, text);
        let ran = lab.assay(args).ended(2);
        for words in expected {
            assert!(ran.stderr.contains(words), "{words:?} is not in:\n{}", ran.stderr);
        }
    };
    let plan = ["plan", "e.toml"];
    check(
        "e.toml",
        &format!("{HEAD}repetition = 3\n{AGENT}"),
        &plan,
        &[
            "e.toml:5:1: unknown key `repetition`: did you mean `repetitions`?",
            "5 | repetition = 3\n",
            "  | ^^^^^^^^^^\n",
        ],
    );
    check(
        "e.toml",
        &format!("{HEAD}margin = \"x\"\n{AGENT}"),
        &plan,
        &["e.toml:5:10: expected a number, found the string \"x\""],
    );
    check("e.toml", &format!("{HEAD}{AGENT}{AGENT}timeout = -5\n"), &plan, &["e.toml:11:1: the `timeout`"]);
    check(
        "e.toml",
        &format!("{HEAD}{AGENT}tiemout = 5\n"),
        &plan,
        &["e.toml:8:1: unknown key `tiemout`: did you mean `timeout`?"],
    );
    check(
        "gate.toml",
        &format!("schema = \"assay.gate-policy/1\"\n{rule}"),
        &["gate", "gate.toml", "--changed-since", "HEAD"],
        &["gate.toml:3:1: unknown key `skils`: did you mean `skills`?", "3 | skils"],
    );
    check(
        "assay.toml",
        "[lint]\nselct = [\"safety\"]\n",
        &["lint", "s"],
        &["did you mean `select`?", "2 | selct"],
    );
}

#[test]
fn an_unknown_command_gets_a_suggestion() {
    let check = |word: &str, expected: &str| {
        let ran = Fixture::new().assay(&[word]).ended(2);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    };
    check("rnu", "'run'");
    check("repotr", "'report'");
    check("version", "'--version'");
}

#[test]
fn a_priced_model_on_this_machine_needs_a_cap_and_has_a_range_of_cost() {
    needs_bubblewrap!();
    // Nobody listens there: a request would fail.
    let lab = |price: &str| {
        suite::lab(1).experiment(|design| {
            let design = design.served("openai:test-1", "http://127.0.0.1:9/v1");
            suite::paired(design, 1).table(&format!("[prices]\n\"openai:test-1\" = {price}\n"))
        })
    };
    let run = ["run", "experiment.toml", "--no-checks"];
    let paid = lab("{ input = 2, output = 8 }");
    let refused = paid.assay(&run).ended(2);
    assert!(refused.stderr.contains("openai:test-1 is a paid model"), "{}", refused.stderr);
    // 30 turns of 100,000 tokens read and written at most.
    let capped = paid.assay(&[&run[..], &["--max-usd", "1"]].concat()).ended(3);
    let expected = "estimated cost: $0.00 to $30.00 (from 0 to price × caps, without recorded trials); --max-usd stops at $1.00";
    assert!(capped.stderr.contains(expected), "{}", capped.stderr);
    let plan = paid.assay(&["plan", "experiment.toml", "--format", "json"]).json();
    assert_eq!((&plan["cost_usd_low"], &plan["cost_usd_high"]), (&0.0.into(), &30.0.into()), "{plan:#}");
    assert_eq!(plan["arms"][0]["cost_usd_missing"]["from"], "caps");
    let plan = paid.assay(&["plan", "experiment.toml"]).stdout;
    assert!(plan.contains(", cost $0.00 to $30.00, ") && !plan.contains("cost unknown"), "{plan}");
    // A price of 0 is none.
    lab("{ input = 0, output = 0 }").assay(&run).ended(3);
}

#[test]
fn an_unknown_cost_is_not_zero() {
    needs_bubblewrap!();
    let scripted = suite::lab(1).experiment(|design| design);
    let plan = scripted.assay(&["plan", "experiment.toml"]);
    assert!(plan.stdout.contains("Estimated cost: none (no model is billed)"), "{}", plan.stdout);
    assert!(!plan.stdout.contains("$0.00") && !plan.stdout.contains("cost unknown"), "{}", plan.stdout);
    let served = suite::lab(1).experiment(|design| design.served("openai:test-1", "http://127.0.0.1:9/v1"));
    let plan = served.assay(&["plan", "experiment.toml"]);
    let expected = "Estimated cost: unknown for loop with openai:test-1";
    assert!(plan.stdout.contains(expected), "{}", plan.stdout);
    let plan = served.assay(&["plan", "experiment.toml", "--format", "json"]).json();
    assert!(plan["cost_usd_low"].is_null() && plan["cost_usd_high"].is_null(), "{plan:#}");
}

#[test]
fn a_run_is_found_though_a_folder_has_its_name() {
    let lab =
        Fixture::new().file("t.csv", "task,condition,score\na,none,0\na,curated,1\n").file("mine/x", "");
    lab.assay(&["import", "table", "t.csv", "--name", "mine"]).ok();
    let of_run = lab.assay(&["audit", "corpus", "mine"]).ended(2);
    assert!(of_run.stderr.contains("the run mine has no finished trial"), "{}", of_run.stderr);
    let of_folder = lab.assay(&["audit", "corpus", "./mine"]).ended(2);
    assert!(of_folder.stderr.contains("contains no traces"), "{}", of_folder.stderr);
}

/// A server that refuses every request as with a wrong key, and when the last one came.
struct RefusingServer {
    server: Server,
    asked: Arc<Mutex<Option<Instant>>>,
}

impl RefusingServer {
    fn start() -> Self {
        let asked = Arc::<Mutex<Option<Instant>>>::default();
        let noted = Arc::clone(&asked);
        let server = Server::start_bare(move |_, _| {
            *noted.lock().unwrap() = Some(Instant::now());
            Answer::of(401, json!({ "error": { "message": "Incorrect API key provided" } }))
        });
        Self { server, asked }
    }

    /// A command says within five seconds of its one request that the key is refused. `{URL}` in arguments is the server's.
    #[track_caller]
    fn refuse(&self, lab: &Fixture, args: &[&str], code: i32, expected: &[&str]) {
        let before = self.server.requests().len();
        let args: Vec<String> = args.iter().map(|arg| arg.replace("{URL}", &self.server.url())).collect();
        let ran = lab.assay(&args.iter().map(String::as_str).collect::<Vec<_>>()).ended(code);
        let asked = self.asked.lock().unwrap().take().unwrap();
        assert!(asked.elapsed() < Duration::from_secs(5), "{args:?}: {:?}", asked.elapsed());
        let address = self.server.url();
        for words in ["Incorrect API key provided", &address].iter().chain(expected) {
            assert!(ran.stderr.contains(words), "{words:?} is not in:\n{}", ran.stderr);
        }
        let requests = self.server.requests();
        let sent = requests.get(before..).unwrap();
        assert!(sent.len() == 1 && sent[0].is_preflight(), "{args:?}: {sent:?}");
    }
}

#[test]
fn a_refused_key_is_reported_before_anything_is_spent() {
    let refusing = RefusingServer::start();
    let keyed = |lab: Fixture| lab.env("OPENAI_API_KEY", "sk-loopback-0123456789");
    let hint = "check the model's name and its API key (--api-key-env)";
    let row = json!({"criterion": "It is neat", "material": "A report of one line."}).to_string();
    let lab = keyed(Fixture::new().file("items.jsonl", row));
    let items = [
        "judge",
        "items",
        "items.jsonl",
        "--judge",
        "openai:judge",
        "--base-url",
        "{URL}",
        "--out",
        "v.jsonl",
    ];
    refusing.refuse(&lab, &items, 3, &["the judge openai:judge at http", hint]);
    assert!(!lab.path("v.jsonl").exists() && !lab.path(".assay/judgements").exists());

    let library = Fixture::new().skill("sheets", "Makes pivot tables.", "# Sheets");
    let lab = keyed(library.skill("letters", "Writes letters.", "# Letters"));
    let route = [
        "route",
        "make a pivot table",
        "--library",
        "skills",
        "--model",
        "openai:router",
        "--base-url",
        "{URL}",
    ];
    refusing.refuse(&lab, &route, 3, &["the model openai:router at http", hint]);
    assert!(!lab.path(".assay/routes").exists());

    let lab = keyed(audit_model::lab());
    let audit = ["audit", "corpus", "data", "--directives-from", "openai:auditor", "--base-url", "{URL}"];
    refusing.refuse(&lab, &audit, 3, &["the model openai:auditor at http", hint]);
    assert!(!lab.path(".assay/directives").exists());
}

#[test]
fn a_refused_key_of_a_judge_is_reported_before_a_trial_is_paid_for() {
    needs_bubblewrap!();
    let refusing = RefusingServer::start();
    let keyed = |lab: Fixture| lab.env("OPENAI_API_KEY", "sk-loopback-0123456789");
    let lab = keyed(judged::lab(&judged::judge_at(&refusing.server.url())));
    let run = ["run", "experiment.toml", "--no-cap"];
    let expected = ["openai:judge at http", "check the key", "no trial was run"];
    refusing.refuse(&lab, &run, 2, &expected);
    assert!(lab.trials().is_empty() && !lab.path(".assay/runs/lab").exists());

    // Judging again: a run that was judged, and another judge.
    let server = Server::start(|_, request| judged::reply(request));
    let lab = keyed(judged::lab(&judged::judge_at(&server.url())));
    lab.assay(&["run", "experiment.toml", "--no-cap", "--only", "task=a", "--only", "repetition=1"]);
    let trials = lab.trials().len();
    let regrade = ["judge", "regrade", "lab", "--judge", "openai:other", "--base-url", "{URL}"];
    let hint = "check the model's name and its API key (--api-key-env)";
    refusing.refuse(&lab, &regrade, 3, &["the judge openai:other at http", hint]);
    assert!(lab.trials().len() == trials && !lab.path(".assay/runs/lab-regraded").exists());
}
