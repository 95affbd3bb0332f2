//! The parts of a skill's body.

use std::ops::Range;

use assay_skill::tokens;
use assay_stats::ablation::MOST_PARTS;

/// The heading of the text before the first section.
const INTRODUCTION: &str = "(introduction)";

/// A part of the body of a skill: a section, or neighboring sections that are told apart from the others together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillPart {
    /// The heading without its marks; several are joined by ` + `.
    pub heading: String,
    /// Its bytes in the body.
    pub range: Range<usize>,
    /// Tokens of its text ([`tokens`]).
    pub tokens: usize,
}

/// Splits a body at the headings of the highest level that has two or more. Text before the first of them is a part as well, but
/// for its first heading, which is the title. Of more parts than a design can tell apart the shortest neighbors are joined.
///
/// The parts are in order; what is in none of them is the title.
pub fn split_body(body: &str) -> Vec<SkillPart> {
    let headings = find_headings(body);
    let level = (1..=6).find(|level| headings.iter().filter(|found| found.level == *level).count() > 1);
    let starts: Vec<&Heading> = headings.iter().filter(|found| Some(found.level) == level).collect();
    let first = starts.first().map_or(body.len(), |found| found.start);
    let title = headings.first().filter(|found| found.start < first).map_or(0, |found| found.end);
    let mut parts = Vec::new();
    let mut add = |heading: &str, range: Range<usize>| {
        let text = &body[range.clone()];
        if !text.trim().is_empty() {
            parts.push(SkillPart { heading: heading.to_owned(), tokens: tokens(text), range });
        }
    };
    add(INTRODUCTION, title..first);
    for (at, heading) in starts.iter().enumerate() {
        let end = starts.get(at + 1).map_or(body.len(), |next| next.start);
        add(&heading.text, heading.start..end);
    }
    while parts.len() > MOST_PARTS {
        let joined = |at: usize| parts[at].tokens + parts[at + 1].tokens;
        let at = (0..parts.len() - 1).min_by_key(|at| joined(*at)).unwrap_or(0);
        let next = parts.remove(at + 1);
        let part = &mut parts[at];
        part.heading = format!("{} + {}", part.heading, next.heading);
        part.range.end = next.range.end;
        part.tokens = tokens(&body[part.range.clone()]);
    }
    parts
}

struct Heading {
    level: usize,
    text: String,
    start: usize,
    end: usize,
}

/// The ATX headings of a text, without lines of code (CommonMark 0.31, 4.2 and 4.5).
fn find_headings(body: &str) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut start = 0;
    for line in body.split_inclusive('\n') {
        let end = start + line.len();
        let text = line.trim_end();
        let indent = text.len() - text.trim_start_matches(' ').len();
        let text = text.trim_start_matches(' ');
        let marks = |mark: char| text.chars().take_while(|c| *c == mark).count();
        let opened = ['`', '~'].into_iter().map(|mark| (mark, marks(mark))).find(|(_, count)| *count >= 3);
        match (fence, opened) {
            _ if indent > 3 => {}
            (None, Some((mark, count))) => fence = Some((mark, count)),
            (Some((mark, count)), Some((other, more)))
                if mark == other && more >= count && text.trim_start_matches(mark).is_empty() =>
            {
                fence = None;
            }
            (None, None) => {
                let level = marks('#');
                let rest = &text[level..];
                if (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t'])) {
                    let text = rest.trim().trim_end_matches('#').trim_end().to_owned();
                    found.push(Heading { level, text, start, end });
                }
            }
            _ => {}
        }
        start = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headings(body: &str) -> Vec<String> {
        split_body(body).into_iter().map(|part| part.heading).collect()
    }

    #[test]
    fn bodies_are_split_at_their_sections() {
        let check = |body: &str, expected: &[&str]| assert_eq!(headings(body), expected, "{body}");
        check("# Title\n\nText.\n\n## One\na\n## Two\nb\n### Below\nc\n", &["(introduction)", "One", "Two"]);
        check("# Title\n\n## One ##\na\n## Two\nb\n", &["One", "Two"]);
        check("# One\na\n# Two\n## Below\n## Below\n", &["One", "Two"]);
        check("Text only.\n", &["(introduction)"]);
        check("", &[]);
        // No heading: a comment in code, a hash without a space, an indented line.
        check("## One\n```sh\n## no\n```\n##no\n    ## no\n## Two\n", &["One", "Two"]);
        check("## One\n~~~\n```\n## no\n~~~~\n## Two\n", &["One", "Two"]);
    }

    #[test]
    fn parts_cover_the_body_but_for_its_title() {
        let body = "# Title\nText.\n## One\na\n## Two\nb\n";
        let parts = split_body(body);
        let texts: Vec<&str> = parts.iter().map(|part| &body[part.range.clone()]).collect();
        assert_eq!(texts, ["Text.\n", "## One\na\n", "## Two\nb\n"]);
        assert!(parts.iter().all(|part| part.tokens > 0));
    }

    #[test]
    fn the_shortest_neighbors_are_joined() {
        let body: String = (0..12)
            .map(|at| format!("## S{at}\n{}\n", "word ".repeat(if at == 4 || at == 5 { 1 } else { 20 + at })))
            .collect();
        let found = headings(&body);
        assert_eq!(found.len(), MOST_PARTS);
        assert_eq!(found[4], "S4 + S5");
        let parts = split_body(&body);
        assert!(parts.windows(2).all(|pair| pair[0].range.end == pair[1].range.start));
        assert_eq!((parts[0].range.start, parts[10].range.end), (0, body.len()));
    }
}
