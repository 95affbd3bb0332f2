//! Who holds a lease: a process that can be told from any later one with its number.

use std::fs;
use std::io;

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
}

impl Owner {
    /// This process.
    pub fn current() -> io::Result<Self> {
        Self::of(std::process::id())
    }

    /// The process with a number.
    pub(super) fn of(pid: u32) -> io::Result<Self> {
        let start =
            start_of(pid).ok_or_else(|| io::Error::other("/proc does not tell when this process started"))?;
        Ok(Self { pid, start, boot: boot()? })
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        boot().is_ok_and(|boot| boot == self.boot) && start_of(self.pid) == Some(self.start)
    }

    /// The process of this boot that a name of [`Owner::label`] stands for.
    pub(super) fn of_label(label: &str) -> Option<Self> {
        let (pid, start) = label.split_once('-')?;
        Some(Self { pid: pid.parse().ok()?, start: start.parse().ok()?, boot: boot().ok()? })
    }

    /// A name for folders and control groups.
    pub fn label(&self) -> String {
        format!("{}-{}", self.pid, self.start)
    }
}

/// For labels of what outlives its maker beyond a boot.
impl Owner {
    /// All of it in one word.
    pub fn mark(&self) -> String {
        format!("{}-{}-{}", self.pid, self.start, self.boot)
    }

    /// Whether the process that a [`Owner::mark`] stands for still runs; no process is meant by anything else.
    pub fn mark_is_alive(mark: &str) -> bool {
        let mut parts = mark.splitn(3, '-');
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (Some(pid), Some(start)) = (number(), number()) else { return false };
        let (Ok(pid), Some(boot)) = (u32::try_from(pid), parts.next()) else { return false };
        Self { pid, start, boot: boot.to_owned() }.is_alive()
    }
}

fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Field 22 of `/proc/PID/stat`; the second field, the program's name, may hold spaces and brackets. A zombie is dead.
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
    fn only_the_very_process_is_alive() {
        let me = Owner::current().unwrap();
        assert!(me.is_alive());
        assert_eq!(Owner::of_label(&me.label()), Some(me.clone()));
        assert_eq!(Owner::of_label("lost+found"), None);
        assert!(Owner::mark_is_alive(&me.mark()));
        assert!(!Owner::mark_is_alive(&Owner { start: me.start + 1, ..me.clone() }.mark()));
        assert!(!Owner::mark_is_alive("1-2") && !Owner::mark_is_alive(""));
        assert!(!Owner { start: me.start + 1, ..me.clone() }.is_alive());
        assert!(!Owner { boot: "another".into(), ..me.clone() }.is_alive());
        let mut child = Command::new("true").spawn().unwrap();
        let owner = Owner { pid: child.id(), start: start_of(child.id()).unwrap_or(0), ..me };
        // A zombie until it is waited for, and then gone: dead in both.
        while start_of(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert!(!owner.is_alive());
        child.wait().unwrap();
        assert!(!owner.is_alive());
    }
}
