//! A session in whose commands the programs of doubles come first.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_sandbox::{Enforcement, Exec, ExecOutcome, FreezeSignal, SandboxError, Session, Usage};

use super::{DoublesHandle, INSIDE};
use crate::run::broken::Broken;
use crate::run::commands::plain_command;

/// The agent's session, with the doubles' programs before all others in `PATH`. An agent may set
/// `PATH` for its own command: they come first in that, too.
pub(crate) struct DoublesSession<'a> {
    session: &'a mut dyn Session,
    /// The search path of commands that set none; `None` without doubles.
    path: Option<String>,
}

impl<'a> DoublesSession<'a> {
    /// Starts the forwarders of doubles, if there are any.
    pub(crate) fn start(
        session: &'a mut dyn Session,
        doubles: Option<&DoublesHandle>,
        cancel: &AtomicBool,
    ) -> Result<Self, Broken> {
        let Some(doubles) = doubles else { return Ok(Self { session, path: None }) };
        doubles.start(session, cancel)?;
        // The image decides, and the sandbox's environment.
        let command = plain_command(&["sh", "-c", "printf %s \"$PATH\""], Duration::from_mins(1));
        let path = session.exec(&command, cancel)?.stdout.text();
        Ok(Self { session, path: Some(with_doubles(&path)) })
    }
}

fn with_doubles(path: &str) -> String {
    format!("{INSIDE}/bin:{path}")
}

impl Session for DoublesSession<'_> {
    fn exec(&mut self, command: &Exec, cancel: &AtomicBool) -> Result<ExecOutcome, SandboxError> {
        let Some(path) = &self.path else { return self.session.exec(command, cancel) };
        let mut command = command.clone();
        let given = command.env.iter().rfind(|(name, _)| name == "PATH");
        let path = given.map_or_else(|| path.clone(), |(_, given)| with_doubles(given));
        command.env.retain(|(name, _)| name != "PATH");
        command.env.push(("PATH".to_owned(), path));
        self.session.exec(&command, cancel)
    }

    fn path(&self, target: &Path) -> PathBuf {
        self.session.path(target)
    }

    fn enforcement(&self) -> &Enforcement {
        self.session.enforcement()
    }

    fn freeze_on(&mut self, signal: Arc<dyn FreezeSignal>) {
        self.session.freeze_on(signal);
    }

    /// Stops nothing: the owner of the session does.
    fn stop(self: Box<Self>) -> Result<Usage, SandboxError> {
        Ok(Usage::default())
    }
}
