//! A skill as evidence: its lines, and the parts of them that show that a run used them.

use std::collections::HashSet;
use std::path::Path;

use assay_skill::Document;

use crate::directive::{Directive, SkillPackage, extract, merge};

use super::words::{Feature, features, words};

/// A skill's instructions, line by line.
///
/// Text *advertised* to every agent that had the skill listed (its name and its
/// description) is not evidence, wherever it occurs.
#[derive(Debug, Clone)]
pub struct SkillText {
    /// `name` of the front matter; empty where it has none.
    pub name: String,
    /// `description` of the front matter; empty where it has none.
    pub description: String,
    /// What follows the front matter.
    pub body: String,
    /// The files that its directives are from: at least the document.
    pub package: SkillPackage,
    /// Its directives.
    pub directives: Vec<Directive>,
    /// Lines of the file before the body.
    pub(crate) before: usize,
    pub(crate) lines: Vec<SkillLine>,
    pub(crate) advertised: HashSet<u64>,
}

/// A line of the body that is not a repetition of an earlier one.
#[derive(Debug, Clone)]
pub(crate) struct SkillLine {
    /// In the file, from 1.
    pub(crate) number: usize,
    /// Trimmed.
    pub(crate) text: String,
    /// How many words it has.
    pub(crate) words: usize,
    /// Those that no earlier line has: the same three words are counted once.
    pub(crate) features: Vec<Feature>,
    /// The heading above it, counted from 1; 0 before the first.
    pub(crate) section: usize,
    /// Whether it is an item of a numbered list or a heading: a step.
    pub(crate) step: bool,
}

impl SkillText {
    /// Reads the bytes of a `SKILL.md`, leniently. Its directives are those of this file.
    pub fn parse(bytes: &[u8]) -> Self {
        Self::with_package(bytes, SkillPackage::from_document(bytes))
    }

    /// Reads the bytes of a `SKILL.md`, leniently, with the directives of its whole package.
    pub fn with_package(bytes: &[u8], package: SkillPackage) -> Self {
        let (document, _) = Document::parse(bytes, Path::new("SKILL.md"));
        let name = document.name.clone().unwrap_or_default();
        let description = document.description.clone().unwrap_or_default();
        let before = document.text[..document.body_start].matches('\n').count();
        let lines = lines(document.body(), before);
        let mut advertised: HashSet<u64> = keys(&description).collect();
        // Runs with the skill only listed may mention its name, and that it is a skill.
        let spoken = name.replace(['-', '_'], " ");
        for phrase in [format!("the {spoken} skill"), format!("use {spoken} skill"), name.clone()] {
            advertised.extend(keys(&phrase));
        }
        let directives = extract(&package);
        let body = document.body().to_owned();
        Self { name, description, body, package, directives, before, lines, advertised }
    }

    /// Reads the bytes of the `SKILL.md` at a path, with the directives of the package around it: the files in its folders,
    /// and those beside it that it names, since a transcript may be there, too. A document of another name is a skill by
    /// itself.
    pub fn of_file(path: &Path, bytes: &[u8]) -> Self {
        let is_document = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
        let folder = path.parent().filter(|_| is_document);
        let folder = folder.map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
        match folder.and_then(|folder| SkillPackage::read(folder).ok()) {
            Some(mut package) => {
                let text = String::from_utf8_lossy(bytes);
                let is_own = |path: &str| {
                    path.eq_ignore_ascii_case("SKILL.md") || path.contains('/') || text.contains(path)
                };
                package.files.retain(|file| is_own(&file.path));
                Self::with_package(bytes, package)
            }
            None => Self::parse(bytes),
        }
    }

    /// Adds directives that a model found, and returns how many: those extracted already are left out.
    pub fn add_directives(&mut self, more: Vec<Directive>) -> usize {
        merge(&mut self.directives, more)
    }

    /// The name as a folder would have it: `Add Admin API Endpoint` is `add-admin-api-endpoint`.
    pub fn slug(&self) -> String {
        let lower = self.name.to_lowercase();
        let parts: Vec<&str> =
            lower.split(|c: char| !c.is_alphanumeric()).filter(|p| !p.is_empty()).collect();
        parts.join("-")
    }
}

/// The features of a text.
pub(crate) fn keys(text: &str) -> impl Iterator<Item = u64> + '_ {
    text.lines().flat_map(|line| features(&words(line))).map(|feature| feature.key)
}

fn lines(body: &str, before: usize) -> Vec<SkillLine> {
    let mut lines = Vec::new();
    let mut seen_lines = HashSet::new();
    let mut seen = HashSet::new();
    let mut section = 0;
    let mut fence: Option<&str> = None;
    for (at, text) in body.lines().enumerate() {
        let text = text.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
        let heading = fence.is_none() && is_heading(text);
        section += usize::from(heading);
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if text.is_empty() || !seen_lines.insert(text) {
            continue;
        }
        let words = words(text);
        let features = features(&words).into_iter().filter(|feature| seen.insert(feature.key)).collect();
        lines.push(SkillLine {
            number: before + at + 1,
            text: text.to_owned(),
            words: words.len(),
            features,
            section,
            step: heading || (fence.is_none() && is_numbered(text)),
        });
    }
    lines
}

fn is_heading(text: &str) -> bool {
    let rest = text.trim_start_matches('#');
    (1..=6).contains(&(text.len() - rest.len())) && rest.starts_with([' ', '\t'])
}

fn is_numbered(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < text.len() && rest.starts_with(['.', ')'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKILL: &str = "---\nname: Ledger Export\ndescription: Writes ledger exports in house format.\n---\n\n# Export\n\n1. Run the totals script first.\n\n```sh\n# not a heading\nrun_totals --house format\n```\nRun the totals script first, always.\n";

    #[test]
    fn lines_keep_their_number_section_and_kind() {
        let skill = SkillText::parse(SKILL.as_bytes());
        let found: Vec<_> =
            skill.lines.iter().map(|l| (l.number, l.text.as_str(), l.section, l.step)).collect();
        assert_eq!(
            found,
            [
                (6, "# Export", 1, true),
                (8, "1. Run the totals script first.", 1, true),
                (10, "```sh", 1, false),
                (11, "# not a heading", 1, false),
                (12, "run_totals --house format", 1, false),
                (13, "```", 1, false),
                (14, "Run the totals script first, always.", 1, false),
            ]
        );
        assert_eq!(skill.slug(), "ledger-export");
    }

    #[test]
    fn what_stands_twice_is_counted_once() {
        let skill = SkillText::parse(SKILL.as_bytes());
        let of = |number: usize| skill.lines.iter().find(|l| l.number == number).unwrap().features.len();
        // "1 Run the" has no telling word; "run the totals", "the totals script", "totals script
        // first" have.
        assert_eq!(of(8), 3);
        // Only "script first always" is new.
        assert_eq!(of(14), 1);
    }

    #[test]
    fn the_front_matter_is_advertised() {
        let skill = SkillText::parse(SKILL.as_bytes());
        assert!(keys("writes ledger exports").all(|key| skill.advertised.contains(&key)));
        assert!(keys("the ledger export skill").all(|key| skill.advertised.contains(&key)));
        assert!(!keys("the totals script").all(|key| skill.advertised.contains(&key)));
    }

    #[test]
    fn any_bytes_are_a_skill() {
        for bytes in [&b""[..], b"\xff\xfe\0", b"---\n", b"no front matter at all", b"```\n# x"] {
            let skill = SkillText::parse(bytes);
            assert!(skill.lines.len() < 10);
        }
    }
}
