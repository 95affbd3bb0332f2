//! Judges and those whose results they judge.

use crate::family::is_same_family;

/// A judge of the family of a candidate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{judge} is of the family of {candidate}, which it would judge")]
pub struct SameFamilyError {
    /// `provider:model`.
    pub judge: String,
    /// The model of a result.
    pub candidate: String,
}

/// Refuses judges of the family of a candidate. Returns for how many results the candidate is unknown.
///
/// # Errors
/// The first judge and candidate of one family.
pub fn check_families<'a>(
    judges: &[String],
    candidates: impl Iterator<Item = Option<&'a str>> + Clone,
) -> Result<usize, SameFamilyError> {
    for judge in judges {
        let own = candidates.clone().flatten().find(|own| is_same_family(judge, own));
        if let Some(candidate) = own {
            return Err(SameFamilyError { judge: judge.clone(), candidate: candidate.to_owned() });
        }
    }
    Ok(candidates.filter(Option::is_none).count())
}
