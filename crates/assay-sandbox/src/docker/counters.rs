//! The counters of a container's control groups, read from the kernel's files.
//!
//! Asking the daemon costs a request, and CPU time then needs two samples one second apart. The
//! files exist if the daemon runs on this machine; otherwise nothing is counted.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Usage;

/// Where control groups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// The control groups of one container.
#[derive(Debug, Clone)]
pub(crate) struct Counters {
    /// Version 2: the only folder. Version 1: that of `memory`.
    memory: Option<PathBuf>,
    /// Version 2: the same. Version 1: that of `cpuacct`.
    cpu: Option<PathBuf>,
    /// Whether they are of version 2.
    unified: bool,
}

impl Counters {
    /// The groups of the started container with this id, by the names of the daemon's two cgroup
    /// drivers.
    pub(crate) fn of(id: &str) -> Self {
        let unified = Path::new(MOUNT).join("cgroup.controllers").exists();
        let find = |controller: &str| {
            let base = if unified { PathBuf::from(MOUNT) } else { Path::new(MOUNT).join(controller) };
            [format!("docker/{id}"), format!("system.slice/docker-{id}.scope")]
                .into_iter()
                .map(|name| base.join(name))
                .find(|path| path.is_dir())
        };
        Self { memory: find("memory"), cpu: find("cpuacct"), unified }
    }

    /// The groups of a container that has not been started.
    pub(crate) fn nothing() -> Self {
        Self { memory: None, cpu: None, unified: false }
    }

    /// The usage so far.
    pub(crate) fn usage(&self) -> Usage {
        let cpu_seconds = self.cpu.as_ref().and_then(|dir| {
            if self.unified {
                let micros = field(&dir.join("cpu.stat"), "usage_usec")?;
                Some(micros as f64 / 1e6)
            } else {
                Some(number(&dir.join("cpuacct.usage"))? as f64 / 1e9)
            }
        });
        // `memory.peak` exists since Linux 5.19.
        let peak = if self.unified { "memory.peak" } else { "memory.max_usage_in_bytes" };
        let peak_memory_bytes = self.memory.as_ref().and_then(|dir| number(&dir.join(peak)));
        Usage { cpu_seconds, peak_memory_bytes, ..Usage::default() }
    }

    /// How often the kernel has killed for lack of memory.
    pub(crate) fn memory_kills(&self) -> Option<u64> {
        let file = if self.unified { "memory.events" } else { "memory.oom_control" };
        field(&self.memory.as_ref()?.join(file), "oom_kill")
    }

    /// Whether a process of this machine is in the container.
    pub(crate) fn contains(id: &str, pid: i32) -> bool {
        fs::read_to_string(format!("/proc/{pid}/cgroup")).is_ok_and(|groups| groups.contains(id))
    }
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn field(path: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}
