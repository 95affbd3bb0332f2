//! Grading in the image as it was: a fresh container, with the agent's work folders.
//!
//! In a container the agent may be root, and no list has all files by which it could control a
//! verifier. In a restored environment the list is not needed: programs, libraries and settings are
//! the image's, and only what is below the task's work folders is the agent's.
//!
//! Where a task needs more of what its solution changes, it is graded in the agent's own container.
//! There, what the image has in the system's folders is put back first, except what the task keeps.

use std::path::{Path, PathBuf};

use assay_fs::{Caps, ChangeKind};
use assay_sandbox::docker::{Changed, Container, Owner};
use assay_store::Cause;

use super::compare::MOST_CHECKED;
use super::verifier::{ComparedContainer, VerifierInContainer};
use crate::run::broken::Broken;
use crate::run::egress_proxy;
use crate::run::tamper::image::is_asked_for;

/// Folders with the image's own files, which are put back.
const SYSTEM: [&str; 9] = ["/etc", "/usr", "/opt", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin"];

/// Most paths that are put back one by one.
const MOST_RESTORED: usize = 2_000;

/// Most bytes of changed files that are copied.
const MOST_BYTES: u64 = 8 << 30;

/// Removes the folders in the arguments, and makes those above them.
const CLEAR: &str = "for path; do rm -rf -- \"$path\" && mkdir -p -- \"${path%/*}/\" || exit 1; done";

impl<'a> ComparedContainer<'a> {
    /// The folders with the agent's work, and files where the instruction names one; none of them
    /// is in another.
    fn work_folders(&self) -> Vec<&Path> {
        let writable = &self.environment.attempt.trial.task.writable;
        let all = std::iter::once(&self.environment.workdir).chain(writable).chain(&self.named);
        let all = all.map(PathBuf::as_path);
        let mut all: Vec<&Path> = all.filter(|folder| *folder != Path::new("/")).collect();
        all.sort();
        all.dedup_by(|below, above| below.starts_with(above));
        all
    }

    /// Starts the verifier in a fresh container of the image.
    pub(super) fn restored_verifier(&mut self) -> Result<VerifierInContainer<'a>, Broken> {
        self.collect_once()?;
        self.was_restored = true;
        let environment = self.environment.clone();
        let trial = environment.attempt.trial;
        let mut spec = environment.spec(&environment.prepared.image, &trial.verifier_network, "verifier");
        spec.mounts = egress_proxy::mounts(trial, &environment.attempt.egress_folder());
        let mut container = environment.docker.create_stopped(&spec)?;
        self.copy_work_folders(&mut container)?;
        environment.put_logs(&container, &["agent", "artifacts"])?;
        let collects = !trial.task.config.collect.is_empty();
        for folder in ["/logs/agent", "/logs/artifacts"] {
            if collects || environment.has_changes(&self.changes, Path::new(folder)) {
                container.copy_from(&self.container, Path::new(folder))?;
            }
        }
        for (path, kept) in &environment.scan.verifier_copies {
            container.copy_in(kept, path, Owner::default(), &Caps::default())?;
        }
        environment.put_verifier_files(&container)?;
        container.restart()?;
        let removed = self.planted.iter().chain(&environment.scan.baked).chain(&self.links_in_logs);
        environment.remove(&mut container, removed.map(PathBuf::as_path))?;
        for (folder, mode) in &self.closed {
            let (mode, folder) = (format!("{mode:o}"), folder.display().to_string());
            environment.housekeeping(&mut container, &["chmod", &mode, "--", &folder])?;
        }
        let mut running = environment.run_in(&trial.verifier_network, container)?;
        running.session.user =
            trial.task.config.verifier_user.clone().or_else(|| environment.prepared.user.clone());
        let logs = environment.logs.join("verifier");
        Ok(VerifierInContainer { environment, running, logs })
    }

    /// Replaces the work folders of a fresh container by the agent's, and empties the verifier's
    /// folders. The container does not run afterwards.
    fn copy_work_folders(&self, container: &mut Container) -> Result<(), Broken> {
        let environment = &self.environment;
        let changed: Vec<&Path> = self
            .work_folders()
            .into_iter()
            .filter(|folder| {
                // A folder is modified whenever something in it is; a file is so by itself.
                let is_new = |change: &Changed| {
                    change.path == *folder
                        && (change.kind != ChangeKind::Modified
                            || self.named.iter().any(|named| named == folder))
                };
                environment.has_changes(&self.changes, folder) || self.changes.iter().any(is_new)
            })
            .collect();
        self.check_size(&changed, Cause::Verifier)?;
        let cleared: Vec<String> = changed
            .iter()
            .copied()
            .chain(environment.scan.verifier_folders.iter().map(PathBuf::as_path))
            .map(|path| path.display().to_string())
            .collect();
        if cleared.is_empty() {
            return Ok(());
        }
        container.restart()?;
        let words: Vec<&str> =
            ["/bin/sh", "-c", CLEAR, "sh"].into_iter().chain(cleared.iter().map(String::as_str)).collect();
        environment.housekeeping(container, &words)?;
        container.halt()?;
        for folder in changed {
            container.copy_from(&self.container, folder)?;
        }
        Ok(())
    }

    /// Files that are too large to be copied cannot be graded, or kept for the next step. Their sizes
    /// are what they claim: a sparse file is filled when it is copied.
    pub(super) fn check_size(&self, folders: &[&Path], cause: Cause) -> Result<(), Broken> {
        let changes = self.changes.iter().filter(|change| change.kind != ChangeKind::Removed);
        let changes = changes.filter(|change| folders.iter().any(|folder| change.path.starts_with(folder)));
        // Otherwise the daemon is asked about each, which takes a while.
        let most = if self.container.is_read_directly() { usize::MAX } else { MOST_CHECKED };
        let mut bytes = 0_u64;
        for change in changes.take(most) {
            let found = self.container.stat(&change.path)?.filter(|found| found.is_file);
            bytes = bytes.saturating_add(found.map_or(0, |found| found.size));
        }
        if bytes > MOST_BYTES {
            let message = format!("the changed files are larger than {} GiB", MOST_BYTES >> 30);
            return Err(Broken::new(cause, message));
        }
        Ok(())
    }

    /// Puts back what the image has in the system's folders, except what the task keeps, and removes
    /// bytecode that the agent may have written. New files stay.
    pub(super) fn restore_system_files(&mut self) -> Result<(), Broken> {
        let task = &self.environment.attempt.trial.task;
        let work = self.work_folders();
        let is_kept = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            task.keep.iter().any(|kept| path.starts_with(kept)) || is_asked_for(task, &name)
        };
        let is_system = |path: &Path| {
            SYSTEM.iter().any(|folder| path.starts_with(folder))
                && !work.iter().any(|folder| path.starts_with(folder))
                && !is_kept(path)
        };
        let changes = &self.changes;
        let is_mere_folder = |number: usize, change: &Changed| {
            changes.get(number + 1).is_some_and(|next| next.path.starts_with(&change.path))
        };
        let bytecode: Vec<PathBuf> = changes
            .iter()
            .filter(|change| change.kind != ChangeKind::Removed && is_system(&change.path))
            .filter(|change| change.path.extension().is_some_and(|ending| ending == "pyc"))
            .map(|change| change.path.clone())
            .collect();
        let mut restored: Vec<&Path> = Vec::new();
        for (number, change) in changes.iter().enumerate() {
            let is_ours = matches!(
                change.path.to_str(),
                Some("/etc/hosts" | "/etc/hostname" | "/etc/resolv.conf" | "/etc/mtab")
            );
            let below_another = restored.iter().any(|above| change.path.starts_with(above));
            if change.kind != ChangeKind::Added
                && is_system(&change.path)
                && !is_ours
                && !below_another
                && (change.kind == ChangeKind::Removed || !is_mere_folder(number, change))
            {
                restored.push(&change.path);
            }
        }
        if restored.len() > MOST_RESTORED {
            let message = format!(
                "{} files of the image were changed, and at most {MOST_RESTORED} can be put back",
                restored.len()
            );
            return Err(Broken::new(Cause::Verifier, message));
        }
        if !bytecode.is_empty() {
            self.container.restart()?;
            self.environment.remove(&mut self.container, bytecode.iter().map(PathBuf::as_path))?;
            self.container.halt()?;
        }
        if restored.is_empty() {
            return Ok(());
        }
        let mut pristine = self.environment.pristine();
        for path in restored {
            let (was, now) = (pristine.get()?.stat(path)?, self.container.stat(path)?);
            // Only the times of a folder differ: something came and went in it.
            if was.is_some_and(|was| was.is_dir) && now.is_some_and(|now| now.is_dir) {
                continue;
            }
            self.container.copy_from(pristine.get()?, path)?;
        }
        pristine.finish()
    }
}
