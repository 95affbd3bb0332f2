//! Runs that are killed, interrupted, or not alone.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap, read_json, within};
use crate::processes::in_sandboxes_of;
use crate::suite;

/// How long a killed run's sandboxes may live.
const GONE: Duration = Duration::from_secs(2);

/// 40 trials, each of which takes a while and leaves something behind that does not end by itself.
fn forty() -> Fixture {
    let mut rules = suite::diligent();
    let linger = "(setsid sleep 1000 &) ; sleep 0.$((RANDOM % 10))";
    rules[1]["run"] = json!([linger, rules[1]["run"]]);
    rules.push(json!({ "turn": 0, "run": linger }));
    suite::lab(4)
        .script(&rules)
        .experiment(|e| suite::paired(e.conditions(&["none", "curated"]).repetitions(5).concurrency(4), 4))
}

/// Numbers for the moments of the kills, the same in every run (splitmix64, Steele et al. 2014).
fn draws(mut seed: u64) -> impl Iterator<Item = u64> {
    std::iter::repeat_with(move || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

#[track_caller]
fn no_sandbox_lives(lab: &Fixture, since: &str) {
    assert!(within(GONE, || in_sandboxes_of(lab).is_empty()), "{since}: {:#?}", in_sandboxes_of(lab));
}

/// The store holds 40 trials with a record each, and nothing of anybody at work.
#[track_caller]
fn is_whole(lab: &Fixture) {
    let records = lab.records();
    let distinct: BTreeSet<String> = records.iter().map(|record| record["trial"].to_string()).collect();
    assert_eq!((records.len(), distinct.len()), (40, 40));
    for record in &records {
        let expected = if record["condition"] == "curated" { "passed" } else { "failed" };
        assert_eq!(record["outcome"], expected, "{record:#}");
    }
    for folder in lab.trials() {
        assert!(
            folder.join("record.json").exists() && !folder.join("lease").exists(),
            "{}",
            folder.display()
        );
    }
    let left: Vec<_> =
        fs::read_dir(lab.path(".assay/scratch")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let within: Vec<_> = left
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(left.is_empty(), "{left:?} {within:?}");
}

#[test]
fn twenty_kills_lose_nothing_and_leave_nothing() {
    needs_bubblewrap!();
    let lab = forty();
    let (mut kept, mut seen) = (0, false);
    for (number, draw) in draws(7).take(20).enumerate() {
        let mut run = lab.start(&["run", "experiment.toml", "--no-checks"]);
        // As it begins, at work, or as a trial ends. All the time together is too short for all trials.
        let is_at_work = || run.stderr().contains("trials: 40");
        let (so_far, moment): (&dyn Fn() -> bool, _) = match number % 5 {
            0 => (&|| true, draw % 200),
            4 => (&|| lab.records().len() > kept, draw % 30),
            _ => (&is_at_work, draw % 600),
        };
        assert!(within(Duration::from_mins(1), so_far), "{}", run.stderr());
        std::thread::sleep(Duration::from_millis(moment));
        assert!(!run.has_ended(), "it was over before kill {number}: {}", run.stderr());
        seen |= !in_sandboxes_of(&lab).is_empty();
        run.signal(Signal::KILL);
        drop(run);
        no_sandbox_lives(&lab, &format!("after kill {number}"));
        let now = lab.records().len();
        assert!(now >= kept, "records were lost at kill {number}");
        kept = now;
    }
    assert!(seen && kept > 0, "no kill met a sandbox at work, or nothing was ever finished");
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!((&document["planned"], &document["cached"]), (&json!(40), &json!(kept)));
    assert_eq!(document["executed"], json!(40 - kept));
    is_whole(&lab);
    no_sandbox_lives(&lab, "after the run");
}

#[test]
fn an_interrupted_run_keeps_what_it_has() {
    needs_bubblewrap!();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let lab = forty();
        let run = lab.start(&["run", "experiment.toml", "--no-checks", "--format", "json"]);
        assert!(within(Duration::from_mins(1), || !lab.records().is_empty()), "{}", run.stderr());
        run.signal(signal);
        let clock = Instant::now();
        let ran = run.wait().ended(130);
        assert!(clock.elapsed() < Duration::from_secs(20), "it took {:?}", clock.elapsed());
        no_sandbox_lives(&lab, "after the signal");
        let kept = lab.records().len();
        let document = ran.json();
        assert_eq!((&document["interrupted"], &document["executed"]), (&json!(true), &json!(kept)));
        assert_eq!(document["unfinished"], json!(40 - kept));

        let (document, code) = lab.run(&["--no-checks", "-j", "8"]);
        assert_eq!((&document["cached"], code), (&json!(kept), 0));
        is_whole(&lab);
    }
}

#[test]
fn two_runs_share_the_work() {
    needs_bubblewrap!();
    let lab = forty();
    let args = ["run", "experiment.toml", "--no-checks", "--format", "json"];
    let both = [lab.start(&args), lab.start(&args)].map(|run| run.wait().ok().json());
    let sum = |key: &str| both.iter().map(|document: &Value| document[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("planned"), sum("executed"), sum("cached")), (80, 40, 40));
    assert!(both.iter().all(|document| document["executed"] != 0), "one of them did all the work: {both:#?}");
    assert_eq!(both[0]["report"], both[1]["report"]);
    for folder in lab.trials() {
        assert_eq!(fs::read_dir(folder.join("attempts")).unwrap().count(), 1, "{}", folder.display());
    }
    is_whole(&lab);
    let events = fs::read_to_string(lab.path(".assay/runs/lab/events.jsonl")).unwrap();
    let here = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(here.filter(|event| event["elsewhere"] == json!(false)).count(), 40);
    assert!(read_json(&lab.path(".assay/runs/lab/plan.json")).is_some());
    assert!(!lab.path(".assay/runs/lab-2").exists());
}

/// As `nohup` starts it: a closed terminal is no reason to stop.
#[test]
fn a_run_that_ignores_hangups_goes_on() {
    needs_bubblewrap!();
    let lab = suite::lab(1).script(&suite::diligent()).experiment(|e| suite::paired(e.repetitions(2), 1));
    let mut command = std::process::Command::new("sh");
    let plain = lab.command(&["run", "experiment.toml", "--no-checks"]);
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(lab.folder()).env_clear().stdin(std::process::Stdio::null());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut run = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let began =
        within(Duration::from_mins(1), || !lab.records().is_empty() || run.try_wait().unwrap().is_some());
    assert!(began);
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, Signal::HUP).unwrap();
    assert!(run.wait().unwrap().success());
}

#[test]
fn a_sandbox_does_not_tell_where_the_store_is() {
    needs_bubblewrap!();
    let look = "cat /proc/self/mountinfo /proc/1/mountinfo /proc/1/cmdline > /logs/artifacts/seen 2>/dev/null; \
                env >> /logs/artifacts/seen; echo right > answer.txt";
    let lab = Fixture::new()
        .env("ASSAY_SCRATCH", "")
        .task("looks", |task| task)
        .script(&[json!({ "turn": 0, "run": look })])
        .experiment(|e| e.conditions(&["none"]));
    lab.run(&["--no-checks"]);
    let record = lab.record("looks");
    assert_eq!(record["outcome"], "passed", "{record:#}");
    let seen = fs::read_to_string(crate::fixture::attempt(&record, "artifacts/seen")).unwrap();
    let name = lab.folder().file_name().unwrap().to_str().unwrap();
    assert!(seen.contains("/app ") && !seen.contains(name), "{name}: {seen}");
    // And what is shown instead is gone.
    let roots = seen.split([' ', '/']).filter(|part| part.starts_with("assay-") && part.len() == 18);
    for folder in roots {
        assert!(!std::path::Path::new("/var/tmp").join(folder).exists(), "{folder}");
    }
    assert_eq!(fs::read_dir(lab.path(".assay/scratch")).unwrap().count(), 0);
}
