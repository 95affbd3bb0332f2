//! The lifetime of sandboxes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assay_sandbox::{Exit, Sandbox, SandboxError, remove_stale_cgroups};

use crate::common::{bubblewrap, command, exec, needs_bubblewrap, processes_with, sh, spec, start, within};

#[test]
fn background_processes_live_on_and_die_with_the_session() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    let begin = Instant::now();
    // It keeps the output open, and continues to write.
    let daemon = "(while echo tick; do echo again >> /tmp/ticks; sleep 0.02; done) & sleep 77701 & echo up";
    let (exit, text) = sh(&mut *session, daemon);
    assert_eq!(exit, Exit::Code(0));
    assert!(text.contains("up\n"), "{text}");
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    let count = "wc -l < /tmp/ticks; pgrep -cf 'sleep 7770[1]$'";
    let first = sh(&mut *session, count).1;
    std::thread::sleep(Duration::from_millis(300));
    let second = sh(&mut *session, count).1;
    let number = |text: &str| text.lines().next().unwrap().trim().parse::<u32>().unwrap();
    assert!(number(&second) > number(&first), "it keeps writing: {first:?} {second:?}");
    assert!(first.ends_with("\n1\n") && second.ends_with("\n1\n"), "{first:?} {second:?}");
    assert!(within(Duration::from_secs(10), || processes_with("sleep\x0077701").len() == 1), "it started");
    session.stop().unwrap();
    assert_eq!(processes_with("sleep\x0077701").len(), 0, "at once");
}

#[test]
fn orphans_are_reaped() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    sh(&mut *session, "for i in 1 2 3 4 5; do (setsid sh -c 'sleep 0.05' &) ; done");
    std::thread::sleep(Duration::from_millis(400));
    assert_eq!(sh(&mut *session, "ps -eo stat,comm | grep -c '^Z'").1, "0\n");
}

#[test]
fn dropping_kills() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    sh(&mut *session, "setsid sleep 77702 > /dev/null 2>&1 &");
    assert!(within(Duration::from_secs(10), || processes_with("sleep\x0077702").len() == 1), "it started");
    drop(session);
    assert_eq!(processes_with("sleep\x0077702").len(), 0);
}

#[test]
fn can_be_passed_to_another_thread() {
    needs_bubblewrap!();
    let mut session = std::thread::spawn(|| start(&spec())).join().unwrap();
    // The thread that started it has ended.
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(sh(&mut *session, "echo alive").1, "alive\n");
    std::thread::spawn(move || session.stop().unwrap()).join().unwrap();
}

#[test]
fn reports_that_it_died() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    sh(&mut *session, "setsid sleep 77703 > /dev/null 2>&1 &");
    // The parent of the orphan is the first process, seen from the host. Looked up once: while
    // `setsid` becomes `sleep`, the process briefly has no command line.
    let mut orphan = None;
    let has_started = || {
        orphan = processes_with("sleep\x0077703").first().copied();
        orphan.is_some()
    };
    assert!(within(Duration::from_secs(10), has_started), "it started");
    let orphan = orphan.unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{orphan}/stat")).unwrap();
    let init: i32 =
        stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(1).unwrap().parse().unwrap();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        kill(init);
    });
    let begin = Instant::now();
    match exec(&mut *session, &command(&["sleep", "10"])) {
        Err(SandboxError::Died { command }) => assert_eq!(command, "sleep"),
        other => panic!("{other:?}"),
    }
    assert!(begin.elapsed() < Duration::from_secs(3));
    assert!(matches!(exec(&mut *session, &command(&["true"])), Err(SandboxError::Died { .. })));
    session.stop().unwrap();
}

fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// Not a test by itself: the process that [`everything_dies_with_the_owner`] starts and kills.
#[test]
fn owner() {
    if std::env::var_os("ASSAY_TEST_OWNER").is_none() {
        return;
    }
    let mut session = start(&spec());
    sh(&mut *session, "setsid sleep 77704 > /dev/null 2>&1 &");
    let mut forever = command(&["sleep", "77704"]);
    forever.deadline = None;
    let _ = exec(&mut *session, &forever);
}

#[test]
fn everything_dies_with_the_owner() {
    needs_bubblewrap!();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "life::owner"])
        .env("ASSAY_TEST_OWNER", "1")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert!(within(Duration::from_secs(10), || processes_with("sleep\x0077704").len() == 2), "it started");
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(within(Duration::from_secs(2), || processes_with("sleep\x0077704").is_empty()), "it died");
    // Its groups remain, and are removed; those of live owners are not.
    let mut alive = start(&spec());
    remove_stale_cgroups();
    assert_eq!(leftovers(owner.id()), Vec::<String>::new());
    assert_eq!(sh(&mut *alive, "echo alive").1, "alive\n");
    let usage = alive.stop().unwrap();
    assert!(usage.cpu_seconds.is_some(), "the groups of a live sandbox remain");
}

/// Control groups of an owner.
fn leftovers(pid: u32) -> Vec<String> {
    let controllers = std::fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten();
    let groups =
        controllers.filter_map(|c| std::fs::read_dir(c.path().join("assay")).ok()).flatten().flatten();
    groups
        .map(|group| group.file_name().to_string_lossy().into_owned())
        .filter(|name| name.split('.').nth(1) == Some(&pid.to_string()))
        .collect()
}

#[test]
fn several_run_at_once() {
    needs_bubblewrap!();
    let sandbox = bubblewrap();
    std::thread::scope(|scope| {
        for n in 0..6 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                for _ in 0..3 {
                    let mut session = sandbox.start(&spec()).unwrap();
                    let (exit, text) = sh(&mut *session, &format!("echo {n}; exit {n}"));
                    assert_eq!((exit, text), (Exit::Code(n), format!("{n}\n")));
                    session.stop().unwrap();
                }
            });
        }
    });
}

/// Starts a session, runs `true` and stops it, with every limit set.
#[test]
fn is_cheap() {
    const ROUNDS: u32 = 20;
    needs_bubblewrap!();
    let mut spec = spec();
    spec.limits = assay_sandbox::Limits {
        cpus: Some(1.0),
        memory_bytes: Some(1 << 30),
        pids: Some(100),
        storage_bytes: Some(1 << 30),
    };
    for (what, sandbox) in [("control groups", bubblewrap()), ("polling", bubblewrap().without_cgroups())] {
        let mut spent = [Duration::ZERO; 3];
        for round in 0..=ROUNDS {
            let mut begin = Instant::now();
            let mut lap = || std::mem::replace(&mut begin, Instant::now()).elapsed();
            let mut session = sandbox.start(&spec).unwrap();
            let started = lap();
            assert_eq!(exec(&mut *session, &command(&["true"])).unwrap().exit, Exit::Code(0));
            let ran = lap();
            session.stop().unwrap();
            // The first one detects the machine's features.
            if round > 0 {
                for (spent, part) in spent.iter_mut().zip([started, ran, lap()]) {
                    *spent += part / ROUNDS;
                }
            }
        }
        let [start, run, stop] = spent.map(|spent| spent.as_secs_f64() * 1e3);
        println!("{what}: start {start:.1} ms, true {run:.1} ms, stop {stop:.1} ms");
        // Generous: other tests run at the same time.
        assert!(start + run + stop < 500.0, "{what}");
    }
}
