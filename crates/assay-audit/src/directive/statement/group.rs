//! Passages of a document, and how neighbours are joined until there are few enough.

use super::listing::{Statement, TEXT_CAP};

/// What passages stand in together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PassageGroup {
    /// A list, by its order in the document.
    List(usize),
    /// A table, a block of code or a paragraph, by the order of its first block.
    Block(usize),
}

/// A passage, with its place.
#[derive(Debug, Clone)]
pub(super) struct Passage {
    /// The document.
    pub(super) file: usize,
    /// The headings above it, from the outermost, by their order in the document.
    pub(super) sections: Vec<usize>,
    /// The title of the innermost.
    pub(super) heading: String,
    /// Its list, table, block of code or paragraph.
    pub(super) group: PassageGroup,
    /// Its paragraph, item, row or line.
    pub(super) block: usize,
    pub(super) lines: Vec<(usize, usize)>,
    pub(super) quote: String,
    pub(super) text: String,
    /// How strongly it tells an agent what to do.
    pub(super) points: i32,
}

impl Passage {
    /// Adds the lines from `first` to `last`.
    pub(super) fn add_lines(&mut self, first: usize, last: usize) {
        self.lines.push((first, last));
        self.lines.sort_unstable();
        let mut joined: Vec<(usize, usize)> = Vec::new();
        for (first, last) in self.lines.drain(..) {
            match joined.last_mut() {
                Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        self.lines = joined;
    }

    /// Joins a passage that follows: the text and the quote are those of the stronger.
    fn join(&mut self, other: Self) {
        for (first, last) in other.lines {
            self.add_lines(first, last);
        }
        if other.points > self.points {
            (self.text, self.quote, self.points) = (other.text, other.quote, other.points);
        }
    }

    pub(super) fn into_statement(self, files: &[&str]) -> Statement {
        let file = files.get(self.file).copied().unwrap_or_default().to_owned();
        Statement { file, lines: self.lines, quote: self.quote, text: shorten(&self.text) }
    }
}

/// Where a section of a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) file: usize,
    /// Its heading, by its order in the document.
    pub(super) order: usize,
    pub(super) first: usize,
    /// The last line before any other heading.
    pub(super) own_last: usize,
    /// The last line of all that is below it.
    pub(super) last: usize,
}

/// A text in one line, shortened to [`TEXT_CAP`].
pub(super) fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(TEXT_CAP).collect()
}

/// How far passages may stand apart that are joined.
#[derive(Debug, Clone, Copy)]
enum JoinScope {
    Block,
    List,
    Section,
    Parent,
}

/// Joins neighbours until there are at most `budget` passages: the nearest first, those of references before those of
/// `SKILL.md`, and of these the longest runs. If whole parts of a document are still too many, the strongest are kept.
pub(super) fn fit_budget(mut passages: Vec<Passage>, extents: &[Extent], budget: usize) -> Vec<Passage> {
    for is_reference in [true, false] {
        for scope in [JoinScope::Block, JoinScope::List, JoinScope::Section, JoinScope::Parent] {
            if passages.len() > budget {
                passages = Joiner { extents, is_reference, scope }.join_runs(passages, budget);
            }
        }
    }
    if passages.len() > budget {
        let mut points: Vec<i32> = passages.iter().map(|passage| passage.points).collect();
        points.sort_unstable_by_key(|points| std::cmp::Reverse(*points));
        let least = points.get(budget.saturating_sub(1)).copied().unwrap_or(i32::MAX);
        let mut ties = budget - points[..budget].iter().filter(|points| **points > least).count();
        passages.retain(|passage| {
            let is_tie = passage.points == least && ties > 0;
            ties -= usize::from(is_tie);
            passage.points > least || is_tie
        });
    }
    passages
}

/// Joins runs of passages within a scope.
struct Joiner<'e> {
    extents: &'e [Extent],
    /// Whether those of references are joined, or those of `SKILL.md`.
    is_reference: bool,
    scope: JoinScope,
}

impl Joiner<'_> {
    /// What passages of one run have in common.
    fn key(&self, passage: &Passage) -> (usize, Vec<usize>, Option<(PassageGroup, usize)>) {
        let depth = match self.scope {
            JoinScope::Parent => passage.sections.len().min(2),
            JoinScope::Block | JoinScope::List | JoinScope::Section => passage.sections.len(),
        };
        let place = match self.scope {
            JoinScope::Block => Some((passage.group, passage.block)),
            JoinScope::List => Some((passage.group, 0)),
            JoinScope::Section | JoinScope::Parent => None,
        };
        (passage.file, passage.sections[..depth].to_vec(), place)
    }

    fn join_runs(&self, passages: Vec<Passage>, budget: usize) -> Vec<Passage> {
        let mut excess = passages.len().saturating_sub(budget);
        let mut runs: Vec<Vec<Passage>> = Vec::new();
        let mut last = None;
        for passage in passages {
            let own = self.key(&passage);
            match runs.last_mut() {
                Some(run) if last.as_ref() == Some(&own) => run.push(passage),
                _ => runs.push(vec![passage]),
            }
            last = Some(own);
        }
        let is_joined = |run: &Vec<Passage>| run.len() > 1 && (run[0].file > 0) == self.is_reference;
        let mut order: Vec<usize> = (0..runs.len()).filter(|at| is_joined(&runs[*at])).collect();
        order.sort_by_key(|at| std::cmp::Reverse(runs[*at].len()));
        for at in order {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(runs[at].len() - 1);
            let run = std::mem::take(&mut runs[at]);
            runs[at].extend(self.join(run));
        }
        runs.into_iter().flatten().collect()
    }

    /// A run as one passage. One that stands for a section has all its lines.
    fn join(&self, run: Vec<Passage>) -> Option<Passage> {
        let mut run = run.into_iter();
        let mut joined = run.next()?;
        run.for_each(|passage| joined.join(passage));
        let whole = matches!(self.scope, JoinScope::Parent);
        if !whole && !matches!(self.scope, JoinScope::Section) {
            return Some(joined);
        }
        let depth = if whole { joined.sections.len().min(2) } else { joined.sections.len() };
        let order = joined.sections[..depth].last();
        let extent =
            self.extents.iter().find(|extent| extent.file == joined.file && Some(&extent.order) == order);
        if let Some(extent) = extent {
            joined.add_lines(extent.first, if whole { extent.last } else { extent.own_last });
        }
        joined.sections.truncate(depth);
        let heading = joined.heading.trim_end_matches(':');
        if !heading.is_empty() && !joined.text.starts_with(heading) {
            joined.text = format!("{heading}: {}", joined.text);
        }
        Some(joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(section: usize, list: usize, block: usize, line: usize, points: i32) -> Passage {
        Passage {
            file: 0,
            sections: vec![0, section],
            heading: format!("H{section}"),
            group: PassageGroup::List(list),
            block,
            lines: vec![(line, line)],
            quote: format!("q{line}"),
            text: format!("t{line}"),
            points,
        }
    }

    #[test]
    fn neighbours_are_joined_until_there_are_few_enough() {
        let passages = vec![
            passage(1, 1, 1, 3, 2),
            passage(1, 1, 1, 3, 3),
            passage(1, 1, 2, 4, 2),
            passage(1, 2, 3, 6, 2),
            passage(2, 3, 4, 9, 2),
        ];
        let extents = [Extent { file: 0, order: 1, first: 2, own_last: 7, last: 8 }];
        let check = |budget: usize, expected: &[&str]| {
            let found: Vec<String> = fit_budget(passages.clone(), &extents, budget)
                .iter()
                .map(|passage| {
                    let lines: Vec<String> = passage.lines.iter().map(|(a, b)| format!("{a}-{b}")).collect();
                    format!("{} {}", lines.join(","), passage.text)
                })
                .collect();
            assert_eq!(found, expected, "{budget}");
        };
        check(5, &["3-3 t3", "3-3 t3", "4-4 t4", "6-6 t6", "9-9 t9"]);
        check(4, &["3-3 t3", "4-4 t4", "6-6 t6", "9-9 t9"]);
        check(3, &["3-4 t3", "6-6 t6", "9-9 t9"]);
        check(2, &["2-7 H1: t3", "9-9 t9"]);
        check(1, &["2-7 H1: t3"]);
        check(0, &[]);
    }
}
