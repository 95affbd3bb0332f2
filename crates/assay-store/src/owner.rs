//! The owner of a lease: a process, distinguishable from later ones with its number and from those
//! of other machines.

use std::fs;
use std::io;

use assay_fs::pid_namespace;
use serde::{Deserialize, Serialize};

/// A process, for as long as the machine runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub start: u64,
    /// Which boot of the machine that was.
    pub boot: String,
    /// Hashed identity of the machine. Earlier versions did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The namespace in which its number counts: a container has a separate one. Earlier versions
    /// did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<u64>,
}

/// Liveness of an owner, as seen from this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It has ended, or its machine has been restarted.
    Dead,
    /// Another machine's, or of another PID namespace: its number means nothing here.
    Foreign,
}

impl Owner {
    /// This process.
    pub fn current() -> io::Result<Self> {
        Self::of(std::process::id())
    }

    /// The process with a number.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let start =
            start_of(pid).ok_or_else(|| io::Error::other("/proc does not show when this process started"))?;
        Ok(Self { pid, start, boot: boot()?, host: Some(host()), pid_namespace: pid_namespace() })
    }

    /// Its state, as far as it is known here.
    pub fn liveness(&self) -> Liveness {
        // Without it, nothing is known about any owner.
        let Ok(here) = boot() else { return Liveness::Foreign };
        if here == self.boot {
            // The same kernel, whatever name a container uses.
            if self.pid_namespace.is_some_and(|namespace| Some(namespace) != pid_namespace()) {
                Liveness::Foreign
            } else if start_of(self.pid) == Some(self.start) {
                Liveness::Alive
            } else {
                Liveness::Dead
            }
        } else if self.host.as_ref().is_some_and(|name| *name != host()) {
            Liveness::Foreign
        } else {
            Liveness::Dead
        }
    }

    /// Whether it still runs, on this machine and in this namespace.
    pub fn is_alive(&self) -> bool {
        self.liveness() == Liveness::Alive
    }

    /// Whether it is known to have ended: its leftovers may be removed.
    pub fn is_dead(&self) -> bool {
        self.liveness() == Liveness::Dead
    }

    /// The process of a label made by [`Owner::label`]; `None` for other texts.
    pub(crate) fn of_label(label: &str) -> Option<Self> {
        let mut parts = label.split('-');
        let (pid, start) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let own = Self { pid, start, boot: boot().ok()?, host: Some(host()), pid_namespace: pid_namespace() };
        match (parts.next(), parts.next()) {
            // As earlier versions named it.
            (None, None) => Some(own),
            (Some(tag), None) if tag == own.tag() => Some(own),
            // From another machine or namespace, which the label does not contain.
            (Some(_), None) => Some(Self { boot: String::new(), host: Some(String::new()), ..own }),
            _ => None,
        }
    }

    /// A name for folders, which no process of another machine or namespace has.
    pub fn label(&self) -> String {
        format!("{}-{}-{}", self.pid, self.start, self.tag())
    }

    /// The place in which it runs, in a few letters.
    fn tag(&self) -> String {
        let place = format!("{} {:?} {:?}", self.boot, self.host, self.pid_namespace);
        blake3::hash(place.as_bytes()).to_hex()[..8].to_owned()
    }

    /// A single-word form for labels of resources that outlive their process beyond a boot.
    pub fn mark(&self) -> String {
        let namespace = self.pid_namespace.unwrap_or_default();
        let host = self.host.as_deref().unwrap_or_default();
        format!("{}-{}-{}_{namespace}_{host}", self.pid, self.start, self.boot)
    }

    /// The process of an [`Owner::mark`].
    pub fn of_mark(mark: &str) -> Option<Self> {
        let mut parts = mark.splitn(3, '-');
        let (pid, start) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let mut place = parts.next()?.splitn(3, '_');
        let boot = place.next()?.to_owned();
        let pid_namespace = place.next().and_then(|text| text.parse().ok()).filter(|&number| number != 0);
        let host = place.next().filter(|host| !host.is_empty()).map(str::to_owned);
        Some(Self { pid, start, boot, host, pid_namespace })
    }
}

fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// This machine, hashed, because its id is confidential (machine-id(5)). With its name, because
/// copies of a machine share their id.
fn host() -> String {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let names = rustix::system::uname();
    let name = names.nodename().to_string_lossy();
    blake3::hash(format!("assay host\n{}\n{name}", id.trim()).as_bytes()).to_hex()[..16].to_owned()
}

/// Field 22 of `/proc/PID/stat`; the second field, the program's name, may contain spaces and
/// brackets. A zombie is dead.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn liveness_requires_the_same_process() {
        let me = Owner::current().unwrap();
        assert!(me.is_alive() && me.pid_namespace.is_some() && me.host.is_some());
        assert_eq!(Owner::of_label(&me.label()), Some(me.clone()));
        assert_eq!(Owner::of_label("lost+found"), None);
        assert_eq!(Owner::of_mark(&me.mark()), Some(me.clone()));
        assert_eq!(Owner::of_mark("1-2"), None);
        assert_eq!(Owner::of_mark(""), None);
        assert!(Owner { start: me.start + 1, ..me.clone() }.is_dead());
        assert!(Owner { boot: "another".into(), ..me.clone() }.is_dead());
        let mut child = Command::new("true").spawn().unwrap();
        let owner = Owner { pid: child.id(), start: start_of(child.id()).unwrap_or(0), ..me };
        // A zombie until it is waited for, and then gone: dead in both cases.
        while start_of(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert!(owner.is_dead());
        child.wait().unwrap();
        assert!(owner.is_dead());
    }

    #[test]
    fn liveness_elsewhere_is_unknown() {
        let me = Owner::current().unwrap();
        let check = |owner: Owner, expected: Liveness| {
            assert_eq!(owner.liveness(), expected, "{owner:?}");
            assert_eq!(Owner::of_mark(&owner.mark()).unwrap().liveness(), expected, "{owner:?}");
        };
        let other = Some("0123456789abcdef".to_owned());
        // A container on this machine, alive or not; and one with its own name.
        check(Owner { pid_namespace: Some(1), ..me.clone() }, Liveness::Foreign);
        check(Owner { pid_namespace: Some(1), start: 0, ..me.clone() }, Liveness::Foreign);
        check(Owner { host: other.clone(), ..me.clone() }, Liveness::Alive);
        // Another machine; and this one, before it was restarted.
        check(Owner { host: other.clone(), boot: "another".into(), ..me.clone() }, Liveness::Foreign);
        check(Owner { boot: "another".into(), pid_namespace: Some(1), ..me.clone() }, Liveness::Dead);
        // Earlier versions wrote fewer fields.
        check(Owner { host: None, pid_namespace: None, ..me.clone() }, Liveness::Alive);
        check(Owner { host: None, pid_namespace: None, start: 0, ..me.clone() }, Liveness::Dead);
        check(
            Owner { host: None, pid_namespace: None, boot: "another".into(), ..me.clone() },
            Liveness::Dead,
        );
        let old = format!(r#"{{"pid":{},"start":{},"boot":"{}"}}"#, me.pid, me.start, me.boot);
        assert!(serde_json::from_str::<Owner>(&old).unwrap().is_alive());
        assert!(Owner::of_mark(&format!("{}-{}-{}", me.pid, me.start, me.boot)).unwrap().is_alive());
        assert_eq!(Owner::of_label("1-2").unwrap().liveness(), Liveness::Dead);
        assert_eq!(Owner::of_label("1-2-00000000").unwrap().liveness(), Liveness::Foreign);
        assert_eq!(Owner::of_label("1-2-3-4"), None);
    }
}
