//! Conditions: which skills a trial gets, and how it hears of them.
//!
//! A [`Condition`] is one file here and one line in [`ALL`]. It is a deterministic function of
//! task, library and seed, and of its argument if it takes one: `version:v1`.

mod counterfactual;
mod curated;
mod documents;
mod error;
mod full;
mod generated;
mod negative;
mod neighbours;
mod none;
mod placebo;
mod plain;
mod plus;
mod provision;
mod self_generated;
mod version;

pub(crate) use counterfactual::counterfactual_of;
pub use documents::error::DocumentsError;
pub use error::{
    ConditionError, CounterfactualSkillError, GeneratedSkillsError, PlaceboPackageError, VersionError,
};
pub(crate) use placebo::placebo_of;
pub use provision::{Argument, Condition, ConditionContext, Pairing, Provision, curated};
pub(crate) use version::{extract_version, version_of};

/// All conditions, in the order in which messages list them.
pub const ALL: [&dyn Condition; 15] = [
    &none::None,
    &curated::Curated,
    &placebo::Placebo,
    &documents::Documents,
    &plain::Plain,
    &negative::Negative,
    &full::Full,
    &plus::PlusRelated,
    &plus::PlusUnrelated,
    &self_generated::SelfGenerated,
    &generated::FromTask,
    &generated::FromDocs,
    &generated::FromRuns,
    &version::Version,
    &counterfactual::Counterfactual,
];

/// The names of all conditions, for messages.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().map(Condition::name)
}

/// How each condition is written, for messages: its name, and its argument if it takes one.
pub fn usages() -> String {
    let usage = |condition: &dyn Condition| match condition.argument() {
        Argument::None => condition.name().to_owned(),
        Argument::Optional(argument) => format!("{}[:{argument}]", condition.name()),
        Argument::Required(argument) => format!("{}:{argument}", condition.name()),
    };
    ALL.into_iter().map(usage).collect::<Vec<_>>().join(", ")
}

/// A condition as an experiment names it: `curated`, or `version:v1` with an argument.
#[derive(Clone, Copy)]
pub struct ConditionRef<'a> {
    condition: &'static dyn Condition,
    argument: Option<&'a str>,
}

/// Why a text is not a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionRefError {
    /// No condition of that name.
    #[error("unknown condition {name:?}: expected one of {}", usages())]
    Unknown {
        /// The text.
        name: String,
    },
    /// An argument for a condition without one.
    #[error("the condition {name:?} takes no argument: remove `:{argument}`")]
    Unexpected {
        /// The condition.
        name: &'static str,
        /// What it was given.
        argument: String,
    },
    /// An empty argument.
    #[error("the condition {name:?} has an empty argument: write \"{name}\" or \"{name}:{argument}\"")]
    Empty {
        /// The condition.
        name: &'static str,
        /// What it takes.
        argument: &'static str,
    },
    /// A condition without its argument.
    #[error("the condition {name:?} needs an argument: write \"{name}:{argument}\"")]
    Missing {
        /// The condition.
        name: &'static str,
        /// What it takes.
        argument: &'static str,
    },
}

impl<'a> ConditionRef<'a> {
    /// Reads a condition's name and argument.
    ///
    /// # Errors
    /// An unknown name, or an argument that is missing or that the condition does not take.
    pub fn parse(text: &'a str) -> Result<Self, ConditionRefError> {
        let (name, argument) = match text.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        let condition = ALL
            .into_iter()
            .find(|condition| condition.name() == name)
            .ok_or_else(|| ConditionRefError::Unknown { name: text.to_owned() })?;
        let name = condition.name();
        match (condition.argument(), argument) {
            (Argument::None, Some(argument)) => {
                Err(ConditionRefError::Unexpected { name, argument: argument.to_owned() })
            }
            (Argument::Optional(argument), Some("")) => Err(ConditionRefError::Empty { name, argument }),
            (Argument::Required(argument), None | Some("")) => {
                Err(ConditionRefError::Missing { name, argument })
            }
            (_, argument) => Ok(Self { condition, argument }),
        }
    }

    /// The skills and the preface for a trial; the context's argument is replaced by the
    /// condition's.
    ///
    /// # Errors
    /// Why the cell is excluded.
    pub fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        self.condition.provide(&ConditionContext { argument: self.argument, ..*context })
    }
}

#[cfg(test)]
mod tests {
    use assay_store::ConditionRole;

    use super::*;

    #[test]
    fn every_role_belongs_to_one_condition() {
        assert_eq!(ALL.map(Condition::role), ConditionRole::ALL);
    }

    #[test]
    fn texts_are_parsed_into_name_and_argument() {
        let check = |text: &str, expected: Result<(&str, Option<&str>), &str>| {
            let found = ConditionRef::parse(text).map_err(|error| error.to_string());
            let found = found.map(|found| (found.condition.name(), found.argument));
            match (found, expected) {
                (Err(found), Err(expected)) => assert!(found.starts_with(expected), "{text}: {found}"),
                (found, expected) => assert_eq!(found, expected.map_err(str::to_owned), "{text}"),
            }
        };
        check("plain", Ok(("plain", None)));
        check("plain:x", Err("the condition \"plain\" takes no argument: remove `:x`"));
        check("plain:", Err("the condition \"plain\" takes no argument: remove `:`"));
        check("documents", Ok(("documents", None)));
        check("documents:a/b", Ok(("documents", Some("a/b"))));
        let empty =
            "the condition \"documents\" has an empty argument: write \"documents\" or \"documents:DIR\"";
        check("documents:", Err(empty));
        check("version:v1", Ok(("version", Some("v1"))));
        check("version:HEAD:x", Ok(("version", Some("HEAD:x"))));
        let missing = "the condition \"version\" needs an argument: write \"version:DIR|GITREF\"";
        check("version", Err(missing));
        check("version:", Err(missing));
        check("", Err("unknown condition \"\": expected one of none, curated"));
        check("plane:x", Err("unknown condition \"plane:x\": expected one of none, curated"));
    }
}
