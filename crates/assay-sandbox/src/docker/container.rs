//! A container: created, started, killed, restarted, removed.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bollard::container::AttachContainerResults;
use bollard::models::{
    ContainerCreateBody, EndpointSettings, HostConfig, HostConfigLogConfig, Mount as ApiMount,
    MountBindOptions, MountBindOptionsPropagationEnum, MountType, NetworkConnectRequest,
    NetworkDisconnectRequest, NetworkingConfig, ResourcesUlimits,
};
use bollard::query_parameters::{
    AttachContainerOptions, ContainerArchiveInfoOptions, KillContainerOptions, LogsOptions,
    RemoveContainerOptions,
};
use futures_util::StreamExt;

use super::client::{Docker, Inner, LABEL_NAME, LABEL_OWNER, LABEL_STORE};
use super::counters::Counters;
use super::error::{failed, status, words};
use super::files::{Changed, PathStat};
use super::image::Image;
use super::layers::Layers;
use crate::freeze::FreezeState;
use crate::spec::{absolute, environment, limits, spec_error};
use crate::{
    Enforcement, Exec, ExecOutcome, FreezeSignal, Limits, Mechanism, Mount, SandboxError, Session, Usage,
};
use assay_fs::ChangeKind;

/// The first process. A child of it waits for the end of its standard input, and is restarted if a
/// process inside kills it; the first process itself cannot be killed from inside
/// (pid_namespaces(7)). While waiting for one child, a shell reaps all others, so that orphans do
/// not pile up. It needs nothing from the image except `/bin/sh`.
const FIRST: &str = "exec 3<&0\nwhile :; do\n(while read -r _ <&3; do :; done; exit 42) &\nwait $!\n[ $? = 42 ] && exit 0\ndone";

/// The first process of a service, which starts the program in its arguments. It ends when the
/// program does, and when its standard input does: the reading child then asks it to, which no
/// process inside could force. While waiting for the program, the shell reaps all others.
const SERVICE: &str = "exec 3<&0\ntrap 'exit 0' TERM\n\"$@\" </dev/null 3<&- &\nprogram=$!\n(while read -r _ <&3; do :; done; kill -TERM 1) &\nwait $program\n";

/// The capabilities that root keeps in a container. `apt`, `pip` and similar tools change owners
/// and modes (CHOWN, FOWNER, FSETID), write to files that they do not own (DAC_OVERRIDE), switch
/// users (SETUID, SETGID) and set file capabilities (SETFCAP); servers listen on low ports
/// (NET_BIND_SERVICE); a verifier may kill another user's processes (KILL). Of Docker's defaults,
/// this leaves out AUDIT_WRITE, MKNOD, NET_RAW, SETPCAP and SYS_CHROOT.
const CAPABILITIES: [&str; 9] =
    ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETUID"];

/// Maximum number of processes without an explicit limit: all containers share the host's process
/// table.
const MOST_PIDS: u32 = 4096;

/// How many lines, and bytes, of a service's log are read.
const LOG_LINES: &str = "20";
const LOG_BYTES: usize = 8 << 10;

/// Host folders that cannot be mounted into a container, nor can their parents.
const FORBIDDEN_SOURCES: [&str; 9] = [
    "/proc",
    "/sys",
    "/dev",
    "/boot",
    "/etc",
    "/run/docker",
    "/run/containerd",
    "/var/lib/docker",
    "/var/lib/containerd",
];

/// Files that the daemon mounts into every container.
const OWN: [&str; 3] = ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"];

/// What can be reached from inside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DockerNetwork {
    /// Only its own loopback.
    #[default]
    None,
    /// The daemon's own bridge: the host's networks, without the host's loopback.
    Public,
    /// Containers on an internal network, and nothing else.
    Internal(Attachment),
    /// These hosts only. Refused: the daemon cannot enforce it without an additional container.
    Allow(Vec<String>),
}

/// How a container is attached to an [internal network](super::InternalNetwork).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The network's id.
    pub network: String,
    /// The names by which the other containers find it.
    pub names: Vec<String>,
    /// Whether it is on the daemon's own bridge, too.
    pub public: bool,
}

/// The specification of a container. Targets are absolute paths inside it.
#[derive(Debug, Clone)]
pub struct ContainerSpec {
    /// The image that its file system starts from.
    pub image: Image,
    /// Host folders and files that are visible inside.
    pub mounts: Vec<Mount>,
    /// Empty in-memory folders. Files that are [copied](Container::copy_in) there are not visible
    /// inside.
    pub tmpfs: Vec<PathBuf>,
    /// The default working directory of commands; `None`: the image's. Created if missing.
    pub workdir: Option<PathBuf>,
    /// The default user of commands, `name`, `uid` or `uid:gid`; `None`: the image's user.
    pub user: Option<String>,
    /// Added to the image's environment.
    pub env: Vec<(String, String)>,
    /// What can be reached.
    pub network: DockerNetwork,
    /// The program of a service, in words, which runs from each start on. `None`: nothing but a
    /// shell of ours runs until [`Session::exec`].
    pub program: Option<Vec<String>>,
    /// Its limits. Without a process limit there are at most 4096 processes. The storage limit is
    /// not enforced.
    pub limits: Limits,
    /// A short name for messages and labels: `[a-z0-9-]{1,40}`.
    pub label: String,
}

impl ContainerSpec {
    /// A container of an image, with nothing else.
    pub fn new(image: Image, label: impl Into<String>) -> Self {
        Self {
            image,
            mounts: Vec::new(),
            tmpfs: Vec::new(),
            workdir: None,
            user: None,
            env: Vec::new(),
            network: DockerNetwork::None,
            program: None,
            limits: Limits::default(),
            label: label.into(),
        }
    }
}

/// A started container. Dropping it kills and removes it.
pub struct Container {
    pub(super) inner: Arc<Inner>,
    pub(super) id: String,
    pub(super) user: String,
    pub(super) workdir: Option<String>,
    pub(super) enforcement: Enforcement,
    pub(super) counters: Counters,
    pub(super) alive: bool,
    pub(super) freeze: FreezeState,
    label: String,
    /// Its files on this machine, if this process may access them.
    layers: Option<Layers>,
    /// The connection that keeps its first process alive.
    attachment: Option<AttachContainerResults>,
    used: Usage,
    removed: bool,
}

impl fmt::Debug for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Container")
            .field("id", &self.id)
            .field("label", &self.label)
            .field("alive", &self.alive)
            .finish_non_exhaustive()
    }
}

impl Docker {
    /// [Creates](Self::create_stopped) a container and starts it. Only a shell of ours runs in it
    /// until [`Session::exec`].
    ///
    /// [`SandboxError::Spec`] if the specification is refused; [`SandboxError::Start`] if the image
    /// cannot run a shell.
    pub fn create(&self, spec: &ContainerSpec) -> Result<Container, SandboxError> {
        let mut container = self.create_stopped(spec)?;
        container.restart()?;
        Ok(container)
    }

    /// Creates a container without starting it. [`Container::restart`] starts it; files should be
    /// [copied in](Container::copy_in) before.
    pub fn create_stopped(&self, spec: &ContainerSpec) -> Result<Container, SandboxError> {
        check(spec, &self.inner.socket)?;
        let inner = Arc::clone(&self.inner);
        let body = body(spec, &inner);
        let made = inner.request("create a container", inner.api.create_container(None, body))?;
        let attached = matches!(&spec.network, DockerNetwork::Internal(attachment) if attachment.public);
        let enforced = |wanted: bool, by: Mechanism| if wanted { by } else { Mechanism::Nothing };
        let all = inner.enforcement;
        let config = &spec.image.config;
        let mut container = Container {
            id: made.id,
            user: spec.user.clone().or_else(|| config.user.clone()).unwrap_or_else(|| "0".to_owned()),
            workdir: spec.workdir.as_ref().map(|path| path.to_string_lossy().into_owned()),
            enforcement: Enforcement {
                cpus: enforced(spec.limits.cpus.is_some(), all.cpus),
                memory: enforced(spec.limits.memory_bytes.is_some(), all.memory),
                pids: all.pids,
                storage: Mechanism::Nothing,
            },
            counters: Counters::nothing(),
            alive: false,
            freeze: FreezeState::default(),
            label: spec.label.clone(),
            layers: None,
            attachment: None,
            used: Usage::default(),
            removed: false,
            inner,
        };
        if attached {
            container.connect("bridge")?;
        }
        if container.inner.direct {
            let mounts = spec.mounts.iter().map(|mount| &mount.target).chain(&config.volumes).cloned();
            container.layers = container.find_layers(mounts.chain(OWN.map(PathBuf::from)).collect())?;
        }
        Ok(container)
    }
}

impl Container {
    /// Its id in the daemon.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn find_layers(&self, elsewhere: Vec<PathBuf>) -> Result<Option<Layers>, SandboxError> {
        let found =
            self.inner.request("inspect a container", self.inner.api.inspect_container(&self.id, None))?;
        Ok(found.graph_driver.and_then(|driver| Layers::of(&driver.data, elsewhere)))
    }

    /// Its files on this machine, while none of its processes runs.
    pub(super) fn layers(&self) -> Option<&Layers> {
        self.layers.as_ref().filter(|_| !self.alive)
    }

    /// Whether its files are read on this machine, which is fast. Otherwise the daemon is asked about
    /// each path.
    pub fn is_read_directly(&self) -> bool {
        self.layers().is_some()
    }

    /// Attaches first: otherwise, if this process were killed between the two, the container would
    /// remain.
    fn start(&mut self) -> Result<(), SandboxError> {
        let attach =
            AttachContainerOptions { stream: true, stdin: true, ..AttachContainerOptions::default() };
        let api = &self.inner.api;
        let held =
            self.inner.request("attach to a container", api.attach_container(&self.id, Some(attach)))?;
        let started = self.inner.block(api.start_container(&self.id, None));
        if let Err(error) = started {
            return Err(match status(&error) {
                // An image without a shell, a missing mount, a limit that the kernel rejects.
                Some(_) => SandboxError::Start(words(&error)),
                None => failed("start a container", &error),
            });
        }
        self.attachment = Some(held);
        self.alive = true;
        self.counters = Counters::of(&self.id);
        Ok(())
    }

    /// Kills all its processes at once, and waits until none is left. Its files stay. Halting twice
    /// is the same as once.
    pub fn halt(&mut self) -> Result<(), SandboxError> {
        if !self.alive {
            return Ok(());
        }
        self.count();
        let kill = KillContainerOptions { signal: "KILL".to_owned() };
        // The daemon answers when it is dead.
        match self.inner.block(self.inner.api.kill_container(&self.id, Some(kill))) {
            Ok(()) => {}
            // It is already dead, or gone.
            Err(error) if matches!(status(&error), Some(404 | 409)) => {}
            Err(error) => return Err(failed("kill a container", &error)),
        }
        self.alive = false;
        self.attachment = None;
        Ok(())
    }

    /// Starts it again, with its files but none of its processes. [`halt`](Self::halt)s it first.
    ///
    /// In-memory folders are empty again. A network interface may have another address.
    pub fn restart(&mut self) -> Result<(), SandboxError> {
        self.halt()?;
        self.start()
    }

    /// Gives a halted container another network for its next start: the daemon's own bridge, or
    /// none. An internal network that both have stays.
    pub fn reconnect(&mut self, from: &DockerNetwork, to: &DockerNetwork) -> Result<(), SandboxError> {
        let parts = |network: &DockerNetwork| match network {
            DockerNetwork::None => Ok((None, false)),
            DockerNetwork::Public => Ok((None, true)),
            DockerNetwork::Internal(attachment) => Ok((Some(attachment.network.clone()), attachment.public)),
            DockerNetwork::Allow(_) => {
                spec_error("a stopped container cannot get a list of hosts".to_owned())
            }
        };
        let ((inside, was_public), (stays, public)) = (parts(from)?, parts(to)?);
        if inside != stays {
            return spec_error("a stopped container cannot get another internal network".to_owned());
        }
        match (inside, was_public, public) {
            (_, true, true) | (_, false, false) => Ok(()),
            (Some(_), false, true) => self.connect("bridge"),
            (Some(_), true, false) => self.disconnect("bridge"),
            (None, false, true) => self.disconnect("none").and_then(|()| self.connect("bridge")),
            (None, true, false) => self.disconnect("bridge").and_then(|()| self.connect("none")),
        }
    }

    fn connect(&self, network: &str) -> Result<(), SandboxError> {
        let join = NetworkConnectRequest { container: self.id.clone(), ..Default::default() };
        let api = &self.inner.api;
        self.inner.request("connect a container to a network", api.connect_network(network, join))
    }

    fn disconnect(&self, network: &str) -> Result<(), SandboxError> {
        let leave = NetworkDisconnectRequest { container: self.id.clone(), force: Some(true) };
        let api = &self.inner.api;
        self.inner.request("disconnect a container from a network", api.disconnect_network(network, leave))
    }

    /// The end of what the program of a service has printed, at most some kilobytes.
    pub fn log(&self) -> Result<String, SandboxError> {
        let options =
            LogsOptions { stdout: true, stderr: true, tail: LOG_LINES.to_owned(), ..LogsOptions::default() };
        let log = async {
            let mut lines = self.inner.api.logs(&self.id, Some(options));
            let mut text = Vec::new();
            while let Some(line) = lines.next().await {
                text.extend_from_slice(line?.as_ref());
                // A line can be as long as the whole log.
                if text.len() > LOG_BYTES {
                    text.drain(..text.len() - LOG_BYTES);
                }
            }
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        self.inner.request("read the log of a container", log)
    }

    /// Whether its first process is alive; it is not if the container was removed.
    pub fn is_running(&self) -> Result<bool, SandboxError> {
        match self.inner.block(self.inner.api.inspect_container(&self.id, None)) {
            Ok(found) => Ok(found.state.and_then(|state| state.running).unwrap_or(false)),
            Err(error) if status(&error) == Some(404) => Ok(false),
            Err(error) => Err(failed("inspect a container", &error)),
        }
    }

    /// The differences from the image, by path; mounts and in-memory folders are not compared.
    /// Invalid UTF-8 in paths is replaced.
    pub fn changes(&self) -> Result<Vec<Changed>, SandboxError> {
        if let Some(Ok(changes)) = self.layers().map(Layers::changes) {
            return Ok(changes);
        }
        let found = self.inner.request("compare a container", self.inner.api.container_changes(&self.id))?;
        let mut changes: Vec<Changed> = found
            .unwrap_or_default()
            .into_iter()
            .map(|change| Changed {
                path: PathBuf::from(change.path),
                kind: match change.kind {
                    bollard::models::ChangeType::_0 => ChangeKind::Modified,
                    bollard::models::ChangeType::_1 => ChangeKind::Added,
                    bollard::models::ChangeType::_2 => ChangeKind::Removed,
                },
            })
            .collect();
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }

    /// The status of a path, without following a link at its end; `None` if nothing is there.
    /// In-memory folders appear empty.
    pub fn stat(&self, path: &Path) -> Result<Option<PathStat>, SandboxError> {
        /// Bits of Go's `fs.FileMode`, the daemon's format of modes.
        const DIR: u32 = 1 << 31;
        const SPECIAL: u32 = 0x8f28_0000;
        if let Some(Ok(found)) = self.layers().map(|layers| layers.stat(path)) {
            return Ok(found);
        }
        // The daemon shows such a name with other characters.
        if path.to_str().is_none() {
            return Ok(None);
        }
        absolute(path, "the path")?;
        let options = ContainerArchiveInfoOptions { path: path.to_string_lossy().into_owned() };
        match self.inner.block(self.inner.api.get_container_archive_info(&self.id, Some(options))) {
            Ok(found) => Ok(Some(PathStat {
                size: u64::try_from(found.size).unwrap_or(0),
                is_dir: found.file_mode & DIR != 0,
                is_file: found.file_mode & SPECIAL == 0,
                mode: found.file_mode & 0o777,
                link: Some(found.link_target).filter(|link| !link.is_empty()).map(PathBuf::from),
            })),
            Err(error) if status(&error) == Some(404) => Ok(None),
            Err(error) => Err(failed("inspect a path in a container", &error)),
        }
    }

    /// Its usage so far, over all its starts. Empty if the daemon is not on this machine.
    pub fn usage(&self) -> Usage {
        let used = if self.alive { sum(self.used, self.counters.usage()) } else { self.used };
        Usage { frozen_seconds: self.freeze.seconds(), ..used }
    }

    fn count(&mut self) {
        self.used = self.usage();
    }

    /// Kills it and removes it with its files; returns its usage.
    pub fn remove(mut self) -> Result<Usage, SandboxError> {
        self.count();
        self.discard()?;
        Ok(self.used)
    }

    /// Kills and removes it in the background; returns its usage. [`Docker::wait_for_removals`]
    /// waits for this, as does the end of the last [`Docker`]. [`Docker::remove_stale`] removes
    /// what the daemon has not removed by then.
    pub fn remove_in_background(mut self) -> Usage {
        self.count();
        let (api, id, held) = (self.inner.api.clone(), self.id.clone(), self.attachment.take());
        self.removed = self.inner.remove_later(async move {
            let options = RemoveContainerOptions { v: true, force: true, link: false };
            let _ = api.remove_container(&id, Some(options)).await;
            drop(held);
        });
        self.used
    }

    fn discard(&mut self) -> Result<(), SandboxError> {
        if self.removed {
            return Ok(());
        }
        self.alive = false;
        let options = RemoveContainerOptions { v: true, force: true, link: false };
        let removed = self.inner.block(self.inner.api.remove_container(&self.id, Some(options)));
        self.attachment = None;
        match removed {
            Ok(()) => {}
            // Gone, or another process is removing it.
            Err(error) if matches!(status(&error), Some(404 | 409)) => {}
            Err(error) => return Err(failed("remove a container", &error)),
        }
        self.removed = true;
        Ok(())
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // If the daemon is unavailable, cleanup removes it later.
        let _ = self.discard();
    }
}

impl Session for Container {
    fn exec(&mut self, command: &Exec, cancel: &AtomicBool) -> Result<ExecOutcome, SandboxError> {
        self.exec_as(command, None, cancel)
    }

    fn path(&self, target: &Path) -> PathBuf {
        target.to_owned()
    }

    fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    fn freeze_on(&mut self, signal: Arc<dyn FreezeSignal>) {
        self.freeze.signal = Some(signal);
    }

    fn stop(self: Box<Self>) -> Result<Usage, SandboxError> {
        self.remove()
    }
}

fn sum(before: Usage, now: Usage) -> Usage {
    Usage {
        cpu_seconds: match (before.cpu_seconds, now.cpu_seconds) {
            (Some(before), Some(now)) => Some(before + now),
            (before, now) => before.or(now),
        },
        peak_memory_bytes: before.peak_memory_bytes.max(now.peak_memory_bytes),
        frozen_seconds: before.frozen_seconds,
    }
}

fn check(spec: &ContainerSpec, socket: &Path) -> Result<(), SandboxError> {
    let named = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if spec.label.is_empty() || spec.label.len() > 40 || !spec.label.chars().all(named) {
        return spec_error(format!(
            "invalid label {:?}: expected 1 to 40 characters of a-z, 0-9 and -",
            spec.label
        ));
    }
    for target in spec.mounts.iter().map(|mount| &mount.target).chain(&spec.tmpfs) {
        absolute(target, "the mount target")?;
        let covers = |path: &str| target.starts_with(path) || Path::new(path).starts_with(target);
        if ["/proc", "/sys", "/dev"].into_iter().any(covers) {
            return spec_error(format!("the mount target {} would cover a system folder", target.display()));
        }
    }
    for mount in &spec.mounts {
        source(&mount.source, socket)?;
    }
    if let Some(workdir) = &spec.workdir {
        absolute(workdir, "the working folder")?;
    }
    if let Some(user) = &spec.user {
        user_name(user)?;
    }
    environment(&spec.env)?;
    limits(&spec.limits)?;
    match &spec.network {
        DockerNetwork::Allow(hosts) => spec_error(format!(
            "a network of {} allowed hosts: Docker can enforce this only with an additional container, which assay \
             does not start",
            hosts.len()
        )),
        DockerNetwork::None | DockerNetwork::Public | DockerNetwork::Internal(_) => Ok(()),
    }
}

/// Refuses the daemon's socket and the folders in [`FORBIDDEN_SOURCES`], under any name, and
/// folders that contain one of them.
fn source(path: &Path, socket: &Path) -> Result<(), SandboxError> {
    let found = match path.canonicalize() {
        Ok(found) => found,
        Err(error) => return spec_error(format!("cannot mount {}: {error}", path.display())),
    };
    let socket = socket.canonicalize().unwrap_or_else(|_| socket.to_owned());
    let within =
        FORBIDDEN_SOURCES.iter().any(|path| found.starts_with(path) || Path::new(path).starts_with(&found));
    if within || socket.starts_with(&found) || found.to_str().is_none() {
        return spec_error(format!("{} may not be mounted into a container", path.display()));
    }
    Ok(())
}

pub(super) fn user_name(user: &str) -> Result<(), SandboxError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:-$".contains(c);
    if user.is_empty() || !user.chars().all(plain) {
        return spec_error(format!("invalid user {user:?}: expected a name or a number"));
    }
    Ok(())
}

pub(super) fn body(spec: &ContainerSpec, inner: &Inner) -> ContainerCreateBody {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mounts = spec.mounts.iter().map(|mount| ApiMount {
        target: Some(text(&mount.target)),
        source: Some(mount.source.canonicalize().map_or_else(|_| text(&mount.source), |path| text(&path))),
        typ: Some(MountType::BIND),
        read_only: Some(!mount.writable),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
            ..Default::default()
        }),
        ..Default::default()
    });
    let inside = match &spec.network {
        DockerNetwork::Internal(attachment) => Some(attachment),
        _ => None,
    };
    let log = match &spec.program {
        // Its first process prints nothing, and output of commands is streamed to us.
        None => HostConfigLogConfig { typ: Some("none".to_owned()), config: None },
        Some(_) => HostConfigLogConfig {
            typ: Some("json-file".to_owned()),
            config: Some(HashMap::from([("max-size".to_owned(), "1m".to_owned())])),
        },
    };
    let memory = spec.limits.memory_bytes.and_then(|bytes| i64::try_from(bytes).ok());
    let host = HostConfig {
        mounts: Some(mounts.collect()),
        tmpfs: Some(
            spec.tmpfs.iter().map(|path| (text(path), "rw,exec,nosuid,nodev,mode=1777".to_owned())).collect(),
        ),
        network_mode: Some(match &spec.network {
            DockerNetwork::Public => "bridge".to_owned(),
            DockerNetwork::Internal(attachment) => attachment.network.clone(),
            DockerNetwork::None | DockerNetwork::Allow(_) => "none".to_owned(),
        }),
        // The daemon answers questions for names on an internal network itself, and forwards all
        // others from outside the container. Nothing answers at this address inside.
        dns: inside.filter(|attachment| !attachment.public).map(|_| vec!["127.0.0.1".to_owned()]),
        memory,
        // The same as the memory limit: no swap in addition.
        memory_swap: memory,
        // The daemon counts in billionths of a CPU. Bounds were checked; a float casts to the
        // nearest end.
        nano_cpus: spec.limits.cpus.map(nano),
        pids_limit: Some(spec.limits.pids.unwrap_or(MOST_PIDS).into()),
        ulimits: Some(vec![ResourcesUlimits { name: Some("core".to_owned()), soft: Some(0), hard: Some(0) }]),
        cap_drop: Some(vec!["ALL".to_owned()]),
        cap_add: Some(CAPABILITIES.iter().map(ToString::to_string).collect()),
        security_opt: Some(vec!["no-new-privileges".to_owned()]),
        privileged: Some(false),
        ipc_mode: Some("private".to_owned()),
        log_config: Some(log),
        ..Default::default()
    };
    let labels = [
        (LABEL_STORE, &inner.options.store_label),
        (LABEL_OWNER, &inner.options.owner),
        (LABEL_NAME, &spec.label),
    ];
    ContainerCreateBody {
        image: Some(spec.image.id.clone()),
        entrypoint: Some(
            ["/bin/sh", "-c", if spec.program.is_some() { SERVICE } else { FIRST }]
                .map(str::to_owned)
                .to_vec(),
        ),
        cmd: Some(match &spec.program {
            None => Vec::new(),
            Some(words) => ["sh".to_owned()].into_iter().chain(words.iter().cloned()).collect(),
        }),
        user: match &spec.program {
            // So that no other user inside can kill the waiting child.
            None => Some("0:0".to_owned()),
            Some(_) => spec.user.clone(),
        },
        attach_stdin: Some(true),
        open_stdin: Some(true),
        stdin_once: Some(true),
        env: Some(spec.env.iter().map(|(name, value)| format!("{name}={value}")).collect()),
        working_dir: spec.workdir.as_deref().map(text),
        network_disabled: Some(matches!(spec.network, DockerNetwork::None | DockerNetwork::Allow(_))),
        networking_config: inside.map(|attachment| NetworkingConfig {
            endpoints_config: Some(HashMap::from([(
                attachment.network.clone(),
                EndpointSettings { aliases: Some(attachment.names.clone()), ..Default::default() },
            )])),
        }),
        // An image's own health check would run next to the trial and take time from it.
        healthcheck: Some(bollard::models::HealthConfig {
            test: Some(vec!["NONE".to_owned()]),
            ..Default::default()
        }),
        labels: Some(
            labels
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect::<HashMap<_, _>>(),
        ),
        host_config: Some(host),
        ..Default::default()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a limit above the maximum has no effect")]
fn nano(cpus: f64) -> i64 {
    (cpus * 1e9).ceil() as i64
}
