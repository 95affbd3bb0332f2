//! The health of a library: each skill's document scored by rules, and which of them need a review.
//!
//! A health score is a lint score. It shows that a document has what its profile requires. Whether
//! that correlates with an agent's success is a question for paired runs, and the profile here has
//! not been correlated with them yet.

pub mod context_engineering;
pub mod history;
pub mod links;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

/// The report of a profile on a library.
#[derive(Debug, Clone, Serialize)]
pub struct Health {
    /// The profile's name and revision.
    pub profile: String,
    /// The mean of the skills' scores, in [0, 1], to four decimals; 0 without skills.
    pub corpus_score: f64,
    /// How many skills are flagged.
    pub flagged: usize,
    /// One entry a skill, sorted by folder name.
    pub skills: Vec<SkillHealth>,
}

/// The report of a profile on one skill.
#[derive(Debug, Clone, Serialize)]
pub struct SkillHealth {
    /// The folder's name.
    pub name: String,
    /// The weighted sum of the components, in [0, 1], to four decimals.
    pub score: f64,
    /// Whether the profile's rule requires manual review.
    pub flagged: bool,
    /// Why it is flagged, and its missing parts: a sentence each.
    pub reasons: Vec<String>,
    /// Each component in [0, 1], unless its profile says otherwise.
    pub components: BTreeMap<&'static str, f64>,
    /// The counts behind the components.
    pub counts: BTreeMap<&'static str, usize>,
    /// The package's canonical digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Health {
    /// Sums up: the mean of the scores is rounded as the scores are.
    fn of(profile: String, skills: Vec<SkillHealth>) -> Self {
        let sum: f64 = skills.iter().map(|skill| skill.score).sum();
        let corpus_score = if skills.is_empty() { 0.0 } else { rounded(sum / skills.len() as f64) };
        let flagged = skills.iter().filter(|skill| skill.flagged).count();
        Self { profile, corpus_score, flagged, skills }
    }
}

/// Four decimals, from the exact value and to the even neighbour of a tie, as Python's `round(x,
/// 4)` has it.
fn rounded(value: f64) -> f64 {
    // A formatted number can be parsed.
    format!("{value:.4}").parse().unwrap_or(value)
}

/// The objects of a JSON Lines file, and the numbers of invalid lines; empty if the file is
/// missing.
fn json_lines(path: &Path, cap: u64) -> std::io::Result<(Vec<Value>, Vec<usize>)> {
    use std::io::Read;
    let mut bytes = Vec::new();
    match std::fs::File::open(path) {
        Ok(file) => file.take(cap).read_to_end(&mut bytes)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
        Err(error) => return Err(error),
    };
    let text = String::from_utf8_lossy(&bytes);
    let (mut objects, mut bad) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(value) if value.is_object() => objects.push(value),
            _ => bad.push(number + 1),
        }
    }
    Ok((objects, bad))
}
