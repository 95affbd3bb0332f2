//! An appraisal: a second opinion on results that another tool recorded.
//!
//! The tool's own difference is recomputed by its own rule. assay's is the mean over cases of the difference between the arms,
//! without attempts that errored or were skipped, and its verdict is the one rule of `assay-stats`. What cannot be computed is
//! absent, with the reason in [`Appraisal::missing`].

mod checks;
mod comparison;
mod document;
mod error;
mod exposure;
mod next_step;
mod options;
#[cfg(test)]
mod tests;
mod warnings;

use std::collections::BTreeMap;

use assay_store::ToolResults;

pub use document::{
    Appraisal, AppraisalStep, AppraisalWarning, AppraisedArm, AppraisedCheck, AppraisedComparison,
    AppraisedSource, ExposureFigures, LostAttempts, OurFigures, TheirFigures,
};
pub use error::AppraisalError;
pub use options::AppraisalOptions;

use comparison::{ChosenArms, compare_arms, compare_rates};

/// The schema of the document.
pub const APPRAISAL_SCHEMA: &str = "assay.appraisal/1";

/// Appraises results.
///
/// # Errors
/// Scores outside of the range, arms that cannot be told apart, or names of arms that do not exist.
pub fn appraise_results(
    results: &ToolResults,
    options: &AppraisalOptions,
) -> Result<Appraisal, AppraisalError> {
    let results = &scaled(results, options.range)?;
    let mut missing = BTreeMap::new();
    let (comparisons, lone) = if results.attempts.is_empty() {
        (compare_rates(results, options), None)
    } else {
        let arms = ChosenArms::choose(results, options)?;
        (compare_arms(results, &arms, options), arms.lone(results))
    };
    let exposure = exposure::exposure_figures(results, lone, &comparisons);
    let mut first = comparisons.first().cloned().unwrap_or_else(|| comparison::uncompared(results, lone));
    exposure::apply_bound(&mut first, exposure.as_ref(), options.margin);
    let warnings = warnings::warnings(results, &comparisons);
    let next = next_step::next_step(results, &first, lone, exposure.as_ref(), options);
    let mut comparisons = comparisons;
    if let Some(head) = comparisons.first_mut() {
        *head = first.clone();
    }
    document::explain_missing(&mut missing, &first, &next, results);
    Ok(Appraisal {
        schema: APPRAISAL_SCHEMA,
        source: AppraisedSource {
            format: results.source.format.clone(),
            tool: results.source.tool.clone(),
            version: results.source.version.clone(),
            subject: results.subject.clone(),
            files: results.source.files.iter().map(|path| path.display().to_string()).collect(),
        },
        theirs: first.theirs.clone(),
        ours: first.ours.clone(),
        warnings,
        unused: results.unused.clone(),
        next,
        missing,
        exposure,
        checks: checks::appraised_checks(results, &first),
        margin: options.margin,
        comparisons,
    })
}

/// The results with scores from 0 to 1.
fn scaled(results: &ToolResults, (low, high): (f64, f64)) -> Result<ToolResults, AppraisalError> {
    let mut results = results.clone();
    for attempt in &mut results.attempts {
        let Some(score) = attempt.score else { continue };
        if !(low..=high).contains(&score) {
            return Err(AppraisalError::Range { case: attempt.case.clone(), score, low, high });
        }
        attempt.score = Some((score - low) / (high - low));
    }
    if (high - low - 1.0).abs() > f64::EPSILON {
        for published in &mut results.published {
            published.delta = published.delta.map(|delta| delta / (high - low));
            published.rounding /= high - low;
        }
    }
    Ok(results)
}
