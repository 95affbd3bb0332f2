//! Rubrics in folders, and what is found in them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use assay_diagnostic::{clean_start, counted};
use assay_skill::{DOCUMENT_CAP, Package};
use serde::Serialize;
use serde_json::{Value, json};

use crate::check::{Context, Defect, Finding, check};
use crate::scenario::{Refused, Scenario, find};

/// Most characters of a finding's evidence in text.
const EVIDENCE_CHARS: usize = 100;

/// A rubric that was checked.
#[derive(Debug, Serialize)]
struct CheckedRubric {
    path: String,
    items: usize,
    findings: Vec<Finding>,
}

/// The rubrics of folders, with what was found in them.
#[derive(Debug)]
pub struct CheckedRubrics {
    rubrics: Vec<CheckedRubric>,
    unreadable: Vec<Refused>,
    /// Findings by defect.
    counts: BTreeMap<Defect, usize>,
}

/// Why rubrics are not checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RubricCheckError {
    /// A folder that is not a skill.
    #[error("{} is not a skill", path.display())]
    NotASkill {
        /// The folder.
        path: PathBuf,
    },
    /// A folder cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// There is no rubric.
    #[error("no rubric found")]
    Nothing,
}

/// Checks the rubrics of folders. `skills` are the folders of those that they are about: by default those beside a rubric.
///
/// # Errors
/// A folder cannot be read, or there is no rubric.
pub fn check_folders(paths: &[PathBuf], skills: &[PathBuf]) -> Result<CheckedRubrics, RubricCheckError> {
    let mut given = Vec::new();
    for folder in skills {
        let Some(package) = Package::load(folder).package else {
            return Err(RubricCheckError::NotASkill { path: folder.clone() });
        };
        given.push((package.name.clone(), package.body.clone()));
    }
    let mut rubrics = Vec::new();
    let mut unreadable: Vec<Refused> = Vec::new();
    for path in paths {
        let found = find(path).map_err(|error| RubricCheckError::Read { path: path.clone(), error })?;
        rubrics.extend(found.scenarios.iter().map(|scenario| findings(path, scenario, &given)));
        unreadable.extend(
            found
                .refused
                .into_iter()
                .map(|one| Refused { path: path.join(&one.path).display().to_string(), reason: one.reason }),
        );
    }
    if rubrics.is_empty() && unreadable.is_empty() {
        return Err(RubricCheckError::Nothing);
    }
    let mut counts: BTreeMap<Defect, usize> = BTreeMap::new();
    for finding in rubrics.iter().flat_map(|one| &one.findings) {
        *counts.entry(finding.defect).or_default() += 1;
    }
    Ok(CheckedRubrics { rubrics, unreadable, counts })
}

impl CheckedRubrics {
    /// Whether every rubric can be read and has no defect.
    pub fn is_sound(&self) -> bool {
        self.counts.is_empty() && self.unreadable.is_empty()
    }

    /// As `assay.judge-check/1`.
    pub fn to_json(&self) -> Value {
        let unreadable: Vec<_> =
            self.unreadable.iter().map(|one| json!({"path": one.path, "reason": one.reason})).collect();
        let counts: BTreeMap<&str, usize> =
            self.counts.iter().map(|(defect, count)| (defect.name(), *count)).collect();
        json!({
            "schema": "assay.judge-check/1", "rubrics": self.rubrics, "counts": counts, "unreadable": unreadable,
        })
    }

    /// The findings by rubric, and their numbers.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for one in self.rubrics.iter().filter(|one| !one.findings.is_empty()) {
            text.push_str(&format!("{}\n", one.path));
            for finding in &one.findings {
                text.push_str(&format!(
                    "  {:19}  {}: {}",
                    finding.defect.name(),
                    finding.item,
                    finding.message
                ));
                match (&finding.evidence, finding.defect) {
                    (Some(evidence), Defect::InTask | Defect::SkillWords) => {
                        text.push_str(&format!(": {:?}\n", clean_start(evidence, EVIDENCE_CHARS)));
                    }
                    _ => text.push('\n'),
                }
            }
        }
        for one in &self.unreadable {
            text.push_str(&format!("cannot be read: {}: {}\n", one.path, one.reason));
        }
        let items: usize = self.rubrics.iter().map(|one| one.items).sum();
        let total: usize = self.counts.values().sum();
        let by: Vec<String> =
            self.counts.iter().map(|(defect, count)| format!("{} {count}", defect.name())).collect();
        let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
        text.push_str(&format!(
            "{}, {}, {}{by}\n",
            counted(self.rubrics.len(), "rubric", "rubrics"),
            counted(items, "item", "items"),
            counted(total, "finding", "findings"),
        ));
        text
    }
}

fn findings(root: &Path, scenario: &Scenario, given: &[(String, String)]) -> CheckedRubric {
    let skills = if given.is_empty() { beside(root, scenario) } else { given.to_vec() };
    let instruction = scenario.instruction.as_deref().unwrap_or_default();
    CheckedRubric {
        path: root.join(&scenario.path).display().to_string(),
        items: scenario.rubric.leaves().count(),
        findings: check(&scenario.rubric, &Context { instruction, skills: &skills }),
    }
}

/// The skills beside a scenario: names of their folders, and texts.
fn beside(root: &Path, scenario: &Scenario) -> Vec<(String, String)> {
    let read = |file: &PathBuf| {
        let content = assay_fs::read_within(root, file, DOCUMENT_CAP).ok()?;
        let folder = root.join(file).parent()?.file_name()?.to_string_lossy().into_owned();
        Some((folder, assay_skill::decode(&content.bytes).text))
    };
    scenario.skills.iter().filter_map(read).collect()
}
