//! What benchmarks measure of processes.

use std::fs;
use std::path::PathBuf;

use assay_cli::failure::Failure;
use assay_cli::machine;

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

/// The program that is measured.
pub(super) fn assay_program() -> Result<PathBuf, Failure> {
    machine::find_program("assay").ok_or_else(|| {
        Failure::bad_input("cannot find assay, which is measured, beside this program or on the PATH")
            .hint("build it in a checkout of assay with `cargo build --release`")
    })
}
