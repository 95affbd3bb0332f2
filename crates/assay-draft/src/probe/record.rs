//! `probe.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::request::WORDINGS;
use super::{ProbeVerdict, classify_matches};
use crate::directives::{DirectiveClass, DraftDirective};
use crate::error::DraftError;
use crate::folder::DraftFolder;

/// The file with the replies of the model that is to be measured.
pub const PROBE_FILE: &str = "probe.json";

const SCHEMA: &str = "assay.draft-probe/1";

/// What the model that is to be measured does without the skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeRecord {
    schema: String,
    /// The model that is to be measured, as `provider:model`.
    pub model: String,
    /// The model that compared its replies with the answers.
    pub reader: String,
    /// The ways of asking, in their order. Each is a request of its own, in a conversation of its own: a model that answers one has
    /// not seen another.
    #[serde(default)]
    pub wordings: Vec<String>,
    /// By the id of the directive.
    pub directives: BTreeMap<String, ProbedDirective>,
    /// Why a directive was not asked about, by its id, as a clause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_asked: BTreeMap<String, String>,
}

/// The replies about a directive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbedDirective {
    /// What was asked.
    pub question: String,
    /// What an agent that follows the directive does.
    pub answer: String,
    /// What the model says it would do, one reply for each way of asking; `null` where it gave none.
    pub replies: Vec<Option<String>>,
    /// Whether each reply meets the answer; `null` where that is not known.
    pub matches: Vec<Option<bool>>,
    /// What they come to.
    pub verdict: ProbeVerdict,
}

impl ProbedDirective {
    /// Replies about a directive, with their comparisons.
    pub(crate) fn new(
        question: String,
        answer: String,
        replies: Vec<Option<String>>,
        matches: Vec<Option<bool>>,
    ) -> Self {
        let verdict = classify_matches(&matches);
        Self { question, answer, replies, matches, verdict }
    }

    /// The first reply that meets the answer.
    fn first_match(&self) -> Option<&String> {
        let mut replies = self.replies.iter().zip(&self.matches);
        replies.find_map(|(reply, met)| reply.as_ref().filter(|_| *met == Some(true)))
    }

    /// Of ten agents, how many do what the answer says, by the replies that could be compared.
    fn known(&self) -> Option<u8> {
        let met = self.matches.iter().filter(|one| **one == Some(true)).count();
        let compared = self.matches.iter().flatten().count();
        u8::try_from((met * 10 + compared / 2).checked_div(compared)?).ok()
    }
}

impl ProbeRecord {
    /// A probe without replies, of each way of asking.
    pub(crate) fn new(model: &str, reader: &str) -> Self {
        let (model, reader) = (model.to_owned(), reader.to_owned());
        Self {
            schema: SCHEMA.to_owned(),
            model,
            reader,
            wordings: WORDINGS.map(str::to_owned).to_vec(),
            directives: BTreeMap::new(),
            not_asked: BTreeMap::new(),
        }
    }

    /// Reads the probe of a draft; `None` if its folder has none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_from(folder: &DraftFolder) -> Result<Option<Self>, DraftError> {
        folder.read_json(PROBE_FILE)
    }

    pub(crate) fn write_to(&self, folder: &DraftFolder) -> Result<(), DraftError> {
        folder.write_json(PROBE_FILE, self)
    }

    /// The replies about a directive as it is now: one that was edited since has none.
    pub fn find_replies(&self, directive: &DraftDirective) -> Option<&ProbedDirective> {
        let probed = self.directives.get(&directive.id)?;
        let is_same = directive.question.as_ref() == Some(&probed.question)
            && directive.answer.as_ref() == Some(&probed.answer);
        is_same.then_some(probed)
    }

    /// How many of the directives have a verdict.
    pub fn count_verdicts(&self, directives: &[DraftDirective], verdict: ProbeVerdict) -> usize {
        let probed = directives.iter().filter_map(|directive| self.find_replies(directive));
        probed.filter(|probed| probed.verdict == verdict).count()
    }
}

/// The directives as the probe shows them: what the model does anyway is a reminder, whose default is what the model says it
/// would do, and `known` is what was counted in place of what the author expected.
pub fn apply_probe(directives: &[DraftDirective], probe: &ProbeRecord) -> Vec<DraftDirective> {
    let apply = |directive: &DraftDirective| {
        let mut directive = directive.clone();
        let Some(probed) = probe.find_replies(&directive) else { return directive };
        let shows = matches!(directive.class, Some(DirectiveClass::Knowledge | DirectiveClass::Convention));
        match probed.verdict {
            ProbeVerdict::Known if shows => {
                directive.class = Some(DirectiveClass::Reminder);
                directive.default = probed.first_match().cloned().or(directive.default);
            }
            ProbeVerdict::Unclear => return directive,
            ProbeVerdict::Known | ProbeVerdict::Unknown => {}
        }
        directive.known = probed.known();
        directive
    };
    directives.iter().map(apply).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directives::{DirectiveEvidence, DirectiveLines, MeasurableDirectives};

    fn directive(id: &str, known: u8) -> DraftDirective {
        let lines = DirectiveLines::single(3);
        DraftDirective {
            id: id.to_owned(),
            question: Some("Which cone?".to_owned()),
            answer: Some("cone 6".to_owned()),
            class: Some(DirectiveClass::Knowledge),
            known: Some(known),
            seen_in: Some(DirectiveEvidence::Result),
            ..DraftDirective::of_words("kiln", "SKILL.md", lines, "q".to_owned(), "t".to_owned())
        }
    }

    fn probe(matches: &[(&str, [Option<bool>; 3])]) -> ProbeRecord {
        let mut probe = ProbeRecord::new("openai:small", "openai:author");
        for (id, matches) in matches {
            let replies = vec![Some("cone 4".to_owned()); 3];
            let probed = ProbedDirective::new(
                "Which cone?".to_owned(),
                "cone 6".to_owned(),
                replies,
                matches.to_vec(),
            );
            probe.directives.insert((*id).to_owned(), probed);
        }
        probe
    }

    #[test]
    fn what_the_model_does_anyway_is_a_control() {
        let check = |known: u8, matches: [Option<bool>; 3], expected: (bool, bool, Option<u8>)| {
            let applied = apply_probe(&[directive("d01", known)], &probe(&[("d01", matches)]));
            let found = (applied[0].is_measurable(), applied[0].is_control(), applied[0].known);
            assert_eq!(found, expected, "{known} {matches:?}");
        };
        let (met, missed) = (Some(true), Some(false));
        check(0, [met, met, met], (false, true, Some(10)));
        check(0, [met, met, missed], (false, true, Some(7)));
        check(9, [missed, missed, missed], (true, false, Some(0)));
        check(9, [missed, missed, met], (true, false, Some(3)));
        check(1, [missed, met, None], (true, false, Some(1)));
        check(5, [None, None, None], (false, false, Some(5)));
    }

    #[test]
    fn a_control_has_the_reply_of_the_model_as_its_default() {
        let mut probe = probe(&[("d01", [Some(false), Some(true), Some(true)])]);
        let probed = probe.directives.get_mut("d01").unwrap();
        probed.replies =
            ["cone 4", "cone 6, as usual", "cone 6"].map(|reply| Some(reply.to_owned())).to_vec();
        let before = DraftDirective { default: Some("cone 4".to_owned()), ..directive("d01", 0) };
        let check = |probe: &ProbeRecord, expected: &str| {
            let applied = apply_probe(std::slice::from_ref(&before), probe);
            assert_eq!(applied[0].default.as_deref(), Some(expected));
        };
        check(&probe, "cone 6, as usual");
        // What the model does not do keeps the expectation of the author.
        probe.directives.get_mut("d01").unwrap().verdict = ProbeVerdict::Unknown;
        check(&probe, "cone 4");
    }

    #[test]
    fn a_directive_that_was_edited_has_no_replies() {
        let probe = probe(&[("d01", [Some(true); 3])]);
        let mut edited = directive("d01", 1);
        assert_eq!(probe.count_verdicts(&[edited.clone()], ProbeVerdict::Known), 1);
        edited.answer = Some("cone 7".to_owned());
        assert_eq!(probe.count_verdicts(&[edited.clone()], ProbeVerdict::Known), 0);
        assert!(apply_probe(&[edited], &probe)[0].is_measurable());
    }

    #[test]
    fn a_skill_that_the_model_knows_is_not_worth_measuring() {
        let check = |directives: &[DraftDirective], expected: Option<&str>| {
            let found = MeasurableDirectives::count_in(directives).explain_shortfall();
            let is_expected = match (&found, expected) {
                (Some(found), Some(expected)) => found.contains(expected),
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(is_expected, "{found:?} is not {expected:?}");
        };
        let mut directives: Vec<_> = (1..=5).map(|at| directive(&format!("d0{at}"), 1)).collect();
        check(&directives, None);
        let known = [("d01", [Some(true); 3]), ("d02", [Some(true); 3])];
        check(
            &apply_probe(&directives, &probe(&known)),
            Some("3 directives that an agent would not follow anyway"),
        );
        check(&apply_probe(&directives, &probe(&known[..1])), None);
        // Conventions show that an agent obeys.
        for directive in &mut directives {
            directive.class = Some(DirectiveClass::Convention);
        }
        check(
            &directives,
            Some("5 directives that an agent would not follow anyway, all of them conventions"),
        );
    }
}
