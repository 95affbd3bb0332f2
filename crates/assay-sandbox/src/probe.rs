//! Checks whether bubblewrap works here, and if not, why and what to do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::bubblewrap::{find_program, not_found};
use crate::{
    Bubblewrap, Enforcement, Exec, Exit, Limits, Mechanism, Network, Root, Sandbox, SandboxError, Sink, Spec,
};

/// The oldest supported version, which introduced `--disable-userns`.
const OLDEST: (u32, u32, u32) = (0, 8, 0);
/// Timeout of `true` inside.
const PATIENCE: Duration = Duration::from_secs(20);

/// The result of the check.
#[derive(Debug, Clone)]
pub struct Probe {
    /// The program.
    pub program: PathBuf,
    /// Its version, such as `0.8.0`.
    pub version: String,
    /// What would enforce each limit.
    pub enforcement: Enforcement,
    /// What is weaker than possible, and what to do about it: whole sentences.
    pub warnings: Vec<String>,
}

/// Finds bubblewrap, starts a sandbox with it and runs `true` inside.
///
/// `init` and `init_args` are those of [`Bubblewrap::new`]. Any failure is
/// [`SandboxError::Unavailable`], with the reason and what to do.
pub fn probe_bubblewrap(init: &Path, init_args: &[String]) -> Result<Probe, SandboxError> {
    let program = find_program().ok_or_else(not_found)?;
    let output = Command::new(&program).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| unavailable(format!("{} --version: {error}", program.display())))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.trim().trim_start_matches("bubblewrap ").to_owned();
    if parse(&version).is_none_or(|version| version < OLDEST) {
        let reason = format!("{} has version {version:?}, but 0.8.0 or newer is required", program.display());
        return Err(unavailable(reason));
    }

    let limits = Limits {
        cpus: Some(1.0),
        memory_bytes: Some(256 << 20),
        pids: Some(64),
        storage_bytes: Some(1 << 30),
    };
    let spec = Spec {
        root: Root::Host,
        mounts: Vec::new(),
        tmpfs: Vec::new(),
        workdir: PathBuf::from("/tmp"),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        network: Network::None,
        limits,
        label: "probe".to_owned(),
    };
    let mut session = Bubblewrap::new(init.to_owned(), init_args.to_vec())
        .start(&spec)
        .map_err(|error| unavailable(explain(&with_cause(&error), &Sysctls::read())))?;
    let enforcement = *session.enforcement();
    let command = Exec {
        argv: vec!["true".to_owned()],
        env: Vec::new(),
        cwd: None,
        deadline: Some(Instant::now() + PATIENCE),
        stdout: Sink { keep: 400, ..Sink::default() },
        stderr: None,
    };
    let outcome = session.exec(&command, &AtomicBool::new(false))?;
    session.stop()?;
    if outcome.exit != Exit::Code(0) {
        let reason = format!("`true` did not run inside: {:?} {}", outcome.exit, outcome.stdout.text());
        return Err(unavailable(reason));
    }
    Ok(Probe { program, version, enforcement, warnings: warnings(enforcement) })
}

fn with_cause(error: &SandboxError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

fn unavailable(reason: String) -> SandboxError {
    SandboxError::Unavailable { what: "bubblewrap", reason }
}

fn parse(version: &str) -> Option<(u32, u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?))
}

/// The kernel's settings that prevent ordinary users from creating namespaces; `None` if a setting
/// does not exist.
#[derive(Debug, Default)]
struct Sysctls {
    /// Debian's.
    clone: Option<String>,
    /// The kernel's own.
    most: Option<String>,
    /// Ubuntu's.
    apparmor: Option<String>,
}

impl Sysctls {
    fn read() -> Self {
        let read = |name: &str| {
            fs::read_to_string(Path::new("/proc/sys").join(name)).ok().map(|text| text.trim().to_owned())
        };
        Self {
            clone: read("kernel/unprivileged_userns_clone"),
            most: read("user/max_user_namespaces"),
            apparmor: read("kernel/apparmor_restrict_unprivileged_userns"),
        }
    }
}

/// The error message of bubblewrap, with a likely fix.
fn explain(said: &str, sysctls: &Sysctls) -> String {
    let is = |setting: &Option<String>, value: &str| setting.as_deref() == Some(value);
    let denied = ["ermission", "not permitted", "No space left"].iter().any(|word| said.contains(word));
    let hint = if !denied {
        return said.to_owned();
    } else if is(&sysctls.clone, "0") {
        "allow user namespaces: `sysctl -w kernel.unprivileged_userns_clone=1`"
    } else if is(&sysctls.most, "0") {
        "allow user namespaces: `sysctl -w user.max_user_namespaces=15000`"
    } else if is(&sysctls.apparmor, "1") {
        "AppArmor prevents programs without a profile from creating user namespaces: give bubblewrap a profile that allows \
         `userns`, or `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
    } else if said.contains("proc") {
        "this container masks parts of /proc, so that it cannot be mounted again: start the container with \
         `--security-opt systempaths=unconfined`, or use its own isolation and sandbox kind `none`"
    } else {
        "this container's seccomp profile probably prevents creating namespaces: allow `clone`, `unshare` and `mount`, \
         or use its own isolation and sandbox kind `none`"
    };
    format!("{said}; {hint}")
}

fn warnings(enforcement: Enforcement) -> Vec<String> {
    let mut warnings = Vec::new();
    let polled = |m: Mechanism| matches!(m, Mechanism::Watchdog | Mechanism::Nothing);
    if polled(enforcement.memory) || polled(enforcement.pids) {
        warnings.push(
            "No writable control groups: memory and process limits are enforced by polling, which a fast \
             process can outrun. Run as a user with delegated control groups (`systemd-run --user --scope -p \
             Delegate=yes`)."
                .to_owned(),
        );
    }
    if enforcement.cpus == Mechanism::Nothing {
        warnings.push("CPU limits cannot be enforced on this machine.".to_owned());
    }
    if rustix::process::geteuid().is_root() {
        warnings.push(
            "Running as root: processes inside have no capabilities, but their files in writable mounts belong to \
             root. Run as an ordinary user where you can."
                .to_owned(),
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_versions_as_numbers() {
        for (version, new) in
            [("0.8.0", true), ("0.11.0", true), ("1.0", true), ("0.6.1", false), ("", false), ("0.x", false)]
        {
            assert_eq!(parse(version).is_some_and(|version| version >= OLDEST), new, "{version}");
        }
    }

    #[test]
    fn gives_the_hint_that_fits() {
        let on = |clone: &str, most: &str, apparmor: &str| {
            let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            Sysctls { clone: some(clone), most: some(most), apparmor: some(apparmor) }
        };
        let denied = "bwrap: setting up uid map: Permission denied";
        let proc = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted";
        for (said, sysctls, hint) in [
            (denied, on("0", "9", ""), "unprivileged_userns_clone=1"),
            (denied, on("1", "0", ""), "max_user_namespaces"),
            (denied, on("", "9", "1"), "AppArmor"),
            (proc, on("", "9", ""), "systempaths"),
            (denied, on("", "9", ""), "seccomp"),
            ("bwrap: Can't find source path /x", on("0", "0", "1"), "source path /x"),
        ] {
            let text = explain(said, &sysctls);
            assert!(text.starts_with(said) && text.contains(hint), "{text}");
        }
    }
}
