//! What a condition is: its role in comparisons. Names of conditions are read here and nowhere else.

use std::fmt;

use serde::{Serialize, Serializer};

/// What a condition is, whatever its name in an experiment: `[condition.NAME] is` of the plan, else the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionRole {
    /// No skill: the baseline of most experiments.
    None,
    /// The skills that belong to the task.
    Curated,
    /// A text as long as a skill that teaches nothing: it should not help.
    Placebo,
    /// Documentation in the prompt, as long as the skill's text.
    Documents,
    /// The text of the curated skills in the prompt.
    Plain,
    /// A skill that is not about the task: it should not help.
    Negative,
    /// The whole library with the curated skills.
    Full,
    /// The curated skills and a related one.
    PlusRelated,
    /// The curated skills and an unrelated one.
    PlusUnrelated,
    /// Skills that the agent writes itself before it works on the task.
    SelfGenerated,
    /// Skills that a model wrote from other tasks.
    GeneratedFromTask,
    /// Skills that a model wrote from documentation.
    GeneratedFromDocs,
    /// Skills that a model wrote from recorded runs.
    GeneratedFromRuns,
    /// Another version of the curated skills.
    Version,
    /// The curated skills with other names, limits and markers.
    Counterfactual,
    /// Unknown: a condition of imported trials that no name identifies.
    Other,
}

impl ConditionRole {
    /// All roles that a condition of an experiment can have, in the order in which messages list them.
    pub const ALL: [Self; 15] = [
        Self::None,
        Self::Curated,
        Self::Placebo,
        Self::Documents,
        Self::Plain,
        Self::Negative,
        Self::Full,
        Self::PlusRelated,
        Self::PlusUnrelated,
        Self::SelfGenerated,
        Self::GeneratedFromTask,
        Self::GeneratedFromDocs,
        Self::GeneratedFromRuns,
        Self::Version,
        Self::Counterfactual,
    ];

    /// The role of a condition as experiments write it: `curated`, or `version:v1` with an argument.
    pub fn of(condition: &str) -> Self {
        let name = condition.split_once(':').map_or(condition, |(name, _)| name);
        Self::ALL.into_iter().find(|role| role.name() == name).unwrap_or(Self::Other)
    }

    /// The name that experiments have for it; `other` if it is unknown.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Curated => "curated",
            Self::Placebo => "placebo",
            Self::Documents => "documents",
            Self::Plain => "plain",
            Self::Negative => "negative",
            Self::Full => "full",
            Self::PlusRelated => "plus-related",
            Self::PlusUnrelated => "plus-unrelated",
            Self::SelfGenerated => "self-generated",
            Self::GeneratedFromTask => "generated-from-task",
            Self::GeneratedFromDocs => "generated-from-docs",
            Self::GeneratedFromRuns => "generated-from-runs",
            Self::Version => "version",
            Self::Counterfactual => "counterfactual",
            Self::Other => "other",
        }
    }

    /// What it promises to make available to the agent.
    pub fn treatment(self) -> Treatment {
        match self {
            Self::None => Treatment::Nothing,
            Self::Full => Treatment::Library,
            Self::Documents | Self::Plain => Treatment::Text,
            Self::SelfGenerated => Treatment::WrittenSkills,
            Self::Curated
            | Self::Placebo
            | Self::Negative
            | Self::PlusRelated
            | Self::PlusUnrelated
            | Self::GeneratedFromTask
            | Self::GeneratedFromDocs
            | Self::GeneratedFromRuns
            | Self::Version
            | Self::Counterfactual => Treatment::Skills,
            Self::Other => Treatment::Unknown,
        }
    }

    /// Whether the skills that it provides for a task are that task's own, in some version, and nothing else: a lift under it
    /// can be said of the skill.
    pub fn has_own_skills(self) -> bool {
        matches!(
            self,
            Self::Curated
                | Self::Version
                | Self::Counterfactual
                | Self::GeneratedFromTask
                | Self::GeneratedFromDocs
                | Self::GeneratedFromRuns
        )
    }

    /// What agents get under it, in a sentence of a report after the condition's name; `None` where the name of the
    /// condition says it.
    pub fn meaning(self) -> Option<&'static str> {
        match self {
            Self::None => Some("no skill"),
            Self::Curated => Some("the skills that belong to the task"),
            Self::Placebo => Some("skills of the same length that teach nothing"),
            Self::Negative => Some("a skill that is unrelated to the task"),
            Self::Counterfactual => Some("the skills that belong to the task, with other names and numbers"),
            _ => None,
        }
    }
}

/// What a condition makes available to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// Nothing.
    Nothing,
    /// Skills: their files, of which the agent is told.
    Skills,
    /// A library of skills: their files, of which the agent is told as far as its client lists them.
    Library,
    /// A text in the prompt.
    Text,
    /// A folder that the agent fills with skills.
    WrittenSkills,
    /// Not known.
    Unknown,
}

impl fmt::Display for ConditionRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Its name; an unknown role is `null`.
impl Serialize for ConditionRole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Other => serializer.serialize_none(),
            role => serializer.serialize_str(role.name()),
        }
    }
}

/// What is asked of a condition when a primary comparison is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrimaryCandidate<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is.
    pub role: ConditionRole,
    /// Whether it has settings of its own: a disclosure or repetitions that others do not have.
    pub is_variant: bool,
}

/// The primary condition where an experiment names none: the one that is `curated`, if several conditions are compared
/// with the baseline, the first of `conditions`. Of several that are `curated`, the one without settings of its own;
/// `None` where that leaves none or several.
pub fn default_primary(conditions: &[PrimaryCandidate<'_>]) -> Option<String> {
    let compared = conditions.get(1..).unwrap_or_default();
    let of_curated = |only_plain: bool| {
        let mut found = compared.iter().filter(|condition| {
            condition.role == ConditionRole::Curated && !(only_plain && condition.is_variant)
        });
        found.next().filter(|_| found.next().is_none())
    };
    let chosen = of_curated(false).or_else(|| of_curated(true)).filter(|_| compared.len() > 1)?;
    Some(chosen.name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_from_names_with_and_without_arguments() {
        for role in ConditionRole::ALL {
            assert_eq!(ConditionRole::of(role.name()), role);
        }
        let check = |name: &str, expected| assert_eq!(ConditionRole::of(name), expected, "{name}");
        check("version:v1", ConditionRole::Version);
        check("documents:a/b", ConditionRole::Documents);
        check("curated2", ConditionRole::Other);
        check("other", ConditionRole::Other);
        check("", ConditionRole::Other);
        assert_eq!(
            serde_json::json!([ConditionRole::Full, ConditionRole::Other]).to_string(),
            r#"["full",null]"#
        );
    }

    #[test]
    fn the_primary_condition_is_chosen_by_role() {
        use ConditionRole::{Curated, Full, None as Bare, Placebo};
        let check = |conditions: &[(&str, ConditionRole, bool)], expected: Option<&str>| {
            let candidates: Vec<PrimaryCandidate<'_>> = conditions
                .iter()
                .map(|&(name, role, is_variant)| PrimaryCandidate { name, role, is_variant })
                .collect();
            assert_eq!(default_primary(&candidates).as_deref(), expected, "{conditions:?}");
        };
        check(&[("bare", Bare, false), ("skill", Curated, false), ("sham", Placebo, false)], Some("skill"));
        check(&[("bare", Bare, false), ("skill", Curated, true), ("sham", Placebo, false)], Some("skill"));
        check(&[("bare", Bare, false), ("told", Curated, true), ("skill", Curated, false)], Some("skill"));
        check(&[("bare", Bare, false), ("told", Curated, true), ("eager", Curated, true)], None);
        check(&[("bare", Bare, false), ("one", Curated, false), ("two", Curated, false)], None);
        // One comparison has nothing to be adjusted for, and the baseline is not compared.
        check(&[("bare", Bare, false), ("skill", Curated, false)], None);
        check(&[("skill", Curated, false), ("all", Full, false), ("sham", Placebo, false)], None);
        check(&[], None);
    }
}
