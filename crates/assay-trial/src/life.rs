//! The life of a trial: lay out, let the agent work, kill all of it, grade, record.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_agent::{AgentRun, Ended, Job, Part};
use assay_model::Scene;
use assay_sandbox::{
    Caps, Change, Enforcement, Exec, Exit, Manifest, Mount, Network, SandboxError, Sink, Spec, copy_tree,
    remove_tree, unified_diff,
};
use assay_trace::{Exposure, OfferedSkill, Source, exposure};

use crate::plan::Trial;
use crate::store::{Lease, write_atomically};
use crate::tamper::tampering;
use crate::verifier::{self, Reward};
use crate::workshop::{Base, Workshop, chain, inside};
use crate::{Cause, Disclosure, Outcome, Record, Seconds, Store, StoreError};

/// Where programs are looked for, in every phase.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The agent's home, where no writable folder of the task is one.
const HOME: &str = "/root";

/// Most bytes of the verifier's output that are kept.
const VERIFIER_OUTPUT: u64 = 4 << 20;

/// Most bytes of the difference between the work folder before and after.
const DIFF_CAP: usize = 1 << 20;

/// What raw logs and artifacts of an attempt may take.
const LOG_CAPS: Caps =
    Caps { entries: 2_000, file_bytes: 16 << 20, total_bytes: 64 << 20, depth: 16, links: false };

/// Executes trials.
pub struct Runner<'a> {
    /// Where records go.
    pub store: &'a Store,
    /// What trials share.
    pub workshop: &'a Workshop,
    /// Set from outside to stop soon.
    pub cancel: &'a AtomicBool,
    /// Whether the sandbox's folders are left for looking at.
    pub keep: bool,
}

/// What came of executing a trial.
#[derive(Debug)]
pub enum Executed {
    /// It ended; the record is in the store.
    Recorded {
        /// The record.
        record: Box<Record>,
        /// The folder of the attempt.
        folder: PathBuf,
        /// The sandbox's folders, where they were kept.
        kept: Option<PathBuf>,
    },
    /// It was interrupted; nothing was recorded.
    Interrupted,
}

/// Something under a trial broke.
struct Broken {
    cause: Cause,
    message: String,
}

impl Broken {
    fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into() }
    }
}

impl From<SandboxError> for Broken {
    fn from(error: SandboxError) -> Self {
        // A full disk is the host's, also where the sandbox's output met it first.
        let cause = if matches!(error, SandboxError::Io { .. }) { Cause::Harness } else { Cause::Sandbox };
        Self::new(cause, chain(&error))
    }
}

/// What an attempt has found so far; an attempt that breaks keeps what it has.
#[derive(Default)]
struct Findings {
    run: Option<AgentRun>,
    exposure: Vec<Exposure>,
    reward: Option<Reward>,
    ctrf: Option<serde_json::Value>,
    contaminated: Vec<String>,
    tampered: Vec<String>,
    outside: Vec<String>,
    enforcement: Option<Enforcement>,
    used: Option<assay_sandbox::Usage>,
    seconds: Seconds,
}

impl Runner<'_> {
    /// Executes a trial whose lease is held, and records what came of it.
    pub fn execute(&self, trial: &Trial, lease: &Lease) -> Result<Executed, StoreError> {
        let (number, folder) = self.store.begin(&trial.id, &trial.specification, lease)?;
        let started_at = jiff::Timestamp::now();
        let clock = Instant::now();
        let mut findings = Findings::default();
        let scratch = self.workshop.attempt(&format!("{}-{number}", trial.id.short()));
        let result = match &scratch {
            Ok(scratch) => Attempt { runner: self, trial, folder: &folder, scratch }.live(&mut findings),
            Err(error) => {
                Err(Broken::new(Cause::Harness, format!("cannot create a scratch folder: {error}")))
            }
        };
        let kept = match scratch {
            Ok(scratch) if self.keep => Some(scratch),
            Ok(scratch) => {
                // What stays here is swept by the next command.
                let _ = remove_tree(&scratch);
                None
            }
            Err(_) => None,
        };
        if self.cancel.load(Ordering::Relaxed) {
            let _ = remove_tree(&folder);
            return Ok(Executed::Interrupted);
        }
        findings.seconds.total = clock.elapsed().as_secs_f64();
        let record = record(trial, number, started_at, findings, result);
        self.store.finish(&record, lease)?;
        Ok(Executed::Recorded { record: Box::new(record), folder, kept })
    }
}

/// One attempt at a trial.
struct Attempt<'a> {
    runner: &'a Runner<'a>,
    trial: &'a Trial,
    /// What is kept of it.
    folder: &'a Path,
    /// What is not.
    scratch: &'a Path,
}

impl Attempt<'_> {
    fn live(&self, findings: &mut Findings) -> Result<(), Broken> {
        let clock = Instant::now();
        let base = self.base()?;
        findings.contaminated = self
            .runner
            .workshop
            .contamination(&self.trial.task, &self.trial.place.root, &self.trial.absent)
            .map_err(|error| Broken::new(Cause::Harness, error))?;
        let stage = self.lay_out(&base)?;
        findings.seconds.prepare = clock.elapsed().as_secs_f64();

        let clock = Instant::now();
        let worked = self.work(&stage, findings);
        findings.seconds.agent = clock.elapsed().as_secs_f64();
        worked?;
        if self.runner.cancel.load(Ordering::Relaxed) {
            return Ok(());
        }

        let clock = Instant::now();
        self.compare(&base, &stage, findings);
        let verdict = self.verify(&stage, findings);
        findings.seconds.verify = clock.elapsed().as_secs_f64();
        verdict
    }

    fn base(&self) -> Result<Arc<Base>, Broken> {
        self.runner.workshop.base(&self.trial.task).map_err(|error| Broken::new(Cause::Image, error))
    }

    /// Copies the task's writable folders, so that this attempt has its own.
    fn lay_out(&self, base: &Base) -> Result<Stage, Broken> {
        let mut writable = Vec::new();
        for (path, _) in &base.writable {
            let own = inside(&self.scratch.join("fs"), path);
            make(&own)?;
            let report = copy_tree(&inside(&base.root, path), &own, &Caps::default())
                .map_err(|error| Broken::new(Cause::Harness, chain(&error)))?;
            if let Some(left) = report.left_out.first() {
                let message = format!("{}: {}", path.join(&left.path).display(), left.reason);
                return Err(Broken::new(Cause::Image, message));
            }
            writable.push(Mount { source: own, target: path.clone(), writable: true });
        }
        let mut private = Vec::new();
        if !writable
            .iter()
            .any(|mount| Path::new(HOME).starts_with(&mount.target) || mount.target.starts_with(HOME))
        {
            let home = self.scratch.join("home");
            make(&home)?;
            private.push(Mount { source: home, target: HOME.into(), writable: true });
        }
        let logs = self.scratch.join("logs");
        for name in ["agent", "artifacts", "verifier"] {
            make(&logs.join(name))?;
        }
        make(&self.folder.join("agent"))?;
        make(&self.folder.join("verifier"))?;
        Ok(Stage { writable, private, logs })
    }

    fn workdir(&self) -> PathBuf {
        let task = &self.trial.task;
        let dockerfile = task.environment.dockerfile.as_ref().map(|dockerfile| dockerfile.workdir.clone());
        task.config.environment.workdir.clone().or(dockerfile).unwrap_or_else(|| PathBuf::from("/"))
    }

    fn spec(&self, mounts: Vec<Mount>, network: Network, phase: &str) -> Spec {
        let task = &self.trial.task;
        let mut env: Vec<(String, String)> =
            [("PATH", PATH), ("HOME", HOME), ("LANG", "C.UTF-8"), ("TERM", "dumb")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec();
        for (name, value) in
            task.environment.dockerfile.iter().flat_map(|file| &file.env).chain(self.trial.env.iter())
        {
            env.retain(|(known, _)| known != name);
            env.push((name.clone(), value.clone()));
        }
        Spec {
            root: self.trial.place.root.clone(),
            mounts,
            tmpfs: Vec::new(),
            workdir: self.workdir(),
            env,
            network,
            limits: self.trial.limits,
            label: format!("{}-{phase}", self.trial.id.short()),
        }
    }

    /// The agent's phase, from an empty namespace to a dead one.
    fn work(&self, stage: &Stage, findings: &mut Findings) -> Result<(), Broken> {
        let trial = self.trial;
        let mut mounts = stage.writable.clone();
        mounts.extend(stage.private.clone());
        for name in ["agent", "artifacts"] {
            mounts.push(stage.logs(name, true));
        }
        for skill in &trial.provision.skills {
            let source =
                self.runner.workshop.skill(skill).map_err(|error| Broken::new(Cause::Harness, error))?;
            mounts.push(Mount {
                source: source.to_path_buf(),
                target: trial.mount_of(skill),
                writable: false,
            });
        }
        if trial.provision.writes_skills {
            let own = self.scratch.join("skills");
            make(&own)?;
            mounts.push(Mount { source: own, target: trial.agent.skills_dir().into(), writable: true });
        }
        let mut env = Vec::new();
        if trial.agent.needs_solution() {
            let source = self
                .runner
                .workshop
                .solution(&trial.task)
                .map_err(|error| Broken::new(Cause::Harness, error))?;
            mounts.push(Mount { source: source.to_path_buf(), target: "/solution".into(), writable: false });
            env.extend(trial.solution_env.iter().cloned());
        }
        let mut session = trial.place.sandbox.start(&self.spec(mounts, trial.network, "agent"))?;
        findings.enforcement = Some(*session.enforcement());
        let catalogue = trial.catalogue(|path| session.path(path));
        let scene = Scene {
            task: trial.task.name.clone(),
            condition: trial.condition.clone(),
            repetition: trial.repetition,
            seed: trial.id.seed(),
        };
        let workdir = session.path(&self.workdir());
        let skills_dir = session.path(Path::new(trial.agent.skills_dir())).display().to_string();
        let run = trial.agent.run(
            &Job {
                instruction: &trial.task.instruction,
                skills: &catalogue,
                told: trial.disclosure == Disclosure::Told,
                preface: &trial.provision.preface.replace("{skills}", &skills_dir),
                workdir,
                deadline: Instant::now() + Duration::from_secs_f64(trial.agent_timeout),
                cancel: self.runner.cancel,
                scene: &scene,
                logs: self.folder.join("agent"),
                env: &env,
            },
            &mut *session,
        );
        let mounts: Vec<String> = trial
            .provision
            .skills
            .iter()
            .map(|skill| session.path(&trial.mount_of(skill)).display().to_string())
            .collect();
        // Nothing of the agent lives beyond this line.
        findings.used = Some(session.stop()?);
        findings.exposure = self.exposure(&run, &mounts);
        findings.seconds.throttled = run.throttled.as_secs_f64();
        self.keep("trajectory.json", &run.trajectory)?;
        self.keep("exposure.json", &findings.exposure)?;
        self.last_message(&run, &stage.logs.join("agent"))?;
        // Logs that the agent wrote itself are a convenience: what cannot be taken is left.
        let _ = copy_tree(&stage.logs.join("agent"), &self.folder.join("agent"), &LOG_CAPS);
        let artifacts = self.folder.join("artifacts");
        if fs::read_dir(stage.logs.join("artifacts")).is_ok_and(|mut entries| entries.next().is_some())
            && fs::create_dir_all(&artifacts).is_ok()
        {
            let _ = copy_tree(&stage.logs.join("artifacts"), &artifacts, &LOG_CAPS);
        }
        if trial.provision.writes_skills {
            let _ = copy_tree(&self.scratch.join("skills"), &self.folder.join("generated-skills"), &LOG_CAPS);
        }
        let broken = match &run.ended {
            Ended::Broken { part, message } => Some(Broken::new(cause(*part), message.clone())),
            _ => None,
        };
        findings.run = Some(run);
        broken.map_or(Ok(()), Err)
    }

    /// Writes the agent's last message where graders find it, in place of whatever the agent left there. A solution says nothing of its own, and
    /// may have written one.
    fn last_message(&self, run: &AgentRun, logs: &Path) -> Result<(), Broken> {
        let path = logs.join("final.txt");
        // The folder was the agent's, and so were its permissions.
        let _ = fs::set_permissions(logs, fs::Permissions::from_mode(0o755));
        if self.trial.agent.needs_solution() && path.symlink_metadata().is_ok_and(|there| there.is_file()) {
            return Ok(());
        }
        let said =
            |step: &&assay_trace::Step| step.source == Source::Agent && !step.message.trim().is_empty();
        let last = run.trajectory.steps.iter().rev().find(said);
        let message = last.map(|step| format!("{}\n", step.message)).unwrap_or_default();
        remove_tree(&path).map_err(|error| Broken::new(Cause::Harness, chain(&error)))?;
        fs::write(&path, message)
            .map_err(|error| Broken::new(Cause::Harness, format!("cannot write {}: {error}", path.display())))
    }

    fn exposure(&self, run: &AgentRun, mounts: &[String]) -> Vec<Exposure> {
        let skills = &self.trial.provision.skills;
        let files: Vec<Vec<String>> =
            skills.iter().map(|skill| skill.files.iter().map(|file| file.path.clone()).collect()).collect();
        let offered: Vec<OfferedSkill<'_>> = skills
            .iter()
            .zip(mounts)
            .zip(&files)
            .map(|((skill, mount), files)| OfferedSkill {
                name: &skill.name,
                description: &skill.description,
                body: &skill.body,
                mount,
                files,
            })
            .collect();
        exposure(&run.trajectory, &offered)
    }

    fn keep<T: serde::Serialize>(&self, name: &str, value: &T) -> Result<(), Broken> {
        let bytes =
            serde_json::to_vec(value).map_err(|error| Broken::new(Cause::Harness, error.to_string()))?;
        let path = self.folder.join(name);
        fs::write(&path, bytes)
            .map_err(|error| Broken::new(Cause::Harness, format!("cannot write {}: {error}", path.display())))
    }

    /// What the agent changed, and whether it may have.
    fn compare(&self, base: &Base, stage: &Stage, findings: &mut Findings) {
        let workdir = self.workdir();
        let mut diff = Vec::new();
        for ((path, before), mount) in base.writable.iter().zip(&stage.writable) {
            let after = match Manifest::scan(&mount.source, &Caps::default()) {
                Ok(after) => after,
                Err(error) => {
                    findings.tampered.push(format!("{}: cannot be looked through: {error}", path.display()));
                    continue;
                }
            };
            let changes = before.diff(&after);
            findings.tampered.extend(tampering(&self.trial.task, path, &changes, &after));
            if !workdir.starts_with(path) {
                findings.outside.extend(outside(path, &changes));
            }
            let room = DIFF_CAP.saturating_sub(diff.len());
            diff.extend(unified_diff(&inside(&base.root, path), &mount.source, &changes, room));
        }
        for mount in &stage.private {
            if let Ok(after) = Manifest::scan(&mount.source, &Caps::default()) {
                findings.outside.extend(outside(&mount.target, &Manifest::default().diff(&after)));
            }
        }
        findings.outside.truncate(200);
        if !diff.is_empty() {
            let _ = fs::write(self.folder.join("workspace.diff"), diff);
        }
    }

    /// The grader's phase: the agent's folders, and fresh ones that did not exist while it lived.
    fn verify(&self, stage: &Stage, findings: &mut Findings) -> Result<(), Broken> {
        let trial = self.trial;
        let tests = self.scratch.join("tests");
        make(&tests)?;
        trial.task.lay_out_tests(&tests).map_err(|error| Broken::new(Cause::Harness, chain(&error)))?;
        let mut mounts = stage.writable.clone();
        mounts.push(Mount { source: tests.clone(), target: "/tests".into(), writable: true });
        mounts.push(stage.logs("verifier", true));
        mounts.push(stage.logs("agent", false));
        mounts.push(stage.logs("artifacts", false));
        let mut spec = self.spec(mounts, trial.verifier_network, "verifier");
        if stage.private.iter().any(|mount| mount.target == Path::new(HOME)) {
            // The agent's home is not the grader's.
            spec.tmpfs.push(HOME.into());
        }
        for (name, value) in [("PYTHONNOUSERSITE", "1"), ("PYTHONDONTWRITEBYTECODE", "1")] {
            spec.env.push((name.to_owned(), value.to_owned()));
        }
        spec.env.extend(trial.verifier_env.iter().cloned());
        let mut session = trial.place.sandbox.start(&spec)?;
        let script = session.path(Path::new("/tests/test.sh"));
        let seconds = trial.task.config.verifier_timeout;
        let outcome = session.exec(
            &Exec {
                argv: vec!["bash".to_owned(), script.display().to_string()],
                env: Vec::new(),
                cwd: None,
                deadline: Some(Instant::now() + Duration::from_secs_f64(seconds)),
                stdout: Sink {
                    file: Some(self.folder.join("verifier/test-stdout.txt")),
                    cap: VERIFIER_OUTPUT,
                    keep: 2_000,
                },
                stderr: None,
            },
            self.runner.cancel,
        );
        session.stop()?;
        let outcome = outcome?;
        let logs = stage.logs.join("verifier");
        let _ = copy_tree(&logs, &self.folder.join("verifier"), &LOG_CAPS);
        match outcome.exit {
            Exit::Deadline => {
                return Err(Broken::new(Cause::Verifier, format!("it did not end within {seconds} s")));
            }
            Exit::Limit(_) => return Err(Broken::new(Cause::Verifier, "it passed the sandbox's limits")),
            Exit::Cancelled => return Ok(()),
            Exit::Code(_) | Exit::Signal(_) => {}
        }
        findings.ctrf = verifier::ctrf(&logs);
        let reward = verifier::reward(&logs).map_err(|error| {
            let output = outcome.stdout.text();
            let last =
                output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
            Broken::new(Cause::Verifier, format!("{error} (its last line: {})", printable(last)))
        })?;
        findings.reward = Some(reward);
        Ok(())
    }
}

fn make(folder: &Path) -> Result<(), Broken> {
    fs::create_dir_all(folder)
        .map_err(|error| Broken::new(Cause::Harness, format!("cannot create {}: {error}", folder.display())))
}

/// The folders of one attempt.
struct Stage {
    /// The task's writable folders.
    writable: Vec<Mount>,
    /// The agent's own, which the grader does not see.
    private: Vec<Mount>,
    /// What stands for `/logs`.
    logs: PathBuf,
}

impl Stage {
    fn logs(&self, name: &str, writable: bool) -> Mount {
        Mount { source: self.logs.join(name), target: Path::new("/logs").join(name), writable }
    }
}

fn outside(root: &Path, changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| assay_sandbox::escape_path(&root.join(&change.path))).collect()
}

fn cause(part: Part) -> Cause {
    match part {
        Part::Sandbox => Cause::Sandbox,
        Part::ModelProvider => Cause::ModelProvider,
        Part::AgentSetup => Cause::AgentSetup,
    }
}

/// A line of untrusted output for one line of a record.
fn printable(line: &str) -> String {
    line.chars().take(200).map(|c| if c.is_control() { '�' } else { c }).collect()
}

fn record(
    trial: &Trial,
    attempt: u32,
    started_at: jiff::Timestamp,
    findings: Findings,
    result: Result<(), Broken>,
) -> Record {
    let ended = findings.run.as_ref().map(|run| run.ended.clone());
    let (outcome, cause, reason) = match result {
        // A grader that breaks over what the agent planted has not broken by itself.
        Err(broken) if broken.cause == Cause::Verifier && !findings.tampered.is_empty() => {
            outcome(&findings, ended.as_ref())
        }
        Err(broken) => (Outcome::Infrastructure, Some(broken.cause), Some(broken.message)),
        Ok(()) => outcome(&findings, ended.as_ref()),
    };
    let usage = findings.run.as_ref().and_then(|run| run.usage);
    Record {
        schema: Record::SCHEMA.to_owned(),
        trial: trial.id.clone(),
        task: trial.task.name.clone(),
        agent: trial.label.clone(),
        sandbox: trial.place.kind().to_owned(),
        condition: trial.condition.clone(),
        repetition: trial.repetition,
        outcome,
        cause,
        reason,
        reward: findings.reward.as_ref().map(|reward| reward.value),
        rewards: findings.reward.map(|reward| reward.keys).unwrap_or_default(),
        ctrf: findings.ctrf,
        ended,
        turns: findings.run.as_ref().map_or(0, |run| run.trajectory.turns()),
        usage,
        cost_usd: usage.zip(trial.price).map(|(usage, price)| price.cost(&usage)),
        seconds: findings.seconds,
        exposure: findings.exposure,
        contaminated: findings.contaminated,
        tampered: findings.tampered,
        outside: findings.outside,
        enforcement: findings.enforcement,
        used: findings.used,
        measures_a_model: trial.agent.measures_a_model(),
        attempt,
        started_at: started_at.to_string(),
        finished_at: jiff::Timestamp::now().to_string(),
    }
}

/// What came of a trial in which nothing broke. An agent whose time was over has not passed, whatever it had done by then:
/// its work is graded all the same, and the reward kept.
fn outcome(findings: &Findings, ended: Option<&Ended>) -> (Outcome, Option<Cause>, Option<String>) {
    if !findings.tampered.is_empty() {
        return (Outcome::Tampered, None, Some(findings.tampered.join("; ")));
    }
    match (ended, &findings.reward) {
        (_, None) => {
            let reason = "the verifier gave no reward".to_owned();
            (Outcome::Infrastructure, Some(Cause::Verifier), Some(reason))
        }
        (Some(Ended::Deadline), Some(_)) => (Outcome::TimedOut, None, None),
        (_, Some(reward)) if reward.is_full() => (Outcome::Passed, None, None),
        _ => (Outcome::Failed, None, None),
    }
}

/// Writes what is worth keeping of a run beside its records, whole or not at all.
pub(crate) fn keep_json<T: serde::Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    write_atomically(path, &crate::store::pretty(value, path)?)
}
