//! Tags of skills on three axes.

use std::collections::{BTreeMap, BTreeSet};

use assay_syntax::reply::read_document;
use serde::{Deserialize, Serialize};

use super::{SkillSummary, numbered};

/// The axes: the field of the work, what is done, and what it is on or results in.
pub const AXES: [&str; 3] = ["domain", "activity", "artifact"];

/// Most tags of a skill on an axis.
const TAGS: usize = 3;

/// Most characters of a tag.
const TAG_CHARS: usize = 40;

/// The prompt of [`tag_request`].
pub const TAG_PROMPT: &str = include_str!("../../prompts/taxonomy-tags.md");

/// The tags of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillTags {
    /// The skill's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Tags by axis.
    pub tags: BTreeMap<String, Vec<String>>,
}

/// Asks for the tags of skills.
pub fn tag_request(skills: &[SkillSummary]) -> String {
    fill(TAG_PROMPT, &[("skills", &numbered(skills))])
}

/// A text with values filled in; values are not searched for places.
pub(super) fn fill(prompt: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = prompt;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        filled.push_str(values.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[derive(Deserialize)]
struct Reply {
    skills: Vec<ReplySkill>,
}

#[derive(Deserialize)]
struct ReplySkill {
    number: usize,
    #[serde(flatten)]
    axes: BTreeMap<String, serde_json::Value>,
}

/// Reads the tags of each skill of a request, in its order.
///
/// # Errors
/// The reply contains no JSON of the form, or a skill has no tag on an axis. The message is a complaint to the model.
pub fn read_tags(reply: &str, skills: &[SkillSummary]) -> Result<Vec<SkillTags>, String> {
    let reply: Reply = read_document(reply).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    for (at, skill) in skills.iter().enumerate() {
        let number = at + 1;
        let own = reply.skills.iter().find(|own| own.number == number);
        let own = own.ok_or_else(|| format!("the skill {number} is missing"))?;
        let mut tags = BTreeMap::new();
        for axis in AXES {
            let given = own.axes.get(axis).and_then(serde_json::Value::as_array).into_iter().flatten();
            let mut seen = BTreeSet::new();
            let mut of_axis: Vec<String> = given
                .filter_map(serde_json::Value::as_str)
                .filter_map(normalize_tag)
                .filter(|tag| seen.insert(tag.clone()))
                .collect();
            of_axis.truncate(TAGS);
            if of_axis.is_empty() {
                return Err(format!("the skill {number} has no tag on the axis {axis}"));
            }
            tags.insert(axis.to_owned(), of_axis);
        }
        found.push(SkillTags { id: skill.id.clone(), name: skill.name.clone(), tags });
    }
    Ok(found)
}

/// A tag in lower case with hyphens; `None` if nothing is left.
fn normalize_tag(tag: &str) -> Option<String> {
    let words: Vec<String> = tag
        .to_lowercase()
        .split(|sign: char| !sign.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let tag: String = words.join("-").chars().take(TAG_CHARS).collect();
    (!tag.is_empty()).then(|| tag.trim_end_matches('-').to_owned())
}
