//! Routers that count words and call no model: the baseline for models.

use std::collections::BTreeSet;

use assay_retrieval::{Bm25, Parameters};

use crate::Candidate;

/// A router without a model, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lexical {
    /// Share of the request's words that occur in the description.
    OverlapDescription,
    /// The same over the description and the section "When to Activate" (the routing check of
    /// Agent-Skills-for-Context-Engineering).
    OverlapActivation,
    /// BM25 over the description.
    Bm25Description,
    /// BM25 over the description and the section "When to Activate".
    Bm25Activation,
    /// BM25 over the complete SKILL.md.
    Bm25Document,
}

impl Lexical {
    /// Every one.
    pub const ALL: [Self; 5] = [
        Self::OverlapDescription,
        Self::OverlapActivation,
        Self::Bm25Description,
        Self::Bm25Activation,
        Self::Bm25Document,
    ];

    /// The name it has on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::OverlapDescription => "overlap-description",
            Self::OverlapActivation => "overlap-activation",
            Self::Bm25Description => "bm25-description",
            Self::Bm25Activation => "bm25-activation",
            Self::Bm25Document => "bm25-document",
        }
    }

    /// Ranks the skills for each request, best first. A skill that shares no word with a request is
    /// not in its ranking.
    pub fn rank(self, requests: &[&str], skills: &[Candidate]) -> Vec<Vec<String>> {
        let texts: Vec<String> = skills.iter().map(|skill| self.text(skill)).collect();
        match self {
            Self::OverlapDescription | Self::OverlapActivation => overlap(requests, skills, &texts),
            _ => {
                let texts: Vec<String> = texts.iter().map(|text| words(text).join(" ")).collect();
                let index = Bm25::new(texts.iter().map(String::as_str), Parameters::default());
                let ranked = |request: &&str| {
                    let places = index.rank(&words(request).join(" "));
                    places.into_iter().map(|(place, _)| skills[place].name.clone()).collect()
                };
                requests.iter().map(ranked).collect()
            }
        }
    }

    fn text(self, skill: &Candidate) -> String {
        match self {
            Self::OverlapDescription | Self::Bm25Description => skill.description.clone(),
            Self::OverlapActivation | Self::Bm25Activation => {
                format!("{}\n{}", skill.description, activation(&skill.document))
            }
            Self::Bm25Document => skill.document.clone(),
        }
    }
}

/// The text below the first heading "When to Activate", up to the next heading of its level.
fn activation(document: &str) -> String {
    let lines = document.lines().skip_while(|line| line.trim_end() != "## When to Activate").skip(1);
    lines.take_while(|line| !line.starts_with("## ")).collect::<Vec<_>>().join("\n")
}

/// Words of three or more characters that begin with a letter, in lower case; `_` counts as `-`.
/// BM25 splits them no further.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut words = Vec::new();
    let mut word = String::new();
    for c in lower.chars().chain([' ']) {
        if c.is_ascii_lowercase() || (!word.is_empty() && (c.is_ascii_digit() || c == '_' || c == '-')) {
            // Makes it one word for tokenizers that split at `-`.
            word.push(if c == '-' { '_' } else { c });
        } else {
            if word.len() >= 3 {
                words.push(std::mem::take(&mut word));
            }
            word.clear();
        }
    }
    words
}

/// Words without a subject; the published check has its own list, which is not available.
const STOP: [&str; 22] = [
    "about", "and", "any", "are", "but", "can", "for", "from", "has", "have", "how", "into", "not", "our",
    "that", "the", "this", "was", "what", "when", "with", "you",
];

/// The share of a query's words as Agent-Skills-for-Context-Engineering's routing check computes
/// it. Of skills with equal shares the one with the later name comes first.
fn overlap(requests: &[&str], skills: &[Candidate], texts: &[String]) -> Vec<Vec<String>> {
    let bag = |text: &str| -> BTreeSet<String> {
        words(text).into_iter().filter(|word| !STOP.contains(&word.as_str())).collect()
    };
    let bags: Vec<BTreeSet<String>> = texts.iter().map(|text| bag(text)).collect();
    let ranked = |request: &&str| {
        let asked = bag(request);
        let shared = |place: usize| asked.intersection(&bags[place]).count();
        let mut places: Vec<usize> = (0..skills.len()).filter(|place| shared(*place) > 0).collect();
        places.sort_by(|one, other| {
            (shared(*other), &skills[*other].name).cmp(&(shared(*one), &skills[*one].name))
        });
        places.into_iter().map(|place| skills[place].name.clone()).collect()
    };
    requests.iter().map(ranked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str, description: &str, document: &str) -> Candidate {
        Candidate { name: name.into(), description: description.into(), document: document.into() }
    }

    #[test]
    fn overlap_counts_the_requests_words() {
        let skills = [
            skill("a", "compress long histories", ""),
            skill("b", "diagnose context loss", "## When to Activate\n- long histories\n## Other\ncompress"),
            skill("c", "diagnose context loss", ""),
        ];
        let check = |router: Lexical, request: &str, expected: &[&str]| {
            assert_eq!(router.rank(&[request], &skills), [expected], "{} {request}", router.name());
        };
        check(Lexical::OverlapDescription, "Compress the LONG text", &["a"]);
        // Equal shares: the later name first.
        check(Lexical::OverlapDescription, "diagnose it", &["c", "b"]);
        check(Lexical::OverlapActivation, "long and compress", &["a", "b"]);
        check(Lexical::OverlapDescription, "the and for", &[]);
        check(Lexical::Bm25Document, "compress", &["b"]);
    }

    #[test]
    fn words_match_the_plan() {
        let check = |text: &str, expected: &[&str]| assert_eq!(words(text), expected, "{text}");
        check("An LLM-as-judge, 3x v2 snake_case ab a1b", &["llm_as_judge", "snake_case", "a1b"]);
        check("", &[]);
    }
}
