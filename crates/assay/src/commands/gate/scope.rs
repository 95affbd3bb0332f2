//! What a gate decides about: the pull request by the rules of its target, or the working tree by its own.

use std::path::{Path, PathBuf};

use assay_gate::{Change, Evaluation, EvaluationError, Policy, RepositoryError, Request, Subject, Terms};
use assay_report::counted;

use crate::args::gate::GateArgs;
use crate::config::Settings;
use crate::failure::Failure;
use crate::{machine, record_keys};

/// The rules that apply, and the skills.
pub(super) struct Scope {
    /// The pull request; `None` without a revision to compare with.
    pub(super) evaluation: Option<Evaluation>,
    /// The policy that applies; `None` if there is none.
    pub(super) policy: Option<Policy>,
    /// What it demands, by the names of the skills' rows.
    pub(super) terms: Terms,
    pub(super) subjects: Vec<Subject>,
    /// The settings that apply.
    pub(super) settings: Settings,
    pub(super) notes: Vec<String>,
}

/// Why no store can serve.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnusableStore {
    /// A hosted job checks out what a pull request wrote.
    #[error("the store {} is inside the checkout, where a pull request can write: name one outside of it with --store", .0.display())]
    Inside(PathBuf),
    /// Its files are part of the repository, and there is no folder for another one.
    #[error("Git tracks files of the store {}: name another one with --store", .0.display())]
    Tracked(PathBuf),
}

impl Scope {
    pub(super) fn of(args: &GateArgs, settings: &Settings) -> Result<Self, Failure> {
        match &args.changed_since {
            Some(revision) => Self::of_pull_request(args, revision, settings),
            None => Self::of_working_tree(args, settings),
        }
    }

    fn of_working_tree(args: &GateArgs, settings: &Settings) -> Result<Self, Failure> {
        let policy = Policy::load(&args.policy)?;
        if let Some(error) = Evaluation::unmatched(&policy) {
            return Err(failure(&error, ""));
        }
        let terms = Terms::of(&policy);
        let subjects = terms.skills.keys().map(|skill| Subject::of_working_tree(skill)).collect();
        let note =
            "Advisory: without --changed-since the rules of the working tree apply, and no look is counted.";
        Ok(Self {
            evaluation: None,
            policy: Some(policy),
            terms,
            subjects,
            settings: settings.clone(),
            notes: vec![note.to_owned()],
        })
    }

    fn of_pull_request(args: &GateArgs, revision: &str, settings: &Settings) -> Result<Self, Failure> {
        let request = Request {
            policy: &args.policy,
            revision,
            trust: args.trust_changes.as_deref(),
            directory: Path::new("."),
            left_out: vec![settings.store.clone()],
        };
        let mut evaluation = Evaluation::prepare(&request).map_err(|error| failure(&error, revision))?;
        let settings = match &evaluation.directory {
            Some(folder) if folder.is_dir() => settings.of_folder(folder)?,
            _ => settings.clone(),
        };
        let mut notes = Vec::new();
        if evaluation.target == evaluation.head() {
            notes.push(format!(
                "{revision} is the commit that is checked out: only uncommitted changes are gated."
            ));
        }
        if let Some(proposed) = &evaluation.proposed {
            notes.push(format!("{revision} has no policy: there is nothing to decide until one is merged."));
            notes.extend(proposed.skills.iter().map(|(skill, terms)| {
                format!("The pull request's policy would demand of {skill}: {}", demand(terms))
            }));
        }
        Ok(Self {
            policy: evaluation.policy.take(),
            terms: std::mem::take(&mut evaluation.terms),
            subjects: std::mem::take(&mut evaluation.subjects),
            evaluation: Some(evaluation),
            settings,
            notes,
        })
    }

    /// The store whose records may decide, with a note if it is not the one that the settings name; else why there is none.
    pub(super) fn store(&self) -> Result<(PathBuf, Option<String>), UnusableStore> {
        let named = &self.settings.store;
        let Some(evaluation) = &self.evaluation else { return Ok((named.clone(), None)) };
        let path = std::path::absolute(named).unwrap_or_else(|_| named.clone());
        let tops = [Some(evaluation.top().to_owned()), std::fs::canonicalize(evaluation.top()).ok()];
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let inside = tops
            .iter()
            .flatten()
            .find_map(|top| assay_gate::relative(top, &path).or_else(|| assay_gate::relative(top, &real)));
        let Some(inside) = inside else { return Ok((named.clone(), None)) };
        if is_hosted() {
            return Err(UnusableStore::Inside(named.clone()));
        }
        if !evaluation.tracks(&inside) {
            return Ok((named.clone(), None));
        }
        let state = record_keys::state_folder().ok_or_else(|| UnusableStore::Tracked(named.clone()))?;
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
    pub(super) fn missing_key(&self) -> Result<Option<String>, Failure> {
        if self.evaluation.is_none() {
            return Ok(None);
        }
        if is_hosted() && !record_keys::is_given()? {
            return Ok(Some(
                "no trial is executed and no look is counted in CI without ASSAY_RECORD_KEY: give the gate's job a key \
                 (`openssl rand -hex 32`)"
                    .to_owned(),
            ));
        }
        Ok(record_keys::explain_unsigned().map(|why| format!("records cannot be signed: {why}")))
    }
}

/// What a policy demands of a skill, and how many trials that takes.
pub(super) fn demand(terms: &assay_gate::SkillTerms) -> String {
    let word = terms.rule.require.word();
    let Some(experiment) = terms.experiment.as_ref().filter(|_| !terms.tasks.is_empty()) else {
        return format!("{word}, without an experiment");
    };
    format!(
        "{word} on {} with {}, {}",
        counted(terms.tasks.len(), "task", "tasks"),
        counted(experiment.repetitions as usize, "repetition", "repetitions"),
        counted(planned_trials(terms), "trial", "trials")
    )
}

/// The trials of a skill and of its baseline.
pub(super) fn planned_trials(terms: &assay_gate::SkillTerms) -> usize {
    let Some(experiment) = &terms.experiment else { return 0 };
    2 * terms.tasks.len() * experiment.repetitions as usize * experiment.agents.len().max(1)
}

/// Whether this is a job of a CI system.
fn is_hosted() -> bool {
    machine::env("CI").is_some_and(|value| !matches!(value.to_lowercase().as_str(), "0" | "false"))
}

fn failure(error: &EvaluationError, revision: &str) -> Failure {
    let message = match error {
        EvaluationError::Repository(error) => format!("`--changed-since {revision}`: {error}"),
        error => error.to_string(),
    };
    let hint = match error {
        EvaluationError::Repository(RepositoryError::Shallow { .. }) => {
            "fetch the whole history: `fetch-depth: 0` of actions/checkout, GIT_DEPTH: 0 on GitLab, or git fetch --unshallow"
        }
        EvaluationError::Repository(RepositoryError::Partial { .. }) => {
            "fetch all files: git fetch --refetch --no-filter origin"
        }
        EvaluationError::Repository(
            RepositoryError::NoRevision { .. } | RepositoryError::Unrelated { .. },
        ) => "in CI, fetch the base branch first: git fetch origin main",
        EvaluationError::Repository(RepositoryError::Git(_)) => "assay gate needs git 2.38 or later",
        EvaluationError::OtherPolicy { known, .. } => {
            return Failure::bad_input(message).hint(format!("run assay gate {known}"));
        }
        EvaluationError::NoMatch { .. } => {
            "correct the pattern; where the target's policy is wrong, a maintainer applies the correction with --trust-changes SHA"
        }
        EvaluationError::TopSkill { .. } => "move the skill to a folder of its own, such as skills/NAME",
        EvaluationError::Trust(_) => {
            "check out the commit that the maintainer approved, and pass its full SHA"
        }
        EvaluationError::Policy(_) | EvaluationError::Write { .. } | EvaluationError::Repository(_) => {
            return match error {
                EvaluationError::Write { .. } => Failure::infrastructure(message),
                _ => Failure::bad_input(message),
            };
        }
    };
    Failure::bad_input(message).hint(hint)
}

/// The word for a change where a skill stays the same.
pub(super) fn is_change(change: Change) -> bool {
    change != Change::Unchanged
}
