//! Results of other tools, each in its own format, as [`ToolResults`].
//!
//! A format is one file that implements [`ResultFormat`] and one line in [`RESULT_FORMATS`]. Formats are recognized by
//! content and never by a name; a file that two formats claim is an error. Readers judge nothing: errored, skipped and
//! missing attempts are kept as such.

mod driftproof;
mod error;
mod format;
mod harbor;
mod input;
mod inspect;
mod json;
mod merge;
mod nvidia;
mod plugin_eval;
mod promptfoo;
mod rows;
mod skill_creator;
mod table;
#[cfg(test)]
mod tests;
mod waza;

use std::path::{Path, PathBuf};

use assay_store::ToolResults;

pub use error::ResultError;
pub use format::ResultFormat;
pub use input::{ResultContent, ResultInput};
pub use rows::import_results;
pub use table::ResultColumns;

/// All formats but tables, which have no content of their own to be recognized by.
pub const RESULT_FORMATS: [&dyn ResultFormat; 8] = [
    &plugin_eval::PluginEval,
    &nvidia::NvidiaBenchmark,
    &inspect::InspectLog,
    &promptfoo::PromptfooResults,
    &waza::WazaResults,
    &driftproof::DriftproofReceipt,
    &skill_creator::SkillCreatorWorkspace,
    &harbor::HarborJobs,
];

/// Most files below a folder that are looked at.
const FILES: usize = 10_000;

/// Deepest folder that is looked into.
const DEPTH: usize = 6;

/// Reads the results in a file, or in the files below a folder.
///
/// `columns` names the columns of a table; a table is what has the extension of one and no other format.
///
/// # Errors
/// A file of no known format, one that two formats claim, and what each reader refuses.
pub fn read_results(path: &Path, columns: &ResultColumns) -> Result<ToolResults, ResultError> {
    let metadata =
        std::fs::metadata(path).map_err(|source| ResultError::Read { path: path.to_owned(), source })?;
    if !metadata.is_dir() {
        return read_file_results(path, columns)?.ok_or_else(|| unknown_format(path));
    }
    let folder = ResultInput::open(path)?;
    if let Some(format) = claimant(&folder)? {
        return checked(format.read(&folder)?);
    }
    let mut files = Vec::new();
    collect_files(path, DEPTH, &mut files)?;
    let (mut parts, mut unknown) = (Vec::new(), 0_usize);
    for file in &files {
        match read_file_results(file, columns)? {
            Some(results) => parts.push(results),
            None => unknown += 1,
        }
    }
    if parts.is_empty() {
        return Err(unknown_format(path));
    }
    let mut merged = merge::merge_results(path, parts)?;
    if unknown > 0 {
        merged.unused.push(format!("{unknown} files of no known format"));
    }
    Ok(merged)
}

fn read_file_results(path: &Path, columns: &ResultColumns) -> Result<Option<ToolResults>, ResultError> {
    if table::is_table(path) {
        return checked(table::read_table(path, columns)?).map(Some);
    }
    let input = ResultInput::open(path)?;
    match claimant(&input)? {
        Some(format) => checked(format.read(&input)?).map(Some),
        None => Ok(None),
    }
}

/// A file of no known format.
fn unknown_format(path: &Path) -> ResultError {
    let formats = RESULT_FORMATS.iter().map(|format| format.name()).collect();
    ResultError::Unknown { path: path.to_owned(), formats }
}

/// The format of an input.
fn claimant(input: &ResultInput) -> Result<Option<&'static dyn ResultFormat>, ResultError> {
    let claiming: Vec<&dyn ResultFormat> =
        RESULT_FORMATS.into_iter().filter(|format| format.recognizes(input)).collect();
    match claiming.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => Err(ResultError::Ambiguous {
            path: input.path.clone(),
            formats: several.iter().map(|format| format.name()).collect(),
        }),
    }
}

/// Results with at least one figure, all of which are numbers.
fn checked(results: ToolResults) -> Result<ToolResults, ResultError> {
    let path = results.source.files.first().cloned().unwrap_or_default();
    for attempt in &results.attempts {
        if attempt.score.is_some_and(|score| !score.is_finite()) {
            return Err(ResultError::invalid(
                &path,
                format!("case {:?} has a score that is not a number", attempt.case),
            ));
        }
    }
    let rated = results.published.iter().any(|published| published.rates.is_some());
    if results.attempts.is_empty() && !rated {
        let why = match results.remarks.first() {
            Some(remark) => format!("it contains no result of a case: {}", remark.text),
            None => "it contains no result of a case".to_owned(),
        };
        return Err(ResultError::invalid(&path, why));
    }
    Ok(results)
}

/// Regular files below a folder in the order of their paths. Hidden folders and links are passed over.
fn collect_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), ResultError> {
    let fail = |source| ResultError::Read { path: folder.to_owned(), source };
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).map_err(fail)?.collect::<Result<_, _>>().map_err(fail)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !hidden && depth > 0 => {
                collect_files(&entry.path(), depth - 1, files)?;
            }
            Ok(kind) if kind.is_file() && !hidden => files.push(entry.path()),
            _ => {}
        }
        if files.len() > FILES {
            return Err(ResultError::invalid(
                folder,
                format!("more than {FILES} files: name the one with the results"),
            ));
        }
    }
    Ok(())
}
