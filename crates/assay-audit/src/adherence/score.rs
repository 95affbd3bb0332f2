//! The adoption score: how much of what a run followed it can only have from the skill.
//!
//! A followed directive weighs rarity² × background, an example half of it: models write the
//! examples of public skills from memory. *Rarity* is 0 for what the task's text, its inputs or the
//! skill's name and description have, and for standard libraries, common idioms and usual names. It
//! is squared because a name that a few other skills have is a name that many would choose.
//! *Background* is the chance that the other runs that follow it are readers too:
//! with k of the n other runs following, and each of them given the skill by a fair coin,
//!
//! ```text
//! background = P(X > k) / P(X > 0),  X ~ Binomial(n, 1/2)
//! ```
//!
//! which is 1 if no other run follows it, 0 if all do, and falls most steeply around half: with as
//! many runs with the skill as without, the other readers are at most half of the others. With one
//! other run it is 1 or 0.
//!
//! How common a *number* is in public text says little: 20 and 100 are everywhere, and yet runs without the skill
//! hardly write just them beside just these words. The runs of the task say more. With r for the digits, m for the
//! other runs that do not have it:
//!
//! ```text
//! weight of a number = (1 − (1 − r) × 4 / (4 + max(m − 1, 0))) × background
//! ```
//!
//! An answer that the task's verifier declares, and that needs the skill, weighs 1 × background if its check passed.
//!
//! The weights of directives add up; calls of which one has all words of the other count once. Text of the skill that the run wrote out again, beside what its
//! directives demand, adds less than half a directive, however much it is: models have memorized
//! public skills, and text alone cannot show that one was read. Words that it only said in messages
//! weigh a quarter.
//!
//! ```text
//! evidence = Σ weight + ½ · words / (words + 20)
//! score = evidence / (evidence + 4.5)
//! ```

use std::collections::{HashMap, HashSet};

use super::assess::assess;
use super::declared::{DeclaredAnswer, DeclaredCheck};
use super::matching::Matcher;
use super::passage::{Passage, Written, passages};
use super::run_evidence::RunEvidence;
use super::{Adherence, Assessment, Status};
use crate::directive::{Directive, Modality, Probe};
use crate::evidence::{SkillText, keys};
use crate::rarity::rarity;

/// Evidence that is worth a score of one half. A run reaches [`super::ADOPTED`] with a third of it:
/// one and a half directives that nothing but the skill explains, so that one coincidence is not
/// enough.
const HALF: f64 = 4.5;

/// What text alone can weigh.
const TEXT: f64 = 0.5;

/// Words of the skill written out again that are worth half of that.
const WORDS: f64 = 20.0;

/// What an example weighs against a demand.
const EXAMPLE: f64 = 0.5;

/// Runs of the task that count as much as the look of a number. It is a round figure and not fitted: a round number weighs a
/// half if five other runs do not have it.
const DOUBT: f64 = 4.0;

/// What a task and a skill's entry in a listing say: following that shows nothing.
#[derive(Debug, Clone, Default)]
pub struct Known {
    texts: Vec<String>,
    keys: HashSet<u64>,
    /// Runs of the task, copies counted once.
    runs: usize,
}

impl Known {
    /// The task's text, and what any of its runs saw of the workspace before it wrote there.
    pub fn new(prompt: &str, runs: &[RunEvidence]) -> Self {
        let mut texts = vec![prompt.to_owned()];
        for run in runs {
            if !texts.iter().any(|text| text == run.inputs()) {
                texts.push(run.inputs().to_owned());
            }
        }
        let keys = texts.iter().flat_map(|text| keys(text)).collect();
        let distinct = runs.iter().enumerate().filter(|(at, run)| !runs[..*at].contains(run)).count();
        Self { texts, keys, runs: distinct }
    }

    /// Whether a text is in what the task says or what its runs saw, in any case.
    fn has_text(&self, text: &str) -> bool {
        let wanted = Matcher::Text(text.split_whitespace().collect::<Vec<_>>().join(" "));
        self.texts.iter().any(|known| wanted.is_in(known))
    }

    /// Whether following a directive of a skill shows nothing, because the task, its inputs, or the
    /// skill's name and description have what it demands.
    pub fn has(&self, directive: &Directive, skill: &SkillText) -> bool {
        let matcher = Matcher::new(&directive.probe, directive);
        let entry = [skill.name.as_str(), skill.description.as_str()];
        self.texts.iter().map(String::as_str).chain(entry).any(|text| matcher.is_in(text))
    }
}

/// The most that directives of a skill can weigh in a run of a task: in a run that followed all of them, and no other run did.
///
/// 0 if following them shows nothing, because the task, its inputs or the description have what they demand, or many would do
/// it without the skill. The score then says nothing about the skill, and is unknown rather than 0.
pub fn attainable(skill: &SkillText, known: &Known) -> f64 {
    let mut heaviest: HashMap<&str, f64> = HashMap::new();
    for directive in skill.directives.iter().filter(|directive| directive.modality == Modality::Required) {
        let weight = own_weight(directive, known.runs.saturating_sub(1));
        if weight > 0.0 && !known.has(directive, skill) {
            let most = heaviest.entry(&directive.subject).or_default();
            *most = most.max(weight);
        }
    }
    // Sorted, so that the sum does not depend on the order of a hash map.
    let mut weights: Vec<f64> = heaviest.into_values().collect();
    weights.sort_by(f64::total_cmp);
    weights.iter().sum()
}

/// Whether a run can reach [`super::ADOPTED`] with directives of this weight and whatever text of the skill.
pub fn can_adopt(attainable: f64) -> bool {
    let evidence = attainable + TEXT;
    // All of what text can weigh takes endless text.
    evidence / (evidence + HALF) > super::ADOPTED
}

/// The weight of a directive before the background, if so many other runs of the task do not follow it.
fn own_weight(directive: &Directive, others_without: usize) -> f64 {
    let share = if directive.example { EXAMPLE } else { 1.0 };
    let by_text = distinctiveness(&directive.probe, &directive.subject);
    share
        * if matches!(directive.probe, Probe::Number { .. }) {
            by_runs(by_text, others_without)
        } else {
            by_text
        }
}

/// How specific a number is that so many other runs do not have: doubt about its digits × [`DOUBT`] / ([`DOUBT`] + runs),
/// the mean of a beta distribution after as many failures. A single run gives no rate: the first does not count.
fn by_runs(by_text: f64, others_without: usize) -> f64 {
    1.0 - (1.0 - by_text) * DOUBT / (DOUBT + others_without.saturating_sub(1) as f64)
}

/// What each run of a task shows of a skill, in their order. All runs are treated alike; copies of a
/// run are one observation.
pub fn adherences(skill: &SkillText, runs: &[RunEvidence], known: &Known) -> Vec<Adherence> {
    Cohort::new(skill, runs, known).adherences()
}

/// The runs of a task, with what each shows of a skill before it is compared with the others.
pub struct Cohort<'a> {
    skill: &'a SkillText,
    known: &'a Known,
    /// Runs that are no copies of others.
    distinct: Vec<Shown<'a>>,
    /// For each run its place among them.
    of: Vec<usize>,
}

/// What a run shows by itself.
struct Shown<'a> {
    material: &'a RunEvidence,
    assessments: Vec<Assessment>,
    written: Written,
    /// What the verifier declares of the skill, and says of this run.
    declared: &'a [DeclaredCheck],
}

impl<'a> Shown<'a> {
    fn new(skill: &SkillText, material: &'a RunEvidence) -> Self {
        let assessments = assess(&skill.directives, material);
        Self { material, assessments, written: Written::new(material), declared: &[] }
    }
}

impl<'a> Cohort<'a> {
    /// The runs of a task and a skill.
    pub fn new(skill: &'a SkillText, runs: &'a [RunEvidence], known: &'a Known) -> Self {
        let (mut distinct, mut of): (Vec<Shown<'a>>, Vec<usize>) = (Vec::new(), Vec::new());
        for run in runs {
            let same = distinct.iter().position(|other| other.material == run);
            of.push(same.unwrap_or_else(|| {
                distinct.push(Shown::new(skill, run));
                distinct.len() - 1
            }));
        }
        Self { skill, known, distinct, of }
    }

    /// Adds the checks of the verifier that test directives of the skill: one list for each run, in their order.
    #[must_use]
    pub fn with_declared(mut self, declared: &'a [Vec<DeclaredCheck>]) -> Self {
        for (at, checks) in self.of.iter().zip(declared) {
            let shown = &mut self.distinct[*at];
            if shown.declared.is_empty() {
                shown.declared = checks;
            }
        }
        self
    }

    /// What each run shows, in their order.
    pub fn adherences(&self) -> Vec<Adherence> {
        let all: Vec<&Shown<'_>> = self.distinct.iter().collect();
        let scored = self.score(&all);
        self.of.iter().map(|&at| scored[at].clone()).collect()
    }

    /// Whether following a directive shows nothing, because the task or its inputs have it.
    pub fn knows(&self, directive: &Directive) -> bool {
        self.known.has(directive, self.skill)
    }

    /// What a run would show that takes the place of another.
    pub fn replaced(&self, at: usize, run: &RunEvidence) -> Adherence {
        let own = Shown::new(self.skill, run);
        let others = self.distinct.iter().enumerate().filter(|(other, _)| *other != self.of[at]);
        let all: Vec<&Shown<'_>> = std::iter::once(&own).chain(others.map(|(_, shown)| shown)).collect();
        self.score(&all).swap_remove(0)
    }

    fn score(&self, all: &[&Shown<'_>]) -> Vec<Adherence> {
        let weights = self.weights(all);
        let declared = self.declared_weights(all);
        let written: Vec<(&RunEvidence, &Written)> =
            all.iter().map(|shown| (shown.material, &shown.written)).collect();
        let others = all.len().saturating_sub(1);
        let passages = passages(&written, self.skill, &self.known.keys, |k| background(k, others));
        all.iter()
            .zip(passages)
            .map(|(shown, passages)| {
                let gave = |check: &&DeclaredCheck| check.passed == Some(true);
                let answers = shown.declared.iter().filter(gave).filter_map(|check| {
                    let weight = *declared.get(check.name.as_str())?;
                    Some(DeclaredAnswer { check: check.clone(), weight })
                });
                let answers = answers.collect();
                weigh(&self.skill.directives, shown.assessments.clone(), passages, answers, &weights)
            })
            .collect()
    }

    /// The weight of each declared answer in the runs that gave it, by the check's name: 1 × background.
    fn declared_weights(&self, all: &[&Shown<'a>]) -> HashMap<&'a str, f64> {
        let mut givers: HashMap<&str, (usize, &DeclaredCheck)> = HashMap::new();
        for check in all.iter().flat_map(|shown| shown.declared).filter(|check| check.passed == Some(true)) {
            givers.entry(&check.name).or_insert((0, check)).0 += 1;
        }
        let weight = |(name, (count, check)): (&'a str, (usize, &DeclaredCheck))| {
            let background = background(count - 1, all.len() - 1);
            let is_known = !check.answer.is_empty() && self.known.has_text(&check.answer);
            (background > 0.0 && !is_known).then_some((name, background))
        };
        givers.into_iter().filter_map(weight).collect()
    }

    /// The weight of each directive in the runs that follow it.
    fn weights(&self, all: &[&Shown<'_>]) -> Vec<f64> {
        let weight = |(at, directive): (usize, &Directive)| {
            let followers = all.iter().filter(|run| run.assessments[at].status == Status::Followed).count();
            if followers == 0 {
                return 0.0;
            }
            let background = background(followers - 1, all.len() - 1);
            if background <= 0.0 || self.known.has(directive, self.skill) {
                return 0.0;
            }
            background * own_weight(directive, all.len() - followers)
        };
        self.skill.directives.iter().enumerate().map(weight).collect()
    }
}

/// Sets the weights of what is followed: of directives with one subject the heaviest counts.
fn weigh(
    directives: &[Directive],
    mut assessments: Vec<Assessment>,
    passages: Vec<Passage>,
    mut declared: Vec<DeclaredAnswer>,
    weights: &[f64],
) -> Adherence {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for (at, directive) in directives.iter().enumerate() {
        let rated = assessments[at].status == Status::Followed && directive.modality == Modality::Required;
        if !rated || weights[at] <= 0.0 {
            continue;
        }
        match counted.iter_mut().find(|(subject, _)| *subject == directive.subject) {
            Some((_, other)) if weights[at] > weights[*other] => *other = at,
            Some(_) => {}
            None => counted.push((&directive.subject, at)),
        }
    }
    for &(_, at) in &counted {
        let is_part = counted.iter().any(|&(_, other)| {
            is_one_call(&directives[at], &directives[other]) && (weights[other], at) > (weights[at], other)
        });
        if !is_part {
            assessments[at].weight = weights[at];
        }
    }
    // What one line demands counts once.
    for answer in &mut declared {
        let of_line = directives.iter().zip(&assessments).filter(|(directive, _)| {
            (directive.file.as_str(), directive.line) == (answer.check.file.as_str(), answer.check.line)
        });
        let already: f64 = of_line.map(|(_, assessment)| assessment.weight).sum();
        answer.weight = (answer.weight - already).max(0.0);
    }
    let total: f64 = assessments.iter().map(|assessment| assessment.weight).sum::<f64>()
        + declared.iter().map(|answer| answer.weight).sum::<f64>();
    let counted = |line: usize| {
        let of_line = |(directive, found): (&Directive, &Assessment)| {
            found.weight > 0.0 && directive.line == line && directive.file == "SKILL.md"
        };
        directives.iter().zip(&assessments).any(of_line)
    };
    // What a line demands and was followed counts as a directive, and not as text again.
    let words: f64 =
        passages.iter().filter(|passage| !counted(passage.line)).map(|passage| passage.words).sum();
    let evidence = total + TEXT * words / (words + WORDS);
    let score = evidence / (evidence + HALF);
    Adherence { score, assessments, declared, passages, deliveries: Vec::new() }
}

/// Whether two directives demand one call, of which one names fewer words: `find -type f` and `find . -type f -print0`.
fn is_one_call(one: &Directive, other: &Directive) -> bool {
    let (Probe::Command { program, words }, Probe::Command { program: also, words: more }) =
        (&one.probe, &other.probe)
    else {
        return false;
    };
    let within = |few: &[String], many: &[String]| few.iter().all(|word| many.contains(word));
    program == also && (within(words, more) || within(more, words))
}

/// The score of several skills together: their evidence is added.
pub fn combine_scores(scores: impl IntoIterator<Item = f64>) -> f64 {
    let evidence: f64 = scores.into_iter().map(|score| HALF * score / (1.0 - score)).sum();
    evidence / (evidence + HALF)
}

/// The chance that all of `k` followers among `n` other runs are readers, against that none are.
fn background(k: usize, n: usize) -> f64 {
    // C(n, i), and sums of it from the bottom: only their ratio counts, so that large ones are scaled.
    let (mut term, mut above, mut any) = (1.0_f64, 0.0, 0.0);
    for i in 0..=n {
        if i > 0 {
            any += term;
        }
        if i > k {
            above += term;
        }
        term *= (n - i) as f64 / (i + 1) as f64;
        if term > 1e200 {
            (term, above, any) = (term * 1e-200, above * 1e-200, any * 1e-200);
        }
    }
    if n == 0 { 1.0 } else { above / any }
}

/// How little a probe would match by chance, in [0, 1].
fn distinctiveness(probe: &Probe, subject: &str) -> f64 {
    match probe {
        Probe::Number { value, .. } => digits(value),
        Probe::Sequence { first, then } => {
            distinctiveness(first, subject_of(first)).min(distinctiveness(then, subject_of(then)))
        }
        // The digits of an example stand for any.
        Probe::Layout(_) => rarity(&subject.replace(|c: char| c.is_ascii_digit(), " ")).powi(2),
        Probe::Command { .. } | Probe::Text(_) | Probe::Script(_) => rarity(subject).powi(2),
    }
}

fn subject_of(probe: &Probe) -> &str {
    match probe {
        Probe::Command { program, .. } => program,
        Probe::Text(text) | Probe::Layout(text) | Probe::Script(text) => text,
        Probe::Number { value, .. } => value,
        Probe::Sequence { then, .. } => subject_of(then),
    }
}

/// Numbers of one significant digit, such as 3, 20 and 500, are those that people choose without a
/// rule. Of others each digit that is not a zero at an end is worth a third.
fn digits(value: &str) -> f64 {
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    match digits.trim_start_matches('0').trim_end_matches('0').len() {
        0 | 1 => 0.0,
        kept => (kept as f64 / 3.0).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_background_is_a_share_of_a_binomial() {
        let check = |n: usize, expected: &[f64]| {
            for (k, expected) in expected.iter().enumerate() {
                let found = background(k, n);
                assert!((found - expected).abs() < 1e-12, "{k} of {n}: {found} {expected}");
            }
        };
        check(0, &[1.0]);
        check(1, &[1.0, 0.0]);
        check(2, &[1.0, 1.0 / 3.0, 0.0]);
        check(5, &[1.0, 26.0 / 31.0, 16.0 / 31.0, 6.0 / 31.0, 1.0 / 31.0, 0.0]);
        assert!(background(500, 2000) > 0.999 && background(1500, 2000) < 0.001);
    }

    #[test]
    fn runs_without_a_number_make_it_specific() {
        let check = |by_text: f64, runs: usize, expected: f64| {
            assert!((by_runs(by_text, runs) - expected).abs() < 1e-12, "{by_text} {runs}");
        };
        check(0.0, 0, 0.0);
        check(0.0, 1, 0.0);
        check(0.0, 2, 0.2);
        check(0.0, 5, 0.5);
        check(2.0 / 3.0, 5, 5.0 / 6.0);
        check(1.0, 9, 1.0);
    }

    #[test]
    fn the_skills_of_a_run_add_their_evidence() {
        let near =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        near(combine_scores([]), 0.0);
        near(combine_scores([1.0 / 5.5]), 1.0 / 5.5);
        near(combine_scores([1.0 / 5.5, 2.0 / 6.5, 0.0]), 3.0 / 7.5);
    }

    #[test]
    fn round_numbers_are_common() {
        let check = |value: &str, expected: f64| assert!((digits(value) - expected).abs() < 1e-12, "{value}");
        check("0", 0.0);
        check("100", 0.0);
        check("37", 2.0 / 3.0);
        check("1732", 1.0);
        check("0.05", 0.0);
        check("0.25", 2.0 / 3.0);
    }
}
