//! The result of a run of the linter.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_skill::Digest;
use serde::{Serialize, Serializer};

use crate::client::{Client, LoadResult};
use crate::diagnostic::Diagnostic;

/// One package and its findings.
#[derive(Debug, Serialize)]
pub struct LintedSkill {
    /// Its folder.
    pub path: PathBuf,
    /// Its name: from the front matter, else the folder's.
    pub name: String,
    /// The digest of the folder; `None` when there is no package.
    pub digest: Option<Digest>,
    /// The findings, sorted by file and position.
    pub diagnostics: Vec<Diagnostic>,
    /// How each client loads it.
    #[serde(serialize_with = "by_name")]
    pub clients: Vec<(Client, LoadResult)>,
    /// The document's text, for excerpts.
    #[serde(skip)]
    pub document: Option<(PathBuf, String)>,
}

fn by_name<S: Serializer>(load_results: &[(Client, LoadResult)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(load_results.iter().map(|(client, load_result)| (client.name(), load_result)))
}

impl LintedSkill {
    /// How one client loads it.
    pub fn load_result(&self, client: Client) -> Option<&LoadResult> {
        self.clients.iter().find(|(own, _)| *own == client).map(|(_, load_result)| load_result)
    }
}

/// Counts over all packages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Packages checked.
    pub skills: usize,
    /// Packages with at least one error.
    pub with_errors: usize,
    /// Errors, for the selected clients.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Advice.
    pub infos: usize,
    /// Suppressed findings.
    pub suppressed: usize,
    /// Of these, findings of safety rules.
    pub suppressed_safety: usize,
    /// Findings of rules that are off or not selected by a configuration, or in excluded files.
    pub ignored: usize,
    /// Of these, findings of safety rules.
    pub ignored_safety: usize,
    /// Findings whose severity a configuration lowers.
    pub lowered: usize,
    /// Of these, findings of safety rules.
    pub lowered_safety: usize,
    /// Packages that were not checked because they are excluded.
    pub excluded: usize,
    /// Findings in the baseline.
    pub baselined: usize,
    /// Findings of safety rules that the baseline lists. They are reported all the same.
    pub baselined_safety: usize,
    /// For each client: packages that are valid, loaded, listed and truncated.
    pub clients: BTreeMap<&'static str, Tally>,
    /// How many packages have each finding.
    pub codes: BTreeMap<&'static str, usize>,
}

/// Packages of one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Without an error.
    pub valid: usize,
    /// Usable at all.
    pub loads: usize,
    /// Listed to the model.
    pub listed: usize,
    /// With a truncated description.
    pub truncated: usize,
}

/// All findings.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The packages, sorted by path.
    pub skills: Vec<LintedSkill>,
    /// Diagnostics of the search, and findings on the library as a whole.
    pub diagnostics: Vec<Diagnostic>,
    /// Counts.
    pub summary: Summary,
}
