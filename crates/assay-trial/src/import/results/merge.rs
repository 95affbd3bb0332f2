//! Results in several files as those of one evaluation.

use std::collections::BTreeSet;
use std::path::Path;

use assay_store::{PublishedComparison, ToolResults};

use super::error::ResultError;
use super::format::role_of;

/// Joins results of one format and one subject. Arms of the same name have the attempts of all files.
pub(super) fn merge_results(folder: &Path, parts: Vec<ToolResults>) -> Result<ToolResults, ResultError> {
    let mixed = |reason: String| ResultError::Mixed { path: folder.to_owned(), reason };
    let count = parts.len();
    let mut parts = parts.into_iter();
    let Some(mut merged) = parts.next() else { return Err(ResultError::unreadable(folder)) };
    if count > 1 && merged.published.iter().any(|published| published.rates.is_some()) {
        return Err(mixed(format!("{count} reports with rates only, which cannot be joined")));
    }
    for part in parts {
        if part.source.format != merged.source.format {
            return Err(mixed(format!(
                "results of two formats, {} and {}",
                merged.source.format, part.source.format
            )));
        }
        if part.subject != merged.subject {
            let name =
                |subject: &Option<String>| subject.clone().unwrap_or_else(|| "an unnamed one".to_owned());
            let (one, other) = (name(&merged.subject), name(&part.subject));
            return Err(mixed(format!("results of two evaluations, {one} and {other}")));
        }
        add_part(&mut merged, part);
    }
    if count > 1 {
        // What each file published is about its own attempts.
        merged.published = published_alike(&merged.published);
        shorten_arm_names(&mut merged);
    }
    Ok(merged)
}

fn add_part(merged: &mut ToolResults, part: ToolResults) {
    for mut attempt in part.attempts {
        let arm = &part.arms[attempt.arm];
        attempt.arm = merged.arm_index(&arm.name, arm.role);
        merged.attempts.push(attempt);
    }
    for arm in part.arms {
        let index = merged.arm_index(&arm.name, arm.role);
        merged.arms[index].models.extend(arm.models);
    }
    if part.source.version != merged.source.version {
        let version = |version: Option<String>| version.unwrap_or_else(|| "unknown".to_owned());
        let (one, other) = (version(merged.source.version.clone()), version(part.source.version));
        merged.remark(
            "versions",
            format!("the files were written by two versions of the tool, {one} and {other}"),
        );
    }
    merged.source.files.extend(part.source.files);
    merged.judges.extend(part.judges);
    merged.absent_cases.extend(part.absent_cases);
    merged.partial = merged.partial.take().or(part.partial);
    merged.scores_failures |= part.scores_failures;
    for unused in part.unused {
        if !merged.unused.contains(&unused) {
            merged.unused.push(unused);
        }
    }
    merged.published.extend(part.published);
    merged.remarks.extend(part.remarks);
}

/// Verdicts of several files, without differences: those are of parts.
fn published_alike(published: &[PublishedComparison]) -> Vec<PublishedComparison> {
    let verdicts: BTreeSet<&String> = published.iter().filter_map(|one| one.verdict.as_ref()).collect();
    let joined = verdicts.iter().map(|verdict| verdict.as_str()).collect::<Vec<_>>().join("; ");
    let first = published.first().cloned().unwrap_or_default();
    vec![PublishedComparison {
        delta: None,
        verdict: Some(joined).filter(|joined| !joined.is_empty()),
        ..first
    }]
}

/// Leaves out of the names of arms what all of them have in common.
fn shorten_arm_names(merged: &mut ToolResults) {
    let parts: Vec<BTreeSet<String>> =
        merged.arms.iter().map(|arm| arm.name.split(", ").map(str::to_owned).collect()).collect();
    let Some(first) = parts.first() else { return };
    let common: BTreeSet<String> =
        first.iter().filter(|part| parts.iter().all(|other| other.contains(*part))).cloned().collect();
    for arm in &mut merged.arms {
        let own: Vec<&str> = arm.name.split(", ").filter(|part| !common.contains(*part)).collect();
        if !own.is_empty() && own.len() < arm.name.split(", ").count() {
            arm.name = own.join(", ");
            arm.role = role_of(&arm.name);
        }
    }
}
