//! Checks of the tasks that a new skill brings along, which nobody trusts yet.

use std::path::PathBuf;

use assay_gate::{SkillTerms, Subject};
use assay_trial::{Experiment, NetworkGrant, SandboxKind};

use super::measured::Gated;
use super::scope::Scope;
use crate::args::gate::GateArgs;
use crate::commands::task::check_isolated;
use crate::failure::Failure;
use crate::ui::Ui;

/// Executes the checks of new tasks and notes what they find. Tasks come from the pull request: they run in a sandbox of the
/// target's experiment, without network, variables of the host or judges, or not at all.
pub(super) fn check_tasks(
    args: &GateArgs,
    scope: &Scope,
    gated: &mut [Gated],
    ui: &Ui,
) -> Result<(), Failure> {
    // The job that opens looks executes nothing.
    if args.open_looks {
        return Ok(());
    }
    for gated in gated {
        let subject = scope.subjects.iter().find(|subject| subject.skill == gated.row.skill);
        let Some(own) = subject.and_then(untrusted) else { continue };
        let notes = match isolated(scope.terms.skills.get(&gated.row.skill)) {
            Err(reason) => vec![format!("task check: not executed: {reason}")],
            Ok(experiment) => check(args, scope, own, experiment.as_ref(), ui)?,
        };
        gated.row.notes.extend(notes);
    }
    Ok(())
}

fn untrusted(subject: &Subject) -> Option<&SkillTerms> {
    subject.untrusted.as_deref().filter(|_| subject.problem.is_none())
}

fn check(
    args: &GateArgs,
    scope: &Scope,
    own: &SkillTerms,
    experiment: Option<&Experiment>,
    ui: &Ui,
) -> Result<Vec<String>, Failure> {
    if let Some(reason) = scope.missing_key()? {
        return Ok(vec![format!("task check: not executed: {reason}")]);
    }
    let store = match scope.store() {
        Ok((store, _)) => store,
        Err(reason) => return Ok(vec![format!("task check: not executed: {reason}")]),
    };
    let mut settings = scope.settings.clone();
    settings.store = store;
    let folders: Vec<PathBuf> = own.tasks.values().map(|task| task.folder.clone()).collect();
    check_isolated(&folders, experiment, args.jobs, &settings, ui)
}

/// The experiment of the target's rule as far as it says how tasks are isolated; `None` without one, where the sandboxes of this
/// machine serve.
fn isolated(terms: Option<&SkillTerms>) -> Result<Option<Experiment>, &'static str> {
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
