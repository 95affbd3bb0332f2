//! The history of a library's health: a line for each run, with the origin of the scores, so that a
//! change can be attributed.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Health;

/// The schema of a line.
pub const SCHEMA: &str = "assay.health-history/1";
/// The longest history that is read, in bytes.
const CAP: u64 = 256 << 20;

/// A line of the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// [`SCHEMA`].
    pub schema: String,
    /// When, in UTC, as RFC 3339 has it.
    pub at: String,
    /// The revision of the library's checkout, if it has one.
    pub revision: Option<String>,
    /// The profile and its revision.
    pub profile: String,
    /// The mean of the scores.
    pub corpus_score: f64,
    /// Skills flagged.
    pub flagged: usize,
    /// Each skill's score and the digest of its content.
    pub skills: BTreeMap<String, Scored>,
}

/// A skill in a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// In [0, 1].
    pub score: f64,
    /// The package's digest.
    pub digest: Option<String>,
}

/// The changes since a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trend {
    /// When that line was written.
    pub since: String,
    /// The revision it belongs to.
    pub revision: Option<String>,
    /// The corpus score's change.
    pub corpus_score: f64,
    /// Skills whose score changed, and by how much.
    pub changed: BTreeMap<String, f64>,
    /// Skills whose content changed and whose score did not.
    pub edited: Vec<String>,
    /// Skills that are new.
    pub added: Vec<String>,
    /// Skills that are gone.
    pub removed: Vec<String>,
}

impl Line {
    /// The line for a result.
    pub fn of(health: &Health, at: String, revision: Option<String>) -> Self {
        let scored = |skill: &super::SkillHealth| {
            (skill.name.clone(), Scored { score: skill.score, digest: skill.digest.clone() })
        };
        Self {
            schema: SCHEMA.to_owned(),
            at,
            revision,
            profile: health.profile.clone(),
            corpus_score: health.corpus_score,
            flagged: health.flagged,
            skills: health.skills.iter().map(scored).collect(),
        }
    }

    /// What changed from an earlier line to this one.
    pub fn since(&self, earlier: &Self) -> Trend {
        let mut trend = Trend {
            since: earlier.at.clone(),
            revision: earlier.revision.clone(),
            corpus_score: self.corpus_score - earlier.corpus_score,
            changed: BTreeMap::new(),
            edited: Vec::new(),
            added: self.skills.keys().filter(|name| !earlier.skills.contains_key(*name)).cloned().collect(),
            removed: earlier.skills.keys().filter(|name| !self.skills.contains_key(*name)).cloned().collect(),
        };
        for (name, now) in &self.skills {
            let Some(then) = earlier.skills.get(name) else { continue };
            // Scores have four decimals.
            if (now.score - then.score).abs() > 1e-9 {
                trend.changed.insert(name.clone(), now.score - then.score);
            } else if now.digest != then.digest {
                trend.edited.push(name.clone());
            }
        }
        trend
    }
}

/// The last line of a history by the same profile; `None` if there is none. Other lines are
/// skipped.
pub fn last(path: &Path, profile: &str) -> io::Result<Option<Line>> {
    let (values, _) = super::json_lines(path, CAP)?;
    let lines = values.into_iter().rev().filter_map(|value| serde_json::from_value::<Line>(value).ok());
    Ok(lines.filter(|line| line.schema == SCHEMA).find(|line| line.profile == profile))
}

/// Appends a line, after a line break if the file does not end with one.
pub fn append(path: &Path, line: &Line) -> io::Result<()> {
    let open = std::fs::read(path).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    let text = format!("{}{}\n", if open { "\n" } else { "" }, serde_json::to_string(line)?);
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: &str, skills: &[(&str, f64, &str)]) -> Line {
        let scored = |&(name, score, digest): &(&str, f64, &str)| {
            (name.to_owned(), Scored { score, digest: Some(digest.to_owned()) })
        };
        let sum: f64 = skills.iter().map(|skill| skill.1).sum();
        Line {
            schema: SCHEMA.to_owned(),
            at: at.to_owned(),
            revision: Some(format!("r{at}")),
            profile: "assay".to_owned(),
            corpus_score: sum / skills.len() as f64,
            flagged: 0,
            skills: skills.iter().map(scored).collect(),
        }
    }

    #[test]
    fn trend_uses_the_last_line_of_the_same_profile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        assert_eq!(last(&path, "assay").unwrap(), None);
        let first = line("1", &[("a", 0.5, "x"), ("b", 0.5, "y"), ("c", 0.5, "z")]);
        let second = line("2", &[("a", 0.75, "x2"), ("b", 0.5, "y2"), ("d", 0.25, "w")]);
        append(&path, &first).unwrap();
        append(&path, &Line { profile: "other".to_owned(), ..first.clone() }).unwrap();
        // Somebody's half line must not swallow the next one.
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + "{\"half").unwrap();
        append(&path, &second).unwrap();
        assert_eq!(last(&path, "assay").unwrap(), Some(second.clone()));
        assert_eq!(last(&path, "other").unwrap().map(|line| line.at), Some("1".to_owned()));
        let trend = second.since(&first);
        assert_eq!((trend.since.as_str(), trend.corpus_score), ("1", 0.0));
        assert_eq!(trend.changed, BTreeMap::from([("a".to_owned(), 0.25)]));
        assert_eq!(
            (trend.edited, trend.added, trend.removed),
            (vec!["b".to_owned()], vec!["d".to_owned()], vec!["c".to_owned()])
        );
    }
}
