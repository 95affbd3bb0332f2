//! Files of a laid-out tree. Nothing is written or removed through a link: a pull request can have put one there.

use std::io;
use std::path::{Path, PathBuf};

use super::request::EvaluationError;
use crate::paths::relative;
use crate::policy::Policy;
use crate::rules::Rules;

/// How often rules are read again: an experiment that was restored names other paths than the one it replaced.
const ROUNDS: usize = 4;

/// Removes what lies at a path, and any link or file in the place of a folder above.
pub(super) fn remove(root: &Path, path: &Path) -> Result<(), EvaluationError> {
    clear_way(root, path)?;
    let at = root.join(path);
    let removed = match at.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(&at),
        Ok(_) => std::fs::remove_file(&at),
    };
    removed.map_err(|source| EvaluationError::Write { path: at, source })
}

/// Removes links and files in the place of the folders above a path.
fn clear_way(root: &Path, path: &Path) -> Result<(), EvaluationError> {
    let mut at = root.to_owned();
    for part in path.parent().unwrap_or(Path::new("")).components() {
        at.push(part);
        match at.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                std::fs::remove_file(&at)
                    .map_err(|source| EvaluationError::Write { path: at.clone(), source })?;
                return Ok(());
            }
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

/// Copies a file, a folder or a link to a path where nothing is.
pub(super) fn copy(from: &Path, source: &Path, root: &Path, path: &Path) -> Result<(), EvaluationError> {
    clear_way(root, path)?;
    let at = root.join(path);
    let copied = at
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| copy_entry(&from.join(source), &at));
    copied.map_err(|source| EvaluationError::Write { path: at, source })
}

fn copy_entry(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = from.symlink_metadata()?;
    if metadata.is_symlink() {
        return std::os::unix::fs::symlink(std::fs::read_link(from)?, to);
    }
    if !metadata.is_dir() {
        return std::fs::copy(from, to).map(|_| ());
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy_entry(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Puts the target's files back wherever a rule reads inside of a replaced skill, and removes what the target does not have
/// there. Returns the paths that were not the target's.
pub(super) fn restore(
    policy: &Policy,
    settings: &Rules,
    root: &Path,
    target: &Path,
    skills: &[PathBuf],
) -> Result<Vec<String>, EvaluationError> {
    let place = relative(root, &policy.directory).unwrap_or_default();
    let own = Rules::of(&policy.in_folder(&target.join(place)), target);
    let mut found = Vec::new();
    for _ in 0..ROUNDS {
        let mut rules = own.clone();
        rules.extend(settings.clone());
        rules.extend(Rules::of(policy, root));
        let mut changed = false;
        for skill in skills {
            for path in rules.below(skill) {
                if is_same(&root.join(path), &target.join(path)) {
                    continue;
                }
                changed = true;
                found.push(path.display().to_string());
                remove(root, path)?;
                if target.join(path).symlink_metadata().is_ok() {
                    copy(target, path, root, path)?;
                }
            }
        }
        if !changed {
            break;
        }
    }
    Ok(found)
}

/// Whether two paths are the same files, folders and links; also if there is neither.
fn is_same(one: &Path, other: &Path) -> bool {
    let (Ok(first), Ok(second)) = (one.symlink_metadata(), other.symlink_metadata()) else {
        return one.symlink_metadata().is_err() && other.symlink_metadata().is_err();
    };
    if first.file_type() != second.file_type() || first.permissions() != second.permissions() {
        return false;
    }
    if first.is_symlink() {
        return std::fs::read_link(one).ok() == std::fs::read_link(other).ok();
    }
    if first.is_dir() {
        let names = |folder: &Path| -> Option<Vec<std::ffi::OsString>> {
            let mut names: Vec<_> = std::fs::read_dir(folder)
                .ok()?
                .map(|entry| entry.map(|entry| entry.file_name()))
                .collect::<Result<_, _>>()
                .ok()?;
            names.sort();
            Some(names)
        };
        let (Some(left), Some(right)) = (names(one), names(other)) else { return false };
        return left == right && left.iter().all(|name| is_same(&one.join(name), &other.join(name)));
    }
    first.len() == second.len() && std::fs::read(one).ok() == std::fs::read(other).ok()
}
