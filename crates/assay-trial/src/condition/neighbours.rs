//! Skills of the library related and unrelated to a task's own.

use std::collections::BTreeSet;

use assay_retrieval::{Bm25, Parameters, shingle_similarity};
use assay_skill::Package;

use super::error::ConditionError;
use super::provision::ConditionContext;

/// Two skills at or above this similarity are near duplicates: the experiment design's number.
const NEAR_DUPLICATE: f64 = 0.5;

/// How many of the skills that a request finds first may be about its task after all.
const FOUND_FIRST: usize = 20;

/// The library without a task's own skills and what resembles them.
pub(super) fn others<'a>(
    context: &ConditionContext<'a>,
    own: &[Package],
) -> Result<Vec<&'a Package>, ConditionError> {
    let skills = &context.library.packages;
    if skills.len() < 2 {
        return Err(ConditionError::SmallLibrary { skills: skills.len() });
    }
    let others: Vec<&Package> = skills
        .iter()
        .filter(|skill| {
            own.iter().all(|own| {
                own.digest != skill.digest
                    && own.name != skill.name
                    && shingle_similarity(&own.body, &skill.body) < NEAR_DUPLICATE
            })
        })
        .collect();
    if others.is_empty() {
        return Err(ConditionError::NoOthers);
    }
    Ok(others)
}

/// An unrelated skill: of the others, without the first 20 that BM25 finds for the instruction, the
/// one whose body is nearest in length to the task's own; ties by digest. A small library keeps the
/// half that matches worst, because otherwise nothing would remain.
pub(super) fn unrelated<'a>(
    context: &ConditionContext<'a>,
    own: &[Package],
) -> Result<&'a Package, ConditionError> {
    let others = others(context, own)?;
    let index = index(&others);
    let most = FOUND_FIRST.min(others.len() / 2);
    let found: BTreeSet<usize> =
        index.rank(&context.task.instruction).into_iter().take(most).map(|(place, _)| place).collect();
    let length: usize = own.iter().map(Package::body_tokens).sum();
    others
        .iter()
        .enumerate()
        .filter(|(place, _)| !found.contains(place))
        .map(|(_, skill)| *skill)
        .min_by_key(|skill| (skill.body_tokens().abs_diff(length), skill.digest))
        .ok_or(ConditionError::NoUnrelated)
}

/// The skill nearest to the task's own: the first that their names, descriptions and bodies find
/// among the others by BM25.
pub(super) fn related<'a>(
    context: &ConditionContext<'a>,
    own: &[Package],
) -> Result<&'a Package, ConditionError> {
    let others = others(context, own)?;
    let query: String = own.iter().map(text).collect::<Vec<_>>().join("\n");
    let best = index(&others).rank(&query).first().map(|(place, _)| others[*place]);
    best.ok_or(ConditionError::NoRelated)
}

fn index(skills: &[&Package]) -> Bm25 {
    let texts: Vec<String> = skills.iter().map(|skill| text(skill)).collect();
    Bm25::new(texts.iter().map(String::as_str), Parameters::default())
}

fn text(skill: &Package) -> String {
    format!("{}\n{}\n{}", skill.name, skill.description, skill.body)
}
