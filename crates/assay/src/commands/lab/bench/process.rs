//! What benchmarks measure of processes.

use std::fs;

use crate::failure::Failure;

/// Peak memory of this process, in MB.
pub(super) fn peak_memory() -> f64 {
    peak_memory_of("self").unwrap_or_default()
}

/// Peak memory so far of a process, by its number in `/proc`, in MB; `None` after its end.
pub(super) fn peak_memory_of(process: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}

/// A failure of the machine.
pub(super) fn io(action: &str, error: &std::io::Error) -> Failure {
    Failure::infrastructure(format!("cannot {action}: {error}"))
}
