//! A loaded task.

use std::path::PathBuf;
use std::sync::Arc;

use assay_skill::{Diagnostic, Digest, Package};

use super::grading::Shared;
use super::layout::Layout;
use super::step::Step;
use crate::plugin_eval::EvalCase;
use crate::{Compose, Dockerfile, Doubles, Rubric, SkillCopy, TaskConfig};

/// What decides the result of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grading {
    /// Tests: its own, or those of its steps.
    Tests,
    /// `tests/rubric.json`: requirements that a judge decides.
    Rubric,
    /// Both.
    TestsAndRubric,
    /// Graders of a case of `claude plugin eval`, in `tests/plugin-eval/`.
    Graders,
    /// These, and `tests/rubric.json` for those that judges decide.
    GradersAndRubric,
}

impl Grading {
    /// Whether there are tests.
    pub fn has_tests(self) -> bool {
        matches!(self, Self::Tests | Self::TestsAndRubric)
    }

    /// Whether there are graders, which assay evaluates by what the agent did and left.
    pub fn has_graders(self) -> bool {
        matches!(self, Self::Graders | Self::GradersAndRubric)
    }

    /// Whether there is a rubric.
    pub fn has_rubric(self) -> bool {
        matches!(self, Self::Rubric | Self::TestsAndRubric | Self::GradersAndRubric)
    }
}

/// A task.
#[derive(Debug, Clone)]
pub struct Task {
    /// The folder that it was read from. Not part of any digest.
    pub root: PathBuf,
    /// The folder's name; unique in a suite.
    pub name: String,
    /// Which format it has.
    pub layout: Layout,
    /// `[task] name` (`slug` in `metadata.json`), or the folder's name.
    pub title: String,
    /// `instruction.md`, or `task.md`; for a task with steps their instructions, one after another.
    pub instruction: String,
    /// The steps, in order; empty for a task that is done in one go.
    pub steps: Vec<Step>,
    /// Whether there is a folder `steps/` without `[[steps]]`: then what the task is cannot be known.
    pub has_unlisted_steps: bool,
    /// What decides its result.
    pub graded_by: Grading,
    /// `tests/plugin-eval/`: the case of `claude plugin eval` that the task is.
    pub eval_case: Option<Arc<EvalCase>>,
    /// `doubles.toml`, and mocks of `tests/plugin-eval/`: what stands in for people, programs and servers.
    pub doubles: Option<Arc<Doubles>>,
    /// `task.toml`; if there is none, the defaults with `metadata.json` as `[metadata]`.
    pub config: TaskConfig,
    /// `environment/`; for a task of `task.md` what `starting/` amounts to.
    pub environment: Environment,
    /// `environment/skills/*/SKILL.md`, sorted by folder name.
    pub skills: Vec<Package>,
    /// `[metadata] required_skills`, or `target_skill`.
    pub required_skills: Vec<String>,
    /// `[metadata.assay] negative_control`, or a `target_skill` of `"none"`: no skill should help
    /// here.
    pub negative_control: bool,
    /// `irrelevant_skill`, else `unrelated_skill`: one that has nothing to do with the task, alone.
    pub negative_skill: Option<String>,
    /// `related_skill`: one that is near to the target.
    pub related_skill: Option<String>,
    /// `unrelated_skill`, else `irrelevant_skill`: a skill besides the target that has nothing to
    /// do with the task.
    pub unrelated_skill: Option<String>,
    /// `rubric.json`, if it can be read.
    pub rubric: Option<Rubric>,
    /// Absolute paths the agent may write: the work folder, the folders that `COPY` writes to,
    /// `[metadata.assay] writable`. Sorted, none inside another.
    pub writable: Vec<PathBuf>,
    /// `[metadata.assay] expected`: names of files that the agent is legitimately asked to write
    /// although they control test runners.
    pub expected: Vec<String>,
    /// `[metadata.assay] keep`: files and folders of the system that the agent is asked to change, and
    /// which are not put back before its work is graded.
    pub keep: Vec<PathBuf>,
    /// `[metadata.assay] cluster`: tasks of one cluster are not independent of each other.
    pub cluster: Option<String>,
    /// The task folder without skills (`environment/skills`, and others that a Dockerfile would
    /// bake in), without `solution/`, and without review files: at the top, files called `README…`
    /// or `REVIEW…` in any case, and every `*.md` but `instruction.md`. For a task of `task.md`
    /// review files are `README`, `REVIEW` and `NOTES`, with any ending; the wrapper around
    /// `verify.sh` and the scripts that it shares with other tasks count. Labels do not: of `task.toml`, `[metadata]`
    /// except for `[metadata.assay]`, and there `cluster`, `negative_control`, `few_tests` and `many_tests`; of `metadata.json`,
    /// `category`, `difficulty` and `notes`. Nor do comments and the order of keys in these files.
    pub digest: Digest,
    /// The same with labels, as the files are written: what `digest` was in 0.1.0.
    pub labeled_digest: Digest,
    /// `solution/`, and those of the steps, when there are any. Counts for the oracle only.
    pub solution_digest: Option<Digest>,
    /// The build context after skills are taken out, the text of the Dockerfile's `FROM`, and
    /// `docker_image`.
    pub environment_digest: Digest,
    /// `tests/` and those of the steps, or all that [`Task::lay_out_tests`] lays.
    pub tests_digest: Digest,
    /// Leniencies and other diagnostics.
    pub diagnostics: Vec<Diagnostic>,
    /// Scripts that a task of `task.md` shares with others.
    pub(super) shared: Vec<Shared>,
    /// The folders whose content is `/tests`, relative to the task's. A later one replaces files of
    /// an earlier one.
    pub(super) tests_folders: Vec<PathBuf>,
    /// The folder of the solution, relative to the task's.
    pub(super) solution_folder: PathBuf,
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
    /// Skills that the Dockerfile would bake into the image. They have to be removed before a
    /// build.
    pub skill_copies: Vec<SkillCopy>,
    /// Copies of skills that the Dockerfile makes for the verifier. The image has them; no agent
    /// may see them.
    pub verifier_copies: Vec<SkillCopy>,
    /// Paths that are removed from the build context, relative to it: sorted, none within another.
    pub left_out: Vec<PathBuf>,
}
