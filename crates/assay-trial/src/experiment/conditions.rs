//! `[condition.NAME]`: settings in which a condition differs from the rest of its experiment.

use std::collections::BTreeMap;

use assay_agent::Disclosure;
use assay_store::{ConditionRole, ConditionSettings, PrimaryCandidate, is_run_name};
use serde::Deserialize;

use super::mistake::Mistake;
use crate::condition;

/// Most repetitions of a cell: beyond it a zero too many is likelier than a wish.
pub(super) const MAX_REPETITIONS: u32 = 10_000;

/// The table of a condition.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConditionTable {
    /// The condition that it is, if its name is another: one condition can be in a run several
    /// times, with different settings.
    pub(super) is: Option<String>,
    disclosure: Option<Disclosure>,
    repetitions: Option<i64>,
}

impl ConditionTable {
    /// The settings.
    ///
    /// # Errors
    /// A condition that the experiment does not list, a name that hides another condition, or
    /// repetitions out of bounds.
    pub(super) fn settings(self, name: &str, listed: &[String]) -> Result<ConditionSettings, Mistake> {
        if !listed.iter().any(|known| known == name) {
            return Err(Mistake::ConditionIsNotListed(name.to_owned()));
        }
        if self.is.is_some() {
            if condition::names().any(|known| known == name) {
                return Err(Mistake::ConditionHides(name.to_owned()));
            }
            if !is_run_name(name) {
                return Err(Mistake::ConditionName(name.to_owned()));
            }
        }
        let repetitions = match self.repetitions {
            None => None,
            Some(given) => {
                let most = MAX_REPETITIONS;
                let found = u32::try_from(given).ok().filter(|given| (1..=most).contains(given));
                Some(found.ok_or(Mistake::ConditionRepetitions { name: name.to_owned(), most })?)
            }
        };
        Ok(ConditionSettings { is: self.is, disclosure: self.disclosure, repetitions })
    }
}

/// The primary condition of an experiment that names none, by what its conditions are.
pub(super) fn default_primary(
    conditions: &[String],
    settings: &BTreeMap<String, ConditionSettings>,
    disclosure: Disclosure,
    repetitions: u32,
) -> Option<String> {
    let differs = |own: &ConditionSettings| {
        own.disclosure.is_some_and(|own| own != disclosure)
            || own.repetitions.is_some_and(|own| own != repetitions)
    };
    let candidates: Vec<PrimaryCandidate<'_>> = conditions
        .iter()
        .map(|name| {
            let own = settings.get(name);
            let is = own.and_then(|own| own.is.as_deref()).unwrap_or(name);
            PrimaryCandidate { name, role: ConditionRole::of(is), is_variant: own.is_some_and(differs) }
        })
        .collect();
    assay_store::default_primary(&candidates)
}
