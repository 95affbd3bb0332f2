//! The phrases of a document, except where they are negated.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::Category::{self, Database, EnvVars, ExistingRepo, GitState, Mcp, MultiTurn, Other, ToolCli};
use super::Signal;
use super::clues::{Clue, Clues};
use super::page::{Page, Prose, Section};
use super::phrases::PHRASES;
use super::verdict::HARDWARE;

/// The longest block that is read, in bytes.
const TEXT_CAP: usize = 20_000;
/// The most patterns of a set.
const SET: usize = 6;
/// The most bytes of a compiled pattern or set, and of the states that are kept of it.
const SIZE_LIMIT: usize = 64 << 20;

struct Compiled {
    /// A set for each category, which stays small enough for a DFA, with the indices of [`PHRASES`] in it.
    sets: Vec<(RegexSet, Vec<usize>)>,
    each: Vec<Regex>,
}

/// Everything before a phrase that negates it.
const NEGATIONS: [&str; 16] = [
    "no ",
    "not ",
    "n't ",
    "never ",
    "without ",
    "no need ",
    "avoid ",
    "skip ",
    "instead of ",
    "rather than ",
    "nor ",
    "unlike ",
    "not require ",
    "none of ",
    "neither ",
    "zero ",
];
/// What makes a clue a conditional one, which has one point.
const CONDITIONS: [&str; 16] = [
    "if unclear",
    "if ambiguous",
    "if missing",
    "if needed",
    "if necessary",
    "optional",
    "if in doubt",
    "when in doubt",
    "unless",
    "if the user does",
    "if available",
    "if installed",
    "when available",
    "if not provided",
    "if unsure",
    "if any",
];

/// Databases that are collections of facts, reached in other ways.
const COLLECTIONS: [&str; 4] =
    ["vulnerability database", "knowledge database", "advisory database", "national vulnerability"];

/// What is said of a server that is to be written, not used.
const MAKING: [&str; 7] = ["build", "creat", "develop", "implement", "design", "write", "writing"];

impl Compiled {
    fn new() -> Option<Self> {
        let patterns: Vec<String> =
            PHRASES.iter().map(|(_, _, pattern)| pattern.replace(' ', r"[ \n]+")).collect();
        let mut sets = Vec::new();
        for category in Category::ALL {
            let indices: Vec<usize> =
                (0..PHRASES.len()).filter(|index| PHRASES[*index].0 == category).collect();
            for indices in indices.chunks(SET) {
                let set = RegexSetBuilder::new(indices.iter().map(|index| &patterns[*index]))
                    .case_insensitive(true)
                    .unicode(false)
                    .size_limit(SIZE_LIMIT)
                    .dfa_size_limit(SIZE_LIMIT)
                    .build()
                    .ok()?;
                sets.push((set, indices.to_vec()));
            }
        }
        let compile = |pattern: &String| {
            RegexBuilder::new(pattern)
                .case_insensitive(true)
                .unicode(false)
                .size_limit(SIZE_LIMIT)
                .build()
                .ok()
        };
        Some(Self { sets, each: patterns.iter().map(compile).collect::<Option<_>>()? })
    }

    /// The indices of the phrases in a text.
    fn matches(&self, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        for (set, indices) in &self.sets {
            found.extend(set.matches(text.as_bytes()).into_iter().map(|at| indices[at]));
        }
        found
    }
}

/// The phrases of a document.
pub(super) fn find(page: &Page, clues: &mut Clues) {
    static COMPILED: LazyLock<Option<Compiled>> = LazyLock::new(Compiled::new);
    let Some(compiled) = &*COMPILED else { return };
    for prose in &page.prose {
        if prose.section != Section::Aside && prose.text.len() <= TEXT_CAP {
            block(compiled, prose, clues);
        }
    }
}

fn block(compiled: &Compiled, prose: &Prose, clues: &mut Clues) {
    for index in compiled.matches(&prose.text) {
        let (category, points, _) = PHRASES[index];
        for found in compiled.each[index].find_iter(prose.text.as_bytes()).take(4) {
            // A byte of another character is no word character, so a match may begin within one.
            let start = prose.text.floor_char_boundary(found.start());
            let matched = String::from_utf8_lossy(found.as_bytes());
            let before = &prose.text[prose.text.floor_char_boundary(start.saturating_sub(40))..start];
            let before = before.rsplit(['.', ';', '!', '?', ':']).next().unwrap_or(before).to_lowercase();
            if NEGATIONS.iter().any(|negation| {
                before.rfind(negation).is_some_and(|at| before.len() - at - negation.len() < 18)
            }) {
                continue;
            }
            // Set by GitHub Actions.
            if category == EnvVars && matched.contains("GITHUB_") {
                continue;
            }
            if category == Database
                && COLLECTIONS.iter().any(|word| around(&prose.text, start).contains(word))
            {
                continue;
            }
            if category == Mcp && MAKING.iter().any(|verb| before.contains(verb)) {
                continue;
            }
            let around = around(&prose.text, start);
            let conditional = CONDITIONS.iter().any(|condition| around.contains(condition))
                || (["if ", "when "].iter().any(|word| around.contains(word))
                    && [" available", " installed", " present", " configured", " connected"]
                        .iter()
                        .any(|word| around.contains(word)));
            // The tool for questions is named only where it is to be used.
            let conditional = conditional && !matched.to_ascii_lowercase().contains("askuserquestion");
            let points = if conditional { points.min(1) } else { points };
            // What the description says of tools and questions is about every use of the skill.
            let about = prose.section == Section::Summary || prose.section == Section::Prerequisites;
            let raised = about
                && points == 2
                && matches!(category, ToolCli | MultiTurn | Mcp | ExistingRepo | GitState | Database);
            let points = if raised { 3 } else { points };
            let points =
                if prose.section == Section::Scope && category == MultiTurn { points.min(1) } else { points };
            let by = match category {
                MultiTurn => Signal::Question,
                Mcp => Signal::Mcp,
                _ => Signal::Phrase,
            };
            let line = prose.line(start);
            // Passing remarks count together, as one clue.
            let key = if points < 2 { "remark".to_owned() } else { format!("phrase {index}") };
            let mut clue = Clue::new(category, points, line, by, &key);
            if category == Other && is_physical(&matched) {
                clue = clue.named(HARDWARE);
            }
            clues.push(clue);
        }
    }
}

/// Whether a requirement is one of hardware or of an operating system.
fn is_physical(text: &str) -> bool {
    const WORDS: [&str; 16] = [
        "gpu",
        "cuda",
        "nvidia",
        "macos",
        "apple",
        "windows",
        "xcode",
        "ios",
        "android",
        "raspberry",
        "kvm",
        "tpu",
        "simulator",
        "hardware",
        "ram",
        "disk",
    ];
    let text = text.to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// The sentence around a byte of a text, in lower case.
fn around(text: &str, at: usize) -> String {
    let start = text[..at].rfind(['.', '!', '?', '\n']).map_or(0, |found| found + 1);
    let end = text[at..].find(['.', '!', '?', '\n']).map_or(text.len(), |found| at + found);
    text[start..end].to_lowercase()
}
