//! What a record says of whether the treatment of its trial was there for the agent.
//!
//! What counts is that the treatment was *made available* as the condition's role promises, never that the agent used
//! it: not opening a skill is a result.

use std::fs;

use assay_store::{Record, Store, Treatment};
use assay_trace::Exposure;

/// What a record says of the treatment of its trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DeliveryFacts {
    /// `None` if the record does not say.
    skills: Option<ProvidedSkills>,
    /// `None` if the record does not say.
    pub(crate) written: Option<WrittenSkills>,
    /// Whether the condition's text was in what a model was sent that replied; `None` if that is unknown.
    is_sent: Option<bool>,
    /// Whether there is no model that could be told of anything.
    has_no_model: bool,
}

/// The provided skills of a trial, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ProvidedSkills {
    all: usize,
    /// With files in the sandbox.
    offered: usize,
    /// That the model was told of, or found by itself.
    noticed: usize,
    /// Whose text reached the model; of an empty text, that the model was told of.
    read: usize,
}

/// The skills that an agent wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WrittenSkills {
    pub(crate) skills: usize,
    /// `None` if only their number is known.
    pub(crate) bytes: Option<u64>,
    /// Whether the agent read one of them later; `None` if only their number is known.
    pub(crate) opened: Option<bool>,
}

impl DeliveryFacts {
    pub(crate) fn of(record: &Record, replied: bool) -> Self {
        let exposure = record.exposure.as_deref().unwrap_or_default();
        let count = |fact: fn(&Exposure) -> bool| exposure.iter().filter(|one| fact(one)).count();
        let skills = ProvidedSkills {
            all: exposure.len(),
            offered: count(|one| one.offered),
            noticed: count(is_noticed),
            read: count(|one| one.opened.is_some() || one.body_lines == 0 && is_noticed(one)),
        };
        let written = record.generated.as_ref().map(|written| WrittenSkills {
            skills: written.len(),
            bytes: Some(written.iter().map(|skill| skill.bytes).sum()),
            opened: Some(written.iter().any(|skill| skill.opened)),
        });
        Self {
            skills: (!exposure.is_empty()).then_some(skills),
            written,
            is_sent: record.text_sent.filter(|_| replied),
            has_no_model: record.agent.model.is_none(),
        }
    }

    /// Whether a treatment was there for the agent; `None` if that is unknown, or if there is no treatment.
    pub(crate) fn delivered(self, treatment: Treatment, eager: bool) -> Option<bool> {
        match treatment {
            Treatment::Nothing | Treatment::Unknown => None,
            Treatment::Text => self.is_sent,
            Treatment::WrittenSkills => self.written.map(|written| written.skills > 0),
            Treatment::Skills | Treatment::Library => {
                let skills = self.skills?;
                let is_told = match treatment {
                    // Their texts are in the context from the start.
                    _ if eager => skills.read == skills.all,
                    // Clients list what fits.
                    Treatment::Library => skills.noticed > 0,
                    _ => skills.noticed == skills.all,
                };
                Some(skills.offered == skills.all && (is_told || self.has_no_model))
            }
        }
    }
}

fn is_noticed(one: &Exposure) -> bool {
    one.advertised.is_some() || one.mentioned.is_some() || one.opened.is_some() || one.executed.is_some()
}

/// How many skills an agent wrote, by what is kept of its attempt: records of earlier versions do not say. `None` if
/// nothing is kept.
pub(crate) fn written_skills_kept(store: &Store, record: &Record) -> Option<WrittenSkills> {
    let attempt = store.trial_folder(&record.trial).join(format!("attempts/{}", record.attempt));
    // Of a task with several steps each has a folder of its own.
    if !attempt.join("trajectory.json").is_file() || attempt.join("steps").is_dir() {
        return None;
    }
    let folders = fs::read_dir(attempt.join("generated-skills")).into_iter().flatten().flatten();
    let skills = folders.filter(|folder| folder.path().join("SKILL.md").is_file()).count();
    Some(WrittenSkills { skills, bytes: None, opened: None })
}

#[cfg(test)]
mod tests {
    use assay_store::{AgentLabel, ConditionRole, GeneratedSkill, Outcome, TrialId};

    use super::*;

    fn record(exposure: &[(bool, bool, bool)]) -> Record {
        let label = AgentLabel { name: "loop".into(), version: "1".into(), model: Some("p:m".into()) };
        let id = TrialId::of(&serde_json::Value::Null);
        let mut record = Record::new(id, "t".into(), label, Outcome::Failed);
        let exposure = exposure
            .iter()
            .map(|&(offered, advertised, opened)| Exposure {
                skill: "s".into(),
                offered,
                advertised: advertised.then_some(1),
                mentioned: None,
                opened: opened.then_some(1),
                executed: None,
                body_lines: 9,
                body_lines_delivered: 0,
            })
            .collect();
        record.exposure = Some(exposure);
        record
    }

    #[test]
    fn skills_are_delivered_if_they_are_there_and_the_model_was_told_of_them() {
        use ConditionRole::{Curated, Full, None as Bare, Other, Placebo, SelfGenerated};
        let check =
            |role: ConditionRole, exposure: &[(bool, bool, bool)], eager: bool, expected: Option<bool>| {
                let found = DeliveryFacts::of(&record(exposure), true).delivered(role.treatment(), eager);
                assert_eq!(found, expected, "{role} {exposure:?} eager: {eager}");
            };
        let (read, told, untold, absent) =
            ((true, true, true), (true, true, false), (true, false, false), (false, false, false));
        check(Curated, &[told], false, Some(true));
        check(Placebo, &[told, read], false, Some(true));
        check(Curated, &[untold], false, Some(false));
        check(Curated, &[absent], false, Some(false));
        check(Curated, &[told, untold], false, Some(false));
        check(Full, &[told, untold], false, Some(true));
        check(Full, &[told, absent], false, Some(false));
        check(Curated, &[told], true, Some(false));
        check(Curated, &[read], true, Some(true));
        check(Curated, &[], false, None);
        check(Bare, &[told], false, None);
        check(Other, &[untold], false, None);
        check(SelfGenerated, &[], false, None);
        // An agent without a model is told of nothing.
        let mut alone = record(&[untold]);
        alone.agent.model = None;
        assert_eq!(DeliveryFacts::of(&alone, false).delivered(Curated.treatment(), false), Some(true));
    }

    #[test]
    fn a_text_is_delivered_if_the_model_was_sent_it_and_replied() {
        use ConditionRole::{Documents, Plain};
        for role in [Documents, Plain] {
            let check = |text_sent: Option<bool>, replied: bool, expected: Option<bool>| {
                let facts = DeliveryFacts::of(&Record { text_sent, ..record(&[]) }, replied);
                assert_eq!(
                    facts.delivered(role.treatment(), false),
                    expected,
                    "{role} {text_sent:?} {replied}"
                );
            };
            check(Some(true), true, Some(true));
            check(Some(false), true, Some(false));
            // Records of before do not say; without a reply it is unknown whether it arrived.
            check(None, true, None);
            check(Some(true), false, None);
            check(Some(false), false, None);
        }
    }

    #[test]
    fn skills_of_the_agent_are_delivered_if_it_wrote_some() {
        let check = |written: Option<Vec<GeneratedSkill>>, expected: Option<bool>| {
            let facts = DeliveryFacts::of(&Record { generated: written, ..record(&[]) }, true);
            assert_eq!(facts.delivered(Treatment::WrittenSkills, false), expected);
        };
        check(None, None);
        check(Some(Vec::new()), Some(false));
        check(Some(vec![GeneratedSkill { name: "a".into(), bytes: 9, opened: false }]), Some(true));
    }
}
