//! Whether a reference solution failed for want of a network.

use std::path::Path;

use assay_fs::read_beneath;
use assay_store::{NetworkPolicy, Record, Store, TrialSpec};

/// Most bytes of a solution's transcript that are read.
const CAP: u64 = 4 << 20;

/// What name resolution, curl, wget, pip, npm, apt, git, Go and Python print without a network, in lower case.
const SIGNS: [&str; 12] = [
    "could not resolve host",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "unable to resolve host",
    "network is unreachable",
    "no such host",
    "getaddrinfo enotfound",
    "getaddrinfo eai_again",
    "failed to establish a new connection",
    "failed to lookup address information",
    "no address associated with hostname",
];

/// Whether a solution that did not pass had no network, and what it printed says that it wanted one.
pub(super) fn is_seen(store: &Store, oracle: &TrialSpec, record: &Record) -> bool {
    if oracle.network != NetworkPolicy::None {
        return false;
    }
    let attempt = format!("attempts/{}/trajectory.json", record.attempt);
    let read = read_beneath(&store.trial_folder(&oracle.id), Path::new(&attempt), CAP);
    let Ok(Some(bytes)) = read else { return false };
    is_network_failure(&String::from_utf8_lossy(&bytes))
}

fn is_network_failure(output: &str) -> bool {
    let output = output.to_lowercase();
    SIGNS.iter().any(|sign| output.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_common_programs_without_a_network_are_known() {
        for (output, expected) in [
            ("curl: (6) Could not resolve host: example.org", true),
            ("wget: unable to resolve host address 'example.org'", true),
            ("Temporary failure resolving 'deb.debian.org'", true),
            ("socket.gaierror: [Errno -3] Temporary failure in name resolution", true),
            ("npm error getaddrinfo EAI_AGAIN registry.npmjs.org", true),
            ("connect: Network is unreachable", true),
            ("dial tcp: lookup proxy.golang.org: no such host", true),
            ("No such file or directory", false),
            ("Connection refused", false),
            ("", false),
        ] {
            assert_eq!(is_network_failure(output), expected, "{output}");
        }
    }
}
