//! What the library may know of this machine: its environment, its sandboxes, its signals.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_model::Price;
use assay_sandbox::docker::{self, Docker, DockerOptions};
use assay_sandbox::{Bubblewrap, Probe, SandboxError, probe_bubblewrap};
use assay_store::{Owner, RECORD_KEY_VARIABLE, Store};
use assay_trial::{CliAgentContext, MachineContext, Permissions, SandboxUnavailable, Sandboxes};

use crate::config::Settings;
pub use crate::environment::env;
use crate::failure::Failure;
use crate::record_keys;

/// The first argument under which this program is the first process of a sandbox.
pub(crate) const INIT: &str = "sandbox-init";

/// The first argument under which this program leads a sandbox's port to a socket.
pub(crate) const FORWARD: &str = "sandbox-forward";

/// The first argument under which this program is one of a task's test doubles.
pub(crate) const DOUBLE: &str = "sandbox-double";

/// Values of variables that are named like secrets, longest first.
pub(crate) fn secrets() -> Vec<String> {
    let is_secret =
        |name: &str| ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.ends_with(word));
    let mut values: Vec<String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_secret(name))
        .flat_map(|(name, value)| {
            let parts: Vec<String> = value.split(',').map(str::to_owned).collect();
            if name == RECORD_KEY_VARIABLE && parts.len() > 1 { parts } else { vec![value] }
        })
        .collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values
}

/// Whether somebody bills for a model, with the addresses of this environment.
pub fn is_paid(model: &str, base_url: Option<&str>, price: Option<Price>) -> bool {
    assay_ask::is_paid(model, base_url, price, &env)
}

fn init() -> (PathBuf, Vec<String>) {
    (std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe")), vec![INIT.to_owned()])
}

/// Where agents are installed: `ASSAY_CACHE`, or a folder among the user's caches.
pub(crate) fn cache() -> Result<PathBuf, Failure> {
    let own = env("XDG_CACHE_HOME").or_else(|| env("HOME").map(|home| format!("{home}/.cache")));
    env("ASSAY_CACHE")
        .map(PathBuf::from)
        .or_else(|| own.map(|own| PathBuf::from(own).join("assay")))
        .ok_or_else(|| {
            Failure::bad_input(
                "neither ASSAY_CACHE nor HOME is set, and agents are installed below one of them",
            )
        })
}

/// What agents as their makers ship them need of this machine.
pub(crate) fn cli_agents(replay: Option<&Path>) -> Option<CliAgentContext> {
    let (forwarder, _) = init();
    let replay = replay.map(Path::to_path_buf);
    Some(CliAgentContext {
        cache: cache().ok()?,
        forwarder,
        forwarder_args: vec![FORWARD.to_owned()],
        double_args: vec![DOUBLE.to_owned()],
        replay,
    })
}

/// What planning and executing ask of this machine. Experiments get no permission that the caller did not give.
pub fn context<'a>(sandboxes: &'a Sandboxes, replay: Option<&Path>) -> MachineContext<'a> {
    let permissions = Permissions::default();
    MachineContext { env: &env, sandboxes, dry: false, permissions, cli_agents: cli_agents(replay) }
}

/// Whether bubblewrap works here.
pub(crate) fn probe() -> Result<Probe, SandboxError> {
    let (program, args) = init();
    probe_bubblewrap(&program, &args)
}

/// Bubblewrap, for programs that are not trials.
pub(crate) fn bubblewrap_sandbox() -> Result<Arc<Bubblewrap>, Failure> {
    bubblewrap().map_err(|error| {
        Failure::infrastructure(error.to_string()).hint("`assay doctor` checks the sandboxes")
    })
}

/// The sandboxes of this machine that need no store.
pub fn sandboxes() -> Sandboxes {
    Sandboxes::new(bubblewrap(), Err(SandboxUnavailable::NotOffered("Docker needs a store")))
}

fn bubblewrap() -> Result<Arc<Bubblewrap>, SandboxUnavailable> {
    let (program, args) = init();
    probe()
        .map(|_| Arc::new(Bubblewrap::new(program, args)))
        .map_err(|error| SandboxUnavailable::Bubblewrap(Arc::new(error)))
}

/// The sandboxes of this machine, for trials of a store.
pub(crate) fn sandboxes_for(settings: &Settings) -> Result<Sandboxes, Failure> {
    // One label for the store and those beneath it: cleanup checks the owner of each container.
    let store = Store::open(&settings.store)?;
    let docker = docker_options(store.label(), &store.owner().mark());
    Ok(sandboxes_with(docker).of_store(&store))
}

/// The sandboxes of this machine, with a way to its Docker daemon.
pub(crate) fn sandboxes_with(docker: Result<DockerOptions, SandboxUnavailable>) -> Sandboxes {
    Sandboxes::new(bubblewrap(), docker)
}

/// A program of this project: beside this one, otherwise on the `PATH`.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    let path = std::env::var_os("PATH").unwrap_or_default();
    beside
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(&file))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The programs on the `PATH`, looked up once each.
pub struct Programs {
    folders: Vec<PathBuf>,
    found: RefCell<BTreeMap<String, bool>>,
}

impl Programs {
    /// Whether one of the folders has a file of this name.
    pub fn has(&self, name: &str) -> bool {
        if let Some(found) = self.found.borrow().get(name) {
            return *found;
        }
        let found = !name.contains('/') && self.folders.iter().any(|folder| folder.join(name).is_file());
        self.found.borrow_mut().insert(name.to_owned(), found);
        found
    }
}

/// The programs on the `PATH`.
pub fn programs() -> Programs {
    let folders = env("PATH").iter().flat_map(std::env::split_paths).collect();
    Programs { folders, found: RefCell::default() }
}

/// How to reach the Docker daemon: at `DOCKER_HOST`, where that is a socket of this machine, or where it usually is.
pub fn docker_options(label: &str, owner: &str) -> Result<DockerOptions, SandboxUnavailable> {
    let socket = match env("DOCKER_HOST") {
        None => None,
        Some(host) => match host.strip_prefix("unix://") {
            Some(path) if !path.is_empty() => Some(PathBuf::from(path)),
            _ => {
                return Err(SandboxUnavailable::RemoteDocker { host });
            }
        },
    };
    let mut options = DockerOptions::new(label, owner);
    options.socket = socket;
    options.program = env("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join("docker"))
        .find(|path| path.is_file());
    Ok(options)
}

/// Removes leftovers of dead processes from the Docker daemon, if the store has trials there. `None` if no daemon answers.
pub(crate) fn remove_stale_containers(store: &Store) -> Option<docker::Removed> {
    if !store.used_docker() {
        return None;
    }
    let docker = Docker::connect(docker_options(store.label(), &store.owner().mark()).ok()?).ok()?;
    let may_live = |mark: &str| Owner::of_mark(mark).is_some_and(|owner| !owner.is_dead());
    docker.remove_stale(store.label(), &may_live).ok()
}

/// Whether the Docker daemon answers.
pub(crate) fn docker_answers(store: &Store) -> bool {
    let options = docker_options(store.label(), &store.owner().mark());
    options.is_ok_and(|options| Docker::connect(options).is_ok())
}

/// Lets this process open as many files as its hard limit permits: each connection of a worker is one.
pub(crate) fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // With fewer, connections without a token are closed earlier.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Resident memory of this process, in bytes, where the kernel tells it (proc(5), `/proc/pid/statm`).
pub fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * u64::try_from(rustix::param::page_size()).ok()?)
}

/// Processor time of this process and all its threads so far, in seconds.
pub fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Opens a store for reading what it has. Records are checked against their signatures.
pub(crate) fn read_store(root: &Path) -> Result<Store, Failure> {
    Ok(Store::open(root)?.with_keys(record_keys::load_verifying()?))
}

/// Opens a store for trials whose records this process signs.
pub(crate) fn open_store(root: &Path) -> Result<Store, Failure> {
    Ok(open_store_unsigned(root)?.with_keys(record_keys::load_signing()?))
}

/// Opens a store for trials whose records another process accepts: a worker has no key. Sandboxes at work keep their files below `ASSAY_SCRATCH`, where that is set, and leases
/// that are not renewed end after `ASSAY_LEASE_SECONDS`.
pub(crate) fn open_store_unsigned(root: &Path) -> Result<Store, Failure> {
    let base = env("ASSAY_SCRATCH").map(PathBuf::from);
    let base = base.map(|base| std::path::absolute(&base).unwrap_or(base));
    let store = Store::open(root)?.work_in(base);
    let Some(text) = env("ASSAY_LEASE_SECONDS") else { return Ok(store) };
    match text.trim().parse() {
        Ok(seconds @ 1..) => Ok(store.lease_for(Duration::from_secs(seconds))),
        _ => Err(Failure::bad_input(format!(
            "ASSAY_LEASE_SECONDS must be a number of seconds of at least 1, and is {text:?}"
        ))),
    }
}

/// A flag that SIGINT, SIGTERM and SIGHUP set; the second of them ends the process at once. SIGHUP stays ignored if this
/// process was started so, as `nohup` does.
pub fn interrupted() -> Result<Arc<AtomicBool>, Failure> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let flag = Arc::new(AtomicBool::new(false));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let hangup = Some(SIGHUP).filter(|&signal| !ignores(&status, signal));
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone())
            .and_then(|_| signal_hook::flag::register(signal, flag.clone()))
            .map_err(|error| Failure::infrastructure(format!("cannot listen for signals: {error}")))?;
    }
    Ok(flag)
}

/// Whether a process ignores a signal, by its status (proc(5), `SigIgn`).
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::ignores;

    #[test]
    fn an_ignored_signal_is_told_from_others() {
        let status = "Name:\tassay\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        assert!(ignores(status, 1) && ignores(status, 13));
        assert!(!ignores(status, 2) && !ignores(status, 15) && !ignores("", 1) && !ignores("SigIgn:\tx", 1));
    }
}
