//! Checks whether a specification can be met.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::{Exec, Limits, Mount, Root, SandboxError, Spec};

/// The folder of the sandbox's own first process inside.
pub(crate) const OWN: &str = "/run/assay";
/// Paths that no mount may cover or reach into, because the sandbox itself needs them.
const SYSTEM_PATHS: [&str; 12] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/dev", "/sys", "/nix", OWN];
/// Paths that may contain mounts but not be covered as a whole.
const MOUNT_PARENTS: [&str; 2] = ["/", "/run"];

/// Checks everything that can be checked before anything is started.
pub(crate) fn check(spec: &Spec) -> Result<(), SandboxError> {
    let named = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if spec.label.is_empty() || spec.label.len() > 40 || !spec.label.chars().all(named) {
        return spec_error(format!(
            "invalid label {:?}: expected 1 to 40 characters of a-z, 0-9 and -",
            spec.label
        ));
    }
    for mount in &spec.mounts {
        target(&mount.target)?;
        if let Err(error) = fs::metadata(&mount.source) {
            return spec_error(format!("cannot mount {}: {error}", mount.source.display()));
        }
    }
    for (n, mount) in spec.mounts.iter().enumerate() {
        no_link_on_the_way(&mount.target, &spec.root, &spec.mounts[..n])?;
    }
    for path in &spec.tmpfs {
        target(path)?;
        no_link_on_the_way(path, &spec.root, &spec.mounts)?;
    }
    if let Root::Dir(dir) = &spec.root {
        match fs::canonicalize(dir) {
            Ok(dir) if dir == Path::new("/") => {
                return spec_error("the root filesystem must not be the host's".to_owned());
            }
            Ok(dir) if dir.is_dir() => {}
            Ok(_) => return spec_error(format!("the root filesystem {} is not a folder", dir.display())),
            Err(error) => return spec_error(format!("the root filesystem {}: {error}", dir.display())),
        }
    }
    absolute(&spec.workdir, "the working folder")?;
    environment(&spec.env)?;
    limits(&spec.limits)
}

/// Checks a command.
pub(crate) fn check_exec(exec: &Exec) -> Result<(), SandboxError> {
    match exec.argv.first() {
        None => return spec_error("a command without a program".to_owned()),
        Some(program) if program.is_empty() => {
            return spec_error("a command with an empty program name".to_owned());
        }
        Some(_) => {}
    }
    if exec.argv.iter().any(|argument| argument.contains('\0')) {
        return spec_error("an argument contains a NUL character".to_owned());
    }
    if let Some(cwd) = &exec.cwd {
        absolute(cwd, "the working folder")?;
    }
    environment(&exec.env)
}

pub(crate) fn spec_error<T>(reason: String) -> Result<T, SandboxError> {
    Err(SandboxError::Spec(reason))
}

pub(crate) fn environment(env: &[(String, String)]) -> Result<(), SandboxError> {
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return spec_error(format!("the environment variable {name:?} has an invalid name or value"));
        }
    }
    Ok(())
}

pub(crate) fn limits(limits: &Limits) -> Result<(), SandboxError> {
    if limits.cpus.is_some_and(|cpus| !(cpus.is_finite() && cpus > 0.0)) {
        return spec_error("the CPU limit must be greater than 0".to_owned());
    }
    let zero = limits.memory_bytes == Some(0) || limits.pids == Some(0) || limits.storage_bytes == Some(0);
    if zero { spec_error("a limit must be greater than 0".to_owned()) } else { Ok(()) }
}

/// Absolute, UTF-8, without NUL and `..`.
pub(crate) fn absolute(path: &Path, what: &str) -> Result<(), SandboxError> {
    let plain = |c: Component<'_>| matches!(c, Component::RootDir | Component::Normal(_));
    let text = path.to_str().is_some_and(|text| !text.contains('\0'));
    if text && path.is_absolute() && path.components().all(plain) {
        return Ok(());
    }
    spec_error(format!("{what} {} is not an absolute UTF-8 path without `..`", path.display()))
}

fn target(path: &Path) -> Result<(), SandboxError> {
    absolute(path, "the mount target")?;
    let covers = MOUNT_PARENTS.iter().any(|parent| path == Path::new(parent));
    if covers || SYSTEM_PATHS.iter().any(|floor| path.starts_with(floor)) {
        return spec_error(format!("the mount target {} would cover a system folder", path.display()));
    }
    Ok(())
}

/// The folder of a target must be the one it names: a link in its path, in a root filesystem or in
/// an earlier mount, would place it elsewhere.
fn no_link_on_the_way(target: &Path, root: &Root, earlier: &[Mount]) -> Result<(), SandboxError> {
    let below = earlier.iter().filter(|mount| target.starts_with(&mount.target) && target != mount.target);
    let (mut at, rest) = match below.max_by_key(|mount| mount.target.components().count()) {
        Some(mount) => {
            (mount.source.clone(), target.strip_prefix(&mount.target).unwrap_or(Path::new("")).to_owned())
        }
        None => match root {
            Root::Host => return Ok(()),
            Root::Dir(dir) => (dir.clone(), target.strip_prefix("/").unwrap_or(target).to_owned()),
        },
    };
    for component in rest.components() {
        at.push(component);
        match fs::symlink_metadata(&at) {
            Ok(found) if found.is_symlink() => {
                return spec_error(format!(
                    "the mount target {} goes through the symbolic link {}",
                    target.display(),
                    at.display()
                ));
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Ok(())
}

/// The path on the host of a path inside, by the mount that contains it.
pub(crate) fn on_the_host(path: &Path, mounts: &[(PathBuf, PathBuf)]) -> Option<PathBuf> {
    let covering = mounts.iter().filter(|(target, _)| path.starts_with(target));
    let (target, source) = covering.max_by_key(|(target, _)| target.components().count())?;
    let rest = path.strip_prefix(target).ok()?;
    Some(if rest.as_os_str().is_empty() { source.clone() } else { source.join(rest) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Network;

    fn spec(target: &str, label: &str) -> Spec {
        Spec {
            root: Root::Host,
            mounts: vec![Mount {
                source: PathBuf::from("/"),
                target: PathBuf::from(target),
                writable: false,
            }],
            tmpfs: vec![],
            workdir: PathBuf::from("/desk"),
            env: vec![],
            network: Network::None,
            limits: Limits::default(),
            label: label.to_owned(),
        }
    }

    #[test]
    fn refuses_targets_that_cover_the_system() {
        let too_long = "x".repeat(41);
        for (target, label, good) in [
            ("/desk", "a-1", true),
            ("/etc/thing", "a", true),
            ("/run/thing", "a", true),
            ("/library", "a", true),
            ("/root/.config", "a", true),
            ("work", "a", false),
            ("/desk/../etc", "a", false),
            ("/", "a", false),
            ("/usr", "a", false),
            ("/usr/local/x", "a", false),
            ("/bin/sh", "a", false),
            ("/lib64", "a", false),
            ("/proc/1", "a", false),
            ("/dev/shm", "a", false),
            ("/run", "a", false),
            ("/run/assay/init", "a", false),
            ("/desk", "", false),
            ("/desk", "A", false),
            ("/desk", "a/b", false),
            ("/desk", too_long.as_str(), false),
        ] {
            assert_eq!(check(&spec(target, label)).is_ok(), good, "{target} {label}");
        }
    }

    #[test]
    fn refuses_values_that_the_kernel_rejects() {
        for (change, good) in [
            ((|_| {}) as fn(&mut Spec), true),
            (|s| s.limits.cpus = Some(0.0), false),
            (|s| s.limits.cpus = Some(f64::NAN), false),
            (|s| s.limits.pids = Some(0), false),
            (|s| s.env = vec![("A=B".into(), String::new())], false),
            (|s| s.env = vec![("A".into(), "x\0y".into())], false),
            (|s| s.env = vec![("A".into(), "x=y".into())], true),
            (|s| s.workdir = PathBuf::from("work"), false),
            (|s| s.root = Root::Dir(PathBuf::from("/")), false),
            (|s| s.root = Root::Dir(PathBuf::from("/etc/passwd")), false),
            (|s| s.mounts[0].source = PathBuf::from("/no/such/thing"), false),
        ] {
            let mut spec = spec("/desk", "a");
            change(&mut spec);
            assert_eq!(check(&spec).is_ok(), good, "{spec:?}");
        }
    }

    #[test]
    fn refuses_targets_behind_links() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("plain")).unwrap();
        std::os::unix::fs::symlink("../oldroot", dir.path().join("link")).unwrap();
        for (target, good) in [
            ("/w/plain/x", true),
            ("/w/new/x", true),
            ("/w/link/x", false),
            ("/w/link", false),
            ("/v/link/x", true),
        ] {
            let mut spec = spec("/w", "a");
            spec.mounts[0].source = dir.path().to_owned();
            spec.tmpfs = vec![PathBuf::from(target)];
            assert_eq!(check(&spec).is_ok(), good, "{target} in a mount");
            spec.mounts.clear();
            spec.root = Root::Dir(dir.path().to_owned());
            spec.tmpfs = vec![PathBuf::from(target.replace("/w/", "/"))];
            assert_eq!(check(&spec).is_ok(), good, "{target} in a root");
        }
    }

    #[test]
    fn finds_the_deepest_mount() {
        let mounts =
            [("/a", "/host/1"), ("/a/b", "/host/2")].map(|(t, s)| (PathBuf::from(t), PathBuf::from(s)));
        for (path, expected) in [
            ("/a", Some("/host/1")),
            ("/a/x/y", Some("/host/1/x/y")),
            ("/a/b", Some("/host/2")),
            ("/a/b/c", Some("/host/2/c")),
            ("/ab", None),
        ] {
            assert_eq!(on_the_host(Path::new(path), &mounts), expected.map(PathBuf::from), "{path}");
        }
    }
}
