//! Containers that are frozen while something outside is waited for.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_sandbox::docker::ContainerSpec;
use assay_sandbox::{SandboxError, Session};

use super::{base, container, docker, options};
use crate::common::{command, mount, within};
use crate::freeze::{TestSignal, check_end_while_frozen, check_freeze};

#[test]
#[ignore = "needs Docker"]
fn container_is_frozen_and_thawed() {
    let docker = docker("still");
    let folder = tempfile::tempdir().unwrap();
    let mut spec = ContainerSpec::new(base(&docker), "test");
    spec.mounts.push(mount(folder.path(), "/out", true));
    let mut container = docker.create(&spec).unwrap();
    check_freeze(&mut container, folder.path(), "/out");
    let frozen = container.remove().unwrap().frozen_seconds.unwrap();
    assert!(frozen >= 3.0, "{frozen}");
}

#[test]
#[ignore = "needs Docker"]
fn command_in_a_frozen_container_can_be_ended() {
    check_end_while_frozen(&mut || Box::new(container("still-ended")));
}

/// The process that froze it has died.
#[test]
#[ignore = "needs Docker"]
fn frozen_container_is_removed() {
    let docker = docker("frozen-removed");
    let mut container = docker.create(&ContainerSpec::new(base(&docker), "test")).unwrap();
    let id = container.id().to_owned();
    let signal = Arc::new(TestSignal::default());
    container.freeze_on(Arc::<TestSignal>::clone(&signal));
    signal.close();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| container.exec(&command(&["sleep", "1000"]), &AtomicBool::new(false)));
        std::thread::sleep(Duration::from_secs(1));
        let store = options("frozen-removed").store_label;
        let mut found = Vec::new();
        let removed = within(Duration::from_secs(20), || {
            found.extend(docker.remove_stale(&store, &|_| false).unwrap().containers);
            !found.is_empty()
        });
        assert!(removed && found == [id], "{found:?}");
        let ended = running.join().unwrap();
        assert!(matches!(ended, Err(SandboxError::Died { .. })), "{ended:?}");
    });
}
