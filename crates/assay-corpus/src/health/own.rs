//! The profile `assay`: metrics chosen to tell skills apart, by the structure of the Markdown and not by substrings.
//!
//! A metric that does not apply says so and weighs nothing: a skill without links gets no marks for intact ones. How much each
//! varies over a corpus is a figure of [`crate::stats`]. They remain lint scores: none has been correlated with lift.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use assay_skill::{FileKind, Package, tokens, tree};
use regex::Regex;

use super::{Health, SkillHealth, rounded};
use crate::normal;
use crate::outline::Outline;

/// A metric's value for one skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Which metric.
    pub name: &'static str,
    /// In [0, 1]; `None` where it does not apply.
    pub value: Option<f64>,
    /// What is wrong, a sentence each.
    pub reasons: Vec<String>,
}

/// Metrics that need nothing but the document.
pub const TEXT_COMPONENTS: [&str; 6] = ["description", "sections", "claims", "dates", "examples", "size"];
/// Metrics that need the package.
pub const PACKAGE_COMPONENTS: [&str; 2] = ["links", "resources"];

/// The weights. They are a judgement: what makes a client choose the skill and what an agent follows weigh most.
const WEIGHTS: [(&str, f64); 8] = [
    ("description", 0.20),
    ("sections", 0.20),
    ("claims", 0.10),
    ("dates", 0.05),
    ("examples", 0.10),
    ("size", 0.10),
    ("links", 0.15),
    ("resources", 0.10),
];

/// Scores below which a skill is flagged.
const FLAG_BELOW: f64 = 0.5;
/// Tokens of a body that the format's guide advises not to exceed.
const BODY_TOKENS: usize = 5000;
/// Bytes of a resource that are read to count its tokens.
const RESOURCE_CAP: u64 = 1 << 20;
/// The most that is read of one package's resources.
const RESOURCES_CAP: u64 = 16 << 20;

/// The patterns are literals of this file, and the tests compile each.
#[expect(clippy::expect_used, reason = "the patterns are literals that the tests compile")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern compiles")
}

/// A number with a unit that somebody must have measured: per cent, factors, times, amounts.
static CLAIM: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b\d+(?:[.,]\d+)*\s*(?:%|×|x\b|times (?:as|more|less|faster|slower|fewer)|percent\b|ms\b|points?\b)",
    )
});
/// A source in words: an identifier of a claim, an arXiv or DOI number, an author with a year, an address.
static SOURCE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\bclaim-[a-z0-9-]+|\barxiv\b|\bdoi\b|https?://|\bet al\.|\([A-Z][^()]{1,40},? (?:19|20)\d\d\)|\bsource:",
    )
});
/// Words that are true only at a time.
static MOMENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:as of|currently|at the moment|latest version|recently|nowadays|state of the art)\b")
});
static YEAR: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:19|20)\d\d\b|\bv?\d+\.\d+(?:\.\d+)?\b"));
static WHEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:use (?:this|it|when|for|to)|when(?:ever)? (?:to|the|you|a|an|asked|working|user|creating|building)|if (?:the|you)|triggers?|for (?:tasks|questions|requests))\b",
    )
});

/// Kinds of section that a skill may have, and words of headings that tell them.
const SECTIONS: [(&str, &[&str]); 4] = [
    (
        "when to use it",
        &["when to", "when not", "use case", "usage", "trigger", "activat", "overview", "purpose", "scope"],
    ),
    (
        "how to go about it",
        &[
            "step",
            "workflow",
            "process",
            "instruction",
            "procedure",
            "how to",
            "guid",
            "quick start",
            "quickstart",
            "getting started",
            "implementation",
            "phase",
        ],
    ),
    ("examples", &["example", "sample", "template", "recipe", "pattern", "demo"]),
    (
        "what may go wrong",
        &[
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
            "failure",
            "don't",
            "never",
            "safety",
            "rules",
            "best practice",
        ],
    ),
];

/// The metrics that a document has by itself: its description, its body, and the body's outline.
pub fn text_components(description: &str, body: &str, outline: &Outline) -> Vec<Component> {
    vec![
        describe(description),
        sections(outline),
        claims(outline),
        dates(outline),
        examples(outline),
        size(body),
    ]
}

fn component(name: &'static str, value: Option<f64>, reasons: Vec<String>) -> Component {
    Component { name, value, reasons }
}

/// A share of what applies; `None` where nothing does.
fn share(part: usize, all: usize) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

/// Half for a length that clients show whole, half for saying when.
fn describe(description: &str) -> Component {
    let length = description.trim().chars().count();
    let mut reasons = Vec::new();
    if !(40..=assay_skill::DESCRIPTION_LIMIT).contains(&length) {
        reasons.push(format!("a description of {length} characters"));
    }
    if !WHEN.is_match(description) {
        reasons.push("the description does not say when".to_owned());
    }
    component("description", Some((2 - reasons.len()) as f64 / 2.0), reasons)
}

/// Of four kinds of section, those that there are. Numbered steps are a way to go about it, and a code block an example.
fn sections(outline: &Outline) -> Component {
    let there = |name: &str, words: &[&str]| {
        outline.heading(words).is_some()
            || match name {
                "how to go about it" => outline.numbered >= 3,
                "examples" => outline.code.iter().any(|code| code.fenced),
                _ => false,
            }
    };
    let missing: Vec<String> = SECTIONS
        .iter()
        .filter(|(name, words)| !there(name, words))
        .map(|(name, _)| format!("no section on {name}"))
        .collect();
    component("sections", share(SECTIONS.len() - missing.len(), SECTIONS.len()), missing)
}

/// Paragraphs with a measured number, and those of them that name a source: a link, a footnote, a reference.
fn claims(outline: &Outline) -> Component {
    let claims: Vec<_> = outline.paragraphs.iter().filter(|p| CLAIM.is_match(&p.text)).collect();
    let bare: Vec<_> = claims.iter().filter(|p| !p.linked && !SOURCE.is_match(&p.text)).collect();
    let reasons =
        bare.iter().take(3).map(|p| format!("line {}: a figure without a source", p.line)).collect();
    component("claims", share(claims.len() - bare.len(), claims.len()), reasons)
}

/// Paragraphs that speak of the present, and those of them that say which: a year, a version.
fn dates(outline: &Outline) -> Component {
    let moments: Vec<_> = outline.paragraphs.iter().filter(|p| MOMENT.is_match(&p.text)).collect();
    let bare: Vec<_> = moments.iter().filter(|p| !YEAR.is_match(&p.text)).collect();
    let reasons = bare.iter().take(3).map(|p| format!("line {}: a present without a date", p.line)).collect();
    component("dates", share(moments.len() - bare.len(), moments.len()), reasons)
}

/// Fenced blocks that name their language, and hold it where it is one that is parsed here.
fn examples(outline: &Outline) -> Component {
    let blocks: Vec<_> = outline.code.iter().filter(|code| code.fenced).collect();
    let mut reasons = Vec::new();
    let mut good = 0;
    for block in &blocks {
        let fault = match block.language.as_str() {
            "" => Some("a code block without a language".to_owned()),
            "json" if !parses_as_json(&block.text) => {
                Some("a code block that is not the JSON it says".to_owned())
            }
            language if !parses(language, &block.text) => {
                Some(format!("a code block that is not the {language} it says"))
            }
            _ => None,
        };
        match fault {
            Some(fault) => reasons.push(format!("line {}: {fault}", block.line)),
            None => good += 1,
        }
    }
    reasons.truncate(3);
    component("examples", share(good, blocks.len()), reasons)
}

/// Whether shell, Python or JavaScript parses without an error. Other languages are taken at their word, and so is what is longer than
/// 64 KiB or leaves something out.
fn parses(language: &str, text: &str) -> bool {
    let grammar: tree_sitter::Language = match language {
        "bash" | "sh" | "shell" => tree_sitter_bash::LANGUAGE.into(),
        "python" | "py" => tree_sitter_python::LANGUAGE.into(),
        "javascript" | "js" => tree_sitter_javascript::LANGUAGE.into(),
        _ => return true,
    };
    if text.len() > 64 << 10 || ["...", "…", "<", "{{", "$ "].iter().any(|gap| text.contains(gap)) {
        return true;
    }
    let mut parser = tree_sitter::Parser::new();
    // A grammar of another version than the library's reads nothing, and blames nobody.
    parser.set_language(&grammar).is_err()
        || parser.parse(text, None).is_none_or(|tree| !tree.root_node().has_error())
}

/// Whether text is JSON, one or more values. What is left out with `...` or `<…>` or explained with `//` is not taken for a fault.
fn parses_as_json(text: &str) -> bool {
    if text.contains("...")
        || text.contains('…')
        || text.contains("//")
        || text.contains('<')
        || text.contains("{{")
    {
        return true;
    }
    serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>().all(|value| value.is_ok())
}

/// 1 up to the advised length of a body, then falling as its inverse.
fn size(body: &str) -> Component {
    let count = tokens(body);
    let reasons = if count > BODY_TOKENS { vec![format!("a body of {count} tokens")] } else { Vec::new() };
    component("size", Some((BODY_TOKENS as f64 / count.max(1) as f64).min(1.0)), reasons)
}

/// Scores packages.
pub fn check(packages: &[Package]) -> Health {
    Health::of("assay".to_owned(), packages.iter().map(skill).collect())
}

fn skill(package: &Package) -> SkillHealth {
    let outline = Outline::of(&package.body);
    let description =
        package.front_matter.get("description").and_then(|value| value.as_str()).unwrap_or_default();
    let mut components = text_components(description, &package.body, &outline);
    let (links, external) = links(package, &outline);
    components.push(links);
    components.push(resources(package, &outline));
    let (mut sum, mut weight) = (0.0, 0.0);
    for component in &components {
        let own = WEIGHTS.iter().find(|known| known.0 == component.name).map_or(0.0, |known| known.1);
        if let Some(value) = component.value {
            sum += own * value;
            weight += own;
        }
    }
    let score = rounded(if weight > 0.0 { sum / weight } else { 0.0 });
    let broken = components.iter().any(|c| c.name == "links" && c.value.is_some_and(|value| value < 1.0));
    let mut reasons: Vec<String> = components.iter().flat_map(|c| c.reasons.clone()).collect();
    let flagged = score < FLAG_BELOW || broken || description.trim().is_empty();
    if score < FLAG_BELOW {
        reasons.insert(0, format!("a score below {FLAG_BELOW}"));
    }
    let value = |component: &Component| Some((component.name, component.value?));
    SkillHealth {
        name: package.directory.clone(),
        score,
        flagged,
        reasons,
        components: components.iter().filter_map(value).collect(),
        counts: BTreeMap::from([
            ("lines", package.document.lines().count()),
            ("metadata_tokens", tokens(&format!("{}\n{description}", package.name))),
            ("body_tokens", package.body_tokens()),
            ("resource_tokens", resource_tokens(package)),
            ("files", package.files.len()),
            ("headings", outline.headings.len()),
            ("code_blocks", outline.code.len()),
            ("internal_links", outline.links.len() - external),
            ("external_links", external),
        ]),
        digest: Some(package.digest.to_string()),
    }
}

/// Whether a link leads out of the package by its scheme.
pub(super) fn is_external(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:") || target.starts_with("//")
}

/// Links within the package and within the document, and those that lead somewhere; and how many links lead outside.
fn links(package: &Package, outline: &Outline) -> (Component, usize) {
    let inside: Vec<_> = outline.links.iter().filter(|link| !is_external(&link.target)).collect();
    let anchors: BTreeSet<String> = outline.headings.iter().map(|heading| slug(&heading.text)).collect();
    let resolves = |target: &str| {
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        if path.is_empty() {
            return anchor.is_empty() || anchors.contains(&anchor.to_lowercase());
        }
        let path = path.split('?').next().unwrap_or(path).replace("%20", " ");
        !Path::new(&path).is_absolute() && package.root.join(path).exists()
    };
    let broken: Vec<_> = inside.iter().filter(|link| !resolves(&link.target)).collect();
    let reasons = broken
        .iter()
        .take(5)
        .map(|link| format!("line {}: `{}` leads nowhere", link.line, link.target))
        .collect();
    let value = share(inside.len() - broken.len(), inside.len());
    (component("links", value, reasons), outline.links.len() - inside.len())
}

/// A heading's anchor as GitHub makes it: lower case, spaces to hyphens, nothing else but letters, digits, `-` and `_`.
fn slug(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    };
    heading.trim().to_lowercase().chars().filter_map(kept).collect()
}

/// Files beside the document, and those that it, or another of them, names. A licence needs no mention.
fn resources(package: &Package, outline: &Outline) -> Component {
    let beside = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        !(path.eq_ignore_ascii_case("SKILL.md")
            || name.starts_with("license")
            || name.starts_with('.')
            || name == "__init__.py")
    };
    let files: Vec<&str> = package
        .files
        .iter()
        .filter(|file| file.kind == FileKind::File && beside(&file.path))
        .map(|file| file.path.as_str())
        .collect();
    let targets: Vec<&str> = outline.links.iter().map(|link| link.target.as_str()).collect();
    let named = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let folder = path.rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
        package.body.contains(name)
            || targets.iter().any(|target| target.contains(name))
            || folder.is_some_and(|folder| package.body.contains(&folder))
    };
    let orphans: Vec<_> = files.iter().filter(|path| !named(path)).collect();
    let reasons = orphans.iter().take(3).map(|path| format!("`{path}` is never mentioned")).collect();
    component("resources", share(files.len() - orphans.len(), files.len()), reasons)
}

/// Tokens of the text files beside the document.
fn resource_tokens(package: &Package) -> usize {
    let mut left = RESOURCES_CAP;
    let mut count = 0;
    for file in package.files.iter().filter(|file| file.kind == FileKind::File) {
        if file.path.eq_ignore_ascii_case("SKILL.md") || left == 0 {
            continue;
        }
        let Ok(content) = tree::read_beneath(&package.root, Path::new(&file.path), RESOURCE_CAP.min(left))
        else {
            continue;
        };
        left -= content.bytes.len() as u64;
        if let Ok(text) = std::str::from_utf8(&content.bytes) {
            count += tokens(text);
        }
    }
    count
}

/// The addresses of a package's document that lead outside, each once.
pub fn addresses(package: &Package) -> BTreeSet<String> {
    let (_, body) = normal::split(&package.document);
    let http = |target: &String| target.starts_with("http://") || target.starts_with("https://");
    Outline::of(body).links.into_iter().map(|link| link.target).filter(http).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The metrics of a text, as `name value`.
    fn values(description: &str, body: &str) -> BTreeMap<&'static str, Option<f64>> {
        let components = text_components(description, body, &Outline::of(body));
        assert_eq!(components.iter().map(|c| c.name).collect::<Vec<_>>(), TEXT_COMPONENTS);
        components.into_iter().map(|c| (c.name, c.value)).collect()
    }

    #[test]
    fn metrics_that_do_not_apply_say_so() {
        let values = values("", "Words.");
        assert_eq!(values["claims"], None);
        assert_eq!(values["dates"], None);
        assert_eq!(values["examples"], None);
        assert_eq!(
            (values["description"], values["sections"], values["size"]),
            (Some(0.0), Some(0.0), Some(1.0))
        );
    }

    #[test]
    fn metrics_are_shares_of_what_applies() {
        let check = |name: &str, description: &str, body: &str, expected: f64| {
            let found = values(description, body)[name];
            assert!((found.unwrap() - expected).abs() < 1e-12, "{name}: {found:?} for {body}");
        };
        check("description", "Use when the user asks for a ledger of something.", "", 1.0);
        check("description", "Use when asked.", "", 0.5);
        check("sections", "", "## Usage\n\n## Gotchas\n", 0.5);
        check("sections", "", "1. a\n2. b\n3. c\n\n```sh\nls\n```\n", 0.5);
        // A heading in a fence is no heading.
        check("sections", "", "```\n## Usage\n```\n", 0.25);
        check("claims", "", "It is 40% faster.\n\nIt is 3x [faster](https://a).\n", 0.5);
        check("claims", "", "It is 40 % faster (Smith, 2024).\n", 1.0);
        check("dates", "", "Currently so.\n\nAs of 2026 so.\n\nThe latest version is 1.2.\n", 2.0 / 3.0);
        check(
            "examples",
            "",
            "```json\n{\"a\": 1}\n```\n```json\n{a: 1}\n```\n```\nx\n```\n```json\n{...}\n```\n",
            0.5,
        );
        check("examples", "", "```python\ndef f(x):\n    return x\n```\n```python\ndef f(x:\n```\n", 0.5);
        check("examples", "", "```sh\nfor x in a b; do ls; done\n```\n```js\nlet x = {;\n```\n", 0.5);
        // 10,000 words and the space after the last one.
        check("size", "", &"word ".repeat(10_000), 5000.0 / 10_001.0);
    }

    #[test]
    fn anchors_are_slugs() {
        assert_eq!(slug("What's new, in v2.0?"), "whats-new-in-v20");
        assert_eq!(slug(" Größe_x - y"), "größe_x---y");
    }

    #[test]
    fn a_package_is_scored_by_its_files_too() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("reports");
        std::fs::create_dir_all(root.join("references")).unwrap();
        std::fs::create_dir_all(root.join("assets")).unwrap();
        std::fs::write(root.join("references/a.md"), "hello world").unwrap();
        std::fs::write(root.join("assets/orphan.txt"), "x").unwrap();
        let text = "---\nname: reports\ndescription: Use when the user asks for a report of anything at all.\n---\n# Reports\n\n## Usage\n\n[a](references/a.md) [b](gone.md) [c](#usage) [d](https://example.org)\n";
        std::fs::write(root.join("SKILL.md"), text).unwrap();
        let package = Package::load(&root).package.unwrap();
        let health = check(std::slice::from_ref(&package));
        let skill = &health.skills[0];
        assert!((skill.components["links"] - 2.0 / 3.0).abs() < 1e-12);
        assert!((skill.components["resources"] - 0.5).abs() < 1e-12);
        assert!(!skill.components.contains_key("claims"));
        // Weights .2 + .2 + .1 + .15 + .1 apply: (.2·1 + .2·¼ + .1·1 + .15·⅔ + .1·½) / .75.
        assert!((skill.score - 0.6667).abs() < 1e-9, "{}", skill.score);
        assert!(
            skill.flagged && skill.reasons.contains(&"line 5: `gone.md` leads nowhere".to_owned()),
            "{:?}",
            skill.reasons
        );
        assert_eq!((skill.counts["external_links"], skill.counts["internal_links"]), (1, 3));
        // `hello world` is two tokens and `x` one.
        assert_eq!(skill.counts["resource_tokens"], 3);
        assert_eq!(addresses(&package), ["https://example.org".to_owned()].into());
    }
}
