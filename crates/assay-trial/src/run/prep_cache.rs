//! The preparation cache of a process: prepared environments, skills, solutions.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use assay_diagnostic::{chain, clean_start};
use assay_fs::{Caps, FsError, Manifest, copy_tree};
use assay_gateway::{Gateway, GatewayOptions};
use assay_sandbox::Root;
use assay_sandbox::docker::{Docker, Image, ImageError, ImageSource};
use assay_skill::Package;
use assay_store::{Cause, Store, StoreError, VerifierEnvironment};
use assay_task::{Healthcheck, Service, Task, TaskError};
use serde::{Deserialize, Serialize};

use crate::run::backend::TaskImage;
use crate::run::broken::{Broken, create_folder, inside};
use crate::run::image_scan::{ImageInventory, ImageScan};
use crate::run::task_references::NoopGrade;
use crate::run::trial::{AbsentSkill, ResolvedTrial};

/// Largest file that is read in the search for skills.
const SEARCHED: u64 = 1 << 20;

/// The format of what was found about a task.
const FOUND: &str = "assay.prepared/1";

/// What a store has about a task.
#[derive(Serialize, Deserialize)]
struct FoundTask {
    schema: String,
    verifier_environment: VerifierEnvironment,
}

/// Caches files and images that many trials share.
pub struct PrepCache {
    scratch: PathBuf,
    bases: OnceMap<Base>,
    copies: OnceMap<PathBuf>,
    stray: OnceMap<Vec<PathBuf>>,
    images: OnceMap<Prepared>,
    scans: OnceMap<ImageInventory>,
    noops: OnceMap<NoopGrade>,
    environments: OnceMap<VerifierEnvironment>,
    /// The folder of the store with what was found about tasks.
    found: PathBuf,
    numbers: AtomicUsize,
    /// The gateway for agents in sandboxes.
    pub(crate) gateway: Gateway,
}

/// A task's image, with settings of its compose file.
pub(crate) struct Prepared {
    /// The image.
    pub(crate) image: Image,
    /// The user of commands, if not the image's.
    pub(crate) user: Option<String>,
    /// The folder of commands, if not the image's work folder.
    pub(crate) workdir: Option<PathBuf>,
    /// The healthcheck.
    pub(crate) healthcheck: Option<Healthcheck>,
}

/// A task's environment in a folder that serves as `/`.
pub struct Base {
    /// The folder that serves as `/`.
    pub root: PathBuf,
    /// The writable folders, as absolute paths inside, with their initial content.
    pub writable: Vec<(PathBuf, Manifest)>,
}

/// Why something could not be prepared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrepError {
    #[error("cannot create {}: {error}", path.display())]
    Create { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    Writable { path: PathBuf, error: io::Error },
    #[error("{}", chain(.0))]
    Task(#[from] TaskError),
    #[error("{}", chain(.0))]
    Files(#[from] FsError),
    #[error("{} cannot be copied: {reason}", path.display())]
    LeftOut { path: PathBuf, reason: String },
}

/// Values by key, each computed once; failures are cached, too, so that they are reported the same
/// each time.
struct OnceMap<T> {
    entries: Mutex<BTreeMap<String, Arc<Entry<T>>>>,
}

type CachedResult<T> = Result<Arc<T>, Arc<PrepError>>;
type Entry<T> = Mutex<Option<CachedResult<T>>>;

impl<T> Default for OnceMap<T> {
    fn default() -> Self {
        Self { entries: Mutex::default() }
    }
}

impl<T> OnceMap<T> {
    fn get(
        &self,
        key: String,
        make: impl FnOnce() -> Result<T, PrepError>,
    ) -> Result<Arc<T>, Arc<PrepError>> {
        let entry =
            self.entries.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        let mut entry = entry.lock().unwrap_or_else(PoisonError::into_inner);
        entry.get_or_insert_with(|| make().map(Arc::new).map_err(Arc::new)).clone()
    }

    /// The same for what may fail temporarily: a failure is not kept.
    fn get_or_try<E>(&self, key: String, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        let entry =
            self.entries.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        let mut entry = entry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Ok(made)) = &*entry {
            return Ok(made.clone());
        }
        let made = Arc::new(make()?);
        *entry = Some(Ok(made.clone()));
        Ok(made)
    }
}

impl PrepCache {
    /// A cache with its own folder in this process's work folder.
    pub fn new(store: &Store) -> Result<Self, StoreError> {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let scratch = store.work()?.join(format!("cache-{number}"));
        Ok(Self {
            scratch,
            bases: OnceMap::default(),
            copies: OnceMap::default(),
            stray: OnceMap::default(),
            images: OnceMap::default(),
            scans: OnceMap::default(),
            noops: OnceMap::default(),
            environments: OnceMap::default(),
            found: store.root().join("prepared"),
            numbers: AtomicUsize::new(1),
            gateway: Gateway::new(GatewayOptions::default()),
        })
    }

    /// A new folder for one attempt.
    pub(crate) fn attempt(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.scratch.join("trials").join(name);
        fs::create_dir_all(&path)?;
        Ok(path)
    }

    /// A task's environment as a folder.
    pub(crate) fn base(&self, task: &Task) -> Result<Arc<Base>, Arc<PrepError>> {
        self.bases.get(format!("{} {}", task.name, task.environment_digest), || {
            let root = self.scratch.join("bases").join(&task.name);
            fs::create_dir_all(&root).map_err(|error| PrepError::Create { path: root.clone(), error })?;
            task.lay_out(&root)?;
            let writable = task
                .writable
                .iter()
                .map(|path| {
                    let folder = inside(&root, path);
                    fs::create_dir_all(&folder)
                        .map_err(|error| PrepError::Writable { path: path.clone(), error })?;
                    let manifest = Manifest::scan(&folder, &Caps::default())?;
                    Ok((path.clone(), manifest))
                })
                .collect::<Result<Vec<_>, PrepError>>()?;
            Ok(Base { root, writable })
        })
    }

    /// A new folder for a cached item.
    fn new_folder(&self, name: &str) -> Result<PathBuf, Broken> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let folder = self.scratch.join(name).join(number.to_string());
        create_folder(&folder)?;
        Ok(folder)
    }

    /// A task's image, built or found.
    pub(crate) fn prepared(
        &self,
        docker: &Docker,
        task_image: &TaskImage,
        task: &Task,
        cancel: &AtomicBool,
    ) -> Result<Arc<Prepared>, Broken> {
        self.images.get_or_try(format!("agent {} {}", task.name, task.environment_digest), || {
            let main = task.environment.compose.as_ref().map(|compose| &compose.main);
            let source = match task_image {
                TaskImage::Prebuilt(name) => ImageSource::Prebuilt { name: name.clone() },
                TaskImage::Build { network } => {
                    let context = self.new_folder("contexts")?;
                    let laid = task.lay_out_context(&context);
                    let dockerfile = laid.map_err(|error| Broken::new(Cause::Image, chain(&error)))?;
                    build(context, dockerfile, *network, task.config.environment.build_timeout)
                }
            };
            Ok(Prepared {
                image: image(docker, &source, cancel)?,
                user: main.and_then(|main| main.user.clone()),
                workdir: main.and_then(|main| main.workdir.clone()),
                healthcheck: main.and_then(|main| main.healthcheck.clone()),
            })
        })
    }

    /// The image of a service beside `main`.
    pub(crate) fn prepared_service(
        &self,
        docker: &Docker,
        trial: &ResolvedTrial,
        service: &Service,
        cancel: &AtomicBool,
    ) -> Result<Arc<Prepared>, Broken> {
        let task = &trial.task;
        let key = format!("service {} {} {}", service.name, task.name, task.environment_digest);
        self.images.get_or_try(key, || {
            let source = if let (None, Some(name)) = (&service.context, &service.image) {
                ImageSource::Prebuilt { name: name.clone() }
            } else {
                let context = self.new_folder("contexts")?;
                let laid = task.lay_out_service(service, &context);
                let dockerfile = laid.map_err(|error| Broken::new(Cause::Image, chain(&error)))?;
                let network = trial.backend.builds_with_network();
                build(context, dockerfile, network, task.config.environment.build_timeout)
            };
            Ok(Prepared {
                image: image(docker, &source, cancel)?,
                user: None,
                workdir: None,
                healthcheck: None,
            })
        })
    }

    /// The image of a verifier with its own environment: the one it names, `tests/Dockerfile`, or
    /// else the agent's.
    pub(crate) fn prepared_verifier(
        &self,
        docker: &Docker,
        trial: &ResolvedTrial,
        agents: &Arc<Prepared>,
        cancel: &AtomicBool,
    ) -> Result<Arc<Prepared>, Broken> {
        let task = &trial.task;
        let named = task.config.verifier_environment.as_ref().and_then(|own| own.docker_image.clone());
        let file = Path::new("Dockerfile");
        if named.is_none() && !task.root.join("tests").join(file).is_file() {
            return Ok(agents.clone());
        }
        self.images.get_or_try(format!("verifier {} {}", task.name, task.tests_digest), || {
            let source = if let Some(name) = named {
                ImageSource::Prebuilt { name }
            } else {
                let context = self.new_folder("contexts")?;
                let laid = task.lay_out_tests(&context);
                laid.map_err(|error| Broken::new(Cause::Image, chain(&error)))?;
                let seconds = task.config.verifier_environment.as_ref().map(|own| own.build_timeout);
                let seconds = seconds.unwrap_or(task.config.environment.build_timeout);
                let network = trial.backend.builds_with_network();
                build(context, file.to_path_buf(), network, seconds)
            };
            Ok(Prepared {
                image: image(docker, &source, cancel)?,
                user: None,
                workdir: None,
                healthcheck: None,
            })
        })
    }

    /// Searches an image.
    pub(crate) fn scan(
        &self,
        docker: &Docker,
        prepared: &Prepared,
        trial: &ResolvedTrial,
        workdir: &Path,
        label: &str,
        cancel: &AtomicBool,
    ) -> Result<Arc<ImageInventory>, Broken> {
        let absent: Vec<_> =
            trial.absent.iter().map(|skill| blake3::hash(skill.document.as_bytes())).collect();
        let key = format!("{} {} {absent:?}", trial.task.name, prepared.image.id);
        self.scans.get_or_try(key, || {
            let scratch = self.new_folder("scans")?;
            let image = &prepared.image;
            let scan = ImageScan {
                docker,
                image,
                task: &trial.task,
                absent: &trial.absent,
                workdir,
                scratch: &scratch,
                label,
                cancel,
            };
            scan.run().map_err(|error| Broken::new(Cause::Sandbox, chain(&error)))
        })
    }

    /// What a verifier makes of the no-op.
    pub(crate) fn noop(
        &self,
        key: String,
        grade: impl FnOnce() -> Result<NoopGrade, Broken>,
    ) -> Result<Arc<NoopGrade>, Broken> {
        self.noops.get_or_try(key, grade)
    }

    /// In which environment a task's work is graded: as the store has it, or as `find` finds.
    pub(crate) fn verifier_environment(
        &self,
        key: String,
        find: impl FnOnce() -> Result<VerifierEnvironment, Broken>,
    ) -> Result<VerifierEnvironment, Broken> {
        let path = self.found.join(format!("{key}.json"));
        let found = self.environments.get_or_try(key, || -> Result<VerifierEnvironment, Broken> {
            let known =
                fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<FoundTask>(&bytes).ok());
            if let Some(known) = known {
                return Ok(known.verifier_environment);
            }
            let verifier_environment = find()?;
            create_folder(&self.found)?;
            let task = FoundTask { schema: FOUND.to_owned(), verifier_environment };
            let text = serde_json::to_vec(&task).map_err(|error| Broken::harness(error.to_string()))?;
            // In one step: another process may read it.
            let new = path.with_extension(format!("{}.new", std::process::id()));
            let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
            written.map_err(|error| Broken::harness(format!("cannot write {}: {error}", path.display())))?;
            Ok(verifier_environment)
        })?;
        Ok(*found)
    }

    /// A copy of a skill's folder that does not change while trials run.
    pub(crate) fn skill(&self, package: &Package) -> Result<Arc<PathBuf>, Arc<PrepError>> {
        self.copies.get(format!("skill {} {}", package.digest, package.directory), || {
            let to = self.scratch.join("skills").join(package.digest.hex()).join(&package.directory);
            self.copy(&package.root, &to)
        })
    }

    /// A copy of a task's solution.
    pub(crate) fn solution(&self, task: &Task) -> Result<Arc<PathBuf>, Arc<PrepError>> {
        let folder = task.solution_folder();
        self.copies.get(format!("solution {} {}", task.name, folder.display()), || {
            let own = folder.strip_prefix(&task.root).unwrap_or(Path::new("solution"));
            self.copy(&folder, &self.scratch.join("solutions").join(&task.name).join(own))
        })
    }

    #[expect(clippy::unused_self, reason = "copies belong to the cache's scratch folder")]
    fn copy(&self, from: &Path, to: &Path) -> Result<PathBuf, PrepError> {
        fs::create_dir_all(to).map_err(|error| PrepError::Create { path: to.to_owned(), error })?;
        let report = copy_tree(from, to, &Caps::default())?;
        match report.left_out.first() {
            None => Ok(to.to_owned()),
            Some(left) => {
                Err(PrepError::LeftOut { path: from.join(&left.path), reason: left.reason.clone() })
            }
        }
    }

    /// Skills of the experiment that are in a task's sandbox although they were not provided: whole
    /// files, or enough of their lines, in the writable folders; files called SKILL.md anywhere
    /// else in the root.
    pub(crate) fn contamination(
        &self,
        task: &Task,
        root: &Root,
        absent: &[AbsentSkill],
    ) -> Result<Vec<String>, Arc<PrepError>> {
        if absent.is_empty() {
            return Ok(Vec::new());
        }
        let base = self.base(task)?;
        let mut found = Vec::new();
        for (path, manifest) in &base.writable {
            let folder = inside(&base.root, path);
            for (relative, entry) in &manifest.entries {
                if entry.digest.is_some() && entry.size <= SEARCHED {
                    search(&folder.join(relative), &path.join(relative), absent, &mut found);
                }
            }
        }
        let outside = match root {
            Root::Host => PathBuf::from("/usr"),
            Root::Dir(folder) => folder.clone(),
        };
        let stray = self.stray.get(outside.display().to_string(), || Ok(skill_files(&outside)))?;
        for path in stray.iter() {
            search(path, path, absent, &mut found);
        }
        Ok(found)
    }
}

fn build(context: PathBuf, dockerfile: PathBuf, network: bool, seconds: f64) -> ImageSource {
    // The daemon caches builds by their input: a retried build is not a second one.
    let timeout = assay_diagnostic::duration_of_seconds(seconds.min(86_400.0));
    ImageSource::Build { context, dockerfile, args: BTreeMap::new(), network, timeout }
}

/// An image of the daemon. Failures of the machine are not the image's fault.
fn image(docker: &Docker, source: &ImageSource, cancel: &AtomicBool) -> Result<Image, Broken> {
    docker.image(source, cancel).map_err(|error| {
        let cause = if matches!(error, ImageError::Sandbox(_)) { Cause::Sandbox } else { Cause::Image };
        let mut message = chain(&error);
        if let ImageError::Failed { log, .. } | ImageError::TimedOut { log, .. } = &error {
            let text = log.text();
            let last: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            message.push_str(&format!(" ({})", clean_start(&last.join(" | "), 400)));
        }
        Broken::new(cause, message)
    })
}

fn search(file: &Path, shown: &Path, absent: &[AbsentSkill], found: &mut Vec<String>) {
    let Ok(bytes) = fs::read(file) else { return };
    let text = String::from_utf8_lossy(&bytes);
    for skill in absent {
        if text == skill.document || assay_trace::carries(&text, &skill.body) {
            found.push(format!("{} in {}", skill.name, shown.display()));
        }
    }
}

/// Files called SKILL.md below a folder, following no link.
fn skill_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() && entry.file_name().eq_ignore_ascii_case("SKILL.md") {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests;
