//! A gate: what it decides about, and the program around it.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use assay_store::Store;
use assay_trial::{MachineContext, Permissions, Sandboxes};

use crate::evaluation::Evaluation;
use crate::gate_error::GateError;
use crate::host::{GateEvents, GateHost};
use crate::ledger::LedgerError;
use crate::looks::Looks;
use crate::measure::{GateTrials, Versions};
use crate::measured::Gated;
use crate::policy::Policy;
use crate::reference::SkillHistory;
use crate::request::GateRequest;
use crate::scope::Scope;

/// A gate: what it decides about, and the program around it.
#[derive(Clone, Copy)]
pub struct Gate<'a> {
    /// What it is asked.
    pub request: &'a GateRequest,
    /// The rules and the skills.
    pub scope: &'a Scope,
    /// The store that the settings name.
    pub store: &'a Path,
    /// The program around it.
    pub host: &'a dyn GateHost,
    /// Hears what happens.
    pub events: &'a dyn GateEvents,
}

impl<'a> Gate<'a> {
    /// The store whose records may decide.
    pub(crate) fn open_trials(&self, path: &Path) -> Result<Store, GateError> {
        let store = self.host.open_store(path)?;
        Ok(if self.scope.evaluation.is_some() { store.with_signed_records_only() } else { store })
    }

    /// The ledger of a pull request, with notes about it; else why the gate is blocked.
    pub(crate) fn read_looks(
        &self,
        policy: &Policy,
        evaluation: &Evaluation,
    ) -> Result<Result<(Looks, Vec<String>), LedgerError>, GateError> {
        let keys = self.host.load_keys()?;
        let state = self.host.state_folder();
        Ok(Looks::read(
            (policy, &self.scope.terms),
            (evaluation, &self.scope.subjects),
            self.request.policy_folder(),
            state.as_deref(),
            keys,
        ))
    }

    /// What planning and executing ask of the machine. With a target only its policy lets experiments run outside a sandbox: a flag
    /// would hold for every pull request.
    pub(crate) fn machine_context<'b>(&self, policy: &Policy, sandboxes: &'b Sandboxes) -> MachineContext<'b>
    where
        'a: 'b,
    {
        let given = self.request.permissions;
        let unsandboxed = match self.scope.evaluation {
            Some(_) => policy.allow_unsandboxed,
            None => given.unsandboxed || policy.allow_unsandboxed,
        };
        MachineContext {
            env: self.host.env(),
            sandboxes,
            dry: false,
            permissions: Permissions { unsandboxed, ..given },
            cli_agents: self.host.cli_agents(),
        }
    }

    /// The trials of a policy's skills, in a store, on a machine, until `cancel` is set.
    pub(crate) fn prepare_trials<'b>(
        &self,
        policy: &Policy,
        looks: Option<Looks>,
        (store, machine, cancel): (&'b Store, &'b MachineContext<'b>, &'b AtomicBool),
    ) -> GateTrials<'b>
    where
        'a: 'b,
    {
        GateTrials {
            request: self.request,
            host: self.host,
            events: self.events,
            store,
            looks,
            machine,
            cancel,
            reuse: policy.reuse,
            on_undecided: policy.on_undecided,
            budget: self.request.max_usd,
            policy_hash: &self.scope.terms.hash,
        }
    }

    /// The versions that a skill is compared with.
    pub(crate) fn find_versions(&self, policy: &Policy, gated: &Gated, looks: Option<&Looks>) -> Versions {
        let skill = &gated.row.skill;
        let Some(evaluation) = self.scope.evaluation.as_ref().filter(|_| gated.is_known) else {
            return Versions::default();
        };
        let subject = self.scope.subjects.iter().find(|subject| subject.skill == *skill);
        let reference = subject.and_then(|subject| {
            let history = SkillHistory {
                repository: evaluation.repository(),
                target: &evaluation.target,
                // The files that are evaluated are laid out as the repository.
                directory: policy.directory.strip_prefix(&evaluation.root).unwrap_or(Path::new("")),
                skill: subject.from.as_ref().unwrap_or(skill),
                content: subject.target_content.as_deref()?,
            };
            Some(history.reference(&looks.map_or(Vec::new(), |looks| looks.entries(skill))))
        });
        Versions { base: Some(evaluation.target.clone()), reference }
    }
}
