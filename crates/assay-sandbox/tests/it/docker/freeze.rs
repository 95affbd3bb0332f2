//! Containers that stand still while something outside is waited for.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_sandbox::docker::ContainerSpec;
use assay_sandbox::{SandboxError, Session};

use super::{base, container, docker, options};
use crate::common::{command, mount, within};
use crate::freeze::{Hand, ends_while_still, stands_still};

#[test]
#[ignore = "needs Docker"]
fn all_that_runs_in_a_container_stands_still_and_goes_on() {
    let docker = docker("still");
    let folder = tempfile::tempdir().unwrap();
    let mut spec = ContainerSpec::new(base(&docker), "test");
    spec.mounts.push(mount(folder.path(), "/out", true));
    let mut container = docker.create(&spec).unwrap();
    stands_still(&mut container, folder.path(), "/out");
    let frozen = container.remove().unwrap().frozen_seconds.unwrap();
    assert!(frozen >= 3.0, "{frozen}");
}

#[test]
#[ignore = "needs Docker"]
fn a_command_in_a_container_that_stands_still_can_be_ended() {
    ends_while_still(&mut || Box::new(container("still-ended")));
}

/// Whoever held it died meanwhile.
#[test]
#[ignore = "needs Docker"]
fn a_container_that_stands_still_is_swept() {
    let docker = docker("still-swept");
    let mut container = docker.create(&ContainerSpec::new(base(&docker), "test")).unwrap();
    let id = container.id().to_owned();
    let hand = Arc::new(Hand::default());
    container.freeze_on(Arc::<Hand>::clone(&hand));
    hand.close();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| container.exec(&command(&["sleep", "1000"]), &AtomicBool::new(false)));
        std::thread::sleep(Duration::from_secs(1));
        let store = options("still-swept").store_label;
        let mut swept = Vec::new();
        let removed = within(Duration::from_secs(20), || {
            swept.extend(docker.sweep(&store, &|_| false).unwrap().containers);
            !swept.is_empty()
        });
        assert!(removed && swept == [id], "{swept:?}");
        let ended = running.join().unwrap();
        assert!(matches!(ended, Err(SandboxError::Died { .. })), "{ended:?}");
    });
}
