//! Runs a command in a container, from its start to its end.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use bollard::models::ExecInspectResponse;
use bollard::query_parameters::KillContainerOptions;
use futures_util::StreamExt;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::container::{Container, user_name};
use super::counters::Counters;
use super::error::{failed, status, words};
use crate::freeze::{Clock, Turn};
use crate::spec::check_exec;
use crate::streams::Recorder;
use crate::{Captured, Exec, ExecOutcome, Exit, LimitKind, SandboxError};

/// How often cancellation, the deadline and the command's own process are checked.
const TICK: Duration = Duration::from_millis(50);
/// How long output is still read after the command ended, if something keeps it open.
const DRAIN: Duration = Duration::from_millis(50);
/// Time for a killed process group to end, before its whole container is killed.
const GRACE: Duration = Duration::from_secs(1);
/// Time for the daemon to notice that a command has ended.
const SETTLE: Duration = Duration::from_secs(10);
/// How often to check whether a container ended with its command, and the pause between checks.
const END_CHECKS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);
/// Maximum pause between checks.
const SLOWEST: Duration = Duration::from_millis(200);
/// The status that a shell, and the daemon, return for a command killed by SIGKILL.
const KILLED: i64 = 128 + 9;
/// The status that a shell returns for a missing program (POSIX, `sh`, 2.8.2).
const MISSING: i32 = 127;
/// The status that a shell returns for a program that cannot be started.
const CANNOT: i32 = 126;

/// The result of a command.
struct CommandResult {
    cause: Option<Exit>,
    code: Option<i64>,
    wall: Duration,
}

impl Container {
    /// [`Session::exec`](crate::Session::exec) as another user, `name`, `uid` or `uid:gid`.
    ///
    /// Without a `stderr` sink, the two streams are merged in the order in which the daemon sends
    /// them, which is nearly the order of writing. A command that was ended by a signal has the
    /// status 128 plus its number: the daemon does not distinguish the two. The status of a missing
    /// program is 127, that of one that cannot be started 126.
    pub fn exec_as(
        &mut self,
        command: &Exec,
        user: Option<&str>,
        cancel: &AtomicBool,
    ) -> Result<ExecOutcome, SandboxError> {
        check_exec(command)?;
        if let Some(user) = user {
            user_name(user)?;
        }
        let died = || SandboxError::Died { command: command.argv.first().cloned().unwrap_or_default() };
        if !self.alive {
            return Err(died());
        }
        let mut stdout = Recorder::open(&command.stdout)?;
        let mut stderr = command.stderr.as_ref().map(Recorder::open).transpose()?;
        let kills = self.counters.memory_kills();
        let clock = Clock::start(&self.freeze, command.deadline);
        let mut running = Running { container: self, id: String::new(), pid: None, begun: false, clock };
        let ran = running.container.inner.clone().block(running.run(
            command,
            user,
            cancel,
            &mut stdout,
            stderr.as_mut(),
        ));
        let frozen = running.clock.frozen();
        self.freeze.frozen += frozen;
        let ran = match ran {
            Ok(ran) => ran,
            Err(error) => return Err(self.explain_failure(&error, command)),
        };
        let out_of_memory = match (kills, self.counters.memory_kills()) {
            (Some(before), Some(after)) => after > before,
            _ => false,
        };
        if ran.code == Some(KILLED) && !(ran.cause.is_none() && out_of_memory) && self.has_died()? {
            self.alive = false;
            if ran.cause.is_none() {
                return Err(died());
            }
        }
        let exit = match (ran.cause, ran.code) {
            (Some(cause), _) => cause,
            (None, Some(KILLED)) if out_of_memory => Exit::Limit(LimitKind::Memory),
            (None, Some(code)) => Exit::Code(i32::try_from(code).unwrap_or(i32::MAX)),
            (None, None) => return Err(died()),
        };
        let stdout = stdout.close()?;
        let stderr = stderr.map_or(Ok(Captured::default()), Recorder::close)?;
        // Some daemons report in the command's own output what could not be started, with one
        // status for all causes.
        let exit = match exit {
            Exit::Code(CANNOT) => Exit::Code(not_started(&stdout.text()).unwrap_or(CANNOT)),
            exit => exit,
        };
        Ok(ExecOutcome { exit, stdout, stderr, wall: ran.wall })
    }

    /// Whether the container ended with its command. The daemon notices the command's end first.
    fn has_died(&self) -> Result<bool, SandboxError> {
        for _ in 0..END_CHECKS {
            if !self.is_running()? {
                return Ok(true);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(false)
    }

    /// The reason for an error: the daemon, or the container's own death.
    fn explain_failure(&mut self, error: &Error, command: &Exec) -> SandboxError {
        let gone =
            matches!(status(error), Some(404 | 409)) || self.is_running().is_ok_and(|running| !running);
        if gone {
            self.alive = false;
            return SandboxError::Died { command: command.argv.first().cloned().unwrap_or_default() };
        }
        failed("run a command", error)
    }
}

/// A running command.
struct Running<'a> {
    container: &'a mut Container,
    id: String,
    /// Its process on this machine, if the daemon is local.
    pid: Option<Pid>,
    /// Whether its process is known to have started; checked only when a freeze is requested.
    begun: bool,
    clock: Clock,
}

impl Running<'_> {
    async fn run(
        &mut self,
        command: &Exec,
        user: Option<&str>,
        cancel: &AtomicBool,
        stdout: &mut Recorder,
        mut stderr: Option<&mut Recorder>,
    ) -> Result<CommandResult, Error> {
        let api = self.container.inner.api.clone();
        let start = Instant::now();
        let options = CreateExecOptions {
            attach_stdin: Some(false),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(false),
            env: Some(command.env.iter().map(|(name, value)| format!("{name}={value}")).collect()),
            cmd: Some(command.argv.clone()),
            user: Some(user.unwrap_or(&self.container.user).to_owned()),
            working_dir: command
                .cwd
                .as_ref()
                .map(|path| path.to_string_lossy().into_owned())
                .or_else(|| self.container.workdir.clone()),
            ..Default::default()
        };
        self.id = api.create_exec(&self.container.id, options).await?.id;
        let began = Some(StartExecOptions { output_capacity: Some(64 << 10), ..Default::default() });
        let mut output = match api.start_exec(&self.id, began).await {
            Ok(StartExecResults::Attached { output, input }) => {
                drop(input);
                output
            }
            Ok(StartExecResults::Detached) => {
                return Ok(CommandResult { cause: None, code: None, wall: start.elapsed() });
            }
            Err(error) => {
                let code = not_started(&words(&error)).ok_or(error)?;
                return Ok(CommandResult { cause: None, code: Some(code.into()), wall: start.elapsed() });
            }
        };

        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + TICK, TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut watch = Watch::default();
        loop {
            let wake =
                self.clock.deadline().filter(|_| watch.killed.is_none()).map(tokio::time::Instant::from_std);
            tokio::select! {
                frame = output.next(), if !watch.closed => match frame {
                    Some(Ok(LogOutput::StdErr { message })) => match &mut stderr {
                        Some(stderr) => stderr.append(&message),
                        None => stdout.append(&message),
                    },
                    Some(Ok(frame)) => stdout.append(&frame.into_bytes()),
                    // Whether it has ended is checked below; a daemon that is gone does not answer
                    // there.
                    Some(Err(_)) | None => watch.closed = true,
                },
                _ = ticks.tick() => {}
                () = until(wake) => {}
                () = tokio::time::sleep(watch.pause), if watch.closed => {
                    watch.pause = (watch.pause * 2).min(SLOWEST);
                }
            }
            if watch.killed.is_none() {
                if self.has_begun().await?
                    && let Some(turn) = self.clock.turn()
                {
                    self.freeze(turn).await?;
                }
                let full = stdout.has_failed() || stderr.as_ref().is_some_and(|stderr| stderr.has_failed());
                if cancel.load(Ordering::Relaxed) || self.clock.is_over() {
                    watch.kill(Some(Exit::Cancelled));
                } else if self.clock.deadline().is_some_and(|deadline| deadline <= Instant::now()) {
                    watch.kill(Some(Exit::Deadline));
                } else if full {
                    watch.kill(None);
                }
                // A frozen process cannot be killed: the freezer of version 1 blocks signals.
                if watch.killed.is_some()
                    && let Some(turn) = self.clock.thaw()
                {
                    self.freeze(turn).await?;
                }
            }
            if let Some(code) = self.check_progress(&mut watch, start).await? {
                if let Some(turn) = self.clock.thaw() {
                    self.freeze(turn).await?;
                }
                return Ok(CommandResult { cause: watch.cause, code, wall: start.elapsed() });
            }
        }
    }

    /// Performs the next check. Returns the command's status, possibly `None`, once it is over.
    async fn check_progress(
        &mut self,
        watch: &mut Watch,
        start: Instant,
    ) -> Result<Option<Option<i64>>, Error> {
        let now = Instant::now();
        if let Some(at) = watch.killed
            && watch.ended.is_none()
        {
            if now <= at + GRACE {
                // At every tick: the command may not have started at the first try.
                self.kill().await?;
            } else if !watch.container_killed {
                watch.container_killed = true;
                self.kill_container().await?;
            }
        }
        // Only for commands that run for a while: most end before, and their output with them.
        if self.pid.is_none() && !watch.searched && now > start + TICK {
            watch.searched = true;
            self.find().await?;
        }
        if watch.ended.is_none() && self.has_ended() {
            watch.ended = Some(now);
        }
        if watch.ended.is_some_and(|at| now > at + DRAIN) {
            // A background process keeps the output open.
            watch.closed = true;
        }
        if watch.closed {
            let found = self.inspect().await?;
            if found.running != Some(true) {
                return Ok(Some(found.exit_code));
            }
            if watch.ended.is_some_and(|at| now > at + SETTLE) {
                return Ok(Some(None));
            }
        }
        Ok(None)
    }

    async fn inspect(&self) -> Result<ExecInspectResponse, Error> {
        self.container.inner.api.inspect_exec(&self.id).await
    }

    /// Whether the command's process runs. The daemon answers before the runtime has started it,
    /// and pausing the container in between also stops the runtime, which holds the lock that
    /// unpausing needs: a deadlock.
    async fn has_begun(&mut self) -> Result<bool, Error> {
        if !self.begun && self.clock.is_set() {
            // The daemon knows the process once the runtime has returned.
            self.begun = self.pid.is_some() || self.inspect().await?.pid.is_some_and(|pid| pid > 0);
        }
        Ok(self.begun)
    }

    /// Freezes or thaws the container. A container that the daemon cannot freeze keeps running.
    async fn freeze(&self, turn: Turn) -> Result<(), Error> {
        let (api, id) = (&self.container.inner.api, &self.container.id);
        let done = match turn {
            Turn::Freeze => api.pause_container(id).await,
            Turn::Thaw => api.unpause_container(id).await,
        };
        match done {
            Err(error) if status(&error).is_none() => Err(error),
            _ => Ok(()),
        }
    }

    /// Finds the command's process, if it is on this machine.
    async fn find(&mut self) -> Result<(), Error> {
        let pid = self.inspect().await?.pid.and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 0);
        self.pid = pid.filter(|pid| Counters::contains(&self.container.id, *pid)).and_then(Pid::from_raw);
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.pid.is_some_and(|pid| stat(pid).is_none_or(|(state, _)| state == "Z" || state == "X"))
    }

    /// Kills the command's process group: directly if its process is on this machine and may be
    /// killed, else with a command inside, and if the process is not visible at all, by killing the
    /// container.
    async fn kill(&mut self) -> Result<(), Error> {
        if self.pid.is_none() {
            self.find().await?;
        }
        let Some(pid) = self.pid else {
            let found = self.inspect().await?;
            if found.running == Some(true) && found.pid.is_some_and(|pid| pid > 0) {
                self.kill_container().await?;
            }
            return Ok(());
        };
        let Some((_, group)) = stat(pid) else { return Ok(()) };
        // The runtime makes each command a session leader.
        let leads = group == pid.as_raw_nonzero().get();
        let done =
            if leads { kill_process_group(pid, Signal::KILL) } else { kill_process(pid, Signal::KILL) };
        match (done, inside(pid)) {
            (Err(rustix::io::Errno::PERM), Some(number)) => self.kill_inside(number).await,
            _ => Ok(()),
        }
    }

    async fn kill_inside(&self, number: i32) -> Result<(), Error> {
        let api = &self.container.inner.api;
        let script = format!("kill -9 -{number} || kill -9 {number}");
        let options = CreateExecOptions {
            cmd: Some(vec!["/bin/sh".to_owned(), "-c".to_owned(), script]),
            user: Some("0".to_owned()),
            ..Default::default()
        };
        let id = api.create_exec(&self.container.id, options).await?.id;
        let detached = StartExecOptions { detach: true, ..Default::default() };
        // If no process can be started, the container is killed one second later.
        let _ = api.start_exec(&id, Some(detached)).await;
        Ok(())
    }

    async fn kill_container(&mut self) -> Result<(), Error> {
        let options = KillContainerOptions { signal: "KILL".to_owned() };
        match self.container.inner.api.kill_container(&self.container.id, Some(options)).await {
            Err(error) if !matches!(status(&error), Some(404 | 409)) => Err(error),
            _ => Ok(()),
        }
    }
}

/// The state of a running command.
struct Watch {
    /// Why it was killed, if we killed it and there is a reason to report.
    cause: Option<Exit>,
    killed: Option<Instant>,
    container_killed: bool,
    searched: bool,
    /// When its process was seen to have ended.
    ended: Option<Instant>,
    /// Whether its output has ended, or is no longer read.
    closed: bool,
    /// Time until the daemon is asked again whether it has ended.
    pause: Duration,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            cause: None,
            killed: None,
            container_killed: false,
            searched: false,
            ended: None,
            closed: false,
            pause: Duration::from_millis(2),
        }
    }
}

impl Watch {
    fn kill(&mut self, cause: Option<Exit>) {
        self.cause = cause;
        self.killed = Some(Instant::now());
    }
}

async fn until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// The status of a command that could not be started, if the daemon's text means that.
fn not_started(text: &str) -> Option<i32> {
    if !text.contains("OCI runtime exec failed") {
        return None;
    }
    let missing = ["executable file not found", "no such file or directory", "not a directory"];
    Some(if missing.iter().any(|words| text.contains(words)) { MISSING } else { CANNOT })
}

/// State and process group of a process on this machine; the second field of the line may contain
/// spaces and parentheses.
fn stat(pid: Pid) -> Option<(String, i32)> {
    let line = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let mut fields = line.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.to_owned();
    Some((state, fields.nth(1)?.parse().ok()?))
}

/// The id of a process in its innermost namespace.
fn inside(pid: Pid) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace().last()?.parse().ok()
}
