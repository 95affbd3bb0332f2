//! Converts limits and networks of specifications for sandboxes, and usage of sandboxes for
//! records.

use assay_sandbox as sandbox;
use assay_store::{Enforcement, Mechanism, NetworkPolicy, SandboxLimits, SandboxUsage};

/// The limits of a session.
pub(crate) fn limits(planned: SandboxLimits) -> sandbox::Limits {
    let SandboxLimits { cpus, memory_bytes, pids, storage_bytes } = planned;
    sandbox::Limits { cpus, memory_bytes, pids, storage_bytes }
}

/// The network of a session. Listed hosts are reached through the egress proxy, which needs none.
pub(crate) fn network(policy: &NetworkPolicy) -> sandbox::Network {
    match policy {
        NetworkPolicy::Public => sandbox::Network::Public,
        NetworkPolicy::None | NetworkPolicy::Hosts(_) => sandbox::Network::None,
    }
}

/// What enforced the limits of a session.
pub(crate) fn enforcement(found: sandbox::Enforcement) -> Enforcement {
    let sandbox::Enforcement { cpus, memory, pids, storage } = found;
    Enforcement {
        cpus: mechanism(cpus),
        memory: mechanism(memory),
        pids: mechanism(pids),
        storage: mechanism(storage),
    }
}

fn mechanism(found: sandbox::Mechanism) -> Mechanism {
    match found {
        sandbox::Mechanism::CgroupV2 => Mechanism::CgroupV2,
        sandbox::Mechanism::CgroupV1 => Mechanism::CgroupV1,
        sandbox::Mechanism::Rlimit => Mechanism::Rlimit,
        sandbox::Mechanism::Watchdog => Mechanism::Watchdog,
        sandbox::Mechanism::Nothing => Mechanism::Nothing,
    }
}

/// The usage of a session.
pub(crate) fn usage(used: sandbox::Usage) -> SandboxUsage {
    let sandbox::Usage { cpu_seconds, peak_memory_bytes, frozen_seconds } = used;
    SandboxUsage { cpu_seconds, peak_memory_bytes, frozen_seconds }
}
