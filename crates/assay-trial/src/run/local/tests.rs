use assay_agent::{Ended, Part};
use assay_model::Usage;
use assay_sandbox::Exit;
use assay_store::{Cell, Outcome, Selection, pattern_matches};
use serde_json::Value;

use super::*;
use crate::plan::Plan;
use crate::run::backend::Backend;
use crate::run::execute::run;
use crate::run::executor::{RunOptions, RunOutcome};
use crate::testing::{Act, EndingAgent, Fake, Fixture, MISS, PASS, on_machine};

/// A run of an experiment with fake verifiers.
struct RunFixture {
    fixture: Fixture,
    options: RunOptions,
    cancel: Arc<AtomicBool>,
}

/// A plan, and what its trials meet.
struct PlannedRun {
    plan: Plan,
    backend: Arc<Backend>,
    agent: Option<Arc<dyn assay_agent::Agent>>,
}

impl std::ops::Deref for PlannedRun {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

/// The result of a run, with its events.
struct RunResult {
    outcome: RunOutcome,
    /// `begin trials 4 0`, `end passed`, `end passed elsewhere`, `retry sandbox`, or a note.
    log: Vec<String>,
}

impl RunResult {
    fn count_events(&self, what: &str) -> usize {
        self.log.iter().filter(|log| log.starts_with(what)).count()
    }
}

impl RunFixture {
    /// Two tasks with two conditions and two repetitions: eight trials.
    fn new() -> Self {
        let fixture = Fixture::new();
        fixture.task("b");
        let options = RunOptions::new(2);
        Self { fixture, options, cancel: Arc::default() }
    }

    /// The plan, with fake verifiers and optionally another agent.
    fn plan(
        &self,
        act: impl Fn(&str, usize) -> Act + Send + Sync + 'static,
        agent: Option<&Arc<dyn assay_agent::Agent>>,
    ) -> PlannedRun {
        PlannedRun { plan: self.fixture.plan(), backend: Fake::backend(act), agent: agent.cloned() }
    }

    fn run(&self, plan: &PlannedRun) -> RunResult {
        let folder = plan.begin_run(&self.fixture.store).unwrap();
        let mut log = Vec::new();
        let mut on_event = |event: Event<'_>| {
            log.push(match event {
                Event::Begin { phase, total, cached } => format!("begin {phase} {total} {cached}"),
                Event::End { record, elsewhere: false } => format!("end {}", record.outcome.word()),
                Event::End { record, elsewhere: true } => format!("end {} elsewhere", record.outcome.word()),
                Event::Retry { record } => format!("retry {}", record.cause.unwrap().word()),
                Event::JudgesWaiting { requests, .. } => format!("judges wait {requests}"),
                Event::JudgeRetried { judge, retry } => format!("asked again {judge} {:?}", retry.status),
                Event::Note(note) => note,
            });
        };
        let store = &self.fixture.store;
        let outcome = on_machine(|machine| {
            let mut resolver = plan.resolver(store, machine);
            resolver.fake =
                crate::run::resolve::Fake { backend: Some(plan.backend.clone()), agent: plan.agent.clone() };
            run(plan, &folder.run, store, &resolver, &self.options, &self.cancel, &mut on_event).unwrap()
        });
        RunResult { outcome, log }
    }

    fn attempts(&self, plan: &PlannedRun) -> Vec<u32> {
        let record = |id: &TrialId| self.fixture.store.record(id).unwrap().unwrap();
        plan.trials.keys().map(|id| record(id).attempt).collect()
    }
}

fn agent(ends: impl Fn() -> Ended + Send + Sync + 'static) -> Arc<dyn assay_agent::Agent> {
    Arc::new(EndingAgent(move |_: &assay_agent::Job<'_>| ends()))
}

#[test]
fn run_executes_the_plan_and_the_next_run_nothing() {
    let runs = RunFixture::new();
    let plan = runs.plan(|_, _| PASS, None);
    let ran = runs.run(&plan);
    let expected = RunOutcome { planned: 8, executed: 8, ..RunOutcome::default() };
    assert_eq!(ran.outcome, expected);
    assert_eq!((ran.log[0].as_str(), ran.count_events("end passed")), ("begin trials 8 0", 8));
    let again = runs.run(&plan);
    assert_eq!(again.outcome, RunOutcome { executed: 0, cached: 8, ..expected });
    assert_eq!(again.log, ["begin trials 8 8"]);
    // An event a trial, each a document with its format.
    let events = std::fs::read_to_string(runs.fixture.store.run_folder("test").join("events.jsonl")).unwrap();
    assert_eq!(events.lines().count(), 8);
    assert!(events.lines().all(|line| line.starts_with("{\"schema\":\"assay.event/1\",")), "{events}");
}

#[test]
fn outcome_is_read_from_verifier_files() {
    let check = |act: Act, ended: Ended, outcome: Outcome, cause: Option<Cause>, reason: &str| {
        let runs = RunFixture::new();
        let shown = format!("{act:?} {ended:?}");
        let plan = runs.plan(move |_, _| act.clone(), Some(&agent(move || ended.clone())));
        runs.run(&plan);
        let record = runs.fixture.store.record(plan.trials.keys().next().unwrap()).unwrap().unwrap();
        assert_eq!((record.outcome, record.cause), (outcome, cause), "{shown}");
        assert!(record.reason.unwrap_or_default().contains(reason), "{shown}");
    };
    let done = || Ended::Finished;
    let broken = |part| Ended::Broken { part, message: "it broke".to_owned() };
    let leave = |files| Act::LeaveFiles(files);
    check(PASS, done(), Outcome::Passed, None, "");
    check(MISS, done(), Outcome::Failed, None, "");
    check(leave(&[("reward.txt", "0.99")]), done(), Outcome::Failed, None, "");
    check(PASS, Ended::TurnLimit, Outcome::Passed, None, "");
    check(MISS, Ended::TokenLimit, Outcome::Failed, None, "");
    check(PASS, Ended::Deadline, Outcome::TimedOut, None, "");
    let verifier = Some(Cause::Verifier);
    let lost = Outcome::Infrastructure;
    check(leave(&[]), done(), lost, verifier, "the verifier wrote no reward");
    check(leave(&[]), done(), lost, verifier, "(its last line: all is well)");
    check(leave(&[("reward.txt", "nan")]), done(), lost, verifier, "not a finite number");
    check(Act::End(Exit::Deadline), done(), lost, verifier, "the verifier did not finish within 600 s");
    check(Act::Fail, done(), lost, Some(Cause::Sandbox), "the fake sandbox does not start");
    check(PASS, broken(Part::ModelProvider), lost, Some(Cause::ModelProvider), "it broke");
    check(PASS, broken(Part::Sandbox), lost, Some(Cause::Sandbox), "it broke");
    check(PASS, broken(Part::AgentSetup), lost, Some(Cause::AgentSetup), "it broke");
}

#[test]
fn work_that_breaks_a_verifier_fails_if_a_noop_is_graded() {
    // What the verifier does with the agent's work, and with the untouched environment.
    let check = |work: Act, noop: Act, ended: Ended, expected: (Outcome, Option<f64>), reason: &str| {
        let mut runs = RunFixture::new();
        runs.options.concurrency = 1;
        let shown = format!("{work:?} {noop:?} {ended:?}");
        let counts: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
        let seen = counts.clone();
        let act = move |id: &str, _: usize| {
            let mut counts = counts.lock().unwrap();
            let count = counts.entry(id.to_owned()).or_default();
            *count += 1;
            if *count == 1 { work.clone() } else { noop.clone() }
        };
        let plan = runs.plan(act, Some(&agent(move || ended.clone())));
        runs.run(&plan);
        for id in plan.trials.keys() {
            let record = runs.fixture.store.record(id).unwrap().unwrap();
            assert_eq!((record.outcome, record.reward), expected, "{shown}: {:?}", record.reason);
            let found = record.reason.unwrap_or_default();
            assert!(found.contains(reason), "{shown}: {found}");
        }
        // The no-op is graded once for each of the two tasks.
        assert_eq!(seen.lock().unwrap().values().sum::<usize>(), 10, "{shown}");
    };
    let leave = |files| Act::LeaveFiles(files);
    let done = || Ended::Finished;
    let blamed = "the verifier gave no reward for the agent's work, although it grades a no-op: ";
    let failed = (Outcome::Failed, Some(0.0));
    check(leave(&[]), MISS, done(), failed, &format!("{blamed}the verifier wrote no reward"));
    check(leave(&[("reward.txt", "nan")]), MISS, done(), failed, &format!("{blamed}reward.txt contains"));
    let both = leave(&[("reward.txt", "0"), ("reward.json", "{\"reward\": 1}")]);
    check(both, MISS, done(), failed, &format!("{blamed}two reward files"));
    check(Act::End(Exit::Deadline), MISS, done(), failed, &format!("{blamed}the verifier did not finish"));
    let full = Exit::Limit(assay_sandbox::LimitKind::Memory);
    check(
        Act::End(full),
        MISS,
        done(),
        failed,
        &format!("{blamed}the verifier exceeded the sandbox's limits"),
    );
    check(leave(&[]), MISS, Ended::Deadline, (Outcome::TimedOut, Some(0.0)), blamed);
    let lost = (Outcome::Infrastructure, None);
    let either = "; a no-op gets none either: the verifier wrote no reward";
    check(leave(&[]), leave(&[]), done(), lost, either);
    check(Act::End(Exit::Deadline), leave(&[]), done(), lost, either);
}

#[test]
fn infrastructure_errors_are_retried_up_to_the_planned_limit() {
    // How many verifiers of each trial break at first, and how many retries there are.
    let check = |breaks: usize, retries: u32, attempt: u32, lost: usize| {
        let runs = RunFixture::new();
        runs.fixture.experiment("margin", &format!("retry = {{ infrastructure = {retries} }}\nmargin"));
        let counts: Mutex<BTreeMap<String, usize>> = Mutex::default();
        let act = move |id: &str, _: usize| {
            let mut counts = counts.lock().unwrap();
            let count = counts.entry(id.to_owned()).or_default();
            *count += 1;
            if *count <= breaks { Act::Fail } else { PASS }
        };
        let plan = runs.plan(act, None);
        let ran = runs.run(&plan);
        assert_eq!((ran.outcome.executed, ran.outcome.infrastructure), (8, lost), "{breaks} {retries}");
        assert_eq!(runs.attempts(&plan), [attempt; 8], "{breaks} {retries}");
        assert_eq!(ran.count_events("retry sandbox"), 8 * (attempt as usize - 1));
        // Every attempt is kept.
        let folder = runs.fixture.store.trial_folder(plan.trials.keys().next().unwrap());
        assert_eq!(std::fs::read_dir(folder.join("attempts")).unwrap().count(), attempt as usize);
    };
    check(0, 2, 1, 0);
    check(1, 1, 2, 0);
    check(1, 0, 1, 8);
    check(9, 1, 2, 8);
}

#[test]
fn setup_errors_are_not_retried() {
    let runs = RunFixture::new();
    runs.fixture.experiment("margin", "retry = { infrastructure = 5 }\nmargin");
    let broken = || Ended::Broken { part: Part::AgentSetup, message: "no key".to_owned() };
    let plan = runs.plan(|_, _| PASS, Some(&agent(broken)));
    let ran = runs.run(&plan);
    assert_eq!((ran.count_events("retry"), ran.outcome.infrastructure), (0, 8));
    assert_eq!(runs.attempts(&plan), [1; 8]);
}

#[test]
fn consecutive_provider_errors_stop_the_run() {
    // Which trials the provider answers, by their number; how many are executed and how many end
    // with an infrastructure error, and whether the run is stopped.
    let check = |top: &str, answers: fn(usize) -> bool, executed: usize, lost: usize, stopped: bool| {
        let mut runs = RunFixture::new();
        runs.options.concurrency = 1;
        runs.fixture.experiment("margin", &format!("{top}margin"));
        let asked = AtomicUsize::new(0);
        let ends = move || {
            if answers(asked.fetch_add(1, Ordering::SeqCst)) {
                return Ended::Finished;
            }
            Ended::Broken { part: Part::ModelProvider, message: "it answered 500".to_owned() }
        };
        let mut plan = runs.plan(|_, _| PASS, Some(&agent(ends)));
        for spec in plan.plan.trials.values_mut() {
            Arc::make_mut(&mut Arc::make_mut(spec).options).model = Some("openai:m".to_owned());
        }
        let RunResult { outcome, log } = runs.run(&plan);
        assert_eq!((outcome.executed, outcome.infrastructure), (executed, lost), "{top:?}: {log:?}");
        assert_eq!((outcome.stopped.is_some(), outcome.unfinished), (stopped, 8 - executed), "{top:?}");
        let reason = "consecutive trials had infrastructure errors from openai: it answered 500";
        assert_eq!(log.iter().any(|note| note.contains(reason)), stopped, "{log:?}");
        assert!(outcome.stopped.is_none_or(|stopped| stopped.ends_with(reason)));
    };
    check("", |_| false, 3, 3, true);
    check("stop_after = 5\n", |_| false, 5, 5, true);
    check("stop_after = 0\n", |_| false, 8, 8, false);
    // Two of three are not three in a row.
    check("", |number| number % 3 == 2, 8, 6, false);
    check("stop_after = 2\n", |number| number < 4, 6, 2, true);
}

#[test]
fn next_run_retries_infrastructure_errors_by_default() {
    let mut runs = RunFixture::new();
    runs.run(&runs.plan(|_, asked| if asked < 8 { Act::Fail } else { PASS }, None));
    let plan = runs.plan(|_, _| PASS, None);
    runs.options.retry_broken = false;
    let kept = runs.run(&plan).outcome;
    assert_eq!((kept.executed, kept.cached, kept.infrastructure), (0, 8, 8));
    runs.options.retry_broken = true;
    let tried = runs.run(&plan).outcome;
    assert_eq!((tried.executed, tried.cached, tried.infrastructure), (8, 0, 0));
    assert_eq!(runs.attempts(&plan), [2; 8]);
}

#[test]
fn run_can_be_executed_in_parts() {
    let mut runs = RunFixture::new();
    let plan = runs.plan(|_, _| PASS, None);
    runs.options.max_trials = Some(3);
    let steps: Vec<_> = (0..4)
        .map(|_| runs.run(&plan).outcome)
        .map(|outcome| (outcome.executed, outcome.cached, outcome.unfinished))
        .collect();
    assert_eq!(steps, [(3, 0, 5), (3, 3, 2), (2, 6, 0), (0, 8, 0)]);
    assert_eq!(runs.attempts(&plan), [1; 8]);
}

#[test]
fn interrupted_trial_leaves_nothing_and_is_rerun() {
    let runs = RunFixture::new();
    let cancel = runs.cancel.clone();
    let worked = AtomicUsize::new(0);
    let stop = move || {
        if worked.fetch_add(1, Ordering::SeqCst) == 3 {
            cancel.store(true, Ordering::SeqCst);
        }
        Ended::Finished
    };
    let plan = runs.plan(|_, _| PASS, Some(&agent(stop)));
    let cut = runs.run(&plan).outcome;
    assert!(cut.interrupted && cut.executed <= 4 && cut.infrastructure == 0, "{cut:?}");
    assert_eq!(cut.unfinished, 8 - cut.executed);
    for id in plan.trials.keys().filter(|id| runs.fixture.store.record(id).unwrap().is_none()) {
        let attempts = runs.fixture.store.trial_folder(id).join("attempts");
        assert_eq!(std::fs::read_dir(attempts).map_or(0, Iterator::count), 0);
    }
    runs.cancel.store(false, Ordering::SeqCst);
    let rest = runs.run(&plan).outcome;
    assert_eq!((rest.executed, rest.cached, rest.interrupted), (8 - cut.executed, cut.executed, false));
    assert_eq!(runs.attempts(&plan), [1; 8]);
}

/// A trial is finally lost when its retries are used up, and not when an interruption cut them short.
#[test]
fn an_error_whose_retries_were_interrupted_is_not_final() {
    let mut runs = RunFixture::new();
    runs.options.concurrency = 1;
    // Without this option, a final error is kept.
    runs.options.retry_broken = false;
    runs.fixture.experiment("margin", "retry = { infrastructure = 2 }\nmargin");
    let cancel = runs.cancel.clone();
    let worked = AtomicUsize::new(0);
    // The first trial breaks, and again; the second retry is interrupted.
    let stop = move || match worked.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => Ended::Broken { part: Part::Sandbox, message: "it broke".to_owned() },
        at => {
            cancel.store(at == 2, Ordering::SeqCst);
            Ended::Finished
        }
    };
    let plan = runs.plan(|_, _| PASS, Some(&agent(stop)));
    let cut = runs.run(&plan);
    assert!(cut.outcome.interrupted && cut.count_events("retry sandbox") == 2, "{:?}", cut.log);
    // It has a record, and is none of the lost ones.
    assert_eq!((cut.outcome.executed, cut.outcome.infrastructure, cut.outcome.unfinished), (0, 0, 8));
    let records = || plan.trials.keys().filter_map(|id| runs.fixture.store.record(id).unwrap());
    let left: Vec<(u32, u32, bool)> =
        records().map(|record| (record.attempt, record.retries_left, record.is_done())).collect();
    assert_eq!(left, [(2, 1, false)]);
    runs.cancel.store(false, Ordering::SeqCst);
    let rest = runs.run(&plan).outcome;
    assert_eq!((rest.executed, rest.cached, rest.infrastructure), (8, 0, 0));
    assert!(records().all(|record| record.is_done() && record.retries_left == 0));

    // One that used its retries up is final.
    let mut runs = RunFixture::new();
    runs.options.retry_broken = false;
    runs.fixture.experiment("margin", "retry = { infrastructure = 2 }\nmargin");
    let plan = runs.plan(|_, _| Act::Fail, None);
    assert_eq!(runs.run(&plan).outcome.infrastructure, 8);
    let kept = runs.run(&plan).outcome;
    assert_eq!((kept.executed, kept.cached, kept.infrastructure), (0, 8, 8));
}

#[test]
fn unreadable_record_is_reported_and_replaced() {
    let runs = RunFixture::new();
    let plan = runs.plan(|_, _| PASS, None);
    runs.run(&plan);
    let path = runs.fixture.store.trial_folder(plan.trials.keys().next().unwrap()).join("record.json");
    std::fs::write(&path, "{\"schema\": \"assay.rec").unwrap();
    let ran = runs.run(&plan);
    assert_eq!((ran.outcome.executed, ran.outcome.cached), (1, 7));
    let note = ran.log.iter().find(|log| log.contains("record.json")).unwrap();
    assert!(
        note.contains("is damaged or was written by another version of assay")
            && note.ends_with("the trial is executed again"),
        "{note}"
    );
    // The damaged attempt stays beside the new one.
    assert_eq!(runs.attempts(&plan).iter().filter(|attempt| **attempt == 2).count(), 1);
}

#[test]
fn concurrent_runs_share_work_without_duplicates() {
    let runs = RunFixture::new();
    runs.fixture.experiment("repetitions = 2", "repetitions = 10");
    let slow = || {
        std::thread::sleep(Duration::from_millis(5));
        Ended::Finished
    };
    let plans = [(); 3].map(|()| runs.plan(|_, _| PASS, Some(&agent(slow))));
    let outcomes: Vec<RunOutcome> = std::thread::scope(|scope| {
        let runs: Vec<_> = plans.iter().map(|plan| scope.spawn(|| runs.run(plan).outcome)).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().map(|outcome| outcome.executed).sum::<usize>(), 40);
    assert!(outcomes.iter().all(|outcome| outcome.executed + outcome.cached == 40), "{outcomes:?}");
    assert_eq!(runs.attempts(&plans[0]), [1; 40]);
}

/// The result of the checks of a task with the given outcomes of its solution and of its untouched
/// work folder.
fn checked(solution: bool, oracle: Act, nop: Act) -> (RunFixture, RunResult) {
    let mut runs = RunFixture::new();
    runs.options.checks = true;
    // The other task is fine.
    runs.fixture.write("tasks/b/tests/test.sh", "b");
    if !solution {
        std::fs::remove_dir_all(runs.fixture.path("tasks/a/solution")).unwrap();
    }
    let planned = runs.fixture.plan();
    let short = |trial: &TrialSpec| trial.id.short().to_owned();
    let check = |task: &str| planned.checks.iter().find(|check| check.task == task).unwrap();
    let passes: Vec<String> = check("b").oracle.iter().map(|trial| short(trial)).collect();
    let own: Vec<String> = check("a").oracle.iter().map(|trial| short(trial)).collect();
    let idle = short(&check("a").nop);
    let act = move |id: &str, _: usize| {
        if own.iter().any(|own| own == id) {
            oracle.clone()
        } else if id == idle {
            nop.clone()
        } else if passes.iter().any(|other| other == id) {
            PASS
        } else {
            MISS
        }
    };
    let plan = runs.plan(act, None);
    let ran = runs.run(&plan);
    (runs, ran)
}

#[test]
fn ungradable_task_is_excluded_before_any_arm_runs() {
    let check = |solution: bool, oracle: Act, nop: Act, expected: &str| {
        let (runs, ran) = checked(solution, oracle, nop);
        let reasons: Vec<&str> =
            ran.outcome.failed_checks.iter().map(|excluded| excluded.reason.as_str()).collect();
        assert_eq!(reasons.len(), 1, "{reasons:?}: {expected}");
        assert!(reasons[0].contains(expected), "{}\nlacks: {expected}", reasons[0]);
        assert_eq!((ran.outcome.planned, ran.outcome.executed), (4, 4));
        assert_eq!(runs.fixture.store.failed_checks("test").unwrap(), ran.outcome.failed_checks);
        assert_eq!(ran.count_events("a excluded: "), 1);
    };
    check(true, MISS, MISS, "the oracle does not pass here (failed)");
    check(true, Act::Fail, MISS, "the oracle does not pass here (infrastructure: the sandbox did not");
    check(
        true,
        Act::LeaveFiles(&[]),
        MISS,
        "does not pass here (infrastructure: the verifier wrote no reward",
    );
    let report = "{\"results\": {\"tests\": [{\"name\": \"sums\", \"status\": \"failed\"}, \
        {\"name\": \"names\", \"status\": \"passed\"}, {\"name\": \"dates\", \"status\": \"failed\"}]}}";
    let with_tests = Act::LeaveFiles(Box::leak(Box::new([("reward.txt", "0"), ("ctrf.json", report)])));
    check(true, with_tests, MISS, "does not pass here (failed); failed: sums, dates");
    check(true, PASS, PASS, "the no-op check passes: the tests accept an untouched environment");
    check(
        true,
        PASS,
        Act::LeaveFiles(&[]),
        "its verifier breaks in the no-op check: the verifier wrote no reward",
    );
    check(false, PASS, MISS, "no solution/solve.sh");
}

#[test]
fn gradable_task_is_checked_once() {
    let (runs, ran) = checked(true, PASS, MISS);
    assert_eq!((ran.outcome.failed_checks.len(), ran.outcome.checks_executed), (0, 4));
    assert_eq!((ran.outcome.planned, ran.outcome.executed), (8, 8));
    let again = runs.run(&runs.plan(|_, _| Act::Fail, None));
    assert_eq!((again.outcome.checks_executed, again.outcome.executed), (0, 0));
    assert_eq!(again.log, ["begin checks 4 4", "begin trials 8 8"]);
}

/// The cost of a trial is unknown before the first one has ended, and checks cost nothing.
#[test]
fn usd_cap_does_not_block_checks() {
    let mut runs = RunFixture::new();
    runs.options.checks = true;
    runs.options.max_usd = Some(1.0);
    let (come, met) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (come.clone(), met.clone());
    let meet = move |_: &str, asked: usize| {
        if asked < 2 {
            counts.0.fetch_add(1, Ordering::SeqCst);
            let until = std::time::Instant::now() + Duration::from_secs(20);
            while counts.0.load(Ordering::SeqCst) < 2 && std::time::Instant::now() < until {
                std::thread::yield_now();
            }
            counts.1.fetch_add(usize::from(counts.0.load(Ordering::SeqCst) == 2), Ordering::SeqCst);
        }
        PASS
    };
    let plan = runs.plan(meet, None);
    runs.run(&plan);
    assert_eq!((come.load(Ordering::SeqCst), met.load(Ordering::SeqCst)), (2, 2));
}

#[test]
fn interrupted_attempt_counts_against_the_budget() {
    let runs = RunFixture { options: RunOptions::new(1), ..RunFixture::new() };
    runs.fixture.experiment("name = \"nop\"", "name = \"loop\"\nmodel = \"openai:one\"");
    runs.fixture.experiment("timeout = 300", "timeout = 300\nprice = { input = 1.5, output = 1.0 }");
    let cancel = runs.cancel.clone();
    let pays = EndingAgent(move |job: &assay_agent::Job<'_>| {
        let million = Usage { input: 1_000_000, ..Usage::default() };
        job.budget.unwrap().charge(&million, &Usage::default());
        cancel.store(true, Ordering::SeqCst);
        Ended::Finished
    });
    let pays: Arc<dyn assay_agent::Agent> = Arc::new(pays);
    let cut = runs.run(&runs.plan(|_, _| PASS, Some(&pays))).outcome;
    assert_eq!((cut.interrupted, cut.executed, cut.spent_usd), (true, 0, 1.5));
}

#[test]
fn checking_some_tasks_keeps_results_of_others() {
    let (mut runs, ran) = checked(true, MISS, MISS);
    let known = ran.outcome.failed_checks;
    runs.options.only = Selection { tasks: vec!["b".to_owned()], ..Selection::default() };
    let plan = runs.plan(|_, _| PASS, None);
    assert_eq!(runs.run(&plan).outcome.planned, 4);
    assert_eq!(runs.fixture.store.failed_checks("test").unwrap(), known);
}

#[test]
fn a_selection_is_by_every_key() {
    let cell = Cell {
        task: "ledger-export".into(),
        agent: 0,
        sandbox: "none".into(),
        condition: "curated".into(),
        repetition: 3,
        trial: TrialId::of(&Value::Null),
    };
    let check =
        |tasks: &[&str], conditions: &[&str], agents: &[&str], repetitions: &[u32], expected: bool| {
            let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
            let selection = Selection {
                tasks: list(tasks),
                conditions: list(conditions),
                agents: list(agents),
                repetitions: repetitions.to_vec(),
            };
            assert_eq!(selection.matches(&cell, "loop"), expected, "{selection:?}");
        };
    check(&[], &[], &[], &[], true);
    check(&["ledger-export"], &["curated"], &["loop"], &[3], true);
    check(&["ledger-*"], &["*"], &["l??p"], &[1, 3], true);
    check(&["log-*", "ledger-*"], &[], &[], &[], true);
    check(&["ledger"], &[], &[], &[], false);
    check(&["ledger-*"], &["none"], &[], &[], false);
    check(&["ledger-*"], &[], &["oracle"], &[], false);
    check(&["ledger-*"], &[], &[], &[1, 2], false);
}

#[test]
fn a_name_with_brackets_can_be_selected() {
    for (pattern, name, expected) in [
        ("a[1]", "a[1]", true),
        ("a[1]", "a1", true),
        ("a[", "a[", true),
        ("a[", "a", false),
        ("{a,b}", "b", true),
        ("**", "x", true),
    ] {
        assert_eq!(pattern_matches(pattern, name), expected, "{pattern} {name}");
    }
}
