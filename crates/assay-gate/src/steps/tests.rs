//! Gates whose trials are recorded, and gates that cannot go on.

use std::cell::RefCell;

use assay_store::{Cell, Outcome};

use crate::document::{GateDocument, GateVerdict};
use crate::gate_error::GateError;
use crate::host::{GateEvent, GateHost};
use crate::ledger::{Ledger, LedgerHome, Opening, level};
use crate::measured::CONDITION;
use crate::policy::LedgerPlace;
use crate::request::GateRequest;
use crate::testing::{FakeHost, GateRepository, POLICY, TASKS, record_skill};

const REPORTS: &str = "skills/reports";

/// A repository whose working tree changes its skill.
fn changed(policy: &str) -> GateRepository {
    let lab = GateRepository::scripted(policy);
    lab.write_skill("reports", "The word is `right`, always.");
    lab
}

/// What a skill achieves that decides every task.
fn helped(cell: &Cell) -> Outcome {
    if cell.condition == CONDITION.name() { Outcome::Passed } else { Outcome::Failed }
}

fn decide(lab: &GateRepository, request: &GateRequest, host: &FakeHost) -> Result<GateDocument, GateError> {
    lab.decide(request, host, &|_| {})
}

/// The verdict of the only skill, and the reason.
fn verdict(document: &GateDocument) -> (GateVerdict, &str) {
    let [row] = document.skills.as_slice() else { panic!("one row") };
    (row.verdict, &row.reason)
}

/// The numbers of the looks in the ledger, and whether they are completed.
fn looks(lab: &GateRepository) -> Vec<(u32, u32, bool)> {
    let entries = open_ledger(lab).entries;
    let numbers =
        entries.iter().map(|entry| (entry.numbers.version, entry.numbers.look, entry.completion.is_some()));
    numbers.collect()
}

fn open_ledger(lab: &GateRepository) -> Ledger {
    let place = LedgerPlace::GitRef(crate::GATE_REF.to_owned());
    let (home, _) = LedgerHome::of(&place, None, &lab.top(), &lab.top()).unwrap();
    Ledger::open(home, lab.host().load_keys().unwrap()).unwrap()
}

/// The look of a gate at another version of a lineage.
fn other_opening(lineage: &str) -> Opening {
    Opening {
        opened_at: "2026-01-01T00:00:00Z".to_owned(),
        skill: REPORTS.to_owned(),
        lineage: lineage.to_owned(),
        content: "blake3:another".to_owned(),
        digest: "blake3:another".to_owned(),
        target_content: None,
        target_commit: None,
        head_commit: None,
        policy_hash: "blake3:0".to_owned(),
        error_budget: 0.05,
        plan: "another plan".to_owned(),
        trust: "target".to_owned(),
    }
}

#[test]
fn recorded_trials_decide_and_complete_a_look() {
    let check = |outcome: fn(&Cell) -> Outcome, expected: GateVerdict, reason: &str| {
        let lab = changed(POLICY);
        let (request, host) = (lab.request(), lab.host());
        lab.with_gate(&request, &host, &|_| {}, |gate| record_skill(gate, REPORTS, outcome));
        let document = decide(&lab, &request, &host).unwrap();
        let (verdict, found) = verdict(&document);
        assert_eq!(
            (verdict, document.verdict, document.exit_verdict()),
            (expected, expected, expected),
            "{found}"
        );
        assert!(found.starts_with(reason), "{found}");
        let row = &document.skills[0];
        assert_eq!((row.trials_executed, row.trials_reused), (0, 2 * 3 * TASKS));
        assert_eq!((row.version, row.look, document.ledger.looks), (Some(1), Some(1), 1));
        assert_eq!(looks(&lab), [(1, 1, true)]);
        // The same results are the same look.
        let again = decide(&lab, &request, &host).unwrap();
        assert_eq!((again.verdict, again.ledger.looks), (expected, 1));
    };
    check(helped, GateVerdict::Pass, "helps is shown: +100 pp");
    check(|_| Outcome::Failed, GateVerdict::Undecided, "helps is not shown: +0 pp");
    let harmed = |cell: &Cell| match helped(cell) {
        Outcome::Passed => Outcome::Failed,
        _ => Outcome::Passed,
    };
    check(harmed, GateVerdict::Fail, "helps is refuted: \u{2212}100 pp");
}

#[test]
fn what_is_still_to_be_executed_blocks_and_keeps_the_look() {
    let lab = changed(POLICY);
    let (request, host) = (lab.request(), lab.host());
    let document = decide(&lab, &request, &lab.host().interrupted()).unwrap();
    assert_eq!(verdict(&document), (GateVerdict::Blocked, "interrupted"));
    assert_eq!(looks(&lab), [(1, 1, false)]);
    let forecast = document.forecast.unwrap();
    assert_eq!((forecast.trials, forecast.missing, forecast.checks), (36, 36, 12));
    lab.with_gate(&request, &host, &|_| {}, |gate| record_skill(gate, REPORTS, helped));
    let document = decide(&lab, &request, &host).unwrap();
    assert_eq!((verdict(&document).0, looks(&lab)), (GateVerdict::Pass, vec![(1, 1, true)]));
    let forecast = document.forecast.unwrap();
    assert_eq!((forecast.missing, forecast.checks), (0, 0));
    assert_eq!(forecast.words(), "Cost: 36 trials, 36 recorded, 0 to execute.");
}

/// The level of a decision is that of the look which was opened, not the one that was expected.
#[test]
fn looks_are_opened_before_their_levels_are_taken() {
    let lab = changed(POLICY);
    let (request, host) = (lab.request(), lab.host());
    lab.with_gate(&request, &host, &|_| {}, |gate| record_skill(gate, REPORTS, helped));
    let heard = RefCell::new(Vec::new());
    let lineage =
        lab.with_gate(&request, &host, &|_| {}, |gate| gate.scope.subjects[0].lineage.clone().unwrap());
    let events = |event: &GateEvent<'_>| match event {
        GateEvent::Power { .. } => heard.borrow_mut().push(("power", looks(&lab).len())),
        GateEvent::Forecast(_) => {
            heard.borrow_mut().push(("cost", looks(&lab).len()));
            // Another gate is faster.
            let opening = other_opening(&lineage);
            open_ledger(&lab).open_look(&Ledger::new_id(&opening), &opening).unwrap();
        }
        GateEvent::RunBegan => heard.borrow_mut().push(("run", looks(&lab).len())),
        _ => {}
    };
    let document = lab.decide(&request, &host, &events).unwrap();
    assert_eq!(heard.take(), [("power", 0), ("cost", 0), ("run", 2)]);
    let row = &document.skills[0];
    assert_eq!((row.version, row.look), (Some(2), Some(1)), "{}", row.reason);
    let expected = level(0.05, 2, 1);
    assert!((row.decision.unwrap().level - expected).abs() < 1e-12 && expected < level(0.05, 1, 1));
    assert_eq!(looks(&lab), [(1, 1, false), (2, 1, true)]);
}

#[test]
fn looks_alone_are_opened_without_a_trial() {
    let lab = changed(POLICY);
    let request = GateRequest { open_looks: true, ..lab.request() };
    // Agents are not needed for that.
    let host = lab.host().with_broken_agents("no agent");
    let document = decide(&lab, &request, &host).unwrap();
    assert_eq!(verdict(&document), (GateVerdict::Undecided, "the look is opened; no trial was executed"));
    assert_eq!(document.exit_verdict(), GateVerdict::Nothing);
    assert_eq!(looks(&lab), [(1, 1, false)]);
}

#[test]
fn what_is_missing_blocks_before_a_look_is_opened() {
    let lab = changed(POLICY);
    let check = |host: FakeHost, expected: &str| {
        let document = decide(&lab, &lab.request(), &host).unwrap();
        assert_eq!(document.exit_verdict(), GateVerdict::Blocked);
        assert!(verdict(&document).1.starts_with(expected), "{}", verdict(&document).1);
        assert_eq!(looks(&lab), []);
    };
    check(lab.host().with_broken_agents("the agent is broken"), "the agent is broken");
    check(lab.host().without_key(), "records cannot be signed: there is no key");
}

#[test]
fn what_no_result_can_meet_is_refused_before_a_look_is_opened() {
    let lab = changed(&POLICY.replace("helps\"", "helps\"\nexact_p = 1e-30"));
    let error = decide(&lab, &lab.request(), &lab.host()).unwrap_err();
    assert!(matches!(error, GateError::Unattainable(_)), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.starts_with("no trial was run")), "{error}");
    assert_eq!(looks(&lab), []);
}

#[test]
fn paid_models_need_a_cap_and_a_price() {
    const KEY: &[(&str, &str)] = &[("ANTHROPIC_API_KEY", "k")];
    let agent = "model = \"anthropic:claude-x\"";
    let check = |agent: &str, max_usd: Option<f64>, expected: &str, hint: &str| {
        let lab = GateRepository::new(POLICY, agent);
        lab.write_skill("reports", "The word is `right`, always.");
        let request = GateRequest { max_usd, ..lab.request() };
        let error = decide(&lab, &request, &lab.host().with_env(KEY)).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(error.hint().is_some_and(|found| found.starts_with(hint)), "{:?}", error.hint());
        assert_eq!(looks(&lab), []);
    };
    check(agent, None, "anthropic:claude-x is a paid model, and this gate has no cap", "set --max-usd USD");
    check(agent, Some(1.0), "`--max-usd` needs the price of anthropic:claude-x", "add `price = {");
}

#[test]
fn tasks_of_a_new_skill_are_checked_and_not_trusted() {
    let lab = GateRepository::scripted(POLICY);
    lab.write_skill("letters", "Write letters.");
    let task = lab.top().join("tasks/letters-1");
    std::fs::create_dir_all(&task).unwrap();
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .arg(lab.top().join("tasks/reports-1/."))
        .arg(&task)
        .status();
    assert!(copied.unwrap().success());
    let experiment = lab.top().join("experiment.toml");
    let text = std::fs::read_to_string(&experiment).unwrap() + "[tasks.letters-1]\ncurated = [\"letters\"]\n";
    // The sandbox of the target's experiment is what isolates.
    std::fs::write(&experiment, &text).unwrap();
    let check = |open_looks: bool, notes: &[&str]| {
        let host = lab.host();
        let document = decide(&lab, &GateRequest { open_looks, ..lab.request() }, &host).unwrap();
        let row = document.skills.iter().find(|row| row.skill == "skills/letters").unwrap();
        assert!(
            row.reason.starts_with("tasks not yet trusted: the pull request's rules demand helps on 1 task"),
            "{}",
            row.reason
        );
        assert_eq!(
            (row.verdict, &row.notes[..]),
            (GateVerdict::Undecided, &notes.iter().map(|&note| note.to_owned()).collect::<Vec<_>>()[..])
        );
        assert!(host.checked.borrow().is_empty());
    };
    check(false, &["task check: not executed: the experiment of the policy has sandbox \"none\""]);
    check(true, &[]);
}
