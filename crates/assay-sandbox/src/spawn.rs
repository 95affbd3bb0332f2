//! Starts a command, in the same way for every kind of sandbox.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The parameters of a command.
pub(crate) struct Start<'a> {
    /// Program and arguments.
    pub(crate) argv: &'a [String],
    /// The whole environment; the program is looked up in its `PATH`.
    pub(crate) env: Vec<(String, String)>,
    /// The working directory.
    pub(crate) cwd: &'a Path,
    /// Its standard output.
    pub(crate) stdout: OwnedFd,
    /// Its standard error; `None`: the same as the standard output.
    pub(crate) stderr: Option<OwnedFd>,
}

/// Starts a command in its own process group. On failure, writes the reason to its standard error,
/// and returns a shell's status: 127 for a missing program, else 126.
pub(crate) fn spawn(start: Start<'_>) -> Result<Child, i32> {
    let Some((program, arguments)) = start.argv.split_first() else { return Err(126) };
    let stderr = start.stderr.map_or_else(|| start.stdout.try_clone(), Ok);
    let complaint = stderr.as_ref().ok().and_then(|fd| fd.try_clone().ok()).map(File::from);
    let spawned = stderr.and_then(|stderr| {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(start.env).current_dir(start.cwd).process_group(0);
        command.stdin(Stdio::null()).stdout(start.stdout).stderr(stderr).spawn()
    });
    spawned.map_err(|error| {
        let (code, what) = match std::fs::metadata(start.cwd) {
            Ok(folder) if folder.is_dir() => {
                let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
                (code, format!("cannot run {program}"))
            }
            _ => (126, format!("cannot enter {} to run {program}", start.cwd.display())),
        };
        if let Some(mut complaint) = complaint {
            // The reader may be gone; the status is sufficient.
            let _ = writeln!(complaint, "assay: {what}: {error}");
        }
        code
    })
}
