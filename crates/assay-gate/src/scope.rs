//! What a gate decides about: the pull request by the rules of its target, or the working tree by its own.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::evaluation::{Evaluation, Request, Subject};
use crate::gate_error::{GateError, UnusableStore};
use crate::host::{GateHost, HostError};
use crate::paths::relative;
use crate::policy::Policy;
use crate::request::GateRequest;
use crate::terms::Terms;

/// The rules that apply, and the skills.
pub struct Scope {
    /// The pull request; `None` without a revision to compare with.
    pub(crate) evaluation: Option<Evaluation>,
    /// The policy that applies; `None` if there is none.
    pub(crate) policy: Option<Policy>,
    /// What it demands, by the names of the skills' rows.
    pub(crate) terms: Terms,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) notes: Vec<String>,
}

impl Scope {
    /// Finds the rules that apply, and the skills. Nothing is executed. `store` is a folder of the working tree that is no part
    /// of it.
    ///
    /// # Errors
    /// The policy cannot be used, or the pull request cannot be evaluated.
    pub fn find(request: &GateRequest, store: &Path) -> Result<Self, GateError> {
        match &request.changed_since {
            Some(revision) => Self::of_pull_request(request, revision, store),
            None => Self::of_working_tree(request),
        }
    }

    /// The folder whose settings apply in place of the working folder's, if there is one.
    pub fn settings_folder(&self) -> Option<&Path> {
        let folder = self.evaluation.as_ref()?.directory.as_deref()?;
        folder.is_dir().then_some(folder)
    }

    /// Whether there is a policy, so that something is decided.
    pub fn has_policy(&self) -> bool {
        self.policy.is_some()
    }

    fn of_working_tree(request: &GateRequest) -> Result<Self, GateError> {
        let policy = Policy::load(&request.policy)?;
        if let Some(error) = Evaluation::unmatched(&policy) {
            return Err(GateError::Evaluation { error, revision: None });
        }
        let terms = Terms::of(&policy);
        let subjects = terms.skills.keys().map(|skill| Subject::of_working_tree(skill)).collect();
        let note =
            "Advisory: without --changed-since the rules of the working tree apply, and no look is counted.";
        Ok(Self { evaluation: None, policy: Some(policy), terms, subjects, notes: vec![note.to_owned()] })
    }

    fn of_pull_request(gate: &GateRequest, revision: &str, store: &Path) -> Result<Self, GateError> {
        let request = Request {
            policy: &gate.policy,
            revision,
            trust: gate.trust_changes.as_deref(),
            directory: Path::new("."),
            left_out: vec![store.to_owned()],
        };
        let mut evaluation = Evaluation::prepare(&request)
            .map_err(|error| GateError::Evaluation { error, revision: Some(revision.to_owned()) })?;
        let mut notes = Vec::new();
        if evaluation.target == evaluation.head() {
            notes.push(format!(
                "{revision} is the commit that is checked out: only uncommitted changes are gated."
            ));
        }
        if let Some(proposed) = &evaluation.proposed {
            notes.push(format!("{revision} has no policy: there is nothing to decide until one is merged."));
            notes.extend(proposed.skills.iter().map(|(skill, terms)| {
                format!("The pull request's policy would demand of {skill}: {}", terms.describe_demand())
            }));
        }
        Ok(Self {
            policy: evaluation.policy.take(),
            terms: std::mem::take(&mut evaluation.terms),
            subjects: std::mem::take(&mut evaluation.subjects),
            evaluation: Some(evaluation),
            notes,
        })
    }

    /// The store whose records may decide, with a note if it is not the one that the settings name; else why there is none.
    pub(crate) fn find_store(
        &self,
        named: &Path,
        host: &dyn GateHost,
    ) -> Result<(PathBuf, Option<String>), UnusableStore> {
        let Some(evaluation) = &self.evaluation else { return Ok((named.to_owned(), None)) };
        let path = std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
        let tops = [Some(evaluation.top().to_owned()), std::fs::canonicalize(evaluation.top()).ok()];
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let inside =
            tops.iter().flatten().find_map(|top| relative(top, &path).or_else(|| relative(top, &real)));
        let Some(inside) = inside else { return Ok((named.to_owned(), None)) };
        if is_hosted(host) {
            return Err(UnusableStore::Inside(named.to_owned()));
        }
        if !evaluation.tracks(&inside) {
            return Ok((named.to_owned(), None));
        }
        let state = host.state_folder().ok_or_else(|| UnusableStore::Tracked(named.to_owned()))?;
        let id = blake3::hash(evaluation.top().as_os_str().as_encoded_bytes()).to_hex();
        let store = state.join("stores").join(id.get(..16).unwrap_or_default());
        let note = format!(
            "Git tracks files of the store {}, which are not used: trials are in {}",
            named.display(),
            store.display()
        );
        Ok((store, Some(note)))
    }

    /// Why this process may not execute trials for a decision, if it may not.
    pub(crate) fn explain_missing_key(&self, host: &dyn GateHost) -> Result<Option<String>, HostError> {
        if self.evaluation.is_none() {
            return Ok(None);
        }
        if is_hosted(host) && !host.has_given_key()? {
            return Ok(Some(
                "no trial is executed and no look is counted in CI without ASSAY_RECORD_KEY: give the gate's job a key \
                 (`openssl rand -hex 32`)"
                    .to_owned(),
            ));
        }
        Ok(host.explain_unsigned().map(|why| format!("records cannot be signed: {why}")))
    }
}

/// Whether this is a job of a CI system.
fn is_hosted(host: &dyn GateHost) -> bool {
    host.env()("CI").is_some_and(|value| !matches!(value.to_lowercase().as_str(), "0" | "false"))
}
