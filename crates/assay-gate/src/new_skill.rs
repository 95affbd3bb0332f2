//! Checks of the tasks that a new skill brings along, which nobody trusts yet.

use std::path::PathBuf;

use assay_trial::{Experiment, NetworkGrant, SandboxKind};

use crate::evaluation::Subject;
use crate::gate::Gate;
use crate::gate_error::GateError;
use crate::measured::Gated;
use crate::terms::SkillTerms;

/// Executes the checks of new tasks and notes what they find. Tasks come from the pull request: they run in a sandbox of the
/// target's experiment, without network, variables of the host or judges, or not at all.
pub(crate) fn check_new_tasks(gate: &Gate<'_>, gated: &mut [Gated]) -> Result<(), GateError> {
    let scope = gate.scope;
    // The job that opens looks executes nothing.
    if gate.request.open_looks {
        return Ok(());
    }
    for gated in gated {
        let subject = scope.subjects.iter().find(|subject| subject.skill == gated.row.skill);
        let Some(own) = subject.and_then(untrusted) else { continue };
        let notes = match isolate_experiment(scope.terms.skills.get(&gated.row.skill)) {
            Err(reason) => vec![format!("task check: not executed: {reason}")],
            Ok(experiment) => check_tasks(gate, own, experiment.as_ref())?,
        };
        gated.row.notes.extend(notes);
    }
    Ok(())
}

fn untrusted(subject: &Subject) -> Option<&SkillTerms> {
    subject.untrusted.as_deref().filter(|_| subject.problem.is_none())
}

fn check_tasks(
    gate: &Gate<'_>,
    own: &SkillTerms,
    experiment: Option<&Experiment>,
) -> Result<Vec<String>, GateError> {
    if let Some(reason) = gate.scope.explain_missing_key(gate.host)? {
        return Ok(vec![format!("task check: not executed: {reason}")]);
    }
    let store = match gate.scope.find_store(gate.store, gate.host) {
        Ok((store, _)) => store,
        Err(reason) => return Ok(vec![format!("task check: not executed: {reason}")]),
    };
    let folders: Vec<PathBuf> = own.tasks.values().map(|task| task.folder.clone()).collect();
    Ok(gate.host.check_tasks(&folders, experiment, &store)?)
}

/// The experiment of the target's rule as far as it says how tasks are isolated; `None` without one, where the sandboxes of this
/// machine serve.
fn isolate_experiment(terms: Option<&SkillTerms>) -> Result<Option<Experiment>, &'static str> {
    let Some(experiment) = terms.and_then(|terms| terms.experiment.as_ref()) else { return Ok(None) };
    if experiment.sandbox.kind == SandboxKind::None {
        return Err("the experiment of the policy has sandbox \"none\"");
    }
    let mut experiment = experiment.clone();
    experiment.network = NetworkGrant::None;
    experiment.verifier_network = false;
    experiment.allow_env.clear();
    experiment.judge = None;
    experiment.metrics.clear();
    experiment.stopping = None;
    experiment.settings.clear();
    experiment.primary = None;
    Ok(Some(experiment))
}
