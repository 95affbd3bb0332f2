//! Commands: how they end, what they print, what they get.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_sandbox::{Exit, SandboxError, Sink};

use crate::common::{command, exec, needs_bubblewrap, sh, spec, start};

#[test]
fn reports_how_commands_end() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    for (argv, exit, output) in [
        (&["true"][..], Exit::Code(0), ""),
        (&["false"], Exit::Code(1), ""),
        (&["sh", "-c", "exit 7"], Exit::Code(7), ""),
        (&["sh", "-c", "kill -TERM $$"], Exit::Signal(15), ""),
        (&["sh", "-c", "kill -KILL $$"], Exit::Signal(9), ""),
        (&["echo", "a  b", "$HOME"], Exit::Code(0), "a  b $HOME\n"),
        (
            &["/no/such"],
            Exit::Code(127),
            "assay: cannot run /no/such: No such file or directory (os error 2)\n",
        ),
        (
            &["nowhere"],
            Exit::Code(127),
            "assay: cannot run nowhere: No such file or directory (os error 2)\n",
        ),
        (
            &["/etc/passwd"],
            Exit::Code(126),
            "assay: cannot run /etc/passwd: Permission denied (os error 13)\n",
        ),
        (&["cat"], Exit::Code(0), ""),
    ] {
        let outcome = exec(&mut *session, &command(argv)).unwrap();
        assert_eq!((outcome.exit, outcome.stdout.text().as_str()), (exit, output), "{argv:?}");
        assert_eq!(outcome.stderr.total, 0);
    }
    let mut nowhere = command(&["true"]);
    nowhere.cwd = Some(PathBuf::from("/no/such"));
    let outcome = exec(&mut *session, &nowhere).unwrap();
    assert_eq!(outcome.exit, Exit::Code(126));
    assert!(outcome.stdout.text().starts_with("assay: cannot enter /no/such to run true: "));
    session.stop().unwrap();
}

#[test]
fn refuses_invalid_commands() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    for change in [
        (|c| c.argv.clear()) as fn(&mut assay_sandbox::Exec),
        |c| c.argv[0].clear(),
        |c| c.argv.push("a\0b".to_owned()),
        |c| c.env.push(("A=".to_owned(), String::new())),
        |c| c.cwd = Some(PathBuf::from("relative")),
    ] {
        let mut bad = command(&["true"]);
        change(&mut bad);
        assert!(matches!(exec(&mut *session, &bad), Err(SandboxError::Spec(_))), "{bad:?}");
    }
    assert_eq!(sh(&mut *session, "echo still here").1, "still here\n");
}

#[test]
fn keeps_streams_apart_or_merges_them_in_order() {
    needs_bubblewrap!();
    let dir = tempfile::tempdir().unwrap();
    let mut session = start(&spec());
    let script = "echo 1; echo 2 >&2; echo 3; echo 4 >&2";
    assert_eq!(sh(&mut *session, script).1, "1\n2\n3\n4\n");

    let mut apart = command(&["sh", "-c", script]);
    apart.stdout = Sink { file: Some(dir.path().join("out")), cap: 3, keep: 0 };
    apart.stderr = Some(Sink { file: Some(dir.path().join("err")), cap: 100, keep: 1 });
    let outcome = exec(&mut *session, &apart).unwrap();
    assert_eq!(fs::read(dir.path().join("out")).unwrap(), b"1\n3");
    assert_eq!(fs::read(dir.path().join("err")).unwrap(), b"2\n4\n");
    assert_eq!((outcome.stdout.total, outcome.stderr.total), (4, 4));
    assert_eq!((outcome.stderr.head, outcome.stderr.tail), (b"2".to_vec(), b"\n".to_vec()));
}

#[test]
fn gives_exactly_the_environment_and_folder() {
    needs_bubblewrap!();
    let mut spec = spec();
    spec.env.extend([("B".to_owned(), "from the session".to_owned()), ("A".to_owned(), "1".to_owned())]);
    let mut session = start(&spec);
    let mut env = command(&["env"]);
    env.env = vec![("B".to_owned(), "ü = \n".to_owned()), ("C".to_owned(), String::new())];
    let outcome = exec(&mut *session, &env).unwrap();
    assert_eq!(outcome.stdout.text(), "A=1\nB=ü = \n\nC=\nPATH=/usr/bin:/bin\n");
    // Not kept for the next command.
    assert_eq!(
        exec(&mut *session, &command(&["printenv", "B"])).unwrap().stdout.text(),
        "from the session\n"
    );
    let mut pwd = command(&["pwd", "-P"]);
    assert_eq!(exec(&mut *session, &pwd).unwrap().stdout.text(), "/tmp\n");
    pwd.cwd = Some(PathBuf::from("/usr/lib"));
    assert_eq!(exec(&mut *session, &pwd).unwrap().stdout.text(), "/usr/lib\n");
}

#[test]
fn inherits_nothing_but_its_streams() {
    needs_bubblewrap!();
    let (_, text) = crate::common::sh_in(
        &spec(),
        "ls -l /proc/self/fd | sed -n 's/.*[0-9] \\([0-9] -> .*\\)/\\1/p'; umask",
    );
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert_eq!(lines[0], "0 -> /dev/null");
    assert!(lines[1].starts_with("1 -> pipe:") && lines[2].starts_with("2 -> pipe:"), "{text}");
    assert!(lines[3].starts_with("3 -> /proc/"), "{text}");
    assert_eq!(lines[4], "0022");
}

#[test]
fn takes_a_megabyte_of_arguments_and_environment() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    let long = "x".repeat(50_000);
    let mut big = command(&["sh", "-c", "echo ${#A} $# ${#7}", "sh"]);
    big.argv.extend(std::iter::repeat_n(long.clone(), 20));
    big.env.push(("A".to_owned(), long.repeat(2)));
    assert_eq!(exec(&mut *session, &big).unwrap().stdout.text(), "100000 20 50000\n");
    // More than the kernel accepts: the command fails, and the sandbox does not.
    big.argv.extend(std::iter::repeat_n(long, 200));
    let outcome = exec(&mut *session, &big).unwrap();
    assert_eq!(outcome.exit, Exit::Code(126));
    assert!(outcome.stdout.text().contains("Argument list too long"), "{}", outcome.stdout.text());
    assert_eq!(sh(&mut *session, "echo ok").1, "ok\n");
}

#[test]
fn streams_much_output_through_little_memory() {
    needs_bubblewrap!();
    let dir = tempfile::tempdir().unwrap();
    let mut session = start(&spec());
    let mut much = command(&["sh", "-c", "echo begin; head -c 104857600 /dev/zero; echo end"]);
    much.stdout = Sink { file: Some(dir.path().join("out")), cap: 1000, keep: 6 };
    let outcome = exec(&mut *session, &much).unwrap();
    assert_eq!(outcome.exit, Exit::Code(0));
    assert_eq!(outcome.stdout.total, 104_857_600 + 10);
    assert_eq!(
        (outcome.stdout.head.as_slice(), outcome.stdout.tail.as_slice()),
        (&b"begin\n"[..], &b"\0\0end\n"[..])
    );
    assert_eq!(fs::metadata(dir.path().join("out")).unwrap().len(), 1000);
    let peak = fs::read_to_string("/proc/self/status").unwrap();
    let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    let peak: u64 = peak.trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 64 << 10, "{peak} kB");
}

#[test]
fn reports_that_its_own_file_failed() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    let mut full = command(&["sh", "-c", "yes; sleep 1000"]);
    full.stdout = Sink { file: Some(PathBuf::from("/dev/full")), cap: 1 << 20, keep: 0 };
    let begin = Instant::now();
    assert!(matches!(exec(&mut *session, &full), Err(SandboxError::Io { action: "write", .. })));
    assert!(begin.elapsed() < Duration::from_secs(5));
    full.stdout.file = Some(PathBuf::from("/no/such/folder/file"));
    assert!(matches!(exec(&mut *session, &full), Err(SandboxError::Io { action: "create", .. })));
    assert_eq!(sh(&mut *session, "echo ok").1, "ok\n");
}

#[test]
fn kills_at_the_deadline_whatever_the_command_does() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    let stubborn = "trap '' TERM INT HUP; (setsid sleep 1001 &) ; echo started; while :; do sleep 0.05; done";
    let mut late = command(&["sh", "-c", stubborn]);
    late.deadline = Some(Instant::now() + Duration::from_millis(300));
    let outcome = exec(&mut *session, &late).unwrap();
    assert_eq!((outcome.exit, outcome.stdout.text().as_str()), (Exit::Deadline, "started\n"));
    assert!(
        outcome.wall >= Duration::from_millis(250) && outcome.wall < Duration::from_secs(3),
        "{:?}",
        outcome.wall
    );
    // The process that left the group is in the background now, and the session continues.
    assert_eq!(sh(&mut *session, "pgrep -cf 'sleep 100[1]'").1.trim(), "1");
    session.stop().unwrap();
}

#[test]
fn kills_on_cancellation() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    let cancel = AtomicBool::new(false);
    let (exit, wall) = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(150));
            cancel.store(true, Ordering::Relaxed);
        });
        let outcome = session.exec(&command(&["sleep", "1000"]), &cancel).unwrap();
        (outcome.exit, outcome.wall)
    });
    assert_eq!(exit, Exit::Cancelled);
    assert!(wall < Duration::from_secs(2), "{wall:?}");
}
