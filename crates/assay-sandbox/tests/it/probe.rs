//! Whether bubblewrap works here.

use std::path::Path;

use assay_sandbox::{Mechanism, SandboxError, probe_bubblewrap};

use crate::common::{INIT, needs_bubblewrap};

#[test]
fn reports_a_working_installation() {
    needs_bubblewrap!();
    let probe = probe_bubblewrap(Path::new(INIT), &["sandbox-init".to_owned()]).unwrap();
    assert!(probe.version.starts_with(|c: char| c.is_ascii_digit()), "{probe:?}");
    assert!(probe.program.ends_with("bwrap"));
    assert_ne!(probe.enforcement.memory, Mechanism::Nothing);
    assert_ne!(probe.enforcement.pids, Mechanism::Nothing);
}

#[test]
fn reports_why_it_does_not_work() {
    needs_bubblewrap!();
    // Programs that are not a first process.
    for (init, word) in [("/bin/false", "without an error message"), ("/etc/passwd", "ELF"), ("/no/such", "")]
    {
        match probe_bubblewrap(Path::new(init), &[]).map(drop) {
            Err(SandboxError::Unavailable { reason, .. }) => {
                assert!(reason.contains(word), "{init}: {reason}");
            }
            other => panic!("{init}: {other:?}"),
        }
    }
}
