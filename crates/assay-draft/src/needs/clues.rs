//! Clues and their points.

use std::collections::BTreeMap;

use assay_skill::Document;

use super::{Category, Need, Needs, Script, Signal};

/// The points from which a category is needed. A clear clue has as many; weaker ones must occur together. Chosen so
/// that one conditional remark ("if unclear, ask") is not enough and two are.
pub const THRESHOLD: u32 = 3;
/// The longest text of a line that a need keeps, in characters.
pub const LINE_CAP: usize = 160;
/// How often the same clue counts, in different lines.
const REPEATS: u32 = 2;
/// The most lines that are listed for a category.
const LINES: usize = 12;
/// The most clues that are kept of a category, so that a hostile text cannot fill the memory.
const CLUES: usize = 2000;

/// Something that may show a need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clue {
    pub(super) category: Category,
    pub(super) points: u32,
    /// From 1.
    pub(super) line: usize,
    pub(super) by: Signal,
    /// Clues with the same key are the same clue in several lines.
    pub(super) key: String,
    pub(super) name: Option<String>,
    /// Which script the line belongs to; `None` for `SKILL.md`.
    pub(super) script: Option<String>,
}

impl Clue {
    pub(super) fn new(category: Category, points: u32, line: usize, by: Signal, key: &str) -> Self {
        Self { category, points, line, by, key: key.to_owned(), name: None, script: None }
    }

    pub(super) fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }
}

/// All clues of a skill.
#[derive(Debug, Default)]
pub(super) struct Clues {
    all: BTreeMap<Category, Vec<Clue>>,
    /// The script that is being read.
    pub(super) script: Option<String>,
}

impl Clues {
    pub(super) fn push(&mut self, mut clue: Clue) {
        let list = self.all.entry(clue.category).or_default();
        if list.len() < CLUES && clue.points > 0 {
            clue.script.clone_from(&self.script);
            list.push(clue);
        }
    }

    /// Whether a category has enough points.
    fn is_needed(&self, category: Category) -> bool {
        self.all.get(&category).is_some_and(|list| points(list) >= THRESHOLD)
    }

    /// The categories with enough points, and the lines of their clues.
    pub(super) fn into_needs(mut self, document: &Document, scripts: &[Script]) -> Needs {
        let mut needs = Needs::default();
        // What has a state is there.
        if self.is_needed(Category::GitState)
            && let Some(list) = self.all.get(&Category::GitState)
        {
            let list: Vec<Clue> =
                list.iter().map(|clue| Clue { category: Category::ExistingRepo, ..clue.clone() }).collect();
            self.all.entry(Category::ExistingRepo).or_default().extend(list);
        }
        // Credentials and the data of an account are those of a service on the network.
        let hosted = self.is_needed(Category::Network);
        let lines: Vec<&str> = document.text.lines().collect();
        for (category, mut list) in self.all {
            let account = matches!(category, Category::Auth | Category::ExternalState);
            if points(&list) < THRESHOLD || (account && !hosted) {
                continue;
            }
            // The clearest first, to be kept; then in the order of the text.
            list.sort_by(|a, b| b.points.cmp(&a.points).then_with(|| place(a).cmp(&place(b))));
            list.dedup_by(|a, b| place(a) == place(b));
            let mut kept: Vec<Clue> = Vec::new();
            for clue in list {
                if kept.len() < LINES && !kept.iter().any(|other| place(other) == place(&clue)) {
                    kept.push(clue);
                }
            }
            kept.sort_by(|a, b| place(a).cmp(&place(b)));
            for clue in kept {
                let text = match &clue.script {
                    None => lines.get(clue.line.saturating_sub(1)).copied().unwrap_or_default(),
                    Some(path) => scripts
                        .iter()
                        .find(|script| script.path == *path)
                        .and_then(|script| script.text.lines().nth(clue.line.saturating_sub(1)))
                        .unwrap_or_default(),
                };
                let text = text.trim().chars().take(LINE_CAP).collect();
                let need = Need { line: clue.line, text, by: clue.by, name: clue.name, file: clue.script };
                needs.add(category, need);
            }
        }
        needs
    }
}

fn place(clue: &Clue) -> (Option<&str>, usize) {
    (clue.script.as_deref(), clue.line)
}

/// The sum of the points. The same clue counts in [`REPEATS`] lines, the second time with one point.
fn points(list: &[Clue]) -> u32 {
    let mut seen = BTreeMap::<&str, Vec<(Option<&str>, usize, u32)>>::new();
    for clue in list {
        let (script, line) = place(clue);
        seen.entry(&clue.key).or_default().push((script, line, clue.points));
    }
    seen.into_values()
        .map(|mut places| {
            let best = places.iter().map(|(_, _, points)| *points).max().unwrap_or(0);
            places.sort_unstable();
            places.dedup_by_key(|(script, line, _)| (*script, *line));
            let lines = u32::try_from(places.len()).unwrap_or(u32::MAX);
            best + lines.min(REPEATS).saturating_sub(1)
        })
        .sum()
}
