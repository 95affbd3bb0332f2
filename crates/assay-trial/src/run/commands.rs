//! Commands of assay's own in a sandbox: housekeeping, health checks, and the set-up of steps.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_diagnostic::{clean_start, escape};
use assay_sandbox::{Exec, Exit, Session, Sink};
use assay_store::Cause;
use assay_task::Healthcheck;

use super::broken::Broken;
use super::environment::phases::{SETUP, StepStart};

/// The upper limit of the start period of a healthcheck, whatever the task sets.
const HEALTH_PATIENCE: Duration = Duration::from_mins(10);

/// Most time of a step's `setup.sh`.
const SETUP_PATIENCE: Duration = Duration::from_mins(10);

/// A command whose output is only shown if it fails.
pub(crate) fn plain_command(words: &[&str], timeout: Duration) -> Exec {
    Exec {
        argv: words.iter().map(|word| (*word).to_owned()).collect(),
        env: Vec::new(),
        cwd: None,
        deadline: Some(Instant::now() + timeout),
        stdout: Sink { file: None, cap: 0, keep: 2_000 },
        stderr: None,
    }
}

/// Starts a forwarder, given its command line, and returns when its port is open. It runs until
/// the session ends.
pub(crate) fn start_forwarder(
    session: &mut dyn Session,
    line: &[String],
    what: &str,
    cancel: &AtomicBool,
) -> Result<(), Broken> {
    // It prints that it is ready, and closes its output.
    let script = r#"[ "$("$@" &)" = ready ]"#;
    let words: Vec<&str> =
        ["sh", "-c", script, "sh"].into_iter().chain(line.iter().map(String::as_str)).collect();
    let mut command = plain_command(&words, Duration::from_mins(1));
    command.cwd = Some(PathBuf::from("/"));
    let outcome = session.exec(&command, cancel)?;
    match outcome.exit {
        Exit::Code(0) | Exit::Cancelled => Ok(()),
        exit => {
            let output = outcome.stdout.text();
            Err(Broken::new(Cause::Sandbox, format!("{what} did not start ({exit:?}): {output}")))
        }
    }
}

/// The last line of a command's output, for a message.
fn last_line(output: &str) -> String {
    let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
    clean_start(last, 200)
}

/// Runs the script with which a step begins, which is in the work folder.
pub(crate) fn set_up(
    session: &mut dyn Session,
    workdir: &Path,
    start: &StepStart<'_>,
    cancel: &AtomicBool,
) -> Result<(), Broken> {
    let script = session.path(&workdir.join(start.script())).display().to_string();
    let mut command = plain_command(&["bash", &script], SETUP_PATIENCE);
    command.cwd = Some(session.path(workdir));
    let outcome = session.exec(&command, cancel)?;
    let how = match outcome.exit {
        Exit::Code(0) | Exit::Cancelled => return Ok(()),
        Exit::Code(code) => format!("exited with {code}"),
        Exit::Deadline => format!("did not finish within {} s", SETUP_PATIENCE.as_secs()),
        Exit::Signal(_) | Exit::Limit(_) => "was killed".to_owned(),
    };
    let last = last_line(&outcome.stdout.text());
    let what = if start.is_seed {
        "the script that makes the task's databases and repositories".to_owned()
    } else {
        format!("{SETUP} of the step `{}`", escape(start.name))
    };
    let message = format!("{what} {how} (its last line: {last})");
    Err(Broken::new(Cause::Image, message))
}

/// Waits until the task's environment reports that it is healthy.
pub(crate) fn wait_healthy(
    session: &mut dyn Session,
    check: &Healthcheck,
    cancel: &AtomicBool,
) -> Result<(), Broken> {
    let began = Instant::now();
    let mut failures = 0;
    loop {
        let timeout = assay_diagnostic::duration_of_seconds(check.timeout.min(600.0));
        let command = plain_command(&["/bin/sh", "-c", &check.command], timeout);
        let outcome = session.exec(&command, cancel)?;
        if outcome.exit == Exit::Code(0) || cancel.load(Ordering::Relaxed) {
            return Ok(());
        }
        let starting = began.elapsed().as_secs_f64() < check.start_period;
        failures += u64::from(!starting);
        if failures >= check.retries.max(1) || began.elapsed() > HEALTH_PATIENCE {
            let last = last_line(&outcome.stdout.text());
            return Err(Broken::new(Cause::Image, format!("its healthcheck fails (its last line: {last})")));
        }
        let pause = if starting { check.start_interval } else { check.interval };
        let end = Instant::now() + assay_diagnostic::duration_of_seconds(pause.min(60.0));
        while Instant::now() < end && !cancel.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50).min(end.saturating_duration_since(Instant::now())));
        }
    }
}
