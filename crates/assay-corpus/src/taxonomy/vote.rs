//! Categories, and votes on which of them a skill belongs to.

use std::collections::BTreeMap;

use assay_syntax::reply::read_document;
use serde::{Deserialize, Serialize};

use super::consensus::Clusters;
use super::tags::{SkillTags, fill};
use super::{SkillSummary, numbered};

/// Votes on each skill. A category needs more than half of them.
pub const VOTES: usize = 5;

/// Tags in the name of a category, and those that describe it.
const NAME_TAGS: usize = 2;
const SHOWN_TAGS: usize = 8;

/// Skills that are named as examples of a category.
const EXAMPLES: usize = 5;

/// The prompt of [`vote_request`].
pub const VOTE_PROMPT: &str = include_str!("../../prompts/taxonomy-vote.md");

/// Categories of skills.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Taxonomy {
    /// `assay.taxonomy/1`.
    pub schema: String,
    /// Skills that were clustered.
    pub skills: usize,
    /// Of these, skills in no category.
    pub unclustered: usize,
    /// Rounds until the partitions agreed; `null` if they never did.
    pub rounds: Option<usize>,
    /// The categories, the largest first.
    pub categories: Vec<Category>,
}

/// A category.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Category {
    /// Its name, unique. It may be edited.
    pub name: String,
    /// Its most distinctive tags.
    pub tags: Vec<String>,
    /// Skills in its cluster.
    pub skills: usize,
    /// The mean share of partitions that put two of its skills together.
    pub stability: f64,
    /// Names of some of its skills.
    pub examples: Vec<String>,
}

/// Names clusters by the tags that are most frequent in them and rare elsewhere: the share of the cluster's skills that have the tag,
/// times ln(N / df).
pub fn name_clusters(skills: &[SkillTags], clusters: &Clusters) -> Taxonomy {
    let mut df: BTreeMap<&str, usize> = BTreeMap::new();
    for tag in skills.iter().flat_map(tags_of) {
        *df.entry(tag).or_default() += 1;
    }
    let total = skills.len() as f64;
    let mut categories: Vec<Category> = Vec::new();
    for number in 0..clusters.count {
        let members: Vec<&SkillTags> = skills
            .iter()
            .zip(&clusters.of)
            .filter(|(_, of)| **of == Some(number))
            .map(|(skill, _)| skill)
            .collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for tag in members.iter().flat_map(|skill| tags_of(skill)) {
            *counts.entry(tag).or_default() += 1;
        }
        let mut scored: Vec<(&str, f64)> = counts
            .iter()
            .map(|(tag, count)| {
                let share = *count as f64 / members.len() as f64;
                (*tag, share * (total / df[tag] as f64).ln().max(0.0))
            })
            .collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        let tags: Vec<String> = scored.iter().take(SHOWN_TAGS).map(|(tag, _)| (*tag).to_owned()).collect();
        let base = tags.iter().take(NAME_TAGS).map(String::as_str).collect::<Vec<_>>().join(" / ");
        let names = (1..).map(|at| if at == 1 { base.clone() } else { format!("{base} {at}") });
        let is_free = |name: &String| !categories.iter().any(|known| &known.name == name);
        categories.push(Category {
            name: names.into_iter().find(is_free).unwrap_or_default(),
            tags,
            skills: members.len(),
            stability: clusters.stability[number],
            examples: members.iter().take(EXAMPLES).map(|skill| skill.name.clone()).collect(),
        });
    }
    Taxonomy {
        schema: "assay.taxonomy/1".to_owned(),
        skills: skills.len(),
        unclustered: clusters.of.iter().filter(|of| of.is_none()).count(),
        rounds: clusters.rounds,
        categories,
    }
}

fn tags_of(skill: &SkillTags) -> impl Iterator<Item = &str> {
    skill.tags.values().flatten().map(String::as_str)
}

/// Asks in which category each skill is. `vote` turns the list of categories, so that no category is always first.
pub fn vote_request(taxonomy: &Taxonomy, skills: &[SkillSummary], vote: usize) -> String {
    let count = taxonomy.categories.len();
    let from = if count == 0 { 0 } else { vote * count / VOTES % count };
    let turned = taxonomy.categories[from..].iter().chain(&taxonomy.categories[..from]);
    let lines: String = turned
        .map(|category| {
            format!(
                "- {} (tags: {}; such as {})\n",
                category.name,
                category.tags.join(", "),
                category.examples.join(", ")
            )
        })
        .collect();
    fill(VOTE_PROMPT, &[("categories", lines.trim_end()), ("skills", &numbered(skills))])
}

#[derive(Deserialize)]
struct Reply {
    skills: Vec<ReplySkill>,
}

#[derive(Deserialize)]
struct ReplySkill {
    number: usize,
    category: String,
}

/// Reads a vote on each skill of a request: a category's place, or `None` for no category.
///
/// # Errors
/// The reply contains no JSON of the form, misses a skill, or names an unknown category. The message is a complaint to the model.
pub fn read_votes(reply: &str, taxonomy: &Taxonomy, skills: usize) -> Result<Vec<Option<usize>>, String> {
    let reply: Reply = read_document(reply).map_err(|error| error.to_string())?;
    (1..=skills)
        .map(|number| {
            let own = reply.skills.iter().find(|own| own.number == number);
            let own = own.ok_or_else(|| format!("the skill {number} is missing"))?;
            let name = own.category.trim();
            if name.eq_ignore_ascii_case("none") {
                return Ok(None);
            }
            let place =
                taxonomy.categories.iter().position(|category| category.name.eq_ignore_ascii_case(name));
            place.map(Some).ok_or_else(|| format!("{name:?} is not one of the categories"))
        })
        .collect()
}

/// A skill with its category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assigned {
    /// `assay.skill-category/1`.
    pub schema: String,
    /// The skill's id.
    pub id: String,
    /// The category with more than half of the votes; `null` if none has.
    pub category: Option<String>,
    /// Votes by category; `none` for no category.
    pub votes: BTreeMap<String, usize>,
}

/// Counts the votes on a skill.
pub fn count_votes(id: &str, taxonomy: &Taxonomy, votes: &[Option<usize>]) -> Assigned {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for vote in votes {
        let name =
            vote.and_then(|place| taxonomy.categories.get(place)).map_or("none", |category| &category.name);
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    let most = counts.iter().find(|(_, count)| 2 * **count > votes.len());
    let category = most.map(|(name, _)| name.clone()).filter(|name| name != "none");
    Assigned { schema: "assay.skill-category/1".to_owned(), id: id.to_owned(), category, votes: counts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taxonomy() -> Taxonomy {
        let category = |name: &str| Category {
            name: name.to_owned(),
            tags: vec!["x".to_owned()],
            skills: 1,
            stability: 1.0,
            examples: Vec::new(),
        };
        Taxonomy {
            schema: String::new(),
            skills: 2,
            unclustered: 0,
            rounds: Some(1),
            categories: vec![category("a"), category("b"), category("c")],
        }
    }

    #[test]
    fn a_category_needs_more_than_half_of_the_votes() {
        let check = |votes: &[Option<usize>], expected: Option<&str>| {
            assert_eq!(count_votes("s", &taxonomy(), votes).category.as_deref(), expected, "{votes:?}");
        };
        check(&[Some(0), Some(0), Some(0), Some(1), None], Some("a"));
        check(&[Some(0), Some(0), Some(1), Some(1), None], None);
        check(&[None, None, None, Some(1), Some(1)], None);
        check(&[Some(1), Some(1)], Some("b"));
        check(&[Some(0), Some(1)], None);
        check(&[], None);
    }

    #[test]
    fn votes_are_read_or_complained_about() {
        let check = |reply: &str, expected: Result<&[Option<usize>], &str>| {
            let found = read_votes(reply, &taxonomy(), 2);
            match (&found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{reply}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{reply}: {found}"),
                _ => panic!("{reply}: {found:?}"),
            }
        };
        check(
            r#"{"skills": [{"number": 2, "category": "None"}, {"number": 1, "category": "B"}]}"#,
            Ok(&[Some(1), None]),
        );
        check(r#"{"skills": [{"number": 1, "category": "a"}]}"#, Err("the skill 2 is missing"));
        check(r#"{"skills": [{"number": 1, "category": "x"}]}"#, Err("\"x\" is not one of the categories"));
        check("no", Err("no JSON object"));
    }

    #[test]
    fn each_vote_has_another_category_first() {
        let first = |vote: usize| {
            let text = vote_request(&taxonomy(), &[], vote);
            text.lines().find(|line| line.starts_with("- ")).unwrap().chars().nth(2).unwrap()
        };
        assert_eq!([0, 1, 2, 3, 4].map(first), ['a', 'a', 'b', 'b', 'c']);
    }
}
