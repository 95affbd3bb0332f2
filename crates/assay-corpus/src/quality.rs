//! SkillsBench's quality rubric as rules: completeness, clarity, specificity and examples, 0 to 3
//! points each, 12 in all.
//!
//! In the SkillsBench paper, judges apply the rubric; here each point is one question that a text
//! answers by itself, and every awarded point cites its evidence. That makes the score repeatable
//! and blind: a point shows that something is there, not that it is good. Its mean can therefore
//! only be compared roughly with SkillsBench's 6.2 of 12.

use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use assay_syntax::markdown::{Dialect, Outline};

/// One of the rubric's four dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dimension {
    /// Occasion, procedure, and possible errors.
    Completeness,
    /// How it reads.
    Clarity,
    /// Whether it names things.
    Specificity,
    /// Whether it shows.
    Examples,
}

/// The dimensions, in their order.
pub const DIMENSIONS: [Dimension; 4] =
    [Dimension::Completeness, Dimension::Clarity, Dimension::Specificity, Dimension::Examples];

impl Dimension {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completeness => "completeness",
            Self::Clarity => "clarity",
            Self::Specificity => "specificity",
            Self::Examples => "examples",
        }
    }
}

/// A question of the rubric, and what answers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Which dimension it counts for.
    pub dimension: Dimension,
    /// The question.
    pub criterion: &'static str,
    /// Whether the point is awarded.
    pub given: bool,
    /// The evidence, or the missing evidence.
    pub evidence: String,
    /// Where, in the body, from 1.
    pub line: Option<usize>,
}

/// The questions of the rubric, in its order: three for each dimension.
pub const CRITERIA: [&str; 12] = [
    "says when to use it",
    "has a procedure: three numbered steps or three sections",
    "describes errors, limits or requirements",
    "a description of 40 to 1024 characters",
    "two headings or more, and no skipped level",
    "no paragraph above 120 words",
    "names five things in code",
    "a code block that names its language",
    "three numbers in its sentences",
    "an example, by heading or code block",
    "two code blocks or more",
    "shows input and result",
];

/// The patterns are literals of this file, and the tests compile each.
#[expect(clippy::expect_used, reason = "the patterns are literals that the tests compile")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern compiles")
}

static WHEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:use (?:this|it|when|for)|when (?:to|the|you|a|asked|working|user)|trigger|activate|invoke)\b",
    )
});
static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d+(?:[.,]\d+)*\b"));
static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:expected|outputs?|returns|results? in|response|before\b.{0,40}\bafter|good\b.{0,40}\bbad|bad\b.{0,40}\bgood|wrong\b.{0,40}\bright)\b|✅|❌|→",
    )
});

/// The longest paragraph that reads well, in words.
const LONG: usize = 120;

/// The longest body that is read, in bytes; no honest document comes near.
const BODY_CAP: usize = 4 << 20;

/// The outline of a skill's body, of which at most 4 MiB count.
pub fn outline(body: &str) -> Outline {
    Outline::read(&body[..body.floor_char_boundary(BODY_CAP)], 0, Dialect::Footnotes)
}

/// Asks the rubric's twelve questions of a skill: its description, and the outline of its body.
pub fn points(description: &str, outline: &Outline) -> Vec<Point> {
    let answers = [
        when(description, outline),
        procedure(outline),
        limits(outline),
        length(description),
        levels(outline),
        paragraphs(outline),
        at_least(outline.inline_code.len(), 5, "inline code spans", None),
        language(outline),
        numbers(outline),
        example(outline),
        blocks(outline),
        result(outline),
    ];
    CRITERIA
        .iter()
        .zip(answers)
        .enumerate()
        .map(|(index, (&criterion, (given, evidence, line)))| Point {
            dimension: DIMENSIONS[index / 3],
            criterion,
            given,
            evidence,
            line,
        })
        .collect()
}

type Answer = (bool, String, Option<usize>);

fn no(what: &str) -> Answer {
    (false, what.to_owned(), None)
}

fn quoted(text: &str) -> String {
    let short: String = text.trim().chars().take(60).collect();
    format!("“{short}”")
}

fn when(description: &str, outline: &Outline) -> Answer {
    if let Some(found) = WHEN.find(description) {
        return (true, format!("the description: {}", quoted(&description[found.start()..])), None);
    }
    match outline.heading(&["when to", "trigger", "activat", "usage", "use case"]) {
        Some(heading) => (true, format!("heading {}", quoted(&heading.text)), Some(heading.line)),
        None => no("neither the description nor a heading says when"),
    }
}

fn procedure(outline: &Outline) -> Answer {
    let sections = outline.headings.iter().filter(|heading| heading.level > 1).count();
    if outline.numbered >= 3 {
        (true, format!("{} numbered items", outline.numbered), None)
    } else {
        (sections >= 3, format!("{} numbered items, {sections} sections", outline.numbered), None)
    }
}

fn limits(outline: &Outline) -> Answer {
    let words = [
        "gotcha",
        "pitfall",
        "limit",
        "troubleshoot",
        "error",
        "edge case",
        "warning",
        "mistake",
        "avoid",
        "anti-pattern",
        "caveat",
        "constraint",
        "prerequisite",
        "requirement",
        "safety",
        "never",
        "don't",
        "do not",
        "rules",
    ];
    match outline.heading(&words) {
        Some(heading) => (true, format!("heading {}", quoted(&heading.text)), Some(heading.line)),
        None => no("no heading mentions errors, limits or requirements"),
    }
}

fn length(description: &str) -> Answer {
    let length = description.trim().chars().count();
    ((40..=assay_skill::DESCRIPTION_LIMIT).contains(&length), format!("{length} characters"), None)
}

fn levels(outline: &Outline) -> Answer {
    if outline.headings.len() < 2 {
        return (false, format!("{} headings", outline.headings.len()), None);
    }
    match outline.headings.windows(2).find(|pair| pair[1].level > pair[0].level + 1) {
        Some(pair) => (
            false,
            format!("{} is two levels below the heading before it", quoted(&pair[1].text)),
            Some(pair[1].line),
        ),
        None => (true, format!("{} headings", outline.headings.len()), None),
    }
}

fn paragraphs(outline: &Outline) -> Answer {
    if outline.paragraphs.is_empty() {
        return no("no paragraph");
    }
    let words = |text: &str| text.split_whitespace().count();
    match outline.paragraphs.iter().find(|paragraph| words(&paragraph.text) > LONG) {
        Some(long) => (false, format!("{} words", words(&long.text)), Some(long.line)),
        None => (true, format!("{} paragraphs", outline.paragraphs.len()), None),
    }
}

fn at_least(count: usize, least: usize, what: &str, line: Option<usize>) -> Answer {
    (count >= least, format!("{count} {what}"), line)
}

fn language(outline: &Outline) -> Answer {
    match outline.code.iter().find(|code| !code.language.is_empty()) {
        Some(code) => (true, format!("`{}`", code.language), Some(code.line)),
        None => no("no code block names a language"),
    }
}

fn numbers(outline: &Outline) -> Answer {
    let mut count = 0;
    let mut first = None;
    for paragraph in &outline.paragraphs {
        let here = NUMBER.find_iter(&paragraph.text).count();
        if here > 0 && first.is_none() {
            first = Some(paragraph.line);
        }
        count += here;
    }
    at_least(count, 3, "numbers", first)
}

fn example(outline: &Outline) -> Answer {
    if let Some(heading) = outline.heading(&["example", "sample", "demo", "quick start", "quickstart"]) {
        return (true, format!("heading {}", quoted(&heading.text)), Some(heading.line));
    }
    match outline.code.iter().find(|code| code.fenced) {
        Some(code) => (true, "a code block".to_owned(), Some(code.line)),
        None => no("neither a heading nor a code block"),
    }
}

fn blocks(outline: &Outline) -> Answer {
    let fenced = outline.code.iter().filter(|code| code.fenced).count();
    at_least(fenced, 2, "code blocks", outline.code.get(1).map(|code| code.line))
}

fn result(outline: &Outline) -> Answer {
    let texts = outline.headings.iter().map(|heading| (&heading.text, heading.line));
    let texts = texts.chain(outline.paragraphs.iter().map(|paragraph| (&paragraph.text, paragraph.line)));
    let mut all = texts.chain(outline.code.iter().map(|code| (&code.text, code.line)));
    match all.find_map(|(text, line)| Some((RESULT.find(text)?.as_str().to_owned(), line))) {
        Some((word, line)) => (true, quoted(&word), Some(line)),
        None => no("no word that indicates a result"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The awarded points, in the rubric's order.
    fn given(description: &str, body: &str) -> String {
        let points = points(description, &outline(body));
        assert_eq!(points.iter().map(|point| point.criterion).collect::<Vec<_>>(), CRITERIA);
        assert!(points.iter().all(|point| !point.evidence.is_empty()));
        points.iter().map(|point| if point.given { '1' } else { '0' }).collect()
    }

    #[test]
    fn each_point_has_its_own_evidence() {
        let check = |description: &str, body: &str, expected: &str| {
            assert_eq!(given(description, body), expected, "{description} | {body}");
        };
        check("", "", "000000000000");
        check("Use when asked.", "", "100000000000");
        check("", "# A\n## When to use it\n", "100010000000");
        check("", "1. a\n2. b\n3. c\n", "010001000000");
        check("", "## Gotchas\n", "001000000000");
        check(&"x".repeat(40), "", "000100000000");
        check(&"x".repeat(1025), "", "000000000000");
        check("", "# A\n### B\n", "000000000000");
        check("", &"word ".repeat(121), "000000000000");
        check("", &"word ".repeat(120), "000001000000");
        check("", "`a` `b` `c` `d` `e`\n", "000001100000");
        check("", "```sh\nls\n```\n", "000000010100");
        check("", "```\nls\n```\n```\nls\n```\n", "000000000110");
        check("", "1 and 2.5 and v3 or 4\n", "000001001000");
        check("", "It returns them.\n", "000001000001");
    }

    #[test]
    fn evidence_has_its_line() {
        let points = points("", &outline("text\n\n## Known limits\n"));
        assert_eq!((points[2].line, points[2].evidence.as_str()), (Some(3), "heading “Known limits”"));
    }
}
