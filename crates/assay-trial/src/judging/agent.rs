//! A judge that is an agent: it looks at a read-only copy of the material with commands.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use assay_agent::{Agent as _, Disclosure, Ended, Job, Loop, LoopOptions, RunBudget};
use assay_diagnostic::chain;
use assay_judge::{MATERIAL_FOLDER, Request};
use assay_model::{ScriptContext, Usage};
use assay_sandbox::{Limits, Mount, Network, Root, Sandbox, SandboxError, Spec};
use assay_trace::Source;

use super::inputs::{Texts, WORK};
use super::panel::OpenedJudge;
use crate::run::environment::folders::PATH;

/// The folder in which a judge starts: empty, and its own. Programs load code and settings from where they are
/// started, which must not be those of the candidate.
const START: &str = "/judge";

/// Most memory of a judge's commands.
const MEMORY: u64 = 2 << 30;

/// Most processes of a judge's commands.
const PROCESSES: u32 = 256;

/// A judge's session and its limits.
pub(super) struct JudgeSandbox<'a> {
    pub(super) sandbox: &'a dyn Sandbox,
    /// A folder for this judge alone.
    pub(super) scratch: &'a Path,
    pub(super) max_turns: usize,
    pub(super) timeout: f64,
    pub(super) budget: &'a dyn RunBudget,
    pub(super) context: &'a ScriptContext,
    pub(super) cancel: &'a std::sync::atomic::AtomicBool,
}

/// What a judge that is an agent said at its end.
pub(super) struct Said {
    pub(super) text: String,
    pub(super) requests: u32,
    pub(super) usage: Option<Usage>,
    pub(super) models: Vec<String>,
}

/// Why a judge that is an agent gives no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoAnswer {
    /// A folder of the judge cannot be created.
    #[error("cannot create {}: {error}", folder.display())]
    Create {
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The sandbox does not work.
    #[error("{}", chain(.0))]
    Sandbox(SandboxError),
    /// The infrastructure broke.
    #[error("{0}")]
    Broken(String),
    /// It used up its replies.
    #[error("no answer within {0} replies")]
    Turns(usize),
    /// Its time was over, in seconds.
    #[error("no answer within {0} s")]
    Time(f64),
    /// It stopped for another reason.
    #[error("it stopped before its answer ({0:?})")]
    Stopped(Ended),
}

impl From<SandboxError> for NoAnswer {
    fn from(error: SandboxError) -> Self {
        Self::Sandbox(error)
    }
}

/// Writes the texts of the material to a folder, with an empty one for the files of the work folder.
pub(super) fn lay_out(texts: &Texts, into: &Path) -> io::Result<()> {
    fs::create_dir_all(into.join(WORK))?;
    let is_text = |path: &&(String, String)| !Path::new(&path.0).starts_with(WORK);
    for (path, text) in texts.readable.iter().filter(is_text) {
        fs::write(into.join(path), text)?;
    }
    Ok(())
}

/// Has a judge work until it answers.
///
/// # Errors
/// Why there is no answer.
pub(super) fn run(
    judge: &OpenedJudge,
    request: &Request,
    material: &Path,
    work: &Path,
    here: &JudgeSandbox<'_>,
) -> Result<Said, NoAnswer> {
    let home = here.scratch.join("home");
    let logs = here.scratch.join("logs");
    let start = here.scratch.join("start");
    for folder in [&home, &logs, &start] {
        fs::create_dir_all(folder).map_err(|error| NoAnswer::Create { folder: folder.clone(), error })?;
    }
    let mount = |source: &Path, target: PathBuf, writable: bool| Mount {
        source: source.to_owned(),
        target,
        writable,
    };
    let mut mounts = vec![
        mount(material, MATERIAL_FOLDER.into(), false),
        mount(&home, "/root".into(), true),
        mount(&start, START.into(), true),
    ];
    if work.is_dir() {
        mounts.push(mount(work, Path::new(MATERIAL_FOLDER).join(WORK), false));
    }
    let env = [("PATH", PATH), ("HOME", "/root"), ("LANG", "C.UTF-8"), ("TERM", "dumb")];
    let spec = Spec {
        root: Root::Host,
        mounts,
        tmpfs: Vec::new(),
        workdir: PathBuf::from(START),
        env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        network: Network::None,
        limits: Limits { memory_bytes: Some(MEMORY), pids: Some(PROCESSES), ..Limits::default() },
        label: "judge".to_owned(),
    };
    let mut session = here.sandbox.start(&spec)?;
    let options = LoopOptions { max_turns: here.max_turns, ..LoopOptions::default() };
    let time = assay_diagnostic::duration_of_seconds(here.timeout);
    let instruction = format!("{}\n\n{}", request.system, request.text);
    let run = Loop::new(judge.model.clone(), options).run(
        &Job {
            instruction: &instruction,
            skills: &[],
            disclosure: Disclosure::default(),
            preface: "",
            workdir: PathBuf::from(START),
            deadline: Instant::now() + time,
            time,
            cancel: here.cancel,
            script_context: here.context,
            logs,
            env: &[],
            mcp_servers: &[],
            endpoint: None,
            budget: Some(here.budget),
        },
        &mut *session,
    );
    session.stop()?;
    match &run.ended {
        Ended::Finished => {}
        Ended::Broken { message, .. } => return Err(NoAnswer::Broken(message.clone())),
        Ended::TurnLimit => return Err(NoAnswer::Turns(here.max_turns)),
        Ended::Deadline => return Err(NoAnswer::Time(here.timeout)),
        other => return Err(NoAnswer::Stopped(other.clone())),
    }
    let mut said = run.trajectory.steps.iter().rev();
    let last = said.find(|step| step.source == Source::Agent).map(|step| step.message.clone());
    Ok(Said {
        text: last.unwrap_or_default(),
        requests: u32::try_from(run.trajectory.turns()).unwrap_or(u32::MAX),
        usage: run.usage,
        models: run.replied_models.into_keys().collect(),
    })
}
