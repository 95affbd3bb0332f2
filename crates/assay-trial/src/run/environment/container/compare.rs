//! A container whose agent was killed, and the agent's changes in it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use assay_diagnostic::escape_path;
use assay_fs::{ChangeKind, Entry, FileKind, Manifest};
use assay_sandbox::docker::{Changed, Container};
use assay_sandbox::{Usage, unified_diff};

use super::base::{Additions, ImageEnvironment};
use super::files::{note_left_out, special_files};
use super::named::named_paths;
use super::pristine::Pristine;
use super::snapshot::ContainerSnapshot;
use super::verifier::ComparedContainer;
use crate::run::broken::{Broken, create_folder};
use crate::run::environment::phases::{Changes, DIFF_CAP, OUTSIDE, StoppedAgent};
use crate::run::image_scan::WORK_CAPS;
use crate::run::tamper::{Folder, VERIFIER_LOGS, image, read_small, tampering};

/// Most changed paths of a large work folder that the daemon is asked about, one by one.
pub(super) const MOST_CHECKED: usize = 20_000;

/// Most bytes of a file that is read to classify it.
const READ: u64 = 64 << 10;

/// After the agent was killed.
pub(crate) struct StoppedContainer<'a> {
    pub(super) environment: ImageEnvironment<'a>,
    pub(super) container: Container,
    pub(super) given: Additions,
    pub(super) used: Usage,
    /// What differs from the image.
    pub(super) changes: Vec<Changed>,
    /// Reasons why the agent's files cannot be inspected, if they cannot.
    pub(super) beyond: Vec<String>,
}

/// Whether a path is in a cache, which nothing depends on.
fn is_cache(path: &Path) -> bool {
    path.iter().any(|part| part == "__pycache__" || part == ".cache")
}

impl StoppedContainer<'_> {
    /// Whether assay itself made a change: mounts with their parent folders, what was removed, the
    /// logs, and what every container has.
    fn is_ours(&self, change: &Changed) -> bool {
        let path = change.path.as_path();
        // Files that a reference solution leaves here are not tampering; they are removed before
        // verification.
        if self.environment.attempt.trial.agent.needs_solution() && path.starts_with(VERIFIER_LOGS) {
            return true;
        }
        let own = ["/logs/agent", "/logs/artifacts", "/tmp", "/var/tmp", "/run", "/proc", "/sys", "/dev"];
        own.iter().any(|own| path.starts_with(own))
            || matches!(path.to_str(), Some("/" | "/logs" | "/.dockerenv" | "/etc/mtab" | "/var"))
            || matches!(path.to_str(), Some("/etc/hosts" | "/etc/hostname" | "/etc/resolv.conf"))
                && change.kind == ChangeKind::Added
            || self.given.mounts.iter().any(|mount| {
                path.starts_with(&mount.target)
                    || (mount.target.starts_with(path) && change.kind != ChangeKind::Removed)
            })
            || self
                .environment
                .scan
                .baked
                .iter()
                .any(|baked| path == baked && change.kind == ChangeKind::Removed)
            || self.environment.scan.verifier_copies.iter().any(|(own, _)| {
                path == own && change.kind == ChangeKind::Removed
                    || own.starts_with(path) && change.kind == ChangeKind::Modified
            })
            || self.given.planted.iter().any(|planted| {
                path.starts_with(planted) || (planted.starts_with(path) && change.kind != ChangeKind::Removed)
            })
    }

    /// The work folder and those above it whose permissions the agent changed, with the image's.
    fn closed_folders(&self, pristine: &mut Pristine<'_>) -> Result<Vec<(PathBuf, u32)>, Broken> {
        let mut closed = Vec::new();
        let folders = self.environment.workdir.ancestors().filter(|folder| *folder != Path::new("/"));
        for folder in folders {
            if !self.changes.iter().any(|change| change.path == folder && change.kind == ChangeKind::Modified)
            {
                continue;
            }
            let now = self.container.stat(folder)?.filter(|now| now.is_dir);
            let was = pristine.get()?.stat(folder)?.filter(|was| was.is_dir);
            if let (Some(now), Some(was)) = (now, was)
                && now.mode != was.mode
            {
                closed.push((folder.to_owned(), was.mode));
            }
        }
        Ok(closed)
    }

    /// Classifies the changes outside the work folder. What reaches a verifier in every environment
    /// is tampering; the rest only where the work is graded in this container.
    fn classify(
        &self,
        work: &[&Changed],
        elsewhere: &[&Changed],
        named: &[PathBuf],
        pristine: &RefCell<Pristine<'_>>,
        found: &mut Changes,
    ) -> Result<image::Verdict, Broken> {
        let (environment, container) = (&self.environment, &self.container);
        let mut read = |path: &Path| container.read(path, READ).ok().flatten();
        let mut is_same = |path: &Path| pristine.borrow_mut().has_the_same(container, path);
        let task = &environment.attempt.trial.task;
        let mut judge = |changes: &[&Changed]| {
            image::classify_changes(task, &environment.scan.programs, changes, &mut read, &mut is_same)
        };
        let (named, elsewhere): (Vec<&Changed>, Vec<&Changed>) = elsewhere
            .iter()
            .copied()
            .partition(|change| named.iter().any(|named| change.path.starts_with(named)));
        // A restored environment has the other work folders, and what the instruction names.
        let is_other = |change: &&Changed| {
            environment.workdir == Path::new("/") || !change.path.starts_with(&environment.workdir)
        };
        let others = work.iter().copied().filter(is_other);
        let mut others: Vec<&Changed> = others.chain(named.iter().copied()).collect();
        others.sort_by(|one, other| one.path.cmp(&other.path));
        let reaching = judge(&others);
        let mut verdict = judge(&elsewhere);
        found.tampered.extend(reaching.tampered.into_iter().chain(reaching.dangerous));
        found.tampered.append(&mut verdict.tampered);
        found.tampered.extend(special_files(container, &named)?);
        verdict.dangerous.extend(special_files(container, &elsewhere)?);
        verdict.bytecode |= reaching.bytecode;
        if environment.relies_on_container() {
            found.tampered.append(&mut verdict.dangerous);
        }
        Ok(verdict)
    }

    /// The current work folder, fetched if it is small, else queried path by path.
    ///
    /// None if it cannot be read, which is then reported in `found`.
    fn work_now(
        &self,
        changes: &[&Changed],
        found: &mut Changes,
    ) -> Result<Option<(Option<PathBuf>, Manifest)>, Broken> {
        if self.environment.scan.work.is_some() {
            let to = self.environment.attempt.scratch.join("work");
            create_folder(&to)?;
            let fetched = self.container.fetch(&self.environment.workdir, &to, &WORK_CAPS);
            let Some(report) = self.environment.seen(
                &self.environment.workdir.display().to_string(),
                fetched,
                &mut found.tampered,
            )?
            else {
                return Ok(None);
            };
            let mut manifest =
                Manifest::scan(&to, &WORK_CAPS).map_err(|error| Broken::harness_error(&error))?;
            for left in report.map(|report| report.left_out).unwrap_or_default() {
                note_left_out(&mut manifest, &left);
            }
            return Ok(Some((Some(to), manifest)));
        }
        let mut manifest = Manifest::default();
        let kept: Vec<_> = changes.iter().filter(|change| change.kind != ChangeKind::Removed).collect();
        let most = if self.container.is_read_directly() { usize::MAX } else { MOST_CHECKED };
        if kept.len() > most {
            let folder = self.environment.workdir.display();
            found.tampered.push(format!("{folder}: more than {most} changed files, which cannot be checked"));
            return Ok(None);
        }
        for change in kept {
            let Ok(inside) = change.path.strip_prefix(&self.environment.workdir) else { continue };
            let Some(found) = self.container.stat(&change.path)? else { continue };
            let kind = match () {
                () if found.is_dir => FileKind::Directory,
                () if found.link.is_some() => FileKind::Link,
                () if found.is_file => FileKind::File,
                () => FileKind::Other,
            };
            let entry = Entry { kind, size: found.size, mode: found.mode, digest: None, target: found.link };
            manifest.entries.insert(inside.to_path_buf(), entry);
        }
        Ok(Some((None, manifest)))
    }
}

impl<'a> StoppedAgent for StoppedContainer<'a> {
    type Snapshot = ContainerSnapshot;
    type Compared = ComparedContainer<'a>;

    fn used(&self) -> Usage {
        self.used
    }

    fn task_skills(&self) -> Vec<PathBuf> {
        let baked: &[PathBuf] =
            if self.environment.keeps_baked() { &self.environment.scan.baked } else { &[] };
        self.given.planted.iter().chain(baked).cloned().collect()
    }

    fn logs(&self) -> &Path {
        &self.environment.logs
    }

    fn written_skills(&self) -> PathBuf {
        self.environment.written_skills()
    }

    fn compare(mut self) -> Result<(Changes, Option<ComparedContainer<'a>>), Broken> {
        let mut found = Changes { tampered: std::mem::take(&mut self.beyond), ..Changes::default() };
        if !found.tampered.is_empty() {
            return Ok((found, None));
        }
        let (environment, container) = (&self.environment, &self.container);
        let trial = environment.attempt.trial;
        let task = &trial.task;
        let account = environment.account();
        let own_skills =
            trial.provision.writes_skills.then(|| account.path(Path::new(trial.agent.skills_dir())));
        let is_state =
            |path: &Path| path.strip_prefix(&account.home).is_ok_and(|own| trial.agent.is_own_state(own));
        let is_work = |path: &Path| {
            environment.workdir != Path::new("/") && path.starts_with(&environment.workdir)
                || task
                    .writable
                    .iter()
                    .any(|writable| path.starts_with(writable) && writable != Path::new("/"))
        };
        let changes: Vec<&Changed> = self.changes.iter().filter(|change| !self.is_ours(change)).collect();
        let (work, elsewhere): (Vec<&Changed>, Vec<&Changed>) =
            changes.into_iter().partition(|change| is_work(&change.path));
        let pristine = RefCell::new(environment.pristine());
        let named = named_paths(&task.instruction);
        let verdict = self.classify(&work, &elsewhere, &named, &pristine, &mut found)?;
        let (faults, links_in_logs) = self.link_faults(&mut pristine.borrow_mut())?;
        found.tampered.extend(faults);
        let closed = self.closed_folders(&mut pristine.borrow_mut())?;
        // A folder with a change in it is listed as changed itself, which means nothing.
        let is_mere_folder = |number: usize, change: &Changed| {
            change.kind == ChangeKind::Modified
                && elsewhere.get(number + 1).is_some_and(|next| next.path.starts_with(&change.path))
        };
        let shown = elsewhere
            .iter()
            .enumerate()
            .filter(|(number, change)| !is_mere_folder(*number, change))
            .map(|(_, change)| change)
            .filter(|change| !is_state(&change.path))
            .filter(|change| own_skills.as_ref().is_none_or(|own| !change.path.starts_with(own)));
        let shown: Vec<&&Changed> = shown.collect();
        let system = system_files(&shown, &named);
        found.outside.extend(shown.iter().take(OUTSIDE).map(|change| escape_path(&change.path)));
        if environment.workdir != Path::new("/")
            && environment.has_changes(&self.changes, &environment.workdir)
        {
            let Some((now, after)) = self.work_now(&work, &mut found)? else {
                return Ok((found, None));
            };
            let nothing = Manifest::default();
            let before = environment.scan.work.as_ref().map_or(&nothing, |(_, manifest)| manifest);
            let changes = if now.is_some() { before.diff(&after) } else { nothing.diff(&after) };
            let was = environment.scan.work.as_ref().map(|(was, _)| was);
            found.tampered.extend(tampering(
                task,
                &Folder {
                    root: &environment.workdir,
                    workdir: &environment.workdir,
                    changes: &changes,
                    after: &after,
                    read_before: &|path| match was {
                        Some(was) => read_small(was, path),
                        None => pristine.borrow_mut().read(&environment.workdir.join(path), READ),
                    },
                    read: &|path| match &now {
                        Some(now) => read_small(now, path),
                        None => container.read(&environment.workdir.join(path), READ).ok().flatten(),
                    },
                    pytest: &|| environment.scan.pytest.clone(),
                },
            ));
            found.add_changed(&environment.workdir, &environment.workdir, &changes);
            if let (Some(now), Some((was, _))) = (now, &environment.scan.work) {
                found.diff = unified_diff(was, &now, &changes, DIFF_CAP);
            }
        }
        pristine.into_inner().finish()?;
        let other = work.into_iter().filter(|change| !change.path.starts_with(&environment.workdir));
        found.outside.extend(other.map(|change| escape_path(&change.path)));
        check_logs(container, trial.agent.needs_solution(), &mut found)?;
        let Self { environment, container, given, changes, .. } = self;
        let compared = found.tampered.is_empty().then_some(ComparedContainer {
            environment,
            container,
            planted: given.planted,
            changes,
            verdict,
            closed,
            links_in_logs,
            system,
            named,
            is_collected: false,
            was_restored: false,
        });
        Ok((found, compared))
    }
}

/// The changed files of the system, among those that are shown: a restored environment has none of
/// them.
fn system_files(shown: &[&&Changed], named: &[PathBuf]) -> Vec<String> {
    let system = |change: &&&&Changed| {
        !change.path.starts_with("/logs")
            && !is_cache(&change.path)
            && !named.iter().any(|named| change.path.starts_with(named))
    };
    shown.iter().take(OUTSIDE).filter(system).map(|change| escape_path(&change.path)).collect()
}

/// Whether the folders of logs are still folders.
fn check_logs(container: &Container, has_solution: bool, found: &mut Changes) -> Result<(), Broken> {
    if container.stat(Path::new("/logs"))?.is_some_and(|logs| !logs.is_dir) {
        found.tampered.push("/logs: replaced".to_owned());
    }
    if container.stat(Path::new(VERIFIER_LOGS))?.is_some_and(|there| !there.is_dir) && !has_solution {
        found.tampered.push(format!("{VERIFIER_LOGS}: not a folder"));
    }
    Ok(())
}
