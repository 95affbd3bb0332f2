//! What a run of the linter comes to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_skill::Digest;
use serde::{Serialize, Serializer};

use crate::client::{Client, Fate};
use crate::diagnostic::Diagnostic;

/// One package, and what was found.
#[derive(Debug, Serialize)]
pub struct LintedSkill {
    /// Its folder.
    pub path: PathBuf,
    /// Its name: of the front matter, else the folder's.
    pub name: String,
    /// The digest of the folder; `None` when there is no package.
    pub digest: Option<Digest>,
    /// What was found, in the order of files and places.
    pub diagnostics: Vec<Diagnostic>,
    /// What becomes of it in each client.
    #[serde(serialize_with = "by_name")]
    pub clients: Vec<(Client, Fate)>,
    /// The document's text, for excerpts.
    #[serde(skip)]
    pub document: Option<(PathBuf, String)>,
}

fn by_name<S: Serializer>(fates: &[(Client, Fate)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(fates.iter().map(|(client, fate)| (client.name(), fate)))
}

impl LintedSkill {
    /// What becomes of it in one client.
    pub fn fate(&self, client: Client) -> Option<&Fate> {
        self.clients.iter().find(|(own, _)| *own == client).map(|(_, fate)| fate)
    }
}

/// Counts over all packages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Packages looked at.
    pub skills: usize,
    /// Packages with at least one error.
    pub with_errors: usize,
    /// Errors, of the clients asked about.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Advice.
    pub infos: usize,
    /// Findings accepted with a reason.
    pub suppressed: usize,
    /// Those of them that safety rules made.
    pub suppressed_safety: usize,
    /// Findings of rules that are switched off or that a configuration does not select, or in files that are excluded.
    pub ignored: usize,
    /// Those of them that safety rules made.
    pub ignored_safety: usize,
    /// Findings that are reported with a lower severity than their own, because a configuration sets it.
    pub lowered: usize,
    /// Those of them that safety rules made.
    pub lowered_safety: usize,
    /// Packages that were not looked at because they are excluded.
    pub excluded: usize,
    /// Findings known before.
    pub baselined: usize,
    /// Those of them that safety rules made.
    pub baselined_safety: usize,
    /// Packages that each client calls valid, loads, lists and cuts.
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
    /// Told to the model.
    pub listed: usize,
    /// With a description that is cut.
    pub truncated: usize,
}

/// Everything found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The packages, sorted by path.
    pub skills: Vec<LintedSkill>,
    /// What there is to say about the search and the library as a whole.
    pub diagnostics: Vec<Diagnostic>,
    /// Counts.
    pub summary: Summary,
}
