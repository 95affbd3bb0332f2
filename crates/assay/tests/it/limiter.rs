//! `assay gateway serve`: one budget, and one rate limit of a provider, for the workers of a run.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::advice;
use crate::fixture::{Fixture, Running, needs_bubblewrap, within};
use crate::server::{Answer, Request, Server};
use crate::suite;

const WORKERS: usize = 8;
/// Requests per minute, where they are limited.
const MOST: usize = 40;
/// Tasks and repetitions of [`lab`].
const TRIALS: usize = 4 * 8;

/// When the provider got its requests.
#[derive(Clone, Default)]
struct Arrivals(Arc<Mutex<Vec<Instant>>>);

impl Arrivals {
    fn add(&self) {
        self.0.lock().unwrap().push(Instant::now());
    }

    fn all(&self) -> Vec<Instant> {
        self.0.lock().unwrap().clone()
    }
}

/// A provider that counts, and a suite of trials with two requests each. A request costs 1 USD.
fn lab(
    arrivals: &Arrivals,
    answer: impl Fn(usize, &Request) -> Option<Answer> + Send + Sync + 'static,
) -> (Fixture, Server) {
    let counted = arrivals.clone();
    let server = Server::start_bare(move |number, request| {
        counted.add();
        let plain = || if request.turn() == 0 { Answer::bash("sleep 0.2") } else { Answer::done("done") };
        answer(number, request).unwrap_or_else(plain)
    });
    let agent = "timeout = 300\nprice = { input = 1000, output = 0 }";
    let lab = suite::lab(4)
        .env("OPENAI_API_KEY", "sk-test")
        .experiment(|e| e.repetitions(8).agent(agent).served("openai:m", &server.url()));
    (lab, server)
}

/// A run whose trials [`WORKERS`] processes execute.
struct Shared {
    run: Running,
    workers: Vec<Running>,
}

fn start(lab: &Fixture, options: &[&str]) -> Shared {
    let run = start_run(lab, options);
    Shared { run, workers: start_workers(lab) }
}

/// The run, once it has work for workers.
fn start_run(lab: &Fixture, options: &[&str]) -> Running {
    let run = ["run", "experiment.toml", "--executor", "workers", "--no-preflight", "--no-checks"];
    let run = lab.start(&[run.as_slice(), &["--format", "json"], options].concat());
    let batch = lab.path(".assay/runs/lab/batch.jsonl");
    assert!(within(Duration::from_mins(1), || batch.exists()), "{}", run.stderr());
    run
}

fn start_workers(lab: &Fixture) -> Vec<Running> {
    (0..WORKERS).map(|_| lab.start(&["worker", "--run", "lab", "--idle-exit", "2"])).collect()
}

fn serve(lab: &Fixture, options: &[&str]) -> Running {
    let serve = ["gateway", "serve", "--run", "lab", "--listen", "127.0.0.1:0", "--format", "json"];
    lab.start(&[serve.as_slice(), options].concat())
}

#[test]
fn caps_hold_for_all_workers_while_the_gateway_is_restarted() {
    needs_bubblewrap!();
    let arrivals = Arrivals::default();
    let (lab, _server) = lab(&arrivals, |_, _| None);
    // Ten trials of 2 USD, and not half of another.
    let shared = start(&lab, &["--max-usd", "21"]);
    let waits =
        || shared.workers.iter().all(|worker| worker.stderr().contains("gateway serve --run lab` starts it"));
    assert!(within(Duration::from_mins(1), waits), "{}", shared.workers[0].stderr());
    assert_eq!(arrivals.all().len(), 0);

    // As the workers say.
    let command = advice::printed(&shared.workers[0].stderr(), "gateway serve --run lab");
    let gateway =
        Running::start(&mut advice::in_shell(&lab, &format!("exec {command} --listen 127.0.0.1:0")));
    assert!(within(Duration::from_mins(1), || arrivals.all().len() >= 6), "{}", gateway.stderr());
    gateway.signal(Signal::KILL);
    gateway.wait();
    // Requests that were granted already arrive; no others do.
    std::thread::sleep(Duration::from_secs(1));
    let sent = arrivals.all().len();
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(arrivals.all().len(), sent);
    assert!(sent < 20, "{sent}");

    let gateway = serve(&lab, &[]);
    let document = shared.run.wait().ok().json();
    assert_eq!(arrivals.all().len(), 20, "{document:#}");
    assert_eq!((&document["executed"], &document["unfinished"]), (&json!(10), &json!(TRIALS - 10)));
    assert_eq!(document["infrastructure"], 0);
    for worker in shared.workers {
        let ran = worker.wait().ok();
        assert!(ran.stderr.contains("the gateway of the run answers again"), "{ran:#?}");
    }
    gateway.signal(Signal::INT);
    let told = gateway.wait().ok().json();
    assert_eq!(told["budgets"][0]["spent_usd"], 20.0, "{told:#}");
    // Without caps, the rest is executed; what was spent before does not count.
    let rest = start(&lab, &["--max-usd", "100"]);
    let gateway = serve(&lab, &[]);
    let document = rest.run.wait().ok().json();
    assert_eq!((&document["cached"], &document["executed"]), (&json!(10), &json!(TRIALS - 10)));
    assert_eq!(arrivals.all().len(), 2 * TRIALS);
    gateway.signal(Signal::INT);
    gateway.wait().ok();
}

/// Eight processes ask at the same time, before any reply says what it costs.
#[test]
fn workers_exceed_a_cap_in_usd_by_at_most_one_request() {
    needs_bubblewrap!();
    let arrivals = Arrivals::default();
    let (lab, _server) = lab(&arrivals, |_, request| {
        std::thread::sleep(Duration::from_millis(700));
        (request.turn() == 0).then(|| Answer::bash("true"))
    });
    let shared = start(&lab, &["--max-usd", "5"]);
    let gateway = serve(&lab, &[]);
    let document = shared.run.wait().json();
    let sent = arrivals.all().len();
    assert!((4..=6).contains(&sent), "{sent}: {document:#}");
    assert!(document["unfinished"].as_u64().unwrap() >= 29, "{document:#}");
    gateway.signal(Signal::INT);
    let told = gateway.wait().ok().json();
    assert!(told["budgets"][0]["spent_usd"].as_f64().unwrap() <= 6.0, "{told:#}");
    drop(shared.workers);
}

#[test]
fn rate_limit_holds_for_all_workers() {
    needs_bubblewrap!();
    let arrivals = Arrivals::default();
    let (lab, _server) = lab(&arrivals, |_, _| None);
    let shared = start(&lab, &["--max-usd", "1000"]);
    let gateway = serve(&lab, &["--requests-per-minute", &MOST.to_string()]);
    let document = shared.run.wait().ok().json();
    assert_eq!(document["executed"], TRIALS, "{document:#}");
    let arrivals = arrivals.all();
    assert_eq!(arrivals.len(), 2 * TRIALS);
    for window in arrivals.windows(MOST + 1) {
        let (first, last) = (window[0], window[MOST]);
        assert!(
            last - first >= Duration::from_mins(1),
            "{MOST} requests and another within {:?}",
            last - first
        );
    }
    drop(gateway);
}

#[test]
fn all_workers_wait_for_a_provider_that_limits_one() {
    needs_bubblewrap!();
    let arrivals = Arrivals::default();
    let limited: Arc<Mutex<Option<Instant>>> = Arc::default();
    let seen = limited.clone();
    let (lab, _server) = lab(&arrivals, move |number, _| {
        (number == 12).then(|| {
            *seen.lock().unwrap() = Some(Instant::now());
            Answer::of(429, json!({ "error": { "message": "slow down" } })).with("retry-after", "4")
        })
    });
    // Without caps, workers use a gateway that is there when they begin, and wait for none.
    let run = start_run(&lab, &["--no-cap"]);
    let gateway = serve(&lab, &[]);
    let place = lab.path(".assay/runs/lab/gateway.json");
    assert!(within(Duration::from_mins(1), || place.exists()), "{}", gateway.stderr());
    let _workers = start_workers(&lab);
    let document = run.wait().ok().json();
    assert_eq!((&document["executed"], &document["infrastructure"]), (&json!(TRIALS), &json!(0)));
    let at = limited.lock().unwrap().unwrap();
    // Half a second for those that are on their way.
    let early = |other: &&Instant| {
        let after = other.duration_since(at);
        after > Duration::from_millis(500) && after < Duration::from_secs(4)
    };
    assert_eq!(arrivals.all().iter().filter(early).count(), 0);
    drop(gateway);
}

#[test]
fn bad_input_of_the_gateway_of_a_run_is_reported() {
    needs_bubblewrap!();
    let lab = suite::lab(1).experiment(|e| e);
    let check = |args: &[&str], code: i32, expected: &str| {
        let ran = lab.assay(args).ended(code);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    };
    check(&["gateway", "serve", "--run", "lab"], 2, "no store in");
    check(&["gateway"], 2, "--provider");
    check(&["gateway", "serve"], 2, "--run");
    lab.run(&["--no-checks"]);
    check(&["gateway", "serve", "--run", "other"], 2, "no run \"other\"");
    check(&["gateway", "serve", "--run", "lab", "--listen", "192.0.2.1:1"], 3, "choose another address");
    check(&["gateway", "serve", "--run", "lab", "--listen", "nonsense"], 2, "--listen");
}
