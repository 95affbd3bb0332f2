//! A daemon that dies and comes back: a separate one, so that no other test is affected.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assay_sandbox::docker::{ContainerSpec, Docker};
use assay_sandbox::{Exit, SandboxError, Session};

use super::{BASE, base, needs_docker_beside, ok, options, sh};
use crate::common::{command, exec, processes_with, within};

/// A daemon with its own folder, socket and containerd.
struct Daemon {
    dir: tempfile::TempDir,
    child: Option<Child>,
}

impl Daemon {
    /// `None` if it cannot be started, which needs root.
    fn start() -> Option<Self> {
        if !rustix::process::geteuid().is_root() || !Path::new("/usr/sbin/dockerd").exists() {
            return None;
        }
        let mut daemon = Self { dir: tempfile::tempdir().unwrap(), child: None };
        daemon.up();
        Some(daemon)
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    fn up(&mut self) {
        let at = |name: &str| self.dir.path().join(name);
        let log = File::options().create(true).append(true).open(at("log")).unwrap();
        // In its own network namespace: without a bridge, a daemon removes that of the others.
        let child = Command::new("unshare")
            .args(["--net", "/usr/sbin/dockerd", "--host"])
            .arg(format!("unix://{}", self.socket().display()))
            .arg("--data-root")
            .arg(at("data"))
            .arg("--exec-root")
            .arg(at("exec"))
            .arg("--pidfile")
            .arg(at("pid"))
            .args(["--bridge", "none", "--iptables=false", "--ip-masq=false"])
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
        let up = within(Duration::from_mins(1), || self.docker(&["version"]).status().unwrap().success());
        assert!(up, "{}", std::fs::read_to_string(at("log")).unwrap());
    }

    /// Kills it at once, like the kernel's OOM killer.
    fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        // Its containerd died with it. If nothing reaps that process, its id looks alive to the
        // next daemon.
        std::fs::remove_file(self.dir.path().join("exec/containerd/containerd.pid")).unwrap();
    }

    fn docker(&self, args: &[&str]) -> Command {
        let mut docker = Command::new("docker");
        docker.arg("--host").arg(format!("unix://{}", self.socket().display())).args(args);
        docker.stdout(Stdio::null()).stderr(Stdio::null());
        docker
    }

    /// Loads the base image.
    fn load(&self) {
        let mut save = Command::new("docker").args(["save", BASE]).stdout(Stdio::piped()).spawn().unwrap();
        let from = save.stdout.take().unwrap();
        assert!(self.docker(&["load"]).stdin(from).status().unwrap().success());
        save.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // On SIGTERM it ends its containerd too.
            let pid = rustix::process::Pid::from_child(&child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            let _ = child.wait();
        }
        // It mounts its folder on itself, and does not unmount it.
        let _ = Command::new("umount").args(["-q", "-l"]).arg(self.dir.path().join("data")).status();
    }
}

#[test]
#[ignore = "needs Docker"]
fn dead_daemon_is_not_a_command_failure_and_is_used_again() {
    let Some(mut daemon) = Daemon::start() else {
        assay_test::report_skip("a second daemon needs root and /usr/sbin/dockerd");
        return;
    };
    daemon.load();
    let mut options = options("restart");
    options.socket = Some(daemon.socket());
    let store = options.store_label.clone();
    let docker = Docker::connect(options).unwrap();
    let image = base(&docker);
    let mut container = docker.create(&ContainerSpec::new(image.clone(), "test")).unwrap();
    assert_eq!(sh(&mut container, "echo on"), ok("on\n"));

    let failed = std::thread::scope(|scope| {
        let running = scope.spawn(|| exec(&mut container, &command(&["sleep", "304.5"])));
        assert!(within(Duration::from_secs(20), || !processes_with("304.5").is_empty()));
        daemon.kill();
        running.join().unwrap()
    });
    assert!(matches!(&failed, Err(SandboxError::Daemon { gone: true, .. })), "{failed:?}");
    assert!(!docker.answers());
    let away = docker.create(&ContainerSpec::new(image.clone(), "test")).map(drop);
    assert!(matches!(&away, Err(SandboxError::Daemon { gone: true, .. })), "{away:?}");
    let away = exec(&mut container, &command(&["true"]));
    assert!(matches!(away, Err(SandboxError::Daemon { .. } | SandboxError::Died { .. })), "{away:?}");

    daemon.up();
    // The same connection and the same image; the earlier container no longer runs, and is removed.
    let mut again = docker.create(&ContainerSpec::new(image, "test")).unwrap();
    assert_eq!(sh(&mut again, "echo back"), ok("back\n"));
    again.remove().unwrap();
    let removed = docker.remove_stale(&store, &|_| false).unwrap();
    assert_eq!(removed.containers, [container.id().to_owned()]);
    let ended = within(Duration::from_secs(20), || processes_with("304.5").is_empty());
    assert!(ended, "{}", std::fs::read_to_string(daemon.dir.path().join("log")).unwrap());
    drop(container);
}

#[test]
#[ignore = "needs Docker"]
fn container_killed_from_outside_is_not_a_command_failure() {
    needs_docker_beside!();
    let mut container = super::container("killed");
    let id = container.id().to_owned();
    let died = std::thread::scope(|scope| {
        let running = scope.spawn(|| exec(&mut container, &command(&["sleep", "304.75"])));
        assert!(within(Duration::from_secs(20), || !processes_with("304.75").is_empty()));
        let killed = Command::new("docker").args(["kill", &id]).stdout(Stdio::null()).status().unwrap();
        assert!(killed.success());
        running.join().unwrap()
    });
    assert!(matches!(&died, Err(SandboxError::Died { command }) if command == "sleep"), "{died:?}");
    container.restart().unwrap();
    assert_eq!(exec(&mut container, &command(&["true"])).unwrap().exit, Exit::Code(0));
    Box::new(container).stop().unwrap();
}
