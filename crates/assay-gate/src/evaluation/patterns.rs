//! Patterns of policies that match no skill.

use std::path::Path;

use super::request::EvaluationError;
use crate::paths::display_from;
use crate::policy::Policy;
use crate::rules::SKILL;

/// The first pattern of a policy that matches no skill in any of some folders.
pub(super) fn unmatched(policy: &Policy, path: &Path, folders: &[&Path]) -> Option<EvaluationError> {
    let unmatched = policy.unmatched(folders);
    let pattern = unmatched.first()?;
    Some(EvaluationError::NoMatch {
        policy: path.display().to_string(),
        pattern: (*pattern).to_owned(),
        near: folders.last().and_then(|folder| nearest_skill(folder, pattern)),
    })
}

/// The folder of a skill whose path is like a pattern's.
fn nearest_skill(directory: &Path, pattern: &str) -> Option<String> {
    let folders = assay_task::folders("**", directory);
    let skills = folders.iter().filter(|folder| folder.join(SKILL).is_file());
    let names: Vec<String> = skills.map(|folder| display_from(directory, folder)).collect();
    let distance = |name: &&String| {
        let shared =
            name.chars().rev().zip(pattern.chars().rev()).take_while(|(one, other)| one == other).count();
        let front = name.chars().zip(pattern.chars()).take_while(|(one, other)| one == other).count();
        shared.max(front)
    };
    names.iter().max_by_key(distance).cloned()
}
