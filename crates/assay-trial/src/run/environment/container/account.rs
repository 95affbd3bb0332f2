//! The user that an agent runs as in a container, and that user's home.

use std::path::{Path, PathBuf};

/// The home of users without one in the image.
const OWN: &str = "/opt/assay/home";

/// Root's home, where agents' paths are given.
pub(super) const ROOT: &str = "/root";

/// A user of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    /// As Docker and `chown` take it.
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) home: PathBuf,
}

impl Account {
    /// `user` is `name`, `uid` or either with `:group`; `passwd` is the image's `/etc/passwd`.
    pub(super) fn of(user: Option<&str>, passwd: &str) -> Self {
        let user = user.filter(|user| !user.is_empty()).unwrap_or("0");
        let who = user.split_once(':').map_or(user, |(who, _)| who);
        let line = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| {
            fields.first().is_some_and(|name| *name == who) || fields.get(2).is_some_and(|uid| *uid == who)
        });
        let number = line.as_ref().and_then(|fields| fields.get(2)).copied().unwrap_or(who);
        let uid = number.parse().unwrap_or(0);
        let given = line.as_ref().and_then(|fields| fields.get(5)).map(Path::new);
        let usable = |home: &&Path| {
            let plain = home.components().all(|part| !matches!(part, std::path::Component::ParentDir));
            let system = ["/bin", "/dev", "/etc", "/proc", "/sbin", "/sys", "/usr"];
            home.is_absolute()
                && plain
                && *home != Path::new("/")
                && !home.starts_with("/nonexistent")
                && !system.iter().any(|system| home.starts_with(system))
        };
        let home = match uid {
            0 => Path::new(ROOT),
            _ => given.filter(usable).unwrap_or(Path::new(OWN)),
        };
        Self { name: user.to_owned(), uid, home: home.to_owned() }
    }

    /// The path for this user of a path below root's home.
    pub(super) fn path(&self, path: &Path) -> PathBuf {
        path.strip_prefix(ROOT).map_or_else(|_| path.to_owned(), |rest| self.home.join(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_resolved_with_a_home() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\nworker:x:1000:1000::/home/worker:/bin/sh\n\
                      nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\nbin:x:2:2:bin:/bin:/x\n\
                      up:x:7:7::/home/../etc:/x\nshort:x:8\n";
        let check = |user: Option<&str>, uid: u32, home: &str| {
            let found = Account::of(user, passwd);
            assert_eq!((found.uid, found.home.as_path()), (uid, Path::new(home)), "{user:?}");
        };
        check(None, 0, "/root");
        check(Some(""), 0, "/root");
        check(Some("root"), 0, "/root");
        check(Some("0:0"), 0, "/root");
        check(Some("worker"), 1000, "/home/worker");
        check(Some("1000:5"), 1000, "/home/worker");
        check(Some("worker:staff"), 1000, "/home/worker");
        check(Some("1234"), 1234, OWN);
        check(Some("nobody"), 65534, OWN);
        check(Some("bin"), 2, OWN);
        check(Some("up"), 7, OWN);
        check(Some("short"), 8, OWN);
        let worker = Account::of(Some("worker"), passwd);
        assert_eq!(worker.path(Path::new("/root/.codex/x")), Path::new("/home/worker/.codex/x"));
        assert_eq!(worker.path(Path::new("/skills/x")), Path::new("/skills/x"));
    }
}
