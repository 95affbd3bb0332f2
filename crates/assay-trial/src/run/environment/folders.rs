//! A desk of folders on this machine, mounted into one namespace for the agent and another for the grader.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_diagnostic::chain;
use assay_sandbox::{Caps, Manifest, Mount, Root, Sandbox, Session, Spec, Usage, copy_tree, unified_diff};
use assay_store::Cause;

use super::{Attempt, Broken, Changes, DIFF_CAP, Desk, make};
use crate::run::cli_agents;
use crate::run::egress_proxy::{self, Outlet};
use crate::run::prep_cache::{Base, inside};
use crate::run::tamper::{Folder, planted_in, read_small, tampering};
use crate::spec::network::NetworkPolicy;

/// Where programs are looked for, in every phase.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The agent's home, where no writable folder of the task is one.
const HOME: &str = "/root";

/// What stands for `/logs` while the agent works, in the attempt's scratch folder.
const LOGS_OF_AGENT: &str = "logs-of-agent";

/// Folders of this machine.
pub(super) struct Folders<'a> {
    attempt: Attempt<'a>,
    sandbox: &'a Arc<dyn Sandbox>,
    root: &'a Root,
    base: Arc<Base>,
    /// The task's writable folders.
    writable: Vec<Mount>,
    /// The agent's own, which the grader does not see.
    private: Vec<Mount>,
    /// The task's own skills, as the oracle has them: where they lie inside and on this machine.
    planted: Vec<(PathBuf, PathBuf)>,
    /// What stands for `/logs`.
    logs: PathBuf,
    session: Option<Box<dyn Session>>,
    outlet: Option<Outlet>,
}

impl<'a> Folders<'a> {
    /// Copies the task's writable folders, so that this attempt has its own.
    pub(super) fn new(
        attempt: Attempt<'a>,
        sandbox: &'a Arc<dyn Sandbox>,
        root: &'a Root,
    ) -> Result<Self, Broken> {
        let base =
            attempt.workshop.base(&attempt.trial.task).map_err(|error| Broken::new(Cause::Image, error))?;
        let mut writable = Vec::new();
        for (path, _) in &base.writable {
            let own = inside(&attempt.scratch.join("fs"), path);
            make(&own)?;
            let report = copy_tree(&inside(&base.root, path), &own, &Caps::default())
                .map_err(|error| Broken::harness(chain(&error)))?;
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
            make(&home)?;
            private.push(Mount { source: home, target: HOME.into(), writable: true });
        }
        let logs = attempt.scratch.join("logs");
        for name in ["agent", "artifacts", "verifier"] {
            make(&logs.join(name))?;
        }
        make(&attempt.scratch.join(LOGS_OF_AGENT))?;
        let planted = Vec::new();
        Ok(Self {
            attempt,
            sandbox,
            root,
            base,
            writable,
            private,
            planted,
            logs,
            session: None,
            outlet: None,
        })
    }

    /// Puts the task's own skills where its image would have them: into a folder that may be written, or else mounted.
    fn plant_skills(&mut self, mounts: &mut Vec<Mount>) -> Result<(), Broken> {
        let laid = self.attempt.scratch.join("task-skills");
        make(&laid)?;
        let paths = self.attempt.trial.task.lay_out_baked_skills(&laid);
        let paths = paths.map_err(|error| Broken::new(Cause::Image, chain(&error)))?;
        for path in paths {
            let from = inside(&laid, &path);
            let own = self.writable.iter().chain(&self.private).find(|mount| path.starts_with(&mount.target));
            let Some(mount) = own else {
                mounts.push(Mount { source: from.clone(), target: path.clone(), writable: true });
                self.planted.push((path, from));
                continue;
            };
            let to = mount.source.join(path.strip_prefix(&mount.target).unwrap_or(&path));
            if let Some(above) = to.parent() {
                make(above)?;
            }
            std::fs::rename(&from, &to).map_err(|error| {
                Broken::harness(format!("cannot move a skill to {}: {error}", to.display()))
            })?;
            self.planted.push((path, to));
        }
        Ok(())
    }

    /// Takes them out again, with the folders that were made for them.
    fn unplant_skills(&self) -> Result<(), Broken> {
        for (_, place) in &self.planted {
            assay_sandbox::remove_tree(place).map_err(|error| Broken::harness(chain(&error)))?;
            let roots: Vec<&PathBuf> =
                self.writable.iter().chain(&self.private).map(|mount| &mount.source).collect();
            let above = place.ancestors().skip(1).take_while(|above| !roots.contains(&&above.to_path_buf()));
            for folder in above.take_while(|above| above.starts_with(self.attempt.scratch)) {
                // One that holds something else stays.
                if std::fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn mount_logs(&self, name: &str, writable: bool) -> Mount {
        Mount { source: self.logs.join(name), target: Path::new("/logs").join(name), writable }
    }

    fn spec(&self, mut mounts: Vec<Mount>, reach: &NetworkPolicy, phase: &str) -> Spec {
        let trial = self.attempt.trial;
        let mut env: Vec<(String, String)> =
            [("PATH", PATH), ("HOME", HOME), ("LANG", "C.UTF-8"), ("TERM", "dumb")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec();
        if matches!(reach, NetworkPolicy::Hosts(_)) {
            mounts.extend(egress_proxy::mounts(trial, &self.attempt.outlet()));
            env.extend(Outlet::env());
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
            network: reach.network(),
            limits: trial.limits,
            label: format!("{}-{phase}", trial.id.short()),
        }
    }

    fn seat(&mut self, spec: &Spec, reach: &NetworkPolicy) -> Result<&mut dyn Session, Broken> {
        let folder = self.attempt.outlet();
        if matches!(reach, NetworkPolicy::Hosts(_)) {
            make(&folder)?;
        }
        self.outlet = Outlet::open(reach, self.attempt.trial, &folder)?;
        let session = self.sandbox.start(spec)?;
        let session = &mut **self.session.insert(session);
        if let Some(outlet) = &self.outlet {
            outlet.start(session, self.attempt.cancel)?;
        }
        Ok(session)
    }

    fn dismiss(&mut self, phase: &str) -> Result<Usage, Broken> {
        let used = match self.session.take() {
            Some(session) => session.stop()?,
            None => Usage::default(),
        };
        self.attempt.tell(self.outlet.take(), phase)?;
        Ok(used)
    }
}

impl Desk for Folders<'_> {
    fn contamination(&mut self) -> Result<Vec<String>, Broken> {
        let trial = self.attempt.trial;
        self.attempt.workshop.contamination(&trial.task, self.root, &trial.absent).map_err(Broken::harness)
    }

    fn workdir(&self) -> PathBuf {
        self.attempt.workdir()
    }

    fn seat_agent(&mut self) -> Result<&mut dyn Session, Broken> {
        let trial = self.attempt.trial;
        let workshop = self.attempt.workshop;
        let mut mounts = self.writable.clone();
        mounts.extend(self.private.clone());
        // Solutions make folders beneath it, as they are there under the format's own runner. The verifier sees none of them.
        let source = self.attempt.scratch.join(LOGS_OF_AGENT);
        mounts.push(Mount { source, target: "/logs".into(), writable: true });
        for name in ["agent", "artifacts"] {
            mounts.push(self.mount_logs(name, true));
        }
        for skill in &trial.provision.skills {
            let source = workshop.skill(skill).map_err(Broken::harness)?;
            mounts.push(Mount {
                source: source.to_path_buf(),
                target: trial.mount_of(skill),
                writable: false,
            });
        }
        mounts.extend(cli_agents::mounts(trial, &self.attempt.door()));
        if trial.provision.writes_skills {
            let own = self.written_skills();
            make(&own)?;
            mounts.push(Mount { source: own, target: trial.agent.skills_dir().into(), writable: true });
        }
        if trial.agent.needs_solution() {
            let source = workshop.solution(&trial.task).map_err(Broken::harness)?;
            mounts.push(Mount { source: source.to_path_buf(), target: "/solution".into(), writable: false });
            self.plant_skills(&mut mounts)?;
        }
        let spec = self.spec(mounts, &trial.network, "agent");
        self.seat(&spec, &trial.network)
    }

    fn task_skills(&self) -> Vec<PathBuf> {
        self.planted.iter().map(|(path, _)| path.clone()).collect()
    }

    fn dismiss_agent(&mut self) -> Result<Usage, Broken> {
        let used = self.dismiss("agent")?;
        self.unplant_skills()?;
        Ok(used)
    }

    fn logs(&self) -> &Path {
        &self.logs
    }

    fn written_skills(&self) -> PathBuf {
        self.attempt.scratch.join("skills")
    }

    fn compare(&mut self) -> Result<Changes, Broken> {
        let workdir = self.attempt.workdir();
        let mut found = Changes::default();
        for ((path, before), mount) in self.base.writable.iter().zip(&self.writable) {
            let after = match Manifest::scan(&mount.source, &Caps::default()) {
                Ok(after) => after,
                Err(error) => {
                    found.tampered.push(format!("{}: cannot be looked through: {error}", path.display()));
                    continue;
                }
            };
            let changes = before.diff(&after);
            let before = inside(&self.base.root, path);
            found.tampered.extend(tampering(
                &self.attempt.trial.task,
                &Folder {
                    root: path,
                    workdir: &workdir,
                    changes: &changes,
                    after: &after,
                    read_before: &|path| read_small(&before, path),
                    read: &|path| read_small(&mount.source, path),
                },
            ));
            if !workdir.starts_with(path) {
                found.add_outside(path, &changes);
            }
            let room = DIFF_CAP.saturating_sub(found.diff.len());
            let diff = unified_diff(&before, &mount.source, &changes, room);
            found.diff.extend(diff);
        }
        if !self.attempt.trial.agent.needs_solution() {
            found.tampered.extend(planted_in(&self.attempt.scratch.join(LOGS_OF_AGENT)));
        }
        for mount in &self.private {
            if let Ok(after) = Manifest::scan(&mount.source, &Caps::default()) {
                let agent = &self.attempt.trial.agent;
                let mut changes = Manifest::default().diff(&after);
                changes.retain(|change| mount.target != Path::new(HOME) || !agent.keeps(&change.path));
                found.add_outside(&mount.target, &changes);
            }
        }
        Ok(found)
    }

    fn seat_grader(&mut self) -> Result<&mut dyn Session, Broken> {
        let trial = self.attempt.trial;
        let tests = self.attempt.scratch.join("tests");
        make(&tests)?;
        trial.task.lay_out_tests(&tests).map_err(|error| Broken::harness(chain(&error)))?;
        let mut mounts = self.writable.clone();
        if self.private.iter().any(|mount| mount.target == Path::new(HOME)) {
            // The verifier gets an empty home. Mounted first, so that it does not hide the copies below it.
            let home = self.attempt.scratch.join("verifier-home");
            make(&home)?;
            mounts.push(Mount { source: home, target: HOME.into(), writable: true });
        }
        mounts.push(Mount { source: tests, target: "/tests".into(), writable: true });
        mounts.push(self.mount_logs("verifier", true));
        mounts.push(self.mount_logs("agent", false));
        mounts.push(self.mount_logs("artifacts", false));
        let laid = self.attempt.scratch.join("verifier-copies");
        make(&laid)?;
        let copies = trial.task.lay_out_verifier_copies(&laid);
        for target in copies.map_err(|error| Broken::new(Cause::Image, chain(&error)))? {
            mounts.push(Mount { source: inside(&laid, &target), target, writable: true });
        }
        let spec = self.spec(mounts, &trial.verifier_network, "verifier");
        self.seat(&spec, &trial.verifier_network)
    }

    fn dismiss_grader(&mut self) -> Result<PathBuf, Broken> {
        self.dismiss("verifier")?;
        Ok(self.logs.join("verifier"))
    }
}
