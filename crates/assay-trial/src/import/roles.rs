//! Which conditions of an import are compared with which, what they are, and by which value of their trials.

use std::collections::BTreeMap;

use assay_store::{ConditionRole, ConditionSettings, OutcomeRule, PrimaryCandidate, default_primary};

use super::ImportError;

/// What the user says about the analysis of an import: its conditions, and the outcome of its trials.
///
/// A condition that is called like a condition of experiments is that condition; `roles` says what others are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnalysisOptions {
    /// The baseline; unset, the condition that is `none`.
    pub baseline: Option<String>,
    /// The condition whose comparison is tested at the full level.
    pub primary: PrimaryOption,
    /// What conditions are, by name.
    pub roles: BTreeMap<String, ConditionRole>,
    /// The value of a trial that is compared; unset, that of the exported run, else [`OutcomeRule::Auto`].
    pub outcome: Option<OutcomeRule>,
}

/// Which comparison of an import is primary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PrimaryOption {
    /// As in an experiment that names none: that of the condition that is `curated`, if there are several.
    #[default]
    ByRole,
    /// None: all comparisons are one family.
    Disabled,
    /// That of this condition.
    Named(String),
}

impl AnalysisOptions {
    /// What a condition is.
    pub(super) fn role_of(&self, name: &str) -> ConditionRole {
        self.roles.get(name).copied().unwrap_or_else(|| ConditionRole::of(name))
    }

    /// Moves the baseline to the first place, and returns whether there is one by name or role.
    ///
    /// # Errors
    /// A named baseline that is not among the conditions.
    pub(super) fn place_baseline(&self, conditions: &mut Vec<String>) -> Result<bool, ImportError> {
        let is_baseline = |condition: &String| match &self.baseline {
            Some(named) => condition == named,
            None => self.role_of(condition) == ConditionRole::None,
        };
        match (conditions.iter().position(is_baseline), &self.baseline) {
            (Some(at), _) => {
                let baseline = conditions.remove(at);
                conditions.insert(0, baseline);
                Ok(true)
            }
            (None, Some(baseline)) => {
                Err(ImportError::Baseline { baseline: baseline.clone(), conditions: conditions.clone() })
            }
            (None, None) => Ok(false),
        }
    }

    /// The primary condition of these, the first of which is the baseline.
    ///
    /// # Errors
    /// A named condition that is not among them, or is the baseline.
    pub(super) fn primary(&self, conditions: &[String]) -> Result<Option<String>, ImportError> {
        match &self.primary {
            PrimaryOption::Disabled => Ok(None),
            PrimaryOption::Named(name) if conditions.iter().skip(1).any(|known| known == name) => {
                Ok(Some(name.clone()))
            }
            PrimaryOption::Named(name) => Err(ImportError::Primary {
                primary: name.clone(),
                is_baseline: conditions.first() == Some(name),
                conditions: conditions.iter().skip(1).cloned().collect(),
            }),
            PrimaryOption::ByRole => {
                let candidates: Vec<PrimaryCandidate<'_>> = conditions
                    .iter()
                    .map(|name| PrimaryCandidate { name, role: self.role_of(name), is_variant: false })
                    .collect();
                Ok(default_primary(&candidates))
            }
        }
    }

    /// The settings of the plan that say what conditions are, where their names do not.
    ///
    /// # Errors
    /// A condition that no trial ran under.
    pub(super) fn settings(
        &self,
        conditions: &[String],
    ) -> Result<BTreeMap<String, ConditionSettings>, ImportError> {
        if let Some(name) = self.roles.keys().find(|name| !conditions.contains(name)) {
            return Err(ImportError::Role { name: name.clone(), conditions: conditions.to_vec() });
        }
        let differs = |(name, role): &(&String, &ConditionRole)| ConditionRole::of(name) != **role;
        let settings = self.roles.iter().filter(differs).map(|(name, role)| {
            let settings =
                ConditionSettings { is: Some(role.name().to_owned()), ..ConditionSettings::default() };
            (name.clone(), settings)
        });
        Ok(settings.collect())
    }

    /// A note for imports that compare several conditions, none of them primary although nobody said so.
    pub(super) fn primary_hint(&self, conditions: &[String], primary: Option<&str>) -> Option<String> {
        let compared = conditions.len().saturating_sub(1);
        if primary.is_some() || compared < 2 || self.primary != PrimaryOption::ByRole {
            return None;
        }
        Some(format!(
            "{compared} conditions are compared with `{}`, at a level that is adjusted for all of them. `--primary CONDITION` \
             names the one that the trials were made for: it is tested at the full level; `--no-primary` removes this hint.",
            conditions[0]
        ))
    }
}
