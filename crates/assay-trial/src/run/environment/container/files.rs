//! A container's files: artifacts that are kept, and special files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_fs::{ChangeKind, Entry, FileKind, LeftOut, Manifest};
use assay_sandbox::docker::{Changed, Container as Docked};
use assay_task::Artifact;

use crate::run::broken::{Broken, LOG_CAPS};

/// Pipes, sockets and devices outside the work folder, where a task may keep its work: not in the
/// system's folders, where servers have their sockets.
pub(super) fn special_files(container: &Docked, elsewhere: &[&Changed]) -> Result<Vec<String>, Broken> {
    /// Most changed paths that are checked one by one.
    const MOST: usize = 500;
    let leaves = elsewhere.iter().enumerate().filter(|(number, change)| {
        change.kind != ChangeKind::Removed
            && !is_system(&change.path)
            && !elsewhere.get(number + 1).is_some_and(|next| next.path.starts_with(&change.path))
    });
    let mut found = Vec::new();
    for (_, change) in leaves.take(MOST) {
        let Some(there) = container.stat(&change.path)? else { continue };
        if there.link.is_none() && !there.is_dir && !there.is_file {
            let shown = assay_diagnostic::escape_path(&change.path);
            found.push(format!("{shown}: neither file nor folder"));
        }
    }
    Ok(found)
}

/// Whether a path is in a folder with an image's own files.
pub(super) fn is_system(path: &Path) -> bool {
    const SYSTEM: [&str; 12] = [
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/var", "/opt", "/boot", "/root",
        "/home",
    ];
    SYSTEM.iter().any(|passed| path.starts_with(passed))
}

/// The path of an artifact, relative to the folder of artifacts.
pub(super) fn kept_as(artifact: &Artifact) -> PathBuf {
    let source = artifact.source.strip_prefix("/").unwrap_or(&artifact.source).to_path_buf();
    artifact.destination.clone().unwrap_or(source)
}

/// Removes what an artifact's patterns leave out.
pub(super) fn leave_out(folder: &Path, patterns: &[String]) {
    let mut set = globset::GlobSetBuilder::new();
    for glob in patterns.iter().filter_map(|pattern| globset::Glob::new(pattern).ok()) {
        set.add(glob);
    }
    let (Ok(set), Ok(manifest)) = (set.build(), Manifest::scan(folder, &LOG_CAPS)) else { return };
    for path in manifest.entries.keys().filter(|path| set.is_match(path)) {
        // Gone already with a folder above it, or left for people to see.
        let _ = assay_fs::remove_tree(&folder.join(path));
    }
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Broken> {
    std::fs::write(path, bytes)
        .map_err(|error| Broken::harness(format!("cannot write {}: {error}", path.display())))
}

/// Entries that an archive left out are special files, or too large.
pub(super) fn note_left_out(manifest: &mut Manifest, left: &LeftOut) {
    let kinds: BTreeMap<&str, FileKind> =
        [("a pipe", FileKind::Other), ("a device", FileKind::Other), ("something else", FileKind::Other)]
            .into();
    if let Some(kind) = kinds.get(left.reason.as_str()) {
        let entry = Entry { kind: *kind, size: 0, mode: 0, digest: None, target: None };
        manifest.entries.insert(left.path.clone(), entry);
    }
}
