//! The criteria of each stage of the funnel.

use std::collections::BTreeSet;

use assay_skill::Document;
use serde_json::{Map, Value};

use assay_skill::corpus::{Record, normal};

/// A description of fewer characters is meaningless.
const DESCRIPTION: usize = 10;
/// The longest first paragraph that the public code takes for a description, in bytes.
const PARAGRAPH: usize = 500;
/// Keys of front matter that may contain what `description` should.
const DESCRIPTIVE_KEYS: [&str; 6] =
    ["description", "summary", "short_description", "short-description", "tagline", "purpose"];
/// The share of foreign letters above which a text is not English: 3 in 100.
const FOREIGN: usize = 3;

/// Repositories that collect third-party skills under their own licence. A copy from one of them is
/// the last to survive.
///
/// A record's `via` names the collection that a copy was taken from, but no field marks its
/// repository as a collection. These were found in the corpus this project is tested on.
pub const AGGREGATORS: [&str; 6] = [
    "ComposioHQ/awesome-claude-skills",
    "agentskillexchange/skills",
    "davila7/claude-code-templates",
    "openclaw/skills",
    "oyi77/1ai-skills",
    "sickn33/antigravity-awesome-skills",
];

/// The criteria of the stages.
#[derive(Debug, Clone)]
pub enum Rules {
    /// Those that made this project's corpus. Language: letters above U+024F in the body, as a
    /// share of the body's characters. Licence: as in the record; one is required. Survivor: one
    /// that a query needs, then one taken from its own repository over one by way of a collection
    /// over one of an aggregator, then the shortest path, then the first of the input.
    Corpus {
        /// Records that queries name, which survive their copies.
        gold: BTreeSet<String>,
        /// Repository and name of records that are kept whatever their language.
        foreign_allowed: Vec<(String, String)>,
    },
    /// Those of SkillRet's public code. Language: Chinese, Japanese, Korean, Cyrillic and Arabic
    /// characters in the complete file. Licence: as in the front matter; none is required.
    /// Survivor: most stars, then most installs, then the first of the input.
    SkillRet,
}

impl Default for Rules {
    /// The corpus's rules, with the two skills of SWE-Skills-Bench that its authors kept.
    fn default() -> Self {
        let bench = |name: &str| ("GeniusHTX/SWE-Skills-Bench".to_owned(), name.to_owned());
        Self::Corpus {
            gold: BTreeSet::new(),
            foreign_allowed: vec![bench("security-review"), bench("tdd-workflow")],
        }
    }
}

/// A licence, as the funnel classifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Licence {
    /// MIT or Apache-2.0.
    Accepted,
    /// Another one.
    Other,
    /// Missing, where one is required.
    Undeclared,
    /// None is required.
    NotAsked,
}

/// Everything that is kept of a record.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is the answer to a question of its own")]
pub(super) struct Features {
    /// [`normal::hash`] of the body.
    pub(super) content: [u8; 16],
    /// [`normal::hash_pair`] of name and description.
    pub(super) label: [u8; 16],
    /// Lower survives.
    pub(super) rank: (u64, u64),
    pub(super) licence: Licence,
    /// Whether its own front matter declares a licence.
    pub(super) declares: bool,
    /// Whether a copy under another licence counts against it.
    pub(super) copies_count: bool,
    pub(super) no_description: bool,
    pub(super) foreign: bool,
}

impl Rules {
    /// Checks a record. `recovered` means that a recovered description replaces the missing one
    /// when labels are compared.
    pub(super) fn features(&self, record: &Record, recovered: bool) -> Features {
        let (front, body) = normal::split(&record.skill_md);
        let given = record.description.trim();
        let found = if given.chars().count() >= DESCRIPTION {
            None
        } else {
            recover(&record.skill_md, front, body, matches!(self, Self::SkillRet))
        };
        let description = match &found {
            Some(text) if recovered => text,
            _ => given,
        };
        let declared = front.and_then(|front| {
            let line = front.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.trim_end().eq_ignore_ascii_case("license").then_some(value)
            })?;
            let value = line.trim().trim_matches(['"', '\'']).to_lowercase();
            (!value.is_empty()).then_some(value)
        });
        let (rank, licence, foreign, copies_count) = match self {
            Self::Corpus { gold, foreign_allowed } => {
                let (source, length) = survival(record);
                let from = source + 4 * u64::from(!gold.contains(&record.id));
                let licence = match record.license.as_deref().map(str::trim) {
                    None | Some("") => Licence::Undeclared,
                    Some("MIT" | "Apache-2.0") => Licence::Accepted,
                    Some(_) => Licence::Other,
                };
                let allowed =
                    foreign_allowed.iter().any(|(repo, name)| (repo, name) == (&record.repo, &record.name));
                let foreign = !allowed && foreign_letters(body);
                ((from, length), licence, foreign, true)
            }
            Self::SkillRet => {
                let licence = match &declared {
                    None => Licence::NotAsked,
                    Some(text) if text.contains("mit") || text.contains("apache") => Licence::Accepted,
                    Some(_) => Licence::Other,
                };
                let rank = (u64::MAX - record.stars, u64::MAX - record.installs);
                (rank, licence, foreign_scripts(&record.skill_md), false)
            }
        };
        Features {
            content: normal::hash(body),
            label: normal::hash_pair(&record.name, description),
            rank,
            licence,
            declares: declared.is_some(),
            copies_count,
            no_description: given.chars().count() < DESCRIPTION && found.is_none(),
            foreign,
        }
    }
}

/// The order of survivors by the corpus's rules, without gold, lowest first: the origin of a
/// record, then the length of its path.
pub(crate) fn survival(record: &Record) -> (u64, u64) {
    (source(record), record.path.chars().count() as u64)
}

/// 0 for one from its own repository, 1 for one by way of a collection, 2 for one of an aggregator.
fn source(record: &Record) -> u64 {
    if AGGREGATORS.contains(&record.repo.as_str()) {
        2
    } else {
        u64::from(record.via.as_ref().is_some_and(|via| !via.is_empty()))
    }
}

/// Whether more than 3 % of the body's characters are letters above U+024F: beyond Latin with its
/// extensions A and B.
fn foreign_letters(body: &str) -> bool {
    let (mut letters, mut all) = (0, 0);
    for c in body.chars() {
        all += 1;
        letters += usize::from(c > '\u{24f}' && c.is_alphabetic());
    }
    letters * 100 > all * FOREIGN
}

/// Whether more than 3 % of the file's characters are of the scripts that SkillRet's code counts:
/// its six blocks of Unicode.
fn foreign_scripts(text: &str) -> bool {
    let (mut found, mut all) = (0, 0);
    for c in text.chars() {
        all += 1;
        found += usize::from(
            matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}'
            | '\u{400}'..='\u{4ff}' | '\u{600}'..='\u{6ff}'),
        );
    }
    found * 100 > all * FOREIGN
}

/// A description from elsewhere in the document: a key of closed front matter, else the first
/// paragraph.
fn recover(text: &str, front: Option<&str>, body: &str, skillret: bool) -> Option<String> {
    let long_enough = |text: &str| text.chars().count() >= DESCRIPTION;
    if let Some(front) = front {
        let fields = fields(front);
        let keys = if skillret { &DESCRIPTIVE_KEYS[..1] } else { &DESCRIPTIVE_KEYS[..] };
        let values = keys.iter().filter_map(|key| fields.get(*key)?.as_str());
        if let Some(value) = values.map(str::trim).find(|value| long_enough(value)) {
            return Some(value.to_owned());
        }
    }
    // What opens like front matter and never closes is neither front matter nor a body.
    let body = if front.is_none() && text.starts_with("---") { "" } else { body };
    let body = body.replace("\r\n", "\n");
    let mut paragraphs = body.trim().split("\n\n").map(str::trim);
    let found = if skillret {
        let first = paragraphs.next().unwrap_or_default();
        let hashes = first.trim_start_matches('#');
        let plain =
            if hashes.len() < first.len() && hashes.starts_with(' ') { hashes.trim_start() } else { first };
        if plain.len() > PARAGRAPH {
            return None;
        }
        plain.to_owned()
    } else {
        let plain =
            paragraphs.find(|text| !text.is_empty() && !text.starts_with(['#', '<', '|', '`', '-']))?;
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    long_enough(&found).then_some(found)
}

fn fields(front: &str) -> Map<String, Value> {
    let text = format!("---\n{front}\n---\n");
    Document::parse(text.as_bytes(), std::path::Path::new("SKILL.md")).0.front_matter
}
