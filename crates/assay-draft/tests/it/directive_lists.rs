//! Directives by rules, compared with published lists. A published directive is found if one of ours has a line of it, and one
//! of ours is right if it has a line of a published one. Also counted: pairs in which each is used once.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assay_audit::directive::SkillPackage;
use assay_draft::directives::{DirectiveLines, find_directives};
use assay_test::shared;
use serde_json::Value;

/// A line of a document.
type DocumentLine = (String, usize);

/// Shortest piece of a published snippet that is looked for by itself, in letters and digits.
const PIECE: usize = 18;

/// What was found, over some lists.
#[derive(Debug, Default)]
struct Figures {
    published: usize,
    /// Of these, those whose text is in the package as it was delivered.
    delivered: usize,
    listed: usize,
    found: usize,
    right: usize,
    paired: usize,
}

impl Figures {
    fn of_list(published: &[BTreeSet<DocumentLine>], listed: &[BTreeSet<DocumentLine>]) -> Self {
        let delivered: Vec<_> = published.iter().filter(|places| !places.is_empty()).collect();
        let meets = |one: &BTreeSet<DocumentLine>, other: &BTreeSet<DocumentLine>| !one.is_disjoint(other);
        let mut pairs: Vec<Option<usize>> = vec![None; listed.len()];
        let mut paired = 0;
        for at in 0..delivered.len() {
            let edges = |one: usize, other: usize| meets(delivered[one], &listed[other]);
            paired += usize::from(augment(at, &edges, &mut pairs, &mut BTreeSet::new()));
        }
        Self {
            published: published.len(),
            delivered: delivered.len(),
            listed: listed.len(),
            found: delivered.iter().filter(|one| listed.iter().any(|other| meets(one, other))).count(),
            right: listed.iter().filter(|one| delivered.iter().any(|other| meets(one, other))).count(),
            paired,
        }
    }

    fn add(&mut self, other: &Self) {
        self.published += other.published;
        self.delivered += other.delivered;
        self.listed += other.listed;
        self.found += other.found;
        self.right += other.right;
        self.paired += other.paired;
    }

    fn recall(&self) -> f64 {
        self.found as f64 / self.delivered as f64
    }

    fn precision(&self) -> f64 {
        self.right as f64 / self.listed as f64
    }

    fn print(&self, name: &str) {
        println!(
            "{name}: published {}, delivered {}, listed {}, recall {:.2}, precision {:.2}, each used once {:.2}",
            self.published,
            self.delivered,
            self.listed,
            self.recall(),
            self.precision(),
            self.paired as f64 / self.delivered as f64
        );
    }
}

/// Pairs one with a free partner, or with one whose own partner finds another.
fn augment(
    one: usize,
    edges: &dyn Fn(usize, usize) -> bool,
    pairs: &mut Vec<Option<usize>>,
    seen: &mut BTreeSet<usize>,
) -> bool {
    for other in 0..pairs.len() {
        if !edges(one, other) || !seen.insert(other) {
            continue;
        }
        let free = match pairs[other] {
            None => true,
            Some(before) => augment(before, edges, pairs, seen),
        };
        if free {
            pairs[other] = Some(one);
            return true;
        }
    }
    false
}

/// The directives that rules list, as lines.
fn list(folder: &Path) -> Vec<BTreeSet<DocumentLine>> {
    let package = SkillPackage::read(folder).unwrap();
    let found = find_directives("skill", &package);
    let lines =
        |text: &DirectiveLines, file: &str| text.each_line().map(|line| (file.to_owned(), line)).collect();
    found.directives.iter().map(|directive| lines(&directive.lines, &directive.file)).collect()
}

/// A list whose entries have lines of `SKILL.md`.
fn read_lines(path: &Path) -> Vec<BTreeSet<DocumentLine>> {
    let entries: Vec<Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let lines = |entry: &Value| {
        let lines: DirectiveLines = entry["lines"].as_str().unwrap().parse().unwrap();
        lines.each_line().map(|line| ("SKILL.md".to_owned(), line)).collect()
    };
    entries.iter().map(lines).collect()
}

/// The letters and digits of a text.
fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|sign| sign.to_ascii_lowercase()).collect()
}

/// A document as its letters and digits, with the line of each.
struct Searched {
    file: String,
    text: String,
    lines: Vec<usize>,
}

impl Searched {
    fn read(root: &Path, file: &str) -> Self {
        let (mut text, mut lines) = (String::new(), Vec::new());
        for (at, line) in fs::read_to_string(root.join(file)).unwrap().lines().enumerate() {
            let words = plain(line);
            lines.extend(std::iter::repeat_n(at + 1, words.len()));
            text.push_str(&words);
        }
        Self { file: file.to_owned(), text, lines }
    }

    fn find(&self, words: &str) -> BTreeSet<DocumentLine> {
        let at = self.text.find(words);
        let lines = at.map(|at| &self.lines[at..at + words.len()]).unwrap_or_default();
        lines.iter().map(|line| (self.file.clone(), *line)).collect()
    }
}

/// A list whose entries have snippets, joined by dots. A snippet that the documents lack is looked for sentence by sentence:
/// the documents were edited after the list was made.
fn read_snippets(path: &Path, documents: &[Searched]) -> Vec<BTreeSet<DocumentLine>> {
    let list: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let find =
        |words: &str| documents.iter().flat_map(|document| document.find(words)).collect::<BTreeSet<_>>();
    let places = |entry: &Value| {
        let mut places = BTreeSet::new();
        for snippet in entry["original_snippets"].as_str().unwrap().split("...") {
            let whole = plain(snippet);
            let found = if whole.len() < 12 { BTreeSet::new() } else { find(&whole) };
            if !found.is_empty() {
                places.extend(found);
                continue;
            }
            let pieces = snippet.split(['.', '!', '?', ':', ';', ',', '\'', '"', '#', '[', ']']).map(plain);
            places.extend(pieces.filter(|piece| piece.len() >= PIECE).flat_map(|piece| find(&piece)));
        }
        places
    };
    list["instructions"].as_array().unwrap().iter().map(places).collect()
}

#[test]
#[ignore = "needs shared data"]
fn rules_find_most_directives_of_published_lists() {
    let root: PathBuf = shared("drafting");
    let mut all = Figures::default();
    for name in ["02", "15", "20"] {
        let folder = root.join(name);
        let figures = Figures::of_list(&read_lines(&folder.join("instructions.json")), &list(&folder));
        figures.print(name);
        all.add(&figures);
        assert!(figures.recall() >= 0.95 && figures.precision() >= 0.84, "{name}: {figures:?}");
        assert!(figures.listed < 2 * figures.published, "{name}: {figures:?}");
    }
    let folder = root.join("blog-writer");
    let files = [
        "SKILL.md",
        "references/ai-anti-patterns.md",
        "references/process.md",
        "references/setup.md",
        "references/tone-guide.md",
    ];
    let documents: Vec<Searched> = files.iter().map(|file| Searched::read(&folder, file)).collect();
    let published = read_snippets(&folder.join("evals/instructions.json"), &documents);
    let figures = Figures::of_list(&published, &list(&folder));
    figures.print("blog-writer");
    assert!(figures.recall() >= 0.9 && figures.precision() >= 0.68, "{figures:?}");
    assert!(figures.listed < 2 * figures.published, "{figures:?}");
    all.add(&figures);
    all.print("all");
    assert!(all.recall() >= 0.94 && all.precision() >= 0.79, "{all:?}");
}

#[test]
fn pairs_use_each_directive_once() {
    let places =
        |lines: &[usize]| lines.iter().map(|line| ("a.md".to_owned(), *line)).collect::<BTreeSet<_>>();
    let published = [places(&[1]), places(&[1, 2]), places(&[9]), places(&[])];
    let listed = [places(&[1]), places(&[2]), places(&[5])];
    let figures = Figures::of_list(&published, &listed);
    assert_eq!(
        (figures.published, figures.delivered, figures.found, figures.right, figures.paired),
        (4, 3, 2, 2, 2)
    );
    let joined = Figures::of_list(&published, &[places(&[1, 2])]);
    assert_eq!((joined.found, joined.right, joined.paired), (2, 1, 1));
}
