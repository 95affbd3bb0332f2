//! The network policy of a phase of a trial.

use serde::{Deserialize, Serialize};

/// The hosts that a phase of a trial can reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkPolicy {
    /// Its own loopback.
    None,
    /// The host's network.
    Public,
    /// These hosts, through the egress proxy.
    Hosts(Vec<String>),
}
