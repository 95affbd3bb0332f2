//! What the library may know of this machine: its environment, its sandboxes, its signals.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_sandbox::{Bubblewrap, Probe, SandboxError, probe_bubblewrap};
use assay_trial::Sandboxes;

use crate::failure::Failure;

/// The first argument under which this program is the first process of a sandbox.
pub(crate) const INIT: &str = "sandbox-init";

/// An environment variable, where it is set and is text.
pub(crate) fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Values of variables that are named like secrets, longest first.
pub(crate) fn secrets() -> Vec<String> {
    let is_secret =
        |name: &str| ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.ends_with(word));
    let mut values: Vec<String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_secret(name))
        .map(|(_, value)| value)
        .collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values
}

fn init() -> (PathBuf, Vec<String>) {
    (std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe")), vec![INIT.to_owned()])
}

/// Whether bubblewrap works here.
pub(crate) fn probe() -> Result<Probe, SandboxError> {
    let (program, args) = init();
    probe_bubblewrap(&program, &args)
}

/// The sandboxes of this machine.
pub(crate) fn sandboxes() -> Sandboxes {
    let (program, args) = init();
    let bubblewrap = match probe() {
        Ok(_) => Ok(Arc::new(Bubblewrap::new(program, args))),
        Err(error) => Err(error.to_string()),
    };
    Sandboxes { bubblewrap }
}

/// A flag that SIGINT and SIGTERM set; the second of them ends the process at once.
pub(crate) fn interrupted() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone())
            .and_then(|_| signal_hook::flag::register(signal, flag.clone()))
            .map_err(|error| Failure::infrastructure(format!("cannot listen for signals: {error}")))?;
    }
    Ok(flag)
}
