//! The paths that the agent may write.

use std::path::{Path, PathBuf};

use assay_skill::{Diagnostic, Severity};

use crate::{Dockerfile, TaskConfig};

/// Folders of the system. A task may copy files to them, which does not make them writable for the
/// agent. A work folder below one (`/usr/src/app`) is writable.
const SYSTEM: [&str; 20] = [
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/logs",
    "/proc",
    "/run",
    "/sbin",
    "/solution",
    "/sys",
    "/tests",
    "/usr",
    "/usr/local",
    "/usr/src",
    "/var",
    "/home",
];
/// Folders of the system of which no part is opened by a `COPY` alone.
const SEALED: [&str; 11] =
    ["/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"];

/// The work folder, the folders that `COPY` writes to, and the paths that the task requests:
/// absolute, sorted, none within another.
pub(super) fn writable(
    root: &Path,
    config: &TaskConfig,
    dockerfile: Option<&Dockerfile>,
    wished: Vec<PathBuf>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<PathBuf> {
    let own = config.environment.workdir.as_deref();
    let workdir = own.or(dockerfile.map(|file| file.workdir.as_path())).unwrap_or(Path::new("/"));
    let mut paths: Vec<PathBuf> = wished.into_iter().map(|path| workdir.join(path)).collect();
    if is_system(workdir) {
        // In Docker the agent may write where its user may, and an image has its own work folder.
        // Only a Dockerfile that can be followed without a builder is run elsewhere.
        let said = own.is_some() || dockerfile.is_some_and(|file| !file.workdirs.is_empty());
        if dockerfile.is_some_and(Dockerfile::plain) && config.environment.docker_image.is_none() {
            let message = if said {
                format!(
                    "the work folder {} is a system folder: in bubblewrap the agent cannot write there",
                    workdir.display()
                )
            } else {
                "no WORKDIR: Docker uses the image's; bubblewrap uses /, where the agent cannot write"
                    .to_owned()
            };
            let severity = if said { Severity::Warning } else { Severity::Info };
            diagnostics.push(
                Diagnostic::new(severity, "workdir-system", root.join("environment/Dockerfile"), message)
                    .hint("add `WORKDIR /app`, or list writable folders in `[metadata.assay] writable`"),
            );
        }
    } else {
        paths.push(workdir.to_path_buf());
    }
    for copy in dockerfile.iter().flat_map(|file| &file.copies) {
        let target = copy.target.as_path();
        // A target without a slash may be a file or a folder: if it is a separate folder, its
        // content, and nothing beside it, is writable.
        let folder = if copy.is_directory_target { target } else { target.parent().unwrap_or(target) };
        let sealed = SEALED.iter().any(|sealed| folder.starts_with(sealed)) && !folder.starts_with(workdir);
        if !is_system(folder) && !sealed {
            paths.push(folder.to_path_buf());
        } else if !copy.is_directory_target
            && !is_system(target)
            && !SEALED.iter().any(|sealed| target.starts_with(sealed))
        {
            // `COPY data /data`: the folder itself, for the one above it is the system's.
            paths.push(target.to_path_buf());
        }
    }
    paths.sort();
    paths.dedup();
    let mut outer: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !outer.iter().any(|above| path.starts_with(above)) {
            outer.push(path);
        }
    }
    outer
}

fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path == Path::new(system))
}
