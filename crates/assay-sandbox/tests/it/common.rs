//! Helpers shared by the tests.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_sandbox::{
    Bubblewrap, Exec, ExecOutcome, Limits, Mount, Network, Root, Sandbox, SandboxError, Session, Sink, Spec,
};

pub(crate) const INIT: &str = env!("CARGO_BIN_EXE_assay-sandbox-init");

pub(crate) use assay_test::needs_bubblewrap;

pub(crate) fn bubblewrap() -> Bubblewrap {
    Bubblewrap::new(PathBuf::from(INIT), vec!["sandbox-init".to_owned()])
}

pub(crate) fn spec() -> Spec {
    Spec {
        root: Root::Host,
        mounts: vec![],
        tmpfs: vec![],
        workdir: PathBuf::from("/tmp"),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        network: Network::None,
        limits: Limits::default(),
        label: "test".to_owned(),
    }
}

pub(crate) fn mount(source: &Path, target: &str, writable: bool) -> Mount {
    Mount { source: source.to_owned(), target: PathBuf::from(target), writable }
}

/// A command with a deadline of 20 seconds, its output merged and kept.
pub(crate) fn command(argv: &[&str]) -> Exec {
    Exec {
        argv: argv.iter().map(ToString::to_string).collect(),
        env: vec![],
        cwd: None,
        deadline: Some(Instant::now() + Duration::from_secs(20)),
        stdout: Sink { file: None, cap: 0, keep: 1 << 20 },
        stderr: None,
    }
}

pub(crate) fn start(spec: &Spec) -> Box<dyn Session> {
    bubblewrap().start(spec).unwrap()
}

pub(crate) fn exec(session: &mut dyn Session, command: &Exec) -> Result<ExecOutcome, SandboxError> {
    session.exec(command, &AtomicBool::new(false))
}

/// Runs a shell script; returns how it ended, and its merged output.
pub(crate) fn sh(session: &mut dyn Session, script: &str) -> (assay_sandbox::Exit, String) {
    let outcome = exec(session, &command(&["sh", "-c", script])).unwrap();
    (outcome.exit, outcome.stdout.text())
}

/// Runs a shell script in its own sandbox.
pub(crate) fn sh_in(spec: &Spec, script: &str) -> (assay_sandbox::Exit, String) {
    let mut session = start(spec);
    let result = sh(&mut *session, script);
    session.stop().unwrap();
    result
}

/// The processes of the host whose command line contains `mark`.
pub(crate) fn processes_with(mark: &str) -> Vec<i32> {
    let pids =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.windows(mark.len()).any(|part| part == mark.as_bytes())
    })
    .collect()
}

/// Waits until `done`; false after `wait`.
pub(crate) fn within(wait: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + wait;
    while !done() {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}
