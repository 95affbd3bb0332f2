//! Skills that agents would be given and that have a safety error.

use std::collections::BTreeSet;

use assay_diagnostic::escape;
use assay_safety::Bundle;
use assay_skill::{Diagnostic, Digest, Package, Severity};
use assay_store::{ConditionRole, Store};

use crate::plan::Plan;
use crate::plan::error::PlanError;
use crate::plan::unsafe_skills::{UNSAFE, UnsafeSkills};
use crate::run::context::MachineContext;

impl Plan {
    /// Checks the skills that agents would be given: that none is outside of the project by a link, and that
    /// none has a safety error. `plan` names those with an error; only with a permission are they run.
    pub(super) fn check_packages(
        &mut self,
        store: &Store,
        machine: &MachineContext<'_>,
    ) -> Result<(), PlanError> {
        let made = store.made_folder();
        let made = made.canonicalize().unwrap_or(made);
        let tasks: Vec<_> = self.tasks.iter().map(|task| task.root.clone()).collect();
        let own = self.packages.values().map(|package| package.root.as_path());
        let own = own.filter(|root| {
            // Those of a task were checked with it; those that conditions made are in the store.
            !tasks.iter().any(|task| root.starts_with(task))
                && !root.canonicalize().is_ok_and(|root| root.starts_with(&made))
        });
        for key in ["library", "conditions"] {
            self.experiment.check_found(machine.permissions, key, own.clone())?;
        }
        let given = self.given_skills();
        let mut found = Vec::new();
        for package in self.packages.values().filter(|package| given.contains(&package.digest)) {
            if let Some(errors) = safety_errors(package) {
                found.push(format!("the skill `{}` has {errors}", escape(&package.name)));
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        if !machine.dry && !machine.permissions.unsafe_skills {
            return Err(UnsafeSkills(found).into());
        }
        let path = self.experiment.path.clone();
        let warn = |message: String| Diagnostic::new(Severity::Warning, UNSAFE, &path, message);
        self.diagnostics.extend(found.into_iter().map(warn));
        Ok(())
    }

    /// The digests of the skills that agents are given, as packages or as text.
    fn given_skills(&self) -> BTreeSet<Digest> {
        let offered = self.trials.values().flat_map(|trial| &trial.provision.skills);
        let mut given: BTreeSet<Digest> = offered.map(|skill| skill.digest).collect();
        let is_text = |condition: &str| self.experiment.role_of(condition) == ConditionRole::Plain;
        let told = self.cells.iter().filter(|cell| is_text(&cell.condition));
        let told: BTreeSet<&String> =
            told.filter_map(|cell| self.curated.get(&cell.task)).flatten().collect();
        let digests = self.packages.values().map(|package| package.digest);
        given.extend(digests.filter(|digest| told.contains(&digest.to_string())));
        given
    }
}

/// The safety errors of a skill, in words, with the first few of them.
fn safety_errors(package: &Package) -> Option<String> {
    const SHOWN: usize = 3;
    let found = assay_safety::scan(&Bundle::read(package));
    let errors: Vec<String> = found
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| {
            let file = package.root.join(&finding.path);
            format!(
                "{}: {}: {}",
                escape(&file.display().to_string()),
                finding.rule.code,
                escape(&finding.message)
            )
        })
        .collect();
    let more = errors.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let count = if errors.len() == 1 {
        "a safety error".to_owned()
    } else {
        format!("{} safety errors", errors.len())
    };
    let shown = errors.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    (!errors.is_empty()).then(|| format!("{count}: {shown}{more}"))
}
