//! Limits, enforced by control groups if available, and otherwise by polling.

use std::time::{Duration, Instant};

use assay_sandbox::{Exit, LimitKind, Limits, Mechanism, Sandbox, Spec};

use crate::common::{bubblewrap, command, exec, mount, needs_bubblewrap, sh, spec};

/// Allocates 300 MiB and keeps them.
const HUNGRY: &str = "python3 -c 'x = bytearray(300 << 20); import time; time.sleep(20)'";

/// With control groups, if this machine has them, and without.
fn both(limits: Limits, check: impl Fn(&Spec, &dyn Sandbox)) {
    let mut spec = spec();
    spec.limits = limits;
    check(&spec, &bubblewrap());
    check(&spec, &bubblewrap().without_cgroups());
}

#[test]
fn reports_what_enforces_them() {
    needs_bubblewrap!();
    let all =
        Limits { cpus: Some(1.0), memory_bytes: Some(1 << 30), pids: Some(50), storage_bytes: Some(1 << 30) };
    let mut spec = spec();
    let none = bubblewrap().start(&spec).unwrap();
    let e = *none.enforcement();
    assert!([e.cpus, e.memory, e.pids, e.storage].iter().all(|m| *m == Mechanism::Nothing));
    spec.limits = all;
    let polled = *bubblewrap().without_cgroups().start(&spec).unwrap().enforcement();
    assert_eq!((polled.cpus, polled.memory), (Mechanism::Nothing, Mechanism::Watchdog));
    assert!(matches!(polled.pids, Mechanism::Watchdog | Mechanism::Rlimit));
    assert_eq!(polled.storage, Mechanism::Watchdog);
}

#[test]
fn kills_processes_with_too_much_memory() {
    needs_bubblewrap!();
    let limits = Limits { memory_bytes: Some(64 << 20), ..Limits::default() };
    both(limits, |spec, sandbox| {
        let mut session = sandbox.start(spec).unwrap();
        let (exit, _) = sh(&mut *session, &format!("exec {HUNGRY}"));
        assert_eq!(exit, Exit::Limit(LimitKind::Memory), "{:?}", session.enforcement());
        // A child of the command, whose shell reports it.
        let (exit, _) = sh(&mut *session, &format!("{HUNGRY}; exit $?"));
        assert_eq!(exit, Exit::Limit(LimitKind::Memory), "{:?}", session.enforcement());
        assert_eq!(sh(&mut *session, "echo ok"), (Exit::Code(0), "ok\n".to_owned()));
        let usage = session.stop().unwrap();
        assert!(usage.peak_memory_bytes.unwrap() > 32 << 20, "{usage:?}");
    });
}

#[test]
fn in_memory_folder_cannot_exceed_the_limit() {
    needs_bubblewrap!();
    let limits = Limits { memory_bytes: Some(64 << 20), ..Limits::default() };
    both(limits, |spec, sandbox| {
        let mut session = sandbox.start(spec).unwrap();
        let (exit, _) =
            sh(&mut *session, "head -c 200m /dev/zero > /tmp/x; head -c 200m /dev/zero > /dev/shm/y");
        assert_ne!(exit, Exit::Code(0), "{:?}", session.enforcement());
        session.stop().unwrap();
    });
}

#[test]
fn contains_a_fork_bomb() {
    needs_bubblewrap!();
    let limits = Limits { pids: Some(40), ..Limits::default() };
    both(limits, |spec, sandbox| {
        let mut session = sandbox.start(spec).unwrap();
        // Only polling limits the second one, so that it must not harm this machine.
        let held = session.enforcement().pids != Mechanism::Watchdog;
        let bomb = if held {
            "f() { f | f & }; f; while :; do (sleep 1 &) ; done"
        } else {
            "for i in $(seq 300); do sleep 5 & done; wait"
        };
        let mut late = command(&["bash", "-c", bomb]);
        late.deadline = Some(Instant::now() + Duration::from_millis(700));
        let begin = Instant::now();
        let outcome = exec(&mut *session, &late).unwrap();
        // Killed by the watch, at the deadline, or given up by itself: over in any case.
        assert_ne!(outcome.exit, Exit::Code(0));
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
        if held {
            assert!(outcome.stdout.text().contains("fork"), "{}", outcome.stdout.text());
        }
        // A command that cannot be started is a failed command.
        let outcome = exec(&mut *session, &command(&["true"])).unwrap();
        assert!(matches!(outcome.exit, Exit::Code(0 | 126) | Exit::Signal(9)), "{:?}", outcome.exit);
        let begin = Instant::now();
        session.stop().unwrap();
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    });
}

#[test]
fn process_limit_can_be_reached() {
    needs_bubblewrap!();
    let mut spec = spec();
    spec.limits.pids = Some(10);
    let mut session = bubblewrap().start(&spec).unwrap();
    if session.enforcement().pids == Mechanism::Watchdog {
        return;
    }
    let many = |n: u32| format!("for i in $(seq {n}); do sleep 0.3 & done; wait");
    let mut run = |n| exec(&mut *session, &command(&["bash", "-c", &many(n)])).unwrap().stdout.text();
    assert_eq!(run(9), "");
    assert!(run(10).contains("fork"));
}

#[test]
fn kills_processes_that_fill_the_disk() {
    needs_bubblewrap!();
    let dir = tempfile::tempdir().unwrap();
    let mut spec = spec();
    spec.mounts = vec![mount(dir.path(), "/desk", true)];
    spec.workdir = "/desk".into();
    spec.limits.storage_bytes = Some(8 << 20);
    let mut session = bubblewrap().start(&spec).unwrap();
    // Many small files, so that none is too large by itself.
    let many = "i=0; while :; do head -c 1000000 /dev/zero > f$i; i=$((i+1)); sleep 0.01; done";
    assert_eq!(sh(&mut *session, many).0, Exit::Limit(LimitKind::Storage));
    assert_eq!(sh(&mut *session, "rm -f f*; echo ok").1, "ok\n");
    // One large file.
    assert_eq!(sh(&mut *session, "exec head -c 100000000 /dev/zero > f").0, Exit::Limit(LimitKind::Storage));
    session.stop().unwrap();
}

#[test]
fn limits_cpu_time() {
    needs_bubblewrap!();
    let mut spec = spec();
    spec.limits.cpus = Some(0.2);
    let mut session = bubblewrap().start(&spec).unwrap();
    if session.enforcement().cpus == Mechanism::Nothing {
        return;
    }
    let mut spin = command(&["sh", "-c", "while :; do :; done"]);
    spin.deadline = Some(Instant::now() + Duration::from_secs(1));
    exec(&mut *session, &spin).unwrap();
    let seconds = session.stop().unwrap().cpu_seconds.unwrap();
    assert!((0.05..0.5).contains(&seconds), "{seconds}");
}

#[test]
fn counts_usage() {
    needs_bubblewrap!();
    both(Limits::default(), |spec, sandbox| {
        let mut session = sandbox.start(spec).unwrap();
        sh(&mut *session, "python3 -c 'import time\nwhile time.process_time() < 0.4: pass'");
        let usage = session.stop().unwrap();
        assert!((0.3..3.0).contains(&usage.cpu_seconds.unwrap()), "{usage:?}");
    });
}

/// In-memory folders count towards the memory limit although they belong to no process.
fn in_memory_folders_are_counted_together() {
    let sandbox = bubblewrap().without_cgroups();
    let mut spec = spec();
    spec.tmpfs = vec!["/extra".into()];
    // No other limit applies: no file may be larger than the disk limit.
    spec.limits = Limits { memory_bytes: Some(96 << 20), ..Limits::default() };
    let mut session = sandbox.start(&spec).unwrap();
    let fill = |folder: &str| format!("head -c 40m /dev/zero > {folder}/x || exit 9; sleep 0.5");
    let (exit, text) = sh(&mut *session, &format!("{}; echo alone", fill("/tmp")));
    assert_eq!((exit, text.as_str()), (Exit::Code(0), "alone\n"));
    // Each is within its own size, but all together exceed the limit.
    let all = ["/var/tmp", "/dev/shm", "/run", "/extra"].map(fill).join("; ");
    let (exit, text) = sh(&mut *session, &format!("{all}; sleep 20"));
    assert_eq!(exit, Exit::Limit(LimitKind::Memory), "{text}");
    assert!(session.stop().unwrap().peak_memory_bytes.unwrap() > 96 << 20);

    // No other folder can be filled.
    let mut session = sandbox.start(&spec).unwrap();
    for path in ["/dev/x", "/dev/pts/x", "/x", "/run/assay/x", "/etc/x", "/var/x"] {
        let (exit, text) = sh(&mut *session, &format!("head -c 1m /dev/zero > {path}"));
        assert_ne!(exit, Exit::Code(0), "{path}: {text}");
    }
    session.stop().unwrap();
}

#[test]
fn in_memory_folders_count_as_memory() {
    needs_bubblewrap!();
    in_memory_folders_are_counted_together();
}

/// Not a test by itself: what [`in_memory_folders_count_as_memory_for_ordinary_users`] runs.
#[test]
fn ordinary_user() {
    if std::env::var_os("ASSAY_TEST_ORDINARY").is_some() {
        assert!(!rustix::process::geteuid().is_root());
        in_memory_folders_are_counted_together();
    }
}

#[test]
fn in_memory_folders_count_as_memory_for_ordinary_users() {
    needs_bubblewrap!();
    if !rustix::process::geteuid().is_root() {
        // Then the test above ran as an ordinary user.
        return;
    }
    let this = std::env::current_exe().unwrap();
    let as_user = |program: &std::path::Path, arguments: &[&str]| {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=61234", "--regid=61234", "--clear-groups"]).arg(program).args(arguments);
        command.env("ASSAY_TEST_ORDINARY", "1").current_dir("/").output()
    };
    if !as_user(&this, &["--list"]).is_ok_and(|listed| listed.status.success()) {
        assay_test::report_skip(&format!("no other user can run {}", this.display()));
        return;
    }
    let output = as_user(&this, &["--exact", "limits::ordinary_user", "--nocapture"]).unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
