//! A taxonomy of the skills of a corpus: tags on three axes, categories by consensus clustering, and votes on which category a
//! skill belongs to (SkillRet, section 3 and appendix B).
//!
//! Nothing here calls a model.

mod consensus;
mod louvain;
mod similar;
mod tags;
mod vote;

pub use consensus::{ClusterOptions, Clusters, RESOLUTIONS, STARTS, cluster};
pub use louvain::{Graph, communities, modularity};
pub use similar::similarity_graph;
pub use tags::{AXES, SkillTags, TAG_PROMPT, read_tags, tag_request};
pub use vote::{
    Assigned, Category, Taxonomy, VOTE_PROMPT, VOTES, count_votes, name_clusters, read_votes, vote_request,
};

use assay_syntax::parts::delimited;
use serde::{Deserialize, Serialize};

use assay_skill::corpus::Record;

/// Most characters of a skill's text in a request.
const SKILL_CHARS: usize = 1_200;

/// A skill as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillSummary {
    /// Its id in the corpus.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The beginning of its text.
    pub text: String,
}

impl SkillSummary {
    /// Of a record.
    pub fn of(record: &Record) -> Self {
        let (_, body) = assay_skill::corpus::normal::split(&record.skill_md);
        Self {
            id: record.key(),
            name: record.name.clone(),
            description: record.description.clone(),
            text: body.trim().chars().take(SKILL_CHARS).collect(),
        }
    }
}

/// Skills as numbered data, in which no text can begin or end a part.
fn numbered(skills: &[SkillSummary]) -> String {
    let part = |(at, skill): (usize, &SkillSummary)| {
        let text = format!("name: {}\ndescription: {}\n{}", skill.name, skill.description, skill.text);
        ((at + 1).to_string(), text)
    };
    let parts: Vec<_> = skills.iter().enumerate().map(part).collect();
    delimited("SKILLS", &parts, &[])
}
