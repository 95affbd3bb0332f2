//! A desk that is one container of the task's image, for the agent and, after everything in it is dead, for the grader.
//!
//! Nothing of this machine is mounted but what may only be read: files come out after everything inside is dead.

mod account;
mod files;
mod pristine;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_diagnostic::{chain, clean, clean_start};
use assay_sandbox::docker::{Changed, Container as Docked, ContainerSpec, Docker, DockerNetwork, Owner};
use assay_sandbox::{
    Caps, ChangeKind, Entry, Exec, Exit, FileKind, Manifest, Mount, SandboxError, Session, Sink, Usage,
    unified_diff,
};
use assay_store::Cause;
use assay_task::{Healthcheck, VerifierMode};

use account::Account;
use files::{kept_as, leave_out, look_at_odd, note_left_out, write};
use pristine::Pristine;

use super::{Attempt, Broken, Changes, DIFF_CAP, Desk, LOG_CAPS, OUTSIDE, make};
use crate::run::backend::TaskImage;
use crate::run::cli_agents;
use crate::run::egress_proxy::{self, Outlet};
use crate::run::image_scan::{Survey, WORK_CAPS};
use crate::run::prep_cache::{Prepared, inside};
use crate::run::tamper::{Folder, VERIFIER_LOGS, image, read_small, tampering};
use crate::spec::network::NetworkPolicy;

/// Where the daemon's first seconds of a healthcheck end, whatever the task says.
const HEALTH_PATIENCE: Duration = Duration::from_mins(10);

/// Most changed paths of a large work folder that are looked at one by one.
const LOOKED_AT: usize = 2_000;

/// Most changed paths beside the work folder that are looked at one by one.
const ODD: usize = 500;

/// Most bytes of a file that is read to judge it.
const READ: u64 = 64 << 10;

/// A folder that is never there: Python looks for bytecode nowhere else.
const NOWHERE: &str = "/nonexistent/assay";

/// A container.
pub(super) struct Container<'a> {
    attempt: Attempt<'a>,
    docker: &'a Docker,
    prepared: Arc<Prepared>,
    survey: Arc<Survey>,
    workdir: PathBuf,
    /// Folders that are mounted, and where.
    mounts: Vec<Mount>,
    /// The task's own skills, as the oracle has them.
    planted: Vec<PathBuf>,
    logs: PathBuf,
    seat: Option<Seat>,
    outlet: Option<Outlet>,
    used: Usage,
    /// What differs from the image, since the agent.
    changes: Vec<Changed>,
    /// Reasons why the agent's files cannot be inspected, if they cannot.
    beyond: Vec<String>,
    verdict: image::Verdict,
}

/// Who sits at a container.
struct Seat {
    container: Docked,
    user: Option<String>,
    /// Added to every command.
    env: Vec<(String, String)>,
    /// Whose home stands for root's.
    account: Option<Account>,
}

impl Session for Seat {
    fn exec(
        &mut self,
        command: &Exec,
        cancel: &std::sync::atomic::AtomicBool,
    ) -> Result<assay_sandbox::ExecOutcome, SandboxError> {
        let mut command = command.clone();
        let given = std::mem::replace(&mut command.env, self.env.clone());
        command.env.extend(given);
        self.container.exec_as(&command, self.user.as_deref(), cancel)
    }

    fn path(&self, target: &Path) -> PathBuf {
        self.account.as_ref().map_or_else(|| target.to_owned(), |account| account.path(target))
    }

    fn enforcement(&self) -> &assay_sandbox::Enforcement {
        self.container.enforcement()
    }

    fn hold(&mut self, hold: Arc<dyn assay_sandbox::Hold>) {
        self.container.hold(hold);
    }

    fn stop(self: Box<Self>) -> Result<Usage, SandboxError> {
        self.container.remove()
    }
}

impl<'a> Container<'a> {
    /// Has the image built, found and searched.
    pub(super) fn new(
        attempt: Attempt<'a>,
        docker: &'a Docker,
        material: &'a TaskImage,
    ) -> Result<Self, Broken> {
        let trial = attempt.trial;
        let workshop = attempt.workshop;
        let prepared = workshop.prepared(docker, material, &trial.task, attempt.cancel)?;
        let image = &prepared.image;
        let workdir = trial.task.config.environment.workdir.clone();
        let workdir = workdir.or_else(|| prepared.workdir.clone()).or_else(|| image.config.workdir.clone());
        let workdir = workdir.unwrap_or_else(|| PathBuf::from("/"));
        let label = format!("{}-survey", trial.id.short());
        let survey = workshop.survey(docker, &prepared, trial, &workdir, &label, attempt.cancel)?;
        let logs = attempt.scratch.join("logs");
        for name in ["agent", "artifacts", "verifier"] {
            make(&logs.join(name))?;
        }
        Ok(Self {
            attempt,
            docker,
            prepared,
            survey,
            workdir,
            mounts: Vec::new(),
            planted: Vec::new(),
            logs,
            seat: None,
            outlet: None,
            used: Usage::default(),
            changes: Vec::new(),
            beyond: Vec::new(),
            verdict: image::Verdict::default(),
        })
    }

    fn spec(
        &self,
        image: &assay_sandbox::docker::Image,
        reach: &NetworkPolicy,
        phase: &str,
    ) -> ContainerSpec {
        let trial = self.attempt.trial;
        let mut spec = ContainerSpec::new(image.clone(), format!("{}-{phase}", trial.id.short()));
        spec.workdir = Some(self.workdir.clone());
        spec.env = trial.env.agent.clone();
        spec.network = network(reach);
        spec.limits = trial.limits;
        spec
    }

    /// The folders that stand for `/logs` and the reward, which every user of the image may write.
    fn put_logs(&self, container: &Docked, names: &[&str]) -> Result<(), Broken> {
        use std::os::unix::fs::PermissionsExt;
        let empty = self.attempt.scratch.join("empty").join(names.join("-"));
        for name in names {
            let folder = empty.join(name);
            make(&folder)?;
            let open = std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777));
            open.map_err(|error| Broken::harness(format!("cannot open {}: {error}", folder.display())))?;
        }
        container.put(&empty, Path::new("/logs"), Owner::default(), &Caps::default())?;
        Ok(())
    }

    /// Opens the way to hosts, where a phase may reach some, and gives what programs are told of it.
    fn lead_out(
        &mut self,
        reach: &NetworkPolicy,
        container: Docked,
    ) -> Result<(Docked, Vec<(String, String)>), Broken> {
        self.outlet = Outlet::open(reach, self.attempt.trial, &self.attempt.outlet())?;
        let Some(outlet) = &self.outlet else { return Ok((container, Vec::new())) };
        // Its socket is the owner's.
        let mut root = Seat { container, user: Some("0".to_owned()), env: Vec::new(), account: None };
        outlet.start(&mut root, self.attempt.cancel)?;
        Ok((root.container, Outlet::env()))
    }

    /// Whom the agent's commands run as, where that is not the image's user.
    fn agent_user(&self) -> Option<String> {
        self.attempt.trial.task.config.agent_user.clone().or_else(|| self.prepared.user.clone())
    }

    /// The same, with a home. A task whose work lies in root's home has no other.
    fn account(&self) -> Account {
        let user = self.agent_user().or_else(|| self.prepared.image.config.user.clone());
        let user =
            user.filter(|_| self.attempt.trial.way.is_some() && !self.workdir.starts_with(account::ROOT));
        Account::of(user.as_deref(), &self.survey.passwd)
    }

    /// Gives a user what is made for root otherwise: the home with the folders on the way to the skills, and the door.
    fn settle_in(&self, container: &mut Docked, account: &Account) -> Result<(), Broken> {
        let mut folders = std::collections::BTreeSet::from([account.home.clone()]);
        for mount in self.mounts.iter().filter(|mount| mount.target.starts_with(&account.home)) {
            let above = mount.target.ancestors().skip(1);
            folders.extend(above.take_while(|above| above.starts_with(&account.home)).map(Path::to_owned));
        }
        let own = "for folder; do mkdir -p \"$folder\" && chown \"$0\" \"$folder\" || exit 1; done";
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let words: Vec<&str> =
            ["sh", "-c", own, &account.name].into_iter().chain(folders.iter().map(String::as_str)).collect();
        self.housekeeping(container, &words)?;
        let door = self.attempt.door();
        for path in [door.join("socket"), door] {
            std::os::unix::fs::chown(&path, Some(account.uid), None).map_err(|error| {
                Broken::harness(format!(
                    "cannot give {} to the user {}: {error}",
                    path.display(),
                    account.uid
                ))
            })?;
        }
        Ok(())
    }

    /// Runs a command of ours as root.
    fn housekeeping(&self, container: &mut Docked, words: &[&str]) -> Result<(), Broken> {
        let command = plain_command(words, Duration::from_mins(1));
        let outcome = container.exec_as(&command, Some("0"), self.attempt.cancel)?;
        match outcome.exit {
            Exit::Code(0) | Exit::Cancelled => Ok(()),
            _ => {
                let message =
                    format!("`{}` failed in the container: {}", words[0], outcome.stdout.text().trim());
                Err(Broken::new(Cause::Sandbox, message))
            }
        }
    }

    /// Takes out what the verifier has of skills, and the image's own skills, but not where a skill of the trial is mounted. The oracle keeps
    /// the latter: its solution was written for them.
    fn take_out_baked(&self, container: &mut Docked) -> Result<(), Broken> {
        let is_mounted = |path: &Path| {
            self.mounts.iter().any(|mount| path.starts_with(&mount.target) || mount.target.starts_with(path))
        };
        let verifiers = self.survey.verifiers.iter().map(|(path, _)| path.as_path());
        let own: &[PathBuf] = if self.keeps_baked() { &[] } else { &self.survey.baked };
        let baked = own.iter().map(PathBuf::as_path).filter(|path| !is_mounted(path));
        self.remove(container, verifiers.chain(baked))
    }

    /// Whether the agent is one that gets the task's own skills.
    fn keeps_baked(&self) -> bool {
        self.attempt.trial.agent.needs_solution()
    }

    /// Removes what lies at paths, in a container that runs.
    fn remove<'p>(
        &self,
        container: &mut Docked,
        paths: impl Iterator<Item = &'p Path>,
    ) -> Result<(), Broken> {
        let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
        if paths.is_empty() {
            return Ok(());
        }
        let words: Vec<&str> =
            ["rm", "-rf", "--"].into_iter().chain(paths.iter().map(String::as_str)).collect();
        self.housekeeping(container, &words)
    }

    /// Puts the task's own skills into a container that does not run, where its image would have them.
    fn plant_skills(&mut self, container: &Docked) -> Result<(), Broken> {
        let laid = self.attempt.scratch.join("task-skills");
        make(&laid)?;
        let paths = self.attempt.trial.task.lay_out_baked_skills(&laid);
        self.planted = paths.map_err(|error| Broken::new(Cause::Image, chain(&error)))?;
        for path in &self.planted {
            container.put(&inside(&laid, path), path, Owner::default(), &Caps::default())?;
        }
        Ok(())
    }

    /// Empties the verifier's places of whatever is there, and puts its own copies of skills back. What was given to the oracle goes: no verifier
    /// may need what agents without skills do not have.
    fn clear_for_verifier(&self, container: &mut Docked) -> Result<(), Broken> {
        let survey = &self.survey;
        let own: &[PathBuf] = if self.keeps_baked() { &survey.baked } else { &[] };
        // What the agent left where the verifier writes is no part of its work.
        let left = self.has_changes(Path::new(VERIFIER_LOGS))
            || self
                .changes
                .iter()
                .any(|change| change.path.starts_with(VERIFIER_LOGS) && change.kind != ChangeKind::Removed);
        let paths: Vec<&Path> = survey
            .grader
            .iter()
            .chain(&self.planted)
            .chain(own)
            .map(PathBuf::as_path)
            .chain(left.then(|| Path::new(VERIFIER_LOGS)))
            .chain(survey.verifiers.iter().map(|(path, _)| path.as_path()))
            .collect();
        if paths.is_empty() {
            return Ok(());
        }
        container.restart()?;
        self.remove(container, paths.into_iter())?;
        container.halt()?;
        for (path, kept) in &survey.verifiers {
            container.put(kept, path, Owner::default(), &Caps::default())?;
        }
        Ok(())
    }

    /// Waits until the task's environment says that it is well.
    fn wait_healthy(&self, seat: &mut Seat, check: &Healthcheck) -> Result<(), Broken> {
        let began = Instant::now();
        let mut failures = 0;
        loop {
            let timeout = Duration::from_secs_f64(check.timeout.min(600.0));
            let command = plain_command(&["/bin/sh", "-c", &check.command], timeout);
            let outcome = seat.exec(&command, self.attempt.cancel)?;
            if outcome.exit == Exit::Code(0) || self.attempt.cancel.load(Ordering::Relaxed) {
                return Ok(());
            }
            let starting = began.elapsed().as_secs_f64() < check.start_period;
            failures += u64::from(!starting);
            if failures >= check.retries.max(1) || began.elapsed() > HEALTH_PATIENCE {
                let said = outcome.stdout.text();
                let last =
                    said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
                let last = clean_start(last, 200);
                return Err(Broken::new(
                    Cause::Image,
                    format!("its healthcheck fails (its last line: {last})"),
                ));
            }
            let pause = if starting { check.start_interval } else { check.interval };
            let end = Instant::now() + Duration::from_secs_f64(pause.min(60.0));
            while Instant::now() < end && !self.attempt.cancel.load(Ordering::Relaxed) {
                std::thread::sleep(
                    Duration::from_millis(50).min(end.saturating_duration_since(Instant::now())),
                );
            }
        }
    }

    /// Runs what the task wants run between agent and grader, and brings its artifacts.
    fn collect(&mut self, container: &mut Docked) -> Result<(), Broken> {
        let config = &self.attempt.trial.task.config;
        if config.collect.is_empty() && config.artifacts.is_empty() {
            return Ok(());
        }
        let kept = self.logs.join("artifacts");
        if !config.collect.is_empty() {
            container.restart()?;
            for collect in &config.collect {
                let timeout = Duration::from_secs_f64(collect.timeout);
                let command = plain_command(&["/bin/sh", "-c", &collect.command], timeout);
                // What it came to shows in the artifacts.
                container.exec_as(&command, collect.user.as_deref(), self.attempt.cancel)?;
            }
            container.halt()?;
            assay_sandbox::remove_tree(&kept).map_err(|error| Broken::harness(chain(&error)))?;
            make(&kept)?;
            container.fetch(Path::new("/logs/artifacts"), &kept, &LOG_CAPS)?;
        }
        self.bring_artifacts(container)?;
        let folder = self.attempt.folder.join("artifacts");
        make(&folder)?;
        // What is there from before is the same.
        let _ = assay_sandbox::copy_tree(&kept, &folder, &LOG_CAPS);
        Ok(())
    }

    fn bring_artifacts(&self, container: &Docked) -> Result<(), Broken> {
        for artifact in &self.attempt.trial.task.config.artifacts {
            let from = self.workdir.join(&artifact.source);
            let to = self.logs.join("artifacts").join(kept_as(artifact));
            if let Some(parent) = to.parent() {
                make(parent)?;
            }
            match container.stat(&from)? {
                Some(found) if found.is_dir => {
                    make(&to)?;
                    container.fetch(&from, &to, &LOG_CAPS)?;
                    leave_out(&to, &artifact.exclude);
                }
                // A larger one is left out, as in a folder: it must not discard the trial.
                Some(found) if found.is_file && found.size <= LOG_CAPS.file_bytes => {
                    if let Some(bytes) = container.read(&from, LOG_CAPS.file_bytes)? {
                        write(&to, &bytes)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether something below a folder differs from the image, or may without showing.
    fn has_changes(&self, folder: &Path) -> bool {
        self.changes.iter().any(|change| change.path.starts_with(folder) && change.path != folder)
            || self
                .prepared
                .image
                .config
                .volumes
                .iter()
                .any(|volume| volume.starts_with(folder) || folder.starts_with(volume))
    }

    /// What is ours, and no change of the agent's: mounts with the folders on the way, what was taken out, the logs, and what every container has.
    fn is_ours(&self, change: &Changed) -> bool {
        let path = change.path.as_path();
        // Files that a reference solution leaves here are not tampering; they are removed before verification.
        if self.attempt.trial.agent.needs_solution() && path.starts_with(VERIFIER_LOGS) {
            return true;
        }
        let own = ["/logs/agent", "/logs/artifacts", "/tmp", "/var/tmp", "/run", "/proc", "/sys", "/dev"];
        own.iter().any(|own| path.starts_with(own))
            || matches!(path.to_str(), Some("/" | "/logs" | "/.dockerenv" | "/etc/mtab" | "/var"))
            || matches!(path.to_str(), Some("/etc/hosts" | "/etc/hostname" | "/etc/resolv.conf"))
                && change.kind == ChangeKind::Added
            || self.mounts.iter().any(|mount| {
                path.starts_with(&mount.target)
                    || (mount.target.starts_with(path) && change.kind != ChangeKind::Removed)
            })
            || self.survey.baked.iter().any(|baked| path == baked && change.kind == ChangeKind::Removed)
            || self.survey.verifiers.iter().any(|(own, _)| {
                path == own && change.kind == ChangeKind::Removed
                    || own.starts_with(path) && change.kind == ChangeKind::Modified
            })
            || self.planted.iter().any(|planted| {
                path.starts_with(planted) || (planted.starts_with(path) && change.kind != ChangeKind::Removed)
            })
    }

    /// The work folder as it is now, fetched where it is small and else asked for path by path.
    ///
    /// None where it cannot be looked through, which is then said in `found`.
    fn work_now(
        &self,
        container: &Docked,
        changes: &[&Changed],
        found: &mut Changes,
    ) -> Result<Option<(Option<PathBuf>, Manifest)>, Broken> {
        if self.survey.work.is_some() {
            let to = self.attempt.scratch.join("work");
            make(&to)?;
            let fetched = container.fetch(&self.workdir, &to, &WORK_CAPS);
            let Some(report) =
                self.seen(&self.workdir.display().to_string(), fetched, &mut found.tampered)?
            else {
                return Ok(None);
            };
            let mut manifest =
                Manifest::scan(&to, &WORK_CAPS).map_err(|error| Broken::harness(chain(&error)))?;
            for left in report.map(|report| report.left_out).unwrap_or_default() {
                note_left_out(&mut manifest, &left);
            }
            return Ok(Some((Some(to), manifest)));
        }
        let mut manifest = Manifest::default();
        for change in changes.iter().filter(|change| change.kind != ChangeKind::Removed).take(LOOKED_AT) {
            let Ok(inside) = change.path.strip_prefix(&self.workdir) else { continue };
            let Some(found) = container.stat(&change.path)? else { continue };
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

    /// The container of a verifier that has an environment of its own, not started, with nothing of the agent's but its artifacts.
    fn own_environment(&self) -> Result<Docked, Broken> {
        let trial = self.attempt.trial;
        let prepared = self.attempt.workshop.prepared_verifier(
            self.docker,
            trial,
            &self.prepared,
            self.attempt.cancel,
        )?;
        let mut spec = self.spec(&prepared.image, &trial.verifier_network, "verifier");
        spec.workdir = trial
            .task
            .config
            .verifier_environment
            .as_ref()
            .and_then(|environment| environment.workdir.clone())
            .or_else(|| prepared.image.config.workdir.clone())
            .or_else(|| Some(self.workdir.clone()));
        spec.mounts = egress_proxy::mounts(trial, &self.attempt.outlet());
        let container = self.docker.make(&spec)?;
        container.put(
            &self.logs.join("artifacts"),
            Path::new("/logs/artifacts"),
            Owner::default(),
            &Caps::default(),
        )?;
        for artifact in &trial.task.config.artifacts {
            let kept = self.logs.join("artifacts").join(kept_as(artifact));
            if kept.exists() {
                let target = self.workdir.join(&artifact.source);
                container.put(&kept, &target, Owner::default(), &Caps::default())?;
            }
        }
        Ok(container)
    }

    /// The image as it was, beside what the agent made of it.
    fn pristine(&self) -> Pristine<'a> {
        let trial = self.attempt.trial;
        let label = format!("{}-image", trial.id.short());
        Pristine::new(self.docker, ContainerSpec::new(self.prepared.image.clone(), label))
    }

    /// What of an answer about the agent's files there is. Where the daemon fails over them, and not over the image's own, they are what it
    /// fails over: whoever leaves what cannot be looked through has not passed, and does not get another try.
    fn seen<T>(
        &self,
        what: &str,
        answer: Result<T, SandboxError>,
        beyond: &mut Vec<String>,
    ) -> Result<Option<T>, Broken> {
        let reason = match answer {
            Ok(answer) => return Ok(Some(answer)),
            Err(SandboxError::Daemon { reason, gone: false, .. }) => reason,
            Err(error) => return Err(error.into()),
        };
        self.pristine().get()?.changes()?;
        beyond.push(format!("{what}: cannot be looked through: {}", shortened(&reason)));
        Ok(None)
    }

    fn seat(&mut self, seat: Seat) -> &mut dyn Session {
        self.seat.insert(seat)
    }

    fn take_seat(&mut self) -> Result<Docked, Broken> {
        self.seat.take().map(|seat| seat.container).ok_or_else(|| Broken::harness("there is no container"))
    }
}

impl Desk for Container<'_> {
    fn contamination(&mut self) -> Result<Vec<String>, Broken> {
        Ok(self.survey.found.clone())
    }

    fn workdir(&self) -> PathBuf {
        self.workdir.clone()
    }

    fn seat_agent(&mut self) -> Result<&mut dyn Session, Broken> {
        let trial = self.attempt.trial;
        let workshop = self.attempt.workshop;
        let account = self.account();
        for skill in &trial.provision.skills {
            let source = workshop.skill(skill).map_err(Broken::harness)?.to_path_buf();
            let target = account.path(&trial.mount_of(skill));
            self.mounts.push(Mount { source, target, writable: false });
        }
        if trial.agent.needs_solution() {
            let source = workshop.solution(&trial.task).map_err(Broken::harness)?.to_path_buf();
            self.mounts.push(Mount { source, target: "/solution".into(), writable: false });
        }
        self.mounts.extend(cli_agents::mounts(trial, &self.attempt.door()));
        make(&self.attempt.outlet())?;
        self.mounts.extend(egress_proxy::mounts(trial, &self.attempt.outlet()));
        let mut spec = self.spec(&self.prepared.image, &trial.network, "agent");
        spec.mounts.clone_from(&self.mounts);
        let user = self.agent_user();
        let mut container = self.docker.make(&spec)?;
        self.put_logs(&container, &["agent", "artifacts"])?;
        if self.keeps_baked() {
            self.plant_skills(&container)?;
        }
        container.restart()?;
        self.take_out_baked(&mut container)?;
        if trial.provision.writes_skills {
            let own = account.path(Path::new(trial.agent.skills_dir())).display().to_string();
            self.housekeeping(&mut container, &["mkdir", "-p", "-m", "0777", &own])?;
        }
        if trial.way.is_some() && account.uid != 0 {
            self.settle_in(&mut container, &account)?;
        }
        let (container, env) = self.lead_out(&trial.network, container)?;
        let mut seat = Seat { container, user, env, account: Some(account) };
        if let Some(check) = self
            .attempt
            .trial
            .task
            .config
            .environment
            .healthcheck
            .as_ref()
            .or(self.prepared.healthcheck.as_ref())
        {
            self.wait_healthy(&mut seat, check)?;
        }
        Ok(self.seat(seat))
    }

    fn task_skills(&self) -> Vec<PathBuf> {
        let baked: &[PathBuf] = if self.keeps_baked() { &self.survey.baked } else { &[] };
        self.planted.iter().chain(baked).cloned().collect()
    }

    fn dismiss_agent(&mut self) -> Result<Usage, Broken> {
        let trial = self.attempt.trial;
        let mut container = self.take_seat()?;
        container.halt()?;
        self.attempt.tell(self.outlet.take(), "agent")?;
        self.used = container.usage();
        let mut beyond = Vec::new();
        self.changes = self.seen("the container", container.changes(), &mut beyond)?.unwrap_or_default();
        for name in ["agent", "artifacts"] {
            let inside = Path::new("/logs").join(name);
            if self.has_changes(&inside) {
                let fetched = container.fetch(&inside, &self.logs.join(name), &LOG_CAPS);
                self.seen(&inside.display().to_string(), fetched, &mut beyond)?;
            }
        }
        if trial.provision.writes_skills {
            let to = self.written_skills();
            make(&to)?;
            let own = self.account().path(Path::new(trial.agent.skills_dir()));
            let fetched = container.fetch(&own, &to, &LOG_CAPS);
            self.seen(&own.display().to_string(), fetched, &mut beyond)?;
        }
        self.beyond = beyond;
        let user = None;
        self.seat = Some(Seat { container, user, env: Vec::new(), account: None });
        Ok(self.used)
    }

    fn logs(&self) -> &Path {
        &self.logs
    }

    fn written_skills(&self) -> PathBuf {
        self.attempt.scratch.join("skills")
    }

    fn compare(&mut self) -> Result<Changes, Broken> {
        let mut found = Changes { tampered: std::mem::take(&mut self.beyond), ..Changes::default() };
        if !found.tampered.is_empty() {
            return Ok(found);
        }
        let container = self.take_seat()?;
        let task = &self.attempt.trial.task;
        let own_skills = self
            .attempt
            .trial
            .provision
            .writes_skills
            .then(|| self.account().path(Path::new(self.attempt.trial.agent.skills_dir())));
        let account = self.account();
        let is_state = |path: &Path| {
            path.strip_prefix(&account.home).is_ok_and(|own| self.attempt.trial.agent.keeps(own))
        };
        let is_work = |path: &Path| {
            self.workdir != Path::new("/") && path.starts_with(&self.workdir)
                || task
                    .writable
                    .iter()
                    .any(|writable| path.starts_with(writable) && writable != Path::new("/"))
        };
        let changes: Vec<&Changed> = self.changes.iter().filter(|change| !self.is_ours(change)).collect();
        let (work, elsewhere): (Vec<&Changed>, Vec<&Changed>) =
            changes.into_iter().partition(|change| is_work(&change.path));
        let mut read = |path: &Path| container.read(path, READ).ok().flatten();
        let mut pristine = self.pristine();
        let mut is_same = |path: &Path| pristine.has_the_same(&container, path);
        let verdict = image::judge(task, &self.survey.fabric, &elsewhere, &mut read, &mut is_same);
        pristine.finish()?;
        found.tampered.extend(verdict.tampered.iter().cloned());
        // A folder in which something changed is listed as changed itself: that says nothing.
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
        found.outside.extend(shown.take(OUTSIDE).map(|change| assay_diagnostic::escape_path(&change.path)));
        look_at_odd(&container, &elsewhere, &mut found)?;
        if self.workdir != Path::new("/") && self.has_changes(&self.workdir) {
            let Some((now, after)) = self.work_now(&container, &work, &mut found)? else {
                self.seat = Some(Seat { container, user: None, env: Vec::new(), account: None });
                return Ok(found);
            };
            let nothing = Manifest::default();
            let before = self.survey.work.as_ref().map_or(&nothing, |(_, manifest)| manifest);
            let changes = if now.is_some() { before.diff(&after) } else { nothing.diff(&after) };
            let was = self.survey.work.as_ref().map(|(was, _)| was);
            found.tampered.extend(tampering(
                task,
                &Folder {
                    root: &self.workdir,
                    workdir: &self.workdir,
                    changes: &changes,
                    after: &after,
                    read_before: &|path| read_small(was?, path),
                    read: &|path| match &now {
                        Some(now) => read_small(now, path),
                        None => container.read(&self.workdir.join(path), READ).ok().flatten(),
                    },
                },
            ));
            if let (Some(now), Some((was, _))) = (now, &self.survey.work) {
                found.diff = unified_diff(was, &now, &changes, DIFF_CAP);
            }
        }
        let other: Vec<&Changed> =
            work.into_iter().filter(|change| !change.path.starts_with(&self.workdir)).collect();
        for change in other {
            found.outside.push(assay_diagnostic::escape_path(&change.path));
        }
        if let Some(logs) = container.stat(Path::new("/logs"))?
            && !logs.is_dir
        {
            found.tampered.push("/logs: not the folder that it was".to_owned());
        }
        if let Some(there) = container.stat(Path::new(VERIFIER_LOGS))?
            && !there.is_dir
            && !self.attempt.trial.agent.needs_solution()
        {
            found.tampered.push(format!("{VERIFIER_LOGS}: not a folder"));
        }
        self.verdict = verdict;
        self.seat = Some(Seat { container, user: None, env: Vec::new(), account: None });
        Ok(found)
    }

    fn seat_grader(&mut self) -> Result<&mut dyn Session, Broken> {
        let trial = self.attempt.trial;
        let config = &trial.task.config;
        let mut container = self.take_seat()?;
        self.collect(&mut container)?;
        let tests = self.attempt.scratch.join("tests");
        make(&tests)?;
        trial.task.lay_out_tests(&tests).map_err(|error| Broken::harness(chain(&error)))?;
        let separate = config.verifier_mode == VerifierMode::Separate;
        let mut grader = if separate {
            container.leave();
            self.own_environment()?
        } else {
            if self.verdict.loader_cache
                && let Some(cache) = &self.survey.loader_cache
            {
                container.put_bytes(cache, Path::new(image::LOADER_CACHE), 0o644, Owner::default())?;
            }
            self.clear_for_verifier(&mut container)?;
            let now = network(&trial.verifier_network);
            if now != network(&trial.network) {
                container.reconnect(&now)?;
            }
            container
        };
        grader.put(&tests, Path::new("/tests"), Owner::default(), &Caps::default())?;
        self.put_logs(&grader, &["verifier"])?;
        let last = self.logs.join("agent/final.txt");
        if last.is_file() {
            grader.put(&last, Path::new("/logs/agent/final.txt"), Owner::default(), &Caps::default())?;
        }
        grader.restart()?;
        let (grader, mut env) = self.lead_out(&trial.verifier_network, grader)?;
        if self.verdict.bytecode {
            env.push(("PYTHONPYCACHEPREFIX".to_owned(), NOWHERE.to_owned()));
        }
        let user =
            config.verifier_user.clone().or_else(|| if separate { None } else { self.prepared.user.clone() });
        Ok(self.seat(Seat { container: grader, user, env, account: None }))
    }

    fn dismiss_grader(&mut self) -> Result<PathBuf, Broken> {
        let mut container = self.take_seat()?;
        container.halt()?;
        self.attempt.tell(self.outlet.take(), "verifier")?;
        let to = self.logs.join("verifier");
        container.fetch(Path::new("/logs/verifier"), &to, &LOG_CAPS)?;
        container.leave();
        Ok(to)
    }
}

/// Shortens a daemon's message, which may contain a path of thousands of characters.
fn shortened(text: &str) -> String {
    const EACH: usize = 100;
    let letters: Vec<char> = clean(text).chars().collect();
    if letters.len() <= 2 * EACH {
        return letters.into_iter().collect();
    }
    let end = &letters[letters.len() - EACH..];
    letters[..EACH].iter().chain(&[' ', '…', ' ']).chain(end).collect()
}

fn network(reach: &NetworkPolicy) -> DockerNetwork {
    match reach {
        NetworkPolicy::None | NetworkPolicy::Hosts(_) => DockerNetwork::None,
        NetworkPolicy::Public => DockerNetwork::Public,
    }
}

fn plain_command(words: &[&str], timeout: Duration) -> Exec {
    Exec {
        argv: words.iter().map(|word| (*word).to_owned()).collect(),
        env: Vec::new(),
        cwd: None,
        deadline: Some(Instant::now() + timeout),
        stdout: Sink { file: None, cap: 0, keep: 2_000 },
        stderr: None,
    }
}
