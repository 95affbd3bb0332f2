//! Kind `none`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use assay_sandbox::{Exit, Mechanism, NoSandbox, Sandbox, Sink};

use crate::common::{command, exec, mount, processes_with, sh, spec};

#[test]
fn runs_commands_in_the_mounts_sources() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = spec();
    spec.mounts = vec![mount(dir.path(), "/desk", true)];
    spec.tmpfs = vec![PathBuf::from("/logs"), PathBuf::from("/tmp")];
    spec.workdir = PathBuf::from("/desk");
    let mut session = NoSandbox.start(&spec).unwrap();
    assert_eq!(session.enforcement().memory, Mechanism::Nothing);
    assert_eq!(session.path(Path::new("/desk/a")), dir.path().join("a"));
    assert_eq!(session.path(Path::new("/tmp/a")), PathBuf::from("/tmp/a"));
    let logs = session.path(Path::new("/logs"));
    assert!(logs.is_dir());

    let mut pwd = command(&["sh", "-c", "pwd -P; echo err >&2; echo x > made; env; exit 3"]);
    pwd.env = vec![("A".to_owned(), "1".to_owned())];
    pwd.stderr = Some(Sink { keep: 100, ..Sink::default() });
    let outcome = exec(&mut *session, &pwd).unwrap();
    let work = fs::canonicalize(dir.path()).unwrap();
    let text = outcome.stdout.text();
    assert_eq!(outcome.exit, Exit::Code(3));
    assert!(text.starts_with(&format!("{}\n", work.display())), "{text}");
    let mut env: Vec<&str> = text.lines().skip(1).filter(|line| !line.starts_with("_=")).collect();
    env.sort_unstable();
    assert_eq!(env, ["A=1", "PATH=/usr/bin:/bin", &format!("PWD={}", work.display())]);
    assert_eq!(outcome.stderr.text(), "err\n");
    assert_eq!(fs::read_to_string(dir.path().join("made")).unwrap(), "x\n");
    assert_eq!(exec(&mut *session, &command(&["nowhere"])).unwrap().exit, Exit::Code(127));
    session.stop().unwrap();
    assert!(!logs.exists());
}

#[test]
fn kills_the_group_at_the_deadline_and_at_the_end() {
    let mut spec = spec();
    spec.workdir = PathBuf::from("/");
    let mut session = NoSandbox.start(&spec).unwrap();
    let mut late = command(&["sh", "-c", "trap '' TERM; sleep 77711 & sleep 77711; :"]);
    late.deadline = Some(Instant::now() + Duration::from_millis(200));
    assert_eq!(exec(&mut *session, &late).unwrap().exit, Exit::Deadline);
    assert!(crate::common::within(Duration::from_secs(1), || processes_with("sleep\x0077711").is_empty()));
    let begin = Instant::now();
    assert_eq!(sh(&mut *session, "sleep 77712 & echo up").1, "up\n");
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert!(crate::common::within(Duration::from_secs(10), || processes_with("sleep\x0077712").len() == 1));
    session.stop().unwrap();
    assert!(crate::common::within(Duration::from_secs(1), || processes_with("sleep\x0077712").is_empty()));
}

/// In a PID namespace whose first process inherited its session from outside, that session has the
/// id 0 (`setsid(2)` was called outside). A service manager or a container may start us like this.
#[test]
fn session_from_outside_the_namespace_is_supported() {
    let inside = |program: &Path, args: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]);
        command.arg(program).args(args).output()
    };
    if !inside(Path::new("true"), &[]).is_ok_and(|output| output.status.success()) {
        assay_test::report_skip("unshare(1) cannot create a PID namespace on this machine");
        return;
    }
    let name = "none::kills_the_group_at_the_deadline_and_at_the_end";
    let output = inside(&std::env::current_exe().unwrap(), &["--exact", name]).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
}
