//! What a container may use, reach and do.

use std::path::Path;
use std::time::{Duration, Instant};

use assay_sandbox::docker::{ContainerSpec, DockerNetwork};
use assay_sandbox::{Exit, LimitKind, Mechanism, SandboxError, Session};

use super::{base, container, docker, needs_docker_beside, ok, sh};
use crate::common::{command, exec, mount};

#[test]
#[ignore = "needs Docker"]
fn limits_memory_processes_and_cpus() {
    needs_docker_beside!();
    let docker = docker("limits");
    let mut spec = ContainerSpec::new(base(&docker), "test");
    spec.limits.memory_bytes = Some(64 << 20);
    spec.limits.pids = Some(30);
    spec.limits.cpus = Some(0.2);
    let mut container = docker.create(&spec).unwrap();
    let held = *container.enforcement();
    assert_ne!(held.memory, Mechanism::Nothing);

    let hungry = "exec python3 -c 'x = bytearray(300 << 20); import time; time.sleep(20)'";
    assert_eq!(sh(&mut container, hungry).0, Exit::Limit(LimitKind::Memory));
    assert_eq!(sh(&mut container, "echo on"), ok("on\n"));
    let usage = container.usage();
    assert!(usage.peak_memory_bytes.unwrap() > 32 << 20, "{usage:?}");

    let before = container.usage().cpu_seconds.unwrap();
    let mut spin = command(&["sh", "-c", "while :; do :; done"]);
    spin.deadline = Some(Instant::now() + Duration::from_secs(1));
    exec(&mut container, &spin).unwrap();
    let spun = container.usage().cpu_seconds.unwrap() - before;
    assert!((0.02..0.6).contains(&spun), "{spun}");

    let many = "for i in $(seq 60); do sleep 5 & done; wait";
    let mut many = command(&["bash", "-c", many]);
    many.deadline = Some(Instant::now() + Duration::from_secs(3));
    assert!(exec(&mut container, &many).unwrap().stdout.text().contains("fork"));
    let begin = Instant::now();
    container.remove().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
}

#[test]
#[ignore = "needs Docker"]
fn contains_a_fork_bomb() {
    let docker = docker("bomb");
    let mut spec = ContainerSpec::new(base(&docker), "test");
    spec.limits.pids = Some(50);
    let mut container = docker.create(&spec).unwrap();
    let mut bomb = command(&["bash", "-c", "f() { f | f & }; f; while :; do (sleep 1 &) ; done"]);
    bomb.deadline = Some(Instant::now() + Duration::from_secs(1));
    let begin = Instant::now();
    let outcome = exec(&mut container, &bomb).unwrap();
    assert_ne!(outcome.exit, Exit::Code(0));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    container.restart().unwrap();
    assert_eq!(sh(&mut container, "echo on"), ok("on\n"));
}

#[test]
#[ignore = "needs Docker"]
fn has_no_network_by_default() {
    let docker = docker("network");
    let mut spec = ContainerSpec::new(base(&docker), "test");
    let mut closed = docker.create(&spec).unwrap();
    assert_eq!(sh(&mut closed, "ls /sys/class/net; wc -l < /proc/net/route"), ok("lo\n1\n"));
    spec.network = DockerNetwork::Public;
    let mut open = docker.create(&spec).unwrap();
    let (exit, text) = sh(&mut open, "ls /sys/class/net; wc -l < /proc/net/route");
    assert_eq!(exit, Exit::Code(0));
    assert!(text.contains("eth0"), "{text}");
    spec.network = DockerNetwork::Allow(vec!["example.org".to_owned()]);
    let refused = docker.create(&spec).map(drop);
    assert!(
        matches!(&refused, Err(SandboxError::Spec(reason)) if reason.contains("allowed hosts")),
        "{refused:?}"
    );
}

#[test]
#[ignore = "needs Docker"]
fn gives_root_few_capabilities_and_others_none() {
    let mut container = container("caps-of-root");
    let status = "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr '\\t\\n' '  '";
    // CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, FSETID 4, KILL 5, SETGID 6, SETUID 7, NET_BIND_SERVICE 10,
    // SETFCAP 31.
    let bits: u64 = [0, 1, 3, 4, 5, 6, 7, 10, 31].iter().map(|bit| 1_u64 << bit).sum();
    let expected = format!("CapEff: {bits:016x} CapBnd: {bits:016x} NoNewPrivs: 1 Seccomp: 2 ");
    let (_, found) = sh(&mut container, status);
    let found: Vec<&str> = found.split_whitespace().collect();
    for word in expected.split_whitespace() {
        assert!(found.contains(&word), "{word} in {found:?}");
    }
    for (script, what) in [
        ("mknod /tmp/x b 8 0", "devices"),
        ("mount -t tmpfs none /mnt", "mounts"),
        ("chroot / true", "chroot"),
        ("test -e /var/run/docker.sock", "the socket"),
        ("echo 1 > /proc/sys/kernel/sysrq", "the kernel's settings"),
    ] {
        assert_ne!(sh(&mut container, script).0, Exit::Code(0), "{what}");
    }
    // Typical actions of a package manager as root.
    let needed = "touch /etc/x && chown nobody:nogroup /etc/x && chmod 4755 /etc/x && \
                  setpriv --reuid=nobody --regid=nogroup --clear-groups id -un";
    assert_eq!(sh(&mut container, needed), ok("nobody\n"));
}

#[test]
#[ignore = "needs Docker"]
fn refuses_mounts_that_control_the_host() {
    let docker = docker("mounts");
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/var/run/docker.sock", dir.path().join("link")).unwrap();
    let link = dir.path().join("link");
    for source in [
        Path::new("/"),
        Path::new("/var/run/docker.sock"),
        &link,
        Path::new("/proc"),
        Path::new("/run"),
        Path::new("/etc/shadow"),
        Path::new("/dev/kmsg"),
        Path::new("/var/lib"),
        Path::new("/nonexistent"),
    ] {
        let mut spec = ContainerSpec::new(base(&docker), "test");
        spec.mounts = vec![mount(source, "/x", false)];
        let made = docker.create(&spec).map(drop);
        assert!(matches!(made, Err(SandboxError::Spec(_))), "{}: {made:?}", source.display());
    }
    for target in ["/", "/proc/x", "/dev", "relative", "/a/../b"] {
        let mut spec = ContainerSpec::new(base(&docker), "test");
        spec.mounts = vec![mount(dir.path(), target, false)];
        let made = docker.create(&spec).map(drop);
        assert!(matches!(made, Err(SandboxError::Spec(_))), "{target}: {made:?}");
    }
    std::fs::write(dir.path().join("file"), "seen\n").unwrap();
    let mut spec = ContainerSpec::new(base(&docker), "test");
    spec.mounts = vec![mount(dir.path(), "/ro", false), mount(dir.path(), "/rw", true)];
    spec.tmpfs = vec!["/fast".into()];
    let mut container = docker.create(&spec).unwrap();
    let script = "cat /ro/file; touch /ro/x 2>/dev/null || echo refused; touch /rw/x && grep -c ' /fast tmpfs' /proc/mounts";
    assert_eq!(sh(&mut container, script), ok("seen\nrefused\n1\n"));
    assert!(dir.path().join("x").exists());
}
