//! Commands in a container, and its lifecycle.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_fs::ChangeKind;
use assay_sandbox::docker::ContainerSpec;
use assay_sandbox::{Exit, SandboxError, Session, Sink};

use super::{base, container, docker, needs_docker_beside, ok, sh};
use crate::common::{command, exec, processes_with};

#[test]
#[ignore = "needs Docker"]
fn runs_commands_and_reports_how_they_ended() {
    needs_docker_beside!();
    let mut container = container("exec");
    for (script, expected) in [
        ("echo hello", ok("hello\n")),
        ("echo to stderr >&2; exit 3", (Exit::Code(3), "to stderr\n".to_owned())),
        ("kill -9 $$", (Exit::Code(137), String::new())),
        ("cat; echo ended", ok("ended\n")),
        ("pwd; id -u; echo $HOME", ok("/\n0\n/root\n")),
        // Left in the background with the output open: it keeps running.
        ("sleep 300.125 & echo left", ok("left\n")),
        // Orphans are reaped.
        (
            "sh -c 'sh -c \"sleep 0.2\" & sh -c \"exit 0\" &'; sleep 0.6; cat /proc/[0-9]*/stat | grep -c ') Z '",
            (Exit::Code(1), "0\n".to_owned()),
        ),
    ] {
        assert_eq!(sh(&mut container, script), expected, "{script}");
    }
    assert_eq!(processes_with("300.125").len(), 1);
    for (argv, expected) in [
        (vec!["no-such-program"], Exit::Code(127)),
        (vec!["/etc/passwd"], Exit::Code(126)),
        (vec!["/"], Exit::Code(126)),
    ] {
        assert_eq!(exec(&mut container, &command(&argv)).unwrap().exit, expected, "{argv:?}");
    }
}

#[test]
#[ignore = "needs Docker"]
fn uses_environment_folder_and_user() {
    let docker = docker("env");
    let mut spec = ContainerSpec::new(base(&docker), "test");
    spec.env = vec![("A".to_owned(), "from the container".to_owned()), ("B".to_owned(), "x=y z".to_owned())];
    spec.workdir = Some("/new/folder".into());
    spec.user = Some("nobody".to_owned());
    let mut container = docker.create(&spec).unwrap();
    assert_eq!(
        sh(&mut container, "echo $A $B; pwd; id -un"),
        ok("from the container x=y z\n/new/folder\nnobody\n")
    );
    let mut other = command(&["sh", "-c", "echo $A; pwd; id -u"]);
    other.env = vec![("A".to_owned(), "from the command".to_owned())];
    other.cwd = Some("/etc".into());
    let outcome = container.exec_as(&other, Some("0"), &AtomicBool::new(false)).unwrap();
    assert_eq!(outcome.stdout.text(), "from the command\n/etc\n0\n");
    let refused = container.exec_as(&other, Some("a b"), &AtomicBool::new(false));
    assert!(matches!(refused, Err(SandboxError::Spec(_))), "{refused:?}");
}

#[test]
#[ignore = "needs Docker"]
fn streams_output_with_caps() {
    let dir = tempfile::tempdir().unwrap();
    let mut container = container("caps");
    let mut both = command(&["sh", "-c", "head -c 3000000 /dev/zero; echo err >&2"]);
    both.stdout = Sink { file: Some(dir.path().join("out")), cap: 1_000_000, keep: 1000 };
    both.stderr = Some(Sink { file: None, cap: 0, keep: 100 });
    let outcome = exec(&mut container, &both).unwrap();
    assert_eq!(outcome.exit, Exit::Code(0));
    assert_eq!(outcome.stdout.total, 3_000_000);
    assert_eq!((outcome.stdout.head.len(), outcome.stdout.tail.len()), (1000, 1000));
    assert_eq!(outcome.stderr.text(), "err\n");
    assert_eq!(std::fs::metadata(dir.path().join("out")).unwrap().len(), 1_000_000);
}

#[test]
#[ignore = "needs Docker"]
fn kills_at_the_deadline_and_on_cancel() {
    needs_docker_beside!();
    let mut container = container("deadline");
    let mut late = command(&["sh", "-c", "echo begun; sleep 300.25 & sleep 300.25"]);
    late.deadline = Some(Instant::now() + Duration::from_millis(700));
    let outcome = exec(&mut container, &late).unwrap();
    assert_eq!((outcome.exit, outcome.stdout.text()), (Exit::Deadline, "begun\n".to_owned()));
    assert!(outcome.wall < Duration::from_secs(10), "{:?}", outcome.wall);
    assert_eq!(processes_with("300.25"), Vec::<i32>::new());

    let cancel = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&cancel);
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(400));
        set.store(true, Ordering::Relaxed);
    });
    let mut long = command(&["sleep", "300.5"]);
    long.deadline = None;
    assert_eq!(container.exec(&long, &cancel).unwrap().exit, Exit::Cancelled);
    thread.join().unwrap();
    assert_eq!(sh(&mut container, "echo the container lives"), ok("the container lives\n"));

    // A process that leaves its group belongs to the container, not to the command.
    let mut daemon = command(&["sh", "-c", "setsid sleep 300.75 & sleep 300.75"]);
    daemon.deadline = Some(Instant::now() + Duration::from_millis(500));
    assert_eq!(exec(&mut container, &daemon).unwrap().exit, Exit::Deadline);
    assert_eq!(processes_with("300.75").len(), 1);
    container.halt().unwrap();
    assert_eq!(processes_with("300.75").len(), 0);
}

#[test]
#[ignore = "needs Docker"]
fn waits_for_a_command_that_closes_its_output() {
    let mut container = container("closed");
    let begin = Instant::now();
    let closed = "exec >&- 2>&-; sleep 1.5; exit 4";
    assert_eq!(sh(&mut container, closed), (Exit::Code(4), String::new()));
    assert!(begin.elapsed() > Duration::from_millis(1400));
    let mut late = command(&["sh", "-c", "exec >&- 2>&-; sleep 300.875"]);
    late.deadline = Some(Instant::now() + Duration::from_millis(600));
    assert_eq!(exec(&mut container, &late).unwrap().exit, Exit::Deadline);
}

#[test]
#[ignore = "needs Docker"]
fn restarts_with_its_files_and_without_its_processes() {
    needs_docker_beside!();
    let mut container = container("restart");
    sh(&mut container, "echo kept > /root/file; setsid sleep 301.5 & sleep 0.1");
    assert_eq!(processes_with("301.5").len(), 1);
    container.restart().unwrap();
    assert_eq!(processes_with("301.5").len(), 0);
    // Counted by the shell itself: the parts of a pipe may or may not exist yet.
    assert_eq!(sh(&mut container, "cat /root/file; set -- /proc/[0-9]*; echo $#"), ok("kept\n3\n"));
    container.halt().unwrap();
    container.halt().unwrap();
    assert!(!container.is_running().unwrap());
    let dead = exec(&mut container, &command(&["true"]));
    assert!(matches!(dead, Err(SandboxError::Died { .. })), "{dead:?}");
    container.restart().unwrap();
    assert_eq!(sh(&mut container, "cat /root/file"), ok("kept\n"));
    let changes = container.changes().unwrap();
    let found = changes.iter().find(|change| change.path == Path::new("/root/file")).unwrap();
    assert_eq!(found.kind, ChangeKind::Added);
    let usage = container.remove().unwrap();
    assert!(usage.cpu_seconds.is_none_or(|seconds| seconds > 0.0), "{usage:?}");
}

#[test]
#[ignore = "needs Docker"]
fn lists_changes() {
    let mut container = container("changes");
    sh(&mut container, "rm /etc/issue; echo x >> /etc/passwd; mkdir /new; touch /new/a");
    let changes = container.changes().unwrap();
    let kinds: Vec<_> = changes.iter().map(|change| (change.path.to_str().unwrap(), change.kind)).collect();
    for expected in [
        ("/etc/issue", ChangeKind::Removed),
        ("/etc/passwd", ChangeKind::Modified),
        ("/new", ChangeKind::Added),
        ("/new/a", ChangeKind::Added),
    ] {
        assert!(kinds.contains(&expected), "{expected:?} in {kinds:?}");
    }
}

#[test]
#[ignore = "needs Docker"]
fn cannot_be_ended_from_inside() {
    let mut container = container("inside");
    // The first process and the waiting one in it, repeatedly.
    assert_eq!(
        sh(
            &mut container,
            "for i in 1 2 3; do kill -9 1; kill -9 $(cat /proc/1/task/1/children); sleep 0.1; done; echo on"
        )
        .1,
        "on\n"
    );
    assert_eq!(sh(&mut container, "echo on"), ok("on\n"));
}
