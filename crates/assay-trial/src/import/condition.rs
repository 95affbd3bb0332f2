//! Infers a trial's condition from names and from the skills that the agent was given.

use std::collections::BTreeSet;

use assay_store::ConditionRole;
use globset::{GlobBuilder, GlobSet};

use super::error::ImportError;

/// The condition of a trial whose condition is unknown.
pub(super) const UNKNOWN: &str = "unknown";

/// Phrases in names, each between two dashes, and their conditions. The name of a condition is one of its own.
const PHRASES: &[(ConditionRole, &[&str])] = &[
    (
        ConditionRole::None,
        &[
            "no-skill",
            "no-skills",
            "noskill",
            "noskills",
            "without",
            "without-skill",
            "without-skills",
            "withoutskills",
            "wo-skill",
            "wo-skills",
            "w-o-skill",
            "w-o-skills",
            "skills-off",
            "baseline",
            "vanilla",
        ],
    ),
    (
        ConditionRole::Curated,
        &[
            "with-skill",
            "with-skills",
            "withskill",
            "withskills",
            "w-skill",
            "w-skills",
            "plus-skill",
            "plus-skills",
            "skills-on",
        ],
    ),
    (ConditionRole::Placebo, &[]),
    (
        ConditionRole::Negative,
        &["negative-skill", "negative-skills", "irrelevant-skill", "irrelevant-skills"],
    ),
    (
        ConditionRole::SelfGenerated,
        &["selfgenerated", "self-gen", "selfgen", "generated-skills", "gen-skills", "genskills"],
    ),
];

/// A condition whose name alone says nothing in a name: tasks are called `negative-numbers`.
const SILENT: ConditionRole = ConditionRole::Negative;

/// The condition in a name.
///
/// # Errors
/// A name that matches two conditions.
pub(super) fn named_condition(name: &str) -> Result<Option<ConditionRole>, ()> {
    let plain = normalize(name);
    let words: Vec<&str> = words(&plain);
    // "without curated skills", "no self-generated skills": the adjective takes nothing back.
    let denied = words.windows(2).any(|pair| {
        let is_kind =
            [ConditionRole::Curated, ConditionRole::Placebo].iter().any(|kind| kind.name() == pair[1]);
        matches!(pair[0], "without" | "no") && (is_kind || matches!(pair[1], "self" | "generated"))
    });
    if denied {
        return Ok(Some(ConditionRole::None));
    }
    let plain = format!("-{}-", words.join("-"));
    let mut found = None;
    for (condition, phrases) in PHRASES {
        let own = Some(condition.name()).filter(|_| *condition != SILENT);
        let says = phrases.iter().copied().chain(own).any(|phrase| {
            // "without" alone may be about anything, unless it ends the name.
            if phrase == "without" {
                plain.ends_with("-without-")
            } else {
                plain.contains(&format!("-{phrase}-"))
            }
        });
        if says && found.is_some() {
            return Err(());
        }
        if says {
            found = Some(*condition);
        }
    }
    Ok(found)
}

/// A name in lower case, with a dash for each character that is neither letter nor digit.
fn normalize(name: &str) -> String {
    let mut plain = String::new();
    for c in name.chars() {
        match c {
            '+' => plain.push_str("-plus-"),
            c if c.is_ascii_alphanumeric() => plain.push(c.to_ascii_lowercase()),
            _ => plain.push('-'),
        }
    }
    plain
}

fn words(plain: &str) -> Vec<&str> {
    plain.split('-').filter(|word| !word.is_empty()).collect()
}

/// A name that only mentions skills, `…-skills-…`, or denies them, `…-noskills-…`: the part before
/// the word, and whether it is denied.
fn mentioned_skills(name: &str) -> Option<(String, bool)> {
    let plain = normalize(name);
    let words = words(&plain);
    let is_word = |at: usize| matches!(words.get(at), Some(&("skill" | "skills")));
    (0..words.len()).find_map(|at| {
        let denied = match words[at] {
            "noskill" | "noskills" | "withoutskills" => true,
            "no" | "without" | "wo" if is_word(at + 1) => true,
            "w" if words.get(at + 1) == Some(&"o") && is_word(at + 2) => true,
            "skill" | "skills" => false,
            _ => return None,
        };
        Some((words[..at].join("-"), denied))
    })
}

/// Pairs of names with and without skills: `skills/` next to `noskills/`, `x-skills-7` next to
/// `x-no-skills-3`.
#[derive(Debug, Default)]
pub(super) struct NameContrast {
    /// The part before the denial, in names of one kind.
    before: BTreeSet<(usize, String)>,
    /// All names of trials without skills: a name above both arms does not distinguish them.
    shared: BTreeSet<String>,
}

impl NameContrast {
    /// The names of an import's trials.
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a ConditionEvidence>) -> Self {
        let mut beside = Self::default();
        for evidence in all.filter(|evidence| evidence.infer() == Inferred::Known(ConditionRole::None)) {
            for (kind, names) in evidence.kinds().into_iter().enumerate() {
                for name in names {
                    if let Some((before, true)) = mentioned_skills(name) {
                        beside.before.insert((kind, before));
                    }
                    beside.shared.insert(name.clone());
                }
            }
        }
        beside
    }

    /// Whether a trial's names contain `skills` where those of others deny them.
    pub(super) fn implies_skills(&self, evidence: &ConditionEvidence) -> bool {
        evidence.kinds().into_iter().enumerate().any(|(kind, names)| {
            names.iter().filter(|name| !self.shared.contains(*name)).any(|name| {
                mentioned_skills(name)
                    .is_some_and(|(before, denied)| !denied && self.before.contains(&(kind, before)))
            })
        })
    }
}

/// The evidence about a trial's condition.
#[derive(Debug, Default)]
pub(super) struct ConditionEvidence {
    /// The trial's own name of its skill mode.
    pub(super) mode: Vec<String>,
    /// Names of folders above the trial and of the job, nearest first.
    pub(super) job: Vec<String>,
    /// Names of the agent.
    pub(super) agent: Vec<String>,
    /// Names of the dataset, and of the folders of the task.
    pub(super) dataset: Vec<String>,
    /// Whether the agent was given skills, if the configuration has it.
    pub(super) skills: Option<bool>,
}

/// The conclusion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inferred {
    /// This condition.
    Known(ConditionRole),
    /// The agent was given none. That is meaningful only beside trials with some, because an image
    /// may contain skills.
    NoneGiven,
    /// Neither names nor configuration identify it.
    Silent,
    /// They contradict each other, and how.
    Unknown(&'static str),
}

impl ConditionEvidence {
    /// Names by kind.
    fn kinds(&self) -> [&[String]; 4] {
        [&self.mode, &self.agent, &self.job, &self.dataset]
    }

    /// The condition they agree on.
    pub(super) fn infer(&self) -> Inferred {
        let mut answer = None;
        for names in self.kinds() {
            // The first name of a kind with a meaning decides for the kind.
            let said = names
                .iter()
                .map(|name| named_condition(name))
                .find(|said| *said != Ok(None))
                .unwrap_or(Ok(None));
            match (said, answer) {
                (Err(()), _) => return Inferred::Unknown("a name matches two conditions"),
                (Ok(Some(one)), Some(other)) if one != other => {
                    return Inferred::Unknown("the names of job, agent and dataset disagree");
                }
                (Ok(Some(one)), _) => answer = Some(one),
                (Ok(None), _) => {}
            }
        }
        match (answer, self.skills) {
            (Some(ConditionRole::None), Some(true)) => {
                Inferred::Unknown("a name says without skills, but the agent was given some")
            }
            (Some(condition), _) => Inferred::Known(condition),
            (None, Some(true)) => Inferred::Known(ConditionRole::Curated),
            (None, Some(false)) => Inferred::NoneGiven,
            (None, None) => Inferred::Silent,
        }
    }
}

/// The user's patterns.
#[derive(Debug)]
pub(super) struct Overrides(Vec<(GlobSet, String)>);

impl Overrides {
    /// Compiles patterns. `*` matches any text, slashes included.
    pub(super) fn new(patterns: &[(String, String)]) -> Result<Self, ImportError> {
        let compile = |(pattern, condition): &(String, String)| {
            // A set, because compiling a single pattern panics if it is too large.
            let glob = GlobBuilder::new(pattern).literal_separator(false).build();
            let glob = glob.and_then(|glob| GlobSet::builder().add(glob).build()).map_err(|error| {
                ImportError::Pattern { pattern: pattern.clone(), message: error.to_string() }
            })?;
            if !assay_store::is_run_name(condition) {
                return Err(ImportError::Name { what: "condition", name: condition.clone() });
            }
            Ok((glob, condition.clone()))
        };
        patterns.iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// The condition of the first pattern that fits `job/trial/agent`, or one of the three.
    pub(super) fn find(&self, job: &str, trial: &str, agent: &str) -> Option<&str> {
        let whole = format!("{job}/{trial}/{agent}");
        self.0
            .iter()
            .find(|(glob, _)| [&whole, job, trial, agent].into_iter().any(|name| glob.is_match(name)))
            .map(|(_, condition)| condition.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_and_too_large_patterns_are_errors() {
        for pattern in ["[a".to_owned(), "[^a-z]*".repeat(100_000)] {
            let made = Overrides::new(&[(pattern, "none".to_owned())]);
            assert!(matches!(made, Err(ImportError::Pattern { .. })));
        }
    }

    #[test]
    fn condition_is_inferred_from_names() {
        let check = |name: &str, expected: Result<Option<ConditionRole>, ()>| {
            assert_eq!(named_condition(name), expected, "{name}");
        };
        for none in [
            "claude-no-skills",
            "noskills",
            "run_without_skills",
            "No Skills",
            "wo-skills",
            "gemini.w/o.skills",
            "baseline-2026-01",
            "codex-without",
            "without-curated-skills",
            "no_curated_skills",
        ] {
            check(none, Ok(Some(ConditionRole::None)));
        }
        for curated in ["claude-with-skills", "withskills", "claude+skills", "Curated", "w-skills_v2"] {
            check(curated, Ok(Some(ConditionRole::Curated)));
        }
        check("placebo-run", Ok(Some(ConditionRole::Placebo)));
        check("self_generated", Ok(Some(ConditionRole::SelfGenerated)));
        check("gen-skills", Ok(Some(ConditionRole::SelfGenerated)));
        for silent in
            ["", "skillsbench", "skills-bench", "claude-code", "2026-01-15__10-00-00", "without-internet"]
        {
            check(silent, Ok(None));
        }
        check("with-skills-vs-baseline", Err(()));
    }

    #[test]
    fn conflicting_evidence_gives_no_condition() {
        let check = |agent: &str, job: &[&str], dataset: &str, skills: Option<bool>, expected: Inferred| {
            let evidence = ConditionEvidence {
                mode: Vec::new(),
                agent: vec![agent.into()],
                job: job.iter().map(|&name| name.to_owned()).collect(),
                dataset: vec![dataset.into()],
                skills,
            };
            assert_eq!(evidence.infer(), expected, "{evidence:?}");
        };
        check("claude-code", &["with-skills"], "tasks", None, Inferred::Known(ConditionRole::Curated));
        check("claude-code", &["run"], "tasks-no-skills", None, Inferred::Known(ConditionRole::None));
        // The folder next to the trial speaks before the one above.
        check(
            "claude-code",
            &["no-skills", "with-skills-and-baseline"],
            "",
            None,
            Inferred::Known(ConditionRole::None),
        );
        check("c", &["run"], "tasks", Some(true), Inferred::Known(ConditionRole::Curated));
        check("c", &["placebo"], "tasks", Some(true), Inferred::Known(ConditionRole::Placebo));
        // An image may carry skills that the configuration does not name.
        check("c", &["with-skills"], "tasks", Some(false), Inferred::Known(ConditionRole::Curated));
        check("c", &["run"], "tasks", Some(false), Inferred::NoneGiven);
        check("c", &["run"], "tasks", None, Inferred::Silent);
        for (agent, job, skills) in [("c", "no-skills", Some(true)), ("c-with-skills", "baseline", None)] {
            let evidence = ConditionEvidence {
                agent: vec![agent.into()],
                job: vec![job.into()],
                skills,
                ..ConditionEvidence::default()
            };
            assert!(matches!(evidence.infer(), Inferred::Unknown(_)), "{evidence:?}");
        }
    }

    #[test]
    fn skills_name_beside_noskills_name_is_the_treatment() {
        let check = |none: &[&str], other: &[&str], expected: bool| {
            let jobs = |names: &[&str]| ConditionEvidence {
                job: names.iter().map(|&name| name.to_owned()).collect(),
                ..ConditionEvidence::default()
            };
            let found = NameContrast::of([jobs(none)].iter()).implies_skills(&jobs(other));
            assert_eq!(found, expected, "{none:?} {other:?}");
        };
        check(&["j1", "noskills", "flash"], &["j2", "skills", "flash"], true);
        check(&["x-flash-noskills-a-1"], &["x-flash-skills-b-2"], true);
        check(&["x-no-skills"], &["x_Skills"], true);
        check(&["w-o-skills"], &["skills"], true);
        // Another series, and nothing to pair with.
        check(&["x-noskills"], &["y-skills"], false);
        check(&["baseline"], &["skills"], false);
        check(&["x-noskills"], &["x-tools"], false);
        // Names of folders above both mean nothing.
        check(&["noskills", "skills-bench"], &["other", "skills-bench"], false);
        check(&["noskills", "skills-bench"], &["skills", "skills-bench"], true);
    }

    #[test]
    fn first_matching_pattern_wins() {
        let overrides =
            Overrides::new(&[("x_*/*/oracle".into(), "one".into()), ("x_late".into(), "two".into())])
                .unwrap();
        assert_eq!(overrides.find("x_late", "t__1", "oracle"), Some("one"));
        assert_eq!(overrides.find("x_late", "t__1", "nop"), Some("two"));
        assert_eq!(overrides.find("late", "t__1", "nop"), None);
        assert!(Overrides::new(&[("[".into(), "one".into())]).is_err());
        assert!(Overrides::new(&[("*".into(), "a b".into())]).is_err());
    }
}
