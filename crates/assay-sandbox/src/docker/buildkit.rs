//! Builds that need BuildKit, with the `docker` program: the daemon's API for them is a separate
//! protocol.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::mpsc::Receiver;

use crate::SandboxError;
use crate::streams::Recorder;

/// How often the program is checked.
const TICK: Duration = Duration::from_millis(50);
/// Maximum bytes at the end of its output that are searched for an error message.
const REASON: usize = 4 << 10;

/// The parameters of a build.
pub(super) struct Order<'a> {
    pub(super) program: &'a Path,
    pub(super) socket: &'a Path,
    pub(super) name: &'a str,
    pub(super) dockerfile: &'a Path,
    pub(super) label: String,
    pub(super) args: &'a BTreeMap<String, String>,
    pub(super) network: bool,
}

/// How a build ended.
pub(super) enum BuildResult {
    Done,
    Failed(String),
    TimedOut,
    Cancelled,
}

/// Whether the program reports that it does not support such builds at all.
pub(super) fn is_missing(reason: &str) -> bool {
    reason.contains("buildx component is missing") || reason.contains("was not found")
}

impl Order<'_> {
    pub(super) fn run(
        &self,
        mut context: Receiver<Bytes>,
        deadline: Instant,
        cancel: &AtomicBool,
        log: &mut Recorder,
    ) -> Result<BuildResult, SandboxError> {
        let mut command = Command::new(self.program);
        command
            .env("DOCKER_BUILDKIT", "1")
            .env("BUILDKIT_PROGRESS", "plain")
            .env("DOCKER_HOST", format!("unix://{}", self.socket.display()))
            .env_remove("DOCKER_CONTEXT")
            .args(["build", "--tag", self.name, "--label", &self.label, "--file"])
            .arg(self.dockerfile)
            .args(["--network", if self.network { "default" } else { "none" }]);
        for (name, value) in self.args {
            command.arg("--build-arg").arg(format!("{name}={value}"));
        }
        command.arg("-").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(BuildResult::Failed(format!(
                    "the program {} was not found",
                    self.program.display()
                )));
            }
            Err(source) => {
                return Err(SandboxError::Io { action: "start", path: self.program.to_owned(), source });
            }
        };
        let input = child.stdin.take();
        let feeder = std::thread::spawn(move || {
            let Some(mut input) = input else { return };
            while let Some(piece) = context.blocking_recv() {
                // A program that failed stops reading.
                if input.write_all(&piece).is_err() {
                    return;
                }
            }
        });
        let output = child.stderr.take();
        let (said, words) = std::sync::mpsc::channel::<Vec<u8>>();
        let listener = std::thread::spawn(move || {
            let Some(mut output) = output else { return };
            let mut buffer = vec![0; 16 << 10];
            while let Ok(n @ 1..) = output.read(&mut buffer) {
                if said.send(buffer[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut last = Vec::new();
        let mut hear = |piece: &[u8]| {
            log.append(piece);
            last.extend_from_slice(piece);
            let over = last.len().saturating_sub(REASON);
            last.drain(..over);
        };
        let built = loop {
            if let Ok(piece) = words.recv_timeout(TICK) {
                hear(&piece);
            }
            match child.try_wait() {
                Ok(Some(status)) => {
                    for piece in &words {
                        hear(&piece);
                    }
                    break if status.success() {
                        BuildResult::Done
                    } else {
                        BuildResult::Failed(String::new())
                    };
                }
                Ok(None) => {}
                Err(source) => {
                    end(&mut child);
                    return Err(SandboxError::Io {
                        action: "wait for",
                        path: PathBuf::from("docker"),
                        source,
                    });
                }
            }
            if cancel.load(Ordering::Relaxed) || deadline <= Instant::now() {
                end(&mut child);
                let cancelled = cancel.load(Ordering::Relaxed);
                break if cancelled { BuildResult::Cancelled } else { BuildResult::TimedOut };
            }
        };
        let _ = feeder.join();
        let _ = listener.join();
        Ok(match built {
            BuildResult::Failed(_) => {
                let text = String::from_utf8_lossy(&last);
                let reason =
                    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no error message");
                BuildResult::Failed(reason.trim().to_owned())
            }
            built => built,
        })
    }
}

/// Ends the program; the daemon then cancels the build of the disconnected client.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
