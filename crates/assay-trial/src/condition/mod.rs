//! Conditions: which skills a trial gets, and how it hears of them.
//!
//! A [`Condition`] is one file here and one line in [`ALL`]. It is a deterministic function of
//! task, library and seed.

mod curated;
mod full;
mod negative;
mod neighbours;
mod none;
mod placebo;
mod plus;
mod provision;
mod self_generated;

pub(crate) use placebo::placebo_of;
pub use provision::{
    Condition, ConditionContext, ConditionError, Pairing, PlaceboPackageError, Provision, curated,
};

/// All conditions, in the order in which messages list them.
pub const ALL: [&dyn Condition; 8] = [
    &none::None,
    &curated::Curated,
    &placebo::Placebo,
    &negative::Negative,
    &full::Full,
    &plus::PlusRelated,
    &plus::PlusUnrelated,
    &self_generated::SelfGenerated,
];

/// The names of all conditions, for messages.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().map(Condition::name)
}

/// A condition by its name.
pub fn find(name: &str) -> Option<&'static dyn Condition> {
    ALL.into_iter().find(|condition| condition.name() == name)
}

#[cfg(test)]
mod tests {
    use assay_store::ConditionRole;

    use super::*;

    /// Reports look up roles by name: each role but the last belongs to one existing condition.
    #[test]
    fn every_role_belongs_to_one_condition() {
        for role in [ConditionRole::Curated, ConditionRole::Placebo, ConditionRole::Unrelated] {
            assert_eq!(names().filter(|name| ConditionRole::of(name) == role).count(), 1, "{role:?}");
        }
    }
}
