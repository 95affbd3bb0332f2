//! Control groups: they enforce a sandbox's limits and count its usage.
//!
//! Version 2 is used if the own group, or its parent, is writable and gives its children the memory
//! or the process controller. Version 1 is used if a controller's top folder is writable. In both,
//! assay creates a folder `assay`, with one group per sandbox in it:
//! `<label>.<pid>.<start>.<namespace>.<number>`, where the process id, its start time and its PID
//! namespace are those of the owner. Cleanup uses this to find leftovers. It skips those of other
//! namespaces, where the id belongs to another process or to none.
//!
//! A group of version 1 is at the top of its hierarchy: limits of an outer group (of a batch
//! engine, say) do not apply to it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{Limits, Mechanism, Usage, procs};

/// Our folder in a hierarchy.
const HOME: &str = "assay";
/// The period of CPU quotas in microseconds: the kernel's default.
const PERIOD: f64 = 100_000.0;
/// The smallest quota that the kernel accepts, in microseconds.
const LEAST_QUOTA: f64 = 1_000.0;

/// What a group controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Controller {
    Memory,
    Pids,
    Cpu,
    /// Counts CPU time; always available in version 2.
    Account,
}

/// The folders in which groups can be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hierarchies {
    homes: BTreeMap<Controller, (Version, PathBuf)>,
}

/// The version of a hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

impl Version {
    fn mechanism(self) -> Mechanism {
        match self {
            Self::V1 => Mechanism::CgroupV1,
            Self::V2 => Mechanism::CgroupV2,
        }
    }
}

impl Hierarchies {
    /// Finds what this process can use, and creates the `assay` folder where it can.
    pub(crate) fn find() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::find_in(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))
    }

    fn find_in(mounts: &str, groups: &str) -> Self {
        let mut homes = BTreeMap::new();
        for line in mounts.lines() {
            let Some(mount) = CgroupMount::parse(line) else { continue };
            if mount.version == Version::V2 {
                let own = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
                for (controller, home) in delegated(&mount, own) {
                    homes.insert(controller, (Version::V2, home));
                }
                continue;
            }
            for name in mount.options.split(',') {
                let controller = match name {
                    "memory" => Controller::Memory,
                    "pids" => Controller::Pids,
                    "cpu" => Controller::Cpu,
                    "cpuacct" => Controller::Account,
                    _ => continue,
                };
                let home = mount.point.join(HOME);
                if create_dir(&home).is_ok() && writable(&home) {
                    homes.entry(controller).or_insert((Version::V1, home));
                }
            }
        }
        Self { homes }
    }

    /// Creates the groups of a sandbox and sets its limits. Limits that cannot be enforced are
    /// missing from the result.
    pub(crate) fn create(&self, label: &str, limits: &Limits) -> Groups {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let pid = std::process::id().cast_signed();
        let start = procs::stat(pid).map_or(0, |stat| stat.start);
        let namespace = assay_fs::pid_namespace().unwrap_or(0);
        let name = format!("{label}.{pid}.{start}.{namespace}.{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut groups = Groups::default();
        for (&controller, (version, home)) in &self.homes {
            let wanted = match controller {
                Controller::Memory | Controller::Account => true,
                Controller::Pids => limits.pids.is_some(),
                Controller::Cpu => limits.cpus.is_some(),
            };
            let dir = home.join(&name);
            if !wanted || create_dir(&dir).is_err() {
                continue;
            }
            let set = |file: &str, value: String| fs::write(dir.join(file), value);
            let held = match (controller, version) {
                (Controller::Memory, Version::V1) => limits.memory_bytes.is_some_and(|bytes| {
                    let held = set("memory.limit_in_bytes", bytes.to_string()).is_ok();
                    // Together with swap, if swap is counted.
                    let _ = set("memory.memsw.limit_in_bytes", bytes.to_string());
                    held
                }),
                (Controller::Memory, Version::V2) => limits.memory_bytes.is_some_and(|bytes| {
                    let _ = set("memory.swap.max", "0".to_owned());
                    set("memory.max", bytes.to_string()).is_ok()
                }),
                (Controller::Pids, _) => {
                    limits.pids.is_some_and(|pids| set("pids.max", with_our_own(pids).to_string()).is_ok())
                }
                (Controller::Cpu, version) => limits.cpus.is_some_and(|cpus| {
                    let quota = (cpus * PERIOD).round().max(LEAST_QUOTA);
                    match version {
                        Version::V1 => {
                            set("cpu.cfs_period_us", format!("{PERIOD:.0}")).is_ok()
                                && set("cpu.cfs_quota_us", format!("{quota:.0}")).is_ok()
                        }
                        Version::V2 => set("cpu.max", format!("{quota:.0} {PERIOD:.0}")).is_ok(),
                    }
                }),
                (Controller::Account, _) => false,
            };
            groups.dirs.insert(controller, (*version, dir, held));
        }
        groups
    }
}

/// The process limit leaves room for the sandbox's own first process.
pub(crate) fn with_our_own(pids: u32) -> u64 {
    u64::from(pids) + 1
}

/// A line of mountinfo (proc(5)) that describes a hierarchy.
struct CgroupMount<'a> {
    version: Version,
    root: &'a str,
    point: PathBuf,
    options: &'a str,
}

impl<'a> CgroupMount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (front, back) = line.split_once(" - ")?;
        let mut front = front.split(' ').skip(3);
        let (root, point) = (front.next()?, PathBuf::from(front.next()?));
        let mut back = back.split(' ');
        let version = match back.next()? {
            "cgroup" => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        Some(Self { version, root, point, options: back.nth(1)? })
    }
}

/// The controllers of version 2 that groups below ours can have, each with the folder of our
/// groups.
///
/// A group that contains processes cannot give controllers to its children, except at the very top;
/// if our own group cannot, its parent is tried.
fn delegated(mount: &CgroupMount<'_>, own: &str) -> Vec<(Controller, PathBuf)> {
    let below = Path::new(own).strip_prefix(mount.root).unwrap_or(Path::new(""));
    let own = mount.point.join(below.strip_prefix("/").unwrap_or(below));
    let candidates = [Some(own.as_path()), own.parent().filter(|above| above.starts_with(&mount.point))];
    for parent in candidates.into_iter().flatten() {
        let offered = read(&parent.join("cgroup.controllers"));
        let wanted: Vec<&str> =
            ["memory", "pids", "cpu"].into_iter().filter(|c| words(&offered).any(|o| o == *c)).collect();
        if !wanted.iter().any(|c| matches!(*c, "memory" | "pids")) || !writable(parent) {
            continue;
        }
        let home = parent.join(HOME);
        for dir in [parent, &home] {
            let _ = create_dir(&home);
            let file = dir.join("cgroup.subtree_control");
            let given = read(&file);
            for controller in wanted.iter().filter(|c| !words(&given).any(|given| given == **c)) {
                let _ = fs::write(&file, format!("+{controller}"));
            }
        }
        let given = read(&home.join("cgroup.subtree_control"));
        let mut found: Vec<_> = words(&given)
            .filter_map(|name| match name {
                "memory" => Some(Controller::Memory),
                "pids" => Some(Controller::Pids),
                "cpu" => Some(Controller::Cpu),
                _ => None,
            })
            .map(|controller| (controller, home.clone()))
            .collect();
        if found.iter().any(|(controller, _)| matches!(controller, Controller::Memory | Controller::Pids)) {
            found.push((Controller::Account, home));
            return found;
        }
        let _ = fs::remove_dir(&home);
    }
    Vec::new()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_ascii_whitespace()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn number(path: &Path) -> Option<u64> {
    read(path).trim().parse().ok()
}

/// The number after `key` in a file of keys and values.
fn keyed(path: &Path, key: &str) -> Option<u64> {
    read(path).lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
}

fn create_dir(dir: &Path) -> io::Result<()> {
    match fs::create_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn writable(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

/// The groups of one sandbox; removed when dropped.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// By controller: the version, the folder, and whether a limit was set there. Controllers may
    /// share a folder.
    dirs: BTreeMap<Controller, (Version, PathBuf, bool)>,
}

impl Groups {
    /// Moves a process in, with its later children; drops the groups that do not accept it.
    pub(crate) fn add_process(&mut self, pid: i32) {
        self.dirs.retain(|_, (_, dir, _)| {
            let moved = fs::write(dir.join("cgroup.procs"), pid.to_string()).is_ok();
            if !moved {
                remove(dir);
            }
            moved
        });
    }

    /// What enforces the limit of this controller.
    pub(crate) fn mechanism_of(&self, controller: Controller) -> Option<Mechanism> {
        self.dirs.get(&controller).filter(|(.., held)| *held).map(|(version, ..)| version.mechanism())
    }

    fn dir(&self, controller: Controller) -> Option<(Version, &Path)> {
        self.dirs.get(&controller).map(|(version, dir, _)| (*version, dir.as_path()))
    }

    /// The number of processes killed for lack of memory so far.
    pub(crate) fn memory_kills(&self) -> u64 {
        let file = match self.dir(Controller::Memory) {
            Some((Version::V1, dir)) => dir.join("memory.oom_control"),
            Some((Version::V2, dir)) => dir.join("memory.events"),
            None => return 0,
        };
        keyed(&file, "oom_kill ").unwrap_or(0)
    }

    /// The usage so far.
    pub(crate) fn usage(&self) -> Usage {
        let cpu_seconds = self.dir(Controller::Account).and_then(|(version, dir)| match version {
            Version::V1 => Some(number(&dir.join("cpuacct.usage"))? as f64 / 1e9),
            Version::V2 => Some(keyed(&dir.join("cpu.stat"), "usage_usec ")? as f64 / 1e6),
        });
        let peak_memory_bytes = self.dir(Controller::Memory).and_then(|(version, dir)| {
            number(&dir.join(match version {
                Version::V1 => "memory.max_usage_in_bytes",
                Version::V2 => "memory.peak",
            }))
        });
        Usage { cpu_seconds, peak_memory_bytes, ..Usage::default() }
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for (_, dir, _) in self.dirs.values() {
            remove(dir);
        }
    }
}

/// Removes a group. The kernel may still count a process that has just died; cleanup removes a
/// leftover later.
fn remove(dir: &Path) {
    for wait in [0, 1, 2, 4, 8, 16, 32, 64, 128] {
        std::thread::sleep(Duration::from_millis(wait));
        match fs::remove_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            _ => return,
        }
    }
}

/// Removes the empty control groups of dead owners; returns their number.
///
/// An owner that was killed leaves its groups behind (its sandboxes die with it). Groups that
/// contain a process, and those of live owners, are not touched.
pub fn remove_stale_cgroups() -> usize {
    let namespace = assay_fs::pid_namespace().unwrap_or(0);
    let mut homes: Vec<PathBuf> = Hierarchies::find().homes.into_values().map(|(_, home)| home).collect();
    homes.sort();
    homes.dedup();
    let entries = homes.iter().filter_map(|home| fs::read_dir(home).ok()).flatten().flatten();
    entries
        .filter(|entry| {
            entry.file_name().to_str().is_some_and(|name| owner_is_dead(name, namespace, procs::stat))
        })
        .filter(|entry| fs::remove_dir(entry.path()).is_ok())
        .count()
}

fn owner_is_dead(name: &str, namespace: u64, stat: impl Fn(i32) -> Option<procs::Stat>) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let (pid, start) = match parts[..] {
        [_, pid, start, theirs, _] if theirs.parse() == Ok(namespace) => (pid, start),
        // The name in earlier versions.
        [_, pid, start, _] => (pid, start),
        _ => return false,
    };
    match (pid.parse(), start.parse::<u64>()) {
        (Ok(pid), Ok(start)) => stat(pid).is_none_or(|stat| stat.start != start),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that looks like a hierarchy of version 2 to plain file operations. Controllers that
    /// are not `given` to the children of `assay` cannot be enabled by writing, as if the kernel
    /// refused.
    fn v2(dir: &Path, own: &str, offered: &str, given: &str) -> Hierarchies {
        let group = dir.join(own.trim_start_matches('/'));
        fs::create_dir_all(group.join(HOME)).unwrap();
        fs::write(group.join("cgroup.controllers"), offered).unwrap();
        fs::write(group.join(HOME).join("cgroup.subtree_control"), given).unwrap();
        let mounts = format!("30 23 0:26 / {} rw - cgroup2 cgroup2 rw", dir.display());
        Hierarchies::find_in(&mounts, &format!("1:name=x:/y\n0::{own}\n"))
    }

    #[test]
    fn finds_delegated_controllers() {
        for (own, offered, given, expected) in [
            ("/user/own", "cpu memory pids", "cpu memory pids", 4),
            ("/user/own", "memory", "memory", 2),
            ("/user/own", "memory pids", "", 0),
            ("/user/own", "cpu hugetlb", "cpu", 0),
            ("/", "memory pids", "memory pids", 3),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let found = v2(dir.path(), own, offered, given);
            assert_eq!(found.homes.len(), expected, "{own} {offered:?} {given:?}: {found:?}");
            let home = dir.path().join(own.trim_start_matches('/')).join(HOME);
            assert!(found.homes.values().all(|(version, dir)| *version == Version::V2 && *dir == home));
        }
    }

    #[test]
    fn reads_version_1_mounts() {
        let dir = tempfile::tempdir().unwrap();
        let line =
            |options: &str| format!("30 23 0:26 / {} rw - cgroup cgroup rw,{options}", dir.path().display());
        let found = Hierarchies::find_in(&line("cpu,cpuacct"), "");
        let home = dir.path().join(HOME);
        let expected = [Controller::Cpu, Controller::Account]
            .map(|controller| (controller, (Version::V1, home.clone())));
        assert_eq!(found.homes, BTreeMap::from(expected));
        assert_eq!(Hierarchies::find_in(&line("freezer"), ""), Hierarchies::default());
        assert_eq!(Hierarchies::find_in("nonsense\n1 2 3 - cgroup", ""), Hierarchies::default());
    }

    #[test]
    fn writes_limits_in_the_format_of_each_version() {
        let limits =
            Limits { cpus: Some(1.5), memory_bytes: Some(1 << 20), pids: Some(9), storage_bytes: Some(1) };
        let cases: &[(Version, &[(&str, &str)])] = &[
            (
                Version::V1,
                &[
                    ("memory.limit_in_bytes", "1048576"),
                    ("memory.memsw.limit_in_bytes", "1048576"),
                    ("cpu.cfs_period_us", "100000"),
                    ("cpu.cfs_quota_us", "150000"),
                    ("pids.max", "10"),
                ],
            ),
            (
                Version::V2,
                &[
                    ("memory.max", "1048576"),
                    ("memory.swap.max", "0"),
                    ("cpu.max", "150000 100000"),
                    ("pids.max", "10"),
                ],
            ),
        ];
        for (version, files) in cases {
            let dir = tempfile::tempdir().unwrap();
            let all = [Controller::Memory, Controller::Pids, Controller::Cpu, Controller::Account];
            let homes = all.map(|c| (c, (*version, dir.path().to_owned())));
            let groups = Hierarchies { homes: BTreeMap::from(homes) }.create("x", &limits);
            let (_, group) = groups.dir(Controller::Memory).unwrap();
            for (file, value) in *files {
                assert_eq!(fs::read_to_string(group.join(file)).unwrap(), *value, "{file}");
            }
            assert_eq!(groups.mechanism_of(Controller::Cpu), Some(version.mechanism()));
            assert_eq!(groups.mechanism_of(Controller::Account), None);
        }
    }

    #[test]
    fn recognizes_leftovers_by_their_owner() {
        let alive = |pid| {
            (pid == 7).then_some(procs::Stat {
                parent: 1,
                group: 1,
                session: 1,
                ticks: 0,
                threads: 1,
                start: 100,
                pages: 0,
            })
        };
        for (name, dead) in [
            ("x.7.100.0", false),
            ("x.7.99.0", true),
            ("x.8.100.0", true),
            ("x.8.100", false),
            ("x.y.100.0", false),
            ("someone-else", false),
            ("x.7.100.40.0", false),
            ("x.8.100.40.0", true),
            ("x.8.100.41.0", false),
            ("a.b.8.100.0", false),
            ("a.b.8.100.40.0", false),
        ] {
            assert_eq!(owner_is_dead(name, 40, alive), dead, "{name}");
        }
    }
}
