//! One task.

mod grading;
mod load;
mod markdown;
#[cfg(test)]
mod tests;
mod writable;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_skill::{Diagnostic, Digest, Package, decode, tree};

use crate::dockerfile::{
    Moved, base_images, copy_folder, copy_skills, copy_to, is_left_out, placeholders, without,
};
use crate::{Compose, Dockerfile, Rubric, SkillCopy, TaskConfig, TaskError};

/// Most bytes of a Dockerfile.
const DOCKERFILE_CAP: u64 = 1 << 20;

/// Where a build context holds what is the verifier's of the skills that are taken out of it.
pub const VERIFIERS: &str = "assay-verifier-copies";

/// A task.
#[derive(Debug, Clone)]
pub struct Task {
    /// Where it was read from. No part of any digest.
    pub root: PathBuf,
    /// The folder's name; unique in a suite.
    pub name: String,
    /// Which format it has.
    pub layout: Layout,
    /// `[task] name` (`slug` in `metadata.json`), or the folder's name.
    pub title: String,
    /// `instruction.md`, or `task.md`.
    pub instruction: String,
    /// `task.toml`; the defaults, with `metadata.json` as `[metadata]`, where there is none.
    pub config: TaskConfig,
    /// `environment/`; for a task of `task.md` what `starting/` amounts to.
    pub environment: Environment,
    /// `environment/skills/*/SKILL.md`, sorted by folder name.
    pub skills: Vec<Package>,
    /// `[metadata] required_skills`, or `target_skill`.
    pub required_skills: Vec<String>,
    /// `[metadata.assay] negative_control`, or a `target_skill` of `"none"`: no skill should help here.
    pub negative_control: bool,
    /// `irrelevant_skill`, else `unrelated_skill`: one that has nothing to do with the task, alone.
    pub negative_skill: Option<String>,
    /// `related_skill`: one that is near to the target.
    pub related_skill: Option<String>,
    /// `unrelated_skill`, else `irrelevant_skill`: one that has nothing to do with the task, beside the target.
    pub unrelated_skill: Option<String>,
    /// `rubric.json`, where it can be read.
    pub rubric: Option<Rubric>,
    /// Absolute paths the agent may write: the work folder, the folders that `COPY` writes to, `[metadata.assay] writable`. Sorted, none inside another.
    pub writable: Vec<PathBuf>,
    /// `[metadata.assay] expected`: names of files that the agent is rightly asked to write although they steer test runners.
    pub expected: Vec<String>,
    /// `[metadata.assay] cluster`: tasks of one cluster are not independent of each other.
    pub cluster: Option<String>,
    /// The task folder without skills (`environment/skills`, and what else a Dockerfile would bake in as one), without `solution/`, and without
    /// review files: at the top, what is called `README…` or `REVIEW…` in any case, and every `*.md` but `instruction.md`. For a task of `task.md` review files are `README`, `REVIEW` and `NOTES`, with any ending; the wrapper around
    /// `verify.sh` and the scripts that it shares with other tasks count.
    pub digest: Digest,
    /// `solution/`, when there is one. Counts for the oracle only.
    pub solution_digest: Option<Digest>,
    /// The build context after skills are taken out, the text of the Dockerfile's `FROM`, and `docker_image`.
    pub environment_digest: Digest,
    /// `tests/`, or all that [`Task::lay_out_tests`] lays.
    pub tests_digest: Digest,
    /// Leniencies, and what a caller should know.
    pub diagnostics: Vec<Diagnostic>,
    /// Scripts that a task of `task.md` shares with others.
    shared: Vec<grading::Shared>,
}

/// The format of a task's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `task.toml`, `instruction.md`, `environment/`, `tests/`.
    Harbor,
    /// `task.md`, `starting/`, `verify.sh`, `metadata.json`.
    TaskMd,
}

impl Layout {
    /// The layout of a folder that is a task.
    fn of(dir: &Path) -> Option<Self> {
        let has = |name: &str| dir.join(name).is_file();
        if has("task.toml") {
            return Some(Self::Harbor);
        }
        markdown::PARTS.iter().all(|part| has(part)).then_some(Self::TaskMd)
    }
}

/// `environment/` of a task.
#[derive(Debug, Clone)]
pub struct Environment {
    /// `environment/Dockerfile`.
    pub dockerfile: Option<Dockerfile>,
    /// `environment/docker-compose.yaml`.
    pub compose: Option<Compose>,
    /// `[environment] docker_image`, else the Dockerfile's `FROM`.
    pub image: Option<String>,
    /// `environment/` after skills are taken out.
    pub build_context_digest: Digest,
    /// Skills that the Dockerfile would bake into the image. Whoever builds it has to take them out.
    pub skill_copies: Vec<SkillCopy>,
    /// Copies of skills that the Dockerfile makes for the verifier. The image has them; no agent may see them.
    pub verifier_copies: Vec<SkillCopy>,
    /// What is taken out of the build context, relative to it: sorted, none within another.
    pub left_out: Vec<PathBuf>,
}

impl Task {
    /// Reads the task in a folder: one walk, and every file that counts once.
    pub fn load(dir: &Path) -> Result<Self, TaskError> {
        match Layout::of(dir) {
            Some(Layout::TaskMd) => markdown::load(dir),
            Some(Layout::Harbor) | None => load::load(dir),
        }
    }

    /// Whether a folder holds a `task.toml`, or else all of `task.md`, `verify.sh` and `metadata.json`.
    pub fn is_task(dir: &Path) -> bool {
        Layout::of(dir).is_some()
    }

    /// Lays the task's files out in a folder that stands for `/`: what the Dockerfile's `WORKDIR` and `COPY` say, or `starting/` in `/app`. Gives
    /// the absolute target roots written. Nothing that grades, and no skill that a Dockerfile would bake in, is among it.
    ///
    /// `into` has to be a folder that nobody else writes ([`Dockerfile::materialize`]).
    pub fn lay_out(&self, into: &Path) -> Result<Vec<PathBuf>, TaskError> {
        match (&self.environment.dockerfile, self.layout) {
            (Some(dockerfile), Layout::Harbor) => {
                dockerfile.materialize(&self.root.join("environment"), into)
            }
            (None, Layout::Harbor) => Ok(Vec::new()),
            (_, Layout::TaskMd) => {
                let target = Path::new(markdown::WORKDIR);
                copy_folder(&self.root.join(markdown::STARTING), |_| true, target, into)?;
                Ok(vec![target.to_path_buf()])
            }
        }
    }

    /// The digest of the skills that the Dockerfile would bake in; `None` where there are none. They count for the oracle only.
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

    /// Lays out, in a folder that stands for `/`, the skills that the Dockerfile would bake in, where it would. Gives the absolute paths of what
    /// was written, each with all that it holds. For the oracle: a solution may use what its author's image had.
    ///
    /// `into` has to be a folder that nobody else writes.
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

    /// Lays out, in a folder that stands for `/`, the copies of skills that are the verifier's own. Gives their absolute paths.
    ///
    /// `into` has to be a folder that nobody else writes.
    pub fn lay_out_verifier_copies(&self, into: &Path) -> Result<Vec<PathBuf>, TaskError> {
        let context = self.root.join("environment");
        for copy in &self.environment.verifier_copies {
            copy_to(&context, &copy.source, &copy.target, into)?;
        }
        Ok(self.environment.verifier_copies.iter().map(|copy| copy.target.clone()).collect())
    }

    /// Lays the task's build context out for an image builder, without skills, and gives the Dockerfile's path relative to it. Nothing of what is
    /// left out is in a layer of the image; what the Dockerfile fetches or unpacks by itself is not known here.
    ///
    /// `into` has to be a folder that nobody else writes.
    pub fn lay_out_context(&self, into: &Path) -> Result<PathBuf, TaskError> {
        if self.layout == Layout::TaskMd {
            copy_folder(&self.root.join(markdown::STARTING), |_| true, Path::new("/starting"), into)?;
            let file = into.join("Dockerfile");
            let text =
                format!("FROM {0}\nWORKDIR {1}\nCOPY starting {1}\n", markdown::IMAGE, markdown::WORKDIR);
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
        let read = tree::read_beneath(into, &file, DOCKERFILE_CAP);
        let content = read.map_err(|source| TaskError::Read { path: context.join(&file), source })?;
        if !gone.is_empty() {
            let text = without(&decode(&content.bytes).text, &gone, &folders, &moved);
            std::fs::write(&at, text).map_err(|source| TaskError::Write { path: at, source })?;
        }
        Ok(file)
    }

    /// Adds an exception for the verifier's copies to a context's ignore files.
    fn keep_verifier_copies(into: &Path) -> Result<(), TaskError> {
        for name in ["Dockerfile.dockerignore", ".dockerignore"] {
            let path = into.join(name);
            if path.symlink_metadata().is_err() {
                continue;
            }
            // Not through a link: it could lead out of the context.
            let read = tree::read_beneath(into, Path::new(name), DOCKERFILE_CAP);
            let content = read.map_err(|source| TaskError::Read { path: path.clone(), source })?;
            let text = format!("{}\n!{VERIFIERS}\n", decode(&content.bytes).text);
            std::fs::remove_file(&path)
                .and_then(|()| std::fs::write(&path, text))
                .map_err(|source| TaskError::Write { path, source })?;
        }
        Ok(())
    }

    /// The images that the Dockerfile begins its stages with, as written, once each. What it makes itself, `scratch`, and what only the builder
    /// knows (`${VAR}` without a value) are left out.
    pub fn base_images(&self) -> Result<Vec<String>, TaskError> {
        if self.layout == Layout::TaskMd {
            return Ok(vec![markdown::IMAGE.to_owned()]);
        }
        let main = self.environment.compose.as_ref().map(|compose| &compose.main);
        let below = main.and_then(|main| main.context.clone()).unwrap_or_default();
        let file =
            main.and_then(|main| main.dockerfile.clone()).unwrap_or_else(|| PathBuf::from("Dockerfile"));
        let context = self.root.join("environment").join(&below);
        let read = tree::read_beneath(&context, &file, DOCKERFILE_CAP);
        let content = read.map_err(|source| TaskError::Read { path: context.join(&file), source })?;
        Ok(base_images(&decode(&content.bytes).text))
    }

    /// The scripts beyond its folder that grade it: where they lie, and what they hold.
    pub(crate) fn shared_scripts(&self) -> impl Iterator<Item = (PathBuf, &[u8])> {
        self.shared.iter().map(|shared| shared.file(&self.root))
    }

    /// Lays out what `/tests` holds while the work is graded: `tests/`, or for a task of `task.md` a `test.sh` that runs `verify.sh` and writes
    /// the reward. Started as `bash TESTS/test.sh` in the work folder it reads `TESTS/../logs/agent/final.txt`, the agent's last
    /// message, and writes to `TESTS/../logs/verifier`, so that it works wherever these folders stand side by side.
    ///
    /// `into` has to be a folder that nobody else writes. What is neither file, folder nor link is passed over.
    pub fn lay_out_tests(&self, into: &Path) -> Result<(), TaskError> {
        match self.layout {
            Layout::Harbor => copy_folder(&self.root.join("tests"), |_| true, Path::new("/"), into),
            Layout::TaskMd => grading::lay_out(&self.root, &self.shared, into),
        }
    }
}
