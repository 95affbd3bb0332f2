//! Folders on this machine, mounted into one namespace for the agent and another for the verifier.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_diagnostic::chain;
use assay_fs::{Caps, FileKind, LeftOut, Manifest, copy_tree};
use assay_sandbox::{Mount, Root, Sandbox, Session, Spec, Usage, unified_diff};
use assay_store::{Cause, NetworkPolicy};

use super::phases::{
    AgentPhase, Changes, Compared, DIFF_CAP, Environment, Graded, Restoring, StepStart, StoppedAgent,
    VerifierPhase,
};
use crate::run::attempt::Attempt;
use crate::run::broken::{Broken, create_folder, inside};
use crate::run::cli_agents;
use crate::run::commands::{set_up, wait_healthy};
use crate::run::doubles;
use crate::run::egress_proxy::{self, EgressProxy};
use crate::run::prep_cache::Base;
use crate::run::sandbox_record;
use crate::run::tamper::links::{AgentLink, Links, MountedTree};
use crate::run::tamper::{Folder, new_links, planted_in, pytest, read_small, tampering};

/// The search path for programs, in every phase.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The agent's home, if none of the task's writable folders is one.
const HOME: &str = "/root";

/// The folder that serves as `/logs` while the agent works, in the attempt's scratch folder.
const LOGS_OF_AGENT: &str = "logs-of-agent";

/// Folders of this machine for one attempt.
pub(crate) struct Folders<'a> {
    attempt: Attempt<'a>,
    sandbox: &'a Arc<dyn Sandbox>,
    root: &'a Root,
    base: Arc<Base>,
    /// The task's writable folders.
    writable: Vec<Mount>,
    /// The agent's own, which the verifier does not see.
    private: Vec<Mount>,
    /// The folder that serves as `/logs`.
    logs: PathBuf,
}

/// A skill of the task's own, as the oracle has it.
struct PlantedSkill {
    /// Its path inside.
    path: PathBuf,
    /// And on this machine.
    source: PathBuf,
}

/// With the agent at work.
pub(crate) struct AgentInFolders<'a> {
    folders: Folders<'a>,
    running: Running,
    planted: Vec<PlantedSkill>,
}

/// After the agent was killed.
pub(crate) struct StoppedFolders<'a> {
    folders: Folders<'a>,
    used: Usage,
    task_skills: Vec<PathBuf>,
}

/// After its changes were compared.
pub(crate) struct ComparedFolders<'a> {
    folders: Folders<'a>,
}

/// With the verifier at work.
pub(crate) struct VerifierInFolders<'a> {
    folders: Folders<'a>,
    running: Running,
}

/// A namespace, and its way to hosts.
struct Running {
    session: Box<dyn Session>,
    egress: Option<EgressProxy>,
}

impl<'a> Folders<'a> {
    /// Copies the task's writable folders, or those that an earlier step has left, so that this
    /// attempt has its own.
    pub(crate) fn new(
        attempt: Attempt<'a>,
        sandbox: &'a Arc<dyn Sandbox>,
        root: &'a Root,
        before: Option<Arc<Base>>,
    ) -> Result<Self, Broken> {
        let base = match before {
            Some(base) => base,
            None => attempt
                .cache
                .base(&attempt.trial.task)
                .map_err(|error| Broken::new(Cause::Image, error.to_string()))?,
        };
        let mut writable = Vec::new();
        for (path, _) in &base.writable {
            let own = inside(&attempt.scratch.join("fs"), path);
            create_folder(&own)?;
            let report = copy_tree(&inside(&base.root, path), &own, &Caps::default())
                .map_err(|error| Broken::harness_error(&error))?;
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
            let home = attempt.scratch.join("home");
            create_folder(&home)?;
            private.push(Mount { source: home, target: HOME.into(), writable: true });
        }
        let logs = attempt.scratch.join("logs");
        for name in ["agent", "artifacts", "verifier"] {
            create_folder(&logs.join(name))?;
        }
        create_folder(&attempt.scratch.join(LOGS_OF_AGENT))?;
        Ok(Self { attempt, sandbox, root, base, writable, private, logs })
    }

    /// Copies the writable folders as they are now.
    fn snapshot(&self, name: &str) -> Result<Arc<Base>, Broken> {
        let root = self.attempt.scratch.join(name);
        let copied = self.copy_writable(root.clone());
        if copied.is_err() {
            // The disk may be needed for what follows.
            let _ = assay_fs::remove_tree(&root);
        }
        copied
    }

    fn copy_writable(&self, root: PathBuf) -> Result<Arc<Base>, Broken> {
        let mut writable = Vec::new();
        for Mount { source, target, .. } in &self.writable {
            let copy = inside(&root, target);
            create_folder(&copy)?;
            let report = copy_tree(source, &copy, &Caps::default());
            let report = report.map_err(|error| Broken::harness_error(&error))?;
            if let Some(left) = report.left_out.first() {
                let path = target.join(&left.path);
                let path = assay_diagnostic::escape_path(&path);
                let message = format!("cannot keep {path} for the next step: {}", left.reason);
                return Err(Broken::harness(message));
            }
            let manifest = Manifest::scan(&copy, &Caps::default());
            writable.push((target.clone(), manifest.map_err(|error| Broken::harness_error(&error))?));
        }
        Ok(Arc::new(Base { root, writable }))
    }

    /// The folder of this machine that is the work folder. An agent that replaced it by something
    /// else loses that.
    fn work_folder(&self) -> Result<PathBuf, Broken> {
        let workdir = self.attempt.workdir();
        let own = self.writable.iter().find_map(|mount| {
            Some((mount.source.clone(), workdir.strip_prefix(&mount.target).ok()?.to_owned()))
        });
        let Some((mut folder, below)) = own else {
            let message = "the files of a step need a work folder that may be written";
            return Err(Broken::new(Cause::Image, message));
        };
        for part in &below {
            folder.push(part);
            make_real_folder(&folder)?;
        }
        Ok(folder)
    }

    /// Puts the task's own skills where its image would have them: into a folder that may be
    /// written, or else mounted.
    fn plant_skills(&self, mounts: &mut Vec<Mount>) -> Result<Vec<PlantedSkill>, Broken> {
        let mut planted = Vec::new();
        let laid = self.attempt.scratch.join("task-skills");
        create_folder(&laid)?;
        let paths = self.attempt.trial.task.lay_out_baked_skills(&laid);
        let paths = paths.map_err(|error| Broken::new(Cause::Image, chain(&error)))?;
        for path in paths {
            let from = inside(&laid, &path);
            let own = self.writable.iter().chain(&self.private).find(|mount| path.starts_with(&mount.target));
            let Some(mount) = own else {
                mounts.push(Mount { source: from.clone(), target: path.clone(), writable: true });
                planted.push(PlantedSkill { path, source: from });
                continue;
            };
            let to = mount.source.join(path.strip_prefix(&mount.target).unwrap_or(&path));
            if let Some(above) = to.parent() {
                create_folder(above)?;
            }
            std::fs::rename(&from, &to).map_err(|error| {
                Broken::harness(format!("cannot move a skill to {}: {error}", to.display()))
            })?;
            planted.push(PlantedSkill { path, source: to });
        }
        Ok(planted)
    }

    /// Takes them out again, with the folders that were made for them.
    fn unplant_skills(&self, planted: &[PlantedSkill]) -> Result<(), Broken> {
        for PlantedSkill { source, .. } in planted {
            assay_fs::remove_tree(source).map_err(|error| Broken::harness_error(&error))?;
            let roots: Vec<&PathBuf> =
                self.writable.iter().chain(&self.private).map(|mount| &mount.source).collect();
            let above = source.ancestors().skip(1).take_while(|above| !roots.contains(&&above.to_path_buf()));
            for folder in above.take_while(|above| above.starts_with(self.attempt.scratch)) {
                // A folder with other content stays.
                if std::fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The path at which commands see a mount.
    fn seen_path(&self, mount: &Mount) -> PathBuf {
        if self.has_own_root() {
            return mount.target.clone();
        }
        mount.source.canonicalize().unwrap_or_else(|_| mount.source.clone())
    }

    /// Whether commands see the mounts at their targets.
    fn has_own_root(&self) -> bool {
        self.sandbox.kind() != "none"
    }

    /// Which links of the agent in the work folders are tampering. Removes those in the logs that
    /// lead into the verifier's folders, because the verifier can read the logs.
    fn link_faults(&self, links: &[AgentLink]) -> Result<Vec<String>, Broken> {
        let logs = ["agent", "artifacts"].map(|name| self.mount_logs(name, false));
        let mounts: Vec<Mount> = self.writable.iter().chain(&logs).cloned().collect();
        let tree = MountedTree { root: self.has_own_root().then_some(self.root), mounts: &mounts };
        let work: Vec<PathBuf> = self.writable.iter().map(|mount| self.seen_path(mount)).collect();
        let scratch = [self.attempt.scratch.join("tests"), self.logs.join("verifier")];
        let reserved = if self.has_own_root() { &[][..] } else { &scratch };
        let followed = Links::new(&tree, &work, reserved)?;
        let agent = &self.attempt.trial.agent;
        let mut faults = Vec::new();
        for link in links {
            let is_state = link.path.strip_prefix(HOME).is_ok_and(|own| agent.is_own_state(own));
            faults.extend(followed.fault(link, is_state)?);
        }
        for mount in &logs {
            let Ok(after) = Manifest::scan(&mount.source, &Caps::default()) else { continue };
            let nothing = Manifest::default();
            let changes = nothing.diff(&after);
            let seen = self.seen_path(mount);
            for link in new_links(&seen, &changes, &nothing, &after) {
                // Logs are no work: such a link is removed.
                if followed.fault(&link, true)?.is_some()
                    && let Ok(below) = link.path.strip_prefix(&seen)
                {
                    let own = mount.source.join(below);
                    assay_fs::remove_tree(&own).map_err(|error| Broken::harness_error(&error))?;
                }
            }
        }
        Ok(faults)
    }

    fn mount_logs(&self, name: &str, writable: bool) -> Mount {
        Mount { source: self.logs.join(name), target: Path::new("/logs").join(name), writable }
    }

    fn spec(&self, mut mounts: Vec<Mount>, policy: &NetworkPolicy, phase: &str) -> Spec {
        let trial = self.attempt.trial;
        let mut env: Vec<(String, String)> =
            [("PATH", PATH), ("HOME", HOME), ("LANG", "C.UTF-8"), ("TERM", "dumb")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec();
        if matches!(policy, NetworkPolicy::Hosts(_)) {
            mounts.extend(egress_proxy::mounts(trial, &self.attempt.egress_folder()));
            env.extend(EgressProxy::env(&[]));
        }
        let dockerfile = trial.task.environment.dockerfile.iter().flat_map(|file| &file.env);
        for (name, value) in dockerfile.chain(trial.env.agent.iter()) {
            env.retain(|(known, _)| known != name);
            env.push((name.clone(), value.clone()));
        }
        Spec {
            root: self.root.clone(),
            mounts,
            tmpfs: Vec::new(),
            workdir: self.attempt.workdir(),
            env,
            network: sandbox_record::network(policy),
            limits: sandbox_record::limits(trial.limits),
            label: format!("{}-{phase}", trial.id.short()),
        }
    }

    fn written_skills(&self) -> PathBuf {
        self.attempt.scratch.join("skills")
    }

    fn start(&self, spec: &Spec, policy: &NetworkPolicy) -> Result<Running, Broken> {
        let folder = self.attempt.egress_folder();
        if matches!(policy, NetworkPolicy::Hosts(_)) {
            create_folder(&folder)?;
        }
        let egress = EgressProxy::open(policy, self.attempt.trial, &folder)?;
        let mut session = self.sandbox.start(spec)?;
        if let Some(egress) = &egress {
            egress.start(&mut *session, self.attempt.cancel)?;
        }
        Ok(Running { session, egress })
    }

    fn stop(&self, running: Running, phase: &str) -> Result<Usage, Broken> {
        let used = running.session.stop()?;
        if let Some(egress) = running.egress {
            self.attempt.write_egress(&egress.close(), phase)?;
        }
        Ok(used)
    }
}

impl<'a> Environment for Folders<'a> {
    type Snapshot = Arc<Base>;
    type Agent = AgentInFolders<'a>;

    fn contamination(&self) -> Result<Vec<String>, Broken> {
        let trial = self.attempt.trial;
        self.attempt
            .cache
            .contamination(&trial.task, self.root, &trial.absent)
            .map_err(|error| Broken::harness(error.to_string()))
    }

    fn workdir(&self) -> PathBuf {
        self.attempt.workdir()
    }

    fn begin_step(mut self, start: &StepStart<'_>) -> Result<Self, Broken> {
        if start.files.is_none() && start.healthcheck.is_none() {
            return Ok(self);
        }
        let trial = self.attempt.trial;
        let mut has_setup = false;
        if let Some(files) = start.files {
            put_files(files, &self.work_folder()?)?;
            has_setup = files.join(start.script()).is_file();
        }
        if has_setup || start.healthcheck.is_some() {
            let mounts = self.writable.iter().chain(&self.private).cloned().collect();
            let spec = self.spec(mounts, &trial.network, "setup");
            let mut running = self.start(&spec, &trial.network)?;
            let (session, cancel) = (&mut *running.session, self.attempt.cancel);
            if has_setup {
                set_up(session, &self.attempt.workdir(), start, cancel)?;
            }
            if let Some(check) = start.healthcheck {
                wait_healthy(session, check, cancel)?;
            }
            self.stop(running, "setup")?;
        }
        self.base = self.snapshot("before")?;
        Ok(self)
    }

    fn start_agent(self) -> Result<AgentInFolders<'a>, Broken> {
        let trial = self.attempt.trial;
        let cache = self.attempt.cache;
        let mut mounts = self.writable.clone();
        mounts.extend(self.private.clone());
        // Solutions make folders below it, since they exist under the format's own runner. The
        // verifier sees none of them.
        let source = self.attempt.scratch.join(LOGS_OF_AGENT);
        mounts.push(Mount { source, target: "/logs".into(), writable: true });
        for name in ["agent", "artifacts"] {
            mounts.push(self.mount_logs(name, true));
        }
        for skill in &trial.provision.skills {
            let source = cache.skill(skill).map_err(|error| Broken::harness(error.to_string()))?;
            mounts.push(Mount {
                source: source.to_path_buf(),
                target: trial.mount_of(skill),
                writable: false,
            });
        }
        mounts.extend(cli_agents::mounts(trial, &self.attempt.proxy_folder()));
        mounts.extend(doubles::mounts(&self.attempt));
        if trial.provision.writes_skills {
            let own = self.written_skills();
            create_folder(&own)?;
            mounts.push(Mount { source: own, target: trial.agent.skills_dir().into(), writable: true });
        }
        let mut planted = Vec::new();
        if trial.agent.needs_solution() {
            let source = cache.solution(&trial.task).map_err(|error| Broken::harness(error.to_string()))?;
            mounts.push(Mount { source: source.to_path_buf(), target: "/solution".into(), writable: false });
            planted = self.plant_skills(&mut mounts)?;
        }
        let spec = self.spec(mounts, &trial.network, "agent");
        let running = self.start(&spec, &trial.network)?;
        Ok(AgentInFolders { folders: self, running, planted })
    }
}

impl<'a> AgentPhase for AgentInFolders<'a> {
    type Snapshot = Arc<Base>;
    type Stopped = StoppedFolders<'a>;

    fn session(&mut self) -> &mut dyn Session {
        &mut *self.running.session
    }

    fn stop(self) -> Result<StoppedFolders<'a>, Broken> {
        let Self { folders, running, planted } = self;
        let used = folders.stop(running, "agent")?;
        folders.unplant_skills(&planted)?;
        let task_skills = planted.into_iter().map(|planted| planted.path).collect();
        Ok(StoppedFolders { folders, used, task_skills })
    }
}

impl<'a> StoppedAgent for StoppedFolders<'a> {
    type Snapshot = Arc<Base>;
    type Compared = ComparedFolders<'a>;

    fn used(&self) -> Usage {
        self.used
    }

    fn task_skills(&self) -> Vec<PathBuf> {
        self.task_skills.clone()
    }

    fn logs(&self) -> &Path {
        &self.folders.logs
    }

    fn written_skills(&self) -> PathBuf {
        self.folders.written_skills()
    }

    fn compare(self) -> Result<(Changes, Option<ComparedFolders<'a>>), Broken> {
        let folders = self.folders;
        let workdir = folders.attempt.workdir();
        let mut found = Changes::default();
        let mut links = Vec::new();
        for ((path, before), mount) in folders.base.writable.iter().zip(&folders.writable) {
            let scanned = assay_fs::restore_access(&mount.source)
                .and_then(|()| Manifest::scan(&mount.source, &Caps::default()));
            let after = match scanned {
                Ok(after) => after,
                Err(error) => {
                    found.tampered.push(format!("{}: cannot be searched: {error}", path.display()));
                    continue;
                }
            };
            let changes = before.diff(&after);
            links.extend(new_links(&folders.seen_path(mount), &changes, before, &after));
            let before = inside(&folders.base.root, path);
            found.tampered.extend(tampering(
                &folders.attempt.trial.task,
                &Folder {
                    root: path,
                    workdir: &workdir,
                    changes: &changes,
                    after: &after,
                    read_before: &|path| read_small(&before, path),
                    read: &|path| read_small(&mount.source, path),
                    pytest: &|| pytest::modules_in(folders.root),
                },
            ));
            if workdir.starts_with(path) {
                found.add_changed(path, &workdir, &changes);
            } else {
                found.add_outside(path, &changes);
            }
            let room = DIFF_CAP.saturating_sub(found.diff.len());
            let diff = unified_diff(&before, &mount.source, &changes, room);
            found.diff.extend(diff);
        }
        found.tampered.extend(folders.link_faults(&links)?);
        if !folders.attempt.trial.agent.needs_solution() {
            found.tampered.extend(planted_in(&folders.attempt.scratch.join(LOGS_OF_AGENT)));
        }
        for mount in &folders.private {
            if let Ok(after) = Manifest::scan(&mount.source, &Caps::default()) {
                let agent = &folders.attempt.trial.agent;
                let mut changes = Manifest::default().diff(&after);
                changes.retain(|change| mount.target != Path::new(HOME) || !agent.is_own_state(&change.path));
                found.add_outside(&mount.target, &changes);
            }
        }
        let compared = found.tampered.is_empty().then_some(ComparedFolders { folders });
        Ok((found, compared))
    }
}

impl<'a> Compared for ComparedFolders<'a> {
    type Snapshot = Arc<Base>;
    type Verifier = VerifierInFolders<'a>;

    fn snapshot(&mut self) -> Result<Arc<Base>, Broken> {
        self.folders.snapshot("after")
    }

    fn copy_work(&mut self, to: &Path, caps: &Caps) -> Result<Vec<LeftOut>, Broken> {
        let workdir = self.folders.attempt.workdir();
        let own = self
            .folders
            .writable
            .iter()
            .find_map(|mount| Some(mount.source.join(workdir.strip_prefix(&mount.target).ok()?)));
        create_folder(to)?;
        let Some(from) = own.filter(|from| from.symlink_metadata().is_ok_and(|found| found.is_dir())) else {
            return Ok(Vec::new());
        };
        let report = copy_tree(&from, to, caps).map_err(|error| Broken::harness_error(&error))?;
        Ok(report.left_out)
    }

    /// The root is read-only: nothing has to be restored.
    fn restoring(&self) -> Restoring {
        Restoring::NotNeeded
    }

    fn start_restored(&mut self) -> Result<VerifierInFolders<'a>, Broken> {
        Err(Broken::harness("folders have no other environment"))
    }

    fn system_changes(&self) -> &[String] {
        &[]
    }

    fn dangerous(&self) -> &[String] {
        &[]
    }

    fn start_verifier(self) -> Result<VerifierInFolders<'a>, Broken> {
        let folders = self.folders;
        let trial = folders.attempt.trial;
        let tests = folders.attempt.scratch.join("tests");
        create_folder(&tests)?;
        trial.task.lay_out_tests(&tests).map_err(|error| Broken::harness_error(&error))?;
        let mut mounts = folders.writable.clone();
        if folders.private.iter().any(|mount| mount.target == Path::new(HOME)) {
            // The verifier gets an empty home. Mounted first, so that it does not hide the copies
            // below it.
            let home = folders.attempt.scratch.join("verifier-home");
            create_folder(&home)?;
            mounts.push(Mount { source: home, target: HOME.into(), writable: true });
        }
        mounts.push(Mount { source: tests, target: "/tests".into(), writable: true });
        mounts.push(folders.mount_logs("verifier", true));
        mounts.push(folders.mount_logs("agent", false));
        mounts.push(folders.mount_logs("artifacts", false));
        for name in doubles::VERIFIER_FILES {
            if folders.logs.join(name).exists() {
                mounts.push(folders.mount_logs(name, false));
            }
        }
        let laid = folders.attempt.scratch.join("verifier-copies");
        create_folder(&laid)?;
        let copies = trial.task.lay_out_verifier_copies(&laid);
        for target in copies.map_err(|error| Broken::new(Cause::Image, chain(&error)))? {
            mounts.push(Mount { source: inside(&laid, &target), target, writable: true });
        }
        let spec = folders.spec(mounts, &trial.verifier_network, "verifier");
        let running = folders.start(&spec, &trial.verifier_network)?;
        Ok(VerifierInFolders { folders, running })
    }
}

impl VerifierPhase for VerifierInFolders<'_> {
    fn session(&mut self) -> &mut dyn Session {
        &mut *self.running.session
    }

    fn stop(self) -> Result<Graded, Broken> {
        self.folders.stop(self.running, "verifier")?;
        Ok(Graded { logs: self.folders.logs.join("verifier") })
    }
}

/// Makes a folder unless it is there. What else is in its place, a link too, is removed.
fn make_real_folder(path: &Path) -> Result<(), Broken> {
    if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    assay_fs::remove_tree(path).map_err(|error| Broken::harness_error(&error))?;
    create_folder(path)
}

/// Copies files into a folder that an agent has written to. Links there are replaced and never
/// followed, and so is everything else that is in the way.
fn put_files(from: &Path, to: &Path) -> Result<(), Broken> {
    let files = Manifest::scan(from, &Caps::default()).map_err(|error| Broken::harness_error(&error))?;
    for (path, entry) in &files.entries {
        let target = to.join(path);
        if entry.kind == FileKind::Directory {
            make_real_folder(&target)?;
            continue;
        }
        assay_fs::remove_tree(&target).map_err(|error| Broken::harness_error(&error))?;
        let put = match &entry.target {
            Some(text) => std::os::unix::fs::symlink(text, &target),
            None => std::fs::copy(from.join(path), &target).map(drop),
        };
        put.map_err(|error| Broken::harness(format!("cannot write {}: {error}", target.display())))?;
    }
    Ok(())
}
