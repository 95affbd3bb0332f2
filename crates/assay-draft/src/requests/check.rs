//! What makes a request useless: it copies or names its skill, repeats another one, or has the wrong length.

use std::fmt;

use assay_retrieval::queries::{Query, annotate};
use assay_retrieval::{Shingles, words};
use serde::Serialize;

use super::skills::Skill;

/// Fewest words of a request.
pub const SHORTEST_WORDS: usize = 4;
/// Most words of a request.
pub const LONGEST_WORDS: usize = 150;
/// Most characters of a request.
pub const LONGEST_CHARACTERS: usize = 1_200;
/// Largest share of a request's word 3-grams that may occur in one of its skills (SkillRet).
pub const MOST_OVERLAP: f64 = 0.1;
/// Similarity of word 3-grams from which two requests are near-duplicates.
pub const NEAR_DUPLICATE: f64 = 0.5;

/// What is known about a request from its text.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Facts {
    /// Its words, separated by white space.
    pub words: usize,
    /// The share of its word 3-grams that occur in name, description or text of a skill; with several skills the
    /// largest share. 0 if it has fewer than three words.
    pub overlap3: f64,
    /// Whether all words of a skill's name occur in a row.
    pub names_skill: bool,
}

/// Why a request is dropped.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// Too few or too many words or characters.
    Length {
        /// Its words.
        words: usize,
        /// Its characters.
        characters: usize,
    },
    /// It names a skill.
    Name {
        /// The skill's name.
        skill: String,
    },
    /// It copies a skill.
    Overlap {
        /// The share of 3-grams.
        share: f64,
    },
    /// It resembles an earlier request.
    NearDuplicate {
        /// The number of the earlier request, from 0, in the order in which they passed.
        of: usize,
        /// The similarity.
        similarity: f64,
    },
}

impl Fault {
    /// Its name in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Length { .. } => "length",
            Self::Name { .. } => "names-skill",
            Self::Overlap { .. } => "overlap",
            Self::NearDuplicate { .. } => "near-duplicate",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { words, characters } => write!(
                f,
                "{words} words and {characters} characters; {SHORTEST_WORDS} to {LONGEST_WORDS} words and at most \
                 {LONGEST_CHARACTERS} characters are allowed"
            ),
            Self::Name { skill } => write!(f, "the name `{skill}` occurs"),
            Self::Overlap { share } => write!(
                f,
                "{:.0}% of its 3-grams occur in a skill; at most {:.0}% are allowed",
                100.0 * share,
                100.0 * MOST_OVERLAP
            ),
            Self::NearDuplicate { of, similarity } => {
                write!(f, "similarity {similarity:.2} to request {}", of + 1)
            }
        }
    }
}

/// The facts of a request that was written for some skills.
pub fn facts<'a>(request: &str, skills: impl IntoIterator<Item = &'a Skill>) -> Facts {
    let documents: Vec<_> = skills.into_iter().map(Skill::document).collect();
    let gold = documents.iter().map(|document| document.id.clone()).collect();
    let mut query = [Query { text: request.to_owned(), gold, ..Query::default() }];
    annotate(&mut query, &documents);
    let [query] = query;
    Facts {
        words: request.split_whitespace().count(),
        overlap3: query.overlap3.unwrap_or_default(),
        names_skill: query.names_skill.unwrap_or_default(),
    }
}

/// The requests that passed so far.
#[derive(Debug, Clone, Default)]
pub struct Checks {
    passed: Vec<Shingles>,
}

impl Checks {
    /// Checks a request against its skills and all earlier requests that passed, and remembers it if it passes.
    ///
    /// # Errors
    /// The first fault, in the order of length, name, overlap, near-duplicate.
    pub fn check(&mut self, request: &str, skills: &[&Skill]) -> Result<Facts, Fault> {
        let found = facts(request, skills.iter().copied());
        let characters = request.chars().count();
        // Words in the sense of the index, too: a text of punctuation has none.
        let least = found.words.min(words(request).len());
        if least < SHORTEST_WORDS || found.words > LONGEST_WORDS || characters > LONGEST_CHARACTERS {
            return Err(Fault::Length { words: found.words, characters });
        }
        if found.names_skill {
            let named = skills.iter().find(|skill| facts(request, [**skill]).names_skill);
            return Err(Fault::Name { skill: named.map(|skill| skill.name.clone()).unwrap_or_default() });
        }
        if found.overlap3 > MOST_OVERLAP {
            return Err(Fault::Overlap { share: found.overlap3 });
        }
        let shingles = Shingles::of(request);
        for (of, earlier) in self.passed.iter().enumerate() {
            let similarity = shingles.similarity(earlier);
            if similarity >= NEAR_DUPLICATE {
                return Err(Fault::NearDuplicate { of, similarity });
            }
        }
        self.passed.push(shingles);
        Ok(found)
    }
}
