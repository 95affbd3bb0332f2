//! One task.

mod grading;
mod labels;
mod layout;
mod load;
mod markdown;
mod model;
mod root;
mod step;
mod steps;
#[cfg(test)]
mod tests;
mod writable;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_fs::tree;
use assay_skill::{Digest, decode};

use crate::dockerfile::{
    Moved, base_images, copy_folder, copy_skills, copy_to, is_left_out, placeholders, without,
};
use crate::{Service, TaskError};

use layout::{IMAGE, STARTING, WORKDIR};

pub use layout::{Layout, PLUGIN_EVAL_FOLDER, RUBRIC_FILE};
pub use model::{Environment, Grading, Task};
pub use step::Step;

/// Most bytes of a Dockerfile.
const DOCKERFILE_CAP: u64 = 1 << 20;

/// The folder of a build context with the verifier's copies of skills that are removed from it.
pub const VERIFIERS: &str = "assay-verifier-copies";

impl Task {
    /// Reads the task in a folder: one walk, and every file that counts once.
    pub fn load(dir: &Path) -> Result<Self, TaskError> {
        match Layout::of(dir) {
            Some(Layout::TaskMd) => markdown::load(dir),
            Some(Layout::Harbor) | None => load::load(dir),
        }
    }

    /// Whether a folder contains a `task.toml`, or else all of `task.md`, `verify.sh` and
    /// `metadata.json`.
    pub fn is_task(dir: &Path) -> bool {
        Layout::of(dir).is_some()
    }

    /// Writes the task's files to a folder that serves as `/`: the result of the Dockerfile's
    /// `WORKDIR` and `COPY`, or `starting/` in `/app`. Returns the absolute target roots written.
    /// They contain nothing that grades, and no skill that a Dockerfile would bake in.
    ///
    /// No other process may write to `into` ([`crate::Dockerfile::materialize`]).
    pub fn lay_out(&self, into: &Path) -> Result<Vec<PathBuf>, TaskError> {
        match (&self.environment.dockerfile, self.layout) {
            (Some(dockerfile), Layout::Harbor) => {
                dockerfile.materialize(&self.root.join("environment"), into)
            }
            (None, Layout::Harbor) => Ok(Vec::new()),
            (_, Layout::TaskMd) => {
                let target = Path::new(WORKDIR);
                copy_folder(&self.root.join(STARTING), |_| true, target, into)?;
                Ok(vec![target.to_path_buf()])
            }
        }
    }

    /// Whether a plan or a list means this task by a digest: with or without its labels.
    pub fn has_digest(&self, digest: &str) -> bool {
        [self.digest, self.labeled_digest].iter().any(|own| own.to_string() == digest)
    }

    /// The digest of the skills that the Dockerfile would bake in, if any. They count for the
    /// oracle only.
    pub fn baked_skills_digest(&self) -> Option<Digest> {
        if self.environment.skill_copies.is_empty() {
            return None;
        }
        let context = self.root.join("environment");
        let out: BTreeSet<PathBuf> = self.environment.left_out.iter().cloned().collect();
        let tree =
            tree::Tree::from_walk(&context, tree::walk(&context), |node| is_left_out(&node.path, &out));
        Some(tree.digest())
    }

    /// Writes the skills that the Dockerfile would bake in to their paths in a folder that serves
    /// as `/`. Returns the absolute paths of everything written. For the oracle: a solution may use
    /// what its author's image had.
    ///
    /// No other process may write to `into`.
    pub fn lay_out_baked_skills(&self, into: &Path) -> Result<Vec<PathBuf>, TaskError> {
        let Some(dockerfile) = self.environment.dockerfile.as_ref() else { return Ok(Vec::new()) };
        if self.environment.skill_copies.is_empty() {
            return Ok(Vec::new());
        }
        let context = self.root.join("environment");
        let verifiers = &self.environment.verifier_copies;
        let is_verifiers = |copy: &crate::dockerfile::Copy| verifiers.iter().any(|own| own.line == copy.line);
        copy_skills(&dockerfile.followed(&context), &context, is_verifiers, into)
    }

    /// Writes the verifier's own copies of skills to a folder that serves as `/`. Returns their
    /// absolute paths.
    ///
    /// No other process may write to `into`.
    pub fn lay_out_verifier_copies(&self, into: &Path) -> Result<Vec<PathBuf>, TaskError> {
        let context = self.root.join("environment");
        for copy in &self.environment.verifier_copies {
            copy_to(&context, &copy.source, &copy.target, into)?;
        }
        Ok(self.environment.verifier_copies.iter().map(|copy| copy.target.clone()).collect())
    }

    /// Writes the task's build context for an image builder, without skills, and returns the
    /// Dockerfile's path relative to it. Nothing that is left out is in a layer of the image; files
    /// that the Dockerfile fetches or unpacks itself are not known here.
    ///
    /// No other process may write to `into`.
    pub fn lay_out_context(&self, into: &Path) -> Result<PathBuf, TaskError> {
        if self.layout == Layout::TaskMd {
            copy_folder(&self.root.join(STARTING), |_| true, Path::new("/starting"), into)?;
            let file = into.join("Dockerfile");
            let text = format!("FROM {IMAGE}\nWORKDIR {WORKDIR}\nCOPY starting {WORKDIR}\n");
            std::fs::write(&file, text).map_err(|source| TaskError::Write { path: file, source })?;
            return Ok(PathBuf::from("Dockerfile"));
        }
        let main = self.environment.compose.as_ref().map(|compose| &compose.main);
        let below = main.and_then(|main| main.context.clone()).unwrap_or_default();
        let file =
            main.and_then(|main| main.dockerfile.clone()).unwrap_or_else(|| PathBuf::from("Dockerfile"));
        let context = self.root.join("environment").join(&below);
        let gone = self.environment.left_out.iter().filter_map(|path| path.strip_prefix(&below).ok());
        let gone: BTreeSet<PathBuf> = gone.map(Path::to_path_buf).collect();
        copy_folder(&context, |path| !is_left_out(path, &gone), Path::new("/"), into)?;
        let is_folder = |path: &&PathBuf| context.join(path).is_dir();
        let folders: BTreeSet<PathBuf> = gone.iter().filter(is_folder).cloned().collect();
        placeholders(into, &folders)?;
        let mut moved = Moved::new();
        for (number, copy) in self.environment.verifier_copies.iter().enumerate() {
            // A file is copied under its name, a folder's content without one.
            let mut to = Path::new(VERIFIERS).join(number.to_string());
            if context.join(&copy.source).is_file() {
                to.push(copy.source.file_name().unwrap_or_default());
            }
            copy_to(&context, &copy.source, &Path::new("/").join(&to), into)?;
            moved.insert((copy.line, copy.source.clone()), to.display().to_string());
        }
        if !moved.is_empty() {
            Self::keep_verifier_copies(into)?;
        }
        let at = into.join(&file);
        let read = assay_fs::read_within(into, &file, DOCKERFILE_CAP);
        let content = read.map_err(|source| TaskError::Read { path: context.join(&file), source })?;
        if !gone.is_empty() {
            let text = without(&decode(&content.bytes).text, &gone, &folders, &moved);
            std::fs::write(&at, text).map_err(|source| TaskError::Write { path: at, source })?;
        }
        Ok(file)
    }

    /// Writes the build context of a service beside `main`, and returns the Dockerfile's path
    /// relative to it. It is complete: no agent sees the files of another service.
    ///
    /// No other process may write to `into`.
    pub fn lay_out_service(&self, service: &Service, into: &Path) -> Result<PathBuf, TaskError> {
        let (context, file) = self.context_of(service);
        copy_folder(&context, |_| true, Path::new("/"), into)?;
        let read = assay_fs::read_within(into, &file, DOCKERFILE_CAP);
        read.map_err(|source| TaskError::Read { path: context.join(&file), source })?;
        Ok(file)
    }

    /// The build context of a service, and the Dockerfile's path relative to it.
    fn context_of(&self, service: &Service) -> (PathBuf, PathBuf) {
        let below = service.context.clone().unwrap_or_default();
        let file = service.dockerfile.clone().unwrap_or_else(|| PathBuf::from("Dockerfile"));
        (self.root.join("environment").join(below), file)
    }

    /// The images of the services beside `main`, as written: those that they name, and the base
    /// images of those that are built.
    pub fn service_images(&self) -> Result<Vec<String>, TaskError> {
        let services = self.environment.compose.as_ref().map_or(&[][..], |compose| &compose.others);
        let mut images = Vec::new();
        for service in services {
            if let (None, Some(name)) = (&service.context, &service.image) {
                images.push(name.clone());
                continue;
            }
            let (context, file) = self.context_of(service);
            let read = assay_fs::read_within(&context, &file, DOCKERFILE_CAP);
            let content = read.map_err(|source| TaskError::Read { path: context.join(&file), source })?;
            images.extend(base_images(&decode(&content.bytes).text));
        }
        Ok(images)
    }

    /// Adds an exception for the verifier's copies to a context's ignore files.
    fn keep_verifier_copies(into: &Path) -> Result<(), TaskError> {
        for name in ["Dockerfile.dockerignore", ".dockerignore"] {
            let path = into.join(name);
            if path.symlink_metadata().is_err() {
                continue;
            }
            // Not through a link: it could lead out of the context.
            let read = assay_fs::read_within(into, Path::new(name), DOCKERFILE_CAP);
            let content = read.map_err(|source| TaskError::Read { path: path.clone(), source })?;
            let text = format!("{}\n!{VERIFIERS}\n", decode(&content.bytes).text);
            std::fs::remove_file(&path)
                .and_then(|()| std::fs::write(&path, text))
                .map_err(|source| TaskError::Write { path, source })?;
        }
        Ok(())
    }

    /// The base images of the Dockerfile's stages, as written, once each. Its own stages,
    /// `scratch`, and names that only the builder knows (`${VAR}` without a value) are left out.
    pub fn base_images(&self) -> Result<Vec<String>, TaskError> {
        if self.layout == Layout::TaskMd {
            return Ok(vec![IMAGE.to_owned()]);
        }
        let main = self.environment.compose.as_ref().map(|compose| &compose.main);
        let below = main.and_then(|main| main.context.clone()).unwrap_or_default();
        let file =
            main.and_then(|main| main.dockerfile.clone()).unwrap_or_else(|| PathBuf::from("Dockerfile"));
        let context = self.root.join("environment").join(&below);
        let read = assay_fs::read_within(&context, &file, DOCKERFILE_CAP);
        let content = read.map_err(|source| TaskError::Read { path: context.join(&file), source })?;
        Ok(base_images(&decode(&content.bytes).text))
    }

    /// The image that is used instead of a build, as Harbor 0.26 chooses it: beside `docker_image`, the compose file's `image`
    /// takes precedence; without it, that names what is built, if there is a Dockerfile.
    pub fn prebuilt_image(&self) -> Option<&str> {
        let main = self.environment.compose.as_ref().map(|compose| &compose.main);
        let of_compose = main.and_then(|main| main.image.as_deref());
        match (self.config.environment.docker_image.as_deref(), main) {
            (Some(named), _) => Some(of_compose.unwrap_or(named)),
            (None, Some(main)) if main.context.is_none() && self.environment.dockerfile.is_none() => {
                of_compose
            }
            (None, _) => None,
        }
    }

    /// The scripts outside its folder that grade it, with their paths and content.
    pub(crate) fn shared_scripts(&self) -> impl Iterator<Item = (PathBuf, &[u8])> {
        self.shared.iter().map(|shared| shared.file(&self.root))
    }

    /// The folder with its solution.
    pub fn solution_folder(&self) -> PathBuf {
        self.root.join(&self.solution_folder)
    }

    /// Writes the content of `/tests` during grading: `tests/`, or for a task of `task.md` a
    /// `test.sh` that runs `verify.sh` and writes the reward. Started as `bash TESTS/test.sh` in
    /// the work folder it reads `TESTS/../logs/agent/final.txt`, the agent's last message, and
    /// writes to `TESTS/../logs/verifier`, so that it works wherever these folders are side by
    /// side.
    ///
    /// No other process may write to `into`. Special files are skipped.
    pub fn lay_out_tests(&self, into: &Path) -> Result<(), TaskError> {
        match self.layout {
            Layout::Harbor => {
                let folders = self.tests_folders.iter().map(|folder| self.root.join(folder));
                // A step may do without one of them.
                let is_optional = self.tests_folders.len() > 1;
                let is_there = |folder: &PathBuf| folder.symlink_metadata().is_ok_and(|found| found.is_dir());
                for folder in folders.filter(|folder| !is_optional || is_there(folder)) {
                    copy_folder(&folder, |_| true, Path::new("/"), into)?;
                }
                Ok(())
            }
            Layout::TaskMd => grading::lay_out(&self.root, &self.shared, into),
        }
    }
}
