//! The three reviews of a request, and what they decide.

use assay_syntax::reply::read_document;
use serde::{Deserialize, Serialize};

use super::prompt::{Prompt, PromptFile, cut, delimited};
use super::skills::{Skill, Skills};
use crate::complaint::Complaint;

/// Most characters of the beginning of a skill's text that the review of discriminability gets of each skill.
pub const SUMMARY_CAP: usize = 800;

/// Skills beside those that serve the request among which the review of discriminability chooses.
const OTHERS: usize = 4;

/// A question about a request. Each is a call of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Review {
    /// Whether it is one piece of work that needs each of its skills.
    Coherence,
    /// Whether a person could have sent it.
    Quality,
    /// Whether its skills can be told from their neighbours.
    Discriminability,
}

const COHERENCE: PromptFile =
    PromptFile::new("requests-coherence", 1, include_str!("../../prompts/requests-coherence.md"));
const QUALITY: PromptFile =
    PromptFile::new("requests-quality", 1, include_str!("../../prompts/requests-quality.md"));
const DISCRIMINABILITY: PromptFile = PromptFile::new(
    "requests-discriminability",
    1,
    include_str!("../../prompts/requests-discriminability.md"),
);

impl Review {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::Coherence, Self::Quality, Self::Discriminability];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Coherence => "coherence",
            Self::Quality => "quality",
            Self::Discriminability => "discriminability",
        }
    }

    /// What is true of a request that it approves, for a person who decides instead.
    pub fn criterion(self) -> &'static str {
        match self {
            Self::Coherence => {
                "The request is one coherent piece of work that needs each of the skills that serve it"
            }
            Self::Quality => {
                "A real person could have sent the request, and it is specific enough to begin the work"
            }
            Self::Discriminability => {
                "The skills that serve the request serve it, and the other skills do not serve it as well"
            }
        }
    }

    fn file(self) -> PromptFile {
        match self {
            Self::Coherence => COHERENCE,
            Self::Quality => QUALITY,
            Self::Discriminability => DISCRIMINABILITY,
        }
    }
}

/// What a review said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinion {
    /// Which review.
    pub review: Review,
    /// Whether it approves the request.
    pub approves: bool,
    /// Its reason, in the model's words; for discriminability also which skills it chose.
    pub reason: String,
}

#[derive(Deserialize)]
struct VerdictReply {
    verdict: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct ChoiceReply {
    skills: Vec<String>,
    #[serde(default)]
    reason: String,
}

/// A review of one request.
#[derive(Debug, Clone)]
pub struct ReviewPrompt {
    /// Which review.
    pub review: Review,
    /// The messages.
    pub prompt: Prompt,
    /// Skills among which the review of discriminability chooses, in the order of their letters: the id, and whether it
    /// has to be chosen.
    choices: Vec<(String, bool)>,
}

impl ReviewPrompt {
    /// The review of a request that some skills serve. `forbidden` are skills that are certainly among the choices of
    /// the review of discriminability, and have to be left out.
    pub fn new(review: Review, request: &str, gold: &[usize], forbidden: &[usize], skills: &Skills) -> Self {
        let mut parts = vec![("REQUEST".to_owned(), request.to_owned())];
        let mut choices = Vec::new();
        match review {
            Review::Quality => {}
            Review::Coherence => {
                let texts = gold.iter().enumerate().map(|(at, place)| {
                    let skill = skills.get(*place);
                    (format!("SKILL {}", at + 1), cut(&summary(skill, usize::MAX), super::SKILL_CAP))
                });
                parts.extend(texts);
            }
            Review::Discriminability => {
                for (letter, place) in ('A'..='Z').zip(candidates(request, gold, forbidden, skills)) {
                    let skill = skills.get(place);
                    parts.push((format!("SKILL {letter}"), summary(skill, SUMMARY_CAP)));
                    choices.push((skill.id.clone(), gold.contains(&place)));
                }
            }
        }
        let file = review.file();
        let prompt = Prompt { file, system: file.system(), text: delimited(&parts) };
        Self { review, prompt, choices }
    }

    /// The ids of the skills among which the review of discriminability chooses.
    pub fn choices(&self) -> impl Iterator<Item = &str> {
        self.choices.iter().map(|(id, _)| id.as_str())
    }

    /// Reads a reply.
    ///
    /// # Errors
    /// What is wrong with the reply.
    pub fn read(&self, reply: &str) -> Result<Opinion, Complaint> {
        if self.review != Review::Discriminability {
            let VerdictReply { verdict, reason } = read_document(reply)?;
            let approves = match verdict.as_str() {
                "approve" => true,
                "object" => false,
                _ => return Err(Complaint::new("`verdict` is neither \"approve\" nor \"object\"")),
            };
            return Ok(Opinion { review: self.review, approves, reason: reason.trim().to_owned() });
        }
        let ChoiceReply { skills, reason } = read_document(reply)?;
        let mut is_chosen = vec![false; self.choices.len()];
        for letter in skills {
            let place = self.place(&letter);
            let place =
                place.ok_or_else(|| Complaint::new(format!("{letter:?} is not the letter of a skill")))?;
            is_chosen[place] = true;
        }
        let approves =
            self.choices.iter().zip(&is_chosen).all(|((_, is_gold), is_chosen)| is_gold == is_chosen);
        let ids: Vec<&str> =
            self.choices().zip(&is_chosen).filter(|(_, chosen)| **chosen).map(|(id, _)| id).collect();
        let chose = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
        Ok(Opinion { review: self.review, approves, reason: format!("chose {chose}: {}", reason.trim()) })
    }

    fn place(&self, letter: &str) -> Option<usize> {
        let mut characters = letter.trim().chars();
        let place = characters.next().and_then(|letter| ('A'..='Z').position(|own| own == letter))?;
        (characters.next().is_none() && place < self.choices.len()).then_some(place)
    }

    /// A review whose replies cannot be read. It counts as an objection, so that nothing is accepted without a review.
    pub fn unreadable(&self, fault: &str) -> Opinion {
        Opinion { review: self.review, approves: false, reason: format!("no readable reply: {fault}") }
    }
}

/// Name, description and the beginning of the text of a skill.
fn summary(skill: &Skill, characters: usize) -> String {
    format!("{}\n{}\n\n{}", skill.name, cut(&skill.description, 1_024), cut(&skill.text, characters))
}

/// The skills that serve a request, those that must not be chosen, and the nearest others by BM25 that are not copies
/// of the former, in an order that does not depend on their roles.
fn candidates(request: &str, gold: &[usize], forbidden: &[usize], skills: &Skills) -> Vec<usize> {
    let mut all: Vec<usize> = gold.iter().chain(forbidden).copied().collect();
    let copies: Vec<usize> = gold.iter().flat_map(|place| skills.copies(*place)).collect();
    let is_other = |place: &usize| !all.contains(place) && !copies.contains(place);
    let missing = OTHERS.saturating_sub(forbidden.len());
    let others: Vec<usize> = skills.nearest(request).filter(is_other).take(missing).collect();
    all.extend(others);
    all.sort_by_cached_key(|place| {
        let key = format!("{}\0{request}", skills.get(*place).id);
        *assay_fs::Digest::of(key.as_bytes()).as_bytes()
    });
    all
}

/// The result of the reviews of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// All reviews approve.
    Accepted,
    /// One review objects: a person decides.
    Person(Review),
    /// Several reviews object.
    Dropped,
}

/// Decides by the 2-of-3 rule: a request needs three approvals, or two and a person's.
pub fn decide(opinions: &[Opinion]) -> Decision {
    let mut objections = opinions.iter().filter(|opinion| !opinion.approves);
    match (objections.next(), objections.next()) {
        (None, _) if opinions.len() == Review::ALL.len() => Decision::Accepted,
        (Some(objection), None) if opinions.len() == Review::ALL.len() => Decision::Person(objection.review),
        _ => Decision::Dropped,
    }
}
