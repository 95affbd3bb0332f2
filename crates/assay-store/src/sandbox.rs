//! The sandbox as described in records.

use serde::{Deserialize, Serialize};

/// What enforced a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// A delegated cgroup of version 2.
    CgroupV2,
    /// A writable cgroup of version 1.
    CgroupV1,
    /// A resource limit of each process.
    Rlimit,
    /// Polling, which kills processes above the limit.
    Watchdog,
    /// There was no limit, or nothing could enforce it.
    Nothing,
}

/// What enforced each limit of the agent's sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// Processor time.
    pub cpus: Mechanism,
    /// Memory.
    pub memory: Mechanism,
    /// Processes.
    pub pids: Mechanism,
    /// Disk.
    pub storage: Mechanism,
}

/// The total usage of the agent's sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SandboxUsage {
    /// User and system time of its processes, in seconds; `None` if it is not measured.
    pub cpu_seconds: Option<f64>,
    /// Most memory in use at once, in bytes; `None` if it is not measured.
    pub peak_memory_bytes: Option<u64>,
    /// Seconds in which it was frozen; `None` if it cannot be frozen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_seconds: Option<f64>,
}
