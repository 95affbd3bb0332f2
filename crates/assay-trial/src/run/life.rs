//! Execution of a trial: prepare, run the agent, stop its processes, grade, record.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use assay_agent::{AgentRun, Ended, Job, Part, RunBudget};
use assay_ask::AskProgress;
use assay_diagnostic::clean_start;
use assay_fs::{copy_tree, remove_tree};
use assay_gateway::Budget;
use assay_sandbox::{Exec, Exit, Session, Sink, changed_lines};
use assay_store::{
    Cause, Claim, DOUBLES_CALLS, DOUBLES_UNKNOWN_CALLS, Estimated, KeptBecause, LINES_CHANGED, Lease,
    Outcome, Record, Store, StoreError, VerifierEnvironment,
};
use assay_trace::{Exposure, OfferedSkill, Source, exposure};

use crate::experiment::RetriesLeft;
use crate::judging::{self, Judging, TrialJudge};
use crate::run::attempt::Attempt;
use crate::run::backend::BackendKind;
use crate::run::broken::{Broken, LOG_CAPS, create_folder};
use crate::run::budget::PricedBudget;
use crate::run::cli_agents::{self, ProxyHandle};
use crate::run::doubles::{self, DoubleCalls, DoublesHandle, DoublesSession};
use crate::run::environment::container::ImageEnvironment;
use crate::run::environment::folders::Folders;
use crate::run::environment::phases::{
    AgentPhase, Changes, Compared, Environment, Graded, Restoring, StoppedAgent, VerifierPhase,
};
use crate::run::evidence::EvidenceLog;
use crate::run::findings::{Findings, known_turns, outcome};
use crate::run::generated_skills::generated_skills;
use crate::run::mcp;
use crate::run::prep_cache::PrepCache;
use crate::run::references::References;
use crate::run::sandbox_record;
use crate::run::scaffold;
use crate::run::space::SpaceWatch;
use crate::run::steps;
use crate::run::task_references::TaskReferences;
use crate::run::trial::ResolvedTrial;
use crate::run::verifier::{self, Reward};

/// Most bytes of the verifier's output that are kept.
const VERIFIER_OUTPUT: u64 = 4 << 20;

/// The folders of an attempt with what its verifier wrote, and with what it wrote in the agent's own
/// container if that was graded as well.
const VERIFIER: &str = "verifier";
const KEPT: &str = "verifier-kept";

/// Executes trials.
pub struct Runner<'a> {
    /// Where records go.
    pub store: &'a Store,
    /// What trials share.
    pub cache: &'a PrepCache,
    /// Set from outside to stop soon.
    pub cancel: &'a AtomicBool,
    /// The budget of the trial's requests.
    pub budget: &'a Budget,
    /// What is left after an infrastructure error.
    pub retries: RetriesLeft,
    /// Whether the sandbox's folders are kept.
    pub keep: bool,
    /// Hears how long judges are waited for.
    pub judge_progress: &'a AskProgress,
}

/// The result of executing a trial.
#[derive(Debug)]
pub enum Executed {
    /// It ended; the record is in the store.
    Recorded {
        /// The record.
        record: Box<Record>,
        /// The folder of the attempt.
        folder: PathBuf,
        /// The sandbox's folders, if they were kept.
        kept: Option<PathBuf>,
    },
    /// It was interrupted; nothing was recorded.
    Interrupted,
    /// Another process executes the work that is to be judged.
    Waiting,
    /// It ended, but its lease had ended before, and another process has taken it over; nothing was
    /// recorded.
    Discarded,
}

impl Runner<'_> {
    /// Executes a trial under its lease, and records the result.
    ///
    /// # Errors
    /// The store cannot be used. Everything else that goes wrong is an infrastructure error in the record.
    pub fn execute(&self, trial: &ResolvedTrial, lease: &Lease) -> Result<Executed, StoreError> {
        match &trial.judge {
            Some(judge) => self.execute_judged(trial, judge, lease),
            None => {
                self.execute_attempt(trial, lease, &|record| self.store.finish(record, lease).map(|()| None))
            }
        }
    }

    /// Has judges decide on the work of the agent, which is executed first if the store does not have it: other judges
    /// may have decided on it already.
    fn execute_judged(
        &self,
        trial: &ResolvedTrial,
        judge: &TrialJudge,
        lease: &Lease,
    ) -> Result<Executed, StoreError> {
        let (work, kept) = match self.find_or_execute_work(&trial.work())? {
            Work::Done { record, kept } => (record, kept),
            Work::Other(executed) => return Ok(executed),
        };
        let judging = Judging {
            store: self.store,
            panel: &judge.panel,
            rubric: Some(&judge.rubric),
            budget: self.budget,
            cancel: self.cancel,
            retries: self.retries,
            progress: self.judge_progress,
        };
        match judging::judge_again(&judging, &work, &trial.id, &trial.specification, lease) {
            Ok(Some(record)) => {
                let number = record.attempt.to_string();
                let folder = self.store.trial_folder(&trial.id).join("attempts").join(number);
                Ok(Executed::Recorded { record: Box::new(record), folder, kept })
            }
            Ok(None) => Ok(Executed::Interrupted),
            Err(judging::RegradeError::Store(StoreError::LeaseLost { .. })) => Ok(Executed::Discarded),
            Err(judging::RegradeError::Store(error)) => Err(error),
            Err(error) => Err(StoreError::Io {
                action: "judge the work in",
                path: self.store.trial_folder(&work.trial),
                source: std::io::Error::other(error),
            }),
        }
    }

    /// The work of an agent: what the store has, or else what it does now.
    fn find_or_execute_work(&self, trial: &ResolvedTrial) -> Result<Work, StoreError> {
        // A record that cannot be read is none.
        let known = || {
            let record = self.store.work_record(&trial.id).ok().flatten();
            let has_ended = |record: &Record| record.outcome.counts() || record.cause == Some(Cause::Judge);
            record.filter(has_ended).map(|record| Work::Done { record: Box::new(record), kept: None })
        };
        if let Some(done) = known() {
            return Ok(done);
        }
        let Claim::Mine(lease) = self.store.claim(&trial.id)? else {
            return Ok(Work::Other(Executed::Waiting));
        };
        // Another process may have ended it meanwhile.
        if let Some(done) = known() {
            return Ok(done);
        }
        let executed =
            self.execute_attempt(trial, &lease, &|record| self.store.finish_work(record, &lease).map(Some))?;
        Ok(match executed {
            Executed::Recorded { record, kept, .. } => Work::Done { record, kept },
            other => Work::Other(other),
        })
    }

    /// Executes one attempt. `finish` writes its record, and may return it as written.
    fn execute_attempt(
        &self,
        trial: &ResolvedTrial,
        lease: &Lease,
        finish: &dyn Fn(&Record) -> Result<Option<Record>, StoreError>,
    ) -> Result<Executed, StoreError> {
        let (number, folder) = self.store.begin(&trial.id, &trial.specification, lease)?;
        let started_at = jiff::Timestamp::now();
        let clock = Instant::now();
        let mut findings = Findings::default();
        let evidence = EvidenceLog::new(&folder);
        let scratch = self.cache.attempt(&format!("{}-{number}", trial.id.short()));
        let result = match &scratch {
            Ok(scratch) => {
                let space = SpaceWatch::start(vec![scratch.clone(), folder.clone()]);
                let Self { cache, cancel, budget, .. } = *self;
                let (own_folder, own_scratch) = (folder.clone(), scratch.clone());
                let references =
                    References { cache, cancel, budget, trial, folder: own_folder, scratch: own_scratch };
                let references = Some(&references as &dyn TaskReferences);
                let (folder, evidence) = (&*folder, &evidence);
                let whole = Attempt {
                    cache,
                    cancel,
                    budget,
                    trial,
                    folder,
                    scratch,
                    evidence,
                    steps: None,
                    references,
                };
                let folders = steps::step_folders(&whole);
                let steps = steps::attempts(&whole, &folders);
                let steps = (!steps.is_empty()).then_some(&steps[..]);
                let result = Attempt { steps, ..whole }.run(&mut findings);
                let full = space.finish();
                result.and_then(|()| full.map_or(Ok(()), |full| was_full(&findings, &full)))
            }
            Err(error) => Err(Broken::harness(format!("cannot create a scratch folder: {error}"))),
        };
        let kept = match scratch {
            Ok(scratch) if self.keep => Some(scratch),
            Ok(scratch) => {
                // Leftovers are removed by the next command.
                let _ = remove_tree(&scratch);
                None
            }
            Err(_) => None,
        };
        if self.cancel.load(Ordering::Relaxed) {
            let _ = remove_tree(&folder);
            return Ok(Executed::Interrupted);
        }
        findings.seconds.total = Some(clock.elapsed().as_secs_f64());
        let mut record = record(trial, number, started_at, findings, result);
        record.retries_left = self.retries.after(&record);
        record.evidence = Some(evidence.into_evidence());
        match finish(&record) {
            Ok(written) => {
                let record = Box::new(written.unwrap_or(record));
                Ok(Executed::Recorded { record, folder, kept })
            }
            Err(StoreError::LeaseLost { .. }) => {
                let _ = remove_tree(&folder);
                Ok(Executed::Discarded)
            }
            Err(error) => Err(error),
        }
    }
}

/// The agent's work as the next step gets it, or why it cannot be kept.
pub(crate) type KeptWork<S> = Result<S, Broken>;

/// The work of an agent, or why there is none.
enum Work {
    /// It ended.
    Done {
        /// Its record.
        record: Box<Record>,
        /// The sandbox's folders, if they were kept now.
        kept: Option<PathBuf>,
    },
    /// It did not.
    Other(Executed),
}

impl<'a> Attempt<'a> {
    pub(crate) fn run(&self, findings: &mut Findings) -> Result<(), Broken> {
        match &self.trial.backend.inner {
            BackendKind::Folders { sandbox, root } => {
                self.run_in(|attempt, before| Folders::new(attempt, sandbox, root, before), findings)
            }
            BackendKind::Container { docker, image } => {
                self.run_in(|attempt, before| ImageEnvironment::new(attempt, docker, image, before), findings)
            }
        }
    }

    /// Runs the attempt in environments made by `open`: one, or one for each step.
    fn run_in<E: Environment>(
        &self,
        open: impl Fn(Attempt<'a>, Option<E::Snapshot>) -> Result<E, Broken>,
        findings: &mut Findings,
    ) -> Result<(), Broken> {
        if let Some(steps) = self.steps {
            return steps::run(self, steps, open, findings);
        }
        let prepare = || scaffold::scaffolded(doubles::seeded(open(*self, None)?, self)?, self);
        self.run_phases(prepare, findings, false).map(drop)
    }

    /// Runs the phases of an environment. If another step follows, returns the agent's work as it
    /// was before it was graded, or why it cannot be kept.
    pub(crate) fn run_phases<E: Environment>(
        &self,
        open: impl FnOnce() -> Result<E, Broken>,
        findings: &mut Findings,
        another_follows: bool,
    ) -> Result<Option<KeptWork<E::Snapshot>>, Broken> {
        let mut kept = None;
        let result = self.run_each_phase(open, findings, another_follows.then_some(&mut kept));
        if let Err(broken) = result {
            if !findings.has_worked {
                return Err(broken);
            }
            findings.no_reward = Some(self.blame(broken)?);
            findings.reward = Some(Reward::nothing());
        }
        // Part of the score, with any judge.
        let graded_by = self.trial.task.graded_by;
        let is_judged = self.trial.judge.is_some() && (graded_by.has_tests() || graded_by.has_graders());
        if let Some(tests) = findings.reward.as_ref().filter(|_| is_judged) {
            findings.judged_numbers.insert(judging::TESTS_NUMBER.to_owned(), tests.value);
        }
        Ok(kept)
    }

    fn run_each_phase<E: Environment>(
        &self,
        open: impl FnOnce() -> Result<E, Broken>,
        findings: &mut Findings,
        kept: Option<&mut Option<KeptWork<E::Snapshot>>>,
    ) -> Result<(), Broken> {
        let clock = Instant::now();
        create_folder(&self.folder.join("agent"))?;
        create_folder(&self.folder.join("verifier"))?;
        let environment = open()?;
        findings.contaminated = environment.contamination()?;
        findings.seconds.prepare = Some(clock.elapsed().as_secs_f64());

        let clock = Instant::now();
        let stopped = self.run_agent(environment, findings);
        findings.seconds.agent = Some(clock.elapsed().as_secs_f64());
        let stopped = stopped?;
        if self.cancel.load(Ordering::Relaxed) {
            return Ok(());
        }

        let clock = Instant::now();
        let verdict = self.grade(stopped, findings, kept);
        findings.seconds.verify = Some(clock.elapsed().as_secs_f64());
        verdict
    }

    /// Compares the agent's changes, and grades unless it tampered with files that decide the
    /// reward.
    fn grade<S: StoppedAgent>(
        &self,
        stopped: S,
        findings: &mut Findings,
        kept: Option<&mut Option<KeptWork<S::Snapshot>>>,
    ) -> Result<(), Broken> {
        let (changes, compared) = stopped.compare()?;
        let Changes { tampered, outside, changed, created, diff } = changes;
        findings.tampered = tampered;
        findings.outside = outside;
        findings.lines_changed = changed_lines(&diff);
        if !diff.is_empty() {
            let path = self.folder.join("workspace.diff");
            self.evidence.written(&path, fs::write(&path, diff));
        }
        let Some(mut compared) = compared else { return Ok(()) };
        // Before the verifier writes to it: what is judged is what the agent left.
        if let Some(judge) = &self.trial.judge {
            self.keep_judged(judge, &mut compared, &changed)?;
        }
        // Before the verifier writes to it: the next step gets nothing of the tests.
        if let Some(kept) = kept {
            *kept = Some(compared.snapshot());
        }
        if let Some(case) = &self.trial.task.eval_case {
            self.grade_case(case, &mut compared, &created, findings)?;
        } else if self.trial.task.graded_by.has_tests() {
            self.grade_work(compared, findings)?;
        } else {
            drop(compared);
        }
        if self.trial.judge.is_some() && findings.reward.is_none() && findings.tampered.is_empty() {
            return Err(Broken::new(Cause::Judge, "its rubric is decided by judges"));
        }
        Ok(())
    }

    /// Keeps what judges need: the rubric, the instruction, and the work folder as the agent left it.
    fn keep_judged(
        &self,
        judge: &TrialJudge,
        compared: &mut impl Compared,
        changed: &[PathBuf],
    ) -> Result<(), Broken> {
        let kept = judging::keep_rubric(self.folder, &judge.rubric)
            .and_then(|()| judging::keep_instruction(self.folder, &self.trial.task.instruction));
        let broken = |error: std::io::Error| Broken::harness(format!("cannot keep what is judged: {error}"));
        kept.map_err(broken)?;
        let left_out = compared.copy_work(&judging::work_folder(self.folder), &judging::KEPT)?;
        let left_out = left_out
            .iter()
            .map(|left| format!("{} ({})", assay_diagnostic::escape_path(&left.path), left.reason));
        judging::write_list(self.folder, changed, left_out).map_err(broken)
    }

    /// The agent's phase, from starting the sandbox to stopping all its processes.
    fn run_agent<E: Environment>(
        &self,
        environment: E,
        findings: &mut Findings,
    ) -> Result<<E::Agent as AgentPhase>::Stopped, Broken> {
        let trial = self.trial;
        let env: Vec<_> = if trial.agent.needs_solution() { trial.env.solution.clone() } else { Vec::new() };
        let proxy = match &trial.route {
            Some(route) => Some((ProxyHandle::open(self, route)?, route)),
            None => None,
        };
        let doubles = DoublesHandle::open(self)?;
        let workdir = environment.workdir();
        let mut phase = environment.start_agent()?;
        let mut session = DoublesSession::start(phase.session(), doubles.as_ref(), self.cancel)?;
        let session: &mut dyn Session = &mut session;
        findings.enforcement = Some(*session.enforcement());
        if let Some((proxy, _)) = &proxy {
            session.freeze_on(proxy.pause());
        }
        let catalogue = trial.catalogue(|path| session.path(path));
        let script_context = trial.script_context();
        let workdir = session.path(&workdir);
        let skills_dir = session.path(Path::new(trial.agent.skills_dir())).display().to_string();
        let mounts: Vec<String> = trial
            .provision
            .skills
            .iter()
            .map(|skill| session.path(&trial.mount_of(skill)).display().to_string())
            .collect();
        // The text of a skill stays as it is.
        let preface = if trial.provision.writes_skills {
            trial.provision.preface.replace("{skills}", &skills_dir)
        } else {
            trial.provision.preface.clone()
        };
        let preface = match doubles::preface(trial) {
            Some(own) if preface.is_empty() => own,
            Some(own) => format!("{own}\n\n{preface}"),
            None => preface,
        };
        let budget = PricedBudget { budget: self.budget, price: trial.price };
        let time = assay_diagnostic::duration_of_seconds(trial.agent_timeout);
        let mut mcp_servers = mcp::servers(&trial.task);
        mcp_servers.extend(doubles::mcp_servers(trial));
        let mut run = trial.agent.run(
            &Job {
                instruction: &trial.task.instruction,
                skills: &catalogue,
                disclosure: trial.disclosure,
                preface: &preface,
                workdir,
                deadline: Instant::now() + time,
                time,
                cancel: self.cancel,
                script_context: &script_context,
                logs: self.folder.join("agent"),
                env: &env,
                mcp_servers: &mcp_servers,
                endpoint: proxy.as_ref().map(|(proxy, _)| proxy.endpoint()),
                budget: proxy.is_none().then_some(&budget as &dyn RunBudget),
            },
            session,
        );
        findings.has_worked = !matches!(run.ended, Ended::Broken { .. });
        // No process of the agent survives this line.
        let stopped = phase.stop()?;
        findings.doubles = doubles.map(|doubles| doubles.close(stopped.logs())).transpose()?;
        findings.used = Some(stopped.used());
        findings.task_skills =
            stopped.task_skills().iter().map(|path| assay_diagnostic::escape_path(path)).collect();
        findings.exposure = self.exposure(&run, &mounts);
        findings.text_sent = cli_agents::text_sent(trial, &run, None);
        if let Some((proxy, route)) = proxy {
            let ledger = proxy.close();
            findings.text_sent = cli_agents::text_sent(trial, &run, Some(&ledger));
            findings.metered = Some(cli_agents::metered(&run.trajectory, &ledger, route));
            let time = assay_diagnostic::duration_of_seconds(trial.agent_timeout);
            cli_agents::apply_ledger(&mut run, &ledger, time);
            cli_agents::correct_exposure(&mut findings.exposure, &run.trajectory, &ledger);
            self.write_json("gateway.json", &ledger)?;
        }
        findings.seconds.throttled = Some(run.throttled.as_secs_f64());
        self.write_json("trajectory.json", &run.trajectory)?;
        self.write_json("exposure.json", &findings.exposure)?;
        let logs = stopped.logs();
        self.last_message(&run, &logs.join("agent"))?;
        // A trial counts without these files, and says which of them are missing.
        let keep = |from: &Path, to: &Path| self.evidence.copied(to, copy_tree(from, to, &LOG_CAPS));
        keep(&logs.join("agent"), &self.folder.join("agent"));
        let artifacts = logs.join("artifacts");
        if fs::read_dir(&artifacts).map_or(true, |mut entries| entries.next().is_some()) {
            keep(&artifacts, &self.folder.join("artifacts"));
        }
        if trial.provision.writes_skills {
            let kept = self.folder.join("generated-skills");
            keep(&stopped.written_skills(), &kept);
            findings.generated = Some(generated_skills(&kept, Path::new(&skills_dir), &run.trajectory));
        }
        let broken = match &run.ended {
            Ended::Broken { part, message } => Some(Broken::new(cause(*part), message.clone())),
            _ => None,
        };
        findings.run = Some(run);
        broken.map_or(Ok(stopped), Err)
    }

    /// Writes the agent's last message where verifiers expect it, replacing the agent's own file. A
    /// solution has no message, and may have written one.
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
        remove_tree(&path).map_err(|error| Broken::harness_error(&error))?;
        fs::write(&path, message)
            .map_err(|error| Broken::harness(format!("cannot write {}: {error}", path.display())))
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

    pub(crate) fn write_json<T: serde::Serialize>(&self, name: &str, value: &T) -> Result<(), Broken> {
        let bytes = serde_json::to_vec(value).map_err(|error| Broken::harness(error.to_string()))?;
        let path = self.folder.join(name);
        fs::write(&path, bytes)
            .map_err(|error| Broken::harness(format!("cannot write {}: {error}", path.display())))
    }

    /// Grades the agent's work: in a restored environment if the sandbox has one and the task's
    /// oracle passes in it, else where the agent worked.
    fn grade_work(&self, mut compared: impl Compared, findings: &mut Findings) -> Result<(), Broken> {
        match compared.restoring() {
            Restoring::NotNeeded => return self.verify(compared.start_verifier()?, VERIFIER, findings),
            Restoring::Impossible(reason) => {
                findings.keep_environment(reason);
                return self.verify(compared.start_verifier()?, VERIFIER, findings);
            }
            Restoring::Possible => {}
        }
        let is_oracle = self.trial.agent.needs_solution();
        let environment = match self.references {
            // A no-op is the same in both.
            Some(references) if !self.is_check() => references.verifier_environment()?,
            _ => VerifierEnvironment::Restored,
        };
        findings.verifier_environment = Some(environment);
        if environment == VerifierEnvironment::Kept {
            let has_solution = self.trial.task.solution_digest.is_some();
            findings.keep_environment(if has_solution {
                KeptBecause::Oracle
            } else {
                KeptBecause::NoSolution
            });
            findings.tampered.extend_from_slice(compared.dangerous());
            if !findings.tampered.is_empty() {
                return Ok(());
            }
            return self.verify(compared.start_verifier()?, VERIFIER, findings);
        }
        let passes = |findings: &Findings| findings.reward.as_ref().is_some_and(Reward::is_full);
        let restored = match compared.start_restored() {
            Ok(phase) => self.verify(phase, VERIFIER, findings),
            Err(broken) => Err(broken),
        };
        let keep = |found: VerifierEnvironment| match self.references {
            Some(references) if is_oracle => references.keep_verifier_environment(found),
            _ => Ok(()),
        };
        if passes(findings) {
            keep(VerifierEnvironment::Restored)?;
        }
        let system = compared.system_changes().to_vec();
        let is_sure = restored.as_ref().is_err_and(|broken| broken.cause != Cause::Verifier);
        if is_sure || passes(findings) || self.cancel.load(Ordering::Relaxed) {
            return restored;
        }
        let dangerous = compared.dangerous();
        if !dangerous.is_empty() {
            // Whatever the kept container gives, it is not trusted. A solution that needs such
            // changes has to declare them.
            if is_oracle {
                findings.tampered.extend_from_slice(dangerous);
                findings.reward = None;
                return Ok(());
            }
            findings.had_no_effect = Some(no_effect(dangerous));
            return restored;
        }
        if system.is_empty() {
            return restored;
        }
        // What the agent changed elsewhere may be why it fails.
        create_folder(&self.folder.join(KEPT))?;
        let mut other = Findings::default();
        let kept = compared.start_verifier().and_then(|phase| self.verify(phase, KEPT, &mut other));
        if kept.is_err() || !passes(&other) {
            return restored;
        }
        if is_oracle {
            keep(VerifierEnvironment::Kept)?;
            findings.keep_environment(KeptBecause::Oracle);
            (findings.reward, findings.ctrf) = (other.reward, other.ctrf);
            return Ok(());
        }
        findings.reward = None;
        Err(Broken::new(Cause::Environment, dependence(&system)))
    }

    /// The verifier's phase, with its output in a folder of the attempt.
    fn verify(
        &self,
        mut phase: impl VerifierPhase,
        name: &str,
        findings: &mut Findings,
    ) -> Result<(), Broken> {
        let trial = self.trial;
        let session = phase.session();
        let script = session.path(Path::new("/tests/test.sh"));
        let seconds = trial.task.config.verifier_timeout;
        let own = [("PYTHONNOUSERSITE", "1"), ("PYTHONDONTWRITEBYTECODE", "1")];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let outcome = session.exec(
            &Exec {
                argv: vec!["bash".to_owned(), script.display().to_string()],
                env: own.into_iter().chain(trial.env.verifier.iter().cloned()).collect(),
                cwd: None,
                deadline: Some(Instant::now() + assay_diagnostic::duration_of_seconds(seconds)),
                stdout: Sink {
                    file: Some(self.folder.join(name).join("test-stdout.txt")),
                    cap: VERIFIER_OUTPUT,
                    keep: 2_000,
                },
                stderr: None,
            },
            self.cancel,
        );
        let Graded { logs } = phase.stop()?;
        let outcome = outcome?;
        let kept = self.folder.join(name);
        self.evidence.copied(&kept, copy_tree(&logs, &kept, &LOG_CAPS));
        match outcome.exit {
            Exit::Deadline => {
                return Err(Broken::new(
                    Cause::Verifier,
                    format!("the verifier did not finish within {seconds} s"),
                ));
            }
            Exit::Limit(_) => {
                return Err(Broken::new(Cause::Verifier, "the verifier exceeded the sandbox's limits"));
            }
            Exit::Cancelled => return Ok(()),
            Exit::Code(_) | Exit::Signal(_) => {}
        }
        findings.ctrf = verifier::ctrf(&logs);
        let reward = verifier::reward(&logs).map_err(|error| {
            let output = outcome.stdout.text();
            let last =
                output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
            Broken::new(Cause::Verifier, format!("{error} (its last line: {})", clean_start(last, 200)))
        })?;
        findings.reward = Some(reward);
        Ok(())
    }
}

/// A trial that did not pass while its disk was full is lost: what the agent or the verifier wrote may be missing.
/// One that passed stays, and so does one that cheated.
fn was_full(findings: &Findings, full: &Path) -> Result<(), Broken> {
    if !matches!(outcome(findings).0, Outcome::Failed | Outcome::TimedOut) {
        return Ok(());
    }
    let message =
        format!("the disk of {} was full while the trial ran: No space left on device", full.display());
    Err(Broken { is_of_machine: true, ..Broken::harness(message) })
}

/// Why a trial that does not pass in the restored environment is not lost, as one that depends on the
/// environment is.
fn no_effect(dangerous: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = clean_start(&dangerous.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; "), 250);
    let more = dangerous.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("changes that could control a verifier had no effect in the restored environment: {shown}{more}")
}

/// Why a trial is lost that passes only with the agent's changes outside its work folders.
fn dependence(system: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = system.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let more =
        if system.len() > SHOWN { format!(" and {} more", system.len() - SHOWN) } else { String::new() };
    format!(
        "environment-dependent: it passes only with what the agent changed outside its work folders ({shown}{more})"
    )
}

fn cause(part: Part) -> Cause {
    match part {
        Part::Sandbox => Cause::Sandbox,
        Part::ModelProvider => Cause::ModelProvider,
        Part::AgentSetup => Cause::AgentSetup,
        Part::Budget => Cause::Budget,
    }
}

fn record(
    trial: &ResolvedTrial,
    attempt: u32,
    started_at: jiff::Timestamp,
    findings: Findings,
    result: Result<(), Broken>,
) -> Record {
    let ended = findings.run.as_ref().map(|run| run.ended.clone());
    let (outcome, cause, reason) = match result {
        Err(broken) => (Outcome::Infrastructure, Some(broken.cause), Some(broken.message)),
        Ok(()) => outcome(&findings),
    };
    let usage = findings.run.as_ref().and_then(|run| run.usage);
    let replied_models = findings.run.as_ref().map(|run| run.replied_models.clone()).unwrap_or_default();
    let estimated = findings.run.as_ref().map(|run| run.estimated).filter(|guess| guess.requests > 0);
    let new = Record::new(trial.id.clone(), trial.task.name.clone(), trial.label.clone(), outcome);
    Record {
        sandbox: trial.backend.kind().to_owned(),
        condition: trial.condition.clone(),
        repetition: trial.repetition,
        cause,
        reason,
        reward: findings.reward.as_ref().map(|reward| reward.value),
        numbers: numbers(&findings),
        rewards: findings.reward.map(|reward| reward.keys).unwrap_or_default(),
        ctrf: findings.ctrf,
        ended,
        turns: findings.run.as_ref().and_then(|run| known_turns(&run.trajectory, findings.metered.as_ref())),
        usage,
        cost_usd: usage.zip(trial.price).map(|(usage, price)| price.cost(&usage)),
        estimated: estimated.map(|assay_agent::Estimated { requests, usage }| Estimated {
            requests,
            usage,
            cost_usd: trial.price.map(|price| price.cost(&usage)),
        }),
        server: trial.server.clone(),
        replied_models,
        seconds: findings.seconds,
        exposure: findings.run.is_some().then_some(findings.exposure),
        text_sent: findings.text_sent,
        generated: findings.generated,
        contaminated: findings.contaminated,
        tampered: findings.tampered,
        outside: findings.outside,
        verifier_environment: findings.verifier_environment,
        kept_because: findings.kept_because,
        task_skills: findings.task_skills,
        warnings: trial.warnings.iter().cloned().chain(unknown_calls(findings.doubles)).collect(),
        enforcement: findings.enforcement.map(sandbox_record::enforcement),
        used: findings.used.map(sandbox_record::usage),
        metered: findings.metered,
        steps: findings.steps.map(|steps| steps.records).unwrap_or_default(),
        measures_a_model: trial.agent.measures_a_model(),
        attempt,
        started_at: Some(started_at.to_string()),
        finished_at: Some(jiff::Timestamp::now().to_string()),
        ..new
    }
}

/// A warning if calls to test doubles were not answered as the task declares.
fn unknown_calls(doubles: Option<DoubleCalls>) -> Option<String> {
    let unknown = doubles.map(|doubles| doubles.unknown).filter(|unknown| *unknown > 0)?;
    let calls = if unknown == 1 { "1 call" } else { &format!("{unknown} calls") };
    Some(format!("{calls} to the task's test doubles matched no rule ({})", doubles::LOG))
}

/// The numbers of a trial that are no part of its score.
fn numbers(findings: &Findings) -> BTreeMap<String, f64> {
    let mut numbers = findings.reward.as_ref().map(|reward| reward.numbers.clone()).unwrap_or_default();
    numbers.extend(findings.judged_numbers.clone());
    if let Some(doubles) = findings.doubles {
        numbers.insert(DOUBLES_CALLS.to_owned(), doubles.calls as f64);
        numbers.insert(DOUBLES_UNKNOWN_CALLS.to_owned(), doubles.unknown as f64);
    }
    numbers.extend(findings.lines_changed.map(|lines| (LINES_CHANGED.to_owned(), lines as f64)));
    numbers
}
