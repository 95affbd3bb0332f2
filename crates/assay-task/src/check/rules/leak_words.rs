//! Words in a row that a skill shares with a task.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::{SkillTexts, Subject, Text};
use crate::check::words::{GRAM, Index, Known, Lexicon, Run};

pub(super) const RULE: TaskRule = TaskRule {
    code: "leak-words",
    levels: "warn, info",
    summary: "ten or more consecutive words that a skill shares with instruction, tests or solution; warn from twelve on, except between programs of a skill and of a test",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    for shared in
        shared(subject).into_iter().filter(|shared| !shared.is_answer() && shared.run.words >= LEAST)
    {
        let both = shared.side == Side::Tests && shared.task.is_code() && shared.from.is_code();
        let level = if both || shared.run.words < WARN { Severity::Info } else { Severity::Warning };
        let message = format!(
            "the skill `{}` and the {} share {} consecutive words",
            shared.skill.name,
            shared.side.word(),
            shared.run.words
        );
        let hint = "a skill should teach the kind of work, not this task: rephrase it";
        found.push(shared.finding(level, RULE.code, message, hint));
    }
}

/// Shortest run of words that is reported: a call of a library has fewer.
const LEAST: usize = 10;
/// Shortest run of words that needs a review. A list of columns, or a line of a file's format, is
/// shorter.
const WARN: usize = 12;
/// Words of a run from which on it is the answer itself.
const ANSWER: usize = 32;

/// Which part of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Instruction,
    Tests,
    Solution,
}

impl Side {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Instruction => "instruction",
            Self::Tests => "tests",
            Self::Solution => "solution",
        }
    }

    /// The texts of each part.
    pub(super) fn all<'s>(subject: &'s Subject<'_>) -> [(Self, &'s [Text]); 3] {
        [
            (Self::Instruction, &subject.instructions),
            (Self::Tests, &subject.tests),
            (Self::Solution, &subject.solution),
        ]
    }
}

/// A run of words that a skill and a task share.
pub(super) struct Shared<'s> {
    pub(super) skill: &'s SkillTexts,
    pub(super) from: &'s Text,
    pub(super) side: Side,
    pub(super) task: &'s Text,
    pub(super) run: Run,
}

impl Shared<'_> {
    /// Whether a skill with this run contains the answer: a long piece of the solution, or of a
    /// file with expected content.
    pub(super) fn is_answer(&self) -> bool {
        let named = ["expected", "answer", "golden", "reference", "oracle", "truth"];
        let name = self.task.name().to_lowercase();
        let tests = self.side == Side::Tests && named.iter().any(|part| name.contains(part));
        self.run.words >= ANSWER && (self.side == Side::Solution || tests)
    }

    pub(super) fn finding(&self, level: Severity, code: &str, message: String, hint: &str) -> Finding {
        let (from, to) = self.run.from_lines;
        let skill = self.from.span(from, to);
        Finding::shared(level, code, message, hint, skill, self.task.span(self.run.lines.0, self.run.lines.1))
    }
}

/// Every run of at least [`GRAM`] words. In tests and solution, text that the agent sees anyway
/// does not count.
pub(super) fn shared<'s>(subject: &'s Subject<'_>) -> Vec<Shared<'s>> {
    let mut found = Vec::new();
    if subject.skills.is_empty() {
        return found;
    }
    let mut lexicon = Lexicon::default();
    let mut known = Known::default();
    for text in subject.instructions.iter().chain(&subject.environment) {
        known.add(&lexicon.words(text));
    }
    let nothing = Known::default();
    for skill in &subject.skills {
        let index = Index::new(skill.texts.iter().map(|text| lexicon.words(text)).collect());
        for (side, texts) in Side::all(subject) {
            let known = if side == Side::Instruction { &nothing } else { &known };
            for task in texts {
                let words = lexicon.words(task);
                let runs = index.runs(&words, known, &lexicon);
                let whole = runs.into_iter().filter(|run| run.words >= GRAM);
                found.extend(whole.map(|run| Shared {
                    skill,
                    from: &skill.texts[run.from],
                    side,
                    task,
                    run,
                }));
            }
        }
    }
    found
}
